"""Hinted rows, initial centres, and the comparison of clusterings by violated links.

Initial centres come from must-link components and k-means++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from sklearn.utils.extmath import row_norms

from likewise.backends import ArrayRows, Block, Rows, as_dense, as_rows, draw_rows, get_ones, get_scratch
from likewise.supervision import Closure, RowGroups, Supervision

# With more rows than this, seeds are drawn from an oversampled set of rows, which always takes six passes.
MANY_ROWS = 2**19
_ROUNDS = 5
# From this many products (rows x columns x clusters) on, seeds are drawn from a sample instead: 32 rows for
# each cluster gave the same inertia as all rows (benchmarks/embeddings.py).
COSTLY = 2**28
_SAMPLED_ROWS = 32
# What an exchange of seeds must gain, relative to the mean contribution of a seed to the sum of squares. With
# 0, outliers become seeds, which cost 0.015 NMI on TF-IDF rows; 0.2 gained less on embeddings.
_LEAST_GAIN = 0.1
# From this many columns on, differences of rows are slower than matrix products.
_WIDE = 64
_MANY_SEEDS = 1000  # from this many seeds on, matrix products are used for few columns, too
# From this many columns x clusters on, seeds from components are exchanged for rows that cover more, and if
# there are few components, a row of each is a seed instead of its centroid.
MANY_COORDINATES = 2**12

_NO_ROWS, _NO_HINTS = np.empty(0, dtype=np.int64), Supervision(1)
_NO_HINTS_CLOSED = _NO_HINTS.closure()


@dataclass(frozen=True, eq=False)
class HintedSubset:
    """The hinted rows and the hints about them.

    Attributes
    ----------
    rows : ndarray
        The row numbers, sorted.
    hints : Supervision
        The hints, with these rows numbered from 0.
    closure : Closure
        The closure of the hints.
    X, weight : ndarray
        The rows and their weights.
    """

    rows: np.ndarray
    hints: Supervision
    closure: Closure
    X: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_data(
        cls,
        X: Rows,
        rows: np.ndarray = _NO_ROWS,
        hints: Supervision = _NO_HINTS,
        closure: Closure = _NO_HINTS_CLOSED,
    ) -> HintedSubset:
        """Take the hinted rows and their weights from X; by default there are none."""
        return cls(rows, hints, closure, X.take(rows), X.get_weights(rows))


def label_rows(
    rows: Rows,
    predict: Callable[[np.ndarray], np.ndarray],
    hinted_rows: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
) -> tuple[Any, int]:
    """Label every row in one pass: `hinted_rows`, which must be sorted, with `labels`, others with `predict`.

    Returns the labels and the number of clusters that have rows.
    """
    column = rows.make_column(np.int32, partial(_label_block, predict, hinted_rows, labels))
    counts: np.ndarray = rows.sum(partial(_count_labels, n_clusters), column)
    return rows.collect(column), int(np.count_nonzero(counts))


def _label_block(
    predict: Callable[[np.ndarray], np.ndarray], hinted_rows: np.ndarray, labels: np.ndarray, block: Block
) -> np.ndarray:
    found = predict(block.X)
    first, last = np.searchsorted(hinted_rows, [block.rows.start, block.rows.stop])
    found[hinted_rows[first:last] - block.rows.start] = labels[first:last]
    return found


def _count_labels(n_clusters: int, block: Block) -> np.ndarray:
    assert block.kept is not None
    return np.bincount(block.kept, minlength=n_clusters)


@dataclass(frozen=True, eq=False)
class ComponentCentroids:
    """Must-link components with at least two rows: their rows, centroids (sparse if rows are) and weights."""

    rows: np.ndarray
    place: np.ndarray
    centroids: np.ndarray
    mass: np.ndarray

    @classmethod
    def from_closure(
        cls, X: np.ndarray, closure: Closure, weight: np.ndarray, names: np.ndarray | None = None
    ) -> ComponentCentroids:
        """Return the components. Row i of X and of the closure is row ``names[i]`` of the data, or i."""
        rows = np.flatnonzero(closure.sizes[closure.component] >= 2)
        found, place = np.unique(closure.component[rows], return_inverse=True)
        mass = np.bincount(place, weights=weight[rows], minlength=len(found))
        if issparse(X):
            member = csr_array((weight[rows], (place, np.arange(len(rows)))), shape=(len(found), len(rows)))
            centroids = csr_array(member @ X[rows])
            centroids.data /= np.repeat(np.where(mass > 0, mass, 1.0), np.diff(centroids.indptr))
        else:
            sums = np.zeros((len(found), X.shape[1]))
            np.add.at(sums, place, weight[rows, None] * X[rows])
            centroids = sums / np.where(mass > 0, mass, 1.0)[:, None]
        return cls(rows if names is None else names[rows], place, centroids, mass)

    def find_medoids(self, X: np.ndarray) -> np.ndarray:
        """Return the row of each component that is nearest to its centroid; `rows` must be rows of X.

        Of rows that are equally near, such as those of a pair, the first is taken: rounding must not decide.
        """
        own = self.centroids[self.place]
        if issparse(X):
            rows = X[self.rows]
            away = row_norms(rows, squared=True) - 2.0 * rows.multiply(own).sum(axis=1)
            away += row_norms(self.centroids, squared=True)[self.place]
        else:
            away = row_norms(X[self.rows] - own, squared=True)
        least = np.full(len(self.mass), np.inf)
        np.minimum.at(least, self.place, away)
        order = np.lexsort((away > 1.001 * least[self.place], self.place))
        return self.rows[order[np.searchsorted(self.place[order], np.arange(len(self.mass)))]]

    def move_to_centroids(self, rows: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return drawn rows, with rows in a component replaced by its centroid."""
        X = np.array(X, dtype=np.float64)
        at = np.searchsorted(self.rows, rows)
        at[at == len(self.rows)] = 0
        if len(self.rows):
            here = self.rows[at] == rows
            X[here] = as_dense(self.centroids[self.place[at[here]]])
        return X


