"""Symmetric matrices: the covariance, its shrunk inverse root, and the map that a metric stands for."""

from __future__ import annotations

import numpy as np

# Eigenvalues below this share of the largest are taken as 0.
_RANK = 1e-10


def compute_scale(X: np.ndarray) -> float:
    """Return the power of two next to the largest value, 1 for zeros; rows divided by it can be squared."""
    largest = float(np.abs(X).max(initial=0.0))
    return float(np.ldexp(1.0, max(int(np.frexp(largest)[1]), -1000)))


def compute_total_covariance(X: np.ndarray) -> np.ndarray:
    """Return the covariance of all rows, which are centred, divided by their number."""
    total: np.ndarray = X.T @ X / len(X)
    return total


def is_positive_definite(M: np.ndarray) -> bool:
    """Tell whether the least eigenvalue is above rounding."""
    values = np.linalg.eigvalsh(M)
    return bool(values[0] > _RANK * max(values[-1], 0.0))


def compute_whitener(within: np.ndarray, total: np.ndarray, regularization: float) -> np.ndarray:
    """Return W of shape (r, d) with ``W C W^T = I`` for ``C = (1 - reg) within + reg total``.

    Directions in which `total` is 0 are left out, as are those in which C is; r counts the rest. Rows come in
    the order of total over within, the most telling direction first. Neither C nor `total` is inverted as
    it is: all happens where `total` is the identity, so the units of the columns do not matter.
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
    """Return L with ``L^T L = M``, fewer rows than columns where M has lower rank.

    A diagonal matrix gives the roots of its entries, one of full rank its symmetric root, both of which
    keep the columns in place; else the rows are scaled eigenvectors, the largest first.
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
    """Turn each row so that its largest entry is positive: eigenvectors come with either sign."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    out: np.ndarray = rows * np.where(largest < 0, -1.0, 1.0)
    return out
