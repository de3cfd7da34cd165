"""Base class of the spectral family: build the graph, embed the rows, cluster them, predict new rows."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError, svd
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._compat import check_random_state, with_callbacks
from likewise._seeding import find_least_violating
from likewise._typing import ArrayLike, MatrixLike
from likewise.backends.neighbors import estimate_search_seconds
from likewise.base import FitProgress, HintedClusterer, Rule, warn_caller, warn_if_long
from likewise.evaluation import Satisfaction, link_satisfaction
from likewise.exceptions import InconsistentSupervisionWarning, LikewiseWarning
from likewise.spectral._affinity import (
    Graph,
    Recipe,
    build_graph,
    check_given_graph,
    compute_similarities,
    with_self_loops,
)
from likewise.spectral._block_products import LARGE_GRAPH
from likewise.spectral._eigen import Eigen, compute_leading_eigenvectors
from likewise.spectral._operator import SpectralOperator
from likewise.spectral._pair_constraints import (
    LabelSets,
    RowLabelSets,
    derive_single_label_links,
    with_mean_weight_one,
)
from likewise.supervision import Closure, Supervision

# Coordinates with a smaller eigenvalue, relative to the largest, would only add noise for new rows.
_LEAST_VALUE = 1e-3
_LEAST_RECALL = 0.8  # share of the neighbours below which a search gives a warning
_BLOCK = 1 << 22  # maximum number of similarities of new rows in memory


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows in the space of the eigenvectors, and their clusters."""

    eigen: Eigen  # the selected eigenvectors, one row for each data row
    rows: np.ndarray  # (n_samples, n_clusters) the rows that were clustered: scaled rows of the eigenvectors
    labels: np.ndarray  # (n_samples,) the cluster of each row
    scale: np.ndarray  # (n_samples,) the factors of the rows and columns of the matrix
    stretch: Any = 1.0  # (n_clusters,) the factor of each coordinate before rows were scaled
    n_rounds: int = 1  # number of iterations, if the method is iterative


@dataclass(frozen=True, eq=False)
class PreviousFit:
    """Results of a fit that the next fit on the same rows can reuse."""

    key: bytes
    graph: Graph
    recipe: Recipe
    partition: Partition | None = None


# Texts shared by the docstrings of all members. Parameters come in two parts, because some members have a
# parameter between them.
_GRAPH = """metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`, so that
        only its direction counts, as is usual for texts and embeddings. A row of zeros has no direction and
        stays at the origin, at distance 1 from all others.
    affinity : {"local", "rbf", "neighbors", "precomputed"}, default="local"
        The similarity of two rows. "local": exp(-d^2 / (2 s_p s_q)), where the scale of each row is the
        distance to its seventh neighbour (Zelnik-Manor & Perona 2004). "rbf": the same with one scale for all
        rows. "neighbors": 1 if two rows are nearest neighbours of each other, 1/2 if one is a neighbour of
        the other. "precomputed": X contains the similarities.
    n_neighbors : int, None or "auto", default="auto"
        Number of nearest neighbours of each row; other similarities are 0. None keeps all pairs. "auto" keeps
        all pairs for up to 4,000 rows and 30 neighbours for more. Ignored if `affinity` is "precomputed".
    scale : "median", "mean" or float, default="median"
        The scale of "rbf": a number, or the median or mean distance of the pairs in the graph.
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "auto" is exact for up to 40,000 rows or fewer than 8 columns, else
        "approximate": each row is compared with the rows of its nearest cells of k-means. See
        `neighbor_recall_` for the share of the neighbours that it finds; below 0.8 there is a warning."""
_EMBEDDING = """as_links : bool, default=False
        Whether bags, labels and triplets are first converted to the links that they imply.
    row_normalize : bool, default=True
        Whether rows of the embedding are scaled to length 1 (Ng, Jordan & Weiss 2001). False divides them by
        the square root of the degree, as scikit-learn's SpectralClustering does.
    assign_labels : {"kmeans", "discretize"}, default="kmeans"
        How rows of the embedding are clustered: by k-means, or by the rotation of Yu & Shi (2003).
    n_init : int, default=10
        Number of starts of k-means, of which the best is kept.
    eigen_solver : {"auto", "dense", "arpack", "inverse", "lobpcg"}, default="auto"
        The eigensolver. "auto" chooses by the size and the sparsity of the graph.
    tol : float, default=1e-5
        The tolerance of the eigenvectors.
    warm_start : bool, default=False
        Whether to reuse the graph, eigenvectors and clusters of the last fit if the rows are the same. A
        refit after one more hint takes a fraction of the time.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call."""
