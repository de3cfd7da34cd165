"""EM for the latent hierarchy (Pei 2017, chapter 5): E-step, M-step and structure step.

The true labels y of a row x form a hierarchy, and z are the recorded labels. For a label c with parent p,

    P(y_c = 1 | y_p = 1, x) = σ(w_c · x + b_c)                      (1)
    P(y_c = 1 | y_p = 0) = ε_c                                      (2)
    P(z_c = 1 | y_c = 1) = 1 - α_c,  P(z_c = 1 | y_c = 0) = 0       (3)

and EM maximises Σ_i log P(z_i | x_i) - l2/2 |W|² (4). The E-step computes Q(y_c) and Q(y_c, y_p), the M-step
updates W and b given these (5) and the rates α (5.7), and a structure step may change the tree (5.9); 5.7 and
5.9 are numbers of the thesis. One loop serves trees and graphs, which differ only in the E-step. The first
tree is given here; :mod:`likewise.multilabel._label_trees` and :mod:`likewise.multilabel._own_rates` learn
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit, log_expit
from sklearn.utils.sparsefuncs import mean_variance_axis

from likewise.hierarchy import LabelHierarchy
from likewise.kernels.label_tree import pair_sums
from likewise.kernels.label_tree import posterior as compute_posterior
from likewise.multilabel._label_trees import LARGEST_RATE

STRUCTURE_STEPS = ("literal", "intercept", "profile")
_INTERCEPT_L2 = 1e-6  # keeps the intercept of a label finite that all rows or no rows have
_INNER = 8  # L-BFGS iterations in an M-step; more are wasted, since the next E-step changes the objective
_REFIT_STEPS = 15  # L-BFGS iterations of the classifier of a label for a candidate parent
_DAMPING = 0.5
_LARGEST = 300.0


@dataclass(frozen=True, eq=False)
class LatentHierarchyModel:
    """The parameters of the latent hierarchy."""

    hierarchy: LabelHierarchy
    coef: np.ndarray  # (n_labels, n_features), of the logistic model of a label given all its parents
    intercept: np.ndarray  # (n_labels,)
    rates: np.ndarray  # (n_labels,), the probability α that a true label is not recorded
    relaxations: np.ndarray  # (n_labels,), the probability ε that a label is present without its parents

    def compute_logits(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label given that its parents are present (eq. 1)."""
        return np.ascontiguousarray(X @ self.coef.T + self.intercept)


class LabelPosterior(NamedTuple):
    """Posterior of the true labels of rows given their recorded labels, of shape (n_samples, n_labels)."""

    one: np.ndarray  # the probability of each label
    both: np.ndarray  # the probability of each label together with all its parents
    above: np.ndarray  # the probability that all parents of a label are present; 1 for children of the root
    log_likelihood: float  # of the recorded labels; approximate if the hierarchy is not a tree


class EMResult(NamedTuple):
    """A fitted model, with its penalised log-likelihood in each iteration and a flag for convergence."""

    model: LatentHierarchyModel
    objective: float
    history: tuple[float, ...]
    converged: bool


def make_first_model(
    Z: np.ndarray, n_features: int, hierarchy: LabelHierarchy, rates: np.ndarray, relaxations: np.ndarray
) -> LatentHierarchyModel:
    """Return a model without features: each label has its frequency among rows that have its parents."""
    n_present = Z.sum(axis=0) / (1.0 - rates)
    lists = hierarchy.parent_lists
    above = np.array([min((n_present[p] for p in lists[c]), default=len(Z)) for c in range(len(lists))])
    share = np.clip(n_present / np.maximum(above, 1.0), 0.01, 0.95)
    return LatentHierarchyModel(
        hierarchy, np.zeros((Z.shape[1], n_features)), np.log(share / (1.0 - share)), rates, relaxations
    )


def compute_objective(model: LatentHierarchyModel, posterior: LabelPosterior, l2: float) -> float:
    """Return the penalised log-likelihood (eq. 4)."""
    return posterior.log_likelihood - 0.5 * l2 * float(np.vdot(model.coef, model.coef))


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
        posterior = infer(model, X, Z)
        history.append(compute_objective(model, posterior, l2))
        still = len(history) > 1 and abs(history[-1] - history[-2]) <= tol * len(Z)
        if still and t + skipped < settled_from:
            skipped, still = settled_from - t, False
        shaped = model if reshape is None else reshape(model, posterior, t + skipped)
        moved = shaped.hierarchy is not model.hierarchy
        if still and not moved:
            return EMResult(model, history[-1], tuple(history), True)
        model = shaped
        if moved:
            posterior = infer(model, X, Z)
        rates = model.rates if update_rates is None else update_rates(posterior.one)
        coef, intercept = fit_logistic(
            columns, posterior.both, posterior.above, model.coef, model.intercept, l2, _INNER
        )
        model = replace(model, coef=coef, intercept=intercept, rates=rates)
        if step():
            break
    last = compute_objective(model, infer(model, X, Z), l2)
    return EMResult(model, last, (*history, last), False)


