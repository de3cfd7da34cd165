"""Propagation clustering: classes of linked rows, passed along a graph of neighbours."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.base import HintedClusterer, Rule, choice, integer, real
from likewise.evaluation import Satisfaction, link_satisfaction
from likewise.spectral._affinity import Graph, Recipe, build_graph, similarities
from likewise.spectral._classes import Passed, Ready, pass_classes
from likewise.spectral._smoothing import Smoother
from likewise.supervision import Supervision

# The first clusters are smoothed a little: with shorter walks than answers take, since long ones let large
# clusters swallow small ones (on protein the ARI of the first clusters falls from .26 to .13 with 0.03).
_FIRST_RESTART = 0.1
_LEAST_NEIGHBORS = 2


class PropagationClustering(HintedClusterer):
    r"""Clusters that begin as those of k-means and follow the links along a graph of near rows.

    With W the similarities of near rows, D their sums, and :math:`P` the shares that each row would have by
    the first clusters and what links say of these, the shares F of the classes are the smallest

    .. math:: (1-\gamma) \sum_{ij} w_{ij} \lVert F_i - F_j\rVert^2 / 2
              + \gamma \sum_i d_i \lVert F_i - P_i \rVert^2

    among those that give each row with a known class that class (Zhu, Ghahramani & Lafferty 2003 without the
    second term). At first every cluster of k-means is a class. A must-link between two of them makes them
    one; rows told apart from every class that they could be of open a new one, and then the classes that
    overlap most and are not known to be apart share a cluster, until there are K. A row told apart from some
    classes keeps the others.

    One answer thus changes the rows around it and leaves the rest as it was, and with many answers the
    clusters follow them wherever they lead: no shape is asked of a cluster. It is what an
    :class:`~likewise.active.Interview` uses by default. It is made for answers to chosen questions, which
    place rows in groups that are all apart; of links between rows drawn at random, which place few, methods
    that learn a metric make more.

    Links are taken as certain: their weights play no part. Where they contradict one another the must-links
    win, with a warning. Where they need more than K clusters some are broken, as `violations_` tells. The
    graph and the first clusters are the costly part; then each row with a class costs one solution by
    conjugate gradients, some twenty products with the graph.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    fixed_number : bool, default=True
        Whether there are exactly K clusters. If not, K is where it begins, links may open more, and classes
        share a cluster only where must-links say so.
    n_neighbors : int, default=10
        How many neighbours of each row the graph has; fewer if there are less than twice as many rows a
        cluster.
    restart : float, default=0.03
        :math:`\gamma`, how strongly a row is drawn to the first clusters rather than to its neighbours.
    neighbor_search : {"cells", "exact", "approximate"}, default="cells"
        How neighbours are found; "cells" is exact for up to 40,000 rows and goes cell by cell beyond,
        "approximate" uses pynndescent.
    n_init : int, default=5
        How many times k-means begins anew.
    random_state : int, RandomState or None, default=None
        For k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    shares_ : ndarray of shape (n_samples, n_clusters)
        How likely each row is of each cluster.
    passed_ : object
        The classes behind the clusters; strategies of :mod:`likewise.active` look at it.
    violations_ : likewise.evaluation.Satisfaction
        Which links the labels break.
    n_iter_ : int
        How many times classes were passed along the graph: once, and again for every class that was opened.
    n_features_in_ : int
        The number of columns of X.

    References
    ----------
    X. Zhu, Z. Ghahramani and J. Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic
    functions, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.spectral import PropagationClustering
    >>> X = np.r_[np.linspace(0, 4, 40), np.linspace(5, 9, 40)][:, None]
    >>> hints = Supervision.from_links(80, must=[(0, 30)], cannot=[(30, 50)])
    >>> model = PropagationClustering(2, random_state=0).fit(X, supervision=hints)
    >>> bool((model.labels_[:40] != model.labels_[79]).all()), model.violations_.share
    (True, 1.0)
    >>> model.predict([[1.0], [8.0]]).tolist() == model.labels_[[10, 70]].tolist()
    True
    """

    labels_: np.ndarray
    passed_: Passed
    _begin: np.ndarray | None = None
    _centers: np.ndarray
    _graph: Graph
    _ready: Ready
    _rows: np.ndarray
    _hints: Supervision

    _honours: ClassVar[frozenset[str]] = frozenset({"links"})
    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": integer(1),
        "fixed_number": choice(True, False),
        "n_neighbors": integer(1),
        "restart": Rule("a number above 0 and below 1", lambda v: real(0, strict=True).holds(v) and v < 1),
        "neighbor_search": choice("cells", "exact", "approximate"),
        "n_init": integer(1),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fixed_number: bool = True,
        n_neighbors: int = 10,
        restart: float = 0.03,
        neighbor_search: str = "cells",
        n_init: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fixed_number = fixed_number
        self.n_neighbors = n_neighbors
        self.restart = restart
        self.neighbor_search = neighbor_search
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, supervision: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Ignored.
        supervision : Supervision, optional
            Links. None, or none at all, gives the first clusters smoothed along the graph.
        """
        taken = getattr(self, "_taken", None)
        if taken is not None and taken[1] is X:  # rows that were checked before
            self._check_parameters()
            self.n_features_in_ = X.shape[1]
            hints = self._check_supervision(supervision, len(X), y)
            self._check_n_clusters(self.n_clusters, len(X), hints)
        else:
            X, hints = self._check_fit(X, y, supervision)
        closure = self._soft_closure(hints, "Here the must-links win.")
        same = taken is not None and (taken[1] is X or np.array_equal(taken[1], X))
        if taken is not None and same and taken[0] == self._recipe_key():
            self._graph, self._ready, self._centers = taken[2:]
        else:
            self._graph, self._ready, self._centers = self._prepared(X)
        self._rows = X
        n_first = len(self._ready.medoids)
        self._warn_few_clusters(np.arange(n_first), self.n_clusters, "Too many rows are alike.")
        self.passed_ = pass_classes(self._ready, closure, self.n_clusters if self.fixed_number else None)
        self.n_iter_ = self.passed_.n_passes
        self.shares_ = self.passed_.cluster_shares
        self.labels_ = self.shares_.argmax(axis=1)
        self._hints = hints
        return self

    @property
    def violations_(self) -> Satisfaction:
        """Which links the labels break; counted when it is looked at, which an interview never does."""
        check_is_fitted(self, "passed_")
        return link_satisfaction(self.labels_, self._hints)

    def take_over(self, other: PropagationClustering) -> Self:
        """Use again what another model found of the same rows before it looked at links.

        Without effect if the rows or the parameters differ. The result of `fit` is the same, and sooner
        there.
        """
        if hasattr(other, "passed_"):
            self._taken = (other._recipe_key(), other._rows, other._graph, other._ready, other._centers)
        return self

    def begin_like(self, other: PropagationClustering) -> Self:
        """Let k-means begin where that of another model ended, so that clusters of similar rows stay.

        Without effect if there are other columns or another number of clusters. Of rows that have several
        ways to be clustered k-means would find now one, now another, when a few rows are exchanged.
        """
        if hasattr(other, "passed_"):
            self._begin = other._centers
        return self

    def _recipe_key(self) -> tuple[Any, ...]:
        begin = None if self._begin is None else self._begin.tobytes()
        seed = self.random_state
        same = seed if isinstance(seed, int | np.integer) else object()  # of no other seed is it known
        return (
            self.n_clusters,
            self.n_neighbors,
            self.restart,
            self.neighbor_search,
            self.n_init,
            same,
            begin,
        )

    def _recipe(self, n_samples: int) -> Recipe:
        # Of few rows a row's neighbours would soon be those of other clusters.
        few = min(self.n_neighbors, max(_LEAST_NEIGHBORS, n_samples // (2 * self.n_clusters)))
        return Recipe("local", few, search=self.neighbor_search)  # type: ignore[arg-type]

    def _prepared(self, X: np.ndarray) -> tuple[Graph, Ready, np.ndarray]:
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of alike rows: told about at the end
            start: dict[str, Any] = {"n_init": self.n_init}
            if self._begin is not None and self._begin.shape == (self.n_clusters, X.shape[1]):
                start = {"init": self._begin, "n_init": 1}
            found = KMeans(self.n_clusters, random_state=seeds[0], **start).fit(X)
        first = found.labels_
        first = np.unique(first, return_inverse=True)[1]
        if len(X) == 1:
            graph = Graph.of(np.zeros((1, 1)))
        else:
            graph = build_graph(X, self._recipe(len(X)), random_state=int(seeds[1]))
        shares = Smoother(graph, _FIRST_RESTART).smooth(np.eye(int(first.max()) + 1)[first])
        return graph, Ready.of(X, Smoother(graph, self.restart), first, shares), found.cluster_centers_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return how likely each row is of each cluster, by the rows of `fit` that are near to it."""
        check_is_fitted(self, "passed_")
        X = self._check_X(X, reset=False)
        if len(self._rows) == 1:
            return np.ones((len(X), 1))
        alike = similarities(X, self._rows, self._graph, self._recipe(len(self._rows)))
        total = np.asarray(alike.sum(axis=1)).reshape(-1, 1)
        even = np.tile(self.shares_.mean(axis=0), (len(X), 1))
        return np.divide(np.asarray(alike @ self.shares_), total, out=even, where=total > 0)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest cluster of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))
