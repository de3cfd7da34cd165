"""What runs on a worker: a pass over the blocks of one chunk, and the columns that are kept there.

A column's part of a chunk lies in the memory of the worker that wrote it last, under the version that the
pass gave it. A worker that has no part, or one of another version (the chunk has moved, a worker was lost, a
task is run again), makes it by the recipe, so that where tasks run changes nothing but the time.
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

from likewise import _threads
from likewise._blocks import Block, add_in_pairs, pass_through


@dataclass(frozen=True)
class Chunk:
    """Some consecutive blocks: which of all rows they are, and which of all blocks."""

    number: int
    start: int
    blocks: tuple[slice, ...]
    first_block: int


@dataclass(frozen=True)
class ColumnAccess:
    """What a pass does with a column: which one, the version that it finds and the one that it leaves."""

    column: str
    alive: frozenset[str]  # the columns of this client that are still wanted
    found: str
    left: str
    dtype: str
    width: int | None
    afresh: bool
    kept: bool


@dataclass(frozen=True)
class PassTask:
    """A pass, as a task is told of it: functions as bytes, which a worker reads once for all its chunks."""

    functions: bytes  # work, recipe
    through: bytes  # what rows go through first
    spaces: frozenset[str]  # the tokens of what these rows are still to go through
    client: str
    data: str
    look: ColumnAccess | None
    together: bool  # add the blocks up
    last: bool  # no more passes over these rows are to be expected


@dataclass
class ChunkPart:
    """What is kept of a chunk for one column, block by block; None where it has yet to be made."""

    version: str
    blocks: list[np.ndarray | None]


_parts: dict[tuple[str, str, int], ChunkPart] = {}
_lock = threading.RLock()  # a chunk may be let go while the lock is held
# What is kept of a chunk goes with it, also where a fit ended in an error: the chunks that are watched, and
# the parts of columns that belong to each.
_watched: dict[tuple[str, int], set[tuple[str, str, int]]] = {}


# A worker keeps what rows have gone through, so that passes need not do it again, within this share of its
# memory. Beyond that, and where a chunk has moved, it is done again.
SHARE = 0.3
_passed: dict[tuple[str, str, int], np.ndarray] = {}


@lru_cache(maxsize=8)
def _read(functions: bytes) -> tuple[Any, ...]:
    read: tuple[Any, ...] = cloudpickle.loads(functions)
    return read


def go_through(
    X: np.ndarray, weight: np.ndarray | None, chunk: Chunk, passing: PassTask, only: tuple[int, ...] | None
) -> Any:
    """Give the blocks of a chunk to the pass's function; return what it returns, for each or added up."""
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
        block = Block(X[part], rows, get_weight(weight, part))
        kept.show(block, at)
        found.append(work(block))
    kept.put_back()
    return add_in_pairs(found) if passing.together else found


def _watch(X: np.ndarray, data: str, chunk: Chunk) -> None:
    """Forget what is kept of a chunk when its rows are let go."""
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
    """Return a short name for what rows go through."""
    return hashlib.blake2b(functions, digest_size=16).hexdigest()


def transform_chunk(X: np.ndarray, chunk: Chunk, passing: PassTask) -> np.ndarray:
    """Return what functions make of the rows of a chunk, which is kept if there is room."""
    functions = _read(passing.through)
    key = (passing.data, make_token(passing.through), chunk.number)
    with _lock:
        known = _passed.get(key)
        for other in [one for one in list(_passed) if (one[0], one[2]) == (key[0], key[2])]:
            if passing.last or other[1] not in passing.spaces:
                _passed.pop(other, None)
    if not functions or known is not None:
        return X if known is None else known
    out = np.empty_like(X)
    for rows in chunk.blocks:
        part = slice(rows.start - chunk.start, rows.stop - chunk.start)
        pass_through(X[part], functions, out[part])
    if not passing.last:
        _keep_passed(key, out)
    return out


def _keep_passed(key: tuple[str, str, int], out: np.ndarray) -> None:
    """Keep rows that have gone through something: in place of other data's, never of the same data's.

    Passes come round to all chunks in turn, so that letting one chunk go for another would keep none.
    """
    room = SHARE * (_get_memory_limit() or np.inf)
    with _lock:
        if (key[0], key[2]) not in _watched:  # the rows were let go meanwhile
            return
        for other in [one for one in list(_passed) if one[0] != key[0]]:
            if _count_kept_bytes() + out.nbytes <= room:
                break
            _passed.pop(other, None)
        if _count_kept_bytes() + out.nbytes <= room:
            _passed[key] = out


def _count_kept_bytes() -> int:
    return sum(array.nbytes for array in list(_passed.values()))


def _get_memory_limit() -> int | None:
    from distributed import get_worker

    limit: int | None = get_worker().memory_manager.memory_limit
    return limit


def get_weight(weight: np.ndarray | None, part: slice) -> np.ndarray:
    """Return the weights of some rows of a chunk."""
    return _threads.get_ones(part.stop - part.start) if weight is None else np.ascontiguousarray(weight[part])


class _KeptPart:
    """The part of a column that belongs to a chunk, taken while the chunk is gone through."""

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
        """Let a block, the chunk's number `at`, show what the column holds of it."""
        if self._look is None:
            return
        mine = None if self._here is None else self._here.blocks[at]
        if mine is None and self._look.afresh and self._here is not None:
            width = () if self._look.width is None else (self._look.width,)
            mine = np.empty((*width, len(block)), dtype=self._look.dtype)
        elif mine is None and not self._look.afresh and self._recipe is not None:
            mine = np.asarray(self._recipe(block), dtype=self._look.dtype)
        if self._here is not None:
            self._here.blocks[at] = mine
        block.kept = mine

    def put_back(self) -> None:
        """Keep the part under the version that the pass leaves; blocks that it has not seen stay unknown."""
        if self._look is None or self._here is None or self._look.column not in self._look.alive:
            return
        self._here.version = self._look.left
        with _lock:
            if self._chunk in _watched:  # else the rows were let go meanwhile
                _parts[self._key] = self._here
                _watched[self._chunk].add(self._key)


def pick(X: np.ndarray, rows: np.ndarray, functions: bytes) -> np.ndarray:
    """Return few rows of a chunk."""
    X = np.ascontiguousarray(X[rows])
    return pass_through(X, _read(functions), np.empty_like(X))


def make(X: np.ndarray, functions: bytes, chunk: Chunk, dtype: str, width: int | None) -> np.ndarray:
    """Return what a function makes of the rows of a chunk, block by block."""
    work, *through_these = _read(functions)
    out = np.empty(len(X) if width is None else (len(X), width), dtype=dtype)
    for rows in chunk.blocks:
        part = slice(rows.start - chunk.start, rows.stop - chunk.start)
        block = pass_through(X[part], through_these, np.empty(X[part].shape, dtype=X.dtype))
        out[part] = work(block)
    return out


def hand_over(block: Block) -> np.ndarray:
    """Return what the column holds of a block."""
    assert block.kept is not None
    return block.kept.copy()


def join_parts(parts: list[np.ndarray], dtype: str, renumber: np.ndarray | None) -> np.ndarray:
    """Return the parts of a chunk end to end."""
    whole = np.concatenate([np.empty(0, dtype=dtype), *parts])
    return whole if renumber is None else renumber[whole].astype(dtype)
