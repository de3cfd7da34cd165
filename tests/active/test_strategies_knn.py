"""Probabilistic nearest neighbours: by hand, against its twin, and its questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr

from likewise.active.strategies import ProbabilisticKNN
from likewise.active.strategies._knn import compute_group_probabilities, learn_column_weights
from likewise.active.strategies._placing import PlacedRows, standardize_columns
from profiles import fewer
from reference import strategies as twin
from reference.strategies import line, make_state


def test_chances_of_groups_by_hand():
    # Groups {0, 1} at 0 and 1, {4} at 5.5; row 2 is 2 and 1 away from the first, and 3.5 from the second.
    X = line(0, 1, 2, 3, 5.5)
    places = PlacedRows.from_state(make_state(X, must=[(0, 1)], cannot=[(0, 4)], n_clusters=2))
    found = compute_group_probabilities(X, places, 3, 0.1)
    first, second = np.exp(-0.4) + np.exp(-0.1), np.exp(-1.225)
    assert found[2] == pytest.approx([first / (first + second), second / (first + second)])
    # Of the two nearest of row 3, at 2 and 2.5 from it, one is of each group.
    first, second = np.exp(-0.4), np.exp(-0.625)
    assert compute_group_probabilities(X, places, 2, 0.1)[3] == pytest.approx(
        [first / (first + second), second / (first + second)]
    )
    assert compute_group_probabilities(X, places, 1, 0.1)[3].tolist() == [1, 0]


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8), gamma=st.sampled_from([0.01, 1.0]))
def test_chances_equal_their_twin(seed, k, gamma):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    places = PlacedRows.from_state(
        make_state(X, must=[(0, 1), (2, 3)], cannot=[(0, 2), (0, 4), (2, 4)], n_clusters=3)
    )
    found = compute_group_probabilities(X, places, k, gamma)
    wanted = [twin.group_chances(X, places.members, k, gamma, row) for row in range(12)]
    assert found == pytest.approx(np.array(wanted))


def test_blocks_change_nothing(monkeypatch):
    from likewise.active.strategies import _placing

    X = np.random.default_rng(0).normal(size=(40, 2))
    places = PlacedRows.from_state(make_state(X, cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=3))
    whole = compute_group_probabilities(X, places, 2, 0.5)
    monkeypatch.setattr(_placing, "_ENTRIES", 20)
    assert compute_group_probabilities(X, places, 2, 0.5) == pytest.approx(whole)


def test_a_row_too_far_for_any_similarity_goes_with_the_nearest():
    X = line(0, 1, 1e4)
    found = compute_group_probabilities(
        X, PlacedRows.from_state(make_state(X, cannot=[(0, 1)], n_clusters=2)), 5, 1.0
    )
    assert found[2] == pytest.approx([0, 1])


def test_the_row_between_groups_is_asked_against_the_likeliest_first():
    X = line(0, 1, 2, 5.4, 8, 9, 10)
    state = make_state(X, must=[(0, 1), (5, 6)], cannot=[(0, 6)], n_clusters=2)
    question = ProbabilisticKNN(learn_metric=False).choose(state, 1)[0]
    assert question.rows == (3, 5)
    rows = standardize_columns(X)
    chance = twin.group_chances(rows, [[0, 1], [5, 6]], 10, 1.0, 3)
    assert question.score == pytest.approx(1 - max(chance))
    assert "is in its most probable group with probability 62%" in str(question.reason)


def test_the_smallest_maximum_is_asked_and_not_the_largest_entropy():
    # Three groups at the corners of a triangle. Row 3 is between all three but nearest to the first; row 4 is
    # in the middle of two of them: its maximum is smaller, its entropy too.
    X = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.4], [1.4, 0.95], [2.0, 0.0]])
    state = make_state(X, cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=3)
    strategy = ProbabilisticKNN(learn_metric=False, gamma=0.5)
    p = compute_group_probabilities(standardize_columns(X), PlacedRows.from_state(state), 10, 0.5)
    assert p[4].max() < p[3].max()
    assert entr(p[4]).sum() < entr(p[3]).sum()
    assert 4 in strategy.choose(state, 1)[0].rows


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_the_metric_is_a_minimum_of_its_twin(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3])  # row 11 is alone
    X[:, 0] += 2 * groups
    found = learn_column_weights(X, groups, 0.5)
    assert (found >= 0).all()
    least = twin.column_weights_loss(X, groups, 0.5, found)
    assert least <= twin.column_weights_loss(X, groups, 0.5, np.ones(3))
    for k in range(3):
        for step in (-1e-2, 1e-2):
            moved = found.copy()
            moved[k] = max(0.0, moved[k] + step)
            assert least <= twin.column_weights_loss(X, groups, 0.5, moved) + 1e-6


def test_the_metric_weighs_the_column_that_tells_groups_apart():
    rng = np.random.default_rng(0)
    groups = np.arange(40) % 2
    X = rng.normal(size=(40, 2))
    X[:, 1] += 2 * groups - 1
    noise, telling = learn_column_weights(X, groups, 0.5)
    assert noise < 0.7
    assert telling > 1.3
    assert learn_column_weights(X[:2], groups[:2], 0.5).tolist() == [1, 1]  # nothing to learn from


def test_questions_follow_the_learned_metric():
    # By the answers, column 1 separates the groups and column 0 does not.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    groups = np.arange(60) % 2
    X[:, 1] += 2 * groups
    links = {
        "must": [(i, i + 2) for i in range(38)],
        "cannot": [(0, 1)],
        "n_clusters": 2,
    }
    state = make_state(X, **links)
    rows = standardize_columns(X)
    learned = rows * np.sqrt(learn_column_weights(rows[:40], groups[:40], 0.5))
    chance = compute_group_probabilities(learned, PlacedRows.from_state(state), 10, 0.5)
    question = ProbabilisticKNN().choose(state, 1)[0]
    assert question.score == pytest.approx(1 - chance[40:].max(axis=1).min())
    assert question.score != ProbabilisticKNN(learn_metric=False).choose(state, 1)[0].score


def test_many_placed_rows_are_drawn_for_the_metric(monkeypatch):
    from likewise.active.strategies import _knn

    sizes = []
    monkeypatch.setattr(_knn, "_MOST_PLACED", 4)
    original = _knn.learn_column_weights
    monkeypatch.setattr(
        _knn, "learn_column_weights", lambda rows, *more: sizes.append(len(rows)) or original(rows, *more)
    )
    X, cache = np.random.default_rng(0).normal(size=(12, 2)), {}
    links = {"must": [(0, 1), (1, 2), (4, 5)], "cannot": [(0, 4)], "n_clusters": 2, "cache": cache}
    for _ in range(2):
        ProbabilisticKNN().choose(make_state(X, **links), 1)
    assert sizes == [4]  # learned once while the groups stay the same


def test_units_of_the_columns_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    links = {"cannot": [(0, 1), (0, 2), (1, 2)], "n_clusters": 3}
    rows = [q.rows for q in ProbabilisticKNN().choose(make_state(X, **links), 5)]
    assert [q.rows for q in ProbabilisticKNN().choose(make_state(X * 8 + 1, **links), 5)] == rows


def test_groups_are_explored_first():
    question = ProbabilisticKNN().choose(make_state(line(0, 1, 2, 9), cannot=[(0, 3)], n_clusters=3), 1)[0]
    assert "farthest" in str(question.reason)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ProbabilisticKNN(0), "n_neighbors must be an integer of at least 1, got 0"),
        (lambda: ProbabilisticKNN(gamma=0), "gamma must be .* or None, got 0"),
        (lambda: ProbabilisticKNN(learn_metric="yes"), "learn_metric must be one of True, False, got 'yes'"),
    ],
)
def test_bad_parameters_are_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()
