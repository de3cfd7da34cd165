"""Pairwise constraints: label sets, pairs that are apart, graphs with links."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

from likewise import Supervision
from likewise.spectral import _pair_constraints
from likewise.spectral._affinity import Graph
from likewise.spectral._operator import SpectralOperator
from likewise.spectral._pair_constraints import (
    ApartPairs,
    LabelSets,
    LinkedGraph,
    RowLabelSets,
    derive_single_label_links,
    make_component_matrix,
)
from profiles import fewer
from reference import bag_constraints as twin
from reference.bag_constraints import draw_bags, draw_links, draw_weights

SEEDS = st.integers(0, 10_000)
# Bags of five rows: r1 contains rows 0 and 1, row 4 is in no bag, r3 is unlabelled.
BAGS = Supervision.from_bags(
    ["r1", "r1", "r2", "r3", None, "r4"], {"r1": ["wren"], "r2": ["owl", "thrush"], "r4": ["thrush", "wren"]}
)


# ---------------------------------------------------------------------- by hand


def test_label_sets_by_hand():
    sets = LabelSets.from_bags(BAGS.bags, 6)
    assert sets.classes == ("owl", "thrush", "wren")
    assert sets.of_row.tolist() == [0, 0, 1, -1, -1, 2]
    assert sets.sizes.tolist() == [1, 2, 2]
    assert sets.known.tolist() == [True, True, True, False, False, True]
    assert sets.get_single_classes().tolist() == [2, 2, -1, -1, -1, -1]
    assert_array_equal(
        sets.find_disjoint(), [[False, True, False], [True, False, False], [False, False, False]]
    )
    assert_array_equal(
        sets.make_indicators().toarray(), [[0, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 1, 1]]
    )
    i, j = np.array(list(product(range(6), repeat=2))).T
    apart = RowLabelSets.from_closure(sets).are_apart(i, j).reshape(6, 6)
    assert set(zip(*np.nonzero(apart), strict=True)) == {(0, 2), (1, 2), (2, 0), (2, 1)}


def test_label_sets_of_nothing():
    for sets in (LabelSets.from_bags(None, 3), LabelSets.from_bags(Supervision.from_bags([1, 1, 2]).bags, 3)):
        assert sets.classes == ()
        assert not sets.known.any()
        assert sets.get_single_classes().tolist() == [-1, -1, -1]
        assert sets.make_indicators().shape == (3, 0)
        assert not RowLabelSets.from_closure(sets).are_apart(np.array([0]), np.array([1])).any()


def test_links_change_similarities_by_hand():
    W = np.array([[0, 0.5, 0.2, 0.1], [0.5, 0, 0.3, 0], [0.2, 0.3, 0, 0.4], [0.1, 0, 0.4, 0]])
    hints = Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 2)])
    linked = LinkedGraph.from_closure(Graph.from_weights(W), hints.closure())
    whole = SpectralOperator(linked.weights, None, linked.terms, linked.diagonal).toarray()
    assert_allclose(whole, [[0, 1, 0, 0.1], [1, 0, 0, 0], [0, 0, 0, 0.4], [0.1, 0, 0.4, 0]])
    assert_allclose(linked.degrees, [1.1, 1.0, 0.4, 0.5])


def test_an_isolated_row_has_degree_one():
    W = np.array([[0, 0.5, 0.0], [0.5, 0, 0.0], [0.0, 0.0, 0.0]])
    linked = LinkedGraph.from_closure(
        Graph.from_weights(W), Supervision.from_links(3, cannot=[(0, 1)]).closure()
    )
    assert linked.degrees.tolist() == [1, 1, 1]
    assert linked.diagonal is None


def test_components_by_hand():
    hints = Supervision.from_links(6, must=[(0, 4)], must_groups=[[1, 2, 5]])
    assert_array_equal(
        make_component_matrix(hints.closure()).toarray().T, [[1, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 1]]
    )
    assert make_component_matrix(Supervision.empty(3).closure()).shape == (3, 0)


def test_must_links_propagate_label_sets():
    # Row 1 is in no bag, but is must-linked with a wren; the bag of row 2 contains an owl.
    W = np.ones((3, 3)) - np.eye(3)
    bags = Supervision.from_bags(["x", None, "y"], {"x": ["wren"], "y": ["owl"]})
    closure = Supervision.from_links(3, must=[(0, 1)]).closure()
    sets = LabelSets.from_bags(bags.bags, 3)
    assert not LinkedGraph.from_closure(Graph.from_weights(W), closure, sets).weights.any()
    assert RowLabelSets.from_closure(sets, closure).of_row.tolist() == [0, 0, 1]
    assert RowLabelSets.from_closure(sets, closure).find_clash() is None


def test_linked_rows_whose_bags_share_no_label_are_found():
    bags = Supervision.from_bags(list("uvwxyz"), {"u": [1, 2], "v": [2, 3], "w": [4, 5], "x": [4], "y": [6]})
    sets = LabelSets.from_bags(bags.bags, 6)
    assert (
        RowLabelSets.from_closure(
            sets, Supervision.from_links(6, must=[(2, 3), (0, 1)]).closure()
        ).find_clash()
        is None
    )
    # Rows 0 and 2 are joined through row 5, whose label set is unknown.
    closure = Supervision.from_links(6, must=[(3, 4), (0, 5), (2, 5)]).closure()
    assert RowLabelSets.from_closure(sets, closure).find_clash() == (0, 2)
    assert RowLabelSets.from_closure(
        sets, Supervision.from_links(6, must=[(3, 4)]).closure()
    ).find_clash() == (3, 4)


def test_links_of_bags_with_a_single_label():
    hints = Supervision.from_bags(
        ["a", "a", "b", "c", "d", "e"],
        {"a": ["wren"], "b": ["wren"], "c": ["owl"], "d": ["owl", "wren"]},
    )
    links = derive_single_label_links(hints)
    kinds = {(i, j): links.relation(i, j).kind for i in range(6) for j in range(i + 1, 6)}
    assert {pair for pair, kind in kinds.items() if kind == "must"} == {(0, 1), (0, 2), (1, 2)}
    assert {pair for pair, kind in kinds.items() if kind == "cannot"} == {(0, 3), (1, 3), (2, 3)}


def test_label_sets_of_several_labels_imply_no_links():
    assert not derive_single_label_links(Supervision.from_bags(["a", "a"], {"a": [1, 2]}))


# ---------------------------------------------------------------------- reference implementations


@given(SEEDS, st.booleans())
def test_pairs_that_are_apart_agree_with_to_links(seed, as_sparse):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    y = rng.integers(0, 3, n)
    W = draw_weights(rng, n)
    bags = draw_bags(rng, n, y)
    wanted = twin.make_linked_matrix(W, bags.to_links(more_clusters_than_classes=True))
    found = ApartPairs(None, LabelSets.from_bags(bags.bags, n)).cut(csr_array(W) if as_sparse else W)
    assert issparse(found) == as_sparse
    assert_allclose(found.toarray() if as_sparse else found, wanted)


@given(SEEDS, st.booleans(), st.booleans())
def test_a_linked_graph_agrees_with_the_relations_of_all_pairs(seed, as_sparse, true_links):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    W = draw_weights(rng, n)
    hints = draw_links(rng, n, rng.integers(0, 3, n) if true_links else None)
    linked = LinkedGraph.from_closure(
        Graph.from_weights(csr_array(W) if as_sparse else W), hints.closure(on_conflict="keep")
    )
    wanted = twin.make_linked_matrix(W, hints)
    found = SpectralOperator(linked.weights, None, linked.terms, linked.diagonal).toarray()
    assert_allclose(found, wanted, atol=1e-12)
    degrees = wanted.sum(axis=1)
    assert_allclose(linked.degrees, np.where(degrees > 0, degrees, 1.0))


@given(SEEDS)
def test_links_and_label_sets_agree_with_the_relations_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    y = rng.integers(0, 3, n)
    W = draw_weights(rng, n)
    links, bags = draw_links(rng, n, y), draw_bags(rng, n, y)
    linked = LinkedGraph.from_closure(
        Graph.from_weights(W), links.closure(), LabelSets.from_bags(bags.bags, n)
    )
    wanted = twin.make_linked_matrix(W, (links | bags).to_links(more_clusters_than_classes=True))
    found = SpectralOperator(linked.weights, None, linked.terms, linked.diagonal).toarray()
    assert_allclose(found, wanted, atol=1e-12)


@fewer(2)
@given(SEEDS)
def test_many_label_sets_and_small_blocks_change_nothing(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 9)
    W = draw_weights(rng, 9)
    closure, bags = draw_links(rng, 9, y).closure(), draw_bags(rng, 9, y)
    wanted = ApartPairs(closure, LabelSets.from_bags(bags.bags, 9)).cut(W)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pair_constraints, "_BLOCK", 7)
        patch.setattr(_pair_constraints, "_MOST_SETS", 0)
        assert_array_equal(ApartPairs(closure, LabelSets.from_bags(bags.bags, 9)).cut(W), wanted)
        assert_array_equal(
            ApartPairs(closure, LabelSets.from_bags(bags.bags, 9)).cut(csr_array(W)).toarray(), wanted
        )
        loose = draw_links(rng, 9).closure(on_conflict="keep")
        few = ApartPairs(loose).cut(W)
    assert_array_equal(ApartPairs(loose).cut(W), few)


def test_the_graph_is_not_modified():
    W = draw_weights(np.random.default_rng(0), 6)
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)])
    for weights in (W.copy(), csr_array(W)):
        LinkedGraph.from_closure(Graph.from_weights(weights), hints.closure())
        assert_array_equal(weights.toarray() if issparse(weights) else weights, W)
    graph = Graph.from_weights(W)
    assert LinkedGraph.from_closure(graph, Supervision.empty(6).closure()).weights is graph.weights
