"""Dask arrays, Dask dataframes and Parquet files as rows on a cluster, and the ids of rows in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

from likewise._optional import require
from likewise.backends import parquet
from likewise.backends._dask_rows import DaskRows
from likewise.backends._dask_rows import explain_failures as explain_failures
from likewise.backends._dask_rows import get_client as get_client
from likewise.backends.parquet import Footer, FoundIds

# A pass copies parts of a chunk, and Dask needs memory for messages.
_CHUNKS_IN_MEMORY = 3


def make_dask_rows(data: Any, client: Any = None) -> DaskRows:
    """Return a Dask collection of numbers, or Parquet files, as rows on a cluster.

    The chunks are computed once and kept in the memory of the workers. float32 data stay float32; all other
    types are converted to float64.

    Parameters
    ----------
    data : dask.array.Array, dask.dataframe.DataFrame, path or URL
        The rows. A path or URL is read as Parquet files.
    client : distributed.Client, optional
        The client of the cluster; by default the current one.

    Returns
    -------
    rows : DaskRows
        The rows, which ``fit`` and ``predict`` accept as X.
    """
    if isinstance(data, DaskRows):
        return data
    client = get_client(client)
    if isinstance(data, str | os.PathLike):
        data = read_parquet(data, client=client)
    columns = list(getattr(data, "columns", ()))
    names = columns if columns and all(isinstance(name, str) for name in columns) else None
    with client.as_current():  # compute chunk lengths on this cluster
        array = _as_array(data)
    if array.ndim != 2:
        raise ValueError(f"expected a two-dimensional Dask array; got shape {array.shape}.")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"expected a Dask array of numbers; got dtype {array.dtype}.")
    if any(np.isnan(n) for n in array.chunks[0]):
        with client.as_current():
            array = explain_failures(client, lambda: array.copy().compute_chunk_sizes())
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    array = array.astype(dtype)
    _check_memory(array, client)
    return DaskRows(array, client, names)


def _as_array(data: Any) -> Any:
    if isinstance(data, da.Array):
        return data
    if not hasattr(data, "to_dask_array"):
        raise TypeError(
            f"expected a Dask array or dataframe; got {type(data).__name__}. Create one from an "
            "array with dask.array.from_array, or from files with likewise.distributed.read_parquet."
        )
    if getattr(data, "ndim", 2) == 1:
        data = data.to_frame()
    wrong = [f"{name!r} ({kind})" for name, kind in data.dtypes.items() if kind.kind not in "fiub"]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} cannot be used as numbers. Choose the columns: data[[…]].")
    single = all(kind == np.float32 for kind in data.dtypes)
    data = data.astype(np.float32 if single else np.float64)
    return data.to_dask_array(lengths=True)


def _check_memory(array: Any, client: Any) -> None:
    """Raise an error for chunks that do not fit into the memory of a worker."""
    workers = explain_failures(client, lambda: client.scheduler_info(n_workers=-1))["workers"]
    limits = [worker["memory_limit"] for worker in workers.values() if worker["memory_limit"]]
    largest = max(int(n) for n in array.chunks[0]) * array.shape[1] * array.dtype.itemsize
    if limits and _CHUNKS_IN_MEMORY * largest > min(limits):
        fitting = max(1, min(limits) // (_CHUNKS_IN_MEMORY * array.shape[1] * array.dtype.itemsize))
        raise MemoryError(
            f"the largest chunk has {largest:,} bytes and a worker {min(limits):,} bytes of memory, but "
            f"processing a chunk takes about {_CHUNKS_IN_MEMORY} times its size. Use chunks of at most "
            f"{fitting:,} rows (X.rechunk), or give the workers more memory."
        )


# ---------------------------------------------------------------------- Parquet files

# Eight default blocks: with a power of two, sums over chunks equal those of the rows in memory.
CHUNK_ROWS = 2**18
_BATCH_ROWS = 2**16


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file."""

    file: Footer
    start: int
    stop: int


