"""The reproduction of Pei & Fern (2014): its protocol, a small run, and what was measured."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from likewise.exceptions import DatasetNotFoundError
from likewise.supervision import Supervision
from reference.reproductions import load_run

FOLDER = Path(__file__).parents[2] / "reproductions" / "bag_constraints"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run():
    with load_run("bag_constraints") as module:
        yield module


def blobs(run):
    """Three lumps of 20 rows, in bags of three rows that hold one or two of them."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 0, 1], 5)
    bags = np.arange(60) // 3
    labels = {bag: np.unique(y[bags == bag]).tolist() for bag in range(20)}
    return run.ex.Problem.of(rng.normal(size=(60, 2)) + 4 * y[:, None], y, bags, labels)


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.ex, "problem_of", lambda name: blobs(run))
        patch.setattr(run.ex, "make_problem", lambda name, seed: blobs(run))
        patch.setattr(run, "ALPHAS", (0.0, 0.7))
        patch.setattr(run, "SHARES", (0.4, 1.0))
        patch.setattr(run, "FEW_SHARES", (0.2, 0.4, 1.0))
        patch.setattr(run, "QUICK", run.replace(run.QUICK, n_runs=1))
        assert run.main(["--quick", "--out", str(out)]) == 0
    return out, json.loads((out / "results.json").read_text(encoding="utf-8"))


def scores(name, key, experiment="shares", measure="purity", results=EXPECTED):
    """Return the mean at each place of a curve."""
    curve = results["experiments"][experiment][name]["curves"][key]
    return dict(zip(curve["x"], curve[measure]["mean"], strict=True))


# ---------------------------------------------------------------------- the run


def test_quick_run_writes_results_and_figures(run, small):
    out, results = small
    assert set(results) == set(EXPECTED)
    assert list(results["experiments"]) == [
        "alpha",
        "shares",
        "clusters",
        "ablation",
        "development",
        "self_loops",
    ]
    assert list(results["experiments"]["development"]) == ["tyger", "ecoli"]
    assert results["skipped"] == {}
    for number in (n for n, experiment in run.FIGURES.items() if experiment in results["experiments"]):
        assert (out / f"figure{number}.png").read_bytes().startswith(b"\x89PNG")
    for sets in results["experiments"].values():
        for found in sets.values():
            assert (found["n_samples"], found["n_classes"], found["n_bags"]) == (60, 3, 20)
            for curve in found["curves"].values():
                for measure in ("purity", "nmi"):
                    assert [len(runs) for runs in curve[measure]["runs"]] == [1] * len(curve["x"])
                    assert all(0 <= mean <= 1 for mean in curve[measure]["mean"])
    assert list(results["experiments"]["shares"]["letter_carroll"]["curves"]) == list(run.COMPARED)


def test_bag_constraints_of_no_weight_are_plain_spectral_clustering(small):
    _, results = small
    bare = scores("letter_carroll", "sp", results=results)[1.0]
    assert scores("letter_carroll", "csp", "alpha", results=results)[0.0] == bare


def test_figures_of_the_same_fits_agree(small):
    _, results = small
    for key in ("default", "sp_10"):
        shares, ablation = (
            scores("letter_carroll", key, each, results=results) for each in ("shares", "ablation")
        )
        assert shares[1.0] == ablation[1.0]
    for key in ("default", "csp", "splearn"):
        shares, clusters = (
            scores("letter_carroll", key, each, results=results) for each in ("shares", "clusters")
        )
        assert shares[1.0] == clusters[3]


def test_runs_share_a_fit_only_where_the_hints_are_the_same(run):
    seeds = (0, 1, 2)
    assert run.ex.groups_of(seeds, 0.4, "csp") == [(0,), (1,), (2,)]
    assert run.ex.groups_of(seeds, 1.0, "csp") == [seeds]
    assert run.ex.groups_of(seeds, 0.4, "sp_10") == [seeds]


def test_a_fit_that_does_not_settle_is_made_again_with_the_whole_matrix(run, monkeypatch):
    solvers = []

    class Slow:
        n_init, embedding_ = 1, np.arange(60.0)[:, None]

        def set_params(self, eigen_solver):
            solvers.append(eigen_solver)
            return self

        def fit(self, X, supervision):
            self.labels_ = np.zeros(len(X), dtype=int)
            if not solvers:
                warnings.warn("not settled", ConvergenceWarning, stacklevel=2)

    monkeypatch.setattr(run.ex.Method, "make", lambda *args, **options: Slow())
    found = run.ex.fit_scores(blobs(run), "splearn_additive", 1.0, (0, 1))
    assert solvers == ["dense"]
    assert found.shape == (2, 3)
    assert found[:, -1].tolist() == [1, 1]


def test_all_methods_of_a_run_get_the_same_labelled_bags(run):
    problem = blobs(run)
    told = [problem.hints(0.4, 3).bags.labels for _ in range(2)]
    assert told[0] == told[1]
    assert sum(labels is not None for labels in told[0]) == 8
    assert told[0] != problem.hints(0.4, 4).bags.labels


def test_links_follow_from_bags_though_a_rare_class_is_reported(run):
    hints = Supervision.from_bags([0, 0, 1, 2], {0: ["a"], 1: ["a"], 2: None})
    links = run.ex.imply_must_links(hints, n_clusters=2, n_classes=2).select_kinds("links")
    assert links.closure().component.tolist() == [0, 0, 0, 1]
    assert run.ex.imply_must_links(hints, n_clusters=3, n_classes=2) is hints
    whole = Supervision.from_bags([0, 0, 1, 2], {0: ["a"], 1: ["a"], 2: ["b"]})
    assert run.ex.imply_must_links(whole, n_clusters=2, n_classes=2) is whole