# ---------------------------------------------------------------------- E-step


def infer(model: LatentHierarchyModel, X: Any, Z: np.ndarray) -> LabelPosterior:
    """Compute the E-step: exact on a tree, by loopy belief propagation otherwise."""
    hierarchy, logits, keep = model.hierarchy, model.compute_logits(X), 1.0 - model.rates
    if not hierarchy.is_tree:
        return compute_graph_posterior(hierarchy, logits, model.relaxations, Z, keep)
    one, both = np.empty_like(logits), np.empty_like(logits)
    log_likelihood = compute_posterior(
        hierarchy.parents, hierarchy.order, logits, model.relaxations, Z, keep, one, both
    )
    above = np.ones_like(one)
    inner = hierarchy.parents >= 0
    above[:, inner] = one[:, hierarchy.parents[inner]]
    return LabelPosterior(one, both, above, float(log_likelihood.sum()))


class _Messages:
    """Messages about the labels as log-odds, which stay precise for probabilities near 0 and near 1.

    `up` are the messages of each label to each of its parents, `down` (n_samples, n_labels) those of the
    classifier and the parents of each label to it, and `heard` is the sum of all messages and the evidence of
    the recorded labels, infinite where it is certain.
    """

    def __init__(
        self, lists: tuple[tuple[int, ...], ...], logits: np.ndarray, eps: np.ndarray, seen: np.ndarray
    ) -> None:
        logits = np.asfortranarray(logits)  # labels are visited one column at a time
        self.lists, self.eps = lists, eps
        self.s, self.not_s = expit(logits), expit(-logits)
        self.up = [np.zeros((len(logits), len(parents)), order="F") for parents in lists]
        self.down = np.where([not parents for parents in lists], logits, 0.0)
        self.heard = np.asfortranarray(seen + self.down)
        self.n_children = np.bincount([p for parents in lists for p in parents], minlength=len(lists))

    def from_below(self, c: int) -> np.ndarray:
        """Return the log-odds of c without the message of its classifier and its parents."""
        return self.heard[:, c] - self.down[:, c]

    def get_parent_odds(self, c: int) -> np.ndarray:
        """Return the log-odds of the parents of c without the messages of c, shape (n_parents, n_samples)."""
        return self.heard.T[list(self.lists[c])] - self.up[c].T

    def compute_fit(self, c: int, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the likelihood of the messages to c if all its parents are present, and if not."""
        one, zero, eps = expit(own), expit(-own), self.eps[c]
        return self.s[:, c] * one + self.not_s[:, c] * zero, eps * one + (1.0 - eps) * zero

    def sweep(self, order: np.ndarray, damping: float) -> float:
        """Pass all messages, up and then down; return the largest change of a probability."""
        inner = [c for c in order if self.lists[c]]
        change = 0.0
        for c in inner[::-1]:
            inside, outside = self.compute_fit(c, self.from_below(c))
            into = self.get_parent_odds(c)
            for j, p in enumerate(self.lists[c]):
                every, rest = _compute_all_present(np.delete(into, j, axis=0))
                new = np.log(inside * every + outside * rest) - np.log(outside)
                change = max(change, _move(self.up[c][:, j], new, damping, self.heard[:, p]))
        for c in inner:
            every, rest = _compute_all_present(self.get_parent_odds(c))
            one = self.s[:, c] * every + self.eps[c] * rest
            zero = self.not_s[:, c] * every + (1.0 - self.eps[c]) * rest
            new = np.log(one) - np.log(zero)
            change = max(change, _move(self.down[:, c], new, damping, self.heard[:, c]))
        return change


def compute_graph_posterior(
    hierarchy: LabelHierarchy,
    logits: np.ndarray,
    relaxations: np.ndarray,
    Z: np.ndarray,
    keep: np.ndarray,
    max_rounds: int = 30,
    tol: float = 1e-6,
) -> LabelPosterior:
    """Return the posterior of labels with several parents; `keep` is 1 minus the missing rates.

    A label has probability s_c if all its parents are present and ε_c otherwise, so it implies each of its
    parents. Exact sums over a graph with cycles take exponential time. Loopy belief propagation passes damped
    messages as on a tree, until no probability changes by more than `tol`: it is exact on trees, and a better
    approximation the fewer labels have several parents. The log-likelihood is the Bethe approximation.
    """
    with np.errstate(divide="ignore"):  # impossible values have probability 0
        on, off = np.log(np.where(Z, keep, 1.0 - keep)), np.log(np.where(Z, 0.0, 1.0))
    messages = _Messages(hierarchy.parent_lists, np.clip(logits, -_LARGEST, _LARGEST), relaxations, on - off)
    for t in range(max_rounds):
        if messages.sweep(hierarchy.order, 0.0 if hierarchy.is_tree or t == 0 else _DAMPING) < tol:
            break
    return _read_out(messages, on, off)


def _read_out(messages: _Messages, on: np.ndarray, off: np.ndarray) -> LabelPosterior:
    """Compute probabilities and the Bethe log-likelihood (factors minus shared labels) from messages."""
    one, both, above = np.empty_like(on), np.empty_like(on), np.ones_like(on)
    total = 0.0
    for c in range(on.shape[1]):
        odds, own, into = messages.heard[:, c], messages.from_below(c), messages.get_parent_odds(c)
        present, absent = expit(odds), expit(-odds)
        inside, outside = messages.compute_fit(c, own)
        every, rest = _compute_all_present(into)
        mass = inside * every + outside * rest
        one[:, c] = present
        both[:, c] = every * messages.s[:, c] * expit(own) / mass
        if len(into):
            above[:, c] = inside * every / mass
        total += _compute_factor(messages, c, own, into, mass).sum()
        total += (_multiply(present, on[:, c]) + _multiply(absent, off[:, c])).sum()
        shared = messages.n_children[c]
        total += shared * (_multiply(present, log_expit(odds)) + _multiply(absent, log_expit(-odds))).sum()
    return LabelPosterior(one, both, above, float(total))


def _compute_factor(
    messages: _Messages, c: int, own: np.ndarray, into: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """Return Σ b log(f / b) over the states of the factor of c, with b = f · messages / mass.

    log(f / b) = log mass - Σ log messages, so only the marginals of the factor are needed.
    """
    eps = messages.eps[c]
    every, rest = _compute_all_present(into)
    present = (messages.s[:, c] * every + eps * rest) * expit(own) / mass
    absent = (messages.not_s[:, c] * every + (1.0 - eps) * rest) * expit(-own) / mass
    out = np.log(mass) - _multiply(present, log_expit(own)) - _multiply(absent, log_expit(-own))
    inside, outside = messages.compute_fit(c, own)
    for j, odds in enumerate(into):
        every, rest = _compute_all_present(np.delete(into, j, axis=0))
        present = expit(odds) * (inside * every + outside * rest) / mass
        absent = expit(-odds) * outside / mass
        out -= _multiply(present, log_expit(odds)) + _multiply(absent, log_expit(-odds))
    return out


def _compute_all_present(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that all of several independent labels are present, and its complement."""
    log_every = log_expit(odds).sum(axis=0)
    return np.exp(log_every), -np.expm1(log_every)


def _multiply(chance: np.ndarray, log_value: np.ndarray) -> np.ndarray:
    """Return the product, or 0 where the probability is 0 and the logarithm infinite."""
    return np.where(chance > 0.0, chance * np.where(chance > 0.0, log_value, 0.0), 0.0)


def _move(old: np.ndarray, new: np.ndarray, damping: float, heard: np.ndarray) -> float:
    """Replace a message by its damped update in place, here and in `heard`; return the largest change."""
    new = damping * old + (1.0 - damping) * new
    change = float(np.abs(expit(new) - expit(old)).max(initial=0.0))
    heard += new - old
    old[:] = new
    return change


# ---------------------------------------------------------------------- M-step


class ScaledColumns(NamedTuple):
    """Rows with the mean and the standard deviation of each column, by which regressions are scaled."""

    X: Any  # (n_samples, n_features), not scaled
    mean: np.ndarray
    width: np.ndarray  # 1 in place of a standard deviation of 0

    @classmethod
    def from_data(cls, X: Any) -> ScaledColumns:
        """Compute the means and the standard deviations."""
        mean, variance = mean_variance_axis(X, 0) if issparse(X) else (X.mean(axis=0), X.var(axis=0))
        return cls(X, mean, np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0))


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

    Label c maximises Σ_i both_ic log s_ic + (above_ic - both_ic) log(1 - s_ic) - l2/2 |w_c|² (5), which has
    weights `above` and targets both/above, in a form without division. The search starts from `coef` and
    `intercept` and never ends with a lower value. Its steps are scaled as if the columns were standardised,
    so columns with large numbers do not slow down the others; the objective is unchanged.
    """
    X, mean, width = columns
    n_labels, n_features = coef.shape

    def unscale(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for the original columns."""
        scaled = flat.reshape(n_labels, n_features + 1)
        weights = scaled[:, :-1] / width
        return weights, scaled[:, -1] - weights @ mean

    def compute_loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = unscale(flat)
        logits = X @ w.T + b
        small = np.exp(-np.abs(logits))  # NumPy's exponential is faster than SciPy's expit
        value = np.vdot(above, np.log(1.0 + small) + np.maximum(logits, 0.0)) - np.vdot(both, logits)
        excess = above * np.where(logits >= 0.0, 1.0, small) / (1.0 + small) - both
        total = excess.sum(axis=0) + _INTERCEPT_L2 * b
        of_columns = ((X.T @ excess).T + l2 * w - np.outer(total, mean)) / width
        penalty = 0.5 * l2 * np.vdot(w, w) + 0.5 * _INTERCEPT_L2 * np.vdot(b, b)
        return value + penalty, np.column_stack([of_columns, total]).ravel()

    start = np.column_stack([coef * width, intercept + coef @ mean]).ravel()
    found = minimize(
        compute_loss, start, jac=True, method="L-BFGS-B", options={"maxiter": n_steps, "maxcor": 10}
    )
    w, b = unscale(found.x)
    return np.ascontiguousarray(w), np.ascontiguousarray(b)


