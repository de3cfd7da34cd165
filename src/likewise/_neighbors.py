"""Nearest neighbours of every row: exact, approximate with pynndescent, or approximate by cells."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Literal

import numpy as np
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from likewise._near_blocks import find_near_rows_by_blocks
from likewise._optional import require
from likewise.base import warn_caller
from likewise.exceptions import LikewiseWarning, MissingDependencyError

Search = Literal["auto", "exact", "approximate", "cells"]

# With more rows than this, "auto" searches approximately if pynndescent is installed.
EXACT_ROWS = 40_000
# From this many rows and columns on, the exact search is by blocks; below, trees are faster.
_BLOCK_ROWS = 4_000
_BLOCK_COLUMNS = 8
_FEW_FOUND = 0.9  # warn if an approximate search finds a smaller share of the true neighbours


def find_near_rows(X: np.ndarray, k: int, search: Search, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and row numbers of the k nearest other rows of each row, nearest first.

    "auto" and "cells" are exact for up to 40,000 rows. Above that, "auto" uses pynndescent if it is
    installed, which takes half a minute to start, and "cells" uses :func:`find_near_rows_by_cells`.
    """
    if search == "exact" or (search != "approximate" and len(X) <= EXACT_ROWS):
        return _find_exact(X, k)
    if search == "cells":
        neighbors = find_near_rows_by_cells(X, k, random_state)
        distances = np.empty(neighbors.shape)
        for lo in range(0, len(X), _BLOCK):
            away = X[neighbors[lo : lo + _BLOCK]] - X[lo : lo + _BLOCK, None]
            distances[lo : lo + _BLOCK] = np.sqrt(np.einsum("nkd,nkd->nk", away, away))
        return distances, neighbors
    try:
        package = _import_pynndescent()
    except MissingDependencyError:
        if search == "approximate":
            raise
        return _find_exact(X, k)  # slower, but at least as good
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows with too few neighbours are handled below
        found = package.NNDescent(X, n_neighbors=k + 1, random_state=random_state, compressed=False)
    neighbors, distances = (
        each.astype(kind) for each, kind in zip(found.neighbor_graph, (np.int64, np.float64), strict=True)
    )
    few = (neighbors < 0).any(axis=1)
    if few.any():
        distances[few], neighbors[few] = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X[few])
    distances, neighbors = _drop_self(distances, neighbors)
    share = _compute_recall(X, neighbors)
    if share < _FEW_FOUND:
        warn_caller(
            f"the approximate search found {share:.0%} of the true neighbours of a sample of rows; the data "
            "may have too many dimensions for it. neighbor_search='exact' finds all of them, but is slow.",
            LikewiseWarning,
        )
    return distances, neighbors


def _import_pynndescent() -> ModuleType:
    try:
        return require("pynndescent", extra="scale")
    except RuntimeError:  # numba finds no writable folder for the package's compiled functions
        from likewise.kernels._njit import cache_in_temporary_folder

    try:
        with cache_in_temporary_folder():
            return require("pynndescent", extra="scale")
    except RuntimeError as error:
        raise MissingDependencyError(
            f"pynndescent cannot be imported: {error}. Set NUMBA_CACHE_DIR to a writable folder, or use "
            "neighbor_search='exact'."
        ) from error


