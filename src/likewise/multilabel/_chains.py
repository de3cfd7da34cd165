"""Which of the labels that include another is its parent: evidence along the way from the root.

Every label above c includes it, and that records happen to agree with a far one is no reason to prefer that.
Put c under p, with ancestors a: of the rows that hold c for certain, a share 1 - α_a has a recorded.
Put it elsewhere, and the share is (1 - α_a) P(y_a = 1 | parent of a held). The log-likelihood
ratios of the two, summed from the root down to p, tell how much better c is under p than on the root, and two
parents on one path differ by the evidence between them only.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._best_tree import LearnedTree

_PREFERENCE = 1.0  # in nats, for each step down: of parents that fit alike the most specific is taken


def find_certain_labels(Z: np.ndarray, tree: LabelHierarchy) -> tuple[np.ndarray, np.ndarray]:
    """Return where some label below each label was recorded, and where it or one below it was."""
    below, known = np.zeros(Z.shape, dtype=bool), Z.astype(bool)
    for c in reversed(tree.order):
        known[:, c] |= below[:, c]
        for p in tree.parent_lists[c]:
            below[:, p] |= known[:, c]
    return below, known


def compute_chain_evidence(Z: np.ndarray, tree: LabelHierarchy, rates: np.ndarray) -> np.ndarray:
    """Return by how many nats label c is better off under p than on the root, at ``[c, p]``.

    The tree above p is taken as it is. Costs O(n n_labels²) once.
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
    """Move labels, with all below them, to better parents until none gains; return scores and margins too.

    `costs` of shape (n_labels, n_labels) is subtracted from the evidence that c is included by p, at
    ``[c, p]``, for each p above c.

    The move that gains most comes first, and evidence is worked out anew after it. It depends on the tree, so
    that moves may go round in circles: the search ends when a tree comes up again, or after ten moves a
    label.
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
    """Return what each parent is worth to each label, ``[c, p]``, the root last; -inf where it cannot be."""
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
    """Return worth with the preference for specific parents, where records do not speak against them."""
    steps = np.append(tree.depths + 1, 0)
    return np.where(worth < -_PREFERENCE, worth, worth + _PREFERENCE * steps)
