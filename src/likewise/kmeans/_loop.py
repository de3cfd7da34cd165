"""The one loop of the k-means family: assign, move the centres, fit the metric, until the labels settle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from likewise.base import Progress
from likewise.kmeans._links import Placed
from likewise.kmeans._metric import Metric, inverse_metric
from likewise.kmeans._stats import ClusterStats, assign_rows, moments_of, second_moment, total_cost

# A metric that changes may raise the objective; after so many iterations without a better one we stop.
_PATIENCE = 5


class HintedRows(Protocol):
    """Rows whose clusters depend on hints. `place` labels them given centres and metric."""

    rows: np.ndarray
    X: np.ndarray
    weight: np.ndarray

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> Placed:
        """Label the rows."""

    def units(self) -> np.ndarray:
        """Return a number for each row; rows of one number move to an empty cluster together, -1 never."""


class Violations(Protocol):
    """Adds what broken links contribute to the scatter that a metric is learned from."""

    rows: np.ndarray

    def add_violations(self, scatter: np.ndarray, labels: np.ndarray, metric: Metric) -> None:
        """Add to `scatter`."""


@dataclass(frozen=True)
class Learning:
    """How a metric is learned."""

    diagonal: bool
    per_cluster: bool
    floor: float
    violations: Violations | None

    @property
    def moments(self) -> str | None:
        """The second moments that are wanted of each cluster."""
        return None if not self.per_cluster else "diagonal" if self.diagonal else "full"


@dataclass(frozen=True, eq=False)
class Start:
    """Where one start begins. With `learn` the metric is fitted from the first iteration on.

    Without, the given metric is kept until the labels settle for the first time. Where a start goes on after
    a trial, `done` counts the iterations that were made and `labels` is what they led to.
    """

    centers: np.ndarray
    metric: Metric
    learn: bool = False
    done: int = 0
    labels: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """Where one start ended: labels, and the centres and metric that gave them."""

    labels: np.ndarray
    centers: np.ndarray
    metric: Metric
    objective: float
    nearest: np.ndarray  # clusters of the hinted rows by distance alone
    n_iter: int
    converged: bool
    start: Start


class Steps:
    """The two steps of an iteration, over all rows: free rows in bulk, hinted rows in one place."""

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray,
        n_clusters: int,
        *,
        hinted: HintedRows | None = None,
        learning: Learning | None = None,
        threads: int = 1,
    ) -> None:
        self.X, self.weight, self.k = X, weight, n_clusters
        self.hinted, self.learning, self.threads = hinted, learning, threads
        self._free_weight = weight
        if hinted is not None:
            self._free_weight = weight.copy()
            self._free_weight[hinted.rows] = 0.0
        diagonal = learning is None or learning.diagonal
        self._free_second = self._second = second_moment(X, self._free_weight, diagonal=diagonal)
        if hinted is not None:
            self._second = self._second + second_moment(hinted.X, hinted.weight, diagonal=diagonal)
        spread = self._second if self._second.ndim == 1 else self._second.diagonal()
        spread = np.sqrt(np.maximum(spread / max(weight.sum(), 1e-300), 0.0))
        self._scale = np.where(spread > 0, spread, 1.0)
        self.variance = float(np.square(spread).mean())  # X is centred

    def assign(
        self, centers: np.ndarray, metric: Metric, previous: np.ndarray | None
    ) -> tuple[np.ndarray, ClusterStats, float, np.ndarray]:
        """Label every row; return labels, statistics, objective, and the hinted rows' nearest clusters."""
        labels = np.empty(len(self.X), dtype=np.int32)
        moments = moments_of(metric) or (self.learning.moments if self.learning else None)
        stats = assign_rows(self.X, self._free_weight, centers, metric, labels, self.threads, moments=moments)
        objective = total_cost(stats, centers, metric, self._free_second)
        nearest = np.empty(0, dtype=np.int64)
        if self.hinted is not None:
            before = None if previous is None else previous[self.hinted.rows].astype(np.int64)
            placed = self.hinted.place(metric, centers, before)
            labels[self.hinted.rows] = placed.labels
            own = ClusterStats.of(self.hinted.X, placed.labels, self.hinted.weight, self.k, moments=moments)
            stats = stats + own
            objective += placed.energy
            nearest = placed.nearest
        if (stats.counts == 0).any() and self._reseed(labels, stats, centers, metric):
            stats = ClusterStats.of(self.X, labels, self.weight, self.k, moments=moments)
        return labels, stats, objective, nearest

    def _reseed(self, labels: np.ndarray, stats: ClusterStats, centers: np.ndarray, metric: Metric) -> bool:
        """Give each empty cluster the free row with the largest cost, or else the costliest hinted unit.

        Rows on their centre are left alone: X has fewer distinct rows than clusters. Labels are written.
        """
        own = metric.distances(self.X, centers)[np.arange(len(self.X)), labels]
        own = np.where(own > 1e-12 * metric.lengths(self.X).max(), own, 0.0) * self.weight
        unit = np.arange(len(self.X))
        if self.hinted is not None:
            units = self.hinted.units()
            unit[self.hinted.rows] = np.where(units < 0, -1, len(self.X) + units)
        # Candidates are units, each by its costliest row: free rows first, rows that never move not at all.
        order = np.lexsort((-own, unit >= len(self.X)))
        order = order[(own[order] > 0) & (unit[order] >= 0)]
        order = order[np.sort(np.unique(unit[order], return_index=True)[1])]
        by_unit = np.argsort(unit, kind="stable")
        first, last = (np.searchsorted(unit[by_unit], unit[order], side=side) for side in ("left", "right"))
        rows_left = np.bincount(labels, minlength=self.k)
        candidates = iter(zip(first, last, strict=True))
        changed = False
        for h in np.flatnonzero(stats.counts == 0):
            for start, stop in candidates:
                moving = by_unit[start:stop]
                taken = np.bincount(labels[moving], minlength=self.k)
                if (taken < np.maximum(rows_left, 1)).all():  # no cluster is emptied by it
                    rows_left -= taken
                    rows_left[h] += len(moving)
                    labels[moving] = h
                    changed = True
                    break
        return changed

    def update(
        self, labels: np.ndarray, stats: ClusterStats, centers: np.ndarray, metric: Metric, learn: bool
    ) -> tuple[np.ndarray, Metric]:
        """Move the centres to the means of their rows, and fit the metric if `learn`."""
        filled = stats.counts > 0
        centers = np.where(
            filled[:, None], stats.sums / np.where(filled, stats.counts, 1.0)[:, None], centers
        )
        if not learn or self.learning is None:
            return centers, metric
        if self.learning.per_cluster:
            assert stats.second is not None
            scatter, mass = (
                stats.second - _weighted_squares(stats.counts, centers, stats.second.ndim),
                stats.counts,
            )
        else:
            ndim = self._second.ndim + 1
            within = self._second - _weighted_squares(stats.counts, centers, ndim).sum(axis=0)
            scatter, mass = within[None], np.array([stats.counts.sum()])
        if self.learning.violations is not None:
            hinted = self.learning.violations
            hinted.add_violations(scatter, labels[hinted.rows], metric)
        return centers, inverse_metric(scatter, mass, self._scale, self.learning.floor)


