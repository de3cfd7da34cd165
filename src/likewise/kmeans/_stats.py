"""Sufficient statistics of the clusters, and the assignment pass that computes them block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from likewise._blocks import Block, Column, Recipe, Rows, as_rows
from likewise._threads import get_scratch
from likewise.kmeans._metric import Metric

NOBODY = np.empty(0, dtype=np.int32)
_PIECE = 2048


@dataclass(frozen=True, eq=False)
class ClusterStats:
    """Sums over the rows of each cluster. The statistics of two blocks of rows are added with ``+``.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        Total weight.
    sums : ndarray of shape (k, d)
        Weighted sums of the rows.
    second : ndarray of shape (k, d) or (k, d, d), or None
        Weighted sums of the squares, or of the outer products, if each cluster has its own metric.
    changed : int
        Number of rows whose label changed.
    watched : ndarray of int32
        The labels of the watched rows, in row order.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray | None
    changed: int = 0
    watched: np.ndarray = field(default_factory=NOBODY.copy)

    def __add__(self, other: ClusterStats) -> ClusterStats:
        second = None if self.second is None or other.second is None else self.second + other.second
        return ClusterStats(
            self.counts + other.counts,
            self.sums + other.sums,
            second,
            self.changed + other.changed,
            np.concatenate([self.watched, other.watched]),
        )

    @classmethod
    def from_labels(
        cls, X: np.ndarray, labels: np.ndarray, weight: np.ndarray, k: int, *, moments: str | None = None
    ) -> ClusterStats:
        """Return the statistics of rows with known labels; `moments` is None, "diagonal" or "full"."""
        counts = np.bincount(labels, weights=weight, minlength=k)
        if moments is None and len(X) * k <= 1_000_000:  # few rows: one small matrix product
            member = (labels == np.arange(k)[:, None]) * weight
            return cls(counts, member @ X, None)
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(k + 1))
        sums = np.zeros((k, X.shape[1]))
        shape = {None: None, "diagonal": (k, X.shape[1]), "full": (k, X.shape[1], X.shape[1])}[moments]
        second = None if shape is None else np.zeros(shape)
        for h in range(k):
            rows = order[edges[h] : edges[h + 1]]
            block = np.asarray(X[rows], dtype=np.float64)
            weighted = weight[rows, None] * block
            sums[h] = weighted.sum(axis=0)
            if second is not None:
                second[h] = (weighted * block).sum(axis=0) if moments == "diagonal" else weighted.T @ block
        return cls(counts, sums, second)


def compute_total_cost(stats: ClusterStats, centers: np.ndarray, metric: Metric, second: np.ndarray) -> float:
    """Return the weighted cost of all rows in their clusters, computed in float64 from the statistics.

    `second` is the second moment of all rows, which is needed for a shared metric. If each cluster has its
    own metric, the second moments in `stats` are used.
    """
    images = metric.apply(centers)[np.arange(len(centers)), 0 if metric.shared else np.arange(len(centers))]
    moved = -2.0 * (images * stats.sums).sum() + stats.counts @ (images * centers).sum(axis=1)
    if metric.shared:
        if metric.diagonal and second.ndim == 2:
            second = second.diagonal()
        squares = (second * metric.A[0]).sum()
    else:
        assert stats.second is not None
        squares = (stats.second * metric.A).sum()
    return float(squares + moved - stats.counts @ np.resize(metric.log_det, len(centers)))


@dataclass(frozen=True, eq=False)
class FixedLabels:
    """Rows whose labels are fixed instead of assigned by distance. `rows` must be sorted."""

    rows: np.ndarray
    labels: np.ndarray

    @classmethod
    def empty(cls) -> FixedLabels:
        """Return no rows."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))

    def restrict_to_block(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are in a block, numbered from its first row, and their labels."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return self.rows[first:last] - rows.start, self.labels[first:last]


def compute_second_moment(
    X: np.ndarray | Rows, *, diagonal: bool, held: FixedLabels | None = None
) -> np.ndarray:
    """Return the weighted sum of squares (d,) or outer products (d, d) of all rows except `held`."""
    held = FixedLabels.empty() if held is None else held

    def sum_squares(block: Block) -> np.ndarray:
        every = block.get_weight_without(held.rows)
        total = np.zeros(block.X.shape[1] if diagonal else (block.X.shape[1], block.X.shape[1]))
        for rows, weight in _iterate_pieces(block.X, every):
            weighted = get_scratch("weighted", rows.shape, np.float64)
            if diagonal:
                total += weight @ np.square(rows, out=weighted)
            else:
                total += np.multiply(weight[:, None], rows, out=weighted).T @ rows
        return total

    X = as_rows(X)
    if not len(X):
        return np.zeros(X.shape[1] if diagonal else (X.shape[1], X.shape[1]))
    total: np.ndarray = X.sum(sum_squares)
    return total


def mean_squared_distance(X: Rows) -> float:
    """Return the mean squared distance between two rows. The mean of the rows must be 0."""
    return 2.0 * float(compute_second_moment(X, diagonal=True).sum() / X.total_weight)


def compute_mean_row(X: Rows) -> np.ndarray:
    """Return the weighted mean of the rows, in their dtype."""
    total: np.ndarray = X.sum(_compute_weighted_sum) / X.total_weight
    return total.astype(X.dtype)


def _compute_weighted_sum(block: Block) -> np.ndarray:
    total = np.zeros(block.X.shape[1])
    for rows, weight in _iterate_pieces(block.X, block.weight):
        total += weight @ rows
    return total


def _iterate_pieces(X: np.ndarray, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows in float64 with their weights, in pieces that fit into the CPU cache."""
    for at in range(0, len(X), _PIECE):
        piece = X[at : at + _PIECE]
        rows = get_scratch("rows", piece.shape, np.float64)
        rows[...] = piece
        yield rows, weight[at : at + _PIECE]


