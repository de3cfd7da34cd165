"""Scores of triplets of rows: how informative their answers would be."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr

from likewise.bayesian._pair_scores import Criterion, check_criterion

_CHUNK = 8192


def score_triplets(
    proba: Any, triplets: Any, *, criterion: Criterion = "info", epsilon: float = 0.05
) -> np.ndarray:
    """Score triplets of rows as :func:`best_pairs` scores pairs, in nats.

    The answer is AB, AC, BC or NEITHER, right with probability 1 - epsilon and otherwise one of the other
    three. ``"uncertain"`` is the entropy of its mean distribution over the particles, ``"info"`` the same
    minus the mean entropy. The answer about a pair has at most log 2 nats, about a triplet log 4.

    Parameters
    ----------
    proba : array-like of shape (n_particles, n_rows, n_clusters)
        The probability of each cluster, for each row and particle.
    triplets : array-like of shape (n_triplets, 3)
        The rows of each triplet.
    criterion : {"info", "uncertain"}, default="info"
        The score: the information that the answer gives, or the uncertainty of the answer.
    epsilon : float, default=0.05
        Probability that an answer is wrong.

    Returns
    -------
    scores : ndarray of shape (n_triplets,)
        The score of each triplet, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.bayesian import score_triplets
    >>> sure = np.eye(3)[[0, 0, 1, 2]]
    >>> other = np.eye(3)[[0, 0, 1, 1]]
    >>> score_triplets([sure, other], [(0, 1, 2), (0, 2, 3)], epsilon=1e-9).round(3).tolist()
    [0.0, 0.693]
    """
    check_criterion(criterion)
    r = np.asarray(proba, dtype=np.float64)
    rows = np.asarray(triplets, dtype=np.int64).reshape(-1, 3)
    scores = np.empty(len(rows))
    for lo in range(0, len(rows), _CHUNK):
        a, b, c = (r[:, rows[lo : lo + _CHUNK, place]] for place in range(3))
        every = np.einsum("snk,snk,snk->sn", a, b, c)
        two = np.stack([np.einsum("snk,snk->sn", u, v) - every for u, v in ((a, b), (a, c), (b, c))])
        relation = np.clip(np.concatenate([two, 1.0 - two.sum(axis=0, keepdims=True)]), 0.0, 1.0)
        answer = epsilon / 3 + (1 - 4 * epsilon / 3) * relation
        value = entr(answer.mean(axis=1)).sum(axis=0)
        if criterion == "info":
            value -= entr(answer).sum(axis=0).mean(axis=0)
        scores[lo : lo + _CHUNK] = np.maximum(value, 0.0)
    return scores
