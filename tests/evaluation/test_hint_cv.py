"""Held-out hints: probabilities of answers, scores, and cross-validation."""

import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from every_estimator import find_hinted_estimators
from likewise import COPKMeans, MPCKMeans, PCKMeans
from likewise.evaluation import HeldOut, HintFold, HintKFold, cross_validate_hints, triplet_satisfaction
from likewise.evaluation._hint_cv import check_scoring, predict_cluster_proba
from likewise.exceptions import InconsistentSupervisionWarning, SupervisionError
from likewise.supervision import Supervision, sample_links, sample_triplets
from profiles import fewer

Y = np.repeat([0, 1, 2], 20)
X = np.random.RandomState(0).normal(size=(60, 3)) + 6 * np.eye(3)[Y]


class PresetEstimator(ClusterMixin, BaseEstimator):
    """An estimator that returns preset labels or probabilities, and records the hints."""

    def __init__(self, labels=None, chances=None, warn=False):
        self.labels = labels
        self.chances = chances
        self.warn = warn

    def fit(self, X, y=None, *, supervision=None):
        if self.warn:
            warnings.warn("not settled", ConvergenceWarning, stacklevel=2)
        self.labels_ = self.labels
        return self


class PresetProbabilities(PresetEstimator):
    def predict_proba(self, X):
        return self.chances


def one_fold(hints):
    """Return the fold that holds out all of `hints`, without training hints."""
    return HintFold(
        n_implied=0,
        train=Supervision.empty(hints.n_samples),
        pairs=np.concatenate([hints.must, hints.cannot]),
        together=np.arange(len(hints.must) + len(hints.cannot)) < len(hints.must),
        pair_weights=np.ones(len(hints.must) + len(hints.cannot)),
        triplets=hints.triplets,
        answers=hints.answers.astype(np.int64),
        triplet_weights=np.ones(len(hints.triplets)),
    )


def make_held_out(hints, labels):
    return HeldOut.from_fold(one_fold(hints), np.eye(max(labels) + 1)[labels])


def score(name, held_out):
    return check_scoring(name)(held_out)


# ---------------------------------------------------------------------- probabilities


def test_probabilities_of_answers_by_hand():
    hints = Supervision.from_links(3, must=[(0, 1)], cannot=[(1, 2)])
    hints |= Supervision.from_triplets(3, [(0, 1, 2)], "AC")
    clusters = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    held_out = HeldOut.from_fold(one_fold(hints), clusters)
    np.testing.assert_allclose(held_out.chances[0, :2], [0.5, 0.5])  # .8 × .5 + .2 × .5
    np.testing.assert_allclose(held_out.chances[1, :2], [0.5, 0.5])
    # All in the first: .04; all in the second: .09. AB: .5 - .13, AC: .26 - .13, BC: .5 - .13.
    np.testing.assert_allclose(held_out.chances[2], [0.37, 0.13, 0.37, 0.13])
    assert held_out.answers.tolist() == [0, 1, 1]
    assert held_out.predicted.tolist() == [1, 1, 0]  # a tie counts as apart
    assert held_out.right.tolist() == [False, True, False]
    assert held_out.strata.tolist() == [0, 1, 2]
    assert held_out.compute_accuracy(triplets=False) == 0.5
    assert held_out.compute_accuracy(triplets=True) == 0.0


@given(st.integers(0, 10_000), st.integers(1, 4))
@fewer(2)
def test_probabilities_equal_frequencies_of_sampled_clusters(seed, k):
    rng = np.random.RandomState(seed)
    clusters = rng.dirichlet(np.ones(k), size=3)
    hints = Supervision.from_triplets(3, [(0, 1, 2)], "AB") | Supervision.from_links(3, must=[(0, 2)])
    held_out = HeldOut.from_fold(one_fold(hints), clusters)
    expected, together = np.zeros(4), 0.0
    for labels in np.ndindex(k, k, k):
        chance = np.prod(clusters[np.arange(3), labels])
        a, b, c = labels
        together += chance * (a == c)
        expected[0 if a == b != c else 1 if a == c != b else 2 if b == c != a else 3] += chance
    np.testing.assert_allclose(held_out.chances[1], expected, atol=1e-12)
    np.testing.assert_allclose(held_out.chances[0], [together, 1 - together, 0, 0], atol=1e-12)


