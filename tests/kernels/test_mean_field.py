"""Mean field for hinted rows: every update against explicit expectations, and the bound never falls."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr

from likewise import Supervision
from likewise.discriminative import Noise
from likewise.discriminative._hints import HintTerms
from likewise.kernels.mean_field import IndexedHints, ascend
from profiles import fewer
from reference.discriminative_twin import (
    best_q,
    compute_expected_log_likelihood,
    list_stated,
    relation_probabilities,
)


def draw_hints(rng, n=8, n_pairs=6, n_triplets=6, n_groups=2):
    pairs = rng.permutation(list(itertools.combinations(range(n), 2)))[:n_pairs]
    must = rng.uniform(size=n_pairs) < 0.5
    groups = [rng.permutation(n)[: rng.integers(3, 6)] for _ in range(n_groups)]
    links = Supervision.from_links(
        n,
        must=pairs[must],
        cannot=pairs[~must],
        must_weights=rng.uniform(0.5, 2, must.sum()),
        cannot_weights=rng.uniform(0.5, 2, (~must).sum()),
        must_groups=groups[::2],
        cannot_groups=groups[1::2],
        cannot_group_weights=rng.uniform(0.5, 2, len(groups[1::2])),
    )
    triplets = rng.permutation(list(itertools.combinations(range(n), 3)))[:n_triplets]
    words = rng.choice(["AB", "AC", "BC", "NEITHER"], n_triplets)
    return links | Supervision.from_triplets(n, triplets, words, weights=rng.uniform(0.5, 2, n_triplets))


def draw_noise(rng):
    tables = [rng.dirichlet(np.ones(size), size) + 2 * np.eye(size) for size in (2, 4)]
    return Noise(*(table / table.sum(axis=1, keepdims=True) for table in tables))


def draw_case(seed, k=3, **kwargs):
    rng = np.random.default_rng(seed)
    hints, noise = draw_hints(rng, **kwargs), draw_noise(rng)
    terms = HintTerms(hints, use_neither=True)
    log_p = np.log(rng.dirichlet(np.ones(k), len(terms.rows)))
    q = rng.dirichlet(np.ones(k), len(terms.rows))
    return hints, noise, terms, log_p, q


def bound(terms, log_p, q, noise):
    return terms.log_likelihood(q, noise) + (q * log_p).sum() + entr(q).sum()


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_a_sweep_is_the_update_of_each_row_in_turn(seed):
    hints, noise, terms, log_p, q = draw_case(seed)
    of = dict(zip(terms.rows.tolist(), q.copy(), strict=True))
    for row, own in zip(terms.rows.tolist(), log_p, strict=True):
        of[row] = best_q(row, own, of, hints, noise)
    terms.expect(log_p, q, noise, max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q, [of[row] for row in terms.rows.tolist()], atol=1e-10)


@fewer(4)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_no_sweep_lowers_the_bound(seed, k):
    _, noise, terms, log_p, q = draw_case(seed, k)
    values = [bound(terms, log_p, q, noise)]
    for _ in range(6):
        terms.expect(log_p, q, noise, max_sweeps=1, tol=0.0)
        values.append(bound(terms, log_p, q, noise))
    assert np.diff(values).min() >= -1e-9
    np.testing.assert_allclose(q.sum(axis=1), 1.0)


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_it_stops_when_no_row_would_change(seed):
    hints, noise, terms, log_p, q = draw_case(seed)
    sweeps = terms.expect(log_p, q, noise, max_sweeps=10_000, tol=1e-12)
    assert sweeps < 10_000
    of = dict(zip(terms.rows.tolist(), q, strict=True))
    for row, own in zip(terms.rows.tolist(), log_p, strict=True):
        np.testing.assert_allclose(best_q(row, own, of, hints, noise), of[row], atol=1e-6)


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_likelihood_and_counts_equal_the_sums_over_all_hints(seed):
    hints, noise, terms, _, q = draw_case(seed)
    of = dict(zip(terms.rows.tolist(), q, strict=True))
    assert terms.log_likelihood(q, noise) == pytest.approx(compute_expected_log_likelihood(of, hints, noise))
    expected = {2: np.zeros((2, 2)), 3: np.zeros((4, 4))}
    for rows, answer, weight in list_stated(hints):
        expected[len(rows)][:, answer] += weight * relation_probabilities([of[i] for i in rows])
    for counts, size in zip(terms.compute_counts(q), (2, 3), strict=True):
        np.testing.assert_allclose(counts, expected[size], atol=1e-12)
    weights = [weight for *_, weight in list_stated(hints)]
    assert terms.total_weight == pytest.approx(max(sum(weights), len(weights)))  # weak hints stay weak


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_the_four_relations_of_a_triplet_sum_to_one_and_equal_enumeration(seed, k):
    hints, _, terms, _, q = draw_case(seed, k, n_pairs=0, n_groups=0)
    of = dict(zip(terms.rows.tolist(), q, strict=True))
    found = terms.compute_relations(q)
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    for column, (rows, _, _) in zip(found.T, list_stated(hints), strict=True):
        np.testing.assert_allclose(column, relation_probabilities([of[i] for i in rows]), atol=1e-12)


def test_groups_equal_the_sum_over_their_pairs():
    groups = Supervision.from_links(7, must_groups=[[0, 1, 2, 3]], cannot_groups=[[3, 4, 5, 6]])
    pairs = Supervision.from_links(
        7, must=list(itertools.combinations(range(4), 2)), cannot=list(itertools.combinations(range(3, 7), 2))
    )
    rng = np.random.default_rng(0)
    log_p, q = np.log(rng.dirichlet(np.ones(3), 7)), rng.dirichlet(np.ones(3), 7)
    noise = Noise.uniform(0.05, 0.05)
    found = []
    for hints in (groups, pairs):
        mine, terms = q.copy(), HintTerms(hints, use_neither=True)
        terms.expect(log_p, mine, noise, max_sweeps=50, tol=1e-12)
        found.append((mine, terms.log_likelihood(mine, noise)))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-8)
    assert found[0][1] == pytest.approx(found[1][1])


def test_hints_without_information_do_not_change_the_model():
    # epsilon = 1/2 for pairs and 3/4 for triplets: every answer is equally likely in all cases.
    _, _, terms, log_p, q = draw_case(3)
    terms.expect(log_p, q, Noise.uniform(0.5, 0.75), max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q, np.exp(log_p), atol=1e-12)


def test_by_hand_one_must_link():
    # Row 0 is known to be in cluster 0; row 1 is undecided. A must-link with epsilon 1/5 multiplies the odds
    # of cluster 0 by (4/5) / (1/5) = 4 once row 0 is certain.
    terms = HintTerms(Supervision.from_links(2, must=[(0, 1)]), use_neither=True)
    log_p = np.array([[0.0, -1e3], [np.log(0.5), np.log(0.5)]])
    q = np.full((2, 2), 0.5)
    terms.expect(log_p, q, Noise.uniform(0.2, 0.2), max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q, [[1.0, 0.0], [0.8, 0.2]])


def test_by_hand_one_triplet_of_each_answer():
    # Rows 0 and 1 are in clusters 0 and 1; row 2 is undecided among three. The given answer multiplies
    # the odds of the cluster that makes it true by (1 - e) / (e / 3) = 9 for e = 1/4.
    log_p = np.log(np.array([[1, 1e-9, 1e-9], [1e-9, 1, 1e-9], [1 / 3, 1 / 3, 1 / 3]]))
    for word, favoured in (("AC", 0), ("BC", 1), ("NEITHER", 2)):
        terms = HintTerms(Supervision.from_triplets(3, [(0, 1, 2)], word), use_neither=True)
        q = np.array([[1.0, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]])
        terms.expect(log_p, q, Noise.uniform(0.25, 0.25), max_sweeps=1, tol=0.0)
        expected = np.full(3, 1 / 11)
        expected[favoured] = 9 / 11
        np.testing.assert_allclose(q[2], expected, atol=1e-6)


def test_hard_hints_leave_only_the_clusters_that_satisfy_most_of_them():
    # At first row 2 is mostly in cluster 0, as row 0 is. It stays with row 0 and apart from row 1, although
    # the model prefers cluster 1 for it.
    hints = Supervision.from_links(3, must=[(0, 2)], cannot=[(1, 2)])
    terms = HintTerms(hints, use_neither=True)
    log_p = np.log(np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.1, 0.8, 0.1]]))
    q = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.0, 0.4]])
    terms.expect(log_p, q, None, max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    # A single cannot-link leaves two clusters, in the proportions of the model.
    terms = HintTerms(Supervision.from_links(2, cannot=[(0, 1)]), use_neither=True)
    q = np.array([[0.2, 0.4, 0.4], [0.0, 0.4, 0.6]])
    terms.expect(np.log(np.array([[1, 1e-9, 1e-9], [0.5, 0.2, 0.3]])), q, None, max_sweeps=2, tol=0.0)
    np.testing.assert_allclose(q[1], [0.0, 0.4, 0.6])


def test_rows_that_cannot_change_are_not_visited_again():
    # Two rows converge in the first sweep; the second has nothing to do, and there is no third.
    none = np.zeros(0, dtype=np.int64)
    q = np.full((2, 2), 0.5)
    nowhere = np.zeros(3, dtype=np.int64)
    hints = IndexedHints(nowhere, none, none, *np.zeros((3, 0)), nowhere, none, np.zeros(0))
    sweeps = ascend(np.log(np.array([[0.9, 0.1], [0.2, 0.8]])), hints, False, 9, 1e-9, np.zeros((0, 2)), q)
    assert sweeps == 2
    np.testing.assert_allclose(q, [[0.9, 0.1], [0.2, 0.8]])
