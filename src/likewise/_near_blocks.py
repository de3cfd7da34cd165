"""Exact nearest neighbours: products in single precision select few candidates for exact distances."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

_BLOCK = 128
# The limit of a row is its distance to the _RANK-th nearest row of a sample. The size of the sample is chosen
# so that about _WIDTH * k rows are within the limit. If fewer than k are (one row in two hundred), the row is
# compared with all rows.
_WIDTH = 4
_RANK = 6
_MOST = 20  # blocks with more than this multiple of the expected candidates are searched without lists


def find_near_rows_by_blocks(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the distances and row numbers of the k nearest other rows of each row, nearest first.

    The distance of a row to the sixth nearest row of a sample is a limit within which about 4 k of all rows
    lie. These are found by :math:`|z|^2 - 2 x \cdot z \le \text{limit} - |x|^2`, one matrix product in
    single precision with an allowance for rounding. For rows that may be among the nearest according to this
    product, the distance is computed in double precision. If k of them are within the limit, they are the
    nearest. Costs O(n^2 d), as any exact search in many columns, and about 600 bytes of memory per row.
    """
    X = X.astype(np.float64, copy=False)
    n = len(X)
    search = _NeighborSearch(X, k)
    distances, neighbors = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    found = np.zeros(n, dtype=bool)
    for lo in range(0, n, _BLOCK):
        part = slice(lo, min(lo + _BLOCK, n))
        at, other = search.find_candidates(part)
        if len(at):
            away, neighbors[part] = _select_nearest(X, part, at, other, k)
            distances[part] = np.sqrt(away)
            found[part] = away[:, -1] <= search.limits[part]
    rest = np.flatnonzero(~found)
    if len(rest):
        distances[rest], neighbors[rest] = _compare_with_all(X, rest, k)
    return distances, neighbors


class _NeighborSearch:
    """Rows in single precision, arranged so that one product shows which pairs are within the limits."""

    def __init__(self, X: np.ndarray, k: int) -> None:
        n, d = X.shape
        self.k = k
        rows = np.asarray(X - X.mean(axis=0), dtype=np.float32)
        squares = np.einsum("nd,nd->n", rows, rows)
        ones = np.ones(n, dtype=np.float32)
        # The sample affects the number of candidates, not the result.
        some = np.random.default_rng(0).choice(n, min(n, 1 + _RANK * n // (_WIDTH * k)), replace=False)
        least = _compute_limits(np.column_stack([rows, ones]), np.column_stack([-2 * rows, squares])[some])
        self.limits = np.maximum(least + squares, 0.0)
        # Bound on the rounding of the rows and of a sum of d + 2 products.
        self.rounding = (d + 8) * np.finfo(np.float32).eps * (np.sqrt(squares) + np.sqrt(squares.max())) ** 2
        self.mine = np.column_stack([rows, ones, squares - self.limits - self.rounding])
        self.other = np.ascontiguousarray(np.column_stack([-2 * rows, squares, ones]).T)
        self._scores = np.empty((_BLOCK, n), dtype=np.float32)
        self._near = np.empty((_BLOCK, n), dtype=bool)

    def find_candidates(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidate pairs of a block: position in the block, and row number of a near row.

        They include all of the k nearest rows that are within the limits. If there are too many, no pairs
        are returned.
        """
        scores = self._scores[: part.stop - part.start]
        np.matmul(self.mine[part], self.other, out=scores)
        scores[np.arange(len(scores)), np.arange(part.start, part.stop)] = np.inf  # itself
        flat = np.flatnonzero(np.less_equal(scores, 0.0, out=self._near[: len(scores)]))
        if len(flat) > _MOST * _WIDTH * self.k * _BLOCK:
            return flat[:0], flat[:0]
        at, other = np.divmod(flat, scores.shape[1])
        score = scores.ravel()[flat]
        table, _ = _as_table(at, score, len(scores), self.k)
        kth = np.partition(table, self.k - 1, axis=1)[:, self.k - 1]
        use = score <= (kth + 2 * self.rounding[part])[at]
        return at[use], other[use]


def _compute_limits(mine: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Return the sixth smallest product of each row with the rows of a sample."""
    rank = min(_RANK, len(sample)) - 1
    parts = [
        np.partition(mine[lo : lo + _BLOCK] @ sample.T, rank, axis=1)[:, rank]
        for lo in range(0, len(mine), _BLOCK)
    ]
    return np.concatenate(parts)


def _as_table(at: np.ndarray, values: np.ndarray, n_rows: int, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with the values of each row, padded with infinity, and where each row starts.

    `at` is the row of each value and must be sorted.
    """
    counts = np.bincount(at, minlength=n_rows)
    starts = np.cumsum(counts) - counts
    table = np.full((n_rows, max(least, int(counts.max()))), np.inf, dtype=values.dtype)
    table[at, np.arange(len(at)) - starts[at]] = values
    return table, starts


def _select_nearest(
    X: np.ndarray, part: slice, at: np.ndarray, other: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k smallest squared distances to the candidates of each row, and the candidates.

    Distances are infinite if there are fewer than k candidates.
    """
    away = X[other]
    away -= X[part][at]
    table, starts = _as_table(at, np.einsum("nd,nd->n", away, away), part.stop - part.start, k)
    order = np.argsort(table, axis=1, kind="stable")[:, :k]  # ties go to the first row
    places = np.minimum(starts[:, None] + order, len(other) - 1)
    return np.take_along_axis(table, order, axis=1), other[places]


def _compare_with_all(X: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X)
    distances, neighbors = search.kneighbors(X[rows])
    own = neighbors == rows[:, None]
    own[~own.any(axis=1), -1] = True  # a row with many duplicates may be missing among its neighbours
    return distances[~own].reshape(len(rows), k), neighbors[~own].reshape(len(rows), k)
