"""The network of answers against enumeration, and its approximations for large cycles."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.bayesian._answer_network import AnswerNetwork
from profiles import fewer
from reference.bayesian import enumerate_posterior, log_chance

EPSILON = 0.07


def draw_hints(rng, n, n_pairs, n_triplets):
    pairs = rng.permutation(list(itertools.combinations(range(n), 2)))[:n_pairs]
    triplets = rng.permutation(list(itertools.combinations(range(n), 3)))[:n_triplets]
    must = rng.uniform(size=len(pairs)) < 0.5
    links = Supervision.from_links(
        n,
        must=pairs[must],
        cannot=pairs[~must],
        must_weights=rng.uniform(0.5, 2, must.sum()),
        cannot_weights=rng.uniform(0.5, 2, (~must).sum()),
    )
    words = rng.choice(["AB", "AC", "BC", "NEITHER"], len(triplets))
    answered = Supervision.from_triplets(n, triplets, words, weights=rng.uniform(0.5, 2, len(triplets)))
    return links | answered if n_triplets else links


def draw_log_p(rng, network, n_models=2):
    shape = (n_models, len(network.rows))
    return np.log(rng.dirichlet(np.ones(network.n_clusters), size=shape))


def assert_equals_enumeration(hints, network, log_p):
    total, nodes = network.log_likelihood(log_p), network.compute_row_posterior(log_p)
    for s, own in enumerate(log_p):
        expected, r, together, value = enumerate_posterior(hints, network.rows, own, EPSILON)
        np.testing.assert_allclose(total[s], expected, rtol=1e-10)
        np.testing.assert_allclose(nodes[s], r, atol=1e-10)
        np.testing.assert_allclose(
            value[tuple(network.find_best(own).tolist())], max(value.values()), rtol=1e-10
        )
        np.testing.assert_allclose(network.compute_together(log_p, 0)[s], together[0], atol=1e-10)


def test_a_must_link_by_hand():
    network = AnswerNetwork.from_hints(Supervision.from_links(9, must=[(2, 7)]), 2, 0.1)
    log_p = np.log([[[0.75, 0.25], [0.5, 0.5]]])
    assert network.rows.tolist() == [2, 7]
    assert network.component.tolist() == [0, 0]
    # Together with probability 1/2: 0.9 / 2 + 0.1 / 2.
    np.testing.assert_allclose(network.log_likelihood(log_p), np.log(0.5))
    # Row 7 is in the first cluster with weight 0.5 (0.75 * 0.9 + 0.25 * 0.1) = 0.35, of 0.5.
    np.testing.assert_allclose(network.compute_row_posterior(log_p)[0, 1], [0.7, 0.3])
    np.testing.assert_allclose(network.compute_together(log_p, 0), [[1.0, 0.9]])
    assert network.find_best(log_p[0]).tolist() == [0, 0]


@given(
    seed=st.integers(0, 10**6), n_pairs=st.integers(0, 6), n_triplets=st.integers(0, 3), k=st.integers(1, 3)
)
def test_small_networks_are_exact_with_and_without_cycles(seed, n_pairs, n_triplets, k):
    rng = np.random.default_rng(seed)
    hints = draw_hints(rng, 6, n_pairs, n_triplets)
    network = AnswerNetwork.from_hints(hints, k, EPSILON)
    assert network.exact
    if len(network.rows):
        assert_equals_enumeration(hints, network, draw_log_p(rng, network))


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_trees_need_no_enumeration(seed):
    """A tree of pairs and triplets is exact even without enumeration."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(7)
    pairs = [(order[i], order[rng.integers(i)]) for i in (1, 2)]
    triplets = [(order[rng.integers(3)], order[3], order[4]), (order[rng.integers(5)], order[5], order[6])]
    words = rng.choice(["AB", "AC", "BC", "NEITHER"], 2)
    hints = Supervision.from_links(7, must=pairs[:1], cannot=pairs[1:])
    hints |= Supervision.from_triplets(7, triplets, words)
    network = AnswerNetwork.from_hints(hints, 3, EPSILON, most_ways=1)
    assert network.exact
    assert len(set(network.component.tolist())) == 1
    assert_equals_enumeration(hints, network, draw_log_p(rng, network, 1))


def test_trees_attached_to_a_cycle_need_no_enumeration():
    cycle = [(0, 1), (1, 2), (0, 2)]
    trees = [(0, 3), (3, 4), (1, 5), (2, 6)]
    hints = Supervision.from_links(7, must=cycle[:2] + trees[:2], cannot=cycle[2:] + trees[2:])
    network = AnswerNetwork.from_hints(hints, 3, EPSILON, most_ways=27)
    assert network.exact
    assert_equals_enumeration(hints, network, draw_log_p(np.random.default_rng(0), network))


