"""Exact nearest-neighbour search in a fixed set of rows."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
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
        self._extended = np.empty((n_cells, d + 1, n), dtype=np.float32)
        for cell, center in enumerate(self._centers):
            steps = rows - center
            far = np.linalg.norm(steps, axis=1)
            order = np.argsort(far, kind="stable")
            self._order[cell], self._far[cell] = order, far[order]
            self._extended[cell] = _extend_steps(steps[order], far[order] ** 2)

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


def _extend_steps(steps: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return a matrix whose product with [x - c, 1] is |z - x|^2 - |x - c|^2, from z - c and |z - c|^2."""
    return np.column_stack([-2 * steps, squares]).T


_ROWS_PER_CELL = 20  # fixed rows for each cell of candidates
_CELLS_PER_ROOT = 4  # the most cells, as a multiple of the square root of the number of fixed rows
_MOST_MEMBERS = 1 << 24  # candidates of all cells together
_MOST_COMPARED = 200_000  # with more fixed rows, finding the candidates takes too long
_WANTED_RECALL = 0.99
_TRIED_ROWS = 128  # from which the number of candidates is chosen
_GROUP = 64  # the number of candidates is a multiple of this


class CandidateIndex:
    r"""Compares new rows with a fraction of many fixed rows, which contains most of the nearest ones.

    Fixed rows are divided into cells. The candidates of a cell are the fixed rows nearest to its centre, as
    many as it takes to find 99 % of the nearest rows of a sample of the fixed rows. A new row is compared
    with the candidates of its cell, by a product in single precision. There are no candidates, and
    `n_candidates` is 0, if half of the fixed rows would be needed, if there are too many fixed rows, or if
    the numbers are too large or small for single precision.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The fixed rows.
    k : int
        The number of nearest rows that will be needed.
    """

    def __init__(self, X: np.ndarray, k: int) -> None:
        self.X, self.n_candidates = X, 0
        n = len(X)
        self._mean = X.mean(axis=0)
        if not 4 * max(k, _GROUP) <= n <= _MOST_COMPARED:
            return
        centered = X - self._mean
        if not _SMALLEST < np.abs(centered).max() < _LARGEST:
            return
        rows = np.asarray(centered, dtype=np.float32)
        n_cells = min(n // _ROWS_PER_CELL, int(_CELLS_PER_ROOT * np.sqrt(n)))
        with threadpool_limits(1):
            self._centers = draw_centers(rows, n_cells, 0)
            home = find_nearest_cells(rows, self._centers, 1)[:, 0]
            steps = rows - self._centers[home]
            # A new row that is farther from its cell than any fixed row lies outside of the data.
            self._radius = float(np.sqrt(np.einsum("nd,nd->n", steps, steps).max()))
            wanted = -(-max(self._count_needed(rows, home, k), 2 * k) // _GROUP) * _GROUP
        if 2 * wanted <= n and n_cells * wanted <= _MOST_MEMBERS:
            self.n_candidates = wanted
        self._groups, self._n_groups = np.zeros(n, dtype=np.int16), 1
        self._cells: dict[int, _Candidates] = {}

    def _count_needed(self, rows: np.ndarray, home: np.ndarray, k: int) -> int:
        """Return the number of candidates that include the wanted share of the nearest rows of a sample."""
        tried = np.unique(np.linspace(0, len(rows) - 1, _TRIED_ROWS, dtype=np.int64))
        squares = np.einsum("nd,nd->n", rows, rows)
        ranks = []
        for i, cell in zip(tried, home[tried], strict=True):
            near = np.argpartition(squares - 2 * (rows @ rows[i]), k)[: k + 1]
            away = squares - 2 * (rows @ self._centers[cell])
            ranks.append(np.searchsorted(np.sort(away), away[near[near != i]], side="right"))
        return int(np.quantile(np.concatenate(ranks), _WANTED_RECALL))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cells": {}}  # found again in less time than it takes to send them

    def order_by(self, groups: np.ndarray, n_groups: int) -> CandidateIndex:
        """Return the index with the candidates of each cell ordered by their groups, numbered from 0.

        Groups may be empty.
        """
        ordered = copy(self)
        ordered._groups, ordered._n_groups, ordered._cells = groups, n_groups, {}
        return ordered

    def compare(self, X: np.ndarray) -> Iterator[ComparedRows]:
        """Compare rows with their candidates, some rows at a time.

        Rows that are farther from the centre of their cell than any fixed row is from its own centre are left
        out.
        """
        centered = X - self._mean
        usual = np.flatnonzero(np.abs(centered).max(axis=1) < _LARGEST)
        home = find_nearest_cells(np.asarray(centered[usual], dtype=np.float32), self._centers, 1)[:, 0]
        ordered = usual[np.argsort(home, kind="stable")]
        starts = find_cell_starts(home, len(self._centers))
        unit = (X.shape[1] + 8) * np.finfo(np.float32).eps  # rounding of a product, relative to the squares
        for cell in np.flatnonzero(np.diff(starts)).tolist():
            candidates = self._find_candidates(cell)
            extended, reach = self._extend(cell, candidates)
            for lo in range(starts[cell], starts[cell + 1], _ROWS_AT_ONCE):
                rows = ordered[lo : min(lo + _ROWS_AT_ONCE, starts[cell + 1])]
                steps = np.asarray(centered[rows] - self._centers[cell], dtype=np.float32)
                away = np.sqrt(np.einsum("nd,nd->n", steps, steps))
                inside = away <= self._radius
                rows, steps, away = rows[inside], steps[inside], away[inside]
                mine = np.column_stack([steps, np.ones(len(rows), dtype=np.float32)])
                rounding = unit * (away + reach) ** 2
                yield ComparedRows(
                    rows, candidates.members, candidates.starts, mine @ extended, away, rounding
                )

    def _find_candidates(self, cell: int) -> _Candidates:
        """Return the candidates of a cell, which are found when they are first needed."""
        found = self._cells.get(cell)
        if found is None:
            steps = self.X - (self._mean + self._centers[cell])
            squares = np.einsum("nd,nd->n", steps, steps)
            members = np.argpartition(squares, self.n_candidates)[: self.n_candidates].astype(np.int32)
            groups = self._groups[members]
            order = np.argsort(groups, kind="stable")
            starts = np.searchsorted(groups[order], np.arange(self._n_groups + 1))
            found = self._cells[cell] = _Candidates(
                members[order], starts
            )  # maybe by several threads at once
        return found

    def _extend(self, cell: int, candidates: _Candidates) -> tuple[np.ndarray, float]:
        """Return the matrix of :func:`_extend_steps` for the candidates, and the largest |z - c|."""
        if candidates.extended is not None:
            return candidates.extended
        steps = np.asarray(self.X[candidates.members] - self._mean - self._centers[cell], dtype=np.float32)
        squares = np.einsum("nd,nd->n", steps, steps)
        found = np.ascontiguousarray(_extend_steps(steps, squares)), float(np.sqrt(squares.max()))
        if found[0].size * len(self._centers) <= _MOST_NUMBERS:
            candidates.extended = found
        return found


@dataclass(eq=False)
class _Candidates:
    """The candidates of a cell."""

    members: np.ndarray  # (c,) row numbers, by group
    starts: np.ndarray  # (n_groups + 1,) where the candidates of each group start
    extended: tuple[np.ndarray, float] | None = None  # if there is room for them


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Some rows, and their distances to the same candidates."""

    rows: np.ndarray  # (m,) positions of rows
    members: np.ndarray  # (c,) row numbers of the candidates, by group
    starts: np.ndarray  # (n_groups + 1,) where the candidates of each group start
    products: np.ndarray  # (m, c) squared distances, minus the squares of `away`
    away: np.ndarray  # (m,) distances to the centre of the cell
    rounding: np.ndarray  # (m,) bound on the rounding of squared distances
