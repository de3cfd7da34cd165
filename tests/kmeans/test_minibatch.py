"""Mini-batches: running sums, batches drawn by fit, batches passed to partial_fit, and invalid input."""

from copy import copy
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from likewise import MiniBatchMPCKMeans, MiniBatchPCKMeans, MPCKMeans, PCKMeans, Supervision
from likewise._compat import HAS_CALLBACKS
from likewise.backends import ArrayRows
from likewise.datasets import MemmapRows, ParquetRows
from likewise.exceptions import InfeasibleSupervisionError, SupervisionError
from likewise.kernels import assign
from likewise.kmeans._loop import KMeansSteps, Metric
from likewise.supervision import sample_links

METRICS = [{"metric": metric, "per_cluster": own} for metric in ("diagonal", "full") for own in (False, True)]
PAIRS = [
    (PCKMeans(3), MiniBatchPCKMeans(3)),
    *((MPCKMeans(3, **kind), MiniBatchMPCKMeans(3, **kind)) for kind in METRICS),
]
MINI = [mini for _, mini in PAIRS]


def name(model):
    return str(model).replace("\n", "")


def blobs(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) + 4 * np.eye(d)[y] + 10, y


# ---------------------------------------------------------------------- running sums


@pytest.mark.parametrize(
    ("half_life", "centers", "weights"),
    [
        (None, [[2.0], [12.0]], [3.0, 3.0]),  # (0 + 2 + 4) / 3 and (10 + 12 + 14) / 3
        (3, [[2.5], [12.4]], [2.0, 2.5]),  # (1/2 (0 + 2) + 4) / 2 and (1/2 10 + 12 + 14) / 2.5
    ],
)
def test_two_batches_by_hand(half_life, centers, weights):
    model = MiniBatchPCKMeans(2, init=[[0.0], [10.0]], half_life=half_life)
    model.partial_fit([[0.0], [2.0], [10.0]])
    assert model.cluster_centers_.tolist() == [[1.0], [10.0]]
    assert model.objective_ == pytest.approx(4 / 3)  # of the start: 0 + 4 + 0
    model.partial_fit([[14.0], [4.0], [12.0]])
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-15)
    np.testing.assert_allclose(model._running.stats.counts, weights)
    assert model.labels_.tolist() == [1, 0, 1]
    assert model.objective_ == pytest.approx((9 + 16 + 4) / 3)  # before the batch moved the centres
    assert (model.n_steps_, model.n_rows_seen_) == (2, 6)


def test_weights_of_rows_by_hand():
    model = MiniBatchPCKMeans(1, init=[[0.0]])
    model.partial_fit([[1.0], [3.0]], sample_weight=[3, 1]).partial_fit([[9.0]], sample_weight=[2])
    assert model.cluster_centers_.tolist() == [[(3 + 3 + 18) / 6]]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # after one iteration
@pytest.mark.filterwarnings("ignore::likewise.exceptions.InconsistentSupervisionWarning")
@pytest.mark.parametrize("n_links", [0, 80])
@pytest.mark.parametrize(("full", "mini"), PAIRS, ids=name)
def test_one_batch_of_all_rows_is_one_iteration_of_the_full_method(full, mini, n_links):
    X, y = blobs()
    hints = sample_links(y, n_links, noise=0.2, random_state=0) if n_links else None
    full, mini = (clone(model).set_params(init=X[:3], random_state=0) for model in (full, mini))
    full.set_params(max_iter=1).fit(X, supervision=hints)
    mini.partial_fit(X, supervision=hints)
    # after one iteration these are the centres that the full method assigns rows to, not yet their means
    np.testing.assert_allclose(mini.cluster_centers_, full._assigned_to, rtol=1e-12)
    np.testing.assert_array_equal(mini.labels_, full.labels_)
    if isinstance(full, MPCKMeans):
        np.testing.assert_allclose(mini.metrics_, full.metrics_, rtol=1e-9)


