"""Propagation clustering: classes of linked rows are propagated along a graph of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from likewise._compat import check_random_state, with_callbacks
from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
from likewise.backends import get_n_threads
from likewise.backends.neighbor_index import CandidateIndex, NeighborIndex
from likewise.backends.neighbors import estimate_search_seconds
from likewise.base import FitProgress, HintedClusterer, Rule, warn_if_long
from likewise.evaluation import Satisfaction, link_satisfaction
from likewise.spectral._affinity import (
    MARGIN,
    Graph,
    Recipe,
    average_over_neighbors,
    build_graph,
    compute_similarities,
    vote_by_candidates,
)
from likewise.spectral._base import fit_kmeans, warn_equal_rows, warn_low_recall
from likewise.spectral._classes import PreparedRows, PropagatedClasses, Smoother, propagate_classes
from likewise.spectral._gaussian_metric import HintedMixtureRows, LearnedMetric, MixtureSpace, learn_metric
from likewise.spectral._link_evidence import (
    Beliefs,
    ErrorRate,
    LinkVotes,
    compute_cluster_evidence,
    judge_medoid_link,
    make_graph_shares,
    stack_shares,
    weigh_links,
)
from likewise.supervision import Supervision
from likewise.supervision.cliques import derive_implied_links

# The initial clusters are smoothed less than the links, since strong smoothing lets large clusters absorb
# small ones (with 0.03 the ARI of the initial clusters falls from .26 to .13 on protein).
_FIRST_RESTART = 0.1
_LEAST_NEIGHBORS = 2
# Seconds of a fit with 200 links per row, and per row and cluster, without the search for neighbours.
_SECONDS_PER_ROW = (1.2e-5, 1.3e-6)
# The metric is learned from the links as if they were certain. With at least this many links and an estimated
# error rate of at least this, it is also learned from uncertain links; this second metric is kept unless its
# log-evidence is lower by more than the margin.
_MIN_UNCERTAIN_LINKS = 28
_MIN_UNCERTAIN_RATE = 0.04
_EVIDENCE_MARGIN = 2.0
_MOST_DOUBTFUL = 0.3  # share of rows with two likely clusters, above which new rows are compared with all


@dataclass(frozen=True, eq=False)
class _ClusterCandidates:
    """The rows of `fit` that new rows are compared with first, found when they are first needed."""

    ready: PreparedRows
    shares: np.ndarray  # (n_samples, n_clusters) the probabilities of the clusters

    @cached_property
    def index(self) -> CandidateIndex | None:
        """The candidates, ordered by their clusters; None if too many labels would be in doubt.

        The number of these is estimated from the neighbours of the rows of `fit`.
        """
        n_clusters = self.shares.shape[1]
        if n_clusters == 1 or not self.ready.candidates.n_candidates:
            return None
        around = np.asarray(self.ready.graph.weights @ self.shares)
        second, first = np.partition(around, -2, axis=1)[:, -2:].T
        if np.mean(first - second < MARGIN * around.sum(axis=1)) > _MOST_DOUBTFUL:
            return None
        return self.ready.candidates.order_by(self.shares.argmax(axis=1), n_clusters)


class PropagationClustering(HintedClusterer):
    r"""Clustering that starts from k-means and propagates links along a graph of near rows.

    A *class* here is a must-link component or an initial cluster; classes are merged into K clusters. With W
    the similarities of near rows, d their row sums, and :math:`P_i` the class shares that row i gets from the
    initial clusters (merged where links require it), the shares F of the classes minimise

    .. math:: (1-\gamma) \sum_{ij} w_{ij} \lVert F_i - F_j\rVert^2 / 2
              + \gamma \sum_i d_i \lVert F_i - P_i \rVert^2 \qquad (1)

    among those that give each row with a known class that class (Zhu, Ghahramani & Lafferty 2003 without the
    second term). Initially every cluster of k-means is a class. A must-link between two classes merges them.
    Rows that are cannot-linked to every class they could belong to form a new class; then the classes that
    overlap most and are not known to be different are merged into a cluster, until there are K. A row that is
    cannot-linked to some classes can still belong to the others. Linked rows whose class does not follow
    from the links get the most probable class. If the class of most linked rows is such a guess, as with few
    links between random rows, it affects neighbouring rows but not :math:`P` (only if `error_rate` is 0).

    A link thus changes the rows around it and leaves the rest unchanged, and with many links clusters can
    take any shape. This is the default model of :class:`~likewise.active.Interview`. It is designed for
    answers to selected questions, which put rows into groups that are known to be different. Random links
    fix the cluster of only a few rows; methods that learn a metric make better use of them.

    By default links are treated as certain, and their weights are ignored. If links contradict one another,
    the must-links win, with a warning. If they require more than K clusters, some are violated; see
    `violations_`. Building the graph and the initial clusters is the expensive part; each row with a known
    class then requires one conjugate-gradient solve, about twenty products with the graph.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    fixed_n_clusters : bool, default=True
        Whether there are exactly K clusters. If False, K is the initial number, links may add clusters, and
        classes are merged only by must-links.
    n_neighbors : int, default=10
        Number of neighbours of each row in the graph; fewer if the average cluster has fewer than
        ``2 * n_neighbors`` rows.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`, so that
        only its direction counts, as is usual for texts and embeddings. A row of zeros has no direction and
        stays at the origin, at distance 1 from all others.
    restart : float, default=0.03
        :math:`\gamma`, the weight of the initial clusters relative to the neighbours of a row; above 0 and
        below 1.
    neighbor_search : {"cells", "exact", "approximate"}, default="cells"
        How neighbours are found. "approximate" compares each row with the rows of its nearest cells of
        k-means; "cells" does so for more than 40,000 rows of 8 or more columns and is exact otherwise. If it
        finds fewer than 0.8 of the neighbours of a sample of rows, there is a warning.
    n_init : int, default=5
        Number of starts of k-means.
    error_rate : float or "learn", default=0.0
        The probability that a link is wrong, below 0.5. With 0 links are certain. With "learn" the rate is
        estimated from how well the rows and the other links predict each link. If links may be wrong, their
        weights count as evidence: a link of weight 2 counts as two independent links.
    learn_metric : bool, default=False
        Whether to combine the graph with Gaussian mixtures fitted to the hinted rows, weighted by how well
        they predict held-out rows. This helps if classes differ in directions of small variance. It has no
        effect unless `fixed_n_clusters` is True.
    random_state : int, RandomState or None, default=None
        Seed of k-means and the mixtures. Pass an int for the same result on every call.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    cluster_proba_ : ndarray of shape (n_samples, n_clusters)
        The probability of each cluster for each row.
    propagation_ : object
        The classes that make up the clusters, used by the strategies of :mod:`likewise.active`.
    error_rate_ : ErrorRate or None
        The estimated fraction of wrong links, ``mean`` with a 90 % interval from ``low`` to ``high``; None if
        links are certain.
    link_proba_ : ndarray of shape (n_links,) or None
        The probability that each link is right: must-links, then cannot-links, in the order of the
        supervision. None if links are certain.
    accepted_links_ : Supervision
        The links from which the classes were derived.
    metric_ : LearnedMetric or None
        The mixtures and their weights, if any were learned.
    violations_ : likewise.evaluation.Satisfaction
        The links that the labels satisfy and violate.
    neighbor_recall_ : float
        The share of the true neighbours of a sample of rows that the search found; 1 if it is exact.
    n_iter_ : int
        Number of propagations along the graph: one, and one more for each new class.
    n_features_in_ : int
        The number of columns of X.

    References
    ----------
    X. Zhu, Z. Ghahramani and J. Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic
    functions, ICML.

    M. Keuper et al. (2015), Efficient decomposition of image and mesh graphs by lifted multicuts, ICCV
    (greedy additive edge contraction, used for links that contradict one another).

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

    n_features_in_: int
    n_iter_: int
    neighbor_recall_: float
    cluster_proba_: np.ndarray

    labels_: np.ndarray
    propagation_: PropagatedClasses
    accepted_links_: Supervision
    error_rate_: ErrorRate | None
    link_proba_: np.ndarray | None
    metric_: LearnedMetric | None
    _initial_centers: np.ndarray | None = None
    _reused: PreparedRows | None = None
    _metric_source: tuple[MixtureSpace | None, LearnedMetric | None] = None, None
    _ready: PreparedRows
    _candidates: _ClusterCandidates
    _hints: Supervision

    _sparse_rows = "sparse"
    _may_scale_rows = True
    _splits_new_rows = True
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "fixed_n_clusters": Rule.choice(True, False),
        "n_neighbors": Rule.integer(1),
        "metric": Rule.choice("euclidean", "cosine"),
        "restart": Rule(
            "a number above 0 and below 1", lambda v: Rule.real(0, strict=True).holds(v) and v < 1
        ),
        "neighbor_search": Rule.choice("cells", "exact", "approximate"),
        "n_init": Rule.integer(1),
        "error_rate": Rule(
            "'learn' or a number from 0 to below 0.5 (with 0.5 or more, links carry no usable information)",
            lambda v: v == "learn" or (Rule.real(0).holds(v) and v < 0.5),
        ),
        "learn_metric": Rule.choice(True, False),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fixed_n_clusters: bool = True,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        restart: float = 0.03,
        neighbor_search: str = "cells",
        n_init: int = 5,
        error_rate: float | Literal["learn"] = 0.0,
        learn_metric: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fixed_n_clusters = fixed_n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.restart = restart
        self.neighbor_search = neighbor_search
        self.n_init = n_init
        self.error_rate = error_rate
        self.learn_metric = learn_metric
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Cluster the rows of X, guided by the links.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows. Sparse rows give the same clusters as dense ones; they need ``learn_metric=False``.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The links. Without links the result is the initial clusters, smoothed along the graph.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        reused = self._reused
        if reused is not None and reused.X is X and self.metric == "euclidean":  # already validated
            self._has_unit_rows = False
            self._check_parameters()
            self.n_features_in_ = X.shape[1]
            hints = self._check_supervision(supervision, X.shape[0], y, given=X)
            self._check_n_clusters(self.n_clusters, X.shape[0], hints)
        else:
            X, hints = self._check_fit(X, y, supervision)
            warn_equal_rows(self, X)
        progress = FitProgress(self, X, 1)
        progress.begin(2)  # the graph, and the links
        key = self._make_recipe_key()
        if reused is None or reused.key != key or not reused.has_rows(X):
            reused = self._prepare(X, key)
        self._ready = reused
        progress.step()
        first = np.arange(len(self._ready.medoids))
        self._warn_few_clusters(first, self.n_clusters, "Too many rows are equal.")
        self.metric_ = None
        certain = isinstance(self.error_rate, int | float) and self.error_rate == 0
        propagated = self._propagate_certain(hints) if certain else self._propagate_uncertain(hints)
        self.propagation_ = propagated
        self.n_iter_ = propagated.n_passes
        self.neighbor_recall_ = self._ready.graph.recall
        self.cluster_proba_ = propagated.cluster_shares
        self.labels_ = self.cluster_proba_.argmax(axis=1)
        self._candidates = _ClusterCandidates(self._ready, self.cluster_proba_)
        self._hints = hints
        progress.step()
        progress.end()
        progress.finish()
        return self

    def _propagate_certain(self, hints: Supervision) -> PropagatedClasses:
        """Propagate links as certain; if they contradict one another, the must-links win."""
        closure = self._compute_soft_closure(hints, "Here the must-links win.")
        propagated = propagate_classes(self._ready, closure, self._n_wanted, count_guesses=False)
        self.accepted_links_, self.error_rate_, self.link_proba_ = hints, None, None
        self.metric_ = self._find_metric(propagated)
        return propagated if self.metric_ is None else stack_shares(propagated, self.metric_)

    def _propagate_uncertain(self, hints: Supervision) -> PropagatedClasses:
        """Propagate links as evidence; votes resolve contradictions."""
        votes = LinkVotes.from_links(hints.links)
        rate = None if self.error_rate == "learn" else float(self.error_rate)
        believed = votes.find_agreeing(votes.join())
        medoid_link = None
        if self._n_wanted == 2 == len(self._ready.medoids):
            medoid_link = judge_medoid_link(self._ready, votes, rate)
        if medoid_link is not None:
            direct = (votes.pairs == medoid_link.medoids).all(axis=1)
            believed &= ~direct | ((votes.signs > 0) == (medoid_link.log_odds > 0))
        self.accepted_links_ = votes.get_believed_links(believed, hints.n_samples)
        closure = self.accepted_links_.closure(on_conflict="drop")
        implied = derive_implied_links(closure, self._n_wanted)
        if implied:
            closure = (self.accepted_links_ | implied).closure(on_conflict="drop")
        propagated = propagate_classes(self._ready, closure, self._n_wanted)
        self.metric_ = self._find_metric(propagated)
        self.error_rate_, self.link_proba_ = None, np.empty(0)
        if not len(votes):
            return propagated if self.metric_ is None else stack_shares(propagated, self.metric_)

        def weigh(metric: LearnedMetric | None) -> tuple[PropagatedClasses, Beliefs]:
            found = weigh_links(
                self._ready, propagated, votes, believed, self._n_wanted, rate, metric, medoid_link
            )
            assert found.evidence is not None
            return found, found.evidence.beliefs

        found, beliefs = weigh(self.metric_)
        learned = self.metric_ is not None and not self._reuses_metric
        if learned and len(votes) >= _MIN_UNCERTAIN_LINKS and beliefs.rate.mean >= _MIN_UNCERTAIN_RATE:
            # weigh(None) uses only graph and links, so the first metric cannot confirm itself.
            uncertain_metric = self._learn_metric(
                propagated, compute_cluster_evidence(propagated, weigh(None)[1])
            )
            refitted, refitted_beliefs = weigh(uncertain_metric)
            if refitted_beliefs.log_evidence + _EVIDENCE_MARGIN >= beliefs.log_evidence:
                self.metric_, found, beliefs = uncertain_metric, refitted, refitted_beliefs
        self.error_rate_, self.link_proba_ = beliefs.rate, beliefs.right
        return found

    @property
    def _n_wanted(self) -> int | None:
        """The number of clusters if it is fixed."""
        return self.n_clusters if self.fixed_n_clusters else None

    def _find_metric(self, propagated: PropagatedClasses) -> LearnedMetric | None:
        """Return mixtures fitted to the rows with known clusters, or those reused from another model."""
        n_found = int(propagated.cluster_of_class.max()) + 1
        if not self.learn_metric or self._n_wanted is None or n_found != self.n_clusters or n_found < 2:
            return None
        if self._reuses_metric:
            return self._metric_source[1]
        rows = np.flatnonzero(propagated.class_of >= 0)
        clusters = propagated.cluster_of_class[propagated.class_of[rows]]
        return self._learn_metric(propagated, HintedMixtureRows.from_clusters(rows, clusters, n_found))

    @property
    def _reuses_metric(self) -> bool:
        """Whether the metric, which may be None, is reused from another model of the same rows."""
        return self._metric_source[0] is not None and self._metric_source[0] is self._ready.space

    def _learn_metric(self, propagated: PropagatedClasses, hinted: HintedMixtureRows) -> LearnedMetric | None:
        """Learn a metric from hinted rows; return None if there are too few."""
        assert self._ready.space is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # about equal rows
            return learn_metric(self._ready.space, make_graph_shares(self._ready, propagated), hinted)

    @property
    def violations_(self) -> Satisfaction:
        """The links that the labels satisfy and violate, computed on access."""
        check_is_fitted(self, "propagation_")
        return link_satisfaction(self.labels_, self._hints)

    def reuse_graph(self, other: PropagationClustering) -> Self:
        """Reuse the graph and the initial clusters of another model of the same rows.

        This makes `fit` faster and does not change its result. It has no effect if the rows or the parameters
        differ.

        Parameters
        ----------
        other : PropagationClustering
            A fitted model.

        Returns
        -------
        self : object
            This model.
        """
        if hasattr(other, "propagation_"):
            self._reused = other._ready
        return self

    def reuse_metric(self, other: PropagationClustering) -> Self:
        """Use the metric of another model instead of learning one from the links.

        Learning a metric is the slowest part of a fit; use this for repeated fits with a few more links each
        time. If the other model has no metric, none is used. It has no effect if the other model was fitted
        to other rows.

        Parameters
        ----------
        other : PropagationClustering
            A fitted model.

        Returns
        -------
        self : object
            This model.
        """
        if hasattr(other, "propagation_"):
            self._metric_source = other._ready.space, other.metric_
        return self

    def start_from(self, other: PropagationClustering) -> Self:
        """Start k-means from the centres of another model, so that similar data give similar clusters.

        Otherwise k-means may find different clusters after small changes of the rows. It has no effect if the
        number of columns or clusters differs.

        Parameters
        ----------
        other : PropagationClustering
            A fitted model.

        Returns
        -------
        self : object
            This model.
        """
        if hasattr(other, "propagation_"):
            self._initial_centers = other._ready.centers
        return self

    def _make_recipe_key(self) -> tuple[Any, ...]:
        """Return the parameters on which the prepared rows depend."""
        names = "n_clusters", "n_neighbors", "metric", "restart", "neighbor_search", "n_init", "learn_metric"
        seed = self.random_state
        same = seed if isinstance(seed, int | np.integer) else object()  # other seeds cannot be compared
        centers = None if self._initial_centers is None else self._initial_centers.tobytes()
        return *(getattr(self, name) for name in names), same, centers

    def _make_recipe(self, n_samples: int) -> Recipe:
        # With few rows, more neighbours would belong to other clusters.
        few = min(self.n_neighbors, max(_LEAST_NEIGHBORS, n_samples // (2 * self.n_clusters)))
        return Recipe("local", few, search=self.neighbor_search)  # type: ignore[arg-type]

    def _prepare(self, X: Any, key: tuple[Any, ...]) -> PreparedRows:
        """Build the graph and the initial clusters, and smooth these along the graph."""
        search = estimate_search_seconds(X.shape[0], X.shape[1], self.neighbor_search, is_sparse=issparse(X))  # type: ignore[arg-type]
        seconds = search + X.shape[0] * (_SECONDS_PER_ROW[0] + _SECONDS_PER_ROW[1] * self.n_clusters)
        warn_if_long(self, seconds, "Fit a sample of the rows, and predict the others.")
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=3)
        centers = self._initial_centers
        if centers is not None and centers.shape != (self.n_clusters, X.shape[1]):
            centers = None
        found = fit_kmeans(X, self.n_clusters, self.n_init, seeds[0], centers)
        first = np.unique(found.labels_, return_inverse=True)[1]
        n_first = int(first.max()) + 1
        means = np.stack([np.asarray(X[first == c].mean(axis=0)).ravel() for c in range(n_first)])
        if issparse(X):
            near = X.multiply(X).sum(axis=1) + (means**2).sum(axis=1)[first]
            near -= 2 * np.asarray(X.multiply(means[first]).sum(axis=1)).ravel()
        else:
            near = ((X - means[first]) ** 2).sum(axis=1)
        order = np.lexsort((near, first))
        recipe = self._make_recipe(X.shape[0])
        graph = build_graph(X, recipe, random_state=int(seeds[1]))
        warn_low_recall(self, graph.recall)
        smoother = Smoother(graph, self.restart)
        return PreparedRows(
            key=key,
            X=X,
            recipe=recipe,
            graph=graph,
            smoother=smoother,
            centers=found.cluster_centers_,
            first=first,
            smoothed=smoother.with_gamma(_FIRST_RESTART).smooth(np.eye(n_first)[first]),
            medoids=order[np.searchsorted(first[order], np.arange(n_first))],
            space=MixtureSpace(X, self.n_clusters, int(seeds[2])) if self.learn_metric else None,
        )

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each cluster for each row, from its neighbours among the rows of `fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows; also a numpy.memmap, MemmapRows, ParquetRows or Dask data.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            The probabilities; a dask array if X is Dask data.
        """
        check_is_fitted(self, "propagation_")
        return self._predict_blocks(X, np.float64, self.cluster_proba_.shape[1])

    def _predict_blocks(self, X: MatrixLike, dtype: Any, width: int | None = None) -> Any:
        """Compute probabilities or labels of blocks of rows, on as many threads as the limits allow."""
        rows, ready = self._check_rows(X, reset=False), self._ready
        n = ready.X.shape[0]
        index = candidates = None
        if n > 1 and not issparse(ready.X):
            index = ready.index
            candidates = self._candidates.index if width is None else None
        work = partial(
            _predict_block,
            ready.X,
            index,
            candidates,
            replace(ready.graph, weights=None),  # which new rows do not need
            ready.recipe,
            self.cluster_proba_,
            width is not None,
        )
        rows.threads = get_n_threads(len(rows) * n, None)
        with threadpool_limits(1):
            return rows.map_rows(work, dtype, width)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the most likely cluster of each row.

        The memory does not grow with X, because rows are compared in blocks. Each row is first compared with
        the rows of `fit` around its cell of k-means, which include 99 % of the neighbours of such rows. It is
        compared with all of them if it lies outside of the rows of `fit`, and, unless all neighbours found
        are in one cluster, if its two most likely clusters differ by less than 0.1 in probability or if it
        may equal a row of `fit`. Some labels still differ from the largest of `predict_proba`, mostly where
        two clusters are about as likely: in our measurements up to about 3 in 1,000, and 4 in 1,000 for new
        rows with 1.3 times the spread of those of `fit`. With few rows in `fit`, or if many labels would be
        in doubt, each row is compared with all, and none differs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows; also a numpy.memmap, MemmapRows, ParquetRows or Dask data.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row; a dask array if X is Dask data.
        """
        check_is_fitted(self, "propagation_")
        return self._predict_blocks(X, np.int64)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if self.learn_metric and issparse(X):
            raise TypeError(
                f"{type(self).__name__}: learn_metric=True takes dense rows, and X is sparse. Reduce X to "
                "about a hundred columns with sklearn.decomposition.TruncatedSVD, or set learn_metric=False."
            )
        return super()._check_X(X, reset=reset)


