"""Learned metrics, shared by all clusters or one per cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils.extmath import row_norms


@dataclass(frozen=True, eq=False)
class Metric:
    """Squared distances ``(x - c)' A_h (x - c)``, and the log-determinants of the A_h.

    `A` has shape (H, d) if the metrics are diagonal and (H, d, d) if they are full, where H is 1 if the
    clusters share one metric and k if each has its own. Each A_h is an inverse covariance.
    """

    A: np.ndarray
    log_det: np.ndarray

    @classmethod
    def euclidean(cls, n_features: int) -> Metric:
        """Return the Euclidean metric, shared by all clusters."""
        return cls(np.ones((1, n_features)), np.zeros(1))

    @property
    def shared(self) -> bool:
        """Whether all clusters share one metric."""
        return len(self.A) == 1

    @property
    def diagonal(self) -> bool:
        """Whether the metrics are diagonal."""
        return self.A.ndim == 2

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {"A": self.A, "log_det": self.log_det}  # without cached roots, so equal metrics pickle equally

    @cached_property
    def _roots(self) -> np.ndarray:
        return np.linalg.cholesky(self.A)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return ``A_h x`` for every row and metric, shape (n, H, d)."""
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return X[:, None, :] * self.A
        return np.stack([X @ a for a in self.A], axis=1)

    def compute_lengths(self, X: np.ndarray) -> np.ndarray:
        """Return ``x' A_h x`` for every row and metric, shape (n, H)."""
        X = np.asarray(X, dtype=np.float64)
        if self.diagonal:
            return np.square(X) @ self.A.T
        return np.stack([row_norms(X @ root, squared=True) for root in self._roots], axis=1)

    def compute_distances(self, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """Return the squared distance of every row to every centre in its cluster's metric, shape (n, k)."""
        X = np.asarray(X, dtype=np.float64)
        if self.shared:  # one matrix product; centring keeps the loss of precision small
            middle = centers.mean(axis=0)
            W, b = self.compute_linear(centers - middle)
            out = self.compute_lengths(X - middle) + (X - middle) @ W.T + (b + self.log_det[0])
            return np.maximum(out, 0.0, out=out)
        out = np.empty((len(X), len(centers)))
        for h, center in enumerate(centers):
            if self.diagonal:
                out[:, h] = np.square(X - center) @ self.A[h]
            else:
                out[:, h] = row_norms((X - center) @ self._roots[h], squared=True)
        return out

    def compute_costs(self, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """Return ``||x - c_h||^2_{A_h} - log det A_h``, shape (n, k)."""
        return self.compute_distances(X, centers) - self.log_det

    def embed(self, X: np.ndarray, h: int = 0) -> np.ndarray:
        """Return the rows mapped so that Euclidean distances equal the distances of metric h."""
        return (X * np.sqrt(self.A[h]) if self.diagonal else X @ self._roots[h]).astype(X.dtype)

    def unembed(self, Z: np.ndarray) -> np.ndarray:
        """Undo :meth:`embed` of metric 0."""
        if self.diagonal:
            return np.asarray(Z / np.sqrt(self.A[0]), dtype=np.float64)
        return np.linalg.solve(self._roots[0].T, np.asarray(Z, dtype=np.float64).T).T

    def compute_linear(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (W, b) such that with a shared metric the cost of x in h is ``W[h] . x + b[h] + x' A x``.

        ``x' A x`` is the same for every cluster, so assignment with a shared metric is as fast as without.
        """
        image = self.apply(centers)[:, 0, :]
        return -2.0 * image, (image * centers).sum(axis=1) - self.log_det[0]


def compute_inverse_metric(scatter: np.ndarray, mass: np.ndarray, scale: np.ndarray, floor: float) -> Metric:
    """Return the metrics ``A_h = N_h S_h^{-1}`` of regularised scatter matrices S_h of total weight N_h.

    S_h need not be positive definite: a violated cannot-link subtracts from it, and a cluster may have fewer
    rows than columns. So columns are scaled to unit spread, the eigenvalues (or the diagonal) of S_h are
    raised to at least `floor` times their mean, and the scaling is undone. Flooring A_h at 0 instead, as in
    the slides of the paper, would make log det A_h minus infinity.

    Parameters
    ----------
    scatter : ndarray of shape (H, d) or (H, d, d)
        Sums of (outer) squares.
    mass : ndarray of shape (H,)
        The total weight of each.
    scale : ndarray of shape (d,)
        The standard deviation of each column over all rows; 1 for a constant column.
    floor : float
        Lower bound on the eigenvalues, relative to their mean.
    """
    mass = np.maximum(mass, 1e-300)
    floor = max(floor, 1e-12)  # below this the inverse has no correct digits
    if scatter.ndim == 2:
        variance = scatter / mass[:, None] / np.square(scale)
        variance = np.maximum(variance, floor * _compute_positive_mean(variance)[:, None]) * np.square(scale)
        return Metric(1.0 / variance, -np.log(variance).sum(axis=1))
    unit = scatter / mass[:, None, None] / np.multiply.outer(scale, scale)
    values, vectors = np.linalg.eigh((unit + unit.transpose(0, 2, 1)) / 2)
    values = np.maximum(values, floor * _compute_positive_mean(values)[:, None])
    vectors = vectors / scale[None, :, None]
    A = (vectors / values[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Metric(A, -np.log(values).sum(axis=1) - 2.0 * np.log(scale).sum())


def _compute_positive_mean(values: np.ndarray) -> np.ndarray:
    """Return the sum of the positive values of each row divided by its length; 1 if there are none."""
    total = np.maximum(values, 0).sum(axis=1)
    return np.where(total > 0, total / values.shape[1], 1.0)
