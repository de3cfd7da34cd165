"""Labels as hints: Seeded-KMeans and Constrained-KMeans."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from likewise._seeding import HintedSubset, extend_seeds
from likewise.backends import Rows
from likewise.kmeans._base import AssignmentProblem, KMeansFamily
from likewise.kmeans._loop import ClusterStats, KMeansFit


class SeededKMeans(KMeansFamily):
    """K-means that starts from the means of the labelled rows.

    Minimises :math:`\\sum_i \\|x_i - \\mu_{l_i}\\|^2` from the start where :math:`\\mu_c` is the mean of the
    rows labelled c (Basu, Banerjee & Mooney 2002). The labels only choose the start: a labelled row may
    leave its class. Cluster c is class c of :attr:`classes_`; with more clusters than classes the other
    centres are k-means++ draws.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters; at least the number of classes.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. "hints" uses the means of the labelled rows. An array gives the only start.
    n_init : int, default=5
        Number of starts, of which the one with the lowest objective is kept. With ``init="hints"`` they
        differ only in the clusters beyond the classes; if there are none, one start is made.
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
        The mean of each cluster, weighted by `sample_weight`.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.
    classes_ : tuple
        The classes of the first clusters, in order.

    Examples
    --------
    >>> from likewise import SeededKMeans, Supervision
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels([None, "low", "high", None])
    >>> model = SeededKMeans(n_clusters=2).fit(X, supervision=hints)
    >>> [model.classes_[label] for label in model.labels_]
    ['low', 'low', 'high', 'high']
    """

    classes_: tuple[Hashable, ...]

    supported_hints: ClassVar[frozenset[str]] = frozenset({"labels"})
    _n_hinted_starts: ClassVar[int | None] = None

    def _draw_seeds(self, hinted: HintedSubset, draws: Rows, rng: Any) -> np.ndarray:
        hints = hinted.hints
        stats = ClusterStats.from_labels(hinted.X, hints.label_codes, hinted.weight, len(hints.classes))
        if not (stats.counts > 0).all():
            empty = hints.classes[int(np.argmin(stats.counts))]
            raise ValueError(
                f"every row labelled {empty!r} has a sample_weight of 0, so the class mean is undefined."
            )
        return extend_seeds(draws, stats.sums / stats.counts[:, None], self.n_clusters, None, rng)

    def _find_cluster_order(self, fit: KMeansFit, hinted: HintedSubset) -> np.ndarray:
        """Return the order of clusters that puts the most labelled rows of class c in cluster c.

        The order is unchanged if the start was the class means and no cluster has drifted to another class.
        """
        shared = np.zeros((self.n_clusters, self.n_clusters))
        np.add.at(shared, (hinted.hints.label_codes, fit.hinted_labels), 1.0)
        shared += 1e-6 * np.eye(self.n_clusters)  # ties: clusters keep their numbers
        order: np.ndarray = linear_sum_assignment(shared, maximize=True)[1]
        return order

    def _keep(self, fit: KMeansFit, labels: Any, mean: np.ndarray, hinted: HintedSubset) -> None:
        super()._keep(fit, labels, mean, hinted)
        self.classes_ = hinted.hints.classes


class ConstrainedKMeans(SeededKMeans):
    """K-means whose labelled rows start the clusters and never leave them.

    Minimises :math:`\\sum_i \\|x_i - \\mu_{l_i}\\|^2` subject to :math:`l_i = c` for every row labelled c
    (Basu, Banerjee & Mooney 2002). With an `init` other than "hints", cluster c still stands for class c.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters; at least the number of classes.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. "hints" uses the means of the labelled rows. An array gives the only start.
    n_init : int, default=5
        Number of starts, of which the one with the lowest objective is kept. With ``init="hints"`` they
        differ only in the clusters beyond the classes; if there are none, one start is made.
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
        The mean of each cluster, weighted by `sample_weight`.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.
    classes_ : tuple
        The classes of the first clusters, in order.

    Examples
    --------
    >>> from likewise import ConstrainedKMeans, Supervision
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels(["a", None, "a", "b"])
    >>> ConstrainedKMeans(n_clusters=2).fit(X, supervision=hints).labels_.tolist()
    [0, 0, 0, 1]
    """

    def assign_hinted_rows(self, problem: AssignmentProblem) -> np.ndarray:
        """Assign each labelled row to the cluster of its class.

        Parameters
        ----------
        problem : AssignmentProblem
            The labelled rows.

        Returns
        -------
        labels : ndarray of int, shape (n_hinted,)
            The cluster of each labelled row.
        """
        return problem.hints.label_codes
