"""Oracles that are correct, wrong, late or silent."""

import asyncio
import pickle
import runpy
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from likewise.active import Answer, Interview, OddOne, Piles, Question, RandomPairs, Reply, simulate
from likewise.exceptions import OracleError, SupervisionError
from likewise.oracles import CallableOracle, LabelOracle, NoisyOracle, RecordedOracle

PAIR = Question.pair(0, 1)


# ---------------------------------------------------------------------- by labels


@pytest.mark.parametrize(
    ("classes", "expected"),
    [("aab", "AB"), ("aba", "AC"), ("baa", "BC"), ("aaa", "NEITHER"), ("abc", "NEITHER")],
)
def test_triplets_by_their_classes(classes, expected):
    assert LabelOracle(list(classes)).answer(Question.triplet(0, 1, 2)) == expected


def test_pairs_by_their_classes_and_unknown_ones():
    oracle = LabelOracle([1.0, 2.0, 1.0, np.nan])
    assert [oracle.answer(Question.pair(0, j)) for j in (1, 2, 3)] == ["DIFFERENT", "SAME", "UNSURE"]
    assert oracle.answer(Question.triplet(0, 2, 3)) is Answer.UNSURE


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("aaaa", Answer.SAME),
        ("aaba", OddOne(2)),
        ("aabb", Answer.NEITHER),
        ("aabc", Answer.NEITHER),
        ("abcd", Answer.NEITHER),
        ([0, 0, 1, None], Answer.UNSURE),
    ],
)
def test_the_odd_one_out_by_classes(classes, expected):
    assert LabelOracle(list(classes)).answer(Question.odd([3, 0, 2, 1])) == expected


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("aaaa", Piles([[0, 1, 2, 3]])),
        ("abab", Piles([[0, 2], [1, 3]])),
        ("abcd", Piles([[0], [1], [2], [3]])),
        (["a", None, "b", "a"], Piles([[0, 3], [2]])),  # rows of unknown class are set aside
        (["a", None, None, None], Answer.UNSURE),
        ([None] * 4, Answer.UNSURE),
    ],
)
def test_trays_by_classes(classes, expected):
    assert LabelOracle(list(classes)).answer(Question.piles([0, 1, 2, 3])) == expected


def test_a_question_about_other_data_is_refused():
    with pytest.raises(SupervisionError, match="contains row 5, but the oracle knows the classes of 2 rows"):
        LabelOracle([0, 1]).answer(Question.pair(0, 5))


# ---------------------------------------------------------------------- with errors


def wrong(oracle, y, questions):
    truth = LabelOracle(y)
    return np.mean([oracle.answer(question) != truth.answer(question) for question in questions])


def test_errors_come_at_their_rate_and_again_for_the_same_question():
    y = np.arange(60) % 3
    pairs = [Question.pair(*pair) for pair in combinations(range(60), 2)]
    oracle = NoisyOracle(y, rate=0.2, random_state=4)
    assert wrong(oracle, y, pairs) == pytest.approx(0.2, abs=0.03)  # 1770 draws: three standard deviations
    pairs = pairs[::10]
    given = [oracle.answer(question) for question in pairs]
    assert [
        NoisyOracle(y, rate=0.2, random_state=4).answer(question) for question in reversed(pairs)
    ] == given[::-1]
    assert [NoisyOracle(y, rate=0.2, random_state=5).answer(question) for question in pairs] != given
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
    oracle = NoisyOracle([0, 0, 1, 1, 2, 2, 0, 1], rate=0.6, random_state=1)
    for rows in combinations(range(8), 3):
        given = Reply(Question.triplet(*rows), oracle.answer(Question.triplet(*rows)))
        for order in permutations(rows):
            assert oracle.answer(Question.triplet(*order)) is given.to(Question.triplet(*order))


def test_a_table_says_how_each_answer_is_mistaken():
    y = [0] * 300 + [1]
    table = {"SAME": {"SAME": 0.5, Answer.UNSURE: 0.5}}
    oracle = NoisyOracle(y, table=table)
    same = [oracle.answer(Question.pair(0, j)) for j in range(1, 300)]
    assert set(same) == {Answer.SAME, Answer.UNSURE}
    assert same.count(Answer.SAME) == pytest.approx(150, abs=30)
    assert oracle.answer(Question.pair(0, 300)) is Answer.DIFFERENT


