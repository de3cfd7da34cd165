"""What the rows of each cluster add up to, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise._threads import block_map, row_blocks
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
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray | None

    def __add__(self, other: ClusterStats) -> ClusterStats:
        second = None if self.second is None or other.second is None else self.second + other.second
        return ClusterStats(self.counts + other.counts, self.sums + other.sums, second)

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


def second_moment(X: np.ndarray, weight: np.ndarray, *, diagonal: bool) -> np.ndarray:
    """Return the weighted sum of the rows' squares (d,) or outer squares (d, d), block by block."""
    total = np.zeros(X.shape[1] if diagonal else (X.shape[1], X.shape[1]))
    for rows in row_blocks(len(X)):
        block = np.asarray(X[rows], dtype=np.float64)
        if diagonal:
            total += weight[rows] @ np.square(block)
        else:
            total += (weight[rows, None] * block).T @ block
    return total


def moments_of(metric: Metric) -> str | None:
    """Return which second moments a metric needs of each cluster: none if it is shared."""
    if metric.shared:
        return None
    return "diagonal" if metric.diagonal else "full"


def assign_rows(
    X: np.ndarray,
    weight: np.ndarray,
    centers: np.ndarray,
    metric: Metric,
    labels: np.ndarray,
    threads: int,
    moments: str | None = None,
) -> ClusterStats:
    """Give every row its nearest cluster and add up the clusters, in one pass over blocks of rows.

    `labels` (int32) is written. The result does not depend on the number of threads.
    """
    block = _block_pass(X, weight, centers, metric, labels, moments)
    with block_map(threads) as each:
        parts = iter(each(block, row_blocks(len(X))))
        total = next(parts)
        for part in parts:
            total = total + part
    return total


def _block_pass(X, weight, centers, metric, labels, moments):
    from likewise.kernels import assign

    k, d = centers.shape
    own = moments_of(metric)
    if own is None:
        W, b = metric.linear(centers)
        if k % 2:  # the kernel takes clusters two at a time
            W, b = np.vstack([W, np.zeros(d)]), np.append(b, np.inf)
        W, b = W.astype(X.dtype), b.astype(X.dtype)
    elif own == "diagonal":
        A = metric.A
        B = -2.0 * A * centers
        c = (A * np.square(centers)).sum(axis=1) - metric.log_det
        A, B, c = (a.astype(X.dtype) for a in (A, B, c))

    def linear(rows: slice) -> ClusterStats:
        sums, counts = np.zeros((len(W), d)), np.zeros(len(W))
        assign.nearest_linear(X[rows], weight[rows], W, b, labels[rows], sums, counts)
        if moments is not None:  # the metric is about to become one of each cluster
            second = ClusterStats.of(X[rows], labels[rows], weight[rows], k, moments=moments).second
        else:
            second = None
        return ClusterStats(counts[:k], sums[:k], second)

    def diagonal(rows: slice) -> ClusterStats:
        sums, squares, counts = np.zeros((k, d)), np.zeros((k, d)), np.zeros(k)
        assign.nearest_diagonal(X[rows], weight[rows], A, B, c, labels[rows], sums, squares, counts)
        return ClusterStats(counts, sums, squares)

    def full(rows: slice) -> ClusterStats:
        labels[rows] = metric.costs(X[rows], centers).argmin(axis=1)
        return ClusterStats.of(X[rows], labels[rows], weight[rows], k, moments="full")

    return {None: linear, "diagonal": diagonal, "full": full}[own]
