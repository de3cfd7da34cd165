"""The public contract for authors of estimators and strategies, and the examples of docs/extending.md."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import likewise.active
import likewise.base
import likewise.testing
from likewise import BayesianClustering, ConstrainedKMeans, PCKMeans, SeededKMeans, Supervision
from likewise.active import Interview, InterviewState, Question, strategies
from likewise.active._state import NEEDS
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
)
from likewise.kmeans import AssignmentProblem, KMeansFamily
from likewise.oracles import LabelOracle
from likewise.testing import hinted_estimator_checks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "extending.md"


def load_example(name):
    """Import a file of examples/ under a name that pickle finds again."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PenalizedKMeans = load_example("penalized_kmeans").PenalizedKMeans
BoundaryPairs = load_example("boundary_pairs").BoundaryPairs


# ---------------------------------------------------------------------- a new member of the k-means family

WEIGHTS = "the k-means++ draws depend on how many rows there are, not only on their weights"


@parametrize_with_checks(
    [PenalizedKMeans(n_clusters=3, n_init=2)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTS for kind in ("dense", "sparse")
    },
)
def test_the_example_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", list(hinted_estimator_checks()), ids=lambda check: check.__name__)
def test_the_example_estimator_passes_the_checks_of_likewise(check):
    check(PenalizedKMeans())


