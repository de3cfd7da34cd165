"""Exact nearest-neighbour search in a fixed set of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from likewise.backends.neighbors import NearRows, draw_centers, find_cell_starts, find_nearest_cells

_CELLS = 64
_LEAST_CELL_ROWS = 64  # with fewer fixed rows per cell, there are fewer cells
_MOST_NUMBERS = 1 << 23  # in single precision, which all cells together store
_FIRST = 256  # the fixed rows nearest to the cell, from which the first limits are computed
_SPARE = 4  # neighbours beyond k that are compared in double precision
_ROWS_AT_ONCE = 128
_FEW_COLUMNS = 4  # with fewer columns, and many fixed rows, a tree is faster
_TREE_ROWS = 20_000
_SMALLEST, _LARGEST = 1e-15, 1e15  # beyond them, squares are not precise, or overflow, in single precision


class NeighborIndex:
    r"""Finds the nearest of fixed rows for blocks of new rows.

    Each new row belongs to a cell, whose centre c knows all fixed rows z in the order of their distance from
    it. A product in single precision with the first 256 of them gives a limit, within which the nearest rows
    of x lie. By the triangle inequality, only fixed rows with :math:`|z - c| \le |x - c| + \text{limit}` can
    be nearer, and a second product compares these. Differences from c are small, so single precision is
    enough to select a few more rows than needed, whose distances are computed in double precision. If
    rounding leaves a doubt, for instance because rows are equally far, the new row is compared with all fixed
    rows in double precision.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The fixed rows.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        n, d = X.shape
        self._centers = np.empty((0, d))
        self._mean = X.mean(axis=0)
        rows = X - self._mean
        if (d < _FEW_COLUMNS and n > _TREE_ROWS) or not _SMALLEST < np.abs(rows).max() < _LARGEST:
            return
        n_cells = max(1, min(_CELLS, n // _LEAST_CELL_ROWS, _MOST_NUMBERS // (n * (d + 1))))
        with threadpool_limits(1):
            self._centers = draw_centers(np.asarray(rows, dtype=np.float32), n_cells, 0)
        self._order = np.empty((n_cells, n), dtype=np.int32)
        self._far = np.empty((n_cells, n))
        # The product of [x - c, 1] with these is |z - x|^2 - |x - c|^2.
        self._extended = np.empty((n_cells, d + 1, n), dtype=np.float32)
        for cell, center in enumerate(self._centers):
            steps = rows - center
            far = np.linalg.norm(steps, axis=1)
            order = np.argsort(far, kind="stable")
            self._order[cell], self._far[cell] = order, far[order]
            self._extended[cell, :d], self._extended[cell, d] = -2 * steps[order].T, far[order] ** 2

    def __reduce__(self) -> tuple[Any, ...]:
        return NeighborIndex, (self.X,)  # the rest is computed again in less time than it takes to send it

    def find(self, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and row numbers of the k nearest fixed rows of each row, nearest first.

        The result for a row does not depend on the other rows. The time for a block of thousands of rows is a
        fraction of a second.
        """
        if not len(self._centers):
            found = NearestNeighbors(n_neighbors=k).fit(self.X).kneighbors(X)
            return found[0].astype(np.float64), found[1]
        distances, neighbors = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int64)
        certain = np.zeros(len(X), dtype=bool)
        centered = X - self._mean
        usual = np.flatnonzero(np.abs(centered).max(axis=1) < _LARGEST)
        home = find_nearest_cells(np.asarray(centered[usual], dtype=np.float32), self._centers, 1)[:, 0]
        members, starts = (
            usual[np.argsort(home, kind="stable")],
            find_cell_starts(home, len(self._centers)),
        )
        for cell in np.flatnonzero(np.diff(starts)):
            rows = members[starts[cell] : starts[cell + 1]]
            steps = centered[rows] - self._centers[cell]
            away = np.linalg.norm(steps, axis=1)
            order = np.argsort(away, kind="stable")  # so that rows in one batch have similar search radii
            self._find_in_cell(
                cell, X, rows[order], steps[order], away[order], k, distances, neighbors, certain
            )
        doubtful = np.flatnonzero(~certain)
        if len(doubtful):
            search = NearestNeighbors(n_neighbors=k).fit(self.X)
            distances[doubtful], neighbors[doubtful] = search.kneighbors(X[doubtful])
        return distances, neighbors

    def _find_in_cell(self, cell, X, rows, steps, away, k, distances, neighbors, certain):
        """Find the neighbours of the new rows of a cell, given their differences from its centre."""
        from likewise.kernels.near_rows import keep_nearest, shorten_lists, sort_nearest

        m, n, width = len(rows), len(self.X), min(k + _SPARE, len(self.X))
        mine = np.column_stack([steps, np.ones(m)]).astype(np.float32)
        near = NearRows.empty(m, width, n)
        unit = (X.shape[1] + 8) * np.finfo(np.float32).eps  # rounding of a product, relative to the squares
        first = max(_FIRST, 2 * width)
        groups = [np.arange(lo, min(lo + _ROWS_AT_ONCE, m)) for lo in range(0, m, _ROWS_AT_ONCE)]
        fixed = self._extended[cell]
        for group in groups:
            keep_nearest(mine[group] @ fixed[:, :first], group, m, width, *near.arrays)
        shorten_lists(near.squares, near.members, near.counts, near.limits, width)
        reach = np.full(m, np.inf)
        limited = np.isfinite(near.limits)
        squares = near.limits[limited] + away[limited] ** 2
        squares = (
            np.maximum(squares, 0.0) + unit * (2 * away[limited] + np.sqrt(np.maximum(squares, 0.0))) ** 2
        )
        reach[limited] = away[limited] + np.sqrt(squares)
        ends = [int(np.searchsorted(self._far[cell], reach[group].max(), side="right")) for group in groups]
        for group, end in zip(groups, ends, strict=True):
            if end > first:
                keep_nearest(mine[group] @ fixed[:, first:end], group, m + first, width, *near.arrays)
        shorten_lists(near.squares, near.members, near.counts, near.limits, width)
        limits = np.full(m, np.inf)
        if width < n:
            farthest = self._far[cell][min(max(first, max(ends)), n) - 1]
            limits = near.limits + away**2 - unit * (away + farthest) ** 2
        sort_nearest(
            X, rows, self.X, self._order[cell], near.members, m, width, limits, distances, neighbors, certain
        )
