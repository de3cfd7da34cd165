"""Mini-batch k-means with links: MiniBatchPCKMeans and MiniBatchMPCKMeans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from likewise.base import Rule
from likewise.kmeans._batch_fit import BatchFitMixin
from likewise.kmeans._mpck import MetricKind, MPCKMeans
from likewise.kmeans._pck import PCKMeans

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class MiniBatchPCKMeans(BatchFitMixin, PCKMeans):
    """Pairwise-constrained k-means on batches of rows: links as soft penalties, Euclidean distance.

    Lowers the objective of :class:`PCKMeans`

    .. math::

        \\sum_i \\|x_i - \\mu_{l_i}\\|^2
        + s \\sum_{must} w_{ij} [l_i \\ne l_j] + s \\sum_{cannot} \\bar w_{ij} [l_i = l_j]

    with a few rows at a time (Sculley 2010). The rows of a batch are labelled as in PCKMeans, linked rows
    jointly and the others by the nearest centre, and added to the running sums of each cluster. A centre is
    the mean of all rows ever assigned to its cluster; with a `half_life`, older rows count less. s, the mean
    squared distance between two rows, is estimated from the rows seen before.

    `fit` draws batches from all rows. Linked rows are in every batch; they and their links are weighted down
    so that a batch represents all rows. `partial_fit` takes batches from the caller, with hints about the
    rows of each batch.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    batch_size : int, default=2048
        Number of rows that `fit` draws per batch. The first batch is three times as large.
    half_life : float or None, default=None
        Number of further rows after which the weight of a row has halved. With None all rows count equally.
    must_weight, cannot_weight : float, default=1.0
        Cost of a broken must-link or cannot-link, in units of the mean squared distance between two rows.
        Multiplied by the weight of each link in the hints.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres, drawn from the first batch. With "hints" the first start uses the centroids of the
        must-link components, selected by a weighted farthest-first traversal, and the others are k-means++
        draws. An array gives the only start.
    n_init : int, default=5
        Number of starts that are tried on the first batch.
    max_iter : int, default=100
        Maximum number of passes of `fit`: it draws at most as many rows as this many passes over all rows
        would read.
    tol : float, default=1e-4
        The objective counts as lower only if it falls by more than this, relative to itself.
    max_no_improvement : int or None, default=10
        `fit` stops when the objective, averaged over recent batches, has not become lower for this many
        consecutive batches. With None only `max_iter` stops it.
    reassignment_ratio : float, default=0.01
        From time to time, a cluster that recently gained less than this fraction of the rows of the largest
        cluster is abandoned, and its centre moves to a row far from the others. 0 disables this.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores. Small data use one
        thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; after `partial_fit`, of each row of the last batch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The running means of the clusters over all batches. They differ from the means of `labels_`, which
        are assigned at the end.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate; after `partial_fit`, those of the last batch.
    objective_ : float
        The objective per row, averaged over the last batches, each evaluated before its update.
    n_steps_, n_rows_seen_ : int
        Number of batches and of rows that were processed.
    n_iter_ : int
        Number of passes over all rows that would read as many rows; 1 after `partial_fit`.

    Notes
    -----
    A batch of b rows costs O(b k d), plus O(k d) per hinted row and O(k) per link. `fit` reads all rows
    twice, to validate and to label them.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import MiniBatchPCKMeans, Supervision
    >>> rng = np.random.default_rng(0)
    >>> model = MiniBatchPCKMeans(n_clusters=2, random_state=0)
    >>> for _ in range(20):
    ...     X = rng.normal(size=(50, 2)) + [[0, 0], [9, 0]] * 25
    ...     hints = Supervision.from_links(50, must=[(0, 2)], cannot=[(0, 1)])
    ...     model = model.partial_fit(X, supervision=hints)
    >>> np.sort(abs(model.cluster_centers_[:, 0])).round().tolist(), model.n_rows_seen_
    ([0.0, 9.0], 1000)
    """

    parameter_rules: ClassVar[dict[str, Rule]] = {**PCKMeans.parameter_rules, **BatchFitMixin.parameter_rules}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        batch_size: int = 2048,
        half_life: float | None = None,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        reassignment_ratio: float = 0.01,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            must_weight=must_weight,
            cannot_weight=cannot_weight,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.batch_size = batch_size
        self.half_life = half_life
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio


class MiniBatchMPCKMeans(BatchFitMixin, MPCKMeans):
    """Metric pairwise-constrained k-means on batches of rows: links guide the clusters and a learned metric.

    Lowers the objective of :class:`MPCKMeans` with a few rows at a time, as :class:`MiniBatchPCKMeans`
    does. Besides the sums of each cluster it keeps running second moments, of all rows or with
    ``per_cluster=True`` of each cluster, and the contribution of broken links to the scatter. The metric is
    the inverse of this running scatter and is updated after each batch. :math:`D_h`, the largest squared
    distance between two rows, is taken over the rows of the batch, and in `fit` over the first batch and
    the linked rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"full", "diagonal"}, default="full"
        Whether the metric has off-diagonal entries. "diagonal" only rescales the columns.
    per_cluster : bool, default=False
        Whether each cluster has its own metric. If False, all clusters share one.
    batch_size : int, default=2048
        Number of rows that `fit` draws per batch. The first batch is three times as large.
    half_life : float or None, default=None
        Number of further rows after which the weight of a row has halved. With None all rows count equally.
    must_weight, cannot_weight : float, default=1.0
        Cost of a broken must-link or cannot-link, relative to the objective of :class:`MPCKMeans`.
        Multiplied by the weight of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres, drawn from the first batch. With "hints" the first start uses the centroids of the
        must-link components, selected by a weighted farthest-first traversal, and the others are k-means++
        draws. An array gives the only start.
    n_init : int, default=5
        Number of starts that are tried on the first batch.
    max_iter : int, default=100
        Maximum number of passes of `fit`: it draws at most as many rows as this many passes over all rows
        would read.
    tol : float, default=1e-4
        The objective counts as lower only if it falls by more than this, relative to itself.
    max_no_improvement : int or None, default=10
        `fit` stops when the objective, averaged over recent batches, has not become lower for this many
        consecutive batches. With None only `max_iter` stops it.
    reassignment_ratio : float, default=0.01
        From time to time, a cluster that recently gained less than this fraction of the rows of the largest
        cluster is abandoned, and its centre moves to a row far from the others. 0 disables this.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores. Small data use one
        thread.

    Attributes
    ----------
    metrics_ : ndarray
        The learned metric: (d,) or (d, d) if shared, (k, d) or (k, d, d) if each cluster has its own.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; after `partial_fit`, of each row of the last batch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The running means of the clusters over all batches. They differ from the means of `labels_`, which
        are assigned at the end.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate; after `partial_fit`, those of the last batch.
    objective_ : float
        The objective per row, averaged over the last batches, each evaluated before its update.
    n_steps_, n_rows_seen_ : int
        Number of batches and of rows that were processed.
    n_iter_ : int
        Number of passes over all rows that would read as many rows; 1 after `partial_fit`.

    Notes
    -----
    A batch of b rows costs as much as an iteration of :class:`MPCKMeans` on b rows, plus O(d^3) for a full
    metric, k times as much with a metric per cluster.

    Examples
    --------
    Two features; people group by the first, which has the smaller spread.

    >>> import numpy as np
    >>> from likewise import MiniBatchMPCKMeans, Supervision
    >>> rng = np.random.default_rng(0)
    >>> meant = np.repeat([0, 1], 400)
    >>> X = np.column_stack([4 * meant + rng.normal(size=800), 20 * rng.uniform(size=800)])
    >>> hints = Supervision.from_links(800, must=[(0, 1), (2, 3), (401, 402)], cannot=[(0, 401), (2, 403)])
    >>> model = MiniBatchMPCKMeans(n_clusters=2, metric="diagonal", batch_size=100, random_state=0)
    >>> model = model.fit(X, supervision=hints)
    >>> model.violations_.share
    1.0
    >>> bool(model.metrics_[0] > 10 * model.metrics_[1])
    True
    """

    parameter_rules: ClassVar[dict[str, Rule]] = {
        **MPCKMeans.parameter_rules,
        **BatchFitMixin.parameter_rules,
        "init": PCKMeans.parameter_rules["init"],  # without "auto", which fits without links first
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricKind = "full",
        per_cluster: bool = False,
        batch_size: int = 2048,
        half_life: float | None = None,
        must_weight: float = 1.0,
        cannot_weight: float = 1.0,
        regularization: float = 0.01,
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        reassignment_ratio: float = 0.01,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            per_cluster=per_cluster,
            must_weight=must_weight,
            cannot_weight=cannot_weight,
            regularization=regularization,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.batch_size = batch_size
        self.half_life = half_life
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio
