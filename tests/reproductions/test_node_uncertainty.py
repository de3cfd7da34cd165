"""The reproduction of Xiong, Johnson & Corso: its protocol, a small run, and what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from likewise import Supervision
from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "node_uncertainty"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run():
    with load_run("node_uncertainty") as module:
        yield module


def blobs(run):
    """Two lumps of 20 rows that touch."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return run.ex.Problem.of(rng.normal(size=(40, 3)) + 2 * y[:, None], y)


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        problem = blobs(run)
        patch.setattr(run.ex, "problem_of", lambda name: problem)
        patch.setattr(run, "QUICK", run.replace(run.QUICK, n_runs=1, most=10))
        assert run.main(["--quick", "--data", "sonar", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- the run


def test_quick_run_writes_results_and_figures(run, small):
    out, results = small
    assert set(results) == set(EXPECTED)
    assert list(results["data"]) == ["sonar"]
    assert results["skipped"] == {}
    found = results["data"]["sonar"]
    assert (found["n_samples"], found["n_clusters"], found["answers"]) == (40, 2, [0, 10])
    assert list(found["curves"]) == list(run.ex.METHODS)
    for curves in found["curves"].values():
        assert list(curves) == list(run.ex.STRATEGIES)
        for measures in curves.values():
            assert list(measures) == ["rand", "v_measure"]
            for curve in measures.values():
                assert np.shape(curve["runs"]) == (1, 2)
                assert all(0 <= mean <= 1 for mean in curve["mean"])
    for figure in ("figure2", "figure3", "dense"):
        assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_all_strategies_begin_with_the_same_clusters(small):
    _, results = small
    for curves in results["data"]["sonar"]["curves"].values():
        assert len({tuple(run[0] for run in each["rand"]["runs"]) for each in curves.values()}) == 1


def test_answers_about_uncertain_rows_help(small):
    _, results = small
    curve = results["data"]["sonar"]["curves"]["spectral"]["local"]["v_measure"]
    assert curve["mean"][-1] > curve["mean"][0]


def test_every_strategy_has_a_style(run):
    assert set(run.ex.STRATEGIES) == set(run.STYLES)


def test_graph_has_ten_neighbours_and_columns_that_say_something(run):
    X = np.column_stack([np.zeros(30), np.arange(30.0), np.random.default_rng(0).normal(size=30)])
    problem = run.ex.Problem.of(X, np.arange(30) % 3)
    assert problem.X.shape == (30, 2)
    np.testing.assert_allclose(problem.X.std(axis=0), 1)
    assert problem.n_clusters == 3
    assert (np.diff(problem.near.indptr) >= 10).all()
    assert np.count_nonzero(problem.full) == 30 * 29


def test_a_level_that_no_cut_meets_is_lowered(run):
    problem = blobs(run)
    fit = run.ex.fit_to("flexible", problem, 0)
    rows = np.arange(0, 40, 2)
    # All that is said is that many rows are together: one cluster of all keeps it best.
    together = fit(Supervision.from_links(40, must=np.column_stack([rows[:-1], rows[1:]])))
    apart = fit(Supervision.from_links(40, cannot=[(0, 1), (2, 3)]))
    assert apart.level == run.ex.LEVELS[0]
    assert together.level in (*run.ex.LEVELS[1:], "auto")
    assert len(np.unique(together.labels_)) == 2


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run.ex, "load", absent)
    run.ex.problem_of.cache_clear()
    assert run.main(["--data", "pima", "--out", str(tmp_path / "out")]) == 1
    assert "skipped pima" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_data_are_those_of_the_paper(run, data_folder):
    sizes = {
        name: (len(run.ex.problem_of(name).X), run.ex.problem_of(name).n_clusters) for name in run.ex.SETS
    }
    assert sizes == {
        "balance_scale": (625, 3),
        "pima": (768, 2),
        "sonar": (208, 2),
        "wine": (178, 3),
        "cho": (386, 5),
        "semeion": (1593, 10),
        "mfeat": (2000, 10),
    }
