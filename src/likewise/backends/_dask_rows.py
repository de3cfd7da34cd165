"""Rows on a Dask cluster: each pass is one task per chunk, and per-row state stays on the workers."""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any, TypeVar

import cloudpickle
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from likewise._optional import require
from likewise.backends import _dask_worker as _worker
from likewise.backends._dask_worker import Chunk, ColumnAccess, PassTask
from likewise.backends._rows import Column, Recipe, Rows, Work, add_in_pairs, split_rows
from likewise.exceptions import DaskClusterError

T = TypeVar("T")

# ---------------------------------------------------------------------- clients and errors

# Maximum time to wait for a scheduler, in seconds.
_PATIENCE = 10.0


def explain_failures(client: Any, ask: Callable[[], T]) -> T:
    """Return the result of `ask`; convert failures of the cluster to errors that explain what to do."""
    distributed = require("distributed", extra="scale")
    try:
        return ask()
    except distributed.KilledWorker as error:
        last = getattr(error.last_worker, "address", error.last_worker)
        raise DaskClusterError(
            f"{error.allowed_failures + 1} workers were lost one after another on the same chunk of rows "
            f"(the last at {last}). Usually a worker has too little memory to process a "
            "chunk: use smaller chunks (X.rechunk), or give the workers more memory (memory_limit=)."
        ) from error
    except (CancelledError, distributed.comm.CommClosedError) as error:
        where = getattr(getattr(client, "scheduler", None), "address", "its address")
        raise DaskClusterError(
            f"the Dask scheduler at {where} was lost during the fit, with the rows on its workers. "
            "Connect again and restart the fit."
        ) from error


def get_client(client: Any) -> Any:
    """Return a Dask client: the given client, a client for the given address, or the current client."""
    distributed = require("distributed", extra="scale")
    if isinstance(client, str):
        before = _get_current_client(distributed)
        if before is not None and before.scheduler is not None and before.scheduler.address == client:
            return before
        try:
            opened = _open_client(distributed, client)
        except (OSError, TimeoutError, ValueError, MemoryError) as error:
            broken = _get_current_client(distributed)  # Dask keeps it as the current client
            if broken is not None and broken is not before:
                broken.close()
            raise ConnectionError(
                f"no Dask scheduler answers at {client} ({str(error) or type(error).__name__}). Use the "
                "address that `dask scheduler` prints, such as tcp://127.0.0.1:8786."
            ) from error
        try:
            return _with_workers(opened)
        except DaskClusterError:
            opened.close()
            raise
    if client is not None:
        return _with_workers(client)
    try:
        return _with_workers(distributed.get_client())
    except ValueError as error:
        raise ConnectionError(
            "the rows are Dask data, but there is no Dask client. Create one first, for this "
            "machine with distributed.Client(), or pass client= to likewise.distributed.fit."
        ) from error


def _open_client(distributed: Any, address: str) -> Any:
    """Return a client for an address, with a timeout: it may not be a scheduler, or may not respond."""
    found: list[Any] = []

    def attempt() -> None:
        try:
            found.append(distributed.Client(address, timeout=_PATIENCE))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(1.5 * _PATIENCE)
    if not found:
        raise TimeoutError("the address is in use, but does not respond like a scheduler")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _with_workers(client: Any) -> Any:
    """Wait until the scheduler has workers; return the client."""
    if explain_failures(client, client.nthreads):
        return client
    try:  # workers may still be starting
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise DaskClusterError(
            f"the Dask scheduler at {client.scheduler.address} has no workers. Start some with `dask worker`."
        ) from None
    return client


def gather_results(client: Any, futures: list[Any]) -> list[Any]:
    """Return the results of tasks; if all workers are lost, wait for new ones for a limited time."""
    distributed = require("distributed", extra="scale")

    def ask() -> list[Any]:
        alone = 0
        while True:
            try:
                with client.as_current():
                    distributed.wait(futures, timeout=_PATIENCE)
                break
            except TimeoutError:
                alone = 0 if client.nthreads() else alone + 1
                if alone > 3:
                    raise DaskClusterError(
                        f"all workers of the Dask scheduler at {client.scheduler.address} were lost during "
                        f"the fit, and none returned within {4 * _PATIENCE:.0f} seconds. Start some with "
                        "`dask worker`, and restart the fit."
                    ) from None
        found: list[Any] = client.gather(futures)
        return found

    return explain_failures(client, ask)


