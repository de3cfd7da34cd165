"""Labels with several parents: messages against enumeration, and further parents that labels support."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import make_label_tree
from likewise.hierarchy import LabelHierarchy, PartialHierarchy
from likewise.multilabel import LatentHierarchyClassifier
from likewise.multilabel._em import compute_graph_posterior
from likewise.multilabel._label_trees import (
    allow_all_edges,
    count_pairs,
    estimate_anchored_rates,
    with_further_parents,
)
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)
DIAMOND = LabelHierarchy(list("abcd"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


def enumerate_labels(hierarchy, logits, eps, Z, keep):
    rows = [
        twin.graph_by_enumeration(hierarchy.parent_lists, logit, eps, z, keep)
        for logit, z in zip(logits, Z, strict=True)
    ]
    one, both, above, log_likelihood = (np.array(part) for part in zip(*rows, strict=True))
    return one, both, above, log_likelihood.sum()


def draw_rows(rng, k, n=4, scale=3.0):
    """Return logits, eps, recorded labels and keep, for rows with a positive probability."""
    logits = rng.uniform(-scale, scale, (n, k))
    eps = rng.choice([1e-6, 1e-3, 0.02], k)
    keep = rng.choice([0.3, 0.8, 1.0], k)
    return logits, eps, (rng.random((n, k)) < 0.3).astype(np.uint8), keep


@given(seed=seeds, k=st.integers(1, 6), scale=st.sampled_from([1.0, 5.0, 30.0]))
def test_on_a_tree_messages_are_exact(seed, k, scale):
    rng = np.random.default_rng(seed)
    parents = np.array([rng.integers(-1, c) if c else -1 for c in range(k)])
    tree = LabelHierarchy.from_parents(parents)
    logits, eps, Z, keep = draw_rows(rng, k, scale=scale)
    found = compute_graph_posterior(tree, logits, eps, Z, keep)
    for ours, wanted in zip(found, enumerate_labels(tree, logits, eps, Z, keep), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-7, atol=1e-9)


def test_two_parents_by_hand():
    # Only c is recorded, which needs a and b: with eps at 0 both are certainly present.
    graph = LabelHierarchy(list("abc"), [("a", "c"), ("b", "c")])
    one, both, above, log_likelihood = compute_graph_posterior(
        graph, np.zeros((1, 3)), np.full(3, 1e-12), np.array([[0, 0, 1]]), np.full(3, 0.5)
    )
    np.testing.assert_allclose(one, 1.0, atol=1e-9)
    np.testing.assert_allclose(both, 1.0, atol=1e-9)
    np.testing.assert_allclose(above, 1.0, atol=1e-9)
    # a, b present and not recorded: (1/2 · 1/2)²; c present under both and recorded: 1/2 · 1/2
    assert log_likelihood == pytest.approx(3 * np.log(1 / 4))


@given(seed=seeds, scale=st.sampled_from([1.0, 5.0, 40.0]), keep=st.sampled_from([0.5, 0.8, 1.0]))
def test_a_graph_without_loops_is_exact_for_extreme_classifiers(seed, scale, keep):
    rng = np.random.default_rng(seed)
    graph = LabelHierarchy(list("abcde"), [("a", "c"), ("b", "c"), ("c", "d"), ("b", "e")])
    logits, eps, Z, _ = draw_rows(rng, 5, scale=scale)
    logits = scale * np.sign(logits) if seed % 2 else logits
    found = compute_graph_posterior(graph, logits, eps, Z, np.full(5, keep))
    for ours, wanted in zip(found, enumerate_labels(graph, logits, eps, Z, np.full(5, keep)), strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-7)


def test_on_small_graphs_the_mean_error_of_probabilities_is_about_a_hundredth():
    rng = np.random.default_rng(0)
    off, of_likelihood = [], []
    for _ in range(40):
        k = int(rng.integers(4, 7))
        edges = [(p, c) for c in range(1, k) for p in range(c) if rng.random() < 0.5]
        graph = LabelHierarchy([f"l{c}" for c in range(k)], edges)
        logits, _, Z, _ = draw_rows(rng, k, n=5)
        eps, keep = np.full(k, 1e-3), np.full(k, 0.7)
        found, wanted = (
            compute_graph_posterior(graph, logits, eps, Z, keep),
            enumerate_labels(graph, logits, eps, Z, keep),
        )
        off += [np.abs(ours - exact).mean() for ours, exact in zip(found[:3], wanted[:3], strict=True)]
        of_likelihood.append(abs(found[3] - wanted[3]) / 5)
    assert np.mean(off) < 0.015
    assert np.mean(of_likelihood) < 0.1


@given(seed=seeds)
def test_probabilities_on_a_loop_are_between_0_and_1(seed):
    rng = np.random.default_rng(seed)
    logits, eps, Z, keep = draw_rows(rng, 4, n=6, scale=20.0)
    one, both, above, log_likelihood = compute_graph_posterior(DIAMOND, logits, eps, Z, keep)
    for chance in (one, both, above):
        assert ((chance >= 0) & (chance <= 1 + 1e-12)).all()
    assert (one[Z == 1] == 1).all()
    assert (one[:, keep == 1] == Z[:, keep == 1]).all()
    assert (both <= above + 1e-9).all()
    assert np.isfinite(log_likelihood)


def test_with_nothing_recorded_messages_only_go_down():
    logits = np.array([[0.3, -1.0, 0.5, 2.0], [1.0, 1.0, 1.0, 1.0]])
    tree = LabelHierarchy(list("abcd"), [("a", "b"), ("a", "c"), ("b", "d")])
    none, eps = np.zeros((2, 4), dtype=np.uint8), np.full(4, 0.01)
    one, _, _, log_likelihood = compute_graph_posterior(tree, logits, eps, none, np.zeros(4))
    s = 1 / (1 + np.exp(-logits))
    b = s[:, 0] * s[:, 1] + (1 - s[:, 0]) * 0.01
    np.testing.assert_allclose(one[:, 3], b * s[:, 3] + (1 - b) * 0.01)
    assert log_likelihood == pytest.approx(0.0, abs=1e-9)


# ---------------------------------------------------------------------- further parents


def plant_labels(seed, n=3000, missing_rate=0.2):
    """Return rows in which 2 implies 0 and 1, which are independent, and 3 implies only 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    likely = X + 0.5 * rng.logistic(size=X.shape) > [0.0, 0.0, -0.3, 0.0]
    Y = likely & np.column_stack([np.ones((n, 2), bool), likely[:, 0] & likely[:, 1], likely[:, 0]])
    return X, Y, (Y & (rng.random(Y.shape) >= missing_rate)).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_second_parent_is_found(seed):
    X, Y, Z = plant_labels(seed)
    model = LatentHierarchyClassifier(structure="dag").fit(X, Z)
    assert set(model.hierarchy_.edges) == {("0", "2"), ("1", "2"), ("0", "3")}
    assert not model.hierarchy_.is_tree
    assert model.missing_rate_ == pytest.approx(0.2, abs=0.05)
    assert model.hierarchy_.margins[2] > 0
    assert (np.diff(model.objective_history_) >= -1e-3).all()
    # a row with only 2 recorded has both of its parents
    completed = model.complete_labels(X, Z)
    alone = (Z[:, 2] == 1) & (Z[:, 0] == 0) & (Z[:, 1] == 0)
    assert alone.any()
    assert np.median(completed[alone][:, :2]) > 0.9
    assert (completed[Z == 1] == 1).all()
    chances = model.predict_proba(X)
    for p in (0, 1):
        assert (chances[:, 2] <= chances[:, p] + model.relaxations_[2] + 1e-12).all()
    assert ((chances > 0.5) == Y).mean() > 0.8


