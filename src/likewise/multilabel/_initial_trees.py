"""Trees that are not learned from inclusion: other places for the search to start from."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.multilabel._best_tree import LearnedTree, find_best_tree
from likewise.multilabel._inclusion import count_pairs
from likewise.multilabel._mutual_tree import compute_mutual_information


def make_star(n_labels: int, allowed: np.ndarray) -> LearnedTree:
    """Every label on the root, as far as that is allowed: labels on their own, as in binary relevance."""
    return find_best_tree(np.full((n_labels, n_labels), -1.0), allowed)


def make_count_tree(Z: np.ndarray, allowed: np.ndarray, relaxation: float) -> LearnedTree:
    """The best tree if what was recorded were complete and the features told nothing.

    The score of an edge is that of Pei (2017), eq. 5.9, with y := z and a classifier of an intercept only.
    """
    both = count_pairs(Z)
    counts = np.diag(both)
    n_rows = len(Z)
    p, c = counts[:, None], counts[None, :]
    inside = xlogy(both, both) + xlogy(p - both, p - both) - xlogy(p, p)
    outside = (c - both) * np.log(relaxation) + (n_rows - p - c + both) * np.log1p(-relaxation)
    on_root = xlogy(counts, counts) + xlogy(n_rows - counts, n_rows - counts) - n_rows * np.log(n_rows)
    return find_best_tree(inside + outside - on_root, allowed)


def make_chow_liu_tree(Z: np.ndarray, allowed: np.ndarray) -> LearnedTree:
    """The tree of the largest mutual information, in which the more frequent label of two is the parent."""
    both = count_pairs(Z)
    counts = np.diag(both)
    rarer = counts[:, None] < counts[None, :]
    same = (counts[:, None] == counts[None, :]) & np.tri(len(counts), dtype=bool)
    scores = np.where(rarer | same, -1.0, len(Z) * compute_mutual_information(Z))
    return find_best_tree(scores, allowed)
