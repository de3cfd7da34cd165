"""Reference implementations of Bayesian clustering: enumeration of assignments and of pairs."""

import itertools

import numpy as np
from scipy.special import entr, logsumexp

from reference.kmeans import all_links


def log_chance(hints, y, epsilon):
    """Return log P(answers | clusters), where y maps rows to clusters. Groups are expanded."""
    total = 0.0
    for i, j, weight, is_cannot in all_links(hints):
        right = (y[i] == y[j]) != is_cannot
        total += weight * np.log(1 - epsilon if right else epsilon)
    for (a, b, c), answer, weight in zip(hints.triplets, hints.answers, hints.triplet_weights, strict=True):
        together = [y[a] == y[b], y[a] == y[c], y[b] == y[c]]
        truth = together.index(True) if sum(together) == 1 else 3
        total += weight * np.log(1 - epsilon if truth == answer else epsilon / 3)
    return total


def enumerate_posterior(hints, rows, log_p, epsilon):
    """Return log P(answers), the posteriors of the rows, co-membership probabilities, and the best value.

    log_p has shape (n_rows, k); the last item returned maps joint assignments to their log-probability.
    """
    n, k = log_p.shape
    ways = list(itertools.product(range(k), repeat=n))
    value = {
        way: log_chance(hints, dict(zip(rows.tolist(), way, strict=True)), epsilon)
        + sum(log_p[i, h] for i, h in enumerate(way))
        for way in ways
    }
    total = logsumexp(list(value.values()))
    r, together = np.zeros((n, k)), np.zeros((n, n))
    for way, log_weight in value.items():
        r[np.arange(n), way] += np.exp(log_weight - total)
        together += np.exp(log_weight - total) * np.equal.outer(way, way)
    return total, r, together, value


def pair_scores(proba, epsilon, criterion):
    """Score all pairs one by one; return {(a, b): score}."""
    scores = {}
    for a, b in itertools.combinations(range(proba.shape[1]), 2):
        q = epsilon + (1 - 2 * epsilon) * (proba[:, a] * proba[:, b]).sum(axis=1)
        m = q.mean()
        scores[a, b] = entr(m) + entr(1 - m)
        if criterion == "info":
            scores[a, b] -= (entr(q) + entr(1 - q)).mean()
    return scores
