"""Rows in blocks: any division into blocks, in memory or in files, gives the same clusters."""

import tracemalloc
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from likewise import (
    ConstrainedKMeans,
    COPKMeans,
    MKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    Supervision,
)
from likewise._compat import HAS_CALLBACKS
from likewise._seeding import extend_seeds
from likewise.backends import ArrayRows, MappedRows
from likewise.datasets import MemmapRows, ParquetRows
from likewise.kmeans._loop import NO_ROWS, sum_rows
from likewise.supervision import sample_links
from reference.rows import PickledRows

N = 400
MODELS = [
    PCKMeans(4, random_state=0),
    PCKMeans(4, init="k-means++", n_init=2, random_state=0),
    MPCKMeans(4, random_state=0),
    MPCKMeans(4, n_components=2, random_state=0),
    MPCKMeans(4, metric="diagonal", per_cluster=True, random_state=0),
    MPCKMeans(4, per_cluster=True, random_state=0),
    MKMeans(4, random_state=0),
    COPKMeans(4, random_state=0),
]
LABELLED = [SeededKMeans(5, random_state=0), ConstrainedKMeans(5, random_state=0)]
# tests/test_blocks.py shows that passes do not depend on the blocks; here the fits are compared.
CUTS = {
    "unequal blocks": np.array([0, 0, 1, 130, 137, 137, 390, N, N]),
    "two blocks": np.array([0, 199, N]),
}


def some_rows(dtype=np.float64, n=N, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(4, d))[y] + 10
    return X.astype(dtype), y


def hints_for(model, y):
    if isinstance(model, SeededKMeans):
        return Supervision.from_labels([int(label) if i % 9 == 0 else None for i, label in enumerate(y)])
    return sample_links(y, 60, random_state=1)  # between rows of different blocks


def slices(edges):
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def assert_same(ours, theirs, rtol=0.0):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=rtol)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=max(rtol, 1e-15))
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("model", [*MODELS, *LABELLED], ids=lambda m: str(m).replace("\n", ""))
@pytest.mark.parametrize("kind", [ArrayRows, MappedRows])
def test_any_division_into_blocks_gives_the_same_clusters(kind, model):
    X, y = some_rows()
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    rows = kind(X, slices(CUTS["unequal blocks"]))
    # Sums of 400 numbers in another order differ in the last digits, over several iterations.
    assert_same(clone(model).fit(rows, supervision=hints), whole, rtol=1e-9)
    np.testing.assert_array_equal(whole.predict(rows), whole.predict(X))
    np.testing.assert_allclose(whole.transform(rows), whole.transform(X))
    assert whole.score(rows) == pytest.approx(whole.score(X))


@pytest.mark.parametrize("model", [*MODELS, *LABELLED], ids=lambda m: str(m).replace("\n", ""))
def test_lost_columns_are_recomputed(model, monkeypatch):
    # Seeds are also oversampled, and starts are tried on a sample.
    monkeypatch.setattr("likewise.kmeans._base.MANY_ROWS", 300)
    monkeypatch.setattr("likewise.kmeans._base._TRIAL_ROWS", 150)
    X, y = some_rows()
    hints = hints_for(model, y)
    cut = slices(CUTS["unequal blocks"])
    whole = clone(model).fit(ArrayRows(X, cut), supervision=hints)
    assert_same(clone(model).fit(PickledRows(X, cut), supervision=hints), whole)


@pytest.mark.parametrize("cut", CUTS)
def test_weights_are_divided_with_the_rows(cut):
    X, y = some_rows()
    weight = np.random.default_rng(2).uniform(0, 2, N)
    hints = hints_for(PCKMeans(), y)
    models = [PCKMeans(4), MPCKMeans(4), MPCKMeans(4, n_components=2)]
    for model in (model.set_params(random_state=3) for model in models):
        whole = clone(model).fit(X, supervision=hints, sample_weight=weight)
        rows = ArrayRows(X, slices(CUTS[cut]))
        assert_same(clone(model).fit(rows, supervision=hints, sample_weight=weight), whole, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [*MODELS[:5], LABELLED[1]], ids=lambda m: str(m).replace("\n", ""))
def test_files_give_the_same_bits_as_the_array(tmp_path, monkeypatch, dtype, model):
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 64)  # several blocks, the same for all
    X, y = some_rows(dtype)
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    table = pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=90)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    for rows in (
        np.load(tmp_path / "rows.npy", mmap_mode="r"),
        np.load(tmp_path / "columns.npy", mmap_mode="r"),
        MemmapRows(tmp_path / "rows.npy"),
        ParquetRows(tmp_path / "rows.parquet"),
    ):
        found = clone(model).fit(rows, supervision=hints)
        assert found.cluster_centers_.dtype == dtype
        assert_same(found, whole)
        np.testing.assert_array_equal(found.predict(rows), whole.predict(X))


