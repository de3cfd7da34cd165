"""The columns that the model sees: standardised, or random Fourier features of standardised columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from likewise._blocks import ArrayRows, Block, Rows
from likewise.discriminative._softmax import See, as_they_are, split_block


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Weight, mean and squared deviations from it of some rows, column by column.

    Those of two sets of rows are joined with ``+`` (Chan, Golub & LeVeque 1983), which loses no digits where
    means are far from 0.
    """

    weight: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def from_block(cls, block: Block) -> ColumnMoments:
        """Return those of a block."""
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
        """Return the standard deviations; 1 for a column that is constant but for rounding."""
        variance = self.scatter / self.weight
        eps = np.finfo(np.float64).eps
        constant = variance <= n_rows * eps * variance + np.square(n_rows * eps * self.mean)
        return np.sqrt(np.where(constant, 1.0, variance))


# Rows are centred before they are multiplied if a column's mean is so many deviations away from 0.
_FAR = 100.0


@dataclass(frozen=True, eq=False)
class Space:
    """Takes rows to what the model sees, and weights back to what the rows were.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        Of the columns; the mean is rounded to the dtype of the rows.
    directions, phases : ndarray or None
        Of the Fourier features.
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
        """Return the one in which columns have these moments, and draw the features."""
        standard = cls.from_moments(moments, rows)
        if n_fourier is None:
            return standard
        gamma = 1.0 / rows.shape[1] if gamma is None else gamma
        sampler = RBFSampler(gamma=gamma, n_components=n_fourier, random_state=rng)
        sampler.fit(np.zeros((1, rows.shape[1])))
        return cls(standard.mean, standard.scale, sampler.random_weights_, sampler.random_offset_)

    @classmethod
    def from_moments(cls, moments: ColumnMoments, rows: Rows) -> Space:
        """Return the one in which columns have these moments, for rows such as these."""
        return cls(moments.mean.astype(rows.dtype), moments.compute_scale(len(rows)))

    def _center_rows(self, X: np.ndarray) -> np.ndarray:
        out = np.empty(X.shape, dtype=X.dtype)
        return np.subtract(X, self.mean, out=out)

    @property
    def _far(self) -> bool:
        return bool((np.abs(self.mean) > _FAR * self.scale).any())

    def center_rows(self, rows: Rows) -> Rows:
        """Return the rows that passes are made over: centred, where products would lose digits otherwise."""
        return rows.transform(self._center_rows) if self._far else rows

    def see(self, X: np.ndarray) -> np.ndarray:
        """Return what the model sees of rows that are `center_rows`, but for `folded`, in float64.

        Fourier features are scaled to the length that standardised rows have on average, so that the same
        penalty suits both.
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
        """What the weights take over from the rows: the offset and the scale of the columns of `see`."""
        if self.directions is not None:
            return {}
        return {"scale": self.scale} | ({} if self._far else {"offset": as_they_are(self.mean)})

    def transform(self, near: Rows, which: np.ndarray) -> np.ndarray:
        """Return what the model sees of few rows."""
        Z = self.see(near.take(which))
        if self.directions is None:
            Z = (Z if self._far else Z - self.mean) / self.scale
        return Z

    def transform_lazily(self, near: Rows) -> tuple[Rows, See]:
        """Return rows, and what makes of them what the model sees, but for `folded`.

        Fourier features cost more than the passes over them, so those of rows in memory are made once.
        """
        if self.directions is None or not isinstance(near, ArrayRows):
            return near, self.see
        features = np.empty((len(near), self.directions.shape[1]))
        for block in near.blocks:
            X, out = near.read(block), features[block]
            for part in split_block(len(X)):  # as a pass would, so that a file gives the same digits
                out[part] = self.see(X[part])
        weight = near.get_weights(np.arange(len(near)))
        return ArrayRows(features, near.blocks, near.threads).with_weights(weight), as_they_are

    def fold(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and biases for `compute_features`."""
        if self.directions is not None:
            return W[:, :-1].copy(), W[:, -1].copy()
        coef = W[:, :-1] / self.scale
        return coef, W[:, -1] - coef @ as_they_are(self.mean)

    def unfold(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return the weights that `fold` makes these of, without Fourier features."""
        return np.column_stack([coef * self.scale, intercept + coef @ as_they_are(self.mean)])

    def compute_features(self, X: np.ndarray) -> np.ndarray:
        """Return what the folded weights multiply: the rows as they are, or their Fourier features."""
        if self.directions is None:
            return as_they_are(X)
        return self.see(self._center_rows(X) if self._far else X)
