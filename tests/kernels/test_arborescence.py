"""The best tree: cycles by hand, every tree of five nodes, and networkx."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.kernels.arborescence import edge_margins, maximum_arborescence
from reference.label_tree import arborescences, reaches_root, weight_of

NO = -np.inf
TREES = {n: np.array(list(arborescences(n))).reshape(-1, n) for n in range(1, 6)}


@st.composite
def graphs(draw, least=1, largest=5):
    """Draw weights, of which some are equal and some are forbidden."""
    m = draw(st.integers(least, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        weights = rng.integers(-2, 3, (m, m)).astype(float)
    else:
        weights = rng.normal(size=(m, m)) * draw(st.sampled_from([1.0, 1e6]))
    weights[rng.uniform(size=(m, m)) < draw(st.sampled_from([0.0, 0.3, 0.6]))] = NO
    return weights


def values(weights):
    return np.array([weight_of(weights, parents) for parents in TREES[len(weights)]])


def test_a_cycle_by_hand():
    # The best edges of nodes 1 and 2 form a cycle, opened where it costs least: 10 + 3 against 10 + 1.
    weights = np.array([[NO, 1, 3], [NO, NO, 10], [NO, 10, NO]])
    np.testing.assert_array_equal(maximum_arborescence(weights), [-1, 2, 0])
    # The best tree in which node 1 has another parent: 1 + 10 by way of the root; the same for node 2.
    np.testing.assert_array_equal(edge_margins(weights, np.array([-1, 2, 0])), [np.inf, 2, 2])


def test_a_cycle_within_a_cycle_by_hand():
    # 1 <-> 2 by 10, then that pair <-> 3 by 8 and 9, and the root reaches only 3, by 1.
    weights = np.full((4, 4), NO)
    weights[1, 2] = weights[2, 1] = 10
    weights[3, 1], weights[2, 3], weights[0, 3] = 8, 9, 1
    parents = maximum_arborescence(weights)
    np.testing.assert_array_equal(parents, [-1, 3, 1, 0])
    np.testing.assert_array_equal(edge_margins(weights, parents), np.full(4, np.inf))


def test_the_root_alone_and_one_label():
    np.testing.assert_array_equal(maximum_arborescence(np.zeros((1, 1))), [-1])
    np.testing.assert_array_equal(maximum_arborescence(np.full((2, 2), -5.0)), [-1, 0])
    np.testing.assert_array_equal(edge_margins(np.full((2, 2), -5.0), np.array([-1, 0])), [np.inf, np.inf])


def test_ties_go_to_the_first_parent():
    np.testing.assert_array_equal(maximum_arborescence(np.ones((6, 6))), [-1, 0, 0, 0, 0, 0])
    weights = np.ones((4, 4))
    weights[0, 3] = 0
    np.testing.assert_array_equal(maximum_arborescence(weights), [-1, 0, 0, 1])


def test_the_diagonal_and_edges_into_the_root_are_ignored():
    weights = np.random.default_rng(0).normal(size=(7, 7))
    expected = maximum_arborescence(weights)
    np.fill_diagonal(weights, np.nan)
    weights[:, 0] = np.inf
    np.testing.assert_array_equal(maximum_arborescence(weights), expected)


def test_unreachable_nodes_are_marked_and_have_no_children():
    # 3 and 4 have edges to each other and to 1, but no edge leads to them from elsewhere.
    weights = np.full((5, 5), NO)
    weights[0, 1], weights[0, 2], weights[1, 2] = 1, 1, 2
    weights[3, 1] = weights[3, 4] = weights[4, 3] = 9
    parents = maximum_arborescence(weights)
    np.testing.assert_array_equal(parents, [-1, 0, 1, -2, -2])
    for up_to in (0, 300):
        np.testing.assert_array_equal(
            edge_margins(weights, parents, up_to), [np.inf, np.inf, 1, np.inf, np.inf]
        )
    np.testing.assert_array_equal(maximum_arborescence(np.full((3, 3), NO)), [-1, -2, -2])


@given(weights=graphs())
def test_no_tree_of_five_nodes_weighs_more(weights):
    before = weights.copy()
    parents, best = maximum_arborescence(weights), values(weights).max()
    np.testing.assert_array_equal(weights, before)
    assert parents.dtype == np.int64
    assert parents[0] == -1
    if best == NO:
        assert (parents[1:] == -2).any()
    else:
        assert all(reaches_root(parents, c) for c in range(len(weights)))
        assert weight_of(weights, parents) == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(weights=graphs(least=2))
def test_margins_are_those_over_every_tree_with_another_parent(weights):
    parents, every = maximum_arborescence(weights), values(weights)
    if every.max() == NO:
        return
    margins, moves = edge_margins(weights, parents), edge_margins(weights, parents, 0)
    assert margins[0] == np.inf
    for c in range(1, len(weights)):
        others = every[(TREES[len(weights)][:, c] != parents[c]) & (every > NO)]
        expected = every.max() - others.max() if len(others) else np.inf
        assert margins[c] == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(every.max()) + 1e-9)
        alone = np.delete(TREES[len(weights)], c, axis=1) == np.delete(parents, c)
        moved = every[alone.all(axis=1) & (TREES[len(weights)][:, c] != parents[c])]
        expected = every.max() - moved.max() if len(moved) else np.inf
        assert moves[c] == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(every.max()) + 1e-9)
        assert moves[c] >= margins[c] - 1e-9 * np.abs(every.max()) - 1e-9


@given(weights=graphs(least=2, largest=14))
def test_the_weight_equals_that_of_networkx(weights):
    networkx = pytest.importorskip("networkx")
    # A branching may leave edges out, so each is made worth more than all differences together. The
    # maximum_spanning_arborescence of networkx 3.6 adds less, and finds no tree in some sparse graphs.
    finite = weights[weights > NO]
    bonus = len(weights) * (1 + np.ptp(finite)) - finite.min() if len(finite) else 0.0
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(weights)))
    for p, c in np.argwhere(weights > NO).tolist():
        if c not in (0, p):
            graph.add_edge(p, c, weight=weights[p, c] + bonus)
    parents = maximum_arborescence(weights)
    unreached = set(graph) - {0} - networkx.descendants(graph, 0)
    assert set(np.flatnonzero(parents == -2).tolist()) == unreached
    graph.remove_nodes_from(unreached)
    tree = networkx.maximum_branching(graph)
    assert tree.number_of_edges() == len(weights) - 1 - len(unreached)
    expected = sum(weights[p, c] for p, c in tree.edges)
    assert weight_of(weights, parents) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(weights=graphs(largest=30), seed=st.integers(0, 2**32 - 1))
def test_numbering_and_constants_per_node_do_not_change_the_tree_weight(weights, seed):
    rng = np.random.default_rng(seed)
    parents = maximum_arborescence(weights)
    if (parents == -2).any():
        return
    best = weight_of(weights, parents)
    new = np.array([0, *(1 + rng.permutation(len(weights) - 1))])
    moved = weights[np.ix_(new, new)]
    assert weight_of(moved, maximum_arborescence(moved)) == pytest.approx(best, rel=1e-9, abs=1e-9)
    shared = rng.integers(-5, 6, len(weights)).astype(float)
    lifted = maximum_arborescence(weights + shared)
    assert weight_of(weights, lifted) == pytest.approx(best, rel=1e-9, abs=1e-8)


def test_hundreds_of_nested_cycles():
    # The best edges of neighbours on a line form nested cycles; only the last node has an edge from the root.
    m = 400
    weights = np.full((m, m), NO)
    for c in range(1, m - 1):
        weights[c + 1, c] = 1000.0 + c
        weights[c, c + 1] = 2000.0 - c
    weights[0, m - 1] = 1.0
    parents = maximum_arborescence(weights)
    np.testing.assert_array_equal(parents, [-1, *range(2, m), 0])
