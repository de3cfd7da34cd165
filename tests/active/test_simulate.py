"""Simulated interviews, with correct, wrong and failing oracles."""

import json

import numpy as np
import pytest

from likewise import MPCKMeans
from likewise.active import Answer, Interview, Question, RandomPairs, Reply, Trace, simulate
from likewise.exceptions import LikewiseError, OracleError, SupervisionError
from likewise.oracles import CallableOracle, LabelOracle, NoisyOracle, RecordedOracle

X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4], [9.0], [9.2]])
Y = np.array([0, 0, 0, 1, 1, 1, 1, 1])


class Unsure:
    """Says nothing, so that no question is settled by earlier ones."""

    def answer(self, question):
        return Answer.UNSURE


def interview(**more):
    return Interview(X, **{"n_clusters": 2, "strategy": RandomPairs()} | more)


def test_a_trace_has_the_start_each_answer_and_the_end():
    asking = interview(n_clusters=3)  # with two, seven answers settle all
    trace = simulate(asking, Unsure(), 5, y_true=Y)
    assert trace.n_answers.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(trace.scores) == 6
    assert len(trace.seconds) == 5
    assert (trace.seconds >= 0).all()
    assert asking.n_answers == 5
    more = simulate(asking, Unsure(), 4, y_true=Y, every=3)
    assert more.n_answers.tolist() == [5, 8, 9]
    assert more.scores[0] == trace.scores[-1]


def test_every_third_answer_is_scored_and_the_last():
    calls = []

    def score(truth, labels):
        calls.append(len(labels))
        return 0.5

    trace = simulate(interview(), Unsure(), 7, y_true=Y, score=score, every=3)
    assert trace.n_answers.tolist() == [0, 3, 6, 7]
    assert trace.scores.tolist() == [0.5] * 4
    assert calls == [8] * 4


def test_area_and_answers_to_reach():
    trace = Trace(np.array([0, 2, 6]), np.array([0.0, 0.5, 1.0]), np.zeros(6))
    assert trace.area == pytest.approx((0.5 + 3.0) / 6)
    assert [trace.answers_to_reach(score) for score in (0.0, 0.4, 1.0, 1.1)] == [0, 2, 6, None]
    assert Trace(np.array([3]), np.array([0.7]), np.zeros(0)).area == 0.7
    assert (trace.start, trace.final) == (0.0, 1.0)
    np.testing.assert_allclose(trace.get_scores_at([0, 1, 2, 4, 6, 9]), [0.0, 0.25, 0.5, 0.75, 1.0, 1.0])


def test_a_trace_goes_through_json():
    trace = simulate(interview(), LabelOracle(Y), 5, y_true=Y, every=2)
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    for part in ("n_answers", "scores", "seconds"):
        np.testing.assert_array_equal(getattr(again, part), getattr(trace, part), strict=True)


def test_true_answers_to_all_questions_give_the_true_clusters():
    asking = interview()
    trace = simulate(asking, LabelOracle(Y), y_true=Y)
    assert asking.finished
    assert trace.scores[-1] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_an_oracle_that_lies_half_of_the_time_fails_nothing(seed):
    asking = interview(random_state=seed, strategy=None)
    trace = simulate(asking, NoisyOracle(Y, rate=0.5, random_state=seed), 1000, y_true=Y)
    assert asking.finished
    assert np.isfinite(trace.scores).all()
    assert asking.contradictions == ()


def test_an_oracle_that_is_never_sure_ends_with_all_pairs_asked():
    asking = interview()
    start = asking.labels_
    trace = simulate(asking, CallableOracle(lambda question: "UNSURE"), 1000, y_true=Y)
    assert asking.n_answers == 28
    assert (asking.labels_ == start).all()
    assert len(set(trace.scores)) == 1


def test_an_oracle_that_raises_leaves_the_answers_before():
    def answer(question):
        if asking.n_answers == 3:
            raise ConnectionError("gone")
        return "UNSURE"

    asking = interview()
    with pytest.raises(LikewiseError, match="ConnectionError: gone"):
        simulate(asking, CallableOracle(answer), 10, y_true=Y)
    assert asking.n_answers == 3


def test_an_oracle_that_raises_by_itself_is_reported_with_its_question():
    class Gone:
        def answer(self, question):
            if asking.n_answers == 2:
                raise ConnectionError("gone")
            return "UNSURE"

    asking = interview()
    with pytest.raises(
        OracleError, match=r"Do rows \d and \d .* ConnectionError: gone.* keeps the 2 answer"
    ) as caught:
        simulate(asking, Gone(), 10, y_true=Y)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert caught.value.question == asking.ask()
    assert asking.n_answers == 2
    assert simulate(asking, Unsure(), 3, y_true=Y).n_answers.tolist() == [2, 3, 4, 5]  # it goes on


