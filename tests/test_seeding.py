"""Initial centres: draws over blocks, oversampling, the space of the hints, and links as a judge."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from likewise import Supervision
from likewise._seeding import (
    ComponentCentroids,
    compute_hinted_space,
    draw_seeds_from_closure,
    exchange_seeds,
    extend_seeds,
    find_least_violating,
    is_clearly_better,
    oversample,
    reduce_rows,
    select_farthest_first,
)
from likewise.backends import ArrayRows, as_rows
from reference.problems import corners


def some_rows(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    return rng.normal(size=(n, 5)) + 2.5 * rng.normal(size=(4, 5))[y] + 10


def slices(edges):
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def test_a_thousand_seeds_among_equal_rows_are_distinct():
    X = np.repeat(some_rows(1000), 3, axis=0)
    seeds = extend_seeds(X, X[:2], 1001, None, np.random.RandomState(0))
    assert len(np.unique(seeds[1:], axis=0)) == 1000  # the two that are given are equal


@pytest.mark.parametrize("weighted", [False, True])
def test_seeds_over_blocks_are_scikit_learns_draws(weighted):
    X = some_rows(2000)
    weight = np.random.default_rng(0).uniform(size=2000) if weighted else np.ones(2000)
    rows = ArrayRows(X, slices(np.array([0, 0, 300, 1999, 2000])))
    for seed in range(20):
        for given in (np.empty((0, 5)), X[:2]):
            drawn = extend_seeds(rows, given, 7, weight, np.random.RandomState(seed))
            np.testing.assert_array_equal(
                drawn, extend_seeds(X, given, 7, weight, np.random.RandomState(seed))
            )


@pytest.mark.parametrize("weighted", [False, True])
def test_an_oversampled_set_represents_all_rows(weighted):
    X = some_rows(2000)
    weight = np.random.default_rng(0).uniform(size=2000) if weighted else np.ones(2000)
    hints = Supervision.from_links(2000, must=[(3, 700), (700, 1500), (8, 9)])
    components = ComponentCentroids.from_closure(X, hints.closure(), weight)
    found = oversample(as_rows(X, weight=weight), 4, components, np.random.RandomState(0))
    assert len(found) <= 1 + 5 * 2 * 4
    assert found.total_weight == pytest.approx(weight.sum())
    rows = ArrayRows(X, slices(np.array([0, 0, 300, 1999, 2000]))).with_weights(weight)
    again = oversample(rows, 4, components, np.random.RandomState(0))
    np.testing.assert_array_equal(again.take(np.arange(len(again))), found.take(np.arange(len(found))))
    np.testing.assert_allclose(
        again.get_weights(np.arange(len(again))), found.get_weights(np.arange(len(found)))
    )

    # A drawn row of a component is replaced by the centroid.
    points = found.take(np.arange(len(found)))
    members = X[[3, 8, 9, 700, 1500]]
    assert not (points[:, None] == members).all(axis=2).any()
    centroid = np.average(X[[3, 700, 1500]], axis=0, weights=weight[[3, 700, 1500]])
    np.testing.assert_allclose(
        components.move_to_centroids(np.array([700, 4]), X[[700, 4]]), [centroid, X[4]]
    )


def test_seeds_from_an_oversampled_set_are_as_good_as_seeds_from_all_rows():
    X = some_rows(4000)
    components = ComponentCentroids.from_closure(X, Supervision.empty(4000).closure(), np.ones(4000))

    def cost(seeds):
        return ((X[:, None] - seeds) ** 2).sum(axis=2).min(axis=1).sum()

    none, found = np.empty((0, 5)), {"all": [], "overdrawn": []}
    for seed in range(20):
        rng = np.random.RandomState(seed)
        found["all"].append(cost(extend_seeds(X, none, 4, None, rng)))
        rows = oversample(as_rows(X), 4, components, rng)
        found["overdrawn"].append(cost(extend_seeds(rows, none, 4, None, rng)))
    assert np.mean(found["overdrawn"]) < 1.05 * np.mean(found["all"]), found


def test_rows_that_are_all_equal_with_an_empty_block_first():
    rows = ArrayRows(np.zeros((4, 2)), slices(np.array([0, 0, 2, 4])))
    assert extend_seeds(rows, np.empty((0, 2)), 2, None, np.random.RandomState(0)).tolist() == [
        [0, 0],
        [0, 0],
    ]


def test_a_clustering_breaks_clearly_fewer_links_only_by_more_than_chance():
    hints = Supervision.from_links(10, must=[(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)])
    good, bad = np.zeros(10, dtype=int), np.arange(10)
    one_off = good.copy()
    one_off[1] = 1
    assert is_clearly_better(good, bad, hints, 2.0)  # 5 more violated, of a standard deviation of 5 ** .5
    assert not is_clearly_better(good, one_off, hints, 1.0)
    assert not is_clearly_better(bad, good, hints, 0.0)
    group = Supervision.from_links(10, must_groups=[list(range(10))])
    assert is_clearly_better(good, bad, group, 2.0)  # ten rows count as nine links


def test_the_space_that_links_suggest_is_long_where_cannot_linked_rows_differ():
    X, _, hints = corners(0, 3, n_links=40)
    before, after = X.std(axis=0), compute_hinted_space(X, hints)
    up = np.array([np.corrcoef(X[:, 1], column)[0, 1] for column in after.T])
    # The last direction is the one in which cannot-linked rows differ: up and down.
    assert before[0] > 2 * before[1]
    assert abs(up[1]) > 0.9
    assert after[:, 1].std() > 2 * after[:, 0].std()
    # Without links the rows are only whitened.
    plain = compute_hinted_space(X, Supervision.empty(200))
    np.testing.assert_allclose(np.cov(plain.T, bias=True) * 2, np.eye(2), atol=1e-4)


def test_the_space_does_not_depend_on_the_units_of_the_columns():
    X, _, hints = corners(1, 2)
    one, two = compute_hinted_space(X, hints), compute_hinted_space(X * [1e3, 1e-2] + [5, -3], hints)
    np.testing.assert_allclose(np.abs(one), np.abs(two), rtol=1e-7)  # the sign of a direction is arbitrary


@pytest.mark.parametrize(
    "X",
    [
        np.ones((20, 3)),
        np.column_stack([np.arange(20.0), np.full(20, 7.0), np.arange(20.0)]),
        np.random.default_rng(0).normal(size=(20, 40)),
        np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32),
    ],
    ids=["alike", "collinear", "wide", "float32"],
)
def test_the_space_is_finite_for_any_rows(X):
    hints = Supervision.from_links(20, must=[(0, 1)], cannot=[(2, 3)], must_groups=[[4, 5, 6]])
    space = compute_hinted_space(X, hints)
    assert space.shape == X.shape
    assert space.dtype == X.dtype
    assert np.isfinite(space).all()


def test_one_large_cluster_does_not_explain_must_links_better_than_chance():
    must = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 5)]
    hints = Supervision.from_links(6, must=must)
    merged, split, wrong = np.zeros(6, int), np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 0, 1])
    assert find_least_violating([merged, split, wrong], hints) == [0, 1]  # 0, 1 and 5 violated
    # Random halves break 5 / 2 links: 0 - 0, 1 - 2.5, 5 - 2.5, and the standard deviation is 1.
    assert find_least_violating([merged, split, wrong], hints, against_chance=True) == [1]


# ---------------------------------------------------------------------- by hand


def test_points_are_chosen_by_weight_times_squared_distance():
    points = np.array([[0.0], [1.0], [3.0], [4.0]])
    weight = np.array([2.0, 1.0, 1.0, 0.5])
    # The heaviest is 0; then 1, 9 and 0.5 * 16 = 8; then 1 and 0.5 * 1.
    assert select_farthest_first(points, weight, 3).ravel().tolist() == [0, 3, 1]


def test_components_have_weighted_centroids_and_weights():
    X = np.array([[0.0], [4.0], [10.0], [20.0], [7.0], [8.0]])
    weight = np.array([1.0, 3.0, 4.0, 4.0, 0.0, 0.0])
    closure = Supervision.from_links(6, must=[(0, 1), (2, 3), (4, 5)]).closure()
    components = ComponentCentroids.from_closure(X, closure, weight)
    assert components.centroids.ravel().tolist() == [3, 15, 0]  # the last has no weight
    assert components.mass.tolist() == [4, 8, 0]


def test_seeds_are_centroids_and_drawn_rows_if_there_are_too_few():
    X = np.array([[0.0], [4.0], [10.0], [20.0], [99.0]])
    closure = Supervision.from_links(5, must=[(0, 1), (2, 3)]).closure()
    seeds = {
        k: draw_seeds_from_closure(X, closure, k, np.ones(5), np.random.RandomState(0)).ravel().tolist()
        for k in (1, 2, 3)
    }
    assert seeds[1] == [2]  # of equal weight, the first
    assert seeds[2] == [2, 15]
    assert seeds[3] == [2, 15, 99]


def test_seeds_are_drawn_from_a_sample_if_all_rows_would_be_costly():
    X = np.random.default_rng(0).normal(size=(9000, 256))
    components = ComponentCentroids.from_closure(X, Supervision(len(X)).closure(), np.ones(len(X)))
    rng = np.random.RandomState(0)
    assert len(reduce_rows(as_rows(X), 100, components, rng)) == len(X)  # 9,000 x 256 x 100 is not yet costly
    sample = reduce_rows(as_rows(X), 200, components, rng)
    assert len(sample) == 32 * 200
    assert len(np.unique(sample.take(np.arange(len(sample))), axis=0)) == len(sample)
    light = np.zeros(len(X))
    light[:250] = 1.0  # most samples have too few rows with a weight
    assert len(reduce_rows(as_rows(X, weight=light), 200, components, rng)) == len(X)


def test_a_component_is_represented_by_a_row_if_there_are_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 512))
    hints = Supervision.from_links(600, must_groups=[[0, 1, 2], [3, 4]])
    closure = hints.closure()
    seeds = draw_seeds_from_closure(X, closure, 8, np.ones(600), np.random.RandomState(0))
    centroid = X[:3].mean(axis=0)
    nearest = np.square(X[:3] - centroid).sum(axis=1).argmin()
    np.testing.assert_array_equal(seeds[0], X[nearest])
    assert all((seed == X).all(axis=1).any() for seed in seeds)  # every seed is a row
    few = draw_seeds_from_closure(X[:, :8], closure, 8, np.ones(600), np.random.RandomState(0))
    np.testing.assert_allclose(few[0], X[:3, :8].mean(axis=0))  # with few columns, the centroid
    assert len(np.unique(seeds, axis=0)) == 8


@pytest.mark.parametrize("k", [3, 12])  # fewer and more than there are components
def test_sparse_components_give_the_seeds_of_dense_ones(k):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1.0, size=(60, 90)) * (rng.random((60, 90)) < 0.2)
    weight = rng.uniform(0.5, 2.0, 60)
    closure = Supervision.from_links(60, must=[(i, 59 - i) for i in range(8)]).closure()
    found = [
        draw_seeds_from_closure(rows, closure, k, weight, np.random.RandomState(0))
        for rows in (X, csr_array(X))
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_seeds_that_share_a_group_are_exchanged_for_rows_of_uncovered_groups(is_sparse):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 50)
    X = 10 * np.eye(6)[y] + rng.uniform(0, 0.1, size=(300, 6))
    weight = np.where(y == 5, 0.0, 1.0)  # rows of weight 0 need no seed
    seeds = X[[0, 1, 2, 60, 120]]
    rows = as_rows(csr_array(X) if is_sparse else X, weight=weight)
    found = exchange_seeds(rows, seeds, np.random.RandomState(0))
    assert sorted(found.argmax(axis=1)) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(found[3:], seeds[3:])  # these covered a group


def test_seeds_at_all_distinct_rows_are_kept():
    X = np.repeat([[0.0, 1.0], [3.0, 0.0]], 10, axis=0)
    for seeds in (X[[0, 19]], X[[0, 0, 19]]):
        np.testing.assert_array_equal(exchange_seeds(as_rows(X), seeds, np.random.RandomState(0)), seeds)
