"""The loop of the k-means family: assign rows, move centres, fit the metric, until the labels converge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from likewise._blocks import Block, Column, Rows, as_rows
from likewise.base import FitProgress
from likewise.kmeans._clusters import (
    NOBODY,
    NOTHING_FIXED,
    ClusterStats,
    FixedLabels,
    Metric,
    assign_rows,
    compute_means,
    compute_second_moment,
    compute_total_cost,
    label_all_zero,
    label_block,
)

if TYPE_CHECKING:
    from likewise.kmeans._mpck import MetricLearning

# Fitting the metric may raise the objective. Stop after this many iterations without improvement.
_PATIENCE = 5


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

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> HintedPlacement:
        """Assign the rows to clusters."""

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
        learning: MetricLearning | None = None,
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
        without = NOBODY if hinted is None else hinted.rows
        self._free_second = self.second = compute_second_moment(self.rows, diagonal=diagonal, without=without)
        if hinted is not None:
            hinted_block = as_rows(hinted.X, weight=hinted.weight)
            self.second = self.second + compute_second_moment(hinted_block, diagonal=diagonal)
        spread = self.second if self.second.ndim == 1 else self.second.diagonal()
        spread = np.sqrt(np.maximum(spread / max(self.rows.total_weight, 1e-300), 0.0))
        self._scale = np.where(spread > 0, spread, 1.0)
        self.variance = float(np.square(spread).mean())  # X is centred

    def assign(self, centers: np.ndarray, metric: Metric, hinted_labels: np.ndarray | None) -> AssignmentPass:
        """Assign every row, given the previous labels of the hinted rows (None in the first pass)."""
        moments = metric.moments or (self.learning.moments if self.learning else None)
        held, placed = NOTHING_FIXED, None
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
            recipe = partial(label_block, fit.centers, fit.metric, fit.assigned.held)
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

        recipe = partial(label_block, centers, metric, held)
        moved = self.rows.sum(move, self._labels, new_recipe=recipe)
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
        metric = self.learning.fit_metric(stats, self.second, centers, hinted_labels, metric, self._scale)
        return centers, metric


def alternate(
    steps: KMeansSteps,
    start: Start,
    *,
    max_iter: int,
    tol: float,
    learn_by: int,
    progress: FitProgress | None = None,
) -> KMeansFit:
    """Alternate the two steps from the given start until the labels converge.

    Fitting the metric may raise the objective, so the best state since the metric was first fitted is
    returned. The fit stops when no label changes, when the squared shift of all centres relative to the mean
    variance of the columns is at most `tol` while the metric is fixed, or when the relative change of the
    objective is at most `tol` while the metric is fitted. From iteration `learn_by` on the metric is fitted
    even if the labels have not converged.
    """
    shift_tol = tol * steps.variance
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
        here = KMeansFit(centers, metric, found, n_iter, True, start)
        objective = found.objective
        stop = progress.step() if progress is not None else False
        # In the first pass, stored labels belong to another start.
        settled = near or (found.stats.changed == 0 and n_iter > start.done + 1)
        settled = settled or (learn and abs(objective - last_objective) <= tol * abs(objective))
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
        moved, metric = steps.update(found.hinted_labels, found.stats, centers, metric, learn)
        near = not learn and float(np.square(moved - centers).sum()) <= shift_tol
        centers, hinted_labels = moved, found.hinted_labels
    else:
        fit = KMeansFit(centers, metric, steps.assign(centers, metric, hinted_labels), max_iter, False, start)
        if best is not None and best.objective < fit.objective:
            fit = replace(best, n_iter=max_iter, converged=False)
    if progress is not None:
        progress.end()
    return fit


@dataclass(frozen=True, eq=False)
class Move:
    """Rows that move together to an empty cluster, with their labels before the move."""

    rows: np.ndarray
    before: np.ndarray
    cluster: int


def choose_moves_to_empty(
    X: Rows,
    labels: Column,
    held: FixedLabels,
    hinted: HintedRowPlacer | None,
    centers: np.ndarray,
    metric: Metric,
    empty: np.ndarray,
) -> list[Move]:
    """Choose, for each empty cluster, the costliest unhinted row or, failing that, the costliest hinted unit.

    Rows that coincide with their centre never move: if only these are left, X has fewer distinct rows than
    clusters. No move empties another cluster.
    """
    k = len(centers)
    sizes = X.sum(partial(_compute_sizes, metric, k), labels)
    rows_left, least = sizes.counts, 1e-12 * sizes.longest

    def compute_costs(rows: np.ndarray, own: np.ndarray, part: np.ndarray) -> np.ndarray:
        cost = metric.compute_distances(rows, centers)[np.arange(len(rows)), own]
        return np.where(cost > least, cost, 0.0) * part

    def find_costliest(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # 2 k candidates suffice: at most k are the last row of a cluster, and at most k clusters are empty.
        assert block.kept is not None
        cost = compute_costs(block.X, block.kept, block.weight)
        cost[held.restrict_to_block(block.rows)[0]] = 0.0
        best = np.argsort(-cost, kind="stable")[: 2 * k]
        best = best[cost[best] > 0]
        return block.rows.start + best, cost[best], block.kept[best]

    found = list(X.map(find_costliest, labels))
    rows, cost, own = (np.concatenate(part) for part in zip(*found, strict=True))
    candidates = [(rows[at : at + 1], own[at : at + 1]) for at in np.argsort(-cost, kind="stable")]
    if hinted is not None:
        unit = hinted.get_units()
        cost = compute_costs(hinted.X, held.labels, hinted.weight)
        order = np.argsort(-cost, kind="stable")
        order = order[(cost[order] > 0) & (unit[order] >= 0)]
        order = order[np.sort(np.unique(unit[order], return_index=True)[1])]
        by_unit = np.argsort(unit, kind="stable")
        first, last = (np.searchsorted(unit[by_unit], unit[order], side=side) for side in ("left", "right"))
        members = (by_unit[a:b] for a, b in zip(first, last, strict=True))
        candidates += [(hinted.rows[unit], held.labels[unit]) for unit in members]

    moves = []
    waiting = iter(candidates)
    for h in empty:
        for moving, before in waiting:
            taken = np.bincount(before, minlength=k)
            if (taken < np.maximum(rows_left, 1)).all():
                rows_left = rows_left - taken
                rows_left[h] += len(moving)
                moves.append(Move(moving, before, int(h)))
                break
    return moves


@dataclass(frozen=True, eq=False)
class _Sizes:
    """The number of rows of each cluster, and the largest squared length of a row."""

    counts: np.ndarray
    longest: float

    def __add__(self, other: _Sizes) -> _Sizes:
        return _Sizes(self.counts + other.counts, max(self.longest, other.longest))


def _compute_sizes(metric: Metric, k: int, block: Block) -> _Sizes:
    assert block.kept is not None
    return _Sizes(
        np.bincount(block.kept, minlength=k), float(metric.compute_lengths(block.X).max(initial=0.0))
    )
