"""Rows on a Dask cluster: the same estimators, passes as tasks."""

from likewise.distributed._data import rows_of
from likewise.distributed._errors import ClusterError
from likewise.distributed._fit import fit

__all__ = ["ClusterError", "fit", "rows_of"]
