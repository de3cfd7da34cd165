"""Probabilistic nearest neighbours: the row whose most probable group is least probable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

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
    get_standardized,
    iterate_squared_distances,
    order_by_score,
)
from likewise.base import Rule

_MOST_PLACED = 500  # the metric is learned from this many placed rows; the cost is quadratic in them
_MAX_ITER = 50


@dataclass(frozen=True)
class ProbabilisticKNN(CheckedStrategy):
    """The row whose most probable group is least probable (pKNN+AL; Jain & Kapoor 2009).

    With N(x) the nearest placed rows of row x, g(y) the group of row y and the learned distance
    :math:`d_s(x, y)^2 = \\sum_k s_k (x_k - y_k)^2`, the probability that x belongs to group g is

    .. math:: p_g(x) = \\frac{\\sum_{y \\in N(x), g(y) = g} \\exp(-\\gamma \\, d_s(x, y)^2)}
        {\\sum_{y \\in N(x)} \\exp(-\\gamma \\, d_s(x, y)^2)} ,

    and the row with the smallest :math:`\\max_g p_g(x)` is placed next (min-max). The metric :math:`s \\ge 0`
    is learned from the placed rows: it maximises the leave-one-out likelihood of their groups, with a penalty
    that keeps it near the metric of the standardised columns:

    .. math:: \\min_{s \\ge 0} \\; -\\sum_i \\log p_{g(i)}(x_i; s) + \\tfrac{1}{2} \\sum_k (s_k - 1)^2 .

    Rows that are alone in their group are left out of the sum. Groups are first explored as in
    :class:`FarthestFirst`. Rows are placed by pairs, as in the comparison of Xiong, Johnson & Corso, and are
    compared with the most probable group first. Ties are broken at random, reproducibly by the seed.

    This is in the manner of the paper, which was not available: its abstract says that a metric is learned
    from the labels, and Xiong, Johnson & Corso say that it is a min-max method. The form of the metric, its
    penalty and the number of neighbours are our choices.

    No model is needed. A question costs O(n m d), with m rows placed, and 32 MB. Learning the metric costs up
    to fifty passes of O(m² d), with a random subset of 500 placed rows if there are more.

    Parameters
    ----------
    n_neighbors : int, default=10
        The number of nearest placed rows; all placed rows while there are fewer.
    gamma : float, optional
        Coefficient of the squared distance in the kernel. By default 1 / d, for columns of unit variance.
    learn_metric : bool, default=True
        Whether to learn the metric. If False, Euclidean distances of the standardised columns are used.

    References
    ----------
    P. Jain and A. Kapoor (2009), Active learning for large multi-class problems, CVPR.

    Examples
    --------
    Row 2 has the same distance to both groups.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import ProbabilisticKNN
    >>> X = np.array([[0.0], [1.0], [4.0], [7.0], [8.0]])
    >>> state = InterviewState.from_data(X, Supervision.from_links(5, cannot=[(0, 4)]), n_clusters=2)
    >>> question = ProbabilisticKNN().choose(state, 1)[0]
    >>> 2 in question.rows, round(question.score, 3)
    (True, 0.5)
    """

    n_neighbors: int = 10
    gamma: float | None = None
    learn_metric: bool = True

    name: ClassVar[str] = "pknn"
    needs: ClassVar[frozenset[str]] = frozenset()
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": Rule.integer(1),
        "learn_metric": Rule.choice(True, False),
        "gamma": POSITIVE_OR_NONE,
    }

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        return explore_then(state, n, lambda places: self._make_placing(state, places), least=2)

    def _make_placing(self, state: InterviewState, places: PlacedRows) -> Placing:
        rows = get_standardized(state)
        gamma = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
        if self.learn_metric:
            rows = rows * np.sqrt(self._learn_metric(state, rows, places, gamma))
        chance = compute_group_probabilities(rows, places, self.n_neighbors, gamma)
        scores = 1.0 - chance.max(axis=1)

        def explain(row: int) -> str:
            likeliest = f"{1.0 - scores[row]:.0%}"
            return f"is in its most probable group with probability {likeliest}, given {{things}} near it"

        ordered = order_by_score(state, places, scores)
        return Placing(ordered, explain, scores, likely=lambda row: chance[row])

    def _learn_metric(
        self, state: InterviewState, rows: FloatArray, places: PlacedRows, gamma: float
    ) -> FloatArray:
        """Return the learned weights of the columns; they are cached until the groups change."""
        placed = places.placed
        if len(placed) > _MOST_PLACED:
            placed = np.random.default_rng(state.random_state).choice(placed, _MOST_PLACED, replace=False)
        weights: FloatArray = cache_result(
            state,
            ("pknn metric", self.gamma, state.random_state),
            lambda: learn_column_weights(rows[placed], places.group[placed], gamma),
            places.group,
        )
        return weights


def learn_column_weights(rows: FloatArray, groups: IntArray, gamma: float) -> FloatArray:
    """Return s >= 0 that maximises the leave-one-out likelihood of the groups, with penalty |s - 1|² / 2."""
    d = rows.shape[1]
    same = groups[:, None] == groups
    np.fill_diagonal(same, False)
    use = same.any(axis=1)  # a row alone in its group has no neighbour that could be right
    if not use.any():
        return np.ones(d)

    def compute_loss(weights: FloatArray) -> tuple[float, FloatArray]:
        scaled = rows * np.sqrt(weights)
        log = -gamma * cdist(scaled[use], scaled, "sqeuclidean")
        log[np.arange(len(log)), np.flatnonzero(use)] = -np.inf
        right = np.where(same[use], log, -np.inf)
        log_all, log_right = logsumexp(log, axis=1), logsumexp(right, axis=1)
        # The derivative by weight k is gamma times the sum of these factors times (x_ik - x_jk)².
        factor = np.exp(right - log_right[:, None]) - np.exp(log - log_all[:, None])
        x = rows[use]
        slope = (
            factor.sum(axis=1) @ x**2 + factor.sum(axis=0) @ rows**2 - 2 * (x * (factor @ rows)).sum(axis=0)
        )
        value = float((log_all - log_right).sum() + ((weights - 1.0) ** 2).sum() / 2)
        return value, gamma * slope + weights - 1.0

    found = minimize(
        compute_loss,
        np.ones(d),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * d,
        options={"maxiter": _MAX_ITER},
    )
    learned: FloatArray = np.asarray(found.x, dtype=np.float64)
    # With all weights 0 every two rows would be equal.
    return learned if learned.any() else np.ones(d)


def compute_group_probabilities(
    rows: FloatArray, places: PlacedRows, n_neighbors: int, gamma: float
) -> FloatArray:
    """Return the probability of each group for each row, shape (n_samples, n_groups)."""
    placed = places.placed
    k = min(n_neighbors, len(placed))
    chance = np.zeros((len(rows), places.n_groups))
    for block, away in iterate_squared_distances(rows, placed):
        near = np.argpartition(away, k - 1, axis=1)[:, :k]
        log = -gamma * np.take_along_axis(away, near, axis=1)
        # Relative to the nearest row, because the similarities of a distant row may all underflow.
        similar = np.exp(log - log.max(axis=1, keepdims=True))
        at = np.arange(len(away))[:, None]
        np.add.at(chance[block], (at, places.group[placed][near]), similar)
    chance /= chance.sum(axis=1, keepdims=True)
    return chance
