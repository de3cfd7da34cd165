"""The one loop of the k-means family: assign, move the centres, fit the metric, until the labels settle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from likewise._blocks import Block, Rows, as_rows
from likewise.base import FitProgress
from likewise.kmeans._linked_rows import HintedPlacement
from likewise.kmeans._metric import Metric, compute_inverse_metric
from likewise.kmeans._reseed import choose_moves_to_empty
from likewise.kmeans._stats import (
    NOBODY,
    ClusterStats,
    FixedLabels,
    assign_rows,
    compute_second_moment,
    compute_total_cost,
    get_moments_kind,
    label_all_zero,
    make_labeller,
)

# A metric that changes may raise the objective; after so many iterations without a better one we stop.
_PATIENCE = 5


class HintedRowPlacer(Protocol):
    """Rows whose clusters depend on hints. `place` labels them given centres and metric."""

    rows: np.ndarray
    X: np.ndarray
    weight: np.ndarray

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> HintedPlacement:
        """Label the rows."""

    def get_units(self) -> np.ndarray:
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
    a trial, `done` counts the iterations that were made and `hinted_labels` is where they left the hinted
    rows.
    """

    centers: np.ndarray
    metric: Metric
    learn: bool = False
    done: int = 0
    hinted_labels: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class AssignmentPass:
    """What one pass over the rows found; their labels stay where the rows are.

    Attributes
    ----------
    stats : ClusterStats
        What the clusters add up to, and how many labels changed.
    objective : float
        The cost of all rows, and of broken links.
    nearest : ndarray
        The clusters of the hinted rows by distance alone.
    hinted_labels : ndarray
        The clusters of the rows that hints speak of.
    held : Held
        The rows that are not in their nearest cluster: hinted ones, and ones moved to an empty cluster.
    """

    stats: ClusterStats
    objective: float
    nearest: np.ndarray
    hinted_labels: np.ndarray
    held: FixedLabels


@dataclass(frozen=True, eq=False)
class KMeansFit:
    """Where one start ended: centres, metric, and the rows held apart from their nearest cluster.

    These say the labels of all rows (:meth:`KMeansSteps.labels_of`), so none but the last fit's need be kept.
    """

    centers: np.ndarray
    metric: Metric
    assigned: AssignmentPass
    n_iter: int
    converged: bool
    start: Start

    @property
    def objective(self) -> float:
        """The value of the objective."""
        return self.assigned.objective


