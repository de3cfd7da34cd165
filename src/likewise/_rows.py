"""Rows in fixed blocks, wherever they are: what a pass over them needs to know, and nothing else.

A pass gives each block to a function and gets back what the blocks return, in order. Blocks are cut the same
way whatever the number of threads and wherever the rows are, so the same rows give the same sums.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from likewise import _threads

T = TypeVar("T")
Work = Callable[[np.ndarray, slice], T]


class Rows(ABC):
    """Rows of one dtype, cut into blocks.

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
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Sequence[slice]
    threads: int = 1

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

    def map(self, work: Work[T], threads: int | None = None) -> Iterator[T]:
        """Yield what ``work(block, rows)`` returns for each block, in order.

        No more blocks are held at one time than there are threads.
        """
        with _threads.block_map(self.threads if threads is None else threads) as each:
            yield from each(lambda rows: work(self.read(rows), rows), list(self.blocks))


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
        for rows in self.blocks:
            out[rows] = function(self._X[rows])
        return ArrayRows(out, self.blocks, self.threads)


class MappedRows(Rows):
    """Rows of a file, seen through a memory map of any order: a block is copied when its turn comes.

    The operating system reads ahead, and with several threads one block is read while others are worked on.
    """

    def __init__(
        self,
        X: np.ndarray,
        blocks: Sequence[slice] | None = None,
        *,
        threads: int = 1,
        functions: tuple[Callable[[np.ndarray], np.ndarray], ...] = (),
    ) -> None:
        self._X, self._functions = X, functions
        self.shape, self.threads = (X.shape[0], X.shape[1]), threads
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self.blocks = _threads.row_blocks(len(X)) if blocks is None else blocks

    def _made(self, raw: np.ndarray) -> np.ndarray:
        # A plain array first: a memmap's own arithmetic looks after its file at every step.
        block = np.asarray(raw, dtype=self.dtype)
        for function in self._functions:
            block = function(block)
        return np.ascontiguousarray(block)

    def read(self, rows: slice) -> np.ndarray:
        """Return one block, read from the file."""
        return self._made(self._X[rows])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return few rows, read from the file."""
        return self._made(self._X[rows])

    def through(self, function: Callable[[np.ndarray], np.ndarray]) -> MappedRows:
        """Apply the function to each block when it is read."""
        functions = (*self._functions, function)
        return MappedRows(self._X, self.blocks, threads=self.threads, functions=functions)

    def map(self, work: Work[T], threads: int | None = None) -> Iterator[T]:
        """Yield what ``work(block, rows)`` returns for each block, in order."""
        _check_whole(self._X)
        return super().map(work, threads)


def as_rows(X: Any, threads: int = 1) -> Rows:
    """Return an array as rows; rows stay what they are."""
    if isinstance(X, Rows):
        return X
    return MappedRows(X, threads=threads) if isinstance(X, np.memmap) else ArrayRows(X, threads=threads)


def added(parts: Iterator[Any]) -> Any:
    """Add up what the blocks return, in order, with ``+``."""
    total = next(parts)
    for part in parts:
        total = total + part
    return total


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
