"""Choice of the rows that move to empty clusters, among the costliest rows of each block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from likewise._blocks import Block, Column, Rows
from likewise.kmeans._metric import Metric
from likewise.kmeans._stats import FixedLabels

if TYPE_CHECKING:
    from likewise.kmeans._alternation import HintedRowPlacer


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
