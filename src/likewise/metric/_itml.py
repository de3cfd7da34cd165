"""Information-theoretic metric learning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import pdist

from likewise.base import FitProgress, Rule
from likewise.metric._base import (
    IS_PRIOR,
    IS_SHRINKAGE,
    LearnedTransform,
    MetricLearner,
    Pairs,
    get_stated_pairs,
)
from likewise.metric._shrinkage import compute_components, compute_scale
from likewise.supervision import Supervision

# This many rows determine the percentiles of the distances to about 1 %.
_ROWS_FOR_BOUNDS = 500
_GOLDEN = 0.6180339887498949


class ITML(MetricLearner):
    """Information-theoretic metric learning: the metric closest to a prior that brings links within bounds.

    Minimises over positive definite M and slack bounds ξ (Davis, Kulis, Jain, Sra & Dhillon 2007, their
    problem with slack variables)

    .. math::

        D(M, M_0) + \\sum_{ij} \\gamma w_{ij} D(\\xi_{ij}, \\xi^0_{ij})
        \\quad\\text{with}\\quad
        d_M(x_i, x_j)^2 \\le \\xi_{ij} \\text{ (must)},
        \\quad d_M(x_i, x_j)^2 \\ge \\xi_{ij} \\text{ (cannot)}

    where :math:`D(A, B) = \\mathrm{tr}(A B^{-1}) - \\log\\det(A B^{-1}) - d` is the LogDet divergence, ξ⁰ = u
    for must-links and l for cannot-links. Bregman projections visit the links in turn, must-links first, each
    a rank-one update (algorithm 1 of the paper, with the step γ/(γ+1) that solves each projection for any γ).

    Parameters
    ----------
    gamma : float, default=1.0
        The cost of slack, multiplied by the weight of each link. Large values enforce the bounds; small
        values keep the metric close to the prior.
    bounds : None or (u, l), default=None
        Squared distances: must-links should be at most u, cannot-links at least l. None uses the 5th and the
        95th percentile of the squared distances between rows under the prior (of at most 500 rows).
    prior : {"identity", "covariance"} or array of shape (n_features, n_features), default="identity"
        The metric M₀ to stay close to; "covariance" is the inverse of the covariance of all rows.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the prior: 0 keeps it as it was learned, 1 ignores it.
        "auto" is chosen by cross-validation: the largest of five values with a loss close to the lowest.
    max_iter : int, default=5000
        Maximum number of passes over all links.
    tol : float, default=1e-3
        Stop when the dual variables change by less than this, relative to their norm.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The linear map L, the symmetric root of M.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the prior that was used.
    bounds_ : (float, float)
        The bounds u and l.
    n_iter_ : int
        The number of passes over all links.

    Notes
    -----
    A pass costs O(d²) per link. Only stated links are used; a group of m rows counts as its m (m - 1) / 2
    links. Contradictory links give a warning and are traded off against one another. Without links the metric
    is the prior.

    A metric learned from few links overfits them. ``shrinkage="auto"`` is five-fold cross-validation over the
    hinted rows, which costs five more fits to fewer links: the largest shrinkage whose loss on held-out links
    is within two standard errors of the best. If that is 1, the prior is used, with a
    :class:`~likewise.exceptions.ThinSupervisionWarning`.

    Examples
    --------
    >>> from likewise.metric import ITML
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 4], [1, 0], [1, 4]]
    >>> hints = Supervision.from_links(4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    >>> M = ITML(gamma=1000, bounds=(1, 4), shrinkage=0).fit(X, supervision=hints).metric_
    >>> M.round(1).tolist()
    [[4.0, 0.0], [0.0, 0.1]]
    """

    bounds_: tuple[float, float]

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "gamma": Rule.real(0, strict=True),
        "bounds": Rule.either(
            Rule.choice(None),
            Rule("two positive numbers (u, l)", lambda v: not isinstance(v, str) and _are_bounds(v)),
        ),
        "prior": IS_PRIOR,
        "shrinkage": IS_SHRINKAGE,
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
    }

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        bounds: Any = None,
        prior: Any = "identity",
        shrinkage: float | Literal["auto"] = "auto",
        max_iter: int = 5000,
        tol: float = 1e-3,
    ) -> None:
        self.gamma = gamma
        self.bounds = bounds
        self.prior = prior
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        # Rows of unit size can be squared without overflow. Bounds are scaled with the rows, so the metric
        # does not change; under prior="covariance" distances have no unit and bounds stay as they are.
        size = compute_scale(X)
        X = X / size
        M = self._make_prior(X)
        pairs = get_stated_pairs(self, X, hints)
        has_free_prior = isinstance(self.prior, str) and self.prior == "covariance"
        unit = 1.0 if has_free_prior else size
        bounds = (
            _compute_bounds(X, M)
            if self.bounds is None
            else tuple(float(b) / unit / unit for b in self.bounds)
        )
        self.bounds_ = (bounds[0] * unit**2, bounds[1] * unit**2)
        learned = LearnedTransform.from_matrix(M)
        if len(pairs.must) + len(pairs.cannot):
            learned = self._project(M, pairs, bounds, progress)
        return replace(learned, components=learned.components / (size / unit))

    def _project(
        self, M: np.ndarray, pairs: Pairs, bounds: tuple[float, ...], progress: FitProgress
    ) -> LearnedTransform:
        from likewise.kernels.projection import project_pairs  # loads numba only when fit is called

        V = np.concatenate([pairs.must, pairs.cannot])
        u, l = bounds
        is_must = np.arange(len(V)) < len(pairs.must)
        sign = np.where(is_must, 1.0, -1.0)
        inverse_bound = np.where(is_must, 1.0 / u, 1.0 / l)
        gamma = self.gamma * np.concatenate([pairs.must_weights, pairs.cannot_weights])
        dual, scratch = np.zeros(len(V)), np.empty(V.shape[1])
        converged = False
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            before = dual.copy()
            project_pairs(V, sign, gamma, M, dual, inverse_bound, scratch)
            size = np.linalg.norm(dual) + np.linalg.norm(before)
            converged = bool(np.abs(dual - before).sum() <= self.tol * size)
            if converged or progress.step():
                break
        return LearnedTransform(compute_components((M + M.T) / 2.0), n_iter, converged)


def _are_bounds(value: Any) -> bool:
    return np.shape(value) == (2,) and all(Rule.real(0, strict=True).holds(v) for v in value)


def _compute_bounds(X: np.ndarray, M: np.ndarray) -> tuple[float, float]:
    """Return the 5th and the 95th percentile of the squared distances between rows under M.

    Above 500 rows, a sample at multiples of the golden ratio is used: it is evenly spaced without a period.
    """
    if len(X) < 2:
        return 1.0, 1.0
    if len(X) > _ROWS_FOR_BOUNDS:
        places = np.modf(np.arange(1, _ROWS_FOR_BOUNDS + 1) * _GOLDEN)[0]
        X = X[np.unique((places * len(X)).astype(np.int64))]
    u, l = np.percentile(pdist(X @ compute_components(M).T, "sqeuclidean"), (5, 95))
    if l == 0:
        return 1.0, 1.0  # nearly all rows are equal
    return max(float(u), 1e-9 * float(l)), float(l)  # with many equal rows the 5th percentile is 0
