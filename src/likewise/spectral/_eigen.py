"""The leading eigenvectors of a symmetric operator, from nothing or from those of a similar one."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csgraph, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

from likewise.spectral._krylov import (
    Basis,
    CountingOperator,
    apply_chebyshev_filter,
    compute_basis,
    compute_damped_interval,
    filter_degree,
    run_lanczos,
)
from likewise.spectral._operator import SpectralOperator

SOLVERS = ("auto", "dense", "arpack", "inverse", "lobpcg")

# Up to here the whole matrix is decomposed, which takes some milliseconds and misses nothing.
_SMALL = 300
_LARGE = 6_000  # beyond this the whole matrix is not decomposed unless asked for
# A graph whose widest breadth-first level holds w rows is thin if w^2 is at most this many times n. Surfaces
# have 2 to 20, solids and clouds of four or more dimensions 60 and more; a thin one is factored with little
# fill (7 times its entries at 100,000 rows), and it is there that eigenvalues crowd and Lanczos is slow.
_THIN = 30.0
# Rounds of refinement: from a start that turns out to be poor it is better to begin anew.
_ROUNDS, _ROUNDS_WARM = 60, 20
# How many products, or inverses, are taken of each direction before the next Rayleigh-Ritz step, and how many
# columns there is room for beside those of the start. One more link at 10,000 and 100,000 rows: 6 of 4 to 12
# tried was best, and 2 or 3 inverses.
_DEPTH = 6
_DEPTH_INVERSE = 3
_DEPTH_MISSED = 2
_ROOM = 40


@dataclass(frozen=True, eq=False)
class Eigen:
    """The algebraically largest eigenvalues of an operator and their eigenvectors.

    Parameters
    ----------
    values : ndarray of shape (k,), descending
    vectors : ndarray of shape (N, k), orthonormal; the entry of largest size in each is positive
    n_products : int
        How many vectors the operator was multiplied with.
    solver : str
        What found them: "dense", "arpack", "inverse", "lobpcg", or "warm" from given vectors.
    converged : bool
        Whether every residual is below the tolerance.
    inverse : object
        The factors, to start again from. They are not pickled.
    factored : bool
        Whether there were such factors.
    spare : ndarray of shape (N, 1) or None
        Roughly the next vector. With it a start need not look for it again to know that it comes after.
    """

    values: np.ndarray
    vectors: np.ndarray
    n_products: int
    solver: str
    converged: bool
    inverse: Any = field(default=None, repr=False)
    factored: bool = False
    spare: np.ndarray | None = field(default=None, repr=False)

    def __getstate__(self):
        return {**self.__dict__, "inverse": None}


def compute_leading_eigenvectors(
    operator: SpectralOperator,
    k: int,
    *,
    start: np.ndarray | Eigen | None = None,
    tol: float = 1e-6,
    solver: str = "auto",
    rng: np.random.RandomState | np.random.Generator,
) -> Eigen:
    r"""Return the `k` algebraically largest eigenpairs of a symmetric operator.

    A pair is accepted when :math:`\|Sx - \theta x\| \le tol\,|\theta|`. Whichever way the pairs were found, a
    short Lanczos run in their complement then looks for a direction that was missed: a Krylov method sees one
    copy of a repeated eigenvalue, as disconnected graphs have, and vectors of an earlier operator may all be
    orthogonal to a new leading one.

    - "dense": the whole matrix, O(N^3). Chosen for small N, where `k` is a large part of N, and up to 6,000
      rows where the others do not arrive.
    - "arpack": implicitly restarted Lanczos on a Chebyshev polynomial of the operator, which spares
      orthogonalisations; products only.
    - "inverse": block Lanczos on the inverse of (σI − graph), by a sparse factorisation. Chosen for thin
      graphs, in which eigenvalues crowd; of graphs of high dimension the factors fill memory.
    - "lobpcg": block conjugate gradients without a preconditioner.

    With `start` the pairs are refined from there (generalised Davidson: Rayleigh-Ritz on a growing block,
    Davidson 1975; here residuals are filtered by a Chebyshev polynomial, Zhou & Saad 2007, or by the inverse
    that a previous result carries). If that does not arrive in a few rounds the start is given up.

    Memory is O(N k), beside the factors for "inverse" and the matrix for "dense".

    Parameters
    ----------
    operator : SpectralOperator of shape (N, N)
    k : int, from 1 to N
    start : ndarray of shape (N, m) or Eigen, optional
        Eigenvectors of a similar operator.
    tol : float
    solver : {"auto", "dense", "arpack", "inverse", "lobpcg"}
    rng : RandomState or Generator
        Draws starting vectors.

    Examples
    --------
    >>> import numpy as np
    >>> path = SpectralOperator(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> compute_leading_eigenvectors(path, 2, rng=np.random.default_rng(0)).values[:1].round(3)
    array([1.414])
    """
    n = operator.shape[0]
    if not 1 <= k <= n:
        raise ValueError(f"{k} eigenvectors were asked of a matrix of {n} rows; wanted from 1 to {n}.")
    if solver not in SOLVERS:
        raise ValueError(f"The solver is {solver!r}; wanted one of {', '.join(map(repr, SOLVERS))}.")
    if solver == "inverse" and operator.graph is None:
        raise ValueError("The solver 'inverse' factors a sparse graph and the weights are dense; use 'auto'.")
    if solver == "dense" or n <= _SMALL or k > n // 8:
        return _solve_dense(operator, k)

    tol = max(tol, 1e-11)  # what rounding allows
    counted = CountingOperator(operator)
    if start is not None:
        inverse = getattr(start, "inverse", None)
        block = _make_block(start)
        if block.ndim != 2 or len(block) != n:
            raise ValueError(f"The start has shape {block.shape}; wanted ({n}, m), one row for each row.")
        if isinstance(start, Eigen):
            factor = start.factored
        else:
            factor = _needs_inverse(operator, solver, _find_connected_parts(operator))
        if inverse is None and factor:
            inverse = _Inverse(operator, k)
        result = _refine(counted, block, k, tol, inverse, rng, "warm")
        if result.converged:
            return result
    parts, inverse, auto = _find_connected_parts(operator), None, solver == "auto"
    if _needs_inverse(operator, solver, parts):
        solver, inverse = "inverse", _Inverse(operator, k)
        block = _from_inverse(counted, inverse, k, rng)
    elif solver == "lobpcg":
        block = _from_lobpcg(counted, k, tol, rng)
    else:
        solver, block = "arpack", _from_arpack(counted, k, tol, rng)
    block = np.hstack([block, _make_indicators(operator, parts, k)])
    result = _refine(counted, block, k, tol, inverse, rng, solver)
    return result if result.converged or not auto or n > _LARGE else _solve_dense(operator, k)


def _solve_dense(operator: SpectralOperator, k: int) -> Eigen:
    n = operator.shape[0]
    values, vectors = eigh(operator.toarray(), subset_by_index=(n - k, n - 1))
    return Eigen(values[::-1].copy(), _fix_signs(vectors[:, ::-1]), n, "dense", True)


def _make_block(start):
    if not isinstance(start, Eigen):
        return np.asarray(start, dtype=np.float64)
    return start.vectors if start.spare is None else np.hstack([start.vectors, start.spare])


class _Inverse:
    """The inverse of (σI − A), for A the sparse part of the operator and σ above its spectrum."""

    def __init__(self, operator, k):
        matrix, self.complete = operator.get_sparse_part()
        n = matrix.shape[0]
        # Collatz and Wielandt: for any positive x no eigenvalue exceeds the largest (|A|x)_i / x_i. With x =
        # 1 / s this is 1, and reached, for a graph normalised by its degrees.
        x = np.ones(n) if operator.scale is None else 1.0 / np.maximum(operator.scale, 1e-300)
        bound = self.bound = float(np.max((abs(matrix) @ x) / x))
        # On a surface the k-th eigenvalue lies some k/n below the first (Weyl); a shift of that size spreads
        # the wanted ones best, and keeps the factors well conditioned.
        sigma = bound + max(k / n, 1e-6) * max(bound, 1e-12)
        self.factors = splu(
            (sigma * eye_array(n) - matrix).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def __matmul__(self, block):
        return self.factors.solve(np.ascontiguousarray(block))


def _find_connected_parts(operator) -> np.ndarray:
    """Return the number of the connected part that each row is in; dense weights are one part."""
    if operator.graph is None:
        return np.zeros(operator.shape[0], dtype=np.intp)
    return csgraph.connected_components(operator.graph, directed=True, connection="strong")[1]


def _make_indicators(operator, parts, k):
    """Return a column for each of the k largest parts: for a graph normalised by degrees an eigenvector."""
    sizes = np.bincount(parts)
    if len(sizes) == 1:
        return np.empty((len(parts), 0))
    columns = (parts[:, None] == np.argsort(-sizes, kind="stable")[:k]).astype(np.float64)
    return columns if operator.scale is None else columns / np.maximum(operator.scale, 1e-300)[:, None]


def _needs_inverse(operator, solver, parts) -> bool:
    if solver != "auto" or operator.graph is None:
        return solver == "inverse"
    return _is_thin(operator.graph, parts)


def _is_thin(graph, parts) -> bool:
    """Whether the graph has small separators, judged by the levels of a breadth-first walk from a far end."""
    n = graph.shape[0]
    _, first, sizes = np.unique(parts, return_index=True, return_counts=True)
    for root in first[sizes >= n / 20]:
        far = csgraph.breadth_first_order(graph, root, return_predecessors=False)[-1]
        order, before = csgraph.breadth_first_order(graph, far)
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(len(order))
        parents = place[before[order[1:]]]  # ascending, so a level ends where parents of the next one begin
        low, high = 0, 1
        while high < len(order):
            low, high = high, 1 + int(np.searchsorted(parents, high))
            if (high - low) ** 2 > _THIN * n:
                return False
    return True


def _from_inverse(counted, inverse, k, rng):
    """Return a Krylov space of the inverse, and directions in which terms act that the inverse leaves out."""
    # Factors are applied to four columns in little more time than to two: at 100,000 rows a block takes 0.7
    # of the time of ARPACK, though more columns.
    n, width = counted.shape[0], max(4, -(-2 * k // 5))
    basis = Basis(counted, 7 * width)
    basis.expand(inverse @ rng.standard_normal((n, width)), 7, inverse)
    columns = basis.columns[:, : basis.size]
    return columns if inverse.complete else np.hstack([columns, counted @ rng.standard_normal((n, k))])


def _from_arpack(counted, k, tol, rng):
    n = counted.shape[0]
    values, vectors = run_lanczos(counted, None, 2 * k + 20, rng)
    degree, interval = 1, None
    if len(values) > k and counted.operator.graph is not None:
        # Ritz values never exceed the eigenvalues: all that is wanted lies above the cut and keeps its order.
        interval = compute_damped_interval(values[0], values[-k])
        degree = 1 if interval is None else min(5, filter_degree(values[-1], interval, 1e6))
    action = LinearOperator(
        counted.shape,
        matvec=lambda x: (
            counted @ np.ravel(x)
            if degree < 2
            else apply_chebyshev_filter(counted, np.ravel(x), interval, degree)
        ),
        dtype=np.float64,
    )
    try:
        return _run_eigsh(action, k, max(2 * k + 4, 24), tol / 2, vectors[:, -k:].sum(axis=1), rng)
    except ArpackError:  # the zero matrix, for one
        return rng.standard_normal((n, k))


def _run_eigsh(action, k, n_columns, tol, start, rng):
    seeded = {}
    if "rng" in inspect.signature(eigsh).parameters:  # recent SciPy draws from the system without it
        seeded["rng"] = np.random.default_rng(int.from_bytes(rng.bytes(8), "little"))
    try:
        return eigsh(action, k, which="LA", ncv=n_columns, tol=tol, v0=start, **seeded)[1]
    except ArpackNoConvergence as stopped:
        return stopped.eigenvectors


def _from_lobpcg(counted, k, tol, rng):
    n = counted.shape[0]
    action = LinearOperator(
        counted.shape, matvec=counted.__matmul__, matmat=counted.__matmul__, dtype=np.float64
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the residuals are looked at afterwards, by _refine
        return lobpcg(action, rng.standard_normal((n, k + 2)), tol=tol, maxiter=500, largest=True)[1]


def _refine(counted, start, k, tol, inverse, rng, solver) -> Eigen:
    """Improve the span of `start` until its k leading pairs are eigenpairs and nothing larger is found."""
    basis = Basis(counted, max(start.shape[1], k) + max(_ROOM, 2 * k))
    basis.add(start)
    while basis.size < k:
        basis.add(rng.standard_normal((counted.shape[0], k - basis.size)))
    most, done = -np.inf, False
    for _ in range(_ROUNDS_WARM if solver == "warm" else _ROUNDS):
        values, vectors, residuals = basis.compute_ritz(k + 1)
        sizes = np.linalg.norm(residuals, axis=0)
        enough = tol * np.maximum(np.abs(values), 1e-3 * np.abs(values).max())
        far = sizes > enough
        # The next pair matters while it may rise above the last.
        far[k:] &= (sizes[k:] > 10 * enough[k:]) & (values[k:] + sizes[k:] > values[k - 1])
        # Ritz values move by their residuals at most. If the sum rose by more since the complement was looked
        # at, another vector has come in, and there may be more of its kind.
        done = not far.any() and values[:k].sum() <= most
        if done:
            break
        # The inverse is that of the sparse part. What other terms lift above it is reached by products.
        near = far & (values <= 1.01 * inverse.bound) if inverse is not None else np.zeros_like(far)
        least = 0.3 * enough.min()
        by_products, by_inverse = (
            compute_basis(residuals[:, far & ~near], least),
            compute_basis(residuals[:, near], least),
        )
        missed = residuals[:, :0]
        if most == -np.inf or not far.any():
            most = values[:k].sum() + sizes[:k].sum() + 1e-10 * np.abs(values).sum()
            if inverse is not None:
                by_inverse = np.hstack([by_inverse, rng.standard_normal((counted.shape[0], 1))])
            if inverse is None or not inverse.complete:
                missed = _find_missed(counted, vectors, values[k - 1], inverse, rng)
        wanted = _DEPTH * by_products.shape[1] + _DEPTH_MISSED * missed.shape[1]
        basis.make_room(wanted + _DEPTH_INVERSE * by_inverse.shape[1], k + 3)
        new = basis.expand(by_products, _DEPTH) + basis.expand(missed, _DEPTH_MISSED)
        if inverse is not None:
            new += basis.expand(inverse @ by_inverse, _DEPTH_INVERSE, inverse)
        if not new:
            done = not far.any()
            break
    # Where values cluster the basis has lost some orthogonality to rounding; QR turns columns by no more.
    orthonormal = np.linalg.qr(vectors[:, :k])[0]
    return Eigen(
        values[:k],
        _fix_signs(orthonormal),
        counted.n_products,
        solver,
        bool(done),
        inverse,
        inverse is not None,
        vectors[:, k:],
    )


def _find_missed(counted, vectors, least, inverse, rng):
    """Return a column in which an eigenvector above `least` and orthogonal to the given ones would show."""
    values, columns = run_lanczos(counted, vectors, 8, rng)
    column = columns[:, -1:]
    if inverse is not None or not len(values):
        return column  # what low-rank terms lift stands out
    interval = compute_damped_interval(values[0], min(values[-1], least))
    if interval is None:
        return column
    degree = min(12, filter_degree(max(values[-1], least), interval, 1e4))
    return apply_chebyshev_filter(counted, column, interval, degree)


def estimate_eigenvalues(
    operator: SpectralOperator, k: int, rng: np.random.RandomState | np.random.Generator
) -> np.ndarray:
    """Return the k largest eigenvalues to a digit or two, from below, by one short Lanczos run.

    Copies of one eigenvalue count once, so that it may return fewer than k.
    """
    values, _ = run_lanczos(CountingOperator(operator), None, min(2 * k + 20, operator.shape[0]), rng)
    return values[::-1][:k]


def _fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Make the entry of largest size in each column positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
