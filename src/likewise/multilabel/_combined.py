"""Marginals that combine the tree, a separate classifier per label and the labels below each label.

The tree gives P(y_c = 1 | x) as a product of classifiers from the root down. The product is poor if a label
is a union of dissimilar labels: a linear classifier cannot describe the union, and every label below it
inherits the error. A separate classifier of c, fitted to the posterior of the E-step, does not inherit it.
A label is also present if a label below it is. The three probabilities are combined by

    logit P(y_c = 1 | x) = v_c · (logit of the product, of c alone, of any label below) + u_c.

The weights are fitted to out-of-fold probabilities: first common to all labels, then per label with shrinkage
to the common weights, which labels with few records keep. The likelihood is that of the *recorded* labels,
P(z_c = 1 | x) = (1 - α_c) P(y_c = 1 | x), so missing labels do not bias the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from likewise.hierarchy import LabelHierarchy
from likewise.kernels.label_tree import marginals
from likewise.multilabel._em import (
    LabelPosterior,
    LatentHierarchyModel,
    ScaledColumns,
    fit_logistic,
    make_first_model,
)

_N_FOLDS = 5
# Three weights, an offset and a threshold per label are fitted to a sample if there are many rows. Samples
# have at least 20,000 rows, and about 200 records of the rarest label.
_FEWEST_ROWS, _FEWEST_RECORDS = 20_000, 200
_N_STEPS = 50  # L-BFGS iterations of each regression
_SHRINKAGE = 10.0  # penalty on the distance of a label's weights from the common ones
_LEAST = 1e-6  # probabilities are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Combination:
    """Separate classifiers of the labels, and the weights that combine them with the tree."""

    coef: np.ndarray  # (n_labels, n_features), of the separate logistic regression of each label
    intercept: np.ndarray  # (n_labels,)
    weights: np.ndarray  # (n_labels, 3), of the log-odds from the tree, the label alone and the labels below
    offsets: np.ndarray  # (n_labels,), the offsets u

    def compute_probabilities(self, X: Any, by_tree: np.ndarray, hierarchy: LabelHierarchy) -> np.ndarray:
        """Return the combined probability of each label; no label is more probable than its parent."""
        alone = expit(X @ self.coef.T + self.intercept)
        return _combine(_log_odds(by_tree, alone, hierarchy), self.weights, self.offsets, hierarchy)


def compute_tree_marginals(model: LatentHierarchyModel, X: Any) -> np.ndarray:
    """Return the probability of each label for rows without recorded labels, by the tree alone."""
    logits, tree = model.compute_logits(X), model.hierarchy
    if tree.is_tree:
        out = np.empty_like(logits)
        marginals(tree.parents, tree.order, logits, model.relaxations, out)
    else:
        above = np.exp(log_expit(logits) @ tree.ancestor_matrix().astype(np.float64))
        out = above * expit(logits) + (1.0 - above) * model.relaxations
    return np.clip(out, 0.0, 1.0)


def cross_fit(
    X: Any, Z: np.ndarray, model: LatentHierarchyModel, posterior: LabelPosterior, l2: float, *, combine: bool
) -> tuple[np.ndarray, np.ndarray, Combination | None]:
    """Return rows, their out-of-fold marginals, and the combination for other rows, if any.

    The posterior comes from the fit to all rows, so EM runs only once. The rows are all, or a sample if there
    are many. Sample and folds depend on the rows but not on their order. A tree without edges has nothing to
    combine: its classifiers are already separate.
    """
    combine = combine and len(model.hierarchy.edges) > 0
    every, labels = X, posterior.one
    rows = _select_rows(Z, labels.sum(axis=1), model.compute_logits(X).sum(axis=1))
    if len(rows) < len(Z):
        X, Z = X[rows], Z[rows]
        one, both, above = (each[rows] for each in posterior[:3])
        posterior = LabelPosterior(one, both, above, posterior.log_likelihood)
    by_tree, alone = np.empty_like(posterior.one), np.empty_like(posterior.one)
    for train, test in iterate_folds(posterior.one.sum(axis=1), model.compute_logits(X).sum(axis=1)):
        columns = ScaledColumns.from_data(X[train])
        start = make_first_model(Z[train], X.shape[1], model.hierarchy, model.rates, model.relaxations)
        coef, intercept = fit_logistic(
            columns, posterior.both[train], posterior.above[train], start.coef, start.intercept, l2, _N_STEPS
        )
        by_tree[test] = compute_tree_marginals(replace(model, coef=coef, intercept=intercept), X[test])
        if combine:
            coef, intercept = fit_alone(columns, posterior.one[train], l2)
            alone[test] = expit(X[test] @ coef.T + intercept)
    if not combine:
        return rows, by_tree, None
    odds = _log_odds(by_tree, alone, model.hierarchy)
    weights, offsets = _fit_weights(odds, Z, 1.0 - model.rates)
    chances = _combine(odds, weights, offsets, model.hierarchy)
    coef, intercept = fit_alone(ScaledColumns.from_data(every), labels, l2)
    return rows, chances, Combination(coef, intercept, weights, offsets)


def _select_rows(Z: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """Return all rows, or a sample that is evenly spaced in the order of `keys`."""
    counts = Z.sum(axis=0)
    share = _FEWEST_RECORDS / counts[counts > 0].min(initial=len(Z))
    n_parts = int(len(Z) / max(_FEWEST_ROWS, share * len(Z)))
    return next(iterate_folds(*keys, n_folds=max(n_parts, 1)))[1]


def fit_alone(columns: ScaledColumns, labels: np.ndarray, l2: float) -> tuple[np.ndarray, np.ndarray]:
    """Fit a separate logistic regression to each label; `labels` may be probabilities."""
    n, k = labels.shape
    share = np.clip(labels.mean(axis=0), 1.0 / (n + 1.0), n / (n + 1.0))
    nothing = np.zeros((k, columns.X.shape[1]))
    return fit_logistic(columns, labels, np.ones_like(labels), nothing, logit(share), l2, _N_STEPS)


def iterate_folds(*keys: np.ndarray, n_folds: int = _N_FOLDS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows; rows that are adjacent in the order of `keys` are in different folds."""
    rank = np.empty(len(keys[0]), dtype=np.int64)
    rank[np.lexsort(keys[::-1])] = np.arange(len(rank))
    for fold in range(min(n_folds, len(rank))):
        is_test = rank % n_folds == fold
        # A single row is both training and test row.
        yield np.flatnonzero(is_test if is_test.all() else ~is_test), np.flatnonzero(is_test)


