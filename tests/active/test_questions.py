"""Questions, answers and replies: their standard form, and invalid input."""

import datetime

import numpy as np
import pytest

from likewise.active import Answer, Question, Reply
from likewise.exceptions import SupervisionError


def test_a_pair_is_ascending_and_known_by_its_rows():
    question = Question.pair(np.int64(7), 3, score=np.float64(0.5), reason="Why not?")
    assert question.rows == (3, 7)
    assert [type(row) for row in question.rows] == [int, int]
    assert type(question.score) is float
    assert question.key == Question("pair", (3, 7)).key != Question.pair(3, 8).key
    assert question.text == "Do rows 3 and 7 belong together?"


def test_a_triplet_keeps_its_order_and_is_known_without_it():
    question = Question.triplet(9, 2, 5)
    assert question.rows == (9, 2, 5)
    assert question.key == Question.triplet(2, 5, 9).key
    assert question.text == "Which two of rows 9 (A), 2 (B) and 5 (C) belong together?"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Question.pair(3, 3), "2 different rows"),
        (lambda: Question.pair(-1, 3), "integers from 0"),
        (lambda: Question.pair(0.5, 3), "expected row numbers"),
        (lambda: Question.pair(True, 3), "expected row numbers"),
        (lambda: Question("pair", (1, 2, 3)), "2 different rows"),
        (lambda: Question.triplet(1, 2, 1), "3 different rows"),
        (lambda: Question("pile", (1, 2)), "kind must be one of"),
        (lambda: Question.pair(0, 1, score=float("nan")), "finite"),
        (lambda: Answer.from_word("perhaps"), "is not an answer; expected one of"),
        (lambda: Answer.from_word(True), "is not an answer; expected one of"),
        (lambda: Question.pair(0, 1).check_answer("AB"), "AB does not answer a pair"),
        (
            lambda: Question.triplet(0, 1, 2).check_answer(Answer.SAME),
            "expected one of UNSURE, AB, AC, BC, NEITHER",
        ),
        (lambda: Reply((0, 1), "SAME"), "question must be a Question"),
        (lambda: Reply(Question.pair(0, 1), "SAME", annotator=3), "annotator must be a string"),
        (lambda: Reply(Question.pair(0, 1), "SAME", time="noon"), "time must be"),
        (lambda: Reply(Question.pair(0, 1), "SAME", seconds=-1), "at least 0"),
        (lambda: Reply(Question.pair(0, 1), "SAME").to(Question.pair(0, 2)), "asked .* answered"),
    ],
)
def test_what_is_no_question_or_answer_is_refused(make, message):
    with pytest.raises(SupervisionError, match=message):
        make()


def test_words_are_read_in_either_case():
    assert Answer.from_word(" same ") is Answer.SAME
    assert Answer.from_word(Answer.NEITHER) is Answer.NEITHER
    assert str(Answer.AB) == "AB"


def test_a_reply_keeps_who_when_and_how_long():
    noon = datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC)
    reply = Reply(Question.pair(0, 1), "unsure", "Ann", noon, 2)
    assert reply.answer is Answer.UNSURE
    assert (reply.annotator, reply.time, reply.seconds) == ("Ann", "2026-03-09T12:00:00+00:00", 2.0)


def test_a_reply_says_the_same_of_the_rows_in_any_order():
    reply = Reply(Question.triplet(5, 6, 7), "AB")  # 5 and 6 together, 7 odd
    assert reply.to(Question.triplet(7, 5, 6)) is Answer.BC
    assert reply.to(Question.triplet(5, 7, 6)) is Answer.AC
    assert Reply(Question.triplet(5, 6, 7), "NEITHER").to(Question.triplet(7, 6, 5)) is Answer.NEITHER


@pytest.mark.parametrize(
    ("yes", "no"), [("yes", "no"), ("Y", " n "), (True, False), (np.True_, np.False_), ("same", "DIFFERENT")]
)
def test_yes_and_no_answer_a_pair(yes, no):
    assert Question.pair(0, 1).check_answer(yes) is Answer.SAME
    assert Question.pair(0, 1).check_answer(no) is Answer.DIFFERENT


@pytest.mark.parametrize("answer", ["yes", True, False, "SAME", "different", 1.5])
@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question.triplet(0, 1, 2), "a triplet; expected one of UNSURE, AB, AC, BC, NEITHER"),
        (Question.piles([0, 1, 2]), r"a tray; expected one of UNSURE, or piles such as \[\[0, 3\], \[1\]\]"),
    ],
)
def test_answers_for_pairs_only_are_refused_with_the_words_for_the_question(question, words, answer):
    with pytest.raises(SupervisionError, match=f"does not answer {words}"):
        question.check_answer(answer)


def test_a_number_or_a_strange_word_does_not_answer_a_pair():
    for answer in (1, 0, "perhaps", None):
        with pytest.raises(SupervisionError, match="expected one of SAME, DIFFERENT, UNSURE, or yes or no"):
            Question.pair(0, 1).check_answer(answer)
