"""What the rows of each cluster add up to, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._rows import Rows, added, as_rows
from likewise.kmeans._metric import Metric


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
        Weighted sums of the squares, or of the outer squares, where a cluster has its own metric.
    changed : int
        How many rows have another label than before.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray | None
    changed: int = 0

    def __add__(self, other: ClusterStats) -> ClusterStats:
        second = None if self.second is None or other.second is None else self.second + other.second
        return ClusterStats(
            self.counts + other.counts, self.sums + other.sums, second, self.changed + other.changed
        )

    @classmethod
    def of(
        cls, X: np.ndarray, labels: np.ndarray, weight: np.ndarray, k: int, *, moments: str | None = None
    ) -> ClusterStats:
        """Add up rows whose clusters are known; `moments` is None, "diagonal" or "full"."""
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


def total_cost(stats: ClusterStats, centers: np.ndarray, metric: Metric, second: np.ndarray) -> float:
    """Return the weighted cost of all rows in their clusters, in float64 from what they add up to.

    `second` is the second moment of all rows, which a shared metric needs beside the sums; clusters with
    metrics of their own have theirs in the statistics.
    """
    images = metric.image(centers)[np.arange(len(centers)), 0 if metric.shared else np.arange(len(centers))]
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
class Held:
    """Rows whose labels are given: hints decide them, not distances. `rows` ascend."""

    rows: np.ndarray
    labels: np.ndarray

    @classmethod
    def none(cls) -> Held:
        """Return no rows."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))

    def within(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return those in a block, numbered from its first row, and their labels."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return self.rows[first:last] - rows.start, self.labels[first:last]


def weights_within(weight: np.ndarray, rows: slice, without: np.ndarray | None = None) -> np.ndarray:
    """Return the weights of a block, 0 for the rows in `without` (numbered from its first row)."""
    part = np.ascontiguousarray(weight[rows])
    if without is not None and len(without):
        part = part.copy()
        part[without] = 0.0
    return part


def second_moment(
    X: np.ndarray | Rows, weight: np.ndarray, *, diagonal: bool, held: Held | None = None
) -> np.ndarray:
    """Return the weighted sum of the rows' squares (d,) or outer squares (d, d); held rows left out."""
    held = Held.none() if held is None else held

    def squares(block: np.ndarray, rows: slice) -> np.ndarray:
        block = np.asarray(block, dtype=np.float64)
        part = weights_within(weight, rows, held.within(rows)[0])
        if diagonal:
            return part @ np.square(block)
        return (part[:, None] * block).T @ block

    X = as_rows(X)
    shape = X.shape[1] if diagonal else (X.shape[1], X.shape[1])
    return sum(X.map(squares), start=np.zeros(shape))


def mean_row(X: Rows, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the rows, in their dtype."""

    def sums(block: np.ndarray, rows: slice) -> np.ndarray:
        return np.multiply(block, weight[rows, None], dtype=np.float64).sum(axis=0)

    total: np.ndarray = added(X.map(sums)) / weight.sum()
    return total.astype(X.dtype)


def moments_of(metric: Metric) -> str | None:
    """Return which second moments a metric needs of each cluster: none if it is shared."""
    if metric.shared:
        return None
    return "diagonal" if metric.diagonal else "full"


def assign_rows(
    X: np.ndarray | Rows,
    weight: np.ndarray,
    centers: np.ndarray,
    metric: Metric,
    labels: np.ndarray,
    threads: int | None = None,
    moments: str | None = None,
    held: Held | None = None,
) -> ClusterStats:
    """Give every row its nearest cluster and add up the clusters, in one pass over blocks of rows.

    `labels` (int32) is written, and the changes are counted. Held rows get the labels given and are not
    added up. The result does not depend on the number of threads.
    """
    X = as_rows(X)
    nearest = _nearest(X.dtype, centers, metric, moments)
    held = Held.none() if held is None else held

    def one_block(block: np.ndarray, rows: slice) -> ClusterStats:
        mine = np.empty(len(block), dtype=np.int32)
        at, given = held.within(rows)
        counts, sums, second = nearest(block, weights_within(weight, rows, at), mine)
        mine[at] = given
        changed = int(np.count_nonzero(mine != labels[rows]))
        labels[rows] = mine
        return ClusterStats(counts, sums, second, changed)

    total: ClusterStats = added(X.map(one_block, threads))
    return total


def stats_of(X: Rows, labels: np.ndarray, weight: np.ndarray, k: int, *, moments: str | None) -> ClusterStats:
    """Add up rows whose clusters are known, in one pass."""

    def one_block(block: np.ndarray, rows: slice) -> ClusterStats:
        return ClusterStats.of(block, labels[rows], weights_within(weight, rows), k, moments=moments)

    total: ClusterStats = added(X.map(one_block))
    return total


Sums = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _nearest(
    dtype: Any, centers: np.ndarray, metric: Metric, moments: str | None
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Sums]:
    """Return what labels one block and returns its counts, sums and second moments."""
    from likewise.kernels import assign

    k, d = centers.shape
    own = moments_of(metric)
    if own is None:
        W, b = metric.linear(centers)
        if k % 2:  # the kernel takes clusters two at a time
            W, b = np.vstack([W, np.zeros(d)]), np.append(b, np.inf)
        W, b = W.astype(dtype), b.astype(dtype)
    elif own == "diagonal":
        A = metric.A
        B = -2.0 * A * centers
        c = (A * np.square(centers)).sum(axis=1) - metric.log_det
        A, B, c = (a.astype(dtype) for a in (A, B, c))

    def linear(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        sums, counts = np.zeros((len(W), d)), np.zeros(len(W))
        assign.nearest_linear(X, weight, W, b, labels, sums, counts)
        if moments is not None:  # the metric is about to become one of each cluster
            second = ClusterStats.of(X, labels, weight, k, moments=moments).second
        else:
            second = None
        return counts[:k], sums[:k], second

    def diagonal(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        sums, squares, counts = np.zeros((k, d)), np.zeros((k, d)), np.zeros(k)
        assign.nearest_diagonal(X, weight, A, B, c, labels, sums, squares, counts)
        return counts, sums, squares

    def full(X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> Sums:
        labels[:] = metric.costs(X, centers).argmin(axis=1)
        stats = ClusterStats.of(X, labels, weight, k, moments="full")
        return stats.counts, stats.sums, stats.second

    return {None: linear, "diagonal": diagonal, "full": full}[own]
