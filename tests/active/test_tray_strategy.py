"""The strategy that fills trays: rows, representatives, benefit, and a defined end."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from likewise import DiscriminativeClustering, MPCKMeans, Supervision
from likewise.active import (
    Answer,
    FillTray,
    Interview,
    InterviewState,
    NodeUncertainty,
    Question,
    RandomPairs,
)
from likewise.active.strategies._fill_tray import _GroupProbabilities
from likewise.datasets import make_two_views
from likewise.oracles import LabelOracle
from profiles import fewer


class Sure:
    """A model that gives the probabilities that it was made with."""

    def __init__(self, proba):
        self.proba = np.asarray(proba, dtype=float)

    def predict_proba(self, X):
        return self.proba


def state_of(X, hints=None, **more):
    X = np.asarray(X, dtype=float)
    return InterviewState.from_data(X[:, None] if X.ndim == 1 else X, hints, **more)


def answer_all(y, strategy, *, X=None, k=None, seed=0, answer=None, most=200):
    """Ask until there is nothing left; labels of a plain model, made anew for each question."""
    X = np.random.default_rng(seed).normal(size=(len(y), 2)) + 2 * np.asarray(y)[:, None] if X is None else X
    model = MPCKMeans(n_clusters=k or 2)
    interview = Interview(
        X, model=model, discover=k is None, strategy=strategy, random_state=seed, budget=most
    )
    oracle = LabelOracle(y)
    while (question := interview.ask()) is not None:
        assert interview.state().can_ask(question)
        interview.tell(question, oracle.answer(question) if answer is None else answer(question))
    return interview


# ---------------------------------------------------------------------- by hand


def test_rows_in_doubt_come_beside_a_placed_row_of_each_likely_group():
    # Rows 0 to 2 and 7 to 9 are placed; of the others the model is in doubt about 4 and 5 alone.
    X = np.arange(10.0)
    hints = Supervision.from_links(10, must_groups=[[0, 1, 2], [7, 8, 9]], cannot=[(0, 9)])
    left = np.array([1, 1, 1, 1, 0.6, 0.4, 0, 0, 0, 0])
    model = Sure(np.column_stack([left, 1 - left]))
    state = state_of(X, hints, n_clusters=2, model=model, labels=(left < 0.5).astype(int))
    (question,) = FillTray(size=4).choose(state, 1)
    assert (question.kind, question.rows) == ("piles", (1, 4, 5, 8))  # the middles of both groups
    entropy = -(0.6 * np.log(0.6) + 0.4 * np.log(0.4))
    assert question.score == pytest.approx(2 * entropy)
    assert str(question.reason) == "The clusters of 4, 5 are uncertain; 1, 8 represent clusters."


def test_without_probabilities_the_neighbours_tell_where_there_is_doubt():
    X = np.r_[np.linspace(0, 1, 12), np.linspace(1.1, 2.1, 12)]
    labels = np.repeat([0, 1], 12)
    hints = Supervision.from_links(24, must=[(0, 1), (22, 23)], cannot=[(0, 23)])
    (question,) = FillTray(size=6).choose(state_of(X, hints, n_clusters=2, labels=labels), 1)
    doubtful = set(question.rows) - {0, 1, 22, 23}
    assert len(doubtful) == 4
    assert doubtful <= set(range(6, 18))  # those with neighbours in the other cluster


def test_groups_that_a_row_is_apart_from_are_not_shown():
    # All four groups are equally probable for rows 4 to 7; row 4 is known to differ from two of them.
    names = Sure(np.r_[np.eye(4), np.full((4, 4), 0.25)])
    hints = Supervision.from_links(8, cannot_groups=[[0, 1, 2, 3]], cannot=[(4, 0), (4, 1)])
    state = state_of(np.arange(8.0), hints, n_clusters=4, model=names, labels=np.zeros(8))
    doubts = _GroupProbabilities.from_state(state, "tray")
    np.testing.assert_allclose(doubts.chance[4:6], [[0, 0, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_allclose(doubts.doubt[4:6], np.log([2, 4]))
    free = np.ones(8, dtype=bool)
    assert doubts.fill_tray(4, free, 8)[0] == [2, 3]
    assert len(doubts.fill_tray(5, free, 8)[0]) == 4


def test_before_anything_is_reported_the_middle_of_each_cluster_comes_with_rows_far_apart():
    X = np.r_[np.linspace(0, 1, 9), np.linspace(10, 11, 9)]
    labels = np.repeat([0, 1], 9)
    (question,) = FillTray(size=6).choose(state_of(X, n_clusters=2, labels=labels), 1)
    assert {4, 13} <= set(question.rows)
    assert [sum(row < 9 for row in question.rows), len(question.rows)] == [3, 6]
    assert min(np.diff(sorted(X[list(question.rows)]))) >= 0.25


def test_a_component_has_one_seat():
    hints = Supervision.from_links(9, must=[(3, 4), (4, 5)], cannot=[(0, 8)])
    for size in (3, 5, 9):
        for question in FillTray(size=size).choose(
            state_of(np.arange(9.0), hints, labels=np.arange(9) // 5), 9
        ):
            assert len({3, 4, 5} & set(question.rows)) <= 1


def test_rows_that_were_set_aside_come_after_the_others():
    X = np.linspace(0, 1, 20)
    labels = (X > 0.5).astype(int)
    hints = Supervision.from_links(20, cannot=[(0, 19)])
    first = FillTray(size=6).choose(state_of(X, hints, n_clusters=2, labels=labels), 1)[0]
    again = FillTray(size=6).choose(
        state_of(X, hints, n_clusters=2, labels=labels, asked=frozenset({first.key})), 1
    )[0]
    assert set(first.rows) & set(again.rows) <= {0, 19}


def test_two_people_get_different_rows():
    X = np.linspace(0, 1, 40)
    hints = Supervision.from_links(40, cannot=[(0, 39)])
    state = state_of(X, hints, n_clusters=2, labels=(X > 0.5).astype(int))
    questions = FillTray(size=6).choose(state, 4)
    rows = [set(question.rows) - {0, 39} for question in questions]
    assert all(one.isdisjoint(other) for one, other in combinations(rows, 2))
    assert [question.kind for question in questions] == ["piles"] * 4


def test_more_groups_than_seats():
    y = np.repeat(np.arange(8), 4)
    interview = answer_all(y, FillTray(size=6), k=8, seed=2)
    assert interview.state().relations(0, np.arange(1, 4)).tolist() == [1, 1, 1]
    assert adjusted_rand_score(y, interview.labels_) == 1.0


@pytest.mark.parametrize("size", [2, 13, 4.0, None, True])
def test_the_size_is_checked(size):
    with pytest.raises(ValueError, match="size must be an integer from 3 to 12"):
        FillTray(size=size)


# ---------------------------------------------------------------------- properties


@fewer(2)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_trays_are_distinct_askable_and_the_same_each_time(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(12, 2)).astype(float)  # some rows are identical
    pairs = [tuple(rng.permutation(12)[:2]) for _ in range(6)]
    hints = Supervision.from_links(12, must=pairs[:2], cannot=pairs[2:])
    asked = frozenset({Question.piles(rng.permutation(12)[:4].tolist()).key, ("pair", (0, 1))})
    more = {"n_clusters": [None, 2, 3][seed % 3], "asked": asked, "random_state": seed, "n_answers": 3}
    labels = rng.integers(3, size=12)

    def chosen(count, names=(0, 1, 2), cache=None):
        named = np.array(names)[labels]
        state = InterviewState.from_data(X, hints, labels=named, cache={} if cache is None else cache, **more)
        found = FillTray(size=5).choose(state, count)
        assert all(state.can_ask(question) and str(question.reason) for question in found)
        return found

    questions = chosen(n)
    assert len({question.key for question in questions}) == len(questions) <= n
    cache = {}
    assert chosen(n, cache=cache) == chosen(n, cache=cache) == chosen(n, names=(7, -2, 3)) == questions
    assert chosen(1) == questions[:1]


@pytest.mark.filterwarnings("ignore:.*(distinct clusters|before its labels settled).*")
@pytest.mark.parametrize(("k", "seed"), [(2, 0), (3, 1), (3, 2), (None, 3)])
def test_true_answers_lead_to_the_groups_in_few_questions(k, seed):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k or 3), rng.integers(k or 3, size=24 - (k or 3))]
    interview = answer_all(y, FillTray(size=8), k=k, seed=seed)
    rows = np.arange(24)
    known = interview.state().relations(rows[:, None], rows[None, :])
    assert (known == np.where(y[:, None] == y[None, :], 1, -1)).all()
    assert interview.n_answers <= 8  # 24 rows, of which a tray places five
    assert {reply.question.kind for reply in interview.replies} == {"piles"}


@pytest.mark.filterwarnings("ignore:.*(distinct clusters|before its labels settled).*")
@pytest.mark.parametrize("k", [2, None])
def test_an_oracle_that_is_never_sure_is_asked_trays_and_then_pairs(k):
    interview = answer_all(np.arange(6) % 2, FillTray(size=3), k=k, answer=lambda question: Answer.UNSURE)
    kinds = [reply.question.kind for reply in interview.replies]
    assert kinds.count("pair") == 15  # each pair once
    assert kinds[:3] == ["piles"] * 3
    assert kinds.count("piles") <= 15  # each contains a pair that no other tray contained


@pytest.mark.filterwarnings("ignore:.*(distinct clusters|before its labels settled).*")
@pytest.mark.parametrize("seed", range(3))
def test_an_oracle_that_lies_and_sets_aside_comes_to_an_end(seed):
    rng = np.random.default_rng(seed)

    def anyhow(question):
        if question.kind == "pair":
            return rng.choice(["SAME", "DIFFERENT", "UNSURE"])
        piles = rng.integers(-1, 3, size=len(question.rows))
        rows = np.array(question.rows)
        return [rows[piles == p].tolist() for p in range(3) if (piles == p).any()]

    interview = answer_all(np.arange(9) % 3, FillTray(size=4), k=3, seed=seed, answer=anyhow)
    assert 0 < interview.n_answers < 200  # it did not end because of the budget
    assert interview.finished


@pytest.mark.filterwarnings("ignore:.*distinct clusters.*")
def test_two_rows_one_row_and_identical_rows():
    assert FillTray().choose(InterviewState.from_data(np.zeros((1, 2)), labels=np.zeros(1)), 3) == []
    two = answer_all([0, 1], FillTray(), X=np.array([[0.0], [1.0]]), k=2)
    assert (two.n_answers, two.finished) == (1, True)
    same = answer_all([0, 0, 0, 1, 1, 1], FillTray(size=4), X=np.ones((6, 2)), k=2)
    assert same.state().knows(0, 2) == "must"
    assert same.state().knows(2, 3) == "cannot"


def test_it_needs_labels():
    with pytest.raises(ValueError, match="needs clusters, but no model was fitted"):
        FillTray().choose(InterviewState.from_data(np.zeros((4, 1))), 1)


@pytest.mark.parametrize("model", [MPCKMeans(n_clusters=3), DiscriminativeClustering(n_clusters=3, n_init=1)])
def test_ten_trays_are_worth_more_than_ten_pairs(model):
    X, y = load_wine(return_X_y=True)
    X, oracle = scale(X), LabelOracle(y)
    scores = {}
    for strategy in (FillTray(), NodeUncertainty("local"), RandomPairs()):
        interview = Interview(X, model=model, strategy=strategy)
        for _ in range(10):
            question = interview.ask()
            interview.tell(question, oracle.answer(question))
        scores[strategy.name] = adjusted_rand_score(y, interview.labels_)
    assert scores["tray"] > 0.98
    assert scores["tray"] > max(scores["node-local"], scores["random"]) + 0.03


def test_three_trays_tell_which_of_two_ways_to_group_is_meant():
    for seed in range(2):
        toy = make_two_views(random_state=seed)
        interview = Interview(toy.X, model=MPCKMeans(n_clusters=3), strategy=FillTray(), random_state=seed)
        assert adjusted_rand_score(toy.y, interview.labels_) < 0.5
        for _ in range(3):
            interview.tell(question := interview.ask(), LabelOracle(toy.y).answer(question))
        assert adjusted_rand_score(toy.y, interview.labels_) > 0.95
