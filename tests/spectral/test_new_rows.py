"""New rows of PropagationClustering: the labels of the most similar rows, wherever the new rows are."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from likewise import PropagationClustering
from likewise.backends.neighbor_index import CandidateIndex, NeighborIndex
from likewise.datasets import MemmapRows
from likewise.spectral import _affinity
from likewise.spectral._affinity import average_over_neighbors, compute_similarities, vote_by_candidates


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, _ = make_blobs(1_000, 6, centers=4, cluster_std=4.0, random_state=0)
    model = PropagationClustering(4, random_state=0).fit(X)
    return model, X[rng.integers(0, 1_000, 40_000)] + rng.normal(size=(40_000, 6))


def test_probabilities_are_means_weighted_by_similarity(fitted):
    model, new = fitted
    few = np.vstack([new[:200], model._ready.X[:50], np.full((1, 6), 1e7)])  # the last resembles no row
    alike = compute_similarities(few, model._ready.X, model._ready.graph, model._make_recipe(1_000))
    total = alike.sum(axis=1)[:, None]
    assert total[-1] == 0
    expected = np.where(total > 0, alike @ model.cluster_proba_ / np.maximum(total, 1e-300), 0.0)
    expected[-1] = model.cluster_proba_.mean(axis=0)
    assert_allclose(model.predict_proba(few), expected, atol=1e-12)
    assert_array_equal(model.predict(few), expected.argmax(axis=1))


def test_files_and_blocks_give_the_labels_of_rows_in_memory(fitted, tmp_path):
    model, new = fitted
    labels = model.predict(new)
    np.save(tmp_path / "rows.npy", new)
    assert_array_equal(model.predict(np.load(tmp_path / "rows.npy", mmap_mode="r")), labels)
    assert_array_equal(model.predict(MemmapRows(tmp_path / "rows.npy", memory_limit=2**20)), labels)
    assert_array_equal(np.concatenate([model.predict(part) for part in np.array_split(new, 7)]), labels)
    with threadpool_limits(1):
        assert_array_equal(model.predict(new), labels)


@pytest.fixture(scope="module")
def fitted_to_many():
    X, _ = make_blobs(3_600, 6, centers=4, cluster_std=2.5, random_state=1)
    return PropagationClustering(4, random_state=0).fit(X[:2_000]), X[2_000:]


def test_labels_are_the_most_likely_clusters(fitted_to_many):
    model, new = fitted_to_many
    assert model._candidates.index is not None
    labels, likely = model.predict(new), model.predict_proba(new)
    rows = np.flatnonzero(labels != likely.argmax(axis=1))
    assert len(rows) <= 0.005 * len(new)
    assert (likely[rows, labels[rows]] >= likely[rows].max(axis=1) - 0.4).all()


def test_votes_of_all_rows_are_the_most_likely_clusters(fitted_to_many, monkeypatch):
    model, new = fitted_to_many
    monkeypatch.setattr(_affinity, "MARGIN", 0.0)
    ready = model._ready
    X = ready.X[:1_985]
    index = CandidateIndex(X, 30)
    index.n_candidates, index._radius = 1_984, np.inf  # a multiple of 64
    shares, scales = model.cluster_proba_[: len(X)], ready.graph.scales[: len(X)]
    graph = replace(ready.graph, weights=None, scales=scales)
    index = index.order_by(shares.argmax(axis=1), shares.shape[1])
    labels = vote_by_candidates(new, index, graph, ready.recipe, shares)
    expected = average_over_neighbors(new, NeighborIndex(index.X), graph, ready.recipe, shares)
    assert_array_equal(labels, expected.argmax(axis=1))


def test_the_last_clusters_may_be_no_rows_most_likely_ones(fitted_to_many):
    model, new = fitted_to_many
    ready, shares = model._ready, model.cluster_proba_
    wide = np.column_stack([0.9 * shares, np.full((len(shares), 3), 0.1 / 3)])
    first = shares.argmax(axis=1)
    labels = [
        vote_by_candidates(
            new, ready.candidates.order_by(first, each.shape[1]), ready.graph, ready.recipe, each
        )
        for each in (shares, wide)
    ]
    known = labels[1] >= 0  # more are in doubt, since shares are nearer to one another
    assert known.mean() > 0.5
    assert_array_equal(labels[0][known], labels[1][known])


def test_labels_depend_neither_on_blocks_nor_on_threads(fitted_to_many, tmp_path):
    model, new = fitted_to_many
    labels = model.predict(new)
    np.save(tmp_path / "rows.npy", new)
    assert_array_equal(model.predict(MemmapRows(tmp_path / "rows.npy", memory_limit=2**17)), labels)
    assert_array_equal(np.concatenate([model.predict(part) for part in np.array_split(new, 7)]), labels)
    with threadpool_limits(1):
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(new), labels)


def test_prediction_does_not_change_the_model(fitted_to_many):
    model, new = fitted_to_many
    model = clone(model).fit(model._ready.X)
    before = dict(vars(model))
    model.predict(new)
    assert vars(model) == before


def test_rows_that_cannot_be_told_apart_are_compared_with_all():
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    model = PropagationClustering(40, random_state=0, n_init=1).fit(X)
    model.cluster_proba_[:] = 1 / 40
    assert model._ready.candidates.n_candidates > 0
    assert model._candidates.index is None
