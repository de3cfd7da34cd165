"""What tests of several rooms need."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """Skip where there is no folder of data files; a test does not fetch from the network."""
    folder = Path(os.environ.get("LIKEWISE_DATA") or "no folder given")
    if not folder.is_dir():
        pytest.skip("LIKEWISE_DATA names no folder of data files")
    return folder


@pytest.fixture(scope="session")
def dask_cluster():
    """Return a client of two worker processes on this machine, which all tests share."""
    distributed = pytest.importorskip("distributed")
    how = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "scheduler_kwargs": {"dashboard": False},
    }
    with (
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