_FITTED = """labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The embedded rows that were clustered.
    eigenvalues_ : ndarray of shape (n_clusters,)
        The eigenvalues of the embedding, largest first.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        The similarities of the rows without hints; the diagonal is 0 unless there are self-loops.
    neighbor_recall_ : float
        The share of the true neighbours of a sample of rows that the search found; 1 if it is exact.
    n_iter_ : int
        Number of iterations; 1 if the eigenvectors are computed once."""


def warn_equal_rows(estimator: Any, X: np.ndarray) -> None:
    """Warn if all rows are equal, so the features carry no information."""
    n = X.shape[0]
    equal = not (X[np.zeros(n, dtype=np.intp)] != X).nnz if issparse(X) else (X[0] == X).all()
    if n > 1 and equal:
        warn_caller(
            f"{type(estimator).__name__}: all {n} rows of X are equal, so only hints can separate them, "
            "and rows without hints are assigned arbitrarily. Check how X was computed.",
            ConvergenceWarning,
        )


def warn_low_recall(estimator: Any, recall: float) -> None:
    """Warn if an approximate search missed so many neighbours that the clusters may differ."""
    if recall < _LEAST_RECALL:
        warn_caller(
            LikewiseWarning(
                f"{{estimator}}: the approximate search found only {recall:.0%} of the nearest neighbours of "
                "a sample of rows, so the graph may miss clusters.",
                "Set neighbor_search='exact', or reduce the columns, for example with PCA.",
                parameter="neighbor_search",
                estimator=type(estimator).__name__,
            )
        )


