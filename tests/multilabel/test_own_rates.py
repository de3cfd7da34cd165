"""Missing rates that differ by label: trees, tests of random gaps, and rates that cannot be estimated."""

import numpy as np
import pytest

from likewise.datasets import make_label_tree
from likewise.evaluation import ancestor_f1
from likewise.hierarchy import LabelHierarchy, PartialHierarchy
from likewise.multilabel import LatentHierarchyClassifier
from likewise.multilabel._label_trees import find_certain_labels
from likewise.multilabel._own_rates import (
    compute_exchange_evidence,
    compute_log_likelihood,
    has_different_rates,
    run_gap_test,
)


def unequal(seed, n=2000, k=15, spread=0.4):
    """Return a generated tree with missing rates drawn uniformly within `spread` of 0.3 and clipped at 0."""
    data = make_label_tree(n, k, n_features=20, missing_rate=0.0, random_state=seed)
    rng = np.random.default_rng(seed + 7)
    rates = np.clip(0.3 + rng.uniform(-spread, spread, k), 0.0, 0.95)
    return data, rates, (data.Y & (rng.random(data.Y.shape) >= rates)).astype(np.uint8)


def n_wrong(model, data):
    return int((model.hierarchy_.parents != data.parents).sum())


@pytest.mark.parametrize(
    "seed", [44, 52, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (46, 50, 51))]
)
def test_the_tree_is_found_if_rates_differ_by_label(seed):
    data, rates, Z = unequal(seed)
    model = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X, Z)
    assert n_wrong(model, data) <= 1
    inner = np.unique(data.parents[data.parents >= 0])
    assert np.abs(model.missing_rates_ - rates)[inner].mean() < 0.05
    # a shared rate does not recover the tree
    shared = LatentHierarchyClassifier(missing_rate="shared", max_iter=5, tol=1.0).fit(data.X, Z)
    assert n_wrong(shared, data) > n_wrong(model, data)


def test_labels_without_children_are_reported_to_have_no_rate():
    data, _, Z = unequal(50)
    model = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X, Z)
    inner = np.unique(model.hierarchy_.parents[model.hierarchy_.parents >= 0])
    np.testing.assert_array_equal(np.flatnonzero(model.rate_is_known_), inner)
    summary = model.summary()
    assert summary.rates_differ
    assert len(summary.unknown_rates) == 15 - len(inner)
    assert f"missing rates of {15 - len(inner)} label(s) with no recorded label below" in str(summary)


@pytest.mark.parametrize("missing_rate", ["auto", "per-label"])
def test_equal_rates_do_not_worsen_the_tree(missing_rate):
    data = make_label_tree(1500, 12, missing_rate=0.3, random_state=5)
    model = LatentHierarchyClassifier(missing_rate=missing_rate, max_iter=5, tol=1.0).fit(data.X, data.Z)
    assert n_wrong(model, data) == 0
    if missing_rate == "auto":
        assert len(set(model.missing_rates_)) == 1
        assert model.rate_is_known_.all()


def test_fixed_edges_are_kept_if_features_predict_the_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0])
    model = LatentHierarchyClassifier(PartialHierarchy(fixed=[("0", "1")]), missing_rate="per-label")
    assert model.fit(X, Y).hierarchy_.edges == (("0", "1"),)


def test_random_gaps_pass_and_overlaps_fail_the_test():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    parent, other = X[:, 0] > -0.3, X[:, 1] > -0.3
    child = parent & (X[:, 2] > 0)
    Z = np.column_stack([parent & (rng.random(2000) < 0.5), child, other]).astype(np.uint8)
    test = run_gap_test(X, Z, 1.0)
    assert test.evidence[0, 1] < 0  # half of the records of the parent are missing at random
    assert test.evidence[2, 1] > 50  # the features predict which rows with the child have the other label
    assert test.excluded[2, 1]
    assert not test.excluded[0, 1]
    assert not test.excluded.diagonal().any()


def test_different_rates_by_hand():
    tree = LabelHierarchy.from_parents([-1, 0, -1, 2])
    Z = np.zeros((400, 4), dtype=np.uint8)
    Z[:200, 1], Z[200:, 3] = 1, 1  # both parents are present in 200 rows each
    Z[:100, 0], Z[200:300, 2] = 1, 1
    assert not has_different_rates(Z, tree)
    Z[:180, 0] = 1
    assert has_different_rates(Z, tree)
    assert not has_different_rates(Z, LabelHierarchy.from_parents([-1, 0, -1, -1]))  # one rate alone


def test_the_likelihood_of_records_by_hand():
    Z = np.zeros((100, 2), dtype=np.uint8)
    Z[:60, 0], Z[:20, 1] = 1, 1
    p, c = LabelHierarchy.from_parents([-1, 0]), LabelHierarchy.from_parents([-1, -1])

    def binomial(k, n):
        return k * np.log(k / n) + (n - k) * np.log(1 - k / n)

    none = np.zeros(2)
    chain = compute_log_likelihood(Z, p, none, 1e-6)
    np.testing.assert_allclose(chain, binomial(60, 100) + binomial(20, 60), atol=0.01)
    # a rate too small to affect the fit: any fraction of recorded labels can be explained
    star = compute_log_likelihood(Z, c, np.array([0.3, 0.3]), 1e-6, max_iter=500)
    np.testing.assert_allclose(star, binomial(60, 100) + binomial(20, 100), atol=0.05)