def _get_current_client(distributed: Any) -> Any:
    """Return the current client, or None."""
    with suppress(ValueError):
        return distributed.Client.current()
    return None


# ---------------------------------------------------------------------- rows

# The columns of each client that are still in use; workers release all others.
_columns: dict[str, weakref.WeakSet[DaskColumn]] = {}
_lock = threading.Lock()


class DaskColumn(Column):
    """A versioned column on the workers; each pass that writes to it creates a new version."""

    def __init__(self, recipe: Recipe, dtype: np.dtype, width: int | None, kept: bool) -> None:
        super().__init__(recipe)
        self.name, self.version = uuid.uuid4().hex, uuid.uuid4().hex
        self.dtype, self.width, self.kept = dtype, width, kept


class DaskRows(Rows):
    """Rows of a Dask array on a cluster; its chunks are split into blocks of the default size.

    Each pass sends small arguments to one task per chunk and receives small results, so the memory of this
    process does not grow with the number of rows. If a worker is lost, Dask recomputes its chunks and tasks
    recompute their state, so the result is the same.
    """

    client: Any
    names: Sequence[str] | None
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    is_distributed = True

    def __init__(self, array: Any, client: Any, names: Sequence[str] | None = None) -> None:
        self.client, self.names = client, names
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        lengths = [int(n) for n in array.chunks[0]]
        self.chunks: list[Chunk] = _cut(lengths)
        self.blocks: list[slice] = [rows for chunk in self.chunks for rows in chunk.blocks]
        self._futures = explain_failures(client, lambda: client.compute(list(array.to_delayed().ravel())))
        self._data = uuid.uuid4().hex
        self._weights: list[Any] | None = None
        self._weight_sums: np.ndarray | None = None
        self._functions: tuple[Callable[[np.ndarray], np.ndarray], ...] = ()
        # These rows and their transformed versions.
        self._spaces: weakref.WeakSet[DaskRows] = weakref.WeakSet([self])

    def __copy__(self) -> DaskRows:
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__)
        with _lock:
            self._spaces.add(same)
        return same

    def __reduce__(self) -> Any:
        raise TypeError("rows on a cluster cannot be pickled: the arguments of a pass must be small.")

    # ------------------------------------------------------------------ weights

    def with_weights(self, weight: Any) -> DaskRows:
        weighed = copy(self)
        weighed._weights = weighed._weight_sums = None
        if weight is None:
            return weighed
        lengths = tuple(chunk.n_rows for chunk in self.chunks)
        if hasattr(weight, "to_dask_array"):
            weight = weight.to_dask_array(lengths=True)
        if not isinstance(weight, da.Array):
            weight = da.from_array(np.asarray(weight, dtype=np.float64), chunks=(lengths,))
        if weight.shape != (len(self),):
            raise ValueError(
                f"sample_weight must have one weight per row, shape ({len(self)},); got {weight.shape}."
            )
        weight = weight.astype(np.float64).rechunk((lengths,))
        weighed._weights = self.client.compute(list(weight.to_delayed().ravel()))
        sums = np.array(list(weighed.map(_sum_weights))).reshape(-1, 3)
        if not np.isfinite(sums).all() or (len(sums) and sums[:, 2].min() < 0) or not sums[:, 0].any():
            raise ValueError(
                "sample_weight must be finite, must not be negative, and must not be zero for all rows."
            )
        weighed._weight_sums = sums
        return weighed

    @property
    def heaviest(self) -> float:
        return 1.0 if self._weight_sums is None else float(self._weight_sums[:, 1].max())

    def sum_weights_by_block(self) -> np.ndarray:
        return super().sum_weights_by_block() if self._weight_sums is None else self._weight_sums[:, 0]

    def get_weights(self, rows: np.ndarray) -> np.ndarray:
        if self._weights is None:
            return np.ones(len(rows))
        return self._take_rows(rows, self._weights, ())

    # ------------------------------------------------------------------ single rows

    def read(self, rows: slice) -> np.ndarray:
        return self.take(np.arange(rows.start, rows.stop))

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self._take_rows(rows, self._futures, self._functions)

    def _take_rows(self, rows: np.ndarray, futures: list[Any], functions: tuple[Any, ...]) -> np.ndarray:
        rows = np.asarray(rows, dtype=np.int64)
        starts = np.array([chunk.start for chunk in self.chunks])
        # Of chunks that start at the same row, only the last one is not empty.
        chunk_of = np.searchsorted(starts, rows, side="right") - 1
        sent = cloudpickle.dumps(functions)
        asked, here = [], []
        for number in np.unique(chunk_of).tolist():
            mine = np.flatnonzero(chunk_of == number)
            asked.append((futures[number], rows[mine] - starts[number], sent, self.shape[1]))
            here.append(mine)
        found = gather_results(self.client, self._submit_tasks("take", _worker.pick, asked))
        shape = (len(rows), self.shape[1]) if futures is self._futures else (len(rows),)
        out = np.empty(shape, dtype=self.dtype if futures is self._futures else np.float64)
        for mine, part in zip(here, found, strict=True):
            out[mine] = part
        return out

    def transform(
        self, function: Callable[[np.ndarray], np.ndarray], n_features: int | None = None
    ) -> DaskRows:
        changed = copy(self)
        changed._functions = (*self._functions, function)
        changed.shape = (self.shape[0], n_features or self.shape[1])
        return changed

    # ------------------------------------------------------------------ passes

    def make_column(self, dtype: Any, recipe: Recipe, width: int | None = None) -> Column:
        kept = True  # a wide column only if the workers have enough memory; else it is recomputed
        if width is not None:
            info = explain_failures(self.client, lambda: self.client.scheduler_info(n_workers=-1))
            room = _worker.SHARE * sum(w["memory_limit"] or np.inf for w in info["workers"].values())
            kept = len(self) * width * np.dtype(dtype).itemsize <= room
        column = DaskColumn(recipe, np.dtype(dtype), width, kept)
        with _lock:
            _columns.setdefault(self.client.id, weakref.WeakSet()).add(column)
        return column

    def map(self, work: Work[T], column: Column | None = None, **how: Any) -> Iterator[T]:
        for found in self._pass(work, column, **how):
            yield from found

    def sum(self, work: Work[T], column: Column | None = None, **how: Any) -> T:
        total: T = add_in_pairs(self._pass(work, column, together=True, **how))  # by chunk on its worker
        return total

    def _pass(
        self, work: Work[T], column: Column | None, *, new_recipe: Recipe | None = None, **how: Any
    ) -> list[Any]:
        found = gather_results(self.client, self._submit(work, column, new_recipe=new_recipe, **how))
        if isinstance(column, DaskColumn) and new_recipe is not None:
            column.recipe = new_recipe
        return found

    def _submit(
        self,
        work: Work[T],
        column: Column | None,
        *,
        new_recipe: Recipe | None = None,
        overwrite: bool = False,
        together: bool = False,
        only: Sequence[int] | None = None,
        last: bool = False,
    ) -> list[Any]:
        """Submit a task for each chunk; the arguments are those of :meth:`Rows.map` and of `PassTask`."""
        look, recipe = None, None
        if isinstance(column, DaskColumn):
            left = column.version if new_recipe is None else uuid.uuid4().hex
            with _lock:
                columns = list(_columns.get(self.client.id, ()))
            alive = frozenset(one.name for one in columns if not (last and one is column))
            dtype, width, kept = column.dtype.str, column.width, column.kept
            look = ColumnAccess(column.name, alive, column.version, left, dtype, width, overwrite, kept)
            recipe, column.version = column.recipe, left
        with _lock:
            spaces = list(self._spaces)
        passing = PassTask(
            functions=cloudpickle.dumps((work, recipe)),
            through=cloudpickle.dumps(self._functions),
            n_features=self.shape[1],
            spaces=frozenset(_worker.make_token(cloudpickle.dumps(rows._functions)) for rows in spaces),
            client=self.client.id,
            data=self._data,
            look=look,
            together=together,
            last=last,
        )
        weights = self._weights or [None] * len(self.chunks)
        asked = []
        for chunk, X, weight in zip(self.chunks, self._futures, weights, strict=True):
            mine = None
            if only is not None:
                numbers = range(chunk.first_block, chunk.first_block + len(chunk.blocks))
                mine = tuple(set(numbers).intersection(only))
            if chunk.blocks and (mine is None or mine):
                asked.append((X, weight, chunk, passing, mine))
        return self._submit_tasks(_name_task(work), _worker.go_through, asked)

    def _submit_tasks(
        self, name: str, function: Callable[..., Any], asked: list[tuple[Any, ...]]
    ) -> list[Any]:
        """Submit one task for each of the arguments, with a name for the dashboard."""
        if not asked:
            return []
        token = f"likewise-{name}-{uuid.uuid4().hex}"
        keys = [(token, number) for number in range(len(asked))]
        columns = zip(*asked, strict=True)
        found: list[Any] = explain_failures(
            self.client, lambda: self.client.map(function, *columns, key=keys, pure=False)
        )
        return found

    # ------------------------------------------------------------------ results

    def collect(self, column: Column, renumber: np.ndarray | None = None) -> Any:
        assert isinstance(column, DaskColumn)
        parts = iter(self._submit(_worker.hand_over, column, last=True))
        filled = [next(parts) if chunk.blocks else [] for chunk in self.chunks]
        asked = [(part, column.dtype.str, renumber) for part in filled]
        return self._as_array(self._submit_tasks("labels", _worker.join_parts, asked), column.dtype)

    def map_rows(self, work: Callable[[np.ndarray], np.ndarray], dtype: Any, width: int | None = None) -> Any:
        dtype = np.dtype(dtype)
        sent = cloudpickle.dumps((work, *self._functions))
        asked = [
            (X, sent, chunk, dtype.str, width, self.shape[1])
            for X, chunk in zip(self._futures, self.chunks, strict=True)
        ]
        return self._as_array(self._submit_tasks(_name_task(work), _worker.make, asked), dtype, width)

    def _as_array(self, futures: list[Any], dtype: np.dtype, width: int | None = None) -> Any:
        more = () if width is None else (width,)
        parts = [
            da.from_delayed(make_delayed(future, self.client), shape=(chunk.n_rows, *more), dtype=dtype)
            for future, chunk in zip(futures, self.chunks, strict=True)
        ]
        return da.concatenate(parts)


