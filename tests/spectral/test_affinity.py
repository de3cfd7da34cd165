"""Similarity graphs: by hand, against scikit-learn, properties, equal rows, new rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

from likewise.spectral import _affinity
from likewise.spectral._affinity import Graph, Recipe, build_graph, check_given_graph, compute_similarities
from profiles import fewer
from reference import bag_constraints as twin

SEEDS = st.integers(0, 10_000)


def draw_case(seed, n=20, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def dense(weights):
    return weights.toarray() if issparse(weights) else weights


# ---------------------------------------------------------------------- by hand


def test_local_scaling_of_five_points_by_hand():
    # With five rows there is no seventh neighbour, and the fourth, the farthest, is used instead.
    graph = build_graph(np.array([[0.0], [1.0], [3.0], [6.0], [10.0]]), Recipe("local"))
    assert graph.scales.tolist() == [10, 9, 7, 6, 10]
    assert graph.weights[0, 1] == pytest.approx(np.exp(-1 / (2 * 10 * 9)))
    assert graph.weights[2, 3] == pytest.approx(np.exp(-9 / (2 * 7 * 6)))
    assert graph.weights[0, 4] == pytest.approx(np.exp(-100 / (2 * 10 * 10)))
    assert graph.weights.diagonal().tolist() == [0] * 5
    assert_allclose(graph.degrees, graph.weights.sum(axis=1))


def test_the_scale_is_the_distance_to_the_seventh_neighbour():
    graph = build_graph(np.arange(10.0)[:, None], Recipe("local"))
    assert graph.scales.tolist() == [7, 6, 5, 4, 4, 4, 4, 5, 6, 7]


@pytest.mark.parametrize(("scale", "value"), [("median", 3.0), ("mean", 20 / 6), (0.5, 0.5)])
def test_one_scale_for_all_by_hand(scale, value):
    # The six distances of 0, 1, 3, 6 are 1, 2, 3, 3, 5, 6; their mean is 20 / 6.
    X = np.array([[0.0], [1.0], [3.0], [6.0]])
    graph = build_graph(X, Recipe("rbf", None, scale))
    assert_allclose(graph.scales, value)
    assert_allclose(graph.weights + np.eye(4), rbf_kernel(X, gamma=1 / (2 * value**2)))


def test_the_common_scale_of_a_sparse_graph_uses_neighbours_only():
    # Nearest neighbours of 0, 1, 3, 7 are at 1, 1, 2, 4: median 1.5, mean 2.
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert build_graph(X, Recipe("rbf", 1, "median")).scales.tolist() == [1.5] * 4
    assert build_graph(X, Recipe("rbf", 1, "mean")).scales.tolist() == [2.0] * 4


def test_number_of_neighbours():
    assert Recipe("local").get_n_neighbors(_affinity.DENSE_ROWS) is None
    assert Recipe("local").get_n_neighbors(_affinity.DENSE_ROWS + 1) == _affinity.NEIGHBORS
    assert Recipe("neighbors").get_n_neighbors(100) == _affinity.NEIGHBORS
    assert Recipe("neighbors").get_n_neighbors(5) == 4
    assert Recipe("rbf", 50).get_n_neighbors(20) == 19
    assert Recipe("rbf", None).get_n_neighbors(10**6) is None


# ---------------------------------------------------------------------- reference implementations


@fewer(2)
@given(SEEDS, st.integers(2, 15))
def test_local_scaling_equals_its_reference(seed, n):
    X = draw_case(seed, n)
    graph = build_graph(X, Recipe("local", None))
    weights, scales = twin.local_scaling(X)
    assert_allclose(graph.weights, weights, atol=1e-10)
    assert_allclose(graph.scales, scales)


@fewer(2)
@given(SEEDS, st.integers(2, 12), st.sampled_from(["local", "rbf"]))
def test_keeping_every_neighbour_gives_the_graph_of_all_pairs(seed, n, affinity):
    X = draw_case(seed, n)
    whole = build_graph(X, Recipe(affinity, None, 1.5))
    kept = build_graph(X, Recipe(affinity, n - 1, 1.5))
    assert issparse(kept.weights)
    assert_allclose(kept.weights.toarray(), whole.weights, atol=1e-10)
    assert_allclose(kept.scales, whole.scales)
    assert_allclose(kept.degrees, whole.degrees)


@fewer(2)
@given(SEEDS, st.integers(1, 8))
def test_the_neighbours_graph_equals_scikit_learns(seed, k):
    X = draw_case(seed)
    theirs = kneighbors_graph(X, k + 1, include_self=True).toarray()  # a row is its own first neighbour there
    theirs = (theirs + theirs.T) / 2
    np.fill_diagonal(theirs, 0.0)
    assert_array_equal(build_graph(X, Recipe("neighbors", k)).weights.toarray(), theirs)


@fewer(4)
@given(SEEDS, st.integers(1, 4))
def test_sparse_local_scaling_keeps_the_most_similar_of_the_nearest_rows(seed, k):
    X = draw_case(seed, 40)
    graph = build_graph(X, Recipe("local", k))
    whole, scales = twin.local_scaling(X)
    far = pairwise_distances(X)
    np.fill_diagonal(far, np.inf)
    near = np.argsort(far, axis=1, kind="stable")[:, : max(3 * k, 7)]
    kept = np.zeros((40, 40))
    for p in range(40):
        best = near[p][np.argsort(-whole[p, near[p]], kind="stable")[:k]]
        kept[p, best] = whole[p, best]
    assert_allclose(graph.scales, scales)
    assert_allclose(graph.weights.toarray(), np.maximum(kept, kept.T), atol=1e-10)


# ---------------------------------------------------------------------- properties


RECIPES = [Recipe(a, n, s) for a in ("local", "rbf") for n in (None, 4) for s in ("median", 2.0)]
RECIPES += [Recipe("neighbors", 4), Recipe("neighbors")]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@fewer(8)
@given(SEEDS)
def test_a_graph_is_symmetric_non_negative_and_without_loops(recipe, seed):
    X = draw_case(seed)
    graph = build_graph(X, recipe)
    weights = dense(graph.weights)
    assert isinstance(graph.weights, csr_array if recipe.get_n_neighbors(20) else np.ndarray)
    assert_allclose(weights, weights.T, atol=1e-15)
    assert not weights.diagonal().any()
    assert (weights >= 0).all()
    assert (weights <= 1).all()
    assert_allclose(graph.degrees, weights.sum(axis=1))
    order = np.random.default_rng(seed).permutation(20)
    assert_allclose(dense(build_graph(X[order], recipe).weights), weights[np.ix_(order, order)], atol=1e-8)


@pytest.mark.parametrize("n_neighbors", [None, 4])
@pytest.mark.parametrize("affinity", ["local", "rbf"])
def test_units_and_translation_of_the_rows_do_not_matter(affinity, n_neighbors):
    X = draw_case(1)
    graph = build_graph(X, Recipe(affinity, n_neighbors))
    moved = build_graph(1000 * X - 5, Recipe(affinity, n_neighbors))
    assert_allclose(dense(moved.weights), dense(graph.weights), atol=1e-8)
    assert_allclose(moved.scales, 1000 * graph.scales)


def test_single_precision_gives_the_same_graph():
    X = np.round(draw_case(2, 30) * 16)
    for recipe in RECIPES:
        graph = build_graph(X.astype(np.float32), recipe)
        assert graph.weights.dtype == graph.degrees.dtype == graph.scales.dtype == np.float64
        assert_allclose(dense(graph.weights), dense(build_graph(X, recipe).weights), atol=1e-5)


# ---------------------------------------------------------------------- equal rows


@pytest.mark.parametrize("n_neighbors", [None, 9])
def test_the_scale_of_duplicates_has_a_lower_bound(n_neighbors):
    # Eight copies of each of two rows have scale 0, twenty other rows the typical scale.
    X = np.vstack([np.repeat([[0.0, 0.0], [1.0, 0.0]], 8, axis=0), draw_case(3, 20, 2) + 10])
    graph = build_graph(X, Recipe("local", n_neighbors))
    weights = dense(graph.weights)
    assert np.isfinite(weights).all()
    assert (graph.scales > 0).all()
    assert_allclose(graph.scales[:16], 1e-3 * np.median(graph.scales[16:]))
    assert weights[0, 1] == weights[8, 9] == 1.0
    assert weights[0, 8] < 1e-12


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_equal_rows_have_similarity_one(recipe):
    weights = dense(build_graph(np.ones((20, 3)), recipe).weights)
    assert set(np.unique(weights)) <= {0.0, 0.5, 1.0}
    assert (weights.sum(axis=1) > 0).all()


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_two_and_three_rows(recipe, n):
    graph = build_graph(np.array([[0.0], [1.0], [5.0]])[:n], recipe)
    assert graph.n_samples == n
    assert np.isfinite(dense(graph.weights)).all()
    assert dense(graph.weights)[0, 1] > 0


# ---------------------------------------------------------------------- given similarities


@pytest.mark.parametrize("kind", [np.array, csr_array, coo_array])
def test_given_similarities_lose_their_diagonal_and_stay_untouched(kind):
    A = np.array([[1.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 2.0]])
    given_one = kind(A)
    graph = check_given_graph(given_one)
    assert_array_equal(dense(graph.weights), [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])
    assert graph.degrees.tolist() == [0.5, 0.5, 1.0]  # the last row has no similar rows
    assert_array_equal(dense(given_one), A)
    assert not issparse(graph.weights) or graph.weights.nnz == 2


def test_given_sparse_similarities_with_duplicate_entries_add_up():
    twice = csr_array(([0.25, 0.25, 0.5, 3.0], [1, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
    graph = check_given_graph(twice)
    assert_array_equal(graph.weights.toarray(), [[0, 0.5], [0.5, 0]])


def test_degrees_include_added_values():
    graph = Graph.from_weights(np.zeros((2, 2)), added=np.array([2.0, 0.0]))
    assert graph.degrees.tolist() == [2.0, 1.0]
    assert graph.scales.tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------- new rows


@pytest.mark.parametrize("recipe", [Recipe("local", 2), *RECIPES[:-2]], ids=str)
@pytest.mark.parametrize("d", [2, 30])
def test_a_row_of_the_graph_as_a_new_row(recipe, d):
    # In 30 dimensions distances come from products, and the distance of a row to itself is not exactly 0.
    X = draw_case(4, 40, d) + 100
    graph = build_graph(X, recipe)
    found = dense(compute_similarities(X, X, graph, recipe))
    assert_allclose(found.diagonal(), 1.0, atol=1e-8)
    np.fill_diagonal(found, 0.0)
    squared = pairwise_distances(X) ** 2
    whole = np.exp(-squared / (2 * np.outer(graph.scales, graph.scales)))
    np.fill_diagonal(whole, 0.0)
    kept = found > 0
    assert_allclose(found[kept], whole[kept], atol=1e-7)
    if recipe.n_neighbors is None:
        assert_allclose(found, whole, atol=1e-7)
    else:
        assert (kept.sum(axis=1) == recipe.n_neighbors - 1).all()  # the row itself is the first of them


def test_new_rows_by_hand():
    X = np.array([[0.0], [1.0], [3.0], [6.0]])
    recipe = Recipe("local")
    graph = build_graph(X, recipe)
    assert graph.scales.tolist() == [6, 5, 3, 6]
    # The new row at 2 has all four rows as neighbours, the farthest at 4.
    found = compute_similarities(np.array([[2.0]]), X, graph, recipe)
    assert_allclose(
        found[0], np.exp([-4 / (2 * 4 * 6), -1 / (2 * 4 * 5), -1 / (2 * 4 * 3), -16 / (2 * 4 * 6)])
    )
    mere = Recipe("neighbors", 2)
    found = compute_similarities(np.array([[2.5], [9.0]]), X, build_graph(X, mere), mere).toarray()
    assert_array_equal(found, [[0, 1, 1, 0], [0, 0, 1, 1]])


def test_a_new_row_far_from_all_others_has_no_similar_rows():
    X = draw_case(5)
    recipe = Recipe("rbf", None, 1.0)
    assert not compute_similarities(np.full((1, 3), 1e3), X, build_graph(X, recipe), recipe).any()
