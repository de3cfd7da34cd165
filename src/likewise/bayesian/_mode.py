"""The most probable weights, by L-BFGS from several starts (Pei 2017, section 4.3.4)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from likewise.bayesian._answer_network import AnswerNetwork
from likewise.bayesian._prior import Prior

# Ridge regression gives logits that differ by about 1; this factor makes clusters clear but not certain.
_STRETCH = 4.0


def log_joint(
    W: np.ndarray, features: np.ndarray, prior: Prior, network: AnswerNetwork
) -> tuple[float, np.ndarray]:
    """Return log P(W, answers | X), eq. (4.13), up to a constant, and its gradient, shape (k, n_columns).

    `features` contains all rows in order, shape (n_samples, n_columns).
    """
    log_p = log_softmax(features @ W.T, axis=1)
    value, by_logits = prior.compute_gradient(log_p)
    if len(network.rows):
        log_likelihood, answer_gradient = network.compute_gradient(log_p[network.rows])
        value += log_likelihood
        by_logits[network.rows] += answer_gradient
    value -= prior.precision / 2 * float((W**2).sum())
    return value, by_logits.T @ features - prior.precision * W


@dataclass(frozen=True, eq=False)
class Mode:
    """The result of one optimisation."""

    W: np.ndarray
    value: float
    n_iter: int
    converged: bool


def find_mode(
    W: np.ndarray,
    features: np.ndarray,
    prior: Prior,
    network: AnswerNetwork,
    *,
    max_iter: int,
    tol: float,
    done: Callable[[], bool] = lambda: False,
) -> Mode:
    """Maximise the log-posterior from W until convergence, `max_iter` steps, or until `done` returns True."""

    def compute_loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_joint(flat.reshape(W.shape), features, prior, network)
        return -value, -gradient.ravel()

    def call_progress(intermediate_result: object) -> None:
        if done():
            raise StopIteration

    found = minimize(
        compute_loss,
        W.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=call_progress,
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-5},
    )
    return Mode(found.x.reshape(W.shape), -float(found.fun), int(found.nit), found.status not in (1, 99))


def draw_starts(features: np.ndarray, n_clusters: int, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return weights that separate the clusters of k-means, one for each of `n` random starts.

    The weights are a scaled ridge regression on the clusters; a logistic regression is no better a start.
    """
    found = []
    gram = features.T @ features + 0.1 * len(features) * np.eye(features.shape[1])
    for seed in rng.integers(np.iinfo(np.int32).max, size=max(n, 0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            means = KMeans(n_clusters, n_init=1, random_state=int(seed)).fit(features[:, :-1])
        member = np.eye(n_clusters)[means.labels_] - 1.0 / n_clusters
        found.append(_STRETCH * np.linalg.solve(gram, features.T @ member).T)
    return found
