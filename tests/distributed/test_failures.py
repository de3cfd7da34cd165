"""Failures on a cluster: lost workers and schedulers, too little memory, unusable data."""

import gc
import os
import signal
import socket
import time

import numpy as np
import pytest
from sklearn.base import clone

from likewise import MPCKMeans, PCKMeans, SpectralLearning, Supervision
from likewise.backends import _dask_rows
from likewise.backends.dask import make_dask_rows
from likewise.distributed import fit
from likewise.evaluation import HintSearchCV, cross_validate_hints
from likewise.exceptions import DaskClusterError
from patience import PATIENCE
from reference.problems import hints_for, some_rows

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

IN_PROCESS = {
    "processes": False,
    "threads_per_worker": 1,
    "dashboard_address": ":0",
    "scheduler_kwargs": {"dashboard": False},
}


@pytest.fixture(scope="module")
def mortal():
    """Return a cluster of two workers that may be killed; their nannies restart them."""
    how = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "scheduler_kwargs": {"dashboard": False},
    }
    with distributed.LocalCluster(**how) as cluster:
        yield cluster


@pytest.fixture
def at_pass(monkeypatch):
    """Call a function while the tasks of certain passes are running; return the list of passes so far."""

    def _at_pass(numbers, happen):
        passes = []
        gather = _dask_rows.gather_results

        def gathered(client, futures):
            passes.append(len(futures))
            if len(passes) in numbers:
                happen()
            return gather(client, futures)

        monkeypatch.setattr(_dask_rows, "gather_results", gathered)
        return passes

    return _at_pass


def test_a_worker_killed_during_a_fit_changes_nothing(mortal, at_pass):
    X, y = some_rows()
    hints = hints_for(None, y)
    model = MPCKMeans(4, n_init=1, random_state=0)
    with distributed.Client(mortal, set_as_default=False) as client:
        rows = da.from_array(X, chunks=(60, 4))
        undisturbed = fit(clone(model), rows, hints, client=client)
        labels = client.compute(undisturbed.labels_).result()
        killed = []

        def kill():
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[-1], signal.SIGKILL)

        passes = at_pass({12}, kill)  # in the middle of the iterations
        found = fit(clone(model), rows, hints, client=client)
        assert len(killed) == 1
        assert len(passes) > 15, "the fit was over before the worker was killed"
        np.testing.assert_array_equal(client.compute(found.labels_).result(), labels)
        np.testing.assert_array_equal(found.cluster_centers_, undisturbed.cluster_centers_)
        assert found.objective_ == undisturbed.objective_
        assert found.n_iter_ == undisturbed.n_iter_


def left_behind():
    from likewise.backends import _dask_worker as _worker

    return len(_worker._parts) + len(_worker._passed) + len(_worker._watched)


def test_nothing_is_left_on_the_workers_by_a_fit_that_failed(client, at_pass):
    def interrupt():
        n_stored.append(sum(client.run(left_behind).values()))
        raise KeyboardInterrupt

    n_stored = []
    at_pass({12}, interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(PCKMeans(4, n_init=1, random_state=0), da.from_array(some_rows()[0], chunks=(60, 4)))
    assert n_stored[0] > 0
    # Dask releases chunks some time after the last reference is gone.
    deadline = time.monotonic() + PATIENCE
    while sum(client.run(left_behind).values()) and time.monotonic() < deadline:
        gc.collect()
    assert sum(client.run(left_behind).values()) == 0


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_chunk_that_kills_workers_is_explained(mortal):
    mortal.scheduler.allowed_failures = 0
    with distributed.Client(mortal, set_as_default=False) as client:
        rows = make_dask_rows(da.zeros((10, 2), chunks=(10, 2)), client)
        with pytest.raises(
            DaskClusterError, match=r"1 workers were lost .* too little memory .* smaller chunks"
        ):
            rows.sum(die)


def test_a_scheduler_lost_during_a_fit_is_reported(at_pass):
    cluster = distributed.LocalCluster(n_workers=1, **IN_PROCESS)
    with distributed.Client(cluster, set_as_default=False) as client:
        client._timeout = 1  # for reconnecting, which will fail
        at_pass({4}, cluster.close)
        with pytest.raises(
            DaskClusterError, match=r"scheduler at .* was lost during the fit.* Connect again"
        ):
            fit(PCKMeans(3, random_state=0), da.from_array(some_rows()[0], chunks=(60, 4)), client=client)
        client._timeout = PATIENCE  # for closing


def test_a_scheduler_that_does_not_answer(monkeypatch, closed_port):
    monkeypatch.setattr("likewise.backends._dask_rows._PATIENCE", 0.2)
    rows = da.zeros((10, 2), chunks=(5, 2))
    address = f"tcp://127.0.0.1:{closed_port}"
    with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address} "):
        fit(PCKMeans(2), rows, client=address)
    with pytest.raises(ConnectionError, match=r"no Dask scheduler answers at nonsense://here "):
        fit(PCKMeans(2), rows, client="nonsense://here")


def test_an_address_where_something_else_listens(monkeypatch):
    monkeypatch.setattr("likewise.backends._dask_rows._PATIENCE", 1.0)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}"):
            fit(PCKMeans(2), da.zeros((4, 2)), client=address)


