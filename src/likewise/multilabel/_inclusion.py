"""Learn a tree of labels from incomplete labels, without features.

Label c is under p if every row with c has p. Among rows with c recorded, each label p above c is recorded
with frequency 1 - α, and every other label with a lower frequency. Given α, the contingency table of two
recorded labels therefore shows how likely it is that one includes the other. Conversely the tree determines
α, since a label with a recorded label below it is certainly present.

The tree describes which labels imply which others in the whole data, so features are not used. Given features
that predict the labels well, the labels are nearly independent: the likelihood of the labels given the
features hardly distinguishes trees, and favours the current one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._best_tree import LearnedTree, find_best_tree
from likewise.multilabel._chains import find_certain_labels, settle

LEAST_RATE = 0.005  # minimum rate when learning trees; at 0 a single missing record would exclude an edge
_GRID = np.concatenate([[LEAST_RATE, 0.01, 0.02], np.arange(0.05, 0.9, 0.05)])
LARGEST_RATE = 0.95
_PRIOR_ROWS = 20.0  # weight, in cells, of the mean rate of all labels in the rate of one label
ROOT_PREFERENCE = 2.0  # nats: penalty on edges from the root, so that ties go to another label
_TINY = 1e-12


def count_pairs(Z: np.ndarray) -> np.ndarray:
    """Return the number of rows with both labels of each pair recorded; the diagonal counts single labels."""
    Z = Z.astype(np.float32 if len(Z) < 2**24 else np.float64)
    return (Z.T @ Z).astype(np.float64)


def compute_inclusion_scores(
    both: np.ndarray, n_rows: int, rates: np.ndarray | float, relaxation: np.ndarray | float
) -> np.ndarray:
    """Return the log-likelihood ratio of the table of two labels: "p includes c" against "independent".

    Let π be the frequency of a label: its recorded frequency divided by 1 - α. If p includes c, then
    P(y_p = y_c = 1) = π_p s and P(y_p = 0, y_c = 1) = (1 - π_p) ε, where s = (π_c - (1 - π_p) ε) / π_p, at
    most 1, keeps the frequency of c. Labels are recorded independently. Both models fit the frequencies of p
    and c, so scores for different α are comparable.

    Parameters
    ----------
    both : ndarray of shape (n_labels, n_labels)
        The counts of :func:`count_pairs`.
    n_rows : int
        The number of rows.
    rates : float or ndarray of shape (n_labels,)
        The missing rate α of each label.
    relaxation : float or ndarray of shape (n_labels,)
        The probability ε of a label without its parent.

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
    """Return the shared missing rate, the rate of each label, and the number of cells they come from.

    A label is certainly present in a row in which a label below it is recorded. Its missing rate is the
    fraction of these cells in which it is not recorded; features and classifier are not used. The shared rate
    is the fraction over the cells of all labels. The rate of a label is shrunk towards the mean rate of the
    labels with the weight of twenty cells; a label without descendants gets the mean rate. Without any such
    cell the rates are NaN.
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
    """Learn the tree of recorded labels, at a known missing rate or together with the rate.

    An unknown rate is initialised from a grid: the rate whose tree has the largest score. Only edges that
    gain more than 2 log n_labels nats count, which is unlikely by chance among n_labels² pairs. Otherwise
    unrelated labels would support a rate so high that every row has all of them. Without such an edge the
    smallest rate of the grid is used. The rate is estimated from these edges and the tree relearned at this
    rate, alternately, until the tree is stable. Then labels move to the best parent among the labels that
    include them (:mod:`likewise.multilabel._chains`), again alternating with the rate.
    """
    both, n_rows = count_pairs(Z), len(Z)
    allowed = allowed.copy()
    never = 1 + np.flatnonzero(np.diag(both) == 0)
    allowed[1:, never] &= ~allowed[0, never]  # labels never recorded go to the root, if that is allowed
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
    """Alternately move labels to better parents and estimate the missing rate, until both are stable."""
    for _ in range(max_rounds):
        parents, at = tree.parents, rate
        tree = settle(Z, tree, np.full(Z.shape[1], at), allowed)
        rate = _estimate_rate(Z, np.where(select_rate_edges(tree.scores), tree.parents, -1), at)
        if rate == at and np.array_equal(tree.parents, parents):
            break
    return tree


def compute_net_evidence(tree: LearnedTree) -> float:
    """Return the evidence for all edges, minus what each edge may gain by chance."""
    return float((tree.scores - compute_edge_price(len(tree.parents)))[tree.parents >= 0].sum())


def compute_edge_price(n_labels: int) -> float:
    """Return the gain over the root, in nats, above which an edge is unlikely to be due to chance."""
    return 2.0 * float(np.log(n_labels))


def select_rate_edges(scores: np.ndarray) -> np.ndarray:
    """Return a mask of the edges from which the missing rate is estimated: no evidence is against them.

    It is empty if all edges may be due to chance. Selecting only the edges that are not due to chance would
    bias the rate: among edges with few records, these happen to have the fewest missing records.
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
    """Return ε for each label: `relaxation`, but at most a tenth of the frequency of the label.

    With an ε above its frequency, a rare label would be more probable without its parent than overall.
    """
    share = np.minimum(counts / (n_rows * (1.0 - np.asarray(rates))), 1.0)
    return np.minimum(relaxation, np.maximum(0.1 * share, 1e-9))
