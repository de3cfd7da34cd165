"""Strategies that place rows, by hand and against twins: rows, groups, pairs and reasons."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import InterviewState
from likewise.active.strategies import FarthestFirst, MinMax
from likewise.active.strategies._farthest_first import is_exploring
from likewise.active.strategies._placing import PlacedRows, Placing, place
from profiles import fewer
from reference import strategies as twin
from reference.strategies import line, make_state


def list_pairs_asked_by(strategy, X, y, k, seed=0, budget=1000):
    """All pairs that a strategy asks of an oracle that knows y."""
    must, cannot, asked = [], [], []
    while len(asked) < budget:
        state = make_state(X, must, cannot, asked, n_clusters=k, random_state=seed)
        found = strategy.choose(state, 1)
        if not found:
            break
        asked.append(found[0].rows)
        (must if y[asked[-1][0]] == y[asked[-1][1]] else cannot).append(asked[-1])
    return asked, PlacedRows.from_state(make_state(X, must, cannot, asked, n_clusters=k, random_state=seed))


def first_row(n, seed=0):
    return int(InterviewState.from_data(np.zeros((n, 1)), random_state=seed).rng().integers(n))


# ---------------------------------------------------------------------- groups, derived from the answers


def test_groups_are_components_that_are_all_apart_and_a_row_in_the_middle_is_not_one():
    X = line(0, 1, 2, 3, 4, 5, 6)
    places = PlacedRows.from_state(
        make_state(X, must=[(0, 1), (2, 3)], cannot=[(0, 2), (4, 1)], n_clusters=3)
    )
    assert [rows.tolist() for rows in places.members] == [[0, 1], [2, 3]]
    assert places.group.tolist() == [0, 0, 1, 1, -1, -1, -1]
    assert places.begun == (4,)
    assert places.unplaced.tolist() == [4, 5, 6]


def test_a_row_apart_from_all_groups_but_one_of_k_is_in_that_one():
    X = line(0, 1, 2, 3, 4)
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1)]}
    assert PlacedRows.from_state(make_state(X, **links, n_clusters=2)).group.tolist() == [0, 0, 1, 1, 1]
    assert PlacedRows.from_state(make_state(X, **links, n_clusters=3)).group.tolist() == [0, 0, 1, 1, -1]
    assert PlacedRows.from_state(make_state(X, **links)).group.tolist() == [0, 0, 1, 1, -1]


def test_what_is_implied_of_one_row_implies_more():
    # 4 differs from 0, so it belongs with 2; 5 differs from 4, so it belongs with 0.
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1), (4, 5)]}
    places = PlacedRows.from_state(make_state(line(0, 1, 2, 3, 4, 5), **links, n_clusters=2))
    assert places.group.tolist() == [0, 0, 1, 1, 1, 0]


def test_a_row_apart_from_k_groups_opens_one_more():
    places = PlacedRows.from_state(make_state(line(0, 1, 2), cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=2))
    assert sorted(places.group.tolist()) == [0, 1, 2]


def test_a_row_apart_from_what_is_implied_of_every_group_opens_one_more():
    # With two clusters 4 belongs with 2 and 6 with 0, so 5, which differs from both, belongs with neither.
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1), (6, 2), (5, 4), (5, 6)]}
    places = PlacedRows.from_state(make_state(line(0, 1, 2, 3, 4, 5, 6), **links, n_clusters=2))
    assert places.group.tolist() == [0, 0, 1, 1, 1, 2, 0]


def test_hints_given_beforehand_begin_nothing():
    places = PlacedRows.from_state(
        make_state(line(0, 1, 2, 3), must=[(0, 1)], cannot=[(0, 2), (2, 3)], asked=[])
    )
    assert places.begun == ()
    assert places.members[0].tolist() == [0, 1]


def test_labels_and_groups_of_cannot_links_make_groups_too():
    hints = Supervision.from_labels(["a", "b", None, "a", "c"])
    places = PlacedRows.from_state(InterviewState.from_data(line(0, 1, 2, 3, 4), hints, n_clusters=3))
    assert places.group.tolist() == [0, 1, -1, 0, 2]
    cannot = Supervision.from_links(5, must=[(0, 4)], cannot_groups=[[0, 1, 2]])
    places = PlacedRows.from_state(InterviewState.from_data(line(0, 1, 2, 3, 4), cannot))
    assert places.group.tolist() == [0, 1, 2, -1, 0]


def test_without_answers_a_row_drawn_by_the_seed_is_the_first_group():
    firsts = {
        PlacedRows.from_state(InterviewState.from_data(np.zeros((50, 1)), random_state=seed)).members[0][0]
        for seed in range(20)
    }
    assert len(firsts) > 5


# ---------------------------------------------------------------------- from a row to pairs


def test_a_row_is_asked_against_the_nearest_row_of_each_group_nearest_group_first():
    X = line(0, 1, 10, 12, 30, 6)
    groups = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (0, 4), (2, 4)]}
    asked = []
    for _ in range(3):
        state = make_state(X, groups["must"], groups["cannot"] + asked, n_clusters=4)
        asked.append(FarthestFirst().choose(state, 1)[0].rows)
    assert asked == [(2, 5), (1, 5), (4, 5)]
    assert (
        FarthestFirst().choose(make_state(X, groups["must"], groups["cannot"] + asked, n_clusters=4), 1) == []
    )


def test_several_questions_are_about_different_rows_first():
    X = line(0, 10, 4, 6, 5)
    found = FarthestFirst().choose(make_state(X, cannot=[(0, 1)], n_clusters=2), 100)
    rows = [({*question.rows} - {0, 1}).pop() for question in found]
    assert sorted(rows[:3]) == [2, 3, 4]
    # Then the other group of each row, and finally pairs of rows that are not placed.
    assert len(found) == 9
    assert len({question.key for question in found}) == 9


def test_every_group_of_a_row_comes_before_another_row_of_the_same_group():
    X = line(0, 1, 10, 11, 5)
    state = make_state(X, must=[(0, 1), (2, 3)], cannot=[(0, 2)], n_clusters=3)
    assert [question.rows for question in MinMax().choose(state, 4)] == [(1, 4), (2, 4), (0, 4), (3, 4)]


def test_a_question_without_a_result_makes_way_for_another_row_and_comes_back_last():
    X = line(0, 10, 4, 6)
    state = make_state(X, cannot=[(0, 1)], asked=[(0, 1), (0, 2)], n_clusters=2)
    assert [question.rows for question in MinMax().choose(state, 3)] == [(1, 3), (1, 2), (0, 3)]


def test_a_row_that_was_begun_is_finished_first():
    X = line(0, 10, 20, 14, 100)
    state = make_state(X, cannot=[(0, 1), (0, 2), (1, 2), (1, 3)], n_clusters=4)
    question = MinMax().choose(state, 1)[0]
    assert question.rows == (2, 3)
    assert "already known to differ from some groups" in str(question.reason)


def test_unsure_of_a_begun_row_goes_on_with_its_next_group():
    X = line(0, 10, 20, 14, 100)
    cannot = [(0, 1), (0, 2), (1, 2), (1, 3)]
    state = make_state(X, cannot=cannot, asked=[*cannot, (2, 3)], n_clusters=4)
    assert MinMax().choose(state, 1)[0].rows == (0, 3)


def test_likely_groups_are_asked_before_near_ones():
    state = make_state(line(0, 10, 4), cannot=[(0, 1)])
    likely = Placing(np.array([2]), lambda row: "is tried", likely=lambda row: np.array([0.2, 0.8]))
    near = Placing(np.array([2]), lambda row: "is tried")
    assert place(state, PlacedRows.from_state(state), likely, 1)[0].rows == (1, 2)
    assert place(state, PlacedRows.from_state(state), near, 1)[0].rows == (0, 2)


# ---------------------------------------------------------------------- farthest first, min-max


def test_the_walk_goes_to_the_farthest_row():
    question = FarthestFirst().choose(make_state(line(0, 1, 5, 9), cannot=[(0, 3)], n_clusters=3), 1)[0]
    assert (question.rows, question.score) == ((2, 3), 4.0)
    assert str(question.reason).startswith(
        "Row 2 is farthest from the rows placed so far; row 3 is the nearest"
    )


def test_consolidation_draws_rows_by_the_seed():
    X = np.arange(60.0)[:, None]
    drawn = {
        FarthestFirst().choose(make_state(X, cannot=[(0, 59)], n_clusters=2, random_state=seed), 1)[0].rows
        for seed in range(10)
    }
    assert len(drawn) > 5


def test_without_a_number_of_clusters_the_walk_ends_when_few_rows_are_alone():
    X = np.arange(30.0)[:, None]
    few = make_state(X, must=[(0, 1)], cannot=[(0, 20)])
    assert is_exploring(few, PlacedRows.from_state(few))
    many = make_state(X, must=[(0, j) for j in range(1, 19)], cannot=[(0, 20)])
    assert not is_exploring(many, PlacedRows.from_state(many))


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_min_max_asks_what_its_twin_with_a_memory_asks(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    y = np.concatenate([np.arange(k), rng.integers(k, size=12 - k)])
    wanted, groups = twin.min_max(X, y, k, first_row(12, seed))
    asked, places = list_pairs_asked_by(MinMax(), X, y, k, seed)
    assert asked == wanted
    assert {frozenset(rows) for rows in groups} == {frozenset(rows.tolist()) for rows in places.members}


@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_explore_asks_what_its_twin_with_a_memory_asks(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 2))
    y = np.concatenate([np.arange(k), rng.integers(k, size=15 - k)])
    wanted, groups = twin.explore(X, y, k, first_row(15, seed))
    asked, places = list_pairs_asked_by(FarthestFirst(), X, y, k, seed, budget=len(wanted))
    assert asked == wanted
    assert len(groups) == k == places.n_groups
