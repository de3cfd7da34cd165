"""Products and solutions of a large graph in single precision, compared with dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from likewise.spectral import (
    BagSpectralClustering,
    ConstrainedKernelKMeans,
    PropagationClustering,
    SpectralLearning,
    _classes,
    _eigen,
)
from likewise.spectral._affinity import Graph
from likewise.spectral._block_products import GraphBlocks
from likewise.spectral._classes import Smoother
from likewise.spectral._operator import SpectralOperator
from likewise.supervision import sample_links


def make_graph(n=60, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.2), 1)
    return weights + weights.T


def test_products_equal_those_of_the_dense_matrix():
    weights = make_graph()
    blocks = GraphBlocks(csr_array(weights))
    columns = np.random.default_rng(1).random((60, 4))
    image = blocks.multiply(columns[blocks.order].astype(np.float32))[blocks.place]
    assert_allclose(image, weights @ columns, rtol=1e-5)


@pytest.mark.parametrize("fixed", [[], [3, 17, 40]])
def test_solutions_equal_those_of_the_dense_matrix(fixed):
    weights = make_graph()
    normal = weights / np.sqrt(np.outer(weights.sum(axis=1), weights.sum(axis=1)))
    rights = np.random.default_rng(2).normal(size=(6, 60))
    held = np.isin(np.arange(60), fixed)
    rights[:, held] = 0.0
    found = GraphBlocks(csr_array(normal)).solve(rights, 0.9, fixed=held, tol=1e-6, max_iter=100)
    free = ~held
    wanted = np.linalg.solve((np.eye(60) - 0.9 * normal)[np.ix_(free, free)], rights[:, free].T).T
    assert_allclose(found[:, free], wanted, atol=1e-4)
    assert (found[:, held] == 0).all()


def test_a_solution_does_not_depend_on_the_other_columns():
    blocks = GraphBlocks(csr_array(make_graph() / 12))
    rights = np.random.default_rng(3).normal(size=(7, 60)) * 10.0 ** np.arange(-3, 4)[:, None]
    rights[2] = 0.0
    together = blocks.solve(rights, 0.9, tol=1e-4, max_iter=100)
    alone = np.concatenate([blocks.solve(right[None], 0.9, tol=1e-4, max_iter=100) for right in rights])
    assert_array_equal(together, alone)
    assert (together[2] == 0).all()


def test_large_graphs_are_smoothed_as_small_ones(monkeypatch):
    graph = Graph.from_weights(csr_array(make_graph()))
    values, rows = np.random.default_rng(4).random((60, 3)), np.array([1, 30])
    small = Smoother(graph, 0.05)
    monkeypatch.setattr(_classes, "LARGE_GRAPH", 10)
    large = Smoother(graph, 0.05)
    smooth = small.smooth(values)
    assert_allclose(large.smooth(values), smooth, atol=1e-3)
    wanted = np.eye(3)[[0, 2]]
    assert_allclose(
        large.interpolate(smooth, rows, wanted), small.interpolate(smooth, rows, wanted), atol=5e-3
    )
    assert_allclose(large.hold_out(smooth, rows, wanted), small.hold_out(smooth, rows, wanted), atol=5e-3)


@pytest.mark.parametrize("error_rate", [0.0, "learn"])
def test_labels_are_those_of_the_precise_solution(monkeypatch, error_rate):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 4
    X = 2.5 * np.eye(4)[y] + rng.normal(size=(600, 4))
    hints = sample_links(y, 60, random_state=0)
    model = PropagationClustering(4, error_rate=error_rate, random_state=0)
    precise = model.fit(X, supervision=hints).labels_
    monkeypatch.setattr(_classes, "LARGE_GRAPH", 100)
    assert (model.fit(X, supervision=hints).labels_ == precise).mean() > 0.995


@pytest.mark.parametrize("method", [SpectralLearning, ConstrainedKernelKMeans, BagSpectralClustering])
@pytest.mark.parametrize("overlap", [1.0, 3.0])
def test_clusters_of_large_graphs_are_those_of_the_precise_eigenvectors(monkeypatch, method, overlap):
    y = np.arange(900) % 3
    X = 6.0 / overlap * np.eye(3)[y] + np.random.default_rng(0).normal(size=(900, 3))
    hints = sample_links(y, 40, random_state=0)
    model = method(3, n_neighbors=10, tol=1e-9, n_init=1, random_state=0)
    precise = model.fit(X, supervision=hints)
    values, labels = precise.eigenvalues_, precise.labels_
    monkeypatch.setattr(_eigen, "LARGE_GRAPH", 100)
    found = model.set_params(tol=1e-5).fit(X, supervision=hints)
    assert_allclose(found.eigenvalues_, values, rtol=1e-4)
    assert adjusted_rand_score(found.labels_, labels) > 0.99


def test_eigenvectors_are_found_if_single_precision_does_not_converge(monkeypatch):
    weights = make_graph(400)
    wanted = np.linalg.eigvalsh(weights)[:-6:-1]
    tried = []
    first = _eigen._from_single_precision
    monkeypatch.setattr(_eigen, "LARGE_GRAPH", 100)
    monkeypatch.setattr(_eigen, "_SINGLE_RESTARTS", 1)
    monkeypatch.setattr(_eigen, "_from_single_precision", lambda *args: tried.append(first(*args)))
    operator = SpectralOperator(csr_array(weights))
    found = _eigen.compute_leading_eigenvectors(operator, 5, solver="arpack", rng=np.random.default_rng(0))
    assert tried[0] is None
    assert_allclose(found.values, wanted, rtol=1e-6)
