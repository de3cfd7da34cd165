"""The reproduction of Yu, Elhabian & Whitaker: its protocol, a small run, and what was measured."""

import json
from pathlib import Path

import joblib
import numpy as np
import pytest

from likewise.evaluation import purity_score
from likewise.exceptions import DatasetNotFoundError
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "gm_pr"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run():
    with load_run("gm_pr") as module:
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
        patch.setattr(run.ex, "data_of", lambda name: tuple(part[::2] for part in blobs()))
        patch.setattr(run.ex, "N_TOY", 60)
        patch.setattr(run, "QUICK", run.replace(run.QUICK, n_trials=1, links=(0, 32)))
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
        assert found["n_trials"] == 1
        for of_set in found.get("data", {}).values():
            assert of_set["links"] == [0, 32]
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


@pytest.mark.slow
def test_digits_measured_again_are_what_was_measured(run, data_folder):
    plan = run.Plan(figures=(4,), data=("digits123",), links=(0, 512))
    results = run.measure(plan, run.Console())
    assert results["skipped"] == {}
    for method in run.ex.SWEEPS[4].methods:
        for links in (0, 512):
            again, _ = cell(4, "digits123", method, links, results=results)
            assert again == pytest.approx(cell(4, "digits123", method, links)[0], abs=0.01), (method, links)
