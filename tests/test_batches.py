"""The shared parts of fits on batches: reading batches, patience, and the checks of `partial_fit`."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from likewise import MiniBatchMPCKMeans, MiniBatchPairwiseGaussianMixture, MiniBatchPCKMeans
from likewise._batches import Patience, draw_pools, read_batches
from likewise.backends import as_rows
from likewise.discriminative import MiniBatchDiscriminativeClustering

MODELS = [
    MiniBatchPCKMeans(2),
    MiniBatchMPCKMeans(2),
    MiniBatchPairwiseGaussianMixture(2),
    MiniBatchDiscriminativeClustering(2),
]


def test_by_hand_a_pool_is_divided_among_its_batches():
    asked = []

    def draw(n):
        asked.append(n)
        return np.arange(10, 10 + 3 * n)

    pools = list(draw_pools(draw, 2, np.random.RandomState(0), n_batches=5))
    assert asked == [2, 2, 1]
    for n, (rows, batches) in zip(asked, pools, strict=True):
        assert [len(at) for at in batches] == [3] * n
        assert sorted(rows[np.concatenate(batches)].tolist()) == rows.tolist()
    endless = draw_pools(draw, 0, np.random.RandomState(0))
    assert [len(next(endless)[1]) for _ in range(3)] == [1, 1, 1]


def test_by_hand_the_rows_of_a_pool_are_read_at_once():
    rows = as_rows(np.arange(10.0)[:, None], weight=np.arange(10.0) + 1)
    asked = []

    def read(which):
        asked.append(which.tolist())
        return rows.take(which)

    pools = [(np.array([1, 4, 7]), [np.array([2]), np.array([1, 0])]), (np.array([0]), [np.array([0])])]
    batches = read_batches(rows, iter(pools), read)
    X, weight = next(batches)
    assert (X.tolist(), weight.tolist(), asked) == ([[7.0]], [8.0], [[1, 4, 7]])
    X, weight = next(batches)
    assert (X.tolist(), weight.tolist(), asked) == ([[4.0], [1.0]], [5.0, 2.0], [[1, 4, 7]])
    assert next(batches)[0].tolist() == [[0.0]]
    assert list(batches) == []


@pytest.mark.parametrize(
    ("settings", "values", "exhausted_at"),
    [
        ({"n_batches": 2, "tol": 0.5, "burn_in": 1}, [1.0, 1.4, 1.6, 2.0, 2.1], 4),  # 1.4 is no rise
        ({"n_batches": 2, "tol": 0.5, "burn_in": 3}, [9.0, 9.0, 1.0, 1.2, 1.2], 4),  # three do not count
        ({"n_batches": 1, "tol": 0.1, "burn_in": 1, "relative": True}, [-100.0, -89.0, -81.0], 2),
        ({"n_batches": None, "tol": 0.5, "burn_in": 1}, [1.0] * 9, None),
    ],
)
def test_by_hand_patience_ends_after_batches_without_a_rise(settings, values, exhausted_at):
    patience = Patience(**settings)
    found = [patience.is_exhausted(value) for value in values]
    assert (found.index(True) if any(found) else None) == exhausted_at


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_that_are_too_large_to_square_are_refused_in_later_batches(model):
    X = np.random.default_rng(0).normal(size=(40, 2))
    fitted = clone(model).partial_fit(X)
    with pytest.raises(ValueError, match="too large to square"):
        fitted.partial_fit(1e200 * X)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_hints_are_routed_to_partial_fit(model):
    with config_context(enable_metadata_routing=True):
        assert model.get_metadata_routing().partial_fit.requests["supervision"] is True
