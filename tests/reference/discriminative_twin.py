"""Reference implementations of discriminative clustering: sums over pairs, triplets and assignments."""

import itertools
import math

import numpy as np


def answer_of(labels):
    """Return the true relation of two rows (0 together, 1 apart) or three (AB, AC, BC, NEITHER)."""
    if len(labels) == 2:
        return int(labels[0] != labels[1])
    a, b, c = labels
    if a == b != c:
        return 0
    if a == c != b:
        return 1
    return 2 if b == c != a else 3


def list_stated(hints, *, use_neither=True):
    """Return every hint as (rows, answer, weight), groups as all their pairs."""
    for answer, pairs, weights, groups in (
        (0, hints.must, hints.must_weights, hints.must_groups),
        (1, hints.cannot, hints.cannot_weights, hints.cannot_groups),
    ):
        yield from ((tuple(rows), answer, w) for rows, w in zip(pairs.tolist(), weights, strict=True))
        for rows, w in zip(groups, groups.weights, strict=True):
            yield from ((pair, answer, w) for pair in itertools.combinations(rows.tolist(), 2))
    for rows, answer, w in zip(hints.triplets.tolist(), hints.answers, hints.triplet_weights, strict=True):
        if use_neither or answer < 3:
            yield tuple(rows), int(answer), w


def relation_probabilities(distributions):
    """Return the probability of each relation of two or three rows, by enumeration of their clusters."""
    k = len(distributions[0])
    out = np.zeros(2 if len(distributions) == 2 else 4)
    for labels in itertools.product(range(k), repeat=len(distributions)):
        chance = math.prod(q[h] for q, h in zip(distributions, labels, strict=True))
        out[answer_of(labels)] += chance
    return out


def compute_expected_log_likelihood(q_of, hints, noise, *, naming=None, **kwargs):
    """Return the expected log-probability of all answers, or of those about a row; q_of maps rows to q."""
    total = 0.0
    for rows, answer, weight in list_stated(hints, **kwargs):
        if naming is not None and naming not in rows:
            continue
        table = noise.pairs if len(rows) == 2 else noise.triplets
        total += weight * relation_probabilities([q_of[i] for i in rows]) @ np.log(table[:, answer])
    return total


def best_q(i, log_p, q_of, hints, noise):
    """Return the update of row i, eq. (3.8): the expected log-joint for each of its clusters, normalised."""
    k = len(log_p)
    known = [{**q_of, i: certain} for certain in np.eye(k)]
    score = log_p + [compute_expected_log_likelihood(q, hints, noise, naming=i) for q in known]
    score = np.exp(score - score.max())
    return score / score.sum()


def log_softmax(W, rows):
    logits = rows @ W[:, :-1].T + W[:, -1]
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def entropy(p):
    return -sum(x * np.log(x) for x in p if x > 0)


def lower_bound(W, q_of, rows, hints, noise, *, tau, alpha, weight=None, **kwargs):
    """Return the bound, eq. (3.7), for features and row weights."""
    n = len(rows)
    weight = np.ones(n) if weight is None else weight
    log_p = log_softmax(W, rows)
    p = np.exp(log_p)
    total = sum(w for _, _, w in list_stated(hints, **kwargs))
    value = 0.0
    if total:
        value = compute_expected_log_likelihood(q_of, hints, noise, **kwargs)
        value += sum(q @ log_p[i] + entropy(q) for i, q in q_of.items())
        value /= total
    free = [i for i in range(n) if i not in q_of]
    information = entropy(weight @ p / weight.sum())
    if free:
        information -= sum(weight[i] * entropy(p[i]) for i in free) / weight[free].sum()
    return value + tau * information - alpha * (W[:, :-1] ** 2).sum()


def log_evidence(log_p_of, hints, noise):
    """Return the logarithm of P(answers | rows), by enumeration of the clusters of all hinted rows."""
    rows = sorted(log_p_of)
    k = len(log_p_of[rows[0]])
    terms = []
    for labels in itertools.product(range(k), repeat=len(rows)):
        of = dict(zip(rows, labels, strict=True))
        value = sum(log_p_of[i][h] for i, h in of.items())
        for named, answer, weight in list_stated(hints):
            table = noise.pairs if len(named) == 2 else noise.triplets
            value += weight * np.log(table[answer_of([of[i] for i in named]), answer])
        terms.append(value)
    return np.logaddexp.reduce(terms)
