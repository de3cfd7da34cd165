"""Data in files larger than memory, read in blocks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from likewise._atomic_files import name_file_in_errors
from likewise.backends._rows import (
    Column,
    LocalColumn,
    Recipe,
    Rows,
    T,
    Work,
    as_dense,
    get_block_rows,
    pass_through,
    split_rows,
)
from likewise.backends.parquet import choose_columns, convert_batch, iterate_batches, list_files, read_footer

# For data in files, a column larger than this is stored in a scratch file.
_HELD_BYTES = 64_000_000


class MappedRows(Rows):
    """Rows of a memory-mapped file in C or Fortran order, or sparse rows; each block is copied when needed.

    The operating system reads ahead, and with several threads blocks are read while others are processed.
    """

    shape: tuple[int, int]
    threads: int
    _X: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        blocks: Sequence[slice] | None = None,
        *,
        threads: int = 1,
        functions: tuple[Callable[[np.ndarray], np.ndarray], ...] = (),
        n_features: int | None = None,
        scratch: Any = None,
    ) -> None:
        self._X, self._functions, self._scratch = X, functions, scratch
        self.shape, self.threads = (X.shape[0], n_features or X.shape[1]), threads
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self.blocks: Sequence[slice] = split_rows(len(X)) if blocks is None else blocks

    def _read_raw(self, raw: np.ndarray) -> np.ndarray:
        # Convert to a plain array first: arithmetic on a memmap has an overhead at every step.
        block = np.asarray(as_dense(raw), dtype=self.dtype)
        if not self._functions:
            return np.ascontiguousarray(block)
        return pass_through(block, self._functions, np.empty((len(block), self.shape[1]), dtype=self.dtype))

    def read(self, rows: slice) -> np.ndarray:
        return self._read_raw(self._X[rows])

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self._read_raw(self._X[rows])

    def transform(
        self, function: Callable[[np.ndarray], np.ndarray], n_features: int | None = None
    ) -> MappedRows:
        rows = MappedRows(
            self._X,
            self.blocks,
            threads=self.threads,
            functions=(*self._functions, function),
            n_features=n_features or self.shape[1],
            scratch=self._scratch,
        )
        return rows.with_weights(self._weight)

    def make_column(self, dtype: Any, recipe: Recipe, width: int | None = None) -> Column:
        if width is not None:  # computed at every use
            return LocalColumn(recipe, [None] * len(self.blocks), None, [False] * len(self.blocks))
        return super().make_column(dtype, recipe)

    def _allocate(self, dtype: np.dtype) -> np.ndarray:
        if len(self) * dtype.itemsize <= _HELD_BYTES:
            return super()._allocate(dtype)
        with tempfile.TemporaryFile(dir=self._scratch) as file:  # deleted together with the array
            if hasattr(os, "posix_fallocate"):  # otherwise a full disk would kill the process on a write
                with name_file_in_errors(self._scratch or tempfile.gettempdir()):
                    os.posix_fallocate(file.fileno(), 0, len(self) * dtype.itemsize)
            return np.memmap(file, dtype=dtype, mode="w+", shape=(len(self),))

    def map(self, work: Work[T], column: Column | None = None, **how: Any) -> Iterator[T]:
        name = getattr(self._X, "filename", None)
        if isinstance(self._X, np.memmap) and name is not None and os.path.isfile(name):
            # Reading past the end of a truncated file would crash Python. A deleted one stays readable.
            size, needed = os.path.getsize(name), self._X.offset + self._X.nbytes
            if size < needed:
                raise OSError(f"{name} has shrunk from {needed:,} to {size:,} bytes since it was opened.")
        return super().map(work, column, **how)


def _choose_block_rows(
    n_rows: int, n_features: int, memory_limit: int | None, block_rows: int | None
) -> list[slice]:
    for name, value in (("memory_limit", memory_limit), ("block_rows", block_rows)):
        if value is not None and (
            not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1
        ):
            raise ValueError(f"{name} must be an integer of at least 1, or None; got {value!r}.")
    if block_rows is None and memory_limit is not None:
        block_rows = get_block_rows(memory_limit, n_features)
    return split_rows(n_rows, block_rows)


class MemmapRows(MappedRows):
    """Rows of a NumPy file or memory map, read in blocks. Pass it to ``fit`` and ``predict`` as X.

    A bare `numpy.memmap` can be passed as well; this class lets you choose the size of the blocks.

    Parameters
    ----------
    source : path or numpy.memmap
        A two-dimensional ``.npy`` file or memory map, in C or Fortran order.
    memory_limit : int, optional
        Maximum number of bytes that one thread uses for its block. Blocks have at most 32,768 rows, which is
        also the default.
    block_rows : int, optional
        The number of rows in a block. It takes precedence over `memory_limit`.

    Notes
    -----
    float32 data stay float32; all other types are converted to float64 block by block. Blocks of the default
    size give the same result as the array in memory, bit for bit. Other sizes change the order of summation.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from likewise import PCKMeans
    >>> from likewise.datasets import MemmapRows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.array([[0.0], [1.0], [4.0], [5.0]]))
    ...     rows = MemmapRows(f"{folder}/X.npy", block_rows=2)
    ...     labels = PCKMeans(n_clusters=2, random_state=0).fit(rows).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self, source: Any, *, memory_limit: int | None = None, block_rows: int | None = None
    ) -> None:
        X = source
        if not isinstance(source, np.ndarray):
            try:
                X = np.load(source, mmap_mode="r", allow_pickle=False)
            except ValueError as error:
                raise ValueError(
                    f"{source} is not a NumPy file that can be memory-mapped: {error}"
                ) from error
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
            what = f"shape {X.shape} and dtype {X.dtype}" if isinstance(X, np.ndarray) else "an archive"
            raise ValueError(f"expected a two-dimensional array of numbers; {source!s:.80} has {what}.")
        super().__init__(X, _choose_block_rows(len(X), X.shape[1], memory_limit, block_rows))


