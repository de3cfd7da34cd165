"""Equal rows give a warning in every spectral method, and no linear algebra error."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from likewise import Supervision, spectral

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
