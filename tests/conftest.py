"""Fixtures shared by tests of several packages."""

import os
import signal
import socket
from pathlib import Path

import pytest

from profiles import load_profile

# A job in the background ignores Ctrl-C, and so would the commands that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

load_profile()


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of data files; skip the test if there is none, since tests do not download."""
    folder = Path(os.environ.get("LIKEWISE_DATA") or "no folder given")
    if not folder.is_dir():
        pytest.skip("LIKEWISE_DATA names no folder of data files")
    return folder


@pytest.fixture
def closed_port():
    """Return a loopback port that no process listens on, or can bind during the test."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


# By default the idle processes of a cluster wake up a hundred times a second to profile themselves.
CALM_CLUSTER = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "60s",
}


@pytest.fixture(scope="session")
def dask_cluster():
    """Return a client of two worker processes on this machine, which all tests share."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    how = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "scheduler_kwargs": {"dashboard": False},
    }
    with (
        dask.config.set(CALM_CLUSTER),
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