class KMeansSteps:
    """The two steps of an iteration, over all rows: free rows in bulk, hinted rows in one place.

    The rows named by hints were gathered once. A pass over the blocks is given the centres, the metric and
    the labels of hinted rows; a block keeps its labels and returns statistics that add.
    """

    def __init__(
        self,
        X: np.ndarray | Rows,
        n_clusters: int,
        *,
        hinted: HintedRowPlacer | None = None,
        learning: Learning | None = None,
        watch: np.ndarray = NOBODY,
        fill: bool = True,
    ) -> None:
        self.rows, self.k = as_rows(X), n_clusters
        self._fill = fill  # a cluster without rows gets some
        self.hinted, self.learning = hinted, learning
        self._labels = self.rows.make_column(np.int32, label_all_zero)
        self._labels_are: AssignmentPass | None = None
        self._watch = watch if hinted is None else hinted.rows
        diagonal = learning is None or learning.diagonal
        held = FixedLabels.empty() if hinted is None else FixedLabels(hinted.rows, np.zeros_like(hinted.rows))
        self._free_second = self.second = compute_second_moment(self.rows, diagonal=diagonal, held=held)
        if hinted is not None:
            hinted_block = as_rows(hinted.X, weight=hinted.weight)
            self.second = self.second + compute_second_moment(hinted_block, diagonal=diagonal)
        spread = self.second if self.second.ndim == 1 else self.second.diagonal()
        spread = np.sqrt(np.maximum(spread / max(self.rows.total_weight, 1e-300), 0.0))
        self._scale = np.where(spread > 0, spread, 1.0)
        self.variance = float(np.square(spread).mean())  # X is centred

    def assign(self, centers: np.ndarray, metric: Metric, hinted_labels: np.ndarray | None) -> AssignmentPass:
        """Label every row, given where the rows that hints speak of were before (None: nowhere)."""
        moments = get_moments_kind(metric) or (self.learning.moments if self.learning else None)
        held = FixedLabels.empty()
        placed = None
        if self.hinted is not None:
            placed = self.hinted.place(
                metric, centers, None if hinted_labels is None else hinted_labels.astype(np.int64)
            )
            held = FixedLabels(self.hinted.rows, placed.labels)
        stats = assign_rows(
            self.rows, self._labels, centers, metric, moments=moments, held=held, watch=self._watch
        )
        objective = compute_total_cost(stats, centers, metric, self._free_second)
        nearest = np.empty(0, dtype=np.int64)
        if self.hinted is not None and placed is not None:
            own = ClusterStats.from_labels(
                self.hinted.X, placed.labels, self.hinted.weight, self.k, moments=moments
            )
            stats = stats + own
            objective += placed.energy
            nearest = placed.nearest
        if self._fill and (stats.counts == 0).any():
            stats, held = self._reseed(stats, held, centers, metric, moments)
        done = AssignmentPass(stats, objective, nearest, stats.watched, held)
        self._labels_are = done
        return done

    def collect_labels(self, fit: KMeansFit, renumber: np.ndarray | None = None) -> Any:
        """Return the labels that a fit stands for, and end here; they are there if its pass was the last."""
        if self._labels_are is not fit.assigned:
            # Its recipe is looked at when the labels are, so that no pass is made for nothing else.
            recipe = make_labeller(self.rows.dtype, fit.centers, fit.metric, fit.assigned.held)
            self._labels = self.rows.make_column(np.int32, recipe)
        return self.rows.collect(self._labels, renumber)

    def _reseed(
        self, stats: ClusterStats, held: FixedLabels, centers: np.ndarray, metric: Metric, moments: str | None
    ) -> tuple[ClusterStats, FixedLabels]:
        """Fill empty clusters, where rows can be found for them. Labels are written."""
        empty = np.flatnonzero(stats.counts == 0)
        moves = choose_moves_to_empty(self.rows, self._labels, held, self.hinted, centers, metric, empty)
        if not moves:
            return stats, held
        rows = np.concatenate([move.rows for move in moves])
        before = np.concatenate([move.before for move in moves])
        labels = np.repeat([move.cluster for move in moves], [len(move.rows) for move in moves])
        every, first = np.unique(np.concatenate([rows, held.rows]), return_index=True)
        held = FixedLabels(every, np.concatenate([labels, held.labels])[first].astype(np.int32))
        watched, k = FixedLabels(self._watch, self._watch), self.k

        def move(block: Block) -> ClusterStats:
            assert block.kept is not None
            at, given = held.restrict_to_block(block.rows)
            block.kept[at] = given
            found = ClusterStats.from_labels(block.X, block.kept, block.weight, k, moments=moments)
            return replace(found, watched=block.kept[watched.restrict_to_block(block.rows)[0]])

        recipe = make_labeller(self.rows.dtype, centers, metric, held)
        moved = self.rows.sum(move, self._labels, becomes=recipe)
        return replace(moved, changed=stats.changed + self._count_changes(rows, before, labels)), held

    def _count_changes(self, rows: np.ndarray, before: np.ndarray, labels: np.ndarray) -> int:
        """Return by how many the changed labels become more if `rows` go from `before` to `labels`.

        A row that was held in the pass before is known to have been where it goes now, or not; any other
        row is taken as changed.
        """
        if self._labels_are is None:
            return len(rows)
        last = self._labels_are.held
        at = np.minimum(np.searchsorted(last.rows, rows), max(len(last.rows) - 1, 0))
        known = last.rows[at] == rows if len(last.rows) else np.zeros(len(rows), dtype=bool)
        was = last.labels[at[known]]
        more = np.count_nonzero(labels[known] != was) - np.count_nonzero(before[known] != was)
        return int(more + np.count_nonzero(~known))

    def update(
        self, hinted_labels: np.ndarray, stats: ClusterStats, centers: np.ndarray, metric: Metric, learn: bool
    ) -> tuple[np.ndarray, Metric]:
        """Move the centres to the means of their rows, and fit the metric if `learn`."""
        centers = compute_means(stats, centers)
        if not learn or self.learning is None:
            return centers, metric
        scatter, mass = compute_scatter(stats, self.second, centers, self.learning.per_cluster)
        if self.learning.violations is not None:
            self.learning.violations.add_violations(scatter, hinted_labels, metric)
        return centers, compute_inverse_metric(scatter, mass, self._scale, self.learning.floor)


