"""Rows in blocks: any division into blocks, in memory or in files, gives the same mixture."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from likewise import (
    EquivalenceGaussianMixture,
    MiniBatchPairwiseGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.backends import ArrayRows
from likewise.datasets import MemmapRows, ParquetRows
from likewise.supervision import sample_links
from reference.rows import PickledRows

N, K, D = 240, 3, 4
MODELS = [
    PairwiseGaussianMixture(K, n_init=2, random_state=0),
    PairwiseGaussianMixture(
        K, n_subclusters=2, relations="components", covariance_type="diag", n_init=2, tol=1e-2, random_state=0
    ),
    EquivalenceGaussianMixture(K, covariance_type="tied", n_init=2, random_state=0),
    PosteriorConstrainedGaussianMixture(K, covariance_type="spherical", n_init=1, tol=1e-3, random_state=0),
    MiniBatchPairwiseGaussianMixture(K, batch_size=90, n_init=2, tol=0.1, random_state=0),
]
# tests/test_blocks.py shows that passes do not depend on the blocks; here the fits are compared.
CUTS = {
    "unequal blocks": np.array([0, 0, 1, 130, 137, 137, 220, N, N]),
    "two blocks": np.array([0, 119, N]),
}
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def some_rows(dtype=np.float64, apart=4.0):
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, N)
    return (rng.normal(size=(N, D)) + apart * np.eye(K, D)[y] + 10).astype(dtype), y


def hints_for(y):
    return sample_links(y, 40, random_state=1)  # between rows of different blocks


def slices(edges):
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def try_on(n_rows, monkeypatch):
    monkeypatch.setattr("likewise.mixture._base._TRIAL_ROWS", n_rows)
    monkeypatch.setattr("likewise.mixture._minibatch._TRIAL_ROWS", n_rows)


@pytest.fixture(params=[False, True], ids=["starts on all rows", "starts on a sample"])
def sampled(request, monkeypatch):
    if request.param:
        try_on(100, monkeypatch)
    return request.param


def assert_same(ours, theirs, rtol=0.0):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.labels_.dtype == np.int32
    for name in ("weights_", "means_", "covariances_", "lower_bounds_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=rtol, atol=rtol)
    assert ours.n_iter_ == theirs.n_iter_
    assert str(ours.violations_) == str(theirs.violations_)


@pytest.mark.parametrize(("cut", "n_trial"), [*zip(CUTS, [100, N], strict=True)])
@each_model
def test_any_division_into_blocks_gives_the_same_mixture(model, cut, n_trial, monkeypatch):
    try_on(n_trial, monkeypatch)
    X, y = some_rows()
    hints = hints_for(y)
    whole = clone(model).fit(X, supervision=hints)
    rows = ArrayRows(X, slices(CUTS[cut]))
    # Sums of 240 numbers in another order differ in the last digits, over several iterations.
    assert_same(clone(model).fit(rows, supervision=hints), whole, rtol=1e-8)
    np.testing.assert_array_equal(whole.predict(rows), whole.predict(X))
    # Matrix products of other shapes may round differently.
    np.testing.assert_allclose(whole.predict_proba(rows), whole.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(whole.score_samples(rows), whole.score_samples(X), rtol=1e-12)
    for score in ("score", "bic", "aic"):
        assert getattr(whole, score)(rows) == pytest.approx(getattr(whole, score)(X), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]], ids=lambda m: type(m).__name__)
def test_files_give_the_same_bits_as_the_array(tmp_path, monkeypatch, dtype, model, sampled):
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 64)  # several blocks, the same for all
    X, y = some_rows(dtype)
    hints = hints_for(y)
    whole = clone(model).fit(X, supervision=hints)
    assert adjusted_rand_score(y, whole.labels_) > 0.95
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(D)}), tmp_path / "X.parquet", row_group_size=90)
    np.save(tmp_path / "X.npy", X)
    for rows in (
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        MemmapRows(tmp_path / "X.npy"),
        ParquetRows(tmp_path / "X.parquet"),
    ):
        found = clone(model).fit(rows, supervision=hints)
        assert_same(found, whole)
        np.testing.assert_array_equal(found.predict(rows), whole.predict(X))


@each_model
def test_work_can_be_pickled_and_lost_columns_are_recomputed(model, sampled):
    X, y = some_rows()
    hints, cut = hints_for(y), slices(CUTS["unequal blocks"])
    whole = clone(model).fit(ArrayRows(X, cut), supervision=hints)
    rows = PickledRows(X, cut)
    found = clone(model).fit(rows, supervision=hints)
    assert_same(found, whole)
    np.testing.assert_allclose(found.score(rows), whole.score(X), rtol=1e-12)
    assert rows.most_sent > 0


class Watched(ArrayRows):
    """Rows that record how many were requested at once."""

    most = 0

    def take(self, rows):
        self.most = max(self.most, len(rows))
        return super().take(rows)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=lambda m: type(m).__name__)
def test_starts_of_many_rows_are_tried_on_the_named_rows_and_a_sample(model, monkeypatch):
    try_on(60, monkeypatch)
    monkeypatch.setattr("likewise.mixture._minibatch.AT_ONCE", 1)
    X, y = some_rows()
    hints = sample_links(y, 20, random_state=1)
    rows = Watched(X, slices(CUTS["unequal blocks"]))
    found = clone(model).fit(rows, supervision=hints)
    assert 60 <= rows.most <= 60 + len(hints.restrict_to_hinted()[0]) < N
    assert adjusted_rand_score(y, found.labels_) > 0.95
    # The iterations are those on all rows, where the bound never falls.
    assert len(found.lower_bounds_) == found.n_iter_
    if type(found) is PairwiseGaussianMixture:
        assert (np.diff(found.lower_bounds_) > -1e-10).all()


def test_a_given_start_of_many_rows_is_not_tried_on_a_sample(monkeypatch):
    X, y = some_rows()
    hints = hints_for(y)
    model = PairwiseGaussianMixture(K, init=X[[0, 1, 2]])
    whole = clone(model).fit(X, supervision=hints)
    try_on(60, monkeypatch)
    assert_same(clone(model).fit(ArrayRows(X, slices(CUTS["two blocks"])), supervision=hints), whole, 1e-8)


def test_links_hold_across_blocks_and_in_the_sample(sampled):
    # Corners whose classes are top and bottom, which only the links show.
    rng = np.random.default_rng(3)
    x, y = rng.choice([-1, 1], 400), rng.choice([-1, 1], 400)
    X = np.column_stack([3 * x + 0.5 * rng.normal(size=400), y + 0.3 * rng.normal(size=400)])
    hints = sample_links(y, 30, balance=0.5, random_state=0)
    for model in (PairwiseGaussianMixture(2), MiniBatchPairwiseGaussianMixture(2)):
        rows = ArrayRows(X, slices(np.arange(0, 401, 10)))
        model.set_params(n_init=4, random_state=0).fit(rows, supervision=hints)
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert model.violations_.share == 1


def test_a_value_that_is_not_finite_is_named_by_block_and_row():
    X, _ = some_rows()
    X[137, 2] = np.nan
    rows = ArrayRows(X, slices(CUTS["unequal blocks"]))
    for model in (PairwiseGaussianMixture(2), MiniBatchPairwiseGaussianMixture(2)):
        with pytest.raises(ValueError, match="block 5 of X has nan in its row 0, column 2, which is row 137"):
            model.fit(rows)


def test_contradictory_links_are_reported_with_the_rows_of_the_file():
    X, _ = some_rows()
    hints = Supervision.from_links(N, must=[(200, 230)], cannot=[(230, 200)])
    with pytest.warns(UserWarning, match="between rows 200 and 230"):
        PairwiseGaussianMixture(K, n_init=1, random_state=0).fit(ArrayRows(X), supervision=hints)
