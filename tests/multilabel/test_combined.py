"""Combined marginals: weights by hand, laws, and unions that a product cannot describe."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from likewise.datasets import make_label_tree
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import BinaryRelevance, LatentHierarchyClassifier
from likewise.multilabel._combined import _combine, _log_odds, _maximise_likelihood, iterate_folds


def unions(n=1200, seed=0):
    """Return nine classes on a ring, in three groups of classes that are far from one another."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(9, size=n)
    angle = classes * 2 * np.pi / 9
    X = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.6 * rng.normal(size=(n, 2))
    Y = np.column_stack([classes[:, None] == np.arange(9), classes[:, None] % 3 == np.arange(3)])
    tree = LabelHierarchy(
        [*(f"c{k}" for k in range(9)), *(f"g{k}" for k in range(3))],
        [(f"g{k % 3}", f"c{k}") for k in range(9)],
    )
    return X, Y, tree


def macro(Y, found):
    return f1_score(Y, found, average="macro", zero_division=0)


# ---------------------------------------------------------------------- by hand


def test_three_probabilities_by_hand():
    # a > b, a > c: below a are b and c; a leaf has its own probability there.
    tree = LabelHierarchy(["a", "b", "c"], [("a", "b"), ("a", "c")])
    by_tree, alone = np.array([[0.5, 0.2, 0.1]]), np.array([[0.6, 0.3, 0.5]])
    odds = _log_odds(by_tree, alone, tree)
    np.testing.assert_allclose(
        expit(odds[0]).T, [[0.5, 0.2, 0.1], [0.6, 0.3, 0.5], [1 - 0.7 * 0.5, 0.3, 0.5]]
    )
    # with all weight on the separate classifiers, c is more probable than b, and a as probable as c
    weights = np.tile([0.0, 1.0, 0.0], (3, 1))
    np.testing.assert_allclose(_combine(odds, weights, np.zeros(3), tree), [[0.6, 0.3, 0.5]])
    np.testing.assert_allclose(_combine(odds, weights, np.array([0, 0, 2.0]), tree)[0, 0], expit(2.0))


def test_weights_maximise_the_likelihood_of_records_with_gaps():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(6000, 1)) * 2
    present = rng.random(6000) < expit(0.7 * odds[:, 0] - 1.0)
    z = present & (rng.random(6000) < 0.6)
    np.testing.assert_allclose(
        _maximise_likelihood(odds, z, np.full(6000, 0.6), np.array([1.0, 0.0]), 1e-6), [0.7, -1.0], atol=0.15
    )
    # a label with few records keeps the common weights
    few = _maximise_likelihood(odds[:3], z[:3], np.full(3, 0.6), np.array([1.0, 0.5]), 10.0)
    np.testing.assert_allclose(few, [1.0, 0.5], atol=0.3)

    def value(at):
        s = expit(odds[:, 0] * at[0] + at[1])
        return -np.log(np.where(z, 0.6 * s, 1 - 0.6 * s)).sum()

    best = _maximise_likelihood(odds, z, np.full(6000, 0.6), np.zeros(2), 0.0)
    assert all(value(best) <= value(best + step) for step in 0.01 * np.vstack([np.eye(2), -np.eye(2)]))


def test_folds_follow_from_rows_and_not_from_their_order():
    rng = np.random.default_rng(0)
    key = rng.normal(size=23)
    order = rng.permutation(23)
    plain = [set(key[test]) for _, test in iterate_folds(key)]
    mixed = [set(key[order][test]) for _, test in iterate_folds(key[order])]
    assert plain == mixed
    assert sorted(len(fold) for fold in plain) == [4, 4, 5, 5, 5]
    for train, test in iterate_folds(key):
        assert sorted([*train, *test]) == list(range(23))
    assert [len(test) for _, test in iterate_folds(np.zeros(1))] == [1]


# ---------------------------------------------------------------------- laws


@pytest.mark.parametrize("structure", ["tree", "dag"])
def test_combined_probabilities_respect_the_hierarchy_in_any_row_order(structure):
    data = make_label_tree(500, 6, missing_rate=0.3, random_state=1)
    model = LatentHierarchyClassifier(structure=structure, tol=1e-7, max_iter=1000).fit(data.X, data.Z)
    chances = model.predict_proba(data.X)
    assert ((chances >= 0) & (chances <= 1)).all()
    for c, parents in enumerate(model.hierarchy_.parent_lists):
        for p in parents:
            assert (chances[:, c] <= chances[:, p]).all()
    rows = np.random.default_rng(0).permutation(500)
    other = LatentHierarchyClassifier(structure=structure, tol=1e-7, max_iter=1000)
    other.fit(data.X[rows], data.Z[rows])
    np.testing.assert_allclose(other.predict_proba(data.X), chances, atol=0.01)
    np.testing.assert_allclose(other.thresholds_, model.thresholds_, atol=0.05)


def test_a_tree_without_edges_has_nothing_to_combine():
    data = make_label_tree(300, 4, missing_rate=0.2, random_state=0)
    combined, product = (
        LatentHierarchyClassifier(start="star", marginals=how).fit(data.X, data.Z)
        for how in ("combined", "tree")
    )
    np.testing.assert_array_equal(combined.predict_proba(data.X), product.predict_proba(data.X))
    np.testing.assert_array_equal(combined.thresholds_, product.thresholds_)


def test_few_rows_and_labels_never_recorded_are_accepted():
    X, Y = (
        np.arange(6.0)[:, None],
        np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0]]),
    )
    for n in (1, 2, 6):
        model = LatentHierarchyClassifier([("0", "1")]).fit(X[:n], Y[:n])
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.thresholds_).all()


# ---------------------------------------------------------------------- what it is for


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_macro_f1_exceeds_binary_relevance_for_unions_of_dissimilar_labels(missing_rate):
    X, Y, tree = unions()
    new, new_Y, _ = unions(seed=1)
    Z = Y & (np.random.default_rng(2).random(Y.shape) >= missing_rate)
    plain = BinaryRelevance(missing_rate=missing_rate).fit(X, Z)
    theirs = macro(new_Y, plain.predict(new))
    edges = [(str(tree.names.index(p)), str(tree.names.index(c))) for p, c in tree.edges]
    product = LatentHierarchyClassifier(edges, marginals="tree", threshold=0.5).fit(X, Z)
    assert macro(new_Y, product.predict(new)) < theirs  # the product alone cannot describe the groups
    for hierarchy in (edges, None):
        ours = macro(new_Y, LatentHierarchyClassifier(hierarchy).fit(X, Z).predict(new))
        assert ours > theirs + 0.02


def test_calibrate_sets_thresholds_on_combined_probabilities():
    X, Y, _ = unions()
    model = LatentHierarchyClassifier().fit(X, Y)
    before = model.thresholds_.copy()
    model.calibrate(*unions(seed=3)[:2])
    assert (model.thresholds_ != before).any()
    odds = model.decision_function(X)
    np.testing.assert_array_equal(odds > 0, model.predict(X) == 1)
    np.testing.assert_allclose(expit(odds + logit(model.thresholds_)), model.predict_proba(X), atol=1e-9)
