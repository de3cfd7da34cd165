"""What the reproductions of asking share: interviews that fit where it is needed, and curves of scores."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from likewise import Supervision
from likewise.active import InterviewState, Question, RandomPairs
from likewise.active.strategies import FarthestFirst, NodeUncertainty

FOLDER = Path(__file__).parents[2] / "reproductions"
Y = np.array([0, 0, 1, 1, 2, 2, 0, 1])
X = np.column_stack([4.0 * Y, np.arange(8) / 10])


@pytest.fixture(scope="module")
def shared():
    """Import what stands beside the reproductions, as their scripts do."""
    path = sys.path.copy()
    sys.path.append(str(FOLDER))
    try:
        import _asking
        import _curves

        yield _asking, _curves
    finally:
        sys.path[:] = path


@dataclass(frozen=True)
class Script:
    """Ask what is written down."""

    pairs: tuple
    looks: bool = True
    name: ClassVar[str] = "script"

    @property
    def needs(self):
        return frozenset({"labels"} if self.looks else ())

    def choose(self, state, n):
        assert (state.labels is not None) or not self.looks
        left = [Question.pair(*pair) for pair in self.pairs[state.n_answers :]]
        return left[:n]


class Fits:
    """Keep the hints of each fit; the labels tell how many there were."""

    def __init__(self):
        self.hints = []

    def __call__(self, hints):
        self.hints.append(hints)
        self.labels_ = np.full(hints.shape[0], len(self.hints))
        return self


# ---------------------------------------------------------------------- interviews


def test_classes_answer(shared):
    hints = shared[0].links(Y, [(0, 1), (0, 2)])
    assert hints.must.tolist() == [[0, 1]]
    assert hints.cannot.tolist() == [[0, 2]]
    assert not shared[0].links(Y, []).kinds


@pytest.mark.parametrize(
    ("n_clusters", "must", "cannot", "follows"),
    [
        (2, [], [(0, 2), (0, 3)], [(2, 3)]),  # both are apart from 0, and there are two clusters
        (3, [], [(0, 2), (0, 3)], []),
        (3, [], [(0, 2), (0, 4), (2, 4), (0, 5), (2, 5)], [(4, 5)]),
        (2, [(0, 1)], [(0, 2), (1, 3)], [(2, 3)]),
        (2, [(0, 1)], [], []),
        (1, [(0, 1)], [], []),
    ],
)
def test_what_follows_from_the_number_of_clusters(shared, n_clusters, must, cannot, follows):
    state = InterviewState.from_data(
        X, Supervision.from_links(8, must=must, cannot=cannot), n_clusters=n_clusters
    )
    assert shared[0].get_known_links(state).must.tolist() == [list(pair) for pair in must + follows]


def test_clusters_are_made_for_marks_and_for_new_rows_only(shared):
    # Row 2 is taken up by the first question, row 4 by the second, row 5 by the fourth.
    pairs = ((0, 2), (0, 4), (2, 4), (4, 5))
    fits = Fits()
    asked = shared[0].interview(X, Y, Script(pairs), fits, budget=4, marks=[0, 4], seed=0)
    assert asked.pairs == list(pairs)
    assert [len(hints.must) + len(hints.cannot) for hints in fits.hints] == [0, 1, 3, 4]
    assert asked.n_fits == 4
    assert asked.labels[0].tolist() == [1] * 8
    assert asked.labels[4].tolist() == [4] * 8


def test_clusters_are_made_after_every_answer_if_wanted(shared):
    fits = Fits()
    shared[0].interview(
        X, Y, Script(((0, 2), (0, 4), (2, 4))), fits, budget=3, marks=[3], seed=0, by_node=False
    )
    assert [len(hints.must) + len(hints.cannot) for hints in fits.hints] == [0, 1, 2, 3]


def test_a_strategy_that_looks_at_no_clusters_costs_a_fit_for_each_mark(shared):
    fits = Fits()
    asked = shared[0].interview(X, Y, RandomPairs(), fits, budget=6, marks=[0, 3, 6], seed=0)
    assert asked.n_fits == len(fits.hints) == 3
    assert len(set(asked.pairs)) == 6


def test_fits_are_reported_what_follows_and_it_costs_nothing(shared):
    fits = Fits()
    y = np.array([0, 1, 1, 0])
    pairs = ((0, 1), (0, 2), (2, 3))  # so 1 = 2, and then 0 = 3
    asked = shared[0].interview(X[:4], y, Script(pairs, looks=False), fits, budget=3, marks=[3], seed=0)
    closure = fits.hints[0].closure()
    assert closure.component.tolist() == [0, 1, 1, 0]
    assert len(asked.pairs) == 3


def test_after_the_last_question_nothing_changes(shared):
    fits = Fits()
    asked = shared[0].interview(
        X, Y, Script(((0, 1),), looks=False), fits, budget=5, marks=[0, 1, 3, 5], seed=0
    )
    assert sorted(asked.labels) == [0, 1, 3, 5]
    assert asked.labels[3].tolist() == asked.labels[5].tolist() == [3] * 8


@pytest.mark.parametrize("strategy", [FarthestFirst(), NodeUncertainty("local", n_neighbors=2)])
def test_same_seed_same_questions(shared, strategy):
    def pairs(seed):
        class Halves:
            labels_ = np.arange(8) % 2

        return shared[0].interview(X, Y, strategy, lambda hints: Halves, budget=6, marks=[6], seed=seed).pairs

    assert pairs(1) == pairs(1)
    assert len({tuple(pairs(seed)) for seed in range(5)}) > 1


# ---------------------------------------------------------------------- curves


def test_a_curve_is_summed_up_by_hand(shared):
    curve = shared[1].curve_of([[0.5, 0.7], [0.7, 0.9]])
    assert curve["mean"] == [0.6, 0.8]
    assert curve["standard_error"] == [0.1, 0.1]
    assert curve["runs"] == [[0.5, 0.7], [0.7, 0.9]]
    assert shared[1].curve_of([[0.5]])["standard_error"] == [0.0]


def test_the_mean_over_the_answers_is_the_area_over_the_width(shared):
    curve = {"runs": [[0.0, 1.0, 1.0], [0.5, 0.5, 0.5]]}
    assert shared[1].areas(curve, [0, 10, 30]).tolist() == pytest.approx([25 / 30, 0.5])


def test_runs_are_counted(shared):
    curves = [{"runs": [[1], [2]]}, {"runs": [[1], [2]]}]
    assert shared[1].describe_counts(curves) == "2 runs"
    assert shared[1].describe_counts([*curves, {"runs": [[1]]}]) == "1 to 2 runs"


def test_two_methods_are_compared_run_by_run(shared):
    ahead, behind = np.array([0.5, 0.7, 0.9]), np.array([0.4, 0.5, 0.6])
    mean, error = shared[1].over(ahead, behind)
    assert (mean, error) == pytest.approx((0.2, 0.1 / np.sqrt(3)))
    assert shared[1].verdict(ahead, behind) == "ahead"
    assert shared[1].verdict(behind, ahead) == "behind"
    assert shared[1].verdict(ahead, ahead[::-1]) == "equal"


def test_what_is_measured_again_replaces_only_itself(shared, tmp_path):
    old = {
        "date": "then",
        "data": {
            "wine": {"curves": {"a": {"runs": [[1]]}, "b": {"runs": [[2]], "mean": [2]}}},
            "iris": {"a": 1},
        },
    }
    new = {"date": "now", "data": {"wine": {"curves": {"b": {"runs": [[3]]}}}, "sonar": {"b": 4}}}
    found = shared[1].merge_results(old, new, ["sonar", "wine", "iris"])
    assert found["date"] == "now"
    assert list(found["data"]) == ["sonar", "wine", "iris"]
    assert found["data"]["wine"]["curves"] == {"a": {"runs": [[1]]}, "b": {"runs": [[3]]}}
    assert found["data"]["iris"] == {"a": 1}
    path = tmp_path / "results.json"
    assert shared[1].read(path) == {"data": {}}
    shared[1].save(found, path)
    assert shared[1].read(path) == found
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("asked", "runs"), [([], None), (["--full"], 30), (["--runs", "7"], 7), (["--runs", "7", "--full"], 7)]
)
def test_full_means_thirty_runs_unless_a_number_is_given(shared, asked, runs):
    runner = sys.modules["_runner"]
    parser = runner.parser_of("Doc.", Path(), "quick")
    parser.add_argument("--runs", type=runner.positive)
    given = parser.parse_args(asked)
    assert runner.count_runs(given, given.runs) == runs
