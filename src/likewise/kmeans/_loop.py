"""Metrics, sums of clusters and the loop of k-means: assign rows, move centres, fit the metric."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.extmath import row_norms

from likewise.backends import Block, Column, Rows, as_rows, get_scratch
from likewise.base import FitProgress

if TYPE_CHECKING:
    from likewise.kmeans._bounds import DistanceBounds
    from likewise.kmeans._mpck import MetricLearning

Moment = Literal["rows", "squares", "products"]
NO_ROWS = np.empty(0, dtype=np.int32)
_PIECE = 2048
# Fitting the metric may raise the objective. Stop after this many iterations without improvement.
_PATIENCE = 5
# From this many numbers in the centres (clusters x columns) on, bounds save most comparisons of rows.
_BOUNDED = 2**12
# From this many products (stored values x clusters) on, a fit also stops when the objective hardly changes.
# Otherwise it would take about twice as many iterations; on 10^5 embeddings the second half lowers the
# objective by only 0.02 %.
_LONG = 2**36
# Up to this many products (rows x columns x clusters) a block is labelled by NumPy: the kernel takes half the
# time, but loading or compiling it takes longer than whole fits of such blocks.
_SMALL = 2**19
# In the first pass centres are often rows. A text is equally far from all texts that it shares no words with,
# and rounding must not decide between these: it depends on whether rows are sparse or dense. With at least
# `_BOUNDED` numbers in the centres, costs that differ by less than this, in units of rounding, are equal.
_TIE = 16


class Metric:
    """Squared distances ``(x - c)' A_h (x - c)``, and the log-determinants of the A_h.

    Attributes
    ----------
    A : ndarray of shape (H, d) or (H, d, d)
        The metrics, diagonal or full; each A_h is an inverse covariance. H is 1 if the clusters share one
        metric and k if each has its own.
    log_det : ndarray of shape (H,)
        The logarithms of the determinants; by default 0, for the Euclidean metric.
    shared, diagonal, is_euclidean : bool
        Whether all clusters share one metric, whether the metrics are diagonal, and whether they are 1.
    moments : {None, "diagonal", "full"}
        The kind of second moments per cluster that the metrics need; None if all clusters share one metric.
    """

    def __init__(self, A: np.ndarray, log_det: np.ndarray | None = None) -> None:
        self.A, self.log_det = A, np.zeros(len(A)) if log_det is None else log_det
        self.shared, self.diagonal = len(A) == 1, A.ndim == 2
        self.moments = None if self.shared else "diagonal" if self.diagonal else "full"
        self.is_euclidean = self.shared and self.diagonal and bool((A == 1.0).all())
        self._roots = np.empty(0) if self.diagonal else np.linalg.cholesky(A)

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric, (self.A, self.log_det)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return ``A_h x`` for every row and metric, shape (n, H, d)."""
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return X[:, None, :] * self.A
        return np.stack([X @ a for a in self.A], axis=1)

    def compute_lengths(self, X: np.ndarray) -> np.ndarray:
        """Return ``x' A_h x`` for every row and metric, shape (n, H)."""
        if issparse(X):
            return np.asarray(X.power(2) @ self.A.T)  # type: ignore[attr-defined]
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return np.square(X) @ self.A.T
        return np.stack([row_norms(X @ root, squared=True) for root in self._roots], axis=1)

    def compute_distances(self, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """Return the squared distance of every row to every centre in its cluster's metric, shape (n, k).

        The rows may be sparse if all clusters share one diagonal metric.
        """
        if issparse(X):
            image = centers * self.A[0]
            lengths = np.einsum("hj,hj->h", image, centers)
            out = self.compute_lengths(X) - 2.0 * multiply_sparse_rows(X, image) + lengths
            return np.maximum(out, 0.0, out=out)
        X = np.asarray(X, dtype=np.float64)
        if self.shared:  # one matrix product; centring keeps the loss of precision small
            mean = centers.mean(axis=0)
            around = centers - mean
            image = around * self.A[0] if self.diagonal else around @ self.A[0]
            b = (image * around).sum(axis=1) - self.log_det[0]
            out = self.compute_lengths(X - mean) + (X - mean) @ (-2.0 * image).T + (b + self.log_det[0])
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
        if self.is_euclidean:
            return X
        return (X * np.sqrt(self.A[h]) if self.diagonal else X @ self._roots[h]).astype(X.dtype)

    def unembed(self, Z: np.ndarray) -> np.ndarray:
        """Undo :meth:`embed` of metric 0."""
        if self.diagonal:
            return np.asarray(Z / np.sqrt(self.A[0]), dtype=np.float64)
        return np.linalg.solve(self._roots[0].T, np.asarray(Z, dtype=np.float64).T).T


def multiply_sparse_rows(X: Any, centers: np.ndarray) -> np.ndarray:
    """Return ``X @ centers.T`` for sparse rows."""
    is_used = np.zeros(X.shape[1], dtype=bool)
    is_used[X.indices] = True
    used = np.flatnonzero(is_used)  # few rows use few columns: the centres are not copied as a whole
    return np.asarray(X[:, used] @ np.ascontiguousarray(centers[:, used].T))


@dataclass(eq=False)
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
    tracked_labels : ndarray of int32
        The labels of the tracked rows, in row order.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray | None
    changed: int = 0
    tracked_labels: np.ndarray = field(default_factory=NO_ROWS.copy)

    def __add__(self, other: ClusterStats) -> ClusterStats:
        second = None if self.second is None or other.second is None else self.second + other.second
        return ClusterStats(
            self.counts + other.counts,
            self.sums + other.sums,
            second,
            self.changed + other.changed,
            np.concatenate([self.tracked_labels, other.tracked_labels]),
        )

    @classmethod
    def from_labels(
        cls, X: np.ndarray, labels: np.ndarray, weight: np.ndarray, k: int, *, moments: str | None = None
    ) -> ClusterStats:
        """Return the statistics of rows with known labels; `moments` is None, "diagonal" or "full"."""
        if issparse(X):
            return cls(np.zeros(k), np.zeros((k, X.shape[1])), None).add_sparse_rows(X, labels, weight)
        counts = np.bincount(labels, weights=weight, minlength=k)
        if moments is None and X.size * k <= 2**22:  # few rows: one small matrix product
            member = np.zeros((k, len(labels)))
            member[labels, np.arange(len(labels))] = weight
            return cls(counts, member @ X, None)
        if moments is None:
            from likewise.kernels import assign

            sums = np.zeros((k, X.shape[1]))
            assign.add_rows(X, weight, labels, sums, np.zeros(k))
            return cls(counts, sums, None)
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

    def add_sparse_rows(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> ClusterStats:
        """Add rows with known labels to the sums, in place: few rows change few of these numbers."""
        k = len(self.counts)
        self.counts += np.bincount(labels, weights=weight, minlength=k)
        member = csr_array((weight, (labels, np.arange(len(labels)))), shape=(k, len(labels)))
        found = (member @ X).tocoo()
        self.sums[found.row, found.col] += found.data
        return self


def compute_means(stats: ClusterStats, centers: np.ndarray) -> np.ndarray:
    """Return the means of the clusters; an empty cluster keeps its centre."""
    empty = stats.counts <= 0
    means = stats.sums / np.where(empty, 1.0, stats.counts)[:, None]
    means[empty] = centers[empty]
    return means


def compute_total_cost(stats: ClusterStats, centers: np.ndarray, metric: Metric, second: np.ndarray) -> float:
    """Return the weighted cost of all rows in their clusters, computed in float64 from the statistics.

    `second` is the second moment of all rows, which is needed for a shared metric. If each cluster has its
    own metric, the second moments in `stats` are used.
    """
    if metric.is_euclidean:
        images = centers
    elif metric.shared:
        images = centers * metric.A[0] if metric.diagonal else centers @ metric.A[0]
    else:
        images = metric.apply(centers)[np.arange(len(centers)), np.arange(len(centers))]
    lengths = np.einsum("hj,hj->h", images, centers)
    moved = stats.counts @ lengths - 2.0 * np.einsum("hj,hj", images, stats.sums)
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


NOTHING_FIXED = FixedLabels(np.empty(0, dtype=np.int64), NO_ROWS)


def sum_rows(moment: Moment, without: np.ndarray, block: Block) -> np.ndarray:
    """Return the weighted sum of the rows of a block, of their squares (d,) or of their products (d, d).

    The rows in `without`, which must be sorted, are left out.
    """
    n, d = block.X.shape
    total, every = np.zeros((d, d) if moment == "products" else d), block.get_weight_without(without)
    if issparse(block.X):
        values = block.X if moment == "rows" else block.X.power(2)  # type: ignore[attr-defined]
        return np.asarray(every @ values)
    for at in range(0, n, _PIECE):  # in pieces that fit into the CPU cache
        piece, weight = block.X[at : at + _PIECE], every[at : at + _PIECE]
        rows = get_scratch("rows", piece.shape, np.float64)
        rows[...] = piece
        if moment == "rows":
            total += weight @ rows
            continue
        weighted = get_scratch("weighted", rows.shape, np.float64)
        if moment == "squares":
            total += weight @ np.square(rows, out=weighted)
        else:
            total += np.multiply(weight[:, None], rows, out=weighted).T @ rows
    return total


def compute_mean_squared_distance(X: Rows) -> float:
    """Return the mean squared distance between two rows. The mean of dense rows must be 0."""
    squares = X.sum(partial(sum_rows, "squares", NO_ROWS))
    if X.is_sparse:
        squares = squares - sum_squared_means(X)
    return 2.0 * float(squares.sum() / X.total_weight)


def sum_squared_means(X: Rows) -> np.ndarray:
    """Return the squared mean of each column, added up over the rows: the part that is not variance."""
    return np.square(X.sum(partial(sum_rows, "rows", NO_ROWS))) / max(X.total_weight, 1e-300)


def label_block(
    centers: np.ndarray, metric: Metric, fixed: FixedLabels, block: Block, *, tie: float = 0.0
) -> np.ndarray:
    """Return the labels of a block: fixed labels for `fixed` rows, else the nearest cluster."""
    labels = np.empty(block.X.shape[0], dtype=np.int32)
    find_nearest(block.X, block.weight, centers, metric, None, labels, tie=tie)
    at, given = fixed.restrict_to_block(block.rows)
    labels[at] = given
    return labels


def find_nearest(
    X: np.ndarray,
    weight: np.ndarray,
    centers: np.ndarray,
    metric: Metric,
    moments: str | None,
    labels: np.ndarray,
    n_rows: int = 0,
    *,
    tie: float = 0.0,
) -> ClusterStats:
    """Write the nearest cluster of each row to `labels`, and return the statistics of the clusters.

    `n_rows` is the number of rows of which X is a batch: if they are many, the kernel is used in any case.
    `tie` is that of :func:`choose_lowest`; it must be 0 unless the metric is Euclidean.
    """
    (k, d), dtype = centers.shape, X.dtype
    is_small = max(X.shape[0], n_rows) * d * k <= _SMALL and not issparse(X)
    if metric.moments == "full" or (metric.moments and is_small):
        labels[:] = metric.compute_costs(X, centers).argmin(axis=1)
        return ClusterStats.from_labels(X, labels, weight, k, moments=metric.moments)
    if metric.moments == "diagonal":
        from likewise.kernels import assign

        B = -2.0 * metric.A * centers
        c = (metric.A * np.square(centers)).sum(axis=1) - metric.log_det
        sums, squares, counts = np.zeros((k, d)), np.zeros((k, d)), np.zeros(k)
        terms = (each.astype(dtype) for each in (metric.A, B, c))
        assign.nearest_diagonal(X, weight, *terms, labels, sums, squares, counts)
        return ClusterStats(counts, sums, squares)
    # With a shared metric the cost of x in h is W[h] . x + b[h] + x' A x, and x' A x is the same for every h.
    image = centers
    if not metric.is_euclidean:
        image = centers * metric.A[0] if metric.diagonal else centers @ metric.A[0]
    b = np.einsum("hj,hj->h", image, centers) - metric.log_det[0]
    if issparse(X):
        from likewise.kernels import assign

        sums, counts = np.zeros((k, d)), np.zeros(k)
        columns = np.array(image.T, dtype=dtype, order="C")
        columns *= -2.0
        csr: Any = X
        assign.nearest_sparse(
            csr.data, csr.indices, csr.indptr, weight, columns, b.astype(dtype), dtype.type(tie),
            labels, sums, counts,
        )  # fmt: skip
        return ClusterStats(counts, sums, None)
    W = -2.0 * image
    if is_small or tie:
        W, b = W.T.astype(dtype), b.astype(dtype)
        size = _PIECE if tie else max(len(X), 1)
        for at in range(0, len(X), size):
            piece = X[at : at + size]
            costs = piece @ W
            costs += b
            labels[at : at + size] = choose_lowest(costs, piece, b, tie) if tie else costs.argmin(axis=1)
        return ClusterStats.from_labels(X, labels, weight, k, moments=moments)

    from likewise.kernels import assign

    if k % 2:  # the kernel takes clusters two at a time
        W, b = np.vstack([W, np.zeros(d)]), np.append(b, np.inf)
    sums, counts = np.zeros(W.shape), np.zeros(len(W))
    assign.nearest_linear(X, weight, W.astype(dtype), b.astype(dtype), labels, sums, counts)
    second = None
    if moments is not None:  # the next metric will be one per cluster
        second = ClusterStats.from_labels(X, labels, weight, k, moments=moments).second
    return ClusterStats(counts[:k], sums[:k], second)


def choose_lowest(costs: np.ndarray, X: np.ndarray, lengths: np.ndarray, tie: float) -> np.ndarray:
    """Return the first cluster of each row whose cost is the lowest but for rounding.

    The cost of cluster h may exceed the lowest by ``tie * (|x|^2 + |c_h|^2)``; `lengths` are the
    squared lengths of the centres.
    """
    squares, labels = row_norms(X, squared=True), costs.argmin(axis=1)
    highest = costs[np.arange(len(costs)), labels] + tie * (squares + lengths.max())
    tied = np.flatnonzero(np.count_nonzero(costs <= highest[:, None], axis=1) > 1)
    if len(tied):
        few = costs[tied]
        level_ties(few, squares[tied], lengths, tie)
        labels[tied] = few.argmin(axis=1)
    return labels


def level_ties(costs: np.ndarray, squares: np.ndarray, lengths: np.ndarray, tie: float) -> None:
    """Set costs that are as low as the lowest of their row but for rounding to the lowest, in place."""
    least = costs.min(axis=1, keepdims=True)
    np.copyto(costs, least, where=costs - least <= tie * (squares[:, None] + lengths))


def compute_level_costs(metric: Metric, X: np.ndarray, centers: np.ndarray, tie: float) -> np.ndarray:
    """Return the cost of each cluster for each row; the lowest ones are equal if they differ by rounding."""
    costs = metric.compute_costs(X, centers)
    if tie:
        level_ties(costs, row_norms(X, squared=True), row_norms(centers, squared=True), tie)
    return costs


@dataclass(frozen=True)
class HintedPlacement:
    """The clusters of the hinted rows and their contribution to the objective."""

    labels: np.ndarray
    energy: float
    nearest: np.ndarray  # the nearest clusters, regardless of hints


class HintedRowPlacer(Protocol):
    """Rows whose clusters depend on hints. `place` assigns them, given centres and metric."""

    rows: np.ndarray
    X: np.ndarray
    weight: np.ndarray

    def place(
        self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None, tie: float = 0.0
    ) -> HintedPlacement:
        """Assign the rows to clusters.

        `previous` are their clusters, None in the first pass; `tie` is that of :func:`choose_lowest`.
        """

    def get_units(self) -> np.ndarray:
        """Return the unit of each row. A unit moves to an empty cluster as a whole; unit -1 never moves."""


@dataclass(frozen=True, eq=False)
class Start:
    """Initial centres and metric of one run of the loop.

    With `learn` the metric is fitted from the first iteration on; otherwise the given metric is kept until
    the labels converge for the first time. If the run continues a trial, `done` is the number of iterations
    of the trial and `hinted_labels` are the labels of the hinted rows at its end.
    """

    centers: np.ndarray
    metric: Metric
    learn: bool = False
    done: int = 0
    hinted_labels: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class KMeansFit:
    """The state after an assignment. It determines the labels of all rows, which are kept with the rows.

    Attributes
    ----------
    centers, metric : ndarray, Metric
        The centres and the metric that rows were assigned with.
    stats : ClusterStats
        The sums of each cluster, and the number of labels that changed.
    objective : float
        The cost of all rows plus that of violated links.
    nearest : ndarray
        The nearest cluster of each hinted row, regardless of hints.
    hinted_labels : ndarray
        The cluster of each hinted row.
    fixed : FixedLabels
        The rows that need not be in their nearest cluster: hinted rows, and rows moved to an empty cluster.
    n_iter, converged, learned : int, bool, bool
        The number of iterations, whether the labels converged, and whether the metric was fitted from the
        first iteration on.
    tie : float
        The relative difference up to which costs counted as equal.
    """

    centers: np.ndarray
    metric: Metric
    stats: ClusterStats
    objective: float
    nearest: np.ndarray
    hinted_labels: np.ndarray
    fixed: FixedLabels
    n_iter: int = 0
    converged: bool = True
    learned: bool = False
    tie: float = 0.0


class KMeansSteps:
    """The assignment step, with the rows and labels that it works on.

    Hinted rows are gathered once and assigned jointly; all other rows are processed block by block. Each
    block keeps its labels and returns statistics that add up.
    """

    def __init__(
        self,
        X: np.ndarray | Rows,
        n_clusters: int,
        *,
        hinted: HintedRowPlacer | None = None,
        learning: MetricLearning | None = None,
        tracked: np.ndarray = NO_ROWS,
        fill: bool = True,
        n_rows: int = 0,
    ) -> None:
        self.rows, self.k = as_rows(X), n_clusters
        self._n_rows = n_rows  # the number of rows of which X is a batch
        self._fill = fill  # whether to move rows to empty clusters
        self.hinted, self.learning = hinted, learning
        self._labels: Column | None = None
        self._last: KMeansFit | None = None  # the fit whose labels are stored
        self._bounds: DistanceBounds | None = None  # of the stored labels
        self._tracked = tracked if hinted is None else hinted.rows
        moment: Moment = "squares" if learning is None or learning.diagonal else "products"
        self._moments: str | None = None  # the second moments per cluster that the next metric needs
        if learning is not None and learning.per_cluster:
            self._moments = "diagonal" if learning.diagonal else "full"
        without = NO_ROWS if hinted is None else hinted.rows
        self._free_second = self.second = self.rows.sum(partial(sum_rows, moment, without))
        if hinted is not None:
            hinted_rows = as_rows(hinted.X, weight=hinted.weight)
            self.second = self.second + hinted_rows.sum(partial(sum_rows, moment, NO_ROWS))
        spread = self.second if self.second.ndim == 1 else self.second.diagonal()
        if self.rows.is_sparse:  # dense rows are centred
            spread = spread - sum_squared_means(self.rows)
        spread = np.sqrt(np.maximum(spread / max(self.rows.total_weight, 1e-300), 0.0))
        self.scale = np.where(spread > 0, spread, 1.0)
        self.variance = float(np.square(spread).mean())

    def assign(self, centers: np.ndarray, metric: Metric, hinted_labels: np.ndarray | None) -> KMeansFit:
        """Assign every row, given the previous labels of the hinted rows (None in the first pass)."""
        moments, n_rows = metric.moments or self._moments, self._n_rows
        tie = 0.0
        if hinted_labels is None and metric.is_euclidean and centers.size >= _BOUNDED:
            tie = _TIE * float(np.finfo(self.rows.dtype).eps)
        fixed, placed = NOTHING_FIXED, None
        if self.hinted is not None:
            placed = self.hinted.place(
                metric, centers, None if hinted_labels is None else hinted_labels.astype(np.int64), tie
            )
            fixed = FixedLabels(self.hinted.rows, placed.labels)
        tracked = FixedLabels(self._tracked, self._tracked)
        bounds = self._move_bounds(centers, metric, moments) if centers.size >= _BOUNDED else None

        def assign(block: Block) -> ClusterStats:
            """Label one block of rows; `fixed` rows get their fixed labels and are excluded from the sums."""
            assert block.kept is not None
            mine = get_scratch("labels", (block.X.shape[0],), np.int32)
            weight = block.get_weight_without(fixed.rows)
            if bounds is not None:
                mine[...] = 0 if is_first else block.kept
                stats = bounds.assign(block, weight, fixed, mine, tie)
            else:
                stats = find_nearest(block.X, weight, centers, metric, moments, mine, n_rows, tie=tie)
                at, given = fixed.restrict_to_block(block.rows)
                mine[at] = given
            stats.changed = 0 if is_first else int(np.count_nonzero(mine != block.kept))
            stats.tracked_labels = mine[tracked.restrict_to_block(block.rows)[0]]
            block.kept[...] = mine
            return stats

        recipe, is_first = partial(label_block, centers, metric, fixed, tie=tie), self._labels is None
        self._labels = self._labels or self.rows.make_column(np.int32, recipe)
        stats = self.rows.sum(assign, self._labels, new_recipe=recipe, overwrite=is_first)
        objective = compute_total_cost(stats, centers, metric, self._free_second)
        nearest = np.empty(0, dtype=np.int64)
        if self.hinted is not None and placed is not None:
            given = self.hinted.X, placed.labels, self.hinted.weight
            if self.rows.is_sparse:
                stats.add_sparse_rows(*given)
            else:
                stats = stats + ClusterStats.from_labels(*given, self.k, moments=moments)
            objective += placed.energy
            nearest = placed.nearest
        if self._fill and (stats.counts == 0).any():
            stats, fixed = self._reseed(stats, fixed, centers, metric, moments, tie)
        self._last = KMeansFit(
            centers, metric, stats, objective, nearest, stats.tracked_labels, fixed, tie=tie
        )
        return self._last

    def _move_bounds(self, centers: np.ndarray, metric: Metric, moments: str | None) -> DistanceBounds | None:
        """Return the bounds for the next pass, or None if all rows must be compared with all centres."""
        is_plain = moments is None and metric.is_euclidean
        if not is_plain or self.rows.is_distributed or self.rows.is_sparse:
            self._bounds = None
            return None
        if self._bounds is None:
            from likewise.kmeans._bounds import DistanceBounds

            self._bounds = DistanceBounds(self.rows)
        elif self._last is not None:
            self._bounds.forget(self._last.fixed.rows)
        self._bounds.move(centers)
        return self._bounds

    def collect_labels(self, fit: KMeansFit, renumber: np.ndarray | None = None) -> Any:
        """Return the labels of all rows under a fit. The steps cannot be used afterwards."""
        if self._last is None or self._last.stats is not fit.stats:
            # The stored labels are those of another fit. They are recomputed while they are collected, so
            # this needs no extra pass.
            recipe = partial(label_block, fit.centers, fit.metric, fit.fixed, tie=fit.tie)
            self._labels = self.rows.make_column(np.int32, recipe)
        assert self._labels is not None
        return self.rows.collect(self._labels, renumber)

    def _reseed(
        self,
        stats: ClusterStats,
        fixed: FixedLabels,
        centers: np.ndarray,
        metric: Metric,
        moments: str | None,
        tie: float,
    ) -> tuple[ClusterStats, FixedLabels]:
        """Move rows to empty clusters if suitable rows exist, and update the labels."""
        assert self._labels is not None
        empty = np.flatnonzero(stats.counts == 0)
        moves = choose_moves_to_empty(self.rows, self._labels, fixed, self.hinted, centers, metric, empty)
        if not moves:
            return stats, fixed
        rows, before = (np.concatenate([move[part] for move in moves]) for part in (0, 1))
        labels = np.repeat([cluster for *_, cluster in moves], [len(moved) for moved, *_ in moves])
        every, first = np.unique(np.concatenate([rows, fixed.rows]), return_index=True)
        fixed = FixedLabels(every, np.concatenate([labels, fixed.labels])[first].astype(np.int32))
        tracked, k = FixedLabels(self._tracked, self._tracked), self.k

        def move(block: Block) -> ClusterStats:
            assert block.kept is not None
            at, given = fixed.restrict_to_block(block.rows)
            block.kept[at] = given
            found = ClusterStats.from_labels(block.X, block.kept, block.weight, k, moments=moments)
            found.tracked_labels = block.kept[tracked.restrict_to_block(block.rows)[0]]
            return found

        recipe = partial(label_block, centers, metric, fixed, tie=tie)
        moved = self.rows.sum(move, self._labels, new_recipe=recipe)
        # How many more labels differ from the previous pass? Previous labels are known only for rows that
        # were fixed in it; all other rows count as changed.
        last = NOTHING_FIXED if self._last is None else self._last.fixed
        at = np.minimum(np.searchsorted(last.rows, rows), max(len(last.rows) - 1, 0))
        known = last.rows[at] == rows if len(last.rows) else np.zeros(len(rows), dtype=bool)
        was = last.labels[at[known]]
        more = np.count_nonzero(labels[known] != was) - np.count_nonzero(before[known] != was)
        moved.changed = stats.changed + int(more + np.count_nonzero(~known))
        return moved, fixed


def alternate(
    steps: KMeansSteps,
    start: Start,
    *,
    max_iter: int,
    tol: float,
    learn_by: int,
    progress: FitProgress | None = None,
) -> KMeansFit:
    """Alternate the assignment, centre and metric steps from a start until the labels converge.

    Fitting the metric may raise the objective, so the best state since the metric was first fitted is
    returned. The fit stops when no label changes, when the squared shift of all centres relative to the mean
    variance of the columns is at most `tol` while the metric is fixed, or when the relative change of the
    objective is at most `tol` while the metric is fitted or a pass takes ``_LONG`` or more products. It also
    stops after `max_iter` iterations, after ``_PATIENCE`` iterations with a fitted metric that do not improve
    on the best state, and when `progress` asks for it. From iteration `learn_by` on the metric is fitted even
    if the labels have not converged.
    """
    shift_tol = tol * steps.variance
    n_values = steps.rows.density * steps.rows.shape[0] * steps.rows.shape[1]
    is_long = n_values * len(start.centers) >= _LONG
    centers, metric = start.centers, start.metric
    learn = start.learn and steps.learning is not None
    best: KMeansFit | None = None
    hinted_labels = start.hinted_labels
    stale = 0
    near = False
    last_objective = np.inf
    if progress is not None:
        progress.begin(max_iter)
    for n_iter in range(start.done + 1, max_iter + 1):
        found = steps.assign(centers, metric, hinted_labels)
        here = replace(found, n_iter=n_iter, learned=start.learn)
        objective = found.objective
        stop = progress.step() if progress is not None else False
        # In the first pass, stored labels belong to another start.
        settled = near or (found.stats.changed == 0 and n_iter > start.done + 1)
        settled = settled or ((learn or is_long) and abs(objective - last_objective) <= tol * abs(objective))
        last_objective = objective
        final = learn or steps.learning is None
        if final and (best is None or objective < best.objective - 1e-9 * abs(best.objective)):
            best, stale = here, 0
        else:
            stale += final
        if settled and final:
            fit = replace(here if steps.learning is None else best or here, n_iter=n_iter - near)
            break
        if stop or (learn and stale >= _PATIENCE):
            fit = replace(best or here, n_iter=n_iter)
            break
        learn = steps.learning is not None and (learn or settled or n_iter >= learn_by)
        moved = compute_means(found.stats, centers)
        if learn and steps.learning is not None:
            metric = steps.learning.fit_metric(
                found.stats, steps.second, moved, found.hinted_labels, metric, steps.scale
            )
        shift = moved - centers
        near = not learn and float(np.einsum("hj,hj", shift, shift)) <= shift_tol
        centers, hinted_labels = moved, found.hinted_labels
    else:
        last = steps.assign(centers, metric, hinted_labels)
        fit = replace(last, n_iter=max_iter, converged=False, learned=start.learn)
        if best is not None and best.objective < fit.objective:
            fit = replace(best, n_iter=max_iter, converged=False)
    if progress is not None:
        progress.end()
    return fit


def choose_moves_to_empty(
    X: Rows,
    labels: Column,
    fixed: FixedLabels,
    hinted: HintedRowPlacer | None,
    centers: np.ndarray,
    metric: Metric,
    empty: np.ndarray,
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Choose, for each empty cluster, the costliest unhinted row or, failing that, the costliest hinted unit.

    Rows that coincide with their centre never move: if only these are left, X has fewer distinct rows than
    clusters. No move empties another cluster. Returns a list of moves: the rows that move together, their
    current clusters, and the empty cluster they move to.
    """
    k = len(centers)

    def measure(block: Block) -> tuple[np.ndarray, float]:
        assert block.kept is not None
        return np.bincount(block.kept, minlength=k), float(metric.compute_lengths(block.X).max(initial=0.0))

    counts, longest = zip(*X.map(measure, labels), strict=True)
    rows_left, least = np.sum(counts, axis=0), 1e-12 * max(longest)

    def compute_costs(rows: np.ndarray, own: np.ndarray, part: np.ndarray) -> np.ndarray:
        cost = metric.compute_distances(rows, centers)[np.arange(len(own)), own]
        return np.where(cost > least, cost, 0.0) * part

    def find_costliest(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # 2 k candidates suffice: at most k are the last row of a cluster, and at most k clusters are empty.
        assert block.kept is not None
        cost = compute_costs(block.X, block.kept, block.weight)
        cost[fixed.restrict_to_block(block.rows)[0]] = 0.0
        best = np.argsort(-cost, kind="stable")[: 2 * k]
        best = best[cost[best] > 0]
        return block.rows.start + best, cost[best], block.kept[best]

    found = list(X.map(find_costliest, labels))
    rows, cost, own = (np.concatenate(part) for part in zip(*found, strict=True))
    candidates = [(rows[at : at + 1], own[at : at + 1]) for at in np.argsort(-cost, kind="stable")]
    if hinted is not None:
        unit = hinted.get_units()
        cost = compute_costs(hinted.X, fixed.labels, hinted.weight)
        order = np.argsort(-cost, kind="stable")
        order = order[(cost[order] > 0) & (unit[order] >= 0)]
        order = order[np.sort(np.unique(unit[order], return_index=True)[1])]
        by_unit = np.argsort(unit, kind="stable")
        first, last = (np.searchsorted(unit[by_unit], unit[order], side=side) for side in ("left", "right"))
        members = (by_unit[a:b] for a, b in zip(first, last, strict=True))
        candidates += [(hinted.rows[unit], fixed.labels[unit]) for unit in members]

    moves = []
    waiting = iter(candidates)
    for h in empty:
        for moving, before in waiting:
            taken = np.bincount(before, minlength=k)
            if (taken < np.maximum(rows_left, 1)).all():
                rows_left = rows_left - taken
                rows_left[h] += len(moving)
                moves.append((moving, before, int(h)))
                break
    return moves
