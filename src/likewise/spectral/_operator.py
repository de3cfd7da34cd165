"""A symmetric matrix as a graph plus low-rank terms, stored in factored form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

# Terms with more entries than this share of the graph's are not added to the sparse part.
_FEW = 0.1


@dataclass(frozen=True, eq=False)
class LowRank:
    """The symmetric matrix ``rows @ core @ rows.T`` of size N x N, stored in factored form."""

    rows: sparse.csr_array | np.ndarray  # (N, r) the outer factor
    core: np.ndarray  # (r, r) or (r,) the inner factor: symmetric, or the diagonal of a diagonal matrix

    def __post_init__(self):
        core, r = np.asarray(self.core), self.rows.shape[1]
        if core.shape not in ((r,), (r, r)):
            raise ValueError(
                f"The core has shape {core.shape}; expected ({r}, {r}) or ({r},) for {r} columns."
            )

    def scale(self, scale: np.ndarray) -> LowRank:
        """Return ``diag(scale) @ self @ diag(scale)``."""
        return LowRank(_scale_rows(self.rows, scale), self.core)

    @cached_property
    def _columns(self):
        return self.rows.T.tocsr() if sparse.issparse(self.rows) else self.rows.T

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        inner = self._columns @ block
        inner = (self.core * inner.T).T if self.core.ndim == 1 else self.core @ inner
        return self.rows @ inner

    @property
    def n_entries(self) -> int:
        """An upper bound of the number of entries as a sparse matrix."""
        if isinstance(self.rows, np.ndarray):
            return self.rows.shape[0] ** 2
        if self.core.ndim == 1:
            return int((np.bincount(self.rows.indices) ** 2).sum())
        return int((np.diff(self.rows.indptr) > 0).sum()) ** 2

    def toarray(self) -> np.ndarray:
        """Return the whole matrix, for tests and small N."""
        rows = _to_dense(self.rows)
        return (rows * self.core if self.core.ndim == 1 else rows @ self.core) @ rows.T


class SpectralOperator(LinearOperator):
    r"""The symmetric matrix whose leading eigenvectors embed the rows.

    .. math:: \mathrm{diag}(s)\,\Bigl(W + \sum_t R_t C_t R_t^\top + \mathrm{diag}(g)\Bigr)\,\mathrm{diag}(s)
              + \sigma I

    A matrix-vector product costs O(nnz(W) + sum of nnz(R_t) + sizes of the C_t). Additional memory is one
    number per entry of a sparse W and of the R_t; a dense W is not copied.

    Parameters
    ----------
    weights : csr_array or ndarray of shape (N, N), symmetric
        W, the graph.
    scale : ndarray of shape (N,), optional
        s, for instance the degrees to the power of -1/2. None means ones.
    terms : sequence of LowRank
        The terms that hints add to the graph.
    diagonal : ndarray of shape (N,), optional
        g, before scaling.
    shift : float
        σ, added after scaling. It shifts all eigenvalues and leaves the eigenvectors unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> weights = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> bag = LowRank(np.array([[1.0], [1.0]]), np.array([0.5]))
    >>> SpectralOperator(weights, terms=[bag]) @ np.array([1.0, 0.0])
    array([0.5, 1.5])
    """

    def __init__(
        self,
        weights: sparse.csr_array | np.ndarray,
        scale: np.ndarray | None = None,
        terms: Sequence[LowRank] = (),
        diagonal: np.ndarray | None = None,
        shift: float = 0.0,
    ):
        n = weights.shape[0]
        if weights.shape != (n, n):
            raise ValueError(f"The weights have shape {weights.shape}; expected a square matrix.")
        for name, vector in (("scale", scale), ("diagonal", diagonal)):
            if vector is not None and np.shape(vector) != (n,):
                raise ValueError(f"The {name} has shape {np.shape(vector)}; expected ({n},).")
        for term in terms:
            if term.rows.shape[0] != n:
                raise ValueError(f"A low-rank term has {term.rows.shape[0]} rows; expected {n}.")
        if sparse.issparse(weights):
            weights = weights if isinstance(weights, sparse.csr_array) else sparse.csr_array(weights)
            if not weights.has_canonical_format:
                # The scaled graph shares its indices with the weights, and SciPy sorts indices in place.
                weights = weights.copy()
                weights.sum_duplicates()
        super().__init__(np.dtype(np.float64), (n, n))
        self.weights, self.scale, self.terms = weights, scale, tuple(terms)
        self.diagonal, self.shift = diagonal, float(shift)
        self._outer = None  # a dense W is scaled at each product to avoid a copy
        self._graph, self._low_rank, self._added = weights, self.terms, diagonal
        if scale is not None:
            self._low_rank = tuple(term.scale(scale) for term in self.terms)
            self._added = None if diagonal is None else scale * scale * diagonal
            if sparse.issparse(weights):
                self._graph = _scale_both(weights, scale)
            else:
                self._outer = scale

    @property
    def graph(self) -> sparse.csr_array | None:
        """``diag(s) W diag(s)`` if W is sparse, else None."""
        return self._graph if sparse.issparse(self._graph) else None

    def get_sparse_part(self) -> tuple[sparse.csr_array, bool]:
        """Return the sum of graph, diagonal and terms with few entries, and whether this is everything."""
        if self.graph is None:
            raise TypeError("get_sparse_part() requires sparse weights; these are dense.")
        added = np.full(self.shape[0], self.shift) if self._added is None else self._added + self.shift
        part, complete = self.graph + sparse.diags_array(added), True
        for term in self._low_rank:
            if term.n_entries > _FEW * self.graph.nnz:
                complete = False
            else:
                core = sparse.diags_array(term.core) if term.core.ndim == 1 else term.core
                rows = sparse.csr_array(term.rows)
                part = part + rows @ sparse.csr_array(core) @ rows.T
        return sparse.csr_array(part), complete

    def apply_terms(self, block: np.ndarray) -> np.ndarray:
        """Return the product of the low-rank terms with a vector or a block of vectors."""
        image = np.zeros_like(block, dtype=np.float64)
        for term in self._low_rank:
            image += term @ block
        return image

    def apply_rest(self, block: np.ndarray) -> np.ndarray:
        """Return the product of all but the graph with a vector or a block of vectors."""
        return self._add_diagonal(self.apply_terms(block), block)

    def _matmat(self, X):
        if self._outer is None:
            result = self._graph @ X
        else:
            result = (self._outer * (self._graph @ (self._outer * X.T).T).T).T
        for term in self._low_rank:
            result += term @ X
        return self._add_diagonal(result, X)

    def _add_diagonal(self, result, X):
        if self._added is not None:
            result += (self._added * X.T).T
        if self.shift:
            result += self.shift * X
        return result

    def _matvec(self, x):
        return self._matmat(np.ravel(x))

    def _adjoint(self):
        return self

    def toarray(self) -> np.ndarray:
        """Return the whole matrix, for tests and small N."""
        whole = np.array(_to_dense(self._graph), dtype=np.float64)
        if self._outer is not None:
            whole *= self._outer
            whole *= self._outer[:, None]
        for term in self._low_rank:
            whole += term.toarray()
        whole[np.diag_indices_from(whole)] += self.shift + (0.0 if self._added is None else self._added)
        return whole


def _to_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _scale_rows(matrix, scale):
    if not sparse.issparse(matrix):
        return matrix * scale[:, None]
    matrix = matrix.tocsr()
    data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _scale_both(matrix, scale):
    scaled = _scale_rows(matrix, scale)
    scaled.data *= scale[scaled.indices]
    return scaled
