"""Symmetric matrices: the covariance, its regularised inverse root, and the linear map of a metric."""

from __future__ import annotations

import numpy as np

# Eigenvalues below this share of the largest count as 0.
_RANK = 1e-10


def compute_scale(X: np.ndarray) -> float:
    """Return the power of two just above the largest absolute value, or 1 if all values are 0.

    Rows divided by it can be squared without overflow.
    """
    largest = float(np.abs(X).max(initial=0.0))
    return float(np.ldexp(1.0, max(int(np.frexp(largest)[1]), -1000)))


def compute_total_covariance(X: np.ndarray) -> np.ndarray:
    """Return the covariance of centred rows: the sum of outer products divided by their number."""
    total: np.ndarray = X.T @ X / len(X)
    return total


def is_positive_definite(M: np.ndarray) -> bool:
    """Return True if the smallest eigenvalue exceeds rounding errors."""
    values = np.linalg.eigvalsh(M)
    return bool(values[0] > _RANK * max(values[-1], 0.0))


def compute_whitener(within: np.ndarray, total: np.ndarray, regularization: float) -> np.ndarray:
    """Return W of shape (r, d) with ``W C W^T = I`` for ``C = (1 - reg) within + reg total``.

    Directions in which `total` or C is 0 are dropped; r is the number of the others. Rows of W are sorted by
    the ratio of total to within variance, largest first. The computation uses coordinates in which `total` is
    the identity, so the units of the columns do not matter.
    """
    scale = np.sqrt(total.diagonal())
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    use = values > _RANK * max(values[-1], 0.0)
    if not use.any():
        return np.empty((0, len(total)))
    P = vectors[:, use] / np.sqrt(values[use]) / scale[:, None]  # P^T total P = I
    spread, turn = np.linalg.eigh(P.T @ within @ P)
    spread = (1.0 - regularization) * np.maximum(spread, 0.0) + regularization
    seen = spread > _RANK * spread[-1]
    W: np.ndarray = (P @ (turn[:, seen] / np.sqrt(spread[seen]))).T
    return _fix_signs(W)


def compute_components(M: np.ndarray) -> np.ndarray:
    """Return L with ``L^T L = M``; it has fewer rows than columns if M is singular.

    A diagonal M gives the square roots of its entries and a full-rank M its symmetric root; both keep the
    columns in place. Otherwise the rows are scaled eigenvectors, largest eigenvalue first.
    """
    diagonal = M.diagonal()
    if np.array_equal(M, np.diag(diagonal)):
        use = diagonal > 0
        use[diagonal.argmax()] = True
        root: np.ndarray = np.diag(np.sqrt(np.maximum(diagonal, 0.0)))[use]
        return root
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    use = values > _RANK * values[-1]
    if use.all():
        full: np.ndarray = (vectors * np.sqrt(values)) @ vectors.T
        return full
    return _fix_signs((vectors[:, use] * np.sqrt(values[use])).T[::-1])


def _fix_signs(rows: np.ndarray) -> np.ndarray:
    """Flip signs so that the largest entry of each row is positive; the sign of eigenvectors is arbitrary."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    out: np.ndarray = rows * np.where(largest < 0, -1.0, 1.0)
    return out
