"""Leading eigenvectors of a symmetric operator, optionally starting from those of a similar operator."""

from __future__ import annotations

import inspect
import threading
import warnings
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csgraph, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

from likewise.spectral._block_products import LARGE_GRAPH
from likewise.spectral._operator import SpectralOperator


class CountingOperator:
    """An operator that counts its matrix-vector products."""

    def __init__(self, operator):
        self.operator, self.shape, self.n_products = operator, operator.shape, 0

    def __matmul__(self, block):
        self.n_products += 1 if block.ndim == 1 else block.shape[1]
        return self.operator._matmat(block)


class Basis:
    """Orthonormal columns and their images under an operator, with a fixed maximum number of columns."""

    def __init__(self, counted, room):
        n = counted.shape[0]
        self.counted, self.room, self.size = counted, min(room, n), 0
        self.columns = np.empty((n, self.room), order="F")
        self.images = np.empty((n, self.room), order="F")
        self.inner = np.zeros((self.room, self.room))

    def compute_ritz(self, k):
        """Return the k leading Ritz values, their vectors and their residuals."""
        m = self.size
        values, turn = np.linalg.eigh(self.inner[:m, :m])
        self._values, self._turn = values[::-1], turn[:, ::-1]
        turn = self._turn[:, :k]
        vectors = self.columns[:, :m] @ turn
        return self._values[:k], vectors, self.images[:, :m] @ turn - vectors * self._values[:k]

    def expand(self, block, depth, inverse=None) -> int:
        """Append `block` and its repeated images, `depth` blocks in all; return the number of new columns."""
        before, overlap = self.size, None
        for _ in range(depth):
            low = self.size
            if not block.shape[1] or not self.add(block, overlap):
                break
            if inverse is None:
                block, overlap = self.images[:, low : self.size], self.inner[: self.size, low : self.size]
            else:
                block = inverse @ self.columns[:, low : self.size]
        return self.size - before

    def add(self, block, overlap=None) -> int:
        """Append the part of `block` outside the span of the basis; return the number of new columns.

        `overlap` is ``columns.T @ block`` if it is known.
        """
        low = self.size
        old = self.columns[:, :low]
        for _ in range(2):
            sizes = np.linalg.norm(block, axis=0)
            block = block - old @ (old.T @ block if overlap is None else overlap)
            overlap = None
            sizes[sizes == 0.0] = 1.0
            squares, turn = np.linalg.eigh((block.T @ block) / np.outer(sizes, sizes))
            kept = squares > 1e-12
            block = block @ (turn[:, kept] / np.sqrt(squares[kept]) / sizes[:, None])
            if squares.min(initial=1.0) > 0.5:
                break  # little cancellation, so the rest is as orthogonal as the basis
        high = min(low + block.shape[1], self.room)
        block = block[:, block.shape[1] - (high - low) :]  # the last columns are the least dependent
        if high > low:
            self.columns[:, low:high] = block
            self.images[:, low:high] = self.counted @ block
            mixed = self.columns[:, :high].T @ self.images[:, low:high]
            self.inner[:high, low:high] = mixed
            self.inner[low:high, :high] = mixed.T
            self.size = high
        return high - low

    def make_room(self, wanted, keep):
        """Keep only the `keep` leading Ritz vectors if there is no room for `wanted` more columns."""
        keep = min(keep, self.size)
        if self.size + wanted <= self.room:
            return
        turn = self._turn[:, :keep]
        self.columns[:, :keep] = self.columns[:, : self.size] @ turn
        self.images[:, :keep] = self.images[:, : self.size] @ turn
        self.inner[:keep, :keep] = np.diag(self._values[:keep])
        self.size = keep


def compute_basis(block, least):
    """Return the left singular vectors of `block` with singular values above `least`."""
    squares, turn = np.linalg.eigh(block.T @ block)
    kept = squares > max(least, 0.0) ** 2
    return block @ (turn[:, kept] / np.sqrt(squares[kept]))


