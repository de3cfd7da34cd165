"""Active spectral clustering: the pair that the eigenvectors of the graph know least about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigsh

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._marginal import askable_pairs, least_certain
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray
from likewise.active.strategies._random import RandomPairs
from likewise.active.strategies._rows import standardized
from likewise.base import integer

_DENSE_ROWS = 300  # of so few rows all eigenvectors are found sooner than the first ones
_SCALE_NEIGHBOR = 7
_OUT = 3.0  # taken from an eigenvalue of 1 it is below -1, where no other is


@dataclass(frozen=True)
class ActiveSpectral:
    """The pair with the largest expected error of the spectral relaxation (ASC; Wang & Davidson 2010).

    For two clusters, u is the relaxed indicator of them, scaled to a mean square of 1, and
    :math:`P_{ij} = u_i u_j`, cut off at -1 and 1, is what it says about the relation :math:`Q_{ij} = \\pm 1`
    of two rows. If :math:`(1 + P_{ij}) / 2` is the chance that they are together, the expected squared error
    is

    .. math:: E_{ij} = (1 - P_{ij})^2 \\, \\frac{1 + P_{ij}}{2} + (1 + P_{ij})^2 \\, \\frac{1 - P_{ij}}{2}
        = 1 - P_{ij}^2 ,

    and the pair with the largest is asked: the one with the least :math:`|u_i u_j|`. The paper was not at
    hand, and this is from memory. It treats two clusters. For K > 2, where Xiong, Johnson & Corso used it
    too without telling how, rows z of the first K eigenvectors are brought to length 1, as for spectral
    clustering; then :math:`z_i^\\top z_j` is 1 for ideal clusters if i and j are together and 0 if not. It is
    taken as the chance that they are, and P is twice that less 1. K - 1 columns without the constant one are
    taken as corners of a simplex, with the chance :math:`(1 + (K - 1) u_i^\\top u_j) / K`. Ties are broken at
    random by the seed.

    The eigenvectors are the ``embedding_`` of the model, for the spectral family. For a model without one
    they are those of the normalised similarity graph of near neighbours, each scaled by its seventh (Zelnik-
    Manor & Perona 2004), with 1 where rows are known to be together and 0 where they are known to be apart.

    All pairs are looked at, block by block, O(n^2 K) and 16 MB for a block. Of more rows than `max_rows` so
    many are drawn by the seed, and pairs of these are looked at.

    Parameters
    ----------
    n_neighbors : int, default=15
        How many neighbours the graph has, if the model has no embedding.
    max_rows : int, default=10000
        The most rows whose pairs are looked at.

    References
    ----------
    X. Wang and I. Davidson (2010), Active spectral clustering, ICDM.

    Examples
    --------
    Two clouds, and between them rows 4 and 5.

    >>> import numpy as np
    >>> from likewise.active import State
    >>> from likewise.active.strategies import ActiveSpectral
    >>> X = np.array([0.0, 0.5, 1.0, 1.5, 2.7, 3.3, 4.5, 5.0, 5.5, 6.0])[:, None]
    >>> ActiveSpectral(n_neighbors=4).choose(State.of(X, n_clusters=2), 1)[0].rows
    (4, 5)
    """

    n_neighbors: int = 15
    max_rows: int = 10_000

    name: ClassVar[str] = "asc"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __post_init__(self) -> None:
        for parameter, low in (("n_neighbors", 1), ("max_rows", 2)):
            if not (rule := integer(low)).holds(value := getattr(self, parameter)):
                raise ValueError(f"{parameter} must be {rule.wanted}, got {value!r}.")

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n pairs, the largest expected error first."""
        if state.n_samples < 2 or n < 1:
            return []
        seen = self._seen(state)
        # Rows in a random order: the first of equal pairs is then one drawn at random.
        order = state.rng().permutation(len(seen))
        factors = relation_factors(self._embedding(state, seen), _n_clusters(state))
        pairs, chance = least_certain(factors[order], n, askable_pairs(state, seen[order]))
        questions = [
            Question.pair(
                i,
                j,
                score=expected_error(p),
                why=f"The eigenvectors put them together with chance {min(max(p, 0.0), 1.0):.2f}.",
            )
            for (i, j), p in zip(seen[order][pairs].tolist(), chance.tolist(), strict=True)
        ]
        if len(questions) < n < state.n_samples**2 and len(seen) < state.n_samples:
            # All is known about the rows that were drawn; the others have questions yet.
            known = {question.key for question in questions}
            more = RandomPairs().choose(state, n)
            questions += [question for question in more if question.key not in known][: n - len(questions)]
        return questions

    def _seen(self, state: State) -> IntArray:
        every = np.arange(state.n_samples)
        if state.n_samples <= self.max_rows:
            return every
        rng = np.random.default_rng([state.seed, state.n_samples])  # the same whatever the answers are
        return np.sort(rng.choice(every, self.max_rows, replace=False))

    def _embedding(self, state: State, seen: IntArray) -> FloatArray:
        given = getattr(state.model, "embedding_", None)
        if given is not None and np.shape(given)[0] == state.n_samples:
            return np.asarray(given, dtype=np.float64)[seen]
        key = ("similarity graph", self.n_neighbors, self.max_rows, state.seed)
        if key not in state.cache:
            state.cache[key] = similarity_graph(standardized(state.X[seen]), self.n_neighbors)
        told = told_graph(state.cache[key], state, seen)
        key = ("eigenvectors", *key[1:])
        k = min(_n_clusters(state), len(seen))
        before = state.cache.get(key)
        if before is None or before[0] != k or not _equal(before[1], told):
            before = state.cache[key] = (k, told, eigenvectors(told, k))
        vectors: FloatArray = before[2]
        return vectors


