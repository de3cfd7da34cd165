"""EM for the latent hierarchy: each step by hand or against scikit-learn, and a likelihood that grows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from likewise.datasets import make_label_tree
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import LatentHierarchyClassifier
from likewise.multilabel._em import (
    LatentHierarchyModel,
    ScaledColumns,
    compute_objective,
    compute_rates,
    fit_logistic,
    infer,
    make_first_model,
    run_em,
)
from profiles import fewer
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def gain(X, both, above, coef, intercept, l2):
    logits = X @ coef.T + intercept
    each = (both * log_expit(logits) + (above - both) * log_expit(-logits)).sum(axis=0)
    return each - 0.5 * l2 * (coef**2).sum(axis=1)


# ---------------------------------------------------------------------- the steps


@fewer(2)
@given(seed=seeds, l2=st.sampled_from([0.1, 1.0, 10.0]))
def test_soft_targets_are_rows_with_weights(seed, l2):
    rng = np.random.default_rng(seed)
    n, d, k = 40, 3, 2
    X = rng.normal(size=(n, d))
    above = rng.random((n, k))
    both = above * rng.random((n, k))
    coef, intercept = fit_logistic(
        ScaledColumns.from_data(X), both, above, np.zeros((k, d)), np.zeros(k), l2, 500
    )
    for c in range(k):
        rows, target = np.vstack([X, X]), np.repeat([1, 0], n)
        weights = np.concatenate([both[:, c], above[:, c] - both[:, c]])
        theirs = LogisticRegression(C=1 / l2, tol=1e-6, max_iter=1000).fit(rows, target, weights)
        np.testing.assert_allclose(coef[c], theirs.coef_[0], atol=2e-3)
        np.testing.assert_allclose(intercept[c], theirs.intercept_[0], atol=2e-3)


@fewer(2)
@given(seed=seeds, n_steps=st.integers(1, 8))
def test_a_few_steps_never_lose_and_sparse_rows_are_the_same(seed, n_steps):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(30, 4))) * 3
    above = rng.random((30, 3))
    both = above * (rng.random((30, 3)) < 0.5)
    start = rng.normal(size=(3, 4)), rng.normal(size=3)
    found = fit_logistic(ScaledColumns.from_data(X), both, above, *start, 1.0, n_steps)
    before, after = (gain(X, both, above, *at, 1.0).sum() for at in (start, found))
    assert after >= before - 1e-5
    other = fit_logistic(ScaledColumns.from_data(sparse.csr_array(X)), both, above, *start, 1.0, n_steps)
    for ours, theirs in zip(found, other, strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-6)


def test_an_impossible_label_keeps_its_classifier():
    nothing = np.zeros((5, 1))
    coef, intercept = fit_logistic(
        ScaledColumns.from_data(np.ones((5, 2))), nothing, nothing, np.zeros((1, 2)), np.zeros(1), 1.0, 50
    )
    assert not coef.any()
    assert not intercept.any()


def test_rates_by_hand():
    Z = np.array([[1, 0], [0, 1], [0, 1], [0, 0]])
    one = np.array([[1.0, 0.5], [0.5, 1.0], [0.5, 1.0], [0.0, 0.5]])  # 2 and 3 are present, 1 and 2 recorded
    np.testing.assert_allclose(compute_rates(Z, shared=True)(one), [1 - 3 / 5] * 2)
    np.testing.assert_allclose(compute_rates(Z, shared=False)(one), [1 - 1 / 2, 1 - 2 / 3])
    # never more than 0.95, and never below 0 by rounding
    few = np.eye(1, 40).reshape(20, 2)
    assert compute_rates(few, shared=True)(np.ones((20, 2))).tolist() == [0.95, 0.95]
    # the rate of a label that was never recorded cannot be estimated
    assert compute_rates(np.zeros((4, 2)), shared=True)(one).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(compute_rates(Z, shared=True)(Z.astype(float)), 0.0)


def test_the_first_model_uses_only_frequencies():
    Z = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]] + [[0, 0, 0]] * 4)
    tree = LabelHierarchy(["a", "b", "c"], [("a", "b")])
    model = make_first_model(Z, 2, tree, np.zeros(3), np.full(3, 1e-3))
    np.testing.assert_allclose(expit(model.intercept), [0.5, 0.5, 0.01])
    assert not model.coef.any()
    assert model.coef.shape == (3, 2)


@fewer(2)
@given(seed=seeds, k=st.integers(1, 5), graph=st.booleans())
def test_the_posterior_equals_enumeration(seed, k, graph):
    rng = np.random.default_rng(seed)
    names = [f"l{c}" for c in range(k)]
    edges = [(c - 1, c) for c in range(1, k) if rng.random() < 0.6]
    if graph and k > 2:
        edges = [(0, 2), (1, 2)]  # two parents and no loop: exact as well
    model = LatentHierarchyModel(
        LabelHierarchy(names, edges),
        rng.normal(size=(k, 2)),
        rng.normal(size=k),
        rng.uniform(0.1, 0.5, k),
        np.full(k, 0.01),
    )
    X, Z = rng.normal(size=(4, 2)), (rng.random((4, k)) < 0.3).astype(np.uint8)
    posterior = infer(model, X, Z)
    total = 0.0
    for i, z in enumerate(Z):
        one, both, above, log_p = twin.graph_by_enumeration(
            model.hierarchy.parent_lists, model.compute_logits(X)[i], model.relaxations, z, 1 - model.rates
        )
        np.testing.assert_allclose(posterior.one[i], one, atol=1e-8)
        np.testing.assert_allclose(posterior.both[i], both, atol=1e-8)
        np.testing.assert_allclose(posterior.above[i], above, atol=1e-8)
        total += log_p
    assert posterior.log_likelihood == pytest.approx(total)
    assert compute_objective(model, posterior, 2.0) == pytest.approx(total - (model.coef**2).sum())


# ---------------------------------------------------------------------- the loop


@fewer(5)
@given(
    seed=st.integers(0, 10_000),
    missing_rate=st.sampled_from(["shared", "per-label", 0.0, 0.3]),
    rate_from=st.sampled_from(["anchors", "em"]),
    start=st.sampled_from(["inclusion", "star"]),
)
def test_the_penalised_likelihood_never_falls(seed, missing_rate, rate_from, start):
    data = make_label_tree(150, 5, n_features=4, missing_rate=0.3, random_state=seed)
    # ε is constant: it is below a tenth of the frequency of every label
    model = LatentHierarchyClassifier(
        missing_rate=missing_rate, rate_from=rate_from, start=start, relaxation=1e-5, max_iter=300
    ).fit(data.X, data.Z)
    steps = np.diff(model.objective_history_)
    assert steps.min() >= -1e-4
    assert model.objective_ == pytest.approx(model.objective_history_[-1])
    penalty = 0.5 * (model.coef_**2).sum()
    assert model.objective_ == pytest.approx(model.log_likelihood_ - penalty)
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert abs(steps[-1]) <= 1e-4 * 150


def test_annealing_ends_at_the_relaxation():
    data = make_label_tree(300, 5, missing_rate=0.2, random_state=1)
    plain = LatentHierarchyClassifier().fit(data.X, data.Z)
    for annealing in ((0.05, 0.98), (0.3, 0.9), (0.05, 0.5), (1e-4, 0.5)):
        model = LatentHierarchyClassifier(annealing=annealing).fit(data.X, data.Z)
        np.testing.assert_allclose(model.relaxations_, plain.relaxations_, rtol=1e-9)
        assert model.objective_ == pytest.approx(plain.objective_, abs=0.5)


def test_a_fit_that_stops_early_says_so():
    data = make_label_tree(200, 4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in 2 iterations: raise max_iter \\(now 2"):
        model = LatentHierarchyClassifier(max_iter=2).fit(data.X, data.Z)
    assert model.n_iter_ == 2
    assert np.isfinite(model.predict_proba(data.X)).all()


def test_a_caller_may_stop_the_loop():
    data = make_label_tree(100, 3, random_state=0)
    Z = data.Z.astype(np.uint8)
    model = make_first_model(
        Z, 10, LabelHierarchy.from_parents(data.parents), np.full(3, 0.2), np.full(3, 1e-3)
    )
    calls = []
    found = run_em(
        data.X,
        Z,
        model,
        l2=1.0,
        max_iter=50,
        tol=0.0,
        update_rates=None,
        step=lambda: calls.append(0) is None and len(calls) == 3,
    )
    assert len(calls) == 3
    assert not found.converged
    assert len(found.history) == 4
    np.testing.assert_array_equal(found.model.rates, model.rates)


@pytest.mark.parametrize(("missing_rate", "seed"), [(0.1, 0), (0.3, 1), (0.5, 2)])
def test_the_missing_rate_is_found(missing_rate, seed):
    data = make_label_tree(800, 8, missing_rate=missing_rate, random_state=seed)
    tree = LabelHierarchy.from_parents(data.parents)
    given_tree = LatentHierarchyClassifier(tree).fit(data.X, data.Z)
    assert given_tree.missing_rate_ == pytest.approx(missing_rate, abs=0.05)
    assert given_tree.n_anchors_ > 100
    learned = LatentHierarchyClassifier().fit(data.X, data.Z)
    assert learned.missing_rate_ == pytest.approx(missing_rate, abs=0.1)


def test_labels_with_different_missing_rates():
    data = make_label_tree(3000, 6, missing_rate=0.0, random_state=2)
    rates = np.linspace(0.0, 0.5, 6)
    Z = data.Y & (np.random.default_rng(0).random(data.Y.shape) >= rates)
    tree = LabelHierarchy.from_parents(data.parents)
    model = LatentHierarchyClassifier(tree, missing_rate="per-label").fit(data.X, Z)
    inner = np.unique(data.parents[data.parents >= 0])
    np.testing.assert_allclose(model.missing_rates_[inner], rates[inner], atol=0.05)
    # nothing is below the other labels, so their rates are the mean rate
    leaves = np.setdiff1d(np.arange(6), inner)
    np.testing.assert_allclose(model.missing_rates_[leaves], model.missing_rates_[inner].mean(), atol=0.01)
    np.testing.assert_array_equal(np.flatnonzero(model.rate_is_known_), inner)


def test_a_given_rate_is_kept():
    data = make_label_tree(200, 4, missing_rate=0.3, random_state=0)
    rates = np.array([0.0, 0.1, 0.2, 0.3])
    model = LatentHierarchyClassifier(missing_rate=rates).fit(data.X, data.Z)
    np.testing.assert_array_equal(model.missing_rates_, rates)
    assert 0 < model.missing_rate_ < 0.3
    assert LatentHierarchyClassifier(missing_rate=0.25).fit(data.X, data.Z).missing_rate_ == 0.25