def test_rows_in_no_cluster_are_together_with_none():
    model = DBSCAN(eps=1.0, min_samples=2).fit([[0.0], [0.5], [9.0], [20.0]])
    chances = predict_cluster_proba(model, None)
    np.testing.assert_array_equal(chances @ chances.T, [[1, 1, 0, 0], [1, 1, 0, 0], [0] * 4, [0] * 4])


def test_probabilities_come_from_predict_proba_then_predict_then_labels():
    mixture = GaussianMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(predict_cluster_proba(mixture, X), mixture.predict_proba(X))
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    model.labels_ = None
    np.testing.assert_array_equal(predict_cluster_proba(model, X)[:, 1], model.predict(X))
    pipeline = make_pipeline(StandardScaler(), DBSCAN(eps=0.5)).fit(X)
    assert len(predict_cluster_proba(pipeline, X)) == 60
    with pytest.raises(TypeError, match="StandardScaler has neither"):
        predict_cluster_proba(StandardScaler().fit(X), X)


# ---------------------------------------------------------------------- scores


def test_scores_by_hand():
    # Ten pairs: 2 of 4 must-links and 5 of 6 cannot-links are right.
    rows = np.arange(20).reshape(10, 2)
    labels = np.arange(20)
    labels[[1, 3]] = labels[[0, 2]]
    labels[9] = labels[8]
    held_out = make_held_out(Supervision.from_links(20, must=rows[:4], cannot=rows[4:]), labels)
    assert score("accuracy", held_out).value == held_out.score("accuracy") == pytest.approx(0.7)
    assert score("accuracy", held_out).error == pytest.approx(np.sqrt(0.7 * 0.3 / 10))
    assert score("balanced_accuracy", held_out).value == pytest.approx((2 / 4 + 5 / 6) / 2)
    by_chance = 0.4 * 0.3 + 0.6 * 0.7
    assert score("agreement", held_out).value == pytest.approx((0.7 - by_chance) / (1 - by_chance))
    right, wrong = np.log2(0.95 + 0.025), np.log2(0.025)
    assert score("log_score", held_out).value == pytest.approx(0.7 * right + 0.3 * wrong)


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 4))
@fewer(2)
def test_agreement_over_all_pairs_is_the_adjusted_rand_index(seed, n_classes, n_clusters):
    rng = np.random.RandomState(seed)
    y, labels = rng.randint(0, n_classes, 12), rng.randint(0, n_clusters, 12)
    held_out = make_held_out(sample_links(y, 66, random_state=0), labels)
    if len(set(y)) > 1 or len(set(labels)) > 1:
        assert score("agreement", held_out).value == pytest.approx(adjusted_rand_score(y, labels), abs=1e-12)
    kappa = cohen_kappa_score(held_out.answers, held_out.predicted, labels=[0, 1])
    assert np.isnan(kappa) or score("agreement", held_out).value == pytest.approx(kappa)


@given(st.integers(0, 10_000))
@fewer(2)
def test_triplets_are_right_if_satisfied(seed):
    rng = np.random.RandomState(seed)
    y, labels = rng.randint(0, 3, 9), rng.randint(0, 3, 9)
    hints = sample_triplets(y, 20, random_state=seed)
    held_out = make_held_out(hints, labels)
    assert held_out.compute_accuracy(triplets=True) == pytest.approx(
        triplet_satisfaction(labels, hints).share
    )
    assert np.isnan(held_out.compute_accuracy(triplets=False))


def test_agreement_of_triplets_is_0_for_chance_and_1_for_truth():
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, 300)
    hints = sample_triplets(y, 3000, random_state=0) | sample_links(y, 1000, random_state=0)
    assert score("agreement", make_held_out(hints, y)).value == pytest.approx(1.0)
    guess = score("agreement", make_held_out(hints, rng.randint(0, 3, 300)))
    assert abs(guess.value) < 4 * guess.error + 0.05
    one = score("agreement", make_held_out(hints, np.zeros(300, dtype=int)))
    assert abs(one.value) < 0.01
    only = Supervision.from_links(4, cannot=[(0, 1), (2, 3)])
    assert score("agreement", make_held_out(only, np.arange(4))).value == 0.0


def test_heavier_hints_count_more():
    held_out = make_held_out(Supervision.from_links(4, must=[(0, 1), (2, 3)]), np.array([0, 0, 1, 2]))
    assert score("accuracy", replace(held_out, weights=np.array([3.0, 1.0]))).value == 0.75


