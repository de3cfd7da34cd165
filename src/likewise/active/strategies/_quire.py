"""QUIRE: the row with the smallest loss in the worst case of its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from likewise.active._questions import Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._farthest_first import explore_then
from likewise.active.strategies._placing import (
    POSITIVE_OR_NONE,
    FloatArray,
    IntArray,
    PlacedRows,
    Placing,
    cache_result,
    draw_fixed_subset,
    get_standardized,
    iterate_squared_distances,
    order_by_score,
)
from likewise.base import Rule

Form = Literal["printed", "exact"]


@dataclass(frozen=True)
class QUIRE(CheckedStrategy):
    """The row with the smallest loss in the worst case of its group (QUIRE; Huang, Jin & Zhou 2010).

    For two groups, y = 1 and y = -1, the minimum objective of a kernel machine with squared loss is
    :math:`y^\\top L y`, with :math:`L = (K + \\lambda I)^{-1}` over all rows. The selected row s minimises
    this objective under the worst-case group for s and the best-case values for the other rows without a
    group:

    .. math:: \\max_{y_s = \\pm 1} \\; \\min_{y_u \\in \\mathbb R^u} \\; y^\\top L y .

    With l the placed rows and u the other rows except s, the *printed* form of this is

    .. math:: L_{ss} - \\det(L_{aa}) / L_{ss} + 2 \\, |(L_{sl} - L_{su} L_{uu}^{-1} L_{ul}) \\, y_l| ,

    with a the union of u and s; published programs of the method use this form. The *exact* value, from the
    inverse of a block matrix, is

    .. math:: y_l^\\top M_{ll}^{-1} y_l + (1 + |\\mu_s|)^2 / \\sigma_s^2 , \\qquad
        \\mu_s = K_{sl} M_{ll}^{-1} y_l , \\quad
        \\sigma_s^2 = M_{ss} - K_{sl} M_{ll}^{-1} K_{ls} , \\quad M = K + \\lambda I :

    the mean and the variance of a Gaussian process. Groups that may be any real number drop out, so rows
    without a group have no influence. The last term of the printed form is :math:`2 |\\mu_s| / \\sigma_s^2`;
    its first term does depend on all rows. The paper was not available, and both forms are from memory.

    With more than two groups the value is the mean over the groups, each against the rest; with two groups
    this is the same. Groups are first explored as in :class:`FarthestFirst`, and rows are placed by pairs, as
    in the comparison of Xiong, Johnson & Corso. The kernel is Gaussian,
    :math:`e^{-\\gamma \\lVert x - z \\rVert^2}`, on columns of unit variance.
    Ties are broken at random, reproducibly by the seed.

    No model is needed. With m placed rows, a question costs O(n m (d + m)) time and 32 MB. The printed form
    also inverts a matrix of all rows once, in O(n^3). If there are more than `max_rows` rows, it uses a
    random subset of that size.

    Parameters
    ----------
    form : {"printed", "exact"}, default="printed"
        The form of the value to minimise.
    ridge : float, default=1.0
        The ridge parameter lambda.
    gamma : float, optional
        Coefficient of the squared distance in the kernel. By default 1 / d, for columns of unit variance.
    max_rows : int, default=2000
        Maximum number of rows in the matrix that the printed form inverts. Other rows come last.

    References
    ----------
    S.-J. Huang, R. Jin and Z.-H. Zhou (2010), Active learning by querying informative and representative
    examples, NIPS.

    Examples
    --------
    By the exact value, nothing is known about row 2: its mean is 0, and it is far from both placed rows.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import QUIRE
    >>> X = np.array([[0.0], [1.0], [4.0], [7.0], [8.0]])
    >>> state = InterviewState.from_data(X, Supervision.from_links(5, cannot=[(0, 4)]), n_clusters=2)
    >>> 2 in QUIRE("exact").choose(state, 1)[0].rows
    True
    """

    form: Form = "printed"
    ridge: float = 1.0
    gamma: float | None = None
    max_rows: int = 2000

    name: ClassVar[str] = "quire"
    needs: ClassVar[frozenset[str]] = frozenset()
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "form": Rule.choice(*get_args(Form)),
        "ridge": Rule.real(0, strict=True),
        "max_rows": Rule.integer(2),
        "gamma": POSITIVE_OR_NONE,
    }

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        return explore_then(state, n, lambda places: self._make_placing(state, places), least=2)

    def _make_placing(self, state: InterviewState, places: PlacedRows) -> Placing:
        rows = get_standardized(state)
        gamma = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
        mean, variance, log_det = compute_predictions(rows, places, gamma, self.ridge)
        if self.form == "exact":
            values = ((1 + np.abs(mean)) ** 2).mean(axis=1) / variance
        else:
            key = ("quire", gamma, self.ridge, self.max_rows, state.random_state)
            own, log_det_all = cache_result(
                state,
                key,
                lambda: compute_own_values(rows, draw_fixed_subset(state, self.max_rows), gamma, self.ridge),
            )
            # A minor of the inverse: det L_aa = det M_ll / det M. It is close to 0 unless few rows are left
            # or the ridge is below 1; then it may overflow.
            open_ones = np.exp(min(log_det - log_det_all, 500.0))
            values = own - open_ones / own + 2 * np.abs(mean).mean(axis=1) / variance

        def explain(row: int) -> str:
            return "has the smallest worst-case loss over its possible groups"

        # Rows outside the subset have an infinite value, but the score of a question must be finite.
        largest = float(values[np.isfinite(values)].max(initial=0.0))
        scores = -np.where(np.isfinite(values), values, largest + 1.0)
        return Placing(order_by_score(state, places, scores), explain, scores)


def compute_predictions(
    rows: FloatArray, places: PlacedRows, gamma: float, ridge: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return mu (n_samples, n_groups) and sigma^2 (n_samples,) of each row, and log det M_ll."""
    placed = places.placed
    kernel = np.exp(-gamma * cdist(rows[placed], rows[placed], "sqeuclidean"))
    root = cholesky(kernel + ridge * np.eye(len(placed)), lower=True)
    sign = np.where(places.group[placed][:, None] == np.arange(places.n_groups), 1.0, -1.0)
    weights = cho_solve((root, True), sign)
    mean, variance = np.empty((len(rows), places.n_groups)), np.empty(len(rows))
    for block, away in iterate_squared_distances(rows, placed):
        similar = np.exp(-gamma * away)
        mean[block] = similar @ weights
        whitened = solve_triangular(root, similar.T, lower=True)
        variance[block] = 1 + ridge - np.einsum("ln,ln->n", whitened, whitened)
    return mean, variance, 2 * float(np.log(np.diagonal(root)).sum())


def compute_own_values(
    rows: FloatArray, seen: IntArray, gamma: float, ridge: float
) -> tuple[FloatArray, float]:
    """Return the diagonal of the inverse of M, infinite for rows that are not in `seen`, and log det M."""
    M = np.exp(-gamma * cdist(rows[seen], rows[seen], "sqeuclidean")) + ridge * np.eye(len(seen))
    factor = cho_factor(M, lower=True)
    own = np.full(len(rows), np.inf)
    own[seen] = np.diagonal(cho_solve(factor, np.eye(len(seen))))
    return own, 2 * float(np.log(np.diagonal(factor[0])).sum())
