"""Rows on a Dask cluster: the same estimators, passes as tasks.

Estimators that read rows in blocks take Dask arrays and dataframes where they take arrays: the rows stay on
the workers, the labels come back as a Dask array, and the clusters are those of the rows in memory.
:func:`fit` names the cluster; :func:`read_parquet` and :func:`find_rows_by_id` let it read files of rows and
ids.
"""

from likewise.distributed._as_rows import make_dask_rows
from likewise.distributed._dask_parquet import find_rows_by_id, read_parquet
from likewise.distributed._fit import fit
from likewise.exceptions import DaskClusterError

__all__ = ["DaskClusterError", "find_rows_by_id", "fit", "make_dask_rows", "read_parquet"]
