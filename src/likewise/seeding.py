"""Starting points: must-link components, farthest-first walks, k-means++ draws; and the choice among them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from likewise.supervision import Closure, Groups, Supervision

__all__ = [
    "component_centroids",
    "extend_seeds",
    "farthest_first",
    "fewest_broken",
    "hinted_space",
    "seeds_from_closure",
]


def component_centroids(X: np.ndarray, closure: Closure, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids and total weights of the components of two rows or more, heaviest first."""
    rows = np.flatnonzero(closure.sizes[closure.component] >= 2)
    names, place = np.unique(closure.component[rows], return_inverse=True)
    total = np.bincount(place, weights=weight[rows], minlength=len(names))
    sums = np.zeros((len(names), X.shape[1]))
    np.add.at(sums, place, weight[rows, None] * X[rows])
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
    X: np.ndarray, seeds: np.ndarray, k: int, weight: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Add rows to the seeds until there are k, each drawn in proportion to its squared distance to them.

    Of ``2 + log k`` draws the one that brings the rows nearest is kept, as in greedy k-means++.
    """
    seeds = np.asarray(seeds, dtype=np.float64).reshape(-1, X.shape[1])
    if len(seeds) == 0:
        return np.asarray(kmeans_plusplus(X, k, sample_weight=weight, random_state=rng)[0], dtype=np.float64)
    nearest = np.full(len(X), np.inf)
    for seed in seeds:
        nearest = np.minimum(nearest, row_norms(X - seed.astype(X.dtype), squared=True))
    while len(seeds) < k:
        mass = np.cumsum(weight * nearest, dtype=np.float64)
        draws = np.searchsorted(mass, rng.uniform(size=2 + int(np.log(k))) * mass[-1])
        draws = np.minimum(draws, len(X) - 1)
        closer = [np.minimum(nearest, row_norms(X - X[row], squared=True)) for row in draws]
        best = int(np.argmin([weight @ c for c in closer]))
        nearest = closer[best]
        seeds = np.vstack([seeds, X[draws[best]]])
    return seeds


def seeds_from_closure(
    X: np.ndarray, closure: Closure, k: int, weight: np.ndarray, rng: np.random.RandomState
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
