"""EM for the latent hierarchy: the posterior of the true labels, and the classifier of each label.

The tree is given here; :mod:`likewise.multilabel._inclusion` and :mod:`likewise.multilabel._tree_steps` learn
it. One loop serves trees and graphs, which differ only in the E-step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit, log_expit
from sklearn.utils.sparsefuncs import mean_variance_axis

from likewise.hierarchy import LabelHierarchy
from likewise.kernels.label_tree import posterior
from likewise.multilabel._graph_inference import compute_graph_posterior
from likewise.multilabel._inclusion import LARGEST_RATE

_INTERCEPT_L2 = 1e-6  # keeps the intercept of a label finite that all rows or no rows have
_INNER = 8  # L-BFGS iterations in an M-step; more are wasted, since the next E-step changes the objective


@dataclass(frozen=True, eq=False)
class LatentHierarchyModel:
    """The parameters of the latent hierarchy.

    Attributes
    ----------
    hierarchy : LabelHierarchy
        The hierarchy.
    coef, intercept : ndarray of shape (n_labels, n_features), (n_labels,)
        Parameters of the logistic model of each label given that its parents are present.
    rates, relaxations : ndarray of shape (n_labels,)
        The probability α that a true label is not recorded, and ε that it is present without its parents.
    """

    hierarchy: LabelHierarchy
    coef: np.ndarray
    intercept: np.ndarray
    rates: np.ndarray
    relaxations: np.ndarray

    def compute_logits(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label given that its parents are present."""
        return np.ascontiguousarray(X @ self.coef.T + self.intercept)


@dataclass(frozen=True, eq=False)
class LabelPosterior:
    """Posterior of the true labels of rows, given their recorded labels.

    Attributes
    ----------
    one : ndarray of shape (n_samples, n_labels)
        The probability of each label.
    both : ndarray of shape (n_samples, n_labels)
        The probability of each label together with all its parents.
    above : ndarray of shape (n_samples, n_labels)
        The probability that all parents of a label are present; 1 for children of the root.
    log_likelihood : float
        The log-likelihood of the recorded labels; approximate if the hierarchy is not a tree.
    """

    one: np.ndarray
    both: np.ndarray
    above: np.ndarray
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class EMResult:
    """A fitted model, with its penalised log-likelihood in each iteration and a flag for convergence."""

    model: LatentHierarchyModel
    objective: float
    history: tuple[float, ...]
    converged: bool


def infer(model: LatentHierarchyModel, logits: np.ndarray, Z: np.ndarray) -> LabelPosterior:
    """Compute the E-step: exact on a tree, by loopy belief propagation otherwise."""
    hierarchy, keep = model.hierarchy, 1.0 - model.rates
    if not hierarchy.is_tree:
        return LabelPosterior(*compute_graph_posterior(hierarchy, logits, model.relaxations, Z, keep))
    one, both = np.empty_like(logits), np.empty_like(logits)
    log_likelihood = posterior(
        hierarchy.parents, hierarchy.order, logits, model.relaxations, Z, keep, one, both
    )
    above = np.ones_like(one)
    inner = hierarchy.parents >= 0
    above[:, inner] = one[:, hierarchy.parents[inner]]
    return LabelPosterior(one, both, above, float(log_likelihood.sum()))


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """Rows with the mean and the standard deviation of each column, by which regressions are scaled.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        The rows, not scaled.
    middle, width : ndarray of shape (n_features,)
        Mean and standard deviation; 1 in place of a standard deviation of 0.
    """

    X: Any
    middle: np.ndarray
    width: np.ndarray

    @classmethod
    def from_data(cls, X: Any) -> ScaledColumns:
        """Compute the means and the standard deviations."""
        middle, variance = mean_variance_axis(X, 0) if issparse(X) else (X.mean(axis=0), X.var(axis=0))
        return cls(X, middle, np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0))


