"""Starting points: must-link components, farthest-first walks, k-means++ draws; and the choice among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from likewise._rows import Rows, as_rows
from likewise.supervision import Closure, Groups, Supervision

__all__ = [
    "component_centroids",
    "extend_seeds",
    "farthest_first",
    "fewest_broken",
    "hinted_space",
    "seeds_from_closure",
]


def component_centroids(
    X: np.ndarray | Rows, closure: Closure, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids and total weights of the components of two rows or more, heaviest first."""
    rows = np.flatnonzero(closure.sizes[closure.component] >= 2)
    names, place = np.unique(closure.component[rows], return_inverse=True)
    total = np.bincount(place, weights=weight[rows], minlength=len(names))
    sums = np.zeros((len(names), X.shape[1]))
    np.add.at(sums, place, weight[rows, None] * as_rows(X).take(rows))
    use = total > 0
    centroids, total = sums[use] / total[use, None], total[use]
    order = np.argsort(-total, kind="stable")
    return centroids[order], total[order]


def farthest_first(points: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Choose k of the points: the heaviest, then again and again the largest weight x squared distance.

    Bilenko, Basu & Mooney 2004 start from such a walk over the centroids of the must-link components.
    """
    chosen = [int(np.argmax(weight))]
    nearest = row_norms(points - points[chosen[0]], squared=True)
    while len(chosen) < k:
        chosen.append(int(np.argmax(weight * nearest)))
        nearest = np.minimum(nearest, row_norms(points - points[chosen[-1]], squared=True))
    return points[chosen]


def extend_seeds(
    X: np.ndarray | Rows, seeds: np.ndarray, k: int, weight: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Add rows to the seeds until there are k, each drawn in proportion to its squared distance to them.

    Of ``2 + log k`` draws the one that brings the rows nearest is kept, as in greedy k-means++. With no
    seeds the first is drawn by weight alone, and the draws are those of scikit-learn's `kmeans_plusplus`:
    up to one block it is called itself, and beyond one block float32 rows are added up in float64, so that
    a draw may fall on another row. Rows in blocks are passed over once for each seed; a block keeps the
    distance of each of its rows to the nearest seed and returns sums, so that only the blocks that a draw
    falls into are read again.
    """
    X = as_rows(X)
    seeds = np.asarray(seeds, dtype=np.float64).reshape(-1, X.shape[1])
    if len(seeds) == 0 and len(X.blocks) == 1:
        block = X.read(X.blocks[0])
        drawn, _ = kmeans_plusplus(block, k, sample_weight=weight, random_state=rng)
        return np.asarray(drawn, dtype=np.float64)
    nearest = _Nearest(X, weight, _from_differences if len(seeds) else _from_products)
    if len(seeds) == 0:
        seeds = X.take(nearest.draw_by_weight(rng)).astype(np.float64)
    if len(seeds) < k:
        nearest.approach(seeds)
    while len(seeds) < k:
        drawn = nearest.draw(rng.uniform(size=2 + int(np.log(k))))
        best = nearest.best_of(drawn, last=len(seeds) + 1 == k)
        seeds = np.vstack([seeds, drawn[best]])
    return seeds


class _Nearest:
    """The squared distance of each row to its nearest seed.

    The distances to the newest seed are worked out where they are wanted, so that adding it takes no pass.
    """

    def __init__(self, X: Rows, weight: np.ndarray, squared: Squared) -> None:
        self._X, self._weight, self._squared = X, weight, squared
        self._squares = np.full(len(X), np.inf, dtype=X.dtype)  # to all seeds but the newest
        self._newest = np.empty((0, X.shape[1]))
        self._mass = np.empty(0)  # of each block, the newest seed counted in

    def draw_by_weight(self, rng: np.random.RandomState) -> np.ndarray:
        """Draw one row."""
        mass = np.array([self._weight[rows].sum() for rows in self._X.blocks])
        block, rest = _into(mass, np.array([rng.random_sample()]) * mass.sum())
        rows = self._X.blocks[block[0]]
        at = np.searchsorted(np.cumsum(self._weight[rows]), rest[0], side="right")
        return np.array([min(rows.start + at, rows.stop - 1)])

    def _weights(self, rows: slice) -> np.ndarray:
        return np.ascontiguousarray(self._weight[rows])

    def _up_to_date(self, block: np.ndarray, rows: slice) -> np.ndarray:
        if not len(self._newest):
            return self._squares[rows]
        return np.minimum(self._squares[rows], self._squared(self._newest, block).min(axis=0))

    def approach(self, seeds: np.ndarray) -> None:
        """Bring the distances up to date with the first seeds."""

        def mass(block: np.ndarray, rows: slice) -> float:
            for seed in seeds:
                self._squares[rows] = np.minimum(self._squares[rows], self._squared(seed[None], block)[0])
            return float(self._squares[rows] @ self._weights(rows))

        self._mass = np.array(list(self._X.map(mass)))

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Return the rows that numbers between 0 and 1 fall on, laid out in proportion to distance."""
        block_of, rest = _into(self._mass, uniform * self._mass.sum())
        drawn = np.empty((len(uniform), self._X.shape[1]))
        for number in np.unique(block_of):
            rows = self._X.blocks[number]
            block = self._X.read(rows)
            here = block_of == number
            mass = np.cumsum(self._weight[rows] * self._up_to_date(block, rows), dtype=np.float64)
            drawn[here] = block[np.minimum(np.searchsorted(mass, rest[here]), len(block) - 1)]
        return drawn

    def best_of(self, drawn: np.ndarray, *, last: bool) -> int:
        """Return which of the drawn rows brings all rows nearest, and make it the newest seed."""

        def masses(block: np.ndarray, rows: slice) -> np.ndarray:
            squares = self._squared(np.vstack([self._newest, drawn]), block)
            if len(self._newest):
                self._squares[rows] = np.minimum(self._squares[rows], squares[0])
            closer = np.minimum(self._squares[rows], squares[len(self._newest) :])
            return closer @ self._weights(rows)

        mass = np.array(list(self._X.map(masses)))
        best = int(np.argmin(mass.sum(axis=0)))
        self._newest, self._mass = drawn[best][None], mass[:, best]
        return best


Squared = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _from_products(points: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return the squared distances (points, rows) by one matrix product in float64, as scikit-learn does."""
    rows = np.asarray(block, dtype=np.float64)
    out = -2.0 * (points @ rows.T)
    out += row_norms(points, squared=True)[:, None]
    out += row_norms(rows, squared=True)
    return np.maximum(out, 0.0, out=out).astype(block.dtype, copy=False)


def _from_differences(points: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return the squared distances (points, rows), exact for rows that are points."""
    return np.stack([row_norms(block - point.astype(block.dtype), squared=True) for point in points])


def _into(mass: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the stretches laid end to end each value falls into, and how far into it."""
    ends = np.cumsum(mass)
    at = np.minimum(np.searchsorted(ends, value), len(mass) - 1)
    at = np.where(mass[at] > 0, at, np.argmax(mass))  # where all stretches are empty, any will do
    return at, value - np.where(at > 0, ends[at - 1], 0.0)


def seeds_from_closure(
    X: np.ndarray | Rows, closure: Closure, k: int, weight: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Return k starting centres that respect the must-links.

    With k components of two rows or more: the weighted farthest-first walk over their centroids. With
    fewer: all their centroids, and k-means++ draws for the rest.
    """
    centroids, total = component_centroids(X, closure, weight)
    if len(centroids) >= k:
        return farthest_first(centroids, total, k)
    return extend_seeds(X, centroids, k, weight, rng)


def hinted_space(X: np.ndarray, hints: Supervision) -> np.ndarray:
    """Return the rows in a linear space in which the links look natural; a start may be drawn there.

    Directions in which cannot-linked rows lie apart and must-linked ones do not are stretched. With B the
    scatter of must-linked differences and A that of cannot-linked ones, each pulled towards the scatter of
    all rows by as many more links as there are features, rows are whitened by B and then each principal
    direction of A is stretched by its variance there. Links of groups count as the stars that join them.
    """
    d = X.shape[1]
    # In units of the standard deviations, so that the ridge means the same for every column.
    scale = X.std(axis=0, dtype=np.float64)
    rows = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)
    rows /= np.where(scale > 0, scale, 1.0)
    everything = 2 * (rows.T @ rows) / len(rows)
    everything[np.diag_indices(d)] += 1e-6

    def scatter(pairs: np.ndarray, groups: Groups) -> np.ndarray:
        ends = np.concatenate([pairs, groups.star_edges()])
        steps = rows[ends[:, 0]] - rows[ends[:, 1]]
        found: np.ndarray = (steps.T @ steps + d * everything) / (len(steps) + d)
        return found

    must = scatter(hints.must, hints.must_groups)
    cannot = scatter(hints.cannot, hints.cannot_groups)
    values, directions = eigh(cannot, must)  # directions' must directions = I
    return np.asarray((rows @ directions) * values, dtype=X.dtype)


def fewest_broken(clusterings: list[np.ndarray], hints: Supervision) -> list[int]:
    """Return which of several clusterings break so few links that chance could tell them apart.

    Those within one standard deviation of the least weight broken: its square root, and at least 1.
    """
    broken = [_broken_weight(labels, hints) for labels in clusterings]
    bound = min(broken) + max(1.0, min(broken) ** 0.5)
    return [at for at, weight in enumerate(broken) if weight <= bound]


def _broken_weight(labels: np.ndarray, hints: Supervision) -> float:
    """Return the weight of the links that the labels break; a group counts as all its pairs."""
    total = 0.0
    for pairs, weights, wrong in (
        (hints.must, hints.must_weights, np.not_equal),
        (hints.cannot, hints.cannot_weights, np.equal),
    ):
        total += float(weights[wrong(labels[pairs[:, 0]], labels[pairs[:, 1]])].sum())
    for groups, is_must in ((hints.must_groups, True), (hints.cannot_groups, False)):
        for rows, weight in zip(groups, groups.weights, strict=True):
            sizes = np.unique(labels[rows], return_counts=True)[1]
            together = (sizes * (sizes - 1)).sum() / 2
            total += weight * (len(rows) * (len(rows) - 1) / 2 - together if is_must else together)
    return total
