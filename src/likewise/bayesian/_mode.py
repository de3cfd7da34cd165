"""The most probable weights, by L-BFGS from several starts (Pei 2017, section 4.3.4)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from likewise.bayesian._network import Network
from likewise.bayesian._prior import Prior


def log_joint(
    W: np.ndarray, features: np.ndarray, prior: Prior, network: Network
) -> tuple[float, np.ndarray]:
    """Return log P(W, answers | X), eq. (4.13), up to a constant, and its gradient, shape (k, n_columns).

    `features` holds all rows in their order, shape (n_samples, n_columns).
    """
    log_p = log_softmax(features @ W.T, axis=1)
    value, by_logits = prior.gradient(log_p)
    if len(network.rows):
        told, by_told = network.gradient(log_p[network.rows])
        value += told
        by_logits[network.rows] += by_told
    value -= prior.precision / 2 * float((W**2).sum())
    return value, by_logits.T @ features - prior.precision * W


def climb(
    W: np.ndarray, features: np.ndarray, prior: Prior, network: Network, *, max_iter: int, tol: float
) -> tuple[np.ndarray, float, bool]:
    """Climb from W; return the end, its value, and whether it is a summit."""

    def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_joint(flat.reshape(W.shape), features, prior, network)
        return -value, -gradient.ravel()

    found = minimize(
        downhill,
        W.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-5},
    )
    return found.x.reshape(W.shape), -float(found.fun), found.status != 1
