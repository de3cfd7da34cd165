"""New rows of PropagationClustering: the labels of the most similar rows, wherever the new rows are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from likewise import PropagationClustering
from likewise.datasets import MemmapRows
from likewise.spectral._affinity import compute_similarities


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
