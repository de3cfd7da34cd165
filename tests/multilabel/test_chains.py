"""The choice of a parent among the labels that include a label: evidence against loops, and termination."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._label_trees import (
    LearnedTree,
    allow_all_edges,
    compute_chain_evidence,
    find_certain_labels,
    settle,
)
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def draw_case(rng, k, n=30):
    names = rng.permutation(k)
    parents = np.full(k, -1, dtype=np.int64)
    for t in range(1, k):
        at = rng.integers(-1, t)
        parents[names[t]] = names[at] if at >= 0 else -1
    Z = (rng.random((n, k)) < rng.uniform(0.1, 0.6, k)).astype(np.uint8)
    return parents, Z


def test_certain_labels_by_hand():
    # a > b > c
    parents = np.array([-1, 0, 1])
    Z = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.uint8)
    below, known = find_certain_labels(Z, LabelHierarchy.from_parents(parents))
    np.testing.assert_array_equal(below, [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(known, [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])


@given(seed=seeds, k=st.integers(1, 6))
def test_evidence_is_summed_row_by_row_up_to_the_root(seed, k):
    rng = np.random.default_rng(seed)
    parents, Z = draw_case(rng, k)
    Z[0] = 1
    rates = rng.uniform(0.05, 0.6, k)
    tree = LabelHierarchy.from_parents(parents)
    found = compute_chain_evidence(Z, tree, rates)
    above = tree.ancestor_matrix()
    for c in range(k):
        for p in range(k):
            if p != c and not above[c, p]:
                wanted = twin.chain_evidence(Z, parents, 1 - rates, c, p)
                assert found[c, p] == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@given(seed=seeds, k=st.integers(1, 6))
def test_labels_settle_on_an_allowed_tree(seed, k):
    rng = np.random.default_rng(seed)
    parents, Z = draw_case(rng, k)
    allowed = allow_all_edges(k) & (rng.random((k + 1, k + 1)) < 0.7)
    allowed[parents + 1, np.arange(k) + 1] = True
    start = LearnedTree(parents.copy(), np.zeros(k), np.zeros(k))
    found = settle(Z, start, rng.uniform(0.0, 0.6, k), allowed)
    np.testing.assert_array_equal(start.parents, parents)
    assert LabelHierarchy.from_parents(found.parents).n_labels == k  # no cycle
    assert allowed[found.parents + 1, np.arange(k) + 1].all()
    assert (found.margins >= 0).all()
    assert np.isfinite(found.scores).all()
    assert (found.scores[found.parents < 0] == 0).all()
    # a label with a single possible parent is certain
    assert (found.margins[allowed[:, 1:].sum(axis=0) == 1] == np.inf).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_label_moves_from_its_grandparent_to_its_parent(seed):
    rng = np.random.default_rng(seed)
    a = rng.random(2000) < 0.7
    b = a & (rng.random(2000) < 0.7)
    c = b & (rng.random(2000) < 0.6)
    Z = (np.column_stack([a, b, c]) & (rng.random((2000, 3)) >= 0.3)).astype(np.uint8)
    for parents in ([-1, 0, 0], [-1, 0, -1], [-1, -1, -1], [-1, 0, 1]):
        start = LearnedTree(np.array(parents), np.zeros(3), np.zeros(3))
        found = settle(Z, start, np.full(3, 0.3), allow_all_edges(3))
        assert found.parents.tolist() == [-1, 0, 1]
        assert found.margins.min() > 5
