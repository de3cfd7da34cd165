"""Questions, answers and the history."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field
from typing_extensions import TypedDict

from likewise.studio.routes._common import (
    MOST_SEQ,
    Body,
    Key,
    Limit,
    Name,
    QuestionId,
    Routes,
    Seconds,
    Seq,
    TheStudio,
    Who,
)
from likewise.studio.service import _views as views
from likewise.studio.wording import LONGEST_NOTE

routes: Routes = Routes("questions")
Word = Literal["SAME", "DIFFERENT", "UNSURE", "AB", "AC", "BC", "NEITHER", "NEW"]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=11)]], Field(max_length=11)]


class GroupsAnswer(TypedDict):
    """The answer to a placement: the number of the group shown, from 1; several if one was shown twice."""

    __pydantic_config__ = Body.model_config  # type: ignore[misc]
    groups: Numbers


class UnlikeAnswer(TypedDict):
    """The answer to a question about members: the numbers of the items that do not belong, from 1."""

    __pydantic_config__ = Body.model_config  # type: ignore[misc]
    unlike: Numbers


class NameAnswer(TypedDict):
    """The answer to a label question: the name of the group."""

    __pydantic_config__ = Body.model_config  # type: ignore[misc]
    name: Name


class AskBody(Body):
    """The number of questions requested."""

    n: Annotated[int, Field(ge=1, le=10)] = 3


class AnswerBody(Body):
    """An answer."""

    key: Key
    question: QuestionId
    answer: Word | GroupsAnswer | UnlikeAnswer | NameAnswer
    seconds: Seconds = None
    note: Annotated[str | None, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")] = None


class SkipBody(Body):
    """A question to skip."""

    key: Key
    question: QuestionId
    seconds: Seconds = None


class UndoBody(Body):
    """What to undo: the event with the number `of`, or the person's last answer or skip."""

    key: Key
    of: Seq | None = None


class RevisitBody(Body):
    """A skipped question to come back to."""

    key: Key
    question: QuestionId


@routes.post("/api/questions")
def questions(body: AskBody, studio: TheStudio, person: Who) -> views.QuestionsView:
    """Reserve questions that nobody else is looking at for some minutes."""
    return studio.asking.give_questions(person, body.n)


@routes.post("/api/answers")
def answers(body: AnswerBody, studio: TheStudio, person: Who) -> views.AnsweredView:
    """Answer a question. An acknowledged answer is on disk."""
    return studio.asking.answer(person, **dict(body))


@routes.post("/api/skips")
def skips(body: SkipBody, studio: TheStudio, person: Who) -> views.AnsweredView:
    """Skip a question: it is not asked again, but can be revisited from the history."""
    return studio.asking.skip(person, **dict(body))


@routes.post("/api/undo")
def undo(body: UndoBody, studio: TheStudio, person: Who) -> views.UndoneView:
    """Undo an answer, a skip, or the name of a group."""
    return studio.asking.undo(person, **dict(body))


@routes.post("/api/revisit")
def revisit(body: RevisitBody, studio: TheStudio, person: Who) -> views.UndoneView:
    """Come back to a skipped question."""
    return studio.asking.revisit(person, **dict(body))


@routes.get("/api/history")
def history(
    studio: TheStudio,
    person: Who,
    before: Annotated[int | None, Query(ge=1, le=MOST_SEQ)] = None,
    limit: Limit = 50,
) -> views.HistoryView:
    """Return past events, newest first; annotators see only their own."""
    return studio.asking.show_history(person, before, limit)


@routes.get("/api/progress")
def progress(studio: TheStudio, person: Who) -> views.ProgressView:
    """Return the progress, and whether it is worth going on."""
    return studio.asking.show_progress(person)
