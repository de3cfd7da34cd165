"""Maximum-score trees over labels. A tree is an array of parents, in which -1 is the root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.kernels.arborescence import edge_margins, maximum_arborescence


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A tree over labels, with the support for each edge.

    Attributes
    ----------
    parents : ndarray of int64 of shape (n_labels,)
        The parent of each label; -1 is the root.
    scores : ndarray of shape (n_labels,)
        Gain of the edge into each label over an edge from the root.
    margins : ndarray of shape (n_labels,)
        Gain of the edge into each label over the next best choice: the best tree without that edge if
        :func:`find_best_tree` made the tree, and the next best parent otherwise.
    """

    parents: np.ndarray
    scores: np.ndarray
    margins: np.ndarray


def find_best_tree(
    scores: np.ndarray, allowed: np.ndarray, preference: float = 0.0, *, margins: bool = True
) -> LearnedTree:
    """Return the tree with the largest sum of scores, in O(n_labels²), and its margins, in O(n_labels³).

    `scores`, of shape (n_labels, n_labels), are relative to an edge from the root; these edges have the score
    ``-preference``. `allowed` has shape (n_labels + 1, n_labels + 1); node 0 is the root.
    """
    weights = np.full(allowed.shape, -preference)
    weights[1:, 1:] = scores
    weights[~allowed] = -np.inf
    parents = maximum_arborescence(weights)
    if (parents[1:] < 0).any():
        raise HierarchyError(
            "the allowed edges contain no tree: some labels can be reached only from each other. Allow "
            "the root, or another label, as a parent of one of them."
        )
    own = np.arange(1, len(parents))
    gains = np.where(parents[1:] > 0, weights[parents[1:], own], 0.0)
    leads = edge_margins(weights, parents)[1:] if margins else np.full(len(own), np.nan)
    return LearnedTree(parents[1:] - 1, gains, leads)
