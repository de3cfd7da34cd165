"""Estimate a tree and a missing rate for each label, alternately.

If p includes c, rows with c recorded have p recorded with frequency 1 - α_p. With α_p unknown, the records of
two labels alone cannot distinguish this from labels that overlap: a true subset of its parent looks just like
a label that equals its parent but is recorded less often. The features can. Labels are missing at random: if
p includes c, then *among rows with c recorded no feature predicts whether p is recorded*. If p is only
frequent among these rows, the features that predict p elsewhere predict it there too.

Edges p → c are scored by inclusion at the current rates, minus the evidence that the features predict p's
records among rows with c; edges for which this evidence exceeds what chance allows are excluded. Rates start
from the pairs of labels that pass this test; then the tree and the rates are estimated alternately. A label
that the records do not need as a parent, or whose missing records the features predict after all, is no
parent. If the features do not predict the records of a child among the rows of its parent either, the data do
not determine which of the two is above the other: :func:`compute_exchange_evidence` measures this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._combined import fit_alone, iterate_folds
from likewise.multilabel._em import ScaledColumns, infer, make_first_model
from likewise.multilabel._label_trees import (
    LARGEST_RATE,
    LEAST_RATE,
    ROOT_PREFERENCE,
    LearnedTree,
    compute_binomial_likelihood,
    compute_chain_evidence,
    compute_edge_price,
    compute_inclusion_scores,
    compute_relaxations,
    count_pairs,
    estimate_anchored_rates,
    find_best_tree,
    find_certain_labels,
    select_rate_edges,
    settle,
)

_N_FOLDS = 3
_TIE = 1e-6  # a smaller difference in log-likelihood is due to rounding
_MIN_RECORDS = 10  # records of a label that are needed to estimate the initial rate of another


@dataclass(frozen=True, eq=False)
class GapTest:
    """Test of whether the features predict which records of each label are missing.

    ``evidence[p, c]`` is the evidence in nats that the score of p predicts the records of p among the m rows
    with c recorded, minus ½ log m. A positive value is evidence against p including c.
    """

    scores: np.ndarray  # (n_samples, n_labels), cross-fitted log-odds that each label is recorded
    evidence: np.ndarray  # (n_labels, n_labels)

    @property
    def excluded(self) -> np.ndarray:
        """Edges ``[p, c]`` with significant evidence against them."""
        return np.asarray(self.evidence > compute_edge_price(len(self.evidence)))


def run_gap_test(X: Any, Z: np.ndarray, l2: float) -> GapTest:
    """Predict the records of all labels, and test for all pairs whether labels are missing at random."""
    records, scores = Z.astype(np.float64), score_records(X, Z, l2)
    n = np.maximum(records.sum(axis=0), 1.0)  # rows with c
    sum_z, sum_s = records.T @ records, scores.T @ records
    sum_ss, sum_zs = (scores**2).T @ records, (records * scores).T @ records
    evidence = _compute_slope_gain(n, sum_z, sum_s, sum_ss, sum_zs)
    np.fill_diagonal(evidence, -np.inf)
    return GapTest(scores, evidence)


def score_records(X: Any, Z: np.ndarray, l2: float) -> np.ndarray:
    """Return cross-fitted log-odds, from the features, that each label is recorded."""
    records = Z.astype(np.float64)
    scores = np.empty_like(records)
    keys = records.sum(axis=1), np.asarray(X.sum(axis=1)).ravel()
    for train, test in iterate_folds(*keys, n_folds=_N_FOLDS):
        coef, intercept = fit_alone(ScaledColumns.from_data(X[train]), records[train], l2)
        scores[test] = X[test] @ coef.T + intercept
    return scores


def _score_statistic(n: Any, sum_z: Any, sum_s: Any, sum_ss: Any, sum_zs: Any) -> np.ndarray:
    """Return half the score statistic of z on s, or 0 if z is less likely where s is larger."""
    together = sum_zs - sum_z * sum_s / n
    spread = sum_z / n * (1.0 - sum_z / n) * np.maximum(sum_ss - sum_s**2 / n, 0.0)
    chi = np.where((together > 0) & (spread > 1e-12), together**2 / np.maximum(spread, 1e-12), 0.0)
    return np.asarray(0.5 * chi)


def _compute_slope_gain(n: Any, sum_z: Any, sum_s: Any, sum_ss: Any, sum_zs: Any) -> np.ndarray:
    """Return half the score statistic of z on s (0 if the association is negative), minus ½ log n."""
    return np.asarray(_score_statistic(n, sum_z, sum_s, sum_ss, sum_zs) - 0.5 * np.log(np.maximum(n, 2.0)))


def compute_exchange_evidence(
    Z: np.ndarray, known: np.ndarray, tree: LabelHierarchy, c: int, scores: np.ndarray
) -> float:
    """Return the evidence, in nats, for label c under its parent p rather than p under c.

    A label is present in all rows in which a label below it is recorded or implied; among these rows it is
    recorded at random. The tree asserts this of p with its children and of c with its children; after an
    exchange, it asserts it of c with p, the other children of p and the children of c. A negative value
    favours the exchange. `known` are the labels that are certainly present given the tree, and `scores` are
    cross-fitted log-odds that labels are recorded.
    """
    (p,) = tree.parent_lists[c]
    of_p, of_c = ([d for d, above in enumerate(tree.parent_lists) if t in above] for t in (p, c))
    others = [d for d in (*of_p, *of_c) if d != c]
    now = _compute_gap_evidence(Z[:, p], known[:, of_p], scores[:, p])
    now += _compute_gap_evidence(Z[:, c], known[:, of_c], scores[:, c])
    below = np.column_stack([Z[:, p] > 0, known[:, others]])
    return _compute_gap_evidence(Z[:, c], below, scores[:, c]) - now


def _compute_gap_evidence(z: np.ndarray, below: np.ndarray, scores: np.ndarray) -> float:
    """Return the evidence, in nats, that a label is absent from some rows with a label below it.

    If it were present in all of them, it would be recorded equally often with each of these labels, and the
    features would not predict its records. The evidence is the log-likelihood ratio of separate frequencies
    against one, minus its expected value, plus half the score statistic of `scores`.
    """
    below = below[:, below.any(axis=0)]
    if not below.shape[1]:
        return 0.0
    n, found = below.sum(axis=0), z.astype(np.float64) @ below

    def log_likelihood(rate: Any) -> float:
        return float(compute_binomial_likelihood(found, n, rate, 0.0).sum())

    ratio = log_likelihood(found / n) - log_likelihood(found.sum() / n.sum()) - 0.5 * (len(n) - 1)
    rows = below.any(axis=1)
    z, s = z[rows].astype(np.float64), scores[rows]
    return max(ratio, 0.0) + float(_score_statistic(len(z), z.sum(), s.sum(), (s**2).sum(), (z * s).sum()))


def has_different_rates(Z: np.ndarray, tree: LabelHierarchy) -> bool:
    """Return True if separate rates fit better than one by BIC.

    Only cells in which the label is known to be present are used. Each further rate costs ½ log of the mean
    number of such cells per label.
    """
    below, _ = find_certain_labels(Z, tree)
    certain = below.sum(axis=0)
    inner = certain > 0
    if inner.sum() < 2:
        return False
    certain, found = certain[inner], (below & Z.astype(bool)).sum(axis=0)[inner]
    free, shared = found / certain, found.sum() / certain.sum()
    gain = float(compute_binomial_likelihood(found, certain, free).sum())
    gain -= float(compute_binomial_likelihood(found, certain, shared).sum())
    return gain > 0.5 * np.log(max(certain.mean(), 2.0)) * (inner.sum() - 1)


def has_more_evidence(
    own: LearnedTree, shared: LearnedTree, shared_rate: float, Z: np.ndarray, test: GapTest, relaxation: float
) -> bool:
    """Return True if a tree with separate rates explains the records better than one with a shared rate.

    Both trees are compared by the log-likelihood of the records, minus the evidence that the features predict
    the missing records of a label above another, minus a penalty for each edge and ½ log n for each rate.
    If both are equal up to rounding, as for one tree with a single rate, the result is False.
    """

    def compute_evidence(tree: LabelHierarchy, rates: np.ndarray, n_rates: int) -> float:
        predicted = float(np.maximum(test.evidence, 0.0)[tree.ancestor_matrix()].sum())
        price = compute_edge_price(tree.n_labels) * len(tree.edges) + 0.5 * np.log(len(Z)) * n_rates
        return compute_log_likelihood(Z, tree, rates, relaxation) - predicted - price

    own_tree, shared_tree = (LabelHierarchy.from_parents(tree.parents) for tree in (own, shared))
    _, own_rates, n_cells = estimate_anchored_rates(Z, own_tree)
    if not n_cells:  # no edges
        return False
    n_rates = len(np.unique(own.parents[own.parents >= 0]))
    rates = np.full(Z.shape[1], shared_rate)
    own_evidence = compute_evidence(own_tree, own_rates, n_rates)
    return own_evidence > compute_evidence(shared_tree, rates, 1) + _TIE


def compute_log_likelihood(
    Z: np.ndarray, tree: LabelHierarchy, rates: np.ndarray, relaxation: float, max_iter: int = 30
) -> float:
    """Return the log-likelihood of the records without features; EM fits the frequency of each label."""
    model = make_first_model(Z, 1, tree, rates, compute_relaxations(Z.sum(axis=0), len(Z), rates, relaxation))
    nothing = np.zeros((len(Z), 1))
    found = -np.inf
    for _ in range(max_iter):
        posterior = infer(model, nothing, Z)
        if posterior.log_likelihood - found < 1e-4 * len(Z):
            break
        found = posterior.log_likelihood
        share = posterior.both.sum(axis=0) / np.maximum(posterior.above.sum(axis=0), 1e-12)
        model = replace(model, intercept=logit(np.clip(share, 1e-6, 1.0 - 1e-6)))
    return posterior.log_likelihood


def learn_tree_and_rates(
    Z: np.ndarray, test: GapTest, allowed: np.ndarray, relaxation: float, default_rate: float
) -> LearnedTree:
    """Return the tree, estimated alternately with the missing rate of each label.

    `allowed` is a mask of the allowed edges, in which node 0 is the root; labels whose records do not
    determine a rate start with `default_rate`.
    """
    both, n, k, given = count_pairs(Z), len(Z), Z.shape[1], allowed
    costs = np.maximum(test.evidence, 0.0)
    allowed = _exclude(allowed, test.excluded)
    rates = first = _estimate_first_rates(both, n, test.evidence, default_rate)
    seen: set[tuple[bytes, bytes]] = set()
    for _ in range(2 * k + 20):
        eps = compute_relaxations(np.diag(both), n, rates, relaxation)
        scores = compute_inclusion_scores(both, n, rates, eps) - costs
        tree = settle(
            Z, find_best_tree(scores, allowed, ROOT_PREFERENCE, margins=False), rates, allowed, costs.T
        )
        sure = LabelHierarchy.from_parents(np.where(select_rate_edges(tree.scores), tree.parents, -1))
        _, own, n_cells = estimate_anchored_rates(Z, sure)
        if not n_cells:
            break
        own = np.where(find_certain_labels(Z, sure)[0].any(axis=0), own, first)
        needless = _find_least_needed(Z, tree.parents, own, test.scores)
        if needless is not None:
            no_parent = np.zeros((k, k), dtype=bool)
            no_parent[needless] = True
            narrower = _exclude(allowed, no_parent)
            if np.array_equal(narrower, allowed):  # all edges from this label are fixed
                needless = None
            allowed = narrower
        state = tree.parents.tobytes(), np.round(own, 2).tobytes()
        if needless is None and state in seen:
            break
        seen.add(state)
        rates = own
    parents = _exchange(Z, tree.parents, test.scores, given)
    if not np.array_equal(parents, tree.parents):
        rates = estimate_anchored_rates(Z, LabelHierarchy.from_parents(parents))[1]
        return settle(Z, replace(tree, parents=parents), rates, _exclude(given, test.excluded), costs.T)
    return tree


def _exchange(Z: np.ndarray, parents: np.ndarray, scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Exchange labels with their parents if the evidence favours it, the largest gain first."""
    parents = parents.copy()
    for _ in range(len(parents)):
        tree = LabelHierarchy.from_parents(parents)
        _, known = find_certain_labels(Z, tree)
        best, least = None, -1e-9
        for c in np.flatnonzero(parents >= 0):
            p = parents[c]
            after = np.where(parents == p, c, parents)
            after[c], after[p] = parents[p], c
            if allowed[after + 1, np.arange(1, len(parents) + 1)].all():
                evidence = compute_exchange_evidence(Z, known, tree, int(c), scores)
                if evidence < least:
                    best, least = after, evidence
        if best is None:
            break
        parents = best
    return parents


