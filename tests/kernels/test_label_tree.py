"""Inference on a tree of labels: two labels by hand, and every number against enumeration over 2^K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from likewise.kernels.label_tree import marginals, most_probable, pair_sums, posterior
from profiles import fewer
from reference.label_tree import enumerate_posterior, log_joint, states
from reference.label_tree import pair_sums as slow_pair_sums


def logit(p):
    return np.log(p / (1 - p))


def order_labels(parents):
    """Return an order in which parents come first."""

    def depth(c):
        return 0 if parents[c] < 0 else 1 + depth(parents[c])

    return np.array(sorted(range(len(parents)), key=depth), dtype=np.int64)


def draw_tree(rng, k, shape):
    names = rng.permutation(k)  # a parent may have a larger number than its child
    parents = np.full(k, -1, dtype=np.int64)
    for t in range(1, k):
        at = {"star": -1, "deep star": 0, "chain": t - 1, "any": rng.integers(-1, t)}[shape]
        parents[names[t]] = names[at] if at >= 0 else -1
    return parents


@st.composite
def problems(draw, rows=3, largest=6):
    """Draw a tree, its probabilities, and rows that are possible under them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, largest))
    parents = draw_tree(rng, k, draw(st.sampled_from(["any", "any", "chain", "star", "deep star"])))
    scale = draw(st.sampled_from([1.0, 5.0, 40.0]))
    logits = rng.uniform(-scale, scale, (rows, k))
    if draw(st.booleans()):
        logits = scale * np.sign(logits)
    eps = np.zeros(k) if draw(st.booleans()) else rng.choice([0.0, 1e-12, 0.02, 0.3], k)
    keep = draw(st.sampled_from([np.ones(k), rng.uniform(size=k), rng.choice([0.0, 0.5, 1.0], k)]))
    y = np.zeros((rows, k), dtype=np.uint8)
    for c in order_labels(parents):  # labels that may apply, each with probability 1/2
        p = parents[c]
        y[:, c] = (rng.uniform(size=rows) < 0.5) & ((p < 0) | (y[:, p] == 1) | (eps[c] > 0))
    z = y & ((keep == 1) | ((keep > 0) & (rng.uniform(size=y.shape) < 0.5))).astype(np.uint8)
    return parents, order_labels(parents), logits, eps, z, keep


def solve_tree(parents, order, logits, eps, z, keep):
    one, both = np.full(logits.shape, np.nan), np.full(logits.shape, np.nan)
    return posterior(parents, order, logits, eps, z, keep, one, both), one, both


def sum_pairs(*arguments):
    k = len(arguments[0])
    counts, scores = np.zeros((k, k)), np.zeros((k, k))
    pair_sums(*arguments, counts, scores)
    return counts, scores


def two_labels():
    """Return a label 1 under a label 0, both half as likely as not, that are recorded four times in five."""
    parents, order = np.array([-1, 0]), np.array([0, 1])
    return parents, order, np.zeros((1, 2)), np.array([0.0, 0.1]), np.array([0.8, 0.8])


def test_a_missing_child_by_hand():
    parents, order, logits, eps, keep = two_labels()
    z = np.array([[1, 0]], dtype=np.uint8)
    log_likelihood, one, both = solve_tree(parents, order, logits, eps, z, keep)
    # P(z) = 0.5 * 0.8 * (0.5 * 0.2 + 0.5); of that, 0.04 has the child.
    np.testing.assert_allclose(np.exp(log_likelihood), [0.24])
    np.testing.assert_allclose(one, [[1, 1 / 6]])
    np.testing.assert_allclose(both, [[1, 1 / 6]])


def test_a_missing_parent_by_hand():
    parents, order, logits, eps, keep = two_labels()
    z = np.array([[0, 1]], dtype=np.uint8)
    log_likelihood, one, both = solve_tree(parents, order, logits, eps, z, keep)
    # With the parent 0.5 * 0.2 * 0.5 * 0.8 = 0.04; without it 0.5 * 0.1 * 0.8 = 0.04 as well.
    np.testing.assert_allclose(np.exp(log_likelihood), [0.08])
    np.testing.assert_allclose(one, [[0.5, 1]])
    np.testing.assert_allclose(both, [[0.5, 0.5]])
    counts, scores = sum_pairs(parents, order, logits, eps, z, keep, np.full((1, 2), logit(0.25)))
    np.testing.assert_allclose(counts, [[0.5, 0.5], [0.5, 1]])
    expected = [[0.5 * np.log(0.25), 0.5 * np.log(0.25)], [0.5 * np.log(0.25 * 0.75), np.log(0.25)]]
    np.testing.assert_allclose(scores, expected)


