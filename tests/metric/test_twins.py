"""Learners against simple reference implementations, on random problems."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from likewise import Supervision
from likewise.metric import ITML, LSML, MMC, RCA, RelativeSVM, SparseLP
from likewise.metric._base import Comparisons, get_comparisons
from likewise.metric._lsml import Residuals
from likewise.metric._sssvad import SssvadProblem, SssvadState
from likewise.supervision import sample_links, sample_triplets
from profiles import fewer
from reference import metric_twin as twin

SEEDS = st.integers(0, 10_000)


def problem(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d) + 2 * rng.normal(size=(3, d))[y]
    return X, y


@given(SEEDS)
@fewer(4)
def test_rca_is_the_inverse_of_the_covariance_within_chunklets(seed):
    X, y = problem(seed)
    hints = sample_links(y, 40, random_state=seed, balance=1.0)
    C = twin.within_covariance(X, hints.closure().components())
    M = RCA(regularization=0).fit(X, supervision=hints).metric_
    np.testing.assert_allclose(M @ C, np.eye(3), atol=1e-6)


@given(SEEDS, st.sampled_from([0.1, 1.0, 20.0]), st.sampled_from([1, 3, 40]))
@fewer(4)
def test_itml_equals_its_reference_implementation(seed, gamma, max_iter):
    X, y = problem(seed)
    links = sample_links(y, 25, random_state=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, 25)
    cut = len(links.must)
    hints = Supervision.from_links(
        30, links.must, links.cannot, must_weights=weights[:cut], cannot_weights=weights[cut:]
    )
    model = ITML(gamma, max_iter=max_iter, tol=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, supervision=hints)
    M = twin.itml(X, links.must, links.cannot, np.eye(3), *model.bounds_, gamma, max_iter, 0.01, weights)
    np.testing.assert_allclose(model.metric_, M, rtol=1e-7, atol=1e-9)


def test_itml_groups_are_their_pairs():
    X, _ = problem(0)
    groups = Supervision.from_links(30, must_groups=[[0, 1, 2]], cannot_groups=[[3, 4, 5]], must=[(0, 1)])
    pairs = Supervision.from_links(30, must=[(0, 1), (0, 2), (1, 2)], cannot=[(3, 4), (3, 5), (4, 5)])
    for model in (ITML(), MMC()):
        np.testing.assert_allclose(
            model.fit(X, supervision=groups).metric_, model.fit(X, supervision=pairs).metric_
        )


@pytest.mark.parametrize("seed", range(4))
def test_mmc_finds_the_optimum_of_projected_gradient_ascent(seed):
    X, y = problem(seed)
    hints = sample_links(y, 60, random_state=seed)
    model = MMC(regularization=0, tol=1e-6).fit(X, supervision=hints)
    slow = twin.mmc(X, hints.must, hints.cannot)
    ours, theirs = (twin.mmc_objective(X, hints.cannot, M) for M in (model.metric_, slow))
    assert ours == pytest.approx(model.objective_, rel=1e-6)
    assert theirs <= ours * (1 + 1e-6)
    assert ours == pytest.approx(theirs, rel=1e-2)
    S = twin.mmc_scatter(X, hints.must)
    assert np.trace(S @ model.metric_) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_mmc_diagonal_is_the_best_diagonal_metric(seed):
    X, y = problem(seed, d=4)
    hints = sample_links(y, 60, random_state=seed)
    model = MMC(diagonal=True, regularization=0, tol=1e-9).fit(X, supervision=hints)
    s = twin.mmc_scatter(X, hints.must).diagonal()
    best = twin.mmc_objective(X, hints.cannot, model.metric_)
    assert s @ model.metric_.diagonal() == pytest.approx(1.0)
    for z in np.random.default_rng(seed).dirichlet(np.full(4, 0.5), size=300):
        assert twin.mmc_objective(X, hints.cannot, np.diag(z / s)) <= best * (1 + 1e-9)
    full = MMC(regularization=0, tol=1e-6).fit(X, supervision=hints)
    assert full.objective_ >= best * (1 - 1e-6)


@given(SEEDS)
@fewer(4)
@example(896)
def test_lsml_gradient_equals_finite_differences(seed):
    X, y = problem(seed)
    hints = sample_triplets(y, 20, neither=False, random_state=seed)
    comparisons = get_comparisons(LSML(), X, hints, "refuse")
    residuals = Residuals(X, Comparisons(comparisons.rows, comparisons.weights))
    L = np.eye(3) + 0.3 * np.random.default_rng(seed).normal(size=(3, 3))
    steps = 1e-6 * np.eye(9).reshape(9, 3, 3)
    differences = [(residuals(L + step)[0] - residuals(L - step)[0]) / 2e-6 for step in steps]
    gradient = residuals(L)[1].ravel()
    np.testing.assert_allclose(differences, gradient, rtol=1e-3, atol=1e-4 * max(1.0, np.abs(gradient).max()))


@given(SEEDS, st.booleans())
@fewer(4)
def test_lsml_is_the_optimum_of_its_objective(seed, with_prior):
    X, y = problem(seed)
    rng = np.random.default_rng(seed)
    plain = sample_triplets(y, 20, neither=False, random_state=seed)
    hints = Supervision.from_triplets(30, plain.triplets, plain.answer_words, weights=rng.uniform(0.5, 2, 20))
    M0 = np.linalg.inv(np.cov(X.T, bias=True)) if with_prior else np.eye(3)
    model = LSML(gamma=0.5, prior="covariance" if with_prior else "identity", tol=1e-6)
    M = model.fit(X, supervision=hints).metric_
    best = twin.lsml_objective(X, hints, M, M0, 0.5)
    assert best == pytest.approx(model.objective_, rel=1e-6)
    for _ in range(20):  # the problem is convex, so a local optimum is global
        E = 0.03 * rng.normal(size=(3, 3))
        near = (np.eye(3) + E) @ M @ (np.eye(3) + E).T
        assert twin.lsml_objective(X, hints, near, M0, 0.5) >= best - 1e-7


@given(SEEDS, st.sampled_from([0.3, 0.03, 0.003]))
@fewer(4)
def test_sparse_lp_solves_the_whole_program(seed, sparsity):
    X, y = problem(seed, d=4)
    hints = sample_triplets(y, 12, neither=False, random_state=seed)
    M, objective = twin.sparse_lp(X, hints, sparsity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the optimal metric may be zero
        model = SparseLP(sparsity).fit(X, supervision=hints)
    assert model.objective_ == pytest.approx(objective, abs=1e-6)
    if M.any():
        off = np.abs(model.metric_).sum(axis=1) - 2 * model.metric_.diagonal()
        assert (off <= 1e-9 * np.abs(model.metric_).max()).all()


@pytest.mark.parametrize("seed", range(3))
def test_sssvad_states_cost_what_the_formula_says_and_never_rise(seed):
    X, y = problem(seed)
    X = (X - X.mean(axis=0)) / np.sqrt(np.square(X - X.mean(axis=0)).mean())
    hints = sample_triplets(y, 25, neither=False, random_state=seed)
    comparisons = get_comparisons(LSML(), X, hints, "refuse")
    p = SssvadProblem(X, comparisons, price=0.5, margin=1.0, temperature=0.5)
    state = SssvadState.start(p, X[:3])
    for _ in range(8):
        slow = twin.sssvad_objective(
            X, state.labels, state.centers, state.weights, twin.comparisons(hints), 0.5, 1.0, 0.5
        )
        assert state.objective == pytest.approx(slow)
        better = p.improve(state)
        between = twin.sssvad_objective(
            X, better.labels, better.centers, better.weights, twin.comparisons(hints), 0.5, 1.0, 0.5
        )
        after = p.assign(better)
        assert between <= state.objective + 1e-9
        assert after.objective <= between + 1e-9
        state = after


def test_sssvad_weights_are_the_optimum_of_a_convex_problem():
    X, y = problem(1)
    X = (X - X.mean(axis=0)) / np.sqrt(np.square(X - X.mean(axis=0)).mean())
    hints = sample_triplets(y, 25, neither=False, random_state=1)
    comparisons = get_comparisons(LSML(), X, hints, "refuse")
    p = SssvadProblem(X, comparisons, price=0.5, margin=1.0, temperature=0.5)
    state = p.improve(SssvadState.start(p, X[:3]))

    def cost(weights):
        return twin.sssvad_objective(
            X, state.labels, state.centers, weights, twin.comparisons(hints), 0.5, 1.0, 0.5
        )

    best = cost(state.weights)
    rng = np.random.default_rng(0)
    for spread in (0.01, 0.1, 1.0):
        for _ in range(20):
            other = state.weights * np.exp(spread * rng.normal(size=state.weights.shape))
            assert cost(3 * other / other.sum(axis=1, keepdims=True)) >= best - 1e-6


def svm_comparisons(hints):
    """Return the near pairs, the far pairs and the weights of the comparisons."""
    rows = [
        ((a, b), (c, d), weight)
        for (x, y, z), word, weight in zip(
            hints.triplets.tolist(), hints.answer_words, hints.triplet_weights, strict=True
        )
        for near in [{"AB": (x, y, z), "AC": (x, z, y), "BC": (y, z, x)}[word]]
        for (a, b), (c, d) in (
            ((near[0], near[1]), (near[0], near[2])),
            ((near[1], near[0]), (near[1], near[2])),
        )
    ]
    return [r[0] for r in rows], [r[1] for r in rows], np.array([r[2] for r in rows])


@given(SEEDS, st.sampled_from([0.05, 1.0, 30.0]), st.sampled_from([None, "linear", "poly", "rbf"]))
@fewer(2)
def test_relative_svm_solves_the_same_quadratic_program_as_its_reference(seed, C, kernel):
    X, y = problem(seed, n=12)
    plain = sample_triplets(y, 8, neither=False, random_state=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, 8)
    hints = Supervision.from_triplets(12, plain.triplets, plain.answer_words, weights=weights)
    model = RelativeSVM(C, kernel=kernel, gamma=0.2, degree=2, tol=1e-7).fit(X, supervision=hints)
    rows = X - X.mean(axis=0)
    named = rows[np.unique(hints.triplets)]
    features = {
        None: rows,
        "linear": rows @ named.T,
        "poly": (0.2 * rows @ named.T + 1) ** 2,
        "rbf": np.exp(-0.2 * ((rows[:, None] - named) ** 2).sum(axis=2)),
    }[kernel]
    spread = np.mean(((features[:, None] - features) ** 2).sum(axis=2))
    near, far, prices = svm_comparisons(hints)
    w, value = twin.relative_svm(features, near, far, C * prices, spread)
    assert model.objective_ == pytest.approx(value, rel=1e-4, abs=1e-6)
    squared = (w * (features[:, None] - features) ** 2).sum(axis=2)
    if w.max() > 1e-4:
        np.testing.assert_allclose(model.distances(X) ** 2, squared, atol=2e-3 * squared.max())
