"""With very many columns, a full metric is learned in the principal directions of the rows.

The models with `n_components` in test_blocks.py, test_centers.py and tests/distributed compare blocks, files
and Dask with the array in memory.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from likewise import MiniBatchMPCKMeans, MKMeans, MPCKMeans
from likewise.supervision import sample_links


def wide_rows(dtype=np.float64, n=200, d=140, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + 0.9 * rng.normal(size=(3, d))[y] + 5
    return X.astype(dtype), y


def assert_same_fit(ours, theirs):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.metrics_, theirs.metrics_)
    assert ours.objective_ == theirs.objective_


def test_one_direction_by_hand():
    # The variances of the columns are 20.5, 1 and 0, and the columns are uncorrelated.
    X = np.array([[0.0, 0, 7], [1, 2, 7], [9, 2, 7], [10, 0, 7]])
    model = MPCKMeans(2, n_components=1, init=[[0, 0, 0], [10, 0, 0]]).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(model.directions_, [[1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(model.cluster_centers_, [[0.5, 1, 7], [9.5, 1, 7]], atol=1e-12)
    # Within the clusters, the variance in this direction is 1/4.
    np.testing.assert_allclose(model.metrics_, np.diag([4.0, 0, 0]), atol=1e-9)
    np.testing.assert_allclose(model.transform([[1.5, 100, -100]]), [[2.0, 16.0]])
    assert model.objective_ == pytest.approx(4 - 4 * np.log(4))
    assert model.score(X) == pytest.approx(-model.objective_)
    assert model.predict([[1.5, 100, -100], [6, 0, 0]]).tolist() == [0, 1]


def test_the_default_projects_only_a_full_metric_of_more_than_128_columns():
    X, y = wide_rows()
    hints = sample_links(y, 30, random_state=0)
    fit = {"supervision": hints}
    for cls in (MPCKMeans, MKMeans):
        assert cls(3, n_init=1, random_state=0).fit(X[:, :129], **fit).directions_.shape == (64, 129)
        few = cls(3, n_init=1, random_state=0).fit(X[:, :128], **fit)
        assert few.directions_ is None
        for n_components in (None, 128, 300):
            same = cls(3, n_init=1, n_components=n_components, random_state=0)
            assert_same_fit(same.fit(X[:, :128], **fit), few)
    assert MPCKMeans(3, metric="diagonal", n_init=1).fit(X, **fit).directions_ is None
    assert MPCKMeans(3, n_components=None, n_init=1).fit(X).directions_ is None
    assert MiniBatchMPCKMeans(3, n_init=1).fit(X).directions_ is None


def test_it_equals_a_fit_to_the_principal_components():
    X, y = wide_rows()
    hints = sample_links(y, 60, random_state=0)
    # The signs of the directions do not matter to the clusters.
    Z = PCA(20, svd_solver="full").fit_transform(X)
    wide = MPCKMeans(3, n_components=20, init="k-means++", n_init=1, random_state=0).fit(X, supervision=hints)
    narrow = MPCKMeans(3, init="k-means++", n_init=1, random_state=0).fit(Z, supervision=hints)
    np.testing.assert_array_equal(wide.labels_, narrow.labels_)
    assert wide.objective_ == pytest.approx(narrow.objective_)


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attributes_and_methods_agree_in_the_original_columns(dtype, per_cluster):
    X, y = wide_rows(dtype)
    hints = sample_links(y, 60, random_state=0)
    model = MPCKMeans(3, n_components=5, per_cluster=per_cluster, n_init=1, random_state=0)
    model.fit(X, supervision=hints)
    assert model.metrics_.shape == (3,) * per_cluster + (140, 140)
    assert model.cluster_centers_.dtype == model.transform(X).dtype == dtype
    assert np.linalg.matrix_rank(model.metrics_, tol=1e-6).max() == 5
    np.testing.assert_allclose(model.directions_ @ model.directions_.T, np.eye(5), atol=1e-5)
    for h, center in enumerate(model.cluster_centers_):
        difference = (X - center).astype(np.float64)
        A = model.metrics_[h] if per_cluster else model.metrics_
        squared = np.einsum("nd,de,ne->n", difference, A, difference)
        np.testing.assert_allclose(np.square(model.transform(X)[:, h]), squared, rtol=1e-3)
    free = np.setdiff1d(np.arange(len(X)), hints.restrict_to_hinted()[0])
    np.testing.assert_array_equal(model.predict(X)[free], model.labels_[free])
    np.testing.assert_array_equal(model.predict(X.astype(np.float64)), model.predict(X))


def test_a_row_weight_is_equivalent_to_copies_of_the_row():
    X, _ = wide_rows()
    copies = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = MPCKMeans(3, n_components=5, n_init=1, random_state=0).fit(X, sample_weight=copies)
    repeated = MPCKMeans(3, n_components=5, init=weighted.cluster_centers_).fit(np.repeat(X, copies, axis=0))
    np.testing.assert_allclose(weighted.directions_, repeated.directions_, atol=1e-9)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, copies), repeated.labels_)


def test_sparse_rows_give_the_clusters_of_dense_rows():
    X, y = wide_rows()
    X = np.maximum(X - 5.5, 0.0)
    hints = sample_links(y, 60, random_state=0)
    dense = MPCKMeans(3, n_init=1, random_state=0).fit(X, supervision=hints)
    sparse = MPCKMeans(3, n_init=1, random_state=0).fit(csr_array(X), supervision=hints)
    assert_same_fit(sparse, dense)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_without_variance_are_left_out(dtype):
    X, y = wide_rows(dtype, n=12)  # of rank 11 around their mean
    model = MPCKMeans(3, n_init=1, random_state=0).fit(X, supervision=sample_links(y, 6, random_state=0))
    assert model.directions_.shape == (11, 140)
    assert np.isfinite(model.metrics_).all()
    assert np.isfinite(model.transform(wide_rows(dtype, seed=1)[0])).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_rows_keep_one_direction():
    model = MPCKMeans(2, random_state=0).fit(np.ones((5, 140)))
    assert model.directions_.shape == (1, 140)
    np.testing.assert_array_equal(model.cluster_centers_, np.ones((2, 140)))


def test_starting_centres_are_in_the_original_columns():
    X, y = wide_rows()
    means = np.array([X[y == h].mean(axis=0) for h in range(3)])
    model = MPCKMeans(3, n_components=5, init=means[[2, 0, 1]]).fit(X)
    np.testing.assert_array_equal(model.labels_, (y + 1) % 3)
    with pytest.raises(ValueError, match=r"init must be finite and of shape \(3, 140\), got shape \(3, 5\)"):
        MPCKMeans(3, n_components=5, init=means[:, :5]).fit(X)


def test_a_diagonal_metric_has_no_directions():
    X, _ = wide_rows()
    with pytest.raises(ValueError, match=r"n_components=5 needs a full metric, .* Pass metric='full', or"):
        MPCKMeans(3, metric="diagonal", n_components=5).fit(X)
