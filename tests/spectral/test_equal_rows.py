"""Warnings before a fit: equal rows, which cause no linear algebra error, and a long fit."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from likewise import Supervision, base, spectral
from likewise.backends import neighbors
from likewise.backends.neighbors import estimate_search_seconds
from likewise.exceptions import LikewiseWarning, LongFitWarning
from likewise.spectral import PropagationClustering, SpectralLearning, _base, _propagation_clustering

METHODS = [
    spectral.BagSpectralClustering,
    spectral.FlexibleSpectralClustering,
    spectral.ConstrainedKernelKMeans,
    spectral.PropagationClustering,
    spectral.RegularizedSpectralClustering,
    spectral.SpectralLearning,
]


def hints_of(method, n):
    must = [(i, i + 2) for i in range(0, 20, 2)]
    cannot = [] if method is spectral.RegularizedSpectralClustering else [(i, i + 1) for i in range(0, 20, 4)]
    return Supervision.from_links(n, must=must, cannot=cannot)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.0, 1e8])
def test_equal_rows_give_a_warning(method, value):
    for hints in (None, hints_of(method, 60)):
        with pytest.warns(ConvergenceWarning, match="all 60 rows of X are equal, so only hints can separate"):
            model = method(3, random_state=0).fit(np.full((60, 2), value), supervision=hints)
        assert model.labels_.shape == (60,)


@pytest.mark.filterwarnings("ignore")
def test_a_linear_algebra_error_is_explained(monkeypatch):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(spectral.SpectralLearning, "_cluster", fail)
    with pytest.raises(ValueError, match=r"eigenvectors of the graph could not be computed.*check the col"):
        spectral.SpectralLearning(2).fit(np.zeros((10, 2)))


@pytest.mark.parametrize("cls", [SpectralLearning, PropagationClustering])
def test_a_long_fit_is_announced(monkeypatch, cls):
    X = np.random.default_rng(0).normal(size=(50, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(2, n_neighbors=5, random_state=0).fit(X)
    monkeypatch.setattr(base, "_LONG", 1e-9)
    with pytest.warns(LongFitWarning, match=rf"{cls.__name__}: this fit will take about 1 minute.*sample"):
        cls(2, n_neighbors=5, random_state=0).fit(X)


@pytest.mark.parametrize("cls", METHODS)
def test_the_estimate_grows_with_rows_and_clusters(monkeypatch, cls):
    seconds = []
    monkeypatch.setattr(_base, "warn_if_long", lambda *args: seconds.append(args[1]))
    monkeypatch.setattr(_propagation_clustering, "warn_if_long", lambda *args: seconds.append(args[1]))
    X = np.random.default_rng(0).normal(size=(200, 3))
    for n, k in ((100, 2), (200, 2), (200, 8)):
        cls(k, n_neighbors=20, random_state=0).fit(X[:n])
    assert seconds == sorted(set(seconds))
    assert 1e-5 < seconds[0] / 100 < 1e-3


def test_the_estimate_of_the_search_grows_with_the_work():
    exact = [estimate_search_seconds(n, 64, "exact") for n in (10**4, 10**5, 10**6)]
    assert exact[0] < 1 < exact[1] < 60 < exact[2]
    assert estimate_search_seconds(10**5, 64, "auto") < 10
    assert estimate_search_seconds(10**6, 4, "auto") < 100


@pytest.mark.parametrize("cls", [SpectralLearning, PropagationClustering])
def test_a_search_that_misses_many_neighbors_gives_a_warning(monkeypatch, cls):
    X = np.random.default_rng(0).normal(size=(3_000, 30))
    model = cls(2, n_neighbors=10, neighbor_search="approximate", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(X).neighbor_recall_ > 0.95
    monkeypatch.setattr(neighbors, "_PRODUCTS", 1)  # the fewest cells
    monkeypatch.setattr(neighbors, "_FEWEST_CANDIDATES", 100)
    with pytest.warns(LikewiseWarning, match=rf"{cls.__name__}: .* found only [2-7]\d% .*='exact'"):
        model.fit(X)
    assert model.neighbor_recall_ < 0.8
