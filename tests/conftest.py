"""What tests of several rooms need."""

import os
import signal
import socket
from pathlib import Path

import hypothesis
import pytest

# A job in the background ignores Ctrl-C, and so would the commands that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing here goes by the clock: a busy machine draws examples as slowly as it runs them.
_UNTIMED = {
    "deadline": None,
    "suppress_health_check": [
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,  # the fixtures hold nothing that an example changes
    ],
}
for _profile, _n_examples in (("dev", 10), ("ci", 50), ("deep", 500)):
    hypothesis.settings.register_profile(_profile, max_examples=_n_examples, **_UNTIMED)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def data_folder():
    """Skip where there is no folder of data files; a test does not fetch from the network."""
    folder = Path(os.environ.get("LIKEWISE_DATA") or "no folder given")
    if not folder.is_dir():
        pytest.skip("LIKEWISE_DATA names no folder of data files")
    return folder


@pytest.fixture
def closed_port():
    """Return the number of a port on loopback that nobody listens at, and nobody can meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


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