@dataclass(frozen=True)
class Plan:
    """The pieces of files that make up each chunk."""

    footers: tuple[Footer, ...]
    chunks: tuple[tuple[Piece, ...], ...]

    @classmethod
    def from_footers(cls, footers: Sequence[Footer], chunk_rows: int) -> Plan:
        """Split all rows into chunks of `chunk_rows` rows; the last chunk may be smaller."""
        chunks: list[list[Piece]] = []
        room = 0
        for one in footers:
            footer, at = replace(one, types={}), 0  # tasks do not need the types
            while at < one.n_rows:
                if not room:
                    chunks.append([])
                    room = chunk_rows
                stop = min(one.n_rows, at + room)
                chunks[-1].append(Piece(footer, at, stop))
                room -= stop - at
                at = stop
        return cls(tuple(footers), tuple(map(tuple, chunks)))

    @property
    def sizes(self) -> list[int]:
        """The number of rows in each chunk."""
        return [sum(piece.stop - piece.start for piece in pieces) for pieces in self.chunks]


def make_plan(path: Any, chunk_rows: int = CHUNK_ROWS, client: Any = None) -> Plan:
    """Read the metadata of the files, locally or on the workers of a client, if only these have access."""
    if isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int | np.integer) or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be an integer of at least 1; got {chunk_rows!r}.")
    require("pyarrow.parquet", extra="scale")
    if not parquet.is_url(path):
        path = os.path.abspath(path)  # a worker may have another working directory
    if client is None:
        files = parquet.list_files(path)
        with ThreadPoolExecutor(min(8, len(files))) as pool:
            footers = list(pool.map(parquet.read_footer, files))
    else:
        try:
            files = run_on_workers(client, parquet.list_files, [path])[0]
            footers = run_on_workers(client, parquet.read_footer, files)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"on a worker of {client.scheduler.address}: {error} The workers must be able to open files."
            ) from error
    return Plan.from_footers(footers, int(chunk_rows))


