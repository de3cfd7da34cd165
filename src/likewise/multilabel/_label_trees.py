"""Learn a tree of labels from incomplete labels, without features.

A tree is an array of parents, in which -1 is the root. Label c is under p if every row with c has p. Among
rows with c recorded, each label p above c is recorded with frequency 1 - α, and every other label with a
lower frequency. Given α, the contingency table of two recorded labels therefore shows how likely it is that
one includes the other. Conversely the tree determines α, since a label with a recorded label below it is
certainly present.

The tree describes which labels imply which others in the whole data, so features are not used. Given features
that predict the labels well, the labels are nearly independent: the likelihood of the labels given the
features hardly distinguishes trees, and favours the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from likewise.kernels.arborescence import edge_margins, maximum_arborescence
from likewise.multilabel._chow_liu import compute_mutual_information

LEAST_RATE = 0.005  # minimum rate when learning trees; at 0 a single missing record would exclude an edge
LARGEST_RATE = 0.95
_GRID = np.concatenate([[LEAST_RATE, 0.01, 0.02], np.arange(0.05, 0.9, 0.05)])
_PRIOR_ROWS = 20.0  # weight, in cells, of the mean rate of all labels in the rate of one label
ROOT_PREFERENCE = 2.0  # nats: penalty on edges from the root, so that ties go to another label
_PREFERENCE = 1.0  # nats per step down the tree, so that ties go to the most specific parent
_SLIP = 0.01  # fraction of the rows of a label that may lack one of its parents
_MISFIT = 4.0  # nats: maximum loss of fit of an inclusion against the best-fitting fraction
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A tree over labels, with the support for each edge, of shape (n_labels,).

    The margin is the gain over the next best choice: the best tree without that edge if
    :func:`find_best_tree` made the tree, and the next best parent otherwise.
    """

    parents: np.ndarray  # the parent of each label; -1 is the root
    scores: np.ndarray  # the gain of the edge into each label over an edge from the root
    margins: np.ndarray

    def build_hierarchy(self, names: tuple[str, ...]) -> LabelHierarchy:
        """Return the tree as a hierarchy of named labels."""
        edges = [(names[p], names[c]) for c, p in enumerate(self.parents) if p >= 0]
        return LabelHierarchy(names, edges, scores=self.scores, margins=self.margins)


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


def allow_all_edges(n_labels: int) -> np.ndarray:
    """Return a mask that allows all edges except those into the root and from a label to itself."""
    allowed = ~np.eye(n_labels + 1, dtype=bool)
    allowed[:, 0] = False
    return allowed


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


# ---------------------------------------------------------------------- inclusion of one label in another


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

    `both` are the counts of :func:`count_pairs`, `rates` the missing rates α, and `relaxation` is the
    probability ε of a label without its parent, for all labels or for each. ``[p, c]`` is the score of p → c.
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
    apart = [np.outer(a, b) for a in (seen, 1.0 - seen) for b in (seen, 1.0 - seen)]
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
    include them (:func:`settle`), again alternating with the rate.
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


# ---------------------------------------------------------------------- evidence along paths


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

    All ancestors of c include it, so good agreement with a distant ancestor is no reason to make it the
    parent. If c is under p, then for every ancestor a (p included) a fraction 1 - α_a of the rows that
    certainly have c has a recorded. Otherwise the fraction is (1 - α_a) P(y_a = 1 | parent of a present). The
    evidence is the sum of the log-likelihood ratios of the two from the root down to p. Two parents on one
    path differ only by the evidence between them. The tree above p is given by `tree`. The cost is
    O(n n_labels²).
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
    evidence = compute_binomial_likelihood(found, certain, keep)
    evidence -= compute_binomial_likelihood(found, certain, keep * elsewhere)
    total = np.zeros((k, k))
    for p in tree.order:
        total[:, p] = evidence[:, p] + (total[:, parents[p]] if parents[p] >= 0 else 0.0)
    return total


