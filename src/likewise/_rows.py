"""Rows in fixed blocks, wherever they are: what a pass over them needs to know, and nothing else.

A pass gives each block to a function and gets back what the blocks return, in order. Blocks are cut the same
way whatever the number of threads and wherever the rows are, and sums are added up in one fixed order, so the
same rows give the same sums. What a pass keeps of each row (a label, a distance) stays where the rows are and
follows from little, so that it can be made again where it was lost.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from likewise import _threads
from likewise._files import naming_file

T = TypeVar("T")
Self = TypeVar("Self", bound="Rows")


@dataclass(eq=False)
class Block:
    """One block, as a pass sees it.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Its rows, row-major.
    rows : slice
        Which of all rows they are.
    weight : ndarray of shape (n,)
        How much each of them counts.
    kept : ndarray or None
        What the column that the pass names holds of them; what is written there is kept.
    """

    X: np.ndarray
    rows: slice
    weight: np.ndarray
    kept: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.X)

    def weight_without(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights, 0 for those of `rows`, numbered among all and ascending, that are here.

        They are used up before the next block's are asked for.
        """
        first, last = np.searchsorted(rows, [self.rows.start, self.rows.stop])
        if first == last:
            return self.weight
        weight = _threads.scratch("weight", self.weight.shape, np.float64)
        weight[...] = self.weight
        weight[rows[first:last] - self.rows.start] = 0.0
        return weight


Work = Callable[[Block], T]
Recipe = Callable[[Block], np.ndarray]


