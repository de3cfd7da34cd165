"""Bad rows, bad parameters, odd layouts: a clear error, or the right answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from likewise import COPKMeans, MPCKMeans, PCKMeans, Supervision
from likewise.exceptions import InfeasibleSupervisionError, SupervisionError, TooFewClustersWarning
from likewise.supervision import sample_links

X, Y = load_iris(return_X_y=True)
HINTS = sample_links(Y, 50, random_state=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("cls", [COPKMeans, PCKMeans, MPCKMeans])
def test_rows_that_are_not_finite_are_refused(cls, bad):
    rows = X.copy()
    rows[7, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls(3).fit(rows, supervision=HINTS)
    model = cls(3, random_state=0).fit(X, supervision=HINTS)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(rows)


def test_more_clusters_than_rows_is_refused():
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        PCKMeans(5).fit(X[:4])


def test_one_cluster_and_a_cannot_link_is_refused():
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        MPCKMeans(1).fit(X, supervision=Supervision.from_links(150, cannot=[(0, 1)]))
    assert set(MPCKMeans(1).fit(X, supervision=Supervision.from_links(150, must=[(0, 1)])).labels_) == {0}


def test_hints_for_other_rows_are_refused():
    with pytest.raises(SupervisionError, match="are for 150 rows, but X has 149"):
        PCKMeans(3).fit(X[:149], supervision=HINTS)
    with pytest.raises(SupervisionError, match="got list"):
        PCKMeans(3).fit(X, supervision=[(0, 1)])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.5}, "got 2.5"),
        ({"n_clusters": True}, "got True"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol must be a number of at least 0"),
        ({"tol": np.nan}, "tol"),
        ({"metric": "diag"}, "metric must be 'full' or 'diagonal', .*got 'diag'"),
        ({"per_cluster": "yes"}, "per_cluster"),
        ({"must_weight": 0}, "must_weight must be a number above 0"),
        ({"cannot_weight": np.inf}, "cannot_weight"),
        ({"regularization": 0}, "regularization"),
        ({"n_components": 0}, "n_components must be one of 'auto', None or an integer of at least 1, got 0"),
        ({"n_components": "all"}, "got 'all'"),
        ({"init": "random"}, r"init must be one of 'auto', 'hints', 'k-means\+\+'"),
        ({"init": np.zeros((2, 4))}, r"init must be finite and of shape \(3, 4\), got shape \(2, 4\)"),
        ({"init": {"a": 1}}, "init is not an array of numbers"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_an_invalid_parameter_is_named_with_the_expected_values(parameters, words):
    with pytest.raises(ValueError, match=words):
        MPCKMeans(**{"n_clusters": 3, **parameters}).fit(X)


def test_invalid_row_weights_are_refused():
    with pytest.raises(ValueError, match="zero for every row"):
        PCKMeans(3).fit(X, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="must not be negative"):
        PCKMeans(3).fit(X, sample_weight=-np.ones(150))
    with pytest.raises(ValueError, match=r"shape \(150,\); got \(149,\)"):
        PCKMeans(3).fit(X, sample_weight=np.ones(149))


def test_no_hints_and_empty_hints_are_accepted():
    for hints in (None, Supervision.empty(150), Supervision.from_links(150, must=[], cannot=[])):
        model = MPCKMeans(3, random_state=0).fit(X, supervision=hints)
        assert model.violations_.share == 1.0
        assert len(np.unique(model.labels_)) == 3


def test_a_read_only_memory_map_in_either_order(tmp_path):
    expected = MPCKMeans(3, random_state=0).fit(X, supervision=HINTS).labels_
    for order in ("C", "F"):
        path = tmp_path / f"{order}.dat"
        np.memmap(path, dtype=np.float64, mode="w+", shape=X.shape, order=order)[:] = X
        mapped = np.memmap(path, dtype=np.float64, mode="r", shape=X.shape, order=order)
        np.testing.assert_array_equal(
            MPCKMeans(3, random_state=0).fit(mapped, supervision=HINTS).labels_, expected
        )


def test_a_data_frame_gives_its_column_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = MPCKMeans(3, random_state=0).fit(frame, supervision=HINTS)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.get_feature_names_out().tolist() == ["mpckmeans0", "mpckmeans1", "mpckmeans2"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_integer_and_float32_rows_give_the_same_clusters():
    whole = np.round(X * 10)
    expected = MPCKMeans(3, random_state=0).fit(whole, supervision=HINTS)
    for dtype in (np.int32, np.float32):
        model = MPCKMeans(3, random_state=0).fit(whole.astype(dtype), supervision=HINTS)
        assert adjusted_rand_score(expected.labels_, model.labels_) > 0.98
        assert model.cluster_centers_.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert model.transform(whole.astype(dtype)).dtype == model.cluster_centers_.dtype


def test_a_large_offset_does_not_change_the_clusters():
    labels = PCKMeans(3, random_state=0).fit(X + 1e7, supervision=HINTS).labels_
    assert adjusted_rand_score(labels, PCKMeans(3, random_state=0).fit(X, supervision=HINTS).labels_) > 0.95


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8])
def test_rows_of_other_types_become_float64(dtype):
    X = (np.random.default_rng(0).normal(size=(60, 3)) * 5 + 40).astype(dtype)
    found = PCKMeans(3, random_state=0).fit(X)
    expected = PCKMeans(3, random_state=0).fit(X.astype(np.float64))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("cls", [PCKMeans, MPCKMeans])
def test_many_cannot_links_that_cannot_all_hold_are_violated_as_little_as_possible(cls):
    n, k = 300, 5
    pairs = np.column_stack(np.triu_indices(n, 1))
    hints = Supervision.from_links(n, cannot=pairs)
    rows = np.random.default_rng(0).normal(size=(n, 4))
    with pytest.warns(TooFewClustersWarning, match="300 rows must be apart.*only 5 clusters"):
        model = cls(k, n_init=1, random_state=0).fit(rows, supervision=hints)
    least = k * (n // k) * (n // k - 1) / 2  # clusters of equal size
    violated = np.count_nonzero(model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]])
    assert least <= violated <= 1.1 * least
    assert violated == round((1 - model.violations_.share) * len(pairs))


def test_nearly_as_many_clusters_as_rows():
    X = np.random.default_rng(0).normal(size=(700, 3))
    hints = Supervision.from_links(700, must=[(0, 1)], cannot=[(2, 3)])
    labels = PCKMeans(600, n_init=1, random_state=0).fit(X, supervision=hints).labels_
    assert len(np.unique(labels)) == 600
    assert labels[0] == labels[1]
    assert labels[2] != labels[3]
