"""The two rows that are farthest apart under a metric that changes in every iteration."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import row_norms

from likewise._blocks import Block, Rows, as_rows
from likewise.kmeans._metric import Metric

# Up to this many rows, all are compared; above it, only rows that are extreme along some direction.
_EXACT_ROWS = 256
_GROUPED_ROWS = 1024
_N_COLUMNS = 32
_N_DRAWN = 32


class FarthestRows:
    """Candidates for the farthest pair of rows: ``D_h = max ||u - v||^2_{A_h}`` over rows u, v.

    An exact search costs n^2 d for each new metric. The farthest pair under any metric lies on the convex
    hull, so rows that are extreme along columns or random directions are gathered once, and only these are
    compared: exact up to 256 rows, a lower bound beyond. The differences of cannot-linked rows (`pairs`) and
    the rows in cannot-link groups (`grouped`; if more than 1,024, only the extreme ones) are candidates too,
    so that no penalty ``D_h - ||x_i - x_j||^2`` is negative.
    """

    def __init__(
        self, X: np.ndarray | Rows, pairs: np.ndarray, grouped: np.ndarray, rng: np.random.RandomState
    ) -> None:
        X = as_rows(X)
        drawn = rng.normal(size=(_N_DRAWN, X.shape[1]))
        if len(X) <= _EXACT_ROWS:
            points = X.take(np.arange(len(X)))
        else:
            spread = X.take(np.arange(0, len(X), max(1, len(X) // 10_000))).std(axis=0)
            widest = np.argsort(-spread, kind="stable")[:_N_COLUMNS]
            directions = np.vstack([np.eye(X.shape[1])[widest], drawn / np.where(spread > 0, spread, 1.0)])
            points = X.take(_find_extremes(X, directions.astype(X.dtype)))
            if len(grouped) > _GROUPED_ROWS:
                grouped = grouped[_find_extremes(as_rows(grouped), directions)]
            points = np.vstack([points, grouped])
        self._points = np.asarray(points, dtype=np.float64)
        self._pairs = pairs

    def find_farthest(self, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest squared distances D, shape (H,), and the differences u - v, shape (H, d)."""
        reach, difference = [], []
        stated = metric.compute_lengths(self._pairs) if len(self._pairs) else None
        for h in range(len(metric.A)):
            Z = metric.embed(self._points, h)
            norms = row_norms(Z, squared=True)
            squared = norms[:, None] + norms - 2.0 * (Z @ Z.T)
            u, v = np.unravel_index(int(squared.argmax()), squared.shape)
            best, vector = squared[u, v], self._points[u] - self._points[v]
            if stated is not None and stated[:, h].max() > best:
                best, vector = stated[:, h].max(), self._pairs[int(stated[:, h].argmax())]
            reach.append(best)
            difference.append(vector)
        return np.array(reach), np.array(difference)


def _find_extremes(X: Rows, directions: np.ndarray) -> np.ndarray:
    """Return the rows with the largest or the smallest projection on some direction, block by block."""

    def find_in_block(block: Block) -> tuple[np.ndarray, np.ndarray]:
        if not len(block):
            return np.zeros(2 * len(directions), dtype=np.int64), np.full(2 * len(directions), -np.inf)
        projected = directions @ block.X.T
        at = np.concatenate([projected.argmax(axis=1), projected.argmin(axis=1)])
        return block.rows.start + at, np.concatenate([projected.max(axis=1), -projected.min(axis=1)])

    best = np.full(2 * len(directions), -np.inf)
    found = np.zeros(len(best), dtype=np.int64)
    for at, value in X.map(find_in_block):
        farther = value > best
        best = np.where(farther, value, best)
        found = np.where(farther, at, found)
    return np.unique(found)
