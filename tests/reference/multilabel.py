"""Slow twins of the multi-label classifiers: sums over labellings, trees and ways to lose labels."""

from itertools import product

import numpy as np
from scipy.special import expit


def mutual_information(a, b):
    """Mutual information of two columns of 0 and 1 in nats, cell by cell."""
    total = 0.0
    for u, v in product((0, 1), repeat=2):
        share = np.mean((a == u) & (b == v))
        if share > 0:
            total += share * np.log(share / (np.mean(a == u) * np.mean(b == v)))
    return total


def spanning_trees(k):
    """Every tree on k nodes as a set of edges, from its Prüfer sequence."""
    if k == 1:
        yield frozenset()
    if k == 2:
        yield frozenset({(0, 1)})
    for word in product(range(k), repeat=k - 2) if k > 2 else ():
        degree = [1 + word.count(node) for node in range(k)]
        edges = set()
        for node in word:
            leaf = degree.index(1)
            edges.add((min(leaf, node), max(leaf, node)))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.add(tuple(node for node in range(k) if degree[node] == 1))
        yield frozenset(edges)


def labellings(k):
    """Every labelling of k labels."""
    return np.array(list(product((0, 1), repeat=k)))


def tree_joint(given_parent, parents, labelling):
    """Probability of a labelling along a tree; given_parent[p, k] is that of label k if its parent is p."""
    chance = 1.0
    for k, p in enumerate(parents):
        q = given_parent[labelling[p] if p >= 0 else 0, k]
        chance *= q if labelling[k] else 1.0 - q
    return chance


def graph_score(odds, pairs, labelling):
    """Score of a labelling: its labels' log-odds, and the weights of the pairs that it holds."""
    both = sum(w for (j, k), w in pairs.items() if labelling[j] and labelling[k])
    return float(odds @ labelling) + both


def soft_margin(odds, pairs, true, margin):
    """Log of the sum over labellings of exp(score + margin x differences), less the true score."""
    every = labellings(len(true))
    scores = [graph_score(odds, pairs, y) + margin * np.sum(y != true) for y in every]
    return np.logaddexp.reduce(scores) - graph_score(odds, pairs, true)


def hinge(odds, pairs, true, margin):
    """The most that a labelling scores with margin x differences, less the true score."""
    every = labellings(len(true))
    scores = [graph_score(odds, pairs, y) + margin * np.sum(y != true) for y in every]
    return max(scores) - graph_score(odds, pairs, true)


def restoring_loss(Y, B, corruption):
    """Expected squared error of restoring rows of labels, over every way to lose some of them."""
    total = 0.0
    for kept in labellings(Y.shape[1]):
        chance = np.prod(np.where(kept, 1.0 - corruption, corruption))
        total += chance * np.sum((Y - (Y * kept) @ B.T) ** 2)
    return total


def fast_tag_loss(X, Y, B, W, b, corruption, ridge, reconstruction):
    """What FastTag minimises, with the ridge as it stands in the formula."""
    agree = np.sum((Y @ B.T - X @ W.T - b) ** 2)
    return (agree + reconstruction * restoring_loss(Y, B, corruption)) / len(X) + ridge * np.sum(W**2)


def inclusion_score(table, keep_p, keep_c, eps):
    """How much likelier the recorded table [z_p, z_c] is if p includes c than if they are unrelated."""
    n = table.sum()
    seen_p, seen_c = table[1].sum() / n, table[:, 1].sum() / n
    pi_p, pi_c = seen_p / keep_p, seen_c / keep_c
    s = min((pi_c - (1 - pi_p) * eps) / pi_p, 1.0)
    shares = {
        (1, 1): pi_p * s,
        (1, 0): pi_p * (1 - s),
        (0, 1): (1 - pi_p) * eps,
        (0, 0): (1 - pi_p) * (1 - eps),
    }
    score = 0.0
    for a, b in product((0, 1), repeat=2):
        if not table[a, b]:
            continue
        chance = 0.0
        for (y_p, y_c), share in shares.items():
            of_p = keep_p * y_p if a else 1 - keep_p * y_p
            of_c = keep_c * y_c if b else 1 - keep_c * y_c
            chance += share * of_p * of_c
        apart = (seen_p if a else 1 - seen_p) * (seen_c if b else 1 - seen_c)
        score += table[a, b] * (np.log(chance) - np.log(apart))
    return score


def anchors(Z, parent_lists):
    """How many cells are certain, by a recorded label below them, and how many of these are recorded."""
    certain, found = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    for row in Z:
        ancestors = set()
        waiting = [c for c in range(len(row)) if row[c]]
        while waiting:
            above = set(parent_lists[waiting.pop()]) - ancestors
            ancestors |= above
            waiting += above
        for c in ancestors:
            certain[c] += 1
            found[c] += row[c]
    return certain, found


def chain_evidence(Z, parents, keep, c, p):
    """How much likelier it is, label by label from p up to the root, that rows with c have it for certain."""
    below = [d for d in range(len(parents)) if c in path_to_root(parents, d)]
    rows = Z[Z[:, below].any(axis=1)]
    share = np.clip(Z.mean(axis=0) / keep, 1e-9, 1.0)
    total = 0.0
    for a in path_to_root(parents, p):
        above = share[parents[a]] if parents[a] >= 0 else 1.0
        otherwise = keep[a] * min(share[a] / above, 1 - 1e-6)
        for z in rows[:, a]:
            total += np.log(keep[a] / otherwise) if z else np.log((1 - keep[a]) / (1 - otherwise))
    return total


def path_to_root(parents, c):
    """The label and all above it."""
    return [] if c < 0 else [c, *path_to_root(parents, parents[c])]


def graph_by_enumeration(parent_lists, logit, eps, z, keep):
    """Return Q(y_c = 1), Q(y_c = 1 and all parents), Q(all parents), log P(z) of one row of a graph."""
    every = labellings(len(parent_lists))
    above = np.array([[all(y[p] for p in parents) for parents in parent_lists] for y in every])
    present = np.where(above, expit(logit), eps)
    free = np.where(above, expit(-np.asarray(logit)), 1 - np.asarray(eps))
    seen = np.where(every, np.where(z, keep, 1 - keep), 1 - np.asarray(z))
    joint = np.prod(np.where(every, present, free) * seen, axis=1)
    q = joint / joint.sum()
    return q @ every, q @ (every * above), q @ above, np.log(joint.sum())


def f1_with_gaps(predicted, z, rate):
    """F1 of complete labels, as it is estimated from labels of which a share `rate` is missing."""
    hits = min((predicted & z).sum() / (1 - rate), predicted.sum())
    return 2 * hits / (z.sum() / (1 - rate) + predicted.sum())