def run_lanczos(counted, outside_of, steps, rng):
    """Return Ritz values, ascending, and vectors of a Krylov space orthogonal to the given columns."""
    n = counted.shape[0]
    fixed = 0 if outside_of is None else outside_of.shape[1]
    columns = np.empty((n, fixed + steps), order="F")
    if fixed:
        columns[:, :fixed] = outside_of
    inner = np.zeros((steps, steps))
    vector = rng.standard_normal(n)
    vector += counted.operator.apply_terms(vector)  # missed eigenvectors are likely to come from the terms
    vector -= columns[:, :fixed] @ (columns[:, :fixed].T @ vector)
    size, first = np.linalg.norm(vector), np.sqrt(n)
    done = 0
    while done < steps and size > 1e-10 * first:
        m = fixed + done + 1
        columns[:, m - 1] = vector / size
        vector = counted @ columns[:, m - 1]
        first = max(np.linalg.norm(vector), 1e-300)
        parts = columns[:, :m].T @ vector
        vector -= columns[:, :m] @ parts
        inner[: done + 1, done] = parts[fixed:]
        size = np.linalg.norm(vector)
        done += 1
    values, turn = np.linalg.eigh(inner[:done, :done], UPLO="U")
    return values, columns[:, fixed : fixed + done] @ turn


def compute_damped_interval(low, cut):
    """Return the centre and half-width of the interval that a filter damps, or None if it is a point."""
    low -= 0.05 * (cut - low)  # the smallest Ritz value is above the smallest eigenvalue
    half = (cut - low) / 2
    return ((cut + low) / 2, half) if half > 1e-12 * max(abs(cut), abs(low)) else None


def filter_degree(value, interval, gain) -> int:
    """Return the degree at which the filter amplifies the eigenvector of `value` about `gain` times."""
    centre, half = interval
    x = (value - centre) / half
    return max(1, int(np.arccosh(gain) / np.arccosh(x))) if x > 1 + 1e-9 else 1000


def apply_chebyshev_filter(counted, block, interval, degree):
    """Return T(S) @ block for the Chebyshev polynomial T with |T| at most 1 on the interval."""
    centre, half = interval
    old, new = block, ((counted @ block) - centre * block) / half
    for _ in range(degree - 1):
        after = counted @ new
        after -= centre * new
        after *= 2.0 / half
        after -= old
        old, new = new, after
    return new


SOLVERS = ("auto", "dense", "arpack", "inverse", "lobpcg")

# Up to this many rows the dense solver is used; it takes some milliseconds and misses no eigenvector.
_SMALL = 300
_LARGE = 6_000  # with more rows, "auto" does not fall back to the dense solver
# A graph whose widest breadth-first level has w rows is thin if w^2 is at most this many times n. The ratio
# is 2 to 20 for surfaces and at least 60 for solids and point clouds of four or more dimensions. The factors
# of a thin graph have little fill-in (7 times its entries at 100,000 rows), and its eigenvalues are so close
# together that Lanczos is slow.
_THIN = 30.0
# Maximum number of refinement rounds; it is faster to discard a poor start than to refine it for long.
_ROUNDS, _ROUNDS_WARM = 60, 20
# Number of products, or inverses, per direction between two Rayleigh-Ritz steps, and number of columns beside
# those of the start. Tuned on one more link at 10,000 and 100,000 rows: of 4 to 12 products, 6 were fastest,
# and 2 or 3 inverses.
_DEPTH = 6
_DEPTH_INVERSE = 3
_DEPTH_MISSED = 2
_ROOM = 40
# Large graphs are first tried in single precision: 50 products instead of 200 to 440 with ten overlapping
# clusters. The tolerance is relative to the eigenvalues; the residuals are smaller, about 1e-6.
_SINGLE_TOL, _SINGLE_RESTARTS = 1e-4, 12


