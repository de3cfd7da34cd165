"""Limits on the weights of hints in BayesianClustering."""

import numpy as np
import pytest

from likewise import Supervision
from likewise.bayesian import BayesianClustering
from likewise.exceptions import SupervisionError


@pytest.mark.parametrize(
    ("kind", "hints"),
    [
        ("must-link", Supervision.from_links(6, must=[(0, 1)], must_weights=[1e100])),
        ("cannot-link", Supervision.from_links(6, cannot=[(0, 1)], cannot_weights=[1e13])),
        ("triplet", Supervision.from_triplets(6, [(0, 1, 2)], weights=[1e300])),
    ],
)
def test_weights_above_the_limit_are_refused(kind, hints):
    with pytest.raises(
        SupervisionError, match=rf"weight of a {kind} is .*at most 1e\+12.*practically certain"
    ):
        BayesianClustering(2, random_state=0).fit(np.arange(12.0).reshape(6, 2), supervision=hints)


def test_the_largest_weight_is_practically_certain():
    rows = np.repeat([[0.0], [5.0]], 4, axis=0) + np.arange(8)[:, None] / 100
    hints = Supervision.from_links(8, cannot=[(0, 1)], cannot_weights=[1e12])
    model = BayesianClustering(2, n_particles=8, random_state=0).fit(rows, supervision=hints)
    assert np.isfinite(model.log_posterior_)
    assert model.labels_[0] != model.labels_[1]
