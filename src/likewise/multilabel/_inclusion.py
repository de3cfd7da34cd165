"""A tree of labels from the labels alone, when some of them were not recorded.

That c lies under p means that every row with c has p. What is recorded is thinner: of the rows with c
recorded, a share 1 - α has p recorded, for each p above c, and fewer for every other label. So the table of
two recorded labels tells how likely it is that one includes the other, once α is known; and α is known once
the tree is, since a label with a recorded label below it is held for certain.

No features are looked at. A tree says which labels imply which others in the data as a whole. Given features
that predict the labels well, the labels are nearly independent of each other, whatever the tree: the
likelihood of the labels given the features can hardly tell trees apart, and prefers the present one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from likewise.exceptions import HierarchyError
from likewise.kernels.arborescence import edge_margins, maximum_arborescence

_GRID = np.arange(0.0, 0.9, 0.05)
_LARGEST_RATE = 0.95
_PRIOR_ROWS = 20.0  # how many rows the shared rate counts for in the rate of one label
_PREFERENCE = 2.0  # in nats: a label that may as well include another is its parent rather than the root is
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A tree, and how sure it is.

    Attributes
    ----------
    parents : ndarray of int64 of shape (n_labels,)
        -1 is the root.
    scores, margins : ndarray of shape (n_labels,)
        What the edge into each label gains over the root, and over the best tree without that edge.
    """

    parents: np.ndarray
    scores: np.ndarray
    margins: np.ndarray


def pair_counts(Z: np.ndarray) -> np.ndarray:
    """Return how many rows have both labels recorded, for all pairs; the diagonal counts each label."""
    Z = Z.astype(np.float32 if len(Z) < 2**24 else np.float64)
    return (Z.T @ Z).astype(np.float64)


def inclusion_scores(
    both: np.ndarray, n_rows: int, rates: np.ndarray | float, relaxation: np.ndarray | float
) -> np.ndarray:
    """Return by how much the table of two labels is more likely if p includes c than if they are unrelated.

    Let π be the share of rows that hold a label, its recorded share over 1 - α. If p includes c, then
    P(y_p = y_c = 1) = π_p s and P(y_p = 0, y_c = 1) = (1 - π_p) ε, where s = (π_c - (1 - π_p) ε) / π_p, at
    most 1, so that c keeps its share. Recording thins both, independently. The score is the log-likelihood
    of the recorded table under this less that under independence. Both fit the shares of p and c, so that
    scores for different α compare.

    Parameters
    ----------
    both : ndarray of shape (n_labels, n_labels)
        See :func:`pair_counts`.
    n_rows : int
    rates : float or ndarray of shape (n_labels,)
        The missing rate α of each label.
    relaxation : float or ndarray of shape (n_labels,)
        The chance ε of a label without its parent.

    Returns
    -------
    scores : ndarray of shape (n_labels, n_labels)
        ``[p, c]`` for the edge from p to c.
    """
    counts = np.diag(both)
    keep = np.broadcast_to(1.0 - np.asarray(rates, dtype=np.float64), counts.shape)
    share = np.clip(counts / (n_rows * keep), _TINY, 1.0 - 1e-9)
    p, c = share[:, None], share[None, :]
    leak = (1.0 - p) * np.broadcast_to(relaxation, counts.shape)[None, :]
    together = np.clip(c - leak, _TINY * c, p * (1.0 - 1e-9))
    seen_both = keep[:, None] * keep[None, :] * together
    seen_p = np.broadcast_to(keep[:, None] * p, seen_both.shape)
    seen_c = keep[None, :] * (together + leak)
    cells = (both, counts[:, None] - both, counts[None, :] - both)
    tables = (*cells, n_rows - sum(cells))
    expected = (seen_both, seen_p - seen_both, seen_c - seen_both, 1.0 - seen_p - seen_c + seen_both)
    seen = counts / n_rows
    apart = (
        np.outer(seen, seen), np.outer(seen, 1.0 - seen), np.outer(1.0 - seen, seen),
        np.outer(1.0 - seen, 1.0 - seen),
    )  # fmt: skip
    return sum(
        xlogy(table, np.clip(model, _TINY, None)) - xlogy(table, np.clip(free, _TINY, None))
        for table, model, free in zip(tables, expected, apart, strict=True)
    )