def compute_binomial_likelihood(found: Any, of: Any, rate: Any, least: float = 1e-9) -> np.ndarray:
    """Return the log-likelihood of `found` successes of `of`; the rate is kept `least` away from 0 and 1."""
    rate = np.clip(rate, least, 1.0 - least)
    return np.asarray(xlogy(found, rate) + xlogy(of - found, 1.0 - rate))


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
        worth = _compute_worth(Z, now, rates, allowed, costs)
        # Prefer specific parents, except where the records are evidence against a parent.
        worth += np.where(worth < -_PREFERENCE, 0.0, _PREFERENCE * np.append(now.depths + 1, 0))
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
    below = tree.ancestor_matrix() | np.eye(k, dtype=bool)
    if costs is not None:
        worth[:, :k] -= costs @ below
    worth[:, :k][below] = -np.inf
    worth[~np.column_stack([allowed[1:, 1:].T, allowed[0, 1:]])] = -np.inf
    return worth


# ---------------------------------------------------------------------- several parents


def with_further_parents(
    tree: LabelHierarchy, both: np.ndarray, n_rows: int, rates: np.ndarray, allowed: np.ndarray
) -> LabelHierarchy:
    """Add all further parents that the recorded labels support to a tree.

    Label q is a further parent of c, whose parent is p, if rows with c have q recorded at the rate 1 - α_q
    that inclusion predicts, and not at the rate that follows from p. The two binomial log-likelihoods must
    differ by at least log n_labels + ½ log n nats. Parents that are implied by another parent are removed.
    """
    names, k = tree.names, tree.n_labels
    counts, keep = np.diag(both), 1.0 - rates
    share = np.clip(counts / (n_rows * keep), 1e-12, 1.0)
    price = np.log(k) + 0.5 * np.log(max(n_rows, 2))
    margins = np.array(tree.margins, dtype=np.float64)
    above = tree.ancestor_matrix()
    extra: list[tuple[int, int]] = []
    # Frequent labels first: the parents of a label are final before the labels below it are visited.
    for c in sorted(range(k), key=lambda v: (-counts[v], v)):
        gains = _compute_gains(c, tree, both, n_rows, share, keep)
        for q in np.argsort(-gains, kind="stable"):
            if gains[q] <= price:
                break
            is_known = q == c or above[q, c] or above[c, q]
            if is_known or share[q] <= share[c] or not allowed[q + 1, c + 1]:
                continue
            extra.append((int(q), c))
            margins[c] = min(margins[c], gains[q] - price)
            heads, tails = np.append(np.flatnonzero(above[:, q]), q), np.append(np.flatnonzero(above[c]), c)
            above[np.ix_(heads, tails)] = True
    edges = [(int(p), c) for c, p in enumerate(tree.parents) if p >= 0] + extra
    kept = [(p, c) for p, c in edges if not (above[p] & above[:, c]).any()]
    return LabelHierarchy(
        names,
        [(names[p], names[c]) for p, c in kept],
        scores=tree.scores,
        margins=margins,
        counts=tree.counts,
    )


def _compute_gains(
    c: int, tree: LabelHierarchy, both: np.ndarray, n_rows: int, share: np.ndarray, keep: np.ndarray
) -> np.ndarray:
    """Return the log-likelihood ratio of "q includes c" to "q is as frequent as under the parent of c"."""
    p = tree.parents[c]
    if p < 0:
        base = share
    else:
        base = np.clip(both[p] / (n_rows * keep[p] * keep * share[p]), 0.0, 1.0)
    n_c, found = both[c, c], both[c]

    def compute_likelihood(rate: np.ndarray) -> np.ndarray:
        rate = np.clip(rate, 1e-12, 1.0 - 1e-12)
        return found * np.log(rate) + (n_c - found) * np.log1p(-rate)

    included = compute_likelihood(keep * (1.0 - _SLIP))
    free = (
        np.zeros_like(share)
        if n_c == 0
        else xlogy(found, found / n_c) + xlogy(n_c - found, 1.0 - found / n_c)
    )
    gains = included - compute_likelihood(keep * np.minimum(base, 1.0 - _SLIP))
    return np.where(free - included <= _MISFIT, gains, -np.inf)
