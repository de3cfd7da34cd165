"""Sparse rows in memory: as sparse blocks, or as dense blocks for estimators that need dense arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.backends._files import MappedRows
from likewise.backends._rows import Rows, as_rows, get_block_rows, split_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Memory for a dense block of sparse rows.
_BLOCK_BYTES = 1_000_000_000


def standardize_csr(X: Any) -> csr_array:
    """Return sparse rows without explicit zeros, with sorted and unique column numbers, int32 if they fit."""
    from scipy.sparse import csr_array

    found = csr_array(X, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    found.sort_indices()
    if max(found.nnz, *found.shape) <= np.iinfo(np.int32).max:
        found.indices = found.indices.astype(np.int32, copy=False)
        found.indptr = found.indptr.astype(np.int32, copy=False)
    return found


class SparseRows(Rows):
    """Rows in a CSR matrix. Blocks and taken rows are CSR matrices, too.

    They can be transformed only by functions that keep them sparse. Subtracting the mean does not.
    """

    is_sparse = True

    def __init__(self, X: csr_array, threads: int = 1) -> None:
        self._X, self.threads = X, threads
        self.shape, self.dtype, self.blocks = (X.shape[0], X.shape[1]), X.dtype, split_rows(X.shape[0])
        self.density = X.nnz / max(X.shape[0] * X.shape[1], 1)

    def read(self, rows: slice) -> Any:
        return self._X if len(self.blocks) == 1 else self._X[rows]

    def take(self, rows: np.ndarray) -> Any:
        return self._X[rows]

    def transform(self, function: Callable[[np.ndarray], np.ndarray], n_features: int | None = None) -> Rows:
        from scipy.sparse import issparse

        found = function(self._X)
        if not issparse(found):
            raise TypeError("this function makes sparse rows dense; use make_dense_blocks.")
        return as_rows(found, self.threads, self._weight)


def make_dense_blocks(X: csr_array) -> Rows:
    """Return sparse rows of which one block at a time is converted to a dense array."""
    return MappedRows(X, split_rows(X.shape[0], get_block_rows(_BLOCK_BYTES, X.shape[1])))
