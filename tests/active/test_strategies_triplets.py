"""Triplets: the third row by hand, implications of NEITHER, properties, and comparison with pairs."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from likewise import PCKMeans, PropagationClustering, Supervision
from likewise.active import (
    Alternating,
    Answer,
    Interview,
    InterviewState,
    NodeUncertainty,
    Question,
    RandomPairs,
    WithThird,
)
from likewise.active.strategies import make_strategy
from likewise.oracles import LabelOracle
from profiles import fewer

SIDE = np.repeat([0, 1, 2], 12)
LINE = np.r_[np.linspace(0, 1, 12), np.linspace(3, 4, 12), np.linspace(6, 7, 12)][:, None]


def interview(k=3, X=LINE, strategy=None, **more):
    return Interview(X, model=PropagationClustering(k), strategy=strategy or WithThird(), **more)


def answer_all(asking, y, n=None):
    oracle = LabelOracle(y)
    asked = []
    while (n is None or len(asked) < n) and (question := asking.ask()) is not None:
        asking.tell(question, oracle.answer(question))
        asked.append(question)
    return asked


# ---------------------------------------------------------------------- the third row


def test_where_nothing_is_known_the_third_is_near_one_of_two_classes():
    question = interview().ask()
    assert question.kind == "triplet"
    assert sorted(np.bincount(SIDE[list(question.rows)], minlength=3).tolist()) == [0, 1, 2]
    assert "is near row" in str(question.reason)


def test_a_row_in_doubt_is_put_between_two_classes_that_are_apart():
    asking = interview()
    medoids = sorted(interview().model_.propagation_.heads.tolist())
    for pair in itertools.combinations(medoids, 2):
        asking.tell(Question.pair(*pair), "DIFFERENT")
    question = asking.ask()
    assert question.kind == "triplet"
    (row,) = set(question.rows) - set(medoids)
    mine, other = (a for a in question.rows if a != row)
    assert SIDE[mine] == SIDE[row] != SIDE[other]
    assert asking.state().knows(mine, other) == "cannot"
    assert abs(SIDE[other] - SIDE[row]) == 1  # the next class, and not the one after it


def test_with_another_model_the_third_is_of_another_cluster():
    asking = Interview(LINE, model=PCKMeans(n_clusters=3), strategy=WithThird(NodeUncertainty("local")))
    asked = answer_all(asking, SIDE, 12)
    assert all(question.kind == "triplet" for question in asked)
    assert all(len(set(SIDE[list(question.rows)])) > 1 for question in asked)


def test_pairs_and_triplets_take_turns():
    asking = interview(strategy=Alternating())
    asked = answer_all(asking, SIDE, 8)
    assert [question.kind for question in asked] == ["pair", "triplet"] * 4


def test_by_their_names():
    assert make_strategy("triplets") == WithThird()
    assert make_strategy("both") == Alternating()
    assert Interview(LINE, n_clusters=3, strategy="triplets").ask().kind == "triplet"


@pytest.mark.parametrize("strategy", [WithThird(), Alternating()])
def test_an_interview_with_triplets_is_loaded_again(strategy, tmp_path):
    asking = Interview(LINE, n_clusters=3, strategy=strategy)
    answer_all(asking, SIDE, 5)
    asking.save(tmp_path / "asked.json")
    again = Interview.load(tmp_path / "asked.json", LINE)
    assert again.strategy == strategy
    assert again.ask() == asking.ask()


# ---------------------------------------------------------------------- what NEITHER tells


def state_of(answers, must=(), cannot=(), n=6, **more):
    hints = Supervision.from_links(n, must=list(must), cannot=list(cannot))
    for rows, word in answers:
        hints = hints | Supervision.from_triplets(n, [rows], word)
    return InterviewState.from_data(np.zeros((n, 1)), hints, **more)


@pytest.mark.parametrize(
    ("must", "cannot", "found"),
    [
        ((), (), "unknown"),
        ([(0, 1)], (), "must"),
        ((), [(0, 1)], "cannot"),
        ([(0, 3), (3, 1)], (), "must"),
        ((), [(0, 1), (0, 2)], "cannot"),
    ],
)
def test_neither_with_one_thing_known_tells_the_rest(must, cannot, found):
    state = state_of([((0, 1, 2), "NEITHER")], must, cannot)
    assert state.knows(1, 2) == found


def test_neither_of_what_is_known_otherwise_tells_nothing():
    state = state_of([((0, 1, 2), "NEITHER")], [(0, 1)], [(0, 2)])
    assert state.knows(0, 1) == "must"
    assert state.knows(1, 2) == "cannot"


def test_one_neither_leads_to_the_next():
    answers = [((2, 3, 4), "NEITHER"), ((1, 2, 3), "NEITHER"), ((0, 1, 2), "NEITHER")]
    state = state_of(answers, cannot=[(0, 1)])
    assert state.knows(1, 2) == state.knows(2, 3) == state.knows(3, 4) == state.knows(2, 4) == "cannot"


def test_an_interview_knows_what_neither_tells():
    asking = Interview(LINE, n_clusters=3, strategy=WithThird())
    asking.tell(Question.pair(0, 20), "DIFFERENT")
    asking.tell(Question.triplet(0, 20, 30), "NEITHER")
    assert asking.state().knows(0, 30) == "cannot"
    assert asking.supervision.cannot.tolist() == [[0, 20]]  # the stated links do not change
    assert len({int(asking.labels_[row]) for row in (0, 20, 30)}) == 3


@given(seed=st.integers(0, 10**6))
def test_what_follows_from_true_answers_is_true(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=8)
    oracle = LabelOracle(y)
    answers, links = [], {True: [], False: []}
    for _ in range(6):
        rows = tuple(rng.choice(8, size=3, replace=False).tolist())
        answers.append((rows, str(oracle.answer(Question.triplet(*rows)))))
    for _ in range(3):
        i, j = rng.choice(8, size=2, replace=False).tolist()
        links[bool(y[i] == y[j])].append((i, j))
    state = state_of(answers, links[True], links[False], n=8)
    for i, j in itertools.combinations(range(8), 2):
        if state.knows(i, j) != "unknown":
            assert (state.knows(i, j) == "must") == (y[i] == y[j])


# ---------------------------------------------------------------------- laws


@fewer(2)
@given(
    seed=st.integers(0, 10**6),
    strategy=st.sampled_from(
        [WithThird(), Alternating(), WithThird(RandomPairs()), Alternating(RandomPairs())]
    ),
    unsure=st.booleans(),
)
def test_it_goes_on_until_all_is_known_and_asks_nothing_twice(seed, strategy, unsure):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = rng.integers(3, size=n)
    asking = Interview(X, n_clusters=min(3, n), discover=True, strategy=strategy, random_state=seed % 7)
    oracle, keys = LabelOracle(y), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are alike
        while (question := asking.ask()) is not None:
            assert asking.ask(3)[0] == question == asking.ask()
            keys.append(question.key)
            vague = unsure and rng.random() < 0.3
            asking.tell(question, Answer.UNSURE if vague else oracle.answer(question))
    assert len(set(keys)) == len(keys)
    state = asking.state()
    open_pairs = [Question.pair(i, j) for i, j in itertools.combinations(range(n), 2)]
    assert not any(state.can_ask(question) for question in open_pairs)
    assert asking.contradictions == ()


def test_several_at_once_are_different_and_the_first_is_the_same():
    for strategy in (WithThird(), Alternating()):
        asking = interview(strategy=strategy)
        answer_all(asking, SIDE, 4)
        several = asking.ask(6)
        assert len({question.key for question in several}) == 6
        assert several[0] == asking.ask()


def test_two_rows_are_a_pair():
    asking = interview(k=2, X=np.array([[0.0], [1.0]]))
    assert asking.ask().kind == "pair"


# ---------------------------------------------------------------------- worth the look


def test_as_good_as_pairs_for_the_items_looked_at():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = 2.2 * rng.normal(size=(4, 3))[y] + rng.normal(size=(240, 3))
    scores = {}
    for name in ("default", "triplets", "both"):
        asking = Interview(X, n_clusters=4, strategy=name, random_state=0)
        oracle, looked_at = LabelOracle(y), 0
        while looked_at < 120:
            question = asking.ask()
            asking.tell(question, oracle.answer(question))
            looked_at += len(question.rows)
        scores[name] = adjusted_rand_score(y, asking.labels_)
    start = adjusted_rand_score(y, Interview(X, n_clusters=4).labels_)
    assert min(scores["triplets"], scores["both"]) > start + 0.03
    assert min(scores["triplets"], scores["both"]) > scores["default"] - 0.05
