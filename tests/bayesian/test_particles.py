"""The prior, the most probable weights, and the distribution of the particles."""

import itertools

import numpy as np
import pytest
from scipy.special import entr, log_softmax, softmax

from likewise import Supervision
from likewise.bayesian._answer_network import AnswerNetwork
from likewise.bayesian._particles import (
    Particles,
    Prior,
    Target,
    Tempered,
    carry,
    compute_effective_number,
    draw_starts,
    find_mode,
    find_next_degree,
    log_joint,
    move_by_slices,
    resample_systematically,
)


def target(X, hints, k, prior, seen=None):
    network = AnswerNetwork.from_hints(hints, k, 0.1)
    seen = X if seen is None else seen
    features = np.concatenate([X[network.rows], seen])
    m = len(network.rows)
    return Target(prior, network, features, np.arange(m), m)


# ---------------------------------------------------------------------- the density


def test_the_prior_by_its_formula():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4, 3, 7)) * 2
    p = softmax(logits, axis=1)
    expected = -2.0 * entr(p).sum(axis=1).mean(axis=1) + 5.0 * entr(p.mean(axis=2)).sum(axis=1)
    prior = Prior(1.0, 2.0, 5.0)
    np.testing.assert_allclose(prior.compute_row_part(logits - logits.max(axis=1, keepdims=True)), expected)
    none = AnswerNetwork.from_hints(Supervision.empty(7), 3, 0.1)
    for s in range(4):
        value, _ = log_joint(logits[s], np.eye(7), prior, none)
        np.testing.assert_allclose(value, expected[s] - 0.5 * (logits[s] ** 2).sum())