TRAYS = [Question.piles(range(start, start + 6)) for start in range(0, 600, 6)]


def test_rows_of_a_tray_go_astray_at_the_rate():
    y = np.arange(600) % 2
    assert wrong(NoisyOracle(y, rate=0.0), y, TRAYS) == 0
    oracle = NoisyOracle(y, rate=0.1, random_state=3)
    given = [oracle.answer(question) for question in TRAYS]
    assert given == [NoisyOracle(y, rate=0.1, random_state=3).answer(question) for question in TRAYS]
    n_moved = 0
    for question, piles in zip(TRAYS, given, strict=True):
        assert sorted(row for pile in piles.groups for row in pile) == list(question.rows)
        n_moved += sum(min(sum(y[row] == c for row in pile) for c in (0, 1)) for pile in piles.groups)
        n_moved += sum(len(pile) == 1 for pile in piles.groups)
    assert n_moved == pytest.approx(60, abs=22)  # of 600 rows: three standard deviations


def test_all_rows_astray():
    # One pile: each row moves to a new pile. Two piles of one row: swapping them changes nothing.
    assert NoisyOracle([0, 0, 0], rate=1.0).answer(Question.piles([0, 1, 2])) == Piles([[0], [1], [2]])
    assert NoisyOracle([0, 1], rate=1.0).answer(Question.piles([0, 1])) == Piles([[0], [1]])


def test_a_wrong_odd_one_is_any_other_row():
    odd = [Question.odd([0, 1, 2, third]) for third in range(3, 203)]
    oracle = NoisyOracle([1, 0, 0] + [0] * 200, rate=1.0)
    given = [oracle.answer(question) for question in odd]
    assert {type(answer) for answer in given} == {OddOne}
    counts = np.bincount(
        [question.rows.index(answer.row) for question, answer in zip(odd, given, strict=True)]
    )
    assert counts[0] == 0
    assert counts[1:].min() > 40
    y = np.zeros(203)
    y[0] = 1
    assert wrong(NoisyOracle(y, rate=0.3), y, odd) == pytest.approx(0.3, abs=0.1)


def test_a_table_of_words_does_not_sort_trays():
    oracle = NoisyOracle([0, 0, 1], table={"SAME": {"UNSURE": 1.0}})
    for question in (Question.piles([0, 1, 2]), Question.odd([0, 1, 2])):
        with pytest.raises(SupervisionError, match="Use rate instead of table"):
            oracle.answer(question)


def test_what_is_not_known_stays_unsure():
    assert NoisyOracle([0, None], rate=1.0).answer(PAIR) is Answer.UNSURE


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rate": 1.5}, "rate must be a number from 0 to 1"),
        ({"rate": None}, "rate must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"table": {"SAME": {"SAME": 0.5}}}, "add up to 1"),
        ({"table": {"SAME": {"SAME": 1.5, "UNSURE": -0.5}}}, "add up to 1"),
        ({"table": {"maybe": {"SAME": 1.0}}}, "is not an answer"),
    ],
)
def test_noise_that_cannot_be(more, message):
    with pytest.raises(ValueError, match=message):
        NoisyOracle([0, 1], **more)


def test_a_table_for_pairs_does_not_answer_triplets():
    with pytest.raises(SupervisionError, match="SAME does not answer a triplet"):
        NoisyOracle([0, 0, 1], table={"AB": {"SAME": 1.0}}).answer(Question.triplet(0, 1, 2))


# ---------------------------------------------------------------------- recorded answers


def test_the_last_reply_counts_in_any_order_of_rows():
    replies = [
        Reply(PAIR, "SAME"),
        Reply(Question.triplet(4, 5, 6), "AC"),  # 4 and 6 together
        Reply(PAIR, "DIFFERENT"),
    ]
    oracle = RecordedOracle(replies)
    assert oracle.answer(Question.pair(1, 0)) is Answer.DIFFERENT
    assert oracle.answer(Question.triplet(6, 4, 5)) is Answer.AB


