"""Trees from recorded labels alone: scores, rates and trees by hand, against loops, and on random trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import make_label_tree
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._label_trees import (
    allow_all_edges,
    compute_inclusion_scores,
    compute_relaxations,
    count_pairs,
    estimate_anchored_rates,
    find_best_tree,
    learn_tree,
    make_chow_liu_tree,
    make_count_tree,
    make_star,
)
from profiles import fewer
from reference import label_tree as tree_twin
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def draw_parents(rng, k):
    names = rng.permutation(k)  # a parent may have a larger number than its child
    parents = np.full(k, -1, dtype=np.int64)
    for t in range(1, k):
        at = rng.integers(-1, t)
        parents[names[t]] = names[at] if at >= 0 else -1
    return parents


def table_of(a, b):
    return np.array([[np.sum((a == u) & (b == v)) for v in (0, 1)] for u in (0, 1)])


# ---------------------------------------------------------------------- scores


def test_a_score_by_hand():
    # Of 8 rows, 4 have p and 2 of these have c; nothing is missing. If p includes c, c has probability 1/2
    # under p and eps elsewhere; if unrelated, 1/4 everywhere. The terms of p are the same in both cases.
    Z = np.array([[1, 1]] * 2 + [[1, 0]] * 2 + [[0, 0]] * 4)
    eps = 1e-9
    scores = compute_inclusion_scores(count_pairs(Z), 8, 0.0, eps)
    wanted = 2 * np.log(1 / 2) + 2 * np.log(1 / 2) - (2 * np.log(1 / 4) + 6 * np.log(3 / 4))
    assert scores[0, 1] == pytest.approx(wanted, abs=1e-6)
    # If c included p, all 4 rows with p would have c; p without c has probability eps, and occurs twice.
    assert scores[1, 0] < 2 * np.log(eps) / 2


@given(seed=seeds, k=st.integers(2, 5))
def test_scores_equal_those_of_explicit_tables(seed, k):
    rng = np.random.default_rng(seed)
    n = 40
    keep, eps = rng.uniform(0.6, 0.95, k), rng.uniform(1e-4, 0.01, k)
    Z = (rng.uniform(size=(n, k)) < rng.uniform(0.05, 0.9, k)).astype(np.uint8)
    Z[0], Z[20:] = 1, 0  # every label is recorded somewhere, and no frequency is above 1
    scores = compute_inclusion_scores(count_pairs(Z), n, 1 - keep, eps)
    for p in range(k):
        for c in range(k):
            if p != c:
                wanted = twin.inclusion_score(table_of(Z[:, p], Z[:, c]), keep[p], keep[c], eps[c])
                assert scores[p, c] == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_an_implied_label_scores_higher_than_another():
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 4000)) < 0.5
    c = p & (rng.random(4000) < 0.5)
    Z = (np.column_stack([p, q, c]) & (rng.random((4000, 3)) > 0.3)).astype(np.uint8)
    scores = compute_inclusion_scores(count_pairs(Z), 4000, 0.3, 1e-3)
    assert scores[0, 2] > 50 > 0 > scores[1, 2]
    assert scores[2, 0] < 0
    # if labels are taken as complete, rows with c and without p are evidence against the true edge
    assert compute_inclusion_scores(count_pairs(Z), 4000, 0.0, 1e-3)[0, 2] < scores[0, 2]


def test_relaxations_stay_below_the_frequency_of_a_label():
    found = compute_relaxations(np.array([500, 5, 0]), 1000, 0.5, 1e-2)
    np.testing.assert_allclose(found, [1e-2, 1e-3, 1e-9])


# ---------------------------------------------------------------------- the best tree


@given(seed=seeds, k=st.integers(1, 4), preference=st.sampled_from([0.0, 0.5, 2.0]))
def test_the_best_tree_and_its_margins_are_enumerated(seed, k, preference):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(k, k))
    allowed = allow_all_edges(k) & (rng.random((k + 1, k + 1)) < 0.8)
    weights = np.where(allowed, 0.0, -np.inf)
    weights[0] -= preference
    weights[1:, 1:] += scores
    every = {tree: tree_twin.weight_of(weights, tree) for tree in tree_twin.arborescences(k + 1)}
    best = max(every.values())
    if best == -np.inf:
        with pytest.raises(HierarchyError, match="contain no tree"):
            find_best_tree(scores, allowed, preference)
        return
    found = find_best_tree(scores, allowed, preference)
    assert every[(-1, *(found.parents + 1))] == pytest.approx(best)
    for c, p in enumerate(found.parents):
        assert found.scores[c] == pytest.approx(scores[p, c] if p >= 0 else 0.0)
        others = [weight for tree, weight in every.items() if tree[c + 1] != p + 1]
        assert found.margins[c] == pytest.approx(best - max(others, default=-np.inf))


def test_ties_go_to_a_label_rather_than_the_root():
    scores = np.array([[0.0, -1.0], [-9.0, 0.0]])
    assert find_best_tree(scores, allow_all_edges(2), 2.0).parents.tolist() == [-1, 0]
    assert find_best_tree(scores, allow_all_edges(2), 0.5).parents.tolist() == [-1, -1]
    assert find_best_tree(scores, allow_all_edges(2)).parents.tolist() == [-1, -1]


def test_the_star_uses_the_root_if_allowed():
    assert make_star(4, allow_all_edges(4)).parents.tolist() == [-1] * 4
    allowed = allow_all_edges(3)
    allowed[0, 2] = False
    found = make_star(3, allowed)
    assert found.parents[:1].tolist() == [-1]
    assert found.parents[1] >= 0


def test_counts_find_the_tree_of_complete_labels():
    for seed in range(5):
        data = make_label_tree(1000, 8, missing_rate=0.0, random_state=seed)
        np.testing.assert_array_equal(make_count_tree(data.Z, allow_all_edges(8), 1e-3).parents, data.parents)


def test_the_chow_liu_start_is_the_tree_of_mutual_information():
    # In a chain a > b > c, neighbours share more information than distant labels.
    Z = np.array([[1, 1, 1]] * 3 + [[1, 1, 0]] * 3 + [[1, 0, 0]] * 3 + [[0, 0, 0]] * 2)
    assert make_chow_liu_tree(Z, allow_all_edges(3)).parents.tolist() == [-1, 0, 1]
    for order in ([1, 0, 2], [2, 1, 0], [2, 0, 1]):
        found = make_chow_liu_tree(Z[:, order], allow_all_edges(3)).parents
        edges = {(order[p], order[c]) for c, p in enumerate(found) if p >= 0}
        assert edges == {(0, 1), (1, 2)}


@fewer(2)
@given(seed=seeds, k=st.integers(2, 5))
def test_the_chow_liu_start_equals_the_best_spanning_tree(seed, k):
    rng = np.random.default_rng(seed)
    Z = (rng.random((30, k)) < rng.uniform(0.2, 0.8, k)).astype(np.uint8)
    worth = {(i, j): twin.mutual_information(Z[:, i], Z[:, j]) for i in range(k) for j in range(k) if i != j}
    best = max(sum(worth[e] for e in tree) for tree in twin.spanning_trees(k))
    parents = make_chow_liu_tree(Z, allow_all_edges(k)).parents
    counts = Z.sum(axis=0)
    edges = [(p, c) for c, p in enumerate(parents) if p >= 0]
    # With edges only from the more frequent label, a tree may lack edges of a spanning tree but never gain.
    assert sum(worth[e] for e in edges) <= best + 1e-9
    assert all(counts[p] >= counts[c] for p, c in edges)
    for p, c in edges:
        more = [worth[q, c] for q in range(k) if counts[q] > counts[c]]
        assert worth[p, c] >= max(more, default=0.0) - 1e-9


# ---------------------------------------------------------------------- missing rates


def test_rates_by_hand():
    # a > b > c, and d apart. Rows: c alone; a, b and c; b alone; a alone; d alone.
    Z = np.array([[0, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    tree = LabelHierarchy.from_parents([-1, 0, 1, -1])
    shared, own, n_cells = estimate_anchored_rates(Z, tree)
    # a is certain in the first three rows and recorded in one; b in the first two, and recorded in one.
    assert n_cells == 5
    assert shared == pytest.approx(3 / 5)
    # the mean rate weighs 2/3 of a by 3/23 and 1/2 of b by 2/22; c and d have the mean rate
    mean = (3 / 23 * 2 / 3 + 2 / 22 / 2) / (3 / 23 + 2 / 22)
    kept = 20 * (1 - mean)
    np.testing.assert_allclose(own, [1 - (1 + kept) / 23, 1 - (1 + kept) / 22, mean, mean])


def test_without_a_label_below_another_there_is_no_rate():
    star_of = LabelHierarchy(["a", "b"])
    shared, own, n_cells = estimate_anchored_rates(np.eye(2), star_of)
    assert n_cells == 0
    assert np.isnan(shared)
    assert np.isnan(own).all()


@given(seed=seeds, k=st.integers(2, 6), graph=st.booleans())
def test_rates_equal_a_loop_over_rows(seed, k, graph):
    rng = np.random.default_rng(seed)
    Z = (rng.random((25, k)) < 0.3).astype(np.uint8)
    if graph:
        rank = rng.permutation(k)
        edges = [(i, j) for i in range(k) for j in range(k) if rank[i] < rank[j] and rng.random() < 0.4]
        tree = LabelHierarchy([f"l{c}" for c in range(k)], edges)
    else:
        tree = LabelHierarchy.from_parents(draw_parents(rng, k))
    certain, found = twin.anchors(Z, tree.parent_lists)
    shared, own, n_cells = estimate_anchored_rates(Z, tree)
    assert n_cells == certain.sum()
    if n_cells:
        wanted = min(1 - found.sum() / certain.sum(), 0.95)
        assert shared == pytest.approx(wanted)
        inner = certain > 0
        mean = np.average(1 - found[inner] / certain[inner], weights=certain[inner] / (certain[inner] + 20))
        np.testing.assert_allclose(
            own, np.minimum(1 - (found + 20 * (1 - mean)) / (certain + 20), 0.95), atol=1e-12
        )


@pytest.mark.parametrize("missing_rate", [0.1, 0.2, 0.3])
def test_the_true_tree_is_learned(missing_rate):
    exact = 0
    for seed in range(8):
        data = make_label_tree(2000, 12, missing_rate=missing_rate, random_state=seed)
        Z = data.Z.astype(np.uint8)
        found = learn_tree(Z, allow_all_edges(12), 1e-3, None)
        given_rate = learn_tree(Z, allow_all_edges(12), 1e-3, missing_rate)
        assert (found.parents != data.parents).sum() <= 1
        exact += np.array_equal(found.parents, data.parents)
        assert (given_rate.parents != data.parents).sum() <= 1
    assert exact >= 7


def test_the_margin_is_small_where_the_tree_errs():
    data = make_label_tree(2000, 12, missing_rate=0.3, random_state=3)
    found = learn_tree(data.Z.astype(np.uint8), allow_all_edges(12), 1e-3, None)
    wrong = found.parents != data.parents
    if wrong.any():
        assert found.margins[wrong].max() < np.median(found.margins[~wrong])


@pytest.mark.parametrize(
    ("n", "k", "share"), [(2000, 40, 0.05), (500, 12, 0.3), (1000, 5, 0.2), (500, 20, 0.5)]
)
def test_unrelated_labels_are_children_of_the_root(n, k, share):
    # A rate at which every row has all labels and most are not recorded would fit equally well.
    for seed in range(5):
        Z = (np.random.default_rng(seed).random((n, k)) < share).astype(np.uint8)
        assert (learn_tree(Z, allow_all_edges(k), 1e-3, None).parents == -1).mean() > 0.9


def test_a_label_never_recorded_is_a_child_of_the_root_if_allowed():
    data = make_label_tree(300, 4, missing_rate=0.1, random_state=0)
    Z = np.column_stack([data.Z, np.zeros(300)]).astype(np.uint8)
    found = learn_tree(Z, allow_all_edges(5), 1e-3, None)
    np.testing.assert_array_equal(found.parents, [*data.parents, -1])
    allowed = allow_all_edges(5)
    allowed[[0, 1, 2, 4], 5] = False
    assert learn_tree(Z, allowed, 1e-3, None).parents[4] == 2


@fewer(2)
@given(seed=seeds)
def test_the_order_of_labels_and_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    data = make_label_tree(400, 7, missing_rate=0.2, random_state=int(rng.integers(1000)))
    Z = data.Z.astype(np.uint8)
    order = rng.permutation(7)
    found = learn_tree(Z, allow_all_edges(7), 1e-3, None)
    other = learn_tree(Z[rng.permutation(400)][:, order], allow_all_edges(7), 1e-3, None)
    edges = {(p, c) for c, p in enumerate(found.parents)}
    moved = {(order[p] if p >= 0 else -1, order[c]) for c, p in enumerate(other.parents)}
    assert moved == edges
    np.testing.assert_allclose(other.margins, found.margins[order], atol=1e-6)
