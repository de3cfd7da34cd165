"""The objective of the weights: its value against a reference, its gradient against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise.backends._rows
import likewise.discriminative._softmax as softmax
from likewise import Supervision
from likewise.backends import ArrayRows, MappedRows, as_rows
from likewise.discriminative import Noise
from likewise.discriminative._hints import HintTerms
from likewise.discriminative._softmax import HintedObjective, Objective, VariationalState, as_they_are
from profiles import fewer
from reference.discriminative_twin import lower_bound

HINTS = Supervision.from_links(10, must=[(0, 3)], cannot=[(3, 5)]) | Supervision.from_triplets(
    10, [(0, 1, 7), (2, 5, 7)], ["AC", "NEITHER"], weights=[2.0, 0.5]
)


def draw_case(seed, *, hints=HINTS, k=3, d=2, tau=0.7, alpha=0.05):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(10, d)), rng.uniform(0.5, 2, 10)
    terms = HintTerms(hints, use_neither=True)
    objective = Objective.from_memory(
        X, weight, terms.rows, k, m=terms.total_weight or 1.0, tau=tau, alpha=alpha
    )
    W = rng.normal(size=(k, d + 1))
    q = rng.dirichlet(np.ones(k), len(terms.rows))
    return X, weight, terms, objective, W, q


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_the_bound_equals_its_reference(seed, k):
    X, weight, terms, objective, W, q = draw_case(seed, k=k)
    noise = Noise.uniform(0.1, 0.2)
    value, _ = objective.compute_value_and_gradient(W, q.T)
    found = HintedObjective(objective, terms, noise).compute_bound(VariationalState(W, q, noise), value)
    of = dict(zip(terms.rows.tolist(), q, strict=True))
    assert found == pytest.approx(lower_bound(W, of, X, HINTS, noise, tau=0.7, alpha=0.05, weight=weight))


EVERY_ROW = Supervision.from_links(10, must=[(i, i + 1) for i in range(9)])


@pytest.mark.parametrize("hints", [HINTS, Supervision.empty(10), EVERY_ROW], ids=["some", "none", "all"])
@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_the_gradient_equals_finite_differences(hints, seed):
    *_, objective, W, q = draw_case(seed, hints=hints)
    _, gradient = objective.compute_value_and_gradient(W, q.T)
    step = 1e-5
    for place in np.ndindex(W.shape):
        up, down = W.copy(), W.copy()
        up[place] += step
        down[place] -= step
        rise = (
            objective.compute_value_and_gradient(up, q.T)[0]
            - objective.compute_value_and_gradient(down, q.T)[0]
        )
        assert gradient[place] == pytest.approx(rise / (2 * step), abs=1e-7)


def test_probabilities_of_hinted_rows_equal_those_of_the_model():
    X, _, terms, objective, W, _ = draw_case(4)
    logits = X[terms.rows] @ W[:, :-1].T + W[:, -1]
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(objective.log_p_hinted(W), expected)


def test_an_empty_cluster_and_far_rows_give_finite_numbers():
    *_, objective, W, q = draw_case(0)
    W[:, -1] = [0.0, 0.0, -5000.0]
    value, gradient = objective.compute_value_and_gradient(W, q.T)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_maximising_never_lowers_the_objective():
    *_, objective, W, q = draw_case(1)
    before = objective.compute_value_and_gradient(W, q.T)[0]
    for steps in (1, 3, 50):
        W, value = objective.maximise(W, np.ascontiguousarray(q.T), max_iter=steps, tol=1e-12)
        assert value >= before
        assert value == pytest.approx(objective.compute_value_and_gradient(W, q.T)[0])
        before = value


@pytest.mark.parametrize("kind", [ArrayRows, MappedRows])
def test_blocks_and_threads_only_change_rounding(monkeypatch, kind):
    rng = np.random.default_rng(0)
    X, weight, hinted = rng.normal(size=(1000, 3)), rng.uniform(size=1000), np.arange(2, 902, 3)
    W, q = rng.normal(size=(4, 4)), rng.dirichlet(np.ones(4), 300).T
    terms = {"m": 5.0, "tau": 0.5, "alpha": 0.01}

    def evaluate(threads=1):
        rows = kind(X).with_weights(weight)
        rows.threads = threads
        whole = Objective.from_rows(rows, hinted, 4, see=as_they_are, **terms)
        return (*whole.compute_value_and_gradient(W, q), whole.log_p_hinted(W))

    gathered = Objective.from_memory(X, weight, hinted, 4, **terms)
    expected = (*gathered.compute_value_and_gradient(W, q), gathered.log_p_hinted(W))
    monkeypatch.setattr(likewise.backends._rows, "BLOCK_ROWS", 128)  # all blocks but one contain hinted rows
    monkeypatch.setattr(softmax, "_PART", 50)
    cut = evaluate()
    for found, wanted in zip(cut, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
    for found, wanted in zip(evaluate(threads=3), cut, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_offset_and_scale_equal_transformed_rows():
    rng = np.random.default_rng(0)
    X, hinted = rng.normal(size=(50, 3)), np.arange(20)
    offset, scale = np.array([5.0, 0.0, -2.0]), np.array([0.1, 1.0, 30.0])
    W, q = rng.normal(size=(4, 4)), rng.dirichlet(np.ones(4), 20).T
    terms = {"m": 5.0, "tau": 0.5, "alpha": 0.01}
    there = Objective.from_memory((X - offset) / scale, np.ones(50), hinted, 4, **terms)
    folded = Objective.from_rows(as_rows(X), hinted, 4, see=as_they_are, offset=offset, scale=scale, **terms)
    np.testing.assert_allclose(folded.log_p_hinted(W), there.log_p_hinted(W))
    for found, wanted in zip(
        folded.compute_value_and_gradient(W, q), there.compute_value_and_gradient(W, q), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_unhinted_rows_of_weight_zero_have_no_effect():
    X, hinted = np.random.default_rng(0).normal(size=(10, 2)), np.arange(6)
    weight = np.where(np.arange(10) < 6, 0.1, 0.0)
    W, q = np.random.default_rng(1).normal(size=(3, 3)), np.full((3, 6), 1 / 3)
    terms = {"m": 1.0, "tau": 0.5, "alpha": 0.01}
    all_of, some = (
        Objective.from_memory(X, weight, hinted, 3, **terms),
        Objective.from_memory(X[:6], weight[:6], hinted, 3, **terms),
    )
    for found, wanted in zip(
        all_of.compute_value_and_gradient(W, q), some.compute_value_and_gradient(W, q), strict=True
    ):
        np.testing.assert_allclose(found, wanted)
