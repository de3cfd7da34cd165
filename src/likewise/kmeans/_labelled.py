"""Labels as hints: Seeded k-means and Constrained k-means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from likewise._rows import Rows
from likewise.kmeans._base import KMeansFamily
from likewise.kmeans._links import Placed
from likewise.kmeans._loop import Fit
from likewise.kmeans._metric import Metric
from likewise.kmeans._stats import ClusterStats
from likewise.seeding import extend_seeds
from likewise.supervision import Closure, Supervision


class PinnedRows:
    """Rows whose cluster is given."""

    def __init__(self, X: Rows, weight: np.ndarray, hints: Supervision) -> None:
        self.rows = np.flatnonzero(hints.label_codes >= 0)
        self.X = np.asarray(X.take(self.rows), dtype=np.float64)
        self.weight = weight[self.rows]
        self._labels = hints.label_codes[self.rows]

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> Placed:
        """Return the given clusters, and what they cost."""
        costs = metric.costs(self.X, centers)
        energy = float(self.weight @ costs[np.arange(len(self.rows)), self._labels])
        return Placed(self._labels, energy, costs.argmin(axis=1))

    def units(self) -> np.ndarray:
        """Return -1 for each row: these never move."""
        return np.full(len(self.rows), -1)


class SeededKMeans(KMeansFamily):
    """K-means that starts from the means of the labelled rows.

    Minimises :math:`\\sum_i \\|x_i - \\mu_{l_i}\\|^2` from the start where :math:`\\mu_c` is the mean of the
    rows labelled c (Basu, Banerjee & Mooney 2002). The labels choose the start and nothing more: a labelled
    row may leave its class. Cluster c is class c of :attr:`classes_`; with more clusters than classes the
    other centres are drawn as k-means++ draws them.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters to find; at least as many as there are classes.
    init : {"hints", "k-means++"} or array, default="hints"
        Where the centres start.
    n_init : int, default=5
        How many starts, the lowest objective being kept. All of them begin at the labelled rows and differ
        only in the clusters beyond the classes; where there are none, one start is made.
    max_iter, tol, random_state, n_jobs
        As in :class:`PCKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, objective_, n_iter_
        As in :class:`PCKMeans`.
    classes_ : tuple
        The class that each of the first clusters stands for.

    Examples
    --------
    >>> from likewise import SeededKMeans, Supervision
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels([None, "low", "high", None])
    >>> model = SeededKMeans(n_clusters=2).fit(X, supervision=hints)
    >>> [model.classes_[label] for label in model.labels_]
    ['low', 'low', 'high', 'high']
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"labels"})

    def _seeds(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> np.ndarray:
        codes = hints.label_codes
        rows = np.flatnonzero(codes >= 0)
        stats = ClusterStats.of(X.take(rows), codes[rows], weight[rows], len(hints.classes))
        if not (stats.counts > 0).all():
            empty = hints.classes[int(np.argmin(stats.counts))]
            raise ValueError(f"every row labelled {empty!r} has a sample_weight of 0, so it has no mean.")
        return extend_seeds(X, stats.sums / stats.counts[:, None], self.n_clusters, weight, rng)

    def _n_starts(self, hints: Supervision) -> int:
        return 1 if self.init == "hints" and len(hints.classes) == self.n_clusters else self.n_init

    def _n_hinted_starts(self, hints: Supervision) -> int:
        return self.n_init

    def _keep(self, fit: Fit, labels: np.ndarray, middle: np.ndarray, hints: Supervision) -> None:
        fit, labels = _in_class_order(fit, labels, hints)
        super()._keep(fit, labels, middle, hints)
        self.classes_ = hints.classes


def _in_class_order(fit: Fit, labels: np.ndarray, hints: Supervision) -> tuple[Fit, np.ndarray]:
    """Renumber the clusters so that as many labelled rows of class c as can be are in cluster c.

    Nothing changes where the start was the classes' means and no class was left for another.
    """
    k, codes = len(fit.centers), hints.label_codes
    shared = np.zeros((k, k))
    np.add.at(shared, (codes[codes >= 0], labels[codes >= 0]), 1.0)
    shared += 1e-6 * np.eye(k)  # where the labels do not tell, clusters keep their numbers
    order = linear_sum_assignment(shared, maximize=True)[1]
    number = np.empty(k, dtype=labels.dtype)
    number[order] = np.arange(k)
    return replace(fit, centers=fit.centers[order]), number[labels]


class ConstrainedKMeans(SeededKMeans):
    """K-means whose labelled rows start the clusters and never leave them.

    Minimises :math:`\\sum_i \\|x_i - \\mu_{l_i}\\|^2` subject to :math:`l_i = c` for every row labelled c
    (Basu, Banerjee & Mooney 2002). Parameters and attributes are those of :class:`SeededKMeans`. With
    another `init` than "hints" cluster c still stands for class c.

    Examples
    --------
    >>> from likewise import ConstrainedKMeans, Supervision
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels(["a", None, "a", "b"])
    >>> ConstrainedKMeans(n_clusters=2).fit(X, supervision=hints).labels_.tolist()
    [0, 0, 0, 1]
    """

    def _hinted_rows(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> PinnedRows | None:
        return PinnedRows(X, weight, hints) if "labels" in hints.kinds else None
