"""What the rows of batches that came one after another add up to, and where that puts the clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise._blocks import ArrayRows, Rows
from likewise._hinted import HintedSubset
from likewise.kmeans._alternation import KMeansSteps, Learning, Start, compute_means, compute_scatter
from likewise.kmeans._metric import Metric, compute_inverse_metric
from likewise.kmeans._stats import NOBODY, ClusterStats
from likewise.seeding import extend_seeds

# The objective is averaged over some so many batches, the last ones counting the most.
SPAN = 10
# Whether a cluster takes too few rows is judged when as many would have come to one that takes just enough.
_ENOUGH = 10


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, and the rows among them that hints name.

    Attributes
    ----------
    rows : Rows
        The rows, less a middle. Their weights are what they count for here.
    named : Named
        The rows that hints name, by their places in the batch, with the weights that they have by themselves.
    size : int
        How many rows the batch stands for.
    share : float
        How much the named rows and the links count for here, where they are in every batch.
    """

    rows: Rows
    named: HintedSubset
    size: int
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class RunningClusters:
    """Sums over all rows seen so far, older ones faded if wanted, and the clusters that follow from them.

    Attributes
    ----------
    middle : ndarray of shape (d,)
        What is taken off the rows.
    centers : ndarray of shape (k, d)
        The means of the clusters, less the middle.
    metric : Metric
        The metric that the scatter so far gives.
    stats : ClusterStats
        Weights, sums and, with a metric of each cluster, second moments of the clusters.
    second : ndarray of shape (d,) or (d, d)
        The second moment of all rows.
    broken : ndarray of shape (H, d) or (H, d, d)
        What broken links add to the scatter.
    gained, n_since : ndarray of shape (k,), int
        What the clusters gained since it was last judged whether one is nearly empty, and from how many rows.
    n_steps, n_rows : int
        How many batches and rows were seen.
    cost, weight : float
        The objective of the last batches and the weight of their rows, older ones faded.
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
    def begin(cls, middle: np.ndarray, start: Start, learning: Learning | None) -> RunningClusters:
        """Return the clusters of a start, no row seen."""
        k, d = start.centers.shape
        broken = np.zeros(_get_scatter_shape(k, d, learning))
        own = learning is not None and learning.per_cluster
        stats = ClusterStats(np.zeros(k), np.zeros((k, d)), np.zeros_like(broken) if own else None)
        second = np.zeros(broken.shape[1:])
        return cls(middle, start.centers, start.metric, stats, second, broken, np.zeros(k))

    def is_compatible(self, k: int, learning: Learning | None) -> bool:
        """Tell whether so many clusters, with metrics of this sort, can go on from here."""
        return self.stats.counts.shape == (k,) and self.broken.shape == _get_scatter_shape(
            k, self.centers.shape[1], learning
        )

    @property
    def objective(self) -> float:
        """The objective a row, averaged over the last batches; each counted before it moved the clusters."""
        return self.cost / max(self.weight, 1e-300)

    @property
    def _variance(self) -> np.ndarray:
        """The variance of each column over all rows seen."""
        total = max(float(self.stats.counts.sum()), 1e-300)
        square = self.second if self.second.ndim == 1 else self.second.diagonal()
        return np.maximum(square / total - np.square(self.stats.sums.sum(axis=0) / total), 0.0)

    @property
    def mean_squared_distance(self) -> float:
        """The mean squared distance between two rows of those seen."""
        return 2.0 * float(self._variance.sum())

    def take_batch(
        self, steps: KMeansSteps, hinted_labels: np.ndarray | None, size: int, half_life: float | None
    ) -> tuple[RunningClusters, np.ndarray]:
        """Take in a batch of `size` rows: label its rows, add them up, move the centres.

        Also returned is where the rows that hints speak of were put. With a half-life, rows seen that many
        rows ago count for a half. The metric stays as it is until :meth:`learn_metric`.
        """
        found = steps.assign(self.centers, self.metric, hinted_labels)
        keep = 1.0 if half_life is None else 0.5 ** (size / half_life)
        new = replace(found.stats, changed=0, watched=NOBODY)
        stats = _scale_stats(self.stats, keep) + new
        second, broken = keep * self.second + steps.second, keep * self.broken
        learning = steps.learning
        if learning is not None and learning.violations is not None:
            learning.violations.add_violations(broken, found.hinted_labels, self.metric)
        # The start was fitted to the first batch, so what that costs says little once there is another.
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
        """Now and then give nearly empty clusters to the nearest others, and put their centres elsewhere.

        Nearly empty is a cluster that lately gained less than `ratio` of what the largest did. Its new centre
        is a row of the batch that no hint names, drawn as k-means++ draws in proportion to the squared
        distance to the other centres. What all clusters add up to stays the same.
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

    def learn_metric(self, learning: Learning) -> RunningClusters:
        """Fit the metric to the scatter so far; from no more rows than centres and columns none is fitted."""
        k, d = self.centers.shape
        if self.n_rows <= k + d:
            return self
        scatter, mass = compute_scatter(self.stats, self.second, self.centers, learning.per_cluster)
        scatter = scatter + self.broken
        if learning.per_cluster and not mass.all():  # a cluster without rows has the metric of all
            scatter[mass == 0] = scatter.sum(axis=0)
            mass = np.where(mass == 0, mass.sum(), mass)
        spread = np.sqrt(self._variance)
        scale = np.where(spread > 0, spread, 1.0)
        return replace(self, metric=compute_inverse_metric(scatter, mass, scale, learning.floor))


def _get_scatter_shape(k: int, d: int, learning: Learning | None) -> tuple[int, ...]:
    """Return the shape of the scatter that a metric is learned from."""
    square = (d,) if learning is None or learning.diagonal else (d, d)
    return (k if learning is not None and learning.per_cluster else 1, *square)


def _scale_stats(stats: ClusterStats, by: float) -> ClusterStats:
    second = None if stats.second is None else by * stats.second
    return ClusterStats(by * stats.counts, by * stats.sums, second)


def _merge_clusters(sums: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return sums of clusters where cluster h is added to cluster ``into[h]``."""
    total = np.zeros_like(sums)
    np.add.at(total, into, sums)
    return total
