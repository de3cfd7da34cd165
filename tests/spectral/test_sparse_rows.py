"""Sparse rows: the same clusters as dense rows, also for unusual matrices."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from likewise.bayesian import BayesianClustering
from likewise.discriminative import DiscriminativeClustering
from likewise.metric import ITML
from likewise.mixture import PairwiseGaussianMixture
from likewise.spectral import (
    BagSpectralClustering,
    ConstrainedKernelKMeans,
    FlexibleSpectralClustering,
    PropagationClustering,
    SpectralLearning,
)
from likewise.supervision import sample_links

METHODS = [
    BagSpectralClustering,
    ConstrainedKernelKMeans,
    FlexibleSpectralClustering,
    PropagationClustering,
    SpectralLearning,
]


def make_counts(n=120, d=30, seed=0):
    """Return counts of words in three kinds of texts, as dense rows, and the kinds."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    often = np.full((3, d), 0.2)
    for kind in range(3):
        often[kind, 10 * kind : 10 * kind + 10] = 2.0
    return rng.poisson(often[y]).astype(float), y


@pytest.mark.parametrize("n_neighbors", [8, "default"])
@pytest.mark.parametrize("method", METHODS)
def test_labels_are_those_of_the_dense_rows(method, n_neighbors):
    X, y = make_counts()
    hints = sample_links(y, 20, random_state=0)
    options = {} if n_neighbors == "default" else {"n_neighbors": n_neighbors}
    model = method(3, random_state=0, **options)
    dense = model.fit(X, supervision=hints).labels_
    predicted = model.predict(X[::-1])
    assert_array_equal(model.fit(sparse.csr_array(X), supervision=hints).labels_, dense)
    assert_array_equal(model.predict(sparse.csr_array(X[::-1])), predicted)


def with_zeros(X):
    found = sparse.csr_matrix(np.ones(X.shape))
    found.data[:] = X.ravel()
    return found


def with_unsorted(X):
    found = sparse.csr_array(X)
    for row in range(X.shape[0]):
        part = slice(found.indptr[row], found.indptr[row + 1])
        found.indices[part], found.data[part] = (
            found.indices[part][::-1].copy(),
            found.data[part][::-1].copy(),
        )
    found.has_sorted_indices = False
    return found


def with_duplicates(X):
    found = sparse.csr_array(X)
    twice = np.repeat(found.indices, 2), found.indptr * 2
    return sparse.csr_array((np.repeat(found.data / 2, 2), *twice), shape=X.shape)


def with_long_indices(X):
    found = sparse.csr_array(X)
    parts = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return sparse.csr_array((found.data, *parts), shape=X.shape)


@pytest.mark.parametrize(
    "make",
    [with_zeros, with_unsorted, with_duplicates, with_long_indices, sparse.coo_array, sparse.csc_matrix],
)
@pytest.mark.parametrize("method", [PropagationClustering, SpectralLearning])
def test_every_form_of_a_matrix_gives_the_same_labels(method, make):
    X, y = make_counts()
    X[7] = 0.0  # an empty row
    hints = sample_links(y, 20, random_state=0)
    model = method(3, n_neighbors=8, random_state=0)
    wanted = model.fit(X, supervision=hints).labels_
    given = make(X)
    before = given.copy()
    assert_array_equal(model.fit(given, supervision=hints).labels_, wanted)
    assert_array_equal(given.data, before.data)  # the caller's matrix is unchanged


@pytest.mark.parametrize("method", [PropagationClustering, SpectralLearning])
def test_empty_rows_and_single_columns(method):
    model = method(2, n_neighbors=3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(sparse.csr_array((20, 5)))
    assert any("all 20 rows of X are equal" in str(one.message) for one in caught)
    line = np.r_[np.zeros(8), np.linspace(5, 6, 8)][:, None]
    assert_array_equal(model.fit(sparse.csr_array(line)).labels_, model.fit(line).labels_)


def test_similarities_of_sparse_rows_are_those_of_dense_rows():
    X = make_counts()[0] * np.random.default_rng(1).uniform(1, 2, size=30)  # without ties
    X[3] = X[11]
    for n_neighbors in (None, 9):
        model = SpectralLearning(3, n_neighbors=n_neighbors, random_state=0)
        graphs = [model.fit(rows).affinity_matrix_ for rows in (X, sparse.csr_array(X))]
        found = [np.asarray(sparse.csr_array(graph).sum(axis=1)).ravel() for graph in graphs]
        assert_allclose(found[1], found[0], rtol=1e-3)


def test_a_learned_metric_needs_dense_rows():
    X, _ = make_counts()
    with pytest.raises(TypeError, match=r"learn_metric=True takes dense rows.*TruncatedSVD"):
        PropagationClustering(3, learn_metric=True).fit(sparse.csr_array(X))


@pytest.mark.parametrize(
    "method", [BayesianClustering, DiscriminativeClustering, ITML, PairwiseGaussianMixture]
)
def test_other_methods_suggest_fewer_columns(method):
    X, _ = make_counts()
    with pytest.raises(TypeError, match=rf"{method.__name__} takes dense rows.*TruncatedSVD"):
        method().fit(sparse.csr_array(X))