def fit_logistic(
    columns: ScaledColumns,
    both: np.ndarray,
    above: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    l2: float,
    n_steps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the M-step of the classifiers: weighted logistic regressions with soft targets, for all labels.

    Label c maximises Σ_i both_ic log s_ic + (above_ic - both_ic) log(1 - s_ic) - l2/2 |w_c|², which has
    weights `above` and targets both/above, in a form without division. The search starts from `coef` and
    `intercept` and never ends with a lower value. Its steps are scaled as if the columns were standardised,
    so columns with large numbers do not slow down the others; the objective is unchanged.
    """
    X, middle, width = columns.X, columns.middle, columns.width
    n_labels, n_features = coef.shape

    def unscale(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for the original columns."""
        scaled = flat.reshape(n_labels, n_features + 1)
        weights = scaled[:, :-1] / width
        return weights, scaled[:, -1] - weights @ middle

    def compute_loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = unscale(flat)
        logits = X @ w.T + b
        value = -np.vdot(both, logits) - np.vdot(above, log_expit(-logits))
        excess = above * expit(logits) - both
        total = excess.sum(axis=0) + _INTERCEPT_L2 * b
        of_columns = ((X.T @ excess).T + l2 * w - np.outer(total, middle)) / width
        penalty = 0.5 * l2 * np.vdot(w, w) + 0.5 * _INTERCEPT_L2 * np.vdot(b, b)
        return value + penalty, np.column_stack([of_columns, total]).ravel()

    start = np.column_stack([coef * width, intercept + coef @ middle]).ravel()
    found = minimize(
        compute_loss, start, jac=True, method="L-BFGS-B", options={"maxiter": n_steps, "maxcor": 10}
    )
    w, b = unscale(found.x)
    return np.ascontiguousarray(w), np.ascontiguousarray(b)


def make_first_model(
    Z: np.ndarray, n_features: int, hierarchy: LabelHierarchy, rates: np.ndarray, relaxations: np.ndarray
) -> LatentHierarchyModel:
    """Return a model without features: each label has its frequency among rows that have its parents."""
    held = Z.sum(axis=0) / (1.0 - rates)
    lists = hierarchy.parent_lists
    above = np.array([min((held[p] for p in lists[c]), default=len(Z)) for c in range(len(lists))])
    share = np.clip(held / np.maximum(above, 1.0), 0.01, 0.95)
    return LatentHierarchyModel(
        hierarchy, np.zeros((Z.shape[1], n_features)), np.log(share / (1.0 - share)), rates, relaxations
    )


def compute_objective(model: LatentHierarchyModel, held: LabelPosterior, l2: float) -> float:
    """Return the penalised log-likelihood."""
    return held.log_likelihood - 0.5 * l2 * float(np.vdot(model.coef, model.coef))


def run_em(
    X: Any,
    Z: np.ndarray,
    model: LatentHierarchyModel,
    *,
    l2: float,
    max_iter: int,
    tol: float,
    update_rates: Callable[[np.ndarray], np.ndarray] | None,
    reshape: Callable[[LatentHierarchyModel, LabelPosterior, int], LatentHierarchyModel] | None = None,
    settled_from: int = 0,
    step: Callable[[], bool] = lambda: False,
) -> EMResult:
    """Alternate E-steps and M-steps until the penalised log-likelihood per row grows by less than `tol`.

    `update_rates` computes missing rates from the posterior of each label; None means that rates are known.
    `reshape` may change the tree and the relaxation of a model in iteration t. The relaxation is constant
    from t = `settled_from` on; if EM converges earlier, it skips to there. EM stops if `step` returns True.
    """
    columns = ScaledColumns.from_data(X)
    history: list[float] = []
    skipped = 0
    for t in range(max_iter):
        held = infer(model, model.compute_logits(X), Z)
        history.append(compute_objective(model, held, l2))
        still = len(history) > 1 and abs(history[-1] - history[-2]) <= tol * len(Z)
        if still and t + skipped < settled_from:
            skipped, still = settled_from - t, False
        shaped = model if reshape is None else reshape(model, held, t + skipped)
        moved = shaped.hierarchy is not model.hierarchy
        if still and not moved:
            return EMResult(model, history[-1], tuple(history), True)
        model = shaped
        if moved:
            held = infer(model, model.compute_logits(X), Z)
        rates = model.rates if update_rates is None else update_rates(held.one)
        coef, intercept = fit_logistic(
            columns, held.both, held.above, model.coef, model.intercept, l2, _INNER
        )
        model = replace(model, coef=coef, intercept=intercept, rates=rates)
        if step():
            break
    last = compute_objective(model, infer(model, model.compute_logits(X), Z), l2)
    return EMResult(model, last, (*history, last), False)


def compute_rates(Z: np.ndarray, *, shared: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that computes the M-step of the missing rates (eq. 5.7), shared or per label."""
    recorded = Z.sum(axis=0, dtype=np.float64)

    def update(one: np.ndarray) -> np.ndarray:
        held = np.maximum(one.sum(axis=0), recorded)
        of_all = 1.0 - recorded.sum() / max(held.sum(), 1e-12) if recorded.any() else 0.0
        own = 1.0 - recorded / np.maximum(held, 1e-12)
        # The rate of a label that was never recorded cannot be estimated.
        rates = np.where((recorded > 0) & (not shared), own, of_all)
        return np.clip(rates, 0.0, LARGEST_RATE)

    return update
