"""Trees that are not learned from inclusion: other places for the search to start from."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.multilabel._best_tree import LearnedTree, best_tree
from likewise.multilabel._inclusion import pair_counts
from likewise.multilabel._mutual_tree import mutual_information


def star(n_labels: int, allowed: np.ndarray) -> LearnedTree:
    """Every label on the root, as far as that is allowed: labels on their own, as in binary relevance."""
    return best_tree(np.full((n_labels, n_labels), -1.0), allowed)


def by_counts(Z: np.ndarray, allowed: np.ndarray, relaxation: float) -> LearnedTree:
    """The best tree if what was recorded were complete and the features told nothing.

    The score of an edge is that of Pei (2017), eq. 5.9, with y := z and a classifier of an intercept only.
    """
    both = pair_counts(Z)
    counts = np.diag(both)
    n_rows = len(Z)
    p, c = counts[:, None], counts[None, :]
    inside = xlogy(both, both) + xlogy(p - both, p - both) - xlogy(p, p)
    outside = (c - both) * np.log(relaxation) + (n_rows - p - c + both) * np.log1p(-relaxation)
    on_root = xlogy(counts, counts) + xlogy(n_rows - counts, n_rows - counts) - n_rows * np.log(n_rows)
    return best_tree(inside + outside - on_root, allowed)


def chow_liu(Z: np.ndarray, allowed: np.ndarray) -> LearnedTree:
    """The tree of the largest mutual information, in which the more frequent label of two is the parent."""
    both = pair_counts(Z)
    counts = np.diag(both)
    rarer = counts[:, None] < counts[None, :]
    same = (counts[:, None] == counts[None, :]) & np.tri(len(counts), dtype=bool)
    scores = np.where(rarer | same, -1.0, len(Z) * mutual_information(Z))
    return best_tree(scores, allowed)
