"""Questions as prompts for a language model, and its answers."""

import pytest

from likewise.active import Answer, InGroup, Named, OddOne, Piles, Question, Unlike
from likewise.exceptions import OracleError, SupervisionError
from likewise.oracles import CallableOracle, LabelOracle, make_prompt, parse_answer

BIRDS = ["wren", "tawny owl", "winter wren", "barn owl", "house\nwren"]
QUESTIONS = [
    Question.pair(0, 1),
    Question.triplet(0, 1, 2),
    Question.odd([0, 1, 2, 3]),
    Question.piles([0, 1, 2]),
    Question.placement(2, [0, 1], examples=[[0], [1, 3]], names=[None, "owls"]),
    Question.members(1, [0, 3]),
    Question.groups(0, 1),
    Question.label(2, names=["wren", "owl"]),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_a_prompt_shows_every_row_and_allows_unsure(question):
    prompt = make_prompt(question, BIRDS.__getitem__)
    assert all(BIRDS[row] in prompt for row in question.rows)
    assert "unsure" in prompt.splitlines()[-1]
    assert parse_answer(question, "Unsure.") is Answer.UNSURE


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (Question.pair(0, 1), "\n **Yes.**\nBecause", Answer.SAME),
        (Question.triplet(0, 1, 2), "2", Answer.AC),
        (Question.triplet(0, 1, 2), "none", Answer.NEITHER),
        (Question.odd([0, 1, 2]), "All", Answer.SAME),
        (Question.odd([0, 1, 2]), "3", OddOne(2)),
        (Question.piles([0, 1, 2]), "12-", Piles([[0], [1]])),
        (Question.placement(2, [0, 1]), "2", InGroup(1)),
        (Question.placement(2, [0, 1]), "New", Answer.NEW),
        (Question.members(1, [0, 3]), "1, 2", Unlike([0, 3])),
        (Question.members(1, [0, 3]), "all.", Answer.SAME),
        (Question.groups(0, 1), "no", Answer.DIFFERENT),
        (Question.label(2, names=["wren"]), '"Wren"', Named("wren")),
        (Question.label(2, names=["wren"]), "1", Named("wren")),
        (Question.label(2), "Barn owl", Named("Barn owl")),
        (Question.label(2), "quit", Named("quit")),
    ],
)
def test_what_a_model_writes_is_understood(question, text, answer):
    assert parse_answer(question, text) == answer


@pytest.mark.parametrize("question", QUESTIONS[:-1], ids=lambda question: question.kind)
@pytest.mark.parametrize("text", ["", "What interesting birds!", "quit", "9"])
def test_anything_else_is_refused(question, text):
    with pytest.raises(SupervisionError, match=r"does not answer .* Answer"):
        parse_answer(question, text)


def test_a_function_answers_with_prompts():
    written = iter(["Hm.", "2"])
    asked = []

    def complete(question):
        asked.append(make_prompt(question, BIRDS.__getitem__))
        return parse_answer(question, next(written))

    assert CallableOracle(complete, retries=1).answer(QUESTIONS[4]) == InGroup(1)
    assert len(asked) == 2
    with pytest.raises(OracleError, match="StopIteration"):
        CallableOracle(complete).answer(QUESTIONS[4])


@pytest.mark.parametrize("question", QUESTIONS[4:], ids=lambda question: question.kind)
def test_a_function_may_return_what_the_question_accepts(question):
    oracle = LabelOracle(["wren", "owl", "wren", "owl", "wren"])
    assert CallableOracle(oracle.answer).answer(question) == oracle.answer(question)
