"""Properties of every strategy: pure, complete while questions are left, and a defined end."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import InterviewState, Question
from likewise.active.strategies import (
    QUIRE,
    ActiveSpectral,
    FarthestFirst,
    InformationGain,
    MarginalUncertainty,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    ProbabilisticKNN,
    RandomPairs,
)
from likewise.active.strategies._placing import PlacedRows
from profiles import fewer
from reference.strategies import Draws

PLACING = [
    FarthestFirst(),
    MinMax(),
    NormalizedPointUncertainty(n_trees=3),
    NodeUncertainty("local", 3),
    NodeUncertainty("global"),
    NodeUncertainty("compound", 3),
    ProbabilisticKNN(3),
    QUIRE(),
    QUIRE("exact", ridge=0.1),
    QUIRE(max_rows=4),
]
EVERY = [
    *PLACING,
    MarginalUncertainty(),
    RandomPairs(),
    ActiveSpectral(3),
    ActiveSpectral(3, max_rows=4),
    InformationGain(),
    InformationGain(max_rows=4),
]
by_name = pytest.mark.parametrize("strategy", EVERY, ids=str)
or_triplets = pytest.mark.parametrize(
    "strategy", [*EVERY, InformationGain("triplet"), InformationGain("triplet", n_candidates=20)], ids=str
)
placing = pytest.mark.parametrize("strategy", PLACING, ids=str)


class Halves:
    """A model: which side of the mean a row is on, more sure the farther away."""

    def __init__(self, X):
        away = X[:, 0] - X[:, 0].mean()
        self.proba = 1 / (1 + np.exp(-np.column_stack([away, -away])))
        self.labels = (away > 0).astype(int)

    def predict_proba(self, X):
        return self.proba


def model_for(strategy, X):
    """A model with draws for the strategy that looks at them, and one without for all others."""
    if not isinstance(strategy, InformationGain):
        return Halves(X)
    tilted = np.array([[1.0, 0.0], [0.7, 0.7], [0.3, -0.5]])[:, : X.shape[1]]
    sides = np.stack([np.resize(w, X.shape[1]) @ (X - X.mean(axis=0)).T for w in tilted])
    chance = 1 / (1 + np.exp(-sides))
    return Draws(np.stack([chance, 1 - chance], axis=2))


def draw_state(seed, strategy=None, n=9, **more):
    """A state with links and asked pairs of all sorts: true ones, lies, unsure ones, hints given before."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 2)).astype(float)  # some rows are identical
    y = rng.integers(3, size=n)
    pairs = list(itertools.combinations(range(n), 2))
    chosen = [pairs[p] for p in rng.permutation(len(pairs))[: rng.integers(0, 20)]]
    same = [(y[i] == y[j]) != (rng.uniform() < 0.1) for i, j in chosen]
    heard = rng.uniform(size=len(chosen)) < 0.8
    must = [p for p, s, h in zip(chosen, same, heard, strict=True) if s and h]
    cannot = [p for p, s, h in zip(chosen, same, heard, strict=True) if not s and h]
    given_before = rng.uniform(size=len(chosen)) < 0.3
    asked = [p for p, before, h in zip(chosen, given_before, heard, strict=True) if not (before and h)]
    model = model_for(strategy, X)
    settings = {
        "n_clusters": [None, 2, 3, 4][seed % 4],
        "model": model,
        "labels": Halves(X).labels,
        "asked": frozenset(Question.pair(*pair).key for pair in asked),
        "random_state": seed,
        "n_answers": len(chosen),
    }
    return InterviewState.from_data(
        X, Supervision.from_links(n, must=must or None, cannot=cannot or None), **settings | more
    )


def interview(strategy, X, answer, *, n_clusters=None, seed=0, at_a_time=1):
    """Ask until there is nothing left; `answer` tells 1, -1 or 0 of two rows. Return the last state."""
    model = model_for(strategy, X)
    must, cannot, asked, cache = [], [], [], {}
    for _ in range(len(X) ** 2):
        state = InterviewState.from_data(
            X,
            Supervision.from_links(len(X), must=must or None, cannot=cannot or None),
            n_clusters=n_clusters,
            model=model,
            labels=Halves(X).labels,
            asked=frozenset(Question.pair(*pair).key for pair in asked),
            random_state=seed,
            cache=cache,
            n_answers=len(asked),
        )
        questions = strategy.choose(state, at_a_time)
        if not questions:
            return state
        for question in questions:
            assert state.can_ask(question)
            asked.append(question.rows)
            sign = answer(*question.rows)
            if sign:
                (must if sign > 0 else cannot).append(question.rows)
    raise AssertionError("there was no end to it")


