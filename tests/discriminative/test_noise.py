"""Learned noise: the most probable table, by hand and recovered from simulated answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from likewise import Supervision
from likewise.discriminative import DiscriminativeClustering, Noise
from likewise.discriminative._hints import PRIOR_COUNT, compute_prior_log_density, learn_noise
from likewise.supervision import sample_triplets
from profiles import fewer

PRIOR = Noise.uniform(0.1, 0.2)


def value(noise, counts):
    return compute_prior_log_density(noise, PRIOR) + sum(
        float((seen * table).sum()) for seen, table in zip(counts, noise.compute_logs(), strict=True)
    )


def test_uniform_noise_equals_the_tables_of_the_paper():
    np.testing.assert_allclose(PRIOR.pairs, [[0.9, 0.1], [0.1, 0.9]])
    np.testing.assert_allclose(PRIOR.triplets.diagonal(), 0.8)
    np.testing.assert_allclose(PRIOR.triplets[0, 1:], 0.2 / 3)


def test_by_hand_confusion_adds_the_prior_to_the_counts():
    pairs = np.array([[30.0, 10.0], [0.0, 60.0]])
    learned = learn_noise("confusion", PRIOR, (pairs, np.zeros((4, 4))))
    expected = np.array(
        [[30 + 0.9 * PRIOR_COUNT, 10 + 0.1 * PRIOR_COUNT], [0.1 * PRIOR_COUNT, 60 + 0.9 * PRIOR_COUNT]]
    )
    np.testing.assert_allclose(learned.pairs, expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(learned.triplets, PRIOR.triplets)  # without answers the noise is the prior


def test_by_hand_the_three_pairs_of_a_triplet_share_their_probabilities():
    # 60 true pairs: 42 named, 6 mistaken for another pair, 12 answered with NEITHER. 40 NEITHER, 10 wrong.
    triplets = np.array([[12.0, 6, 0, 2], [0, 20, 0, 5], [0, 0, 10, 5], [10, 0, 0, 30]])
    learned = learn_noise("confusion", PRIOR, (np.zeros((2, 2)), triplets)).triplets
    pairs, neither = 60 + 3 * PRIOR_COUNT, 40 + PRIOR_COUNT
    given = [42 + 3 * 0.8 * PRIOR_COUNT, 6 + 6 * 0.2 / 3 * PRIOR_COUNT, 12 + 3 * 0.2 / 3 * PRIOR_COUNT]
    np.testing.assert_allclose(learned[1, 1], given[0] / pairs)
    np.testing.assert_allclose(learned[[0, 0, 2], [1, 2, 0]], given[1] / 2 / pairs)
    np.testing.assert_allclose(learned[:3, 3], given[2] / pairs)
    np.testing.assert_allclose(learned[3, :3], (10 + 0.2 * PRIOR_COUNT) / 3 / neither)
    np.testing.assert_allclose(learned.sum(axis=1), 1.0)


def test_by_hand_uniform_learns_one_number_for_each_kind():
    pairs = np.array([[30.0, 10.0], [0.0, 60.0]])
    learned = learn_noise("uniform", PRIOR, (pairs, np.zeros((4, 4))))
    wrong = (10 + 2 * PRIOR_COUNT * 0.1) / (100 + 2 * PRIOR_COUNT)
    np.testing.assert_allclose(learned.pairs, [[1 - wrong, wrong], [wrong, 1 - wrong]])
    np.testing.assert_allclose(learned.triplets, PRIOR.triplets)


def test_uniform_noise_stays_below_chance():
    learned = learn_noise("uniform", PRIOR, (np.array([[0.0, 900.0], [900.0, 0.0]]), np.zeros((4, 4))))
    assert 0.4 < learned.pairs[0, 1] < 0.5


@pytest.mark.parametrize("kind", ["uniform", "confusion"])
@fewer(2)
@given(seed=st.integers(0, 10**6))
def test_no_neighbouring_noise_is_more_probable(kind, seed):
    rng = np.random.default_rng(seed)
    counts = (rng.uniform(0, 20, (2, 2)), rng.uniform(0, 20, (4, 4)))
    best = learn_noise(kind, PRIOR, counts)
    for other in (
        PRIOR,
        learn_noise(kind, PRIOR, tuple(c * rng.uniform(0.9, 1.1, c.shape) for c in counts)),
    ):
        assert value(best, counts) >= value(other, counts) - 1e-9


def draw_confused_triplets(y, n, table, rng):
    """Draw triplets with answers that are wrong with the probabilities of the table."""
    true = sample_triplets(y, n, random_state=rng)
    answers = [rng.choice(4, p=table[answer]) for answer in true.answers]
    words = np.array(["AB", "AC", "BC", "NEITHER"])[answers]
    return Supervision.from_triplets(len(y), true.triplets, words.tolist())


def test_confusion_recovers_the_error_probabilities():
    # No pair is mistaken for another, but the answer for a pair is NEITHER three times in ten.
    table = np.eye(4)
    table[:3] = 0.7 * np.eye(4)[:3] + 0.3 * np.eye(4)[3]
    X, y = make_blobs(300, centers=4, cluster_std=1.0, random_state=1)
    hints = draw_confused_triplets(y, 400, table, np.random.RandomState(0))
    model = DiscriminativeClustering(4, noise="confusion", random_state=0).fit(X, supervision=hints)
    learned = model.noise_.triplets
    np.testing.assert_allclose(learned.sum(axis=1), 1.0)
    np.testing.assert_allclose(learned, table, atol=0.08)
    assert learned[:3, 3].mean() > 0.2  # epsilon / 3 at the start
    assert np.diff(model.lower_bounds_).min() >= -1e-9
