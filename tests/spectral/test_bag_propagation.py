"""Propagation of class shares along the graph, and class profiles of clusters."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from likewise.spectral._bag_spectral import (
    compute_class_profile,
    compute_even_shares,
    propagate,
    restrict_to_allowed,
)
from profiles import fewer
from reference import bag_constraints as twin
from reference.bag_constraints import draw_weights

SEEDS = st.integers(0, 10_000)


def indicators(sets, n_classes):
    return csr_array(np.array([[float(c in one) for c in range(n_classes)] for one in sets]))


def propagate_sets(W, sets, n_classes):
    degrees = np.maximum(W.sum(axis=1), 1e-300)
    allowed = indicators(sets, n_classes)
    return restrict_to_allowed(allowed, propagate(W.__matmul__, degrees, allowed)).toarray()


def draw_sets(rng, n, n_classes=3):
    sizes = rng.integers(0, n_classes + 1, n)
    sets = [set(rng.permutation(n_classes)[:size].tolist()) for size in sizes]
    sets[0] = {n_classes - 1}
    return sets


# ---------------------------------------------------------------------- by hand


def test_equal_shares_by_hand():
    assert_array_equal(
        compute_even_shares(indicators([{0}, {0, 2}, set()], 3)).toarray(),
        [[1, 0, 0], [0.5, 0, 0.5], [0, 0, 0]],
    )


def test_a_row_gets_the_class_of_its_neighbours():
    # Rows 1 and 2 come from one bag of both classes. Row 1 is near row 0, of class 0; row 2 near row 3, of 1.
    W = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=float)
    shares = propagate_sets(W, [{0}, {0, 1}, {0, 1}, {1}], 2)
    # Row 1 converges at once: 0.9 * (1, 0) + 0.1 * (1/2, 1/2).
    assert_allclose(shares, [[1, 0], [0.95, 0.05], [0.05, 0.95], [0, 1]])


def test_a_row_without_neighbours_keeps_equal_shares():
    W = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=float)
    shares = propagate_sets(W, [{0}, {1, 2}, {0, 1}], 3)
    assert_allclose(shares, [[1, 0, 0], [0, 0.5, 0.5], [0.5, 0.5, 0]])


def test_rows_without_bags_propagate_shares():
    # Row 1 is in no bag. Through it row 2, of a bag of both classes, is influenced by row 0.
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    shares = propagate_sets(W, [{0}, set(), {0, 1}], 2)
    assert_array_equal(shares[1], [0, 0])
    assert shares[2, 0] > 0.9


def test_profiles_by_hand():
    # Cluster 0 has two rows of class 0 and one of either; cluster 1 one row of class 1.
    sets, labels = [{0}, {0}, {0, 1}, {1}], np.array([0, 0, 0, 1])
    profile = compute_class_profile(labels, indicators(sets, 2), 3)
    assert_allclose(profile.sum(axis=1), 1.0)
    assert profile[0, 0] > 0.9
    assert profile[1, 1] > 0.9
    # An empty cluster has the overall mixture: 2.5 of class 0 and 1.5 of class 1.
    assert_allclose(profile[2], [2.5 / 4, 1.5 / 4])


def test_profiles_without_labelled_bags():
    profile = compute_class_profile(np.array([0, 1]), csr_array((2, 3)), 2)
    assert not profile.any()
    profile = compute_class_profile(np.array([0, 1]), csr_array((2, 0)), 2)
    assert profile.shape == (2, 0)


# ---------------------------------------------------------------------- references and properties


@fewer(2)
@given(SEEDS)
def test_propagation_equals_its_reference(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    W, sets = draw_weights(rng, n), draw_sets(rng, n)
    assert_allclose(propagate_sets(W, sets, 3), twin.propagate(W, sets), atol=1e-10)


@fewer(2)
@given(SEEDS)
def test_shares_sum_to_one_over_allowed_classes(seed):
    rng = np.random.default_rng(seed)
    W, sets = draw_weights(rng, 9), draw_sets(rng, 9)
    shares = propagate_sets(W, sets, 3)
    allowed = indicators(sets, 3).toarray()
    assert (shares >= 0).all()
    assert not shares[allowed == 0].any()
    assert_allclose(shares.sum(axis=1), [bool(one) for one in sets])
    order = rng.permutation(9)
    again = propagate_sets(W[np.ix_(order, order)], [sets[row] for row in order], 3)
    assert_allclose(again, shares[order], atol=1e-12)
    turned = propagate_sets(W, [{2 - c for c in one} for one in sets], 3)
    assert_allclose(turned, shares[:, ::-1], atol=1e-12)


@fewer(2)
@given(SEEDS)
def test_a_start_near_the_solution_gives_the_same_solution(seed):
    rng = np.random.default_rng(seed)
    W, sets = draw_weights(rng, 12) + 0.1 * (1 - np.eye(12)), draw_sets(rng, 12)
    allowed = indicators(sets, 3)
    first = propagate(W.__matmul__, W.sum(axis=1), allowed)
    again = propagate(W.__matmul__, W.sum(axis=1), allowed, first)
    assert_allclose(again, first, atol=0.02)


@fewer(2)
@given(SEEDS, st.booleans())
def test_profiles_sum_to_one_and_never_lower_the_likelihood(seed, given_start):
    rng = np.random.default_rng(seed)
    sets, labels = draw_sets(rng, 20), rng.integers(0, 4, 20)
    allowed = indicators(sets, 3)
    start = None
    if given_start:
        drawn = allowed.toarray() * rng.uniform(0.1, 1, (20, 3))
        start = compute_even_shares(allowed)
        start.data[:] = (drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-300))[allowed.nonzero()]

    def value(n_steps):
        profile = compute_class_profile(labels, allowed, 4, start, n_steps)
        assert_allclose(profile.sum(axis=1), 1.0)
        known = np.diff(allowed.indptr) > 0
        usual = np.asarray((start if given_start else compute_even_shares(allowed)).sum(axis=0)).ravel()
        prior = 0.1 * (usual / usual.sum() * np.log(np.maximum(profile, 1e-300))).sum()
        return np.log((profile[labels] * allowed.toarray()).sum(axis=1)[known]).sum() + prior

    values = [value(n_steps) for n_steps in (1, 2, 3, 5, 30)]
    assert (np.diff(values) > -1e-9).all()
