"""Slow twins of the multi-label baselines: sums over labellings, trees and ways to lose labels."""

from itertools import product

import numpy as np


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


def tree_joint(held, parents, labelling):
    """Probability of a labelling along a tree; held[p, k] is that of label k given its parent's value p."""
    chance = 1.0
    for k, p in enumerate(parents):
        q = held[labelling[p] if p >= 0 else 0, k]
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