def test_uncertainty_scores_better_than_a_confident_error():
    hints = Supervision.from_links(2, must=[(0, 1)])
    unsure = HeldOut.from_fold(one_fold(hints), np.array([[0.5, 0.5], [0.5, 0.5]]))
    wrong = HeldOut.from_fold(one_fold(hints), np.eye(2))
    assert score("log_score", unsure).value == pytest.approx(-1)
    assert score("log_score", wrong).value < -5
    assert score("accuracy", unsure).value == score("accuracy", wrong).value == 0


def test_a_score_can_be_a_function():
    found = cross_validate_hints(
        PCKMeans(3, random_state=0), X, sample_links(Y, 40, random_state=0), random_state=0, scoring=len
    )
    assert found.score == found.n_scored.sum()
    assert found.scoring == "len"


@pytest.mark.parametrize("scoring", ["kappa", None, 3])
def test_an_unknown_score_names_the_known_ones(scoring):
    with pytest.raises(ValueError, match="'accuracy', 'agreement'"):
        cross_validate_hints(PCKMeans(3), X, sample_links(Y, 40, random_state=0), scoring=scoring)


# ---------------------------------------------------------------------- cross-validation


def test_the_right_number_of_clusters_scores_best():
    hints = sample_links(Y, 60, random_state=0) | sample_triplets(Y, 30, random_state=0)
    found = {
        k: cross_validate_hints(PCKMeans(k, random_state=0), X, hints, random_state=0, as_links=True)
        for k in (2, 3, 4)
    }
    assert found[3].score == pytest.approx(1.0)
    assert found[2].score < 0.9
    assert found[4].score < 0.98
    assert found[3].split_scores.shape == found[3].fit_times.shape == (5,)
    assert found[3].n_scored.sum() + found[3].n_implied.sum() == 90
    assert "100.0% of the pairs right, 100.0% of the triplets right" in str(found[3])
    assert str(found[3]).startswith("accuracy 1.000 ± 0.000")


def test_the_score_counts_each_question_once():
    hints = sample_links(Y, 43, random_state=1)
    found = cross_validate_hints(KMeans(2, random_state=0), X, hints, random_state=0, scoring="accuracy")
    assert found.score == pytest.approx(np.average(found.split_scores, weights=found.n_scored))
    assert found.pair_accuracy == pytest.approx(found.score)
    assert np.isnan(found.triplet_accuracy)


def test_parallel_fits_change_nothing_and_progress_is_reported():
    hints = sample_links(Y, 40, random_state=0)
    calls = []
    one = cross_validate_hints(MPCKMeans(4, random_state=0), X, hints, random_state=0)
    with joblib.parallel_config(backend="threading"):  # processes would import everything first
        two = cross_validate_hints(
            MPCKMeans(4, random_state=0),
            X,
            hints,
            random_state=0,
            n_jobs=2,
            progress=lambda *n: calls.append(n),
        )
    np.testing.assert_array_equal(one.split_scores, two.split_scores)
    assert calls == [(n, 5) for n in range(1, 6)]


@pytest.mark.parametrize("cls", [cls for cls in find_hinted_estimators() if cls.supported_hints - {"bags"}])
@pytest.mark.long
def test_every_estimator_of_the_package_can_be_scored(cls):
    hints = Supervision.empty(60)
    if "links" in cls.supported_hints:
        hints |= sample_links(Y, 40, random_state=0)
    if "triplets" in cls.supported_hints:
        hints |= sample_triplets(Y, 30, random_state=0)
    if "labels" in cls.supported_hints:
        hints |= Supervision.from_labels([c if i % 4 == 0 else None for i, c in enumerate(Y.tolist())])
    wanted = {"n_clusters": 3, "n_init": 1, "random_state": 0, "neither": "drop", "cannot": "drop"}
    wanted["n_particles"] = 24
    wanted["shrinkage"] = 0  # forty links may be too few for a metric otherwise
    model = cls()
    model.set_params(**{name: value for name, value in wanted.items() if name in model.get_params()})
    clusters = hasattr(cls, "predict")
    if not clusters:  # a metric learner needs a clusterer after it
        model = make_pipeline(model, KMeans(3, n_init=3, random_state=0))
    found = cross_validate_hints(model, X, hints, cv=2, random_state=0, error_score="raise")
    assert found.score > (0.9 if clusters else 0.6)
    assert found.n_scored.min() > 5


