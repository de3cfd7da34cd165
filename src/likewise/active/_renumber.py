"""Questions and answers about some of the rows, in the numbers of all rows and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from likewise.active._history import Event
from likewise.active._questions import OddOne, Piles, Question, Reply, Said

Number = Callable[[int], int]


def question_as(question: Question, number: Number) -> Question:
    """Return a question with other numbers for its rows, in what it says of them too."""
    of_row = {row: number(row) for row in question.rows}
    return replace(question, rows=tuple(of_row.values()), why=_reworded(question, of_row))


def reply_as(reply: Reply, number: Number) -> Reply:
    """Return a reply with other numbers for the rows."""
    return replace(
        reply, question=question_as(reply.question, number), answer=_answer_as(reply.answer, number)
    )


def event_as(event: Event, number: Number) -> Event:
    """Return an answer or a skip with other numbers for the rows."""
    reply = None if event.reply is None else reply_as(event.reply, number)
    return Event(event.kind, question_as(event.question, number), reply)


def _answer_as(said: Said, number: Number) -> Said:
    if isinstance(said, OddOne):
        return OddOne(number(said.row))
    if isinstance(said, Piles):
        return Piles(tuple(tuple(map(number, pile)) for pile in said.groups))
    return said


def _reworded(question: Question, of_row: dict[int, int]) -> str:
    named = {str(row): str(other) for row, other in of_row.items()}

    def other(found: re.Match[str]) -> str:
        if not set(re.findall(r"\d+", found[0])) <= set(named):
            return found[0]
        return re.sub(r"\d+", lambda row: named[row[0]], found[0])

    # What is said of a tray lists rows without the word.
    noun = r"(?:[Rr]ows? )?" if question.kind == "piles" else "[Rr]ows? "
    return re.sub(rf"\b{noun}\d+(?:(?:, | and )\d+)*\b(?![%.]\d|%)", other, question.why)
