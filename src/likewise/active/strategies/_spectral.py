"""Active spectral clustering: the pair with the largest expected error of the spectral relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from likewise.active._questions import Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._marginal import make_pair_filter, select_pairs
from likewise.active.strategies._placing import (
    FloatArray,
    IntArray,
    add_questions,
    cache_result,
    draw_fixed_subset,
    standardize_columns,
)
from likewise.active.strategies._random import RandomPairs
from likewise.base import Rule
from likewise.supervision import Links

_DENSE_ROWS = 300  # up to this size a dense solver is faster than a sparse one
_SCALE_NEIGHBOR = 7
_OUT = 3.0  # subtracted from the eigenvalue 1 this gives a value below all others, which are at least -1


@dataclass(frozen=True)
class ActiveSpectral(CheckedStrategy):
    """The pair with the largest expected error of the spectral relaxation (ASC; Wang & Davidson 2010).

    There are two estimates of the relation :math:`\\pm 1` of two rows, both clipped to [-1, 1]. The
    *relaxation* gives :math:`\\hat Q_{ij} = u_i u_j`, with u the relaxed indicator of two clusters scaled to
    :math:`u^\\top D u = \\sum_i D_{ii}`. The *answers* give Q: 1 on the diagonal and for must-links, -1
    for cannot-links, 0 elsewhere. Its rank-one singular value decomposition
    :math:`\\bar Q = \\sigma_1 p_1 q_1^\\top` extends the answers to other pairs, and
    :math:`P_{ij} = (1 + \\bar Q_{ij}) / 2` is the probability of the answer "together". The pair with the
    largest expected squared error of the relaxation is asked:

    .. math:: E_{ij} = (\\hat Q_{ij} - 1)^2 P_{ij} + (\\hat Q_{ij} + 1)^2 (1 - P_{ij})
        = 1 + \\hat Q_{ij}^2 - 2 \\hat Q_{ij} \\bar Q_{ij} .

    Pairs on which answers and relaxation disagree come first. Pairs without any information from the answers
    have :math:`E = 1 + \\hat Q^2`; of these, the one that the relaxation is most certain of is verified. This
    is the rule of the authors' program, with two differences. Links that follow from other answers are not
    asked; with two clusters these are nearly all pairs about which the answers give information. Ties, which
    are frequent because of the clipping, go to the first pair in a random row order that is fixed by the
    seed; the program takes the first pair in the order of the file.

    If several connected components of the links share the largest singular value, the decomposition is not
    unique; the first component in the same row order is used.

    The method is for two clusters. Xiong, Johnson & Corso used it for K > 2 without details; what is done
    here is in the manner of the method. The rows z of the first K eigenvectors are scaled to length 1, as in
    spectral clustering. For ideal clusters :math:`z_i^\\top z_j` is 1 if i and j belong together and 0
    otherwise, and :math:`\\hat Q = 2 z_i^\\top z_j - 1`. An embedding of K - 1 columns without the constant
    one is treated as corners of a simplex, with :math:`(1 + (K - 1) u_i^\\top u_j) / K` instead of the inner
    product.

    For the spectral family the eigenvectors are the ``embedding_`` of the model. For other models they are
    the eigenvectors of the normalised graph of nearest neighbours. Its similarities are scaled by the
    distance to the seventh neighbour (Zelnik-Manor & Perona 2004), and are 1 for rows known to belong
    together and 0 for rows known to be different.

    All pairs are scored in blocks, in O(n^2 K) time and 16 MB per block. With more than `max_rows` rows, the
    pairs of a random subset of that size are scored.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours in the graph, if the model has no embedding.
    max_rows : int, default=10000
        Maximum number of rows whose pairs are scored.

    References
    ----------
    X. Wang and I. Davidson (2010), Active spectral clustering, ICDM, and the authors' program
    (``active_query.m`` of github.com/gnaixgnaw/CSP).

    Examples
    --------
    Without answers, the pairs that the eigenvectors are most certain of come first.

    >>> import numpy as np
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import ActiveSpectral
    >>> X = np.array([0.0, 0.5, 1.0, 1.5, 2.7, 3.3, 4.5, 5.0, 5.5, 6.0])[:, None]
    >>> question = ActiveSpectral(n_neighbors=4).choose(InterviewState.from_data(X, n_clusters=2), 1)[0]
    >>> question.score, str(question.reason)
    (2.0, 'The eigenvectors separate them; the answers so far join them with probability 0.50.')
    """

    n_neighbors: int = 15
    max_rows: int = 10_000

    name: ClassVar[str] = "asc"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})
    parameter_rules: ClassVar[dict[str, Rule]] = {"n_neighbors": Rule.integer(1), "max_rows": Rule.integer(2)}

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        if state.n_samples < 2 or n < 1:
            return []
        seen = draw_fixed_subset(state, self.max_rows)
        # One row order for the whole interview: ties go to the first pair in it.
        order = np.random.default_rng(state.random_state).permutation(len(seen))
        factors = self._get_relation_factors(state, seen)[order]
        rows = seen[order]
        sigma, vector = approximate_answers(state.closure.links, rows, state.n_samples)

        def compute_score(start: int, stop: int) -> FloatArray:
            relaxed = 2.0 * (factors[start:stop] @ factors[start:].T) - 1.0
            answered = sigma * np.outer(vector[start:stop], vector[start:])
            # Rounded, so ties do not depend on the order of summation.
            return np.round(compute_expected_error(relaxed, answered), 9)

        pairs, errors = select_pairs(compute_score, len(rows), n, make_pair_filter(state, rows))
        together = np.einsum("ij,ij->i", factors[pairs[:, 0]], factors[pairs[:, 1]]) > 0.5
        chances = 0.5 + 0.5 * np.clip(sigma * vector[pairs[:, 0]] * vector[pairs[:, 1]], -1.0, 1.0)
        questions = [
            Question.pair(
                *pair,
                score=error,
                reason=f"The eigenvectors {'join' if joined else 'separate'} them; the answers so far join "
                f"them with probability {chance:.2f}.",
            )
            for pair, error, joined, chance in zip(
                rows[pairs].tolist(), errors.tolist(), together, chances, strict=True
            )
        ]
        if len(questions) < n < state.n_samples**2 and len(seen) < state.n_samples:
            # Nothing is left to ask about the subset; ask random pairs of all rows.
            found = {question.key: question for question in questions}
            return add_questions(found, RandomPairs().choose(state, n), n)
        return questions

    def _get_relation_factors(self, state: InterviewState, seen: IntArray) -> FloatArray:
        k = state.n_clusters
        if k is None:
            k = 2 if state.labels is None else len(np.unique(state.labels))
        k = max(2, k)
        given = getattr(state.model, "embedding_", None)
        if given is not None and np.shape(given)[0] == state.n_samples:
            graph = getattr(state.model, "affinity_matrix_", None)
            degrees = (
                None if graph is None else np.asarray(graph.sum(axis=1), dtype=np.float64).reshape(-1)[seen]
            )
            return compute_relation_factors(np.asarray(given, dtype=np.float64)[seen], k, degrees)
        key = ("similarity graph", self.n_neighbors, self.max_rows, state.random_state)
        graph = cache_result(
            state, key, lambda: build_similarity_graph(standardize_columns(state.X[seen]), self.n_neighbors)
        )
        constrained = constrain_graph(graph, state, seen)
        used = (k, constrained.indptr, constrained.indices, constrained.data)
        vectors = cache_result(
            state,
            ("eigenvectors", *key[1:]),
            lambda: compute_eigenvectors(constrained, min(k, len(seen))),
            *used,
        )
        return compute_relation_factors(vectors, k, np.asarray(constrained.sum(axis=1), dtype=np.float64))


def compute_expected_error(relaxed: FloatArray, answered: FloatArray) -> FloatArray:
    """Return E, the expected squared error of the relaxed relations, given the relations by the answers."""
    relaxed, answered = np.clip(relaxed, -1.0, 1.0), np.clip(answered, -1.0, 1.0)
    return 1.0 + relaxed * (relaxed - 2.0 * answered)


def approximate_answers(links: Links, rows: IntArray, n_samples: int) -> tuple[float, FloatArray]:
    """Return s and v of the best approximation s v v' of rank one to Q = I ± the links between some rows.

    The leading singular vectors of the symmetric Q are its eigenvector with the largest absolute eigenvalue.
    They are zero outside of one connected component of the links; components with the largest possible
    eigenvalue come first, ties in the order of `rows`.
    """
    positions = np.full(n_samples, -1)
    positions[rows] = np.arange(len(rows))
    links = links.restrict(rows, positions)
    vector = np.zeros(len(rows))
    if not len(links):
        return 1.0, vector  # Q is the identity: no information about any pair
    signed = _SignedLinks.from_links(links, len(rows))
    component = connected_components(signed.reach, directed=False)[1]
    _, first, component = np.unique(component, return_index=True, return_inverse=True)
    bounds = np.zeros(len(first))
    np.maximum.at(bounds, component.reshape(-1), signed.absolute_sums)
    best = 0.0
    for c in np.lexsort((first, -bounds)).tolist():
        if bounds[c] <= abs(best) + 1e-9:
            break
        members = np.flatnonzero(component == c)
        value, found = signed.compute_leading(members)
        if abs(value) > abs(best) + 1e-9:
            best, vector = value, np.zeros(len(rows))
            vector[members] = found
    return best, vector


@dataclass(frozen=True, eq=False)
class _SignedLinks:
    """Q = I ± links, stored as a sparse matrix of pairs and indicator columns of groups.

    Attributes
    ----------
    pairs : csr_array of shape (n, n)
        1 for must-links, -1 for cannot-links, without pairs that a group contains.
    groups : csr_array of shape (n, n_groups)
        The rows of each group.
    signs : ndarray of shape (n_groups,)
        1 for a must-link group, -1 for a cannot-link group.
    """

    pairs: csr_array
    groups: csr_array
    signs: FloatArray

    @classmethod
    def from_links(cls, links: Links, n: int) -> _SignedLinks:
        parts = (links.must_groups, links.cannot_groups)
        columns = np.concatenate([parts[0].group_of, len(parts[0]) + parts[1].group_of])
        members = np.concatenate([part.members for part in parts])
        signs = np.repeat([1.0, -1.0], [len(part) for part in parts])
        groups = csr_array((np.ones(len(members)), (members, columns)), shape=(n, len(signs)))
        i, j = np.concatenate([links.must, links.cannot]).T
        values = np.repeat([1.0, -1.0], [len(links.must), len(links.cannot)])
        if len(signs):
            inside = np.asarray(groups[i].multiply(groups[j]).sum(axis=1)).reshape(-1) > 0
            i, j, values = i[~inside], j[~inside], values[~inside]
        half = csr_array((values, (i, j)), shape=(n, n))
        return cls(csr_array(half + half.T), groups, signs)

    @property
    def reach(self) -> csr_array:
        """A graph with the same connected components as the links."""
        sizes = np.asarray(self.groups.sum(axis=0)).reshape(-1)
        return csr_array(abs(self.pairs) + self.groups @ diags_array(1.0 / sizes) @ self.groups.T)

    @property
    def absolute_sums(self) -> FloatArray:
        """The sum of the absolute entries of each row of Q; the largest one bounds all eigenvalues."""
        sizes = np.asarray(self.groups.sum(axis=0)).reshape(-1)
        sums: FloatArray = (
            1.0 + np.asarray(abs(self.pairs).sum(axis=1)).reshape(-1) + self.groups @ (sizes - 1.0)
        )
        return sums

    def compute_leading(self, rows: IntArray) -> tuple[float, FloatArray]:
        """Return the eigenvalue with the largest absolute value on some rows, and its unit eigenvector."""
        pairs, groups = self.pairs[rows][:, rows], self.groups[rows]
        diagonal = 1.0 - groups @ self.signs
        if len(rows) <= _DENSE_ROWS:
            whole = pairs.toarray() + (groups.toarray() * self.signs) @ groups.toarray().T
            values, vectors = np.linalg.eigh(whole + np.diag(diagonal))
            at = int(np.abs(np.round(values, 9)).argmax())
            return float(values[at]), vectors[:, at]

        def multiply(vector: FloatArray) -> FloatArray:
            grouped = groups @ (self.signs * (groups.T @ vector))
            return np.asarray(pairs @ vector + grouped + diagonal * vector)

        operator = LinearOperator(pairs.shape, matvec=multiply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(len(rows))
        values, vectors = eigsh(operator, k=1, which="LM", v0=start)
        return float(values[0]), vectors[:, 0]


def compute_relation_factors(embedding: FloatArray, k: int, degrees: FloatArray | None = None) -> FloatArray:
    """Return a vector for each row; the inner product of two is (1 + the relaxed relation) / 2."""
    if embedding.shape[1] < k:
        size = embedding.shape[1]
        # All edges may have been removed.
        weights = degrees if degrees is not None and degrees.any() else None
        mean_square = float(np.average(np.square(embedding).sum(axis=1), weights=weights)) or 1.0
        scaled = embedding * np.sqrt(size / mean_square)
        return np.asarray(np.column_stack([np.ones(len(embedding)), scaled]) / np.sqrt(size + 1))
    length = np.linalg.norm(embedding, axis=1, keepdims=True)
    return embedding / np.where(length > 0, length, 1.0)


def build_similarity_graph(rows: FloatArray, n_neighbors: int) -> coo_array:
    """Return the similarities of nearest neighbours, symmetrised by the larger of the two directions."""
    from likewise.backends.neighbors import find_near_rows

    n = len(rows)
    distances, neighbors = find_near_rows(rows, min(n_neighbors, n - 1), "exact", 0)
    scales = distances[:, min(_SCALE_NEIGHBOR, distances.shape[1]) - 1]
    # Duplicates of a row make its scale 0; a thousandth of the median still separates them from others.
    usual = float(np.median(scales[scales > 0])) if (scales > 0).any() else 1.0
    scales = np.maximum(scales, 1e-3 * usual)
    similar = np.exp(-(distances**2) / (2 * scales[:, None] * scales[neighbors]))
    at = np.repeat(np.arange(n), distances.shape[1])
    half = csr_array((similar.ravel(), (at, neighbors.ravel())), shape=(n, n))
    return coo_array(half.maximum(half.T))


def constrain_graph(graph: coo_array, state: InterviewState, seen: IntArray) -> csr_array:
    """Return the graph with 1 for rows known to belong together and 0 for rows known to be different.

    The rows of a component are linked to its first row only, which is enough to connect it.
    """
    i, j = graph.coords
    known = state.relations(seen[i], seen[j])
    weights = np.where(known > 0, 1.0, np.where(known < 0, 0.0, graph.data))
    component = state.closure.component[seen]
    _, first, which = np.unique(component, return_index=True, return_inverse=True)
    head = first[which.reshape(-1)]
    rest = np.flatnonzero(head != np.arange(len(seen)))
    star = csr_array((np.ones(len(rest)), (rest, head[rest])), shape=graph.shape)
    constrained = csr_array((weights, (i, j)), shape=graph.shape)
    return csr_array(constrained.maximum(star).maximum(star.T))


def compute_eigenvectors(weights: csr_array, k: int) -> FloatArray:
    """Return the leading eigenvectors of the normalised graph: the second one if k is 2, else the first k.

    The second one is divided by the square roots of the degrees, as in the relaxed indicator of two clusters.
    The first one is known to be these roots and is deflated: if the graph is not connected, both have the
    same eigenvalue, and a solver would mix them.
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
        vectors = _compute_leading(normalized, n_wanted, first, roots)
    return vectors / roots[:, None] if k == 2 else vectors


def _compute_leading(matrix: csr_array, k: int, first: FloatArray, start: FloatArray) -> FloatArray:
    """Return the eigenvectors with the k largest eigenvalues, without `first`."""
    from threadpoolctl import threadpool_limits

    def multiply(vector: FloatArray) -> FloatArray:
        return np.asarray(matrix @ vector - _OUT * first * (first @ vector))

    # A start that is already an eigenvector would end the search, so add noise.
    mixed = start * (1 + np.random.default_rng(0).standard_normal(len(start)))
    operator = LinearOperator(matrix.shape, matvec=multiply, dtype=np.float64)
    with threadpool_limits(1):
        ncv = min(max(4 * k, 40), len(start))
        values, vectors = eigsh(operator, k=k, which="LA", v0=mixed, tol=1e-4, ncv=ncv)
    return np.asarray(vectors[:, np.argsort(-values, kind="stable")])
