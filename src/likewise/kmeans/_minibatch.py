"""Mini-batch k-means with links: MiniBatchPCKMeans and MiniBatchMPCKMeans.

Batches are drawn by `fit` or passed to `partial_fit`. Each is assigned by the steps of ``_loop.py``, added to
running sums, and moves the centres and the metric that these sums determine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise._batches import AT_ONCE, BatchChecksMixin, Patience, draw_pools, read_batches
from likewise._compat import check_random_state, with_callbacks
from likewise._seeding import HintedSubset, extend_seeds, label_rows
from likewise.backends import ArrayRows, Rows, draw_rows, get_n_threads, get_ones
from likewise.base import FitProgress, Rule, warn_caller
from likewise.evaluation import Satisfaction
from likewise.kmeans._loop import (
    NO_ROWS,
    NOTHING_FIXED,
    ClusterStats,
    FixedLabels,
    KMeansSteps,
    Metric,
    Start,
    compute_mean_squared_distance,
    compute_means,
    find_nearest,
    sum_rows,
)
from likewise.kmeans._mpck import (
    LinkedRows,
    MetricKind,
    MetricLearning,
    MPCKMeans,
    Penalty,
    SoftLinks,
    compute_inverse_metric,
    compute_scatter,
)
from likewise.kmeans._pck import PCKMeans

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.supervision import Supervision

# Span, in batches, of the exponential moving average of the objective.
_SPAN = 10
# Clusters are checked for too few rows once a cluster at the threshold would have gained this many.
_ENOUGH = 10
# Size of the first batch of a fit, on which starts are tried, in batches.
_FIRST = 3
# Maximum number of iterations of a start on the first batch.
_SETTLE = 100


@dataclass(frozen=True, eq=False)
class RunningClusters:
    """Sums over all rows seen so far, optionally with decaying weights, and the clusters they determine.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        The vector that is subtracted from the rows.
    centers : ndarray of shape (k, d)
        The means of the clusters minus `mean`.
    metric : Metric
        The metric that was fitted to the running scatter.
    stats : ClusterStats
        Weights and sums of the clusters and, if each has its own metric, second moments.
    second : ndarray of shape (d,) or (d, d)
        The second moment of all rows.
    violation_scatter : ndarray of shape (H, d) or (H, d, d)
        The contribution of violated links to the scatter.
    gained, n_since : ndarray of shape (k,), int
        Weight that each cluster has gained, and number of rows seen, since the last check for nearly empty
        clusters.
    n_steps, n_rows : int
        Number of batches and of rows seen.
    cost, weight : float
        Exponentially weighted sums of the objective and of the row weights of recent batches.
    """

    mean: np.ndarray
    centers: np.ndarray
    metric: Metric
    stats: ClusterStats
    second: np.ndarray
    violation_scatter: np.ndarray
    gained: np.ndarray
    n_since: int = 0
    n_steps: int = 0
    n_rows: int = 0
    cost: float = 0.0
    weight: float = 0.0

    @classmethod
    def begin(cls, mean: np.ndarray, start: Start, learning: MetricLearning | None) -> RunningClusters:
        """Return the state of a start before any row is seen."""
        k, d = start.centers.shape
        violation_scatter = np.zeros(_get_scatter_shape(k, d, learning))
        own = learning is not None and learning.per_cluster
        stats = ClusterStats(np.zeros(k), np.zeros((k, d)), np.zeros_like(violation_scatter) if own else None)
        second = np.zeros(violation_scatter.shape[1:])
        return cls(mean, start.centers, start.metric, stats, second, violation_scatter, np.zeros(k))

    def is_compatible(self, k: int, learning: MetricLearning | None) -> bool:
        """Return True if a fit with k clusters and these settings can continue from this state."""
        return self.stats.counts.shape == (k,) and self.violation_scatter.shape == _get_scatter_shape(
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
        new, old = replace(found.stats, changed=0, tracked_labels=NO_ROWS), self.stats
        second = None if old.second is None else keep * old.second
        stats = ClusterStats(keep * old.counts, keep * old.sums, second) + new
        second, violation_scatter = keep * self.second + steps.second, keep * self.violation_scatter
        learning = steps.learning
        if learning is not None and learning.linked is not None:
            learning.linked.add_violations(violation_scatter, found.hinted_labels, self.metric)
        # The start was fitted to the first batch, whose objective is therefore too low: drop it.
        fade = 0.0 if self.n_steps == 1 else 1.0 - 2.0 / (_SPAN + 1)
        seen = replace(
            self,
            centers=compute_means(stats, self.centers),
            stats=stats,
            second=second,
            violation_scatter=violation_scatter,
            gained=self.gained + new.counts,
            n_since=self.n_since + size,
            n_steps=self.n_steps + 1,
            n_rows=self.n_rows + size,
            cost=fade * self.cost + found.objective,
            weight=fade * self.weight + float(new.counts.sum()),
        )
        return seen, found.hinted_labels

    def refill_clusters(
        self, rows: Rows, hinted_rows: np.ndarray, ratio: float, rng: np.random.RandomState
    ) -> RunningClusters:
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
        every = np.arange(len(rows))
        weight = rows.get_weights(every)
        weight[hinted_rows] = 0.0
        if kept.all() or not weight.any():
            return judged
        metric = self.metric if self.metric.shared else Metric(np.ones((1, self.centers.shape[1])))
        X = metric.embed(rows.take(every))
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
        violation_scatter = (
            self.violation_scatter
            if len(self.violation_scatter) == 1
            else _merge_clusters(self.violation_scatter, into)
        )
        return replace(
            judged, stats=stats, violation_scatter=violation_scatter, centers=compute_means(stats, centers)
        )

    def learn_metric(self, learning: MetricLearning) -> RunningClusters:
        """Fit the metric to the running scatter, unless at most k + d rows have been seen."""
        k, d = self.centers.shape
        if self.n_rows <= k + d:
            return self
        scatter, mass = compute_scatter(self.stats, self.second, self.centers, learning.per_cluster)
        scatter = scatter + self.violation_scatter
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


def _merge_clusters(sums: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return the sums of the clusters after cluster h is merged into cluster ``into[h]``."""
    total = np.zeros_like(sums)
    np.add.at(total, into, sums)
    return total


