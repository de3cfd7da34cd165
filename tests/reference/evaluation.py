"""Slow twins of likewise.evaluation: every pair of rows is looked at."""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def pair_counts(true, pred):
    """Pairs together in both, in the classes, in the clusters, and the number of pairs that agree."""
    both = in_true = in_pred = agree = 0
    for i, j in combinations(range(len(true)), 2):
        t, p = true[i] == true[j], pred[i] == pred[j]
        both, in_true, in_pred, agree = both + (t and p), in_true + t, in_pred + p, agree + (t == p)
    return both, in_true, in_pred, agree


def pairwise(true, pred):
    both, in_true, in_pred, _ = pair_counts(true, pred)
    if in_true == 0 and in_pred == 0:
        return 1.0, 1.0, 1.0
    precision = both / in_pred if in_pred else 0.0
    recall = both / in_true if in_true else 0.0
    f = 2 * precision * recall / (precision + recall) if both else 0.0
    return precision, recall, f


def purity(true, pred):
    clusters = {k: [t for t, p in zip(true, pred, strict=True) if p == k] for k in set(pred)}
    return sum(Counter(members).most_common(1)[0][1] for members in clusters.values()) / len(true)


def links_of_groups(groups):
    return [pair for group in groups for pair in combinations(group, 2)]


def triplet_kept(labels, triplet, answer):
    a, b, c = (labels[i] for i in triplet)
    if answer == "NEITHER":
        return len({a, b, c}) != 2
    same, odd = {"AB": ((a, b), c), "AC": ((a, c), b), "BC": ((b, c), a)}[answer]
    return same[0] == same[1] and odd not in same