class SpectralFamily(HintedClusterer):
    """Base class of the spectral family. A member defines how hints change the matrix of the graph."""

    labels_: np.ndarray
    embedding_: np.ndarray
    eigenvalues_: np.ndarray
    affinity_matrix_: Any
    neighbor_recall_: float
    n_iter_: int
    violations_: Satisfaction

    n_clusters: int
    metric: str
    affinity: str
    n_neighbors: Any
    scale: Any
    neighbor_search: str
    as_links: bool
    row_normalize: bool
    assign_labels: str
    n_init: int
    eigen_solver: str
    tol: float
    warm_start: bool
    random_state: Any

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "metric": Rule.choice("euclidean", "cosine"),
        "affinity": Rule.choice("local", "rbf", "neighbors", "precomputed"),
        "n_neighbors": Rule.either(Rule.choice(None, "auto"), Rule.integer(1)),
        "scale": Rule.either(Rule.choice("median", "mean"), Rule.real(0, strict=True)),
        "neighbor_search": Rule.choice("auto", "exact", "approximate"),
        "as_links": Rule.choice(False, True),
        "row_normalize": Rule.choice(True, False),
        "assign_labels": Rule.choice("kmeans", "discretize"),
        "n_init": Rule.integer(1),
        "eigen_solver": Rule.choice("auto", "dense", "arpack", "inverse", "lobpcg"),
        "tol": Rule.real(0),
        "warm_start": Rule.choice(False, True),
    }

    _sparse_rows = "sparse"
    _may_scale_rows = True
    # Measured seconds of a fit per row, and per row and cluster, without the search for neighbours.
    _seconds_per_row: ClassVar[tuple[float, float]] = (1.1e-5, 9e-7)
    # Whether links implied by bags are derived from label sets; listing all pairs could take too long.
    _reads_label_sets: ClassVar[bool] = False

    def _store_parameters(self, given: dict[str, Any]) -> None:
        """Store each constructor parameter under its own name."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        doc = (cls.__doc__ or "").replace("{common}", "{graph}\n    {embedding}").replace("{graph}", _GRAPH)
        cls.__doc__ = doc.replace("{embedding}", _EMBEDDING).replace("{fitted}", _FITTED)

    # ------------------------------------------------------------------ hooks of the members

    def _make_operator(self, graph: Graph, hints: Supervision) -> SpectralOperator:
        """Return the matrix whose leading eigenvectors embed the rows; by default hints do not change it."""
        return SpectralOperator(graph.weights, graph.degrees**-0.5)

    def _cluster(self, graph: Graph, hints: Supervision, rng: Any, last: Partition | None) -> Partition:
        """Embed the rows and cluster them."""
        return self._partition(self._make_operator(graph, hints), graph, rng, last)

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        """Set the fitted attributes that only this member has."""

    def _extend_eigenvectors(self, alike: Any, degrees: np.ndarray, found: Partition) -> np.ndarray:
        """Return the entries of the eigenvectors for new rows, as for rows without hints."""
        values = found.eigen.values
        useful = values > _LEAST_VALUE * max(float(values[0]), 0.0)
        sums = np.asarray(alike @ (found.eigen.vectors * found.scale[:, None])) / np.sqrt(degrees)[:, None]
        return np.divide(sums, values, out=np.zeros_like(sums), where=useful)

    # ------------------------------------------------------------------ fitting

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.affinity == "precomputed" and self.metric == "cosine":
            raise ValueError(
                f"{type(self).__name__}: metric='cosine' scales rows, but with affinity='precomputed' X "
                "contains similarities. Pass rows and another affinity, or omit metric."
            )
        if self.affinity == "neighbors" and self.n_neighbors is None:
            raise ValueError(
                f"{type(self).__name__}: affinity='neighbors' requires a number of neighbours; got "
                "n_neighbors=None, with which all rows would be neighbours. Pass a number or 'auto'."
            )

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Cluster the rows of X, guided by the hints.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            The rows; sparse rows give the same clusters as dense ones. With ``affinity="precomputed"`` their
            similarities: symmetric, non-negative, dense or sparse. The diagonal is ignored unless there are
            self-loops.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        X, hints = self._check_fit(X, y, supervision)
        rng = check_random_state(self.random_state)
        progress = FitProgress(self, X, 1)
        progress.begin(2)  # the graph, and its clusters
        if self.affinity != "precomputed":
            warn_equal_rows(self, X)
        self._warn_if_long(X)
        last = self._get_graph(X, rng.randint(2**31 - 1))
        progress.step()
        try:
            found = self._cluster(last.graph, hints, rng, last.partition if self.warm_start else None)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"{type(self).__name__}: the eigenvectors of the graph could not be computed ({error}). This "
                "happens if all or almost all rows are equal: check the columns of X, or try another "
                "affinity or eigen_solver."
            ) from error
        progress.step()
        progress.end()

        self._last = PreviousFit(last.key, last.graph, last.recipe, found)
        self._X = None if self.affinity == "precomputed" else X
        self.labels_ = found.labels.astype(np.int32)
        self.embedding_ = found.rows
        self.eigenvalues_ = found.eigen.values
        self.affinity_matrix_ = last.graph.weights
        self.neighbor_recall_ = last.graph.recall
        self.n_iter_ = found.n_rounds
        if "links" in self.supported_hints:
            self.violations_ = link_satisfaction(self.labels_, hints.select_kinds("links"))
        self._keep(found, hints)
        why = "Rows may be duplicates, or the graph may have too few edges to separate more clusters."
        if not self._warn_few_clusters(self.labels_, self.n_clusters, why) and not found.eigen.converged:
            warn_caller(
                f"{type(self).__name__}: the eigenvectors did not converge to tol={self.tol:g} within "
                f"{found.eigen.n_products} matrix-vector products. Increase tol or try another eigen_solver.",
                ConvergenceWarning,
            )
        progress.finish()
        return self

    def _warn_if_long(self, X: Any) -> None:
        """Warn if the search for neighbours and the rest, by its measured speed, take more than a minute."""
        n, (by_row, by_cluster) = X.shape[0], self._seconds_per_row
        seconds = n * (by_row + by_cluster * self.n_clusters)
        if self.affinity != "precomputed" and self._make_recipe(n).get_n_neighbors(n) is not None:
            search = self._make_recipe(n).search
            seconds += estimate_search_seconds(n, X.shape[1], search, is_sparse=issparse(X))
        warn_if_long(
            self, seconds, "Fit a sample of the rows and predict the others, or use PropagationClustering."
        )

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if self.affinity != "precomputed":
            return super()._check_X(X, reset=reset)
        given = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2 if reset else 1
        )
        if issparse(given) and not given.has_sorted_indices:
            given = given.sorted_indices()  # a copy; arithmetic would sort the caller's matrix in place
        if reset and given.shape[0] != given.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: affinity='precomputed' expects a square matrix of similarities; got "
                f"shape {given.shape}."
            )
        values = given.data if issparse(given) else given
        if values.size and values.min() < 0:
            raise ValueError(
                f"{type(self).__name__}: similarities must not be negative, got {values.min():.3g}. Convert "
                "distances d to similarities first, for instance with np.exp(-d**2 / (2 * scale**2))."
            )
        return given

    def _check_supervision(
        self, supervision: Any, n_samples: int, y: Any = None, *, given: Any
    ) -> Supervision:
        if not self.as_links or not isinstance(supervision, Supervision):
            return super()._check_supervision(supervision, n_samples, y, given=given)
        checked = super()._check_supervision(self._convert_to_links(supervision), n_samples, y, given=given)
        return checked | supervision.select_kinds("bags") if self._reads_label_sets else checked

    def _convert_to_links(self, hints: Supervision) -> Supervision:
        """Convert all hints to links; with more clusters than classes, equal labels imply no must-link."""
        bag_classes = {
            label for labels in (hints.bags.labels if hints.bags else ()) for label in labels or ()
        }
        more = self.n_clusters > len(bag_classes | set(hints.classes))
        if not self._reads_label_sets:
            return hints.to_links(more_clusters_than_classes=more)
        plain = hints.select_kinds("links", "labels", "triplets").to_links(more_clusters_than_classes=more)
        return plain if more else plain | derive_single_label_links(hints)

    def _warn_clash(self, sets: LabelSets, closure: Closure) -> None:
        """Warn about must-linked rows whose bags share no label, unless links contradict one another."""
        found = None if len(closure.conflicts) else RowLabelSets.from_closure(sets, closure).find_clash()
        if found is not None:
            chain = closure.path(*found)
            warn_caller(
                InconsistentSupervisionWarning(
                    f"{{estimator}}: the bags of rows {found[0]} and {found[1]} share no label, yet the "
                    f"rows are joined through {' – '.join(map(str, chain))}. Here the must-links win.",
                    rows=found,
                    chain=chain,
                    kinds=("bags", "links"),
                    estimator=type(self).__name__,
                )
            )

    def _make_recipe(self, n_samples: int) -> Recipe:
        loops = getattr(self, "self_loops", False)
        return Recipe(self.affinity, self.n_neighbors, self.scale, self.neighbor_search, loops)  # type: ignore[arg-type]

    def _get_graph(self, X: Any, seed: int) -> PreviousFit:
        """Return the graph; with `warm_start`, reuse the graph of the last fit if the rows are the same."""
        recipe, key = self._make_recipe(X.shape[0]), b""
        if self.warm_start:
            # A digest of rows and recipe recognises the same rows without a copy of them.
            digest = hashlib.sha1(repr((recipe, X.shape, X.dtype)).encode(), usedforsecurity=False)
            for part in (X.data, X.indices, X.indptr) if issparse(X) else (np.ascontiguousarray(X),):
                digest.update(part.view(np.uint8).data)
            key = digest.digest()
            last: PreviousFit | None = getattr(self, "_last", None)
            if last is not None and last.key == key:
                return last
        if recipe.affinity == "precomputed":
            gap = abs(X - X.T).max()
            if gap > 1e-8 * X.max():
                raise ValueError(
                    f"{type(self).__name__}: similarities must be symmetric, but A and A.T differ by up to "
                    f"{gap:.3g}. Pass (A + A.T) / 2 to symmetrise them."
                )
            graph = check_given_graph(X, self_loops=recipe.self_loops)
        else:
            graph = build_graph(X, recipe, random_state=seed)
            warn_low_recall(self, graph.recall)
        self._warn_about_parts(graph)
        if recipe.self_loops and recipe.affinity != "precomputed":
            graph = with_self_loops(graph)
        return PreviousFit(key, graph, recipe)

    def _warn_about_parts(self, graph: Graph) -> None:
        """Warn about rows without neighbours, and if the graph has more components than clusters."""
        weights = graph.weights
        if not issparse(weights) and np.count_nonzero(weights[0]) >= graph.n_samples - 1:
            return  # every row is connected to the first; listing N^2 edges would be slow
        n_parts, part = connected_components(csr_array(weights), directed=False)
        alone = int((np.bincount(part) == 1).sum()) if n_parts > 1 else 0
        if alone and graph.n_samples > 1:
            rows = np.flatnonzero(np.bincount(part)[part] == 1)
            warn_caller(
                LikewiseWarning(
                    f"{{estimator}}: {alone} row(s) have no similar rows, the first of them row {rows[0]}.",
                    "Only hints can determine their clusters.",
                    rows=rows[:1],
                    estimator=type(self).__name__,
                )
            )
        if n_parts - alone > self.n_clusters > 1:
            warn_caller(
                f"{type(self).__name__}: the graph has {n_parts - alone} connected components, more than "
                f"n_clusters={self.n_clusters}. Without hints it is arbitrary which of them are merged. "
                "Increase n_neighbors to connect them.",
                LikewiseWarning,
            )

    def _partition(
        self,
        operator: SpectralOperator,
        graph: Graph,
        rng: Any,
        last: Partition | None = None,
        *,
        power: float = 0.0,
        near: np.ndarray | None = None,
    ) -> Partition:
        """Compute the leading eigenvectors and cluster their rows, starting from the result `last`.

        Without `last`, `near` may contain columns that nearly span the eigenvectors. Each coordinate is
        multiplied by its eigenvalue to the power `power`, which reduces the less informative coordinates.
        """
        start = near if last is None else last.eigen
        eigen = compute_leading_eigenvectors(
            operator, self.n_clusters, start=start, tol=self.tol, solver=self.eigen_solver, rng=rng
        )
        stretch = np.maximum(eigen.values, 0.0) ** power
        rows = self._embed_rows(eigen.vectors * stretch, graph.degrees)
        # With another number of clusters the previous clusters are a poor start for k-means.
        first = last.labels if last is not None and last.eigen.vectors.shape[1] == self.n_clusters else None
        if self.assign_labels == "discretize":
            labels = round_by_rotation(scale_to_unit_length(rows), rng)
        else:
            labels = round_by_kmeans(rows, self.n_clusters, self.n_init, rng, first)
        scale = np.ones(graph.n_samples) if operator.scale is None else operator.scale
        return Partition(eigen, rows, labels, scale, stretch)

    def _find_fewest_violated(self, found: list[Any], graph: Graph, hints: Supervision) -> list[int]:
        """Return the results whose number of violated links is within chance of the lowest.

        To count violations, hinted rows are assigned by their neighbours: clusters that fit only the hinted
        rows satisfy every link but do not generalise to others.
        """
        judged = [
            np.where(hints.touched, self._assign_new_rows(graph.weights, graph.degrees, each), each.labels)
            for each in found
        ]
        return find_least_violating(judged, with_mean_weight_one(hints))

    def _embed_rows(self, vectors: np.ndarray, degrees: np.ndarray) -> np.ndarray:
        return scale_to_unit_length(vectors) if self.row_normalize else vectors / np.sqrt(degrees)[:, None]

    # ------------------------------------------------------------------ using

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the cluster of each new row.

        The eigenvectors are extended to the row by its similarities to the rows of the fit (Nyström), as for
        a row without hints, and the nearest cluster mean is chosen. A row without similar rows in the fit
        goes to the largest cluster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples_fit)
            New rows; with ``affinity="precomputed"``, their similarities to the rows of the fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        check_is_fitted(self)
        X = self._check_array(X, reset=False)
        if self._X is None:
            return self._predict_similar(X)
        graph, recipe = self._last.graph, self._last.recipe
        # With a graph of all pairs each new row has n_samples similarities, so rows are processed in blocks.
        whole = recipe.get_n_neighbors(graph.n_samples) is not None
        blocks = gen_batches(X.shape[0], X.shape[0] if whole else max(_BLOCK // graph.n_samples, 1))
        return np.concatenate(
            [self._predict_similar(compute_similarities(X[rows], self._X, graph, recipe)) for rows in blocks]
        )

    def _predict_similar(self, alike: Any) -> np.ndarray:
        found = self._last.partition
        assert found is not None
        degrees = np.asarray(alike.sum(axis=1), dtype=np.float64).ravel()
        labels = self._assign_new_rows(alike, np.where(degrees > 0, degrees, 1.0), found).astype(np.int32)
        labels[degrees <= 0] = np.bincount(found.labels).argmax()
        return labels

    def _assign_new_rows(self, alike: Any, degrees: np.ndarray, found: Partition) -> np.ndarray:
        """Return the clusters of new rows from their similarities to the rows of the fit."""
        rows = self._embed_rows(self._extend_eigenvectors(alike, degrees, found) * found.stretch, degrees)
        sizes = np.bincount(found.labels)
        far = euclidean_distances(
            rows, compute_cluster_means(found.rows, found.labels, len(sizes)), squared=True
        )
        far[:, sizes == 0] = np.inf
        return far.argmin(axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


# ---------------------------------------------------------------------- clusters of the embedded rows


def scale_to_unit_length(rows: np.ndarray) -> np.ndarray:
    """Scale each row to length 1; a row of zeros, which belongs to an isolated row, stays unchanged."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def compute_cluster_means(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of each cluster, or zeros for an empty cluster."""
    sums = np.column_stack([np.bincount(labels, weights=column, minlength=k) for column in rows.T])
    return sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None]


