"""Check the claims of Pei (2017), chapter 4 against the recorded results."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SETS = ("fertility", "sonar", "balance_scale", "transfusion", "letters_ij", "digits389")


def area(run, name, key):
    """Return the mean over the answers of a curve."""
    found = EXPECTED["data"][name]
    return run.areas(found["curves"][key], found["answers"]).mean()


def end(name, key):
    """Return the last mean of a curve."""
    return EXPECTED["data"][name]["curves"][key]["mean"][-1]


def check_tables_of_the_readme_are_what_was_measured(run):
    """Tables of the readme are what was measured."""
    for title, lines in run.tables(EXPECTED).items():
        assert "\n".join(lines) in README, title


def check_everything_of_the_first_figure_was_measured_ten_times(run):
    """Everything of the first figure was measured ten times."""
    assert EXPECTED["n_runs"] >= 10
    assert tuple(EXPECTED["data"]) == SETS
    for name, found in EXPECTED["data"].items():
        for key in (*run.PASSIVE, "min_max_itml", "min_max_mpck"):
            assert len(found["curves"][key]["runs"]) >= 10, (name, key)
    for figure in ("figure4.1", "figure4.2", "handed_on"):
        assert (FOLDER / "figures" / f"{figure}.png").exists()


def check_bayesian_model_makes_most_of_random_pairs_where_classes_are_of_like_size(run):
    """Bayesian model makes most of random pairs where classes are of like size."""
    for name in ("sonar", "balance_scale"):
        found = run.gains(EXPECTED["data"][name], "bc_tree", run.PASSIVE[1:])
        assert {verdict for _, _, verdict in found.values()} == {"ahead"}, name
    for name in ("letters_ij", "digits389"):
        found = run.gains(EXPECTED["data"][name], "bc_tree", run.PASSIVE[1:])
        assert found["itml_tree"][2] == "equal"
        assert found["mpck_tree"][2] == "ahead"


def check_bayesian_model_is_behind_where_one_class_is_large(run):
    """Bayesian model is behind where one class is large."""
    assert run.gains(EXPECTED["data"]["fertility"], "bc_tree", ("mpck_tree",))["mpck_tree"][2] == "behind"
    assert run.gains(EXPECTED["data"]["transfusion"], "bc_tree", ("itml_tree",))["itml_tree"][2] == "behind"


def check_trees_do_not_hurt_the_others(run):
    """Trees do not hurt the others."""
    for name in SETS:
        for key in ("itml", "mpck"):
            assert run.gains(EXPECTED["data"][name], f"{key}_tree", (key,))[key][2] != "behind", (name, key)


def check_info_beats_every_rival_on_balance_and_most_on_sonar(run):
    """Info beats every rival on balance and most on sonar."""
    leads = {
        name: {
            key: gain[2] for key, gain in run.gains(EXPECTED["data"][name], "info_bc", run.ACTIVE[1:]).items()
        }
        for name in ("balance_scale", "sonar")
    }
    assert set(leads["balance_scale"].values()) == {"ahead"}
    equal = {key for key, verdict in leads["sonar"].items() if verdict == "equal"}
    assert equal == {"uncertain_bc", "npu_mpck"}
    assert {verdict for key, verdict in leads["sonar"].items() if key not in equal} == {"ahead"}


def check_info_ends_ahead_of_random_pairs_but_does_not_lead_all_the_way(run):
    """Info ends ahead of random pairs but does not lead all the way."""
    for name in ("fertility", "sonar", "balance_scale", "digits389"):
        assert end(name, "info_bc") > end(name, "bc_tree"), name
    assert area(run, "digits389", "info_bc") < area(run, "digits389", "bc_tree")
    assert end("transfusion", "info_bc") < end("transfusion", "bc_tree")


def check_uncertain_hardly_ever_drops_a_pair():
    """Uncertain hardly ever drops a pair."""
    for name, found in EXPECTED["data"].items():
        if "uncertain" in found["dropped"]:
            assert max(found["dropped"]["uncertain"]["mean"]) <= 0.1, name
