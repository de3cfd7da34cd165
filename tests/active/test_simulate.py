"""Simulated interviews, with oracles good and bad."""

import numpy as np
import pytest

from likewise import MPCKMeans
from likewise.active import Answer, Interview, Question, RandomPairs, Reply, Trace, simulate
from likewise.exceptions import LikewiseError, SupervisionError
from likewise.oracles import CallableOracle, LabelOracle, NoisyOracle, RecordedOracle

X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4], [9.0], [9.2]])
Y = np.array([0, 0, 0, 1, 1, 1, 1, 1])


def interview(**more):
    return Interview(X, **{"n_clusters": 2, "strategy": RandomPairs()} | more)


def test_a_trace_has_the_start_each_answer_and_the_end():
    asking = interview()
    trace = simulate(asking, LabelOracle(Y), 5, truth=Y)
    assert trace.n_answers.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(trace.scores) == 6
    assert len(trace.seconds) == 5
    assert (trace.seconds >= 0).all()
    assert asking.n_asked == 5
    more = simulate(asking, LabelOracle(Y), 4, truth=Y, every=3)
    assert more.n_answers.tolist() == [5, 8, 9]
    assert more.scores[0] == trace.scores[-1]


def test_every_third_answer_is_scored_and_the_last():
    calls = []

    def score(truth, labels):
        calls.append(len(labels))
        return 0.5

    trace = simulate(interview(), LabelOracle(Y), 7, truth=Y, score=score, every=3)
    assert trace.n_answers.tolist() == [0, 3, 6, 7]
    assert trace.scores.tolist() == [0.5] * 4
    assert calls == [8] * 4


def test_area_and_answers_to_reach():
    trace = Trace(np.array([0, 2, 6]), np.array([0.0, 0.5, 1.0]), np.zeros(6))
    assert trace.area == pytest.approx((0.5 + 3.0) / 6)
    assert [trace.answers_to_reach(score) for score in (0.0, 0.4, 1.0, 1.1)] == [0, 2, 6, None]
    assert Trace(np.array([3]), np.array([0.7]), np.zeros(0)).area == 0.7


def test_true_answers_to_all_questions_give_the_true_clusters():
    asking = interview()
    trace = simulate(asking, LabelOracle(Y), truth=Y)
    assert asking.finished
    assert trace.scores[-1] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_an_oracle_that_lies_half_of_the_time_fails_nothing(seed):
    asking = interview(seed=seed, strategy=None)
    trace = simulate(asking, NoisyOracle(Y, rate=0.5, seed=seed), 1000, truth=Y)
    assert asking.finished
    assert np.isfinite(trace.scores).all()
    assert asking.contradictions == ()


def test_an_oracle_that_is_never_sure_ends_with_all_pairs_asked():
    asking = interview()
    start = asking.labels_
    trace = simulate(asking, CallableOracle(lambda question: "UNSURE"), 1000, truth=Y)
    assert asking.n_asked == 28
    assert (asking.labels_ == start).all()
    assert len(set(trace.scores)) == 1


def test_an_oracle_that_raises_leaves_the_answers_before():
    def answer(question):
        if asking.n_asked == 3:
            raise ConnectionError("gone")
        return "UNSURE"

    asking = interview()
    with pytest.raises(LikewiseError, match="ConnectionError: gone"):
        simulate(asking, CallableOracle(answer), 10, truth=Y)
    assert asking.n_asked == 3


def test_an_oracle_that_answers_another_question_is_found_out():
    class Astray:
        def answer(self, question):
            return Reply(Question.pair(0, 1 if question.rows != (0, 1) else 2), "SAME")

    asking = interview()
    with pytest.raises(SupervisionError, match=r"asked .* answered"):
        simulate(asking, Astray(), 10, truth=Y)
    assert asking.history == ()


def test_an_oracle_whose_word_does_not_fit_is_found_out():
    class Odd:
        def answer(self, question):
            return Answer.AB

    with pytest.raises(SupervisionError, match="does not answer a pair"):
        simulate(interview(), Odd(), 10, truth=Y)


def test_who_answered_is_kept():
    class Ann:
        def answer(self, question):
            return Reply(question, "UNSURE", annotator="Ann", seconds=2.0)

    asking = interview()
    simulate(asking, Ann(), 2, truth=Y)
    assert [(reply.annotator, reply.seconds) for reply in asking.replies] == [("Ann", 2.0)] * 2


def test_a_recorded_interview_can_be_held_again():
    first = interview(model=MPCKMeans(2), strategy=None)
    trace = simulate(first, LabelOracle(Y), 6, truth=Y)
    again = simulate(interview(model=MPCKMeans(2), strategy=None), RecordedOracle(first.replies), 6, truth=Y)
    assert again.scores.tolist() == trace.scores.tolist()


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"truth": Y[:3]}, SupervisionError, r"one class a row, shape \(8,\)"),
        ({"budget": -1}, ValueError, "budget must be"),
        ({"budget": 2.5}, ValueError, "budget must be"),
        ({"every": 0}, ValueError, "every must be"),
    ],
)
def test_what_cannot_be_simulated(more, error, said):
    with pytest.raises(error, match=said):
        simulate(interview(), LabelOracle(Y), **{"truth": Y} | more)
