"""Messages on a forest: two nodes by hand, and a star that would underflow."""

import numpy as np

from likewise.kernels.messages import gather, spread


def pass_messages(parent, first, second, chance, belief):
    total = np.zeros(len(belief))
    arguments = (*(np.array(x) for x in (parent, first, second)), np.array(chance))
    gather(*arguments, belief, total)
    spread(*arguments, np.empty(belief.shape[2]), belief)
    return total, belief


def test_a_pair_by_hand():
    belief = np.array([[[0.75, 0.25], [0.5, 0.5]]])
    total, belief = pass_messages([0], [1], [-1], [[0.8, 0.2, 0.2, 0.2]], belief)
    np.testing.assert_allclose(total, np.log(0.5))  # together half of the time: 0.8 / 2 + 0.2 / 2
    np.testing.assert_allclose(belief, [[[0.75, 0.25], [0.65, 0.35]]])  # 0.75 * 0.8 + 0.25 * 0.2


def test_a_triplet_by_hand():
    # Node 0 is surely in cluster 0, node 1 surely in 1, node 2 in either: with 0 alone, or with 1 alone.
    belief = np.array([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
    total, belief = pass_messages([0], [1], [2], [[0.1, 0.6, 0.2, 0.1]], belief)
    np.testing.assert_allclose(total, np.log(0.4))
    np.testing.assert_allclose(belief, [[[1, 0], [0, 1], [0.75, 0.25]]])


def test_a_triplet_in_one_cluster_is_not_a_pair():
    belief = np.array([[[1.0, 0.0]] * 3])
    total, _ = pass_messages([0], [1], [2], [[0.5, 0.2, 0.2, 0.1]], belief)
    np.testing.assert_allclose(total, np.log(0.1))


def test_a_star_of_ten_thousand_does_not_underflow():
    n = 10_001
    belief = np.tile([0.3, 0.7], (1, n, 1))
    chance = np.tile([1.0, 1e-20, 1e-20, 1e-20], (n - 1, 1))
    total, belief = pass_messages(
        np.zeros(n - 1, dtype=int), np.arange(1, n), np.full(n - 1, -1), chance, belief
    )
    np.testing.assert_allclose(total, n * np.log(0.7), rtol=1e-12)
    np.testing.assert_allclose(belief, np.tile([0.0, 1.0], (1, n, 1)), atol=1e-12)


def test_models_are_independent():
    rng = np.random.default_rng(0)
    belief = rng.dirichlet(np.ones(3), size=(4, 5))
    said = ([1, 0], [2, 1], [-1, 3], [[0.9, 0.1, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]])
    total, together = pass_messages(*said, belief.copy())
    for s in range(4):
        alone, one = pass_messages(*said, belief[s : s + 1].copy())
        assert alone[0] == total[s]
        np.testing.assert_array_equal(one[0], together[s])