@dataclass(frozen=True, eq=False)
class Eigen:
    """The algebraically largest eigenvalues of an operator and their eigenvectors."""

    values: np.ndarray  # (k,), descending
    vectors: np.ndarray  # (N, k), orthonormal; the entry of largest size in each is positive
    n_products: int  # the number of matrix-vector products
    solver: str  # the solver: "dense", "arpack", "inverse", "lobpcg", or "warm" if started from given vectors
    converged: bool  # whether every residual is below the tolerance
    # The factorisation, for the next start. It is not pickled.
    inverse: Any = field(default=None, repr=False)
    factored: bool = False  # whether a factorisation was used
    # (N, 1) an approximation of the next eigenvector, which saves a search for it in the next start
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

    A pair is accepted when :math:`\|Sx - \theta x\| \le tol\,|\theta|`. For every solver, a short Lanczos run
    in the complement of the pairs then searches for missed eigenvectors: a Krylov method finds only one copy
    of a repeated eigenvalue, which disconnected graphs have, and the vectors of an earlier operator may all
    be orthogonal to a new leading eigenvector.

    - "dense": the whole matrix, O(N^3). "auto" uses it for small N, for `k` above N / 8, and for up to 6,000
      rows if another solver does not converge.
    - "arpack": implicitly restarted Lanczos on a Chebyshev polynomial of the operator, which reduces the
      number of orthogonalisations; needs only products. For more than 40,000 rows a short run in single
      precision comes first.
    - "inverse": block Lanczos on the inverse of (σI − graph), by a sparse factorisation. "auto" uses it for
      thin graphs, whose eigenvalues are close together. For graphs of high dimension the factors need too
      much memory.
    - "lobpcg": block conjugate gradients without a preconditioner.

    With `start`, eigenvectors of a similar operator as columns or a previous result, the pairs are refined
    from there (generalised Davidson: Rayleigh-Ritz on a growing block, Davidson 1975; residuals are filtered
    by a Chebyshev polynomial, Zhou & Saad 2007, or by the inverse stored in a previous result). If this does
    not converge in a few rounds, the start is discarded.

    Memory is O(N k), plus the factors for "inverse" and the matrix for "dense".

    SciPy's shift-invert mode alone (``eigsh(sigma=...)``, one factorisation for all graphs) does not replace
    these solvers. On 10,000 rows with links and k = 10 it took 0.7 times the CPU time of "auto" for a rolled
    sheet, but 5 times for clouds in five dimensions, whose factors have 14 times the entries of the graph,
    and 5 and 31 times when starting from known vectors.

    Examples
    --------
    >>> import numpy as np
    >>> path = SpectralOperator(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> compute_leading_eigenvectors(path, 2, rng=np.random.default_rng(0)).values[:1].round(3)
    array([1.414])
    """
    n = operator.shape[0]
    if not 1 <= k <= n:
        raise ValueError(f"got k={k} eigenvectors for a matrix of {n} rows; expected from 1 to {n}.")
    if solver not in SOLVERS:
        raise ValueError(f"expected one of {', '.join(map(repr, SOLVERS))} as solver; got {solver!r}.")
    if solver == "inverse" and operator.graph is None:
        raise ValueError("The solver 'inverse' requires a sparse graph; got dense weights. Use 'auto'.")
    if solver == "dense" or n <= _SMALL or k > n // 8:
        return _solve_dense(operator, k)

    tol = max(tol, 1e-11)  # limit due to rounding
    counted = CountingOperator(operator)
    if start is not None:
        if isinstance(start, Eigen):
            inverse, factor, block = start.inverse, start.factored, start.vectors
            if start.spare is not None:
                block = np.hstack([block, start.spare])
        else:
            inverse, block = None, np.asarray(start, dtype=np.float64)
            factor = _needs_inverse(operator, solver, _find_connected_parts(operator))
        if block.ndim != 2 or len(block) != n:
            raise ValueError(f"The start has shape {block.shape}; expected ({n}, m).")
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
    return Eigen(values[::-1].copy(), fix_signs(vectors[:, ::-1]), n, "dense", True)


class _Inverse:
    """The inverse of (σI − A), where A is the sparse part of the operator and σ is above its spectrum."""

    def __init__(self, operator, k):
        matrix, self.complete = operator.get_sparse_part()
        n = matrix.shape[0]
        # Collatz and Wielandt: for any positive x no eigenvalue exceeds the largest (|A|x)_i / x_i. For a
        # graph normalised by its degrees, x = 1 / s gives the exact largest eigenvalue, 1.
        x = np.ones(n) if operator.scale is None else 1.0 / np.maximum(operator.scale, 1e-300)
        bound = self.bound = float(np.max((abs(matrix) @ x) / x))
        # On a surface the k-th eigenvalue is about k/n below the first (Weyl); a shift of this size separates
        # the leading eigenvalues best and keeps the factors well conditioned.
        sigma = bound + max(k / n, 1e-6) * max(bound, 1e-12)
        self.factors = _factorize((sigma * eye_array(n) - matrix).tocsc())

    def __matmul__(self, block):
        return self.factors.solve(np.ascontiguousarray(block))


def _factorize(matrix):
    """Return the factors of a sparse symmetric matrix, so that Ctrl-C ends the wait for a large one."""
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    if matrix.shape[0] <= LARGE_GRAPH:
        return splu(matrix, **options)
    found = Future()

    def work():
        try:
            found.set_result(splu(matrix, **options))
        except BaseException as error:
            found.set_exception(error)

    # One call that takes seconds. A daemon thread does not keep an interrupted process alive.
    threading.Thread(target=work, daemon=True).start()
    while not wait([found], timeout=0.1).done:  # a signal may reach the other thread and not end the wait
        pass
    return found.result()


def _find_connected_parts(operator) -> np.ndarray:
    """Return the connected component of each row; dense weights count as one component."""
    if operator.graph is None:
        return np.zeros(operator.shape[0], dtype=np.intp)
    return csgraph.connected_components(operator.graph, directed=True, connection="strong")[1]


def _make_indicators(operator, parts, k):
    """Return one column for each of the k largest components, an eigenvector if normalised by degrees."""
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
    """Return True if all levels of a breadth-first search from a peripheral row are small."""
    n = graph.shape[0]
    _, first, sizes = np.unique(parts, return_index=True, return_counts=True)
    for root in first[sizes >= n / 20]:
        far = csgraph.breadth_first_order(graph, root, return_predecessors=False)[-1]
        order, before = csgraph.breadth_first_order(graph, far)
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(len(order))
        parents = place[before[order[1:]]]  # ascending, so searchsorted finds the end of a level
        low, high = 0, 1
        while high < len(order):
            low, high = high, 1 + int(np.searchsorted(parents, high))
            if (high - low) ** 2 > _THIN * n:
                return False
    return True


def _from_inverse(counted, inverse, k, rng):
    """Return a Krylov space of the inverse, plus images under the operator if the inverse lacks terms."""
    # Solving for four columns takes little more time than for two: at 100,000 rows a block takes 0.7 times
    # as long as ARPACK, although it needs more columns.
    n, width = counted.shape[0], max(4, -(-2 * k // 5))
    basis = Basis(counted, 7 * width)
    basis.expand(inverse @ rng.standard_normal((n, width)), 7, inverse)
    columns = basis.columns[:, : basis.size]
    return columns if inverse.complete else np.hstack([columns, counted @ rng.standard_normal((n, k))])


def _from_single_precision(counted, k, tol, rng):
    """Return the leading eigenvectors by a short run of ARPACK in single precision, or None."""
    operator, n = counted.operator, counted.shape[0]
    graph = operator.graph.astype(np.float32)

    def multiply(x):
        counted.n_products += 1
        x = np.ravel(x)
        return graph @ x + operator.apply_rest(x).astype(np.float32)

    options = {"ncv": 2 * k + 4, "tol": max(tol, _SINGLE_TOL), "maxiter": _SINGLE_RESTARTS}
    options["v0"] = rng.standard_normal(n).astype(np.float32)
    if "rng" in inspect.signature(eigsh).parameters:
        options["rng"] = np.random.default_rng(int.from_bytes(rng.bytes(8), "little"))
    try:
        found = eigsh(LinearOperator((n, n), multiply, dtype=np.float32), k, which="LA", **options)[1]
    except ArpackError:  # eigenvalues are close together
        return None
    return found.astype(np.float64)


def _from_arpack(counted, k, tol, rng):
    n = counted.shape[0]
    if n > LARGE_GRAPH and counted.operator.graph is not None:
        found = _from_single_precision(counted, k, tol, rng)
        if found is not None:
            return found
    values, vectors = run_lanczos(counted, None, 2 * k + 20, rng)
    degree, interval = 1, None
    if len(values) > k and counted.operator.graph is not None:
        # Ritz values never exceed eigenvalues, so the leading eigenvalues are above the cut and keep their
        # order.
        interval = compute_damped_interval(values[0], values[-k])
        degree = 1 if interval is None else min(5, filter_degree(values[-1], interval, 1e6))

    def multiply(x):
        x = np.ravel(x)
        return counted @ x if degree < 2 else apply_chebyshev_filter(counted, x, interval, degree)

    options = {"ncv": max(2 * k + 4, 24), "tol": tol / 2, "v0": vectors[:, -k:].sum(axis=1)}
    if "rng" in inspect.signature(eigsh).parameters:  # without it, recent SciPy is not reproducible
        options["rng"] = np.random.default_rng(int.from_bytes(rng.bytes(8), "little"))
    try:
        return eigsh(LinearOperator(counted.shape, multiply, dtype=np.float64), k, which="LA", **options)[1]
    except ArpackNoConvergence as stopped:
        return stopped.eigenvectors
    except ArpackError:  # raised for the zero matrix, for example
        return rng.standard_normal((n, k))


def _from_lobpcg(counted, k, tol, rng):
    product = counted.__matmul__
    action = LinearOperator(counted.shape, matvec=product, matmat=product, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # _refine checks the residuals
        start = rng.standard_normal((counted.shape[0], k + 2))
        return lobpcg(action, start, tol=tol, maxiter=500, largest=True)[1]


def _refine(counted, start, k, tol, inverse, rng, solver) -> Eigen:
    """Expand the span of `start` until its k leading pairs converge and no larger eigenvalue is found."""
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
        # Refine the pair k + 1 only while its value may still exceed the k-th.
        far[k:] &= (sizes[k:] > 10 * enough[k:]) & (values[k:] + sizes[k:] > values[k - 1])
        # Ritz values change by at most their residuals. If their sum rose by more since the last search in
        # the complement, a new vector has entered, and there may be more.
        done = not far.any() and values[:k].sum() <= most
        if done:
            break
        # The inverse contains only the sparse part; eigenvalues above its bound are refined by products.
        near = far & (values <= 1.01 * inverse.bound) if inverse is not None else np.zeros_like(far)
        least = 0.3 * enough.min()
        by_products = compute_basis(residuals[:, far & ~near], least)
        by_inverse = compute_basis(residuals[:, near], least)
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
    # With close eigenvalues the basis loses some orthogonality to rounding; QR restores it.
    found = fix_signs(np.linalg.qr(vectors[:, :k])[0])
    products = counted.n_products
    return Eigen(
        values[:k], found, products, solver, bool(done), inverse, inverse is not None, vectors[:, k:]
    )


def _find_missed(counted, vectors, least, inverse, rng):
    """Return a column rich in eigenvectors above `least` that are orthogonal to `vectors`."""
    values, columns = run_lanczos(counted, vectors, 8, rng)
    column = columns[:, -1:]
    if inverse is not None or not len(values):
        return column  # eigenvalues raised by low-rank terms are well separated
    interval = compute_damped_interval(values[0], min(values[-1], least))
    if interval is None:
        return column
    degree = min(12, filter_degree(max(values[-1], least), interval, 1e4))
    return apply_chebyshev_filter(counted, column, interval, degree)


def estimate_eigenvalues(
    operator: SpectralOperator, k: int, rng: np.random.RandomState | np.random.Generator
) -> np.ndarray:
    """Estimate the k largest eigenvalues from below, to one or two digits, by a short Lanczos run.

    Repeated eigenvalues are found once, so fewer than k values may be returned.
    """
    values, _ = run_lanczos(CountingOperator(operator), None, min(2 * k + 20, operator.shape[0]), rng)
    return values[::-1][:k]


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Flip signs so that the entry of largest absolute value in each column is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