def get_moments_kind(metric: Metric) -> str | None:
    """Return the kind of second moments per cluster that a metric needs; None if it is shared."""
    if metric.shared:
        return None
    return "diagonal" if metric.diagonal else "full"


def label_all_zero(block: Block) -> np.ndarray:
    """Label every row 0: the initial labels."""
    return np.zeros(len(block), dtype=np.int32)


def assign_rows(
    X: Rows,
    labels: Column,
    centers: np.ndarray,
    metric: Metric,
    *,
    moments: str | None = None,
    held: FixedLabels | None = None,
    watch: np.ndarray = NOBODY,
) -> ClusterStats:
    """Assign every row to its nearest cluster and return the statistics, in one pass over blocks of rows.

    Writes `labels` (int32) and counts the changes. `held` rows get their fixed labels and are excluded from
    the sums. The labels of the rows in `watch`, which must be sorted, are returned in the statistics. The
    result does not depend on the number of threads.
    """
    nearest = _make_nearest(X.dtype, centers, metric, moments)
    held = FixedLabels.empty() if held is None else held
    watched = FixedLabels(watch, watch)

    def assign(block: Block) -> ClusterStats:
        assert block.kept is not None
        mine = get_scratch("labels", (len(block),), np.int32)
        at, given = held.restrict_to_block(block.rows)
        counts, sums, second = nearest(block.X, block.get_weight_without(held.rows), mine)
        mine[at] = given
        changed = int(np.count_nonzero(mine != block.kept))
        block.kept[...] = mine
        return ClusterStats(counts, sums, second, changed, mine[watched.restrict_to_block(block.rows)[0]])

    return X.sum(assign, labels, becomes=make_labeller(X.dtype, centers, metric, held))


def make_labeller(dtype: Any, centers: np.ndarray, metric: Metric, held: FixedLabels) -> Recipe:
    """Return a function that labels a block: fixed labels for `held` rows, else the nearest cluster."""
    return partial(_label_block, _make_nearest(dtype, centers, metric, None), held)


def _label_block(nearest: Callable[..., Any], held: FixedLabels, block: Block) -> np.ndarray:
    mine = np.empty(len(block), dtype=np.int32)
    nearest(block.X, block.weight, mine)
    at, given = held.restrict_to_block(block.rows)
    mine[at] = given
    return mine


Sums = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _make_nearest(
    dtype: Any, centers: np.ndarray, metric: Metric, moments: str | None
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Sums]:
    """Return a function that labels one block and returns its counts, sums and second moments."""
    from likewise.kernels import assign

    k, d = centers.shape
    own = get_moments_kind(metric)
    if own is None:
        W, b = metric.compute_linear(centers)
        if k % 2:  # the kernel takes clusters two at a time
            W, b = np.vstack([W, np.zeros(d)]), np.append(b, np.inf)
        W, b = W.astype(dtype), b.astype(dtype)
    elif own == "diagonal":
        A = metric.A
        B = -2.0 * A * centers
        c = (A * np.square(centers)).sum(axis=1) - metric.log_det
        A, B, c = (a.astype(dtype) for a in (A, B, c))

    def assign_linear(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        sums, counts = np.zeros((len(W), d)), np.zeros(len(W))
        assign.nearest_linear(X, weight, W, b, labels, sums, counts)
        if moments is not None:  # the next metric will be one per cluster
            second = ClusterStats.from_labels(X, labels, weight, k, moments=moments).second
        else:
            second = None
        return counts[:k], sums[:k], second

    def assign_diagonal(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        sums, squares, counts = np.zeros((k, d)), np.zeros((k, d)), np.zeros(k)
        assign.nearest_diagonal(X, weight, A, B, c, labels, sums, squares, counts)
        return counts, sums, squares

    def assign_full(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        labels[:] = metric.compute_costs(X, centers).argmin(axis=1)
        stats = ClusterStats.from_labels(X, labels, weight, k, moments="full")
        return stats.counts, stats.sums, stats.second

    return {None: assign_linear, "diagonal": assign_diagonal, "full": assign_full}[own]
