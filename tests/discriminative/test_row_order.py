"""Discriminative clustering in any order of rows: permuting the rows permutes the labels."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import likewise.discriminative._model as model_module
from likewise import DiscriminativeClustering, MiniBatchDiscriminativeClustering, Supervision
from likewise.backends import ArrayRows
from likewise.datasets import load
from likewise.discriminative._row_features import SampleSummary, hash_rows, order_hinted_rows, order_rows
from likewise.supervision import sample_links, sample_triplets

FULL = DiscriminativeClustering(4, n_init=3, random_state=0)
SMALL = MiniBatchDiscriminativeClustering(4, n_init=2, batch_size=50, max_iter=30, tol=0.02, random_state=0)
ORDERS = [np.arange(300)[::-1], np.random.RandomState(0).permutation(300)]


def some_rows(n=300, *, whole=False):
    """Return rows in four clusters that overlap; integers make many rows equal."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, 3)) + 1.5 * rng.normal(size=(4, 3))[y]
    return np.round(X) if whole else X, y


def hints_for(y):
    groups = Supervision.from_links(len(y), must_groups=[np.flatnonzero(y == 0)[:5]])
    return sample_links(y, 40, random_state=1) | sample_triplets(y, 30, random_state=1) | groups


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "hinted"),
    [
        (FULL, False),
        (FULL, True),
        (SMALL, False),
        (SMALL, True),
        (clone(FULL).set_params(epsilon=0), True),
        (clone(FULL).set_params(noise="uniform"), True),
    ],
    ids=["full", "full with hints", "batches", "batches with hints", "hard hints", "noisy hints"],
)
def test_permuting_the_rows_permutes_the_labels(model, hinted):
    X, y = some_rows()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    hints = hints_for(y) if hinted else Supervision.empty(len(y))
    found = clone(model).fit(X, supervision=hints, sample_weight=weight)
    for order in ORDERS:
        other = clone(model).fit(X[order], supervision=hints[order], sample_weight=weight[order])
        np.testing.assert_array_equal(other.labels_, found.labels_[order])
        np.testing.assert_array_equal(other.coef_, found.coef_)
        np.testing.assert_array_equal(np.sort(order[other.hinted_]), found.hinted_)
        assert other.lower_bound_ == found.lower_bound_


def test_the_order_of_duplicate_rows_does_not_matter():
    X, y = some_rows(whole=True)
    assert len(np.unique(X, axis=0)) < 200
    hints = hints_for(y)
    found = clone(FULL).fit(X, supervision=hints)
    for order in ORDERS:
        other = clone(FULL).fit(X[order], supervision=hints[order])
        np.testing.assert_array_equal(other.labels_, found.labels_[order])


def test_the_order_of_rows_of_a_first_batch_does_not_matter():
    X, y = some_rows()
    hints = hints_for(y)
    found = clone(SMALL).partial_fit(X, supervision=hints).partial_fit(X, supervision=hints)
    for order in ORDERS:
        other = clone(SMALL).partial_fit(X[order], supervision=hints[order])
        other.partial_fit(X[order], supervision=hints[order])
        np.testing.assert_array_equal(other.labels_, found.labels_[order])


def test_starts_of_many_rows_do_not_depend_on_their_order(monkeypatch):
    monkeypatch.setattr(model_module, "_FEW_ROWS", 100)
    X, y = some_rows()
    hints = hints_for(y)
    found = clone(FULL).fit(X, supervision=hints)
    for order in ORDERS:
        other = clone(FULL).fit(X[order], supervision=hints[order])
        assert adjusted_rand_score(other.labels_, found.labels_[order]) > 0.98
        assert other.lower_bound_ == pytest.approx(found.lower_bound_, abs=1e-4)


