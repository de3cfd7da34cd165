"""Rows in blocks: any division into blocks, in memory or in files, gives the same clusters."""

import tracemalloc
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
    SpectralLearning,
    Supervision,
)
from likewise._blocks import ArrayRows, MappedRows, as_rows, get_block_rows
from likewise._compat import HAS_CALLBACKS
from likewise.datasets import MemmapRows, ParquetRows
from likewise.kmeans._clusters import compute_second_moment
from likewise.seeding import ComponentCentroids, extend_seeds, oversample
from likewise.supervision import sample_links
from reference.rows import PickledRows

N = 400
MODELS = [
    PCKMeans(4, random_state=0),
    PCKMeans(4, init="k-means++", n_init=2, random_state=0),
    MPCKMeans(4, random_state=0),
    MPCKMeans(4, metric="diagonal", per_cluster=True, random_state=0),
    MPCKMeans(4, per_cluster=True, random_state=0),
    MKMeans(4, random_state=0),
    COPKMeans(4, random_state=0),
]
LABELLED = [SeededKMeans(5, random_state=0), ConstrainedKMeans(5, random_state=0)]
CUTS = {
    "one row a block": np.arange(N + 1),
    "unequal blocks": np.array([0, 1, 130, 137, 390, N]),
    "empty blocks": np.array([0, 0, 200, 200, 200, N, N]),
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
@pytest.mark.parametrize(
    ("kind", "cut"), [*((ArrayRows, cut) for cut in CUTS), (MappedRows, "unequal blocks")]
)
def test_any_division_into_blocks_gives_the_same_clusters(kind, model, cut):
    X, y = some_rows()
    hints = hints_for(model, y)
    whole = clone(model).fit(X, supervision=hints)
    rows = kind(X, slices(CUTS[cut]))
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
    for model in (PCKMeans(4, random_state=3), MPCKMeans(4, random_state=3)):
        whole = clone(model).fit(X, supervision=hints, sample_weight=weight)
        rows = ArrayRows(X, slices(CUTS[cut]))
        assert_same(clone(model).fit(rows, supervision=hints, sample_weight=weight), whole, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [*MODELS[:4], LABELLED[1]], ids=lambda m: str(m).replace("\n", ""))
def test_files_give_the_same_bits_as_the_array(tmp_path, monkeypatch, dtype, model):
    monkeypatch.setattr("likewise._threads.BLOCK_ROWS", 64)  # several blocks, the same for all
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


def test_a_folder_of_files_with_selected_integer_and_boolean_columns(tmp_path):
    X, _ = some_rows(np.float32)
    for number, part in enumerate(np.array_split(np.arange(N), 3)):
        columns = {"id": [str(i) for i in part], "b": X[part, 1], "n": part, "a": X[part, 0], "t": part > 9}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    rows = ParquetRows(tmp_path, columns=["a", "b"], block_rows=37)
    assert rows.shape == (N, 2)
    assert rows.dtype == np.float32
    assert rows.columns == ("a", "b")
    np.testing.assert_array_equal(rows.take(np.arange(N)), X[:, :2])
    assert ParquetRows(tmp_path, columns=["n", "t"]).take(np.array([300, 3])).tolist() == [[300, 1], [3, 0]]


def test_the_number_of_threads_changes_nothing_in_a_file(tmp_path):
    X, _ = some_rows(np.float32, n=3000)
    np.save(tmp_path / "rows.npy", X)
    found = []
    for threads in (1, 3):
        rows = MemmapRows(tmp_path / "rows.npy", block_rows=100)
        rows.threads = threads
        seeds = extend_seeds(rows, np.empty((0, 5)), 4, None, np.random.RandomState(0))
        found.append((seeds, compute_second_moment(rows, diagonal=False)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("weighted", [False, True])
def test_seeds_over_blocks_are_scikit_learns_draws(weighted):
    X, _ = some_rows(n=2000)
    weight = np.random.default_rng(0).uniform(size=2000) if weighted else np.ones(2000)
    rows = ArrayRows(X, slices(np.array([0, 0, 300, 1999, 2000])))
    for seed in range(20):
        for given in (np.empty((0, 5)), X[:2]):
            drawn = extend_seeds(rows, given, 7, weight, np.random.RandomState(seed))
            np.testing.assert_array_equal(
                drawn, extend_seeds(X, given, 7, weight, np.random.RandomState(seed))
            )


@pytest.mark.parametrize("weighted", [False, True])
def test_an_oversampled_set_represents_all_rows(weighted):
    X, _ = some_rows(n=2000)
    weight = np.random.default_rng(0).uniform(size=2000) if weighted else np.ones(2000)
    hints = Supervision.from_links(2000, must=[(3, 700), (700, 1500), (8, 9)])
    tied = ComponentCentroids.from_closure(X, hints.closure(), weight)
    found = oversample(as_rows(X, weight=weight), 4, tied, np.random.RandomState(0))
    assert len(found) <= 1 + 5 * 2 * 4
    assert found.total_weight == pytest.approx(weight.sum())
    rows = ArrayRows(X, slices(np.array([0, 0, 300, 1999, 2000]))).with_weights(weight)
    again = oversample(rows, 4, tied, np.random.RandomState(0))
    np.testing.assert_array_equal(again.take(np.arange(len(again))), found.take(np.arange(len(found))))
    np.testing.assert_allclose(
        again.get_weights(np.arange(len(again))), found.get_weights(np.arange(len(found)))
    )

    # A drawn row of a component is replaced by the centroid.
    points = found.take(np.arange(len(found)))
    members = X[[3, 8, 9, 700, 1500]]
    assert not (points[:, None] == members).all(axis=2).any()
    centroid = np.average(X[[3, 700, 1500]], axis=0, weights=weight[[3, 700, 1500]])
    np.testing.assert_allclose(tied.move_to_centroids(np.array([700, 4]), X[[700, 4]]), [centroid, X[4]])


def test_seeds_from_an_oversampled_set_are_as_good_as_seeds_from_all_rows():
    X, _ = some_rows(n=4000)
    tied = ComponentCentroids.from_closure(X, Supervision.empty(4000).closure(), np.ones(4000))

    def cost(seeds):
        return ((X[:, None] - seeds) ** 2).sum(axis=2).min(axis=1).sum()

    none, found = np.empty((0, 5)), {"all": [], "overdrawn": []}
    for seed in range(20):
        rng = np.random.RandomState(seed)
        found["all"].append(cost(extend_seeds(X, none, 4, None, rng)))
        rows = oversample(as_rows(X), 4, tied, rng)
        found["overdrawn"].append(cost(extend_seeds(rows, none, 4, None, rng)))
    assert np.mean(found["overdrawn"]) < 1.05 * np.mean(found["all"]), found


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


def test_memory_is_bounded_by_the_blocks_not_by_the_file(tmp_path):
    n, d, limit = 120_000, 128, 2_000_000
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    rng = np.random.default_rng(0)
    for at in range(0, n, 1000):
        X[at : at + 1000] = rng.standard_normal((1000, d), np.float32) + 3 * (np.arange(1000) % 3)[:, None]
    del X
    hints = sample_links(np.arange(n) % 1000 % 3, 100, random_state=0)
    model = MPCKMeans(3, metric="diagonal", n_init=2, max_iter=5, n_jobs=1, random_state=0)
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
    # rows, 5 MB, that the spread of the columns is judged by.
    assert most < 61_440_000 / 4, most


def test_a_memory_limit_makes_smaller_blocks():
    assert get_block_rows(10**12, 16) == 32_768
    assert get_block_rows(1_000_000, 16) == 1_000_000 // (24 * 16 + 80)
    assert get_block_rows(1, 16) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_value_is_named_by_block_and_row(tmp_path, bad):
    X, _ = some_rows()
    X[137, 2] = bad
    np.save(tmp_path / "X.npy", X)
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), tmp_path / "X.parquet")
    said = "block 2 of X has .* in its row 37, column 2.*, which is row 137 of all"
    for rows in (
        MemmapRows(tmp_path / "X.npy", block_rows=50),
        ParquetRows(tmp_path / "X.parquet", block_rows=50),
    ):
        with pytest.raises(ValueError, match=said):
            PCKMeans(2).fit(rows)
    with pytest.raises(ValueError, match=r"block 0 of X has .* which is row 137 of all"):
        PCKMeans(2).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    with pytest.raises(ValueError, match=said):
        PCKMeans(2, n_init=1).fit(some_rows()[0]).predict(MemmapRows(tmp_path / "X.npy", block_rows=50))


def test_a_missing_value_in_parquet_is_named_too(tmp_path):
    pq.write_table(
        pa.table({"a": [1.0, 2.0, None], "n": [1, None, 3], "t": [True, False, None]}), tmp_path / "x.parquet"
    )
    for column, row in (("a", 2), ("n", 1)):
        with pytest.raises(ValueError, match=f"block 0 of X has nan in its row {row}"):
            PCKMeans(2).fit(ParquetRows(tmp_path / "x.parquet", columns=[column]))


def test_empty_data_and_fewer_rows_than_clusters(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "two.parquet")
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="0 rows and 1 columns"):
        PCKMeans(2).fit(ParquetRows(tmp_path / "none.parquet"))
    with pytest.raises(ValueError, match="0 rows and 3 columns"):
        PCKMeans(2).fit(MemmapRows(tmp_path / "none.npy"))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        PCKMeans(3).fit(ParquetRows(tmp_path / "two.parquet"))
    with pytest.raises(ValueError, match="are for 5 rows, but X has 2"):
        PCKMeans(2).fit(ParquetRows(tmp_path / "two.parquet"), supervision=Supervision.empty(5))
    with pytest.raises(ValueError, match="X has 1 features, but PCKMeans is expecting 2"):
        PCKMeans(2).fit([[0.0, 1], [2, 3], [4, 5]]).predict(ParquetRows(tmp_path / "two.parquet"))


