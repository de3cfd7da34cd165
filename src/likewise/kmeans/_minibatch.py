"""K-means with links from batches of rows: MiniBatchPCKMeans and MiniBatchMPCKMeans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from likewise.base import Rule
from likewise.kmeans._batches import FromBatches
from likewise.kmeans._running import Running
from likewise.kmeans._soft import MetricKind, MPCKMeans, PCKMeans

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class MiniBatchPCKMeans(FromBatches, PCKMeans):
    """Pairwise-constrained k-means from batches of rows: links as soft penalties, the plain metric.

    Lowers the objective of :class:`PCKMeans`

    .. math::

        \\sum_i \\|x_i - \\mu_{l_i}\\|^2
        + s \\sum_{must} w_{ij} [l_i \\ne l_j] + s \\sum_{cannot} \\bar w_{ij} [l_i = l_j]

    by seeing some rows at a time (Sculley 2010). The rows of a batch are labelled as PCKMeans labels them,
    those that links name together and the others by the nearest centre, and added to what each cluster
    added up to before. A centre is the mean of all rows that ever came to its cluster, or with a `half_life`
    a mean in which older rows count for less. s, the mean squared distance between two rows, is that of the
    rows seen before.

    `fit` draws batches among all rows; the rows that links name are in every batch, and they and their links
    count there for their share, so that a batch stands for all rows. `partial_fit` takes batches as they
    come, with hints about the rows of each.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters to find.
    batch_size : int, default=2048
        How many rows `fit` draws at a time. The first batch is three times as long.
    half_life : float or None, default=None
        A row counts for a half after so many more rows were seen. None: every row counts alike.
    must_weight, cannot_weight : float, default=1.0
        What a broken link costs, in mean squared distances between two rows. Multiplied by the weight of
        each link in the hints.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Where the centres start, drawn from the first batch. With "hints" the first start is the centroids of
        the must-link components, chosen by a weighted farthest-first walk, and the others are k-means++
        draws. An array makes the one start.
    n_init : int, default=5
        How many starts are tried on the first batch. They are chosen among as :class:`PCKMeans` does.
    max_iter : int, default=100
        `fit` sees at the most as many rows as so many passes over all rows would.
    tol : float, default=1e-4
        The objective has to fall by more than this, relative to itself, to count as lower.
    max_no_improvement : int or None, default=10
        `fit` ends when for so many batches on end the objective, averaged over the last ones, was not lower
        than before. None: `max_iter` alone ends it.
    reassignment_ratio : float, default=0.01
        Now and then a cluster that lately gained less than this share of what the largest did is given up,
        and its centre is put on a row far from the others. 0: never.
    random_state : int, RandomState or None
        Makes the fit repeatable.
    n_jobs : int or None
        The most threads to use; None for what the limits in force allow. Few rows use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; after `partial_fit`, of each row of the last batch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The running means of the clusters over all batches; unlike those of the full fits they are not the
        means of `labels_`, which are assigned to them at the end.
    violations_ : likewise.evaluation.Satisfaction
        Which stated links the labels break; after `partial_fit`, of the last batch.
    objective_ : float
        The value of the objective a row, averaged over the last batches, each before it moved the clusters.
    n_steps_, n_rows_seen_ : int
        How many batches and how many rows were seen.
    n_iter_ : int
        How many passes over all rows would see as many; 1 after `partial_fit`.

    Notes
    -----
    A batch of b rows costs O(b k d), plus O(k d) for each hinted row and O(k) for each link. `fit` reads all
    rows twice, to check and to label them.

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

    parameter_rules: ClassVar[dict[str, Rule]] = {**PCKMeans.parameter_rules, **FromBatches.parameter_rules}

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


class MiniBatchMPCKMeans(FromBatches, MPCKMeans):
    """Metric pairwise-constrained k-means from batches of rows: links steer the clusters and the metric.

    Lowers the objective of :class:`MPCKMeans` by seeing some rows at a time, as :class:`MiniBatchPCKMeans`
    does. Beside the sums of each cluster it keeps second moments, of all rows or with ``per_cluster=True``
    of each cluster, and what broken links add to the scatter; the metric is the inverse of that running
    scatter and is fitted anew after each batch. :math:`D_h`, the largest squared distance between two
    rows, is taken over the rows of the batch, in `fit` over those of the first batch and the linked rows.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters to find.
    metric : {"full", "diagonal"}, default="full"
        A metric with or without off-diagonal entries. "diagonal" only rescales the columns.
    per_cluster : bool, default=False
        Whether each cluster has a metric of its own, or all share one.
    regularization : float, default=0.01
        The smallest eigenvalue allowed in a scatter matrix, relative to their mean, columns at unit scale.
    batch_size, half_life, must_weight, cannot_weight, init, n_init, max_iter, tol, max_no_improvement, \
reassignment_ratio, random_state, n_jobs
        As for :class:`MiniBatchPCKMeans`; the weights of links are relative to the objective of
        :class:`MPCKMeans`.

    Attributes
    ----------
    metrics_ : ndarray
        The learned metric: (d,) or (d, d) if shared, (k, d) or (k, d, d) if each cluster has its own.
    labels_, cluster_centers_, violations_, objective_, n_steps_, n_rows_seen_, n_iter_
        As for :class:`MiniBatchPCKMeans`.

    Notes
    -----
    A batch of b rows costs what an iteration of :class:`MPCKMeans` on b rows does, and O(d^3) for a full
    metric, k times that with one for each cluster.

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
        **FromBatches.parameter_rules,
        "init": PCKMeans.parameter_rules["init"],  # not "auto": batches are never fitted without their links
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

    def _keep_running(self, state: Running) -> None:
        super()._keep_running(state)
        self._keep_metric(state.metric)
