"""Questions as prompts for a language model, and its text as answers."""

from __future__ import annotations

import io
from collections.abc import Callable

from likewise.active import Answer, AnswerValue, Question
from likewise.exceptions import SupervisionError
from likewise.oracles._console import ConsoleOracle, Form, Wish, parse_name, parse_typed

_WIDE = 1_000_000  # rows are not wrapped
_ANSWERS = {
    "pair": "Answer yes, no or unsure.",
    "triplet": "Answer 1, 2 or 3, none if all three belong together or no two of them do, or unsure.",
    "odd": "Answer its number, all if all belong together, none if there is no single one, or unsure.",
    "piles": "Answer with one sign for each of them, such as {example}: equal digits belong together, and - "
    "leaves one out. Or answer unsure.",
    "placement": "Answer its number, new if it belongs to none of them, or unsure.",
    "members": "Answer their numbers, all if all of them belong to the group, or unsure.",
    "groups": "Answer yes, no or unsure.",
    "label": "Answer a short name, one of the names above if it fits, or unsure.",
}
_TEXTS = {
    "piles": "Which of these belong together?",
    "members": "Which of these do not belong to the group marked with =?",
    "label": "What is the name of the group marked with a question mark?",
}


def make_prompt(question: Question, show: Callable[[int], str] | None = None) -> str:
    """Return a question as a prompt for a language model: the rows, the question, and how to answer.

    Write the criterion and the granularity of the groups before it: the prompt does not know them.

    Parameters
    ----------
    question : Question
        A question of any kind.
    show : callable, optional
        Called with a row number; returns the text of the row. By default its number.

    Returns
    -------
    str
        The prompt. :func:`parse_answer` reads the answer.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import make_prompt
    >>> birds = ["wren", "tawny owl", "winter wren", "barn owl"]
    >>> question = Question.placement(2, [0, 1], examples=[[0], [1, 3]], names=[None, "owls"])
    >>> print(make_prompt(question, birds.__getitem__))
      ?  winter wren
      1  wren
      2  owls
      ·  tawny owl
      ·  barn owl
    Which group does it belong to? Answer its number, new if it belongs to none of them, or unsure.
    """
    shown = io.StringIO()
    ConsoleOracle(show, input=io.StringIO(), output=shown, width=_WIDE)._print_question(question)
    text = _TEXTS.get(question.kind) or Form.for_question(question).text
    example = "".join("112"[at % 3] for at in range(len(question.rows) - 1)) + "-"
    return f"{shown.getvalue()}{text} {_ANSWERS[question.kind].format(example=example)}"


def parse_answer(question: Question, text: str) -> AnswerValue:
    """Return the answer that a language model wrote to the prompt of :func:`make_prompt`.

    Parameters
    ----------
    question : Question
        The question.
    text : str
        The text. Its first line that is not empty counts; white space, quotes and a full stop around the
        answer are removed. Anything that does not answer the question raises a SupervisionError, so that
        :class:`CallableOracle` asks again.

    Returns
    -------
    Answer, OddOne, Piles, InGroup, Unlike or Named
        The answer.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import parse_answer
    >>> str(parse_answer(Question.pair(0, 1), "Yes.")), str(parse_answer(Question.members(4, [1, 7]), "2"))
    ('SAME', 'UNLIKE 7')
    """
    lines = [line.strip(" \t\"'“”`*.") for line in text.splitlines()]
    typed = next(filter(None, lines), "")
    form = Form.for_question(question)
    found: Wish | tuple[AnswerValue, str] | None
    if question.kind != "label":
        found = parse_typed(typed.lower(), question, form)
    elif typed.upper() == Answer.UNSURE:
        found = form.keys["u"]
    else:
        found = form.keys[typed] if typed in form.keys and typed.isdecimal() else parse_name(typed, form)
    if found is None or isinstance(found, Wish):
        hint = _ANSWERS[question.kind].format(example="112-")
        raise SupervisionError(f"{typed[:80]!r} does not answer “{question.text}” {hint}")
    return found[0]