@pytest.mark.parametrize("model", MINI, ids=name)
def test_batches_of_any_size_give_the_sums_of_all_rows(model):
    X, y = blobs()
    model, hints = clone(model).set_params(random_state=0), sample_links(y, 200, random_state=0)
    for rows in (slice(0, 200), slice(200, 201), slice(201, 203), slice(203, 600)):
        model.partial_fit(X[rows], supervision=hints[rows])
    state = model._running
    assert state.stats.counts.sum() == model.n_rows_seen_ == 600
    np.testing.assert_allclose(state.stats.sums.sum(axis=0), (X - state.mean).sum(axis=0))
    assert state.mean_squared_distance == pytest.approx(2 * X.var(axis=0).sum())
    assert adjusted_rand_score(y, model.predict(X)) > 0.8


# ---------------------------------------------------------------------- links


@pytest.mark.parametrize("model", MINI, ids=name)
def test_links_within_a_batch_are_satisfied(model):
    X, y = blobs()
    model = clone(model).set_params(random_state=0).partial_fit(X[:300])
    i, j = (np.flatnonzero(y[300:] == c)[0] for c in (0, 1))
    assert model.predict(X[300:])[i] != model.predict(X[300:])[j]
    hints = Supervision.from_links(300, must=[(i, j)], must_weights=100)
    model.partial_fit(X[300:], supervision=hints)
    assert model.labels_[i] == model.labels_[j]
    assert model.violations_.n_must_kept == 1
    free = ~hints.touched
    np.testing.assert_array_equal(model.predict(X[300:])[free], model.labels_[free])


@pytest.mark.parametrize("model", [MINI[0], MINI[-1]], ids=name)
def test_the_order_of_links_changes_nothing(model):
    X, y = blobs()
    hints = sample_links(y, 60, random_state=0)
    turned = Supervision.from_links(600, must=hints.must[::-1, ::-1], cannot=hints.cannot[::-1, ::-1])
    model = clone(model).set_params(random_state=0, batch_size=50)
    one, other = (clone(model).fit(X, supervision=said) for said in (hints, turned))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9)


def test_hinted_rows_count_for_no_more_than_their_share():
    X = np.full((1000, 1), -1.0)
    X[::10] = 1.0
    hints = Supervision.from_links(1000, must=[(0, i) for i in range(10, 1000, 10)])
    model = MiniBatchPCKMeans(1, batch_size=50, max_iter=5, max_no_improvement=None, random_state=0)
    # A batch of 50 also has all 100 hinted rows, which have a tenth of the weight.
    assert model.fit(X, supervision=hints).cluster_centers_[0, 0] == pytest.approx(-0.8, abs=0.02)


@pytest.mark.parametrize("cls", [MiniBatchPCKMeans, MiniBatchMPCKMeans])
@pytest.mark.long
def test_links_in_streamed_batches_bring_digits_nearer_to_the_classes(cls):
    X, y = load_digits(return_X_y=True)

    def streamed(n_links):
        found = []
        for seed in range(3):
            model = cls(10, random_state=seed)
            for rows in np.array_split(np.random.default_rng(seed).permutation(len(X)), 9):
                hints = sample_links(y[rows], n_links, random_state=seed) if n_links else None
                model.partial_fit(X[rows], supervision=hints)
            found.append(adjusted_rand_score(y, model.predict(X)))
        return np.mean(found)

    assert streamed(300) > streamed(0)


# ---------------------------------------------------------------------- batches drawn by fit


@pytest.mark.parametrize("mini", [MiniBatchPCKMeans, MiniBatchMPCKMeans])
def test_the_result_is_close_to_that_of_the_full_method(mini):
    X, y = make_blobs(20_000, 16, centers=10, cluster_std=8.0, random_state=0)
    hints = sample_links(y, 200, random_state=1)
    full = {MiniBatchPCKMeans: PCKMeans, MiniBatchMPCKMeans: MPCKMeans}[mini]
    whole = full(10, random_state=0).fit(X, supervision=hints)
    found = mini(10, batch_size=512, random_state=0).fit(X, supervision=hints)
    assert found.score(X) > 1.02 * whole.score(X)  # both are negative
    assert found.objective_ == pytest.approx(whole.objective_ / len(X), rel=0.02)
    ours, theirs = (adjusted_rand_score(y, model.labels_) for model in (found, whole))
    assert ours > theirs - 0.02
    assert found.n_rows_seen_ < 2 * len(X)


