"""From eigenvectors to clusters: unit rows, k-means, rotation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from likewise.spectral._base import (
    compute_cluster_means,
    round_by_kmeans,
    round_by_rotation,
    scale_to_unit_length,
)
from profiles import fewer

SEEDS = st.integers(0, 10_000)


def test_unit_rows_by_hand():
    assert_allclose(
        scale_to_unit_length(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])), [[0.6, 0.8], [0, 0], [0, -1]]
    )


def test_cluster_means_by_hand():
    rows = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]])
    assert_array_equal(compute_cluster_means(rows, np.array([0, 0, 2]), 4), [[2, 1], [0, 0], [5, 5], [0, 0]])


def test_kmeans_equals_scikit_learns():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    theirs = KMeans(4, n_init=5, random_state=np.random.RandomState(3)).fit(rows).labels_
    assert_array_equal(round_by_kmeans(rows, 4, 5, np.random.RandomState(3)), theirs)


def test_kmeans_starts_from_given_clusters():
    # From the clusters {0, 1} and {4, 5} nothing moves, although other starts lead to {0, 1, 4} | {5}.
    rows = np.array([[0.0], [1.0], [4.0], [5.0]])
    start = np.array([1, 1, 0, 0])
    assert_array_equal(round_by_kmeans(rows, 2, 10, np.random.RandomState(0), start), start)


def test_kmeans_of_fewer_distinct_rows_than_clusters_gives_no_warning():
    labels = round_by_kmeans(np.repeat(np.eye(2), 4, axis=0), 3, 2, np.random.RandomState(0))
    assert len(set(labels[:4])) == len(set(labels[4:])) == 1
    assert labels[0] != labels[4]


@fewer(2)
@given(SEEDS, st.integers(1, 5))
def test_the_rotation_finds_rotated_indicators(seed, k):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, 20)])
    turn = np.linalg.qr(rng.normal(size=(k, k)))[0]
    labels = round_by_rotation(np.eye(k)[y] @ turn, np.random.RandomState(seed))
    assert adjusted_rand_score(y, labels) == 1.0


@fewer(2)
@given(SEEDS)
def test_the_rotation_is_a_fixed_point(seed):
    # The labels do not change when the nearest rotation of the rows is taken once more.
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 30)])
    rows = scale_to_unit_length(np.eye(3)[y] + 0.3 * rng.normal(size=(33, 3)))
    labels = round_by_rotation(rows, np.random.RandomState(seed))
    left, _, right = np.linalg.svd(rows.T @ np.eye(3)[labels])
    assert_array_equal((rows @ (left @ right)).argmax(axis=1), labels)


@pytest.mark.parametrize("rows", [np.zeros((4, 2)), np.ones((4, 2)) / np.sqrt(2), np.ones((4, 1))])
def test_rows_that_cannot_be_separated_still_get_labels(rows):
    labels = round_by_rotation(rows, np.random.RandomState(0))
    assert len(set(labels.tolist())) == 1


def test_the_rotation_agrees_with_scikit_learn():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 15)
    A = np.where(y[:, None] == y, 1.0, 0.05) * rng.uniform(0.5, 1.0, (45, 45))
    A = (A + A.T) / 2
    theirs = SpectralClustering(3, affinity="precomputed", assign_labels="discretize", random_state=0)
    theirs = theirs.fit_predict(A)
    half = A.sum(axis=1) - A.diagonal()
    np.fill_diagonal(A, 0.0)
    vectors = np.linalg.eigh(A / np.sqrt(np.outer(half, half)))[1][:, -3:]
    assert (
        adjusted_rand_score(
            theirs, round_by_rotation(scale_to_unit_length(vectors), np.random.RandomState(0))
        )
        == 1.0
    )
