"""Chow–Liu trees over labels: mutual information, directed edges, margins, and inference along the tree."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.special import xlogy


def compute_mutual_information(Y: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Return the mutual information of each pair of labels (columns of 0 and 1) in nats.

    `smoothing` pseudo-rows are spread over the four cells of each pair. The diagonal contains the entropies.
    """
    Y = Y.astype(np.float64)
    both = Y.T @ Y + smoothing / 4.0
    first = Y.sum(axis=0) + smoothing / 2.0
    total = len(Y) + smoothing
    one, other = first[:, None], first[None, :]
    cells = {
        (1, 1): both,
        (1, 0): one - both,
        (0, 1): other - both,
        (0, 0): total - one - other + both,
    }
    found = np.zeros_like(both)
    for (a, b), cell in cells.items():
        margins = (one if a else total - one) * (other if b else total - other)
        share = np.maximum(cell, 0.0) / total
        # The margins of a non-empty cell are not 0.
        found += xlogy(share, np.divide(cell * total, margins, out=np.ones_like(share), where=share > 0))
    found = np.maximum(found, 0.0)
    share = first / total
    np.fill_diagonal(found, -xlogy(share, share) - xlogy(1.0 - share, 1.0 - share))
    return (found + found.T) / 2.0


def find_spanning_tree(worth: np.ndarray) -> np.ndarray:
    """Return the edges of the maximum spanning tree, as sorted pairs of positions.

    SciPy's minimum spanning tree takes the ranks of the edges as weights. Mutual information cannot be the
    weight, since SciPy treats an edge of weight 0 as absent.
    """
    i, j = np.triu_indices(len(worth), 1)
    rank = np.zeros(worth.shape)
    order = np.argsort(-worth[i, j], kind="stable")
    rank[i[order], j[order]] = 1.0 + np.arange(len(order))
    found = minimum_spanning_tree(sparse.csr_array(rank)).tocoo()
    edges = np.sort(np.column_stack([found.row, found.col]).astype(np.int64), axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def direct_edges(edges: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the parent of each label; the most frequent (or first) label of each part is a root, with -1."""
    n_labels = len(counts)
    parents = np.full(n_labels, -1, dtype=np.int64)
    graph = sparse.csr_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_labels, n_labels))
    n_parts, part = connected_components(graph, directed=False)
    for c in range(n_parts):
        members = np.flatnonzero(part == c)
        top = members[np.argmax(counts[members])]
        reached, before = breadth_first_order(graph, top, directed=False)
        parents[reached[1:]] = before[reached[1:]]
    return parents


def exchange_margins(worth: np.ndarray, tree: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return the value of the edge into each label minus that of the best replacement.

    Removing the edge splits the tree in two; a replacement joins the parts again. The margin is infinite if
    there is none, and 0 for labels without a parent.
    """
    n_labels = len(worth)
    margins = np.zeros(n_labels)
    for k in np.flatnonzero(parents >= 0):
        p = parents[k]
        rest = tree[~((tree == min(p, k)).any(axis=1) & (tree == max(p, k)).any(axis=1))]
        graph = sparse.csr_array((np.ones(len(rest)), tuple(rest.T)), shape=(n_labels, n_labels))
        below = np.zeros(n_labels, dtype=bool)
        below[breadth_first_order(graph, k, directed=False, return_predecessors=False)] = True
        across = worth[np.ix_(below, ~below)]
        across[np.flatnonzero(below).searchsorted(k), np.flatnonzero(~below).searchsorted(p)] = -np.inf
        margins[k] = worth[p, k] - across.max()
    return margins


def compute_tree_marginals(held: np.ndarray, parents: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the probability of each label, given its probability without and with its parent.

    `held` has shape (2, n, n_labels).
    """
    found = held[0].copy()
    for k in order:
        if parents[k] >= 0:
            found[:, k] += found[:, parents[k]] * (held[1, :, k] - held[0, :, k])
    return np.clip(found, 0.0, 1.0)


def find_tree_maximum(log_p: np.ndarray, parents: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the most probable labelling of each row.

    `log_p[y, p]`, of shape (n, n_labels), is the log-probability of value y of a label given value p of its
    parent.
    """
    below = np.zeros((2, *log_p.shape[2:]))  # best log-probability of the labels below, given the value
    best = np.zeros((2, *log_p.shape[2:]), dtype=np.int64)  # best value, given the value of the parent
    for k in order[::-1]:
        for p in (0, 1):
            either = log_p[:, p, :, k] + below[:, :, k]
            best[p, :, k] = either.argmax(axis=0)
            if parents[k] >= 0:
                below[p, :, parents[k]] += either.max(axis=0)
    found = best[0].copy()
    for k in order:
        if parents[k] >= 0:
            found[:, k] = np.where(found[:, parents[k]] == 1, best[1, :, k], best[0, :, k])
    return found
