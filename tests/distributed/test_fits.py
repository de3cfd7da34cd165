"""The same rows on a cluster and in memory give the same clusters, for any chunks."""

import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from likewise import (
    ConstrainedKMeans,
    COPKMeans,
    DiscriminativeClustering,
    MiniBatchPCKMeans,
    MKMeans,
    MPCKMeans,
    PairwiseGaussianMixture,
    PCKMeans,
    PropagationClustering,
    SeededKMeans,
    Supervision,
)
from likewise.backends.dask import make_dask_rows
from patience import wait_until
from reference.problems import N, hints_for, some_rows

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAST = {"n_init": 1, "max_iter": 4, "random_state": 0}  # each iteration is several rounds over the network
MODELS = [
    PCKMeans(4, n_init=2, max_iter=4, random_state=0),
    PCKMeans(4, init="k-means++", **FAST),
    MPCKMeans(4, **FAST),
    MPCKMeans(4, metric="diagonal", per_cluster=True, **FAST),
    MPCKMeans(4, per_cluster=True, **FAST),
    MKMeans(4, **FAST),
    COPKMeans(4, **FAST),
    SeededKMeans(5, **FAST),
    ConstrainedKMeans(5, **FAST),
    MPCKMeans(4, n_components=2, **FAST),
]
CUTS = {
    "unequal and empty chunks": (1, 129, 0, 7, 103),
    "a chunk for the first row, the rest in two": (1, 0, 119, 120),
}


def assert_same(ours, theirs, rtol=0.0):
    assert isinstance(ours.labels_, da.Array)
    labels = ours.labels_.compute()
    assert labels.dtype == theirs.labels_.dtype
    np.testing.assert_array_equal(labels, theirs.labels_)
    assert ours.cluster_centers_.dtype == theirs.cluster_centers_.dtype
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=rtol, atol=1e-3 * rtol)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=max(rtol, 1e-15))
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize(
    ("model", "dtype"),
    # tests/kmeans/test_blocks.py sends and loses the work of each of MODELS; here it goes over the network.
    [(MODELS[0], "f4"), *((MODELS[i], "f8") for i in (3, 4, 6, 8, 9))],
    ids=lambda value: str(value).replace("\n", ""),
)
def test_chunks_of_whole_blocks_equal_the_array_bit_for_bit(client, monkeypatch, model, dtype):
    # With chunks of a power of two of blocks, sums over chunks are partial sums of the total.
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 32)
    X, y = some_rows(dtype)
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    found = clone(model).fit(da.from_array(X, chunks=(64, 4)), supervision=hints)
    assert_same(found, whole)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[9]], ids=str)
def test_any_chunks_give_the_same_clusters(client, model, cut):
    X, y = some_rows()
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    found = clone(model).fit(da.from_array(X, chunks=(CUTS[cut], (3, 1))), supervision=hints)
    # Sums of 240 numbers in another order differ by a few units in the last place over several iterations.
    assert_same(found, whole, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PairwiseGaussianMixture(4, **FAST),
        DiscriminativeClustering(4, **FAST),
        MiniBatchPCKMeans(4, **FAST),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_other_families_and_batches_too(client, monkeypatch, model):
    monkeypatch.setattr("likewise.mixture._base._TRIAL_ROWS", 60)  # fewer rows than by default are gathered
    monkeypatch.setattr("likewise.discriminative._model._FEW_ROWS", 60)
    X, y = some_rows()
    hints = hints_for(None, y)
    rows = da.from_array(X, chunks=(70, 4))
    whole = clone(model).fit(X, supervision=hints)
    found = clone(model).fit(rows, supervision=hints)
    assert isinstance(found.labels_, da.Array)
    np.testing.assert_array_equal(found.labels_, whole.labels_)
    np.testing.assert_array_equal(found.predict(rows), whole.predict(X))


def test_one_row_per_chunk(client):
    X, _ = some_rows(n=12)
    hints = Supervision.from_links(12, must=[(0, 11)], cannot=[(1, 10)])
    model = PCKMeans(2, **FAST)
    whole = clone(model).fit(X, supervision=hints)
    assert_same(clone(model).fit(da.from_array(X, chunks=(1, 4)), supervision=hints), whole, rtol=1e-9)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=lambda m: type(m).__name__)
def test_oversampled_seeds_of_very_many_rows_are_equal(client, monkeypatch, model):
    monkeypatch.setattr("likewise.kmeans._base.MANY_ROWS", 100)
    X, y = some_rows()
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    assert_same(clone(model).fit(da.from_array(X, chunks=(70, 4)), supervision=hints), whole, rtol=1e-9)


@pytest.mark.parametrize("kind", ["array", "dask array in other chunks"])
def test_weights_go_with_the_rows(client, kind):
    X, y = some_rows()
    weight = np.random.default_rng(2).uniform(0, 2, N)
    model, hints = PCKMeans(4, **FAST), hints_for(None, y)
    whole = clone(model).fit(X, supervision=hints, sample_weight=weight)
    given = weight if kind == "array" else da.from_array(weight, chunks=50)
    rows = da.from_array(X, chunks=(100, 4))
    assert_same(clone(model).fit(rows, supervision=hints, sample_weight=given), whole, rtol=1e-9)
    assert whole.score(rows, sample_weight=given) == pytest.approx(whole.score(X, sample_weight=weight))
    for bad, message in (
        (-weight, "not be negative"),
        (weight[1:], r"one weight (a|per) row, shape \(240,\)"),
    ):
        bad = bad if kind == "array" else da.from_array(bad, chunks=50)
        with pytest.raises(ValueError, match=message):
            clone(model).fit(rows, sample_weight=bad)


