"""Metric learning from relative comparisons by least squared residuals."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from likewise.base import FitProgress, Rule
from likewise.metric._base import (
    IS_PRIOR,
    IS_SHRINKAGE,
    IS_UNUSED,
    Comparisons,
    LearnedTransform,
    MetricLearner,
    Unused,
    get_comparisons,
)
from likewise.supervision import Supervision


class LSML(MetricLearner):
    r"""Least squared-residual metric learning: triplets as comparisons of distances.

    The answer AB means that d(a, b) is less than d(a, c) and d(b, c). For comparisons t of a near pair
    :math:`n_t` and a far pair :math:`f_t`, LSML minimises over positive definite M (Liu, Guo, Zhang, Wang &
    Ye 2012: squared residuals of the comparisons and the LogDet divergence from a prior)

    .. math::

        \frac{\gamma}{\sigma^2} \sum_t w_t \max(d_M(n_t) - d_M(f_t), 0)^2
        + \mathrm{tr}(M M_0^{-1}) - \log\det M

    where σ² is the mean variance of the columns under the prior, so the scale of X does not matter. The
    problem is convex. It is solved by L-BFGS over a root of M, which ensures that M is positive definite; a
    point where the gradient with respect to an invertible root vanishes is the optimum.

    Parameters
    ----------
    gamma : float, default=1.0
        The weight of the comparisons relative to the prior. Multiplied by the weight of each triplet.
    prior : {"identity", "covariance"} or array of shape (n_features, n_features), default="identity"
        The metric M₀ to stay close to; "covariance" is the inverse of the covariance of all rows.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the prior: 0 keeps it as it was learned, 1 ignores it.
        "auto" is chosen by cross-validation: the largest of five values with a loss close to the lowest.
    neither : {"refuse", "drop"}, default="refuse"
        Whether triplets with the answer NEITHER, which contain no comparison, raise an error or are dropped.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when no entry of the gradient with respect to the root of M, in units of the prior, is larger.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The linear map L, the symmetric root of M.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the prior that was used.
    objective_ : float
        The value of the objective, before shrinkage.
    n_iter_ : int
        The number of iterations.

    Notes
    -----
    An iteration costs O(d) per comparison, O(d²) per row in a triplet, and O(d³). More triplets move the
    metric further from the prior. Contradictory answers give a warning and are traded off against one
    another. Without triplets the metric is the prior.

    A metric learned from few triplets overfits them. ``shrinkage="auto"`` is five-fold cross-validation over
    the hinted rows, which costs five more fits to fewer triplets: the largest shrinkage whose loss on
    held-out comparisons is within two standard errors of the best. If that is 1, the prior is used, with a
    :class:`~likewise.exceptions.ThinSupervisionWarning`.

    Examples
    --------
    >>> from likewise.metric import LSML
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 4], [1, 0], [1, 4]]
    >>> hints = Supervision.from_triplets(4, [(0, 1, 2), (2, 3, 0)], "AB")
    >>> model = LSML(gamma=100, shrinkage=0).fit(X, supervision=hints)
    >>> near, far = model.distances(X)[0, [1, 2]]
    >>> bool(near < 1.1 * far)
    True
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "gamma": Rule.real(0, strict=True),
        "prior": IS_PRIOR,
        "shrinkage": IS_SHRINKAGE,
        "neither": IS_UNUSED,
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0, strict=True),
    }

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        prior: Any = "identity",
        shrinkage: float | Literal["auto"] = "auto",
        neither: Unused = "refuse",
        max_iter: int = 1000,
        tol: float = 1e-3,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.shrinkage = shrinkage
        self.neither: Unused = neither
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        M0 = self._make_prior(X)
        comparisons = get_comparisons(self, X, hints, self.neither)
        if not len(comparisons):
            return LearnedTransform.from_matrix(M0)
        root = np.linalg.cholesky(M0).T  # M0 = root^T root
        named, place = np.unique(comparisons.rows, return_inverse=True)
        Z = X[named] @ root.T  # in these coordinates the prior is the identity
        scale = float(np.square(X @ root.T).mean())
        if scale == 0.0:
            return LearnedTransform.from_matrix(M0)  # all rows are equal
        problem = Residuals(Z, Comparisons(place.reshape(-1, 3), self.gamma / scale * comparisons.weights))
        d = X.shape[1]

        def call_progress(intermediate_result: Any) -> None:
            if progress.step():
                raise StopIteration

        found = minimize(
            lambda flat: problem(flat.reshape(d, d)),
            np.eye(d).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=call_progress,
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-12, "maxcor": 20, "maxls": 50},
        )
        L = found.x.reshape(d, d) @ root
        objective = float(found.fun) - 2.0 * float(np.log(root.diagonal()).sum())
        return LearnedTransform.from_matrix(
            L.T @ L, n_iter=found.nit, converged=bool(found.success), objective=objective
        )


class Residuals:
    """The objective and its gradient as functions of the root L of M, with the identity as prior.

    Distances are computed from the mapped rows, so a comparison costs O(d) instead of O(d²).
    """

    def __init__(self, Z: np.ndarray, comparisons: Comparisons) -> None:
        self.Z = Z
        self.weights = comparisons.weights
        self.i, self.j, self.k = comparisons.rows.T

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its flattened gradient."""
        Y = self.Z @ L.T
        near, far = Y[self.i] - Y[self.j], Y[self.i] - Y[self.k]
        d_near, d_far = _compute_lengths(near), _compute_lengths(far)
        violated = np.flatnonzero(d_near > d_far)
        d_near, d_far, weight = d_near[violated], d_far[violated], self.weights[violated]
        residual = d_near - d_far
        sign, log_det = np.linalg.slogdet(L)
        if sign == 0:
            return np.inf, np.zeros(L.size)
        value = weight @ residual**2 + np.square(L).sum() - 2.0 * log_det
        # Gradients of the residuals with respect to the mapped rows.
        pull_near = near[violated] * (weight * residual / d_near)[:, None]
        pull_far = far[violated] * (weight * residual / np.maximum(d_far, 1e-12 * d_near))[:, None]
        ends = np.concatenate([self.i[violated], self.j[violated], self.k[violated]])
        pulls = np.concatenate([pull_near - pull_far, -pull_near, pull_far])
        onto = csr_array((np.ones(len(ends)), (ends, np.arange(len(ends)))), shape=(len(Y), len(ends)))
        gradient = (onto @ pulls).T @ self.Z + L - np.linalg.inv(L).T
        return float(value), 2.0 * gradient.ravel()


def _compute_lengths(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
