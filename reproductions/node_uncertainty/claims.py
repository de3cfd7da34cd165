"""Check the claims of Xiong, Johnson & Corso against the recorded results."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def get_curves(method, name, measure="v_measure"):
    """Return the curves of a method on a set, by strategy."""
    return {key: curve[measure] for key, curve in EXPECTED["data"][name]["curves"][method].items()}


def verdicts(run, method, name, key, measure="v_measure"):
    """Return how a strategy compares with each other one."""
    return {
        other: found[2] for other, found in run.gains(EXPECTED["data"][name], method, key, measure).items()
    }


def check_tables_of_the_readme_are_what_was_measured(run):
    """Tables of the readme are what was measured."""
    for title, lines in run.tables(EXPECTED).items():
        assert "\n".join(lines) in README, title


def check_every_set_was_measured(run):
    """Every set was measured."""
    assert EXPECTED["n_runs"] >= 10
    assert tuple(EXPECTED["data"]) == tuple(run.ex.SETS)
    for name in run.ex.SETS:
        curves = get_curves("spectral", name)
        assert {"random", "ffqs", "local"} <= set(curves)
        assert all(len(curve["runs"]) >= 10 for curve in curves.values()), name
    for figure in ("figure2", "figure3", "figure4", "dense"):
        assert (FOLDER / "figures" / f"{figure}.png").exists()


def check_both_are_clearly_ahead_on_wine(run):
    """Both are clearly ahead on wine."""
    for key in ("local", "global"):
        found = verdicts(run, "spectral", "wine", key)
        assert {found[other] for other in ("random", "ffqs", "quire", "pknn")} == {"ahead"}


def check_both_are_no_better_than_most_on_balance(run):
    """Both are no better than most on balance."""
    for key in ("local", "global"):
        found = verdicts(run, "spectral", "balance_scale", key)
        assert found["random"] == "ahead"
        assert {found[other] for other in ("ffqs", "quire", "pknn")} == {"equal"}


def check_local_is_last_on_sonar_with_ten_neighbours_and_not_with_all_pairs(run):
    """Local is last on sonar with ten neighbours and not with all pairs."""
    found = verdicts(run, "spectral", "sonar", "local")
    assert {found[other] for other in ("random", "ffqs", "quire", "pknn", "global")} == {"behind"}
    found = verdicts(run, "dense", "sonar", "local")
    assert (found["random"], found["ffqs"], found["pknn"]) == ("ahead", "ahead", "ahead")


def check_global_is_behind_local_with_flexible_clustering_of_sonar(run):
    """Global is behind local with flexible clustering of sonar."""
    found = verdicts(run, "flexible", "sonar", "local")
    assert (found["global"], found["ffqs"], found["pknn"]) == ("ahead", "equal", "behind")


def check_local_leads_the_published_strategies_but_quire_on_semeion(run):
    """Local leads the published strategies but quire on semeion."""
    found = verdicts(run, "spectral", "semeion", "local")
    assert (found["random"], found["ffqs"], found["pknn"]) == ("ahead", "ahead", "ahead")
    assert (found["global"], found["quire"]) == ("ahead", "behind")


def check_global_is_ahead_on_mfeat(run):
    """Global is ahead on mfeat."""
    found = verdicts(run, "spectral", "mfeat", "global")
    assert (found["random"], found["ffqs"], found["local"]) == ("ahead", "ahead", "ahead")


def check_asc_is_ahead_of_random_with_two_clusters_and_not_with_more(run):
    """Asc is ahead of random with two clusters and not with more."""
    for method, name in (("spectral", "sonar"), ("spectral", "pima"), ("flexible", "pima")):
        assert verdicts(run, method, name, "asc")["random"] == "ahead"
    for name in ("balance_scale", "wine"):
        assert verdicts(run, "spectral", name, "asc")["random"] == "behind"
    assert verdicts(run, "spectral", "cho", "asc")["random"] == "equal"
