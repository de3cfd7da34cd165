"""Properties of interviews, on random data with random events."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.active import (
    Answer,
    FarthestFirst,
    Interview,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    Question,
    RandomPairs,
)
from likewise.oracles import LabelOracle
from profiles import fewer

STRATEGIES = [
    RandomPairs(),
    FarthestFirst(),
    MinMax(),
    NodeUncertainty("local", n_neighbors=3),
    NormalizedPointUncertainty(n_trees=5),
]
pytestmark = pytest.mark.filterwarnings("ignore:.*(distinct clusters|before its labels settled).*")
laws = fewer(4)


@st.composite
def problems(draw):
    """Draw rows in three loose groups, their classes, and an interview about them."""
    n = draw(st.integers(4, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = np.r_[0, 1, 2, rng.integers(3, size=n - 3)]
    X = rng.normal(size=(n, 2)) + 2 * y[:, None]
    strategy, seed = draw(st.sampled_from(STRATEGIES)), draw(st.integers(0, 3))
    return X, y, Interview(X, n_clusters=3, strategy=strategy, random_state=seed)


def step(interview, what, oracle):
    """Let one thing happen; a question of its own is asked first."""
    question = interview.ask()
    if what == "undo":
        if interview.ask() is not None and interview.n_answers:
            interview.undo()
    elif question is None:
        return
    elif what == "skip":
        interview.skip(question)
    else:
        interview.tell(question, Answer.UNSURE if what == "unsure" else oracle.answer(question))


steps = st.lists(st.sampled_from(["tell", "tell", "tell", "unsure", "skip", "undo"]), max_size=7)


@laws
@given(problems(), steps)
def test_asking_again_gives_the_same_whatever_was_cached(problem, happened):
    X, y, interview = problem
    for what in happened:
        step(interview, what, LabelOracle(y))
    first = interview.ask()
    assert interview.ask() == first
    interview.ask(3)
    assert interview.ask() == first
    anew = Interview(X, n_clusters=3, strategy=interview.strategy, random_state=interview.random_state)
    for reply in interview.replies:  # recorded at once, without asking in between
        anew.tell(reply.question, reply.answer)
    for event in interview.history:
        skipped = event.kind == "skip" and event.question.key in interview.state().asked
        if skipped and event.question.key not in anew.state().asked:
            anew.skip(event.question)
    assert anew.ask() == first
    assert anew.ask(3) == interview.ask(3)


@laws
@given(problems(), steps, steps)
def test_a_saved_interview_goes_on_as_if_nothing_had_happened(tmp_path, problem, before, after):
    X, y, interview = problem
    for what in before:
        step(interview, what, LabelOracle(y))
    interview.save(tmp_path / "interview.json")
    loaded = Interview.load(tmp_path / "interview.json", X)
    assert loaded.history == interview.history
    assert loaded.ask() == interview.ask()
    assert (loaded.labels_ == interview.labels_).all()
    for what in after:
        step(interview, what, LabelOracle(y))
        step(loaded, what, LabelOracle(y))
    assert loaded.history == interview.history
    assert loaded.ask(2) == interview.ask(2)


@laws
@given(problems(), steps, st.sampled_from(["SAME", "DIFFERENT", "UNSURE"]))
def test_undone_and_answered_is_as_answered_once(problem, happened, wrong):
    _, y, interview = problem
    for what in happened:
        step(interview, what, LabelOracle(y))
    question = interview.ask()
    if question is None:
        return
    before = interview.supervision
    interview.tell(question, LabelOracle(y).answer(question))
    once = interview.ask(), interview.supervision, interview.labels_.tolist(), interview.n_answers
    interview.undo()
    assert interview.ask() == question
    assert interview.supervision == before
    interview.tell(question, wrong)
    interview.ask()
    interview.undo()
    interview.tell(question, LabelOracle(y).answer(question))
    assert (interview.ask(), interview.supervision, interview.labels_.tolist(), interview.n_answers) == once


@laws
@given(problems())
def test_true_answers_never_contradict_and_nothing_implied_is_asked(problem):
    X, y, interview = problem
    oracle = LabelOracle(y)
    while (question := interview.ask()) is not None:
        assert interview.supervision.relation(*question.rows).kind == "unknown"
        before = interview.supervision
        interview.tell(question, oracle.answer(question))
        assert interview.supervision != before
        assert interview.contradictions == ()
    assert interview.n_answers <= len(X) * (len(X) - 1) / 2
    must = interview.supervision.closure().component
    assert all(y[i] == y[j] for i, j in combinations(range(len(X)), 2) if must[i] == must[j])


@laws
@given(problems(), st.data())
def test_even_lies_cannot_contradict_one_another_when_asked_one_by_one(problem, data):
    _, _, interview = problem
    for _ in range(8):
        if (question := interview.ask()) is None:
            break
        interview.tell(question, data.draw(st.sampled_from(["SAME", "DIFFERENT"])))
    assert interview.contradictions == ()


@laws
@given(st.lists(st.tuples(st.sampled_from(list(combinations(range(5), 2))), st.booleans()), max_size=9))
def test_whatever_is_reported_can_be_shown_and_fitted(answers):
    interview = Interview(np.arange(10.0).reshape(5, 2), n_clusters=2, strategy=RandomPairs())
    for pair, same in answers:
        interview.tell(Question.pair(*pair), "SAME" if same else "DIFFERENT")
    for found in interview.contradictions:
        if not found.chain:  # more pairwise cannot-linked rows than clusters
            assert len(found.rows) > 2
            continue
        assert (found.chain[0], found.chain[-1]) == found.rows
        given_answers = {reply.question.rows: set() for reply in found.replies}
        for reply in found.replies:
            given_answers[reply.question.rows].add(str(reply.answer))
        assert "DIFFERENT" in given_answers[found.rows]
        steps_of_chain = [tuple(sorted(pair)) for pair in zip(found.chain, found.chain[1:], strict=False)]
        assert all("SAME" in given_answers[pair] for pair in steps_of_chain)
    assert len(interview.labels_) == 5
    assert interview.n_answers == len(answers)