# ---------------------------------------------------------------------- the choice between starts


@pytest.mark.parametrize(
    ("seed", "missing_rate"),
    [
        (1001, 0.0),
        (1002, 0.2),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1001, 0.02), (1001, 0.2), (1002, 0.02))),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one iteration is enough here
def test_the_default_is_as_close_to_the_tree_as_the_better_start(seed, missing_rate):
    data = make_label_tree(300, 40, max_depth=8, missing_rate=missing_rate, random_state=seed)
    true = LabelHierarchy.from_parents(data.parents)
    found = {
        start: ancestor_f1(
            true, LatentHierarchyClassifier(start=start, max_iter=1, tol=1e9).fit(data.X, data.Z).hierarchy_
        )
        for start in ("auto", "inclusion", "counts")
    }
    assert found["auto"] >= max(found["inclusion"], found["counts"]) - 0.03
    if missing_rate <= 0.02:
        assert found["auto"] > 0.98


# ---------------------------------------------------------------------- what the data do not determine


def test_a_label_that_equals_its_only_child_is_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    animal, plant = X[:, 0] > 0, X[:, 1] > 0.2
    cat = animal & (X[:, 2] > 0)
    Y = np.column_stack([animal, cat, plant, plant]) & (rng.random((600, 4)) >= 0.2)
    model = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(X, Y)
    assert {tuple(sorted(pair)) for pair in model.indistinguishable_} == {("2", "3")}
    assert "do not determine which of these is above the other" in str(model.summary())
    # the child is on half of the parent's rows, so they are distinguished
    assert ("0", "1") in model.hierarchy_.edges


def test_labels_that_neither_records_nor_features_order_are_reported():
    data, _, Z = unequal(43)  # the features do not predict label 8 among rows with label 1, its true parent
    model = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X, Z)
    assert model.indistinguishable_ == (("1", "8"),)
    summary = model.summary()
    assert "do not determine which of these is above the other: 1 > 8." in str(summary)
    wrong = np.flatnonzero(model.hierarchy_.parents != data.parents)
    assert len(wrong) <= 1
    assert {str(c) for c in wrong} <= {child for _, child in summary.guesses}


def test_without_features_most_edges_are_reported_if_rates_differ():
    Z = unequal(110)[2]
    nothing = np.random.default_rng(0).normal(size=(len(Z), 2))
    model = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(nothing, Z)
    assert len(model.indistinguishable_) > len(model.hierarchy_.edges) / 2


@pytest.mark.parametrize("seed", [43, 53, pytest.param(51, marks=pytest.mark.slow)])
def test_the_order_that_the_features_favour_is_chosen(seed):
    data, _, Z = unequal(seed)
    found = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X, Z).hierarchy_
    true = LabelHierarchy.from_parents(data.parents)
    assert not [(p, c) for p, c in true.edges if (c, p) in found.edges]


def test_evidence_against_an_exchange_comes_from_records_and_from_features():
    rng = np.random.default_rng(0)
    parent, a, b = rng.random((3, 4000)) < 0.6
    Y = np.column_stack([parent, parent & a, parent & b])
    Z = (Y & (rng.random(Y.shape) >= [0.4, 0.2, 0.3])).astype(np.uint8)
    tree = LabelHierarchy.from_parents([-1, 0, 0])
    noise = rng.normal(size=(4000, 4))

    def evidence(Z, scores, tree=tree):
        return compute_exchange_evidence(Z, find_certain_labels(Z, tree)[1], tree, 1, scores)

    # a label on 60 % of its parent's rows looks like one that equals its parent and has more gaps
    assert abs(evidence(Z, noise)) < 3
    assert evidence(Z, Y + noise[:, :3]) > 50
    # a child of the label shows its rate, which is lower
    child = (Y[:, 1] & (rng.random(4000) < 0.5)).astype(np.uint8)
    chain = LabelHierarchy.from_parents([-1, 0, 0, 1])
    assert evidence(np.column_stack([Z, child]), noise, chain) > 50
    # upside down, the exchange is better
    turned = LabelHierarchy.from_parents([1, -1, 1])
    known = find_certain_labels(Z, turned)[1]
    assert compute_exchange_evidence(Z, known, turned, 0, Y + noise[:, :3]) < -50


def test_a_summary_counts_the_edges_that_are_guesses():
    data = make_label_tree(1000, 8, missing_rate=0.3, random_state=0)
    sure = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X, data.Z).summary()
    assert (sure.n_labels, sure.n_guesses) == (8, 0)
    assert "0 of these are guesses." in str(sure)
    few = LatentHierarchyClassifier(max_iter=5, tol=1.0).fit(data.X[:60], data.Z[:60])
    summary = few.summary()
    margins = dict(zip(few.hierarchy_.names, few.hierarchy_.margins, strict=True))
    assert summary.n_guesses == sum(margins[child] < 3 for _, child in few.hierarchy_.edges) > 0
    assert f"{summary.n_guesses} of these" in str(summary)
    given = LatentHierarchyClassifier(few.hierarchy_.edges, max_iter=5, tol=1.0).fit(data.X[:60], data.Z[:60])
    assert given.summary().n_guesses == 0
