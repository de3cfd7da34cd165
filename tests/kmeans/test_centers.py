"""`cluster_centers_` are the means of the clusters that a fit returns, whether or not it converged."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from likewise import Supervision
from likewise.kmeans import ConstrainedKMeans, COPKMeans, MKMeans, MPCKMeans, PCKMeans, SeededKMeans
from likewise.supervision import sample_links

X, y = make_blobs(150, 3, centers=4, cluster_std=3.5, random_state=0)
LINKS = sample_links(y, 40, random_state=0)
SEEDS = Supervision.from_labels(np.where(np.arange(150) < 20, y, -1), missing=-1)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("method", "hints"),
    [
        (PCKMeans, LINKS),
        (MPCKMeans, LINKS),
        (partial(MPCKMeans, n_components=2), LINKS),
        (MKMeans, LINKS),
        (COPKMeans, LINKS),
        (SeededKMeans, SEEDS),
        (ConstrainedKMeans, SEEDS),
        (PCKMeans, None),
    ],
)
def test_centers_are_the_means_of_the_returned_clusters(method, hints, max_iter, weighted):
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 150) if weighted else np.ones(150)
    model = method(4, max_iter=max_iter, random_state=0)
    model.fit(X, supervision=hints, sample_weight=weights)
    for h in range(4):
        own = model.labels_ == h
        mean = np.average(X[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(model.cluster_centers_[h], mean, atol=1e-9)


def test_a_cluster_without_rows_keeps_a_finite_center():
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning):
        model = PCKMeans(3, random_state=0).fit(rows)
    assert np.isfinite(model.cluster_centers_).all()
