"""Rows on a Dask cluster: the same estimators, passes as tasks.

Estimators that read rows in blocks take Dask arrays and dataframes where they take arrays: the rows stay on
the workers, the labels come back as a Dask array, and the clusters are those of the rows in memory.
:func:`fit` names the cluster; :func:`read_parquet` and :func:`rows_named` let it read files of rows and ids.
"""

from likewise.distributed._as_rows import rows_of
from likewise.distributed._dask_parquet import read_parquet, rows_named
from likewise.distributed._fit import fit
from likewise.exceptions import ClusterError

__all__ = ["ClusterError", "fit", "read_parquet", "rows_named", "rows_of"]
