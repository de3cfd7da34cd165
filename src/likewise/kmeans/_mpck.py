"""MPCK-Means (Bilenko, Basu & Mooney 2004): objective, assignment step and metric update.

MPCK-Means minimises, over labels l, centres mu and positive definite metrics A,

    (1)  J = sum_i ( ||x_i - mu_{l_i}||^2_{A_{l_i}} - log det A_{l_i} )
             + sum over violated must-links (l_i != l_j) of w_ij f_M(i, j)
             + sum over violated cannot-links (l_i = l_j) of w_ij f_C(i, j)

    (2)  f_M(i, j) = ( ||x_i - x_j||^2_{A_{l_i}} + ||x_i - x_j||^2_{A_{l_j}} ) / 2

    (3)  f_C(i, j) = D_h - ||x_i - x_j||^2_{A_h} with h = l_i = l_j and D_h = max_{u, v} ||u - v||^2_{A_h}

where ||x||^2_A = x' A x. Three steps alternate (`alternate` in ``_loop.py``):

    (4)  assignment: a row without links takes argmin_h ||x - mu_h||^2_{A_h} - log det A_h
         (`KMeansSteps.assign` in ``_loop.py``); linked rows lower (1) jointly (`LinkedRows.place`)

    (5)  centres: mu_h is the mean of the rows of cluster h

    (6)  metrics (`MetricLearning.fit_metric`): A_h = N_h S_h^{-1}, where N_h is the total weight of cluster
         h, u and v are the farthest pair of (3), and

         S_h = sum over rows of h of (x_i - mu_h)(x_i - mu_h)'
               + sum over violated must-links that touch h of w_ij / 2 (x_i - x_j)(x_i - x_j)'
               + sum over violated cannot-links within h of w_ij [(u - v)(u - v)' - (x_i - x_j)(x_i - x_j)']

         The eigenvalues of S_h are bounded from below. A metric that all clusters share is N S^{-1} with S
         the sum of the S_h.

The equation numbers are those of this file, not of the paper. Every pair of rows in a link group counts as a
link.

With very many columns, x_i stands for the coordinates of row i in the principal directions of the rows
(`MPCKMeans._make_projection`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms

from likewise._seeding import ComponentCentroids, HintedSubset
from likewise.backends import Block, Rows, as_rows, open_thread_map
from likewise.base import Rule
from likewise.kmeans._base import IS_ARRAY, KMeansFamily, Projection
from likewise.kmeans._loop import (
    NO_ROWS,
    ClusterStats,
    HintedPlacement,
    HintedRowPlacer,
    Metric,
    Moment,
    compute_mean_squared_distance,
    level_ties,
    multiply_sparse_rows,
    sum_rows,
)

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

MetricKind = Literal["full", "diagonal"]

# With n_components="auto", a full metric is learned in this many directions if there are more columns.
_MANY_COLUMNS = 128
_N_DIRECTIONS = 64
# Directions with less variance than this, relative to the first, contain rounding errors only.
_LEAST_VARIANCE = 1e-12

FROM_SCRATCH = np.empty(0, dtype=np.int64)

# Costs of linked rows are computed for _PIECE rows at a time. With at least _MANY_COSTS costs, both this and
# the searches from several starts use threads.
_PIECE = 2048
_MANY_COSTS = 2**20

# Up to this many rows, all are compared for D_h; above it, only rows that are extreme along some direction.
_EXACT_ROWS = 256
_GROUPED_ROWS = 1024
_N_COLUMNS = 32
_N_DRAWN = 32


class SoftLinks(KMeansFamily, ABC):
    """Base class of members in which links are soft penalties. Contradictory links give a warning."""

    must_weight: float
    cannot_weight: float
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    accepts_conflicts: ClassVar[bool] = True
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **KMeansFamily.parameter_rules,
        "must_weight": Rule.real(0, strict=True),
        "cannot_weight": Rule.real(0, strict=True),
    }

    @abstractmethod
    def _make_penalty(self, compute_scale: Callable[[], float]) -> Penalty:
        """Return the penalty of violated links. The scale is the mean squared distance between two rows."""

    def _make_hinted_rows(self, X: Rows, hinted: HintedSubset, rng: Any) -> LinkedRows | None:
        if "links" not in hinted.hints.kinds:
            return None
        return LinkedRows(X, hinted, self._make_penalty(partial(compute_mean_squared_distance, X)), rng)


class MPCKMeans(SoftLinks):
    """Metric pairwise-constrained k-means: links guide both the clusters and a learned metric.

    Minimises (Bilenko, Basu & Mooney 2004)

    .. math::

        \\sum_i \\left( \\|x_i - \\mu_{l_i}\\|^2_{A_{l_i}} - \\log\\det A_{l_i} \\right)
        + \\sum_{must, l_i \\ne l_j} w_{ij} \\tfrac12
            \\left( \\|x_i - x_j\\|^2_{A_{l_i}} + \\|x_i - x_j\\|^2_{A_{l_j}} \\right)
        + \\sum_{cannot, l_i = l_j = h} \\bar w_{ij} \\left( D_h - \\|x_i - x_j\\|^2_{A_h} \\right)

    over labels, centres and positive definite metrics A, with :math:`D_h` the largest squared distance
    between two rows under :math:`A_h`. A is an inverse covariance. Penalties are distances in the learned
    metric, so that neither the units of the columns nor the scale of the data change the meaning of a
    weight.

    The steps alternate as in the paper. Where the paper leaves choices open: The metric stays Euclidean
    until the labels have converged once. Confident hinted rows are labelled first; then single rows and whole
    must-link components move alternately, both from the previous labels and from scratch. The eigenvalues
    of the scatter matrix whose inverse is the metric are raised to at least `regularization` times their
    mean, because a violated cannot-link can make the matrix indefinite. Only stated links are penalised;
    implied links act through the component moves and the start, so that cost and memory are linear in the
    number of links.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"full", "diagonal"}, default="full"
        Whether the metric has off-diagonal entries. "diagonal" only rescales the columns.
    per_cluster : bool, default=False
        Whether each cluster has its own metric. If False, all clusters share one.
    must_weight, cannot_weight : float, default=1.0
        Cost of a violated must-link or cannot-link, relative to the objective above. Multiplied by the weight
        of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    n_components : int, "auto" or None, default="auto"
        Cluster the rows, and learn a full metric, in this many principal directions of the rows: those with
        the largest variance. None, or at least as many as columns, uses all columns. "auto" uses 64
        directions if X has more than 128 columns and the metric is full, else all columns, see Notes.
    init : {"auto", "hints", "k-means++"} or array of shape (n_clusters, n_features), default="auto"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. If
        n_features * n_clusters is at least 4,096, centroids that cover few other rows are exchanged for
        drawn rows. "auto" also fits without links and continues that fit with the links, see Notes. An array
        gives the only start.
    n_init : int, default=5
        Number of starts. Every third start begins with the metric that the must-links suggest, the others
        with the Euclidean metric. After a few iterations, the start of each type whose nearest-centre
        clusters break the fewest links is finished. With ``init="hints"`` the Euclidean one of these two is
        kept unless it breaks clearly more links. Without links all starts are finished and the lowest
        objective wins; they all begin with the Euclidean metric if ``init="auto"``, and every third one
        with the inverse covariance of all rows if ``init="hints"``.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-4
        Stop when the centres move less than this, relative to the variance of the columns. If
        n_samples * n_features * n_clusters is at least 2**36, also stop when the relative change of the
        objective is at most `tol`. For sparse rows, n_samples * n_features is the number of stored values.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit. Small data use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The mean of each cluster, weighted by `sample_weight`, in the original columns of X. An empty
        cluster keeps its last centre. If the fit has not converged, these differ from the centres that
        rows were assigned to, which `predict` uses.
    metrics_ : ndarray
        The learned metric: (d,) or (d, d) if shared, (k, d) or (k, d, d) if each cluster has its own. If all
        values of X are below 1e-77 (float32: 3e-10), it is the metric of X multiplied by a power of two,
        because the metric of X itself would overflow. If the metric was learned in p directions, it has
        rank p.
    directions_ : ndarray of shape (p, n_features) or None
        The orthonormal directions in which the rows were clustered, one per row; None if all columns were
        used. There may be fewer than `n_components`, since directions without variance are left out.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.

    Notes
    -----
    An iteration costs O(n k d) with a shared metric, as in k-means; O(n k d) with a diagonal and O(n k d^2)
    with a full metric per cluster; plus O(k d) per hinted row and O(k) per link. The assignment and centre
    steps never raise the objective. The metric step may raise it, because :math:`D_h` depends on the metric;
    the best state found is returned.

    A full metric has about d^2 / 2 parameters. With hundreds of columns it adapts to the rows of each
    cluster: with 1,000 links, clusters of sentence embeddings (384 columns) were poorer than with the
    Euclidean metric. In the 64 leading principal directions they were not, and a fit is faster. Groups that
    differ only in directions of small variance are lost; ``n_components=None`` keeps all columns. Columns
    in very different units should be standardised first. Distances, the objective and `score` then refer to
    these directions; `cluster_centers_` and `metrics_` to the original columns.

    Few links can lead the starts to a poorer optimum than no links. With ``init="auto"`` the fit without
    links and with the same `random_state` is therefore continued with the links. Another start replaces it
    only if its nearest-centre clusters break clearly fewer links: by one standard deviation in a comparison
    link by link, or by two if it began with the metric that the must-links suggest. This roughly doubles
    the time. ``init="hints"`` starts from the links only, as in the paper.

    Examples
    --------
    Two features; people group by the first, which has the smaller spread.

    >>> import numpy as np
    >>> from likewise import MPCKMeans, Supervision
    >>> rng = np.random.default_rng(0)
    >>> meant = np.repeat([0, 1], 40)
    >>> X = np.column_stack([4 * meant + rng.normal(size=80), 20 * rng.uniform(size=80)])
    >>> hints = Supervision.from_links(80, must_groups=[range(5), range(40, 45)], cannot=[(0, 40)])
    >>> model = MPCKMeans(n_clusters=2, metric="diagonal", random_state=0).fit(X, supervision=hints)
    >>> model.violations_.share
    1.0
    >>> bool(model.metrics_[0] > 10 * model.metrics_[1])
    True
    """

    metrics_: np.ndarray
    directions_: np.ndarray | None

    _n_hinted_starts: ClassVar[int | None] = 2  # one with each initial metric
    _sparse_rows = "dense blocks"  # a metric makes rows dense
    _rescales_rows = True  # an inverse covariance can overflow even if the covariance does not underflow
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SoftLinks.parameter_rules,
        "metric": Rule(
            "'full' or 'diagonal', the form of the learned metric (for cosine geometry, scale the rows with "
            "sklearn.preprocessing.normalize)",
            lambda value: isinstance(value, str) and value in get_args(MetricKind),
        ),
        "init": Rule.either(Rule.choice("auto", "hints", "k-means++"), IS_ARRAY),
        "per_cluster": Rule.choice(True, False),
        "regularization": Rule.real(0, strict=True),
        "n_components": Rule.either(Rule.choice("auto", None), Rule.integer(1)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricKind = "full",
        per_cluster: bool = False,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        regularization: float = 0.01,
        n_components: int | Literal["auto"] | None = "auto",
        init: Any = "auto",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.metric = metric
        self.per_cluster = per_cluster
        self.n_components = n_components
        self.must_weight = must_weight
        self.cannot_weight = cannot_weight
        self.regularization = regularization

    def _make_penalty(self, compute_scale: Callable[[], float]) -> Penalty:
        # A learned metric determines the scale of its distances: equations (2) and (3).
        must, cannot = self.must_weight * self._weight_unit, self.cannot_weight * self._weight_unit
        return Penalty(must, cannot, alpha=0.0, beta=1.0, reach=None)

    def _make_projection(self, X: Rows, mean: np.ndarray) -> Projection | None:
        """Return the projection to the principal directions of the rows, or None to keep all columns."""
        d, n_components, is_full = X.shape[1], self.n_components, self.metric == "full"
        if n_components == "auto":
            n_components = _N_DIRECTIONS if is_full and d > _MANY_COLUMNS else None
        if n_components is not None and not is_full:
            raise ValueError(
                f"{type(self).__name__}: n_components={n_components} needs a full metric, but "
                f"metric={self.metric!r}: it has one weight per column of X. Pass metric='full', or "
                "n_components=None to learn these weights."
            )
        if n_components is None or n_components >= d:
            return None
        covariance = X.sum(partial(sum_rows, "products", NO_ROWS)) / X.total_weight
        values, vectors = eigh(covariance, subset_by_index=[d - n_components, d - 1])
        n_kept = max(1, int(np.count_nonzero(values > _LEAST_VARIANCE * values[-1])))
        vectors = vectors[:, : -n_kept - 1 : -1]  # in decreasing order of variance
        # The sign of an eigenvector is arbitrary: its largest entry is positive.
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        return Projection(mean, np.ascontiguousarray(vectors * np.sign(largest), dtype=X.dtype))

    def _make_learning(self, hinted: HintedRowPlacer | None) -> MetricLearning:
        linked = hinted if isinstance(hinted, LinkedRows) else None
        return MetricLearning(self.metric == "diagonal", self.per_cluster, self.regularization, linked)

    def _suggest_metric(self, X: Rows, hinted: HintedSubset) -> Metric | None:
        """Return the inverse of the scatter within must-link components, shrunk towards the total scatter.

        The scatter within components is that of relevant component analysis. The total scatter counts as one
        component of two rows. Without must-links, nothing is suggested if ``init="auto"``.
        """
        links = hinted.hints.links
        has_must = len(links.must) + len(links.must_groups.weights) > 0
        if self._hints_assign and self.init == "auto" and not has_must:
            return None
        moment: Moment = "squares" if self.metric == "diagonal" else "products"
        total = X.sum(partial(sum_rows, moment, NO_ROWS))
        spread = np.sqrt((total if total.ndim == 1 else total.diagonal()) / X.total_weight)
        components = ComponentCentroids.from_closure(hinted.X, hinted.closure, hinted.weight)
        weight = hinted.weight[components.rows]
        within = (
            np.asarray(hinted.X[components.rows], dtype=np.float64) - components.centroids[components.place]
        )
        freedom = (
            weight.sum() - components.mass.sum() / np.bincount(components.place).mean()
            if len(components.rows)
            else 0.0
        )
        one = self._weight_unit
        scatter = as_rows(within, weight=weight).sum(partial(sum_rows, moment, NO_ROWS))
        scatter = scatter + total / X.total_weight * one
        scale = np.where(spread > 0, spread, 1.0)
        return compute_inverse_metric(scatter[None], np.array([freedom + one]), scale, self.regularization)

    def _keep_metric(self, metric: Metric) -> None:
        self._metric, A = metric, metric.A
        if self.metric == "full" and metric.diagonal:  # still Euclidean: no metric was fitted
            A = np.stack([np.diag(a) for a in A])
        self.directions_ = None
        if self._projection is not None:
            self.directions_ = self._projection.directions.T
            A = np.stack([self.directions_.T @ a @ self.directions_ for a in A])
        self.metrics_ = np.resize(A, (self.n_clusters, *A.shape[1:])) if self.per_cluster else A[0]


@dataclass(frozen=True)
class Penalty:
    """The cost of a violated link.

    A must-link costs ``weight (alpha + beta ||x_i - x_j||^2)`` and a cannot-link
    ``weight (reach - beta ||x_i - x_j||^2)``. If `reach` is None, it is the largest squared distance, D_h.
    """

    must_weight: float
    cannot_weight: float
    alpha: float
    beta: float
    reach: float | None


class LinkedRows:
    """The linked rows, which are gathered once and labelled jointly: their terms of the objective (1)."""

    def __init__(self, X: Rows, hinted: HintedSubset, penalty: Penalty, rng: np.random.RandomState) -> None:
        links = hinted.hints.links
        self.rows, self.weight, self._given_X = hinted.rows, hinted.weight, hinted.X
        self.X = hinted.X.astype(np.float64, copy=False)
        # A row of weight 0 still goes to its nearest cluster if its links allow it.
        self._pull = np.maximum(self.weight, 1e-12 * X.heaviest)
        self._ends = np.concatenate([links.must, links.cannot])
        self._is_cannot = np.repeat([False, True], [len(links.must), len(links.cannot)])
        self._stated_weights = np.concatenate([links.must_weights, links.cannot_weights])
        self._difference = self.X[self._ends[:, 0]] - self.X[self._ends[:, 1]]
        must, cannot = links.must_groups, links.cannot_groups
        self._groups = [rows for groups in (must, cannot) if len(groups.weights) for rows in groups]
        self._group_is_cannot = np.repeat([False, True], [len(must.weights), len(cannot.weights)])
        self._stated_group_weights = np.concatenate([must.weights, cannot.weights])
        self._link_index, self._group_index = index_links(self._ends, self._groups, len(self.rows))
        self._penalty, self._share = penalty, 1.0
        self._costs, self._threads = np.empty((0, 0)), X.threads
        self._known: tuple[Metric, tuple[np.ndarray, ...]] | None = None
        self._component = hinted.closure.component
        sizes, in_order = hinted.closure.sizes, np.argsort(self._component, kind="stable")
        members = in_order[sizes[self._component[in_order]] >= 2]
        self._components = (np.cumsum([0, *sizes[sizes >= 2]], dtype=np.int64), members)
        self._order = rng.permutation(len(self.rows))
        self._reach = None
        if penalty.reach is None and (self._is_cannot.any() or self._group_is_cannot.any()):
            grouped = self.X[np.unique(np.concatenate([[], *self._groups]).astype(np.int64))]
            self._reach = FarthestRows(X, self._difference[self._is_cannot], grouped, rng)

    def with_share(self, share: float, penalty: Penalty) -> LinkedRows:
        """Return a copy whose rows and links have `share` times their weight, with another penalty.

        Linked rows are in every batch, so they must count less for a batch to represent all rows.
        """
        other = copy(self)
        other.weight, other._pull = share * self.weight, share * self._pull
        other._penalty, other._share, other._known = penalty, share, None
        return other

    def place(
        self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None, tie: float = 0.0
    ) -> HintedPlacement:
        """Assignment step (4): label the rows by a local search for the lowest value of (1).

        Confident rows go first (largest gap between their two cheapest clusters; ties in random order). Then
        single rows and whole components move alternately until neither lowers the energy. From the second
        iteration on this is done twice, from the previous labels and from scratch, and the better result is
        kept: moves of single rows rarely escape labels that suited earlier centres.
        """
        from likewise.kernels import icm

        Z, norms, dist, X, Y, Q, reach, _ = self._prepare_metric(metric)
        m, k = len(self.rows), len(centers)
        if self._costs.shape != (m, k):
            self._costs = np.empty((m, k))
        costs, nearest, gap = self._costs, np.empty(m, dtype=np.int64), np.zeros(m)
        if metric.shared:
            C = metric.embed(centers)
            W, lengths = -2.0 * C, row_norms(C, squared=True) - metric.log_det[0]
            if issparse(Z):
                costs[...] = multiply_sparse_rows(Z, W)
            elif metric.is_euclidean and m * k >= _MANY_COSTS:  # in the dtype of X, as for other rows
                Z, W = self._given_X, W.astype(self._given_X.dtype, copy=False)

        def compute_costs(at: int) -> None:
            """Compute the costs of a piece that fits into the CPU cache, and the gap of the two lowest."""
            here = slice(at, at + _PIECE)
            piece = costs[here]
            if not metric.shared:
                piece[...] = metric.compute_costs(self.X[here], centers)
            else:
                if not issparse(Z):
                    np.matmul(Z[here], W.T, out=piece, dtype=W.dtype, casting="same_kind")
                piece += norms[here, None]
                piece += lengths
            if tie:
                level_ties(piece, norms[here], lengths, tie)
            nearest[here] = piece.argmin(axis=1)
            piece *= self._pull[here, None]
            if k > 1:
                cheapest = np.arange(len(piece)), nearest[here]
                lowest = piece[cheapest]
                piece[cheapest] = np.inf  # two passes for a minimum are ten times faster than a partition
                gap[here] = piece.min(axis=1) - lowest
                piece[cheapest] = lowest

        # The pieces do not depend on the number of threads, so neither do the costs.
        is_small = self._threads == 1 or m * k < _MANY_COSTS
        with nullcontext(map) if is_small else open_thread_map(self._threads) as each:
            deque(each(compute_costs, list(range(0, m, _PIECE))), maxlen=0)
            problem = icm.IcmProblem(
                costs, *self._link_index, self._is_cannot, self._weight, dist,
                float(self._penalty.alpha), float(self._penalty.beta), np.resize(reach, len(centers)),
                *self._group_index, self._group_is_cannot, self._group_weight, X, Y, Q,
            )  # fmt: skip
            starts = [FROM_SCRATCH] if previous is None else [FROM_SCRATCH, previous]
            order = self._order[np.argsort(-gap[self._order], kind="stable")]
            descend: Any = partial(icm.descend, problem, order=order, components=self._components)
            found: list[tuple[float, np.ndarray]] = list(each(descend, starts))
        energy, labels = min(found, key=lambda pair: pair[0])
        return HintedPlacement(labels, energy, nearest)

    def _prepare_metric(self, metric: Metric) -> tuple[np.ndarray, ...]:
        """Return the terms of (2) and (3) that depend on the metric only, cached for the last metric.

        Also sets the weights of the links.
        """
        if self._known is None or self._known[0] is not metric:
            beta = self._penalty.beta
            must, cannot = self._share * self._penalty.must_weight, self._share * self._penalty.cannot_weight
            self._weight = np.where(self._is_cannot, cannot, must) * self._stated_weights
            self._group_weight = np.where(self._group_is_cannot, cannot, must) * self._stated_group_weights
            H, d = len(metric.A), self.X.shape[1]
            # In the coordinates of a shared metric, distances are Euclidean.
            Z = metric.embed(self.X) if metric.shared else self.X
            dist = np.zeros((len(self._ends), H))
            if beta and metric.shared:
                dist[:, 0] = row_norms(Z[self._ends[:, 0]] - Z[self._ends[:, 1]], squared=True)
            elif beta:
                dist = np.ascontiguousarray(metric.compute_lengths(self._difference))
            X, Y, Q = np.empty((0, d)), np.empty((0, H, d)), np.empty((0, H))
            if beta and self._groups:
                X, Y, Q = self.X, metric.apply(self.X), metric.compute_lengths(self.X)
            far = np.zeros((H, d))
            reach = np.full(H, self._penalty.reach or 0.0)
            if self._reach is not None:
                reach, far = self._reach.find_farthest(metric)
            self._known = (metric, (Z, row_norms(Z, squared=True), dist, X, Y, Q, reach, far))
        return self._known[1]

    def get_units(self) -> np.ndarray:
        """Return the must-link component of each row. Components are moved as a whole."""
        return self._component

    def add_violations(self, scatter: np.ndarray, labels: np.ndarray, metric: Metric) -> None:
        """Add the contribution of violated links to the scatter matrices: the last two sums of (6).

        A violated must-link adds half its weight to the scatter of each of its two clusters, and so its full
        weight to a shared one.
        """
        *_, far = self._prepare_metric(metric)
        shared, moments = len(scatter) == 1, "diagonal" if scatter.ndim == 2 else "full"
        left, right = labels[self._ends[:, 0]], labels[self._ends[:, 1]]
        must = ~self._is_cannot & (left != right)
        cannot = self._is_cannot & (left == right)
        apart, far_of = self._difference, np.zeros(len(left), dtype=np.int64) if len(far) == 1 else left
        for violated, owner, rows, weight in (
            (must, left, apart, self._weight / 2),
            (must, right, apart, self._weight / 2),
            (cannot, left, apart, -self._weight),
            (cannot, left, far[far_of], self._weight),
        ):
            owner = np.zeros_like(owner) if shared else owner
            found = ClusterStats.from_labels(
                rows[violated], owner[violated], weight[violated], len(scatter), moments=moments
            )
            scatter += found.second
        for rows, is_cannot, weight in zip(
            self._groups, self._group_is_cannot, self._group_weight, strict=True
        ):
            clusters = np.unique(labels[rows])
            parts = {int(h): self.X[rows[labels[rows] == h]] for h in clusters}
            for h, part in parts.items():
                if is_cannot:
                    n_pairs = len(part) * (len(part) - 1) / 2
                    own = 0 if shared else h
                    vector = far[0 if len(far) == 1 else h]
                    scatter[own] += weight * n_pairs * _sum_squares(vector[None], scatter.ndim)
                    scatter[own] -= weight * _compute_pair_scatter(part, part, scatter.ndim) / 2
                    continue
                for g, other in parts.items():
                    if g != h:  # each pair is visited twice, half for the metric of either cluster
                        scatter[0 if shared else h] += (
                            weight / 2 * _compute_pair_scatter(part, other, scatter.ndim)
                        )


@dataclass(frozen=True)
class MetricLearning:
    """The metric update (6). `floor` bounds the eigenvalues of the scatter, relative to their mean."""

    diagonal: bool
    per_cluster: bool
    floor: float
    linked: LinkedRows | None

    def fit_metric(
        self,
        stats: ClusterStats,
        second: np.ndarray,
        centers: np.ndarray,
        hinted_labels: np.ndarray,
        metric: Metric,
        scale: np.ndarray,
    ) -> Metric:
        """Return the metrics of the current labels; D_h is taken under the previous `metric`."""
        scatter, mass = compute_scatter(stats, second, centers, self.per_cluster)
        if self.linked is not None:
            self.linked.add_violations(scatter, hinted_labels, metric)
        return compute_inverse_metric(scatter, mass, scale, self.floor)


def compute_scatter(
    stats: ClusterStats, second: np.ndarray, centers: np.ndarray, per_cluster: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first sum of (6) and its total weight, per cluster or pooled over clusters.

    `second` is the second moment of all rows; second moments per cluster are in `stats`.
    """
    counts, total = stats.counts, np.array([stats.counts.sum()])
    if second.ndim == 2 and not per_cluster:
        return (second - (centers.T * counts) @ centers)[None], total
    if second.ndim == 1:
        squares = counts[:, None] * np.square(centers)
    else:
        squares = counts[:, None, None] * centers[:, :, None] * centers[:, None, :]
    if per_cluster:
        assert stats.second is not None
        return stats.second - squares, counts
    return (second - squares.sum(axis=0))[None], total


