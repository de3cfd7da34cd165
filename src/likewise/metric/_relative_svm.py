"""Metrics from relative comparisons by the margin of a support vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import pairwise_kernels

from likewise.base import FitProgress, Rule, warn_caller
from likewise.exceptions import InconsistentSupervisionWarning
from likewise.metric._base import IS_UNUSED, LearnedTransform, MetricLearner, Unused, get_comparisons
from likewise.metric._shrinkage import compute_scale
from likewise.supervision import Supervision

Kernel = Literal["linear", "poly", "rbf"]


class RelativeSVM(MetricLearner):
    r"""Weights of columns, or of kernel functions, that satisfy comparisons with a margin.

    The answer AB means that d(a, b) is less than d(a, c) and d(b, c). For comparisons t of a near pair
    :math:`n_t` and a far pair :math:`f_t` with weights :math:`c_t`, RelativeSVM solves the quadratic program
    of Schultz & Joachims (2003)

    .. math::

        \min_{w \ge 0, \, \xi \ge 0} \tfrac{1}{2} \|w\|^2 + C \sum_t c_t \xi_t
        \quad\text{with}\quad d_w(f_t)^2 - d_w(n_t)^2 \ge 1 - \xi_t .

    In input space :math:`d_w(x, y)^2 = \sum_k w_k (x_k - y_k)^2`. In the kernel form the metric is
    :math:`A W A^\top`, where A contains the rows in triplets, mapped by the kernel K, and W = diag(w):

    .. math:: d_w(x, y)^2 = \sum_i w_i \, (K(x, x_i) - K(y, x_i))^2 .

    Squared distances in the program are in units of s, their mean over pairs of rows (of X, or of the kernel
    functions), so neither C nor the metric depends on the scale: the constraints are
    :math:`d_M(f_t)^2 - d_M(n_t)^2 \ge s (1 - \xi_t)` for M = diag(w).

    The program is solved by an interior-point method until the duality gap is below `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated comparison, relative to the size of the weights.
    kernel : {None, "linear", "poly", "rbf"}, default=None
        None learns weights of the columns; a kernel learns weights of the kernel functions at the rows in
        triplets.
    gamma : float or None, default=None
        Coefficient of "poly" and "rbf". None uses 1 / (n_features * X.var()), as does ``gamma="scale"`` of
        scikit-learn's SVC.
    degree : int, default=3
        Degree of "poly", whose constant is 1.
    neither : {"refuse", "drop"}, default="refuse"
        Whether triplets with the answer NEITHER, which contain no comparison, raise an error or are dropped.
    max_iter : int, default=200
        Maximum number of Newton steps; ten to fifty are usual.
    tol : float, default=1e-6
        Duality gap, relative to the objective, at which the program counts as solved.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features) or (n_components, n_components)
        The map L: the roots of the positive weights, one row for each. In the kernel form its columns are the
        kernel functions at ``landmarks_``.
    metric_ : ndarray
        M = LᵀL.
    landmarks_ : ndarray of shape (n_components, n_features) or None
        In the kernel form, the rows whose kernel functions have a positive weight, minus the mean of X.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    A step costs O(T d min(T, d)) for T comparisons and d columns, or kernel functions. Contradictory answers
    give a warning and are traded off against one another. Without triplets the map is the identity for any
    kernel. Kernels are evaluated on rows minus the mean of X; this matters only for "linear" and "poly".

    References
    ----------
    M. Schultz and T. Joachims (2003), Learning a distance metric from relative comparisons, NIPS.

    Examples
    --------
    Only the first column shows which rows belong together.

    >>> from likewise.metric import RelativeSVM
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 4], [1, 0], [1, 4]]
    >>> hints = Supervision.from_triplets(4, [(0, 1, 2), (2, 3, 0)], "AB")
    >>> M = RelativeSVM(C=100).fit(X, supervision=hints).metric_
    >>> (M > 0).tolist()
    [[True, False], [False, False]]
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": Rule.real(0, strict=True),
        "kernel": Rule.choice(None, "linear", "poly", "rbf"),
        "gamma": Rule.either(Rule.choice(None), Rule.real(0, strict=True)),
        "degree": Rule.integer(1),
        "neither": IS_UNUSED,
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0, strict=True),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel | None = None,
        gamma: float | None = None,
        degree: int = 3,
        neither: Unused = "refuse",
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.neither: Unused = neither
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        d = X.shape[1]
        self.landmarks_: np.ndarray | None = None
        comparisons = get_comparisons(self, X, hints, self.neither)
        if not len(comparisons) or not X.any():
            return LearnedTransform(np.eye(d))
        features = X / compute_scale(X)  # the weights do not depend on the unit of the rows
        if self.kernel is not None:
            self._gamma = 1.0 / (d * X.var()) if self.gamma is None else self.gamma
            landmarks = X[np.unique(comparisons.rows)]
            features = self._compute_kernel(X, landmarks)
        spread = 2.0 * float(features.var(axis=0).sum())
        if spread == 0:
            return LearnedTransform(np.eye(d))  # the kernel is too narrow or too wide to distinguish rows
        gains = (
            np.square(comparisons.get_far_differences(features))
            - np.square(comparisons.get_near_differences(features))
        ) / spread
        prices = self.C * comparisons.weights

        program = SvmProgram.start(gains, prices)
        n_iter = 0
        while n_iter < self.max_iter and program.relative_gap > self.tol:
            program = program.make_step()
            n_iter += 1
            if progress.step():
                break
        weights = program.best_weights
        objective = compute_svm_objective(weights, gains, prices)
        solved = program.relative_gap <= self.tol
        if not weights.any():
            warn_caller(
                "RelativeSVM: no positive weights satisfy these triplets better than zero weights, so the "
                "original distances are used. Try a kernel, or look for contradictory triplets.",
                InconsistentSupervisionWarning,
            )
            return LearnedTransform(np.eye(d), n_iter, solved, objective)
        used = weights > 0
        components = np.diag(np.sqrt(weights))[used]
        if self.kernel is not None:
            self.landmarks_ = landmarks[used]
            components = components[:, used]
        return LearnedTransform(components, n_iter, solved, objective)

    def _compute_kernel(self, X: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        """Return K(x, x_i) for each row and landmark."""
        parameters: dict[str, Any] = {} if self.kernel == "linear" else {"gamma": self._gamma}
        if self.kernel == "poly":
            parameters |= {"degree": self.degree, "coef0": 1.0}
        return pairwise_kernels(X, landmarks, metric=self.kernel, **parameters)

    def _make_features(self, X: np.ndarray) -> np.ndarray:
        if self.landmarks_ is None:
            return X
        return self._compute_kernel(np.asarray(X, dtype=np.float64) - self._mean, self.landmarks_)


def compute_svm_objective(weights: np.ndarray, gains: np.ndarray, prices: np.ndarray) -> float:
    """Return |w|² / 2 plus the hinge loss of the comparisons, weighted by their prices."""
    return float(weights @ weights / 2.0 + prices @ np.maximum(1.0 - gains @ weights, 0.0))


@dataclass(frozen=True, eq=False)
class SvmProgram:
    """An interior point of min |w|² / 2 + pᵀξ with Gw + ξ - s = 1 and w, ξ, s at least 0.

    L-BFGS-B on the dual, which has only bounds, was faster with a kernel, but stopped at duality gaps of up
    to 28 % for large C and few columns.
    """

    # gains, prices: (n_comparisons, d) and (n_comparisons,) G and p
    gains: np.ndarray
    prices: np.ndarray
    # w, xi, s: The point: weights of shape (d,), slacks and surpluses of shape (n_comparisons,)
    w: np.ndarray
    xi: np.ndarray
    s: np.ndarray
    # y, v: (n_comparisons,) and (d,) the multipliers of s and w; those of xi are p - y
    y: np.ndarray
    v: np.ndarray

    @classmethod
    def start(cls, gains: np.ndarray, prices: np.ndarray) -> SvmProgram:
        """Return a starting point with all multipliers in the middle of their bounds."""
        y = prices / 2.0
        w = np.maximum(y @ gains, 0.0)
        w += 0.1 * max(float(w.mean()), 1e-3)
        reached = gains @ w - 1.0
        xi = np.maximum(-reached, 0.0) + 1.0
        v = np.maximum(w - y @ gains, 0.0) + 0.1 * float(w.mean())
        return cls(gains, prices, w, xi, reached + xi, y, v)

    @cached_property
    def best_weights(self) -> np.ndarray:
        """The optimal weights for the multipliers y, some of them exactly 0."""
        return np.maximum(self.y @ self.gains, 0.0)

    @cached_property
    def relative_gap(self) -> float:
        """The duality gap at the best weights, divided by the objective."""
        objective = compute_svm_objective(self.best_weights, self.gains, self.prices)
        dual = float(self.y.sum()) - float(self.best_weights @ self.best_weights) / 2.0
        return (objective - dual) / objective if objective > 0 else 0.0

    def make_step(self) -> SvmProgram:
        """Return the point after one Newton step towards a tenth of the current complementarity."""
        G, w, xi, s, y, v = self.gains, self.w, self.xi, self.s, self.y, self.v
        u = self.prices - y
        mu = 0.1 * (y @ s + v @ w + u @ xi) / (2 * len(y) + len(w))
        off_dual, off_primal = w - y @ G - v, G @ w + xi - 1.0 - s
        width = s / y + xi / u
        pull = mu / y - s - off_primal - mu / u + xi
        right = mu / w - v - off_dual + (pull / width) @ G
        dw = _solve_shifted(1.0 + v / w, G, width, right)
        dy = (pull - G @ dw) / width
        dv = mu / w - v - v / w * dw
        dxi = mu / u - xi + xi / u * dy
        ds = G @ dw + dxi + off_primal
        along = min(1.0, 0.995 * min(map(_compute_step_length, (w, xi, s), (dw, dxi, ds))))
        across = min(1.0, 0.995 * min(map(_compute_step_length, (y, u, v), (dy, -dy, dv))))
        # One step length for all: |w|² / 2 couples the point with its multipliers.
        length = min(along, across)
        point = w + length * dw, xi + length * dxi, s + length * ds, y + length * dy, v + length * dv
        return SvmProgram(G, self.prices, *point)


def _compute_step_length(at: np.ndarray, step: np.ndarray) -> float:
    """Return the largest multiple of a step for which positive numbers stay non-negative."""
    down = step < 0
    return float((at[down] / -step[down]).min(initial=np.inf))


def _solve_shifted(diagonal: np.ndarray, G: np.ndarray, width: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve (diag(diagonal) + Gᵀ diag(1 / width) G) x = right in the smaller of the two dimensions."""
    if G.shape[1] <= G.shape[0]:
        matrix = (G.T / width) @ G
        matrix[np.diag_indices_from(matrix)] += diagonal
        return cho_solve(cho_factor(matrix), right)
    scaled = G / diagonal
    inner = scaled @ G.T
    inner[np.diag_indices_from(inner)] += width
    return right / diagonal - scaled.T @ cho_solve(cho_factor(inner), scaled @ right)
