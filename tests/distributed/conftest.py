"""A client for one test."""

import pytest


@pytest.fixture
def client(dask_cluster):
    """Make the client of the shared cluster the current one."""
    with dask_cluster.as_current():
        yield dask_cluster
