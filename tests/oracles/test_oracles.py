"""Oracles: who answers, rightly, wrongly, late or not at all."""

import asyncio
from itertools import combinations, permutations

import numpy as np
import pytest

from likewise.active import Answer, Question, Reply
from likewise.exceptions import LikewiseError, SupervisionError
from likewise.oracles import CallableOracle, LabelOracle, NoisyOracle, RecordedOracle

PAIR = Question.pair(0, 1)


# ---------------------------------------------------------------------- by labels


@pytest.mark.parametrize(
    ("classes", "said"),
    [("aab", "AB"), ("aba", "AC"), ("baa", "BC"), ("aaa", "NEITHER"), ("abc", "NEITHER")],
)
def test_triplets_by_their_classes(classes, said):
    assert LabelOracle(list(classes)).answer(Question.triplet(0, 1, 2)) == said


def test_pairs_by_their_classes_and_unknown_ones():
    oracle = LabelOracle([1.0, 2.0, 1.0, np.nan])
    assert [oracle.answer(Question.pair(0, j)) for j in (1, 2, 3)] == ["DIFFERENT", "SAME", "UNSURE"]
    assert oracle.answer(Question.triplet(0, 2, 3)) is Answer.UNSURE


def test_a_question_about_other_data_is_refused():
    with pytest.raises(SupervisionError, match="names row 5, but the oracle knows the classes of 2 rows"):
        LabelOracle([0, 1]).answer(Question.pair(0, 5))


# ---------------------------------------------------------------------- with errors


def wrong(oracle, y, questions):
    truth = LabelOracle(y)
    return np.mean([oracle.answer(question) is not truth.answer(question) for question in questions])


def test_errors_come_at_their_rate_and_again_for_the_same_question():
    y = np.arange(60) % 3
    pairs = [Question.pair(*pair) for pair in combinations(range(60), 2)]
    oracle = NoisyOracle(y, rate=0.2, seed=4)
    assert wrong(oracle, y, pairs) == pytest.approx(0.2, abs=0.03)  # 1770 draws: three standard deviations
    said = [oracle.answer(question) for question in pairs]
    assert [NoisyOracle(y, rate=0.2, seed=4).answer(question) for question in reversed(pairs)] == said[::-1]
    assert [NoisyOracle(y, rate=0.2, seed=5).answer(question) for question in pairs] != said
    assert wrong(NoisyOracle(y, rate=0.0), y, pairs) == 0
    assert wrong(NoisyOracle(y, rate=1.0), y, pairs) == 1


def test_a_wrong_answer_to_a_triplet_is_any_other():
    triplets = [Question.triplet(0, 1, c) for c in range(2, 300)]
    oracle = NoisyOracle([0, 0] + [1] * 298, rate=1.0)
    counts = dict.fromkeys(("AC", "BC", "NEITHER"), 0)
    for question in triplets:
        counts[str(oracle.answer(question))] += 1
    assert min(counts.values()) > 70


def test_a_triplet_gets_the_same_answer_in_any_order():
    oracle = NoisyOracle([0, 0, 1, 1, 2, 2, 0, 1], rate=0.6, seed=1)
    for rows in combinations(range(8), 3):
        said = Reply(Question.triplet(*rows), oracle.answer(Question.triplet(*rows)))
        for order in permutations(rows):
            assert oracle.answer(Question.triplet(*order)) is said.to(Question.triplet(*order))


def test_a_table_says_how_each_answer_is_mistaken():
    y = [0] * 300 + [1]
    table = {"SAME": {"SAME": 0.5, Answer.UNSURE: 0.5}}
    oracle = NoisyOracle(y, table=table)
    same = [oracle.answer(Question.pair(0, j)) for j in range(1, 300)]
    assert set(same) == {Answer.SAME, Answer.UNSURE}
    assert same.count(Answer.SAME) == pytest.approx(150, abs=30)
    assert oracle.answer(Question.pair(0, 300)) is Answer.DIFFERENT


def test_what_is_not_known_stays_unsure():
    assert NoisyOracle([0, None], rate=1.0).answer(PAIR) is Answer.UNSURE


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rate": 1.5}, "rate must be a number from 0 to 1"),
        ({"rate": None}, "rate must be"),
        ({"seed": -1}, "seed must be"),
        ({"table": {"SAME": {"SAME": 0.5}}}, "add up to 1"),
        ({"table": {"SAME": {"SAME": 1.5, "UNSURE": -0.5}}}, "add up to 1"),
        ({"table": {"maybe": {"SAME": 1.0}}}, "an answer is a word"),
    ],
)
def test_noise_that_cannot_be(more, said):
    with pytest.raises(ValueError, match=said):
        NoisyOracle([0, 1], **more)