@or_triplets
@fewer(10)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6))
def test_questions_are_distinct_askable_and_the_same_each_time(strategy, seed, n):
    state = draw_state(seed, strategy)
    questions = strategy.choose(state, n)
    assert len(questions) <= n
    assert len({question.key for question in questions}) == len(questions)
    assert all(state.can_ask(question) and str(question.reason) for question in questions)
    assert strategy.choose(state, n) == questions  # now from the cache
    assert strategy.choose(draw_state(seed, strategy, cache={}), n) == questions
    assert strategy.choose(state, 1) == questions[:1]


@or_triplets
@fewer(10)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([2, 3]))
def test_what_was_cached_under_other_answers_changes_nothing(strategy, seed, k):
    rng = np.random.default_rng(seed)
    cache = {}
    hints = [Supervision.from_links(8, cannot=[rng.permutation(8)[:2]]) for _ in range(3)]
    X = rng.normal(size=(8, 2))
    model, halves = model_for(strategy, X), Halves(X).labels
    for hint, labels in zip(hints, (halves, 1 - halves, rng.integers(2, size=8)), strict=True):
        more = {"model": model, "labels": labels, "n_clusters": k, "random_state": seed}
        kept = strategy.choose(InterviewState.from_data(X, hint, cache=cache, **more), 2)
        assert kept == strategy.choose(InterviewState.from_data(X, hint, **more), 2)


@placing
@fewer(16)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4), at_a_time=st.sampled_from([1, 3]))
def test_answers_that_are_true_lead_to_the_groups(strategy, seed, k, at_a_time):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 2))
    y = np.concatenate([np.arange(k), rng.integers(k, size=10 - k)])
    last = interview(
        strategy, X, lambda i, j: 1 if y[i] == y[j] else -1, n_clusters=k, seed=seed, at_a_time=at_a_time
    )
    places = PlacedRows.from_state(last)
    assert places.n_groups == k
    assert len(places.unplaced) == 0
    assert all(len(np.unique(y[rows])) == 1 for rows in places.members)
    assert len(last.asked) <= 10 * k


@by_name
@fewer(16)
@given(seed=st.integers(0, 10**6))
def test_without_a_number_of_clusters_all_is_known_in_the_end(strategy, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), rng.integers(3, size=8)
    last = interview(strategy, X, lambda i, j: 1 if y[i] == y[j] else -1, seed=seed)
    rows = np.arange(8)
    known = last.relations(rows[:, None], rows[None, :])
    assert (known == np.where(y[:, None] == y[None, :], 1, -1)).all()


@by_name
@fewer(16)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([None, 2]))
def test_an_oracle_that_is_never_sure_is_asked_everything_once(strategy, seed, k):
    X = np.random.default_rng(seed).normal(size=(6, 2))
    last = interview(strategy, X, lambda i, j: 0, seed=seed, n_clusters=k)
    assert len(last.asked) == 15


@by_name
@fewer(16)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([None, 2, 3]))
def test_an_oracle_that_lies_and_wavers_comes_to_an_end(strategy, seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    last = interview(strategy, X, lambda i, j: int(rng.integers(-1, 2)), seed=seed, n_clusters=k)
    assert 0 < len(last.asked) <= 21


@by_name
def test_two_rows_have_one_question_and_one_row_has_none(strategy):
    for X in (np.array([[0.0], [1.0]]), np.zeros((2, 3))):
        for sign in (1, -1, 0):
            last = interview(strategy, X, lambda i, j, sign=sign: sign, n_clusters=2)
            assert last.asked == {("pair", (0, 1))}
    one = np.zeros((1, 2))
    assert (
        strategy.choose(InterviewState.from_data(one, model=model_for(strategy, one), labels=np.zeros(1)), 3)
        == []
    )


@by_name
def test_identical_rows_are_asked_about_like_others(strategy):
    X = np.zeros((6, 2))
    last = interview(strategy, X, lambda i, j: 1 if (i < 3) == (j < 3) else -1, n_clusters=2)
    assert 5 <= len(last.asked) <= 15


@by_name
@fewer(10)
@given(seed=st.integers(0, 10**6))
def test_what_the_clusters_are_called_changes_nothing(strategy, seed):
    state = draw_state(seed, strategy)
    renamed = draw_state(seed, strategy, labels=np.array([7, -2])[state.labels])
    assert strategy.choose(renamed, 3) == strategy.choose(state, 3)
