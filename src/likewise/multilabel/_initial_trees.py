"""Initial trees that are not learned from inclusion: star, counts and Chow–Liu."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.multilabel._best_tree import LearnedTree, find_best_tree
from likewise.multilabel._inclusion import count_pairs
from likewise.multilabel._mutual_tree import compute_mutual_information


def make_star(n_labels: int, allowed: np.ndarray) -> LearnedTree:
    """Return the tree in which all labels are children of the root (if allowed), as in binary relevance."""
    return find_best_tree(np.full((n_labels, n_labels), -1.0), allowed)


def make_count_tree(Z: np.ndarray, allowed: np.ndarray, relaxation: float) -> LearnedTree:
    """Return the best tree under the assumptions that no label is missing and features are uninformative.

    The score of an edge is eq. 5.9 of Pei (2017), with y := z and an intercept as the only feature.
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
    """Return the tree with the largest mutual information; parents are more frequent than their children."""
    both = count_pairs(Z)
    counts = np.diag(both)
    rarer = counts[:, None] < counts[None, :]
    same = (counts[:, None] == counts[None, :]) & np.tri(len(counts), dtype=bool)
    scores = np.where(rarer | same, -1.0, len(Z) * compute_mutual_information(Z))
    return find_best_tree(scores, allowed)