def _find_exact(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if len(X) >= _BLOCK_ROWS and X.shape[1] >= _BLOCK_COLUMNS:
        return find_near_rows_by_blocks(X, k)
    found = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()  # without X, a row is not its own neighbour
    return found[0].astype(np.float64), found[1]


def _drop_self(distances: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove each row from its own neighbours, or the farthest neighbour if it is not among them."""
    own = neighbors == np.arange(len(neighbors))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(neighbors), neighbors.shape[1] - 1)
    return distances[~own].reshape(shape), neighbors[~own].reshape(shape)


def _compute_recall(X: np.ndarray, neighbors: np.ndarray, n_rows: int = 100) -> float:
    rows = np.linspace(0, len(X) - 1, min(n_rows, len(X)), dtype=np.int64)
    distances = euclidean_distances(X[rows], X)
    distances[np.arange(len(rows)), rows] = np.inf
    farthest = np.partition(distances, neighbors.shape[1] - 1, axis=1)[:, neighbors.shape[1] - 1]
    found = np.take_along_axis(distances, neighbors[rows], axis=1) <= farthest[:, None] * (1 + 1e-6)
    return float(found.mean())


# ---------------------------------------------------------------------- by cells

# Each row is compared with about this many others. On 100,000 rows of 16 independent normal columns, which
# have no structure, this finds 92 of 100 true neighbours; with clusters in the data, 99.
_CANDIDATES = 6_000
_ROWS_PER_CENTER = 20  # size of the sample from which the cells are fitted, per cell
_LLOYD_STEPS = 4
_MOST_CELLS = 60_000  # cell numbers fit into 16 bits, which sort ten times faster
_BLOCK = 1_024


def find_near_rows_by_cells(X: np.ndarray, k: int, random_state: int) -> np.ndarray:
    """Return the row numbers of k near other rows of each row, nearest first; most are among the k nearest.

    Rows are divided into about 2 sqrt(n) cells by a few steps of k-means. Each row is compared with the about
    6,000 rows of its nearest cells, by matrix products in single precision. This step is linear in n and
    needs 12 bytes of memory for each row and cell compared. A row with fewer than k other rows in these cells
    is searched for exactly.
    """
    from likewise.kernels.assign import keep_nearest

    n = len(X)
    rows = np.asarray(X - X.mean(axis=0), dtype=np.float32)
    with threadpool_limits(1):  # blocks are too small for a second thread
        centers = _draw_centers(rows, min(max(int(2 * np.sqrt(n)), 1), _MOST_CELLS), random_state)
        n_cells = len(centers)
        own, cells = _find_nearest_cells(
            rows, centers, min(n_cells, max(2, round(_CANDIDATES * n_cells / n)))
        )
        members, starts = np.argsort(own, kind="stable"), _find_cell_starts(own, n_cells)
        # The rows that are compared with each cell: the same table by columns.
        lookers, looks = (
            np.argsort(cells.ravel(), kind="stable") // cells.shape[1],
            _find_cell_starts(cells, n_cells),
        )
        # |x - z|^2 minus |x|^2 is one product of extended rows.
        mine = np.column_stack([rows, np.ones(n, dtype=np.float32)])
        other = np.column_stack([-2 * rows, np.einsum("nd,nd->n", rows, rows)])
        best = np.full((n, k), np.inf, dtype=np.float32)
        found = np.full((n, k), -1, dtype=np.int64)
        # The cell of a row first: its near rows let most of the later candidates be skipped.
        for at_home in (True, False):
            for cell in range(n_cells):
                inside = members[starts[cell] : starts[cell + 1]]
                looking = inside if at_home else lookers[looks[cell] : looks[cell + 1]]
                if not at_home:
                    looking = looking[own[looking] != cell]
                if len(inside) and len(looking):
                    keep_nearest(mine[looking] @ other[inside].T, looking, inside, best, found)
    few = np.flatnonzero((found < 0).any(axis=1))
    if len(few):
        found[few] = _find_exact_of_some(X, few, k)
    return found


def _draw_centers(rows: np.ndarray, n_cells: int, random_state: int) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    some = rows[rng.choice(len(rows), min(len(rows), _ROWS_PER_CENTER * n_cells), replace=False)]
    centers = some[:n_cells].copy()
    for _ in range(_LLOYD_STEPS):
        labels, _ = _find_nearest_cells(some, centers, 1)
        sizes = np.bincount(labels, minlength=n_cells)
        sums = np.column_stack([np.bincount(labels, column, n_cells) for column in some.T])
        filled = sizes > 0
        centers[filled] = sums[filled] / sizes[filled, None]
    return centers


def _find_nearest_cells(
    rows: np.ndarray, centers: np.ndarray, n_nearest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest cell of each row, and its `n_nearest` nearest cells in no particular order."""
    own = np.empty(len(rows), dtype=np.uint16)
    nearest = np.empty((len(rows), n_nearest), dtype=np.uint16)
    squares, twice = np.einsum("nd,nd->n", centers, centers), -2 * centers.T
    for lo in range(0, len(rows), _BLOCK):
        away = rows[lo : lo + _BLOCK] @ twice
        away += squares
        own[lo : lo + _BLOCK] = away.argmin(axis=1)
        if n_nearest > 1:
            nearest[lo : lo + _BLOCK] = np.argpartition(away, n_nearest - 1, axis=1)[:, :n_nearest]
    return own, nearest


def _find_cell_starts(cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Return where each cell starts in the sorted cell numbers."""
    return np.concatenate([[0], np.cumsum(np.bincount(cells.ravel(), minlength=n_cells))])


def _find_exact_of_some(X: np.ndarray, some: np.ndarray, k: int) -> np.ndarray:
    found = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X[some], return_distance=False)
    own = found == some[:, None]
    own[~own.any(axis=1), -1] = True
    others: np.ndarray = found[~own].reshape(len(some), k)
    return others
