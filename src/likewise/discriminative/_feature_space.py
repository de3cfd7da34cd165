"""The features of the model: standardised columns, or random Fourier features of standardised columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from likewise._blocks import ArrayRows, Block, Rows
from likewise.discriminative._softmax import See, as_they_are, split_block


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


# Rows are centred before products if the mean of a column is more than this many deviations away from 0.
_FAR = 100.0


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
