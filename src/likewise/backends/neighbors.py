"""Nearest neighbours of every row: exact, or approximate by cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

Search = Literal["auto", "exact", "approximate", "cells"]

# With more rows than this, and at least _BLOCK_COLUMNS columns, "auto" and "cells" search approximately.
EXACT_ROWS = 40_000
# From this many rows and columns on, the exact search is by blocks; below, trees are faster.
_BLOCK_ROWS = 4_000
_BLOCK_COLUMNS = 8


def is_exact(n_samples: int, n_columns: int, search: Search) -> bool:
    """Return True if :func:`find_near_rows` finds all neighbours of rows of this shape."""
    if search in ("exact", "approximate"):
        return search == "exact"
    return n_samples <= EXACT_ROWS or n_columns < _BLOCK_COLUMNS


def estimate_search_seconds(
    n_samples: int, n_columns: int, search: Search, *, is_sparse: bool = False
) -> float:
    """Return about how long :func:`find_near_rows` takes on one core, by its speed on a server of 2024."""
    pair = 5e-10 + 2e-11 * n_columns  # seconds to compare two rows by a matrix product
    if is_sparse:
        return 5e-9 * n_samples**2
    if not is_exact(n_samples, n_columns, search):
        return n_samples * (_count_candidates(n_columns) * pair + 1.5e-5)
    few_columns = n_columns < _BLOCK_COLUMNS
    return 3e-5 * n_samples * 2.0**n_columns / 16 if few_columns else n_samples**2 * (pair + 1e-9)


def find_near_rows(X: np.ndarray, k: int, search: Search, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and row numbers of the k nearest other rows of each row, nearest first.

    "auto" and "cells" are exact for up to 40,000 rows or fewer than 8 columns, where a KD-tree is fast.
    Otherwise they use :func:`find_near_rows_by_cells`, as "approximate" always does. Sparse rows are always
    searched exactly.
    """
    if issparse(X):
        return _find_sparse(X, k)
    if is_exact(X.shape[0], X.shape[1], search):
        return _find_exact(X, k)
    from likewise.kernels.near_rows import compute_distances

    neighbors = find_near_rows_by_cells(X, k, random_state)
    distances = np.empty(neighbors.shape)
    for lo in range(0, len(X), _BLOCK):
        compute_distances(X, lo, neighbors[lo : lo + _BLOCK], distances[lo : lo + _BLOCK])
    return distances, neighbors


