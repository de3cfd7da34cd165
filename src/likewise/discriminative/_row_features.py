"""The rows of a fit: their features, and an order and a sample that do not depend on the order of the rows.

The features of the model are standardised columns, or random Fourier features of these. Random starts select
rows by number, mean field visits hinted rows one after another, and sums differ in their last digits with the
order of their terms. With rows in a canonical order, permuting the rows permutes the labels and changes
nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from likewise.backends import ArrayRows, Block, Rows
from likewise.discriminative._softmax import See, as_they_are, split_block
from likewise.supervision import Supervision

# Odd multipliers that mix bits (splitmix64, Steele, Lea & Flood 2014).
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_TRIPLET_OTHERS = ((1, 2), (0, 2), (0, 1))
# Rows are centred before products if the mean of a column is more than this many deviations away from 0.
_FAR = 100.0


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """The total weight of some rows, and the mean and the sum of squared deviations of each column.

    The moments of two sets of rows are combined with ``+`` (Chan, Golub & LeVeque 1983), which is accurate
    even if means are far from 0.
    """

    weight: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def from_block(cls, block: Block) -> ColumnMoments:
        """Return the moments of a block."""
        weight = float(block.weight.sum())
        X = np.asarray(block.X, dtype=np.float64)
        if not weight:
            return cls(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]))
        mean = block.weight @ X / weight
        return cls(weight, mean, block.weight @ np.square(X - mean))

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        total = self.weight + other.weight
        if not total:
            return self
        step = other.mean - self.mean
        share = other.weight / total
        scatter = self.scatter + other.scatter + self.weight * share * np.square(step)
        return ColumnMoments(total, self.mean + share * step, scatter)

    def compute_scale(self, n_rows: int) -> np.ndarray:
        """Return the standard deviations; 1 for a column that is constant up to rounding."""
        variance = self.scatter / self.weight
        eps = np.finfo(np.float64).eps
        constant = variance <= n_rows * eps * variance + np.square(n_rows * eps * self.mean)
        return np.sqrt(np.where(constant, 1.0, variance))


@dataclass(frozen=True, eq=False)
class Space:
    """The transformation from rows to features of the model, and of weights back to the original columns.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        The mean and the scale of the columns; the mean is rounded to the dtype of the rows.
    directions, phases : ndarray or None
        The directions and phases of the Fourier features.
    """

    mean: np.ndarray
    scale: np.ndarray
    directions: np.ndarray | None = None
    phases: np.ndarray | None = None

    @classmethod
    def with_fourier(
        cls,
        moments: ColumnMoments,
        rows: Rows,
        n_fourier: int | None,
        gamma: float | None,
        rng: np.random.RandomState,
    ) -> Space:
        """Return the space for columns with these moments, with random Fourier features if requested."""
        standard = cls.from_moments(moments, rows)
        if n_fourier is None:
            return standard
        gamma = 1.0 / rows.shape[1] if gamma is None else gamma
        sampler = RBFSampler(gamma=gamma, n_components=n_fourier, random_state=rng)
        sampler.fit(np.zeros((1, rows.shape[1])))
        return cls(standard.mean, standard.scale, sampler.random_weights_, sampler.random_offset_)

    @classmethod
    def from_moments(cls, moments: ColumnMoments, rows: Rows) -> Space:
        """Return the space for columns with these moments, for rows of this dtype and number."""
        return cls(moments.mean.astype(rows.dtype), moments.compute_scale(len(rows)))

    def _center_rows(self, X: np.ndarray) -> np.ndarray:
        out = np.empty(X.shape, dtype=X.dtype)
        return np.subtract(X, self.mean, out=out)

    @property
    def _far(self) -> bool:
        return bool((np.abs(self.mean) > _FAR * self.scale).any())

    def center_rows(self, rows: Rows) -> Rows:
        """Return the rows, centred if products would otherwise lose digits."""
        return rows.transform(self._center_rows) if self._far else rows

    def see(self, X: np.ndarray) -> np.ndarray:
        """Return the features of rows from `center_rows` in float64, before the scaling in `folded`.

        Fourier features are scaled to the mean length of standardised rows, so the same penalty suits both.
        """
        Z = as_they_are(X)
        if self.directions is None or self.phases is None:
            return Z
        Z = Z if self._far else Z - self.mean
        out: np.ndarray = (Z / self.scale) @ self.directions
        out += self.phases
        np.cos(out, out=out)
        out *= np.sqrt(2.0 * Z.shape[1] / len(self.phases))
        return out

    @property
    def folded(self) -> dict[str, np.ndarray]:
        """The offset and scale of the columns of `see`, which are applied to the weights instead."""
        if self.directions is not None:
            return {}
        return {"scale": self.scale} | ({} if self._far else {"offset": as_they_are(self.mean)})

    def transform(self, near: Rows, which: np.ndarray) -> np.ndarray:
        """Return the features of the rows in `which`."""
        Z = self.see(near.take(which))
        if self.directions is None:
            Z = (Z if self._far else Z - self.mean) / self.scale
        return Z

    def transform_lazily(self, near: Rows) -> tuple[Rows, See]:
        """Return rows and a function that computes their features, before the scaling in `folded`.

        Fourier features cost more than passes over them, so they are computed once for rows in memory.
        """
        if self.directions is None or not isinstance(near, ArrayRows):
            return near, self.see
        features = np.empty((len(near), self.directions.shape[1]))
        for block in near.blocks:
            X, out = near.read(block), features[block]
            for part in split_block(len(X)):  # in the same parts as a pass, so files give the same digits
                out[part] = self.see(X[part])
        weight = near.get_weights(np.arange(len(near)))
        return ArrayRows(features, near.blocks, near.threads).with_weights(weight), as_they_are

    def fold(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights and biases that apply to `compute_features`."""
        if self.directions is not None:
            return W[:, :-1].copy(), W[:, -1].copy()
        coef = W[:, :-1] / self.scale
        return coef, W[:, -1] - coef @ as_they_are(self.mean)

    def unfold(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Invert `fold`, for a space without Fourier features."""
        return np.column_stack([coef * self.scale, intercept + coef @ as_they_are(self.mean)])

    def compute_features(self, X: np.ndarray) -> np.ndarray:
        """Return the features that folded weights apply to: the original rows, or their Fourier features."""
        if self.directions is None:
            return as_they_are(X)
        return self.see(self._center_rows(X) if self._far else X)


def _mix_hashes(values: np.ndarray) -> np.ndarray:
    """Return hashes of integers, as uint64; arithmetic is modulo 2^64."""
    mixed = values.astype(np.uint64) + _ODD[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _ODD[1]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _ODD[2]
    out: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return out


def hash_rows(X: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of each row; equal rows have equal hashes."""
    bits = np.uint32 if X.dtype == np.float32 else np.uint64
    hashes = np.full(len(X), seed, dtype=np.uint64)
    for column in X.T:
        hashes ^= np.ascontiguousarray(column + 0.0).view(bits)  # -0.0 becomes 0.0
        hashes *= _ODD[0]
        hashes ^= hashes >> np.uint64(32)
    return _mix_hashes(hashes)


def _compute_dense_ranks(keys: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the order and dense ranks by the keys; the last key is primary, as in `numpy.lexsort`."""
    order = np.lexsort(keys)
    differs = np.zeros(max(len(order) - 1, 0), dtype=bool)
    for key in keys:
        ordered = key[order]
        differs |= ordered[1:] != ordered[:-1]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.append(0, np.cumsum(differs))[: len(order)]
    return order, ranks


def order_rows(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the rows in ascending order of their columns, then of their weights.

    The order by columns is the same in any unit of measurement.
    """
    return np.lexsort((weight, *X.T[::-1]))


def order_hinted_rows(X: np.ndarray, weight: np.ndarray, hints: Supervision) -> np.ndarray:
    """Return the rows in the order of `order_rows`; equal rows are ordered by their hints if these differ.

    Equal rows are repeatedly distinguished by their hints and by the ranks of the other rows in these hints
    (Weisfeiler & Leman 1968).
    """
    order, ranks = _compute_dense_ranks((weight, *X.T[::-1]))
    n_ranks = 0
    while n_ranks < len(np.unique(ranks)) < len(ranks):
        n_ranks = len(np.unique(ranks))
        order, ranks = _compute_dense_ranks((_hash_hints(ranks, hints), ranks))
    return order


def _hash_hints(ranks: np.ndarray, hints: Supervision) -> np.ndarray:
    """Return for each row a hash of its hints: their kinds, weights, and the ranks of the other rows."""
    own, hashes = _mix_hashes(ranks), np.zeros(len(ranks), dtype=np.uint64)

    def add(rows: np.ndarray, kind: int, weights: np.ndarray, others: np.ndarray) -> None:
        bits = np.ascontiguousarray(weights, dtype=np.float64).view(np.uint64)
        np.add.at(hashes, rows, _mix_hashes(others ^ _mix_hashes(_mix_hashes(bits) + np.uint64(kind))))

    for kind, (pairs, weights, groups) in enumerate(
        (
            (hints.must, hints.must_weights, hints.must_groups),
            (hints.cannot, hints.cannot_weights, hints.cannot_groups),
        )
    ):
        add(pairs[:, 0], kind, weights, own[pairs[:, 1]])
        add(pairs[:, 1], kind, weights, own[pairs[:, 0]])
        sums = np.zeros(len(groups), dtype=np.uint64)
        np.add.at(sums, groups.group_of, own[groups.members])
        add(groups.members, 2 + kind, groups.weights[groups.group_of], sums[groups.group_of])
    odd = np.where(hints.answers < 3, 2 - hints.answers, -1)  # the third row for AB, the first for BC
    for place, others in enumerate(_TRIPLET_OTHERS):
        seen = np.zeros(len(odd), dtype=np.uint64)
        for other in others:
            seen += own[hints.triplets[:, other]] * np.where(odd == other, 3, 1).astype(np.uint64)
        for kind, which in ((4, odd == place), (5, odd == -1), (6, (odd != place) & (odd >= 0))):
            add(hints.triplets[which, place], kind, hints.triplet_weights[which], seen[which])
    return hashes


@dataclass(frozen=True, eq=False)
class SampleSummary:
    """Column moments of all rows and a sample of unhinted rows, computed in one pass.

    The sample consists of the distinct rows with the smallest hashes; duplicates are merged and their weights
    added. It depends neither on the order of the rows nor on how they are divided into blocks.

    Attributes
    ----------
    moments : ColumnMoments
        The moments of all rows.
    hashes, rows, weight : ndarray
        The hashes, numbers and weights of the sampled rows, by ascending hash.
    size : int
        The maximum number of rows of the sample.
    """

    moments: ColumnMoments
    hashes: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    size: int

    @classmethod
    def from_block(cls, hinted: np.ndarray, size: int, seed: int, block: Block) -> SampleSummary:
        """Summarise one block; `hinted` must be sorted."""
        first, last = np.searchsorted(hinted, [block.rows.start, block.rows.stop])
        free = np.ones(len(block), dtype=bool)
        free[hinted[first:last] - block.rows.start] = False
        hashes = hash_rows(block.X, seed)[free]
        rows = np.flatnonzero(free) + block.rows.start
        return cls(ColumnMoments.from_block(block), hashes, rows, block.weight[free], size)._select_distinct()

    def __add__(self, other: SampleSummary) -> SampleSummary:
        return SampleSummary(
            self.moments + other.moments,
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.weight, other.weight]),
            self.size,
        )._select_distinct()

    def _select_distinct(self) -> SampleSummary:
        hashes, first, place = np.unique(self.hashes, return_index=True, return_inverse=True)
        weight = np.bincount(place, weights=self.weight, minlength=len(hashes))
        keep = slice(self.size)
        return SampleSummary(self.moments, hashes[keep], self.rows[first[keep]], weight[keep], self.size)

    def sample_weight(self) -> np.ndarray:
        """Return sample weights, capped so that one very frequent row does not dominate.

        The cap is the estimated share of distinct rows in the sample times the weight of the row, and at
        least the total weight of all rows divided by `size`.
        """
        if len(self.hashes) < self.size:
            return self.weight
        share = float(self.hashes[-1]) / 2.0**64  # share of distinct rows in the sample
        most: np.ndarray = np.maximum(share * self.weight, self.moments.weight / self.size)
        return np.minimum(self.weight, most)


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Rows in canonical order, their column moments, and a sample.

    Attributes
    ----------
    rows : Rows
        All rows: in memory and in canonical order if they are few, else in the given order.
    hinted : ndarray
        The hinted rows among them, in canonical order.
    moments : ColumnMoments
        The moments of the columns.
    sample, sample_weight : ndarray or None
        The unhinted rows on which starts are tried, and their weights. None means all rows.
    """

    rows: Rows
    hinted: np.ndarray
    moments: ColumnMoments
    sample: np.ndarray | None = None
    sample_weight: np.ndarray | None = None

    @classmethod
    def from_rows(cls, rows: Rows, hinted: np.ndarray, size: int, rng: np.random.RandomState) -> OrderedRows:
        """Order the rows in memory, or sample them if more than `size` are unhinted."""
        if len(rows) - len(hinted) > size:
            summary: SampleSummary = rows.sum(
                partial(SampleSummary.from_block, np.sort(hinted), size, int(rng.randint(2**31)))
            )
            return cls(rows, hinted, summary.moments, summary.rows, summary.sample_weight())
        order = np.concatenate([hinted, np.setdiff1d(np.arange(len(rows)), hinted)])
        X, weight = rows.take(order), rows.get_weights(order)
        first = len(hinted)
        place = np.append(np.arange(first), first + order_rows(X[first:], weight[first:]))
        arranged = ArrayRows(X[place], threads=rows.threads).with_weights(weight[place])
        return cls(arranged, np.arange(first), arranged.sum(ColumnMoments.from_block))
