"""Readable reference code for inference on a tree of labels and the best arborescence: by enumeration."""

import itertools

import numpy as np
from scipy.special import expit, xlogy


def states(k):
    """Return all 2^k vectors of labels, one per row."""
    return np.array(list(itertools.product((0, 1), repeat=k)))


def log_joint(parents, logit, eps, z, keep):
    """Return log P(y, z) of one row for every y, in the order of `states`."""
    with np.errstate(divide="ignore"):  # log 0 is -inf, as intended
        out = []
        for y in states(len(parents)):
            value = 0.0
            for c, p in enumerate(parents):
                if p < 0 or y[p]:
                    value += np.log(expit(logit[c] if y[c] else -logit[c]))
                else:
                    value += np.log(eps[c] if y[c] else 1 - eps[c])
                seen = keep[c] if y[c] else 0.0
                value += np.log(seen if z[c] else 1 - seen)
            out.append(value)
    return np.array(out)


def enumerate_posterior(parents, logit, eps, z, keep):
    """Return log P(z), Q(y_c = 1), and Q(y_p = 1, y_c = 1) for all pairs, of one row."""
    value, y = log_joint(parents, logit, eps, z, keep), states(len(parents))
    total = np.logaddexp.reduce(value)
    q = np.exp(value - total)
    return total, q @ y, (y * q[:, None]).T @ y


def pair_sums(parents, logits, eps, z, keep, candidate_logits):
    """Return the sums over rows of Q(1, 1), and of Q(1, 1) log s + Q(1, 0) log(1 - s)."""
    counts = scores = 0.0
    for logit, seen, candidate in zip(logits, z, candidate_logits, strict=True):
        _, one, both = enumerate_posterior(parents, logit, eps, seen, keep)
        counts = counts + both
        alone = np.maximum(one[:, None] - both, 0.0)
        scores = scores + xlogy(both, expit(candidate)) + xlogy(alone, expit(-candidate))
    return counts, scores


def arborescences(n):
    """Yield every array of parents that is a tree of n nodes rooted at node 0."""
    for rest in itertools.product(range(n), repeat=n - 1):
        parents = (-1, *rest)
        if all(reaches_root(parents, c) for c in range(n)):
            yield parents


def reaches_root(parents, node):
    for _ in parents:
        if node == 0:
            return True
        node = parents[node]
    return node == 0


def weight_of(weights, parents):
    return sum(weights[p, c] for c, p in enumerate(parents) if p >= 0)
