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

import numpy as np
from scipy.special import xlogy

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._best_tree import LearnedTree, find_best_tree
from likewise.multilabel._chains import find_certain_labels, settle

LEAST_RATE = 0.005  # at which trees are looked for: at 0 one record that is missing would forbid an edge
_GRID = np.concatenate([[LEAST_RATE, 0.01, 0.02], np.arange(0.05, 0.9, 0.05)])
LARGEST_RATE = 0.95
_PRIOR_ROWS = 20.0  # how many cells the mean rate of labels counts for in the rate of one
ROOT_PREFERENCE = 2.0  # in nats: a label that may as well include another is its parent, not the root
_TINY = 1e-12


def count_pairs(Z: np.ndarray) -> np.ndarray:
    """Return how many rows have both labels recorded, for all pairs; the diagonal counts each label."""
    Z = Z.astype(np.float32 if len(Z) < 2**24 else np.float64)
    return (Z.T @ Z).astype(np.float64)


def compute_inclusion_scores(
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
        See :func:`count_pairs`.
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


def estimate_anchored_rates(Z: np.ndarray, tree: LabelHierarchy) -> tuple[float, np.ndarray, int]:
    """Return the missing rate, that of each label, and how many cells tell it.

    A label is held for certain in a row where some label below it was recorded; the share of those in which
    it was not recorded itself is its missing rate, whatever the features and the classifier say. The shared
    rate is that of all cells. The rate of a label is shrunk towards the mean rate of labels, as if that had
    been seen in twenty cells more; a label with nothing below it has the mean rate. Without any such cell the
    rates are NaN.
    """
    n_labels = Z.shape[1]
    below, _ = find_certain_labels(Z, tree)
    certain, found = below.sum(axis=0), (below & Z.astype(bool)).sum(axis=0)
    if not certain.sum():
        return np.nan, np.full(n_labels, np.nan), 0
    shared = min(1.0 - found.sum() / certain.sum(), LARGEST_RATE)
    weights = certain / (certain + _PRIOR_ROWS)
    typical = weights @ (1.0 - found / np.maximum(certain, 1)) / weights.sum()
    own = 1.0 - (found + _PRIOR_ROWS * (1.0 - typical)) / (certain + _PRIOR_ROWS)
    return shared, np.minimum(own, LARGEST_RATE), int(certain.sum())


def learn_tree(
    Z: np.ndarray,
    allowed: np.ndarray,
    relaxation: float,
    rate: np.ndarray | float | None,
    max_rounds: int = 10,
) -> LearnedTree:
    """Return the tree of recorded labels, for a known missing rate or together with it.

    An unknown rate starts as the one of a grid whose tree has the largest score. Only edges that gain more
    than 2 log n_labels nats count there, which chance hardly gives any of n_labels² pairs: labels that have
    nothing to do with each other fit as well a rate at which every row holds them all. Without such an edge
    the rate is 0. The rate that these edges tell and the tree that the rate tells are found in turn, until
    the tree stays. Then labels settle among those that include them, see
    :mod:`likewise.multilabel._chains`, again in turn with the rate.
    """
    both, n_rows = count_pairs(Z), len(Z)
    allowed = allowed.copy()
    never = 1 + np.flatnonzero(np.diag(both) == 0)
    allowed[1:, never] &= ~allowed[0, never]  # nothing is known of these: to the root, if that is allowed
    price = compute_edge_price(Z.shape[1])

    def find_tree(at: np.ndarray | float, preference: float = ROOT_PREFERENCE) -> LearnedTree:
        eps = compute_relaxations(np.diag(both), n_rows, at, relaxation)
        return find_best_tree(
            compute_inclusion_scores(both, n_rows, at, eps), allowed, preference, margins=False
        )

    if rate is not None:
        return settle(Z, find_tree(rate), np.broadcast_to(rate, Z.shape[1:]), allowed)
    strong, best_rate = max(
        ((find_tree(at, -price), at) for at in _GRID), key=lambda pair: compute_net_evidence(pair[0])
    )
    for _ in range(max_rounds):
        parents = strong.parents
        best_rate = _estimate_rate(Z, parents, best_rate)
        strong = find_tree(best_rate, -price)
        if np.array_equal(strong.parents, parents):
            break
    return settle_with_rate(Z, find_tree(best_rate), best_rate, allowed, max_rounds)


def settle_with_rate(
    Z: np.ndarray, tree: LearnedTree, rate: float, allowed: np.ndarray, max_rounds: int = 10
) -> LearnedTree:
    """Alternately move labels to better parents and estimate the missing rate, until both stay."""
    for _ in range(max_rounds):
        parents, at = tree.parents, rate
        tree = settle(Z, tree, np.full(Z.shape[1], at), allowed)
        rate = _estimate_rate(Z, np.where(select_rate_edges(tree.scores), tree.parents, -1), at)
        if rate == at and np.array_equal(tree.parents, parents):
            break
    return tree


def compute_net_evidence(tree: LearnedTree) -> float:
    """Return the evidence for all edges, less what chance may give to each."""
    return float((tree.scores - compute_edge_price(len(tree.parents)))[tree.parents >= 0].sum())


def compute_edge_price(n_labels: int) -> float:
    """Return what an edge must gain over the root, in nats, for chance hardly to explain it."""
    return 2.0 * float(np.log(n_labels))


def select_rate_edges(scores: np.ndarray) -> np.ndarray:
    """Return the edges from which the missing rate is estimated: those without evidence against them.

    None if chance may explain them all. To select only those that it cannot explain would bias the rate:
    among edges with few records these are the ones that happen to have the fewest gaps.
    """
    is_strong = scores > compute_edge_price(len(scores))
    return (scores > -1.0) & is_strong.any()


def _estimate_rate(Z: np.ndarray, parents: np.ndarray, default_rate: float) -> float:
    """Return the missing rate estimated from a tree, or the default if no cell identifies it."""
    shared, _, n_cells = estimate_anchored_rates(Z, LabelHierarchy.from_parents(parents))
    return max(shared, LEAST_RATE) if n_cells else default_rate


def compute_relaxations(
    counts: np.ndarray, n_rows: int, rates: np.ndarray | float, relaxation: float
) -> np.ndarray:
    """Return ε for each label: as given, but a tenth of the label's share of rows at most.

    An ε above the share of a rare label would make it likelier without its parent than it is at all.
    """
    share = np.minimum(counts / (n_rows * (1.0 - np.asarray(rates))), 1.0)
    return np.minimum(relaxation, np.maximum(0.1 * share, 1e-9))
