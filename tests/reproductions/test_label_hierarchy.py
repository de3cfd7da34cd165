"""The reproduction of Pei (2017), chapter 5: its protocol, a small run, and what was measured."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from likewise.exceptions import DatasetNotFoundError
from likewise.hierarchy import LabelHierarchy
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "label_hierarchy"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run():
    with load_run("label_hierarchy") as module:
        yield module


def make_rows_with_gaps(n=240):
    """Rows whose two labels, of which one includes the other, both lack some."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    true_labels = np.column_stack([X[:, 0] > -0.5, (X[:, 0] > -0.5) & (X[:, 1] > 0), X[:, 2] > 0.5])
    recorded = true_labels & (rng.random(true_labels.shape) >= 0.2)
    split = np.where(np.arange(n) % 3 == 0, "test", "train")
    return SimpleNamespace(X=X, Y=recorded, label_names=("animal", "bird", "new"), split=split)


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        tiny = replace(
            run.ex.SETS["tree15"], make=run.ex.make_problem_factory(6, 600), n_train=400, n_test=200
        )
        patch.setitem(run.ex.SETS, "tree15", tiny)
        patch.setattr(run.cs, "load", lambda name: make_rows_with_gaps())
        patch.setattr(run, "QUICK", replace(run.QUICK, n_runs=1, n_draws=2))
        assert run.main(["--quick", "--data", "tree15", "emotions", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- the run


def test_quick_run_writes_results_and_figures(run, small):
    out, results = small
    assert set(results) == set(EXPECTED)
    assert list(results["data"]) == ["tree15", "emotions"]
    assert results["skipped"] == {}
    found = results["data"]["tree15"]
    assert (found["n_train"], found["n_test"], found["n_labels"]) == (400, 200, 6)
    assert list(found["curves"]) == [key for key in run.ex.methods_of("tree15") if key != "profile"]
    for curves in found["curves"].values():
        assert set(curves) <= set(run.ex.MEASURES)
        for key, curve in curves.items():
            assert np.shape(curve["runs"]) == (1, 2)
            if "f1" in key or key in ("rate", "settled"):
                assert all(0 <= mean <= 1 for mean in curve["mean"])
    for figure in (*run.pictures.FIGURES, "emotions"):
        assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_a_given_tree_is_the_true_one_and_others_are_measured_against_it(small):
    curves = small[1]["data"]["tree15"]["curves"]
    assert curves["gt"]["rf"]["mean"] == [0, 0]
    assert curves["gt"]["ancestor_f1"]["mean"] == [1, 1]
    assert curves["learn"]["rf"]["mean"][0] == 0
    assert "rf" not in curves["br"]
    assert "tuned_micro" not in curves["br"]


def test_a_classifier_that_is_reported_the_rate_finds_more_labels_when_many_are_missing(small):
    curves = small[1]["data"]["tree15"]["curves"]
    assert curves["br_rescaled"]["f1_micro"]["mean"][1] > curves["br"]["f1_micro"]["mean"][1] + 0.05


def test_case_study_counts_by_hand(run, small):
    found = small[1]["data"]["emotions"]
    data = make_rows_with_gaps()
    recorded = data.Y.sum(axis=0).tolist()
    both = int((data.Y[:, 0] & data.Y[:, 1]).sum())
    assert found["recorded"] == recorded
    (edge,) = found["edges"]
    assert (edge["parent"], edge["child"]) == ("animal", "bird")
    assert (edge["rows"], edge["with_parent"]) == (recorded[1], both)
    assert found["missing_rate"] == round(1 - both / recorded[1], 3)
    assert edge["drawn_again"] == 1
    lines = run.cs.format_tree(found)
    assert [line.split(" (")[0] for line in lines] == ["animal", "    bird", "new"]


def test_one_rate_is_doubted_where_parents_are_recorded_unequally_often(run):
    # 80 and 20 of 100: the share is 0.5, and chi2 = 2 * 30² / (100 · 0.25) = 72 with one degree of freedom.
    found = run.cs._one_rate([{"rows": 100, "with_parent": 80}, {"rows": 100, "with_parent": 20}])
    assert (found["least"], found["most"], found["chi2"], found["freedom"]) == (0.2, 0.8, 72.0, 1)
    assert found["p"] < 1e-15
    same = run.cs._one_rate([{"rows": 100, "with_parent": 50}, {"rows": 50, "with_parent": 25}])
    assert (same["chi2"], same["p"]) == (0.0, 1.0)


def test_draws_lose_labels_at_the_noise_and_more_at_a_higher_one(run):
    low, high = (run.ex.draw_problem("tree15", noise, 3) for noise in (0.1, 0.4))
    problem = run.ex.SETS["tree15"].make(3)
    rng = np.random.default_rng(3)
    true_labels = problem.Y[rng.permutation(len(problem.X))[:2000]]
    assert (high.Z.to_numpy() <= low.Z.to_numpy()).all()
    assert (low.Z.to_numpy() <= true_labels).all()
    for trial, noise in ((low, 0.1), (high, 0.4)):
        assert 1 - trial.Z.to_numpy().sum() / true_labels.sum() == pytest.approx(noise, abs=0.02)
        np.testing.assert_allclose(trial.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(low.Y_test, high.Y_test)  # which has no gaps
    assert problem.hierarchy.consistency(low.Y_test).consistent_rows == 1


def test_star_and_reversed_edge_are_scored_by_hand(run):
    true = LabelHierarchy.from_parents([-1, 0, 1])
    scores = run.ex.tree_scores
    assert scores(SimpleNamespace(hierarchy_=LabelHierarchy.from_parents([-1, -1, -1])), true) == [2, 2, 0, 0]
    turned = LabelHierarchy.from_parents([1, -1, 1])
    assert scores(SimpleNamespace(hierarchy_=turned), true) == [0, 2, 0.4, 2]
    assert np.isnan(scores(SimpleNamespace(), true)).all()


def test_a_label_that_is_nowhere_is_left_out_of_macro(run):
    true = np.array([[1, 0, 0], [1, 1, 0]])
    found = np.array([[1, 1, 0], [1, 0, 0]])
    assert run.ex.f1_scores(true, found) == pytest.approx([2 / 3, 0.5])


def test_interval_is_students(run):
    curve = {"runs": [[1.0]] * 5, "mean": [1.0], "standard_error": [0.1]}
    assert run.pictures.interval(curve) == pytest.approx([0.27764], abs=1e-5)
    assert run.pictures.interval({**curve, "runs": [[1.0]]}) == [0]


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run.ex, "load", absent)
    monkeypatch.setattr(run.cs, "load", absent)
    run.ex.newsgroups.cache_clear()
    assert run.main(["--data", "20news", "yeast", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out
    assert "skipped 20news" in said
    assert "skipped yeast" in said
    assert not (tmp_path / "out").exists()


def test_church_is_cut_as_the_readme_says(run, data_folder):
    problem = run.ex.church()
    assert problem.X.shape == (326, 31)
    assert not np.isnan(problem.X).any()
    assert problem.Y.shape[1] == 16
    assert problem.Y.sum(axis=0).min() == 8
    assert problem.hierarchy.tops == ("02",)
    assert problem.Y[:, 0].all()
    assert problem.hierarchy.consistency(problem.Y).consistent_rows == 1


def test_clinc_rows_have_an_intent_and_its_domain(run, data_folder):
    problem = run.ex.clinc()
    assert problem.Y.shape == (22500, 160)
    assert len(problem.hierarchy.tops) == 10
    assert (problem.Y.sum(axis=1) == 2).all()
    assert problem.hierarchy.consistency(problem.Y).consistent_rows == 1


def test_pascal_has_the_groups_of_the_thesis_and_no_features(run, data_folder):
    problem = run.ex.pascal()
    assert problem.X.shape == (9963, 1)
    assert (problem.Y.shape[1], len(problem.hierarchy.edges)) == (23, 19)
    assert problem.hierarchy.tops == ("person", "animal", "vehicle", "indoor")
    assert problem.hierarchy.consistency(problem.Y).consistent_rows == 1


def test_newsgroups_have_the_labels_of_the_thesis(run, data_folder):
    problem = run.ex.newsgroups()
    assert (problem.X.shape[1], problem.Y.shape[1], len(problem.hierarchy.edges)) == (100, 27, 20)
    assert problem.hierarchy.consistency(problem.Y).consistent_rows == 1


# ---------------------------------------------------------------------- what was measured


def test_one_measured_again_is_what_was_measured(run):
    again = dict(zip(run.ex.MEASURES, run.ex.trial("tree15", "learn", 0.3, 0), strict=True))
    for key in ("rf", "f1_micro", "f1_macro", "rate"):
        recorded = EXPECTED["data"]["tree15"]["curves"]["learn"][key]["runs"][0][2]
        assert again[key] == pytest.approx(recorded, abs=0.01), key