def test_probabilities_of_a_graph_are_close_to_enumeration():
    X, _, Z = plant_labels(0, n=500)
    model = LatentHierarchyClassifier(
        [("0", "2"), ("1", "2"), ("0", "3")], relaxation=1e-6, marginals="tree"
    ).fit(X, Z)
    logits = X @ model.coef_.T + model.intercept_
    nothing = np.zeros((20, 4), dtype=int)
    wanted, *_ = enumerate_labels(model.hierarchy_, logits[:20], model.relaxations_, nothing, np.zeros(4))
    np.testing.assert_allclose(model.predict_proba(X[:20]), wanted, atol=1e-5)


def test_trees_get_no_further_parents():
    spared = 0
    for seed in range(10):
        data = make_label_tree(2000, 8, missing_rate=0.2, random_state=seed)
        tree = LabelHierarchy.from_parents(data.parents)
        known = LabelHierarchy(tree.names, tree.edges, margins=np.full(8, np.inf))
        rate, _, _ = estimate_anchored_rates(data.Z, tree)
        found = with_further_parents(known, count_pairs(data.Z), 2000, np.full(8, rate), allow_all_edges(8))
        spared += found.edges == tree.edges
    assert spared >= 9


def test_reports_about_edges_include_further_parents():
    X, _, Z = plant_labels(0)
    for partial in (PartialHierarchy(fixed=[("0", "2")]), PartialHierarchy(forbidden=[("1", "2")])):
        model = LatentHierarchyClassifier(partial, structure="dag").fit(X, Z)
        assert set(model.hierarchy_.edges) == {("0", "2"), ("0", "3")}


def test_a_graph_without_missing_labels_has_a_likelihood():
    X, Y, _ = plant_labels(0, n=300)
    model = LatentHierarchyClassifier(structure="dag", missing_rate=0).fit(X, Y)
    assert np.isfinite(model.objective_history_).all()
    np.testing.assert_array_equal(model.complete_labels(X, Y), Y)
    exact = enumerate_labels(
        model.hierarchy_, X @ model.coef_.T + model.intercept_, model.relaxations_, Y.astype(int), np.ones(4)
    )
    assert model.log_likelihood_ == pytest.approx(exact[3])


def test_the_most_probable_labelling_needs_a_tree():
    X, _, Z = plant_labels(0, n=200)
    with pytest.raises(ValueError, match="decode='map' needs structure='tree'"):
        LatentHierarchyClassifier(structure="dag", decode="map").fit(X, Z)
    with pytest.raises(ValueError, match=r"decode='map' needs a tree.*several parents"):
        LatentHierarchyClassifier([("0", "2"), ("1", "2")], decode="map").fit(X, Z)
