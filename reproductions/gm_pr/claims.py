"""Check the claims of Yu, Elhabian & Whitaker against the recorded results."""

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def cell(number, name, method, links, measure="purity", results=EXPECTED):
    """Return mean and standard deviation of a method with a number of links."""
    found = results["figures"][str(number)]["data"][name]
    scores = found["curves"][method][measure]
    at = found["links"].index(links)
    return scores["mean"][at], scores["standard_deviation"][at]


def over_first(number, name, method):
    """Return how much the first method of a figure exceeds another, with standard errors."""
    found = EXPECTED["figures"][str(number)]["data"][name]["curves"][method]["purity_over_first"]
    return np.array(found["mean"]), np.array(found["standard_error"])


def check_tables_in_the_readme_are_what_was_measured():
    """Tables in the readme are what was measured."""
    for number in ("4", "6", "7", "9", "10"):
        section = README.split(f"## Figure {number}")[1].split("\n## ")[0]
        for name, found in EXPECTED["figures"][number]["data"].items():
            for method, curve in found["curves"].items():
                scores = curve["purity"]
                pairs = zip(scores["mean"], scores["standard_deviation"], strict=True)
                cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in pairs]
                cells.append(f"{curve['adjusted_rand']['mean'][-1]:.3f}")
                assert f"| {name} | `{method}` | {' | '.join(cells)} |" in section
    for label, shares in EXPECTED["figures"]["3"]["shares"].items():
        assert f"| {label} | {' | '.join(f'{100 * share:.0f} %' for share in shares.values())} |" in README
    for label, wrong in EXPECTED["figures"]["8"]["share_wrong"].items():
        cells = [f"{100 * w['mean']:.1f} ± {100 * w['standard_deviation']:.1f}" for w in wrong.values()]
        assert f"| {label} | {' | '.join(cells)} |" in README


def check_every_figure_was_recorded_in_full(run):
    """Every figure was recorded in full."""
    assert EXPECTED["n_trials"] >= 20
    assert EXPECTED["skipped"] == {}
    assert [int(number) for number in EXPECTED["figures"]] == list(run.FIGURES)
    assert all((FOLDER / "figures" / f"figure{number}.png").exists() for number in EXPECTED["figures"])
    for number, sweep in run.ex.SWEEPS.items():
        assert list(EXPECTED["figures"][str(number)]["data"]) == list(sweep.data)


def check_same_method_start_and_links_give_the_same_in_two_figures():
    """Same method start and links give the same in two figures."""
    for name in ("digits123", "digits4567"):
        four, ten = (EXPECTED["figures"][number]["data"][name]["curves"]["gm_pr"] for number in ("4", "10"))
        assert four == ten


def check_gm_pr_is_nowhere_clearly_better_than_gmm_ec():
    """Gm pr is nowhere clearly better than gmm ec."""
    for number in [4, 6, 7]:
        for name in ["digits123", "digits4567"]:
            mean, error = over_first(number, name, "gmm_ec")
            assert (mean >= -np.maximum(2 * error, 0.001)).all()


def check_components_are_no_worse_than_pairs_with_must_links_alone():
    """Components are no worse than pairs with must links alone."""
    for name in ["digits123", "digits4567"]:
        mean, error = over_first(6, name, "gm_pr_components")
        assert (mean >= -2 * error).all()


def check_gmm_ec_and_gm_pr_are_alike_with_many_links_of_both_kinds():
    """Gmm ec and gm pr are alike with many links of both kinds."""
    for name in ("digits123", "digits4567"):
        mean, error = over_first(4, name, "gmm_ec")
        assert -2 * error[-1] < mean[-1] < 0.02


def check_links_do_not_lower_the_purity_of_sskk_and_gm_pr_does_not_beat_it():
    """Links do not lower the purity of sskk and gm pr does not beat it."""
    for name in ("coil20_10", "coil20_15", "coil20_20"):
        bare, linked = (cell(9, name, "sskk", links)[0] for links in (0, 1000))
        assert linked > bare - 0.02
        assert linked > cell(9, name, "gm_pr_3", 1000)[0]


def check_gm_pr_is_no_worse_than_em_pc():
    """Gm pr is no worse than em pc."""
    for name in ["digits123", "digits4567"]:
        mean, error = over_first(7, name, "em_pc")
        assert (mean <= 2 * error).all()


def check_many_links_help():
    """Many links help."""
    for number in [4, 6, 7]:
        for name, gain in [("digits123", 0.08), ("digits4567", 0.03)]:
            assert cell(number, name, "gm_pr", 512)[0] - cell(number, name, "gm_pr", 0)[0] > gain


def check_few_links_find_the_split_from_our_start_alone():
    """Few links find the split from our start alone."""
    shares = EXPECTED["figures"]["3"]["shares"]
    least = {
        "2 must, 2 cannot, telling": 0.9,
        "2 must, 0 cannot, telling": 0.4,
        "0 must, 2 cannot, telling": 0.8,
    }
    for label, share in least.items():
        assert shares[label]["gm_pr"] <= 0.2
        assert shares[label]["gm_pr_default"] >= share
    assert all(row["gm_pr"] == row["gmm_ec"] for row in shares.values())


def check_two_gaussians_follow_the_moons_with_enough_links():
    """Two gaussians follow the moons with enough links."""
    wrong = EXPECTED["figures"]["8"]["share_wrong"]
    assert wrong["2 must, 2 cannot"]["gm_pr_2"]["mean"] > wrong["2 must, 2 cannot"]["gm_pr"]["mean"]
    assert wrong["8 must, 8 cannot"]["gm_pr_2"]["mean"] < wrong["8 must, 8 cannot"]["gm_pr"]["mean"] / 2
    assert wrong["8 must, 8 cannot"]["gm_pr_2_default"]["mean"] < 0.02


def check_more_gaussians_help_on_digits_1_2_3_alone():
    """More gaussians help on digits 1 2 3 alone."""
    for method in ("gm_pr_2", "gm_pr_3", "gm_pr_4"):
        mean, error = over_first(10, "digits123", method)
        assert mean[-1] > 2 * error[-1]
        mean, error = over_first(10, "digits4567", method)
        assert (abs(mean) < 2 * error).all()


def check_coil_needs_the_start_that_uses_links():
    """Coil needs the start that uses links."""
    for name in ("coil20_10", "coil20_15", "coil20_20"):
        bare, linked = (cell(9, name, "gm_pr_3", links)[0] for links in (0, 1000))
        assert abs(linked - bare) < 0.01
        assert cell(9, name, "gm_pr_3_default", 1000)[0] > linked + 0.05
