"""The reproduction of Bilenko, Basu & Mooney (2004): its quick run, its protocol, and what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "mpck_means"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
# Two seeds of two folds of 30 rows: pairwise F then has a standard error of up to 0.04.
TOLERANCE = 0.08


@pytest.fixture(scope="module")
def run():
    with load_run("mpck_means") as module:
        yield module


@pytest.fixture(scope="module")
def quick(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert run.main(["--quick", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


def value(results, name, method, links, what="mean"):
    found = results["data"][name]
    return found["curves"][method][what][found["links"].index(links)]


def test_quick_run_writes_results_and_figures(run, quick):
    out, results = quick
    assert set(results) == set(EXPECTED)
    assert sorted(results["data"]) == ["iris", "wine"]
    assert results["n_seeds"] == 2
    assert results["skipped"] == {}
    for name, found in results["data"].items():
        assert found["links"] == [0, 50, 200]
        assert list(found["curves"]) == list(run.METHODS) == list(results["methods"])
        for curve in found["curves"].values():
            assert len(curve["mean"]) == len(curve["standard_error"]) == 3
            assert all(0 <= mean <= 1 for mean in curve["mean"])
        picture = (out / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")


def test_quick_run_agrees_with_what_was_measured(run, quick):
    _, results = quick
    for name in ("iris", "wine"):
        for method in run.METHODS:
            measured = value(EXPECTED, name, method, 200)
            assert value(results, name, method, 200) == pytest.approx(measured, abs=TOLERANCE), (name, method)


def test_quick_run_shows_that_links_with_a_metric_beat_k_means(quick):
    _, results = quick
    for name in ("iris", "wine"):
        gain = value(results, name, "mpck_full", 200) - value(results, name, "kmeans", 200)
        assert gain > 0.08, name


def test_links_and_held_out_rows_are_disjoint(run, monkeypatch):
    named, held_out = [], []

    class RowNumbers:
        """A clusterer whose labels tell which row is which."""

        def fit(self, X, supervision=None):
            if supervision is not None:
                assert len(supervision.must) + len(supervision.cannot) == 200
                named.append(set(np.flatnonzero(supervision.touched)))
            self.labels_ = np.arange(len(X))
            return self

    method = run.Method("row numbers", lambda k, seed: RowNumbers(), "black", "o")
    monkeypatch.setattr(run, "METHODS", {"rows": method})
    monkeypatch.setattr(run, "pairwise_f", lambda y, labels: held_out.append(set(labels)) or 0.0)
    iris = load("iris")
    run.run_seed(iris.X, iris.y, seed=0, counts=[200], n_folds=5)
    assert len(named) == len(held_out) == 5
    assert set.union(*held_out) == set(range(150))
    assert all(not a & b for a, b in zip(named, held_out, strict=True))


def test_number_of_links_is_capped_by_the_pairs_there_are(run):
    assert run.link_counts(np.zeros(10), (0, 25, 500)) == [0, 25, 28]  # 8 rows to draw from: 28 pairs


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run, "load", absent)
    assert run.main(["--data", "protein", "--out", str(tmp_path / "out")]) == 1
    assert "skipped protein" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_iris_measured_again_is_what_was_measured(run):
    results = run.measure(run.Plan(data=("iris",), links=(200,)), run.Console())
    for method in run.METHODS:
        measured = value(EXPECTED, "iris", method, 200)
        assert value(results, "iris", method, 200) == pytest.approx(measured, abs=0.02), method
