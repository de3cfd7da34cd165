"""Threads, blocks and scratch memory of passes over the rows."""

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


def split_rows(n_rows: int) -> list[slice]:
    """Return the blocks of rows, which depend only on the number of rows."""
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
    """Return a read-only array of n ones."""
    found = np.ones(n)
    found.flags.writeable = False
    return found