def test_a_table_for_pairs_does_not_answer_triplets():
    with pytest.raises(SupervisionError, match="SAME does not answer a triplet"):
        NoisyOracle([0, 0, 1], table={"AB": {"SAME": 1.0}}).answer(Question.triplet(0, 1, 2))


# ---------------------------------------------------------------------- on record


def test_the_last_reply_counts_in_any_order_of_rows():
    replies = [
        Reply(PAIR, "SAME"),
        Reply(Question.triplet(4, 5, 6), "AC"),  # 4 and 6 together
        Reply(PAIR, "DIFFERENT"),
    ]
    oracle = RecordedOracle(replies)
    assert oracle.answer(Question.pair(1, 0)) is Answer.DIFFERENT
    assert oracle.answer(Question.triplet(6, 4, 5)) is Answer.AB


def test_what_nobody_answered():
    with pytest.raises(SupervisionError, match=r"nobody answered .*missing='unsure'"):
        RecordedOracle([]).answer(PAIR)
    assert RecordedOracle([], missing="unsure").answer(PAIR) is Answer.UNSURE


def test_records_that_are_none():
    with pytest.raises(ValueError, match="missing must be one of"):
        RecordedOracle([], missing="guess")
    with pytest.raises(SupervisionError, match="must hold Reply objects"):
        RecordedOracle([PAIR])


# ---------------------------------------------------------------------- any function


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures, answer="SAME"):
        self.left, self.said = failures, answer

    def __call__(self, question):
        if self.left:
            self.left -= 1
            raise TimeoutError("no answer")
        return self.said


def test_a_function_is_called_again_as_often_as_allowed():
    oracle = CallableOracle(Flaky(2), retries=2)
    assert oracle.answer(PAIR) is Answer.SAME
    assert oracle.n_calls == 3
    with pytest.raises(
        LikewiseError, match=r"not answered after 2 call\(s\): TimeoutError: no answer"
    ) as caught:
        CallableOracle(Flaky(2), retries=1).answer(PAIR)
    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.parametrize("said", [True, None, "perhaps", "AB", 3])
def test_what_does_not_answer_is_a_failed_call(said):
    with pytest.raises(LikewiseError, match="was not answered after 1 call"):
        CallableOracle(lambda question: said).answer(PAIR)


def test_a_reply_to_another_question_is_a_failed_call():
    oracle = CallableOracle(lambda question: Reply(Question.pair(2, 3), "SAME"), retries=1)
    with pytest.raises(LikewiseError, match=r"asked .* answered"):
        oracle.answer(PAIR)
    assert oracle.n_calls == 2


def test_a_reply_keeps_who_gave_it():
    reply = CallableOracle(lambda question: Reply(question, "same", annotator="Ann")).answer(PAIR)
    assert (reply.answer, reply.annotator, reply.question) == ("SAME", "Ann", PAIR)


def test_the_budget_counts_failed_calls():
    oracle = CallableOracle(Flaky(1), retries=5, budget=2)
    assert oracle.answer(PAIR) is Answer.SAME
    with pytest.raises(LikewiseError, match="the budget of 2 calls is spent"):
        oracle.answer(PAIR)
    assert oracle.n_calls == 2


async def kind(question):
    await asyncio.sleep(0)
    return "different"


async def unkind(question):
    raise ConnectionError("gone")


def test_an_asynchronous_function_is_waited_for():
    assert CallableOracle(kind).answer(PAIR) is Answer.DIFFERENT
    with pytest.raises(LikewiseError, match="ConnectionError: gone"):
        CallableOracle(unkind).answer(PAIR)


def test_also_within_a_running_loop():
    async def notebook():
        return CallableOracle(kind).answer(PAIR)

    assert asyncio.run(notebook()) is Answer.DIFFERENT


def test_an_interruption_is_not_a_failed_call():
    def interrupted(question):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallableOracle(interrupted, retries=3).answer(PAIR)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: CallableOracle("SAME"), TypeError, "must be callable"),
        (lambda: CallableOracle(kind, retries=-1), ValueError, "retries must be"),
        (lambda: CallableOracle(kind, budget=0.5), ValueError, "budget must be"),
    ],
)
def test_oracles_that_cannot_be_made(make, error, said):
    with pytest.raises(error, match=said):
        make()