def test_odd_ones_and_piles_on_record():
    replies = [Reply(Question.odd([4, 5, 6]), 5), Reply(Question.piles([1, 2, 3]), [[1, 3], [2]])]
    oracle = RecordedOracle(replies)
    assert oracle.answer(Question.odd([6, 5, 4])) == OddOne(5)
    assert oracle.answer(Question.piles([3, 2, 1])) == Piles([[1, 3], [2]])
    with pytest.raises(SupervisionError, match="no recorded answer"):
        oracle.answer(Question.piles([4, 5, 6]))


def test_what_nobody_answered():
    with pytest.raises(SupervisionError, match=r"no recorded answer .*missing='unsure'"):
        RecordedOracle([]).answer(PAIR)
    assert RecordedOracle([], missing="unsure").answer(PAIR) is Answer.UNSURE


def test_records_that_are_none():
    with pytest.raises(ValueError, match="missing must be one of"):
        RecordedOracle([], missing="guess")
    with pytest.raises(SupervisionError, match="must contain Reply objects"):
        RecordedOracle([PAIR])


# ---------------------------------------------------------------------- any function


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures, answer="SAME"):
        self.left, self.given = failures, answer

    def __call__(self, question):
        if self.left:
            self.left -= 1
            raise TimeoutError("no answer")
        return self.given


def test_a_function_is_called_again_as_often_as_allowed():
    oracle = CallableOracle(Flaky(2), retries=2)
    assert oracle.answer(PAIR) is Answer.SAME
    assert oracle.n_calls == 3
    with pytest.raises(
        OracleError, match=r"not answered after 2 call\(s\): TimeoutError: no answer"
    ) as caught:
        CallableOracle(Flaky(2), retries=1).answer(PAIR)
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert caught.value.question == PAIR
    assert pickle.loads(pickle.dumps(caught.value)).question == PAIR


@pytest.mark.parametrize("given", [None, "perhaps", "AB", 3])
def test_what_does_not_answer_is_a_failed_call(given):
    with pytest.raises(OracleError, match="was not answered after 1 call"):
        CallableOracle(lambda question: given).answer(PAIR)


def test_a_reply_to_another_question_is_a_failed_call():
    oracle = CallableOracle(lambda question: Reply(Question.pair(2, 3), "SAME"), retries=1)
    with pytest.raises(OracleError, match=r"asked .* answered"):
        oracle.answer(PAIR)
    assert oracle.n_calls == 2


@pytest.mark.parametrize(
    ("question", "given", "meant"),
    [
        (Question.odd([3, 4, 5]), 4, OddOne(4)),
        (Question.odd([3, 4, 5]), "same", Answer.SAME),
        (Question.piles([3, 4, 5]), [[3, 5], [4]], Piles([[4], [5, 3]])),
        (Question.piles([3, 4, 5]), Reply(Question.piles([5, 4, 3]), [[3, 5]]), Piles([[3, 5]])),
    ],
)
def test_functions_that_sort(question, given, meant):
    answer = CallableOracle(lambda question: given).answer(question)
    assert getattr(answer, "answer", answer) == meant


@pytest.mark.parametrize(
    ("question", "given"),
    [
        (Question.odd([3, 4, 5]), 6),
        (Question.odd([3, 4, 5]), "AB"),
        (Question.piles([3, 4, 5]), [[3, 6]]),
        (Question.piles([3, 4, 5]), [[3, 4], [4, 5]]),
        (Question.piles([3, 4, 5]), 3),
        (PAIR, [[0], [1]]),
        (PAIR, OddOne(1)),
    ],
)
def test_what_does_not_sort_is_a_failed_call(question, given):
    with pytest.raises(OracleError, match="was not answered after 1 call"):
        CallableOracle(lambda question: given).answer(question)


