"""Flexible constrained spectral clustering: the cheapest cut that satisfies the links to a given level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.metrics import pairwise_distances_argmin

from likewise._typing import RandomStateLike
from likewise.base import Rule
from likewise.exceptions import InfeasibleSupervisionError
from likewise.spectral._affinity import Graph
from likewise.spectral._base import Partition, SpectralFamily, compute_cluster_means, round_by_kmeans
from likewise.spectral._eigen import Eigen, compute_leading_eigenvectors
from likewise.spectral._operator import LowRank, SpectralOperator
from likewise.spectral._pair_constraints import LinkTerms, derive_implied_links
from likewise.supervision import Supervision

# The levels that "auto" tries, in ascending order. A few random links per cluster need low levels; links
# between all pairs of many labelled rows, as in the paper, need high levels.
_LEVELS = (-1.0, -0.3, 0.0, 0.03, 0.1, 0.25, 0.5, 0.75)
_NONE = 1e-9  # eigenvalues below this share of the largest count as 0
# Up to this many rows a dense solver finds all solutions, as fast as an iterative search for a few.
DENSE_ROWS = 500
# Vectors of cost 0, which a disconnected graph has, solve the problem for any x; the ridge keeps x finite.
_RIDGE = 1e-10
_MOST = 1 / _RIDGE
_ROUNDS = 60
_LINKED_ROWS = 2000  # up to this many linked rows a dense solver finds the eigenvalues of the links
_SPARE = 8  # number of additional solutions among which the lowest costs are selected


@dataclass(frozen=True, eq=False, kw_only=True)
class Cut(Partition):
    """A partition by feasible vectors, with their costs, the level and beta."""

    costs: np.ndarray
    level: float
    beta: float


class FlexibleSpectralClustering(SpectralFamily):
    r"""Normalised cut with a lower bound on link satisfaction (CSC, CSP; Wang & Davidson 2010).

    With the normalised Laplacian :math:`\bar L = I - D^{-1/2} W D^{-1/2}` and the normalised links
    :math:`\bar Q = D^{-1/2} Q D^{-1/2}`, where :math:`Q_{ij}` is the weight of a must-link, minus the weight
    of a cannot-link, or 0, the problem

    .. math:: \min_v v^\top \bar L v \quad\text{s.t.}\quad v^\top \bar Q v \ge \alpha,
              \ \|v\|^2 = \mathrm{vol}, \ v \ne D^{1/2} 1 ,

    is solved through the generalised eigenproblem
    :math:`\bar L v = \lambda (\bar Q - \frac{\beta}{\mathrm{vol}} I) v`. Its eigenvectors with
    :math:`\lambda > 0` are feasible, as :math:`v^\top \bar Q v > \beta`. For two clusters, as published, rows
    are divided by the sign of :math:`u = D^{-1/2} v` for the feasible v with the lowest cost
    :math:`v^\top \bar L v`. For K clusters the K - 1 feasible vectors with the lowest costs are used: each
    column of u is multiplied by one minus the cost of the unit vector, and the rows are clustered by k-means
    (Wang, Qian & Davidson 2014; from memory, and as in the authors' program). As in that program, vectors
    without entries of both signs are skipped, since they do not separate rows.

    The restatement of Xiong, Johnson & Corso (eq. 10) has the normalised Laplacian with
    :math:`u^\top D u = \mathrm{vol}` and an unnormalised Q; here all are normalised, as in the original.

    Implied links are included: all rows of a must-link component are linked, with the mean weight of its
    links, and all rows of two components with a cannot-link between them are cannot-linked. Contradictory
    links give a warning and are traded off against one another. Without links, or with one cluster, this is
    plain spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    level : float below 1, or "auto", default="auto"
        The lower bound on link satisfaction: :math:`\beta / \mathrm{vol}` as a share of the (K - 1)-th
        largest eigenvalue of :math:`\bar Q`, the largest value for which K - 1 feasible vectors can exist.
        The authors' program has 0.5 for two clusters. With negative levels links may be violated. If too few
        vectors are feasible, an error is raised. "auto" compares plain spectral clustering with levels from
        -1 to 0.75 and keeps the first whose number of violated links is within chance of the lowest number m
        (m plus its square root, or m + 1). For this comparison linked rows are assigned by their neighbours.
        High levels suit links between all pairs of many rows; with few random links such vectors separate
        only the linked rows.
    {common}

    Attributes
    ----------
    {fitted}
    level_ : float or None
        The level that was used; None if plain spectral clustering was kept.
    beta_ : float or None
        The value of :math:`\beta` at this level.
    costs_ : ndarray of shape (n_clusters - 1,)
        The cost :math:`v^\top \bar L v / \|v\|^2` of each vector.

    Notes
    -----
    ``embedding_`` has K - 1 columns, and ``eigenvalues_`` contains :math:`1 + \lambda \beta / \mathrm{vol}`:
    for a row without links, the mean of the neighbours is this factor times its own coordinate, which is how
    `predict` embeds new rows. If "auto" keeps plain spectral clustering, both attributes refer to it.

    Up to 500 rows all feasible vectors are found by a dense solver, O(n^3) for each level. For more rows only
    those with the smallest :math:`\lambda` are found, which nearly always have the lowest cost: the first
    K + 7 with a graph of all pairs, after one Cholesky factorisation; the first K - 1 with a sparse graph,
    each by about five Newton steps. A Newton step computes the leading eigenvectors of the graph plus a
    multiple of the links, in memory linear in both. ``row_normalize`` and "discretize" apply only to plain
    spectral clustering.

    References
    ----------
    X. Wang and I. Davidson (2010), Flexible constrained spectral clustering, KDD, sect. 3.
    X. Wang, B. Qian and I. Davidson (2014), On constrained spectral clustering and its applications, Data
    Mining and Knowledge Discovery 28.
    C. Xiong, D. Johnson and J. J. Corso, Online active constraint selection for semi-supervised clustering,
    sect. 2.4, eq. 10.

    Examples
    --------
    Four clouds at the corners of a square; the links separate the upper two from the lower two.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.spectral import FlexibleSpectralClustering
    >>> above, right = np.arange(80) % 2, np.arange(80) // 40
    >>> X = np.random.default_rng(0).normal(size=(80, 2)) + 4 * np.column_stack([right, above])
    >>> hints = Supervision.from_labels([int(above[i]) if i % 8 < 2 else None for i in range(80)])
    >>> model = FlexibleSpectralClustering(2, level=0.5, as_links=True, random_state=0)
    >>> model.fit(X, supervision=hints).violations_.share
    1.0
    >>> bool(max((model.labels_ == above).mean(), (model.labels_ != above).mean()) > 0.9)
    True
    """

    costs_: np.ndarray

    level: float | Literal["auto"]

    _seconds_per_row: ClassVar[float] = 1.6e-3  # up to six levels, each with several searches for roots
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "level": Rule.either(
            Rule("a number below 1", lambda v: Rule.real(-np.inf).holds(v) and bool(v < 1)),
            Rule.choice("auto"),
        ),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        level: float | Literal["auto"] = "auto",
        affinity: str = "local",
        n_neighbors: Any = "auto",
        scale: Any = "median",
        neighbor_search: str = "auto",
        as_links: bool = False,
        row_normalize: bool = True,
        assign_labels: str = "kmeans",
        n_init: int = 10,
        eigen_solver: str = "auto",
        tol: float = 1e-5,
        warm_start: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self._store_parameters(locals())

    def _cluster(self, graph: Graph, hints: Supervision, rng: Any, last: Partition | None) -> Partition:
        closure = self._compute_soft_closure(hints)
        wanted = self.n_clusters - 1
        last = None if isinstance(last, Cut) else last  # feasible vectors are no start for plain eigenvectors
        if wanted == 0 or "links" not in hints.kinds:
            return super()._cluster(graph, hints, rng, last)
        pencil = Pencil(
            graph, derive_implied_links(hints, closure), tol=self.tol, solver=self.eigen_solver, rng=rng
        )
        values = pencil.compute_link_eigenvalues(wanted)
        positive = values > _NONE * values[0]
        if not isinstance(self.level, str):
            level, most = float(self.level), float(values[-1])
            if not positive[-1]:
                raise self._make_error(
                    f"level={self.level!r}, but the link matrix has only {positive.sum()} positive "
                    "eigenvalue(s).",
                    "Add links between other rows, lower n_clusters, or set level='auto'.",
                )
            found = pencil.find_feasible(level * most, wanted)
            if len(found.costs) < wanted:
                raise self._make_error(
                    f"level={self.level!r} (of {most:.3g}) and separate the rows, but {len(found.costs)} "
                    "exist(s). If must-links outweigh cannot-links, a single cluster also satisfies them, "
                    "which takes the place of one eigenvector.",
                    "Lower the level, add cannot-links, or set level='auto'.",
                )
            return self._partition_by_vectors(found, level, level * most, graph, rng)

        tried = [super()._cluster(graph, hints, rng, last)]
        most = float(values[-1] if positive[-1] else values[0])
        for level in _LEVELS:
            found = pencil.find_feasible(level * most, wanted)
            if len(found.costs) < wanted:
                break  # higher levels have even fewer feasible vectors
            tried.append(self._partition_by_vectors(found, level, level * most, graph, rng))
        best = self._find_fewest_violated(tried, graph, hints)[0]
        return replace(tried[best], n_rounds=len(tried))

    def _make_error(self, what: str, suggestion: str) -> InfeasibleSupervisionError:
        return InfeasibleSupervisionError(
            f"{{estimator}}: n_clusters={self.n_clusters} requires {self.n_clusters - 1} eigenvectors that "
            f"satisfy the links to {what}",
            suggestion,
            parameter="level",
            kinds=("links",),
            estimator=type(self).__name__,
        )

    def _partition_by_vectors(
        self, found: Feasible, level: float, beta: float, graph: Graph, rng: Any
    ) -> Cut:
        """Cluster the rows by the feasible vectors; for two clusters, by sign."""
        eigen = Eigen(1.0 + found.eigenvalues * beta, found.vectors, 0, "pencil", found.converged)
        half, stretch = graph.degrees**-0.5, 1.0 - found.costs
        places = found.vectors * half[:, None]
        rows = places * stretch
        if self.n_clusters == 2:
            labels = (places[:, 0] > 0).astype(np.int64)
        else:
            labels = round_by_kmeans(rows, self.n_clusters, self.n_init, rng)
        volume = float(graph.degrees.sum())
        return Cut(eigen, rows, labels, half, stretch, costs=found.costs, level=level, beta=beta * volume)

    def _assign_new_rows(self, alike: Any, degrees: np.ndarray, found: Partition) -> np.ndarray:
        if not isinstance(found, Cut):
            return super()._assign_new_rows(alike, degrees, found)
        places = self._extend_eigenvectors(alike, degrees, found) / np.sqrt(degrees)[:, None]
        if self.n_clusters == 2:
            return (places[:, 0] > 0).astype(np.int64)
        filled = np.unique(found.labels)
        means = compute_cluster_means(found.rows, found.labels, self.n_clusters)[filled]
        return filled[pairwise_distances_argmin(places * found.stretch, means)]

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        self.level_: float | None = None
        self.beta_: float | None = None
        self.costs_ = 1.0 - partition.eigen.values[1:]
        if isinstance(partition, Cut):
            self.level_, self.beta_, self.costs_ = partition.level, partition.beta, partition.costs


@dataclass(frozen=True, eq=False)
class Feasible:
    """Solutions with a positive eigenvalue that separate the rows, by increasing cost."""

    eigenvalues: np.ndarray  # (n_found,) the eigenvalues lambda
    vectors: np.ndarray  # (n_samples, n_found) unit vectors, each with entries of both signs
    costs: np.ndarray  # (n_found,) ``v' L v``: between 0, for a cut through no edge, and 2
    converged: bool  # whether all eigenvectors converged to the tolerance


class Pencil:
    r"""The eigenproblem of a graph and its links, solved in factored form; `find_feasible` solves one level.

    .. math:: \bar L v = \lambda (\bar Q - \beta I) v, \qquad \lambda > 0 \qquad (1)

    It can be transformed in three steps. First, the trivial vector v0, the square roots of the degrees,
    satisfies :math:`\bar L v_0 = 0`, and every other solution satisfies
    :math:`v_0^\top (\bar Q - \beta I) v = 0`. So with :math:`r = (\bar Q - \beta I) v_0` and
    :math:`g = v_0^\top r` the other solutions are, up to a multiple of v0, the solutions of

    .. math:: M v = x B v, \qquad M = \bar Q - \beta I - r r^\top / g, \quad B = \bar L + v_0 v_0^\top,
              \quad x = 1 / \lambda, \qquad (2)

    and B is positive definite if the graph is connected. Second, the number of positive solutions x is the
    number of positive eigenvalues of M (Sylvester). Third, the j-th largest x is the root of a decreasing
    function: the j-th largest eigenvalue of M - x B is 0 there, and that of

    .. math:: S - v_0 v_0^\top + M / x, \qquad S = I - \bar L, \qquad (3)

    is 1. The latter matrix is a graph plus low-rank terms, as in the rest of this family.
    """

    def __init__(self, graph: Graph, links: LinkTerms, *, tol: float, solver: str, rng: Any) -> None:
        self._graph, self._links = graph, links
        self._tol, self._solver, self._rng = tol, solver, rng
        self._half = graph.degrees**-0.5
        strengths = np.asarray(graph.weights.sum(axis=1), dtype=np.float64).ravel()
        self._trivial = np.sqrt(strengths / max(float(strengths.sum()), 1e-300))  # 0 for isolated rows
        n = graph.n_samples
        self._nothing = csr_array((n, n))
        self._S = SpectralOperator(graph.weights, self._half)
        self._Q = SpectralOperator(self._nothing, self._half, [links.make_term()], links.diagonal)
        self._dense = n <= DENSE_ROWS or solver == "dense"
        self._factor = None
        if not self._dense and not issparse(graph.weights):
            # One factorisation is used for all levels.
            B = np.outer(self._trivial, self._trivial) - self._half[:, None] * graph.weights * self._half
            B[np.diag_indices(n)] += 1.0 + _RIDGE
            self._factor = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
        if self._dense:
            S = self._S.toarray()
            self._Q_dense = self._Q.toarray()
            self._B = np.eye(n) - (S + S.T) / 2 + np.outer(self._trivial, self._trivial)
            self._B[np.diag_indices(n)] += _RIDGE

    def compute_link_eigenvalues(self, k: int) -> np.ndarray:
        """Return the k largest eigenvalues of the normalised link matrix, largest first."""
        # Rows without links only add eigenvalues of 0; repeated eigenvalues are hard to find.
        rows = np.flatnonzero(np.diff(self._links.columns.indptr))
        wanted, half = min(k, len(rows)), self._half[rows]
        term = LowRank(self._links.columns[rows], self._links.weights)
        linked = SpectralOperator(csr_array((len(rows),) * 2), half, [term], self._links.diagonal[rows])
        if len(rows) <= _LINKED_ROWS:
            first = len(rows) - wanted
            found = eigh(linked.toarray(), eigvals_only=True, subset_by_index=(first, len(rows) - 1))
        else:
            found = self._compute_leading(linked, wanted).values
        zeros = np.zeros(min(k, len(self._half) - len(rows)))
        return np.sort(np.concatenate([found, zeros]))[::-1][:k]

    def find_feasible(self, level: float, k: int) -> Feasible:
        """Return up to `k` solutions for ``beta / vol = level``, those with the lowest costs.

        Above `DENSE_ROWS` rows only some solutions with the smallest eigenvalues are compared (just `k` if
        the graph is sparse); they nearly always have the lowest costs.
        """
        trivial, r, g = self._trivial, np.zeros_like(self._trivial), 1.0
        if trivial.any():
            image = self._Q @ trivial
            size = max(abs(level), float(np.abs(image).max()), 1e-300)
            if abs(trivial @ (image - level * trivial)) < 1e-9 * size:
                # The problem is undefined if the trivial vector meets the level exactly; lower it slightly.
                level -= 1e-6 * size
            r = image - level * trivial
            g = float(trivial @ r)
        if self._factor is not None:
            return self._solve_factored(level, k, r, g)
        if not self._dense:
            few = self._search(level, k, r, g)
            # Some solutions may not separate the rows; search for as many more.
            return self._search(level, 2 * k - len(few.costs), r, g) if 0 < len(few.costs) < k else few
        M = self._Q_dense - np.outer(r, r) / g
        M[np.diag_indices_from(M)] -= level
        x, vectors = eigh(M, self._B)
        found = x > 1e-12 * np.abs(x).max(initial=0.0)
        return self._restore_trivial_part(x[found][::-1], vectors[:, found][:, ::-1], r, g, k, True)

    def _solve_factored(self, level: float, k: int, r: np.ndarray, g: float) -> Feasible:
        """Find the k + _SPARE largest x of (2) as eigenvalues of inv(C) M inv(C)', where B = C C'."""
        M, n = self._make_matrix(level, 1.0, r, g, graph=False), len(r)

        def multiply(v: np.ndarray) -> np.ndarray:
            inner = solve_triangular(self._factor, np.ravel(v), lower=True, trans="T", check_finite=False)
            return solve_triangular(self._factor, M @ inner, lower=True, check_finite=False)

        operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
        wanted = min(k + _SPARE, n - 1)
        converged = True
        try:
            x, vectors = eigsh(operator, wanted, which="LA", tol=self._tol, v0=self._rng.standard_normal(n))
        except ArpackNoConvergence as stopped:
            x, vectors, converged = stopped.eigenvalues, stopped.eigenvectors, False
        found = x > 1e-12 * np.abs(x).max(initial=0.0)
        order = np.flatnonzero(found)[np.argsort(-x[found], kind="stable")]
        vectors = solve_triangular(self._factor, vectors[:, order], lower=True, trans="T", check_finite=False)
        return self._restore_trivial_part(x[order], vectors, r, g, k, converged)

    def _restore_trivial_part(
        self, x: np.ndarray, vectors: np.ndarray, r: np.ndarray, g: float, k: int, converged: bool
    ) -> Feasible:
        """Add the multiple of the trivial vector; keep the `k` cheapest solutions that separate the rows."""
        vectors = vectors - np.outer(self._trivial, (r @ vectors) / g)
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        smooth = self._S @ vectors
        costs = np.maximum(1.0 - np.einsum("ij,ij->j", vectors, smooth), 0.0)
        parts = (vectors.max(axis=0, initial=0.0) > 1e-8) & (vectors.min(axis=0, initial=0.0) < -1e-8)
        order = np.argsort(np.where(parts, costs, np.inf), kind="stable")[: min(k, int(parts.sum()))]
        return Feasible(1 / x[order], vectors[:, order], costs[order], converged)

    # ------------------------------------------------------------------ many rows

    def _make_matrix(
        self, level: float, x: float, r: np.ndarray, g: float, graph: bool = True
    ) -> SpectralOperator:
        """Return the matrix (3), or M / x without the graph."""
        unscaled = [LowRank((r / self._half)[:, None], np.array([-1 / (g * x)]))]
        if graph:
            unscaled.append(LowRank((self._trivial / self._half)[:, None], np.array([-1.0])))
        return SpectralOperator(
            self._graph.weights if graph else self._nothing,
            self._half,
            [self._links.make_term(1 / x), *unscaled],
            self._links.diagonal / x,
            shift=-level / x,
        )

    def _compute_leading(
        self, operator: SpectralOperator, k: int, start: np.ndarray | None = None, tol: float = 0.0
    ) -> Eigen:
        tol = max(self._tol, tol)
        return compute_leading_eigenvectors(
            operator, k, start=start, tol=tol, solver=self._solver, rng=self._rng
        )

    def _search(self, level: float, k: int, r: np.ndarray, g: float) -> Feasible:
        """Find the k largest x, one after the other, by Newton's method on (3) within a bracket."""
        values = self.compute_link_eigenvalues(min(k + 1, len(r)))
        # M has as many positive eigenvalues as Q - beta I, or one less if the trivial vector is feasible.
        k = min(k, max(int((values > level + 1e-9 * values[0]).sum()) - (g > 0), 0))
        x = max(float(values[0]) - level, 1e-300)
        roots, vectors, converged = np.empty(k), np.empty((len(r), k)), True
        start: np.ndarray | None = None
        highest = _MOST
        for j in range(k):
            low, high = 0.0, highest
            for _ in range(_ROUNDS):
                # Eigenvalues are accurate to the square of the vector's error, so a loose tolerance suffices.
                eigen = self._compute_leading(self._make_matrix(level, x, r, g), j + 1, start, tol=1e-3)
                start, v = eigen.vectors, eigen.vectors[:, j]
                height = x * (eigen.values[j] - 1.0)
                low, high = (x, high) if height > 0 else (low, x)
                slope = 1.0 - v @ (self._S @ v) + (v @ self._trivial) ** 2
                step = height / max(slope, 1e-12)
                if abs(step) <= 1e-4 * x or high - low <= 1e-9 * high or x > _MOST / 8:
                    break
                x = _clip_to_bracket(x + step, low, high)
            x = _clip_to_bracket(x + step, low, high)
            eigen = self._compute_leading(self._make_matrix(level, x, r, g), j + 1, start)
            start, converged = eigen.vectors, converged and eigen.converged
            roots[j], vectors[:, j] = x, eigen.vectors[:, j]
            highest = x * (1 + 1e-9)
        return self._restore_trivial_part(roots, vectors, r, g, k, converged)


def _clip_to_bracket(x: float, low: float, high: float) -> float:
    """Return x if it is inside the bracket, else a point inside the bracket."""
    if low < x < high:
        return x
    if low == 0.0:
        return high / 8
    return min(8 * low, float(np.sqrt(low * high)))