@pytest.fixture
def noisy():
    """Two overlapping groups of 60 rows; 20 rows are labelled, 5 of them wrongly."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 3.0 * y[:, None]
    labels = np.full(120, -1)
    labelled = rng.choice(120, 20, replace=False)
    labels[labelled] = y[labelled]
    labels[labelled[:5]] = 1 - y[labelled[:5]]
    return X, Supervision.from_labels([None if c < 0 else int(c) for c in labels])


@pytest.mark.parametrize(("label_weight", "same_as"), [(0.0, SeededKMeans), (1e9, ConstrainedKMeans)])
def test_extreme_penalties_give_the_seeded_and_the_constrained_k_means(noisy, label_weight, same_as):
    X, hints = noisy
    own = PenalizedKMeans(n_clusters=2, label_weight=label_weight, random_state=0).fit(X, supervision=hints)
    other = same_as(n_clusters=2, random_state=0).fit(X, supervision=hints)
    np.testing.assert_array_equal(own.labels_, other.labels_)
    np.testing.assert_allclose(own.cluster_centers_, other.cluster_centers_)


def test_the_objective_of_the_example_by_hand():
    X = np.array([[0.0], [1.0], [4.0], [5.0]])  # mean 2.5, variance 4.25, mean squared distance 8.5
    hints = Supervision.from_labels(["a", "b", "b", None])
    loose = PenalizedKMeans(n_clusters=2, label_weight=0.1).fit(X, supervision=hints)
    assert loose.labels_.tolist() == [0, 0, 1, 1]
    assert loose.objective_ == pytest.approx(4 * 0.25 + 0.1 * 8.5)
    tight = PenalizedKMeans(n_clusters=2, label_weight=10.0).fit(X, supervision=hints)
    assert tight.labels_.tolist() == [0, 1, 1, 1]
    assert tight.objective_ == pytest.approx(49 / 9 + 4 / 9 + 25 / 9)


def test_a_penalty_does_not_depend_on_the_units_of_the_rows_and_the_weights(noisy):
    X, hints = noisy
    model = PenalizedKMeans(n_clusters=2, label_weight=0.3, random_state=0)
    labels = model.fit(X, supervision=hints).labels_
    np.testing.assert_array_equal(labels, model.fit(1e6 * X, supervision=hints).labels_)
    heavy = np.full(len(X), 1e300)  # sums of such weights overflow unless they are rescaled
    one = model.fit(X, supervision=hints, sample_weight=heavy)
    assert np.isfinite(one.objective_)


def test_rows_in_a_file_get_the_labels_of_rows_in_memory(noisy, tmp_path):
    X, hints = noisy
    rows = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=X.dtype, shape=X.shape)
    rows[:] = X
    model = PenalizedKMeans(n_clusters=2, label_weight=0.3, random_state=0)
    np.testing.assert_array_equal(
        model.fit(rows, supervision=hints).labels_, model.fit(X, supervision=hints).labels_
    )


class PlainMember(KMeansFamily):
    """Uses links only to number the hinted rows; assigns each row to the nearest centre."""

    supported_hints = frozenset({"links"})

    def assign_hinted_rows(self, problem):
        assert problem.costs.shape == (problem.hints.n_samples, self.n_clusters)
        assert problem.previous is None or problem.previous.shape == (problem.hints.n_samples,)
        return problem.costs.argmin(axis=1)


def test_a_member_that_ignores_its_hints_is_plain_k_means(noisy):
    X, _ = noisy
    hints = Supervision.from_links(len(X), must=[(0, 70), (3, 5)], cannot=[(1, 2)])
    own = PlainMember(n_clusters=2, init=X[[0, 70]]).fit(X, supervision=hints)
    plain = PCKMeans(n_clusters=2, init=X[[0, 70]]).fit(X)
    np.testing.assert_array_equal(own.labels_, plain.labels_)
    assert own.objective_ == pytest.approx(plain.objective_)
    assert own.violations_.share < 1


def test_contradictions_are_errors_unless_a_member_accepts_them(noisy):
    X, _ = noisy
    hints = Supervision.from_links(len(X), must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(InconsistentSupervisionError):
        PlainMember(n_clusters=2).fit(X, supervision=hints)

    class SoftMember(PlainMember):
        accepts_conflicts = True

    with pytest.warns(InconsistentSupervisionWarning):
        SoftMember(n_clusters=2, random_state=0).fit(X, supervision=hints)


@pytest.mark.parametrize("labels", [[0.0] * 4, [0, 1, 2, 0], [0, -1, 0, 0], [0, 1], [[0, 1, 0, 1]]], ids=str)
def test_wrong_labels_of_a_member_are_refused(noisy, labels):
    class WrongMember(PlainMember):
        def assign_hinted_rows(self, problem):
            return labels

    X, _ = noisy
    hints = Supervision.from_links(len(X), must=[(0, 1), (5, 6)])
    with pytest.raises(ValueError, match="one integer from 0 to 1 for each of the 4 hinted rows"):
        WrongMember(n_clusters=2).fit(X, supervision=hints)


# ---------------------------------------------------------------------- likewise.base


# ---------------------------------------------------------------------- a new strategy


def test_the_example_strategy_asks_about_close_rows_in_different_clusters():
    X = np.array([[0.0], [1.0], [4.0], [5.5], [9.0]])
    state = InterviewState.from_data(X, labels=np.array([0, 0, 1, 1, 2]))
    assert [question.rows for question in BoundaryPairs(1).choose(state, 1)] != []
    first, second = BoundaryPairs(2).choose(state, 2)
    assert (sorted(first.rows), sorted(second.rows)) == ([1, 2], [3, 4])


def test_the_example_strategy_follows_the_protocol():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    hints = Supervision.from_links(12, must=[(0, 1)], cannot=[(1, 2)])
    asked = frozenset({Question.pair(3, 4).key})
    state = InterviewState.from_data(X, hints, labels=rng.integers(0, 3, size=12), asked=asked)
    for n in (1, 5, 1000):
        questions = BoundaryPairs().choose(state, n)
        assert len(questions) == min(n, 12 * 11 // 2 - 3 - 1)  # (0, 1), (1, 2), (0, 2); (3, 4)
        assert len({question.key for question in questions}) == len(questions)
        assert all(state.can_ask(question) for question in questions)
        assert questions == BoundaryPairs().choose(state, n)


def test_the_example_strategy_works_in_an_interview():
    X = np.concatenate([np.random.default_rng(0).normal(size=(15, 2)) + shift for shift in (0.0, 6.0)])
    y = np.repeat([0, 1], 15)
    interview = Interview(X, model=PCKMeans(n_clusters=2), strategy=BoundaryPairs(), random_state=0)
    oracle = LabelOracle(y)
    for _ in range(10):
        question = interview.ask()
        interview.tell(question, oracle.answer(question))
    assert interview.n_answers == 10
    np.testing.assert_array_equal(interview.labels_[:, None] == interview.labels_, y[:, None] == y)


def test_strategies_need_only_what_the_protocol_lists():
    every = [getattr(strategies, name) for name in strategies.__all__]
    needed = {need for strategy in every for need in strategy().needs}
    assert needed == set(NEEDS)
    page = PAGE.read_text(encoding="utf-8")
    assert [need for need in NEEDS if f'`"{need}"`' not in page] == []


def test_an_unknown_need_is_refused():
    class Confused(BoundaryPairs):
        needs = frozenset({"labels", "centers"})

    message = "needs 'centers'; expected any of 'labels', 'proba', 'draws', 'classes'"
    with pytest.raises(ValueError, match=message):
        Interview(np.zeros((4, 1)), model=PCKMeans(n_clusters=2), strategy=Confused())


# ---------------------------------------------------------------------- the page


def test_every_name_on_the_page_exists():
    text = re.sub(r"^```.*?^```", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(?:\w+\.)*(_?[a-z]\w*_\w*)(?:\([^`]*\))?`", text))
    assert {"assign_hinted_rows", "compute_penalty", "validate_fit", "count_answers_to_fit"} <= named
    modules = (likewise.base, likewise.active, likewise.kmeans, likewise.testing)
    classes = (
        KMeansFamily,
        AssignmentProblem,
        InterviewState,
        strategies.UncertainRegions,
        BayesianClustering,
    )
    known = {name for owner in (*modules, *classes) for name in dir(owner)}
    known |= {field for cls in (AssignmentProblem, InterviewState) for field in cls.__dataclass_fields__}
    known |= {*KMeansFamily().get_params(), "predict_proba"}
    assert named - known == set()


@pytest.mark.parametrize("name", ["penalized_kmeans", "boundary_pairs"])
def test_the_page_shows_the_whole_example(name):
    assert f"```{{literalinclude}} ../examples/{name}.py" in PAGE.read_text(encoding="utf-8")