def _equal(one: csr_array, other: csr_array) -> bool:
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in ("indptr", "indices", "data"))


def _n_clusters(state: State) -> int:
    """Return the number of clusters, by the model if it is not known, and no less than two."""
    if state.n_clusters is not None:
        return max(2, state.n_clusters)
    return 2 if state.labels is None else max(2, len(np.unique(state.labels)))


def expected_error(chance: float) -> float:
    """Return E for a chance (1 + P) / 2 of being together."""
    P = min(max(2 * chance - 1, -1.0), 1.0)
    return 1.0 - P * P


def relation_factors(embedding: FloatArray, k: int) -> FloatArray:
    """Return a row of numbers for each row, such that (1 + P) / 2 is the product of two of them."""
    if embedding.shape[1] < k:
        size = embedding.shape[1]
        mean_square = float(np.square(embedding).sum(axis=1).mean()) or 1.0
        scaled = embedding * np.sqrt(size / mean_square)
        simplex: FloatArray = np.column_stack([np.ones(len(embedding)), scaled]) / np.sqrt(size + 1)
        return simplex
    length = np.linalg.norm(embedding, axis=1, keepdims=True)
    unit: FloatArray = embedding / np.where(length > 0, length, 1.0)
    return unit


def similarity_graph(rows: FloatArray, n_neighbors: int) -> coo_array:
    """Return the similarities of rows and near neighbours, the larger one where two rows differ."""
    from likewise._neighbors import near_rows

    n = len(rows)
    distances, neighbors = near_rows(rows, min(n_neighbors, n - 1), "exact", 0)
    scales = distances[:, min(_SCALE_NEIGHBOR, distances.shape[1]) - 1]
    # Duplicates of a row make its scale 0; a thousandth of the usual one still tells them from others.
    usual = float(np.median(scales[scales > 0])) if (scales > 0).any() else 1.0
    scales = np.maximum(scales, 1e-3 * usual)
    similar = np.exp(-(distances**2) / (2 * scales[:, None] * scales[neighbors]))
    at = np.repeat(np.arange(n), distances.shape[1])
    half = csr_array((similar.ravel(), (at, neighbors.ravel())), shape=(n, n))
    return coo_array(half.maximum(half.T))


def told_graph(graph: coo_array, state: State, seen: IntArray) -> csr_array:
    """Return the graph with 1 where rows are known to be together and 0 where they are known to be apart.

    Of a component not all pairs are joined, but each row to its first: that is enough to hold it together.
    """
    i, j = graph.coords
    known = state.relations(seen[i], seen[j])
    weights = np.where(known > 0, 1.0, np.where(known < 0, 0.0, graph.data))
    component = state.closure.component[seen]
    _, first, which = np.unique(component, return_index=True, return_inverse=True)
    head = first[which.reshape(-1)]
    rest = np.flatnonzero(head != np.arange(len(seen)))
    star = csr_array((np.ones(len(rest)), (rest, head[rest])), shape=graph.shape)
    told = csr_array((weights, (i, j)), shape=graph.shape)
    return csr_array(told.maximum(star).maximum(star.T))


def eigenvectors(weights: csr_array, k: int) -> FloatArray:
    """Return the leading eigenvectors of the normalised graph: the second one if k is 2, else the first k.

    The second one is divided by the roots of the degrees, as the relaxed indicator of two clusters is. The
    first, which is known to be these roots, is moved out of the way: where the graph falls into parts both
    have the same eigenvalue, and a solver would mix them.
    """
    degrees = np.asarray(weights.sum(axis=1), dtype=np.float64)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    over = diags_array(1.0 / roots)
    normalized = csr_array(over @ weights @ over)
    first = roots / np.linalg.norm(roots) if k == 2 else np.zeros(len(roots))
    n_wanted = 1 if k == 2 else k
    if len(roots) <= max(_DENSE_ROWS, k + 1):
        found = np.linalg.eigh(normalized.toarray() - _OUT * np.outer(first, first))[1]
        vectors: FloatArray = found[:, ::-1][:, :n_wanted]
    else:
        vectors = _leading(normalized, n_wanted, first, roots)
    return vectors / roots[:, None] if k == 2 else vectors


def _leading(matrix: csr_array, k: int, first: FloatArray, start: FloatArray) -> FloatArray:
    """Return the eigenvectors with the k largest eigenvalues, `first` moved below all."""
    from threadpoolctl import threadpool_limits

    def times(vector: FloatArray) -> FloatArray:
        product: FloatArray = matrix @ vector - _OUT * first * (first @ vector)
        return product

    # A start that is an eigenvector already would end the search; the noise holds some of all others.
    mixed = start * (1 + np.random.default_rng(0).standard_normal(len(start)))
    operator = LinearOperator(matrix.shape, matvec=times, dtype=np.float64)
    with threadpool_limits(1):
        ncv = min(max(4 * k, 40), len(start))
        values, vectors = eigsh(operator, k=k, which="LA", v0=mixed, tol=1e-4, ncv=ncv)
    ordered: FloatArray = vectors[:, np.argsort(-values, kind="stable")]
    return ordered
