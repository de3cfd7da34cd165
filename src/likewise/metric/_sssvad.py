"""Clusters with their own feature weights, learned from relative comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from likewise._compat import check_random_state, with_callbacks
from likewise._seeding import draw_seeds_from_closure, extend_seeds
from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
from likewise.base import FitProgress, HintedClusterer, Rule
from likewise.evaluation import TripletSatisfaction, triplet_satisfaction
from likewise.metric._base import IS_UNUSED, Comparisons, Unused, get_comparisons
from likewise.supervision import Supervision


class SSSVaD(HintedClusterer):
    r"""Clusters with their own feature weights, learned from triplets.

    Semi-supervised clustering with a spatially varying dissimilarity, after Kumar & Kummamuru (2008): each
    cluster h has a centre μ_h and a weight w_hj for each column j, with mean 1, and the dissimilarity

    .. math:: D_h(x, y) = \frac{1}{d \sigma^2} \sum_j w_{hj} (x_j - y_j)^2

    where σ² is the mean variance of the columns. The answer AB means that a is closer to b than to c, and b
    closer to a than to c; a comparison uses the weights of the cluster of its first row. The objective is

    .. math::

        \sum_i \left( D_{l_i}(x_i, \mu_{l_i}) + \tau \Omega(w_{l_i}) \right)
        + \lambda \sum_{(a, b, c)} v_{abc} \max\left( m + D_{l_a}(x_a, x_b) - D_{l_a}(x_a, x_c), 0 \right)^2,
        \qquad \Omega(w) = \frac1d \sum_j w_j \log w_j

    Labels l, centres and weights are optimised alternately, each with the others fixed (the weights by
    L-BFGS, a convex problem), so the objective never rises. The form of the penalty (squared, with a margin),
    the entropy that keeps weights away from 0 and the choice of the weights of a comparison are our reading
    of the published description, not the formulas of the paper.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    triplet_weight : float, default=0.5
        The cost λ of a violated comparison. Multiplied by the weight of each triplet.
    margin : float, default=1.0
        The margin m between the far and the near row in units of D. Two random rows have D = 2 on average if
        all weights are 1.
    temperature : float, default=0.5
        The factor τ of the entropy. Large values keep all weights near 1, small values select few columns.
    neither : {"refuse", "drop"}, default="refuse"
        Whether triplets with the answer NEITHER, which contain no comparison, raise an error or are dropped.
    init : {"hints", "k-means++"}, default="hints"
        Starting centres. With "hints" the first start uses the centroids of rows that triplets join, and the
        others are k-means++ draws.
    n_init : int, default=5
        Number of starts, of which the one with the lowest objective is kept.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-4
        Stop when no label changes and the objective falls by no more than this, relative to its value.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The mean of each cluster, in the original columns of X. An empty cluster keeps its last centre.
    feature_weights_ : ndarray of shape (n_clusters, n_features)
        The weight of each column in each cluster, with mean 1.
    violations_ : likewise.evaluation.TripletSatisfaction
        The triplets that the labels satisfy and violate.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.

    Notes
    -----
    An iteration costs O(n k d) for the rows and O(k d) per comparison; a triplet has two comparisons. Without
    triplets this is k-means with feature weights per cluster; with a very high temperature as well, it is
    k-means.

    Examples
    --------
    >>> from likewise.metric import SSSVaD
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 5], [0, 9], [4, 0], [4, 4], [4, 9]]
    >>> hints = Supervision.from_triplets(6, [(0, 2, 3), (3, 5, 0), (1, 2, 4)], "AB")
    >>> model = SSSVaD(n_clusters=2, random_state=0).fit(X, supervision=hints)
    >>> model.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    labels_: np.ndarray
    cluster_centers_: Any
    feature_weights_: Any
    objective_: Any
    n_iter_: Any

    supported_hints: ClassVar[frozenset[str]] = frozenset({"triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "triplet_weight": Rule.real(0, strict=True),
        "margin": Rule.real(0),
        "temperature": Rule.real(0, strict=True),
        "neither": IS_UNUSED,
        "init": Rule.choice("hints", "k-means++"),
        "n_init": Rule.integer(1),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        triplet_weight: float = 0.5,
        margin: float = 1.0,
        temperature: float = 0.5,
        neither: Unused = "refuse",
        init: str = "hints",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.triplet_weight = triplet_weight
        self.margin = margin
        self.temperature = temperature
        self.neither = neither
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Cluster the rows of X, guided by the triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The triplets. None means no hints.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        X, hints = self._check_fit(X, y, supervision)
        rng = check_random_state(self.random_state)
        rows = np.asarray(X, dtype=np.float64)
        mean = rows.mean(axis=0)
        rows = rows - mean
        scale = float(np.sqrt(np.square(rows).mean())) or 1.0
        comparisons = get_comparisons(self, rows, hints, self.neither)
        problem = SssvadProblem(rows / scale, comparisons, self.triplet_weight, self.margin, self.temperature)
        progress = FitProgress(self, X, self.n_init)
        states = []
        for number in range(self.n_init):
            seeds = self._draw_seeds(problem.X, hints, rng, from_hints=number == 0 and self.init == "hints")
            progress.begin(self.max_iter)
            states.append(self._alternate(problem, SssvadState.start(problem, seeds), progress))
            progress.end()
        best = min(states, key=lambda state: state.objective)
        progress.finish()
        self.labels_ = best.labels.astype(np.int32)
        centers = np.array(best.centers)
        for h in np.unique(best.labels):
            centers[h] = problem.X[best.labels == h].mean(axis=0)
        self.cluster_centers_ = (centers * scale + mean).astype(X.dtype)
        self.feature_weights_ = best.weights
        self.objective_ = best.objective
        self.n_iter_ = best.n_iter
        self._scale = scale
        self.violations_: TripletSatisfaction = triplet_satisfaction(self.labels_, hints)
        why = "X may have fewer distinct rows than that."
        if not self._warn_few_clusters(best.labels, self.n_clusters, why) and not best.converged:
            self._warn_not_converged(best.n_iter)
        return self

    def _draw_seeds(self, X: np.ndarray, hints: Supervision, rng: Any, *, from_hints: bool) -> np.ndarray:
        ones = np.ones(len(X))
        if from_hints and hints:
            closure = hints.to_links().closure(on_conflict="drop")
            return draw_seeds_from_closure(X, closure, self.n_clusters, ones, rng)
        return extend_seeds(X, np.empty((0, X.shape[1])), self.n_clusters, ones, rng)

    def _alternate(self, problem: SssvadProblem, state: SssvadState, progress: FitProgress) -> SssvadState:
        """Update centres, weights and labels alternately until the labels no longer change."""
        for n_iter in range(1, self.max_iter + 1):
            new = problem.assign(problem.improve(state))
            settled = np.array_equal(new.labels, state.labels)
            settled &= state.objective - new.objective <= self.tol * abs(state.objective)
            state = SssvadState(new.labels, new.centers, new.weights, new.objective, n_iter, bool(settled))
            if settled or progress.step():
                break
        return state

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the nearest cluster of each new row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        rows = np.asarray(X, dtype=np.float64) / self._scale
        centers = np.asarray(self.cluster_centers_, dtype=np.float64) / self._scale
        shift = centers.mean(axis=0)  # centred for numerical accuracy
        rows, centers = rows - shift, centers - shift
        costs = _compute_costs(rows, np.square(rows), centers, self.feature_weights_, self.temperature)
        return costs.argmin(axis=1).astype(np.int32)


@dataclass(frozen=True)
class SssvadState:
    """Labels, centres, weights and the objective."""

    labels: np.ndarray
    centers: np.ndarray
    weights: np.ndarray
    objective: float
    n_iter: int = 0
    converged: bool = False

    @classmethod
    def start(cls, problem: SssvadProblem, centers: np.ndarray) -> SssvadState:
        """Return the state in which all weights are 1 and each row belongs to its nearest centre."""
        empty = np.empty(0, dtype=np.int64)
        return problem.assign(cls(empty, centers, np.ones_like(centers), np.inf))


class SssvadProblem:
    """The objective for rows of mean variance 1, minimised over labels, centres or weights."""

    def __init__(
        self, X: np.ndarray, comparisons: Comparisons, price: float, margin: float, temperature: float
    ) -> None:
        self.X, self._squares = X, np.square(X)
        self.anchors = comparisons.rows[:, 0]
        self.price = price * comparisons.weights
        self.margin = margin
        self.temperature = temperature
        self.excess = np.square(comparisons.get_near_differences(X)) - np.square(
            comparisons.get_far_differences(X)
        )  # D(a, b) - D(a, c), column by column

    def assign(self, state: SssvadState) -> SssvadState:
        """Assign each row to its cheapest cluster; the cost of a row does not depend on other labels."""
        d = self.X.shape[1]
        costs = _compute_costs(self.X, self._squares, state.centers, state.weights, self.temperature)
        violated = np.maximum(self.margin + self.excess @ state.weights.T / d, 0.0)
        np.add.at(costs, self.anchors, self.price[:, None] * np.square(violated))
        labels = costs.argmin(axis=1)
        every = np.arange(len(labels))
        if len(state.labels):  # rounding must not move rows between clusters of equal cost
            stay = costs[every, state.labels] <= costs[every, labels] + 1e-12
            labels = np.where(stay, state.labels, labels)
        return SssvadState(labels, state.centers, state.weights, float(costs[every, labels].sum()))

    def improve(self, state: SssvadState) -> SssvadState:
        """Update the centres, then the weights. An empty cluster takes the row farthest from its centre."""
        k = len(state.centers)
        labels, weights = state.labels.copy(), state.weights.copy()
        count = np.bincount(labels, minlength=k)
        for h in np.flatnonzero(count == 0):
            off = np.square(self.X - state.centers[labels]).sum(axis=1)
            off[count[labels] < 2] = 0.0
            row = int(off.argmax())
            if off[row] == 0.0:
                break  # all rows coincide with their centres
            count[labels[row]] -= 1
            labels[row], count[h], weights[h] = h, 1, weights[labels[row]]
        member = csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(k, len(labels)))
        centers = np.where(
            count[:, None] > 0, (member @ self.X) / np.maximum(count, 1)[:, None], state.centers
        )
        spread = np.maximum(member @ self._squares - count[:, None] * np.square(centers), 0.0)
        return SssvadState(labels, centers, self._minimise_weights(labels, count, spread, weights), np.inf)

    def _minimise_weights(
        self, labels: np.ndarray, count: np.ndarray, spread: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the weights that minimise the objective; L-BFGS optimises their logarithms."""
        k, d = weights.shape
        tau = self.temperature
        judge = labels[self.anchors]
        order = np.argsort(judge, kind="stable")  # group comparisons by cluster
        excess, price = self.excess[order], self.price[order]
        ends = np.searchsorted(judge[order], np.arange(k + 1))

        def compute_objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            w = d * softmax(flat.reshape(k, d), axis=1)
            log = np.log(np.maximum(w, 1e-300))
            value = (spread * w).sum() + tau * (count @ (w * log).sum(axis=1))
            slope = spread + tau * count[:, None] * (log + 1.0)
            for h in range(k):
                mine = slice(ends[h], ends[h + 1])
                violated = np.maximum(self.margin + excess[mine] @ w[h] / d, 0.0)
                value += d * (price[mine] @ np.square(violated))
                slope[h] += (2.0 * price[mine] * violated) @ excess[mine]
            slope = w * (slope - (w * slope).sum(axis=1, keepdims=True) / d)
            return float(value) / (d * len(labels)), slope.ravel() / (d * len(labels))

        # Without comparisons this is the solution; with comparisons it is one of two starting points.
        plain = d * softmax(-spread / np.maximum(count, 1)[:, None] / tau, axis=1)
        plain[count == 0] = weights[count == 0]
        if not len(judge):
            return plain
        starts = [np.log(np.maximum(w, 1e-300)).ravel() for w in (weights, plain)]
        start = min(starts, key=lambda flat: compute_objective(flat)[0])
        found = minimize(
            compute_objective,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 30, "gtol": 1e-6, "ftol": 1e-12},
        )
        return d * softmax(found.x.reshape(k, d), axis=1)


def _compute_costs(
    X: np.ndarray, squares: np.ndarray, centers: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """Return D_h(x, mu_h) + tau Omega(w_h) for each row and cluster; `squares` are those of X."""
    d = X.shape[1]
    out: np.ndarray = squares @ (weights / d).T
    out += X @ (weights * centers * (-2.0 / d)).T
    out += (weights * np.square(centers)).sum(axis=1) / d
    np.maximum(out, 0.0, out=out)
    out += temperature * (weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1) / d
    return out
