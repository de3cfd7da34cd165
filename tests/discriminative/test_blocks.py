"""Discriminative clustering on rows in blocks: block sizes, files, lost columns; and mini-batches."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import likewise.discriminative._minibatch as minibatch
import likewise.discriminative._model as model_module
import likewise.discriminative._row_features as order
import likewise.discriminative._softmax as softmax
from likewise import DiscriminativeClustering, MiniBatchDiscriminativeClustering, Supervision
from likewise.backends import ArrayRows, MappedRows
from likewise.datasets import MemmapRows, ParquetRows
from likewise.discriminative._model import draw_unhinted_rows
from likewise.discriminative._row_features import ColumnMoments, hash_rows
from likewise.supervision import sample_links, sample_triplets
from reference.rows import PickledRows

N = 400
# tests/test_blocks.py shows that passes do not depend on the blocks; here the fits are compared.
CUTS = {
    "unequal blocks": np.array([0, 0, 1, 130, 137, 137, 390, N, N]),
    "two blocks": np.array([0, 199, N]),
}
FULL = DiscriminativeClustering(4, n_init=2, random_state=0)
SMALL = MiniBatchDiscriminativeClustering(4, n_init=2, batch_size=50, max_iter=40, tol=0.02, random_state=0)


@pytest.fixture(autouse=True)
def few_are_very_few(monkeypatch):
    """Treat 400 rows as many, so that they are processed in passes."""
    monkeypatch.setattr(model_module, "_FEW_ROWS", 150)
    monkeypatch.setattr(minibatch, "_POOL_ROWS", 120)
    monkeypatch.setattr(softmax, "_PART", 64)


def some_rows(dtype=np.float64, n=N, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(4, d))[y] + 10
    return X.astype(dtype), y


def hints_for(y):
    """Return hints between rows of different blocks."""
    return sample_links(y, 30, random_state=1) | sample_triplets(y, 30, random_state=1)


def slices(edges):
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def assert_same(ours, theirs, tolerance=0.0):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.hinted_, theirs.hinted_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.hinted_proba_, theirs.hinted_proba_, rtol=tolerance, atol=tolerance)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=max(tolerance, 1e-15))
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", [ArrayRows, MappedRows])
def test_any_block_size_gives_the_same_clusters(kind, cut):
    X, y = some_rows()
    hints = hints_for(y)
    whole = clone(FULL).fit(X, supervision=hints)
    rows = kind(X, slices(CUTS[cut]))
    # Sums in another order differ in the last digits, which the optimisation amplifies.
    assert_same(clone(FULL).fit(rows, supervision=hints), whole, tolerance=1e-6)
    np.testing.assert_array_equal(whole.predict(rows), whole.predict(X))
    np.testing.assert_allclose(whole.decision_function(rows), whole.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(whole.predict_proba(rows), whole.predict_proba(X), atol=1e-10)
    assert whole.score(rows) == pytest.approx(whole.score(X))


@pytest.mark.parametrize(
    "parameters",
    [{"noise": "confusion"}, {"epsilon": 0}, {"fourier_features": 20}, {"neither": "drop"}],
    ids=str,
)
def test_every_kind_of_fit_is_the_same_in_blocks(parameters):
    X, y = some_rows()
    hints, weight = hints_for(y), np.random.default_rng(2).uniform(0, 2, N)
    model = clone(FULL).set_params(**parameters)
    whole = clone(model).fit(X, supervision=hints, sample_weight=weight)
    for kind in (ArrayRows, MappedRows):
        rows = kind(X, slices(CUTS["unequal blocks"]))
        found = clone(model).fit(rows, supervision=hints, sample_weight=weight)
        assert_same(found, whole, tolerance=1e-5)
        assert found.violations_.share == whole.violations_.share
        assert found.triplet_violations_.violated.tolist() == whole.triplet_violations_.violated.tolist()
    assert whole.score(rows, sample_weight=weight) == pytest.approx(whole.score(X, sample_weight=weight))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [FULL, SMALL], ids=lambda m: type(m).__name__)
def test_files_and_arrays_give_the_same_result(tmp_path, model, dtype):
    X, y = some_rows(dtype)
    hints = hints_for(y)
    np.save(tmp_path / "X.npy", X)
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), tmp_path / "X.parquet")
    whole = clone(model).fit(X, supervision=hints)
    for rows in (
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        MemmapRows(tmp_path / "X.npy"),
        ParquetRows(tmp_path / "X.parquet"),
    ):
        assert_same(clone(model).fit(rows, supervision=hints), whole)
        np.testing.assert_array_equal(whole.predict(rows), whole.predict(X))


@pytest.mark.parametrize("fourier", [None, 20])
def test_rows_far_from_the_origin_lose_no_digits(monkeypatch, fourier):
    def hash_near(X, seed):  # only the digits that both have, so starts are tried on the same rows
        return hash_rows(np.round(X % 2.0**20, 3), seed)

    monkeypatch.setattr(order, "hash_rows", hash_near)
    X, y = some_rows()
    hints, model = hints_for(y), clone(FULL).set_params(fourier_features=fourier)
    near = clone(model).fit(X, supervision=hints)
    for rows in (X + 2.0**20, MappedRows(X + 2.0**20, slices(CUTS["two blocks"]))):
        far = clone(model).fit(rows, supervision=hints)
        np.testing.assert_array_equal(far.labels_, near.labels_)
        assert far.lower_bound_ == pytest.approx(near.lower_bound_, rel=1e-5)


@pytest.mark.parametrize("model", [FULL, SMALL], ids=lambda m: type(m).__name__)
def test_pickled_work_and_lost_columns(model):
    X, y = some_rows()
    hints, blocks = hints_for(y), slices(CUTS["unequal blocks"])
    whole = clone(model).fit(ArrayRows(X, blocks), supervision=hints)
    assert_same(clone(model).fit(PickledRows(X, blocks), supervision=hints), whole)


def test_memory_is_bounded_by_the_blocks_not_by_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(softmax, "_PART", 8192)
    n, limit = 120_000, 1_000_000
    X, y = some_rows(np.float32, n=n)
    np.save(tmp_path / "X.npy", X)
    del X
    hints = sample_links(y, 30, random_state=0)
    model = clone(FULL).set_params(n_init=1, max_iter=2, tol=10.0, n_jobs=1)
    model.fit(some_rows()[0], supervision=hints_for(some_rows()[1]))  # imports and compiles
    for kind in (model, clone(SMALL)):
        tracemalloc.start()
        try:
            kind.fit(MemmapRows(tmp_path / "X.npy", memory_limit=limit), supervision=hints)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The labels take 4 bytes per row. Stored probabilities would take 64.
        assert most < 4 * n + 3 * limit < 64 * n, most


def test_labels_and_violations_without_an_array_over_all_hints():
    X, y = some_rows()
    hints = hints_for(y) | Supervision.from_links(N, must=[(0, int(np.flatnonzero(y != y[0])[0]))])
    found = clone(FULL).fit(ArrayRows(X, slices(CUTS["two blocks"])), supervision=hints)
    violated = found.labels_[hints.must[:, 0]] != found.labels_[hints.must[:, 1]]
    np.testing.assert_array_equal(found.violations_.violated_must, hints.must[violated])
    free = np.setdiff1d(np.arange(N), found.hinted_)
    np.testing.assert_array_equal(found.labels_[free], found.predict(X)[free])
    np.testing.assert_array_equal(found.labels_[found.hinted_], found.hinted_proba_.argmax(axis=1))


def test_by_hand_moments_of_parts_add_up():
    X = np.array([[1.0, 1e9], [3.0, 1e9], [8.0, 1e9]])
    rows = ArrayRows(X, slices(np.array([0, 1, 1, 3]))).with_weights(np.array([1.0, 1.0, 2.0]))
    moments = rows.sum(ColumnMoments.from_block)
    np.testing.assert_allclose(moments.mean, [5.0, 1e9])
    np.testing.assert_allclose(moments.compute_scale(3), [np.sqrt((16 + 4 + 2 * 9) / 4), 1.0])  # constant: 1


def test_unhinted_rows_are_drawn_from_all_unhinted_rows():
    hinted = np.array([0, 1, 5, 9])
    rng = np.random.RandomState(0)
    np.testing.assert_array_equal(draw_unhinted_rows(6, 6, hinted, rng), [2, 3, 4, 6, 7, 8])
    seen = np.concatenate([draw_unhinted_rows(6, 2, hinted, rng) for _ in range(100)])
    np.testing.assert_array_equal(np.unique(seen), [2, 3, 4, 6, 7, 8])


# ---------------------------------------------------------------------- batches


def test_batches_and_all_rows_give_similar_clusters():
    X, y = some_rows(n=2000)
    hints = hints_for(y)
    batched = clone(SMALL).set_params(max_iter=100).fit(X, supervision=hints)
    assert batched.violations_.share > 0.95
    assert batched.n_steps_ == batched.n_iter_ <= 100
    drawn = batched.n_rows_seen_ / batched.n_steps_ - len(batched.hinted_)  # hinted rows are in every batch
    assert 40 <= drawn <= 60
    all_rows = clone(FULL).set_params(init="hints").fit(X, supervision=hints)
    assert adjusted_rand_score(y, batched.labels_) > adjusted_rand_score(y, all_rows.labels_) - 0.02
    assert adjusted_rand_score(all_rows.labels_, batched.labels_) > 0.95
    assert batched.score(X) == pytest.approx(all_rows.score(X), abs=0.01)


def corners(rng, n=80):
    """Return four clouds at the corners of a square, and which rows are above."""
    above, right = np.arange(n) % 2, np.arange(n) // 2 % 2
    return rng.normal(size=(n, 2)) + 8 * np.column_stack([right, above]), above, right


def test_hints_within_batches_determine_the_clusters():
    rng = np.random.default_rng(0)
    for truth in (1, 2):  # above and below, or left and right
        model = MiniBatchDiscriminativeClustering(2, random_state=0)
        for _ in range(10):
            X, *halves = corners(rng)
            model.partial_fit(
                X, supervision=sample_links(halves[truth - 1], 10, random_state=rng.integers(99))
            )
            assert model.labels_.shape == (80,)
        X, *halves = corners(rng)
        assert adjusted_rand_score(halves[truth - 1], model.predict(X)) == 1.0
    assert (model.n_steps_, model.n_iter_, model.n_rows_seen_) == (10, 10, 800)


def test_updating_the_scale_does_not_change_the_model():
    X, _ = some_rows()
    model = clone(SMALL).partial_fit(X[:100])
    before = model.coef_, model.intercept_
    model.set_params(learning_rate=1e-15).partial_fit(3 * X[100:] + 7)
    np.testing.assert_allclose(model.coef_, before[0], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, before[1], atol=1e-9)


def test_by_hand_the_running_mean_and_the_first_step():
    mean = minibatch.RunningMean()
    assert mean.add(4.0, 0.5) == 4.0
    assert mean.add(1.0, 0.5) == 2.0  # (4 / 4 + 1 / 2) / (3 / 4)
    step = minibatch.Ascent(minibatch.RunningMean(), minibatch.RunningMean())
    moved = step.make_step(
        np.zeros(2), np.array([1e-3, -5.0]), 0.1
    )  # both weights move equally far along the gradient
    np.testing.assert_allclose(moved, np.array([0.1, -0.1]) / np.sqrt(1.1), rtol=1e-4)


def test_small_and_unusual_batches():
    X, y = some_rows()
    model = MiniBatchDiscriminativeClustering(4, random_state=0)
    with pytest.raises(
        ValueError, match=r"first batch has n_samples=3 row\(s\); expected at least n_clusters=4"
    ):
        model.partial_fit(X[:3])
    model.partial_fit(X[:200], supervision=hints_for(y)[:200])
    model.partial_fit(X[200:201])  # one row, and no hints
    model.partial_fit(X[:2], supervision=Supervision.from_links(2, must=[(0, 1)]))  # every row hinted
    assert np.isfinite(model.coef_).all()
    assert model.n_rows_seen_ == 203
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(X[:5, :2])
    with pytest.raises(ValueError, match="400 rows"):
        model.partial_fit(X[:5], supervision=hints_for(y))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((5, 5), np.nan))
    with pytest.raises(ValueError, match="earlier batches were fitted with 4"):
        clone(model).set_params(n_clusters=4).partial_fit(X).set_params(n_clusters=3).partial_fit(X)
    assert model.fit(X).n_rows_seen_ < 100_000  # a fit starts again
    with pytest.raises(ValueError, match=r"epsilon must be a number above 0 and below 0\.5"):
        MiniBatchDiscriminativeClustering(epsilon=0).fit(X)


def test_hints_about_every_row():
    X, y = some_rows(n=60)
    hints = Supervision.from_links(60, must_groups=[np.flatnonzero(y == k) for k in range(4)])
    apart = Supervision.from_links(60, cannot_groups=[[int(np.argmax(y == k)) for k in range(4)]])
    for model in (FULL, SMALL):
        found = clone(model).fit(ArrayRows(X, slices(np.arange(0, 61, 20))), supervision=hints | apart)
        assert adjusted_rand_score(y, found.labels_) == 1.0
