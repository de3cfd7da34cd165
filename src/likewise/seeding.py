"""Starting points: must-link components, farthest-first walks, k-means++ draws; and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from likewise import _threads
from likewise._rows import ArrayRows, Block, Rows, as_rows
from likewise.supervision import Closure, Groups, Supervision

__all__ = [
    "breaks_clearly_less",
    "component_centroids",
    "extend_seeds",
    "farthest_first",
    "fewest_broken",
    "hinted_space",
    "seeds_from_closure",
]


# Beyond so many rows seeds are drawn from an overdrawn set of rows, which takes six passes for any number.
MANY_ROWS = 2**19
_ROUNDS = 5


def component_centroids(X: np.ndarray, closure: Closure, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids and total weights of the components of two rows or more, heaviest first."""
    tied = Tied.of(X, closure, weight)
    use = tied.mass > 0
    centroids, total = tied.centroids[use], tied.mass[use]
    order = np.argsort(-total, kind="stable")
    return centroids[order], total[order]


@dataclass(frozen=True, eq=False)
class Tied:
    """Must-link components of two rows or more: rows, which component each is in, centroids and weights."""

    rows: np.ndarray
    place: np.ndarray
    centroids: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, closure: Closure, weight: np.ndarray, names: np.ndarray | None = None) -> Tied:
        """Gather them. Row i of X, of which the closure speaks, is row ``names[i]``, or i."""
        rows = np.flatnonzero(closure.sizes[closure.component] >= 2)
        found, place = np.unique(closure.component[rows], return_inverse=True)
        mass = np.bincount(place, weights=weight[rows], minlength=len(found))
        sums = np.zeros((len(found), X.shape[1]))
        np.add.at(sums, place, weight[rows, None] * X[rows])
        centroids = sums / np.where(mass > 0, mass, 1.0)[:, None]
        return cls(rows if names is None else names[rows], place, centroids, mass)

    def moved(self, rows: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return drawn rows, those in a component at its centroid."""
        X = np.array(X, dtype=np.float64)
        at = np.searchsorted(self.rows, rows)
        at[at == len(self.rows)] = 0
        if len(self.rows):
            here = self.rows[at] == rows
            X[here] = self.centroids[self.place[at[here]]]
        return X


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
    X: np.ndarray | Rows, seeds: np.ndarray, k: int, weight: np.ndarray | None, rng: np.random.RandomState
) -> np.ndarray:
    """Add rows to the seeds until there are k, each drawn in proportion to its squared distance to them.

    Of ``2 + log k`` draws the one that brings the rows nearest is kept, as in greedy k-means++. With no
    seeds the first is drawn by weight alone, and the draws are those of scikit-learn's `kmeans_plusplus`:
    up to one block it is called itself, and beyond one block float32 rows are added up in float64, so that
    a draw may fall on another row. Rows in blocks are passed over once for each seed; a block keeps the
    distance of each of its rows to the nearest seed and returns sums, so that only the blocks that a draw
    falls into are read again. Without `weight` rows have the weights that they bring.
    """
    X = as_rows(X, weight=weight)
    seeds = np.asarray(seeds, dtype=np.float64).reshape(-1, X.shape[1])
    if len(seeds) == 0 and len(X.blocks) == 1 and len(X) >= k:
        block = X.read(X.blocks[0])
        weights = X.weight_of(np.arange(len(X)))
        drawn, _ = kmeans_plusplus(block, k, sample_weight=weights, random_state=rng)
        return np.asarray(drawn, dtype=np.float64)
    nearest = _Nearest(X, _from_differences if len(seeds) else _from_products)
    if len(seeds) == 0:
        seeds = nearest.draw_by_weight(rng)[1].astype(np.float64)
    if len(seeds) < k:
        nearest.approach([seed[None] for seed in seeds])
    while len(seeds) < k:
        drawn = nearest.draw(rng.uniform(size=2 + int(np.log(k))))[1]
        best = nearest.best_of(drawn)
        seeds = np.vstack([seeds, drawn[best]])
    return seeds


def overdrawn(X: Rows, k: int, tied: Tied, rng: np.random.RandomState) -> Rows:
    """Return few weighted points that stand for very many rows where k seeds are to be drawn.

    In the manner of k-means|| (Bahmani, Moseley, Vattani, Kumar & Vassilvitskii 2012): five times 2 k rows
    are drawn in proportion to their squared distance to what was drawn before, and each then has the weight
    of the rows that it is the nearest to. A must-link component is drawn and weighed as a whole: a drawn
    row of one gives way to the centroid, and all its rows count where the centroid is.
    """
    nearest = _Nearest(X, None)
    points = tied.moved(*nearest.draw_by_weight(rng))
    found = points
    for _ in range(_ROUNDS):
        nearest.approach([found])
        found = np.unique(tied.moved(*nearest.draw(rng.uniform(size=2 * k))), axis=0)
        points = np.vstack([points, found])
    points = points[np.sort(np.unique(points, axis=0, return_index=True)[1])]
    weight: np.ndarray = X.sum(partial(_mass_near, points, tied.rows))
    if len(tied.mass):
        own = _from_products(points, tied.centroids).argmin(axis=0)
        weight = weight + np.bincount(own, weights=tied.mass, minlength=len(points))
    return ArrayRows(points.astype(X.dtype)).weighed(weight)


def _mass_near(points: np.ndarray, without: np.ndarray, block: Block) -> np.ndarray:
    """Return the weight of the rows of a block that each point is the nearest to, some rows left out."""
    return _nearest_point(points, block.X, block.weight_without(without))[1]


def _nearest_point(points: np.ndarray, X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which point each row is the nearest to, and the weight of the rows of each point."""
    from likewise.kernels import assign

    W, b = -2.0 * points, row_norms(points, squared=True)
    if len(W) % 2:  # the kernel takes points two at a time
        W, b = np.vstack([W, np.zeros(points.shape[1])]), np.append(b, np.inf)
    labels = _threads.scratch("labels", (len(X),), np.int32)
    sums, counts = np.zeros(W.shape), np.zeros(len(W))
    assign.nearest_linear(X, weight, W.astype(X.dtype), b.astype(X.dtype), labels, sums, counts)
    return labels, counts[: len(points)]


# Points, and of how many of them, the first ones, the distance counts.
Batch = tuple[np.ndarray, int]


class _Nearest:
    """The squared distance of each row to its nearest seed.

    The distances to the newest seed are worked out where they are wanted, so that adding it takes no pass.
    """

    def __init__(self, X: Rows, squared: Squared | None) -> None:
        self._X, self._squared = X, squared
        self._batches: tuple[Batch, ...] = ()  # what the column holds the distance to
        self._squares = X.column(X.dtype, partial(_to_nearest, squared, ()))
        self._newest = np.empty((0, X.shape[1]))  # the column does not know of it
        self._mass = np.empty(0)  # of each block, the newest seed counted in

    def draw_by_weight(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Draw one row; return its number and itself."""
        mass = self._X.weight_by_block()
        number, rest = self._into(mass, np.array([rng.random_sample()]) * mass.sum())

        def pick(block: Block) -> int:
            at = int(np.searchsorted(np.cumsum(block.weight), rest[0], side="right"))
            return min(block.rows.start + at, block.rows.stop - 1)

        row = np.array(list(self._X.map(pick, only=number.tolist())))
        return row, self._X.take(row)

    def _into(self, mass: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the blocks, laid end to end by their mass, a value falls into, and how far."""
        ends = np.cumsum(mass)
        at = np.minimum(np.searchsorted(ends, value), len(mass) - 1)
        # Where no block has any mass, one that has rows will do.
        any_block = np.argmax(mass) if mass.any() else np.argmax([b.stop - b.start for b in self._X.blocks])
        at = np.where(mass[at] > 0, at, any_block)
        return at, value - np.where(at > 0, ends[at - 1], 0.0)

    def _pass(self, batches: list[Batch], work: Callable[[Block], np.ndarray]) -> np.ndarray:
        """Bring the distances up to date with the batches; return what `work` says of each block."""
        self._batches = (*self._batches, *batches)
        recipe = partial(_to_nearest, self._squared, self._batches)
        return np.array(list(self._X.map(work, self._squares, becomes=recipe)))

    def approach(self, batches: list[np.ndarray]) -> None:
        """Bring the distances up to date with new seeds, some at a time."""
        every, squared = [(points, len(points)) for points in batches], self._squared

        def mass(block: Block) -> np.ndarray:
            assert block.kept is not None
            _come_nearer(block.kept, squared, every, block.X)
            mass = _threads.scratch("mass", block.kept.shape, np.float64)
            return np.multiply(block.kept, block.weight, out=mass).sum()

        self._mass = self._pass(every, mass)

    def draw(self, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that numbers between 0 and 1 fall on, laid out in proportion to distance.

        Their numbers come first.
        """
        block_of, rest = self._into(self._mass, uniform * self._mass.sum())
        newest, squared = self._newest, self._squared or _from_products
        numbers = np.unique(block_of).tolist()
        # Empty blocks start where the next one does; no draw falls on them, so the numbers are not mixed up.
        rest_of = {self._X.blocks[number].start: rest[block_of == number] for number in numbers}

        def draw(block: Block) -> tuple[np.ndarray, np.ndarray]:
            assert block.kept is not None
            squares = block.kept
            if len(newest):
                squares = np.minimum(squares, squared(newest, block.X).min(axis=0))
            mass = np.cumsum(block.weight * squares, dtype=np.float64)
            at = np.minimum(np.searchsorted(mass, rest_of[block.rows.start]), len(block) - 1)
            return block.rows.start + at, block.X[at]

        rows = np.empty(len(uniform), dtype=np.int64)
        drawn = np.empty((len(uniform), self._X.shape[1]))
        for number, (at, X) in zip(numbers, self._X.map(draw, self._squares, only=numbers), strict=True):
            here = block_of == number
            rows[here], drawn[here] = at, X
        return rows, drawn

    def best_of(self, drawn: np.ndarray) -> int:
        """Return which of the drawn rows brings all rows nearest, and make it the newest seed."""
        points, n_new = np.vstack([self._newest, drawn]), len(self._newest)
        squared = self._squared or _from_products

        def masses(block: Block) -> np.ndarray:
            assert block.kept is not None
            squares = squared(points, block.X)
            if n_new:
                np.minimum(block.kept, squares[0], out=block.kept)
            return np.asarray(np.minimum(block.kept, squares[n_new:]) @ block.weight)

        mass = self._pass([(points, n_new)] if n_new else [], masses)
        best = int(np.argmin(mass.sum(axis=0)))
        self._newest, self._mass = drawn[best][None], mass[:, best]
        return best


def _to_nearest(squared: Squared | None, batches: tuple[Batch, ...], block: Block) -> np.ndarray:
    """Return the squared distance of each row of a block to its nearest seed, as the passes found it."""
    out = np.full(len(block), np.inf, dtype=block.X.dtype)
    _come_nearer(out, squared, batches, block.X)
    return out


def _come_nearer(
    nearest: np.ndarray, squared: Squared | None, batches: Iterable[Batch], X: np.ndarray
) -> None:
    from likewise.kernels import assign

    for points, count in batches:
        if squared is None:  # of many points only the nearest one is measured
            labels, _ = _nearest_point(points, X, _threads.ones(len(X)))
            assign.come_nearer(X, points.astype(X.dtype), labels, nearest)
        else:
            np.minimum(nearest, squared(points, X)[:count].min(axis=0), out=nearest)


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


def seeds_from_closure(
    X: np.ndarray,
    closure: Closure,
    k: int,
    weight: np.ndarray,
    rng: np.random.RandomState,
    *,
    draws: Rows | None = None,
) -> np.ndarray:
    """Return k starting centres that respect the must-links.

    With k components of two rows or more: the weighted farthest-first walk over their centroids. With
    fewer: all their centroids, and k-means++ draws for the rest, from `draws` if they are not from X.
    """
    centroids, total = component_centroids(X, closure, weight)
    if len(centroids) >= k:
        return farthest_first(centroids, total, k)
    if draws is None:
        return extend_seeds(X, centroids, k, weight, rng)
    return extend_seeds(draws, centroids, k, None, rng)


def hinted_space(X: np.ndarray, hints: Supervision, told: np.ndarray | None = None) -> np.ndarray:
    """Return the rows in a linear space in which the links look natural; a start may be drawn there.

    Directions in which cannot-linked rows lie apart and must-linked ones do not are stretched. With B the
    scatter of must-linked differences and A that of cannot-linked ones, each pulled towards the scatter of
    all rows by as many more links as there are features, rows are whitened by B and then each principal
    direction of A is stretched by its variance there. Links of groups count as the stars that join them.
    Row i of the hints is row ``told[i]`` of X, or i.
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
        ends = ends if told is None else told[ends]
        steps = rows[ends[:, 0]] - rows[ends[:, 1]]
        found: np.ndarray = (steps.T @ steps + d * everything) / (len(steps) + d)
        return found

    must = scatter(hints.must, hints.must_groups)
    cannot = scatter(hints.cannot, hints.cannot_groups)
    values, directions = eigh(cannot, must)  # directions' must directions = I
    return np.asarray((rows @ directions) * values, dtype=X.dtype)


def fewest_broken(
    clusterings: list[np.ndarray], hints: Supervision, *, against_chance: bool = False
) -> list[int]:
    """Return which of several clusterings break so few links that chance could tell them apart.

    Those within one standard deviation of the least weight broken: its square root, and at least 1.
    `against_chance` is for must-links alone, of which a single large cluster breaks none: it subtracts the
    weight that clusters of the same sizes would break at random.
    """
    broken = np.array([float(_broken_weights(labels, hints).sum()) for labels in clusterings])
    chance = np.zeros(len(broken))
    if against_chance:
        sizes = [np.unique(labels, return_counts=True)[1] / len(labels) for labels in clusterings]
        apart = 1 - np.array([np.square(each).sum() for each in sizes])
        chance = (
            apart * _broken_weights(np.arange(hints.shape[0]), hints).sum()
        )  # all links, if no two are together
    excess = broken - chance
    best = int(excess.argmin())
    bound = excess[best] + max(1.0, broken[best] ** 0.5)
    return np.flatnonzero(excess <= bound).tolist()


def breaks_clearly_less(
    labels: np.ndarray, others: np.ndarray, hints: Supervision, n_deviations: float
) -> bool:
    """Tell whether labels break less link weight than others by more than some standard deviations.

    Both are compared link by link. If neither were better, each link that only one of them breaks would add
    or subtract its weight by chance. A group of m rows counts as m - 1 independent links.
    """
    difference = _broken_weights(others, hints) - _broken_weights(labels, hints)
    sizes = [len(rows) for groups in (hints.must_groups, hints.cannot_groups) for rows in groups]
    n_pairs = len(difference) - len(sizes)
    n_independent = np.concatenate([np.ones(n_pairs), np.maximum(np.array(sizes, dtype=float) - 1.0, 1.0)])
    deviation = np.sqrt((np.square(difference) / n_independent).sum())
    return bool(difference.sum() > n_deviations * deviation)


def _broken_weights(labels: np.ndarray, hints: Supervision) -> np.ndarray:
    """Return the weight that the labels break of each must-link, cannot-link, must group, cannot group.

    A group counts as all its pairs.
    """
    out = [
        hints.must_weights * (labels[hints.must[:, 0]] != labels[hints.must[:, 1]]),
        hints.cannot_weights * (labels[hints.cannot[:, 0]] == labels[hints.cannot[:, 1]]),
    ]
    for groups, is_must in ((hints.must_groups, True), (hints.cannot_groups, False)):
        broken = np.zeros(len(groups))
        for at, rows in enumerate(groups):
            sizes = np.unique(labels[rows], return_counts=True)[1]
            together = (sizes * (sizes - 1)).sum() / 2
            broken[at] = len(rows) * (len(rows) - 1) / 2 - together if is_must else together
        out.append(groups.weights * broken)
    return np.concatenate(out)