def best_tree(scores: np.ndarray, allowed: np.ndarray, preference: float = _PREFERENCE) -> LearnedTree:
    """Return the tree of the largest sum of scores.

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
    return LearnedTree(parents[1:] - 1, gains, edge_margins(weights, parents)[1:])


def anchored_rates(
    Z: np.ndarray, parent_lists: tuple[tuple[int, ...], ...], order: np.ndarray
) -> tuple[float, np.ndarray, int]:
    """Return the missing rate, that of each label, and how many cells tell it.

    A label is held for certain in a row where some label below it was recorded; the share of those in which
    it was not recorded itself is its missing rate, whatever the features and the classifier say. A label's
    own rate counts the shared one as twenty rows more; a label with nothing below it has the shared one.
    Without any such cell the rate is NaN.
    """
    n_labels = Z.shape[1]
    recorded = Z.astype(bool)
    below = np.zeros_like(recorded)
    certain, found = np.zeros(n_labels), np.zeros(n_labels)
    for c in reversed(order):
        certain[c] = below[:, c].sum()
        found[c] = (below[:, c] & recorded[:, c]).sum()
        for p in parent_lists[c]:
            below[:, p] |= below[:, c] | recorded[:, c]
    if not certain.sum():
        return np.nan, np.full(n_labels, np.nan), 0
    shared = min(1.0 - found.sum() / certain.sum(), _LARGEST_RATE)
    own = 1.0 - (found + _PRIOR_ROWS * (1.0 - shared)) / (certain + _PRIOR_ROWS)
    return shared, np.minimum(own, _LARGEST_RATE), int(certain.sum())


def learn_tree(
    Z: np.ndarray,
    allowed: np.ndarray,
    relaxation: float,
    rate: np.ndarray | float | None,
    max_rounds: int = 10,
) -> LearnedTree:
    """Return the tree of recorded labels, for a known missing rate or together with it.

    An unknown rate starts as the one of a grid whose tree has the largest score; then the rate that the tree
    tells and the tree that the rate tells are found in turn, until the tree stays.
    """
    both, n_rows = pair_counts(Z), len(Z)
    allowed = allowed.copy()
    never = 1 + np.flatnonzero(np.diag(both) == 0)
    allowed[1:, never] &= ~allowed[0, never]  # nothing is known of these: to the root, if that is allowed

    def tree_of(at: np.ndarray | float) -> LearnedTree:
        eps = relaxations(np.diag(both), n_rows, at, relaxation)
        return best_tree(inclusion_scores(both, n_rows, at, eps), allowed)

    if rate is not None:
        return tree_of(rate)
    found = max((tree_of(at) for at in _GRID), key=lambda tree: tree.scores.sum())
    for _ in range(max_rounds):
        parents = found.parents
        told, _, n_cells = anchored_rates(Z, parent_lists_of(parents), order_of(parents))
        if not n_cells:
            break
        found = tree_of(told)
        if np.array_equal(found.parents, parents):
            break
    return found


def relaxations(counts: np.ndarray, n_rows: int, rates: np.ndarray | float, relaxation: float) -> np.ndarray:
    """Return ε for each label: as given, but a tenth of the label's share of rows at most.

    An ε above the share of a rare label would make it likelier without its parent than it is at all.
    """
    share = np.minimum(counts / (n_rows * (1.0 - np.asarray(rates))), 1.0)
    return np.minimum(relaxation, np.maximum(0.1 * share, 1e-9))


def parent_lists_of(parents: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each label as lists, for a tree."""
    return tuple(() if p < 0 else (int(p),) for p in parents)


def order_of(parents: np.ndarray) -> np.ndarray:
    """Return the labels of a tree with parents before their children."""
    depths = np.full(len(parents), -1, dtype=np.int64)
    for c in range(len(parents)):
        path = []
        while c >= 0 and depths[c] < 0:
            path.append(c)
            c = parents[c]
        depth = -1 if c < 0 else depths[c]
        for d in reversed(path):
            depths[d] = depth = depth + 1
    return np.argsort(depths, kind="stable")