def test_an_error_of_likewise_stays_and_says_how_far_things_went():
    asking = interview()
    first = asking.ask()
    oracle = RecordedOracle([Reply(first, "SAME")])
    with pytest.raises(SupervisionError, match="no recorded answer") as caught:
        simulate(asking, oracle, 10, y_true=Y)
    assert caught.value.__notes__ == ["The interview keeps the 1 answer(s) until then."]
    assert asking.n_answers == 1


def test_an_interruption_is_not_taken_for_an_error_of_the_oracle():
    class Tired:
        def answer(self, question):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(interview(), Tired(), 10, y_true=Y)


def test_an_oracle_that_answers_twice_in_one_is_found_out():
    class Both:
        def answer(self, question):
            return ["SAME", "DIFFERENT"]

    asking = interview()
    with pytest.raises(SupervisionError, match="does not answer a pair"):
        simulate(asking, Both(), 10, y_true=Y)
    assert asking.history == ()


def test_an_oracle_that_tells_the_interview_too_is_counted_as_often_as_it_answers():
    class Eager:
        def answer(self, question):
            asking.tell(question, "UNSURE")
            return "UNSURE"

    asking = interview()
    trace = simulate(asking, Eager(), 3, y_true=Y)
    assert trace.n_answers.tolist() == [0, 2, 4, 6]
    assert len(trace.seconds) == 3
    assert np.isfinite(trace.scores).all()


def test_answers_that_contradict_one_another_do_not_stop_it():
    class Torn:
        def answer(self, question):
            asking.tell(question, "SAME")
            return "DIFFERENT"

    asking = interview()
    trace = simulate(asking, Torn(), 4, y_true=Y)
    assert len(asking.contradictions) > 0
    assert np.isfinite(trace.scores).all()


def test_progress_is_reported_after_every_answer():
    calls = []
    simulate(interview(), Unsure(), 3, y_true=Y, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    calls.clear()
    trace = simulate(interview(), LabelOracle(Y), y_true=Y, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(n, None) for n in range(1, trace.n_answers[-1] + 1)]


def test_an_oracle_that_answers_another_question_is_found_out():
    class Astray:
        def answer(self, question):
            return Reply(Question.pair(0, 1 if question.rows != (0, 1) else 2), "SAME")

    asking = interview()
    with pytest.raises(SupervisionError, match=r"asked .* answered"):
        simulate(asking, Astray(), 10, y_true=Y)
    assert asking.history == ()


def test_an_oracle_whose_word_does_not_fit_is_found_out():
    class Odd:
        def answer(self, question):
            return Answer.AB

    with pytest.raises(SupervisionError, match="does not answer a pair"):
        simulate(interview(), Odd(), 10, y_true=Y)


def test_who_answered_is_kept():
    class Ann:
        def answer(self, question):
            return Reply(question, "UNSURE", annotator="Ann", seconds=2.0)

    asking = interview()
    simulate(asking, Ann(), 2, y_true=Y)
    assert [(reply.annotator, reply.seconds) for reply in asking.replies] == [("Ann", 2.0)] * 2


def test_a_recorded_interview_can_be_held_again():
    first = interview(model=MPCKMeans(2), strategy=None)
    trace = simulate(first, LabelOracle(Y), 6, y_true=Y)
    again = simulate(interview(model=MPCKMeans(2), strategy=None), RecordedOracle(first.replies), 6, y_true=Y)
    assert again.scores.tolist() == trace.scores.tolist()


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"y_true": Y[:3]}, SupervisionError, r"shape \(8,\), one class per row"),
        ({"budget": -1}, ValueError, "budget must be"),
        ({"budget": 2.5}, ValueError, "budget must be"),
        ({"every": 0}, ValueError, "every must be"),
        ({"y_true": [0.0, np.nan, *Y[2:]]}, SupervisionError, r"no class for 1 row\(s\), the first .* row 1"),
        ({"y_true": [None, None, *Y[2:]]}, SupervisionError, r"no class for 2 row\(s\)"),
        ({"score": lambda truth, labels: np.nan}, ValueError, "must be a finite number, got nan"),
    ],
)
def test_what_cannot_be_simulated(more, error, message):
    with pytest.raises(error, match=message):
        simulate(interview(), LabelOracle(Y), **{"y_true": Y} | more)


@pytest.mark.parametrize("oracle", [None, LabelOracle, lambda question: "SAME"])
def test_what_is_no_oracle(oracle):
    with pytest.raises(TypeError, match="expected an oracle with a method answer"):
        simulate(interview(), oracle, 1, y_true=Y)
