"""The columns that the model sees: standardised, or random Fourier features of standardised columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True, eq=False)
class Space:
    """Takes rows to what the model sees, and weights back to what the rows were."""

    scaler: StandardScaler
    fourier: RBFSampler | None

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        weight: np.ndarray,
        n_fourier: int | None,
        gamma: float | None,
        rng: np.random.RandomState,
    ) -> Space:
        """Fit the scale of the columns and draw the features."""
        scaler = StandardScaler().fit(np.asarray(X, dtype=np.float64), sample_weight=weight)
        fourier = None
        if n_fourier is not None:
            gamma = 1.0 / X.shape[1] if gamma is None else gamma
            fourier = RBFSampler(gamma=gamma, n_components=n_fourier, random_state=rng).fit(np.zeros_like(X))
        return cls(scaler, fourier)

    def map(self, X: np.ndarray) -> np.ndarray:
        """Return what the model sees of the rows, in float64: L-BFGS needs its digits.

        Fourier features are scaled to the length that standardised rows have on average, so that the same
        penalty suits both.
        """
        Z = self.scaler.transform(np.asarray(X, dtype=np.float64))
        if self.fourier is not None:
            Z = self.fourier.transform(Z) * np.sqrt(X.shape[1])
        return np.asarray(Z)

    def fold(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and biases for `features`."""
        if self.fourier is not None:
            return W[:, :-1].copy(), W[:, -1].copy()
        coef = W[:, :-1] / self.scaler.scale_
        return coef, W[:, -1] - coef @ self.scaler.mean_

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return what the folded weights multiply: the rows as they are, or their Fourier features."""
        return np.asarray(X, dtype=np.float64) if self.fourier is None else self.map(X)
