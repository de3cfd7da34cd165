"""The state of an interview, by hand and against the closure; and random pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import InterviewState, Question, RandomPairs

SIX = np.zeros((6, 1))


def test_what_follows_is_known():
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(2, 3)])
    state = InterviewState.from_data(SIX, hints)
    assert state.knows(0, 2) == "must"
    assert state.knows(0, 3) == state.knows(3, 1) == "cannot"
    assert state.knows(0, 4) == state.knows(3, 4) == "unknown"
    assert state.relations([0, 0, 0], [2, 3, 4]).tolist() == [1, -1, 0]
    assert state.relations(np.arange(2)[:, None], np.arange(2, 5)[None, :]).tolist() == [
        [1, -1, 0],
        [1, -1, 0],
    ]
    assert [rows.tolist() for rows in state.neighbourhoods()] == [[0, 1, 2], [3]]


def test_no_hints_is_no_neighbourhood():
    assert InterviewState.from_data(SIX).neighbourhoods() == []


def test_triplets_labels_and_groups_count_too():
    hints = (
        Supervision.from_triplets(6, [(0, 1, 2)], "AB")
        | Supervision.from_labels([None, None, None, "x", "x", "y"])
        | Supervision.from_links(6, cannot_groups=[[0, 3]])
    )
    state = InterviewState.from_data(SIX, hints)
    assert state.knows(0, 1) == state.knows(3, 4) == "must"
    assert state.knows(1, 2) == state.knows(4, 5) == state.knows(1, 4) == "cannot"
    assert state.knows(2, 5) == "unknown"


def test_contradictions_are_dropped_and_the_must_links_win():
    state = InterviewState.from_data(
        SIX, Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(0, 2), (2, 3)])
    )
    assert state.knows(0, 2) == "must"
    assert state.knows(0, 3) == "cannot"
    assert state.closure.conflicts.tolist() == [[0, 2]]


def test_a_question_that_is_implied_or_was_put_cannot_be_asked():
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 2)])
    state = InterviewState.from_data(SIX, hints, asked=frozenset({Question.pair(4, 5).key}))
    assert not state.can_ask(Question.pair(0, 2))
    assert not state.can_ask(Question.pair(5, 4))
    assert state.can_ask(Question.pair(0, 5))
    assert not state.can_ask(Question.triplet(2, 0, 1))  # AB of (0, 1, 2) follows
    assert state.can_ask(Question.triplet(0, 1, 5))  # AB or NEITHER


def test_draws_depend_on_the_seed_and_the_number_of_answers_alone():
    def draw(**more):
        return InterviewState.from_data(SIX, **more).rng().integers(1 << 30)

    assert draw(random_state=3, n_answers=2) == draw(random_state=3, n_answers=2, asked=frozenset({"x"}))
    assert len({draw(random_state=s, n_answers=a) for s in range(3) for a in range(3)}) == 9


@st.composite
def hinted(draw):
    n = draw(st.integers(2, 8))
    pairs = st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=6)
    groups = st.lists(st.lists(st.integers(0, n - 1), min_size=2, max_size=4, unique=True), max_size=2)
    hints = Supervision.from_links(n, must=draw(pairs), cannot=draw(pairs), cannot_groups=draw(groups))
    asked = frozenset(Question.pair(*pair).key for pair in draw(pairs))
    return InterviewState.from_data(
        np.zeros((n, 1)), hints, asked=asked, random_state=draw(st.integers(0, 5))
    )


@given(hinted())
def test_knowing_agrees_with_the_relation_of_the_hints(state):
    for i, j in combinations(range(state.n_samples), 2):
        assert state.knows(i, j) == state.knows(j, i) == state.supervision.relation(i, j).kind
        assert ("unknown", "must", "cannot")[int(state.relations(i, j))] == state.knows(i, j)
    component = state.closure.component.tolist()
    wanted = [component.index(c) for c in range(state.closure.n_components)]
    assert state.closure.first_rows.tolist() == wanted


@given(hinted(), st.integers(1, 30))
def test_random_pairs_are_askable_distinct_and_all_of_them_if_wanted(state, n):
    askable = {
        question.key
        for pair in combinations(range(state.n_samples), 2)
        if state.can_ask(question := Question.pair(*pair))
    }
    chosen = RandomPairs().choose(state, n)
    assert {question.key for question in chosen} <= askable
    assert len({question.key for question in chosen}) == len(chosen) == min(n, len(askable))
    assert RandomPairs().choose(state, 100)[:n] == chosen  # the first questions do not depend on n


def test_random_pairs_are_uniform_when_few_are_left():
    # All but the pairs of row 9 are known; these should be equally frequent.
    hints = Supervision.from_links(10, must_groups=[[0, 1, 2, 3]], cannot_groups=[[0, 4, 5, 6, 7, 8]])
    seen = [
        RandomPairs().choose(InterviewState.from_data(np.zeros((10, 1)), hints, random_state=s), 1)[0].rows
        for s in range(450)
    ]
    assert {rows[1] for rows in seen} == {9}
    counts = np.bincount([rows[0] for rows in seen], minlength=9)
    assert counts.min() > 25
    assert counts.max() < 80


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(n):
    assert len(RandomPairs().choose(InterviewState.from_data(np.zeros((n, 1))), 5)) == n - 1