def select_farthest_first(points: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Choose k points by weighted farthest-first traversal.

    The first is the point with the largest weight. Each further one maximises weight x squared distance to
    the nearest chosen point. Bilenko, Basu and Mooney (2004) initialise their centres in this way from the
    centroids of the must-link components.

    Parameters
    ----------
    points : ndarray or sparse array of shape (n_points, n_features)
        The points.
    weight : ndarray of shape (n_points,)
        The weight of each point.
    k : int
        The number of points to choose.

    Returns
    -------
    chosen : ndarray of shape (k, n_features)
        The chosen points, in the order of choice.
    """
    is_sparse = issparse(points)
    squares = row_norms(points, squared=True) if is_sparse or points.shape[1] >= _WIDE else None
    chosen, nearest = [int(np.argmax(weight))], np.full(len(weight), np.inf)
    while len(chosen) < k:
        newest = points[chosen[-1:]]
        if squares is None:
            away = row_norms(points - newest, squared=True)
        else:
            away = _from_rounded_products(as_dense(newest), points, squares)[0]
        np.minimum(nearest, away, out=nearest)
        chosen.append(int(np.argmax(weight * nearest)))
    found = points[chosen]
    return as_dense(found) if is_sparse else found


def extend_seeds(
    X: np.ndarray | Rows, seeds: np.ndarray, k: int, weight: np.ndarray | None, rng: np.random.RandomState
) -> np.ndarray:
    """Add rows to the seeds by greedy k-means++ until there are k seeds.

    Each further seed is drawn with probability proportional to its squared distance to the nearest seed. Of
    ``2 + log k`` candidates, the one that reduces the sum of these distances most is kept. Without seeds, the
    first is drawn by weight alone, and the draws equal those of scikit-learn's `kmeans_plusplus`. It is
    called directly if the data fit in one block. With more blocks, float32 data are summed in float64, which
    may change a draw. Each seed takes one pass over the blocks; only the blocks that contain a drawn row are
    read again.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or Rows
        The rows.
    seeds : ndarray of shape (n_seeds, n_features)
        The seeds so far; may be empty.
    k : int
        The total number of seeds.
    weight : ndarray of shape (n_samples,) or None
        The weight of each row. None uses the weights of `X` if it is a Rows, else 1.
    rng : numpy.random.RandomState
        The source of randomness.

    Returns
    -------
    seeds : ndarray of shape (k, n_features)
        The given seeds, followed by the new ones.
    """
    X = as_rows(X, weight=weight)
    seeds = np.asarray(seeds, dtype=np.float64).reshape(-1, X.shape[1])
    if len(seeds) == 0 and len(X.blocks) == 1 and X.shape[0] >= k:
        every = np.arange(X.shape[0])
        from sklearn.cluster import kmeans_plusplus  # takes longer to import than the fit of a few rows

        drawn, _ = kmeans_plusplus(X.take(every), k, sample_weight=X.get_weights(every), random_state=rng)
        return np.asarray(drawn, dtype=np.float64)
    if X.is_sparse or (len(seeds) and (X.shape[1] >= _WIDE or k >= _MANY_SEEDS)):
        nearest = _Nearest(X, _from_rounded_products)
    else:
        nearest = _Nearest(X, _from_differences if len(seeds) else _from_products)
    if len(seeds) == 0:
        seeds = nearest.draw_by_weight(rng)[1].astype(np.float64)
    if len(seeds) < k:
        nearest.update_distances([seed[None] for seed in seeds])
    while len(seeds) < k:
        drawn = nearest.draw(rng.uniform(size=2 + int(np.log(k))))[1]
        best = nearest.choose_best(drawn)
        seeds = np.vstack([seeds, drawn[best]])
    return seeds


def reduce_rows(X: Rows, k: int, components: ComponentCentroids, rng: np.random.RandomState) -> Rows:
    """Return the rows that k seeds are drawn from: all of them, or fewer if drawing from all is costly."""
    n_sampled = _SAMPLED_ROWS * k
    if X.shape[0] * X.shape[1] * k >= COSTLY and X.shape[0] > n_sampled:
        rows = draw_rows(X.shape[0], n_sampled, rng)
        weight = X.get_weights(rows)
        if np.count_nonzero(weight) >= k:
            taken = X.take(rows)
            sample = as_rows(taken) if X.is_sparse else ArrayRows(taken, [slice(0, n_sampled)])
            return sample.with_weights(weight)
    return X if X.shape[0] <= MANY_ROWS else oversample(X, k, components, rng)


def exchange_seeds(X: Rows, seeds: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Exchange seeds for rows where this lowers the sum of squared distances to the nearest seed.

    A local search in the manner of Lattanzi and Sohler (2019), on a sample of the rows. In each of k steps,
    ``2 + log k`` candidates are drawn as in k-means++. The best exchange is made if it lowers the sum by
    more than a tenth of the mean contribution of a seed. This takes about half as long as drawing the seeds
    by k-means++.

    Parameters
    ----------
    X : Rows
        The rows.
    seeds : ndarray of shape (k, n_features)
        The seeds so far.
    rng : numpy.random.RandomState
        The source of randomness.

    Returns
    -------
    seeds : ndarray of shape (k, n_features)
        The seeds after the exchanges. A seed that was kept keeps its place.
    """
    k, n = len(seeds), X.shape[0]
    sample = np.arange(n) if n <= _SAMPLED_ROWS * k else draw_rows(n, _SAMPLED_ROWS * k, rng)
    rows, weight = X.take(sample), X.get_weights(sample)
    seeds, every = seeds.copy(), np.arange(len(sample))
    squares = row_norms(rows, squared=True)
    own, first, second = np.empty(len(every), dtype=np.int64), *np.empty((2, len(every)), dtype=X.dtype)
    runner_up, stale = own.copy(), every
    for _ in range(k):
        away = _from_rounded_products(seeds, rows[stale], squares[stale])
        for label, distance in ((own, first), (runner_up, second)):
            found = away.argmin(axis=0)
            label[stale], distance[stale] = found, away[found, np.arange(len(stale))]
            away[found, np.arange(len(stale))] = np.inf
        mass = np.cumsum(weight * first)
        if not mass[-1] > 0:  # there are no more distinct rows than seeds
            break
        drawn = np.searchsorted(mass, rng.uniform(size=2 + int(np.log(k))) * mass[-1], side="right")
        candidates = as_dense(rows[np.minimum(drawn, len(every) - 1)])
        away = _from_rounded_products(candidates, rows, squares)
        lower = np.minimum(first, away)
        losses = weight * (np.minimum(second, away) - lower)
        sums = lower @ weight
        without = np.stack([np.bincount(own, weights=loss, minlength=k) for loss in losses])
        cheapest = without.argmin(axis=1)
        sums += without[np.arange(len(sums)), cheapest]
        best = int(sums.argmin())
        stale = every[:0]
        if sums[best] < (1.0 - _LEAST_GAIN / k) * mass[-1]:
            seed, near = int(cheapest[best]), away[best]
            seeds[seed] = candidates[best]
            stale = np.flatnonzero((own == seed) | (runner_up == seed) | (near < second))
    return seeds


def oversample(X: Rows, k: int, components: ComponentCentroids, rng: np.random.RandomState) -> Rows:
    """Return a small weighted sample that represents many rows when k seeds are drawn.

    In the manner of k-means|| (Bahmani, Moseley, Vattani, Kumar and Vassilvitskii 2012): in each of five
    rounds, 2 k rows are drawn with probability proportional to their squared distance to the sample so far.
    Each point of the sample then gets the weight of the rows that are nearest to it. A must-link component is
    treated as a whole: a drawn row of a component is replaced by its centroid, and all its rows count at the
    centroid.
    """
    nearest = _Nearest(X, _from_rounded_products if X.is_sparse else None)
    points = components.move_to_centroids(*nearest.draw_by_weight(rng))
    found = points
    for _ in range(_ROUNDS):
        nearest.update_distances([found])
        found = np.unique(components.move_to_centroids(*nearest.draw(rng.uniform(size=2 * k))), axis=0)
        points = np.vstack([points, found])
    points = points[np.sort(np.unique(points, axis=0, return_index=True)[1])]
    weight: np.ndarray = X.sum(partial(_sum_mass_near, points, components.rows))
    if len(components.mass):
        squared = _from_rounded_products if X.is_sparse else _from_products
        own = squared(points, components.centroids).argmin(axis=0)
        weight = weight + np.bincount(own, weights=components.mass, minlength=len(points))
    return ArrayRows(points.astype(X.dtype)).with_weights(weight)


def _sum_mass_near(points: np.ndarray, without: np.ndarray, block: Block) -> np.ndarray:
    """Return the weight of the rows of a block that are nearest to each point, excluding some rows."""
    return _find_nearest_point(points, block.X, block.get_weight_without(without))[1]


def _find_nearest_point(
    points: np.ndarray, X: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of each row, and the total weight of the rows of each point."""
    if issparse(X):
        labels = _from_rounded_products(points, X).argmin(axis=0)
        return labels, np.bincount(labels, weights=weight, minlength=len(points))

    from likewise.kernels import assign

    W, b = -2.0 * points, row_norms(points, squared=True)
    if len(W) % 2:  # the kernel processes points in pairs
        W, b = np.vstack([W, np.zeros(points.shape[1])]), np.append(b, np.inf)
    labels = get_scratch("labels", (len(X),), np.int32)
    sums, counts = np.zeros(W.shape), np.zeros(len(W))
    assign.nearest_linear(X, weight, W.astype(X.dtype), b.astype(X.dtype), labels, sums, counts)
    return labels, counts[: len(points)]


# Points, and the number of leading points whose distance counts.
Batch = tuple[np.ndarray, int]


class _Nearest:
    """The squared distance of each row to its nearest seed.

    Distances to the newest seed are computed when they are needed, so that adding it takes no pass.
    """

    def __init__(self, X: Rows, squared: Squared | None) -> None:
        self._X, self._squared = X, squared
        self._batches: tuple[Batch, ...] = ()  # the seeds that the column takes into account
        self._squares = X.make_column(X.dtype, partial(_to_nearest, squared, ()))
        self._newest = np.empty((0, X.shape[1]))  # not yet in the column
        self._mass = np.empty(0)  # of each block, including the newest seed

    def draw_by_weight(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Draw one row; return its position and the row."""
        mass = self._X.sum_weights_by_block()
        number, rest = self._find_block(mass, np.array([rng.random_sample()]) * mass.sum())

        def pick(block: Block) -> int:
            at = int(np.searchsorted(np.cumsum(block.weight), rest[0], side="right"))
            return min(block.rows.start + at, block.rows.stop - 1)

        row = np.array(list(self._X.map(pick, only=number.tolist())))
        return row, as_dense(self._X.take(row))

    def _find_block(self, mass: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the block that each value of the cumulative mass falls into, and the offset in the block."""
        ends = np.cumsum(mass)
        at = np.minimum(np.searchsorted(ends, value), len(mass) - 1)
        # If no block has any mass, choose one that has rows.
        any_block = np.argmax(mass) if mass.any() else np.argmax([b.stop - b.start for b in self._X.blocks])
        at = np.where(mass[at] > 0, at, any_block)
        return at, value - np.where(at > 0, ends[at - 1], 0.0)

    def _pass(self, batches: list[Batch], work: Callable[[Block], np.ndarray]) -> np.ndarray:
        """Update the distances with the batches; return the result of `work` for each block."""
        self._batches = (*self._batches, *batches)
        recipe = partial(_to_nearest, self._squared, self._batches)
        return np.array(list(self._X.map(work, self._squares, new_recipe=recipe)))

    def update_distances(self, batches: list[np.ndarray]) -> None:
        """Update the distances with batches of new seeds."""
        every, squared = [(points, len(points)) for points in batches], self._squared

        def sum_mass(block: Block) -> np.ndarray:
            assert block.kept is not None
            _come_nearer(block.kept, squared, every, block.X)
            mass = get_scratch("mass", block.kept.shape, np.float64)
            return np.multiply(block.kept, block.weight, out=mass).sum()

        self._mass = self._pass(every, sum_mass)

    def draw(self, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows with probability proportional to their distance, from uniform numbers in [0, 1).

        Returns their positions and the rows.
        """
        block_of, rest = self._find_block(self._mass, uniform * self._mass.sum())
        newest, squared = self._newest, self._squared or _from_products
        numbers = np.unique(block_of).tolist()
        # An empty block has the same start as the next one, but is never drawn, so the starts are unique.
        rest_of = {self._X.blocks[number].start: rest[block_of == number] for number in numbers}

        def draw(block: Block) -> tuple[np.ndarray, np.ndarray]:
            assert block.kept is not None
            squares = block.kept
            if len(newest):
                squares = np.minimum(squares, squared(newest, block.X).min(axis=0))
            mass = np.cumsum(block.weight * squares, dtype=np.float64)
            at = np.minimum(np.searchsorted(mass, rest_of[block.rows.start]), len(block) - 1)
            return block.rows.start + at, as_dense(block.X[at])

        rows = np.empty(len(uniform), dtype=np.int64)
        drawn = np.empty((len(uniform), self._X.shape[1]))
        for number, (at, X) in zip(numbers, self._X.map(draw, self._squares, only=numbers), strict=True):
            here = block_of == number
            rows[here], drawn[here] = at, X
        return rows, drawn

    def choose_best(self, drawn: np.ndarray) -> int:
        """Make the drawn row with the smallest sum of distances the newest seed, and return its index."""
        points, n_new = np.vstack([self._newest, drawn]), len(self._newest)
        squared = self._squared or _from_products

        def sum_masses(block: Block) -> np.ndarray:
            assert block.kept is not None
            squares = squared(points, block.X)
            if n_new:
                np.minimum(block.kept, squares[0], out=block.kept)
            return np.asarray(np.minimum(block.kept, squares[n_new:]) @ block.weight)

        mass = self._pass([(points, n_new)] if n_new else [], sum_masses)
        best = int(np.argmin(mass.sum(axis=0)))
        self._newest, self._mass = drawn[best][None], mass[:, best]
        return best


def _to_nearest(squared: Squared | None, batches: tuple[Batch, ...], block: Block) -> np.ndarray:
    """Return the squared distance of each row of a block to its nearest seed, as the passes compute it."""
    out = np.full(len(block), np.inf, dtype=block.X.dtype)
    _come_nearer(out, squared, batches, block.X)
    return out


def _come_nearer(
    nearest: np.ndarray, squared: Squared | None, batches: Iterable[Batch], X: np.ndarray
) -> None:
    for points, count in batches:
        if squared is None:  # with many points, only the distance to the nearest is computed
            from likewise.kernels import assign

            labels, _ = _find_nearest_point(points, X, get_ones(len(X)))
            assign.come_nearer(X, points.astype(X.dtype), labels, nearest)
        else:
            np.minimum(nearest, squared(points, X)[:count].min(axis=0), out=nearest)


Squared = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _from_products(points: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return the squared distances (points, rows) by a matrix product in float64, like scikit-learn."""
    rows = np.asarray(block, dtype=np.float64)
    out = -2.0 * (points @ rows.T)
    out += row_norms(points, squared=True)[:, None]
    out += row_norms(rows, squared=True)
    return np.maximum(out, 0.0, out=out).astype(block.dtype, copy=False)


def _from_rounded_products(
    points: np.ndarray, block: np.ndarray, squares: np.ndarray | None = None
) -> np.ndarray:
    """Return the squared distances (points, rows) by a matrix product in the dtype of the rows.

    `squares` are the squared lengths of the rows, if they are known. Distances that are 0 up to rounding
    become 0, so that a seed is not drawn again.
    """
    points = points.astype(block.dtype)
    squares = row_norms(block, squared=True) if squares is None else squares
    out = np.asarray((block @ points.T).T if issparse(block) else points @ block.T)
    out *= -2.0
    out += row_norms(points, squared=True)[:, None]
    out += squares
    out[out < 8 * np.finfo(block.dtype).eps * squares.max(initial=0.0)] = 0.0
    return out


def _from_differences(points: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return the squared distances (points, rows), which are exactly 0 for equal rows."""
    return np.stack([row_norms(block - point.astype(block.dtype), squared=True) for point in points])


def draw_seeds_from_closure(
    X: np.ndarray,
    closure: Closure,
    k: int,
    weight: np.ndarray,
    rng: np.random.RandomState,
    *,
    draws: Rows | None = None,
) -> np.ndarray:
    """Return k initial centres that respect the must-links.

    With at least k must-link components of two rows or more, :func:`select_farthest_first` chooses k of their
    centroids. With fewer, all centroids are used and :func:`extend_seeds` adds the rest.

    With many columns and clusters (columns x clusters of 4,096 and more) the row of each component that is
    nearest to its centroid is used instead. There the mean of a few rows is closer to all other rows than any
    row is: it hides which groups still lack a seed, and it attracts rows of other groups.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    closure : Closure
        The must-link components of the rows.
    k : int
        The number of centres.
    weight : ndarray of shape (n_samples,)
        The weight of each row.
    rng : numpy.random.RandomState
        The source of randomness.
    draws : Rows, optional
        The rows from which further centres are drawn, with their own weights. By default `X`.

    Returns
    -------
    centers : ndarray of shape (k, n_features)
        The initial centres.
    """
    components = ComponentCentroids.from_closure(X, closure, weight)
    heaviest_first = np.argsort(-components.mass, kind="stable")[: np.count_nonzero(components.mass > 0)]
    centroids, mass = components.centroids[heaviest_first], components.mass[heaviest_first]
    draws = as_rows(X, weight=weight) if draws is None else draws
    if len(mass) >= k:
        return select_farthest_first(centroids, mass, k)
    if X.shape[1] * k >= MANY_COORDINATES:
        centroids = X[components.find_medoids(X)[heaviest_first]]
    return extend_seeds(draws, as_dense(centroids), k, None, rng)


def compute_hinted_space(
    X: np.ndarray, hints: Supervision, hinted_rows: np.ndarray | None = None
) -> np.ndarray:
    """Transform the rows linearly so that distances agree with the links.

    Directions that separate cannot-linked rows but not must-linked rows are stretched. Let M be the scatter
    of the differences of must-linked rows and C that of cannot-linked rows, each shrunk towards the scatter
    of all rows with the weight of n_features additional links. The rows are whitened by M, and then each
    principal direction of C is scaled by its variance there. A group counts as links from its first row to
    the others. Weights of links are not used. Initial centres can be drawn in the new space.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    hints : Supervision
        The hints, of which the links are used.
    hinted_rows : ndarray of int, optional
        Row i of the hints is row ``hinted_rows[i]`` of `X`. By default the hints are about all rows of `X`.

    Returns
    -------
    rows : ndarray of shape (n_samples, n_features)
        The transformed rows.
    """
    d = X.shape[1]
    # Standardise, so that the ridge has the same effect on every column.
    scale = X.std(axis=0, dtype=np.float64)
    rows = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)
    rows /= np.where(scale > 0, scale, 1.0)
    everything = 2 * (rows.T @ rows) / len(rows)
    everything[np.diag_indices(d)] += 1e-6

    def compute_scatter(pairs: np.ndarray, groups: RowGroups) -> np.ndarray:
        ends = np.concatenate([pairs, groups.list_star_edges()])
        ends = ends if hinted_rows is None else hinted_rows[ends]
        steps = rows[ends[:, 0]] - rows[ends[:, 1]]
        found: np.ndarray = (steps.T @ steps + d * everything) / (len(steps) + d)
        return found

    must = compute_scatter(hints.must, hints.must_groups)
    cannot = compute_scatter(hints.cannot, hints.cannot_groups)
    values, directions = eigh(cannot, must)  # directions.T @ must @ directions = I
    return np.asarray((rows @ directions) * values, dtype=X.dtype)


def find_least_violating(
    clusterings: list[np.ndarray], hints: Supervision, *, against_chance: bool = False
) -> list[int]:
    """Return the indices of the clusterings whose violated link weight is close to the smallest.

    Close means within one standard deviation, which is estimated by the square root of the smallest weight,
    and is at least 1. Larger differences are unlikely to be due to chance.

    Parameters
    ----------
    clusterings : list of ndarray of shape (n_samples,)
        The labels of each clustering.
    hints : Supervision
        The hints, of which the links are used.
    against_chance : bool, default=False
        Whether to subtract the weight that random clusters of the same sizes would violate. For must-links
        alone: one large cluster violates none of them.

    Returns
    -------
    indices : list of int
        The positions of these clusterings in the list.
    """
    violated = np.array([float(_sum_violated_weights(labels, hints).sum()) for labels in clusterings])
    chance = np.zeros(len(violated))
    if against_chance:
        sizes = [np.unique(labels, return_counts=True)[1] / len(labels) for labels in clusterings]
        apart = 1 - np.array([np.square(each).sum() for each in sizes])
        everything = _sum_violated_weights(np.arange(hints.shape[0]), hints).sum()  # every row by itself
        chance = apart * everything
    excess = violated - chance
    best = int(excess.argmin())
    bound = excess[best] + max(1.0, violated[best] ** 0.5)
    return np.flatnonzero(excess <= bound).tolist()


def is_clearly_better(
    labels: np.ndarray, other_labels: np.ndarray, hints: Supervision, n_deviations: float
) -> bool:
    """Return True if one clustering violates significantly less link weight than another.

    The two are compared link by link. If neither were better, each link that only one of them violates would
    add or subtract its weight with equal probability. A group of m rows counts as m - 1 independent links.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The clustering that may be better.
    other_labels : ndarray of shape (n_samples,)
        The clustering to compare with.
    hints : Supervision
        The hints, of which the links are used.
    n_deviations : float
        The number of standard deviations that the difference must exceed.

    Returns
    -------
    is_better : bool
        Whether `labels` violates less weight by more than that.
    """
    difference = _sum_violated_weights(other_labels, hints) - _sum_violated_weights(labels, hints)
    links = hints.links
    sizes = np.concatenate([np.diff(links.must_groups.indptr), np.diff(links.cannot_groups.indptr)])
    n_pairs = len(difference) - len(sizes)
    n_independent = np.concatenate([np.ones(n_pairs), np.maximum(sizes - 1.0, 1.0)])
    deviation = np.sqrt((np.square(difference) / n_independent).sum())
    return bool(difference.sum() > n_deviations * deviation)


def _sum_violated_weights(labels: np.ndarray, hints: Supervision) -> np.ndarray:
    """Return the violated weight of each must-link, cannot-link and group of either kind, in this order.

    A group counts as all its pairs.
    """
    links = hints.links
    out = [
        links.must_weights * (labels[links.must[:, 0]] != labels[links.must[:, 1]]),
        links.cannot_weights * (labels[links.cannot[:, 0]] == labels[links.cannot[:, 1]]),
    ]
    for groups, is_must in ((links.must_groups, True), (links.cannot_groups, False)):
        if not len(groups.weights):
            continue
        violated = np.zeros(len(groups))
        for at, rows in enumerate(groups):
            sizes = np.unique(labels[rows], return_counts=True)[1]
            together = (sizes * (sizes - 1)).sum() / 2
            violated[at] = len(rows) * (len(rows) - 1) / 2 - together if is_must else together
        out.append(groups.weights * violated)
    return np.concatenate(out)
