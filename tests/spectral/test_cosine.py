"""Cosine geometry in methods that build a graph: the clusters of rows of unit length."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from likewise import Supervision, spectral
from likewise.spectral import PropagationClustering, SpectralLearning

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 120)
X = rng.uniform(0.0, 1.0, size=(120, 6)) * (rng.random((120, 6)) < 0.6)
X[np.arange(120), 2 * Y] += 2.0
X *= rng.uniform(0.01, 100.0, size=(120, 1))  # only the directions tell the classes
MUST = [(i, j) for i, j in rng.integers(0, 120, size=(40, 2)) if Y[i] == Y[j] and i != j]
LINKS = Supervision.from_links(120, must=MUST)
MEMBERS = [
    spectral.BagSpectralClustering,
    spectral.ConstrainedKernelKMeans,
    spectral.FlexibleSpectralClustering,
    spectral.PropagationClustering,
    spectral.RegularizedSpectralClustering,
    spectral.SpectralLearning,
]


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("cls", MEMBERS)
def test_the_clusters_are_those_of_rows_of_unit_length(cls, form):
    unit = normalize(X)
    ours = cls(3, n_neighbors=10, metric="cosine", random_state=0).fit(form(X), supervision=LINKS)
    theirs = cls(3, n_neighbors=10, random_state=0).fit(form(unit), supervision=LINKS)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.predict(form(X[:50])), theirs.predict(form(unit[:50])))
    plain = cls(3, n_neighbors=10, random_state=0).fit(form(X), supervision=LINKS)
    assert (plain.labels_ != ours.labels_).any()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("cls", MEMBERS)
def test_a_row_of_zeros_stays_at_the_origin(cls, form):
    rows = X.copy()
    rows[[7, 8]] = 0.0
    model = cls(3, n_neighbors=10, metric="cosine", random_state=0).fit(form(rows))
    expected = cls(3, n_neighbors=10, random_state=0).fit(form(normalize(rows)))
    # Rounding may change the numbers of the clusters.
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1
    assert model.labels_[7] == model.labels_[8]
    assert adjusted_rand_score(model.predict(form(rows)), expected.predict(form(normalize(rows)))) == 1


def test_similarities_that_are_given_have_no_rows_to_scale():
    with pytest.raises(ValueError, match=r"SpectralLearning: metric='cosine' scales rows.*'precomputed'"):
        SpectralLearning(2, metric="cosine", affinity="precomputed").fit(np.ones((4, 4)))


def test_a_reused_graph_is_that_of_the_same_metric():
    first = PropagationClustering(3, random_state=0).fit(X)
    again = PropagationClustering(3, metric="cosine", random_state=0).reuse_graph(first).fit(X)
    third = PropagationClustering(3, metric="cosine", random_state=0).reuse_graph(again).fit(X)
    expected = PropagationClustering(3, random_state=0).fit(normalize(X))
    for model in (again, third):
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(X), expected.predict(normalize(X)))


def test_a_model_that_is_fitted_again_forgets_its_metric():
    model = PropagationClustering(3, metric="cosine", random_state=0).fit(X)
    model.set_params(metric="euclidean").fit(X)
    expected = PropagationClustering(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