def _find_exact(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if len(X) >= _BLOCK_ROWS and X.shape[1] >= _BLOCK_COLUMNS:
        return find_near_rows_by_blocks(X, k)
    return _find_others(X, np.arange(len(X)), k)


def _find_sparse(X: csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest of sparse rows by products, and compute their distances from differences."""
    n = X.shape[0]
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X)
    distances, neighbors = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    for lo in range(0, n, _BLOCK):
        rows = np.arange(lo, min(lo + _BLOCK, n))
        _, near = _drop_self(rows, *search.kneighbors(X[rows]))
        steps = X[np.repeat(rows, k)] - X[near.ravel()]
        away = np.sqrt(np.asarray(steps.multiply(steps).sum(axis=1), dtype=np.float64)).reshape(near.shape)
        order = np.lexsort((near, away), axis=1)
        distances[rows] = np.take_along_axis(away, order, axis=1)
        neighbors[rows] = np.take_along_axis(near, order, axis=1)
    return distances, neighbors


def _find_others(
    X: np.ndarray, rows: np.ndarray, k: int, algorithm: str = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and row numbers of the k nearest other rows of some of the rows."""
    search = NearestNeighbors(n_neighbors=k + 1, algorithm=algorithm).fit(X)
    distances, neighbors = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
    for lo in range(0, len(rows), _BLOCK):  # between blocks, a fit can be interrupted
        part = slice(lo, lo + _BLOCK)
        distances[part], neighbors[part] = _drop_self(rows[part], *search.kneighbors(X[rows[part]]))
    return distances, neighbors


def _drop_self(
    rows: np.ndarray, distances: np.ndarray, neighbors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Remove each row from its own neighbours, or the first duplicate that displaced the row."""
    own = neighbors == rows[:, None]
    own[~own.any(axis=1), 0] = True
    shape = (len(rows), neighbors.shape[1] - 1)
    return distances[~own].reshape(shape), neighbors[~own].reshape(shape)


def compute_recall(X: np.ndarray, neighbors: np.ndarray, n_rows: int = 100) -> float:
    """Return the share of the true nearest rows that were found, for a sample of rows."""
    rows = np.linspace(0, len(X) - 1, min(n_rows, len(X)), dtype=np.int64)
    distances = euclidean_distances(X[rows], X)
    distances[np.arange(len(rows)), rows] = np.inf
    farthest = np.partition(distances, neighbors.shape[1] - 1, axis=1)[:, neighbors.shape[1] - 1]
    found = np.take_along_axis(distances, neighbors[rows], axis=1) <= farthest[:, None] * (1 + 1e-6)
    return float(found.mean())


# ---------------------------------------------------------------------- by cells

# Each row is compared with about this many others, or with fewer if there are many columns: the second
# number is for 80 or more. With 100,000 rows, 9 of 10 true neighbours are found in 16 independent normal
# columns, which have no structure, and half of them in 64; if the rows lie near a surface of 8 dimensions, 99
# of 100.
_CANDIDATES, _FEWEST_CANDIDATES = 6_000, 2_500
_PRODUCTS = 200_000  # multiplications per row, between these bounds
_ROWS_PER_CENTER = 20  # size of the sample from which the cells are fitted, per cell
_LLOYD_STEPS = 4
_MOST_CELLS = 60_000  # cell numbers fit into 16 bits, which sort ten times faster
_BLOCK = 1_024


def find_near_rows_by_cells(X: np.ndarray, k: int, random_state: int) -> np.ndarray:
    """Return the row numbers of k near other rows of each row, nearest first; most are among the k nearest.

    Rows are divided into about sqrt(n) cells by a few steps of k-means. Each row is compared with the 2,500
    to 6,000 rows of its nearest cells, by matrix products in single precision. This step is linear in n and
    needs 16 bytes of memory for each row and neighbour. A row with fewer than k other rows in these cells is
    searched for exactly. Each step takes a fraction of a second, so a fit can be interrupted between them.
    """
    from likewise.kernels.near_rows import keep_nearest

    n = len(X)
    rows = np.asarray(X - X.mean(axis=0), dtype=np.float32)
    with threadpool_limits(1):  # blocks are too small for a second thread
        centers = draw_centers(rows, min(max(int(np.sqrt(n)), 1), _MOST_CELLS), random_state)
        n_cells = len(centers)
        n_compared = min(n_cells, max(2, round(_count_candidates(X.shape[1]) * n_cells / n)))
        cells = find_nearest_cells(rows, centers, n_compared)
        # Sorted by their own cell, the rows of a cell are a slice.
        order = np.argsort(cells[:, 0], kind="stable")
        rows, cells = rows[order], cells[order]
        starts = find_cell_starts(cells[:, 0], n_cells)
        # The rows that are compared with each cell: the same table by columns.
        lookers = np.argsort(cells.ravel(), kind="stable") // n_compared
        looks = find_cell_starts(cells, n_cells)
        # |x - z|^2 is one product of extended rows.
        squares, ones = np.einsum("nd,nd->n", rows, rows), np.ones(n, dtype=np.float32)
        mine = np.column_stack([rows, ones, squares])
        other = np.column_stack([-2 * rows, squares, ones])
        near = NearRows.empty(n, k, int(np.diff(starts).max()))
        # The cell of a row first: its near rows let most of the later candidates be skipped.
        for at_home in (True, False):
            for cell in range(n_cells):
                lo, hi = starts[cell : cell + 2]
                looking = np.arange(lo, hi) if at_home else lookers[looks[cell] : looks[cell + 1]]
                if not at_home:
                    looking = looking[(looking < lo) | (looking >= hi)]
                for at in range(0, len(looking) if lo < hi else 0, _BLOCK // 2):
                    some = looking[at : at + _BLOCK // 2]
                    keep_nearest(mine[some] @ other[lo:hi].T, some, lo, k, *near.arrays)
    found = near.sort_by_distance(k, order)
    few = np.flatnonzero((found < 0).any(axis=1))
    if len(few):
        _, found[few] = _find_others(X, few, k)
    return found


def _count_candidates(n_columns: int) -> int:
    return min(max(_PRODUCTS // n_columns, _FEWEST_CANDIDATES), _CANDIDATES)


@dataclass(frozen=True, eq=False)
class NearRows:
    """The nearest candidates of each row so far, in no particular order, with room for more."""

    squares: np.ndarray  # (n, room) squared distances
    members: np.ndarray  # (n, room) row numbers
    counts: np.ndarray  # (n,) number of candidates
    limits: np.ndarray  # (n,) farther candidates are not needed
    mask: np.ndarray  # room for the comparison of a row with the rows of a cell

    @classmethod
    def empty(cls, n: int, k: int, longest: int) -> NearRows:
        """Return no candidates, for k neighbours and cells of up to `longest` rows."""
        shape = n, 2 * k + 16
        return cls(
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.full(n, np.inf, dtype=np.float32),
            np.zeros(longest // 8 * 8 + 8, dtype=np.uint8),
        )

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays, for the kernel."""
        return self.squares, self.members, self.counts, self.limits, self.mask

    def sort_by_distance(self, k: int, order: np.ndarray) -> np.ndarray:
        """Return the k nearest of each row, -1 where there are fewer; `order` is the number of each row."""
        found = np.empty((len(order), k), dtype=np.int64)
        for lo in range(0, len(order), _BLOCK):
            part = slice(lo, lo + _BLOCK)
            # The bits of distances have the same order as their values, so one sort orders the pairs.
            keys = np.maximum(self.squares[part], 0.0).view(np.int32).astype(np.int64) << 32
            keys |= order[self.members[part] % len(order)]
            keys[np.arange(keys.shape[1]) >= self.counts[part, None]] = -1
            keys = np.sort(keys.view(np.uint64), axis=1)[:, :k].view(np.int64)
            found[order[part]] = np.where(keys < 0, -1, keys & 0xFFFFFFFF)
        return found


def draw_centers(rows: np.ndarray, n_cells: int, random_state: int) -> np.ndarray:
    """Return the centres of cells after a few steps of k-means on a sample of rows in single precision."""
    rng = np.random.default_rng(random_state)
    some = rows[rng.choice(len(rows), min(len(rows), _ROWS_PER_CENTER * n_cells), replace=False)]
    centers = some[:n_cells].copy()
    for _ in range(_LLOYD_STEPS):
        labels = find_nearest_cells(some, centers, 1)[:, 0]
        starts = find_cell_starts(labels, n_cells)
        filled = np.diff(starts) > 0
        sums = np.add.reduceat(some[np.argsort(labels, kind="stable")], starts[:-1][filled], axis=0)
        centers[filled] = sums / np.diff(starts)[filled, None]
    return centers


def find_nearest_cells(rows: np.ndarray, centers: np.ndarray, n_nearest: int) -> np.ndarray:
    """Return the `n_nearest` nearest cells of each row, nearest first."""
    from likewise.kernels.near_rows import select_smallest

    nearest = np.empty((len(rows), n_nearest), dtype=np.uint16)
    squares, twice = np.einsum("nd,nd->n", centers, centers), -2 * centers.T
    for lo in range(0, len(rows), _BLOCK):
        away = rows[lo : lo + _BLOCK] @ twice
        away += squares
        select_smallest(away, nearest[lo : lo + _BLOCK])
    return nearest


def find_cell_starts(cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Return where each cell starts in the sorted cell numbers."""
    return np.concatenate([[0], np.cumsum(np.bincount(cells.ravel(), minlength=n_cells))])


# ---------------------------------------------------------------------- exact, by blocks

_ROWS_AT_ONCE = 128
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
    for lo in range(0, n, _ROWS_AT_ONCE):
        part = slice(lo, min(lo + _ROWS_AT_ONCE, n))
        at, other = search.find_candidates(part)
        if len(at):
            away, neighbors[part] = _select_nearest(X, part, at, other, k)
            distances[part] = np.sqrt(away)
            found[part] = away[:, -1] <= search.limits[part]
    rest = np.flatnonzero(~found)
    if len(rest):
        distances[rest], neighbors[rest] = _find_others(X, rest, k, "brute")
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
        self._scores = np.empty((_ROWS_AT_ONCE, n), dtype=np.float32)
        self._near = np.empty((_ROWS_AT_ONCE, n), dtype=bool)

    def find_candidates(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidate pairs of a block: position in the block, and row number of a near row.

        They include all of the k nearest rows that are within the limits. If there are too many, no pairs
        are returned.
        """
        scores = self._scores[: part.stop - part.start]
        np.matmul(self.mine[part], self.other, out=scores)
        scores[np.arange(len(scores)), np.arange(part.start, part.stop)] = np.inf  # itself
        flat = np.flatnonzero(np.less_equal(scores, 0.0, out=self._near[: len(scores)]))
        if len(flat) > _MOST * _WIDTH * self.k * _ROWS_AT_ONCE:
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
        np.partition(mine[lo : lo + _ROWS_AT_ONCE] @ sample.T, rank, axis=1)[:, rank]
        for lo in range(0, len(mine), _ROWS_AT_ONCE)
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