def test_all_workers_lost_during_a_fit(monkeypatch, at_pass):
    monkeypatch.setattr("likewise.backends._dask_rows._PATIENCE", 0.3)
    X, _ = some_rows()
    with (
        distributed.LocalCluster(n_workers=1, **IN_PROCESS) as cluster,
        distributed.Client(cluster) as client,
    ):
        at_pass([4], lambda: cluster.sync(cluster.workers[0].close))
        with pytest.raises(DaskClusterError, match=r"all workers of the Dask scheduler .* none returned"):
            fit(PCKMeans(2), da.from_array(X, chunks=(60, 4)), client=client)


def test_without_a_client_the_error_says_what_to_do():
    with pytest.raises(ConnectionError, match=r"no Dask client.*distributed\.Client\(\)"):
        PCKMeans(2).fit(da.zeros((10, 2), chunks=(5, 2)))


def test_a_scheduler_without_workers_and_workers_without_memory(monkeypatch):
    monkeypatch.setattr("likewise.backends._dask_rows._PATIENCE", 0.3)
    rows = da.zeros((100_000, 4), chunks=(50_000, 4))
    with (
        distributed.LocalCluster(n_workers=0, **IN_PROCESS) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(DaskClusterError, match=r"has no workers\. Start some with `dask worker`"),
    ):
        fit(PCKMeans(2), rows, client=client)
    with (
        distributed.LocalCluster(n_workers=1, memory_limit=1_200_000, **IN_PROCESS) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        message = r"largest chunk has 1,600,000 bytes and a worker 1,200,000 .* chunks of at most 12,500 rows"
        with pytest.raises(MemoryError, match=message):
            fit(PCKMeans(2), rows, client=client)


def test_a_bad_value_is_named_by_block_and_row(client):
    X, _ = some_rows()
    X[137, 2] = np.nan
    message = "block 2 of X has nan in its row 37, column 2, which is row 137 of all"
    rows = da.from_array(X, chunks=((50, 50, 0, 140), 4))
    with pytest.raises(ValueError, match=message):
        PCKMeans(2).fit(rows)
    with pytest.raises(ValueError, match=message):
        PCKMeans(2).fit(X[:50]).predict(rows)


def test_data_that_cannot_be_used(client):
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"name": ["a", "b"], "x": [0.0, 1.0]}), npartitions=1)
    with pytest.raises(ValueError, match=r"'name' \(str.*\) cannot be used as numbers\. Choose the columns"):
        PCKMeans(2).fit(frame)
    with pytest.raises(ValueError, match=r"two-dimensional Dask array; got shape \(3,\)"):
        PCKMeans(2).fit(da.zeros(3))
    with pytest.raises(ValueError, match="array of numbers; got dtype complex128"):
        PCKMeans(2).fit(da.zeros((3, 2), dtype=complex))
    for wrong in ([[0.0], [1.0]], pd.DataFrame({"x": [0.0]})):
        with pytest.raises(TypeError, match=f"a Dask array or dataframe; got {type(wrong).__name__}"):
            fit(PCKMeans(2), wrong, client=client)
    with pytest.raises(ValueError, match="0 rows and 2 columns"):
        PCKMeans(2).fit(da.zeros((0, 2)))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        PCKMeans(3).fit(da.zeros((2, 2)))
    with pytest.raises(ValueError, match="the hints are for 5 rows, but X has 2"):
        PCKMeans(2).fit(da.zeros((2, 2)), supervision=Supervision.empty(5))
    with pytest.raises(TypeError, match="SpectralLearning works on rows in memory, and a Dask Array"):
        SpectralLearning(2).fit(da.zeros((3, 2)))
    with pytest.raises(TypeError, match="SpectralLearning works on rows in memory, and DaskRows"):
        fit(SpectralLearning(2), da.zeros((3, 2)), client=client)


def test_labels_that_are_used_after_the_client_is_closed_say_so():
    X, _ = some_rows()
    with (
        distributed.LocalCluster(n_workers=1, **IN_PROCESS) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        model = fit(PCKMeans(2, random_state=0), da.from_array(X, chunks=(60, 4)), client=client)
        with client.as_current():
            before = model.labels_.compute()
            assert ((model.labels_ == 1).sum().compute(), len(before)) == ((before == 1).sum(), len(X))
    uses = {
        "compute": model.labels_.compute,
        "array": lambda: np.asarray(model.labels_),
        "some": lambda: model.labels_[:5].compute(),
        "sum": lambda: (model.labels_ == 1).sum().compute(),
    }
    for use in uses.values():
        with pytest.raises(
            DaskClusterError, match=r"client .* is closed\. .*`labels = model\.labels_\.compute\(\)`"
        ):
            use()
    assert "dask.array" in repr(model.labels_)


@pytest.mark.parametrize("kind", ["array", "dataframe"])
def test_choosing_by_hints_on_dask_data_says_what_to_do(kind):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, _ = some_rows()
    hints = Supervision.from_links(len(X), must=[(0, 1), (2, 3)], cannot=[(4, 5)])
    rows = da.from_array(X, chunks=(60, 4))
    if kind == "dataframe":
        rows = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    search = HintSearchCV(PCKMeans(random_state=0), {"n_clusters": [2, 3]}, cv=2)
    for choose in (
        lambda: search.fit(rows, supervision=hints),
        lambda: cross_validate_hints(PCKMeans(2), rows, hints, cv=2),
    ):
        with pytest.raises(
            TypeError, match=r"in memory, but X is a Dask (Array|DataFrame)\. .*supervision\[rows\]"
        ):
            choose()
