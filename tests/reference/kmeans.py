"""Readable reference code for the k-means family: energies and statistics pair by pair, row by row."""

import itertools

import numpy as np

from likewise._seeding import HintedSubset
from likewise.backends import as_rows


def nearest(X, weight, A, log_det, centers):
    """Labels, sums, counts and cost by the plain formula; A has one (d, d) matrix per cluster."""
    k, d = centers.shape
    cost = np.array(
        [[(x - c) @ a @ (x - c) - ld for c, a, ld in zip(centers, A, log_det, strict=True)] for x in X]
    )
    labels = cost.argmin(axis=1)
    sums, counts = np.zeros((k, d)), np.zeros(k)
    for x, w, h in zip(X, weight, labels, strict=True):
        sums[h] += w * x
        counts[h] += w
    return labels, sums, counts, float((weight * cost.min(axis=1)).sum())


def all_links(hints):
    """Every link with its weight, including the pairs of groups: (i, j, weight, is_cannot)."""
    for (i, j), w in zip(hints.must, hints.must_weights, strict=True):
        yield int(i), int(j), float(w), False
    for (i, j), w in zip(hints.cannot, hints.cannot_weights, strict=True):
        yield int(i), int(j), float(w), True
    for groups, is_cannot in ((hints.must_groups, False), (hints.cannot_groups, True)):
        for rows, w in zip(groups, groups.weights, strict=True):
            for i, j in itertools.combinations(rows.tolist(), 2):
                yield i, j, float(w), is_cannot


def link_energy(X, labels, hints, A, *, must_weight, cannot_weight, alpha, beta, reach):
    """The cost of violated links; A has one (d, d) matrix and reach one number per cluster."""
    total = 0.0
    for i, j, w, is_cannot in all_links(hints):
        g, h = labels[i], labels[j]
        difference = X[i] - X[j]
        if is_cannot and g == h:
            total += cannot_weight * w * (reach[g] - beta * difference @ A[g] @ difference)
        if not is_cannot and g != h:
            length = (difference @ A[g] @ difference + difference @ A[h] @ difference) / 2
            total += must_weight * w * (alpha + beta * length)
    return total


def scatter(X, labels, centers, hints, k, far):
    """The per-cluster scatter of MPCK-Means with unit weights, by the printed sums."""
    d = X.shape[1]
    S = np.zeros((k, d, d))
    for x, h in zip(X, labels, strict=True):
        S[h] += np.outer(x - centers[h], x - centers[h])
    for i, j, w, is_cannot in all_links(hints):
        g, h = labels[i], labels[j]
        outer = np.outer(X[i] - X[j], X[i] - X[j])
        if is_cannot and g == h:
            S[g] += w * (np.outer(far[g], far[g]) - outer)
        if not is_cannot and g != h:
            S[g] += w / 2 * outer
            S[h] += w / 2 * outer
    return S


def gather_hints(X, hints):
    rows, few = hints.restrict_to_hinted()
    return HintedSubset.from_data(as_rows(X), rows, few, few.closure(on_conflict="keep"))