def test_pipelines_pass_on_the_hints():
    hints = sample_links(Y, 40, random_state=0)
    found = cross_validate_hints(
        make_pipeline(StandardScaler(), MPCKMeans(3, random_state=0)), X, hints, random_state=0
    )
    assert found.score == pytest.approx(1.0)
    # A contradiction reaches the inner estimator, which shows that it gets the hints.
    wrong = Supervision.from_links(60, must=[(i, i + 1) for i in range(6)], cannot=[(0, 3), (1, 5)])
    with pytest.warns(FitFailedWarning, match="InconsistentSupervisionError"):
        cross_validate_hints(make_pipeline(StandardScaler(), COPKMeans(3)), X, wrong, random_state=0)


def test_an_estimator_that_takes_no_hints_is_a_baseline():
    hints = sample_links(Y, 40, random_state=0)
    assert cross_validate_hints(KMeans(3, random_state=0), X, hints, random_state=0).score == 1.0


def test_a_third_party_estimator_gets_the_hints():
    heard = []

    class RecordingEstimator(PresetEstimator):
        def fit(self, X, y=None, *, supervision=None):
            heard.append(supervision)
            return super().fit(X)

    hints = sample_links(Y, 40, random_state=0)
    cross_validate_hints(RecordingEstimator(labels=Y), X, hints, random_state=0)
    assert heard == [fold.train for fold in HintKFold(5, random_state=0).split(hints)]


def test_a_random_clustering_scores_0_and_the_true_one_1():
    hints = sample_links(Y, 200, random_state=0)
    rng = np.random.RandomState(0)
    guess = cross_validate_hints(
        PresetEstimator(labels=rng.randint(0, 3, 60)), X, hints, random_state=0, scoring="agreement"
    )
    assert abs(guess.score) < 0.25
    assert (
        cross_validate_hints(PresetProbabilities(chances=np.eye(3)[Y]), X, hints, random_state=0).score == 1.0
    )


def test_all_implied_is_an_error():
    hints = Supervision.from_links(5, must=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(SupervisionError, match="is implied by the others"):
        cross_validate_hints(PCKMeans(2), X[:5], hints, cv=3)


def test_hints_of_other_rows_and_none_are_refused():
    with pytest.raises(SupervisionError, match="59"):
        cross_validate_hints(PCKMeans(2), X, sample_links(Y[:59], 40, random_state=0))
    with pytest.raises(SupervisionError, match="no hints to score by"):
        cross_validate_hints(PCKMeans(2), X, None)
    with pytest.raises(SupervisionError, match="got list"):
        cross_validate_hints(PCKMeans(2), X, [(0, 1)])


# ---------------------------------------------------------------------- failures and warnings


def test_a_fit_that_fails_has_the_error_score():
    hints = sample_links(Y, 40, random_state=0)
    with pytest.warns(FitFailedWarning, match="5 of 5 fits failed.*n_clusters=1"):
        found = cross_validate_hints(PCKMeans(1), X, hints, random_state=0)
    assert np.isnan(found.score)
    assert "InfeasibleSupervisionError" in found.failure
    assert str(found).startswith("failed: ")
    with pytest.warns(FitFailedWarning):
        assert cross_validate_hints(PCKMeans(1), X, hints, error_score=-1).score == -1
    with pytest.raises(SupervisionError, match="n_clusters=1"):
        cross_validate_hints(PCKMeans(1), X, hints, error_score="raise")
    with pytest.raises(ValueError, match="error_score"):
        cross_validate_hints(PCKMeans(1), X, hints, error_score="ignore")


def test_unsupported_kinds_fail_unless_converted_to_links():
    hints = sample_triplets(Y, 40, random_state=0)
    with pytest.warns(FitFailedWarning, match="cannot use triplets"):
        cross_validate_hints(PCKMeans(3), X, hints, random_state=0)
    found = cross_validate_hints(PCKMeans(3, random_state=0), X, hints, random_state=0, as_links=True)
    assert found.triplet_accuracy == 1.0


def test_warnings_of_many_fits_are_one():
    hints = sample_links(Y, 40, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        cross_validate_hints(PresetEstimator(labels=Y, warn=True), X, hints, random_state=0)
    assert [str(w.message) for w in caught] == ["not settled (4 more such warning(s) from other fits.)"]
    assert caught[0].filename == __file__


def test_contradictions_are_reported_once_by_a_soft_method():
    hints = sample_links(Y, 40, random_state=0)
    hints |= Supervision.from_links(60, must_groups=[[0, 1, 2]], cannot=[(0, 1)])
    with pytest.warns(InconsistentSupervisionWarning) as caught:
        found = cross_validate_hints(PCKMeans(3, random_state=0), X, hints, random_state=0)
    assert len(caught) == 1
    assert found.score > 0.9
