"""Empty clusters, and which rows move there: blocks return their costliest rows, and one place chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from likewise._rows import Rows
from likewise.kmeans._metric import Metric
from likewise.kmeans._stats import Held

if TYPE_CHECKING:
    from likewise.kmeans._loop import HintedRows


@dataclass(frozen=True, eq=False)
class Move:
    """Rows that go together to an empty cluster."""

    rows: np.ndarray
    before: np.ndarray
    cluster: int


def moves_to_empty(
    X: Rows,
    weight: np.ndarray,
    labels: np.ndarray,
    held: Held,
    hinted: HintedRows | None,
    centers: np.ndarray,
    metric: Metric,
    empty: np.ndarray,
) -> list[Move]:
    """Choose for each empty cluster the free row with the largest cost, or else the costliest hinted unit.

    Rows on their centre are left alone: X has fewer distinct rows than clusters. No cluster is emptied.
    """
    k = len(centers)

    def sizes(block: np.ndarray, rows: slice) -> tuple[np.ndarray, float]:
        return np.bincount(labels[rows], minlength=k), float(metric.lengths(block).max(initial=0.0))

    parts = list(X.map(sizes))
    rows_left = np.sum([counts for counts, _ in parts], axis=0)
    least = 1e-12 * max(longest for _, longest in parts)

    def costs(block: np.ndarray, own: np.ndarray, part: np.ndarray) -> np.ndarray:
        cost = metric.distances(block, centers)[np.arange(len(block)), own]
        return np.where(cost > least, cost, 0.0) * part

    def costliest(block: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        # At most k clusters have one row left, and at most k are empty: no more rows are ever looked at.
        cost = costs(block, labels[rows], weight[rows])
        cost[held.within(rows)[0]] = 0.0
        best = np.argsort(-cost, kind="stable")[: 2 * k]
        best = best[cost[best] > 0]
        return rows.start + best, cost[best]

    rows, cost = (np.concatenate(found) for found in zip(*X.map(costliest), strict=True))
    candidates = [rows[at : at + 1] for at in np.argsort(-cost, kind="stable")]
    if hinted is not None:
        unit = hinted.units()
        cost = costs(hinted.X, labels[hinted.rows], hinted.weight)
        order = np.argsort(-cost, kind="stable")
        order = order[(cost[order] > 0) & (unit[order] >= 0)]
        order = order[np.sort(np.unique(unit[order], return_index=True)[1])]
        by_unit = np.argsort(unit, kind="stable")
        first, last = (np.searchsorted(unit[by_unit], unit[order], side=side) for side in ("left", "right"))
        candidates += [hinted.rows[by_unit[a:b]] for a, b in zip(first, last, strict=True)]

    moves = []
    waiting = iter(candidates)
    for h in empty:
        for moving in waiting:
            taken = np.bincount(labels[moving], minlength=k)
            if (taken < np.maximum(rows_left, 1)).all():
                rows_left = rows_left - taken
                rows_left[h] += len(moving)
                moves.append(Move(moving, labels[moving], int(h)))
                break
    return moves