def _predict_block(
    fitted: Any,
    index: NeighborIndex | None,
    candidates: CandidateIndex | None,
    graph: Graph,
    recipe: Recipe,
    cluster_proba: np.ndarray,
    as_proba: bool,
    X: Any,
) -> np.ndarray:
    """Return the probabilities of the clusters for each row of a block, or the most likely cluster."""
    if candidates is not None and not issparse(X):
        labels = vote_by_candidates(X, candidates, graph, recipe, cluster_proba)
        doubtful = np.flatnonzero(labels < 0)
        if len(doubtful):
            assert index is not None
            proba = average_over_neighbors(X[doubtful], index, graph, recipe, cluster_proba)
            labels[doubtful] = proba.argmax(axis=1)
        return labels
    if index is not None and not issparse(X):
        proba = average_over_neighbors(X, index, graph, recipe, cluster_proba)
    elif len(cluster_proba) == 1:
        proba = np.ones((X.shape[0], 1))
    else:
        alike = compute_similarities(X, fitted, graph, recipe)
        total = np.asarray(alike.sum(axis=1)).reshape(-1, 1)
        proba = np.tile(cluster_proba.mean(axis=0), (len(total), 1))
        np.divide(np.asarray(alike @ cluster_proba), total, out=proba, where=total > 0)
    return proba if as_proba else proba.argmax(axis=1)
