"""The projection of EM-PC solves the problem that its docstring states."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from likewise import PosteriorConstrainedGaussianMixture, Supervision
from likewise.mixture._factors import Units
from likewise.mixture._posterior_constraints import ProjectedRelations
from profiles import fewer
from reference import mixture_twin as twin

SEEDS = st.integers(0, 10_000)


def problem(seed, n, k, n_must, n_cannot):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(list(itertools.combinations(range(n), 2)))
    hints = Supervision.from_links(n, must=pairs[:n_must], cannot=pairs[n_must : n_must + n_cannot])
    logits = 2 * rng.normal(size=(n, k)) + 2 * np.eye(k)[0]  # most rows lean to one class, so links matter
    return Units.from_hints(hints.drop_conflicts()), logits


def geometric_means(units, logits):
    """The geometric mean of the posteriors of each unit's rows, normalised."""
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    mean = np.array(
        [np.exp(np.log(p[units.rows][row.astype(bool)]).mean(axis=0)) for row in units.members.toarray()]
    )
    return mean / mean.sum(axis=1, keepdims=True)


def project(units, logits, penalty=None):
    caps = np.inf if penalty is None else penalty
    relations = ProjectedRelations(units, np.full(len(units.edges), caps))
    mean = relations.share[:, None] * (units.members @ logits[units.rows])
    return relations.project(mean)


@fewer(2)
@given(seed=SEEDS, k=st.integers(2, 4))
def test_the_links_hold_on_average_and_the_divergence_is_least(seed, k):
    units, logits = problem(seed, 6, k, 2, 4)
    q = project(units, logits)
    p = geometric_means(units, logits)
    assert q.sum(axis=1) == pytest.approx(np.ones(len(q)))
    first, second = units.edges.T
    assert (q[first] + q[second]).max(initial=0.0) < 1 + 1e-6
    best, least = twin.project(p, units.sizes.astype(float), units.edges.tolist())
    divergence = float(units.sizes @ (q * np.log(np.maximum(q, 1e-300) / p)).sum(axis=1))
    assert divergence == pytest.approx(least, abs=1e-4)
    np.testing.assert_allclose(q, best, atol=2e-3)


@fewer(2)
@given(seed=SEEDS, k=st.integers(2, 3), penalty=st.sampled_from([0.1, 1.0, 5.0]))
def test_a_penalty_bounds_the_multipliers(seed, k, penalty):
    units, logits = problem(seed, 5, k, 1, 3)
    q = project(units, logits, penalty)
    p = geometric_means(units, logits)
    best, least = twin.project(p, units.sizes.astype(float), units.edges.tolist(), penalty)
    first, second = units.edges.T
    slack = np.maximum((q[first] + q[second]).max(axis=1) - 1, 0.0)
    paid = float(units.sizes @ (q * np.log(q / p)).sum(axis=1)) + penalty * slack.sum()
    assert paid == pytest.approx(least, abs=1e-4)
    np.testing.assert_allclose(q, best, atol=5e-3)


def test_must_links_make_the_geometric_mean():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)])
    logits = np.log([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
    units = Units.from_hints(hints)
    q = project(units, logits)
    mean = np.cbrt([0.5 * 0.1 * 0.2, 0.3 * 0.8 * 0.2, 0.2 * 0.1 * 0.6])
    assert units.rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(q, [mean / mean.sum()])


def test_one_cannot_link_by_hand():
    # Two rows with (0.9, 0.1) and (0.8, 0.2): the odds 9 and 4 are both divided by sqrt(36) = 6.
    hints = Supervision.from_links(2, cannot=[(0, 1)])
    q = project(Units.from_hints(hints), np.log([[0.9, 0.1], [0.8, 0.2]]))
    np.testing.assert_allclose(q[:, 0], [1.5 / 2.5, (2 / 3) / (5 / 3)])
    # A penalty of log 2 divides both odds by at most 2.
    capped = project(Units.from_hints(hints), np.log([[0.9, 0.1], [0.8, 0.2]]), np.log(2))
    np.testing.assert_allclose(capped[:, 0], [4.5 / 5.5, 2 / 3])
    # A satisfied link changes nothing.
    holds = [[0.6, 0.2, 0.2], [0.3, 0.4, 0.3]]
    np.testing.assert_allclose(project(Units.from_hints(hints), np.log(holds)), holds)


def test_a_larger_unit_moves_less():
    # Rows 0, 1, 2 are one unit: a third of the multiplier acts on each. Odds 9 and 4, thirds and wholes.
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
    p = np.array([[0.9, 0.1]] * 3 + [[0.8, 0.2]])
    q = project(Units.from_hints(hints), np.log(p))
    step = np.log(36) / (1 / 3 + 1)
    odds = [9 * np.exp(-step / 3), 4 * np.exp(-step)]
    np.testing.assert_allclose(q[:, 0], [o / (1 + o) for o in odds])
    assert odds[0] * odds[1] == pytest.approx(1)


def test_later_calls_start_from_the_multipliers_of_the_last_call():
    units, logits = problem(1, 8, 3, 1, 9)
    relations = ProjectedRelations(units, np.full(len(units.edges), np.inf))
    mean = relations.share[:, None] * (units.members @ logits[units.rows])
    first = relations.project(mean.copy())
    np.testing.assert_allclose(relations.project(mean.copy()), first, atol=1e-6)
    np.testing.assert_allclose(relations.project(mean + 0.01), first, atol=1e-6)  # a shift has no effect


def test_extreme_logits_stay_finite():
    hints = Supervision.from_links(3, cannot=[(0, 1), (1, 2)])
    logits = np.array([[1e5, 0.0, -1e5], [1e5, -1e5, 0.0], [1e5, 0.0, 0.0]])
    q = project(Units.from_hints(hints), logits)
    assert np.isfinite(q).all()
    assert (q[0] + q[1]).max() < 1 + 1e-6
    assert (q[1] + q[2]).max() < 1 + 1e-6


def test_a_high_penalty_equals_hard_constraints_and_a_low_one_lets_links_break():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 5])
    hints = Supervision.from_links(60, cannot=[(0, 1), (31, 32)])
    found = {}
    for penalty in (None, 1e6, 1e-9):
        model = PosteriorConstrainedGaussianMixture(2, penalty=penalty, init=X[[0, 40]], max_iter=20, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[penalty] = model.fit(X, supervision=hints).means_
    np.testing.assert_allclose(found[1e6], found[None], rtol=1e-6)
    plain = PosteriorConstrainedGaussianMixture(2, init=X[[0, 40]], max_iter=20, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_allclose(found[1e-9], plain.fit(X).means_, rtol=1e-6)
    assert np.abs(found[None] - found[1e-9]).max() > 1e-3


def test_weights_multiply_the_penalty():
    X = np.random.default_rng(1).normal(size=(40, 2))
    light = Supervision.from_links(40, cannot=[(0, 1)], cannot_weights=0.5)
    plain = Supervision.from_links(40, cannot=[(0, 1)])
    one = PosteriorConstrainedGaussianMixture(2, penalty=2.0, init=X[[0, 9]]).fit(X, supervision=light)
    two = PosteriorConstrainedGaussianMixture(2, penalty=1.0, init=X[[0, 9]]).fit(X, supervision=plain)
    np.testing.assert_allclose(one.means_, two.means_)
