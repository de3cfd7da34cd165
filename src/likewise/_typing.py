"""Argument types shared by public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse as sp


class RowsOnDisk(Protocol):
    """Rows that are read block by block, such as the readers of `likewise.datasets`."""

    shape: tuple[int, int]
    blocks: Sequence[slice]


# Anything that converts to a matrix: a NumPy array, a pandas data frame, a Dask array or data frame, a list
# of lists, a SciPy sparse matrix, or rows on disk.
MatrixLike: TypeAlias = "ArrayLike | sp.spmatrix | sp.sparray | RowsOnDisk"
RandomStateLike: TypeAlias = int | np.random.Generator | np.random.RandomState | None

__all__ = ["ArrayLike", "MatrixLike", "RandomStateLike", "RowsOnDisk"]
