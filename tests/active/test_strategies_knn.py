"""Probabilistic nearest neighbours: by hand, against its twin, and what is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.active.strategies import ProbabilisticKNN
from likewise.active.strategies._knn import group_chances
from likewise.active.strategies._node_to_pairs import Places
from likewise.active.strategies._rows import standardized
from reference import strategies as twin
from reference.strategies import line, told


def test_chances_of_groups_by_hand():
    # Groups {0, 1} at 0 and 1, {4} at 5.5; row 2 is 2 and 1 away from the first, and 3.5 from the second.
    X = line(0, 1, 2, 3, 5.5)
    places = Places.of(told(X, must=[(0, 1)], cannot=[(0, 4)], n_clusters=2))
    found = group_chances(X, places, 3, 0.1)
    first, second = np.exp(-0.4) + np.exp(-0.1), np.exp(-1.225)
    assert found[2] == pytest.approx([first / (first + second), second / (first + second)])
    # Of the two nearest of row 3, at 2 and 2.5 from it, one is of each group.
    first, second = np.exp(-0.4), np.exp(-0.625)
    assert group_chances(X, places, 2, 0.1)[3] == pytest.approx(
        [first / (first + second), second / (first + second)]
    )
    assert group_chances(X, places, 1, 0.1)[3].tolist() == [1, 0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8), gamma=st.sampled_from([0.01, 1.0]))
def test_chances_equal_their_twin(seed, k, gamma):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    places = Places.of(told(X, must=[(0, 1), (2, 3)], cannot=[(0, 2), (0, 4), (2, 4)], n_clusters=3))
    found = group_chances(X, places, k, gamma)
    wanted = [twin.group_chances(X, places.members, k, gamma, row) for row in range(12)]
    assert found == pytest.approx(np.array(wanted))


def test_blocks_change_nothing(monkeypatch):
    from likewise.active.strategies import _rows

    X = np.random.default_rng(0).normal(size=(40, 2))
    places = Places.of(told(X, cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=3))
    whole = group_chances(X, places, 2, 0.5)
    monkeypatch.setattr(_rows, "_ENTRIES", 20)
    assert group_chances(X, places, 2, 0.5) == pytest.approx(whole)


def test_a_row_too_far_for_any_similarity_goes_with_the_nearest():
    X = line(0, 1, 1e4)
    found = group_chances(X, Places.of(told(X, cannot=[(0, 1)], n_clusters=2)), 5, 1.0)
    assert found[2] == pytest.approx([0, 1])


def test_the_row_between_groups_is_asked_against_the_likeliest_first():
    X = line(0, 1, 2, 5.4, 8, 9, 10)
    question = ProbabilisticKNN().choose(told(X, must=[(0, 1), (5, 6)], cannot=[(0, 6)], n_clusters=2), 1)[0]
    assert question.rows == (3, 5)
    rows = standardized(X)
    chance = twin.group_chances(rows, [[0, 1], [5, 6]], 10, 1.0, 3)
    assert question.score == pytest.approx(-sum(p * np.log(p) for p in chance))
    assert "may be of 1.9 groups" in question.why


def test_units_of_the_columns_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    links = {"cannot": [(0, 1), (0, 2), (1, 2)], "n_clusters": 3}
    rows = [q.rows for q in ProbabilisticKNN().choose(told(X, **links), 5)]
    assert [q.rows for q in ProbabilisticKNN().choose(told(X * 8 + 1, **links), 5)] == rows


def test_groups_are_explored_first():
    question = ProbabilisticKNN().choose(told(line(0, 1, 2, 9), cannot=[(0, 3)], n_clusters=3), 1)[0]
    assert "farthest" in question.why


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ProbabilisticKNN(0), "n_neighbors must be an integer of at least 1, got 0"),
        (lambda: ProbabilisticKNN(gamma=0), "gamma must be .* or None, got 0"),
    ],
)
def test_bad_parameters_are_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()
