"""The reproduction of Pei (2017), chapter 4: its protocol, a small run, and what was measured."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "bayesian_active"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
SETS = ("fertility", "sonar", "balance_scale", "transfusion", "letters_ij", "digits389")


@pytest.fixture(scope="module")
def run():
    with load_run("bayesian_active") as module:
        yield module


def blobs(run):
    """Two lumps of 15 rows, two columns."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    return run.ex.Problem(rng.normal(size=(30, 2)) + 3 * y[:, None], y)


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.ex, "problem_of", lambda name: blobs(run))
        patch.setattr(run.ex, "TABLE", (10,))
        patch.setattr(run, "QUICK", replace(run.QUICK, n_runs=1, most=10))
        assert run.main(["--quick", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


def is_forest(pairs, n_samples):
    """Tell whether no pair closes a cycle: each one joins two trees."""
    i, j = np.array(pairs).T
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(n_samples, n_samples))
    return connected_components(graph, directed=False)[0] == n_samples - len(pairs)


# ---------------------------------------------------------------------- the run


def test_quick_run_writes_results_and_figures(run, small):
    out, results = small
    assert set(results) == set(EXPECTED)
    assert list(results["data"]) == ["fertility"]
    assert results["skipped"] == {}
    found = results["data"]["fertility"]
    assert (found["n_samples"], found["n_clusters"], found["answers"]) == (30, 2, [0, 10])
    assert set(found["curves"]) == set(run.STYLES)
    assert list(found["seconds"]) == list(run.ex.PARTS)
    for curve in found["curves"].values():
        assert np.shape(curve["runs"]) == (1, 2)
        assert all(0 <= mean <= 1 for mean in curve["mean"])
    assert (
        np.shape(found["dropped"]["info"]["runs"])
        == np.shape(found["dropped"]["uncertain"]["runs"])
        == (1, 1)
    )
    for figure in run.FIGURES:
        assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_ten_answers_part_two_lumps(small):
    _, results = small
    curves = results["data"]["fertility"]["curves"]
    for key in ("info_bc", "info_bc_default", "npu_itml", "min_max_mpck"):
        assert curves[key]["mean"][-1] > 0.85, key


def test_curves_that_share_a_clusterer_begin_alike(small):
    _, results = small
    curves = results["data"]["fertility"]["curves"]
    for clusterer in ("itml", "mpck"):
        first = [run[0] for run in curves[clusterer]["runs"]]
        for key in (f"{clusterer}_tree", f"npu_{clusterer}", f"min_max_{clusterer}", f"info_{clusterer}"):
            assert [run[0] for run in curves[key]["runs"]] == first, key


def test_pairs_at_random_with_and_without_cycles(run):
    rng = np.random.default_rng(0)
    tree = run.ex.random_pairs(12, 11, rng, tree=True)
    assert is_forest(tree, 12)
    free = run.ex.random_pairs(12, 60, rng, tree=False)
    assert len(set(free)) == 60
    assert not is_forest(free, 12)
    assert all(i < j for i, j in tree + free)


def test_other_priors_have_the_pairs_of_the_first(run, monkeypatch):
    seen = []
    monkeypatch.setattr(run.ex, "problem_of", lambda name: blobs(run))
    monkeypatch.setattr(run.ex, "bc_scores", lambda problem, pairs, *rest: seen.append(pairs) or [])
    monkeypatch.setattr(run.ex, "score_given_pairs", lambda *rest: [])
    run.ex.random_trial("fertility", 3, 20)
    run.ex.prior_trial("fertility", 3, 20)
    assert len(seen) == 1 + len(run.ex.PRIORS)
    assert all(pairs == seen[0] for pairs in seen)


@pytest.mark.parametrize("criterion", ["info", "uncertain"])
def test_chosen_pairs_close_no_cycle(run, monkeypatch, criterion):
    seen = []
    monkeypatch.setattr(run.ex, "problem_of", lambda name: blobs(run))
    monkeypatch.setattr(
        run.ex, "score_given_pairs", lambda key, problem, pairs, *rest: seen.append(pairs) or []
    )
    found = run.ex.bayesian_trial(criterion, run.ex.PRIOR, "fertility", 0, 12)
    assert is_forest(seen[0], 30)
    assert len(seen[0]) == 12
    assert len(found[f"{criterion}_bc"]) == 3
    assert len(found["dropped"]) == 1


def test_dropped_pairs_by_hand(run):
    class Model:
        """Two particles that disagree on row 2, and are both unsure of row 3."""

        epsilon = 0.0

        def membership_samples(self):
            sure, other, half = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]
            return np.array([[sure, sure, sure, half, sure], [sure, sure, other, half, sure]])

    pairs = [(0, 1), (1, 2), (2, 3)]
    # Of 0-2, 0-3 and 1-3, the pair 0-2 tells a bit, the others nothing; all are uncertain to the full.
    assert run.ex.n_dropped(Model(), pairs, "info", 0.5) == 1
    assert run.ex.n_dropped(Model(), pairs, "info", 0.7) == 0
    assert run.ex.n_dropped(Model(), pairs, "uncertain", 0.5) == 3
    assert run.ex.n_dropped(Model(), pairs[:1], "uncertain", 0.5) == 0
    assert run.ex.n_dropped(Model(), [], "info", 0.0) == 0


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run.ex, "load", absent)
    run.ex.problem_of.cache_clear()
    assert run.main(["--data", "sonar", "--out", str(tmp_path / "out")]) == 1
    assert "skipped sonar" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_data_are_those_of_the_thesis(run, data_folder):
    sizes = {name: (*run.ex.problem_of(name).X.shape, run.ex.problem_of(name).n_clusters) for name in SETS}
    assert sizes == {
        "fertility": (100, 9, 2),
        "sonar": (208, 60, 2),
        "balance_scale": (625, 4, 3),
        "transfusion": (748, 4, 2),
        "letters_ij": (1502, 16, 2),
        "digits389": (3165, 16, 3),
    }
