"""Closed forms of FastTag, from small matrices of the rows that are computed once for all settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse


@dataclass(frozen=True, eq=False)
class RidgeAxes:
    """Rows X and labels Y in the eigenvectors of the scatter of X, where a ridge regression is a division.

    Attributes
    ----------
    n : int
        The number of rows.
    means : ndarray of shape (n_features,)
        The means of the columns of X.
    shares : ndarray of shape (n_labels,)
        The means of the labels.
    axes : ndarray of shape (n_features, r)
        The eigenvectors V of the scatter of the centred rows.
    spread : ndarray of shape (r,)
        The eigenvalues: sums of squares along the axes.
    crossed : ndarray of shape (r, n_labels)
        VᵀXᵀY of the centred rows.
    scatter : ndarray of shape (n_labels, n_labels)
        YᵀY of the labels, not centred.
    unit : float
        The mean variance of the columns, or 1 if all columns are constant.
    """

    n: int
    means: np.ndarray
    shares: np.ndarray
    axes: np.ndarray
    spread: np.ndarray
    crossed: np.ndarray
    scatter: np.ndarray
    unit: float

    @classmethod
    def from_data(cls, X: Any, Y: np.ndarray) -> RidgeAxes:
        """Compute the axes from the scatter of the columns or of the rows, whichever is smaller."""
        n, d = X.shape
        means, shares = np.asarray(X.mean(axis=0)).reshape(-1), Y.mean(axis=0)
        if d <= n:
            spread, axes = linalg.eigh(_decompose_columns(X, means))
            keep = spread > max(spread[-1], 0.0) * d * np.finfo(float).eps
            spread, axes = spread[keep], axes[:, keep]
        else:
            spread, sides = linalg.eigh(_decompose_rows(X, means))
            keep = spread > max(spread[-1], 0.0) * n * np.finfo(float).eps
            spread, sides = spread[keep], sides[:, keep]
            axes = (X.T @ sides - np.outer(means, sides.sum(axis=0))) / np.sqrt(spread)
        crossed = axes.T @ (X.T @ Y - n * np.outer(means, shares))
        unit = float(spread.sum()) / (n * d)
        return cls(n, means, shares, axes, spread, crossed, Y.T @ Y, unit or 1.0)

    def project(self, X: Any) -> np.ndarray:
        """Return the coordinates of centred rows along the axes."""
        found: np.ndarray = X @ self.axes - self.means @ self.axes
        return found

    def regress(self, ridge: float) -> np.ndarray:
        """Return VᵀWᵀ, of shape (r, n_labels), for the ridge regression W of the labels on the rows."""
        return self.crossed / (self.spread + self.n * ridge * self.unit)[:, None]


def compute_restoring_terms(scatter: np.ndarray, corruption: float) -> tuple[np.ndarray, np.ndarray]:
    """Return P and Q of the expected reconstruction loss tr(S - 2 P Bᵀ + B Q Bᵀ)."""
    kept = 1.0 - corruption
    return kept * scatter, kept**2 * scatter + kept * corruption * np.diag(np.diag(scatter))


def iterate_layers(
    seen: RidgeAxes, corruption: float, ridge: float, reconstruction: float, n_layers: int
) -> Iterator:
    """Yield the map B from recorded to enriched labels after each layer.

    The labels of a layer are a linear map of the labels of the previous layer, so the rows are not needed.
    """
    explained = seen.crossed.T @ seen.regress(ridge)
    left = seen.scatter - seen.n * np.outer(seen.shares, seen.shares) - explained
    total = np.eye(len(seen.shares))
    for _ in range(n_layers):
        P, Q = compute_restoring_terms(total @ seen.scatter @ total.T, corruption)
        wanted = reconstruction * Q + total @ left @ total.T
        # Labels without rows, and equal labels, make the system singular: take the solution of least norm.
        B = linalg.lstsq(wanted, reconstruction * P, cond=1e-12)[0].T
        total = B @ total
        yield total


def _decompose_columns(X: Any, means: np.ndarray) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray((X.T @ X).toarray() - X.shape[0] * np.outer(means, means))
    off = X - means
    return np.asarray(off.T @ off)


def _decompose_rows(X: Any, means: np.ndarray) -> np.ndarray:
    if not sparse.issparse(X):
        off = X - means
        return np.asarray(off @ off.T)
    inner = (X @ X.T).toarray()
    to_mean = X @ means
    return np.asarray(inner - to_mean[:, None] - to_mean[None, :] + means @ means)