def test_without_relaxation_a_recorded_label_brings_all_its_ancestors():
    parents, order = np.array([-1, 0, 1, 0]), np.arange(4)
    z = np.array([[0, 0, 1, 0]], dtype=np.uint8)
    _, one, both = solve_tree(parents, order, np.full((1, 4), -3.0), np.zeros(4), z, np.full(4, 0.9))
    np.testing.assert_array_equal(one[0, :3], 1.0)
    np.testing.assert_array_equal(both[0, :3], 1.0)
    assert 0 < one[0, 3] < expit(-3.0)


@given(problem=problems())
def test_posteriors_equal_enumeration(problem):
    parents, _, logits, eps, z, keep = problem
    log_likelihood, one, both = solve_tree(*problem)
    for i in range(len(z)):
        total, slow_one, slow_both = enumerate_posterior(parents, logits[i], eps, z[i], keep)
        np.testing.assert_allclose(log_likelihood[i], total, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one[i], slow_one, atol=1e-9)
        with_parent = [slow_both[c, c if p < 0 else p] for c, p in enumerate(parents)]
        np.testing.assert_allclose(both[i], with_parent, atol=1e-9)
        assert one[i].min() >= 0
        assert one[i].max() <= 1
        assert (one[i][z[i] == 1] == 1).all()


@given(problem=problems(rows=11, largest=5), seed=st.integers(0, 2**32 - 1))
def test_sums_over_pairs_equal_enumeration(problem, seed):
    parents, _, logits, eps, z, keep = problem
    candidates = np.random.default_rng(seed).uniform(-40, 40, logits.shape)
    counts, scores = sum_pairs(*problem, candidates)
    slow_counts, slow_scores = slow_pair_sums(parents, logits, eps, z, keep, candidates)
    np.testing.assert_allclose(counts, slow_counts, atol=1e-8)
    np.testing.assert_allclose(scores, slow_scores, atol=1e-6)
    np.testing.assert_array_equal(counts, counts.T)
    np.testing.assert_allclose(counts.diagonal(), solve_tree(*problem)[1].sum(axis=0))


@fewer(2)
@given(problem=problems(rows=19), cut=st.integers(0, 19))
def test_sums_of_two_parts_are_those_of_the_whole(problem, cut):
    parents, order, logits, eps, z, keep = problem
    whole = sum_pairs(*problem, logits)
    parts = [np.zeros_like(whole[0]), np.zeros_like(whole[1])]
    for rows in (slice(0, cut), slice(cut, None)):
        pair_sums(parents, order, logits[rows], eps, z[rows], keep, logits[rows], *parts)
    for part, of_whole in zip(parts, whole, strict=True):
        np.testing.assert_allclose(part, of_whole, atol=1e-9)


@given(problem=problems())
def test_marginals_are_the_posterior_without_recorded_labels(problem):
    parents, order, logits, eps, z, keep = problem
    found = np.empty_like(logits)
    marginals(parents, order, logits, eps, found)
    _, one, _ = solve_tree(parents, order, logits, eps, np.zeros_like(z), np.zeros_like(keep))
    np.testing.assert_allclose(found, one, atol=1e-12)
    for c, p in enumerate(parents):
        if p >= 0:
            assert (found[:, c] <= found[:, p] + eps[c] + 1e-12).all()


@given(problem=problems(), recorded=st.booleans())
def test_no_labels_are_more_probable_than_the_most_probable(problem, recorded):
    parents, order, logits, eps, z, keep = problem
    if not recorded:
        z, keep = np.zeros_like(z), np.zeros_like(keep)
    found = np.full(z.shape, 7, dtype=np.uint8)
    most_probable(parents, order, logits, eps, z, keep, found)
    for i in range(len(z)):
        value = log_joint(parents, logits[i], eps, z[i], keep)
        mine = value[(states(len(parents)) == found[i]).all(axis=1)]
        np.testing.assert_allclose(mine, [value.max()], rtol=1e-9)


@fewer(2)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_the_numbering_of_labels_does_not_matter(problem, seed):
    parents, _, logits, eps, z, keep = problem
    new = np.random.default_rng(seed).permutation(len(parents))  # old label new[c] becomes label c
    place = np.argsort(new)
    moved = np.array([place[p] if p >= 0 else -1 for p in parents[new]])
    there = (moved, order_labels(moved), logits[:, new].copy(), eps[new], z[:, new].copy(), keep[new])
    for mine, other in zip(solve_tree(*problem)[1:], solve_tree(*there)[1:], strict=True):
        np.testing.assert_allclose(mine[:, new], other, atol=1e-12)
    for mine, other in zip(sum_pairs(*problem, logits), sum_pairs(*there, there[2]), strict=True):
        np.testing.assert_allclose(mine[np.ix_(new, new)], other, atol=1e-9)


