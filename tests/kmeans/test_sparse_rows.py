"""Sparse rows: the same clusters as for the dense rows, and CSR matrices that are not in order."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from likewise import (
    ConstrainedKMeans,
    COPKMeans,
    DiscriminativeClustering,
    MiniBatchMPCKMeans,
    MiniBatchPCKMeans,
    MKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    Supervision,
)
from likewise.kmeans._loop import Metric, compute_level_costs, find_nearest
from likewise.supervision import sample_links

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 240)
DENSE = rng.uniform(0.2, 1.0, size=(240, 12)) * (rng.random((240, 12)) < 0.4)
DENSE[np.arange(240), 4 * Y] += 2.0
LINKS = sample_links(Y, 30, random_state=0)
LABELS = Supervision.from_labels([int(c) if i < 9 else None for i, c in enumerate(Y)])
HINTS = {SeededKMeans: LABELS, ConstrainedKMeans: LABELS}
MEMBERS = [
    COPKMeans, ConstrainedKMeans, MKMeans, MPCKMeans, MiniBatchMPCKMeans, MiniBatchPCKMeans, PCKMeans,
    SeededKMeans,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", MEMBERS)
def test_sparse_rows_give_the_clusters_of_dense_rows(cls, dtype):
    dense, hints = DENSE.astype(dtype), HINTS.get(cls, LINKS)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(dense))
    ours = cls(3, random_state=0).fit(csr_array(dense), supervision=hints, sample_weight=weight)
    theirs = cls(3, random_state=0).fit(dense, supervision=hints, sample_weight=weight)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-3, atol=1e-4)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-3)
    for rows in (csr_array(dense), csc_array(dense), dense):
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(dense))
        np.testing.assert_allclose(ours.transform(rows), theirs.transform(dense), rtol=1e-3, atol=1e-3)
        assert ours.score(rows) == pytest.approx(theirs.score(dense), rel=1e-3)


@pytest.mark.parametrize("cls", [COPKMeans, PCKMeans])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_equally_far_from_many_centers_get_the_same_clusters(cls, dtype):
    rng = np.random.default_rng(0)
    words = (rng.random((600, 500)) < 0.01) * rng.choice([0.3, 0.7, 1.1], size=500)  # most rows share none
    words[:, 0] += 0.05
    dense = (words / np.linalg.norm(words, axis=1)[:, None]).astype(dtype)
    for seed in range(4):
        hints = sample_links(rng.integers(0, 20, 600), 60, balance=0.0, random_state=seed)
        model = cls(20, n_init=1, random_state=seed)
        labels = model.fit(dense, supervision=hints).labels_
        np.testing.assert_array_equal(model.fit(csr_array(dense), supervision=hints).labels_, labels)


@pytest.mark.parametrize("make_rows", [np.asarray, csr_array])
def test_the_first_cluster_that_ties_with_the_nearest_is_chosen(make_rows):
    X, centers = make_rows([[0.0, 0.5, 1.0]]), np.eye(3)  # costs of 2, 1 and 0, plus .25
    metric, tie, labels = Metric(np.ones((1, 3))), 1.5 / (1.25 + 1.0), np.zeros(1, dtype=np.int32)
    find_nearest(X, np.ones(1), centers, metric, None, labels, tie=tie)
    assert labels == [1]
    assert compute_level_costs(metric, X, centers, tie).argmin() == 1


def test_several_blocks_of_sparse_rows_give_the_clusters_of_one():
    from likewise.backends import _rows

    hints = sample_links(Y, 30, random_state=1)
    whole = PCKMeans(3, random_state=0).fit(csr_array(DENSE), supervision=hints)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "BLOCK_ROWS", 50)
        parts = PCKMeans(3, random_state=0).fit(csr_array(DENSE), supervision=hints)
    np.testing.assert_array_equal(parts.labels_, whole.labels_)


def test_batches_may_be_sparse():
    ours, theirs = MiniBatchPCKMeans(3, random_state=0), MiniBatchPCKMeans(3, random_state=0)
    for first in range(0, 240, 60):
        ours.partial_fit(csr_array(DENSE[first : first + 60]))
        theirs.partial_fit(DENSE[first : first + 60])
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)


def with_explicit_zeros(X):
    found = X.copy()
    found.data[found.data < 0.3] = 0.0  # as in DENSE with these numbers set to 0
    return found


def unsorted(X):
    found = X.copy()
    for first, last in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        found.indices[first:last] = found.indices[first:last][::-1].copy()
        found.data[first:last] = found.data[first:last][::-1].copy()
    found.has_sorted_indices = False
    return found


def with_duplicates(X):
    """Give every entry as two halves."""
    lengths = np.diff(X.indptr)
    return csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), np.r_[0, np.cumsum(2 * lengths)]), X.shape
    )


def with_long_indices(X):
    return csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


@pytest.mark.parametrize(
    "change", [with_explicit_zeros, unsorted, with_duplicates, with_long_indices, csr_matrix, csc_array]
)
def test_the_form_of_a_sparse_matrix_does_not_matter(change):
    given = change(csr_array(DENSE))
    before = given.copy()
    found = PCKMeans(3, random_state=0).fit(given, supervision=LINKS)
    expected = PCKMeans(3, random_state=0).fit(csr_array(given.toarray()), supervision=LINKS)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(given.indices, before.indices)  # the caller's matrix is left as it was
    np.testing.assert_array_equal(given.data, before.data)


def test_empty_rows_one_column_and_only_empty_rows():
    dense = DENSE.copy()
    dense[5] = 0.0
    found = PCKMeans(3, random_state=0).fit(csr_array(dense), supervision=LINKS)
    np.testing.assert_array_equal(
        found.labels_, PCKMeans(3, random_state=0).fit(dense, supervision=LINKS).labels_
    )
    column = csr_array([[0.0], [0.0], [5.0], [5.1]])
    assert PCKMeans(2, random_state=0).fit_predict(column).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    with pytest.warns(UserWarning, match=r"fewer distinct rows"):
        assert set(PCKMeans(2, random_state=0).fit_predict(csr_array((6, 4)))) == {0}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sparse_values_that_are_not_finite_are_refused(value):
    X = csr_array(DENSE)
    X.data[3] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PCKMeans(3).fit(X)


@pytest.mark.parametrize("dtype", [np.int64, bool])
def test_sparse_numbers_of_other_types_become_float64(dtype):
    X = np.round(DENSE).astype(dtype)
    labels = PCKMeans(3, random_state=0).fit(csr_array(X), supervision=LINKS).labels_
    np.testing.assert_array_equal(labels, PCKMeans(3, random_state=0).fit(X, supervision=LINKS).labels_)


def test_methods_without_sparse_rows_suggest_truncated_svd():
    with pytest.raises(TypeError, match=r"X is sparse. Reduce .*TruncatedSVD.*PCKMeans"):
        DiscriminativeClustering(3).fit(csr_array(DENSE))
