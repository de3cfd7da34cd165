"""The farthest two rows under a metric that keeps changing."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import euclidean_distances

from likewise.kmeans._metric import Metric

# All rows are compared below this many; above it, the rows that are extreme along some direction.
_EXACT_ROWS = 256
_N_DIRECTIONS = 64


class Reach:
    """Finds ``D_h = max ||u - v||^2_{A_h}`` over rows u, v, and the pair that attains it.

    An exact search costs n^2 d for each new metric. A pair that is farthest under any metric lies on the
    convex hull, so the rows that are extreme along the columns and along drawn directions are gathered once
    and only these are compared: exact up to 256 rows, a lower bound beyond. The largest length among
    `pairs` (the cannot-links) is counted in, so that no penalty ``D_h - ||x_i - x_j||^2`` is negative.
    """

    def __init__(self, X: np.ndarray, pairs: np.ndarray, rng: np.random.RandomState) -> None:
        directions = rng.normal(size=(X.shape[1], _N_DIRECTIONS)).astype(X.dtype)
        if len(X) > _EXACT_ROWS:
            high, low = X.argmax(axis=0), X.argmin(axis=0)
            spread = np.argsort(-(X.max(axis=0) - X.min(axis=0)), kind="stable")[:_N_DIRECTIONS]
            projected = X @ directions
            ends = [high[spread], low[spread], projected.argmax(axis=0), projected.argmin(axis=0)]
            X = X[np.unique(np.concatenate(ends))]
        self._points = np.asarray(X, dtype=np.float64)
        self._pairs = pairs

    def farthest(self, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
        """Return D (H,) and the differences u - v (H, d)."""
        reach, difference = [], []
        stated = metric.lengths(self._pairs) if len(self._pairs) else None
        for h in range(len(metric.A)):
            squared = euclidean_distances(metric.embed(self._points, h), squared=True)
            u, v = np.unravel_index(int(squared.argmax()), squared.shape)
            best, vector = squared[u, v], self._points[u] - self._points[v]
            if stated is not None and stated[:, h].max() > best:
                best, vector = stated[:, h].max(), self._pairs[int(stated[:, h].argmax())]
            reach.append(best)
            difference.append(vector)
        return np.array(reach), np.array(difference)
