"""The two ablations of MPCK-Means, whose equations are in ``_mpck.py``.

PCK-Means has no metric: A_h is the identity, and a violated link costs the same at any distance,

    (1)  J = sum_i ||x_i - mu_{l_i}||^2 + s sum over violated links of w_ij

with s the mean squared distance between two rows. MK-Means assigns every row to its nearest centre, and links
enter only the metric update (6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from likewise._seeding import HintedSubset
from likewise.backends import Rows
from likewise.kmeans._loop import Metric
from likewise.kmeans._mpck import MPCKMeans, Penalty, SoftLinks

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


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
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    must_weight, cannot_weight : float, default=1.0
        Cost of a violated must-link or cannot-link, in units of the mean squared distance between two rows.
        Multiplied by the weight of each link in the hints.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. If
        n_features * n_clusters is at least 4,096, centroids that cover few other rows are exchanged for
        drawn rows. An array gives the only start.
    n_init : int, default=5
        Number of starts. After a few iterations, the start whose nearest-centre clusters break the fewest
        links is finished, and among equals the one with the lowest objective; without links all are
        finished.
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
        metric: str = "euclidean",
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
            metric=metric,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.must_weight = must_weight
        self.cannot_weight = cannot_weight

    def _make_penalty(self, compute_scale: Callable[[], float]) -> Penalty:
        must, cannot = self.must_weight * self._weight_unit, self.cannot_weight * self._weight_unit
        scale = compute_scale()
        return Penalty(must, cannot, alpha=scale, beta=0.0, reach=scale)


class MKMeans(MPCKMeans):
    """K-means that learns a metric: links affect only the metric.

    The ablation of :class:`MPCKMeans` (Bilenko, Basu & Mooney 2004) whose start and assignment ignore the
    links: every row goes to its nearest centre, and violated links enter the scatter matrix whose inverse is
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
        Cost of a violated must-link or cannot-link, relative to the objective. Multiplied by the weight
        of each link in the hints.
    regularization : float, default=0.01
        Lower bound on the eigenvalues of a scatter matrix, relative to their mean, with columns scaled to
        unit variance.
    n_components : int, "auto" or None, default="auto"
        Cluster the rows, and learn a full metric, in this many principal directions of the rows. None uses
        all columns. "auto" uses 64 directions if X has more than 128 columns and the metric is full, else all
        columns; see :class:`MPCKMeans`.
    init : {"auto", "hints", "k-means++"} or array of shape (n_clusters, n_features), default="auto"
        Starting centres. All named options draw the starts by k-means++. An array gives the only start.
    n_init : int, default=5
        Number of starts, of which the one with the lowest objective is kept.
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
        used.
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

    _hints_assign: ClassVar[bool] = False
    _n_hinted_starts: ClassVar[int | None] = 0

    def _suggest_metric(self, X: Rows, hinted: HintedSubset) -> Metric | None:
        return super()._suggest_metric(X, HintedSubset.from_data(X))
