"""Code that runs on a worker: a pass over the blocks of one chunk, and the columns stored there.

The part of a column for a chunk is in the memory of the worker that wrote it last, with the version of that
pass. A worker without this version (the chunk has moved, a worker was lost, or a task is repeated)
recomputes it by the recipe, so results do not depend on where tasks run.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cloudpickle
import numpy as np

from likewise.backends._rows import Block, add_in_pairs, get_ones, pass_through


@dataclass(frozen=True)
class Chunk:
    """Consecutive blocks, with their positions among all rows and all blocks."""

    number: int
    start: int
    blocks: tuple[slice, ...]
    first_block: int

    @property
    def n_rows(self) -> int:
        """The number of rows in the chunk."""
        return self.blocks[-1].stop - self.start if self.blocks else 0


@dataclass(frozen=True)
class ColumnAccess:
    """Access of a pass to a column: the column, the version to read and the version to write."""

    column: str
    alive: frozenset[str]  # the columns of this client that are still in use
    found: str
    left: str
    dtype: str
    width: int | None
    overwrite: bool
    kept: bool


@dataclass(frozen=True)
class PassTask:
    """The arguments of a pass: functions as bytes, which a worker deserialises once for all its chunks."""

    functions: bytes  # work, recipe
    through: bytes  # transformations applied first
    n_features: int  # columns after the transformations
    spaces: frozenset[str]  # tokens of the transformations that are still in use
    client: str
    data: str
    look: ColumnAccess | None
    together: bool  # sum over the blocks
    last: bool  # no more passes over these rows will follow


@dataclass
class ChunkPart:
    """The values of a column for a chunk, by block; None for blocks that are not computed yet."""

    version: str
    blocks: list[np.ndarray | None]


_parts: dict[tuple[str, str, int], ChunkPart] = {}
_lock = threading.RLock()  # a chunk may be released while the lock is held
# Stored values of a chunk are released with it, even if a fit ends in an error: the watched chunks, and the
# parts of columns that belong to each.
_watched: dict[tuple[str, int], set[tuple[str, str, int]]] = {}


# A worker caches transformed rows within this fraction of its memory. Beyond that, and if a chunk has moved,
# they are recomputed.
SHARE = 0.3
_passed: dict[tuple[str, str, int], np.ndarray] = {}


@lru_cache(maxsize=8)
def _read(functions: bytes) -> tuple[Any, ...]:
    read: tuple[Any, ...] = cloudpickle.loads(functions)
    return read


def go_through(
    X: np.ndarray, weight: np.ndarray | None, chunk: Chunk, passing: PassTask, only: tuple[int, ...] | None
) -> Any:
    """Call the function of a pass with the blocks of a chunk; return the results or their sum."""
    work, recipe = _read(passing.functions)
    _watch(X, passing.data, chunk)
    X = np.ascontiguousarray(X)
    kept = _KeptPart(chunk, passing, recipe)
    X = transform_chunk(X, chunk, passing)
    found = []
    for at, rows in enumerate(chunk.blocks):
        if only is not None and chunk.first_block + at not in only:
            continue
        part = slice(rows.start - chunk.start, rows.stop - chunk.start)
        own = get_ones(rows.stop - rows.start) if weight is None else np.ascontiguousarray(weight[part])
        block = Block(X[part], rows, own)
        kept.show(block, at)
        found.append(work(block))
    kept.put_back()
    return add_in_pairs(found) if passing.together else found


def _watch(X: np.ndarray, data: str, chunk: Chunk) -> None:
    """Release the stored values of a chunk when its rows are released."""
    key = (data, chunk.number)
    with _lock:
        if key not in _watched:
            _watched[key] = set()
            weakref.finalize(X, _forget, key)


def _forget(key: tuple[str, int]) -> None:
    with _lock:
        for part in _watched.pop(key, ()):
            _parts.pop(part, None)
        for passed in [one for one in list(_passed) if (one[0], one[2]) == key]:
            _passed.pop(passed, None)


def make_token(functions: bytes) -> str:
    """Return a short name for transformations."""
    return hashlib.blake2b(functions, digest_size=16).hexdigest()


def transform_chunk(X: np.ndarray, chunk: Chunk, passing: PassTask) -> np.ndarray:
    """Return the transformed rows of a chunk, which are cached if there is enough memory."""
    functions = _read(passing.through)
    key = (passing.data, make_token(passing.through), chunk.number)
    with _lock:
        known = _passed.get(key)
        for other in [one for one in list(_passed) if (one[0], one[2]) == (key[0], key[2])]:
            if passing.last or other[1] not in passing.spaces:
                _passed.pop(other, None)
    if not functions or known is not None:
        return X if known is None else known
    out = np.empty((len(X), passing.n_features), dtype=X.dtype)
    for rows in chunk.blocks:
        part = slice(rows.start - chunk.start, rows.stop - chunk.start)
        pass_through(X[part], functions, out[part])
    if not passing.last:
        _keep_passed(key, out)
    return out


def _keep_passed(key: tuple[str, str, int], out: np.ndarray) -> None:
    """Cache transformed rows; they may replace rows of other data, but not of the same data.

    Passes visit all chunks in turn, so replacing one chunk by another would make the cache useless.
    """
    from distributed import get_worker

    room = SHARE * (get_worker().memory_manager.memory_limit or np.inf) - out.nbytes

    def is_room() -> bool:
        return sum(array.nbytes for array in list(_passed.values())) <= room

    with _lock:
        if (key[0], key[2]) not in _watched:  # the rows were released meanwhile
            return
        for other in [one for one in list(_passed) if one[0] != key[0]]:
            if is_room():
                break
            _passed.pop(other, None)
        if is_room():
            _passed[key] = out


class _KeptPart:
    """The part of a column for a chunk, checked out during a pass."""

    def __init__(self, chunk: Chunk, passing: PassTask, recipe: Callable[..., Any] | None) -> None:
        look, client = passing.look, passing.client
        self._look, self._recipe = look, recipe
        self._chunk = (passing.data, chunk.number)
        self._here: ChunkPart | None = None
        if look is None:
            return
        self._key = (client, look.column, chunk.number)
        with _lock:
            for key in [key for key in list(_parts) if key[0] == client and key[1] not in look.alive]:
                _parts.pop(key, None)
            self._here = _parts.pop(self._key, None)
        if look.kept and (self._here is None or self._here.version != look.found):
            self._here = ChunkPart(look.found, [None] * len(chunk.blocks))

    def show(self, block: Block, at: int) -> None:
        """Attach the values of the column to a block, which is number `at` of the chunk."""
        if self._look is None:
            return
        mine = None if self._here is None else self._here.blocks[at]
        if mine is None and self._look.overwrite and self._here is not None:
            width = () if self._look.width is None else (self._look.width,)
            mine = np.empty((*width, len(block)), dtype=self._look.dtype)
        elif mine is None and not self._look.overwrite and self._recipe is not None:
            mine = np.asarray(self._recipe(block), dtype=self._look.dtype)
        if self._here is not None:
            self._here.blocks[at] = mine
        block.kept = mine

    def put_back(self) -> None:
        """Store the part with its new version; blocks that the pass did not visit are not computed yet."""
        if self._look is None or self._here is None or self._look.column not in self._look.alive:
            return
        self._here.version = self._look.left
        with _lock:
            if self._chunk in _watched:  # else the rows were released meanwhile
                _parts[self._key] = self._here
                _watched[self._chunk].add(self._key)


def pick(X: np.ndarray, rows: np.ndarray, functions: bytes, n_features: int) -> np.ndarray:
    """Return a small number of transformed rows of a chunk, or of weights, which are one-dimensional."""
    X = np.ascontiguousarray(X[rows])
    return pass_through(X, _read(functions), np.empty((len(X), n_features)[: X.ndim], dtype=X.dtype))


def make(
    X: np.ndarray, functions: bytes, chunk: Chunk, dtype: str, width: int | None, n_features: int
) -> np.ndarray:
    """Apply a function to the transformed rows of a chunk, block by block."""
    work, *through_these = _read(functions)
    out = np.empty(len(X) if width is None else (len(X), width), dtype=dtype)
    for rows in chunk.blocks:
        part = slice(rows.start - chunk.start, rows.stop - chunk.start)
        block = pass_through(X[part], through_these, np.empty((len(X[part]), n_features), dtype=X.dtype))
        out[part] = work(block)
    return out


def hand_over(block: Block) -> np.ndarray:
    """Return the values of the column for a block."""
    assert block.kept is not None
    return block.kept.copy()


def join_parts(parts: list[np.ndarray], dtype: str, renumber: np.ndarray | None) -> np.ndarray:
    """Concatenate the parts of a chunk."""
    whole = np.concatenate([np.empty(0, dtype=dtype), *parts])
    return whole if renumber is None else renumber[whole].astype(dtype)
