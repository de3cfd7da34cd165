"""Questions, answers and the history."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from likewise.studio.routes._common import (
    MOST_SEQ,
    Body,
    Key,
    Limit,
    QuestionId,
    Seconds,
    Seq,
    TheStudio,
    Who,
    document_responses,
    make_json_response,
)
from likewise.studio.service._views import (
    AnsweredView,
    HistoryView,
    ProgressView,
    QuestionsView,
    UndoneView,
)

router: APIRouter = APIRouter(tags=["questions"])
Word = Literal["SAME", "DIFFERENT", "UNSURE", "AB", "AC", "BC", "NEITHER"]


class AskBody(Body):
    """The number of questions requested."""

    n: Annotated[int, Field(ge=1, le=10)] = 3


class AnswerBody(Body):
    """An answer."""

    key: Key
    question: QuestionId
    answer: Word
    seconds: Seconds = None


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


@router.post("/api/questions", responses=document_responses(QuestionsView), response_model=None)
def questions(body: AskBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Reserve questions that nobody else is looking at for some minutes."""
    return make_json_response(studio.asking.give_questions(person, body.n))


@router.post("/api/answers", responses=document_responses(AnsweredView), response_model=None)
def answers(body: AnswerBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Answer a question. An acknowledged answer is on disk."""
    return make_json_response(
        studio.asking.answer(
            person, key=body.key, question=body.question, answer=body.answer, seconds=body.seconds
        )
    )


@router.post("/api/skips", responses=document_responses(AnsweredView), response_model=None)
def skips(body: SkipBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Skip a question: it is not asked again, but can be revisited from the history."""
    return make_json_response(
        studio.asking.skip(person, key=body.key, question=body.question, seconds=body.seconds)
    )


@router.post("/api/undo", responses=document_responses(UndoneView), response_model=None)
def undo(body: UndoBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Undo an answer, a skip, or the name of a group."""
    return make_json_response(studio.asking.undo(person, key=body.key, of=body.of))


@router.post("/api/revisit", responses=document_responses(UndoneView), response_model=None)
def revisit(body: RevisitBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Come back to a skipped question."""
    return make_json_response(studio.asking.revisit(person, key=body.key, question=body.question))


@router.get("/api/history", responses=document_responses(HistoryView), response_model=None)
def history(
    studio: TheStudio,
    person: Who,
    before: Annotated[int | None, Query(ge=1, le=MOST_SEQ)] = None,
    limit: Limit = 50,
) -> JSONResponse:
    """Return past events, newest first; annotators see only their own."""
    return make_json_response(studio.asking.show_history(person, before, limit))


@router.get("/api/progress", responses=document_responses(ProgressView), response_model=None)
def progress(studio: TheStudio, person: Who) -> JSONResponse:
    """Return the progress, and whether it is worth going on."""
    return make_json_response(studio.asking.show_progress(person))