@pytest.mark.parametrize("name", ["vowel", "sonar"])
@pytest.mark.usefixtures("data_folder")
def test_orders_of_shared_data_give_the_same_clusters(name):
    data = load(name)
    k, hints = len(np.unique(data.y)), sample_links(data.y, 100, random_state=0)
    found, order = [], np.random.RandomState(0).permutation(len(data.y))
    for rows in (np.arange(len(data.y)), order):
        model = DiscriminativeClustering(k, n_init=2, max_iter=30, tol=1e-3, random_state=0)
        found.append(model.fit(data.X[rows], supervision=hints[rows]).labels_)
    np.testing.assert_array_equal(found[1], found[0][order])


# ---------------------------------------------------------------------- by hand


def test_by_hand_rows_are_ordered_by_columns_then_weights():
    X = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 1.0], [1.0, 2.0]])
    weight = np.array([2.0, 1.0, 1.0, 1.0])
    assert order_rows(X, weight).tolist() == [1, 2, 3, 0]
    assert order_rows(10 * X + 7, weight).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("links", ["must", "cannot"])
def test_by_hand_equal_rows_are_ordered_by_their_links(links):
    # Rows 0 to 2 are equal. Row 0 is linked with 5 through 1, row 2 only with 4.
    X = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])[:, None]
    hints = Supervision.from_links(6, **{links: [(0, 1), (1, 5), (2, 4)]})
    straight = order_hinted_rows(X, np.ones(6), hints)
    for order in ([2, 1, 0, 3, 4, 5], [1, 5, 0, 4, 2, 3]):
        found = np.array(order)[order_hinted_rows(X[order], np.ones(6), hints[order])]
        assert found.tolist() == straight.tolist()


def test_by_hand_equal_rows_are_ordered_by_their_place_in_triplets():
    X = np.array([0.0, 0.0, 0.0, 1.0, 2.0])[:, None]
    hints = Supervision.from_triplets(5, [(0, 1, 3), (2, 3, 4)], ["AB", "NEITHER"])
    straight = order_hinted_rows(X, np.ones(5), hints)
    order = np.array([2, 4, 1, 0, 3])
    found = order[order_hinted_rows(X[order], np.ones(5), hints[order])]
    # Rows 0 and 1 are exchangeable; row 2 is not.
    assert np.maximum(found, 1).tolist() == np.maximum(straight, 1).tolist()


def test_by_hand_equal_rows_have_equal_hashes():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0 + 1e-15]])
    for dtype in (np.float32, np.float64):
        hashes = hash_rows(X.astype(dtype), 0)
        assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[0] != hashes[3]
    assert hash_rows(X, 0)[0] != hash_rows(X, 1)[0]


def summarise(X, edges, hinted, size):
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    return ArrayRows(X, blocks).sum(
        lambda block: SampleSummary.from_block(np.array(hinted, dtype=np.int64), size, 7, block)
    )


def test_the_sample_depends_neither_on_order_nor_on_blocks():
    X, _ = some_rows(whole=True)
    hinted = [3, 8]
    found = summarise(X, [0, 300], hinted, 20)
    assert len(found.rows) == 20
    assert not np.isin(found.rows, hinted).any()
    free = np.delete(X, hinted, axis=0)
    for row, weight in zip(found.rows, found.weight, strict=True):
        assert weight == (free == X[row]).all(axis=1).sum()
    order = ORDERS[1]
    where = np.sort(np.argsort(order)[hinted])
    for edges in ([0, 300], [0, 0, 1, 130, 300]):
        other = summarise(X[order], edges, where, 20)
        np.testing.assert_array_equal(other.hashes, found.hashes)
        np.testing.assert_array_equal(X[order][other.rows], X[found.rows])
        np.testing.assert_array_equal(other.weight, found.weight)


def test_a_very_frequent_row_does_not_dominate_the_sample():
    X = np.vstack([np.zeros((5000, 1)), np.arange(1, 5001)[:, None]])
    found = summarise(X, [0, 10_000], [], 5001)
    assert found.sample_weight().max() == pytest.approx(5000, rel=0.05)  # the sample contains every row
    for size in (100, 1000):
        weight = summarise(X, [0, 10_000], [], size).sample_weight()
        assert weight.max() <= 1.2 * size  # this row has half of the weight
