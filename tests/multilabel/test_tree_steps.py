"""Structure steps within EM: scores against enumeration, and the effect of refitting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression

from likewise.datasets import make_label_tree
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import LatentHierarchyClassifier
from likewise.multilabel._em import STRUCTURE_STEPS, LatentHierarchyModel, compute_edge_scores, infer
from likewise.multilabel._label_trees import allow_all_edges, find_best_tree
from profiles import fewer
from reference import label_tree as twin

L2 = 1.0


def draw_model(rng, k, d=2, n=12):
    names = rng.permutation(k)
    parents = np.full(k, -1, dtype=np.int64)
    for t in range(1, k):
        at = rng.integers(-1, t)
        parents[names[t]] = names[at] if at >= 0 else -1
    X = rng.normal(size=(n, d))
    Z = (rng.random((n, k)) < 0.4).astype(np.uint8)
    model = LatentHierarchyModel(
        LabelHierarchy.from_parents(parents),
        rng.normal(size=(k, d)),
        rng.normal(size=k),
        rng.uniform(0.1, 0.6, k),
        rng.choice([1e-4, 0.01, 0.1], k),
    )
    return model, X, Z


def fit_model(parents, missing_rate=0.2, n=400, seed=0):
    """Return a model fitted by EM to a given tree, its posterior, and the data."""
    data = make_label_tree(n, len(parents), missing_rate=missing_rate, random_state=seed)
    Z = data.Z.astype(np.uint8)
    given = LatentHierarchyClassifier(
        LabelHierarchy.from_parents(parents), missing_rate=missing_rate, tol=1e-9, max_iter=1000, l2=L2
    ).fit(data.X, Z)
    model = LatentHierarchyModel(
        given.hierarchy_, given.coef_, given.intercept_, given.missing_rates_, given.relaxations_
    )
    return model, infer(model, data.X, Z), data.X, Z


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_literal_scores_are_sums_over_all_labellings(seed, k):
    model, X, Z = draw_model(np.random.default_rng(seed), k)
    logits, eps, keep = model.compute_logits(X), model.relaxations, 1 - model.rates
    posterior = infer(model, X, Z)
    found = compute_edge_scores(model, posterior, X, Z, L2, "literal")
    wanted = np.zeros((k, k))
    for logit, z in zip(logits, Z, strict=True):
        _, one, both = twin.enumerate_posterior(model.hierarchy.parents, logit, eps, z, keep)
        for c in range(k):
            log_s, log_not = np.log(expit(logit[c])), np.log(expit(-logit[c]))
            on_root = one[c] * log_s + (1 - one[c]) * log_not
            for p in range(k):
                q11, q10, q01 = both[p, c], one[p] - both[p, c], one[c] - both[p, c]
                q00 = 1 - q11 - q10 - q01
                wanted[p, c] += q11 * log_s + q10 * log_not + q01 * np.log(eps[c]) + q00 * np.log1p(-eps[c])
                wanted[p, c] -= on_root
    off = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose(found[off], wanted[off], rtol=1e-7, atol=1e-7)


@fewer(4)
@given(seed=st.integers(0, 2**32 - 1))
def test_one_newton_step_of_the_intercept(seed):
    model, X, Z = draw_model(np.random.default_rng(seed), 3)
    logits = model.compute_logits(X)
    posterior = infer(model, X, Z)
    literal, moved = (
        compute_edge_scores(model, posterior, X, Z, L2, how) for how in ("literal", "intercept")
    )
    s = expit(logits)
    for p, c in ((0, 1), (2, 0)):
        together = twin.pair_sums(
            model.hierarchy.parents, logits, model.relaxations, Z, 1 - model.rates, logits
        )[0][p, c]

        def step(slope, weight, s=s[:, c]):
            return 0.5 * slope**2 / (weight * s * (1 - s)).sum()

        under_p = step(together - (posterior.one[:, p] * s[:, c]).sum(), posterior.one[:, p])
        on_root = step((posterior.one[:, c] - s[:, c]).sum(), 1.0)
        assert moved[p, c] - literal[p, c] == pytest.approx(under_p - on_root, rel=1e-5, abs=1e-6)


def test_refitting_is_a_regression_on_the_rows_with_the_parent():
    # Nothing is missing, so the posterior equals the labels and any logistic regression is a reference.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    p = X[:, 0] + rng.logistic(size=120) > 0
    c = p & (X[:, 1] + rng.logistic(size=120) > 0)
    Z = np.column_stack([p, c]).astype(np.uint8)
    eps = np.full(2, 1e-3)
    model = LatentHierarchyModel(LabelHierarchy(["p", "c"]), np.zeros((2, 2)), np.zeros(2), np.zeros(2), eps)
    posterior = infer(model, X, Z)
    found = compute_edge_scores(model, posterior, X, Z, L2, "profile")[0, 1]

    def value(rows):
        fit = LogisticRegression(C=1 / L2, tol=1e-10).fit(X[rows], c[rows])
        logits = fit.decision_function(X[rows])
        fits = log_expit(np.where(c[rows], logits, -logits)).sum()
        return fits - 0.5 * L2 * (fit.coef_**2).sum()

    wanted = value(p) + (~p).sum() * np.log1p(-1e-3) - value(np.ones(120, dtype=bool))
    assert found == pytest.approx(wanted, abs=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_star_refitting_favours_every_parent(seed):
    # The classifiers are optimal for the root, so only other parents can gain.
    model, posterior, X, Z = fit_model(np.full(4, -1), seed=seed)
    literal, moved, refitted = (
        compute_edge_scores(model, posterior, X, Z, L2, how) for how in STRUCTURE_STEPS
    )
    off = ~np.eye(4, dtype=bool)
    assert (refitted - literal)[off].min() > -0.05
    assert (moved - literal)[off].min() > -0.05
    assert (refitted - moved)[off].mean() > 0


@pytest.mark.parametrize("seed", range(3))
def test_refitting_favours_rivals_of_the_current_parent(seed):
    parents = make_label_tree(400, 5, random_state=seed).parents
    model, posterior, X, Z = fit_model(parents, seed=seed)
    literal, refitted = (
        compute_edge_scores(model, posterior, X, Z, L2, how) for how in ("literal", "profile")
    )
    for c, p in enumerate(parents):
        if p < 0:
            continue
        assert refitted[p, c] <= literal[p, c] + 0.05  # only the root gains from refitting
        rivals = [q for q in range(5) if q not in (p, c)]
        assert ((refitted[rivals, c] - refitted[p, c]) >= (literal[rivals, c] - literal[p, c]) - 0.05).all()


def test_the_literal_step_never_leaves_the_star():
    model, posterior, X, Z = fit_model(np.full(6, -1), n=800)
    scores = compute_edge_scores(model, posterior, X, Z, L2, "literal")
    assert find_best_tree(scores, allow_all_edges(6)).parents.tolist() == [-1] * 6


@pytest.mark.parametrize("how", STRUCTURE_STEPS)
def test_every_step_keeps_a_true_tree(how):
    data = make_label_tree(600, 5, missing_rate=0.2, random_state=1)
    model = LatentHierarchyClassifier(structure_step=how).fit(data.X, data.Z)
    np.testing.assert_array_equal(model.hierarchy_.parents, data.parents)
