"""The nearest of fixed rows for new rows, compared with all distances for many kinds of rows."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from likewise.backends import neighbor_index as module
from likewise.backends.neighbor_index import CandidateIndex, NeighborIndex
from profiles import fewer


def check(X, new, k):
    """Compare with all distances; ties may be resolved in any way."""
    distances, neighbors = NeighborIndex(X).find(new, k)
    away = cdist(new.astype(np.float64), X.astype(np.float64))
    size = max(1.0, np.abs(X - X.mean(axis=0)).max())
    assert distances.shape == neighbors.shape == (len(new), k)
    assert_allclose(distances, np.sort(away, axis=1)[:, :k], atol=1e-9 * size)
    assert_allclose(np.take_along_axis(away, neighbors, axis=1), distances, atol=1e-9 * size)
    assert all(len(set(found)) == k for found in neighbors.tolist())


ROWS = {
    "normal": lambda rng, n: rng.normal(size=(n, 16)),
    "a surface": lambda rng, n: rng.normal(size=(n, 2)) @ np.random.default_rng(1).normal(size=(2, 20)),
    "clusters far apart": lambda rng, n: rng.normal(size=(n, 8)) + 1e4 * rng.integers(0, 5, size=(n, 1)),
    "one column": lambda rng, n: rng.normal(size=(n, 1)),
    "whole numbers": lambda rng, n: rng.integers(0, 3, size=(n, 9)).astype(float),
    "all the same": lambda rng, n: np.ones((n, 9)),
    "huge": lambda rng, n: 1e30 * rng.normal(size=(n, 9)),
    "tiny": lambda rng, n: 1e-30 * rng.normal(size=(n, 9)),
    "single precision": lambda rng, n: rng.normal(size=(n, 9)).astype(np.float32),
}


@pytest.mark.parametrize("kind", ROWS)
def test_finds_the_nearest_rows(kind):
    rng = np.random.default_rng(0)
    check(ROWS[kind](rng, 700), ROWS[kind](rng, 90), 12)


@fewer(2)
@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 6), st.integers(1, 40))
def test_finds_the_nearest_of_few_rows(seed, n, n_columns, k):
    rng = np.random.default_rng(seed)
    check(rng.normal(size=(n, n_columns)), rng.normal(size=(20, n_columns)), min(k, n))


def test_rows_outside_the_data_find_the_nearest_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    check(X, np.vstack([X[:9], 1e6 * rng.normal(size=(9, 5))]), 8)


def test_rows_beyond_single_precision_find_the_nearest_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    found = NeighborIndex(X).find(np.vstack([X[:3], np.full((1, 5), 1e60)]), 1)
    assert found[1][:3, 0].tolist() == [0, 1, 2]
    assert np.isfinite(found[0]).all()


def test_many_rows_of_few_columns_are_searched_by_a_tree(monkeypatch):
    monkeypatch.setattr(module, "_TREE_ROWS", 500)
    rng = np.random.default_rng(0)
    check(rng.normal(size=(700, 2)), rng.normal(size=(90, 2)), 12)


def test_result_depends_neither_on_other_rows_nor_on_pickling():
    rng = np.random.default_rng(0)
    index, new = NeighborIndex(rng.normal(size=(900, 10))), rng.normal(size=(300, 10))
    whole = index.find(new, 9)
    sent = pickle.loads(pickle.dumps(index))
    parts = [sent.find(new[lo : lo + 7], 9) for lo in range(0, 300, 7)]
    for i in range(2):
        assert_array_equal(np.concatenate([part[i] for part in parts]), whole[i])


def make_curve(rng, n):
    """Return rows near a curve, whose neighbours are found among few candidates."""
    return np.column_stack([np.linspace(0, 50, n), *rng.normal(scale=0.1, size=(5, n))])


def test_candidates_include_most_of_the_nearest_rows():
    rng = np.random.default_rng(0)
    X, new = make_curve(rng, 3_000), make_curve(rng, 401)
    groups = np.arange(3_000) % 3
    index = CandidateIndex(X, 10).order_by(groups, 3)
    away, n_found, seen = cdist(new, X), 0, []
    for part in index.compare(new):
        squares = part.products + part.away[:, None] ** 2
        assert (np.abs(squares - away[part.rows][:, part.members] ** 2) <= part.rounding[:, None]).all()
        assert [set(groups[part.members[a:b]]) for a, b in pairwise(part.starts)] == [{0}, {1}, {2}]
        for row in part.rows:
            n_found += np.isin(np.argsort(away[row])[:10], part.members).sum()
        seen += part.rows.tolist()
    assert sorted(seen) == sorted(set(seen))
    assert index.n_candidates < 1_000
    assert n_found >= 0.97 * 10 * len(seen) > 0.95 * 10 * len(new)


def test_the_last_groups_may_be_empty():
    rng = np.random.default_rng(0)
    X = make_curve(rng, 3_000)
    for part in CandidateIndex(X, 10).order_by(np.arange(3_000) % 2, 4).compare(X[:50]):
        assert len(part.starts) == 5
        assert (part.starts[2:] == len(part.members)).all()


def test_rows_outside_the_data_have_no_candidates():
    rng = np.random.default_rng(0)
    index = CandidateIndex(make_curve(rng, 3_000), 10).order_by(np.zeros(3_000, dtype=int), 1)
    outside = np.array([[25, 9.0, 0, 0, 0, 0], [1e60] * 6])
    assert not sum(len(part.rows) for part in index.compare(outside))


@pytest.mark.parametrize("kind", ["all the same", "huge", "tiny", "normal"])
def test_no_candidates_if_they_would_not_help(kind):
    assert CandidateIndex(ROWS[kind](np.random.default_rng(0), 500), 10).n_candidates == 0