def compute_rates(Z: np.ndarray, *, shared: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that computes the M-step of the missing rates (eq. 5.7), shared or per label."""
    recorded = Z.sum(axis=0, dtype=np.float64)

    def update(one: np.ndarray) -> np.ndarray:
        n_present = np.maximum(one.sum(axis=0), recorded)
        of_all = 1.0 - recorded.sum() / max(n_present.sum(), 1e-12) if recorded.any() else 0.0
        own = 1.0 - recorded / np.maximum(n_present, 1e-12)
        # The rate of a label that was never recorded cannot be estimated.
        rates = np.where((recorded > 0) & (not shared), own, of_all)
        return np.clip(rates, 0.0, LARGEST_RATE)

    return update


# ---------------------------------------------------------------------- structure step


def _score_outside(counts: np.ndarray, n_rows: int, eps: np.ndarray) -> np.ndarray:
    """Return the contribution of rows without p to the score of p → c."""
    n_present = np.diag(counts)
    without = n_present[None, :] - counts
    neither = n_rows - n_present[:, None] - n_present[None, :] + counts
    return without * np.log(eps) + neither * np.log1p(-eps)


def compute_edge_scores(
    model: LatentHierarchyModel, posterior: LabelPosterior, X: Any, Z: np.ndarray, l2: float, how: str
) -> np.ndarray:
    """Return the scores of edges p → c relative to the root, of shape (n_labels, n_labels) (eq. 5.9).

    The score is the expected log-likelihood of the child given the parent. The steps differ in the classifier
    of c that is used for a candidate parent p: ``literal`` uses the classifier for the current parent,
    ``intercept`` adjusts its intercept by one Newton step for p, ``profile`` refits it for each p. The
    posterior depends on the current tree, so these steps seldom change the tree.
    """
    if how == "profile":
        return _compute_profile_scores(model, posterior, X, Z, l2)
    logits, tree = model.compute_logits(X), model.hierarchy
    counts, inside = np.zeros((2, Z.shape[1], Z.shape[1]))
    keep = 1.0 - model.rates
    pair_sums(tree.parents, tree.order, logits, model.relaxations, Z, keep, logits, counts, inside)
    on_root = (posterior.one * log_expit(logits) + (1.0 - posterior.one) * log_expit(-logits)).sum(axis=0)
    if how == "intercept":
        s = expit(logits)
        slope, curve = counts - posterior.one.T @ s, posterior.one.T @ (s * (1.0 - s)) + 1e-9
        root_slope, root_curve = (posterior.one - s).sum(axis=0), (s * (1.0 - s)).sum(axis=0) + 1e-9
        inside += 0.5 * slope**2 / curve - 0.5 * root_slope**2 / root_curve
    return inside + _score_outside(counts, len(Z), model.relaxations) - on_root


def _compute_profile_scores(
    model: LatentHierarchyModel, posterior: LabelPosterior, X: Any, Z: np.ndarray, l2: float
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
        compute_posterior(tree.parents, tree.order, logits, model.relaxations, if_c, keep, one, both)
        together = np.column_stack([np.ones(n), one]) * posterior.one[:, [c]]
        above = np.column_stack([np.ones(n), posterior.one])
        counts[:, c] = together[:, 1:].sum(axis=0)
        start = np.tile(model.coef[c], (k + 1, 1)), np.full(k + 1, model.intercept[c])
        coef, intercept = fit_logistic(columns, together, above, *start, l2, _REFIT_STEPS)
        refitted = X @ coef.T + intercept
        value = (together * refitted + above * log_expit(-refitted)).sum(axis=0)
        value -= 0.5 * l2 * (coef**2).sum(axis=1)
        scores[:, c] = value[1:] - value[0]
    return scores + _score_outside(counts, n, model.relaxations)
