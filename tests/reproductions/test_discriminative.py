"""The reproduction of chapter 3 of Pei (2017): its protocol, its quick run, and what was measured."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "discriminative"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
LEVEL = 3
# The run has the seed of the first of the runs that were recorded; the rest is another machine.
TOLERANCE = 0.1


@pytest.fixture(scope="module")
def run():
    with load_run("discriminative") as module:
        yield module


@pytest.fixture
def toy(run, monkeypatch):
    """Stand three clouds in for every data set."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [30, 20, 10])
    X = 100.0 * rng.normal(size=(60, 3)) + 500.0 * (np.unique(y, return_inverse=True)[1])[:, None]
    monkeypatch.setattr(run, "load", lambda name: SimpleNamespace(X=X, y=y))
    return run


@pytest.fixture(scope="module")
def quick(run, data_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    given = ["--quick", "--data", "ionosphere", "--out", str(out), "--cache", str(out / "cache")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "QUICK", run.replace(run.QUICK, n_runs_small=1))
        assert run.main(given) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


def mean(results, name, curve, level):
    found = results["data"][name]["curves"][curve]
    return found["mean"][found["levels"].index(level)]


def test_quick_run_writes_results_and_figures(run, quick):
    out, results = quick
    assert set(results) == set(EXPECTED)
    assert list(results["data"]) == ["ionosphere"]
    found = results["data"]["ionosphere"]
    assert set(found) == set(EXPECTED["data"]["ionosphere"])
    assert found["n_runs"] == 1
    assert set(found["curves"]) == set(run.QUICK.curves)
    for key, curve in found["curves"].items():
        assert curve["levels"] == ([0] if run.CURVES[key].kind is None else [LEVEL])
        assert len(curve["runs"][0]) == 1
        assert all(0 <= value <= 1 for values in curve["runs"] for value in values)
    for figure in ("3_2", "3_3", "3_4", "3_5", "3_6", "3_8"):
        assert (out / f"figure_{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_quick_run_agrees_with_what_was_measured(quick):
    _, results = quick
    for key, curve in results["data"]["ionosphere"]["curves"].items():
        recorded = EXPECTED["data"]["ionosphere"]["curves"][key]
        measured = np.mean(recorded["runs"][recorded["levels"].index(curve["levels"][0])][:1])
        assert curve["mean"][0] == pytest.approx(measured, abs=TOLERANCE), key


def test_rows_are_standardised_and_classes_numbered(toy):
    X, y = toy.prepare("pima")
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    assert np.bincount(y).tolist() == [30, 20, 10]


def test_subset_of_msrcv2_is_that_of_the_thesis(run, data_folder):
    X, y = run.prepare("msrcv2")
    assert X.shape == (1046, 48)
    assert len(np.unique(y)) == 6


@pytest.mark.parametrize(
    ("kind", "level", "links", "triplets"),
    [("pairs", 6, 36, 0), ("triplets", 6, 0, 18), ("matched_pairs", 6, 27, 0), ("pairs", 1, 6, 0)],
)
def test_numbers_of_hints_are_those_of_the_thesis(toy, kind, level, links, triplets):
    _, y = toy.prepare("pima")  # 60 rows
    hints = toy.draw_hints(y, kind, level, run=0)
    assert len(hints.must) + len(hints.cannot) == links
    assert len(hints.triplets) == triplets


def test_matched_pairs_show_as_many_rows_as_the_triplets(run):
    assert 2 * run.SHARES["matched_pairs"] == pytest.approx(3 * run.SHARES["triplets"])


def test_all_methods_of_a_run_get_the_same_hints_and_metric_learners_end_in_k_means(toy, monkeypatch):
    got = {}

    class Recorder:
        n_clusters = 3

        def __init__(self, key):
            self.key = key

        def fit(self, X, supervision):
            got[self.key] = supervision
            self.labels_ = np.zeros(len(X), dtype=int)
            return self

    class Metric:
        def fit(self, X, supervision):
            got["metric"] = supervision
            return self

        def transform(self, X):
            return X

    pairs = toy.CURVES["dc_p"]
    curves = {key: run_with(pairs, lambda k, seed, key=key: Recorder(key)) for key in ("one", "two")}
    curves["metric"] = run_with(toy.CURVES["itml"], lambda k, seed: Metric())
    monkeypatch.setattr(toy, "CURVES", curves)
    X, y = toy.prepare("pima")
    found = {key: toy.run_task(toy.Task("pima", key, 6, 4), X, y) for key in curves}
    for other in ("two", "metric"):
        np.testing.assert_array_equal(got["one"].must, got[other].must)
        np.testing.assert_array_equal(got["one"].cannot, got[other].cannot)
    assert found["one"]["ari"] == 0.0  # one cluster
    assert found["metric"]["ari"] > 0.5


def run_with(curve, make):
    return type(curve)(curve.label, curve.kind, make)


def test_fits_are_kept_and_measured_again_only_when_asked(toy, monkeypatch, tmp_path):
    calls = []

    def counted(task, X, y):
        calls.append(task)
        return {"f": 0.5}

    monkeypatch.setattr(toy, "run_task", counted)
    task = toy.Task("pima", "xing", 1, 0)
    plan = toy.Plan(cache=tmp_path)
    for _ in range(2):
        assert toy.run_cached_task(task, None, None, plan) == {"f": 0.5}
    assert len(calls) == 1
    toy.run_cached_task(toy.Task("pima", "xing", 1, 1), None, None, plan)
    toy.run_cached_task(task, None, None, toy.replace(plan, fresh=True))
    assert len(calls) == 3


def test_what_is_kept_depends_on_parameters(run):
    assert len({run.fingerprint(key) for key in ("dc_p", "dc_r_c", "dc_p_hard", "dc_p_15", "itml")}) == 5
    assert run.fingerprint("dc_p") == run.fingerprint("dc_r")


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run, "load", absent)
    assert run.main(["--data", "pima", "--out", str(tmp_path / "out"), "--cache", str(tmp_path)]) == 1
    assert "skipped pima" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_intervals_and_differences_by_hand(run):
    report = sys.modules["dc_report"]
    # Two runs that differ by 1: mean 0.5, standard error 0.5, Student's t of one degree of freedom 12.706.
    assert report.half_width(np.array([0.0, 1.0])) == pytest.approx(6.353, abs=1e-3)
    curves = {
        "dc_p": {"levels": [3], "mean": [0.7], "runs": [[0.6, 0.7, 0.8]]},
        "xing": {"levels": [3], "mean": [0.6], "runs": [[0.5, 0.6, 0.7]]},
        "itml": {"levels": [3], "mean": [0.9], "runs": [[0.9, 0.9]]},
    }
    assert report.difference(curves, 3, "dc_p", "xing") == pytest.approx((0.1, 0.0), abs=1e-9)
    assert report.compare_with_best(curves, 3, "dc_p", ("xing",)) == "+0.100 ± 0.000 better"
    # Against ITML over the two runs that both have: -0.3 and -0.2.
    assert report.compare_with_best(curves, 3, "dc_p", ("xing", "itml")) == "-0.250 ± 0.635 same (ITML)"
    assert report.verdict(-0.2, 0.1) == "worse"
    assert report.verdict(0.004, 0.001) == "same"  # sure, and too small to be of use


def test_another_measure_is_compared_by_hand(run):
    report = sys.modules["dc_report"]
    keys = ("dc_p", *report.PAIR_BASELINES, "dc_r", "dc_r_c", *report.TRIPLET_BASELINES)
    curves = {key: {"mean": [place / 10], "ari": [place / 10]} for place, key in enumerate(keys)}
    results = {"data": {"toy": {"curves": curves}}}
    assert report.agreement(results, "ari") == (16, 16)  # 6 pairs of four methods and 10 of five
    curves["dc_p"]["ari"] = [0.15]  # now between the first and the second baseline
    assert report.agreement(results, "ari") == (15, 16)


def test_curves_measured_alone_join_the_recorded_ones(run):
    recorded = {"curves": {"lsml": "A"}, "data": {"x": {"curves": {"lsml": 1}}, "y": {"curves": {"lsml": 2}}}}
    measured = {"curves": {"dc_r": "B"}, "data": {"x": {"curves": {"dc_r": 3}}, "z": {"curves": {"dc_r": 4}}}}
    found = run.merge_curves(recorded, measured)
    assert list(found["curves"].items()) == [("dc_r", "B"), ("lsml", "A")]  # in the order of the figures
    assert found["data"] == {"x": {"curves": {"lsml": 1, "dc_r": 3}}, "y": {"curves": {"lsml": 2}}}
