"""Conversion of Dask arrays, Dask dataframes and Parquet files to rows on a cluster, with checks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from likewise._optional import require
from likewise.distributed._cluster_errors import explain_failures, get_client
from likewise.distributed._dask_parquet import read_parquet
from likewise.distributed._dask_rows import DaskRows

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
    names = _get_column_names(data)
    with client.as_current():  # compute chunk lengths on this cluster
        array = _as_array(data, client)
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


def _get_column_names(data: Any) -> list[str] | None:
    """Return the names of the columns of a dataframe, if all are strings."""
    names = list(getattr(data, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _as_array(data: Any, client: Any) -> Any:
    da = require("dask.array", extra="scale")
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
            f"the largest chunk has {largest:,} bytes and a worker {min(limits):,} bytes of memory, "
            "but processing "
            f"a chunk takes about {_CHUNKS_IN_MEMORY} times its size. Use chunks of at most {fitting:,} rows "
            "(X.rechunk), or give the workers more memory."
        )