def compute_inverse_metric(scatter: np.ndarray, mass: np.ndarray, scale: np.ndarray, floor: float) -> Metric:
    """Return the metrics (6) of regularised scatter matrices S_h of total weight N_h.

    S_h need not be positive definite: a violated cannot-link subtracts from it, and a cluster may have fewer
    rows than columns. So columns are scaled to unit spread, the eigenvalues (or the diagonal) of S_h are
    raised to at least `floor` times their mean, and the scaling is undone. Flooring A_h at 0 instead, as in
    the slides of the paper, would make log det A_h minus infinity.

    Parameters
    ----------
    scatter : ndarray of shape (H, d) or (H, d, d)
        Sums of (outer) squares.
    mass : ndarray of shape (H,)
        The total weight of each.
    scale : ndarray of shape (d,)
        The standard deviation of each column over all rows; 1 for a constant column.
    floor : float
        Lower bound on the eigenvalues, relative to their mean.
    """
    mass = np.maximum(mass, 1e-300)
    floor = max(floor, 1e-12)  # below this the inverse has no correct digits
    diagonal = scatter.ndim == 2
    if diagonal:
        values = scatter / mass[:, None] / np.square(scale)
    else:
        unit = scatter / mass[:, None, None] / np.multiply.outer(scale, scale)
        values, vectors = np.linalg.eigh((unit + unit.transpose(0, 2, 1)) / 2)
    positive = np.maximum(values, 0).sum(axis=1)
    mean = np.where(positive > 0, positive / values.shape[1], 1.0)
    values = np.maximum(values, floor * mean[:, None])
    if diagonal:
        variance = values * np.square(scale)
        return Metric(1.0 / variance, -np.log(variance).sum(axis=1))
    vectors = vectors / scale[None, :, None]
    A = (vectors / values[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Metric(A, -np.log(values).sum(axis=1) - 2.0 * np.log(scale).sum())


def _sum_squares(rows: np.ndarray, ndim: int, weight: np.ndarray | float = 1.0) -> np.ndarray:
    weighted = rows * np.reshape(weight, (-1, 1))
    return (weighted * rows).sum(axis=0) if ndim == 2 else weighted.T @ rows


def _compute_pair_scatter(A: np.ndarray, B: np.ndarray, ndim: int) -> np.ndarray:
    """Return the sum of squares of a - b over all rows a of A and b of B, without building the pairs."""
    a, b = A.sum(axis=0), B.sum(axis=0)
    squares = len(B) * _sum_squares(A, ndim) + len(A) * _sum_squares(B, ndim)
    return squares - (2 * a * b if ndim == 2 else np.outer(a, b) + np.outer(b, a))


class FarthestRows:
    """Candidates for the farthest pair of rows, D_h in (3).

    An exact search costs n^2 d for each new metric. The farthest pair under any metric lies on the convex
    hull, so rows that are extreme along columns or random directions are gathered once, and only these are
    compared: exact up to 256 rows, a lower bound beyond. The differences of cannot-linked rows (`pairs`) and
    the rows in link groups (`grouped`) are candidates too, so that no penalty ``D_h - ||x_i - x_j||^2`` is
    negative. Of more than 1,024 grouped rows only the extreme ones are candidates; a penalty can then be
    negative.
    """

    def __init__(
        self, X: np.ndarray | Rows, pairs: np.ndarray, grouped: np.ndarray, rng: np.random.RandomState
    ) -> None:
        X = as_rows(X)
        drawn = rng.normal(size=(_N_DRAWN, X.shape[1]))
        n = X.shape[0]
        if n <= _EXACT_ROWS:
            points = X.take(np.arange(n))
        else:
            spread = X.take(np.arange(0, n, max(1, n // 10_000))).std(axis=0)
            widest = np.argsort(-spread, kind="stable")[:_N_COLUMNS]
            directions = np.vstack([np.eye(X.shape[1])[widest], drawn / np.where(spread > 0, spread, 1.0)])
            points = X.take(_find_extremes(X, directions.astype(X.dtype)))
            if len(grouped) > _GROUPED_ROWS:
                grouped = grouped[_find_extremes(as_rows(grouped), directions)]
            points = np.vstack([points, grouped])
        self._points = np.asarray(points, dtype=np.float64)
        self._pairs = pairs

    def find_farthest(self, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest squared distances D, shape (H,), and the differences u - v, shape (H, d)."""
        reach, difference = [], []
        stated = metric.compute_lengths(self._pairs) if len(self._pairs) else None
        for h in range(len(metric.A)):
            Z = metric.embed(self._points, h)
            norms = row_norms(Z, squared=True)
            squared = norms[:, None] + norms - 2.0 * (Z @ Z.T)
            u, v = np.unravel_index(int(squared.argmax()), squared.shape)
            best, vector = squared[u, v], self._points[u] - self._points[v]
            if stated is not None and stated[:, h].max() > best:
                best, vector = stated[:, h].max(), self._pairs[int(stated[:, h].argmax())]
            reach.append(best)
            difference.append(vector)
        return np.array(reach), np.array(difference)


def _find_extremes(X: Rows, directions: np.ndarray) -> np.ndarray:
    """Return the rows with the largest or the smallest projection on some direction, block by block."""

    def find_in_block(block: Block) -> tuple[np.ndarray, np.ndarray]:
        if not len(block):
            return np.zeros(2 * len(directions), dtype=np.int64), np.full(2 * len(directions), -np.inf)
        projected = directions @ block.X.T
        at = np.concatenate([projected.argmax(axis=1), projected.argmin(axis=1)])
        return block.rows.start + at, np.concatenate([projected.max(axis=1), -projected.min(axis=1)])

    best = np.full(2 * len(directions), -np.inf)
    found = np.zeros(len(best), dtype=np.int64)
    for at, value in X.map(find_in_block):
        farther = value > best
        best = np.where(farther, value, best)
        found = np.where(farther, at, found)
    return np.unique(found)


def index_links(
    ends: np.ndarray, groups: list[np.ndarray], m: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return the links and the groups of m rows in compressed form: (indptr, partner, link), (indptr, group).

    Row i has the links ``link[indptr[i]:indptr[i + 1]]`` to the rows ``partner[...]``, and groups likewise.
    """
    here = np.concatenate([ends[:, 0], ends[:, 1]])
    there = np.concatenate([ends[:, 1], ends[:, 0]])
    by_row = np.argsort(here, kind="stable")
    member = np.concatenate([np.empty(0, dtype=np.int64), *groups])
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups]).astype(np.int64)
    by_member = np.argsort(member, kind="stable")
    every = np.arange(m + 1)
    return (
        (
            np.searchsorted(here[by_row], every),
            there[by_row],
            np.tile(np.arange(len(ends)), 2)[by_row],
        ),
        (np.searchsorted(member[by_member], every), group[by_member]),
    )
