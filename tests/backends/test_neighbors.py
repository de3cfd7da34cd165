"""Nearest neighbours: by hand, with pynndescent, and by cells compared with all distances."""

import tempfile
import warnings

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from likewise.backends import neighbors as module
from likewise.backends.neighbors import find_near_rows, find_near_rows_by_cells
from likewise.exceptions import MissingDependencyError
from likewise.kernels.assign import keep_nearest
from profiles import fewer


def draw_case(seed, n=20, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_near_rows_by_hand():
    distances, neighbors = find_near_rows(np.array([[0.0], [1.0], [3.0], [7.0]]), 2, "exact", 0)
    assert neighbors.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert distances.tolist() == [[1, 3], [1, 2], [2, 3], [4, 6]]


# ---------------------------------------------------------------------- approximate search


def test_without_pynndescent_many_rows_are_searched_exactly(monkeypatch):
    def missing(name, extra):
        raise MissingDependencyError(f"{name} is missing")

    monkeypatch.setattr(module, "require", missing)
    monkeypatch.setattr(module, "EXACT_ROWS", 10)
    X = draw_case(6)
    assert_array_equal(find_near_rows(X, 3, "auto", 0)[1], find_near_rows(X, 3, "exact", 0)[1])
    with pytest.raises(MissingDependencyError):
        find_near_rows(X, 3, "approximate", 0)


def require_cached(monkeypatch, folder):
    """Make pynndescent importable only if numba has a cache folder, as on a read-only system."""
    tried = []

    def importing(name, extra):
        tried.append(numba.config.CACHE_DIR)
        if not tried[-1]:
            raise RuntimeError("cannot cache function 'f': no locator available")
        return name

    monkeypatch.setattr(module, "require", importing)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    return tried


def test_pynndescent_is_cached_in_a_temporary_folder_if_no_other_is_writable(monkeypatch, tmp_path):
    tried = require_cached(monkeypatch, tmp_path)
    assert module._import_pynndescent() == "pynndescent"
    assert len(tried) == 2
    assert tried[1].startswith(str(tmp_path))
    assert numba.config.CACHE_DIR == ""


def test_without_a_cache_folder_pynndescent_counts_as_missing(monkeypatch, tmp_path):
    require_cached(monkeypatch, tmp_path / "absent")
    with pytest.raises(MissingDependencyError, match=r"no locator available.*NUMBA_CACHE_DIR"):
        module._import_pynndescent()


class Sloppy:
    """Replacement for pynndescent: finds the k nearest rows, then `spoil` changes the result."""

    def __init__(self, spoil):
        self._spoil = spoil

    def NNDescent(self, X, n_neighbors, random_state, compressed):
        far = pairwise_distances(X)
        neighbors = np.argsort(far, axis=1, kind="stable")[:, :n_neighbors].astype(np.int32)
        distances = np.take_along_axis(far, neighbors, axis=1).astype(np.float32)
        self._spoil(neighbors, distances)
        self.neighbor_graph = neighbors, distances
        return self


def approximately(monkeypatch, X, k, spoil=lambda neighbors, distances: None):
    monkeypatch.setattr(module, "require", lambda name, extra: Sloppy(spoil))
    return find_near_rows(X, k, "approximate", 0)


def test_the_row_itself_is_removed_at_any_position(monkeypatch):
    def elsewhere(neighbors, distances):
        neighbors[0, [0, 2]] = neighbors[0, [2, 0]]  # a duplicate may come before the row itself
        neighbors[1, 0], distances[1, 0] = 19, 9.0  # and the row itself may be missing

    X = draw_case(7)
    true = find_near_rows(X, 3, "exact", 0)[1]
    found = approximately(monkeypatch, X, 3, elsewhere)[1]
    assert_array_equal(found[2:], true[2:])
    assert set(found[0]) == set(true[0])
    assert found[1].tolist() == [19, *true[1, :2]]
    assert (found != np.arange(20)[:, None]).all()


def test_rows_with_too_few_neighbours_are_searched_exactly(monkeypatch):
    def lost(neighbors, distances):
        neighbors[4, 2:], distances[4, 2:] = -1, np.inf

    X = draw_case(8)
    distances, neighbors = approximately(monkeypatch, X, 5, lost)
    assert_array_equal(neighbors, find_near_rows(X, 5, "exact", 0)[1])
    assert np.isfinite(distances).all()


def test_a_search_that_misses_many_is_reported(monkeypatch):
    def poor(neighbors, distances):
        neighbors[:, -2:] = [[j for j in range(20) if j not in row][-2:] for row in neighbors]

    with pytest.warns(UserWarning, match=r"found \d+% of the true neighbours.*neighbor_search='exact'"):
        approximately(monkeypatch, draw_case(9), 4, poor)


@pytest.mark.slow  # pynndescent compiles for half a minute
def test_the_approximate_search_finds_nearly_all_reproducibly():
    pytest.importorskip("pynndescent")
    X = draw_case(10, 3000, 8)
    true = find_near_rows(X, 10, "exact", 0)
    found = find_near_rows(X, 10, "approximate", 0)
    shared = [len(np.intersect1d(a, b)) for a, b in zip(true[1], found[1], strict=True)]
    assert np.mean(shared) / 10 > 0.95
    assert found[0].dtype == np.float64
    assert_array_equal(found[1], find_near_rows(X, 10, "approximate", 0)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distances, neighbors = find_near_rows(
            X[:12], 11, "approximate", 0
        )  # more than it can find among so few rows
    assert (np.sort(neighbors, axis=1) == [[j for j in range(12) if j != i] for i in range(12)]).all()
    assert_allclose(distances, find_near_rows(X[:12], 11, "exact", 0)[0], rtol=1e-5)


# ---------------------------------------------------------------------- by cells


def test_the_nearest_are_kept_in_order_by_hand():
    best, found = np.full((3, 2), np.inf), np.full((3, 2), -1)
    rows, members = np.array([2, 0]), np.array([0, 1, 2])
    keep_nearest(np.array([[5.0, 1.0, 0.0], [0.0, 3.0, 7.0]]), rows, members, best, found)
    # A row is not its own neighbour, and row 1 was not visited.
    assert found.tolist() == [[1, 2], [-1, -1], [1, 0]]
    assert best.tolist() == [[3, 7], [np.inf, np.inf], [1, 5]]
    keep_nearest(np.array([[2.0]]), np.array([0]), np.array([2]), best, found)
    assert found[0].tolist() == [2, 1]


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


def test_cells_return_the_distances_of_their_neighbours(monkeypatch):
    monkeypatch.setattr(module, "EXACT_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(300, 3))
    distances, neighbors = module.find_near_rows(X, 5, "cells", 0)
    wanted = np.linalg.norm(X[neighbors] - X[:, None], axis=2)
    np.testing.assert_allclose(distances, wanted)
    assert (np.diff(distances, axis=1) >= -1e-6).all()