@pytest.mark.parametrize("model", [MINI[0], MINI[3]], ids=name)
def test_files_and_blocks_give_the_same_result_as_the_array(tmp_path, model):
    X, y = blobs()
    hints, weight = sample_links(y, 60, random_state=0), np.random.default_rng(0).uniform(size=600)
    model = clone(model).set_params(batch_size=40, random_state=0)
    whole = clone(model).fit(X, supervision=hints, sample_weight=weight)
    np.save(tmp_path / "rows.npy", X)
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(4)}), tmp_path / "rows.parquet")
    for rows in (
        np.load(tmp_path / "rows.npy", mmap_mode="r"),
        MemmapRows(tmp_path / "rows.npy", block_rows=64),
        ParquetRows(tmp_path / "rows.parquet"),
        ArrayRows(X, [slice(0, 0), slice(0, 1), slice(1, 600)]),
    ):
        found = clone(model).fit(rows, supervision=hints, sample_weight=weight)
        np.testing.assert_array_equal(found.labels_, whole.labels_)
        np.testing.assert_array_equal(found.cluster_centers_, whole.cluster_centers_)
        assert (found.objective_, found.n_steps_) == (whole.objective_, whole.n_steps_)


def test_batches_continue_from_a_fit():
    X, _ = blobs()
    model = MiniBatchPCKMeans(3, batch_size=30, random_state=0).fit(X)
    before, steps, rows = model.cluster_centers_.copy(), model.n_steps_, model.n_rows_seen_
    assert model.n_iter_ == int(np.ceil(rows / 600))
    assert len(model.labels_) == 600
    model.partial_fit(X[:1].astype(np.float32))
    assert (model.n_steps_, model.n_rows_seen_, len(model.labels_)) == (steps + 1, rows + 1, 1)
    moved = np.flatnonzero((model.cluster_centers_ != before).any(axis=1))
    assert moved.tolist() == model.labels_.tolist()


def test_few_rows_of_many_have_weight():
    X, _ = blobs()
    weight = np.zeros(600)
    weight[:30] = 1.0
    model = MiniBatchPCKMeans(3, batch_size=2, max_iter=3, max_no_improvement=None, random_state=0)
    model.fit(X, sample_weight=weight)
    means = [X[:30][model.labels_[:30] == h].mean(axis=0) for h in range(3)]
    assert np.abs(model.cluster_centers_ - means).max() < 1.0


@pytest.mark.parametrize("model", [MINI[0], MINI[2], MINI[4]], ids=name)
def test_a_cluster_that_gains_no_rows_is_reseeded_among_distant_rows(model):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [20.0, 5.0]], 100, axis=0) + rng.normal(size=(300, 2))
    X = X[rng.permutation(300)]
    start = np.array([[0.0, 0.0], [15.0, 2.0], [900.0, 900.0]])
    kept = clone(model).set_params(init=start, reassignment_ratio=0.0, random_state=0)
    moved = clone(kept).set_params(reassignment_ratio=0.5, half_life=60)
    for rows in np.array_split(X, 10):
        kept.partial_fit(rows)
        moved.partial_fit(rows)
    assert kept.cluster_centers_[2].tolist() == [900.0, 900.0]
    assert np.abs(np.sort(moved.cluster_centers_[:, 0]) - [0, 10, 20]).max() < 1.5
    again = clone(moved)
    for rows in np.array_split(X, 10):
        again.partial_fit(rows)
    np.testing.assert_array_equal(again.cluster_centers_, moved.cluster_centers_)


