"""The reproduction of Yu, Elhabian & Whitaker: its protocol, a small run, and what was measured."""

import json
from pathlib import Path

import joblib
import numpy as np
import pytest

from likewise.evaluation import purity_score
from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import loaded

FOLDER = Path(__file__).parents[2] / "reproductions" / "gm_pr"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run():
    with loaded("gm_pr") as module:
        yield module


def blobs(n_components=2):
    """Three lumps in a row, as many as the digits 1, 2 and 3."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    return rng.normal(size=(90, n_components)) + 4 * y[:, None], y


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.ex, "data_of", lambda name: blobs())
        patch.setattr(run.ex, "TOY_LINKS", run.ex.TOY_LINKS[:2])
        patch.setattr(run.ex, "MOON_LINKS", run.ex.MOON_LINKS[:2])
        assert run.main(["--quick", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


def cell(number, name, method, links, measure="purity", results=EXPECTED):
    found = results["figures"][str(number)]["data"][name]
    scores = found["curves"][method][measure]
    at = found["links"].index(links)
    return scores["mean"][at], scores["standard_deviation"][at]


# ---------------------------------------------------------------------- the run


def test_quick_run_writes_results_and_figures(run, small):
    out, results = small
    assert set(results) == set(EXPECTED)
    assert list(results["figures"]) == ["3", "4", "6", "7", "8", "10"]  # COIL-20 is left to the full run
    assert results["skipped"] == {}
    for number, found in results["figures"].items():
        assert (out / f"figure{number}.png").read_bytes().startswith(b"\x89PNG")
        assert found["n_trials"] == 2
        for of_set in found.get("data", {}).values():
            assert of_set["links"] == [0, 128]
            assert tuple(of_set["curves"]) == run.ex.SWEEPS[int(number)].methods
            for curve in of_set["curves"].values():
                assert all(of_set["majority"] <= mean <= 1 for mean in curve["purity"]["mean"])
                assert len(curve["adjusted_rand"]["standard_deviation"]) == 2


def test_without_links_all_methods_are_the_plain_mixture(small):
    _, results = small
    for number in ("4", "6", "7"):
        curves = results["figures"][number]["data"]["digits123"]["curves"]
        bare = {name: curve["purity"]["mean"][0] for name, curve in curves.items() if "default" not in name}
        assert len(set(bare.values())) == 1, bare


@pytest.mark.parametrize(("number", "kinds"), [(4, {"both"}), (6, {"must"}), (7, {"cannot"})])
def test_links_are_of_the_kind_of_the_figure(run, monkeypatch, number, kinds):
    X, y = blobs()
    seen = []

    def watch(method, X, k, seed, hints):
        if hints is not None:
            must, cannot = len(hints.must) > 0, len(hints.cannot) > 0
            seen.append("both" if must and cannot else "must" if must else "cannot")
            assert (y[hints.must[:, 0]] == y[hints.must[:, 1]]).all()
            assert (y[hints.cannot[:, 0]] != y[hints.cannot[:, 1]]).all()
            assert len(hints.must) + len(hints.cannot) == 32
        return Labels(y)

    monkeypatch.setattr(run.ex, "fit", watch)
    sweep = run.replace(run.ex.SWEEPS[number], links=(0, 32))
    found = run.ex.sweep_trial(sweep, X, y, 0, list(sweep.methods))
    assert set(seen) == kinds
    assert (found == 1).all()


class Labels:
    converged_ = True

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        return self.labels


def test_a_curve_is_summarised_by_hand(run):
    # Two trials, one number of links; purity .5 and .7 against .4 and .4 of the first method.
    found = np.array([[[0.5, 0.1, 1.0]], [[0.7, 0.3, 0.0]]])
    first = np.array([[[0.4, 0.0, 1.0]], [[0.4, 0.0, 1.0]]])
    curve = run._curve(found, first)
    assert curve["purity"] == {"mean": [0.6], "standard_deviation": [0.1414]}
    assert curve["adjusted_rand"] == {"mean": [0.2], "standard_deviation": [0.1414]}
    assert curve["purity_over_first"] == {"mean": [0.2], "standard_error": [0.1]}
    assert curve["not_settled"] == [1]


def test_toy_has_the_split_that_is_meant_and_a_wider_one(run):
    X, above, right = run.ex.make_toy(0)
    assert purity_score(above, X[:, 1] > 0) > 0.95
    assert purity_score(right, X[:, 0] > 0) > 0.97
    assert abs((above == right).mean() - 0.5) < 0.1


def test_telling_links_contradict_the_wider_split(run):
    _, y, other = run.ex.make_toy(3)
    hints = run.ex.toy_links(run.ex.LinkAmount(8, 8, telling=True), y, other, 3)
    (a, b), (c, d) = hints.must.T, hints.cannot.T
    assert len(a) == len(c) == 8
    assert (y[a] == y[b]).all()
    assert (other[a] != other[b]).all()
    assert (y[c] != y[d]).all()
    assert (other[c] == other[d]).all()


def test_spectral_clustering_finds_lumps_apart(run):
    X, y = blobs()
    scores = run.ex.spectral_trials(4 * y[:, None] + X, y, 2)
    assert scores.shape == (2, 2)
    assert (scores > 0.95).all()


def test_methods_on_graphs_get_the_same_links_as_mixtures(run):
    X, y = blobs()
    sweep = run.replace(run.ex.SWEEPS[9], links=(0, 32))
    found = run.ex.sweep_trial(sweep, X, y, 0, ["sskk", "csc"])
    assert found.shape == (2, 2, 3)
    assert (found[:, 1, 0] > 0.9).all()
    assert (found[..., 2] == 1).all()


def test_trials_come_in_order_from_several_workers(run, monkeypatch):
    monkeypatch.setattr(run.ex, "moons_trial", lambda seed: np.full((4, 2, 2), seed))
    found = []
    for jobs in (1, 2):
        with joblib.parallel_config(backend="threading"), run.progress_of("", run.Console()) as progress:
            runner = run.Runner(jobs, run.Console(), progress)
            found.append(runner.trials("moons", run.ex.moons_trial, [(seed,) for seed in range(6)]))
    assert np.stack(found[0])[:, 0, 0, 0].tolist() == list(range(6))
    np.testing.assert_array_equal(*found)


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run.ex, "load", absent)
    assert run.main(["--figures", "4", "9", "--out", str(tmp_path / "out")]) == 1
    assert "skipped digits123" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "shape", "k"), [("digits123", (3177, 2), 3), ("coil20_15", (1440, 15), 20)])
def test_data_are_those_of_the_paper(run, data_folder, name, shape, k):
    X, y = run.ex.data_of(name)
    assert X.shape == shape
    assert np.array_equal(np.unique(y), np.arange(k))
    spreads = X.std(axis=0)
    assert (np.diff(spreads) < 0).all()  # the leading components first


# ---------------------------------------------------------------------- what was measured


def test_tables_in_the_readme_are_what_was_measured():
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


def test_every_figure_was_recorded_in_full(run):
    assert EXPECTED["n_trials"] >= 20
    assert EXPECTED["skipped"] == {}
    assert [int(number) for number in EXPECTED["figures"]] == list(run.FIGURES)
    assert all((FOLDER / "figures" / f"figure{number}.png").exists() for number in EXPECTED["figures"])
    for number, sweep in run.ex.SWEEPS.items():
        assert list(EXPECTED["figures"][str(number)]["data"]) == list(sweep.data)


def test_same_method_start_and_links_give_the_same_in_two_figures():
    for name in ("digits123", "digits4567"):
        four, ten = (EXPECTED["figures"][number]["data"][name]["curves"]["gm_pr"] for number in ("4", "10"))
        assert four == ten


# The verdicts of the table, so that a new recording which overturns one of them is noticed.


def over_first(number, name, method):
    found = EXPECTED["figures"][str(number)]["data"][name]["curves"][method]["purity_over_first"]
    return np.array(found["mean"]), np.array(found["standard_error"])


@pytest.mark.parametrize("number", [4, 6, 7])
@pytest.mark.parametrize("name", ["digits123", "digits4567"])
def test_gm_pr_is_nowhere_clearly_better_than_gmm_ec(number, name):
    mean, error = over_first(number, name, "gmm_ec")
    assert (mean >= -np.maximum(2 * error, 0.001)).all()


@pytest.mark.parametrize("name", ["digits123", "digits4567"])
def test_components_are_no_worse_than_pairs_with_must_links_alone(name):
    mean, error = over_first(6, name, "gm_pr_components")
    assert (mean >= -2 * error).all()


def test_gmm_ec_and_gm_pr_are_alike_with_many_links_of_both_kinds():
    for name in ("digits123", "digits4567"):
        mean, error = over_first(4, name, "gmm_ec")
        assert -2 * error[-1] < mean[-1] < 0.02


def test_links_do_not_lower_the_purity_of_sskk_and_gm_pr_does_not_beat_it():
    for name in ("coil20_10", "coil20_15", "coil20_20"):
        bare, linked = (cell(9, name, "sskk", links)[0] for links in (0, 1000))
        assert linked > bare - 0.02
        assert linked > cell(9, name, "gm_pr_3", 1000)[0]


@pytest.mark.parametrize("name", ["digits123", "digits4567"])
def test_gm_pr_is_no_worse_than_em_pc(name):
    mean, error = over_first(7, name, "em_pc")
    assert (mean <= 2 * error).all()


@pytest.mark.parametrize("number", [4, 6, 7])
@pytest.mark.parametrize(("name", "gain"), [("digits123", 0.08), ("digits4567", 0.03)])
def test_many_links_help(number, name, gain):
    assert cell(number, name, "gm_pr", 512)[0] - cell(number, name, "gm_pr", 0)[0] > gain


def test_few_links_find_the_split_from_our_start_alone():
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


def test_two_gaussians_follow_the_moons_with_enough_links():
    wrong = EXPECTED["figures"]["8"]["share_wrong"]
    assert wrong["2 must, 2 cannot"]["gm_pr_2"]["mean"] > wrong["2 must, 2 cannot"]["gm_pr"]["mean"]
    assert wrong["8 must, 8 cannot"]["gm_pr_2"]["mean"] < wrong["8 must, 8 cannot"]["gm_pr"]["mean"] / 2
    assert wrong["8 must, 8 cannot"]["gm_pr_2_default"]["mean"] < 0.02


def test_more_gaussians_help_on_digits_1_2_3_alone():
    for method in ("gm_pr_2", "gm_pr_3", "gm_pr_4"):
        mean, error = over_first(10, "digits123", method)
        assert mean[-1] > 2 * error[-1]
        mean, error = over_first(10, "digits4567", method)
        assert (abs(mean) < 2 * error).all()


def test_coil_needs_the_start_that_uses_links():
    for name in ("coil20_10", "coil20_15", "coil20_20"):
        bare, linked = (cell(9, name, "gm_pr_3", links)[0] for links in (0, 1000))
        assert abs(linked - bare) < 0.01
        assert cell(9, name, "gm_pr_3_default", 1000)[0] > linked + 0.05


@pytest.mark.slow
def test_digits_measured_again_are_what_was_measured(run, data_folder):
    plan = run.Plan(figures=(4,), data=("digits123",), links=(0, 512))
    results = run.measure(plan, run.Console())
    assert results["skipped"] == {}
    for method in run.ex.SWEEPS[4].methods:
        for links in (0, 512):
            again, _ = cell(4, "digits123", method, links, results=results)
            assert again == pytest.approx(cell(4, "digits123", method, links)[0], abs=0.01), (method, links)
