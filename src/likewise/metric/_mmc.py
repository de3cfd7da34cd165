"""Mahalanobis metric for clustering, the method of Xing, Ng, Jordan and Russell."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from likewise.base import FitProgress, Rule
from likewise.exceptions import InfeasibleSupervisionError
from likewise.metric._base import IS_SHARE, IS_SHRINKAGE, LearnedTransform, MetricLearner, get_stated_pairs
from likewise.metric._shrinkage import (
    compute_components,
    compute_scale,
    compute_total_covariance,
    compute_whitener,
)
from likewise.supervision import Supervision

_TINY = 1e-300
# The duality gap needs an eigenvalue, which costs as much as several steps.
_STEPS_BETWEEN_GAPS = 10


class MMC(MetricLearner):
    """Mahalanobis metric for clustering: separate cannot-linked rows while must-linked rows stay close.

    Maximises over positive semidefinite M (Xing, Ng, Jordan & Russell 2002, equations 6 to 8)

    .. math::

        \\sum_{cannot} w_{ij} \\, d_M(x_i, x_j)
        \\quad\\text{with}\\quad \\mathrm{tr}(S_\\rho M) \\le 1, \\qquad
        S = \\frac{\\sum_{must} w_{ij} (x_i - x_j)(x_i - x_j)^T}{\\sum_{must} w_{ij}}

    so the mean squared length of must-links is 1. The paper's bound on the sum over must-links, and its form
    with the two sums exchanged, give the same metric up to scale. In
    :math:`S_\\rho = (1-\\rho) S + 2 \\rho T`, T is the covariance of all rows (2T is the S of random links);
    it bounds the metric in directions in which must-linked rows happen not to differ.

    In coordinates in which :math:`S_\\rho` is the identity, M = R Rᵀ and the problem is to maximise a convex
    function of R on a sphere. The full metric is found by steps R ← ∇f(R) / ‖∇f(R)‖ (the generalised power
    method of Journée, Nesterov, Richtárik & Sepulchre 2010); no step lowers the objective or needs an
    eigenvalue or a projection. The diagonal metric is found by Newton's method, as in section 2.1 of the
    paper. Both stop when the duality gap, which bounds the distance from the optimum, is small.
    With ``shrinkage=0`` the units of the columns do not matter.

    Parameters
    ----------
    diagonal : bool, default=False
        Whether M is diagonal, with one weight per column.
    regularization : float from 0 to 1, default=0.3
        The ρ above. 0 is the problem of the paper; directions in which must-linked rows do not differ then
        get weight 0.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the identity: 0 keeps it as it was learned, 1 ignores it.
        "auto" is chosen by cross-validation: the largest of five values with a loss close to the lowest.
    max_iter : int, default=1000
        Maximum number of steps.
    tol : float, default=1e-4
        Stop when the objective is within this relative distance of its optimum.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map L. Its number of rows is the rank of M, which is often low.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the identity that was used.
    objective_ : float
        The weighted mean distance of cannot-linked rows, in units of the must-links.
    n_iter_ : int
        The number of steps.

    Notes
    -----
    A step costs O(d²) per cannot-link; must-links are summed once. Only stated links are used; a group of m
    rows counts as its m (m - 1) / 2 links. Contradictory links give a warning and are traded off against one
    another. Both must-links and cannot-links are needed; without any hints the map is the identity.

    A metric learned from few links overfits them. ``shrinkage="auto"`` is five-fold cross-validation over the
    hinted rows, which costs five more fits to fewer links: the largest shrinkage whose loss on held-out links
    is within three standard errors of the best (two if diagonal). If that is 1, the identity is used, with a
    :class:`~likewise.exceptions.ThinSupervisionWarning`.

    Examples
    --------
    >>> from likewise.metric import MMC
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 4], [1, 0], [1, 4], [2, 0], [2, 3]]
    >>> hints = Supervision.from_links(6, must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 2), (1, 3), (0, 4)])
    >>> model = MMC(diagonal=True, shrinkage=0).fit(X, supervision=hints)
    >>> bool(model.metric_[0, 0] > 100 * model.metric_[1, 1])
    True
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "diagonal": Rule.choice(True, False),
        "regularization": IS_SHARE,
        "shrinkage": IS_SHRINKAGE,
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
    }

    def __init__(
        self,
        *,
        diagonal: bool = False,
        regularization: float = 0.3,
        shrinkage: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        self.diagonal = diagonal
        self.regularization = regularization
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol

    def _get_n_errors(self) -> float:
        """Require more evidence for a full metric: a low-rank metric can fit the links but merge clusters."""
        return 2.0 if self.diagonal else 3.0

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        d = X.shape[1]
        if not hints:
            return LearnedTransform(np.eye(d))
        n_must, n_cannot = (
            len(pairs) + len(groups)
            for pairs, groups in ((hints.must, hints.must_groups), (hints.cannot, hints.cannot_groups))
        )
        if not n_must or not n_cannot:
            lacking, others = "cannot-links, so distances could shrink to 0", "RCA or ITML"
            if not n_must:
                lacking, others = "must-links, so distances could grow without bound", "ITML"
            raise InfeasibleSupervisionError(
                f"MMC: there are no {lacking}.",
                f"Give links of both kinds, or use {others}, which can learn from one kind.",
                kinds=("links",),
                estimator="MMC",
            )
        unit = compute_scale(X)
        X = X / unit
        pairs = get_stated_pairs(self, X, hints)
        S = (pairs.must.T * pairs.must_weights) @ pairs.must / max(pairs.must_weights.sum(), _TINY)
        T = 2.0 * compute_total_covariance(X)
        if self.diagonal:
            S, T = np.diag(S.diagonal()), np.diag(T.diagonal())
        W = compute_whitener(S, T, self.regularization)
        U = pairs.cannot @ W.T
        use = (U**2).sum(axis=1) > 1e-20 * np.abs(U).max(initial=0.0) ** 2
        if not use.any():
            if len(pairs.cannot):
                raise InfeasibleSupervisionError(
                    "MMC: cannot-linked rows differ only in directions in which must-linked rows do not, so "
                    "their distances have no upper bound.",
                    "Set regularization above 0.",
                    parameter="regularization",
                    kinds=("links",),
                    estimator="MMC",
                )
            return LearnedTransform(np.eye(d))  # all cannot-links are between identical rows
        U, weight = U[use], pairs.cannot_weights[use] / pairs.cannot_weights.sum()
        solve = _maximise_newton if self.diagonal else _ascend
        found = solve(U, weight, self.max_iter, self.tol, progress)
        M = W.T @ found.components @ W
        if self.diagonal:
            M = np.diag(M.diagonal())
        return LearnedTransform(compute_components(M) / unit, found.n_iter, found.converged, found.objective)


def _ascend(
    U: np.ndarray, weight: np.ndarray, max_iter: int, tol: float, progress: FitProgress
) -> LearnedTransform:
    """Maximise f(R) = sum_t w_t ||R^T u_t|| over ||R|| = 1; return B = R R^T as the components.

    f is convex in R, so maximising its tangent at R never lowers it. As a function of B it is concave with
    gradient G and homogeneous of degree 1/2, so f / 2 + (largest eigenvalue of G) is an upper bound over all
    B of trace 1.
    """
    d = U.shape[1]
    R = np.eye(d) / np.sqrt(d)
    converged = False
    for n_iter in range(1, max_iter + 1):
        mapped = U @ R
        length = np.sqrt(np.einsum("ij,ij->i", mapped, mapped))
        pull = weight / np.maximum(length, _TINY)
        objective = float(weight @ length)
        if n_iter % _STEPS_BETWEEN_GAPS == 0 or n_iter == max_iter:
            G = (U.T * (pull / 2.0)) @ U
            converged = bool(np.linalg.eigvalsh(G)[-1] - objective / 2.0 <= tol * objective)
            if converged:
                break
        if progress.step():
            break
        R = U.T @ (mapped * pull[:, None])
        R /= np.linalg.norm(R)
    return LearnedTransform(R @ R.T, n_iter, converged, objective)


def _maximise_newton(
    U: np.ndarray, weight: np.ndarray, max_iter: int, tol: float, progress: FitProgress
) -> LearnedTransform:
    """Maximise sum_t w_t sqrt(q_t . z) over z >= 0 with sum(z) = 1, where q = U^2; return diag(z).

    As in section 2.1 of the paper, the sum is unconstrained and sum(z) - log f(z) is minimised by Newton
    steps with backtracking over the entries that are not fixed at 0.
    """
    Q = U**2
    d = Q.shape[1]
    z = np.full(d, 0.5 / d)

    def compute_value(z: np.ndarray) -> float:
        return float(z.sum() - np.log(max(weight @ np.sqrt(Q @ z), _TINY)))

    now = compute_value(z)
    converged = False
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        length = np.sqrt(Q @ z)
        # Pairs that differ only in columns of weight 0 have length 0.
        length = np.maximum(length, 1e-9 * length.max())
        f = float(weight @ length)
        G = Q.T @ (weight / length) / 2.0
        converged = bool(z.sum() * G.max() - f / 2.0 <= tol * f)
        if converged or progress.step():
            break
        gradient = 1.0 - G / f
        free = (z > 1e-12 * z.max()) | (gradient < 0)
        H = (Q[:, free].T * (weight / (4.0 * f * length**3))) @ Q[:, free] + np.outer(G[free], G[free]) / f**2
        H[np.diag_indices_from(H)] += 1e-10 * H.trace()
        step = np.zeros(d)
        step[free] = np.linalg.solve(H, gradient[free])
        size = 1.0
        while size > 1e-12:
            new = np.maximum(z - size * step, 0.0)
            after = compute_value(new)
            if after <= now - 1e-4 * gradient @ (z - new):
                break
            size /= 2.0
        else:
            break
        z, now = new, after
    z /= z.sum()
    return LearnedTransform(np.diag(z), n_iter, converged, float(weight @ np.sqrt(Q @ z)))