def test_a_failure_loses_no_answer_that_came_before():
    y = [0, 1, 0, 1, 0, 1, 0, 1, 0]
    truth = LabelOracle(y)
    calls = []

    def failing(question):
        calls.append(question)
        if len(calls) > 3:
            raise ConnectionError("gone")
        return truth.answer(question)

    interview = Interview(np.arange(9.0)[:, None], n_clusters=2, strategy=RandomPairs())
    with pytest.raises(OracleError, match="ConnectionError: gone") as caught:
        simulate(interview, CallableOracle(failing), y_true=y)
    assert interview.n_answers == 3
    assert interview.ask() == caught.value.question == calls[-1]
    with pytest.raises(OracleError, match="the budget of 1 calls is spent"):
        simulate(interview, CallableOracle(truth.answer, budget=1), y_true=y)
    assert interview.n_answers == 4


def test_a_reply_keeps_who_gave_it():
    reply = CallableOracle(lambda question: Reply(question, "same", annotator="Ann")).answer(PAIR)
    assert (reply.answer, reply.annotator, reply.question) == ("SAME", "Ann", PAIR)


def test_the_budget_counts_failed_calls():
    oracle = CallableOracle(Flaky(1), retries=5, budget=2)
    assert oracle.answer(PAIR) is Answer.SAME
    with pytest.raises(OracleError, match="the budget of 2 calls is spent"):
        oracle.answer(PAIR)
    assert oracle.n_calls == 2


async def kind(question):
    await asyncio.sleep(0)
    return "different"


async def unkind(question):
    raise ConnectionError("gone")


def test_an_asynchronous_function_is_waited_for():
    assert CallableOracle(kind).answer(PAIR) is Answer.DIFFERENT
    with pytest.raises(OracleError, match="ConnectionError: gone"):
        CallableOracle(unkind).answer(PAIR)


def test_also_within_a_running_loop():
    async def notebook():
        return CallableOracle(kind).answer(PAIR)

    assert asyncio.run(notebook()) is Answer.DIFFERENT


def test_the_example_of_a_service_finds_the_groups(capsys):
    example = Path(__file__).parents[2] / "examples" / "asking_a_service.py"
    runpy.run_path(str(example), run_name="__main__")
    shown = capsys.readouterr().out
    groups = [part.split("\n")[1:5] for part in shown.split("\ngroup ")[1:]]
    assert len(groups) == 3
    assert any(all("parcel" in message for message in group) for group in groups)
    assert "stopped" not in shown


def test_an_interruption_is_not_a_failed_call():
    def interrupted(question):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallableOracle(interrupted, retries=3).answer(PAIR)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CallableOracle("SAME"), TypeError, "must be callable"),
        (lambda: CallableOracle(kind, retries=-1), ValueError, "retries must be"),
        (lambda: CallableOracle(kind, budget=0.5), ValueError, "budget must be"),
    ],
)
def test_oracles_that_cannot_be_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---------------------------------------------------------------------- whole interviews

ROWS = np.vstack([np.random.default_rng(0).normal(c, 0.3, (3, 2)) for c in (0, 3, 6)])
CLASSES = np.repeat([0, 1, 2], 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # all the same: one cluster
@pytest.mark.parametrize("kind", ["default", "random"])
@pytest.mark.parametrize(
    "oracle",
    [
        NoisyOracle(CLASSES, rate=0.5),  # random answers
        NoisyOracle(CLASSES, rate=1.0),
        CallableOracle(lambda question: "UNSURE"),
        CallableOracle(lambda question: "SAME"),
        CallableOracle(lambda question: "DIFFERENT"),
    ],
    ids=["half", "always wrong", "unsure", "same", "different"],
)
def test_an_interview_survives_any_oracle(oracle, kind):
    strategy = RandomPairs() if kind == "random" else None
    interview = Interview(ROWS, n_clusters=3, strategy=strategy)
    trace = simulate(interview, oracle, 50, y_true=CLASSES, every=60)  # more than all pairs
    assert interview.finished
    assert len({reply.question.key for reply in interview.replies}) == interview.n_answers <= 36
    assert np.isfinite(trace.scores).all()
    assert set(np.unique(interview.labels_)) <= {0, 1, 2}