def compute_means(stats: ClusterStats, centers: np.ndarray) -> np.ndarray:
    """Return the means of the clusters; an empty one keeps its centre."""
    filled = stats.counts > 0
    return np.where(filled[:, None], stats.sums / np.where(filled, stats.counts, 1.0)[:, None], centers)


def compute_scatter(
    stats: ClusterStats, second: np.ndarray, centers: np.ndarray, per_cluster: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scatter about the centres, of each cluster or of all in one, and its total weight.

    `second` is the second moment of all rows; a cluster's own is in the statistics.
    """
    if per_cluster:
        assert stats.second is not None
        return stats.second - _compute_weighted_squares(
            stats.counts, centers, stats.second.ndim
        ), stats.counts
    within = second - _compute_weighted_squares(stats.counts, centers, second.ndim + 1).sum(axis=0)
    return within[None], np.array([stats.counts.sum()])


def _compute_weighted_squares(counts: np.ndarray, centers: np.ndarray, ndim: int) -> np.ndarray:
    if ndim == 2:
        return counts[:, None] * np.square(centers)
    return counts[:, None, None] * centers[:, :, None] * centers[:, None, :]


def alternate(
    steps: KMeansSteps,
    start: Start,
    *,
    max_iter: int,
    shift_tol: float,
    cost_tol: float,
    learn_by: int,
    progress: FitProgress | None = None,
) -> KMeansFit:
    """Alternate the two steps from the given start until the labels settle.

    Fitting the metric may raise the objective, so the best state since the metric was first fitted is
    returned. Besides unchanged labels, this ends a fit: centres that together move by less than `shift_tol`
    (squared) while the metric is fixed, or an objective that changes by less than `cost_tol` of itself while
    the metric is fitted. In iteration `learn_by` the metric is fitted even if the labels never settled.
    """
    centers, metric = start.centers, start.metric
    learn = start.learn and steps.learning is not None
    best: KMeansFit | None = None
    hinted_labels = start.hinted_labels
    stale = 0
    near = False
    last_objective = np.inf
    for n_iter in range(start.done + 1, max_iter + 1):
        found = steps.assign(centers, metric, hinted_labels)
        here = KMeansFit(centers, metric, found, n_iter, True, start)
        objective = found.objective
        stop = progress.step() if progress is not None else False
        # In a start's first pass the labels before it were not its own.
        settled = near or (found.stats.changed == 0 and n_iter > start.done + 1)
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
        moved, metric = steps.update(found.hinted_labels, found.stats, centers, metric, learn)
        near = not learn and float(np.square(moved - centers).sum()) <= shift_tol
        centers, hinted_labels = moved, found.hinted_labels
    last = KMeansFit(centers, metric, steps.assign(centers, metric, hinted_labels), max_iter, False, start)
    if best is not None and best.objective < last.objective:
        last = replace(best, n_iter=max_iter)
    return replace(last, converged=False)
