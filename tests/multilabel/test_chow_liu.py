"""The Chow–Liu tree: against enumeration of trees and of labellings, and by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from likewise.multilabel import BinaryRelevance, ChowLiuTree
from likewise.multilabel._chow_liu import (
    compute_marginals,
    compute_mutual_information,
    direct_edges,
    exchange_margins,
    find_spanning_tree,
    find_tree_maximum,
)
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def draw_case(seed, n, k):
    """Return labels that depend on each other."""
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 2, size=(n, k))
    for j in range(1, k):
        copied = rng.random(n) < rng.random()
        Y[copied, j] = Y[copied, rng.integers(j)]
    return Y


def random_parents(rng, k):
    """Draw a forest, with its labels in any order."""
    names = rng.permutation(k)
    parents = np.full(k, -1)
    for at in range(1, k):
        if rng.random() < 0.8:
            parents[names[at]] = names[rng.integers(at)]
    return parents, names


@given(seeds, st.integers(1, 30), st.integers(1, 5))
def test_mutual_information_is_summed_cell_by_cell(seed, n, k):
    Y = draw_case(seed, n, k)
    found = compute_mutual_information(Y)
    wanted = [[twin.mutual_information(Y[:, i], Y[:, j]) for j in range(k)] for i in range(k)]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def test_smoothing_adds_rows():
    Y = np.array([[1, 1], [0, 0]] * 4)
    more = np.vstack([Y, [[1, 1], [1, 0], [0, 1], [0, 0]]])
    np.testing.assert_allclose(
        compute_mutual_information(Y, 4.0)[0, 1], compute_mutual_information(more)[0, 1]
    )
    np.testing.assert_allclose(compute_mutual_information(Y, 4.0)[0, 0], np.log(2))


@given(seeds, st.integers(1, 5))
def test_the_tree_maximises_mutual_information(seed, k):
    worth = np.random.default_rng(seed).integers(0, 4, size=(k, k)).astype(float)
    worth += worth.T
    edges = list(map(tuple, find_spanning_tree(worth).tolist()))
    every = list(twin.spanning_trees(k))
    assert len(every) == (k ** (k - 2) if k > 1 else 1)
    assert frozenset(edges) in every
    assert sum(worth[e] for e in edges) == max(sum(worth[e] for e in tree) for tree in every)


def test_edges_without_information_form_a_tree():
    assert find_spanning_tree(np.zeros((4, 4))).tolist() == [[0, 1], [0, 2], [0, 3]]


@given(seeds, st.integers(2, 5))
def test_a_margin_is_the_loss_of_the_best_tree_without_the_edge(seed, k):
    worth = np.random.default_rng(seed).normal(size=(k, k))
    worth += worth.T
    tree = find_spanning_tree(worth)
    parents = direct_edges(tree, np.arange(k))
    totals = {edges: sum(worth[e] for e in edges) for edges in twin.spanning_trees(k)}
    for child, margin in enumerate(exchange_margins(worth, tree, parents)):
        if parents[child] < 0:
            assert margin == 0
            continue
        edge = tuple(sorted((child, int(parents[child]))))
        others = [total for edges, total in totals.items() if edge not in edges]
        np.testing.assert_allclose(margin, max(totals.values()) - max(others) if others else np.inf)


def test_the_most_frequent_label_of_each_part_is_its_root():
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    assert direct_edges(edges, np.array([5, 3, 9, 2, 2])).tolist() == [1, 2, -1, -1, 3]


@given(seeds, st.integers(1, 6))
def test_sums_along_the_tree_are_sums_over_all_labellings(seed, k):
    rng = np.random.default_rng(seed)
    parents, order = random_parents(rng, k)
    given_parent = rng.random((2, 3, k))
    shares = compute_marginals(given_parent, parents, order)
    log_p = np.log(np.stack([1 - given_parent, given_parent]))
    best = find_tree_maximum(log_p, parents, order)
    every = twin.labellings(k)
    for i in range(3):
        joint = np.array([twin.tree_joint(given_parent[:, i], parents, y) for y in every])
        np.testing.assert_allclose(joint.sum(), 1)
        np.testing.assert_allclose(shares[i], joint @ every)
        np.testing.assert_allclose(twin.tree_joint(given_parent[:, i], parents, best[i]), joint.max())


PETS = pd.DataFrame(
    {"cat": [0, 0, 0, 0, 0, 1] * 10, "animal": [0, 0, 0, 1, 1, 1] * 10, "dog": [0, 0, 0, 1, 1, 0] * 10}
)
WHERE = np.tile(np.arange(6.0), 10)[:, None]


def test_a_hierarchy_by_hand():
    model = ChowLiuTree().fit(WHERE, PETS)
    assert model.tree_.tolist() == [[0, 1], [1, 2]]
    assert model.hierarchy_.names == ("cat", "animal", "dog")
    assert model.hierarchy_.edges == (("animal", "cat"), ("animal", "dog"))
    assert model.hierarchy_.counts.tolist() == [10, 30, 20]
    # I(animal, dog) = H(1/3) - H(2/3) / 2 and I(animal, cat) = H(1/6) - H(1/3) / 2, while
    # I(cat, dog) = H(1/6) - 2/3 H(1/4).
    third, sixth, quarter = (-p * np.log(p) - (1 - p) * np.log(1 - p) for p in (1 / 3, 1 / 6, 1 / 4))
    dog, cat, apart = third / 2, sixth - third / 2, sixth - 2 / 3 * quarter
    np.testing.assert_allclose(model.hierarchy_.scores, [60 * cat, 0, 60 * dog])
    np.testing.assert_allclose(model.hierarchy_.margins, [60 * (cat - apart), 0, 60 * (dog - apart)])
    assert model.predict([[0.0], [3.5], [5.0]]).tolist() == [[0, 0, 0], [0, 1, 1], [1, 1, 0]]


def test_significant_or_attracting_edges_are_kept():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, size=400)  # two exclusive kinds, each with a subset; and noise
    Y = np.column_stack([kind < 2, kind == 0, kind >= 2, kind == 3, rng.random(400) < 0.5]).astype(int)
    Y[:, :4] *= rng.random((400, 1)) < 0.8
    X = rng.normal(size=(400, 1))
    found = {
        edges: ChowLiuTree(edges=edges).fit(X, Y).hierarchy_ for edges in ("all", "significant", "attracting")
    }
    assert len(found["all"].edges) == 4
    assert len(found["significant"].edges) == 3
    assert "4" in found["significant"].tops
    assert found["attracting"].edges == (("0", "1"), ("2", "3"))
    assert found["attracting"].tops == ("0", "2", "4")


def test_regressions_see_the_row_and_the_parent():
    X, Y = np.random.default_rng(0).normal(size=(60, 2)), PETS
    model = ChowLiuTree(C=0.5).fit(X, Y)
    rows = np.column_stack([X, 10 * Y["animal"]])
    cat = LogisticRegression(C=0.5, max_iter=1000).fit(rows, Y["cat"])
    np.testing.assert_allclose(model.coef_[0], cat.coef_[0, :2])
    np.testing.assert_allclose(model.parent_coef_[0], 10 * cat.coef_[0, 2])
    animal = BinaryRelevance(C=0.5).fit(X, Y[["animal"]])
    np.testing.assert_allclose(model.predict_proba(X)[:, [1]], animal.predict_proba(X))
    own, with_parent = expit(model._log_odds(X))[:, :, 0]
    p = animal.predict_proba(X)[:, 0]
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], p * with_parent + (1 - p) * own)


def test_a_label_that_implies_its_parent_is_improbable_without_it():
    without, with_parent = expit(ChowLiuTree().fit(0 * WHERE, PETS)._log_odds(0 * WHERE[:1]))
    assert (without[0, [0, 2]] < 0.05).all()
    np.testing.assert_allclose(with_parent[0, [0, 2]], [1 / 3, 2 / 3], atol=0.01)


def test_the_most_probable_labelling_is_enumerated():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    Y = (X @ rng.normal(size=(2, 4)) + rng.normal(size=(80, 4)) > 0.3).astype(int)
    model = ChowLiuTree(prediction="map", threshold=0.01).fit(X, Y)
    given_parent, parents = expit(model._log_odds(X[:20])), model.hierarchy_.parents
    for i, found in enumerate(model.predict(X[:20])):
        joint = [twin.tree_joint(given_parent[:, i], parents, y) for y in twin.labellings(4)]
        np.testing.assert_allclose(twin.tree_joint(given_parent[:, i], parents, found), max(joint))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"edges": "some"}, "edges must be one of 'all'"),
        ({"significance": 2}, "significance must be a number from 0 to 1"),
        ({"smoothing": -1}, "smoothing must be a number of at least 0"),
        ({"prediction": "best"}, "prediction must be one of"),
        ({"C": -1}, "C must be"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        ChowLiuTree(**params).fit(WHERE, PETS)
