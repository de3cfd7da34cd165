"""The nearest other rows of every row, exactly: products in single precision leave few that are measured."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

_BLOCK = 128
# Each row looks closer at about so many times as many others as it wants neighbours, and so many rows of a
# sample are among them. Where fewer than it wants are that near (one row in two hundred), all are looked at.
_WIDTH = 4
_RANK = 6
_MOST = 20  # of so many times as many a block is left to a search that makes no lists of them


def find_near_rows_by_blocks(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the distances and numbers of the k nearest other rows of each row, nearest first.

    A row's distance to the sixth nearest of a sample of rows is a limit within which some 4 k of all rows
    lie. These are found by :math:`|z|^2 - 2 x \cdot z \le \text{limit} - |x|^2`, one matrix product in
    single precision with room for its rounding. Those that by this product and its rounding can be among the
    nearest are measured in double precision. If k of them are within the limit they are the nearest. Costs
    O(n^2 d), as any exact search in many columns does, and memory of some 600 bytes a row.
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
    """Rows in single precision, made ready for products that tell which are within one another's limits."""

    def __init__(self, X: np.ndarray, k: int) -> None:
        n, d = X.shape
        self.k = k
        rows = np.asarray(X - X.mean(axis=0), dtype=np.float32)
        squares = np.einsum("nd,nd->n", rows, rows)
        ones = np.ones(n, dtype=np.float32)
        # The sample decides how many are looked at, not what is found.
        some = np.random.default_rng(0).choice(n, min(n, 1 + _RANK * n // (_WIDTH * k)), replace=False)
        least = _compute_limits(np.column_stack([rows, ones]), np.column_stack([-2 * rows, squares])[some])
        self.limits = np.maximum(least + squares, 0.0)
        # Of d + 2 rounded products that are added up, and of rounded rows.
        self.rounding = (d + 8) * np.finfo(np.float32).eps * (np.sqrt(squares) + np.sqrt(squares.max())) ** 2
        self.mine = np.column_stack([rows, ones, squares - self.limits - self.rounding])
        self.other = np.ascontiguousarray(np.column_stack([-2 * rows, squares, ones]).T)
        self._scores = np.empty((_BLOCK, n), dtype=np.float32)
        self._near = np.empty((_BLOCK, n), dtype=bool)

    def find_candidates(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows can be among the k nearest of those of a block: of which of these, and which.

        All of them that are within the limits; none at all if too many are.
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
    """Return the sixth least product of each row with those of a sample."""
    rank = min(_RANK, len(sample)) - 1
    parts = [
        np.partition(mine[lo : lo + _BLOCK] @ sample.T, rank, axis=1)[:, rank]
        for lo in range(0, len(mine), _BLOCK)
    ]
    return np.concatenate(parts)


def _as_table(at: np.ndarray, values: np.ndarray, n_rows: int, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Write values, those of one row next to one another, as rows of a table that is infinite elsewhere.

    Returned with it is where the values of each row begin.
    """
    counts = np.bincount(at, minlength=n_rows)
    starts = np.cumsum(counts) - counts
    table = np.full((n_rows, max(least, int(counts.max()))), np.inf, dtype=values.dtype)
    table[at, np.arange(len(at)) - starts[at]] = values
    return table, starts


def _select_nearest(
    X: np.ndarray, part: slice, at: np.ndarray, other: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Measure candidates; return the k least squared distances of each row, infinite if there are fewer."""
    away = X[other]
    away -= X[part][at]
    table, starts = _as_table(at, np.einsum("nd,nd->n", away, away), part.stop - part.start, k)
    order = np.argsort(table, axis=1, kind="stable")[:, :k]  # of equally near rows the first
    places = np.minimum(starts[:, None] + order, len(other) - 1)
    return np.take_along_axis(table, order, axis=1), other[places]


def _compare_with_all(X: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X)
    distances, neighbors = search.kneighbors(X[rows])
    own = neighbors == rows[:, None]
    own[~own.any(axis=1), -1] = True  # among many duplicates of a row it may itself be missing
    return distances[~own].reshape(len(rows), k), neighbors[~own].reshape(len(rows), k)
