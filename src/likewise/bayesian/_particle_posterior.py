"""The posterior after a fit: particles, answers and rows, and probabilities computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

from likewise.bayesian._answer_network import AnswerNetwork
from likewise.bayesian._prior import Prior


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior after a fit, from which the next fit may continue.

    Attributes
    ----------
    prior : Prior
        The prior of the weights.
    network : AnswerNetwork
        The answers.
    features : ndarray of shape (n_samples, n_columns)
        The features of the rows.
    seen : ndarray
        The rows that the prior of the particles uses.
    W : ndarray of shape (n_particles, n_clusters, n_columns)
        The particles.
    mode : ndarray of shape (n_clusters, n_columns)
        The most probable weights.
    n_refits : int
        Number of fits that continued from a previous fit.
    """

    prior: Prior
    network: AnswerNetwork
    features: np.ndarray
    seen: np.ndarray
    W: np.ndarray
    mode: np.ndarray
    n_refits: int

    def is_reusable(self, features: np.ndarray, shape: tuple[int, ...], prior: Prior) -> bool:
        """Return True if the particles are draws for these rows and this prior."""
        return self.W.shape == shape and self.prior == prior and np.array_equal(features, self.features)

    def predict_proba(self, features: np.ndarray) -> np.ndarray:
        """Return the cluster probabilities of new rows for each particle, (S, n, k)."""
        S, k, _ = self.W.shape
        with threadpool_limits(1):
            logits = (features @ self.W.reshape(S * k, -1).T).reshape(-1, S, k)
        logits -= logits.max(axis=2, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=2, keepdims=True)
        return logits.transpose(1, 0, 2)

    def compute_proba(self) -> np.ndarray:
        """Return the cluster probabilities of the rows of the fit for each particle, given the answers."""
        r = self.predict_proba(self.features)
        if len(self.network.rows):
            r[:, self.network.rows] = self.network.compute_row_posterior(self._get_log_proba_of_answered())
        return r

    def _get_log_proba_of_answered(self) -> np.ndarray:
        """Return the log-probabilities of the hinted rows without the answers, (S, m, k)."""
        logits = np.einsum("skd,nd->snk", self.W, self.features[self.network.rows])
        return np.ascontiguousarray(log_softmax(logits, axis=2))

    def number_groups(self) -> np.ndarray:
        """Return the connected component of each hinted row, and -1 for other rows."""
        groups = np.full(len(self.features), -1)
        groups[self.network.rows] = self.network.component
        return groups

    def put_right(self, together: np.ndarray, pairs: np.ndarray) -> None:
        """Correct the probabilities `together` of pairs in the same component, in place.

        The clusters of such rows are not independent given the weights: the first row is fixed to each
        cluster in turn, and the posterior of the others is computed.
        """
        groups = self.number_groups()
        a, b = pairs.T
        tied = np.flatnonzero((groups[a] == groups[b]) & (groups[a] >= 0) & (a != b))
        if not len(tied):
            return
        log_p = self._get_log_proba_of_answered()
        place = np.searchsorted(self.network.rows, pairs[tied])
        for i in np.unique(place[:, 0]):
            mine = place[:, 0] == i
            shared = self.network.compute_together(log_p, int(i)).mean(axis=0)
            together[tied[mine]] = shared[place[mine, 1]]


def compute_together(r: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the probability that each pair is together, if clusters are independent given the weights."""
    shared = np.einsum("snk,snk->n", r[:, pairs[:, 0]], r[:, pairs[:, 1]]) / len(r)
    return np.where(pairs[:, 0] == pairs[:, 1], 1.0, np.clip(shared, 0.0, 1.0))


def check_rows(given: Any, n: int, *, width: int | None = None, what: str = "rows") -> np.ndarray:
    """Check rows, or pairs and triplets of rows: integers from 0 to n - 1."""
    rows = np.asarray([tuple(item) for item in given] if width else given)
    if rows.size == 0:
        return np.zeros((0, width) if width else 0, dtype=np.int64)
    if rows.ndim != (2 if width else 1) or (width and rows.shape[1] != width):
        raise ValueError(f"{what} must have shape (n{f', {width}' if width else ','}), got {rows.shape}.")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"{what} must contain row numbers: integers from 0 to {n - 1}.")
    return rows.astype(np.int64)