def _log_odds(by_tree: np.ndarray, alone: np.ndarray, hierarchy: LabelHierarchy) -> np.ndarray:
    """Return log-odds from the tree, the label alone and the labels below: (n_samples, n_labels, 3)."""
    below = alone.copy()
    none_below = np.ones_like(alone)
    for c in reversed(hierarchy.order):
        if (none_below[:, c] < 1.0).any():
            below[:, c] = 1.0 - none_below[:, c]
        for p in hierarchy.parent_lists[c]:
            none_below[:, p] *= 1.0 - below[:, c]
    return logit(np.clip(np.stack([by_tree, alone, below], axis=2), _LEAST, 1.0 - _LEAST))


def _combine(
    odds: np.ndarray, weights: np.ndarray, offsets: np.ndarray, hierarchy: LabelHierarchy
) -> np.ndarray:
    """Return combined probabilities, raised so that no label is more probable than its parent."""
    chances: np.ndarray = expit(np.einsum("ncj,cj->nc", odds, weights) + offsets)
    for c in reversed(hierarchy.order):
        for p in hierarchy.parent_lists[c]:
            np.maximum(chances[:, p], chances[:, c], out=chances[:, p])
    return chances


def _fit_weights(odds: np.ndarray, Z: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and the offset of each label, shrunk towards values common to all labels."""
    n, k, m = odds.shape
    plain = np.append(np.full(m, 1.0 / m), 0.0)
    common = _maximise_likelihood(odds.reshape(n * k, m), Z.reshape(-1), np.tile(keep, n), plain, 1.0)
    own = np.array(
        [_maximise_likelihood(odds[:, c], Z[:, c], np.full(n, keep[c]), common, _SHRINKAGE) for c in range(k)]
    )
    return own[:, :-1], own[:, -1]


def _maximise_likelihood(
    odds: np.ndarray, z: np.ndarray, keep: np.ndarray, centre: np.ndarray, penalty: float
) -> np.ndarray:
    """Maximise the log-likelihood of z ~ keep · σ(v · odds + u) minus penalty/2 |(v, u) - centre|²."""

    def compute_loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        total = odds @ at[:-1] + at[-1]
        s = expit(total)
        gap = np.maximum(1.0 - keep * s, 1e-12)  # probability of no record
        value = -np.where(z, log_expit(total), np.log(gap)).sum()
        slope = np.where(z, s - 1.0, keep * s * (1.0 - s) / gap)
        away = at - centre
        gradient = np.append(odds.T @ slope, slope.sum()) + penalty * away
        return float(value + 0.5 * penalty * away @ away), gradient

    found = minimize(compute_loss, centre, jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return np.asarray(found.x)


def find_best_thresholds(chances: np.ndarray, Z: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return, for each label, the probability threshold that maximises F1.

    If a label is predicted for k rows, m of which have it recorded, then F1 = 2 m' / (t' + k). Here
    m' = m / (1 - α) and t' = t / (1 - α), with t recorded in total, estimate the counts of complete labels. A
    label that was never recorded keeps 0.5. The threshold is halfway to the next probability, so equal
    probabilities are on the same side.
    """
    thresholds = np.full(chances.shape[1], 0.5)
    for c in range(chances.shape[1]):
        total = Z[:, c].sum() / (1.0 - rates[c])
        if not total:
            continue
        order = np.argsort(-chances[:, c], kind="stable")
        ranked = chances[order, c]
        hits = np.minimum(np.cumsum(Z[order, c]) / (1.0 - rates[c]), np.arange(1, len(ranked) + 1))
        f1 = 2.0 * hits / (total + np.arange(1, len(ranked) + 1))
        below = np.append(ranked[1:], 0.0)
        f1[ranked == below] = -1.0  # no threshold separates equal probabilities
        k = int(np.argmax(f1))
        thresholds[c] = 0.5 * (ranked[k] + below[k])
    return thresholds