def test_the_gradient_of_the_posterior_equals_finite_differences():
    """The sign of the tau term as printed below eq. (4.13) fails this."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(12, 3)), rng.normal(size=(3, 3))
    hints = Supervision.from_links(12, must=[(0, 1)], cannot=[(1, 2), (4, 7)])
    prior, network = Prior(0.7, 4.0, 3.0), AnswerNetwork.from_hints(hints, 3, 0.1)
    _, gradient = log_joint(W, X, prior, network)
    for i, j in itertools.product(range(3), range(3)):
        step = np.zeros_like(W)
        step[i, j] = 1e-5
        up, down = log_joint(W + step, X, prior, network)[0], log_joint(W - step, X, prior, network)[0]
        np.testing.assert_allclose(gradient[i, j], (up - down) / 2e-5, atol=1e-7)


def test_the_density_of_particles_equals_the_objective_of_the_mode():
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(10, 2)), rng.normal(size=(5, 3, 2))
    hints = Supervision.from_links(10, must=[(0, 3)], cannot=[(3, 9), (1, 2)])
    prior = Prior(0.5, 3.0, 2.0)
    whole = target(X, hints, 3, prior)
    value = whole.compute_value(whole.compute_logits(W)) - 0.25 * (W**2).sum(axis=(1, 2))
    expected = [log_joint(w, X, prior, whole.network)[0] for w in W]
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_with_the_papers_prior_and_no_answers_the_mode_is_zero():
    X = np.random.default_rng(0).normal(size=(50, 3))
    none = AnswerNetwork.from_hints(Supervision.empty(50), 2, 0.05)
    mode = find_mode(np.ones((2, 3)), X, Prior(10.0, 1.0, 0.0), none, max_iter=200, tol=1e-12)
    assert mode.converged
    assert np.abs(mode.W).max() < 1e-3


def test_the_mode_is_never_worse_than_its_start():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(40, 2)) + 5 * (np.arange(40) % 2)[:, None], np.ones(40)])
    hints = Supervision.from_links(40, must=[(0, 2)], cannot=[(0, 1)])
    prior, network = Prior(1.0, 10.0, 10.0), AnswerNetwork.from_hints(hints, 2, 0.05)
    for W in [*draw_starts(X, 2, 2, rng), rng.normal(size=(2, 3))]:
        before, _ = log_joint(W, X, prior, network)
        assert find_mode(W, X, prior, network, max_iter=3, tol=0.0).value >= before


def test_the_search_for_the_mode_can_be_stopped():
    X = np.random.default_rng(0).normal(size=(30, 3))
    none = AnswerNetwork.from_hints(Supervision.empty(30), 2, 0.05)
    mode = find_mode(np.ones((2, 3)), X, Prior(1.0, 9.0, 9.0), none, max_iter=99, tol=0.0, done=lambda: True)
    assert mode.n_iter <= 1


# ---------------------------------------------------------------------- resampling


def test_systematic_resampling_by_hand():
    weight = np.log([0.5, 0.25, 0.125, 0.125])
    assert resample_systematically(weight, 0.0).tolist() == [0, 0, 1, 2]
    assert resample_systematically(weight, 0.9).tolist() == [0, 0, 1, 3]
    assert resample_systematically(np.zeros(5), 0.99).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("start", [0.0, 0.3, 0.999999])
def test_particles_are_resampled_in_proportion_to_their_weights(start):
    weight = np.random.default_rng(0).dirichlet(np.ones(20))
    times = np.bincount(resample_systematically(np.log(weight) + 300.0, start), minlength=20)
    assert times.sum() == 20
    assert np.abs(times - 20 * weight).max() < 1


def test_the_effective_number():
    assert compute_effective_number(np.full(8, -900.0)) == pytest.approx(8)
    assert compute_effective_number(np.array([0.0, -1e4, -1e4])) == pytest.approx(1)


def test_a_step_keeps_half_of_the_particles_effective():
    gain = np.linspace(-50, 0, 64)
    degree = find_next_degree(gain, 0.0)
    assert 0 < degree < 1
    assert compute_effective_number(degree * gain) == pytest.approx(32, rel=1e-3)
    assert find_next_degree(gain / 1000, 0.0) == 1.0
    assert find_next_degree(gain, 0.9999) == 1.0


# ---------------------------------------------------------------------- moves


def test_without_rows_and_answers_moves_keep_the_variance():
    rng = np.random.default_rng(0)
    flat = target(np.zeros((0, 4)), Supervision.empty(1), 3, Prior(4.0, 0.0, 0.0))
    W = rng.standard_normal((400, 3, 4)) / 2
    start = Particles(W.copy(), flat.compute_logits(W), np.zeros(400))
    moved = move_by_slices(start, Tempered(None, flat, 1.0), 3, rng).W
    assert moved.var() == pytest.approx(0.25, rel=0.08)
    assert np.abs(moved - W).min() > 0


def test_moves_are_the_same_if_no_point_is_ruled_out_by_the_answers_alone(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    hints = Supervision.from_links(40, must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 2), (4, 9), (6, 7)])
    whole, W = target(X, hints, 3, Prior(1.0, 5.0, 5.0)), rng.standard_normal((50, 3, 3))
    found = []
    for bound in (Tempered.get_max_of_rows, lambda *_: np.inf):
        monkeypatch.setattr(Tempered, "get_max_of_rows", bound)
        found.append(carry(W, None, whole, 4, np.random.default_rng(1))[0])
    np.testing.assert_array_equal(*found)


def test_the_posterior_of_many_rows_is_that_of_their_blocks():
    """More rows than are computed at once, of which the last block has fewer."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(5000, 2)), rng.normal(size=(3, 2))
    hints = Supervision.from_links(5000, must=[(0, 4999)], cannot=[(2047, 2048)])
    prior, network = Prior(1.0, 4.0, 3.0), AnswerNetwork.from_hints(hints, 3, 0.1)
    value, gradient = log_joint(W, X, prior, network)
    log_p = log_softmax(X @ W.T, axis=1)
    p, likelihood = np.exp(log_p), network.compute_gradient(log_p[network.rows])
    rows = -4.0 * entr(p).sum(axis=1).mean() + 3.0 * entr(p.mean(axis=0)).sum()
    assert value == pytest.approx(rows + likelihood[0] - (W**2).sum() / 2)
    step = np.array([[0.0, 1e-5], [0.0, 0.0], [0.0, 0.0]])
    up, down = log_joint(W + step, X, prior, network)[0], log_joint(W - step, X, prior, network)[0]
    assert gradient[0, 1] == pytest.approx((up - down) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("way", ["at once", "after another answer"])
def test_particles_have_the_moments_of_the_posterior(way):
    """One column, two clusters: the posterior of the difference of weights, by a sum over a grid."""
    X = np.array([[-1.0], [-0.5], [1.5], [0.2]])
    hints = Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 2), (0, 2)])
    prior, rng = Prior(0.5, 2.0, 1.0), np.random.default_rng(0)
    new = target(X, hints, 2, prior)
    W = rng.standard_normal((1500, 2, 1)) / np.sqrt(0.5)
    if way == "after another answer":
        # The same rows in the same order, of which the first network links two, with the opposite answer.
        network = AnswerNetwork.from_hints(Supervision.from_links(4, cannot=[(0, 1)]), 2, 0.1)
        old = Target(
            prior, network, new.features, np.searchsorted(new.network.rows, network.rows), new.n_hinted
        )
        W, _ = carry(W, None, old, 6, rng)
        W, n_steps = carry(W, old, new, 6, rng)
    else:
        W, n_steps = carry(W, None, new, 6, rng)
    assert n_steps >= 1
    # Only |w0 - w1| matters; its prior has variance 2 / precision. The sum w0 + w1 keeps its prior.
    grid = np.linspace(0, 12, 4001)
    W_grid = np.stack([grid / 2, -grid / 2], axis=1)[:, :, None]
    log_density = new.compute_value(new.compute_logits(W_grid)) - grid**2 / 8
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = (density * grid).sum()
    spread = np.sqrt((density * grid**2).sum() - mean**2)
    found = np.abs(W[:, 0, 0] - W[:, 1, 0])
    assert found.mean() == pytest.approx(mean, abs=0.1 * spread)
    assert found.std() == pytest.approx(spread, rel=0.1)
    assert (W[:, 0, 0] + W[:, 1, 0]).var() == pytest.approx(4.0, rel=0.15)
