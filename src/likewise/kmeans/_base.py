"""Base class of the k-means family: hooks of the members, starts, the choice among starts, prediction."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import check_is_fitted

from likewise._compat import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_random_state,
    with_callbacks,
)
from likewise._seeding import (
    COSTLY,
    MANY_COORDINATES,
    MANY_ROWS,
    ComponentCentroids,
    HintedSubset,
    draw_seeds_from_closure,
    exchange_seeds,
    extend_seeds,
    find_least_violating,
    is_clearly_better,
    reduce_rows,
)
from likewise.backends import (
    Block,
    Rows,
    as_rows,
    draw_rows,
    get_n_threads,
    pass_through,
    scale_to_unit_length,
)
from likewise.base import FitProgress, HintedClusterer, Rule
from likewise.evaluation import Satisfaction
from likewise.kmeans._loop import (
    NO_ROWS,
    ClusterStats,
    HintedPlacement,
    HintedRowPlacer,
    KMeansFit,
    KMeansSteps,
    Metric,
    Start,
    alternate,
    compute_level_costs,
    compute_mean_squared_distance,
    compute_means,
    label_block,
    sum_rows,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.kmeans._mpck import MetricLearning

# Number of iterations of each start before the promising starts are selected.
_TRIAL = 5
# Number of rows on which starts are tried if there are very many rows.
_TRIAL_ROWS = 2**17
IS_ARRAY = Rule(
    "an array of shape (n_clusters, n_features)", lambda v: hasattr(v, "__len__") and not isinstance(v, str)
)


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """The argument of :meth:`KMeansFamily.assign_hinted_rows`: hinted rows and their cost in each cluster.

    Parameters
    ----------
    hints : Supervision
        The hints. Rows are numbered from 0 to n_hinted - 1; rows without hints are left out.
    costs : ndarray of shape (n_hinted, n_clusters)
        What each hinted row adds to the objective in each cluster: its squared distance to the centre,
        multiplied by its sample weight.
    previous : ndarray of shape (n_hinted,) or None
        The cluster of each hinted row in the previous iteration; None in the first iteration.
    _rows : AssignedRows
        Private. The source of `scale`.

    Examples
    --------
    A member of the family that keeps every labelled row in the cluster of its class, and prints what it is
    given in the first iteration:

    >>> from likewise import Supervision
    >>> from likewise.kmeans import KMeansFamily
    >>> class LabelKMeans(KMeansFamily):
    ...     supported_hints = frozenset({"labels"})
    ...
    ...     def assign_hinted_rows(self, problem):
    ...         if problem.previous is None:
    ...             print(problem.costs.shape, problem.hints.label_codes)
    ...         return problem.hints.label_codes
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels(["a", None, "a", "b"])
    >>> LabelKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit(X, supervision=hints).labels_.tolist()
    (3, 2) [0 0 1]
    [0, 0, 0, 1]
    """

    hints: Supervision
    costs: np.ndarray
    previous: np.ndarray | None
    _rows: AssignedRows = field(repr=False)

    @property
    def scale(self) -> float:
        """The mean squared distance between two rows of X, in the unit of `costs`.

        A penalty of ``weight * scale`` means the same in any unit of the columns.
        """
        return self._rows.scale


class AssignedRows:
    """The hinted rows of a member that assigns them with its own `assign_hinted_rows`."""

    def __init__(self, member: KMeansFamily, X: Rows, hinted: HintedSubset) -> None:
        self.rows, self.X, self.weight = hinted.rows, hinted.X.astype(np.float64), hinted.weight
        self._member, self._all_rows, self._hints = member, X, hinted.hints
        # A row of weight 0 still goes to its nearest cluster if its hints allow it.
        self._positive_weight = np.maximum(self.weight, 1e-12 * X.heaviest)

    @cached_property
    def scale(self) -> float:
        """The mean squared distance between two rows, multiplied by the unit of the row weights."""
        return compute_mean_squared_distance(self._all_rows) * self._member._weight_unit

    def place(
        self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None, tie: float = 0.0
    ) -> HintedPlacement:
        """Assign the rows and compute their contribution to the objective."""
        costs = compute_level_costs(metric, self.X, centers, tie)
        problem = AssignmentProblem(self._hints, costs * self._positive_weight[:, None], previous, self)
        labels = np.asarray(self._member.assign_hinted_rows(problem))
        is_valid = labels.shape == self.rows.shape and labels.dtype.kind in "iu"
        if not is_valid or not ((labels >= 0) & (labels < len(centers))).all():
            raise ValueError(
                f"{type(self._member).__name__}.assign_hinted_rows must return one integer from 0 to "
                f"{len(centers) - 1} for each of the {len(self.rows)} hinted rows; got {labels!r}."
            )
        labels = labels.astype(np.int64)
        energy = float(self.weight @ costs[np.arange(len(labels)), labels])
        energy += self._member.compute_penalty(labels, problem)
        return HintedPlacement(labels, energy, costs.argmin(axis=1))

    def get_units(self) -> np.ndarray:
        """Return -1 for each row: a hinted row is never moved to fill an empty cluster."""
        return np.full(len(self.rows), -1)


@dataclass(frozen=True, eq=False)
class Projection:
    """The coordinates of rows in a few directions, in which they are clustered.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        The vector that is subtracted from the rows first.
    directions : ndarray of shape (d, p)
        The directions, which are orthonormal, as columns.
    """

    mean: np.ndarray
    directions: np.ndarray

    def project(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows from which `mean` is already subtracted."""
        return X @ self.directions.astype(X.dtype, copy=False)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows."""
        return self.project(X - self.mean.astype(X.dtype, copy=False))

    def sum_by_cluster(self, fit: KMeansFit, block: Block) -> ClusterStats:
        """Return the sums of each cluster in all columns; `mean` is already subtracted from the rows."""
        Z = np.empty((len(block), self.directions.shape[1]), dtype=block.X.dtype)
        pass_through(block.X, (self.project,), Z)  # as `Rows.transform` does, so that the labels are equal
        labels = label_block(fit.centers, fit.metric, fit.fixed, replace(block, X=Z), tie=fit.tie)
        return ClusterStats.from_labels(block.X, labels, block.weight, len(fit.centers))


class KMeansFamily(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HintedClusterer):
    """Base class of the k-means family: k-means in which hints decide the clusters of the hinted rows.

    A member minimises

    .. math::

        \\sum_i \\|x_i - \\mu_{l_i}\\|^2 + P(l)

    where the penalty P depends on the hints. The base class draws starts, alternates assignment and update
    until the labels converge, and keeps the best start. Rows without hints go to the nearest centre; a member
    overrides :meth:`assign_hinted_rows` for the others, and :meth:`compute_penalty` unless P is 0.
    Everything else, including data in files and on a cluster, is inherited.

    The class is public for authors of new members; the documentation has a longer example under
    "Extending likewise".

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. If
        n_features * n_clusters is at least 4,096, centroids that cover few other rows are exchanged for
        drawn rows. An array gives the only start.
    n_init : int, default=5
        Number of starts. With links, the start whose nearest-centre clusters break the fewest links is
        kept, and among equals the one with the lowest objective; without links, the lowest objective.
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
        The mean of each cluster.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate, if the member supports links.
    supported_hints : frozenset of str
        The kinds of hint that a member uses. Hints of any other kind are refused with an error.
    parameter_rules : dict of str to likewise.base.Rule
        Which values each parameter may have. A member adds its own to those of its base class.
    accepts_conflicts : bool
        If True, cannot-links that contradict must-links give a warning instead of an error. Default False.

    Examples
    --------
    K-means that keeps every labelled row in the cluster of its class:

    >>> from likewise import Supervision
    >>> from likewise.kmeans import KMeansFamily
    >>> class LabelKMeans(KMeansFamily):
    ...     supported_hints = frozenset({"labels"})
    ...
    ...     def assign_hinted_rows(self, problem):
    ...         return problem.hints.label_codes
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels(["a", None, "a", "b"])
    >>> LabelKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit(X, supervision=hints).labels_.tolist()
    [0, 0, 0, 1]
    """

    cluster_centers_: np.ndarray
    n_iter_: int
    objective_: float
    violations_: Satisfaction

    accepts_conflicts: ClassVar[bool] = False
    _reads_blocks = True
    _sparse_rows = "sparse"
    _hints_assign: ClassVar[bool] = True  # whether hints decide the clusters of the hinted rows
    # How many of the first starts take their centres from the hints; None for all, by the labels.
    _n_hinted_starts: ClassVar[int | None] = 1
    _may_scale_rows = True
    _projection: Projection | None = None  # None if rows are clustered in all columns
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "metric": Rule.choice("euclidean", "cosine"),
        "init": Rule.either(Rule.choice("hints", "k-means++"), IS_ARRAY),
        "n_init": Rule.integer(1),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
        "n_jobs": Rule.either(Rule.choice(None, -1), Rule.integer(1)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ for authors of members

    def assign_hinted_rows(self, problem: AssignmentProblem) -> np.ndarray:
        """Assign the hinted rows to clusters, given the current centres.

        Called once in each iteration, if there are hints. A member that does not override it treats hinted
        rows like all others.

        Parameters
        ----------
        problem : AssignmentProblem
            The hints about these rows, the cost of each row in each cluster, and the previous clusters.

        Returns
        -------
        labels : ndarray of int, shape (n_hinted,)
            The cluster of each hinted row. The sum of their costs and the penalty should not be larger than
            with the previous labels, or the fit may not converge.
        """
        labels: np.ndarray = problem.costs.argmin(axis=1)
        return labels

    def compute_penalty(self, labels: np.ndarray, problem: AssignmentProblem) -> float:
        """Compute what violated hints add to the objective.

        Parameters
        ----------
        labels : ndarray of int, shape (n_hinted,)
            The cluster of each hinted row.
        problem : AssignmentProblem
            As in :meth:`assign_hinted_rows`.

        Returns
        -------
        penalty : float
            0 unless a member overrides this method.
        """
        return 0.0

    # ------------------------------------------------------------------ private hooks of the members

    def _make_hinted_rows(self, X: Rows, hinted: HintedSubset, rng: Any) -> HintedRowPlacer | None:
        """Return the rows whose clusters or whose metric depend on hints, or None."""
        if not hinted.hints or type(self).assign_hinted_rows is KMeansFamily.assign_hinted_rows:
            return None
        return AssignedRows(self, X, hinted)

    def _make_learning(self, hinted: HintedRowPlacer | None) -> MetricLearning | None:
        """Return the metric update, or None if no metric is learned."""
        return None

    def _suggest_metric(self, X: Rows, hinted: HintedSubset) -> Metric | None:
        """Return the metric that the must-links suggest, or None if no metric is learned."""
        return None

    def _make_projection(self, X: Rows, mean: np.ndarray) -> Projection | None:
        """Return the projection of the rows, from which `mean` is already subtracted, or None."""
        return None

    def _draw_seeds(self, hinted: HintedSubset, draws: Rows, rng: Any) -> np.ndarray:
        """Return the starting centres that the hints suggest; the remaining ones are drawn from `draws`."""
        return draw_seeds_from_closure(
            hinted.X, hinted.closure, self.n_clusters, hinted.weight, rng, draws=draws
        )

    def _find_cluster_order(self, fit: KMeansFit, hinted: HintedSubset) -> np.ndarray | None:
        """Return the order in which clusters are numbered, or None to leave the numbers as they are."""
        return None

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X, guided by the hints.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), numpy.memmap, MemmapRows, \
                ParquetRows, or a dask array or dataframe
            The rows. float32 is kept as float32. Sparse rows are used as they are; methods that learn a
            metric convert one block at a time to a dense array. A memory map and the readers of
            :mod:`likewise.datasets` are read in blocks and never loaded as a whole. Dask data stay on
            their cluster, and ``labels_`` is a dask array; see :mod:`likewise.distributed`.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.
        sample_weight : array-like or dask array of shape (n_samples,), optional
            The weight of each row. It does not change the penalties of links. If weights are so large that
            sums overflow, the objective is divided by a power of two.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        rows = self._weigh_rows(rows, sample_weight)
        rng = check_random_state(self.random_state)
        unlinked_rng = deepcopy(rng)
        hinted_rows, few = hints.restrict_to_hinted()
        check_closure = self._compute_soft_closure if self.accepts_conflicts else self._compute_hard_closure
        closure = check_closure(few, rows=hinted_rows)

        rows.threads = get_n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)
        mean = np.zeros(rows.shape[1], dtype=rows.dtype)
        if not rows.is_sparse:
            mean = (rows.sum(partial(sum_rows, "rows", NO_ROWS)) / rows.total_weight).astype(rows.dtype)
            rows = rows.transform(partial(np.add, -mean))  # distances lose fewer digits around the origin
        centered, projection = rows, self._make_projection(rows, mean)
        self._projection = projection
        if projection is not None:
            rows = rows.transform(projection.project, projection.directions.shape[1])
        hinted = HintedSubset.from_data(rows, hinted_rows, few, closure)
        plan = self._plan(rows, hinted, self._make_hinted_rows(rows, hinted, rng), mean, rng)
        unlinked = None
        is_auto = isinstance(self.init, str) and self.init == "auto"
        if is_auto and plan.steps.learning is not None and plan.steps.hinted is not None:
            unlinked = self._plan(rows, HintedSubset.from_data(rows), None, mean, unlinked_rng)
        progress = None
        if getattr(self, "_skl_callbacks", None):
            plans = [plan] if unlinked is None else [plan, unlinked]
            n_runs = sum(len(each.starts) + 2 * (each.on is not None) for each in plans)
            progress = FitProgress(self, X, n_runs + (unlinked is not None))
        if unlinked is None:
            best = plan.choose(self._fit_starts(plan, self.max_iter, progress))
        else:
            free = unlinked.choose(self._fit_starts(unlinked, self.max_iter, progress))
            fits = self._fit_starts(plan, self.max_iter, progress)
            # Few links can lead the starts to a poorer optimum than no links. So the fit without links is
            # continued with links, and another fit replaces the result only if its nearest centres break
            # clearly fewer links: by one standard deviation, or by two if its metric was fitted from the
            # beginning and may have adapted to narrow directions.
            follow = partial(alternate, max_iter=self.max_iter, tol=self.tol, learn_by=1, progress=progress)
            best = follow(plan.steps, Start(free.centers, free.metric, learn=True))
            for fit in sorted(fits, key=lambda fit: (fit.learned, fit.objective)):
                n_deviations = 2.0 if fit.learned else 1.0
                if is_clearly_better(fit.nearest, best.nearest, few, n_deviations):
                    best = fit
        order = self._find_cluster_order(best, hinted) if "labels" in few.kinds else None
        renumber = None if order is None else np.argsort(order).astype(np.int32)
        labels = plan.steps.collect_labels(best, renumber)
        self._keep(
            best if order is None else replace(best, centers=best.centers[order]), labels, mean, hinted
        )
        # If the fit has not converged, these differ from the centres that rows were assigned to.
        means = compute_means(best.stats, best.centers)
        if projection is not None:  # an empty cluster keeps its centre, in all columns
            sums = centered.sum(partial(projection.sum_by_cluster, best))
            means = compute_means(sums, means @ projection.directions.T)
        centers = ((means if order is None else means[order]) + mean) / self._row_unit
        self.cluster_centers_ = centers.astype(mean.dtype)
        if progress is not None:
            progress.finish()
        return self

    def _plan(
        self,
        X: Rows,
        named: HintedSubset,
        hinted: HintedRowPlacer | None,
        mean: Any,
        rng: Any,
        *,
        is_batch: bool = False,
    ) -> FitPlan:
        """Return the steps and the starts of a fit with these hints; a batch is not sampled for trials."""
        learning = self._make_learning(hinted)
        hinted = hinted if self._hints_assign else None
        steps = KMeansSteps(X, self.n_clusters, hinted=hinted, learning=learning, tracked=named.rows)
        starts = self._make_starts(X, named, mean, rng)
        is_linked = hinted is not None and "links" in named.hints.kinds
        on = steps if is_linked and len(starts) > 2 else None
        if X.shape[0] > MANY_ROWS and len(starts) > 1 and not is_batch:
            on = self._make_trial_steps(X, named, hinted, learning, rng) or on
        return FitPlan(steps, starts, named.hints, is_linked, on)

    def _make_trial_steps(
        self,
        X: Rows,
        named: HintedSubset,
        hinted: HintedRowPlacer | None,
        learning: MetricLearning | None,
        rng: Any,
    ) -> KMeansSteps | None:
        """Return steps over the hinted rows and a sample that is weighted to represent all other rows.

        With very many rows, starts are tried on these. None if the whole sample has weight 0.
        """
        drawn = np.setdiff1d(draw_rows(len(X), _TRIAL_ROWS, rng), named.rows, assume_unique=True)
        weight = X.get_weights(drawn)
        if not weight.any():  # nearly all rows have weight 0
            return None
        weight = weight * ((X.total_weight - named.weight.sum()) / weight.sum())
        rows = as_rows(
            _stack_rows([named.X, X.take(drawn)]), X.threads, np.concatenate([named.weight, weight])
        )
        hinted_rows = np.arange(len(named.rows))
        if hinted is not None:
            hinted = copy(hinted)
            hinted.rows = hinted_rows
        return KMeansSteps(rows, self.n_clusters, hinted=hinted, learning=learning, tracked=hinted_rows)

    def _fit_starts(
        self, plan: FitPlan, max_iter: int, progress: FitProgress | None = None
    ) -> list[KMeansFit]:
        """Return the fits of all starts, or of the promising ones if starts are tried first."""
        starts = plan.starts
        follow = partial(alternate, tol=self.tol, learn_by=max_iter // 2, progress=progress)
        if plan.on is not None:
            # The first iterations decide which classes a cluster unites, so little is lost by not finishing
            # all starts: the best is continued, or with links the best with and without an initial metric.
            most = min(_TRIAL, max_iter) if plan.is_linked else max_iter
            tried = [follow(plan.on, start, max_iter=most) for start in starts]
            sorts = [tried]
            if plan.is_linked:
                sorts = [[fit for fit in tried if fit.learned == learned] for learned in (True, False)]
            best = [plan.choose(fits) for fits in sorts if fits]
            starts = [
                Start(fit.centers, fit.metric, fit.learned, fit.n_iter, fit.hinted_labels) for fit in best
            ]
        return [follow(plan.steps, start, max_iter=max_iter) for start in starts]

    def _make_starts(self, X: Rows, hinted: HintedSubset, mean: Any, rng: Any) -> list[Start]:
        """Return every start: the first from the hints, the others drawn by k-means++.

        If a metric is learned, every third start uses the metric that the must-links suggest from the
        beginning, and the others keep the Euclidean metric until the labels converge; the first start of each
        type comes from the hints. Neither type is better in general; the hints decide between them.
        """
        plain = Metric(np.ones((1, X.shape[1])))
        if not isinstance(self.init, str):
            given = self._check_init_array(self.init, (self.n_clusters, len(mean)))
            if self._has_unit_rows:
                given = scale_to_unit_length(given)
            given = given * self._row_unit - mean
            return [Start(given if self._projection is None else self._projection.project(given), plain)]
        suggested = self._suggest_metric(X, hinted)
        n_starts, n_hinted = self.n_init, self._n_hinted_starts
        if n_hinted is None:  # if each cluster is a class, nothing is drawn
            is_determined = self.init == "hints" and len(hinted.hints.classes) == self.n_clusters
            n_starts, n_hinted = 1 if is_determined else self.n_init, self.n_init
        if self.init == "k-means++" or not len(hinted.rows):
            n_hinted = 0
        is_costly = X.shape[0] * X.shape[1] * self.n_clusters >= COSTLY
        spaces: dict[int, tuple[HintedSubset, Rows]] = {}
        starts = []
        for number in range(n_starts):
            metric = plain if suggested is None or number % 3 else suggested
            if id(metric) not in spaces:
                here, draws = hinted, X
                if metric is not plain:
                    draws = X.transform(metric.embed)
                    here = replace(hinted, X=draws.take(hinted.rows))
                if X.shape[0] > MANY_ROWS or is_costly:
                    components = ComponentCentroids.from_closure(here.X, here.closure, here.weight, here.rows)
                    draws = reduce_rows(draws, self.n_clusters, components, rng)
                spaces[id(metric)] = here, draws
            here, draws = spaces[id(metric)]
            if number < n_hinted:
                seeds = self._draw_seeds(here, draws, rng)
            else:
                seeds = extend_seeds(draws, np.empty((0, X.shape[1])), self.n_clusters, None, rng)
            # Components rarely cover all groups evenly. Centres that stand for classes stay where they are.
            is_wide = number < n_hinted and X.shape[1] * self.n_clusters >= MANY_COORDINATES
            if (is_costly or is_wide) and self._n_hinted_starts is not None:
                seeds = exchange_seeds(draws, seeds, rng)
            starts.append(Start(metric.unembed(seeds), metric, learn=metric is not plain))
        return starts

    def _keep(self, fit: KMeansFit, labels: Any, mean: np.ndarray, hinted: HintedSubset) -> None:
        self.labels_ = labels
        self._assigned_to = fit.centers
        if self._projection is None:
            self._assigned_to = (fit.centers + mean).astype(mean.dtype)
        self.n_iter_ = fit.n_iter
        self.objective_ = fit.objective
        self._keep_metric(fit.metric)
        self._n_features_out = self.n_clusters
        if "links" in self.supported_hints:
            self.violations_ = Satisfaction._from_codes(fit.hinted_labels, hinted.hints.links, hinted.rows)
        why = "X may have fewer distinct rows, or the hints may make that many clusters impossible."
        found = int(np.count_nonzero(fit.stats.counts))
        if found < self.n_clusters:
            self._warn_few_clusters(found, self.n_clusters, why)
        elif not fit.converged:
            self._warn_not_converged(fit.n_iter)

    def _keep_metric(self, metric: Metric) -> None:
        self._metric = metric

    # ------------------------------------------------------------------ using

    def _check_new_rows(self, X: Any) -> tuple[Rows, Metric, np.ndarray]:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        rows.threads = get_n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)
        if self._projection is not None:
            rows = rows.transform(self._projection.apply, self._projection.directions.shape[1])
        return rows, self._metric, np.asarray(self._assigned_to, dtype=np.float64)

    def predict(self, X: MatrixLike) -> Any:
        """Return the nearest cluster of each new row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, in any form that `fit` accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row; a dask array if X is Dask data.
        """
        rows, metric, centers = self._check_new_rows(X)
        return rows.map_rows(partial(_find_nearest_center, metric, centers), np.int32)

    def transform(self, X: MatrixLike) -> Any:
        """Return the distance of each row to each centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            The distances, in the learned metric if there is one; a dask array if X is Dask data.
        """
        rows, metric, centers = self._check_new_rows(X)
        return rows.map_rows(partial(_compute_distances, metric, centers), rows.dtype, len(centers))

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the negative cost of the rows in their nearest clusters; links play no part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.
        y : ignored
            Present for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        score : float
            The negative sum of the costs. Higher is better.
        """
        rows, metric, centers = self._check_new_rows(X)
        return -self._with_weights(rows, sample_weight).sum(partial(_compute_cost, metric, centers))


