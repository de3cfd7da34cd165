"""Trees of labels as arrays of parents, -1 for the root, and the best of them for given scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.kernels.arborescence import edge_margins, maximum_arborescence


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A tree, and how sure it is.

    Attributes
    ----------
    parents : ndarray of int64 of shape (n_labels,)
        -1 is the root.
    scores, margins : ndarray of shape (n_labels,)
        What the edge into each label gains over the root, and over the next best choice: of
        :func:`find_best_tree` the best tree without that edge, of others the next best parent.
    """

    parents: np.ndarray
    scores: np.ndarray
    margins: np.ndarray


def find_best_tree(
    scores: np.ndarray, allowed: np.ndarray, preference: float = 0.0, *, margins: bool = True
) -> LearnedTree:
    """Return the tree of the largest sum of scores, in O(n_labels²), and its margins, in O(n_labels³).

    `scores` of shape (n_labels, n_labels) count from the root, whose edges have 0 less `preference`.
    `allowed` is of shape (n_labels + 1, n_labels + 1), node 0 the root.
    """
    weights = np.full(allowed.shape, -preference)
    weights[1:, 1:] = scores
    weights[~allowed] = -np.inf
    parents = maximum_arborescence(weights)
    if (parents[1:] < 0).any():
        raise HierarchyError(
            "the edges that are allowed form no tree: some labels can be reached from each other only. Allow "
            "the root, or another label, as a parent of one of them."
        )
    own = np.arange(1, len(parents))
    gains = np.where(parents[1:] > 0, weights[parents[1:], own], 0.0)
    leads = edge_margins(weights, parents)[1:] if margins else np.full(len(own), np.nan)
    return LearnedTree(parents[1:] - 1, gains, leads)
