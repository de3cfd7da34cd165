"""Questions, answers, and what happened so far."""

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
    """How many questions are wanted."""

    n: Annotated[int, Field(ge=1, le=10)] = 3


class AnswerBody(Body):
    """An answer."""

    key: Key
    question: QuestionId
    answer: Word
    seconds: Seconds = None


class SkipBody(Body):
    """A question that is left out."""

    key: Key
    question: QuestionId
    seconds: Seconds = None


class UndoBody(Body):
    """What is taken back: the event with the number `of`, or one's last answer or skip."""

    key: Key
    of: Seq | None = None


class RevisitBody(Body):
    """A question that was skipped and is wanted again."""

    key: Key
    question: QuestionId


@router.post("/api/questions", responses=document_responses(QuestionsView), response_model=None)
def questions(body: AskBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Take questions that nobody else is looking at. They are kept for some minutes."""
    return make_json_response(studio.asking.give_questions(person, body.n))


@router.post("/api/answers", responses=document_responses(AnsweredView), response_model=None)
def answers(body: AnswerBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Answer a question. What is acknowledged is on disk."""
    return make_json_response(
        studio.asking.answer(
            person, key=body.key, question=body.question, answer=body.answer, seconds=body.seconds
        )
    )


@router.post("/api/skips", responses=document_responses(AnsweredView), response_model=None)
def skips(body: SkipBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Leave a question out: it is not asked again, and the history lets one come back to it."""
    return make_json_response(
        studio.asking.skip(person, key=body.key, question=body.question, seconds=body.seconds)
    )


@router.post("/api/undo", responses=document_responses(UndoneView), response_model=None)
def undo(body: UndoBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Take back an answer, a skip, or the name of a group."""
    return make_json_response(studio.asking.undo(person, key=body.key, of=body.of))


@router.post("/api/revisit", responses=document_responses(UndoneView), response_model=None)
def revisit(body: RevisitBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Come back to a question that was skipped."""
    return make_json_response(studio.asking.revisit(person, key=body.key, question=body.question))


@router.get("/api/history", responses=document_responses(HistoryView), response_model=None)
def history(
    studio: TheStudio,
    person: Who,
    before: Annotated[int | None, Query(ge=1, le=MOST_SEQ)] = None,
    limit: Limit = 50,
) -> JSONResponse:
    """Show what happened, the newest first; annotators see what they did themselves."""
    return make_json_response(studio.asking.show_history(person, before, limit))


@router.get("/api/progress", responses=document_responses(ProgressView), response_model=None)
def progress(studio: TheStudio, person: Who) -> JSONResponse:
    """Tell how far it has come, and whether it is worth going on."""
    return make_json_response(studio.asking.show_progress(person))
