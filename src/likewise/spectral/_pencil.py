"""The generalised eigenproblem of flexible constrained spectral clustering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from likewise.spectral._affinity import Graph
from likewise.spectral._block_products import GraphBlocks
from likewise.spectral._eigen import (
    Basis,
    CountingOperator,
    Eigen,
    compute_leading_eigenvectors,
    fix_signs,
)
from likewise.spectral._operator import LowRank, SpectralOperator
from likewise.spectral._pair_constraints import LinkTerms

# Up to this many rows a dense solver finds all solutions, as fast as an iterative search for a few.
DENSE_ROWS = 500
# Vectors of cost 0, which a disconnected graph has, solve the problem for any x; the ridge keeps x finite.
_RIDGE = 1e-10
_LINKED_ROWS = 2000  # up to this many linked rows a dense solver finds the eigenvalues of the links
_SPARE = 8  # number of additional solutions among which the lowest costs are selected
_ROUNDS = 100  # of Rayleigh-Ritz for one level
# Residuals are multiplied by the inverse of the graph to this precision, or by this many steps.
_INVERSE_TOL, _INVERSE_STEPS = 0.05, 20
_LARGE_SHIFT = 0.01  # with at least this, these steps are few even for thin graphs, which have factors


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

    Three facts are used. First, the trivial vector v0, the square roots of the degrees,
    satisfies :math:`\bar L v_0 = 0`, and every other solution satisfies
    :math:`v_0^\top (\bar Q - \beta I) v = 0`. So with :math:`r = (\bar Q - \beta I) v_0` and
    :math:`g = v_0^\top r` the other solutions are, up to a multiple of v0, the solutions of

    .. math:: M v = x B v, \qquad M = \bar Q - \beta I - r r^\top / g, \quad B = \bar L + v_0 v_0^\top,
              \quad x = 1 / \lambda, \qquad (2)

    and B is positive definite if the graph is connected. Second, the number of positive solutions x is the
    number of positive eigenvalues of M (Sylvester). Third, the solutions within a subspace never exceed those
    of the whole problem, so the largest are approached from below as the subspace grows.
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
        self._link_eigenpairs: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._eigen: Eigen | None = None
        self._basis: LinkBasis | None = None
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
        return self._compute_link_eigenpairs(k)[0]

    def _compute_link_eigenpairs(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return these eigenvalues, and the vectors of those that are not 0 by definition."""
        if k in self._link_eigenpairs:
            return self._link_eigenpairs[k]
        # Rows without links only add eigenvalues of 0; repeated eigenvalues are hard to find.
        rows = np.flatnonzero(np.diff(self._links.columns.indptr))
        n, wanted, half = len(self._half), min(k, len(rows)), self._half[rows]
        term = LowRank(self._links.columns[rows], self._links.weights)
        linked = SpectralOperator(csr_array((len(rows),) * 2), half, [term], self._links.diagonal[rows])
        if len(rows) <= _LINKED_ROWS:
            found, vectors = eigh(linked.toarray(), subset_by_index=(len(rows) - wanted, len(rows) - 1))
        else:
            eigen = self._compute_leading(linked, wanted)
            found, vectors = eigen.values, eigen.vectors
        every = np.zeros((n, wanted))
        every[rows] = vectors
        values = np.sort(np.concatenate([found, np.zeros(min(k, n - len(rows)))]))[::-1][:k]
        self._link_eigenpairs[k] = values, every
        return values, every

    @property
    def is_iterative(self) -> bool:
        """Whether solutions are found to a tolerance, which is the case for large sparse graphs."""
        return not self._dense and self._factor is None

    def find_feasible(self, level: float, k: int, tol: float = 0.0) -> Feasible:
        """Return up to `k` solutions for ``beta / vol = level``, those with the lowest costs.

        Above `DENSE_ROWS` rows only some solutions with the smallest eigenvalues are compared (just `k` if
        the graph is sparse); they nearly always have the lowest costs. A higher tolerance than that of the
        estimator is used only if the search is iterative.
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
            tol = max(tol, self._tol)
            few = self._search(level, k, r, g, tol)
            # Some solutions may not separate the rows; search for as many more.
            return self._search(level, 2 * k - len(few.costs), r, g, tol) if 0 < len(few.costs) < k else few
        M = self._Q_dense - np.outer(r, r) / g
        M[np.diag_indices_from(M)] -= level
        x, vectors = eigh(M, self._B)
        found = x > 1e-12 * np.abs(x).max(initial=0.0)
        return self._restore_trivial_part(x[found][::-1], vectors[:, found][:, ::-1], r, g, k, True)

    def _solve_factored(self, level: float, k: int, r: np.ndarray, g: float) -> Feasible:
        """Find the k + _SPARE largest x of (2) as eigenvalues of inv(C) M inv(C)', where B = C C'."""
        M, n = self._make_matrix(level, r, g), len(r)

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
        vectors = fix_signs(vectors / np.linalg.norm(vectors, axis=0))
        smooth = self._S @ vectors
        costs = np.maximum(1.0 - np.einsum("ij,ij->j", vectors, smooth), 0.0)
        parts = (vectors.max(axis=0, initial=0.0) > 1e-8) & (vectors.min(axis=0, initial=0.0) < -1e-8)
        order = np.argsort(np.where(parts, costs, np.inf), kind="stable")[: min(k, int(parts.sum()))]
        return Feasible(1 / x[order], vectors[:, order], costs[order], converged)

    # ------------------------------------------------------------------ many rows

    def _make_matrix(self, level: float, r: np.ndarray, g: float) -> SpectralOperator:
        """Return M of (2)."""
        terms = [self._links.make_term(), LowRank((r / self._half)[:, None], np.array([-1 / g]))]
        return SpectralOperator(self._nothing, self._half, terms, self._links.diagonal, shift=-level)

    def _compute_leading(self, operator: SpectralOperator, k: int) -> Eigen:
        return compute_leading_eigenvectors(operator, k, tol=self._tol, solver=self._solver, rng=self._rng)

    def start_from(self, eigen: Eigen) -> None:
        """Use known leading eigenvectors of the normalised graph for the search."""
        self._eigen = eigen

    def _search(self, level: float, k: int, r: np.ndarray, g: float, tol: float) -> Feasible:
        """Find the k largest x of (2) by Rayleigh-Ritz on a growing basis, which all levels share.

        This is the generalised Davidson method: the basis grows by the residuals of the solutions, multiplied
        by an approximate inverse of B.
        """
        values, links = self._compute_link_eigenpairs(min(k + 1, len(r)))
        # M has as many positive eigenvalues as Q - beta I, or one less if the trivial vector is feasible.
        k = min(k, max(int((values > level + 1e-9 * values[0]).sum()) - (g > 0), 0))
        if k == 0:
            return Feasible(np.empty(0), np.empty((len(r), 0)), np.empty(0), True)
        if self._basis is None:
            if self._eigen is None:
                self._eigen = self._compute_leading(self._S, min(k + 1, len(r)))
            self._basis = LinkBasis(self._S, self._Q, self._trivial, 8 * (k + 4))
            self._basis.add(np.hstack([self._eigen.vectors, self._invert(links, 0.0)]))
        basis, M = self._basis, self._make_matrix(level, r, g)
        most, converged = -np.inf, False
        for _ in range(_ROUNDS):
            x, vectors = basis.solve(level, g, k)
            residuals = M @ vectors - x * self._multiply_B(vectors)
            far = np.linalg.norm(residuals, axis=0) > tol * x
            if not far.any():
                if x.sum() <= most * (1 + 1e-6):
                    converged = True
                    break
                # Two random columns reveal solutions that the basis misses.
                most, far = x.sum(), np.ones(2, dtype=bool)
                residuals = self._rng.standard_normal((len(r), 2))
                residuals[:, 0] = self._Q @ residuals[:, 0]
            basis.make_room(int(far.sum()), k)
            shift = level / x[0] if level > 0 and x[0] > 0 else 0.0
            if not basis.add(self._invert(residuals[:, far], shift)):
                break
        return self._restore_trivial_part(x, vectors, r, g, k, converged)

    def _multiply_B(self, block: np.ndarray) -> np.ndarray:
        image: np.ndarray = (1.0 + _RIDGE) * block - self._S @ block
        return image + np.outer(self._trivial, self._trivial @ block)

    @cached_property
    def _blocks(self) -> GraphBlocks:
        return GraphBlocks(self._S.graph)

    def _invert(self, block: np.ndarray, shift: float) -> np.ndarray:
        """Return about ``inv(B + shift I) @ block``."""
        if self._eigen is not None and self._eigen.inverse is not None and shift < _LARGE_SHIFT:
            return np.asarray(self._eigen.inverse @ block)
        factor = 1.0 / (1.0 + max(shift, 1e-3))
        return self._blocks.solve(block.T, factor, tol=_INVERSE_TOL, max_iter=_INVERSE_STEPS).T


class LinkBasis(Basis):
    """Orthonormal columns V with the products that (2) needs at any level: V' S V, V' Q V, V' v0, V' Q v0."""

    def __init__(self, S: SpectralOperator, Q: SpectralOperator, trivial: np.ndarray, room: int) -> None:
        super().__init__(CountingOperator(S), room)
        self._Q, self._trivial, self._image = Q, trivial, Q @ trivial
        self._linked = np.zeros_like(self.inner)
        self._sides = np.zeros((self.room, 2))

    def add(self, block: np.ndarray, overlap: np.ndarray | None = None) -> int:
        """Append the part of `block` outside the span of the basis; return the number of new columns."""
        low, added = self.size, super().add(block, overlap)
        self._update(low)
        return added

    def _update(self, low: int) -> None:
        m = self.size
        columns = self.columns[:, :m]
        mixed = columns.T @ (self._Q @ columns[:, low:])
        self._linked[:m, low:m], self._linked[low:m, :m] = mixed, mixed.T
        self._sides[low:m] = columns[:, low:].T @ np.column_stack([self._trivial, self._image])

    def solve(self, level: float, g: float, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest solutions x within the span, and their unit vectors."""
        m = self.size
        t, r = self._sides[:m, 0], self._sides[:m, 1] - level * self._sides[:m, 0]
        M = self._linked[:m, :m] - np.outer(r, r) / g
        M[np.diag_indices(m)] -= level
        B = np.outer(t, t) - self.inner[:m, :m]
        B[np.diag_indices(m)] += 1.0 + _RIDGE
        x, turn = eigh((M + M.T) / 2, (B + B.T) / 2)
        self._turn = turn[:, ::-1] / np.linalg.norm(turn[:, ::-1], axis=0)
        return x[::-1][:k], self.columns[:, :m] @ self._turn[:, :k]

    def make_room(self, wanted: int, keep: int) -> None:
        """Keep the leading solutions, and the leading vectors of the graph, if there is too little room."""
        m = self.size
        if m + wanted <= self.room:
            return
        leading = np.linalg.eigh(self.inner[:m, :m])[1][:, ::-1]
        turn = np.linalg.qr(np.hstack([self._turn[:, : 2 * keep], leading[:, : keep + 1]]))[0]
        self.size = turn.shape[1]
        self.columns[:, : self.size] = self.columns[:, :m] @ turn
        self.images[:, : self.size] = self.images[:, :m] @ turn
        self.inner[: self.size, : self.size] = turn.T @ self.inner[:m, :m] @ turn
        self._update(0)
