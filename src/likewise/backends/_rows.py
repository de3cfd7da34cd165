"""Block-wise access to data in memory, on disk or on Dask.

A pass applies a function to each block of rows and returns the results in order. The blocks depend neither
on the number of threads nor on where the data are stored, and sums are added up in a fixed order, so the same
rows always give the same sums. Values that a pass stores for each row, such as labels or distances, stay with
the data. If they are lost, they can be recomputed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
B = TypeVar("B")
Self = TypeVar("Self", bound="Rows")

# ---------------------------------------------------------------------- threads

# Number of rows that one thread processes at a time. Blocks have this size and are merged in order, so the
# result does not depend on the number of threads.
BLOCK_ROWS = 32_768
# Below this many products (rows x columns x clusters) a second thread costs more time than it saves.
_WORTH_A_THREAD = 20_000_000


def get_n_threads(work: int, n_jobs: int | None) -> int:
    """Return the number of threads for `work` products: 1 if there is little work, else the current limit.

    Limits set by threadpoolctl, ``OMP_NUM_THREADS`` or joblib's workers apply, since all of them change the
    OpenMP pools that scikit-learn has loaded. `n_jobs` can lower the limit further.
    """
    if work < _WORTH_A_THREAD or n_jobs == 1:
        return 1
    import joblib
    from threadpoolctl import threadpool_info

    pools = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"]
    allowed = min(pools, default=joblib.cpu_count())
    if n_jobs is not None and n_jobs > 0:
        allowed = min(allowed, n_jobs)
    return max(1, min(allowed, joblib.cpu_count()))


def split_rows(n_rows: int, block_rows: int | None = None) -> list[slice]:
    """Return the blocks of rows, by default of a fixed size, so that they depend only on `n_rows`."""
    size = block_rows or BLOCK_ROWS
    return [slice(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


@contextmanager
def open_thread_map(threads: int) -> Iterator[Callable[[Callable[[B], T], list[B]], Iterator[T]]]:
    """Yield a ``map`` over blocks that keeps their order, on `threads` threads."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


_local = threading.local()