def _exclude(allowed: np.ndarray, excluded: np.ndarray) -> np.ndarray:
    """Remove excluded edges; a label that would have no possible parent left keeps all its candidates."""
    out: np.ndarray = allowed.copy()
    out[1:, 1:] &= ~excluded
    stuck: np.ndarray = np.asarray(~out.any(axis=0))
    stuck[0] = False
    out[:, stuck] = allowed[:, stuck]
    return out


def _estimate_first_rates(
    both: np.ndarray, n_rows: int, evidence: np.ndarray, default_rate: float
) -> np.ndarray:
    """Return initial rates: α_p is estimated from the labels among whose rows p is recorded most often.

    P(z_p = 1 | z_c = 1) is 1 - α_p for all labels c below p, and lower for others. Only labels count among
    whose rows p is more frequent than overall and the features do not predict the records of p.
    """
    counts = np.diag(both)
    n = np.maximum(counts, 1.0)
    share = both / n[None, :]
    error = np.sqrt(np.maximum(share * (1.0 - share), 1e-4) / n[None, :])
    rates = np.full(len(counts), default_rate)
    for p in range(len(counts)):
        fits = (
            (share[p] - 3.0 * error[p] > counts[p] / n_rows) & (evidence[p] <= 0.0) & (counts >= _MIN_RECORDS)
        )
        fits[p] = False
        if fits.any():
            best = np.where(fits, share[p] - 2.0 * error[p], -1.0).argmax()
            alike = fits & (np.abs(share[p] - share[p, best]) < 2.0 * (error[p] + error[p, best]))
            rates[p] = 1.0 - both[p, alike].sum() / counts[alike].sum()
    return np.clip(rates, LEAST_RATE, LARGEST_RATE)


def _find_least_needed(
    Z: np.ndarray, parents: np.ndarray, rates: np.ndarray, scores: np.ndarray
) -> int | None:
    """Return the label that is least needed as a parent, or None if all parents are needed.

    A parent is needed if its children have at least ½ log n nats (the price of its rate) more evidence under
    it than one step up, and if the features do not predict its records where it is certainly present.
    """
    n, k = Z.shape
    tree = LabelHierarchy.from_parents(parents)
    evidence = np.column_stack([compute_chain_evidence(Z, tree, rates), np.zeros(k)])  # the root last
    below, _ = find_certain_labels(Z, tree)
    worst, least = None, 0.0
    for p in np.unique(parents[parents >= 0]):
        children = np.flatnonzero(parents == p)
        gain = float((evidence[children, p] - evidence[children, parents[p]]).sum())
        z, s = Z[below[:, p], p].astype(np.float64), scores[below[:, p], p]
        predicted = float(_compute_slope_gain(max(len(z), 1), z.sum(), s.sum(), (s**2).sum(), (z * s).sum()))
        lack = max(0.5 * np.log(n) - gain, 0.0) + (10.0 * predicted if predicted > np.log(k) else 0.0)
        if lack > least:
            worst, least = int(p), lack
    return worst