def round_by_kmeans(
    rows: np.ndarray, k: int, n_init: int, rng: Any, labels: np.ndarray | None = None
) -> np.ndarray:
    """Return the clusters of the rows by k-means, starting from `labels` or from `n_init` random starts."""
    start = None if labels is None else compute_cluster_means(rows, labels, k)
    found: np.ndarray = fit_kmeans(rows, k, n_init, rng, start).labels_
    return found


def fit_kmeans(rows: np.ndarray, k: int, n_init: int, rng: Any, start: np.ndarray | None = None) -> KMeans:
    """Fit k-means from the centres `start`, or from `n_init` random starts.

    With many rows, the best of these is chosen on a sample.
    """
    with warnings.catch_warnings():
        # Estimators have their own warning about fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if start is None and rows.shape[0] > LARGE_GRAPH and n_init > 1:
            rng = check_random_state(rng)
            some = np.sort(rng.choice(rows.shape[0], max(LARGE_GRAPH // 2, k), replace=False))
            start = KMeans(k, n_init=n_init, random_state=rng).fit(rows[some]).cluster_centers_
        if start is not None:
            return KMeans(k, n_init=1, init=start, random_state=rng).fit(rows)
        return KMeans(k, n_init=n_init, random_state=rng).fit(rows)


def round_by_rotation(rows: np.ndarray, rng: Any, *, max_iter: int = 100) -> np.ndarray:
    """Return the clusters by the discretisation of Yu & Shi (2003), for rows of length 1.

    Minimises ||A - rows R|| alternately over an indicator matrix A (each row goes to its largest coordinate)
    and a rotation R (the orthogonal matrix nearest to rows' A). R starts from nearly orthogonal rows, the
    first of them random.
    """
    n, k = rows.shape
    rotation = np.empty((k, k))
    rotation[:, 0] = rows[rng.randint(n)]
    along = np.zeros(n)
    for column in range(1, k):
        along += np.abs(rows @ rotation[:, column - 1])
        rotation[:, column] = rows[along.argmin()]
    labels = np.zeros(n, dtype=np.int64)
    reached = -np.inf
    for _ in range(max_iter):
        labels = (rows @ rotation).argmax(axis=1)
        sums = np.zeros((k, k))
        np.add.at(sums, labels, rows)
        try:
            left, values, right = svd(sums)  # sums' = V S U', so the nearest orthogonal matrix is (U V')'
        except LinAlgError:
            break
        if values.sum() <= reached * (1 + 1e-12):
            break
        reached = values.sum()
        rotation = (left @ right).T
    return labels