def test_hundreds_of_children_that_agree_do_not_underflow():
    # Each absent child is evidence against the parent (e^-40), each present child is evidence for it (1e-17).
    k = 401
    parents = np.array([-1, *[0] * (k - 1)])
    z = np.zeros((3, k), dtype=np.uint8)
    z[1, 1:] = 1
    z[2, 1::2] = 1
    logits = np.full((3, k), 40.0)
    logits[2, 1::2] = -2.0
    keep = np.full(k, 1 - 1e-12)
    log_likelihood, one, _ = solve_tree(parents, np.arange(k), logits, np.full(k, 1e-17), z, keep)
    assert np.isfinite(log_likelihood).all()
    np.testing.assert_allclose(one[:2, 0], [0, 1], atol=1e-12)
    # Row 2: for the parent, 200 children by log(s / eps); against it, 200 by the probability of being missed.
    lift = 200 * (np.log(expit(-2.0)) - np.log(1e-17) + np.log(1e-12 + np.exp(-40.0)))
    assert lift > 1e3
    np.testing.assert_allclose(one[2, 0], 1.0)


def test_opposite_evidence_that_would_underflow_cancels():
    # 30 children for the parent, each by a factor 1e17 / 2, and 30 against it by as much.
    k = 61
    parents = np.array([-1, *[0] * (k - 1)])
    z = np.array([[0, *[1] * 30, *[0] * 30]], dtype=np.uint8)
    logits = np.zeros((1, k))
    logits[0, 31:] = -logit(2e-17)
    keep = np.array([0.5, *[1.0] * 60])
    eps = np.array([0.0, *[1e-17] * 30, *[0.0] * 30])
    _, one, _ = solve_tree(parents, np.arange(k), logits, eps, z, keep)
    # 0.5 and missed against 0.5 and absent.
    np.testing.assert_allclose(one[0, 0], 1 / 3, rtol=1e-10)


@pytest.mark.parametrize(
    ("z", "eps", "keep"),
    [([0, 1], [0.0, 0.0], [1.0, 0.5]), ([1, 1], [0.0, 0.1], [0.5, 0.0])],
    ids=["a child without its parent", "a label that is never recorded"],
)
def test_an_impossible_row_has_no_likelihood_and_keeps_its_recorded_labels(z, eps, keep):
    parents, order, z = np.array([-1, 0]), np.array([0, 1]), np.array([z], dtype=np.uint8)
    problem = (parents, order, np.zeros((1, 2)), np.array(eps), z, np.array(keep))
    log_likelihood, one, both = solve_tree(*problem)
    assert log_likelihood[0] == -np.inf
    assert np.isfinite(one).all()
    assert np.isfinite(both).all()
    assert (one[z == 1] == 1).all()
    found = np.empty_like(z)
    most_probable(*problem, found)
    assert (found >= z).all()


def test_huge_logits_stay_finite():
    parents, order = np.array([-1, 0, 1]), np.arange(3)
    z = np.array([[0, 0, 1], [0, 0, 0]], dtype=np.uint8)
    logits = np.array([[-1e6, -1e6, -1e6], [1e6, 1e6, 1e6]])
    log_likelihood, one, _ = solve_tree(parents, order, logits, np.zeros(3), z, np.ones(3) * 0.5)
    assert np.isfinite(log_likelihood).all()
    np.testing.assert_allclose(one, np.ones((2, 3)))
    counts, scores = sum_pairs(parents, order, logits, np.zeros(3), z, np.ones(3) * 0.5, logits)
    assert np.isfinite(counts).all()
    assert np.isfinite(scores).all()


def test_no_rows():
    parents, order = np.array([-1, 0]), np.arange(2)
    empty = np.empty((0, 2))
    log_likelihood, one, _ = solve_tree(
        parents, order, empty, np.zeros(2), empty.astype(np.uint8), np.full(2, 0.5)
    )
    assert log_likelihood.shape == (0,)
    assert one.shape == (0, 2)
    counts, _ = sum_pairs(parents, order, empty, np.zeros(2), empty.astype(np.uint8), np.full(2, 0.5), empty)
    np.testing.assert_array_equal(counts, np.zeros((2, 2)))