@dataclass(frozen=True, eq=False)
class FitPlan:
    """The steps and the starts of a fit, and the hints that decide between the starts.

    Attributes
    ----------
    is_linked : bool
        Whether links decide the clusters of some rows.
    on : KMeansSteps or None
        The steps on which starts are tried for a few iterations before the promising ones are finished: with
        very many rows, steps over a sample of the rows. None if every start is finished.
    """

    steps: KMeansSteps
    starts: list[Start]
    hints: Supervision
    is_linked: bool
    on: KMeansSteps | None = None

    def choose(self, fits: list[KMeansFit]) -> KMeansFit:
        """Choose among fits by how well the clusters explain the hints, then by the objective.

        The objective alone is not enough: it covers all rows, of which few are hinted. Clusters that
        contradict the hints, with the hinted rows forced out of their nearest clusters, often have the lowest
        objective. The criterion is therefore the total weight of the links that would be violated if the
        hinted rows went to their nearest clusters. Fits within one standard deviation (the square root of the
        smallest total, at least 1) count as equal. Among these, starts with the Euclidean metric are
        preferred, so that few hints do not lead far from k-means; then the lowest objective decides. Without
        links only the objective decides.
        """
        if self.is_linked:
            equal = [fits[at] for at in find_least_violating([fit.nearest for fit in fits], self.hints)]
            fits = [fit for fit in equal if not fit.learned] or equal
        # Starts often end in the same clusters with other numbers; rounding must not decide between them.
        objectives = [fit.objective for fit in fits]
        bound = min(objectives) + 1e-9 * max(map(abs, objectives))
        return next(fit for fit in fits if not fit.objective > bound)


def _stack_rows(parts: list[Any]) -> Any:
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def _find_nearest_center(metric: Metric, centers: np.ndarray, X: np.ndarray) -> np.ndarray:
    return metric.compute_costs(X, centers).argmin(axis=1)


def _compute_distances(metric: Metric, centers: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.sqrt(metric.compute_distances(X, centers))


def _compute_cost(metric: Metric, centers: np.ndarray, block: Block) -> float:
    return float(block.weight @ metric.compute_costs(block.X, centers).min(axis=1))
