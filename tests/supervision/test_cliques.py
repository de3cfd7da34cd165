"""Implications of the number of clusters, by hand and against all assignments of the rows."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import MPCKMeans, Supervision
from likewise.active import FarthestFirst, Interview, InterviewState, Question, RandomPairs
from likewise.supervision.cliques import (
    Edges,
    derive_implied_links,
    find_clique,
    grow_groups,
    order_large_first,
)


def links(n, must=(), cannot=(), groups=None):
    return Supervision.from_links(
        n, must=list(must) or None, cannot=list(cannot) or None, cannot_groups=groups
    )


def list_implied_links(n, k, **more):
    return derive_implied_links(links(n, **more).closure(on_conflict="drop"), k).must.tolist()


def test_what_is_apart_from_all_groups_but_one_belongs_to_that_one():
    links_ = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1)]}
    assert list_implied_links(6, 2, **links_) == [[2, 4]]
    assert list_implied_links(6, 3, **links_) == list_implied_links(6, None, **links_) == []


def test_what_follows_makes_more_follow():
    # 4 differs from 0, so it belongs with 2; 5 differs from 4, so with 0; 6 differs from 5, so with 2.
    links_ = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1), (4, 5), (5, 6)]}
    assert list_implied_links(8, 2, **links_) == [[0, 5], [2, 4], [2, 6]]


def test_sets_of_rows_that_are_all_apart_count_as_pairs_do():
    assert list_implied_links(6, 3, groups=[[0, 1, 2], [3, 0, 1]]) == [[2, 3]]
    assert list_implied_links(6, 3, groups=[[0, 1, 2]], cannot=[(3, 0), (3, 1)]) == [[2, 3]]
    assert list_implied_links(6, 4, groups=[[0, 1, 2], [3, 0, 1]]) == []


def test_nothing_follows_where_more_groups_than_clusters_were_found():
    triangle = [(0, 1), (0, 2), (1, 2)]
    assert list_implied_links(5, 2, cannot=[*triangle, (0, 3)]) == []
    assert list_implied_links(5, 3, cannot=[*triangle, (0, 3), (1, 3)]) == [[2, 3]]


def test_a_stated_cannot_link_is_stronger_than_what_would_follow():
    # With two clusters 2 and 3, which differ from 0, would be together; an answer states that they are not.
    assert list_implied_links(5, 2, must=[(0, 4)], cannot=[(0, 1), (0, 2), (0, 3), (2, 3)]) == []
    assert list_implied_links(
        7, 2, must=[(0, 5), (1, 6)], cannot=[(0, 1), (0, 2), (0, 3), (2, 3), (0, 4)]
    ) == [[1, 4]]


def test_a_row_apart_from_every_group_is_one_more():
    closure = links(7, must=[(0, 1), (2, 3)], cannot=[(0, 2), (4, 1), (6, 2), (5, 4), (5, 6)]).closure()
    edges = Edges(closure)
    first = find_clique(edges, order_large_first(edges, np.arange(closure.n_components)))
    found = grow_groups(edges, first, 2)
    assert found.place[closure.component].tolist() == [0, 0, 1, 1, 1, 2, 0]
    assert found.apart.shape == (5, 3)


# ---------------------------------------------------------------------- in an interview


X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [9.0]])


def interview(**more):
    return Interview(X, **{"n_clusters": 2, "strategy": RandomPairs()} | more)


class Looking(MPCKMeans):
    """Keeps the hints that it was fitted to."""

    def fit(self, X, y=None, *, supervision=None, sample_weight=None):
        self.hints_ = supervision
        return super().fit(X, supervision=supervision)


def test_the_interview_knows_and_does_not_ask_what_follows():
    asking = interview(model=Looking(n_clusters=2))
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    asking.tell(Question.pair(0, 5), "DIFFERENT")
    stated = links(6, cannot=[(0, 3), (0, 5)])
    assert asking.supervision == stated  # without implied links
    assert asking.state().supervision == stated
    assert asking.state().knows(3, 5) == "must"
    assert not asking.state().can_ask(Question.pair(3, 5))
    assert ("pair", (3, 5)) not in {question.key for question in asking.ask(100)}
    assert asking.model_.hints_ == links(6, must=[(3, 5)], cannot=[(0, 3), (0, 5)])
    assert asking.labels_[3] == asking.labels_[5] != asking.labels_[0]


def test_nothing_follows_while_the_number_of_clusters_is_not_known():
    for more in ({"discover": True}, {"n_clusters": None}):
        asking = interview(**more)
        asking.tell(Question.pair(0, 3), "DIFFERENT")
        asking.tell(Question.pair(0, 5), "DIFFERENT")
        assert asking.state().knows(3, 5) == "unknown"


def test_an_undo_takes_back_what_followed():
    asking = interview()
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    asking.tell(Question.pair(0, 5), "DIFFERENT")
    asking.undo()
    assert asking.state().knows(3, 5) == "unknown"


def test_a_late_answer_against_what_followed_is_kept_and_reported():
    asking = interview()
    for pair in [(0, 3), (0, 5), (3, 5)]:
        asking.tell(Question.pair(*pair), "DIFFERENT")
    (found,) = asking.contradictions  # three pairwise cannot-linked rows, and two clusters
    assert {reply.question.rows for reply in found.replies} == {(0, 3), (0, 5), (3, 5)}
    assert asking.state().knows(3, 5) == "cannot"
    assert len(asking.labels_) == 6


def test_contradictions_show_what_was_reported_and_not_what_followed():
    asking = interview()
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    asking.tell(Question.pair(0, 5), "DIFFERENT")  # so 3 and 5 are together
    asking.tell(Question.pair(3, 4), "SAME")
    asking.tell(Question.pair(4, 5), "SAME")
    asking.tell(Question.pair(3, 5), "DIFFERENT")
    (found,) = asking.contradictions
    assert found.chain == (3, 4, 5)
    assert [reply.question.rows for reply in found.replies] == [(3, 4), (4, 5), (3, 5)]


@pytest.mark.parametrize("strategy", [RandomPairs(), FarthestFirst()])
def test_with_two_clusters_as_many_answers_as_rows_settle_all(strategy):
    y = [0, 1, 0, 1, 1, 0]
    asking = interview(strategy=strategy)
    while (question := asking.ask()) is not None:
        i, j = question.rows
        asking.tell(question, "SAME" if y[i] == y[j] else "DIFFERENT")
    assert asking.n_answers == 5  # one less than the rows
    rows = np.arange(6)
    assert (asking.state().relations(rows[:, None], rows) == np.where(np.equal.outer(y, y), 1, -1)).all()


# ---------------------------------------------------------------------- laws


@st.composite
def draw_hints(draw):
    n, k = draw(st.integers(3, 6)), draw(st.integers(2, 3))
    pairs = st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=8)
    groups = st.lists(st.lists(st.integers(0, n - 1), min_size=2, max_size=3, unique=True), max_size=1)
    return n, k, links(n, draw(pairs), draw(pairs), draw(groups))


@given(draw_hints())
def test_what_follows_holds_in_every_way_to_sort_the_rows(problem):
    n, k, hints = problem
    found = derive_implied_links(hints.closure(on_conflict="drop"), k)
    kept = hints.drop_conflicts()
    cannot = np.concatenate([kept.cannot, kept.cannot_groups.list_pairs()[0]])
    must = np.concatenate([kept.must, kept.must_groups.list_star_edges()])
    ways = [np.array(way) for way in product(range(k), repeat=n)]
    ways = [
        way
        for way in ways
        if (way[must[:, 0]] == way[must[:, 1]]).all() and (way[cannot[:, 0]] != way[cannot[:, 1]]).all()
    ]
    assert all(way[i] == way[j] for way in ways for i, j in found.must.tolist())
    both = (hints | found).closure(on_conflict="drop")
    assert both.conflicts.tolist() == hints.closure(on_conflict="drop").conflicts.tolist()
    # The result is complete: a second search finds nothing more, unless links clash.
    if ways:
        assert not derive_implied_links(both, k)


@given(draw_hints())
def test_the_state_knows_the_same_by_pairs_and_by_sets(problem):
    n, k, hints = problem
    as_pairs = Supervision.from_links(
        n, must=hints.must, cannot=np.concatenate([hints.cannot, hints.cannot_groups.list_pairs()[0]])
    )
    rows = np.arange(n)
    one, other = (
        InterviewState.from_data(np.zeros((n, 1)), given_hints, n_clusters=k)
        for given_hints in (hints, as_pairs)
    )
    first, second = (state.relations(rows[:, None], rows[None, :]) for state in (one, other))
    assert (first == second).all()