def test_files_that_are_not_there_or_not_what_they_say(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet does not exist"):
        ParquetRows(tmp_path / "absent.parquet")
    with pytest.raises(FileNotFoundError, match=r"is a folder without \.parquet files"):
        ParquetRows(tmp_path)
    (tmp_path / "text.parquet").write_text("name,x\n")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        ParquetRows(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match="not a NumPy file that can be memory-mapped"):
        MemmapRows(tmp_path / "text.parquet")
    pq.write_table(pa.table({"name": ["a"], "x": [1.0]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"'name' \(string\) cannot be used as numbers"):
        ParquetRows(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"no column 'y'\. Its columns are name, x"):
        ParquetRows(tmp_path / "x.parquet", columns=["y"])
    for wrong in ([], ["x", "x"], "x"):
        with pytest.raises(ValueError, match="columns must be unique names"):
            ParquetRows(tmp_path / "x.parquet", columns=wrong)
    np.save(tmp_path / "line.npy", np.arange(3.0))
    with pytest.raises(ValueError, match="two-dimensional"):
        MemmapRows(tmp_path / "line.npy")
    for name in ("memory_limit", "block_rows"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1"):
            MemmapRows(np.zeros((3, 2)), **{name: 0})


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


def test_a_method_that_needs_all_rows_in_memory_says_so():
    with pytest.raises(TypeError, match="SpectralLearning works on rows in memory"):
        SpectralLearning(2).fit(as_rows(np.zeros((4, 2))))


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


def test_rows_that_are_all_equal_with_an_empty_block_first():
    rows = ArrayRows(np.zeros((4, 2)), slices(np.array([0, 0, 2, 4])))
    assert extend_seeds(rows, np.empty((0, 2)), 2, None, np.random.RandomState(0)).tolist() == [
        [0, 0],
        [0, 0],
    ]


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


def test_columns_keep_their_names(tmp_path):
    X, _ = some_rows()
    pq.write_table(pa.table({name: X[:, j] for j, name in enumerate("abcde")}), tmp_path / "x.parquet")
    model = PCKMeans(2, n_init=1, random_state=0).fit(ParquetRows(tmp_path / "x.parquet"))
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(ParquetRows(tmp_path / "x.parquet", columns=list("edcba")))


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_progress_is_reported_for_rows_in_blocks(capsys):
    from sklearn.callback import ProgressBar

    X, _ = some_rows()
    PCKMeans(4, n_init=1, random_state=0).set_callbacks(ProgressBar()).fit(
        ArrayRows(X, slices(CUTS["unequal blocks"]))
    )
    assert "PCKMeans" in capsys.readouterr().out
