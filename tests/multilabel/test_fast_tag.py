"""FastTag: closed forms against the loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from likewise.multilabel import FastTag, _fast_tag
from likewise.multilabel._fast_tag import (
    RidgeAxes,
    compute_restoring_terms,
    fit_logistic_curves,
    iterate_layers,
)
from profiles import fewer
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def problem(seed, n=12, d=2, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    Y = (rng.random((n, k)) < 0.5).astype(float)
    Y[0] = 1.0  # every label is on some row
    Y[:, -1] *= Y[:, 0]
    return X, Y


@given(seeds, st.integers(1, 4), st.floats(0, 0.95))
def test_the_reconstruction_loss_is_a_mean_over_all_corruptions(seed, k, corruption):
    _, Y = problem(seed, k=k)
    B = np.random.default_rng(seed).normal(size=(k, k))
    S = Y.T @ Y
    P, Q = compute_restoring_terms(S, corruption)
    closed = np.trace(S - 2 * P @ B.T + B @ Q @ B.T)
    np.testing.assert_allclose(closed, twin.restoring_loss(Y, B, corruption), atol=1e-9)


def test_random_corruptions_have_the_expected_loss():
    _, Y = problem(0, n=6)
    B = np.random.default_rng(1).normal(size=(3, 3))
    kept = np.random.default_rng(2).random((20000, *Y.shape)) >= 0.3
    drawn = (((Y - (Y * kept) @ B.T) ** 2).sum(axis=(1, 2))).mean()
    np.testing.assert_allclose(drawn, twin.restoring_loss(Y, B, 0.3), rtol=0.02)


@fewer(2)
@given(seeds, st.floats(0.05, 0.9), st.floats(0.01, 1.0), st.floats(0.1, 10.0))
def test_the_joint_solution_is_a_minimum(seed, corruption, ridge, reconstruction):
    X, Y = problem(seed)
    model = FastTag(corruption, ridge, reconstruction=reconstruction, n_layers=1).fit(X, Y)
    unit = X.var(axis=0).mean()

    def loss(at):
        B, W, b = at[:9].reshape(3, 3), at[9:15].reshape(3, 2), at[15:]
        return twin.fast_tag_loss(X, Y, B, W, b, corruption, ridge * unit, reconstruction)

    found = np.concatenate([model.enrichment_.ravel(), model.coef_.ravel(), model.intercept_])
    # The loss is a convex quadratic: a point is its minimum if no step along an axis lowers it.
    for step in 1e-4 * np.eye(len(found)):
        slope = (loss(found + step) - loss(found - step)) / 2e-4
        assert abs(slope) < 1e-6


def test_a_numerical_minimiser_finds_the_same():
    X, Y = problem(3)
    model = FastTag(0.4, 0.1, reconstruction=2.0, n_layers=1).fit(X, Y)
    unit = X.var(axis=0).mean()

    def loss(at):
        B, W, b = at[:9].reshape(3, 3), at[9:15].reshape(3, 2), at[15:]
        return twin.fast_tag_loss(X, Y, B, W, b, 0.4, 0.1 * unit, 2.0)

    result = minimize(loss, np.zeros(18), method="BFGS", options={"gtol": 1e-7})
    wanted = np.concatenate([model.enrichment_.ravel(), model.coef_.ravel(), model.intercept_])
    np.testing.assert_allclose(result.x, wanted, atol=1e-4)


def test_alternating_updates_converge_to_the_joint_solution():
    X, Y = problem(5, n=20)
    n, corruption, ridge, weight = len(X), 0.4, 0.2, 1.5
    model = FastTag(corruption, ridge, reconstruction=weight, n_layers=1).fit(X, Y)
    P, Q = compute_restoring_terms(Y.T @ Y, corruption)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    B = np.eye(3)
    for _ in range(2000):
        W = B @ Yc.T @ Xc @ np.linalg.inv(Xc.T @ Xc + n * ridge * X.var(axis=0).mean() * np.eye(2))
        B = (weight * P + W @ Xc.T @ Yc) @ np.linalg.inv(weight * Q + Yc.T @ Yc)
    np.testing.assert_allclose(B, model.enrichment_, atol=1e-8)
    np.testing.assert_allclose(W, model.coef_, atol=1e-8)


def test_exclusive_labels_are_unchanged():
    Y = np.repeat(np.eye(3), 4, axis=0)
    seen = RidgeAxes.from_data(np.random.default_rng(0).normal(size=(12, 1)), Y)
    (B,) = iterate_layers(seen, 0.5, 0.1, 1e9, 1)  # all weight is on the reconstruction
    np.testing.assert_allclose(B, np.eye(3), atol=1e-6)


def test_equal_labels_share_information():
    # With y = z and each removed with probability p, the best sum of the two has the weight 1 / (2 - p).
    Y = np.repeat([[1.0, 1.0], [0.0, 0.0]], 5, axis=0)
    seen = RidgeAxes.from_data(np.zeros((10, 1)), Y)
    (B,) = iterate_layers(seen, 0.5, 0.1, 1e9, 1)
    np.testing.assert_allclose(B, 1 / 1.5, atol=1e-6)


def test_a_layer_is_the_first_layer_applied_to_enriched_labels():
    X, Y = problem(7)
    first, second = iterate_layers(RidgeAxes.from_data(X, Y), 0.3, 0.1, 2.0, 2)
    (again,) = iterate_layers(RidgeAxes.from_data(X, Y @ first.T), 0.3, 0.1, 2.0, 1)
    np.testing.assert_allclose(again @ first, second, atol=1e-8)


def test_layers_connect_labels_that_never_co_occur():
    rng = np.random.default_rng(0)
    Y = np.zeros((90, 3))
    Y[:30, :2] = 1  # 0 occurs with 1,
    Y[30:60, 1:] = 1  # and 1 with 2
    one, two = iterate_layers(RidgeAxes.from_data(rng.normal(size=(90, 1)), Y), 0.5, 0.1, 1e6, 2)
    assert one[2, 0] < two[2, 0]


@fewer(2)
@given(seeds, st.integers(2, 12), st.integers(1, 20))
def test_more_columns_than_rows_and_sparse_rows_are_the_same_regression(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    Y = (rng.random((n, 2)) < 0.5).astype(float)
    Xc = X - X.mean(axis=0)
    unit = X.var(axis=0).mean() or 1.0
    wanted = np.linalg.solve(Xc.T @ Xc + n * 0.3 * unit * np.eye(d), Xc.T @ (Y - Y.mean(axis=0)))
    for rows in (X, sparse.csr_array(X)):
        seen = RidgeAxes.from_data(rows, Y)
        np.testing.assert_allclose(seen.axes @ seen.regress(0.3), wanted, atol=1e-8)
        np.testing.assert_allclose(seen.project(rows), Xc @ seen.axes, atol=1e-8)


@fewer(2)
@given(seeds, st.sampled_from([1e-6, 1e-2, 1e3, 1e7]))
def test_the_scale_and_the_origin_of_the_columns_do_not_matter(seed, scale):
    X, Y = problem(seed, n=30)
    params = {"corruption": 0.3, "ridge": 0.1, "n_layers": 1}
    plain = FastTag(**params).fit(X, Y).predict_proba(X)
    moved = scale * (X - 5.0)
    np.testing.assert_allclose(FastTag(**params).fit(moved, Y).predict_proba(moved), plain, atol=1e-4)


def test_curves_are_fitted_to_fractions():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5000, 2)) * [1.0, 100.0] + [0.0, 50.0]
    wanted = expit(scores * [2.0, 0.01] + [-1.0, 0.3])
    slopes, shifts = fit_logistic_curves(scores, wanted)
    np.testing.assert_allclose(slopes, [2.0, 0.01], rtol=0.02)
    np.testing.assert_allclose(shifts, [-1.0, 0.3], rtol=0.03)
    turned, level = fit_logistic_curves(scores, 1 - wanted)  # a curve never falls
    assert not turned.any()
    np.testing.assert_allclose(expit(level), ((1 - wanted).sum(axis=0) + 0.5) / 5001)


def test_missing_labels_are_restored():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, size=600)
    X = np.eye(3)[kind] + 0.3 * rng.normal(size=(600, 3))
    Y = np.column_stack([kind == 0, kind == 0, kind == 1, kind == 1]).astype(int)
    recorded = Y * (rng.random(Y.shape) > 0.4)
    model = FastTag(0.7, 0.1, n_layers=2).fit(X, recorded)
    missing, never = (Y == 1) & (recorded == 0), Y == 0
    enriched = model.enrich(recorded)
    assert enriched[missing].mean() > enriched[never].mean() + 0.2
    shares = model.predict_proba(X)
    assert shares[missing].mean() > 0.5
    assert shares[never].mean() < 0.1


def test_automatic_parameters_depend_on_the_seed():
    X, Y = problem(0, n=80)
    one, two = (FastTag(random_state=4).fit(X, Y) for _ in range(2))
    assert (one.corruption_, one.ridge_, one.n_layers_) == (two.corruption_, two.ridge_, two.n_layers_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    fixed = FastTag(one.corruption_, one.ridge_, n_layers=one.n_layers_).fit(X, Y)
    np.testing.assert_array_equal(fixed.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("n_layers", ["auto", 2])
def test_without_validation_data_the_middle_value_is_used(n_layers):
    X, Y = problem(0, n=30)
    for rows, labels in ((X[:8], Y[:8]), (X, np.zeros_like(Y))):
        model = FastTag(n_layers=n_layers, random_state=0).fit(rows, labels)
        assert (model.corruption_, model.ridge_) == (0.5, 0.1)
        assert model.n_layers_ == (1 if n_layers == "auto" else 2)


def test_enrich_needs_the_labels_of_the_fit():
    X, Y = problem(0)
    with pytest.raises(ValueError, match=r"Y has 2 column.s.; fit had 3 labels"):
        FastTag(0.3, 0.1).fit(X, Y).enrich(Y[:, :2])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"corruption": 1.0}, "corruption must be one of 'auto' or a number from 0 up to"),
        ({"ridge": 0}, "ridge must be"),
        ({"reconstruction": 0}, "reconstruction must be a number above 0"),
        ({"n_layers": 0}, "n_layers must be"),
        ({"validation_fraction": 1}, "validation_fraction must be a number above 0 and below 1"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        FastTag(**params).fit(*problem(0))


def test_settings_are_compared_on_a_bounded_number_of_rows(monkeypatch):
    sizes, compute = [], _fast_tag.average_precision_score
    monkeypatch.setattr(_fast_tag, "MOST_HELD_OUT", 15)

    def record(wanted, scores):
        sizes.append(len(wanted))
        return compute(wanted, scores)

    monkeypatch.setattr(_fast_tag, "average_precision_score", record)
    X, Y = problem(0, n=200)
    FastTag(random_state=0).fit(X, Y)
    assert set(sizes) == {15 * Y.shape[1]}
