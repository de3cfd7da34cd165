"""Smoothing along a graph: equal to the dense solution and to the harmonic values, in any order."""

import numpy as np
import pytest

from likewise.spectral import _classes
from likewise.spectral._affinity import Graph, Recipe, build_graph
from likewise.spectral._classes import Smoother


@pytest.fixture
def graph():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return build_graph(X, Recipe("local", 5))


def dense(graph, gamma):
    return np.diag(graph.degrees) - (1 - gamma) * graph.weights.toarray()


@pytest.mark.parametrize("gamma", [0.02, 0.3])
def test_smooth_values_solve_the_dense_system(graph, gamma):
    values = np.eye(4)[np.arange(40) % 4]
    wanted = np.linalg.solve(dense(graph, gamma), gamma * graph.degrees[:, None] * values)
    np.testing.assert_allclose(Smoother(graph, gamma).smooth(values), wanted, atol=1e-4)


def test_constants_are_unchanged(graph):
    np.testing.assert_allclose(Smoother(graph, 0.05).smooth(np.ones((40, 1))), 1.0, atol=1e-4)


@pytest.mark.parametrize("most_kept", [10**9, 0], ids=["influences", "each-column"])
def test_interpolation_solves_the_system_with_rows_held(graph, most_kept, monkeypatch):
    monkeypatch.setattr(_classes, "_MOST_KEPT", most_kept)
    gamma, rows = 0.05, np.array([3, 8, 21])
    prior = np.random.default_rng(1).random((40, 2))
    smoother = Smoother(graph, gamma)
    values = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    found = smoother.interpolate(smoother.smooth(prior), rows, values)
    free = np.setdiff1d(np.arange(40), rows)
    A = dense(graph, gamma)
    right = (gamma * graph.degrees[:, None] * prior)[free] - A[np.ix_(free, rows)] @ values
    wanted = np.empty((40, 2))
    wanted[rows], wanted[free] = values, np.linalg.solve(A[np.ix_(free, free)], right)
    np.testing.assert_allclose(found, wanted, atol=2e-4)


def test_a_zero_right_hand_side_gives_zero(graph):
    assert (Smoother(graph, 0.05).smooth(np.zeros((40, 1))) == 0).all()


def test_a_column_does_not_depend_on_earlier_solves(graph):
    base = np.zeros((40, 1))
    long, short = Smoother(graph, 0.05), Smoother(graph, 0.05)
    for row in range(20):
        long.interpolate(base, np.array([row]), np.ones((1, 1)))
    rows, values = np.array([2, 30]), np.array([[1.0], [0.0]])
    np.testing.assert_array_equal(long.interpolate(base, rows, values), short.interpolate(base, rows, values))


def test_diffusion_equals_repeated_products(graph):
    W, d = graph.weights.toarray(), graph.degrees
    values = np.random.default_rng(2).random(40)
    walk = W / d[:, None]
    smoother = Smoother(graph, 0.05)
    np.testing.assert_allclose(smoother.diffuse(values, 2, 0.0), walk @ walk @ values)
    np.testing.assert_allclose(smoother.diffuse(values, 2, 1.0), walk.T @ walk.T @ values)
    np.testing.assert_allclose(smoother.diffuse(values, 0, 0.4), values)
    columns = np.random.default_rng(3).random((40, 3))
    np.testing.assert_allclose(smoother.diffuse(columns, 1, 0.0), walk @ columns)


def test_neighbors_are_the_rows_with_an_edge(graph):
    row = graph.weights.toarray()[7]
    assert sorted(Smoother(graph, 0.05).get_neighbors(7)) == np.flatnonzero(row).tolist()


def test_rows_similar_only_to_each_other_do_not_break_the_interpolation():
    weights = np.array([[0.0, 1.0], [1.0, 0.0]])
    smoother = Smoother(Graph.from_weights(weights), 1e-3)
    found = smoother.interpolate(np.zeros((2, 1)), np.array([0, 1]), np.array([[1.0], [0.0]]))
    np.testing.assert_allclose(found[:, 0], [1.0, 0.0], atol=1e-3)
