"""How many threads a pass over the rows may use, and the pass itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
B = TypeVar("B")

# A block is what one thread takes at a time. Its size depends on nothing but this constant, and blocks are
# merged in order, so the result is the same whatever the number of threads.
BLOCK_ROWS = 32_768
# Below this many products (rows x columns x clusters) a second thread costs more than it brings.
_WORTH_A_THREAD = 20_000_000


def get_n_threads(work: int, n_jobs: int | None) -> int:
    """Return how many threads to use for `work` products: 1 if little, else what the limits in force allow.

    Limits set by threadpoolctl, ``OMP_NUM_THREADS`` or joblib's workers are honoured, since all of them
    show in the OpenMP pools that scikit-learn has loaded. `n_jobs` lowers the limit further.
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


def split_rows(n_rows: int) -> list[slice]:
    """Return the blocks of rows, always cut the same way."""
    return [slice(lo, min(lo + BLOCK_ROWS, n_rows)) for lo in range(0, n_rows, BLOCK_ROWS)]


@contextmanager
def map_blocks(threads: int) -> Iterator[Callable[[Callable[[B], T], list[B]], Iterator[T]]]:
    """Yield a ``map`` over blocks that keeps their order, on `threads` threads."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


_local = threading.local()


def get_scratch(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return room for numbers that are used up before this thread asks for the same name again.

    Fresh memory for every block can cost more than the work on it, most of all in processes that are told to
    give memory back at once, as Dask's workers are.
    """
    rooms: dict[tuple[str, str], np.ndarray] = _local.__dict__.setdefault("rooms", {})
    key, size = (name, np.dtype(dtype).str), int(np.prod(shape))
    if key not in rooms or len(rooms[key]) < size:
        rooms[key] = np.empty(size, dtype=dtype)
    return rooms[key][:size].reshape(shape)


@lru_cache(maxsize=16)
def get_ones(n: int) -> np.ndarray:
    """Return n ones, which cannot be written to."""
    found = np.ones(n)
    found.flags.writeable = False
    return found
