"""Fit estimators to data on a Dask cluster.

Estimators that read rows in blocks accept Dask arrays and dataframes as X. The rows stay on the workers, the
labels are returned as a Dask array, and the clusters are the same as for the rows in memory.
:func:`fit` fits on a given cluster; :func:`read_parquet` and :func:`find_rows_by_id` read rows and ids from
files on the workers.
"""

from __future__ import annotations

from typing import Any, TypeVar

from likewise.backends.dask import find_rows_by_id, make_dask_rows, read_parquet
from likewise.exceptions import DaskClusterError
from likewise.supervision.row_checks import check_row_labels

__all__ = ["DaskClusterError", "find_rows_by_id", "fit", "read_parquet"]

E = TypeVar("E")


def fit(estimator: E, data: Any, supervision: Any = None, *, client: Any = None, **more: Any) -> E:
    """Fit an estimator to rows on a Dask cluster, with hints.

    With a current client, ``estimator.fit(data, supervision=hints)`` does the same; this function also takes
    another client or an address. The labels are returned as a Dask array.

    Parameters
    ----------
    estimator : estimator
        An estimator that reads rows in blocks: the k-means family, PairwiseGaussianMixture or
        DiscriminativeClustering.
    data : dask array or dataframe, path or URL
        The rows, which must be numeric. All columns of Parquet files are used; :func:`read_parquet` can
        select some.
    supervision : Supervision, optional
        The hints.
    client : distributed.Client or str, optional
        The cluster, or the address of its scheduler, such as ``"tcp://10.0.0.5:8786"``. By default the
        current client. The labels stay on its workers; with an address, they are available as long as the
        estimator exists.
    **more
        Further arguments of the estimator's ``fit``.

    Returns
    -------
    estimator : object
        The fitted estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from likewise import PCKMeans, Supervision
    >>> from likewise.distributed import fit
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     X = da.from_array([[0.0], [1.0], [4.0], [5.0]], chunks=(3, 1))
    ...     hints = Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 2)])
    ...     model = fit(PCKMeans(n_clusters=2, random_state=0), X, hints, client=client)
    ...     labels = model.labels_.compute()
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    if supervision is not None:
        check_row_labels(supervision, data, type(estimator).__name__)
    rows = make_dask_rows(data, client)
    fitted: E = estimator.fit(rows, supervision=supervision, **more)  # type: ignore[attr-defined]
    return fitted