def test_dataframes_integers_booleans_and_chunks_of_unknown_size(client):
    import dask.dataframe as dd
    import pandas as pd

    X, _ = some_rows()
    table = pd.DataFrame({"a": X[:, 0], "n": np.arange(N), "t": X[:, 1] > 10, "f": X[:, 2].astype("f4")})
    model = PCKMeans(3, **FAST)
    whole = clone(model).fit(table.to_numpy(np.float64))
    frame = dd.from_pandas(table, npartitions=3)
    named = clone(model).fit(frame)
    assert_same(named, whole, rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame[["f", "t", "n", "a"]])
    unknown = frame.to_dask_array().astype(np.float64)
    assert np.isnan(unknown.shape[0])
    assert_same(clone(model).fit(unknown), whole, rtol=1e-9)
    single = clone(model).fit(frame[["f"]])
    assert single.cluster_centers_.dtype == np.float32
    for dtype in (np.int16, bool):
        small = (X > 10).astype(dtype)
        whole = clone(model).fit(small.astype(np.float64))
        assert_same(clone(model).fit(da.from_array(small, chunks=(90, 4))), whole, rtol=1e-9)


@pytest.mark.parametrize("model", [MODELS[2], MODELS[9]], ids=str)
def test_predict_transform_and_score_in_memory_and_on_dask(client, model):
    X, y = some_rows(np.float32)
    hints = hints_for(None, y)
    rows = da.from_array(X, chunks=(100, 4))
    whole = clone(model).fit(X, supervision=hints)
    model = clone(model).fit(rows, supervision=hints)
    for new in (X[:50], rows[:150]):
        found = model.predict(new), model.transform(new)
        assert all(isinstance(one, da.Array) == isinstance(new, da.Array) for one in found)
        np.testing.assert_array_equal(found[0], whole.predict(X[: len(new)]))
        np.testing.assert_allclose(found[1], whole.transform(X[: len(new)]), rtol=1e-4)
        assert found[1].dtype == np.float32
        assert model.score(new) == pytest.approx(whole.score(X[: len(new)]), rel=1e-5)
    assert model.predict(rows).chunks == ((100, 100, 40),)


def test_new_rows_of_a_model_fitted_in_memory(client):
    X, _ = some_rows()
    model = PropagationClustering(4, random_state=0).fit(X)
    chunks = da.from_array(X + 0.1, chunks=(CUTS["unequal and empty chunks"], -1))
    np.testing.assert_array_equal(model.predict(chunks).compute(), model.predict(X + 0.1))
    np.testing.assert_array_equal(model.predict_proba(chunks).compute(), model.predict_proba(X + 0.1))
    X, _ = make_blobs(4_000, 6, centers=4, cluster_std=2.5, random_state=1)
    model = PropagationClustering(4, random_state=0).fit(X[:2_000])  # new rows are compared with candidates
    chunks = da.from_array(X, chunks=((700, 300, 3_000), -1))
    np.testing.assert_array_equal(model.predict(chunks).compute(), model.predict(X))


def test_a_pickled_model_predicts_anywhere_and_leaves_labels_on_the_cluster(client):
    X, _ = some_rows()
    model = PCKMeans(3, **FAST).fit(da.from_array(X, chunks=(100, 4)))
    with pytest.warns(UserWarning, match="labels_ is on a Dask cluster and is not saved with the model"):
        again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "labels_")
    assert model.labels_.compute().shape == (N,)


def test_concurrent_fits_do_not_interfere(client):
    X, _ = some_rows()
    alone, together = {}, {}

    def fit(found, seed):
        rows = make_dask_rows(da.from_array(X[::seed], chunks=(61, -1)), client)
        found[seed] = PCKMeans(4, **FAST).fit(rows).cluster_centers_

    for seed in (1, -1):
        fit(alone, seed)
    threads = [threading.Thread(target=fit, args=(together, seed)) for seed in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, centers in alone.items():
        np.testing.assert_array_equal(together[seed], centers)


def test_nothing_is_left_on_the_workers(client):
    def kept():
        from likewise.backends import _dask_worker as _worker

        return len(_worker._parts) + len(_worker._passed)

    X, y = some_rows()
    rows = da.from_array(X, chunks=(60, 4))
    model = PCKMeans(3, n_init=2, max_iter=4, random_state=0).fit(rows, supervision=hints_for(None, y))
    assert model.labels_.compute().shape == (N,)
    wait_until(lambda: sum(client.run(kept).values()) == 0, "the release of the blocks")


def make_chunk(n, block_info=None):
    """Create the rows of a chunk on its worker, so none pass through the client."""
    first = block_info[None]["array-location"][0][0]
    rng = np.random.default_rng(first)
    return rng.normal(size=(n, 2)) + 6 * rng.integers(0, 3, n)[:, None]


def test_the_memory_of_the_client_does_not_grow_with_the_rows(client):
    def most_memory(n_rows):
        rows = da.map_blocks(make_chunk, n_rows // 4, chunks=((n_rows // 4,) * 4, (2,)), dtype=np.float64)
        hints = Supervision.from_links(n_rows, must=[(0, n_rows - 1)], cannot=[(1, 2)])
        model = PCKMeans(3, n_init=1, max_iter=3, tol=1.0, random_state=0)
        tracemalloc.start()
        try:
            model.fit(rows, supervision=hints)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most_memory(10_000)  # imports
    small, large = most_memory(20_000), most_memory(620_000)
    assert large < small + 600_000, (small, large)  # less than a byte per row
