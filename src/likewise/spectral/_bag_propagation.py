"""Estimate which label of its bag each row has, by propagating class shares along the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

# Weight of the equal shares of a row's own bag at each step; the rest comes from its neighbours.
_STAY = 0.1
_STEPS = 100
_SETTLED = 1e-3
_SMOOTH = 0.1  # pseudo-count of rows with the overall mixture of classes, added to each cluster


def compute_even_shares(allowed: csr_array) -> csr_array:
    """Return for each row equal shares of the classes of its bag."""
    shares = csr_array(allowed, dtype=np.float64, copy=True)
    counts = np.diff(shares.indptr)
    shares.data[:] = 1.0 / np.repeat(np.maximum(counts, 1), counts)
    return shares


def propagate(
    product: Any, degrees: np.ndarray, allowed: csr_array, start: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the share of each allowed class in each row, propagated from its neighbours.

    With P0 the equal shares and R the similarities divided by the degrees, P is repeatedly replaced by
    :math:`0.9\,R P + 0.1\,P_0`; a row of a labelled bag keeps only the classes of that bag, and every row is
    scaled to sum 1. This separates rows of one bag: a row near rows of bags with wrens becomes a wren, a row
    near rows of bags with thrushes a thrush. Each step costs one product of the graph with n_classes columns.

    Parameters
    ----------
    product : callable
        Multiplies the similarities with a block of columns.
    degrees : ndarray of shape (n_samples,)
        The row sums of the similarities.
    allowed : csr_array of shape (n_samples, n_classes)
        1 for the classes of the bag of each row; empty for a row without a labelled bag.
    start : ndarray of shape (n_samples, n_classes), optional
        Initial shares, for instance from a fit with one hint less.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The shares of all rows, including rows without a labelled bag.
    """
    known = np.diff(allowed.indptr) > 0
    mask = allowed.toarray() > 0
    mask[~known] = True
    first = compute_even_shares(allowed).toarray()
    shares = first if start is None or start.shape != first.shape else _scale_rows_to_one(start * mask, first)
    for _ in range(_STEPS):
        step = (1.0 - _STAY) / degrees[:, None] * product(shares) + _STAY * first
        step = _scale_rows_to_one(step * mask, first)
        change = float(np.abs(step - shares).sum(axis=1).mean())
        shares = step
        if change < _SETTLED:
            break
    return shares


def restrict_to_allowed(allowed: csr_array, shares: np.ndarray) -> csr_array:
    """Return the shares of the allowed classes, in the sparsity pattern of `allowed`."""
    rows = np.repeat(np.arange(len(shares)), np.diff(allowed.indptr))
    return csr_array((shares[rows, allowed.indices], allowed.indices, allowed.indptr), shape=allowed.shape)


def _scale_rows_to_one(shares: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Scale rows to sum 1; a row whose neighbours have no class of its bag keeps its first shares."""
    totals = shares.sum(axis=1, keepdims=True)
    return np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), first)


def compute_class_profile(
    labels: np.ndarray, allowed: csr_array, k: int, start: csr_array | None = None, n_steps: int = 30
) -> np.ndarray:
    """Return the share of each class in each cluster, shape (k, n_classes).

    The maximum-likelihood profile if a row of cluster k has class c with probability ``profile[k, c]`` and
    only the label set of its bag is observed. It is found by expectation maximisation from the shares in
    `start`, or from equal shares.
    """
    shares = compute_even_shares(allowed) if start is None else csr_array(start, copy=True)
    rows = np.repeat(np.arange(allowed.shape[0]), np.diff(allowed.indptr))
    cell = labels[rows] * allowed.shape[1] + allowed.indices
    usual = np.asarray(shares.sum(axis=0)).ravel()
    usual = usual / max(usual.sum(), 1e-300)
    profile = np.tile(usual, (k, 1))
    for _ in range(n_steps if allowed.nnz else 0):
        counts = np.bincount(cell, weights=shares.data, minlength=k * allowed.shape[1])
        before, profile = profile, counts.reshape(k, -1) + _SMOOTH * usual
        profile /= np.maximum(profile.sum(axis=1, keepdims=True), 1e-300)
        if np.abs(profile - before).max() < _SETTLED:
            break
        shares.data[:] = profile.ravel()[cell]
        totals = np.bincount(rows, weights=shares.data, minlength=allowed.shape[0])
        shares.data /= np.maximum(totals, 1e-300)[rows]
    return profile