def test_pairs_that_bags_decide_by_hand(run):
    bags, labels = np.array([0, 0, 1, 2]), {0: ["a"], 1: ["a"], 2: ["b", "c"]}
    problem = run.ex.Problem(np.zeros((4, 1)), np.array([0, 0, 0, 1]), bags, labels)
    assert problem.implied() == (0.5, 0.5)  # rows 0, 1, 2 are one class, and row 3 is apart from each
    labels[2] = ["a", "c"]
    assert problem.implied() == (0.5, 0.0)


def test_number_of_clusters_goes_from_c_to_twice_c_in_seven_steps(run):
    assert run.cluster_counts(24) == [24, 28, 32, 36, 40, 44, 48]


def test_a_curve_is_summarised_by_hand(run):
    curve = run.curve_of(
        {0.2: np.array([[0.5, 0.1, 1.0], [0.7, 0.3, 0.0]]), 1.0: np.array([[0.9, 0.8, 1.0]])}
    )
    assert curve["x"] == [0.2, 1.0]
    assert curve["purity"]["mean"] == [0.6, 0.9]
    assert curve["purity"]["standard_deviation"] == [0.1414, 0.0]
    assert curve["nmi"]["runs"] == [[0.1, 0.3], [0.8]]
    assert curve["not_settled"] == [1, 0]


def test_what_is_recorded_again_replaces_only_itself(run):
    old = {
        "experiments": {"shares": {"msrcv2": 1, "letter_carroll": 2}, "ablation": {"msrcv2": 3}},
        "date": "then",
    }
    new = {"experiments": {"alpha": {"msrcv2": 4}, "shares": {"letter_carroll": 5}}, "date": "now"}
    found = run.merge_results(old, new)
    assert found["date"] == "now"
    assert list(found["experiments"]) == ["alpha", "shares", "ablation"]
    assert found["experiments"]["shares"] == {"letter_carroll": 5, "msrcv2": 1}
    assert list(found["experiments"]["shares"]) == ["letter_carroll", "msrcv2"]


def test_results_are_written_as_they_are(run, tmp_path):
    results = {
        "runs": [[0.5, 0.25], [1.0]],
        "names": ["a, b", "c"],
        "nested": {"empty": [], "text": "α = 0.7"},
    }
    run.write_json(results, tmp_path / "new" / "results.json")
    text = (tmp_path / "new" / "results.json").read_text(encoding="utf-8")
    assert json.loads(text) == results
    assert "[0.5, 0.25]" in text


def test_bags_about_a_theme(run):
    y = np.repeat(["a", "b", "c", "d", "e"], [60, 40, 20, 10, 2])
    rows, bags = run.ex.draw_themed_bags(y, np.random.default_rng(0))
    assert len(np.unique(rows)) == len(rows) == len(y)
    assert np.array_equal(np.unique(bags), np.arange(bags.max() + 1))
    sizes = np.bincount(bags)
    assert sizes.max() <= 8
    assert np.median(sizes) >= 4
    assert max(len(set(y[rows[bags == bag]])) for bag in range(bags.max() + 1)) <= run.ex.MOST_LABELS
    again = run.ex.draw_themed_bags(y, np.random.default_rng(0))
    assert np.array_equal(rows, again[0])


def test_poem_of_frost_has_the_words_and_letters_of_the_paper(run):
    spelled = run.ex.spell(run.ex.poem("frost"), random_state=0)  # table 2 of the paper
    assert (len(spelled.words), len(spelled.y), len(set(spelled.y))) == (144, 565, 24)
    assert spelled.words[:3] == ("TWO", "ROADS", "DIVERGED")
    assert sum(len(labels) == 1 for labels in spelled.bag_labels.values()) == 12
    assert run.ex.spell(run.ex.poem("tyger"), random_state=0).words[:3] == ("TYGER", "TYGER", "BURNING")


def test_absent_data_are_skipped_with_a_message(run, monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DatasetNotFoundError(f"the data set {name!r} is not to be had here")

    monkeypatch.setattr(run.ex, "load", absent)
    assert run.main(["--data", "msrcv2", "tyger", "--out", str(tmp_path / "out")]) == 1
    assert "skipped msrcv2" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "shape", "n_bags", "labels"),
    [
        ("letter_carroll", (717, 16), 166, 3.93),
        ("msrcv2", (1758, 48), 591, 2.51),
        ("hja_birdsong", (4998, 38), 548, 2.02),
    ],
)
def test_data_are_those_of_the_paper(run, data_folder, name, shape, n_bags, labels):
    problem = run.ex.problem_of(name)
    assert problem.X.shape == shape
    np.testing.assert_allclose(problem.X.mean(axis=0), 0, atol=1e-9)
    assert len(problem.bag_labels) == n_bags
    assert problem.labels_per_bag == pytest.approx(labels, abs=0.1)  # a few bags of the files differ


# ---------------------------------------------------------------------- what was measured


@pytest.mark.slow
def test_letters_measured_again_are_what_was_measured(run, data_folder):
    results = run.measure(run.Plan(experiments=("shares",), data=("letter_carroll",)), run.Console())
    for key in run.COMPARED:
        for share, mean in scores("letter_carroll", key, results=results).items():
            assert mean == pytest.approx(scores("letter_carroll", key)[share], abs=0.02), (key, share)
