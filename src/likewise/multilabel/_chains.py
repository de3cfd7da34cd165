"""Choose the parent of a label among the labels that include it, by evidence summed along paths.

All ancestors of c include it, so good agreement with a distant ancestor is no reason to make it the parent.
If c is under p, then for every ancestor a (p included) a fraction 1 - α_a of the rows that certainly have c
has a recorded. Otherwise the fraction is (1 - α_a) P(y_a = 1 | parent of a present). The sum of the
log-likelihood ratios of the two from the root down to p is the evidence for c under p rather than under the
root. Two parents on one path differ only by the evidence between them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._best_tree import LearnedTree

_PREFERENCE = 1.0  # nats per step down the tree, so that ties go to the most specific parent


def find_certain_labels(Z: np.ndarray, tree: LabelHierarchy) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks: a descendant of the label is recorded, and the label or a descendant is recorded."""
    below, known = np.zeros(Z.shape, dtype=bool), Z.astype(bool)
    for c in reversed(tree.order):
        known[:, c] |= below[:, c]
        for p in tree.parent_lists[c]:
            below[:, p] |= known[:, c]
    return below, known


def compute_chain_evidence(Z: np.ndarray, tree: LabelHierarchy, rates: np.ndarray) -> np.ndarray:
    """Return the evidence, in nats, for label c under p rather than under the root, at ``[c, p]``.

    The tree above p is given by `tree`. The cost is O(n n_labels²).
    """
    n, k = Z.shape
    parents = tree.parents
    keep = 1.0 - rates
    _, known = find_certain_labels(Z, tree)
    dtype = np.float32 if n < 2**24 else np.float64
    certain = known.sum(axis=0)[:, None].astype(np.float64)
    found = (known.astype(dtype).T @ Z.astype(dtype)).astype(np.float64)
    share = np.clip(Z.sum(axis=0) / (n * keep), 1e-9, 1.0)
    above = np.where(parents >= 0, share[parents], 1.0)
    elsewhere = np.clip(share / above, 1e-9, 1.0 - 1e-6)
    evidence = _log_likelihood(found, certain, keep) - _log_likelihood(found, certain, keep * elsewhere)
    total = np.zeros((k, k))
    for p in tree.order:
        total[:, p] = evidence[:, p] + (total[:, parents[p]] if parents[p] >= 0 else 0.0)
    return total


def _log_likelihood(found: np.ndarray, of: np.ndarray, rate: np.ndarray) -> np.ndarray:
    rate = np.clip(rate, 1e-9, 1.0 - 1e-9)
    return xlogy(found, rate) + xlogy(of - found, 1.0 - rate)


def settle(
    Z: np.ndarray,
    tree: LearnedTree,
    rates: np.ndarray,
    allowed: np.ndarray,
    costs: np.ndarray | None = None,
) -> LearnedTree:
    """Move labels with their descendants to better parents until no move gains; compute scores and margins.

    `costs`, of shape (n_labels, n_labels), is subtracted from the evidence: ``costs[c, p]`` for each p above
    c.

    The move with the largest gain comes first, and the evidence is recomputed after it. Since the evidence
    depends on the tree, moves can cycle: the search ends when a tree recurs, or after ten moves per label.
    """
    parents = tree.parents.copy()
    own = np.arange(len(parents))
    seen: set[bytes] = set()
    for _ in range(10 * len(parents)):
        now = LabelHierarchy.from_parents(parents)
        worth = _prefer_specific(_compute_worth(Z, now, rates, allowed, costs), now)
        best = worth.argmax(axis=1)
        gain = worth[own, best] - worth[own, parents]
        c = int(np.argmax(gain))
        if gain[c] <= 1e-9 or parents.tobytes() in seen:
            break
        seen.add(parents.tobytes())
        parents[c] = best[c] if best[c] < len(parents) else -1
    worth = _compute_worth(Z, LabelHierarchy.from_parents(parents), rates, allowed, costs)
    scores = np.where(parents < 0, 0.0, worth[own, parents])
    worth[own, parents] = -np.inf
    return LearnedTree(parents, scores, np.maximum(scores - worth.max(axis=1), 0.0))


def _compute_worth(
    Z: np.ndarray, tree: LabelHierarchy, rates: np.ndarray, allowed: np.ndarray, costs: np.ndarray | None
) -> np.ndarray:
    """Return the evidence for parent p of label c at ``[c, p]``, the root last; -inf if not possible."""
    k = tree.n_labels
    worth = np.zeros((k, k + 1))
    worth[:, :k] = compute_chain_evidence(Z, tree, rates)
    if costs is not None:
        worth[:, :k] -= costs @ (tree.ancestor_matrix() | np.eye(k, dtype=bool))
    worth[:, :k][tree.ancestor_matrix() | np.eye(k, dtype=bool)] = -np.inf
    possible = np.column_stack([allowed[1:, 1:].T, allowed[0, 1:]])
    worth[~possible] = -np.inf
    return worth


def _prefer_specific(worth: np.ndarray, tree: LabelHierarchy) -> np.ndarray:
    """Add the preference for specific parents, except where the records are evidence against a parent."""
    steps = np.append(tree.depths + 1, 0)
    return np.where(worth < -_PREFERENCE, worth, worth + _PREFERENCE * steps)