def test_groups_are_stars_of_must_links_and_cliques_of_cannot_links():
    groups = Supervision.from_links(7, must_groups=[[0, 1, 2]], cannot_groups=[[2, 3, 4]])
    links = Supervision.from_links(7, must=[(0, 1), (0, 2)], cannot=[(2, 3), (2, 4), (3, 4)])
    one, other = AnswerNetwork.from_hints(groups, 3, EPSILON), AnswerNetwork.from_hints(links, 3, EPSILON)
    log_p = draw_log_p(np.random.default_rng(1), one)
    np.testing.assert_array_equal(one.log_likelihood(log_p), other.log_likelihood(log_p))
    assert_equals_enumeration(links, other, log_p)


# ---------------------------------------------------------------------- large cycles


def test_in_large_cycles_must_links_are_certain():
    hints = Supervision.from_links(5, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3), (3, 4)])
    network = AnswerNetwork.from_hints(hints, 2, EPSILON, most_ways=2)
    assert not network.exact
    log_p = draw_log_p(np.random.default_rng(0), network)
    r = network.compute_row_posterior(log_p)
    np.testing.assert_array_equal(r[:, 0], r[:, 1])
    np.testing.assert_array_equal(r[:, 2], r[:, 3])
    # The same as must-links of very large weight.
    loud = Supervision.from_links(
        5, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3), (3, 4)], must_weights=[15.0, 15.0]
    )
    np.testing.assert_allclose(
        r, AnswerNetwork.from_hints(loud, 2, EPSILON).compute_row_posterior(log_p), atol=1e-8
    )


def test_an_answer_that_closes_a_large_cycle_refers_to_a_copy():
    hints = Supervision.from_links(3, cannot=[(0, 1), (0, 2), (1, 2)])
    network = AnswerNetwork.from_hints(hints, 3, EPSILON, most_ways=2)
    assert not network.exact
    log_p = draw_log_p(np.random.default_rng(0), network)
    # The same as a fourth row with the features of row 2 that is linked only with row 1.
    chain = Supervision.from_links(4, cannot=[(0, 1), (0, 2), (1, 3)])
    copy = AnswerNetwork.from_hints(chain, 3, EPSILON)
    with_copy = np.concatenate([log_p, log_p[:, 2:]], axis=1)
    np.testing.assert_allclose(network.log_likelihood(log_p), copy.log_likelihood(with_copy), rtol=1e-12)
    np.testing.assert_allclose(
        network.compute_row_posterior(log_p), copy.compute_row_posterior(with_copy)[:, :3], atol=1e-12
    )
    # The most probable clusters use the answers as stated.
    even = np.log(np.full((3, 3), 1 / 3))
    assert sorted(network.find_best(even).tolist()) == [0, 1, 2]


@fewer(2)
@given(seed=st.integers(0, 10**6))
def test_moving_single_rows_never_lowers_the_probability(seed):
    rng = np.random.default_rng(seed)
    hints = draw_hints(rng, 7, 8, 3)
    network = AnswerNetwork.from_hints(hints, 3, EPSILON, most_ways=3)
    log_p = draw_log_p(rng, network, 1)[0]

    def value(label):
        y = dict(zip(network.rows.tolist(), label.tolist(), strict=True))
        return log_chance(hints, y, EPSILON) + log_p[np.arange(len(label)), label].sum()

    label = network.find_best(log_p)
    for i, h in itertools.product(range(len(label)), range(3)):
        other = label.copy()
        other[i] = h
        if not network.exact:
            assert value(other) <= value(label) + 1e-8


def test_contradictions_in_large_cycles_are_traded_off():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2), (2, 3), (0, 3)], cannot=[(0, 2), (1, 3)])
    network = AnswerNetwork.from_hints(hints, 2, EPSILON, most_ways=2)
    log_p = draw_log_p(np.random.default_rng(0), network)
    assert np.isfinite(network.log_likelihood(log_p)).all()
    np.testing.assert_allclose(network.compute_row_posterior(log_p).sum(axis=2), 1.0)


def test_weights_of_any_size_are_finite():
    hints = Supervision.from_links(
        4,
        must=[(0, 1), (1, 2)],
        cannot=[(0, 2), (2, 3)],
        must_weights=[1e12, 1],
        cannot_weights=[1e-12, 1e12],
    )
    network = AnswerNetwork.from_hints(hints, 3, EPSILON)
    log_p = draw_log_p(np.random.default_rng(0), network)
    assert np.isfinite(network.log_likelihood(log_p)).all()
    np.testing.assert_allclose(network.compute_together(log_p, 0)[:, 1], 1.0)


# ---------------------------------------------------------------------- the gradient


@pytest.mark.parametrize("most_ways", [4096, 3], ids=["exact", "copies"])
def test_the_gradient_equals_finite_differences(most_ways):
    rng = np.random.default_rng(0)
    hints = draw_hints(rng, 7, 7, 2)
    network = AnswerNetwork.from_hints(hints, 3, EPSILON, most_ways=most_ways)
    assert network.exact == (most_ways == 4096)
    logits = rng.normal(size=(len(network.rows), 3))

    def value(x):
        return network.compute_gradient(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))

    _, gradient = value(logits)
    for i, h in itertools.product(range(len(logits)), range(3)):
        step = np.zeros_like(logits)
        step[i, h] = 1e-5
        slope = (value(logits + step)[0] - value(logits - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[i, h], slope, atol=1e-7)
