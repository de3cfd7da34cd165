"""Nearest neighbours: by hand, and by cells compared with all distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from likewise.backends import neighbors as module
from likewise.backends.neighbors import (
    NearRows,
    compute_recall,
    find_near_rows,
    find_near_rows_by_cells,
    is_exact,
)
from likewise.kernels.near_rows import compute_distances, keep_nearest, select_smallest
from profiles import fewer


def draw_case(seed, n=20, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_near_rows_by_hand():
    distances, neighbors = find_near_rows(np.array([[0.0], [1.0], [3.0], [7.0]]), 2, "exact", 0)
    assert neighbors.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert distances.tolist() == [[1, 3], [1, 2], [2, 3], [4, 6]]


# ---------------------------------------------------------------------- by cells


def test_candidates_nearer_than_the_limit_are_kept_by_hand():
    near = NearRows.empty(3, 2, 3)
    rows = np.array([2, 0])
    away = np.array([[5.0, 1.0, 0.0], [0.0, 3.0, 7.0]], dtype=np.float32)
    keep_nearest(away, rows, 0, 2, *near.arrays)
    assert near.counts.tolist() == [2, 0, 2]  # a row is not its own neighbour, and row 1 was not visited
    keep_nearest(np.array([[2.0]], dtype=np.float32), np.array([0]), 2, 2, *near.arrays)
    found = near.sort_by_distance(2, np.array([0, 2, 1]))  # the second row in this order is row 2
    assert found.tolist() == [[1, 2], [2, 0], [-1, -1]]


@fewer(5)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 40), n=st.integers(2, 300), ties=st.booleans())
def test_the_nearest_of_many_candidates_are_kept(seed, k, n, ties):
    rng = np.random.default_rng(seed)
    away = rng.random((n, n)).astype(np.float32)
    if ties:
        away = np.round(4 * away)
    near = NearRows.empty(n, k, n)
    for lo in range(0, n, 37):
        keep_nearest(away[:, lo : lo + 37].copy(), np.arange(n), lo, k, *near.arrays)
    found = near.sort_by_distance(k, np.arange(n))
    np.fill_diagonal(away, np.inf)
    kept = min(k, n - 1)
    assert (found[:, kept:] == -1).all()
    assert_array_equal(np.take_along_axis(away, found[:, :kept], axis=1), np.sort(away, axis=1)[:, :kept])
    assert all(len(set(row)) == kept for row in found[:, :kept].tolist())


def test_the_smallest_columns_are_selected_in_order():
    found = np.empty((2, 3), dtype=np.uint16)
    select_smallest(np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 9.0, 8.0, 7.0]]), found)
    assert found.tolist() == [[1, 3, 2], [0, 3, 2]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_computed_from_differences(dtype):
    X = draw_case(0).astype(dtype) + dtype(1000)
    neighbors = np.array([[1, 2], [3, 4]])
    distances = np.empty((2, 2))
    compute_distances(X, 5, neighbors, distances)
    wanted = np.linalg.norm(X[neighbors].astype(np.float64) - X[5:7, None].astype(np.float64), axis=2)
    assert_allclose(distances, wanted, rtol=1e-5)


def test_the_search_is_exact_for_few_rows_or_columns():
    assert is_exact(40_000, 64, "auto")
    assert is_exact(10**6, 4, "cells")
    assert not is_exact(40_001, 64, "auto")
    assert is_exact(10**6, 64, "exact")
    assert not is_exact(100, 4, "approximate")


def test_recall_is_the_share_of_true_neighbours():
    X = draw_case(1, 100)
    true = find_near_rows(X, 4, "exact", 0)[1]
    assert compute_recall(X, true) == 1.0
    half = true.copy()
    far = np.argsort(pairwise_distances(X), axis=1)[:, -2:]
    half[:, 2:] = far
    assert compute_recall(X, half) == 0.5


@fewer(2)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 5))
def test_few_rows_are_searched_exactly(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, d)) + 1e4  # many distances are equal, and far from the origin
    k = min(n - 1, 4)
    found = find_near_rows_by_cells(X, k, seed)
    far = pairwise_distances(X)
    np.fill_diagonal(far, np.inf)
    assert_allclose(np.take_along_axis(far, found, axis=1), np.sort(far, axis=1)[:, :k], atol=1e-6)
    assert all(len({*row}) == k and i not in row for i, row in enumerate(found.tolist()))


def share_found(X, found, k):
    far = pairwise_distances(X)
    np.fill_diagonal(far, np.inf)
    return np.mean(np.take_along_axis(far, found, axis=1) <= np.sort(far, axis=1)[:, [k - 1]])


@pytest.mark.parametrize("clusters", [0.0, 6.0])
def test_most_neighbours_of_many_rows_are_found_reproducibly(monkeypatch, clusters):
    monkeypatch.setattr(module, "_CANDIDATES", 400)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)) + clusters * rng.normal(size=(8, 6))[rng.integers(8, size=3000)]
    found = find_near_rows_by_cells(X, 10, 0)
    assert share_found(X, found, 10) > 0.95
    with threadpool_limits(2):
        assert_array_equal(find_near_rows_by_cells(X, 10, 0), found)


def test_a_row_far_from_all_others_still_has_neighbours(monkeypatch):
    monkeypatch.setattr(module, "_CANDIDATES", 2)
    X = np.concatenate([draw_case(3, 200, 2), [[500.0, 0.0], [0.0, 500.0]]])
    found = find_near_rows_by_cells(X, 5, 0)
    assert found.shape == (202, 5)
    assert (found >= 0).all()
    assert (found != np.arange(202)[:, None]).all()


def test_equal_rows_have_neighbours():
    found = find_near_rows_by_cells(np.ones((50, 2)), 3, 0)
    assert all(len({*row, i}) == 4 for i, row in enumerate(found.tolist()))


def test_cells_return_the_distances_of_their_neighbours():
    X = np.random.default_rng(0).normal(size=(300, 3))
    distances, neighbors = find_near_rows(X, 5, "approximate", 0)
    wanted = np.linalg.norm(X[neighbors] - X[:, None], axis=2)
    np.testing.assert_allclose(distances, wanted)
    assert (np.diff(distances, axis=1) >= -1e-6).all()