def test_fewer_distinct_rows_than_clusters_in_a_fit():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters of the 3"):
        MiniBatchPCKMeans(3, batch_size=10, random_state=0).fit(X)


def test_a_fit_that_does_not_converge_gives_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"after 8 batches before the objective had converged"):
        MiniBatchPCKMeans(3, batch_size=60, max_iter=1, random_state=0).fit(blobs()[0])


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_progress_is_reported_for_batches(capsys):
    from sklearn.callback import ProgressBar

    model = MiniBatchPCKMeans(3, batch_size=60, n_init=1, random_state=0)
    model.set_callbacks(ProgressBar()).fit(blobs()[0])
    assert "MiniBatchPCKMeans" in capsys.readouterr().out


# ---------------------------------------------------------------------- bad input


def test_a_first_batch_must_have_enough_rows():
    model = MiniBatchPCKMeans(3)
    with pytest.raises(ValueError, match=r"2 rows, 2 of them distinct.*at least 3 distinct"):
        model.partial_fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="first batch has 4 rows, 2 of them distinct"):
        model.partial_fit([[0.0], [1.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match="first batch has 3 rows, 2 of them distinct"):
        model.partial_fit([[0.0], [1.0], [2.0]], sample_weight=[1, 1, 0])
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(np.empty((0, 2)))
    assert not hasattr(model, "cluster_centers_")
    model.partial_fit([[0.0], [1.0], [5.0]]).partial_fit([[7.0]])
    assert model.n_rows_seen_ == 4


def test_a_later_batch_must_be_compatible_with_the_first():
    X, _ = blobs(60)
    model = MiniBatchMPCKMeans(3, random_state=0).partial_fit(X)
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="X has 3 features, but MiniBatchMPCKMeans is expecting 4"):
        model.partial_fit(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(np.arange(60)[:, None] == 7, np.nan, X))
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(X[:0])
    with pytest.raises(ValueError, match="too large to square"):
        model.partial_fit(1e200 * X)
    for other in ({"n_clusters": 4}, {"metric": "diagonal"}, {"per_cluster": True}):
        with pytest.raises(ValueError, match="n_clusters, metric or per_cluster has changed"):
            copy(model).set_params(**other).partial_fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, before)


def test_hints_are_about_the_rows_of_one_batch():
    X, _ = blobs()
    model = MiniBatchPCKMeans(3, random_state=0).partial_fit(X[:300])
    hints = Supervision.from_links(600, must=[(0, 500)])
    with pytest.raises(SupervisionError, match=r"are for 600 rows, but X has 300\. Index the hints"):
        model.partial_fit(X[300:], supervision=hints)
    with pytest.raises(SupervisionError, match="pass the hints by name"):
        model.partial_fit(X[300:], hints[300:])
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        MiniBatchPCKMeans(1).partial_fit(X, supervision=Supervision.from_links(600, cannot=[(0, 1)]))


@pytest.mark.parametrize(
    "wrong",
    [{"batch_size": 0}, {"half_life": 0}, {"max_no_improvement": 0}, {"reassignment_ratio": -1}],
    ids=str,
)
def test_parameters_are_checked_by_fit_and_partial_fit(wrong):
    for way in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            getattr(MiniBatchPCKMeans(2, **wrong), way)([[0.0], [1.0], [5.0]])


def test_batches_of_many_rows_are_labelled_by_the_kernel():
    """NumPy and the kernel agree; the number of rows in all decides which of them is used."""
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(300, 5)), rng.normal(size=(4, 5))
    found = []
    for n_rows in (0, 10**6):
        steps = KMeansSteps(X, 4, n_rows=n_rows)
        with patch("likewise.kernels.assign.nearest_linear", wraps=assign.nearest_linear) as kernel:
            found.append(steps.assign(centers, Metric(np.ones((1, 5))), None))
        assert kernel.called == (n_rows > 0)
    np.testing.assert_array_equal(found[0].stats.counts, found[1].stats.counts)
    np.testing.assert_allclose(found[0].stats.sums, found[1].stats.sums)
