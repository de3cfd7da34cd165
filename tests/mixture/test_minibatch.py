"""Stepwise EM: batches of all rows are EM, streams of batches find the classes, links are used."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from likewise import MiniBatchPairwiseGaussianMixture, PairwiseGaussianMixture, Supervision
from likewise._compat import HAS_CALLBACKS
from likewise.base import FitProgress
from likewise.exceptions import InconsistentSupervisionWarning, InfeasibleSupervisionError, SupervisionError
from likewise.supervision import sample_links


def corners(seed, n=200):
    """Four corners, wider than high, whose classes are top and bottom."""
    rng = np.random.default_rng(seed)
    x, y = rng.choice([-1, 1], n), rng.choice([-1, 1], n)
    X = np.column_stack([3 * x + 0.5 * rng.normal(size=n), y + 0.3 * rng.normal(size=n)])
    return X, y


def blobs(seed, n=300, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 4)) + 4 * np.eye(k, 4)[y], y


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("n_links", [0, 60])
def test_a_first_step_on_all_rows_is_an_iteration_of_em(shape, n_links):
    X, y = blobs(0)
    hints = sample_links(y, n_links, random_state=0) if n_links else None
    same = {"covariance_type": shape, "init": X[:3].copy(), "tol": 0.0}
    with pytest.warns(ConvergenceWarning):
        em = PairwiseGaussianMixture(3, max_iter=2, **same).fit(X, supervision=hints)
    # The M-step of the start, and one step of size (1 + 0)^-0.7 = 1 on a batch of all rows.
    step = MiniBatchPairwiseGaussianMixture(3, max_iter=1, learning_offset=0.0, batch_size=300, **same)
    with pytest.warns(ConvergenceWarning):
        step.fit(X, supervision=hints)
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_allclose(getattr(step, name), getattr(em, name), rtol=1e-6, atol=1e-8)
    assert step.lower_bound_ == pytest.approx(em.lower_bound_)
    np.testing.assert_array_equal(step.labels_, em.labels_)
    assert (step.n_steps_, step.n_rows_seen_) == (1, 300)


def test_step_sizes_by_hand():
    # With one class, the mean is the running mean of the batch means.
    model = MiniBatchPairwiseGaussianMixture(1, learning_decay=1.0, learning_offset=2.0, random_state=0)
    model.partial_fit([[0.0], [2.0]])
    assert model.means_[0, 0] == pytest.approx(1.0)
    model.partial_fit([[8.0]])  # the second step has size 1 / (2 + 2)
    assert model.means_[0, 0] == pytest.approx(1.0 + (8.0 - 1.0) / 4)
    assert model.covariances_[0, 0, 0] == pytest.approx(0.75 * 2 + 0.25 * 64 - 2.75**2, rel=1e-4)
    assert (model.n_steps_, model.n_iter_, model.n_rows_seen_) == (2, 2, 3)
    assert model.labels_.tolist() == [0]
    assert len(model.lower_bounds_) == 2


def test_a_stream_of_batches_finds_the_classes_of_the_links():
    X, y = corners(99, n=500)
    told = MiniBatchPairwiseGaussianMixture(2, random_state=0)
    deaf = clone(told)
    for seed in range(15):
        batch, classes = corners(seed)
        told.partial_fit(batch, supervision=sample_links(classes, 20, balance=0.5, random_state=seed))
        assert told.violations_.share == 1
        deaf.partial_fit(batch)
    assert adjusted_rand_score(y, told.predict(X)) > 0.95
    assert adjusted_rand_score(y, deaf.predict(X)) < 0.1
    assert (told.n_steps_, told.n_rows_seen_) == (15, 3000)
    # The model has learned from more than one batch: its means are close to those of all rows.
    assert np.sort(np.abs(told.means_[:, 1])) == pytest.approx([1, 1], abs=0.05)


def test_batches_continue_a_fit_and_a_new_fit_starts_again():
    X, _ = blobs(0)
    model = MiniBatchPairwiseGaussianMixture(3, batch_size=50, random_state=0).fit(X)
    steps, seen, before = model.n_steps_, model.n_rows_seen_, model.means_
    assert model.converged_
    assert seen == 50 * steps
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:7])
    assert (again.n_steps_, again.n_rows_seen_, len(again.labels_)) == (steps + 1, seen + 7, 7)
    assert 0 < np.abs(again.means_ - before).max() < 0.5
    np.testing.assert_array_equal(again.fit(X).means_, before)


def test_weighted_links_and_links_on_every_row():
    X, y = blobs(1, n=60)
    hints = sample_links(y, 400, random_state=0)
    assert len(hints.restrict_to_hinted()[0]) == 60
    model = MiniBatchPairwiseGaussianMixture(3, batch_size=5, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.labels_) == 1
    weighed = Supervision.from_links(60, must=hints.must, must_weights=0.5)
    model.fit(X, supervision=weighed)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_invalid_batches_are_refused():
    X, _ = blobs(0)
    new = MiniBatchPairwiseGaussianMixture(3, random_state=0)
    with pytest.raises(ValueError, match=r"first batch has 2 row\(s\), too few to start n_clusters=3"):
        new.partial_fit(X[:2])
    assert not hasattr(new, "means_")
    with pytest.raises(NotFittedError):
        new.predict(X)
    new.partial_fit(X)
    assert len(new.partial_fit(X[:1]).labels_) == 1  # later ones may be small
    with pytest.raises(SupervisionError, match="are for 300 rows, but X has 5"):
        new.partial_fit(X[:5], supervision=Supervision.empty(300))
    with pytest.raises(ValueError, match="4 features"):
        new.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="too large to square"):
        new.partial_fit(X[:5] * 1e200)
    assert len(MiniBatchPairwiseGaussianMixture(3, init=X[:3]).partial_fit(X[:1]).labels_) == 1
    with pytest.raises(ValueError, match="fitted with n_clusters=3"):
        new.set_params(n_clusters=2).partial_fit(X)
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        MiniBatchPairwiseGaussianMixture(1).partial_fit(
            X[:5], supervision=Supervision.from_links(5, cannot=[(0, 1)])
        )
    with pytest.warns(InconsistentSupervisionWarning, match="between rows 3 and 4"):
        new.set_params(n_clusters=3).partial_fit(
            X[:5], supervision=Supervision.from_links(5, must=[(3, 4)], cannot=[(4, 3)])
        )


@pytest.mark.parametrize(
    "wrong", [{"learning_decay": 0.5}, {"learning_decay": 1.1}, {"batch_size": 0}, {"learning_offset": -1}]
)
def test_invalid_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        MiniBatchPairwiseGaussianMixture(2, **wrong).partial_fit([[0.0], [1.0]])


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
@pytest.mark.parametrize(("init", "n_runs"), [("k-means", 2), ([[0.0], [5.0]], 1)])
def test_progress_is_reported_for_the_trial_and_the_batches(init, n_runs, monkeypatch):
    from sklearn.callback import ProgressBar

    begun = []
    monkeypatch.setattr(FitProgress, "begin", lambda self, max_iter: begun.append(max_iter))
    model = MiniBatchPairwiseGaussianMixture(2, init=init, n_init=1, max_iter=60, random_state=0)
    X = np.repeat([[0.0], [5.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 1))
    model.set_callbacks(ProgressBar()).fit(X)
    assert begun == [15, 60][-n_runs:]