class Column:
    """What passes keep of each row, block by block, where the rows are.

    Attributes
    ----------
    recipe : callable
        Makes what the column holds of a block. It follows from the block and from little else, so that a
        block which has lost its part makes it again, bit for bit. It must not be costly to send anywhere.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe


class _LocalColumn(Column):
    """A column in this process: one array, or an array for each block, or none, so that it is made anew."""

    def __init__(self, recipe: Recipe, parts: list[np.ndarray | None], held: np.ndarray | None) -> None:
        super().__init__(recipe)
        self.parts, self.held = parts, held
        self.made = [False] * len(parts)

    def part(self, number: int, block: Block, afresh: bool) -> np.ndarray | None:
        """Return the part of a block. `afresh` says that it will be written without being looked at."""
        here = self.parts[number]
        if here is None:
            return None if afresh else self.recipe(block)
        if not self.made[number] and not afresh:
            here[...] = self.recipe(block)
        self.made[number] = True
        return here


class Rows(ABC):
    """Rows of one dtype, cut into blocks, each with a weight.

    Attributes
    ----------
    shape : tuple of (int, int)
        How many rows and columns.
    dtype : numpy.dtype
        float32 or float64: what the blocks come in.
    blocks : sequence of slice
        The blocks, in order. They cover every row once; a block may be empty.
    threads : int
        How many threads a pass uses.
    names : sequence of str or None
        The names of the columns, where they have some.
    elsewhere : bool
        Whether the rows are outside this process.
    total_weight, heaviest : float
        The sum and the largest of the weights.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Sequence[slice]
    threads: int = 1
    names: Sequence[str] | None = None
    elsewhere: bool = False
    _weight: np.ndarray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def read(self, rows: slice) -> np.ndarray:
        """Return one block, row-major."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return few rows, in the order asked for."""

    @abstractmethod
    def through(self, function: Callable[[np.ndarray], np.ndarray]) -> Rows:
        """Return the rows that `function` makes of these; it works row by row and keeps dtype and shape."""

    # ------------------------------------------------------------------ weights

    def weighed(self: Self, weight: np.ndarray | None) -> Self:
        """Return the same rows with these weights; None means 1 for each."""
        weighed = copy(self)
        weighed._weight = weight
        return weighed

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(self.weight_by_block().sum())  # in the same order wherever they are

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return 1.0 if self._weight is None else float(self._weight.max())

    def weight_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights of few rows."""
        return np.ones(len(rows)) if self._weight is None else self._weight[rows]

    def weight_by_block(self) -> np.ndarray:
        """Return the total weight of each block."""
        if self._weight is None:
            return np.array([float(rows.stop - rows.start) for rows in self.blocks])
        return np.array([float(self._weight[rows].sum()) for rows in self.blocks])

    def _weight_within(self, rows: slice) -> np.ndarray:
        if self._weight is None:
            return _threads.ones(rows.stop - rows.start)
        return np.ascontiguousarray(self._weight[rows])

    # ------------------------------------------------------------------ passes

    def column(self, dtype: Any, recipe: Recipe, width: int | None = None) -> Column:
        """Return a column that holds what `recipe` makes of each block, when it is first looked at.

        With a `width` it holds (width, n) numbers of a block of n rows; it may then hold none at all and be
        made anew whenever it is looked at, where there is no room for it.
        """
        if width is not None:
            parts: list[np.ndarray | None] = [
                np.empty((width, rows.stop - rows.start), dtype=dtype) for rows in self.blocks
            ]
            return _LocalColumn(recipe, parts, None)
        held = self._held(np.dtype(dtype))
        return _LocalColumn(recipe, [held[rows] for rows in self.blocks], held)

    def _held(self, dtype: np.dtype) -> np.ndarray:
        return np.empty(len(self), dtype=dtype)

    def map(
        self,
        work: Work[T],
        column: Column | None = None,
        *,
        becomes: Recipe | None = None,
        afresh: bool = False,
        only: Sequence[int] | None = None,
    ) -> Iterator[T]:
        """Yield what ``work(block)`` returns for each block, in order.

        No more blocks are held at one time than there are threads. `work` may be sent elsewhere: it must not
        refer to anything large, and must not leave anything behind but what it returns and writes to
        ``block.kept``.

        Parameters
        ----------
        work : callable
            Given a :class:`Block`.
        column : Column, optional
            What ``block.kept`` shows.
        becomes : callable, optional
            The recipe of what the column holds after the pass, if `work` writes to it. It holds for the
            whole pass: every block has to be gone through.
        afresh : bool, default=False
            `work` writes to the column without looking at it; ``block.kept`` is None where it is not kept.
        only : sequence of int, optional
            The blocks to go through, by number. All by default.
        """
        numbers = range(len(self.blocks)) if only is None else only
        local = column if isinstance(column, _LocalColumn) else None

        def on_block(number: int) -> T:
            rows = self.blocks[number]
            block = Block(self.read(rows), rows, self._weight_within(rows))
            if local is not None:
                block.kept = local.part(number, block, afresh)
            return work(block)

        with _threads.block_map(self.threads) as each:
            yield from each(on_block, list(numbers))
        if column is not None and becomes is not None:
            column.recipe = becomes

    def sum(
        self,
        work: Work[T],
        column: Column | None = None,
        *,
        becomes: Recipe | None = None,
        afresh: bool = False,
    ) -> T:
        """Add up with ``+`` what ``work(block)`` returns for each block, always in the same order."""
        return added(self.map(work, column, becomes=becomes, afresh=afresh))

    def whole(self, column: Column, renumber: np.ndarray | None = None) -> Any:
        """Return what a column holds of all rows; the caller owns it, and the column is not used again.

        With `renumber` the entry i, a whole number, becomes ``renumber[i]``.
        """
        assert isinstance(column, _LocalColumn)
        assert column.held is not None
        if not all(column.made):
            for _ in self.map(_nothing, column):
                pass
        if renumber is not None:
            for rows in self.blocks:
                column.held[rows] = renumber[column.held[rows]]
        return column.held

    def produce(self, work: Callable[[np.ndarray], np.ndarray], dtype: Any, width: int | None = None) -> Any:
        """Return what ``work(X)`` makes of the rows of each block, for all rows.

        It gives one number a row, or `width` of them.
        """
        out = self._held(np.dtype(dtype)) if width is None else np.empty((len(self), width), dtype=dtype)

        def write(block: Block) -> None:
            out[block.rows] = work(block.X)

        for _ in Rows.map(self, write):
            pass
        return out


# Rows go through functions so many at a time: what is made on the way then stays in the cache.
_PIECE = 1024


def pass_through(
    X: np.ndarray, functions: Iterable[Callable[[np.ndarray], np.ndarray]], out: np.ndarray
) -> np.ndarray:
    """Write to `out` what the functions make of the rows of a block."""
    for at in range(0, len(X), _PIECE):
        piece = X[at : at + _PIECE]
        for function in functions:
            piece = function(piece)
        out[at : at + _PIECE] = piece
    return out


def _nothing(block: Block) -> None:
    """Look at a block, so that its column is made."""


def added(parts: Iterable[Any]) -> Any:
    """Add up with ``+`` in a fixed order: neighbours in pairs, pairs in fours, and so on.

    The sum of an aligned stretch of 2^p parts is a part of the sum of all, so that it may be taken elsewhere
    without changing a digit.
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

    def __init__(self, X: np.ndarray, blocks: Sequence[slice] | None = None, threads: int = 1) -> None:
        self._X = X
        self.shape, self.dtype, self.threads = (X.shape[0], X.shape[1]), X.dtype, threads
        self.blocks = _threads.row_blocks(len(X)) if blocks is None else blocks

    def read(self, rows: slice) -> np.ndarray:
        """Return one block, a view."""
        return self._X[rows]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return few rows."""
        return self._X[rows]

    def through(self, function: Callable[[np.ndarray], np.ndarray]) -> ArrayRows:
        """Apply the function now, block by block, so that each pass finds the result."""
        out = np.empty(self.shape, dtype=self.dtype)

        def write(rows: slice) -> None:
            pass_through(self._X[rows], (function,), out[rows])

        with _threads.block_map(self.threads) as each:
            for _ in each(write, list(self.blocks)):
                pass
        return ArrayRows(out, self.blocks, self.threads).weighed(self._weight)


# Columns of files are kept in a scratch file if they are larger than this.
_HELD_BYTES = 64_000_000


class MappedRows(Rows):
    """Rows of a file, seen through a memory map of any order: a block is copied when its turn comes.

    The operating system reads ahead, and with several threads one block is read while others are worked on.
    """

    shape: tuple[int, int]
    threads: int

    def __init__(
        self,
        X: np.ndarray,
        blocks: Sequence[slice] | None = None,
        *,
        threads: int = 1,
        functions: tuple[Callable[[np.ndarray], np.ndarray], ...] = (),
        scratch: Any = None,
    ) -> None:
        self._X, self._functions, self._scratch = X, functions, scratch
        self.shape, self.threads = (X.shape[0], X.shape[1]), threads
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self.blocks: Sequence[slice] = _threads.row_blocks(len(X)) if blocks is None else blocks

    def _made(self, raw: np.ndarray) -> np.ndarray:
        # A plain array first: a memmap's own arithmetic looks after its file at every step.
        block = np.asarray(raw, dtype=self.dtype)
        if not self._functions:
            return np.ascontiguousarray(block)
        return pass_through(block, self._functions, np.empty(block.shape, dtype=self.dtype))

    def read(self, rows: slice) -> np.ndarray:
        """Return one block, read from the file."""
        return self._made(self._X[rows])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return few rows, read from the file."""
        return self._made(self._X[rows])

    def through(self, function: Callable[[np.ndarray], np.ndarray]) -> MappedRows:
        """Apply the function to each block when it is read."""
        functions = (*self._functions, function)
        rows = MappedRows(
            self._X, self.blocks, threads=self.threads, functions=functions, scratch=self._scratch
        )
        return rows.weighed(self._weight)

    def column(self, dtype: Any, recipe: Recipe, width: int | None = None) -> Column:
        """Return a column; one with a width is made anew at every look."""
        if width is not None:
            return _LocalColumn(recipe, [None] * len(self.blocks), None)
        return super().column(dtype, recipe)

    def _held(self, dtype: np.dtype) -> np.ndarray:
        if len(self) * dtype.itemsize <= _HELD_BYTES:
            return super()._held(dtype)
        with tempfile.TemporaryFile(dir=self._scratch) as file:  # it goes with the array
            if hasattr(os, "posix_fallocate"):  # a full disk would end the process at the first write
                with naming_file(self._scratch or tempfile.gettempdir()):
                    os.posix_fallocate(file.fileno(), 0, len(self) * dtype.itemsize)
            return np.memmap(file, dtype=dtype, mode="w+", shape=(len(self),))

    def map(self, work: Work[T], column: Column | None = None, **how: Any) -> Iterator[T]:
        """Yield what ``work(block)`` returns for each block, in order."""
        _check_whole(self._X)
        return super().map(work, column, **how)