def test_the_number_of_threads_changes_nothing_in_a_file(tmp_path):
    X, _ = some_rows(np.float32, n=3000)
    np.save(tmp_path / "rows.npy", X)
    found = []
    for threads in (1, 3):
        rows = MemmapRows(tmp_path / "rows.npy", block_rows=100)
        rows.threads = threads
        seeds = extend_seeds(rows, np.empty((0, 5)), 4, None, np.random.RandomState(0))
        found.append((seeds, rows.sum(partial(sum_rows, "products", NO_ROWS))))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("model", [PCKMeans(4), MPCKMeans(4), COPKMeans(4)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("edges", [[0, 0, 7, 8, 40], list(range(41))])
def test_an_empty_cluster_is_filled_from_any_block(model, edges):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [30.0, 5.0]], 10, axis=0) + rng.normal(size=(40, 2))
    start = np.array([[0.0, 0.0], [1000.0, 1000.0], [20.0, 0.0], [2000.0, 0.0]])
    hints = Supervision.from_links(40, must=[(0, 1)], cannot=[(0, 39)])
    model = clone(model).set_params(init=start)
    whole = clone(model).fit(X, supervision=hints)
    assert np.bincount(whole.labels_, minlength=4).min() > 0
    found = clone(model).fit(ArrayRows(X, slices(np.array(edges))), supervision=hints)
    assert_same(found, whole, rtol=1e-9)


@pytest.mark.long
def test_memory_is_bounded_by_the_blocks_not_by_the_file(tmp_path):
    n, d, limit = 120_000, 64, 1_000_000
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    rng = np.random.default_rng(0)
    for at in range(0, n, 1000):
        X[at : at + 1000] = rng.standard_normal((1000, d), np.float32) + 3 * (np.arange(1000) % 3)[:, None]
    del X
    hints = sample_links(np.arange(n) % 1000 % 3, 100, random_state=0)
    model = MPCKMeans(3, metric="diagonal", n_init=1, max_iter=3, n_jobs=1, random_state=0)
    model.fit(np.zeros((9, 2)) + np.arange(9)[:, None])  # imports and compiles
    rows = MemmapRows(tmp_path / "X.npy", memory_limit=limit)
    tracemalloc.start()
    try:
        model.fit(rows, supervision=hints)
        model.predict(rows)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside one block there are labels, distances and components, some bytes a row, and the sample of 10,000
    # rows, 2.5 MB, that the spread of the columns is judged by.
    assert most < 30_720_000 / 4, most


def test_a_file_that_is_removed_before_the_fit(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0, 5.0]}), tmp_path / "x.parquet")
    rows = ParquetRows(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(OSError, match=r"x\.parquet could not be written to a scratch file"):
        PCKMeans(2).fit(rows)
    np.save(tmp_path / "X.npy", np.zeros((5000, 4)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    with open(tmp_path / "X.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(OSError, match="has shrunk"):
        PCKMeans(2).fit(X)


def test_a_file_removed_after_the_first_reading_changes_nothing(tmp_path):
    X, _ = some_rows()
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), tmp_path / "x.parquet")
    rows = ParquetRows(tmp_path / "x.parquet")
    before = PCKMeans(4, random_state=0).fit(rows)
    (tmp_path / "x.parquet").unlink()
    assert_same(PCKMeans(4, random_state=0).fit(rows), before)


def test_fewer_distinct_rows_than_clusters_is_reported_for_blocks():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters of the 3"):
        PCKMeans(3, random_state=0).fit(ArrayRows(X, slices(np.arange(11))))


def test_fewer_distinct_rows_than_clusters_among_very_many(monkeypatch):
    monkeypatch.setattr("likewise.kmeans._base.MANY_ROWS", 300)
    X = np.repeat([[0.0], [1.0], [5.0]], 200, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 distinct clusters of the 5"):
        labels = PCKMeans(5, random_state=0).fit(X).labels_
    assert len(np.unique(labels[::200])) == 3


def test_few_rows_with_weight_among_very_many_without(monkeypatch):
    monkeypatch.setattr("likewise.kmeans._base.MANY_ROWS", 300)
    monkeypatch.setattr("likewise.kmeans._base._TRIAL_ROWS", 5)
    X, y = some_rows(n=2000)
    weight = np.zeros(2000)
    weight[::500] = 1.0
    model = PCKMeans(2, random_state=0).fit(
        X, sample_weight=weight, supervision=sample_links(y, 9, random_state=0)
    )
    assert np.isfinite(model.objective_)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_progress_is_reported_for_rows_in_blocks(capsys):
    from sklearn.callback import ProgressBar

    X, _ = some_rows()
    PCKMeans(4, n_init=1, random_state=0).set_callbacks(ProgressBar()).fit(
        ArrayRows(X, slices(CUTS["unequal blocks"]))
    )
    assert "PCKMeans" in capsys.readouterr().out
