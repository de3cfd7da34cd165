"""The exact search by blocks, compared with all distances for many kinds of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from likewise.backends import neighbors as module
from likewise.backends.neighbors import find_near_rows_by_blocks
from profiles import fewer


def check(X, k):
    """Compare with all distances; ties may be resolved in any way."""
    distances, neighbors = find_near_rows_by_blocks(X, k)
    n, rows = len(X), np.arange(len(X))
    away = cdist(X.astype(np.float64), X.astype(np.float64))
    away[rows, rows] = np.inf
    size = max(1.0, np.abs(X - X.mean(axis=0)).max())
    assert distances.shape == neighbors.shape == (n, k)
    assert_allclose(distances, np.sort(away, axis=1)[:, :k], atol=1e-6 * size)
    assert_allclose(np.take_along_axis(away, neighbors, axis=1), distances, atol=1e-6 * size)
    assert all(len(set(found)) == k for found in neighbors.tolist())
    assert (neighbors != rows[:, None]).all()


ROWS = {
    "normal": lambda rng: rng.normal(size=(700, 16)),
    "clusters": lambda rng: rng.normal(size=(700, 8)) + 50 * rng.integers(0, 5, size=(700, 1)),
    "few columns": lambda rng: rng.normal(size=(500, 1)),
    "far from the origin": lambda rng: rng.normal(size=(500, 9)) + 1e5,
    "one far away": lambda rng: np.vstack([rng.normal(size=(400, 9)), np.full((1, 9), 1e6)]),
    "whole numbers": lambda rng: rng.integers(0, 3, size=(600, 9)).astype(float),
    "duplicates": lambda rng: np.repeat(rng.normal(size=(12, 9)), 40, axis=0),
    "all the same": lambda rng: np.ones((300, 9)),
    "single precision": lambda rng: rng.normal(size=(500, 9)).astype(np.float32),
    "no more than a block": lambda rng: rng.normal(size=(40, 9)),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("k", [1, 7, 30])
def test_the_nearest_rows_are_found(rows, k):
    check(ROWS[rows](np.random.default_rng(0)), k)


@fewer(2)
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(3, 400),
    d=st.integers(1, 20),
    k=st.integers(1, 40),
    whole=st.booleans(),
)
def test_the_nearest_rows_are_found_for_any_rows(seed, n, d, k, whole):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
    check(np.round(X) if whole else X, min(k, n - 1))


def test_two_rows_are_neighbours_of_each_other():
    distances, neighbors = find_near_rows_by_blocks(np.array([[0.0], [3.0]]), 1)
    assert distances.tolist() == [[3.0], [3.0]]
    assert neighbors.tolist() == [[1], [0]]


@pytest.mark.parametrize(("name", "value"), [("_RANK", 1), ("_MOST", 0), ("_WIDTH", 1)])
def test_rows_with_too_few_or_too_many_candidates_are_compared_with_all_rows(monkeypatch, name, value):
    compared = []

    def all_of(X, rows, k, algorithm, whole=module._find_others):
        compared.extend(rows.tolist())
        return whole(X, rows, k, algorithm)

    monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "_find_others", all_of)
    check(np.random.default_rng(1).normal(size=(600, 9)), 10)
    assert compared