# Kinds of data that lie elsewhere: the package that a type comes from, and what makes rows of it.
_ELSEWHERE = {"dask": ("likewise.distributed", "rows_of")}


def lies_elsewhere(X: Any) -> bool:
    """Tell whether X is of a kind that is not in this process."""
    return type(X).__module__.partition(".")[0] in _ELSEWHERE


def as_rows(X: Any, threads: int = 1, weight: np.ndarray | None = None) -> Rows:
    """Return an array, a memory map or data that lie elsewhere as rows; rows stay what they are."""
    if isinstance(X, Rows):
        return X if weight is None else X.weighed(weight)
    if lies_elsewhere(X):
        room, maker = _ELSEWHERE[type(X).__module__.partition(".")[0]]
        rows: Rows = getattr(importlib.import_module(room), maker)(X)
    elif isinstance(X, np.memmap):
        rows = MappedRows(X, threads=threads)
    else:
        rows = ArrayRows(X, threads=threads)
    return rows if weight is None else rows.weighed(weight)


def drawn_rows(n_rows: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw `size` different rows of `n_rows`, ascending, in memory for as many as are drawn."""
    if n_rows <= 4 * size:
        return np.sort(rng.permutation(n_rows)[:size])
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:  # once, as a rule: some more are drawn than are wanted
        more = rng.randint(0, n_rows, size=size + size // 4, dtype=np.int64)
        drawn = np.unique(np.concatenate([drawn, more]))
    return drawn[np.sort(rng.permutation(len(drawn))[:size])]


def block_rows_within(memory: int, n_features: int) -> int:
    """Return how many rows one thread may work on within `memory` bytes, at most the usual number.

    A pass makes at most two copies in float64 of a block beside the block itself, and some ten numbers a row.
    """
    return max(1, min(_threads.BLOCK_ROWS, memory // (24 * n_features + 80)))


def _check_whole(X: np.ndarray) -> None:
    """Refuse a memory map whose file was cut since: reading beyond its end would end the process."""
    name = getattr(X, "filename", None)
    if not isinstance(X, np.memmap) or name is None or not os.path.isfile(name):
        return  # a removed file stays readable as long as it is mapped
    size, needed = os.path.getsize(name), X.offset + X.nbytes
    if size < needed:
        raise OSError(f"{name} has shrunk from {needed:,} to {size:,} bytes since it was opened.")