class ParquetRows(MappedRows):
    """Rows of a Parquet file or a folder of them, read in blocks. Pass it to ``fit`` and ``predict`` as X.

    A fit reads the rows many times, and converting columns to rows costs more than reading them. So the
    rows are written to a scratch file when they are first needed, and all passes map that file. It
    takes n_samples x n_features x 4 or 8 bytes of disk space, and is deleted with this object.

    Parameters
    ----------
    path : path or URL
        A Parquet file, or a folder: all files below it whose names end in ``.parquet``, sorted. A URL, such
        as ``s3://bucket/rows``, is opened by fsspec.
    columns : sequence of str, optional
        The columns to use, in this order. By default all columns are used.
    memory_limit, block_rows : int, optional
        As in :class:`MemmapRows`. Reading needs additional memory for the pages of one row group.
    scratch : path, optional
        The folder for the scratch file. By default the system's folder for temporary files; choose another
        one if that is kept in memory.

    Attributes
    ----------
    columns : tuple of str
        The columns used.

    Notes
    -----
    The rows are float32 if every column is, else float64. Needs pyarrow: ``pip install 'likewise[scale]'``.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from likewise import PCKMeans
    >>> from likewise.datasets import ParquetRows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"name": ["a", "b", "c", "d"], "x": [0.0, 1.0, 4.0, 5.0]})
    ...     pyarrow.parquet.write_table(table, f"{folder}/rows.parquet")
    ...     rows = ParquetRows(f"{folder}/rows.parquet", columns=["x"])
    ...     labels = PCKMeans(n_clusters=2, random_state=0).fit(rows).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    blocks: Sequence[slice]
    columns: tuple[str, ...]

    def __init__(
        self,
        path: Any,
        columns: Sequence[str] | None = None,
        *,
        memory_limit: int | None = None,
        block_rows: int | None = None,
        scratch: Any = None,
    ) -> None:
        self._path = path
        self._footers = [read_footer(file) for file in list_files(path)]
        self.columns, dtype = choose_columns(self._footers, columns)
        self.names: tuple[str, ...] = self.columns
        n_rows = sum(one.n_rows for one in self._footers)
        blocks = _choose_block_rows(n_rows, len(self.columns), memory_limit, block_rows)
        self._functions, self._scratch = (), scratch
        self.shape, self.dtype, self.blocks = (n_rows, len(self.columns)), dtype, blocks

    @cached_property
    def _X(self) -> np.ndarray:  # type: ignore[override]  # computed once, in place of the attribute
        """The rows in a scratch file, which is written when they are first needed."""
        if not len(self):
            return np.empty(self.shape, dtype=self.dtype)
        most = max(rows.stop - rows.start for rows in self.blocks)
        # If the system supports it, the file has no name, so a crash leaves nothing behind.
        with tempfile.TemporaryFile(dir=self._scratch) as file:
            try:
                for one in self._footers:
                    for batch in iterate_batches(one, self.columns, most):
                        file.write(convert_batch(batch, self.columns, self.dtype).data)
                file.flush()
            except OSError as error:
                size = self.shape[0] * self.shape[1] * self.dtype.itemsize
                raise OSError(
                    f"the rows of {self._path} could not be written to a scratch file: {error}. "
                    f"It needs {size:,} bytes; choose its folder with scratch=."
                ) from error
            return np.memmap(file, dtype=self.dtype, mode="r", shape=self.shape)