def run_on_workers(client: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Apply a function to each item on the workers."""
    futures = explain_failures(client, lambda: client.map(function, list(items), pure=False))
    found: list[Any] = explain_failures(client, lambda: client.gather(futures))
    return found


def read_parquet(
    path: Any, columns: Sequence[str] | None = None, *, chunk_rows: int = CHUNK_ROWS, client: Any = None
) -> Any:
    """Return the rows of Parquet files as a Dask array that the workers read.

    The chunks do not depend on the layout of the files and their row groups, so a fit gives the same result
    as in memory, bit for bit. A row group larger than a chunk is read once for each chunk in it.

    Parameters
    ----------
    path : path or URL
        A file, or a folder: all files below it whose names end in ``.parquet``, sorted. The workers must
        be able to open it. A URL, such as ``s3://bucket/rows``, is opened by fsspec.
    columns : sequence of str, optional
        The columns to use, in this order. By default all columns are used.
    chunk_rows : int, default=262144
        The number of rows in a chunk. A power of two times 32,768 gives the same sums as the array in memory.
    client : distributed.Client or str, optional
        The cluster whose workers read the metadata of the files. By default it is read locally.

    Returns
    -------
    dask.array.Array of shape (n_samples, n_columns)
        float32 if every column of every file is, else float64.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from likewise.distributed import read_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"name": ["a", "b", "c"], "x": [0.0, 1.0, 4.0], "y": [1, 2, 3]})
    ...     pyarrow.parquet.write_table(table, f"{folder}/rows.parquet")
    ...     X = read_parquet(folder, columns=["y", "x"], chunk_rows=2)
    ...     X.chunks, X.compute().tolist()
    (((2, 1), (2,)), [[1.0, 0.0], [2.0, 1.0], [3.0, 4.0]])
    """
    client = None if client is None else get_client(client)
    return make_array(make_plan(path, chunk_rows, client), columns)


def make_array(plan: Plan, columns: Sequence[str] | None) -> Any:
    """Return the chunks of a plan as a Dask array."""
    names, dtype = parquet.choose_columns(plan.footers, columns)
    read = delayed(partial(_read, columns=names, dtype=dtype.str), name="read-parquet", pure=False)
    parts = [
        da.from_delayed(read(pieces), shape=(size, len(names)), dtype=dtype)
        for pieces, size in zip(plan.chunks, plan.sizes, strict=True)
    ]
    return da.concatenate(parts) if parts else da.empty((0, len(names)), dtype=dtype)


def _read(pieces: Sequence[Piece], columns: Sequence[str], dtype: str) -> np.ndarray:
    """Read the rows of a chunk; runs on a worker."""
    rows = np.empty((sum(piece.stop - piece.start for piece in pieces), len(columns)), dtype=dtype)
    at = 0
    for piece in pieces:
        for batch in parquet.iterate_batches(piece.file, columns, _BATCH_ROWS, piece.start, piece.stop):
            rows[at : at + batch.num_rows] = parquet.convert_batch(batch, columns, rows.dtype)
            at += batch.num_rows
    return rows


# ---------------------------------------------------------------------- ids


def find_rows_by_id(
    data: Any, names: Sequence[str], *, column: str | None = None, client: Any = None
) -> np.ndarray:
    """Return the row numbers of ids, found in one pass on the workers.

    Only these ids and their row numbers are transferred.

    Parameters
    ----------
    data : path, URL or dask series
        Parquet files as in :func:`read_parquet`, or the ids as a series of a Dask dataframe.
    names : sequence of str
        The ids; integers as strings, such as "7".
    column : str, optional
        The column of the files with the ids, which are strings or integers.
    client : distributed.Client or str, optional
        The cluster; by default the current client.

    Returns
    -------
    ndarray of shape (len(names),)
        The row of each id, for :meth:`Supervision.from_links` and similar methods.

    Examples
    --------
    >>> import dask.dataframe, pandas
    >>> from distributed import Client
    >>> from likewise.distributed import find_rows_by_id
    >>> ids = dask.dataframe.from_pandas(pandas.Series(["wren", "owl", "finch"]), npartitions=2)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     find_rows_by_id(ids, ["finch", "wren"], client=client)
    array([2, 0])
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"names must be a sequence of ids as strings; got {names!r:.80}.")
    client = get_client(client)
    if not hasattr(data, "to_delayed"):
        if column is None:
            raise ValueError("pass the name of the column with the ids as column=.")
        plan = make_plan(data, client=client)
        return find_in_files(plan, column, names, client).find_rows(names, str(data))
    look = delayed(partial(_find_in_part, names=tuple(names)), pure=False)
    futures = explain_failures(client, lambda: client.compute([look(part) for part in data.to_delayed()]))
    found, at = [], 0
    for part, n_rows in explain_failures(client, lambda: client.gather(futures)):
        found += [(name, at + row) for name, row in part.rows]
        at += n_rows
    return FoundIds(tuple(found)).find_rows(names, "the data")


def find_in_files(plan: Plan, column: str, names: Sequence[str], client: Any) -> FoundIds:
    """Look up ids in a column of the files on the workers."""
    for one in plan.footers:
        parquet.check_columns(one, [column])
    firsts = np.cumsum([0, *plan.sizes]).tolist()
    look = partial(_find_in_pieces, column=column, names=tuple(names))
    return sum(run_on_workers(client, look, list(zip(plan.chunks, firsts, strict=False))), FoundIds())


def _find_in_pieces(where: tuple[Sequence[Piece], int], column: str, names: Sequence[str]) -> FoundIds:
    pieces, at = where
    return parquet.find_ids(iterate_ids(pieces, column), names, at)


def iterate_ids(pieces: Sequence[Piece], column: str) -> Iterator[Any]:
    """Yield the ids of a chunk as strings, in batches."""
    for piece in pieces:
        yield from parquet.iterate_ids(piece.file, column, _BATCH_ROWS, piece.start, piece.stop)


def read_chunk_ids(pieces: Sequence[Piece], column: str) -> Any:
    """Return the ids of a chunk as strings."""
    pyarrow = require("pyarrow", extra="scale")
    return pyarrow.concat_arrays(list(iterate_ids(pieces, column)))


def _find_in_part(part: Any, names: Sequence[str]) -> tuple[FoundIds, int]:
    """Look up ids in one partition of a series, ignoring its index."""
    pyarrow = require("pyarrow", extra="scale")
    return parquet.find_ids([pyarrow.Array.from_pandas(part)], names), len(part)
