"""Without links the family is scikit-learn's GaussianMixture; methods of a fitted model."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture

from likewise import (
    EquivalenceGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)

FAMILY = [PairwiseGaussianMixture, EquivalenceGaussianMixture, PosteriorConstrainedGaussianMixture]
SHAPES = ["full", "tied", "diag", "spherical"]
TWO = Supervision.from_links(240, must=[(0, 1), (80, 81)], cannot=[(1, 80), (2, 200)])


def rows(seed=0, n=240, d=3, k=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) * k // n
    return rng.normal(size=(n, d)) * [1.0, 0.5, 2.0] + 2.5 * rng.normal(size=(k, d))[y]


def same_start(X, means, shape):
    """Return scikit-learn's mixture with the start that an array of means stands for here."""
    k, d = means.shape
    part = pairwise_distances_argmin(X, means)
    ridge = 1e-6 * X.var(axis=0).mean()
    full = np.array([np.cov(X[part == c].T, bias=True) + ridge * np.eye(d) for c in range(k)])
    share = np.bincount(part, minlength=k) / len(X)
    precisions = {
        "full": lambda: np.linalg.inv(full),
        "tied": lambda: np.linalg.inv(np.einsum("c,cde->de", share, full)),
        "diag": lambda: 1 / np.einsum("cdd->cd", full),
        "spherical": lambda: 1 / np.einsum("cdd->c", full) * d,
    }[shape]()
    return GaussianMixture(
        k,
        covariance_type=shape,
        weights_init=np.full(k, 1 / k),
        means_init=means,
        precisions_init=precisions,
        reg_covar=ridge,
        tol=1e-5,
        max_iter=300,
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cls", FAMILY)
def test_no_links_is_the_mixture_of_scikit_learn_from_the_same_start(cls, shape):
    X = rows() + 40.0  # away from the origin
    means = X[[0, 100, 200]]
    theirs = same_start(X, means, shape).fit(X)
    ours = cls(3, covariance_type=shape, init=means, tol=1e-5, max_iter=300).fit(X)
    assert ours.converged_
    assert ours.n_iter_ == theirs.n_iter_ > 3
    for name in ("weights_", "means_", "covariances_", "lower_bound_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-8)
    new = rows(seed=1) + 40.0
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_array_equal(ours.labels_, theirs.predict(X))
    for name in ("bic", "aic", "score"):
        assert getattr(ours, name)(new) == pytest.approx(getattr(theirs, name)(new), rel=1e-8)


def test_the_bounds_are_those_of_each_iteration():
    model = PairwiseGaussianMixture(3, random_state=0).fit(rows(), supervision=TWO)
    assert model.lower_bounds_.shape == (model.n_iter_,)
    assert model.lower_bounds_[-1] == model.lower_bound_
    assert abs(np.diff(model.lower_bounds_)[-1]) < model.tol


@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_rows_have_the_moments_of_the_mixture(shape):
    model = PairwiseGaussianMixture(
        2, n_subclusters=2, covariance_type=shape, tol=1e-2, n_init=2, random_state=0
    )
    model.fit(rows(), supervision=TWO)
    X, y = model.sample(60_000, random_state=1)
    assert X.shape == (60_000, 3)
    assert (np.diff(y) >= 0).all()
    np.testing.assert_allclose(np.bincount(y, minlength=2) / len(y), model.weights_, atol=0.01)
    share = (model.weights_[:, None] * model.subcluster_weights_).ravel()
    np.testing.assert_allclose(X.mean(axis=0), share @ model.means_, atol=0.08)
    matrix = {
        "full": lambda c: model.covariances_[c],
        "tied": lambda c: model.covariances_,
        "diag": lambda c: np.diag(model.covariances_[c]),
        "spherical": lambda c: model.covariances_[c] * np.eye(3),
    }[shape]
    second = sum(share[c] * (matrix(c) + np.outer(mean, mean)) for c, mean in enumerate(model.means_))
    np.testing.assert_allclose(X.T @ X / len(X), second, atol=0.03 * np.abs(second).max())


def test_samples_follow_the_seed():
    model = PairwiseGaussianMixture(3, random_state=5).fit(rows())
    first, again = model.sample(7), model.sample(7)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(model.sample(7, random_state=5)[0], first[0])
    assert not np.array_equal(model.sample(7, random_state=6)[0], first[0])


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "many", True, None])
def test_an_invalid_number_of_samples_is_refused(wrong):
    model = PairwiseGaussianMixture(3, random_state=0).fit(rows())
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        model.sample(wrong)


def test_methods_need_a_fit():
    for ask in ("predict", "predict_proba", "score_samples", "score", "bic", "aic"):
        with pytest.raises(NotFittedError):
            getattr(EquivalenceGaussianMixture(3), ask)(rows())
    with pytest.raises(NotFittedError):
        EquivalenceGaussianMixture(3).sample(3)


@pytest.mark.parametrize("cls", FAMILY)
def test_same_seed_same_result_on_any_number_of_threads(cls, monkeypatch):
    # Small blocks, and the requested number of threads regardless of the machine.
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 50)
    monkeypatch.setattr("likewise.mixture._base.get_n_threads", lambda work, n_jobs: n_jobs)
    X = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (
            cls(3, n_init=2, max_iter=20, random_state=0, n_jobs=jobs).fit(X, supervision=TWO)
            for jobs in (1, 2)
        )
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.lower_bounds_, two.lower_bounds_)


def test_blocks_add_up_to_the_whole(monkeypatch):
    X = rows()
    whole = PairwiseGaussianMixture(3, random_state=0).fit(X, supervision=TWO)
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 37)
    monkeypatch.setattr("likewise.mixture._em._PIECE_NUMBERS", 1)
    cut = PairwiseGaussianMixture(3, random_state=0).fit(X, supervision=TWO)
    np.testing.assert_allclose(cut.means_, whole.means_, rtol=1e-7)
    np.testing.assert_array_equal(cut.labels_, whole.labels_)


def test_a_refit_resets_the_number_of_approximate_groups(monkeypatch):
    monkeypatch.setattr("likewise.mixture._factors.ENUMERATED", 1)
    X = rows()
    star = Supervision.from_links(240, cannot=[(0, 100), (0, 200)])
    for model in (
        PairwiseGaussianMixture(3, relations="components", random_state=0),
        EquivalenceGaussianMixture(3, random_state=0),
    ):
        assert model.fit(X, supervision=star).n_approximate_ == 1
        assert model.fit(X).n_approximate_ == 0