def _weighted_squares(counts: np.ndarray, centers: np.ndarray, ndim: int) -> np.ndarray:
    if ndim == 2:
        return counts[:, None] * np.square(centers)
    return counts[:, None, None] * centers[:, :, None] * centers[:, None, :]


def alternate(
    steps: Steps,
    start: Start,
    *,
    max_iter: int,
    shift_tol: float,
    cost_tol: float,
    learn_by: int,
    progress: Progress | None = None,
) -> Fit:
    """Alternate the two steps from the given start until the labels settle.

    Fitting the metric may raise the objective, so the best state since the metric was first fitted is
    returned. Besides unchanged labels, this ends a fit: centres that together move by less than `shift_tol`
    (squared) while the metric is fixed, or an objective that changes by less than `cost_tol` of itself while
    the metric is fitted. In iteration `learn_by` the metric is fitted even if the labels never settled.
    """
    centers, metric = start.centers, start.metric
    learn = start.learn and steps.learning is not None
    best: Fit | None = None
    previous = start.labels
    stale = 0
    near = False
    last_objective = np.inf
    for n_iter in range(start.done + 1, max_iter + 1):
        labels, stats, objective, nearest = steps.assign(centers, metric, previous)
        here = Fit(labels, centers, metric, objective, nearest, n_iter, True, start)
        stop = progress.step() if progress is not None else False
        same = previous is not None and np.array_equal(labels, previous)
        settled = near or (same and n_iter > start.done + 1)  # a trial's labels are those of its centres
        settled = settled or (learn and abs(objective - last_objective) <= cost_tol * abs(objective))
        last_objective = objective
        final = learn or steps.learning is None
        if final and (best is None or objective < best.objective - 1e-9 * abs(best.objective)):
            best, stale = here, 0
        else:
            stale += final
        if settled and final:
            return replace(here if steps.learning is None else best or here, n_iter=n_iter - near)
        if stop or (learn and stale >= _PATIENCE):
            return replace(best or here, n_iter=n_iter)
        learn = steps.learning is not None and (learn or settled or n_iter >= learn_by)
        moved, metric = steps.update(labels, stats, centers, metric, learn)
        near = not learn and float(np.square(moved - centers).sum()) <= shift_tol
        centers, previous = moved, labels
    labels, _, objective, nearest = steps.assign(centers, metric, previous)
    last = Fit(labels, centers, metric, objective, nearest, max_iter, False, start)
    if best is not None and best.objective < objective:
        last = replace(best, n_iter=max_iter)
    return replace(last, converged=False)
