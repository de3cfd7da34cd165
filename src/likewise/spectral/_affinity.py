"""Similarity graphs of all pairs of rows or of nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from likewise.backends.neighbor_index import CandidateIndex, NeighborIndex
from likewise.backends.neighbors import EXACT_ROWS, Search, compute_recall, find_near_rows, is_exact

Affinity = Literal["local", "rbf", "neighbors", "precomputed"]

# The distance to this neighbour is the scale of a row (Zelnik-Manor & Perona 2004 recommend the seventh).
LOCAL_NEIGHBOR = 7
# With more rows, n_neighbors="auto" does not store all pairs (N^2 numbers).
DENSE_ROWS = 4_000
NEIGHBORS = 30
MARGIN = 0.1  # clusters whose shares differ by less are compared by exact neighbours


@dataclass(frozen=True)
class Recipe:
    """The parameters of a graph; see the parameters of the estimators."""

    affinity: Affinity = "local"
    n_neighbors: int | Literal["auto"] | None = "auto"
    scale: float | Literal["median", "mean"] = "median"
    search: Search = "auto"
    self_loops: bool = False

    def get_n_neighbors(self, n_samples: int) -> int | None:
        """Return the number of neighbours of each row, or None if all pairs are kept."""
        if self.n_neighbors != "auto":
            return None if self.n_neighbors is None else min(self.n_neighbors, n_samples - 1)
        sparse = self.affinity == "neighbors" or n_samples > DENSE_ROWS
        return min(NEIGHBORS, n_samples - 1) if sparse else None


@dataclass(frozen=True, eq=False)
class Graph:
    """The similarities of the rows."""

    # (n_samples, n_samples) Symmetric and non-negative. The diagonal is 0 unless there are self-loops.
    weights: Any
    degrees: np.ndarray  # (n_samples,) the row sums; 1 for a row without neighbours, to allow division
    # (n_samples,) the scale of each row; equal for all rows unless the affinity is "local"
    scales: np.ndarray
    recall: float = 1.0  # the share of the true neighbours of a sample of rows that the search found

    @classmethod
    def from_weights(
        cls, weights: Any, scales: np.ndarray | None = None, added: Any = 0.0, recall: float = 1.0
    ) -> Graph:
        """Build from symmetric weights; `added` is added to the row sums to obtain the degrees."""
        degrees = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel() + added
        alone = degrees <= 0
        if scales is None:
            scales = np.ones(len(degrees))
        return cls(weights, np.where(alone, 1.0, degrees), scales, recall)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.degrees)


# ---------------------------------------------------------------------- building


def build_graph(X: np.ndarray, recipe: Recipe, *, random_state: int = 0) -> Graph:
    """Build the graph of the rows of X.

    ``local``: exp(-d(p, q)^2 / (2 s_p s_q)), where s_p is the distance of row p to its seventh neighbour.
    ``rbf``: the same with one scale for all rows: a number, or the median or mean distance.
    ``neighbors``: 1 if two rows are nearest neighbours of each other, 1/2 if only one is. With a number of
    neighbours, the first two are 0 unless one row is among the most similar rows of the other.
    """
    n = X.shape[0]
    if n < 2:
        return Graph.from_weights(np.zeros((1, 1)))
    n_neighbors = recipe.get_n_neighbors(n)
    if n_neighbors is None:
        return _build_dense(X, recipe)
    distances, neighbors = find_near_rows(
        X, _get_n_candidates(recipe, n_neighbors, n - 1), recipe.search, random_state
    )
    recall = 1.0 if issparse(X) or is_exact(n, X.shape[1], recipe.search) else compute_recall(X, neighbors)
    scales = _compute_scales(distances, recipe, n)
    values = _compute_similarity(distances, scales, scales, neighbors, recipe)
    values, neighbors = _select_most_similar(values, neighbors, n_neighbors)
    rows, columns, values = np.repeat(np.arange(n), n_neighbors), neighbors.ravel(), values.ravel()
    if recipe.affinity == "neighbors":
        values = values / 2
    half = csr_array((values, (rows, columns)), shape=(n, n))
    # An edge is kept in full if either row has the other as a neighbour, so no row loses a neighbour.
    weights = half + half.T if recipe.affinity == "neighbors" else half.maximum(half.T)
    return Graph.from_weights(csr_array(weights), scales, recall=recall)


def check_given_graph(given: Any, *, self_loops: bool = False) -> Graph:
    """Build from a symmetric, non-negative matrix; its diagonal is ignored without self-loops."""
    if issparse(given):
        weights = csr_array(given, dtype=np.float64, copy=True)
        if not self_loops:
            weights.setdiag(0.0)
        weights.eliminate_zeros()
        weights.sum_duplicates()
    else:
        weights = np.array(given, dtype=np.float64)
        if not self_loops:
            np.fill_diagonal(weights, 0.0)
    return Graph.from_weights(weights)


def with_self_loops(graph: Graph) -> Graph:
    """Return the graph with 1 on the diagonal."""
    weights = graph.weights
    if issparse(weights):
        rows = np.arange(graph.n_samples)
        loops = csr_array((np.ones(len(rows)), (rows, rows)), shape=weights.shape)
        return Graph.from_weights(csr_array(weights + loops), graph.scales, recall=graph.recall)
    looped = weights.copy()
    np.fill_diagonal(looped, 1.0)
    return Graph.from_weights(looped, graph.scales)


def _get_n_candidates(recipe: Recipe, n_neighbors: int, most: int) -> int:
    """Return the number of nearest rows among which the most similar rows are chosen.

    With local scales the nearest rows need not be the most similar: rows in sparse regions have large scales.
    Choosing among three times as many rows prevents rows in dense regions from becoming everybody's
    neighbours. With many rows, at most twenty more are compared, since the search is the slowest step.
    """
    if recipe.affinity != "local":
        return min(n_neighbors, most)
    wanted = 3 * n_neighbors if most <= EXACT_ROWS else min(3 * n_neighbors, n_neighbors + 20)
    return min(max(wanted, LOCAL_NEIGHBOR), most)


def _compute_similarity(
    distances: np.ndarray, own: np.ndarray, scales: np.ndarray, neighbors: np.ndarray, recipe: Recipe
) -> np.ndarray:
    """Return the similarity of rows with scales `own` to their neighbours; 1 if affinity is "neighbors"."""
    if recipe.affinity == "neighbors":
        return np.ones(distances.shape)
    return np.exp(-(distances**2) / (2 * own[:, None] * scales[neighbors]))


def _select_most_similar(values: np.ndarray, neighbors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(neighbors, order, axis=1)


def _build_dense(X: np.ndarray, recipe: Recipe) -> Graph:
    n = X.shape[0]
    squared = euclidean_distances(X.astype(np.float64, copy=False), squared=True)
    np.fill_diagonal(squared, 0.0)
    if recipe.affinity == "local":
        t = min(LOCAL_NEIGHBOR, n - 1)
        near = np.sqrt(np.partition(squared, t, axis=1)[:, [t]])
    else:
        if n <= 1000:
            above = squared[np.triu_indices(n, 1)]
        else:  # a fixed sample of pairs is enough for the median or the mean
            i, j = np.random.RandomState(0).randint(n, size=(2, 500_000))
            above = squared[i, j][i != j]
        near = np.sqrt(above)[None]
    scales = _compute_scales(near, recipe, n)
    squared /= -2.0 * scales[:, None]
    squared /= scales
    weights = np.exp(squared, out=squared)
    np.fill_diagonal(weights, 0.0)
    return Graph.from_weights(weights, scales)


def _compute_scales(distances: np.ndarray, recipe: Recipe, n_samples: int) -> np.ndarray:
    """Return the scale of each row from the distances to its neighbours (any distances if not "local")."""
    if recipe.affinity == "local":
        scales = distances[:, min(LOCAL_NEIGHBOR, distances.shape[1]) - 1]
    elif isinstance(recipe.scale, str):
        positive = distances[distances > 0] if distances.any() else np.ones(1)
        common = np.median(positive) if recipe.scale == "median" else positive.mean()
        scales = np.full(n_samples, common)
    else:
        scales = np.full(n_samples, float(recipe.scale))
    # A row with seven duplicates has scale 0; 1e-3 of the typical scale still separates it from others.
    usual = np.median(scales[scales > 0]) if (scales > 0).any() else 1.0
    return np.maximum(scales, 1e-3 * usual)


# ---------------------------------------------------------------------- new rows


def compute_similarities(X_new: np.ndarray, X: np.ndarray, graph: Graph, recipe: Recipe) -> Any:
    """Return the similarity of each new row to each row of the graph, by the same recipe.

    The local scale of a new row is its distance to its seventh neighbour among the rows of the graph.
    """
    n = X.shape[0]
    n_neighbors = recipe.get_n_neighbors(n)
    if n_neighbors is None:
        squared = euclidean_distances(
            X_new.astype(np.float64, copy=False), X.astype(np.float64, copy=False), squared=True
        )
        near = np.sort(np.partition(squared, min(LOCAL_NEIGHBOR, n - 1), axis=1)[:, : LOCAL_NEIGHBOR + 1])
        own = _compute_new_scales(np.sqrt(near), _is_equal(X[squared.argmin(axis=1)], X_new), graph, recipe)
        squared /= -2.0 * own[:, None]
        squared /= graph.scales
        return np.exp(squared, out=squared)
    search = NearestNeighbors(n_neighbors=count_neighbors_of_new_rows(recipe, n))
    distances, neighbors = search.fit(X).kneighbors(X_new)
    own = _compute_new_scales(distances, _is_equal(X[neighbors[:, 0]], X_new), graph, recipe)
    values = _compute_similarity(distances, own, graph.scales, neighbors, recipe)
    values, neighbors = _select_most_similar(values, neighbors, n_neighbors)
    starts = np.arange(X_new.shape[0] + 1) * n_neighbors
    return csr_array((values.ravel(), neighbors.ravel(), starts), shape=(X_new.shape[0], n))


def average_over_neighbors(
    X_new: np.ndarray, index: NeighborIndex, graph: Graph, recipe: Recipe, shares: np.ndarray
) -> np.ndarray:
    """Return the shares of the neighbours of each new row, weighted by their local similarities.

    This is the product of :func:`compute_similarities` with the shares, divided by the sum of the
    similarities; a row without similarities gets the mean of all shares.
    """
    from likewise.kernels.near_rows import sum_shares

    n = len(index.X)
    distances, neighbors = index.find(X_new, count_neighbors_of_new_rows(recipe, n))
    own = _compute_new_scales(distances, _is_equal(index.X[neighbors[:, 0]], X_new), graph, recipe)
    found = np.tile(shares.mean(axis=0), (len(X_new), 1))
    n_neighbors = recipe.get_n_neighbors(n)
    sum_shares(distances, neighbors, own, graph.scales, shares, n_neighbors, found)
    return found


def vote_by_candidates(
    X_new: np.ndarray, index: CandidateIndex, graph: Graph, recipe: Recipe, shares: np.ndarray
) -> np.ndarray:
    """Return the cluster with the largest share in :func:`average_over_neighbors`, or -1 if it is in doubt.

    Only the candidates of each row are compared, which are most of its neighbours, so clusters whose shares
    differ by less than 0.1 are in doubt.
    """
    from likewise.kernels.near_rows import vote_by_nearest

    n = len(index.X)
    k, n_neighbors = count_neighbors_of_new_rows(recipe, n), recipe.get_n_neighbors(n)
    labels = np.full(len(X_new), -1)
    for part in index.compare(X_new):
        found = np.empty(len(part.rows), dtype=np.int64)
        vote_by_nearest(
            part.products,
            part.away,
            part.rounding,
            part.members,
            part.starts,
            graph.scales,
            shares,
            k,
            min(LOCAL_NEIGHBOR, k),
            n_neighbors,
            MARGIN,
            found,
        )
        labels[part.rows] = found
    return labels


def count_neighbors_of_new_rows(recipe: Recipe, n: int) -> int:
    n_neighbors = recipe.get_n_neighbors(n)
    assert n_neighbors is not None
    return max(_get_n_candidates(recipe, n_neighbors, n), min(LOCAL_NEIGHBOR + 1, n))


def _is_equal(X: Any, Y: Any) -> np.ndarray:
    """Return a mask of the rows that are equal in both."""
    if issparse(X):
        return np.asarray((X != Y).sum(axis=1)).ravel() == 0
    return np.asarray((X == Y).all(axis=1))


def _compute_new_scales(near: np.ndarray, alike: np.ndarray, graph: Graph, recipe: Recipe) -> np.ndarray:
    """Return the scales of new rows from their distances to the graph, sorted from the nearest.

    `alike` is true for new rows that equal their nearest row. A nearest row that is a duplicate is skipped,
    as the row itself was in the graph. Rows are compared instead of distances, which rounding keeps from
    being 0 in many dimensions.
    """
    if recipe.affinity != "local":
        return np.full(len(near), graph.scales[0])
    t = np.minimum(LOCAL_NEIGHBOR - 1 + alike, near.shape[1] - 1)
    return np.maximum(near[np.arange(len(near)), t], graph.scales.min())
