"""The best pairs and triplets: equal to scoring all, and properties of the scores."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise.bayesian._pair_scores as pairs_module
from likewise.bayesian._pair_scores import best_pairs, score_triplets
from profiles import fewer
from reference.bayesian import pair_scores

criteria = pytest.mark.parametrize("criterion", ["info", "uncertain"])


def draw_case(seed, n_particles=9, n_rows=40, k=3, sharp=0.3):
    return np.random.default_rng(seed).dirichlet(np.full(k, sharp), size=(n_particles, n_rows))


def rank_pairs(scores):
    """Return pairs by score, best first; ties are sorted by rows."""
    return sorted(scores, key=lambda pair: (-scores[pair], pair))


def test_by_hand():
    """Two certain particles agree on one pair only; the other pairs score log 2, and the first is best."""
    proba = np.array([[[1.0, 0.0]] * 3, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    found = best_pairs(proba, 3, epsilon=0.0)
    assert found.pairs.tolist() == [[0, 2], [1, 2], [0, 1]]
    np.testing.assert_allclose(found.scores, [np.log(2), np.log(2), 0.0], atol=1e-12)


@criteria
@fewer(2)
@given(
    seed=st.integers(0, 10**6),
    k=st.sampled_from([1, 2, 3, 8]),
    sharp=st.sampled_from([0.02, 0.3, 5.0]),
    epsilon=st.sampled_from([0.0, 0.05, 0.3]),
    n=st.sampled_from([1, 4]),
)
def test_no_pair_is_missed(criterion, seed, k, sharp, epsilon, n):
    proba = draw_case(seed, k=k, sharp=sharp)
    scores = pair_scores(proba, epsilon, criterion)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "_BLOCK", 16)
        patch.setattr(pairs_module, "_CHUNK", 7)
        patch.setattr(pairs_module, "_FIRST_ROWS", 4)
        found = best_pairs(proba, n, criterion=criterion, epsilon=epsilon)
    np.testing.assert_allclose(found.scores, sorted(scores.values(), reverse=True)[:n], atol=1e-12)
    for pair, score in zip(found.pairs.tolist(), found.scores, strict=True):
        np.testing.assert_allclose(scores[tuple(pair)], score, atol=1e-12)


@criteria
def test_few_pairs_are_scored_and_the_best_is_found(criterion):
    proba = draw_case(0, n_particles=24, n_rows=300, sharp=0.5)
    found = best_pairs(proba, criterion=criterion)
    scores = pair_scores(proba, 0.05, criterion)
    assert tuple(found.pairs[0].tolist()) == rank_pairs(scores)[0]
    assert found.n_scored < 0.5 * len(scores)


@criteria
@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("sharp", [0.001, 0.05, 1.0])
def test_float32_errors_are_within_the_slack(criterion, k, sharp):
    """The slack has a margin for more particles and other machines."""
    r = np.nan_to_num(draw_case(0, n_particles=96, n_rows=128, k=k, sharp=sharp), nan=1 / k).transpose(
        1, 0, 2
    )
    search = pairs_module._PairSearch(np.ascontiguousarray(r), 1, criterion, 0.05)
    pairs = np.column_stack(np.triu_indices(128, 1))
    loss = np.abs(search._score_roughly(pairs) - search.score_pairs(pairs)).max()
    assert loss < pairs_module._SLACK_SCORE / 2
    same = np.einsum("ask,bsk->abs", r, r)
    mean, square = search._compute_moments(slice(0, 128), slice(0, 128))
    assert np.abs(mean - same.mean(axis=2)).max() < pairs_module._SLACK_MEAN / 2
    if criterion == "info":
        assert np.abs(square - mean * mean - same.var(axis=2)).max() < pairs_module._SLACK_VARIANCE / 1.5


def test_ties_go_to_the_first_rows():
    proba = np.repeat(draw_case(3, n_rows=2), 30, axis=1)
    found = best_pairs(proba, 1)
    scores = pair_scores(proba, 0.05, "info")
    top = max(scores.values())
    tied = [pair for pair in rank_pairs(scores) if scores[pair] > top - 1e-12]
    assert len(tied) > 1
    assert found.pairs.tolist() == [list(min(tied))]


@criteria
def test_names_of_clusters_do_not_matter(criterion):
    proba = draw_case(1)
    other = proba.copy()
    other[::2] = other[::2][:, :, [2, 0, 1]]
    one, two = best_pairs(proba, 5, criterion=criterion), best_pairs(other, 5, criterion=criterion)
    np.testing.assert_array_equal(one.pairs, two.pairs)
    np.testing.assert_allclose(one.scores, two.scores)


def test_information_is_no_more_than_uncertainty():
    proba = draw_case(2)
    info, uncertain = (pair_scores(proba, 0.05, criterion) for criterion in ("info", "uncertain"))
    assert all(0 <= info[pair] <= uncertain[pair] + 1e-12 for pair in info)


def test_excluded_pairs_and_groups_are_not_found():
    proba = draw_case(4, n_rows=12)
    order = rank_pairs(pair_scores(proba, 0.05, "info"))
    first = best_pairs(proba, 3)
    assert [tuple(pair) for pair in first.pairs.tolist()] == order[:3]
    turned = [pair[::-1] for pair in order[:2]]
    assert tuple(best_pairs(proba, exclude=turned).pairs[0].tolist()) == order[2]
    groups = np.full(12, -1)
    groups[list(order[0])] = 7
    left = best_pairs(proba, 66, groups=groups)
    assert [tuple(pair) for pair in left.pairs.tolist()] == [
        pair for pair in order if set(pair) != set(order[0])
    ]


def test_no_allowed_pairs_gives_an_empty_result():
    proba = draw_case(5, n_rows=4)
    assert len(best_pairs(proba, groups=np.zeros(4, dtype=int)).pairs) == 0
    assert len(best_pairs(proba, exclude=list(itertools.combinations(range(4), 2))).scores) == 0
    assert len(best_pairs(proba, 100).pairs) == 6
    assert best_pairs(draw_case(5, n_rows=1)).pairs.shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"criterion": "best"}, "criterion must be one of.*'best'"),
        ({"exclude": [(0, 40)]}, "from 0 to 40; there are 40"),
        ({"n": 0}, "n must be at least 1"),
        ({"epsilon": 0.5}, "epsilon"),
        ({"groups": [0, 1]}, "groups must have shape"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        best_pairs(draw_case(0), **arguments)


def test_bad_probabilities():
    with pytest.raises(ValueError, match=r"\(n_particles, n_rows, n_clusters\), got \(40, 3\)"):
        best_pairs(draw_case(0)[0])


# ---------------------------------------------------------------------- triplets


def test_a_triplet_by_enumeration():
    proba = draw_case(0, n_particles=4, n_rows=5)
    rows, epsilon = (3, 0, 4), 0.1
    answers = np.zeros((4, 4))
    for s, way in itertools.product(range(4), itertools.product(range(3), repeat=3)):
        a, b, c = way
        same = [a == b, a == c, b == c]
        truth = same.index(True) if sum(same) == 1 else 3
        weight = np.prod([proba[s, row, h] for row, h in zip(rows, way, strict=True)])
        for answer in range(4):
            answers[s, answer] += weight * (1 - epsilon if answer == truth else epsilon / 3)

    def entropy(p):
        return -(p * np.log(p)).sum(axis=-1)

    uncertain = entropy(answers.mean(axis=0))
    info = uncertain - entropy(answers).mean()
    for criterion, expected in (("uncertain", uncertain), ("info", info)):
        found = score_triplets(proba, [rows], criterion=criterion, epsilon=epsilon)
        np.testing.assert_allclose(found, [expected])


def test_a_triplet_is_more_informative_than_its_pairs_for_certain_particles():
    proba = np.eye(3)[np.random.default_rng(0).integers(3, size=(30, 3))]
    triplet = score_triplets(proba, [(0, 1, 2)], epsilon=1e-6)[0]
    assert triplet > best_pairs(proba, 1, epsilon=1e-6).scores[0]
