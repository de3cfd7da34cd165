"""Fit estimators to data on a Dask cluster.

Estimators that read rows in blocks accept Dask arrays and dataframes as X. The rows stay on the workers, the
labels are returned as a Dask array, and the clusters are the same as for the rows in memory.
:func:`fit` fits on a given cluster; :func:`read_parquet` and :func:`find_rows_by_id` read rows and ids from
files on the workers.
"""

from likewise.distributed._as_rows import make_dask_rows
from likewise.distributed._dask_parquet import find_rows_by_id, read_parquet
from likewise.distributed._fit import fit
from likewise.exceptions import DaskClusterError

__all__ = ["DaskClusterError", "find_rows_by_id", "fit", "make_dask_rows", "read_parquet"]
