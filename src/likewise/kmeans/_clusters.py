"""Metrics and sums of clusters, and the pass that assigns rows to their nearest cluster block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from likewise._blocks import Block, Column, Rows, as_rows
from likewise._threads import get_scratch

NOBODY = np.empty(0, dtype=np.int32)
_PIECE = 2048
Sums = tuple[np.ndarray, np.ndarray, np.ndarray | None]


@dataclass(frozen=True, eq=False)
class Metric:
    """Squared distances ``(x - c)' A_h (x - c)``, and the log-determinants of the A_h.

    `A` has shape (H, d) if the metrics are diagonal and (H, d, d) if they are full, where H is 1 if the
    clusters share one metric and k if each has its own. Each A_h is an inverse covariance.
    """

    A: np.ndarray
    log_det: np.ndarray

    @classmethod
    def euclidean(cls, n_features: int) -> Metric:
        """Return the Euclidean metric, shared by all clusters."""
        return cls(np.ones((1, n_features)), np.zeros(1))

    @property
    def shared(self) -> bool:
        """Whether all clusters share one metric."""
        return len(self.A) == 1

    @property
    def diagonal(self) -> bool:
        """Whether the metrics are diagonal."""
        return self.A.ndim == 2

    @property
    def moments(self) -> str | None:
        """The kind of second moments per cluster that the metrics need; None if they are shared."""
        return None if self.shared else "diagonal" if self.diagonal else "full"

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {"A": self.A, "log_det": self.log_det}  # without cached roots, so equal metrics pickle equally

    @cached_property
    def _roots(self) -> np.ndarray:
        return np.linalg.cholesky(self.A)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return ``A_h x`` for every row and metric, shape (n, H, d)."""
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return X[:, None, :] * self.A
        return np.stack([X @ a for a in self.A], axis=1)

    def compute_lengths(self, X: np.ndarray) -> np.ndarray:
        """Return ``x' A_h x`` for every row and metric, shape (n, H)."""
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return np.square(X) @ self.A.T
        return np.stack([row_norms(X @ root, squared=True) for root in self._roots], axis=1)

    def compute_distances(self, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """Return the squared distance of every row to every centre in its cluster's metric, shape (n, k)."""
        X = np.asarray(X, dtype=np.float64)
        if self.shared:  # one matrix product; centring keeps the loss of precision small
            middle = centers.mean(axis=0)
            W, b = self.compute_linear(centers - middle)
            out = self.compute_lengths(X - middle) + (X - middle) @ W.T + (b + self.log_det[0])
            return np.maximum(out, 0.0, out=out)
        out = np.empty((len(X), len(centers)))
        for h, center in enumerate(centers):
            if self.diagonal:
                out[:, h] = np.square(X - center) @ self.A[h]
            else:
                out[:, h] = row_norms((X - center) @ self._roots[h], squared=True)
        return out

    def compute_costs(self, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """Return ``||x - c_h||^2_{A_h} - log det A_h``, shape (n, k)."""
        return self.compute_distances(X, centers) - self.log_det

    def embed(self, X: np.ndarray, h: int = 0) -> np.ndarray:
        """Return the rows mapped so that Euclidean distances equal the distances of metric h."""
        return (X * np.sqrt(self.A[h]) if self.diagonal else X @ self._roots[h]).astype(X.dtype)

    def unembed(self, Z: np.ndarray) -> np.ndarray:
        """Undo :meth:`embed` of metric 0."""
        if self.diagonal:
            return np.asarray(Z / np.sqrt(self.A[0]), dtype=np.float64)
        return np.linalg.solve(self._roots[0].T, np.asarray(Z, dtype=np.float64).T).T

    def compute_linear(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (W, b) such that with a shared metric the cost of x in h is ``W[h] . x + b[h] + x' A x``.

        ``x' A x`` is the same for every cluster, so assignment with a shared metric is as fast as without.
        """
        image = self.apply(centers)[:, 0, :]
        return -2.0 * image, (image * centers).sum(axis=1) - self.log_det[0]


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


def compute_means(stats: ClusterStats, centers: np.ndarray) -> np.ndarray:
    """Return the means of the clusters; an empty cluster keeps its centre."""
    filled = stats.counts > 0
    return np.where(filled[:, None], stats.sums / np.where(filled, stats.counts, 1.0)[:, None], centers)


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

    def restrict_to_block(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are in a block, numbered from its first row, and their labels."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return self.rows[first:last] - rows.start, self.labels[first:last]


NOTHING_FIXED = FixedLabels(np.empty(0, dtype=np.int64), NOBODY)


def compute_second_moment(
    X: np.ndarray | Rows, *, diagonal: bool, without: np.ndarray = NOBODY
) -> np.ndarray:
    """Return the weighted sum of squares (d,) or outer products (d, d) of all rows except `without`."""

    def sum_squares(block: Block) -> np.ndarray:
        every = block.get_weight_without(without)
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

    def sum_rows(block: Block) -> np.ndarray:
        total = np.zeros(block.X.shape[1])
        for rows, weight in _iterate_pieces(block.X, block.weight):
            total += weight @ rows
        return total

    mean: np.ndarray = X.sum(sum_rows) / X.total_weight
    return mean.astype(X.dtype)


def _iterate_pieces(X: np.ndarray, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows in float64 with their weights, in pieces that fit into the CPU cache."""
    for at in range(0, len(X), _PIECE):
        piece = X[at : at + _PIECE]
        rows = get_scratch("rows", piece.shape, np.float64)
        rows[...] = piece
        yield rows, weight[at : at + _PIECE]


def label_all_zero(block: Block) -> np.ndarray:
    """Label every row 0: the initial labels."""
    return np.zeros(len(block.X), dtype=np.int32)


def assign_rows(
    X: Rows,
    labels: Column,
    centers: np.ndarray,
    metric: Metric,
    *,
    moments: str | None = None,
    held: FixedLabels = NOTHING_FIXED,
    watch: np.ndarray = NOBODY,
) -> ClusterStats:
    """Assign every row to its nearest cluster and return the statistics, in one pass over blocks of rows.

    Writes `labels` (int32) and counts the changes. `held` rows get their fixed labels and are excluded from
    the sums. The labels of the rows in `watch`, which must be sorted, are returned in the statistics. The
    result does not depend on the number of threads.
    """
    nearest = _make_nearest(X.dtype, centers, metric, moments)
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

    return X.sum(assign, labels, new_recipe=partial(label_block, centers, metric, held))


def label_block(centers: np.ndarray, metric: Metric, held: FixedLabels, block: Block) -> np.ndarray:
    """Return the labels of a block: fixed labels for `held` rows, else the nearest cluster."""
    labels = np.empty(len(block), dtype=np.int32)
    _make_nearest(block.X.dtype, centers, metric, None)(block.X, block.weight, labels)
    at, given = held.restrict_to_block(block.rows)
    labels[at] = given
    return labels


def _make_nearest(
    dtype: Any, centers: np.ndarray, metric: Metric, moments: str | None
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Sums]:
    """Return a function that labels one block and returns its counts, sums and second moments."""
    from likewise.kernels import assign

    k, d = centers.shape
    own = metric.moments
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
