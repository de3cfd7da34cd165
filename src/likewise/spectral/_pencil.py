r"""The generalised eigenproblem of flexible constrained spectral clustering, solved in factored form.

Wang & Davidson (2010) solve

.. math:: \bar L v = \lambda (\bar Q - \beta I) v, \qquad \lambda > 0 .

It can be transformed in three steps. First, the trivial vector v0, the square roots of the degrees, satisfies
:math:`\bar L v_0 = 0`, and every other solution satisfies :math:`v_0^\top (\bar Q - \beta I) v = 0`. So with
:math:`r = (\bar Q - \beta I) v_0` and :math:`g = v_0^\top r` the other solutions are, up to a multiple of v0,
the solutions of

.. math:: M v = x B v, \qquad M = \bar Q - \beta I - r r^\top / g, \quad B = \bar L + v_0 v_0^\top,
          \quad x = 1 / \lambda,

and B is positive definite if the graph is connected. Second, the number of positive solutions x is the number
of positive eigenvalues of M (Sylvester). Third, the j-th largest x is the root of a decreasing function: the
j-th largest eigenvalue of M - x B is 0 there, and that of :math:`S - v_0 v_0^\top + M / x` is 1, where
:math:`S = I - \bar L`. The latter matrix is a graph plus low-rank terms, as in the rest of this family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from likewise.spectral._affinity import Graph
from likewise.spectral._eigen import Eigen, compute_leading_eigenvectors
from likewise.spectral._link_terms import LinkTerms
from likewise.spectral._operator import LowRank, SpectralOperator

# Up to this many rows a dense solver finds all solutions, as fast as an iterative search for a few.
DENSE_ROWS = 500
# Vectors of cost 0, which a disconnected graph has, solve the problem for any x; the ridge keeps x finite.
_RIDGE = 1e-10
_MOST = 1 / _RIDGE
_ROUNDS = 60
_LINKED_ROWS = 2000  # up to this many linked rows a dense solver finds the eigenvalues of the links
_SPARE = 8  # number of additional solutions among which the lowest costs are selected


@dataclass(frozen=True, eq=False)
class Feasible:
    """Solutions with a positive eigenvalue that separate the rows, by increasing cost.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_found,)
        The eigenvalues lambda.
    vectors : ndarray of shape (n_samples, n_found)
        Unit vectors, each with entries of both signs.
    costs : ndarray of shape (n_found,)
        ``v' L v``: between 0, for a cut through no edge, and 2.
    converged : bool
        Whether all eigenvectors converged to the tolerance.
    """

    eigenvalues: np.ndarray
    vectors: np.ndarray
    costs: np.ndarray
    converged: bool


class Pencil:
    """The eigenproblem of a graph and its links; `find_feasible` solves it for one level."""

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
            self._L = np.eye(n) - (S + S.T) / 2
            self._Q_dense = self._Q.toarray()
            self._B = self._L + np.outer(self._trivial, self._trivial)
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
        values: np.ndarray = np.sort(np.concatenate([found, zeros]))[::-1][:k]
        return values

    def find_feasible(self, level: float, k: int) -> Feasible:
        """Return up to `k` solutions for ``beta / vol = level``, those with the lowest costs.

        Above `DENSE_ROWS` rows only some solutions with the smallest eigenvalues are compared (just `k` if
        the graph is sparse); they nearly always have the lowest costs.
        """
        trivial = self._trivial
        if not trivial.any():
            return self._find_feasible(level, k, np.zeros_like(trivial), 1.0)
        size = max(abs(level), float(np.abs(self._Q @ trivial).max()), 1e-300)
        r = self._Q @ trivial - level * trivial
        if abs(trivial @ r) < 1e-9 * size:
            # The problem is undefined if the trivial vector meets the level exactly; lower it slightly.
            level -= 1e-6 * size
            r = self._Q @ trivial - level * trivial
        return self._find_feasible(level, k, r, float(trivial @ r))

    def _find_feasible(self, level: float, k: int, r: np.ndarray, g: float) -> Feasible:
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
        """Find the k + _SPARE largest x as eigenvalues of inv(C) M inv(C)', where B = C C'."""
        M, n = self._make_matrix(level, 1.0, r, g, graph=False), len(r)

        def multiply(v: np.ndarray) -> np.ndarray:
            inner = solve_triangular(self._factor, np.ravel(v), lower=True, trans="T", check_finite=False)
            found: np.ndarray = solve_triangular(self._factor, M @ inner, lower=True, check_finite=False)
            return found

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
        """Return S - v0 v0' + M / x, or M / x without the graph."""
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
        self, operator: SpectralOperator, k: int, start: np.ndarray | None = None, tol: float | None = None
    ) -> Eigen:
        tol = self._tol if tol is None else tol
        return compute_leading_eigenvectors(
            operator, k, start=start, tol=tol, solver=self._solver, rng=self._rng
        )

    def _search(self, level: float, k: int, r: np.ndarray, g: float) -> Feasible:
        """Find the k largest x, one after the other, by Newton's method within a bracket."""
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
                eigen = self._compute_leading(
                    self._make_matrix(level, x, r, g), j + 1, start, max(self._tol, 1e-3)
                )
                start, v = eigen.vectors, eigen.vectors[:, j]
                height = x * (eigen.values[j] - 1.0)
                low, high = (x, high) if height > 0 else (low, x)
                slope = 1.0 - v @ (self._S @ v) + (v @ self._trivial) ** 2
                step = height / max(slope, 1e-12)
                if abs(step) <= 1e-4 * x or high - low <= 1e-9 * high or x > _MOST / 8:
                    break
                x = _clip_to_bracket(x + step, low, high)
            x = _clip_to_bracket(x + step, low, high)
            eigen = self._compute_leading(self._make_matrix(level, x, r, g), j + 1, start, self._tol)
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