def get_scratch(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an uninitialised array that is valid until this thread requests the same name again.

    Allocating memory for every block can take longer than the work on it, especially in processes that are
    set to return freed memory at once, such as Dask workers.
    """
    arrays: dict[tuple[str, str], np.ndarray] = _local.__dict__.setdefault("arrays", {})
    key, size = (name, np.dtype(dtype).str), int(np.prod(shape))
    if key not in arrays or len(arrays[key]) < size:
        arrays[key] = np.empty(size, dtype=dtype)
    return arrays[key][:size].reshape(shape)


@lru_cache(maxsize=16)
def get_ones(n: int) -> np.ndarray:
    """Return a shared array of n ones, which must not be changed.

    It is not marked as read-only: numba would compile each kernel again for read-only weights.
    """
    return np.ones(n)


# ---------------------------------------------------------------------- rows


@dataclass(eq=False)
class Block:
    """One block of rows in a pass.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows of the block, in C order.
    rows : slice
        The position of the block among all rows.
    weight : ndarray of shape (n,)
        The weight of each row.
    kept : ndarray or None
        The values of the column for this block. Changes are kept if the column is stored; pass `new_recipe`
        so that they can also be recomputed.
    """

    X: np.ndarray
    rows: slice
    weight: np.ndarray
    kept: np.ndarray | None = None

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    def get_weight_without(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights with 0 for the rows of the block that are in `rows`.

        `rows` are ascending positions among all rows. The result is valid until the next call in the same
        thread.
        """
        first, last = np.searchsorted(rows, [self.rows.start, self.rows.stop])
        if first == last:
            return self.weight
        weight = get_scratch("weight", self.weight.shape, np.float64)
        weight[...] = self.weight
        weight[rows[first:last] - self.rows.start] = 0.0
        return weight


Work = Callable[[Block], T]
Recipe = Callable[[Block], np.ndarray]


@dataclass(eq=False)
class Column:
    """Values for each row, stored block by block beside the data.

    Attributes
    ----------
    recipe : callable
        Computes the values of a block from its :class:`Block`. Must be deterministic, so that lost values are
        recomputed bit for bit, and small, because it is sent to other processes.
    """

    recipe: Recipe


@dataclass(eq=False)
class LocalColumn(Column):
    """A column in this process: one array, one array for each block, or none (computed at each use)."""

    parts: Sequence[np.ndarray | None]
    values: np.ndarray | None
    made: list[bool]

    def get_part(self, number: int, block: Block, overwrite: bool) -> np.ndarray | None:
        """Return the part of a block. With `overwrite`, the caller overwrites it without reading it."""
        here = self.parts[number]
        if here is None:
            return None if overwrite else self.recipe(block)
        if not self.made[number] and not overwrite:
            here[...] = self.recipe(block)
        self.made[number] = True
        return here


class Rows(ABC):
    """Weighted rows of one dtype, divided into blocks.

    Attributes
    ----------
    shape : tuple of (int, int)
        The numbers of rows and columns.
    dtype : numpy.dtype
        The dtype of the blocks: float32 or float64.
    blocks : sequence of slice
        The blocks, in order. They cover every row once; a block may be empty.
    threads : int
        The number of threads that a pass uses.
    names : sequence of str or None
        The names of the columns, if known.
    is_distributed, is_sparse : bool
        Whether the rows are a Dask collection, and whether blocks and taken rows are CSR matrices.
    total_weight, heaviest : float
        The sum and the maximum of the weights.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Sequence[slice]
    threads: int = 1
    names: Sequence[str] | None = None
    is_distributed: bool = False
    is_sparse: bool = False
    density: float = 1.0  # the share of values that are stored
    _weight: np.ndarray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def read(self, rows: slice) -> np.ndarray:
        """Return one block of rows.

        Parameters
        ----------
        rows : slice
            The positions of the rows, usually one of `blocks`.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            The rows, in C order.
        """

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return a small number of rows.

        Parameters
        ----------
        rows : ndarray of shape (n,)
            The positions of the rows.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            The rows, in the order of `rows`.
        """

    @abstractmethod
    def transform(self, function: Callable[[np.ndarray], np.ndarray], n_features: int | None = None) -> Rows:
        """Transform the rows with a function.

        Parameters
        ----------
        function : callable
            Maps an array of shape (n, d), where d is the number of columns, to one of shape
            (n, `n_features`) and the same dtype, row by row.
        n_features : int, optional
            The number of columns of the transformed rows; by default d.

        Returns
        -------
        rows : Rows
            The transformed rows.
        """

    # ------------------------------------------------------------------ weights

    def with_weights(self: Self, weight: np.ndarray | None) -> Self:
        """Return the same rows with other weights.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,) or None
            The weight of each row; None gives each row the weight 1.

        Returns
        -------
        rows : Rows
            A shallow copy with these weights.
        """
        weighed = copy(self)
        weighed._weight = weight
        return weighed

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        if self._weight is None and not self.is_distributed:
            return float(self.shape[0])
        return float(self.sum_weights_by_block().sum())  # in the same order for every kind of storage

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return 1.0 if self._weight is None else float(self._weight.max())

    def get_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights of a small number of rows.

        Parameters
        ----------
        rows : ndarray of shape (n,)
            The positions of the rows.

        Returns
        -------
        weight : ndarray of shape (n,)
            Their weights.
        """
        return np.ones(len(rows)) if self._weight is None else self._weight[rows]

    def sum_weights_by_block(self) -> np.ndarray:
        """Return the total weight of each block.

        Returns
        -------
        weight : ndarray of shape (n_blocks,)
            The sum of the weights of the rows in each block.
        """
        if self._weight is None:
            return np.array([float(rows.stop - rows.start) for rows in self.blocks])
        return np.array([float(self._weight[rows].sum()) for rows in self.blocks])

    # ------------------------------------------------------------------ passes

    def make_column(self, dtype: Any, recipe: Recipe, width: int | None = None) -> Column:
        """Create a column of values, which are computed when they are first used.

        Parameters
        ----------
        dtype : dtype
            The type of the values.
        recipe : callable
            Computes the values of a :class:`Block`.
        width : int, optional
            Store `width` values for each row, as an array of shape (width, n) for a block of n rows. Such a
            column may be recomputed at every use if storing it would take too much space. By default one
            value is stored for each row.

        Returns
        -------
        column : Column
            The column, to be passed to :meth:`map`, :meth:`sum` or :meth:`collect`.
        """
        if width is not None:
            parts = [np.empty((width, rows.stop - rows.start), dtype=dtype) for rows in self.blocks]
            return LocalColumn(recipe, parts, None, [False] * len(parts))
        values = self._allocate(np.dtype(dtype))
        return LocalColumn(recipe, [values[rows] for rows in self.blocks], values, [False] * len(self.blocks))

    def _allocate(self, dtype: np.dtype) -> np.ndarray:
        return np.empty(self.shape[0], dtype=dtype)

    def map(
        self,
        work: Work[T],
        column: Column | None = None,
        *,
        new_recipe: Recipe | None = None,
        overwrite: bool = False,
        only: Sequence[int] | None = None,
    ) -> Iterator[T]:
        """Yield the result of ``work(block)`` for each block, in order.

        At most one block for each thread is in memory at a time. `work` may run in another process: it must
        not refer to large objects, and its only effects are its return value and what it writes to
        ``block.kept``.

        Parameters
        ----------
        work : callable
            Called with each :class:`Block`.
        column : Column, optional
            The column whose values are available as ``block.kept``.
        new_recipe : callable, optional
            The new recipe of the column, if `work` writes to it. It applies to the whole column, so the pass
            must visit every block.
        overwrite : bool, default=False
            Whether `work` overwrites the column without reading it; ``block.kept`` is then None if the
            column is not stored.
        only : sequence of int, optional
            The indices of the blocks to visit. All by default.

        Yields
        ------
        result : object
            The result for one block.
        """
        numbers = range(len(self.blocks)) if only is None else only
        with open_thread_map(self.threads) as each:
            yield from each(lambda number: self._visit_block(number, work, column, overwrite), list(numbers))
        if column is not None and new_recipe is not None:
            column.recipe = new_recipe

    def _visit_block(self, number: int, work: Work[T], column: Column | None, overwrite: bool) -> T:
        rows = self.blocks[number]
        weight = self._weight
        part = get_ones(rows.stop - rows.start) if weight is None else np.ascontiguousarray(weight[rows])
        block = Block(self.read(rows), rows, part)
        if isinstance(column, LocalColumn):
            block.kept = column.get_part(number, block, overwrite)
        return work(block)

    def sum(
        self,
        work: Work[T],
        column: Column | None = None,
        *,
        new_recipe: Recipe | None = None,
        overwrite: bool = False,
    ) -> T:
        """Sum the results of ``work(block)`` over the blocks, always in the same order.

        Parameters
        ----------
        work : callable
            Called with each :class:`Block`; its results are added with ``+``.
        column : Column, optional
            The column whose values are available as ``block.kept``.
        new_recipe : callable, optional
            The new recipe of the column, if `work` writes to it.
        overwrite : bool, default=False
            Whether `work` overwrites the column without reading it.

        Returns
        -------
        total : object
            The sum of the results.
        """
        return add_in_pairs(self.map(work, column, new_recipe=new_recipe, overwrite=overwrite))

    def collect(self, column: Column, renumber: np.ndarray | None = None) -> Any:
        """Return the values of a column for all rows. The column must not be used afterwards.

        Parameters
        ----------
        column : Column
            A column with one value for each row.
        renumber : ndarray, optional
            Replace each value i by ``renumber[i]``.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The values, which the caller owns; a Dask array for rows on a cluster.
        """
        assert isinstance(column, LocalColumn)
        assert column.values is not None
        if not all(column.made):
            self.sum(attrgetter("rows.start"), column)  # any work: the pass computes the column
        if renumber is not None:
            for rows in self.blocks:
                column.values[rows] = renumber[column.values[rows]]
        return column.values

    def map_rows(self, work: Callable[[np.ndarray], np.ndarray], dtype: Any, width: int | None = None) -> Any:
        """Compute an output for every row, block by block.

        Parameters
        ----------
        work : callable
            Maps an array of shape (n, n_features) to one of shape (n,), or (n, `width`).
        dtype : dtype
            The type of the output.
        width : int, optional
            The number of outputs for each row. By default one, and the output is one-dimensional.

        Returns
        -------
        out : ndarray of shape (n_samples,) or (n_samples, width)
            The outputs; a Dask array for rows on a cluster.
        """
        out = self._allocate(np.dtype(dtype)) if width is None else np.empty((len(self), width), dtype=dtype)

        def write(block: Block) -> None:
            out[block.rows] = work(block.X)

        for _ in Rows.map(self, write):
            pass
        return out


# Number of rows that are transformed at a time, so that intermediate results stay in the cache.
_PIECE = 1024


def pass_through(
    X: np.ndarray, functions: Iterable[Callable[[np.ndarray], np.ndarray]], out: np.ndarray
) -> np.ndarray:
    """Apply the functions one after another to the rows of a block, and write the result to `out`."""
    for at in range(0, len(X), _PIECE):
        piece = X[at : at + _PIECE]
        for function in functions:
            piece = function(piece)
        out[at : at + _PIECE] = piece
    return out


def add_in_pairs(parts: Iterable[Any]) -> Any:
    """Sum the parts with ``+`` in a fixed order: pairs of neighbours, pairs of pairs, and so on.

    The sum of an aligned run of 2^p parts is a term of the whole sum, so another process can compute it and
    the total stays the same to the last digit.
    """
    waiting: list[tuple[int, Any]] = []
    for part in parts:
        rank = 0
        while waiting and waiting[-1][0] == rank:
            part = waiting.pop()[1] + part
            rank += 1
        waiting.append((rank, part))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total


class ArrayRows(Rows):
    """An array in memory."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    blocks: Sequence[slice]
    threads: int

    def __init__(self, X: np.ndarray, blocks: Sequence[slice] | None = None, threads: int = 1) -> None:
        self._X = X
        self.shape, self.dtype, self.threads = (X.shape[0], X.shape[1]), X.dtype, threads
        is_small = X.shape[0] <= BLOCK_ROWS
        self.blocks = blocks or ([slice(0, len(X))] if is_small else split_rows(len(X)))

    def read(self, rows: slice) -> np.ndarray:
        return self._X[rows]

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self._X[rows]

    def transform(
        self, function: Callable[[np.ndarray], np.ndarray], n_features: int | None = None
    ) -> ArrayRows:
        out = np.empty((self.shape[0], n_features or self.shape[1]), dtype=self.dtype)

        def write(block: Block) -> None:
            pass_through(block.X, (function,), out[block.rows])

        if len(self.blocks) == 1 and self.shape[0] <= _PIECE:
            out[...] = function(self._X)
        else:
            for _ in Rows.map(self, write):
                pass
        rows = ArrayRows(out, self.blocks, self.threads)
        rows._weight = self._weight
        return rows

    def sum(
        self,
        work: Work[T],
        column: Column | None = None,
        *,
        new_recipe: Recipe | None = None,
        overwrite: bool = False,
    ) -> T:
        if len(self.blocks) != 1:
            return super().sum(work, column, new_recipe=new_recipe, overwrite=overwrite)
        weight = get_ones(self.shape[0]) if self._weight is None else self._weight
        block = Block(self._X, self.blocks[0], np.ascontiguousarray(weight))
        if isinstance(column, LocalColumn):
            if not column.made[0] and not overwrite:
                column.parts[0][...] = column.recipe(block)  # type: ignore[index]
            block.kept, column.made[0] = column.parts[0], True
        total = work(block)
        if column is not None and new_recipe is not None:
            column.recipe = new_recipe
        return total

    def map_rows(self, work: Callable[[np.ndarray], np.ndarray], dtype: Any, width: int | None = None) -> Any:
        if len(self.blocks) != 1:
            return super().map_rows(work, dtype, width)
        return np.array(work(self._X), dtype=dtype, order="C")


def scale_to_unit_length(X: Any) -> Any:
    """Return rows, which may be sparse, divided by their lengths. Rows of zeros stay as they are."""
    if isinstance(X, np.ndarray):
        rows = np.asarray(X, dtype=np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.divide(X, np.where(lengths > 0, lengths, 1.0)[:, None], dtype=X.dtype, casting="same_kind")
    lengths = np.sqrt(X.astype(np.float64).power(2).sum(axis=1))
    data = X.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(X.indptr))
    return type(X)((data.astype(X.dtype), X.indices, X.indptr), shape=X.shape)


def as_dense(X: Any) -> np.ndarray:
    """Return rows, which may be sparse, as a dense array."""
    return X if isinstance(X, np.ndarray) else X.toarray()


def is_distributed(X: Any) -> bool:
    """Return True if X is a Dask collection."""
    return type(X).__module__.partition(".")[0] == "dask"


def as_rows(X: Any, threads: int = 1, weight: np.ndarray | None = None) -> Rows:
    """Return an array, a memory map or a Dask collection as :class:`Rows`.

    Rows are returned as they are, with new weights if given; `threads` then has no effect.
    """
    if isinstance(X, Rows):
        return X if weight is None else X.with_weights(weight)
    if type(X) is np.ndarray:
        found = ArrayRows(X, threads=threads)
        found._weight = weight
        return found
    if is_distributed(X):
        from likewise.backends.dask import make_dask_rows

        rows: Rows = make_dask_rows(X)
    elif isinstance(X, np.memmap):
        from likewise.backends._files import MappedRows

        rows = MappedRows(X, threads=threads)
    elif hasattr(X, "tocsr"):  # SciPy is imported when it is needed
        from likewise.backends._sparse_rows import SparseRows

        rows = SparseRows(X, threads=threads)
    else:
        rows = ArrayRows(X, threads=threads)
    return rows if weight is None else rows.with_weights(weight)


def draw_rows(n_rows: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw `size` distinct row numbers below `n_rows`, in ascending order, with O(size) memory."""
    if n_rows <= 4 * size:
        return np.sort(rng.permutation(n_rows)[:size])
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:  # usually once, since more rows are drawn than needed
        more = rng.randint(0, n_rows, size=size + size // 4, dtype=np.int64)
        drawn = np.unique(np.concatenate([drawn, more]))
    return drawn[np.sort(rng.permutation(len(drawn))[:size])]


def get_block_rows(memory: int, n_features: int) -> int:
    """Return the number of rows in a block that one thread can process within `memory` bytes.

    It is at most the default number. A pass needs at most two float64 copies of a block besides the block
    itself, and about ten numbers for each row.
    """
    return max(1, min(BLOCK_ROWS, memory // (24 * n_features + 80)))