class BatchFitMixin(BatchChecksMixin, SoftLinks):
    """Members that process rows in batches and keep running sums."""

    n_iter_: int
    n_steps_: int
    n_rows_seen_: int
    cluster_centers_: np.ndarray
    objective_: float
    labels_: np.ndarray
    violations_: Satisfaction

    batch_size: int
    half_life: float | None
    max_no_improvement: int | None
    reassignment_ratio: float

    _sparse_rows = "dense blocks"  # a batch is small enough to be dense
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "batch_size": Rule.integer(1),
        "half_life": Rule.either(Rule.choice(None), Rule.real(0, strict=True)),
        "max_no_improvement": Rule.either(Rule.choice(None), Rule.integer(1)),
        "reassignment_ratio": Rule.real(0),
    }

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X with batches drawn from them, guided by the hints.

        Hinted rows are in every batch, with reduced weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows. All rows are read twice, to validate and to label them.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row. It does not change the penalties of links. If weights are so large that
            sums overflow, the objective is divided by a power of two.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        rows = self._weigh_rows(rows, sample_weight)
        rng = self._rng = check_random_state(self.random_state)
        hinted_rows, few = hints.restrict_to_hinted()
        hinted = HintedSubset.from_data(
            rows, hinted_rows, few, self._compute_soft_closure(few, rows=hinted_rows)
        )
        n, size = len(rows), min(self.batch_size, len(rows))
        drawn, weight, share = _draw_first_batch(rows, hinted, _FIRST * max(size, self.n_clusters), rng)
        mean = _compute_mean(ArrayRows(drawn).with_weights(weight))
        # Hinted rows come first in a batch.
        here = replace(hinted, rows=np.arange(len(hinted_rows)), X=hinted.X - mean)
        batch = self._center_batch(drawn, weight, mean)
        # At full weight; in each batch, linked rows and their links count less.
        every = self._make_linked_rows(batch, here, rng)
        linked = None if every is None else every.with_share(share, self._make_batch_penalty(batch))
        plan = self._plan(batch, here, linked, mean, rng, is_batch=True)

        progress = FitProgress(self, X, len(plan.starts) + 2 * (plan.on is not None) + 1)
        best = plan.choose(self._fit_starts(plan, _SETTLE, progress))
        state = RunningClusters.begin(mean, Start(best.centers, best.metric), plan.steps.learning)
        where = best.hinted_labels
        state, where = self._update_on_batch(state, batch, round(share * n), here.rows, linked, where, rng)
        settled = self.max_no_improvement is None
        # The first batch, which the start was fitted to, has been processed.
        patience = Patience(self.max_no_improvement, self.tol, burn_in=_SPAN - 1, relative=True)
        most = max(int(np.ceil((self.max_iter * n - state.n_rows) / size)), 0)
        if size == n and best.converged:  # all batches would be equal
            most, settled = 0, True
        progress.begin(max(most, 1))

        def draw(n_batches: int) -> np.ndarray:
            return np.setdiff1d(draw_rows(n, n_batches * size, rng), hinted_rows, assume_unique=True)

        for drawn, weight in read_batches(rows, draw_pools(draw, min(AT_ONCE, n // size), rng, most)):
            drawn = np.concatenate([hinted.X, drawn])
            weight = np.concatenate([size / n * hinted.weight, weight])
            batch = self._center_batch(drawn, weight, mean)
            if every is not None:
                linked = every.with_share(size / n, self._make_batch_penalty(batch, state))
            state, where = self._update_on_batch(state, batch, size, here.rows, linked, where, rng, n)
            if progress.step() or patience.is_exhausted(-state.objective):
                settled = True
                break
        progress.end()

        self.n_iter_ = max(int(np.ceil(state.n_rows / n)), 1)
        self._keep_running(state)
        found = self._label_rows(rows, hinted, linked, where)
        why = "X may have fewer distinct rows, or the hints may make that many clusters impossible."
        if not self._warn_few_clusters(found, self.n_clusters, why) and not settled:
            warn_caller(
                f"{type(self).__name__} stopped after {state.n_steps} batches before the objective had "
                "converged. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        progress.finish()
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the clusters with one batch of rows and hints about the rows of this batch.

        The first batch also determines the start: several starts are drawn from it and run to convergence on
        it, and the best is selected as in `fit` of :class:`PCKMeans`. It needs at least as many distinct rows
        as there are clusters, unless `init` is an array. After `fit`, batches continue from its result.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows of the batch, one or more.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            Hints about the rows of this batch, numbered from 0. Put linked rows in the same batch; links
            between batches are not possible.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row. It does not change the penalties of links.

        Returns
        -------
        self : object
            The updated clusterer.
        """
        state: RunningClusters | None = getattr(self, "_running", None)
        rows, hints = self._check_batch(X, y, supervision, first=state is None)
        rows = self._weigh_rows(rows, sample_weight, reset=state is None)
        self._check_start_or_state(rows, state)
        if state is None:
            self._rng = check_random_state(self.random_state)
        rng, mean = self._rng, _compute_mean(rows) if state is None else state.mean
        hinted_rows, few = hints.restrict_to_hinted()
        rows.threads = self._get_n_threads(rows)
        shifted = rows.transform(partial(np.add, -mean.astype(rows.dtype)))
        hinted = HintedSubset.from_data(
            shifted, hinted_rows, few, self._compute_soft_closure(few, rows=hinted_rows)
        )
        linked = self._make_linked_rows(shifted, hinted, rng, state)
        where = None
        if state is None:
            plan = self._plan(shifted, hinted, linked, mean, rng, is_batch=True)
            start = plan.starts[0]
            if isinstance(self.init, str):
                best = plan.choose(self._fit_starts(plan, _SETTLE))
                start, where = Start(best.centers, best.metric), best.hinted_labels
            state = RunningClusters.begin(mean, start, plan.steps.learning)
        state, where = self._update_on_batch(state, shifted, len(rows), hinted_rows, linked, where, rng)
        self.n_iter_ = 1
        self._keep_running(state)
        self._label_rows(rows, hinted, linked, where)
        return self

    # ------------------------------------------------------------------ one batch

    def _center_batch(self, X: np.ndarray, weight: np.ndarray, mean: np.ndarray) -> Rows:
        rows = ArrayRows(X - mean).with_weights(weight)
        rows.threads = self._get_n_threads(rows)
        return rows

    def _get_n_threads(self, rows: Rows) -> int:
        return get_n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)

    def _make_linked_rows(
        self, rows: Rows, hinted: HintedSubset, rng: Any, state: RunningClusters | None = None
    ) -> LinkedRows | None:
        """Return the linked rows of a batch; the rows seen before determine the penalty of links."""
        if "links" not in hinted.hints.kinds:
            return None
        return LinkedRows(rows, hinted, self._make_batch_penalty(rows, state), rng)

    def _make_batch_penalty(self, rows: Rows, state: RunningClusters | None = None) -> Penalty:
        """Return the penalty of violated links at the scale of the rows seen before, else of `rows`."""
        return self._make_penalty(
            lambda: compute_mean_squared_distance(rows) if state is None else state.mean_squared_distance
        )

    def _update_on_batch(
        self,
        state: RunningClusters,
        rows: Rows,
        size: int,
        hinted_rows: np.ndarray,
        linked: LinkedRows | None,
        where: np.ndarray | None,
        rng: Any,
        n_rows: int = 0,
    ) -> tuple[RunningClusters, np.ndarray]:
        """Process a batch that represents `size` rows; return the state and the labels of its hinted rows.

        `where` are their previous labels, `n_rows` the number of rows from which it is drawn, if known.
        """
        k, learning = self.n_clusters, self._make_learning(linked)
        steps = KMeansSteps(
            rows, k, hinted=linked, learning=learning, tracked=hinted_rows, fill=False, n_rows=n_rows
        )
        state, where = state.take_batch(steps, where, size, self.half_life)
        state = state.refill_clusters(rows, hinted_rows, self.reassignment_ratio, rng)
        return state if learning is None else state.learn_metric(learning), where

    # ------------------------------------------------------------------ input and output

    def _check_start_or_state(self, rows: Rows, state: RunningClusters | None) -> None:
        """Raise an error if the first batch is too small for a start, or if a later one cannot continue."""
        name, n, k = type(self).__name__, len(rows), self.n_clusters
        if state is not None:
            if not state.is_compatible(k, self._make_learning(None)):
                raise ValueError(
                    f"{name}: n_clusters, metric or per_cluster has changed since the first batch. "
                    "Restore it, or start again with fit or with a new copy: sklearn.base.clone(model)."
                )
        elif isinstance(self.init, str):
            every = np.arange(n)
            different = len(np.unique(rows.take(every)[rows.get_weights(every) > 0], axis=0))
            if different < k:
                raise ValueError(
                    f"{name}: the first batch has {n} rows, {different} of them distinct, but the "
                    f"starting centres of n_clusters={k} clusters are drawn from it. Pass at least {k} "
                    "distinct rows first, or pass the starting centres as init."
                )

    def _keep_running(self, state: RunningClusters) -> None:
        self._running = state
        self._assigned_to = (state.centers + state.mean).astype(state.mean.dtype)
        self.cluster_centers_ = (self._assigned_to / self._row_unit).astype(state.mean.dtype)
        self.objective_ = state.objective
        self.n_steps_, self.n_rows_seen_ = state.n_steps, state.n_rows
        self._keep_metric(state.metric)
        self._n_features_out = self.n_clusters

    def _label_rows(
        self, rows: Rows, hinted: HintedSubset, linked: LinkedRows | None, where: np.ndarray
    ) -> int:
        """Label the rows with the current clusters; return the number of clusters that have rows."""
        state, fixed = self._running, NOTHING_FIXED
        if linked is not None:
            placed = linked.place(state.metric, state.centers, where.astype(np.int64))
            fixed = FixedLabels(hinted.rows, placed.labels.astype(np.int32))
        rows.threads = self._get_n_threads(rows)
        predict = partial(_predict_nearest, state.centers, state.metric, state.mean.astype(rows.dtype))
        self.labels_, n_found = label_rows(rows, predict, fixed.rows, fixed.labels, self.n_clusters)
        self.violations_ = Satisfaction._from_codes(fixed.labels, hinted.hints.links, hinted.rows)
        return n_found


def _draw_first_batch(
    rows: Rows, hinted: HintedSubset, size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw the first batch; return rows, weights, and the factor for the weights of hinted rows."""
    size = min(size, len(rows))
    while True:  # until some drawn row has a positive weight
        share = size / len(rows)
        free = np.setdiff1d(draw_rows(len(rows), size, rng), hinted.rows, assume_unique=True)
        weight = np.concatenate([share * hinted.weight, rows.get_weights(free)])
        if weight.any():
            return np.concatenate([hinted.X, rows.take(free)]), weight, share
        size = min(2 * size, len(rows))


def _compute_mean(rows: Rows) -> np.ndarray:
    total: np.ndarray = rows.sum(partial(sum_rows, "rows", NO_ROWS)) / rows.total_weight
    return total.astype(rows.dtype)


def _predict_nearest(centers: np.ndarray, metric: Metric, mean: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the nearest cluster of each row; `centers` are relative to `mean`."""
    labels = np.empty(len(X), dtype=np.int32)
    find_nearest(X - mean, get_ones(len(X)), centers, metric, None, labels)
    return labels


class MiniBatchPCKMeans(BatchFitMixin, PCKMeans):
    """Pairwise-constrained k-means on batches of rows: links as soft penalties, Euclidean distance.

    Lowers the objective of :class:`PCKMeans`

    .. math::

        \\sum_i \\|x_i - \\mu_{l_i}\\|^2
        + s \\sum_{must} w_{ij} [l_i \\ne l_j] + s \\sum_{cannot} \\bar w_{ij} [l_i = l_j]

    with a few rows at a time (Sculley 2010). The rows of a batch are labelled as in PCKMeans, linked rows
    jointly and the others by the nearest centre, and added to the running sums of each cluster. A centre is
    the mean of all rows ever assigned to its cluster; with a `half_life`, older rows count less. s, the mean
    squared distance between two rows, is estimated from the rows seen before.

    `fit` draws batches from all rows. Linked rows are in every batch; they and their links are weighted down
    so that a batch represents all rows. `partial_fit` takes batches from the caller, with hints about the
    rows of each batch.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    batch_size : int, default=2048
        Number of rows that `fit` draws per batch. The first batch is three times as large.
    half_life : float or None, default=None
        Number of further rows after which the weight of a row has halved. With None all rows count equally.
    must_weight, cannot_weight : float, default=1.0
        Cost of a violated must-link or cannot-link, in units of the mean squared distance between two rows.
        Multiplied by the weight of each link in the hints.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres, drawn from the first batch. With "hints" the first start uses the centroids of the
        must-link components, selected by a weighted farthest-first traversal, and the others are k-means++
        draws. An array gives the only start.
    n_init : int, default=5
        Number of starts that are tried on the first batch.
    max_iter : int, default=100
        Maximum number of passes of `fit`: it draws at most as many rows as this many passes over all rows
        would read.
    tol : float, default=1e-4
        The objective counts as lower only if it falls by more than this, relative to itself.
    max_no_improvement : int or None, default=10
        `fit` stops when the objective, averaged over recent batches, has not become lower for this many
        consecutive batches. With None only `max_iter` stops it.
    reassignment_ratio : float, default=0.01
        From time to time, a cluster that recently gained less than this fraction of the rows of the largest
        cluster is abandoned, and its centre moves to a row far from the others. 0 disables this.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit. Small data use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; after `partial_fit`, of each row of the last batch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The running means of the clusters over all batches. They differ from the means of `labels_`, which
        are assigned at the end.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate; after `partial_fit`, those of the last batch.
    objective_ : float
        The objective per row, averaged over the last batches, each evaluated before its update.
    n_steps_, n_rows_seen_ : int
        Number of batches and of rows that were processed.
    n_iter_ : int
        Number of passes over all rows that would read as many rows; 1 after `partial_fit`.

    Notes
    -----
    A batch of b rows costs O(b k d), plus O(k d) per hinted row and O(k) per link. `fit` reads all rows
    twice, to validate and to label them.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import MiniBatchPCKMeans, Supervision
    >>> rng = np.random.default_rng(0)
    >>> model = MiniBatchPCKMeans(n_clusters=2, random_state=0)
    >>> for _ in range(20):
    ...     X = rng.normal(size=(50, 2)) + [[0, 0], [9, 0]] * 25
    ...     hints = Supervision.from_links(50, must=[(0, 2)], cannot=[(0, 1)])
    ...     model = model.partial_fit(X, supervision=hints)
    >>> np.sort(abs(model.cluster_centers_[:, 0])).round().tolist(), model.n_rows_seen_
    ([0.0, 9.0], 1000)
    """

    parameter_rules: ClassVar[dict[str, Rule]] = {**PCKMeans.parameter_rules, **BatchFitMixin.parameter_rules}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        batch_size: int = 2048,
        half_life: float | None = None,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        reassignment_ratio: float = 0.01,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            must_weight=must_weight,
            cannot_weight=cannot_weight,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.batch_size = batch_size
        self.half_life = half_life
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio


class MiniBatchMPCKMeans(BatchFitMixin, MPCKMeans):
    """Metric pairwise-constrained k-means on batches of rows: links guide the clusters and a learned metric.

    Lowers the objective of :class:`MPCKMeans` with a few rows at a time, as :class:`MiniBatchPCKMeans`
    does. Besides the sums of each cluster it keeps running second moments, of all rows or with
    ``per_cluster=True`` of each cluster, and the contribution of violated links to the scatter. The metric is
    the inverse of this running scatter and is updated after each batch. :math:`D_h`, the largest squared
    distance between two rows, is taken over the rows of the batch, and in `fit` over the first batch and
    the linked rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"full", "diagonal"}, default="full"
        Whether the metric has off-diagonal entries. "diagonal" only rescales the columns.
    per_cluster : bool, default=False
        Whether each cluster has its own metric. If False, all clusters share one.
    batch_size : int, default=2048
        Number of rows that `fit` draws per batch. The first batch is three times as large.
    half_life : float or None, default=None
        Number of further rows after which the weight of a row has halved. With None all rows count equally.
    must_weight, cannot_weight : float, default=1.0
        Cost of a violated must-link or cannot-link, relative to the objective of :class:`MPCKMeans`.
        Multiplied by the weight of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres, drawn from the first batch. With "hints" the first start uses the centroids of the
        must-link components, selected by a weighted farthest-first traversal, and the others are k-means++
        draws. An array gives the only start.
    n_init : int, default=5
        Number of starts that are tried on the first batch.
    max_iter : int, default=100
        Maximum number of passes of `fit`: it draws at most as many rows as this many passes over all rows
        would read.
    tol : float, default=1e-4
        The objective counts as lower only if it falls by more than this, relative to itself.
    max_no_improvement : int or None, default=10
        `fit` stops when the objective, averaged over recent batches, has not become lower for this many
        consecutive batches. With None only `max_iter` stops it.
    reassignment_ratio : float, default=0.01
        From time to time, a cluster that recently gained less than this fraction of the rows of the largest
        cluster is abandoned, and its centre moves to a row far from the others. 0 disables this.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit. Small data use one thread.

    Attributes
    ----------
    metrics_ : ndarray
        The learned metric: (d,) or (d, d) if shared, (k, d) or (k, d, d) if each cluster has its own.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; after `partial_fit`, of each row of the last batch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The running means of the clusters over all batches. They differ from the means of `labels_`, which
        are assigned at the end.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate; after `partial_fit`, those of the last batch.
    objective_ : float
        The objective per row, averaged over the last batches, each evaluated before its update.
    n_steps_, n_rows_seen_ : int
        Number of batches and of rows that were processed.
    n_iter_ : int
        Number of passes over all rows that would read as many rows; 1 after `partial_fit`.

    Notes
    -----
    A batch of b rows costs as much as an iteration of :class:`MPCKMeans` on b rows, plus O(d^3) for a full
    metric, k times as much with a metric per cluster.

    The metric is learned in all columns. With more than 128 columns project the rows first, as in
    ``make_pipeline(PCA(64), MiniBatchMPCKMeans(...))``; :class:`MPCKMeans` does so by itself.

    Examples
    --------
    Two features; people group by the first, which has the smaller spread.

    >>> import numpy as np
    >>> from likewise import MiniBatchMPCKMeans, Supervision
    >>> rng = np.random.default_rng(0)
    >>> meant = np.repeat([0, 1], 400)
    >>> X = np.column_stack([4 * meant + rng.normal(size=800), 20 * rng.uniform(size=800)])
    >>> hints = Supervision.from_links(800, must=[(0, 1), (2, 3), (401, 402)], cannot=[(0, 401), (2, 403)])
    >>> model = MiniBatchMPCKMeans(n_clusters=2, metric="diagonal", batch_size=100, random_state=0)
    >>> model = model.fit(X, supervision=hints)
    >>> model.violations_.share
    1.0
    >>> bool(model.metrics_[0] > 10 * model.metrics_[1])
    True
    """

    parameter_rules: ClassVar[dict[str, Rule]] = {
        **MPCKMeans.parameter_rules,
        **BatchFitMixin.parameter_rules,
        "init": PCKMeans.parameter_rules["init"],  # without "auto", which fits without links first
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricKind = "full",
        per_cluster: bool = False,
        batch_size: int = 2048,
        half_life: float | None = None,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        regularization: float = 0.01,
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        reassignment_ratio: float = 0.01,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            per_cluster=per_cluster,
            must_weight=must_weight,
            cannot_weight=cannot_weight,
            regularization=regularization,
            n_components=None,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.batch_size = batch_size
        self.half_life = half_life
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio
