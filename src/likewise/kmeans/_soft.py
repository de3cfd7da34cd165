"""Soft links: PCK-Means, MK-Means and MPCK-Means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from likewise._blocks import Rows, as_rows
from likewise._hinted import HintedSubset
from likewise.base import Rule, choice, either, real
from likewise.kmeans._alternation import KMeansFit, Learning
from likewise.kmeans._base import IS_ARRAY, KMeansFamily, is_auto
from likewise.kmeans._linked_rows import LinkedRows, Penalty
from likewise.kmeans._metric import Metric, compute_inverse_metric
from likewise.kmeans._stats import compute_second_moment, mean_squared_distance
from likewise.seeding import ComponentCentroids
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

MetricKind = Literal["full", "diagonal"]


class SoftLinks(KMeansFamily, ABC):
    """Base class of members in which links are soft penalties. Contradictory links give a warning."""

    must_weight: float
    cannot_weight: float
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    accepts_conflicts: ClassVar[bool] = True
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **KMeansFamily.parameter_rules,
        "must_weight": real(0, strict=True),
        "cannot_weight": real(0, strict=True),
    }

    @abstractmethod
    def _compute_penalty(self, X: Rows) -> Penalty:
        """Return the penalty of broken links."""

    @abstractmethod
    def _compute_penalty_at(self, scale: float) -> Penalty:
        """Return the penalty of broken links if `scale` is the mean squared distance between two rows."""

    def _get_link_weights(self) -> tuple[float, float]:
        """Return the weights of must-links and cannot-links, multiplied by the unit of the row weights."""
        return self.must_weight * self._weight_unit, self.cannot_weight * self._weight_unit

    def _make_learning(self, linked: LinkedRows | None) -> Learning | None:
        """Return the settings of metric learning, or None if no metric is learned."""
        return None

    def _make_hinted_rows(self, X: Rows, named: HintedSubset, rng: Any) -> LinkedRows | None:
        if "links" not in named.hints.kinds:
            return None
        return LinkedRows(X, named, self._compute_penalty(X), rng)


class PCKMeans(SoftLinks):
    """Pairwise-constrained k-means: links as soft penalties, Euclidean distance.

    Minimises (Basu, Banerjee & Mooney 2004)

    .. math::

        \\sum_i \\|x_i - \\mu_{l_i}\\|^2
        + s \\sum_{must} w_{ij} [l_i \\ne l_j] + s \\sum_{cannot} \\bar w_{ij} [l_i = l_j]

    where s is the mean squared distance between two rows, so that a weight of 1 means the same at any scale
    of the data. Rows without links go to the nearest centre. Linked rows are labelled jointly: confident
    rows first, then single rows and whole must-link components alternately, until neither lowers the
    objective.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    must_weight, cannot_weight : float, default=1.0
        Cost of a broken must-link or cannot-link, in units of the mean squared distance between two rows.
        Multiplied by the weight of each link in the hints.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. An array gives
        the only start.
    n_init : int, default=5
        Number of starts. After a few iterations, the start whose nearest-centre clusters break the fewest
        links is finished, and among equals the one with the lowest objective; without links all are
        finished.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-4
        Stop when the centres move less than this, relative to the variance of the columns.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores. Small data use one
        thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The mean of each cluster, weighted by `sample_weight`, in the original columns of X. An empty
        cluster keeps its last centre. If the fit has not converged, these differ from the centres that
        rows were assigned to, which `predict` uses.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.

    Notes
    -----
    One iteration costs O(n k d), as in k-means, plus O(k d) per hinted row and O(k) per link. The cost of a
    group is linear in its size.

    Examples
    --------
    >>> from likewise import PCKMeans, Supervision
    >>> X = [[0, 0], [1, 0], [4, 0], [5, 0]]
    >>> PCKMeans(n_clusters=2, random_state=0).fit_predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    >>> hints = Supervision.from_links(4, must=[(1, 2)], must_weights=5)
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X, supervision=hints)
    >>> bool(model.labels_[1] == model.labels_[2]), model.violations_.share
    (True, 1.0)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        init: Any = "hints",
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
        self.must_weight = must_weight
        self.cannot_weight = cannot_weight

    def _compute_penalty(self, X: Rows) -> Penalty:
        return self._compute_penalty_at(mean_squared_distance(X))

    def _compute_penalty_at(self, scale: float) -> Penalty:
        return Penalty(*self._get_link_weights(), alpha=scale, beta=0.0, reach=scale)


class _LearnedMetric(SoftLinks):
    """Base class of members that learn a metric."""

    metrics_: np.ndarray

    _rescales_rows = True  # an inverse covariance can overflow even if the covariance does not underflow
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SoftLinks.parameter_rules,
        "metric": choice(*get_args(MetricKind)),
        "init": either(choice("auto", "hints", "k-means++"), IS_ARRAY),
        "per_cluster": choice(True, False),
        "regularization": real(0, strict=True),
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
        self.must_weight = must_weight
        self.cannot_weight = cannot_weight
        self.regularization = regularization

    def _compute_penalty(self, X: Rows) -> Penalty:
        return self._compute_penalty_at(1.0)

    def _compute_penalty_at(self, scale: float) -> Penalty:
        # A learned metric determines the scale of its distances.
        return Penalty(*self._get_link_weights(), alpha=0.0, beta=1.0, reach=None)

    def _make_hinted_rows_and_learning(
        self, X: Rows, named: HintedSubset, rng: Any
    ) -> tuple[LinkedRows | None, Learning]:
        linked = self._make_hinted_rows(X, named, rng)
        return linked, self._make_learning(linked)

    def _make_learning(self, linked: LinkedRows | None) -> Learning:
        return Learning(self.metric == "diagonal", self.per_cluster, self.regularization, linked)

    def _count_hinted_starts(self, hints: Supervision) -> int:
        return 2  # one with each initial metric

    def _suggest_metric(self, X: Rows, named: HintedSubset) -> Metric | None:
        """Return the inverse of the scatter within must-link components, shrunk towards the total scatter.

        The scatter within components is that of relevant component analysis. The total scatter counts as one
        component of two rows.
        """
        diagonal = self.metric == "diagonal"
        total = compute_second_moment(X, diagonal=diagonal)
        spread = np.sqrt((total if diagonal else total.diagonal()) / X.total_weight)
        tied = ComponentCentroids.from_closure(named.X, named.closure, named.weight)
        weight = named.weight[tied.rows]
        within = np.asarray(named.X[tied.rows], dtype=np.float64) - tied.centroids[tied.place]
        freedom = weight.sum() - tied.mass.sum() / np.bincount(tied.place).mean() if len(tied.rows) else 0.0
        one = self._weight_unit
        scatter = compute_second_moment(as_rows(within, weight=weight), diagonal=diagonal)
        scatter += total / X.total_weight * one
        scale = np.where(spread > 0, spread, 1.0)
        return compute_inverse_metric(scatter[None], np.array([freedom + one]), scale, self.regularization)

    def _keep(self, fit: KMeansFit, labels: Any, middle: np.ndarray, named: HintedSubset) -> None:
        super()._keep(fit, labels, middle, named)
        self._keep_metric(fit.metric)

    def _keep_metric(self, metric: Metric) -> None:
        A = metric.A
        if self.metric == "full" and metric.diagonal:  # still Euclidean: no metric was fitted
            A = np.stack([np.diag(a) for a in A])
        self.metrics_ = np.resize(A, (self.n_clusters, *A.shape[1:])) if self.per_cluster else A[0]


class MPCKMeans(_LearnedMetric):
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
    mean, because a broken cannot-link can make the matrix indefinite. Only stated links are penalised;
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
        Cost of a broken must-link or cannot-link, relative to the objective above. Multiplied by the weight
        of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    init : {"auto", "hints", "k-means++"} or array of shape (n_clusters, n_features), default="auto"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. "auto" also
        fits without links and continues that fit with the links, see Notes. An array gives the only start.
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
        Stop when the centres move less than this, relative to the variance of the columns.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores. Small data use one
        thread.

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
        because the metric of X itself would overflow.
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

    def _suggest_metric(self, X: Rows, named: HintedSubset) -> Metric | None:
        links = named.hints.links
        if is_auto(self.init) and not len(links.must) and not len(links.must_groups):
            return None  # no must-links, no suggestion
        return super()._suggest_metric(X, named)


class MKMeans(_LearnedMetric):
    """K-means that learns a metric: links affect only the metric.

    The ablation of :class:`MPCKMeans` (Bilenko, Basu & Mooney 2004) whose start and assignment ignore the
    links: every row goes to its nearest centre, and broken links enter the scatter matrix whose inverse is
    the metric. Without links it is k-means with a metric fitted to its own clusters. The objective is that
    of :class:`MPCKMeans`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"full", "diagonal"}, default="full"
        Whether the metric has off-diagonal entries. "diagonal" only rescales the columns.
    per_cluster : bool, default=False
        Whether each cluster has its own metric. If False, all clusters share one.
    must_weight, cannot_weight : float, default=1.0
        Cost of a broken must-link or cannot-link, relative to the objective. Multiplied by the weight
        of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    init : {"auto", "hints", "k-means++"} or array of shape (n_clusters, n_features), default="auto"
        Starting centres. All named options draw the starts by k-means++. An array gives the only start.
    n_init : int, default=5
        Number of starts, of which the one with the lowest objective is kept.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-4
        Stop when the centres move less than this, relative to the variance of the columns.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores. Small data use one
        thread.

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
        because the metric of X itself would overflow.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.

    Examples
    --------
    >>> from likewise import MKMeans
    >>> X = [[0, 0], [1, 9], [0, 5], [8, 1], [9, 8], [8, 4]]
    >>> labels = MKMeans(n_clusters=2, metric="diagonal", random_state=0).fit_predict(X)
    >>> labels.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    def _count_hinted_starts(self, hints: Supervision) -> int:
        return 0

    def _suggest_metric(self, X: Rows, named: HintedSubset) -> Metric | None:
        return super()._suggest_metric(X, HintedSubset.empty(X))

    def _make_hinted_rows_and_learning(self, X: Rows, named: HintedSubset, rng: Any) -> tuple[None, Learning]:
        return None, super()._make_hinted_rows_and_learning(X, named, rng)[1]
