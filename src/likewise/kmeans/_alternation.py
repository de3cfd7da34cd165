"""The loop of the k-means family: assign rows, move centres, fit the metric, until the labels converge."""

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

# Fitting the metric may raise the objective. Stop after this many iterations without improvement.
_PATIENCE = 5


class HintedRowPlacer(Protocol):
    """Rows whose clusters depend on hints. `place` assigns them, given centres and metric."""

    rows: np.ndarray
    X: np.ndarray
    weight: np.ndarray

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> HintedPlacement:
        """Assign the rows to clusters."""

    def get_units(self) -> np.ndarray:
        """Return the unit of each row. A unit moves to an empty cluster as a whole; unit -1 never moves."""


class Violations(Protocol):
    """The contribution of broken links to the scatter matrix from which a metric is learned."""

    rows: np.ndarray

    def add_violations(self, scatter: np.ndarray, labels: np.ndarray, metric: Metric) -> None:
        """Add the contribution to `scatter` in place."""


@dataclass(frozen=True)
class Learning:
    """Settings of metric learning. `floor` bounds the eigenvalues of the scatter, relative to their mean."""

    diagonal: bool
    per_cluster: bool
    floor: float
    violations: Violations | None

    @property
    def moments(self) -> str | None:
        """The kind of second moments needed per cluster; None if the clusters share a metric."""
        return None if not self.per_cluster else "diagonal" if self.diagonal else "full"


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
class AssignmentPass:
    """The result of one assignment pass. The labels of all rows are kept with the rows, not here.

    Attributes
    ----------
    stats : ClusterStats
        The sums of each cluster, and the number of labels that changed.
    objective : float
        The cost of all rows plus that of broken links.
    nearest : ndarray
        The nearest cluster of each hinted row, regardless of hints.
    hinted_labels : ndarray
        The cluster of each hinted row.
    held : FixedLabels
        The rows that need not be in their nearest cluster: hinted rows, and rows moved to an empty cluster.
    """

    stats: ClusterStats
    objective: float
    nearest: np.ndarray
    hinted_labels: np.ndarray
    held: FixedLabels


@dataclass(frozen=True, eq=False)
class KMeansFit:
    """The result of one start: centres, metric, and the fixed labels of hinted and moved rows.

    These determine the labels of all rows (:meth:`KMeansSteps.collect_labels`), so fits do not store them.
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
    """The assignment and update steps of one iteration.

    Hinted rows are gathered once and assigned jointly; all other rows are processed block by block. Each
    block keeps its labels and returns statistics that add up.
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
        self._fill = fill  # whether to move rows to empty clusters
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
        """Assign every row, given the previous labels of the hinted rows (None in the first pass)."""
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
        """Return the labels of all rows under a fit. The steps cannot be used afterwards."""
        if self._labels_are is not fit.assigned:
            # The stored labels are those of another fit. They are recomputed while they are collected, so
            # this needs no extra pass.
            recipe = make_labeller(self.rows.dtype, fit.centers, fit.metric, fit.assigned.held)
            self._labels = self.rows.make_column(np.int32, recipe)
        return self.rows.collect(self._labels, renumber)

    def _reseed(
        self, stats: ClusterStats, held: FixedLabels, centers: np.ndarray, metric: Metric, moments: str | None
    ) -> tuple[ClusterStats, FixedLabels]:
        """Move rows to empty clusters if suitable rows exist, and update the labels."""
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
        """Return how many more labels differ from the previous pass if `rows` move from `before` to `labels`.

        Previous labels are known only for rows that were fixed in the previous pass; all other rows count
        as changed.
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
    """Return the means of the clusters; an empty cluster keeps its centre."""
    filled = stats.counts > 0
    return np.where(filled[:, None], stats.sums / np.where(filled, stats.counts, 1.0)[:, None], centers)


def compute_scatter(
    stats: ClusterStats, second: np.ndarray, centers: np.ndarray, per_cluster: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scatter about the centres and its total weight, per cluster or pooled over clusters.

    `second` is the second moment of all rows; second moments per cluster are in `stats`.
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
    """Alternate the two steps from the given start until the labels converge.

    Fitting the metric may raise the objective, so the best state since the metric was first fitted is
    returned. The fit stops when no label changes, when the squared shift of all centres is at most
    `shift_tol` while the metric is fixed, or when the relative change of the objective is at most `cost_tol`
    while the metric is fitted. From iteration `learn_by` on the metric is fitted even if the labels have not
    converged.
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
        # In the first pass, stored labels belong to another start.
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
