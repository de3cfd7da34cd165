"""Running sums over consecutive batches, and the clusters that they determine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise._blocks import ArrayRows, Rows
from likewise._hinted import HintedSubset
from likewise.kmeans._clusters import NOBODY, ClusterStats, Metric, compute_means
from likewise.kmeans._loop import KMeansSteps, Start
from likewise.kmeans._mpck import MetricLearning, compute_inverse_metric, compute_scatter
from likewise.seeding import extend_seeds

# Span, in batches, of the exponential moving average of the objective.
SPAN = 10
# Clusters are checked for too few rows once a cluster at the threshold would have gained this many.
_ENOUGH = 10


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of rows, and the hinted rows in it.

    Attributes
    ----------
    rows : Rows
        The centred rows, with their weights in this batch.
    named : HintedSubset
        The hinted rows, numbered by their position in the batch, with their original weights.
    size : int
        The number of rows that the batch represents.
    share : float
        Factor for the weights of hinted rows and links, which are in every batch.
    """

    rows: Rows
    named: HintedSubset
    size: int
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class RunningClusters:
    """Sums over all rows seen so far, optionally with decaying weights, and the clusters they determine.

    Attributes
    ----------
    middle : ndarray of shape (d,)
        The vector that is subtracted from the rows.
    centers : ndarray of shape (k, d)
        The means of the clusters minus `middle`.
    metric : Metric
        The metric that was fitted to the running scatter.
    stats : ClusterStats
        Weights and sums of the clusters and, if each has its own metric, second moments.
    second : ndarray of shape (d,) or (d, d)
        The second moment of all rows.
    broken : ndarray of shape (H, d) or (H, d, d)
        The contribution of broken links to the scatter.
    gained, n_since : ndarray of shape (k,), int
        Weight that each cluster has gained, and number of rows seen, since the last check for nearly empty
        clusters.
    n_steps, n_rows : int
        Number of batches and of rows seen.
    cost, weight : float
        Exponentially weighted sums of the objective and of the row weights of recent batches.
    """

    middle: np.ndarray
    centers: np.ndarray
    metric: Metric
    stats: ClusterStats
    second: np.ndarray
    broken: np.ndarray
    gained: np.ndarray
    n_since: int = 0
    n_steps: int = 0
    n_rows: int = 0
    cost: float = 0.0
    weight: float = 0.0

    @classmethod
    def begin(cls, middle: np.ndarray, start: Start, learning: MetricLearning | None) -> RunningClusters:
        """Return the state of a start before any row is seen."""
        k, d = start.centers.shape
        broken = np.zeros(_get_scatter_shape(k, d, learning))
        own = learning is not None and learning.per_cluster
        stats = ClusterStats(np.zeros(k), np.zeros((k, d)), np.zeros_like(broken) if own else None)
        second = np.zeros(broken.shape[1:])
        return cls(middle, start.centers, start.metric, stats, second, broken, np.zeros(k))

    def is_compatible(self, k: int, learning: MetricLearning | None) -> bool:
        """Return True if a fit with k clusters and these settings can continue from this state."""
        return self.stats.counts.shape == (k,) and self.broken.shape == _get_scatter_shape(
            k, self.centers.shape[1], learning
        )

    @property
    def objective(self) -> float:
        """The objective per row, averaged over recent batches, each evaluated before its update."""
        return self.cost / max(self.weight, 1e-300)

    @property
    def _variance(self) -> np.ndarray:
        """The variance of each column over the rows seen so far."""
        total = max(float(self.stats.counts.sum()), 1e-300)
        square = self.second if self.second.ndim == 1 else self.second.diagonal()
        return np.maximum(square / total - np.square(self.stats.sums.sum(axis=0) / total), 0.0)

    @property
    def mean_squared_distance(self) -> float:
        """The mean squared distance between two of the rows seen so far."""
        return 2.0 * float(self._variance.sum())

    def take_batch(
        self, steps: KMeansSteps, hinted_labels: np.ndarray | None, size: int, half_life: float | None
    ) -> tuple[RunningClusters, np.ndarray]:
        """Assign a batch of `size` rows, add it to the running sums and move the centres.

        Returns the new state and the labels of the hinted rows. With a half-life, the weight of a row halves
        after that many further rows. The metric does not change until :meth:`learn_metric`.
        """
        found = steps.assign(self.centers, self.metric, hinted_labels)
        keep = 1.0 if half_life is None else 0.5 ** (size / half_life)
        new = replace(found.stats, changed=0, watched=NOBODY)
        stats = _scale_stats(self.stats, keep) + new
        second, broken = keep * self.second + steps.second, keep * self.broken
        learning = steps.learning
        if learning is not None and learning.linked is not None:
            learning.linked.add_violations(broken, found.hinted_labels, self.metric)
        # The start was fitted to the first batch, whose objective is therefore too low: drop it.
        fade = 0.0 if self.n_steps == 1 else 1.0 - 2.0 / (SPAN + 1)
        seen = replace(
            self,
            centers=compute_means(stats, self.centers),
            stats=stats,
            second=second,
            broken=broken,
            gained=self.gained + new.counts,
            n_since=self.n_since + size,
            n_steps=self.n_steps + 1,
            n_rows=self.n_rows + size,
            cost=fade * self.cost + found.objective,
            weight=fade * self.weight + float(new.counts.sum()),
        )
        return seen, found.hinted_labels

    def refill_clusters(self, batch: Batch, ratio: float, rng: np.random.RandomState) -> RunningClusters:
        """From time to time, merge nearly empty clusters into their nearest neighbours and reseed them.

        A cluster is nearly empty if it has gained less than `ratio` times the weight that the largest one
        gained since the last check. Its new centre is an unhinted row of the batch, drawn as in k-means++
        with probability proportional to the squared distance to the other centres. Totals over all clusters
        do not change.
        """
        k = len(self.centers)
        if ratio <= 0 or self.n_since * ratio < _ENOUGH * k:
            return self
        judged = replace(self, gained=np.zeros(k), n_since=0)
        kept = self.gained >= ratio * self.gained.max()
        weight = batch.rows.get_weights(np.arange(len(batch.rows)))
        weight[batch.named.rows] = 0.0
        if kept.all() or not weight.any():
            return judged
        metric = self.metric if self.metric.shared else Metric.euclidean(self.centers.shape[1])
        X = metric.embed(batch.rows.take(np.arange(len(batch.rows))))
        placed = metric.embed(self.centers[kept])
        drawn = extend_seeds(ArrayRows(X), placed, k, weight, rng)[len(placed) :]
        squared = np.square(drawn[:, None] - placed).sum(axis=2)
        nearest = np.square(metric.embed(self.centers[~kept])[:, None] - placed).sum(axis=2).argmin(axis=1)
        apart = squared.min(axis=1) > 1e-12 * max(float(np.square(X).sum(axis=1).max()), 1e-300)
        into = np.arange(k)
        into[~kept] = np.where(apart, np.flatnonzero(kept)[nearest], into[~kept])
        centers = self.centers.copy()
        centers[np.flatnonzero(~kept)[apart]] = metric.unembed(drawn[apart])
        second = self.stats.second
        stats = ClusterStats(
            _merge_clusters(self.stats.counts, into),
            _merge_clusters(self.stats.sums, into),
            None if second is None else _merge_clusters(second, into),
        )
        broken = self.broken if len(self.broken) == 1 else _merge_clusters(self.broken, into)
        return replace(judged, stats=stats, broken=broken, centers=compute_means(stats, centers))

    def learn_metric(self, learning: MetricLearning) -> RunningClusters:
        """Fit the metric to the running scatter, unless at most k + d rows have been seen."""
        k, d = self.centers.shape
        if self.n_rows <= k + d:
            return self
        scatter, mass = compute_scatter(self.stats, self.second, self.centers, learning.per_cluster)
        scatter = scatter + self.broken
        if learning.per_cluster and not mass.all():  # an empty cluster gets the pooled metric
            scatter[mass == 0] = scatter.sum(axis=0)
            mass = np.where(mass == 0, mass.sum(), mass)
        spread = np.sqrt(self._variance)
        scale = np.where(spread > 0, spread, 1.0)
        return replace(self, metric=compute_inverse_metric(scatter, mass, scale, learning.floor))


def _get_scatter_shape(k: int, d: int, learning: MetricLearning | None) -> tuple[int, ...]:
    """Return the shape of the scatter from which a metric is learned."""
    square = (d,) if learning is None or learning.diagonal else (d, d)
    return (k if learning is not None and learning.per_cluster else 1, *square)


def _scale_stats(stats: ClusterStats, by: float) -> ClusterStats:
    second = None if stats.second is None else by * stats.second
    return ClusterStats(by * stats.counts, by * stats.sums, second)


def _merge_clusters(sums: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return the sums of the clusters after cluster h is merged into cluster ``into[h]``."""
    total = np.zeros_like(sums)
    np.add.at(total, into, sums)
    return total