def _cut(lengths: Sequence[int]) -> list[Chunk]:
    """Split chunks into blocks of the default size; an empty chunk has none."""
    chunks, start, first = [], 0, 0
    for number, length in enumerate(lengths):
        blocks = tuple(slice(start + b.start, start + b.stop) for b in split_rows(length))
        chunks.append(Chunk(number, start, blocks, first))
        start, first = start + length, first + len(blocks)
    return chunks


def _name_task(work: Callable[..., Any]) -> str:
    """Return the name of a task."""
    function = work.func if isinstance(work, partial) else work
    return str(getattr(function, "__name__", type(function).__name__)).strip("_").replace("_", "-")


def _sum_weights(block: Any) -> tuple[float, float, float]:
    weight = block.weight
    if not len(weight):
        return 0.0, 0.0, 0.0
    return float(weight.sum()), float(weight.max()), float(weight.min())


# ---------------------------------------------------------------------- graphs


class HeldLayer(MaterializedLayer):
    """A layer whose only task is a result on the workers of a client.

    Dask reads the tasks when something is computed. If the client is closed by then, the result is lost,
    and Dask's error would be about a missing dependency.
    """

    def __init__(self, mapping: Any, client: Any) -> None:
        super().__init__(mapping)
        self.client = client

    def __getitem__(self, key: Any) -> Any:
        self._check()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        self._check()
        return super().__iter__()

    def __reduce__(self) -> Any:
        """Convert to a plain layer for the scheduler, which may not have likewise installed."""
        return MaterializedLayer, (dict(self.mapping),)

    def _check(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise DaskClusterError(
                "the labels (or other results) are on the workers of a Dask cluster, but the client that "
                "fitted the model is closed. Fetch them before closing it, as in "
                "`labels = model.labels_.compute()`; now the model must be fitted again."
            )


def make_delayed(future: Any, client: Any) -> Delayed:
    """Return a result on the workers as a delayed value with a reference to its client."""
    value = delayed(future)
    graph = value.dask
    if not isinstance(graph, HighLevelGraph):
        return value
    layers = {name: HeldLayer(dict(layer), client) for name, layer in graph.layers.items()}
    return Delayed(value.key, HighLevelGraph(layers, graph.dependencies))
