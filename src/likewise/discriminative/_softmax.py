"""The softmax model: what its weights are fitted to, with the gradient, and the fit itself.

Probabilities are kept clusters x rows: sums over clusters then add whole rows of memory, which is several
times faster than many short sums. Hinted rows come first, so that "hinted" and "free" are slices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from likewise._threads import row_blocks

_TINY = 1e-300


def log_softmax(logits: np.ndarray, p: np.ndarray) -> None:
    """Turn logits, clusters x rows, into logarithms of probabilities in place, and put those into `p`."""
    logits -= logits.max(axis=0)
    np.exp(logits, out=p)
    total = p.sum(axis=0)
    p /= total
    logits -= np.log(total, out=total)


class _Block:
    """Some consecutive rows, with room for their probabilities, so that an evaluation allocates little."""

    def __init__(self, rows: np.ndarray, share: np.ndarray, free_share: np.ndarray, lo: int, k: int) -> None:
        self.rows = rows
        self.share = share
        self.free_share = free_share
        self.n_hinted = len(rows) - len(free_share)
        self.hinted = slice(lo, lo + self.n_hinted)  # among all hinted rows
        self.p = np.empty((k, len(rows)))
        self.t = np.empty((k, len(rows)))

    def forward(self, W: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Fill `p` and `t`, its logarithm; return what the block adds to the mean of p and to two sums."""
        n = self.n_hinted
        np.matmul(W, self.rows.T, out=self.t)
        log_softmax(self.t, self.p)
        # Without a copy: the rows of a slice are far apart, and vdot would make one.
        fit = float(np.einsum("kn,kn->", q[:, self.hinted], self.t[:, :n])) if n else 0.0
        plogp = np.einsum("kn,kn->n", self.p[:, n:], self.t[:, n:])
        return self.p @ self.share, fit, float(plogp @ self.free_share)

    def backward(self, q: np.ndarray, m: float, tau: float, log_mean: np.ndarray) -> np.ndarray:
        """Return what the block adds to the gradient; `t` is used up.

        The gradient of the information by the logits is p (t - <p, t>), with t its derivative by p.
        """
        n, t, p = self.n_hinted, self.t, self.p
        t[:, :n] = 0.0
        t[:, n:] *= tau * self.free_share
        t -= np.multiply.outer(tau * log_mean, self.share)
        t -= np.einsum("kn,kn->n", p, t)
        t *= p
        if n:
            t[:, :n] += (q[:, self.hinted] - p[:, :n]) / m
        gradient: np.ndarray = t @ self.rows
        return gradient


class Objective:
    """What the weights W (clusters x columns, the last column the bias) are fitted to, for given q.

    .. math::

        \\frac1m \\sum_{i \\in I} \\sum_k q_{ik} \\log p_{ik}
        + \\tau \\Big[ H\\big(\\sum_i r_i p_i\\big) - \\sum_{i \\in U} u_i H(p_i) \\Big] - \\alpha \\|W\\|^2

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features + 1)
        The rows, hinted ones first; the last column is 1, for the bias, which is not penalised.
    weight : ndarray of shape (n_samples,)
        How much each row counts in the information; r is this over its sum, u over the sum of free rows.
    n_hinted, n_clusters : int
        How many rows are hinted, and how many clusters there are.
    m, tau, alpha : float
        The total weight of the hints, and the weights of information and penalty.
    each : callable
        Maps a function over blocks, in order; the built-in ``map``, or that of a pool of threads.
    """

    def __init__(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        n_hinted: int,
        n_clusters: int,
        *,
        m: float,
        tau: float,
        alpha: float,
        each: Callable[..., Any] = map,
    ) -> None:
        share = weight / weight.sum()
        free = np.where(np.arange(len(rows)) >= n_hinted, weight, 0.0)
        free = free / free.sum() if free.any() else free
        self.n_hinted = n_hinted
        self.shape = (n_clusters, rows.shape[1])
        self._m = m
        self._tau = tau
        self._alpha = alpha
        self._each = each
        self._blocks = []
        for part in row_blocks(len(rows)):
            first_free = min(max(n_hinted - part.start, 0), part.stop - part.start)
            self._blocks.append(
                _Block(rows[part], share[part], free[part][first_free:], part.start, n_clusters)
            )

    def log_p_hinted(self, W: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of the hinted rows, (n_hinted, n_clusters)."""
        out = np.empty((self.n_hinted, len(W)))
        for block in self._blocks:
            if block.n_hinted:
                logits = W @ block.rows[: block.n_hinted].T
                log_softmax(logits, np.empty_like(logits))
                out[block.hinted] = logits.T
        return out

    def value_and_gradient(self, W: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient; q has shape (n_clusters, n_hinted)."""
        parts = list(self._each(lambda block: block.forward(W, q), self._blocks))
        mean = np.sum([part[0] for part in parts], axis=0)
        log_mean = np.log(np.maximum(mean, _TINY))  # a cluster may die out
        value = sum(part[1] for part in parts) / self._m
        value += self._tau * (sum(part[2] for part in parts) - float(mean @ log_mean))
        value -= self._alpha * float((W[:, :-1] ** 2).sum())
        gradients = self._each(lambda block: block.backward(q, self._m, self._tau, log_mean), self._blocks)
        gradient = np.sum(list(gradients), axis=0)
        gradient[:, :-1] -= 2.0 * self._alpha * W[:, :-1]
        return value, gradient

    def maximise(
        self, W: np.ndarray, q: np.ndarray, *, max_iter: int, tol: float
    ) -> tuple[np.ndarray, float]:
        """Climb from W by L-BFGS, at most `max_iter` steps; return the end, never lower, and its value."""

        def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_gradient(flat.reshape(W.shape), q)
            return -value, -gradient.ravel()

        found = minimize(
            downhill,
            W.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-7},
        )
        return found.x.reshape(W.shape), -float(found.fun)
