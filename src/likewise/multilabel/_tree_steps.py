"""Structure steps within EM: the best tree given the current posterior (Pei 2017, eq. 5.9).

The score of an edge is the expected log-likelihood of the child given the parent. The steps differ in the
classifier of c that is used for a candidate parent p: ``literal`` uses the classifier for the current parent,
``intercept`` adjusts its intercept by one Newton step for p, ``profile`` refits it for each p. The posterior
depends on the current tree, so these steps seldom change the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from likewise.kernels.label_tree import pair_sums, posterior
from likewise.multilabel._best_tree import LearnedTree, find_best_tree
from likewise.multilabel._em import LabelPosterior, LatentHierarchyModel, ScaledColumns, fit_logistic

_REFIT_STEPS = 15


def _score_outside(counts: np.ndarray, n_rows: int, eps: np.ndarray) -> np.ndarray:
    """Return the contribution of rows without p to the score of p → c."""
    held = np.diag(counts)
    without = held[None, :] - counts
    neither = n_rows - held[:, None] - held[None, :] + counts
    return without * np.log(eps) + neither * np.log1p(-eps)


def _compute_sums(
    model: LatentHierarchyModel, logits: np.ndarray, Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    counts, scores = np.zeros((2, Z.shape[1], Z.shape[1]))
    tree = model.hierarchy
    keep = 1.0 - model.rates
    pair_sums(tree.parents, tree.order, logits, model.relaxations, Z, keep, logits, counts, scores)
    return counts, scores


def compute_literal_scores(
    model: LatentHierarchyModel, held: LabelPosterior, X: Any, Z: np.ndarray, l2: float
) -> np.ndarray:
    """Return the scores of edges relative to the root, with the current classifier of each child."""
    logits = model.compute_logits(X)
    counts, inside = _compute_sums(model, logits, Z)
    on_root = (held.one * log_expit(logits) + (1.0 - held.one) * log_expit(-logits)).sum(axis=0)
    return inside + _score_outside(counts, len(Z), model.relaxations) - on_root


def compute_intercept_scores(
    model: LatentHierarchyModel, held: LabelPosterior, X: Any, Z: np.ndarray, l2: float
) -> np.ndarray:
    """Return the literal scores plus the gain of one Newton step of the intercept."""
    logits = model.compute_logits(X)
    s = expit(logits)
    counts, inside = _compute_sums(model, logits, Z)
    slope, curve = counts - held.one.T @ s, held.one.T @ (s * (1.0 - s)) + 1e-9
    root_slope, root_curve = (held.one - s).sum(axis=0), (s * (1.0 - s)).sum(axis=0) + 1e-9
    on_root = (held.one * log_expit(logits) + (1.0 - held.one) * log_expit(-logits)).sum(axis=0)
    gain = 0.5 * slope**2 / curve - 0.5 * root_slope**2 / root_curve
    return inside + gain + _score_outside(counts, len(Z), model.relaxations) - on_root


def compute_profile_scores(
    model: LatentHierarchyModel, held: LabelPosterior, X: Any, Z: np.ndarray, l2: float
) -> np.ndarray:
    """Return scores with the classifier of c refitted for each parent: n_labels² regressions.

    Q(y_p = 1, y_c = 1) is the probability of c times the probability of p if c were recorded as well, so one
    E-step per label gives it for all parents.
    """
    logits = model.compute_logits(X)
    n, k = Z.shape
    tree, keep = model.hierarchy, 1.0 - model.rates
    one, both = np.empty_like(logits), np.empty_like(logits)
    scores, counts = np.empty((2, k, k))
    columns = ScaledColumns.from_data(X)
    for c in range(k):
        if_c = Z.copy()
        if_c[:, c] = 1
        posterior(tree.parents, tree.order, logits, model.relaxations, if_c, keep, one, both)
        together = np.column_stack([np.ones(n), one]) * held.one[:, [c]]
        above = np.column_stack([np.ones(n), held.one])
        counts[:, c] = together[:, 1:].sum(axis=0)
        start = np.tile(model.coef[c], (k + 1, 1)), np.full(k + 1, model.intercept[c])
        coef, intercept = fit_logistic(columns, together, above, *start, l2, _REFIT_STEPS)
        refitted = X @ coef.T + intercept
        value = (together * refitted + above * log_expit(-refitted)).sum(axis=0)
        value -= 0.5 * l2 * (coef**2).sum(axis=1)
        scores[:, c] = value[1:] - value[0]
    return scores + _score_outside(counts, n, model.relaxations)


SCORES: dict[str, Callable[[LatentHierarchyModel, LabelPosterior, Any, np.ndarray, float], np.ndarray]] = {
    "literal": compute_literal_scores,
    "intercept": compute_intercept_scores,
    "profile": compute_profile_scores,
}


def find_next_tree(
    how: str,
    model: LatentHierarchyModel,
    held: LabelPosterior,
    X: Any,
    Z: np.ndarray,
    l2: float,
    allowed: np.ndarray,
) -> LearnedTree:
    """Return the best tree given the current posterior."""
    return find_best_tree(SCORES[how](model, held, X, Z, l2), allowed)
