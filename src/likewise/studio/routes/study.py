"""Routes of a study, for projects that are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from likewise.exceptions import NotFoundError
from likewise.studio.routes._common import Body, Key, TheStudio, Who, document_responses, make_json_response
from likewise.studio.service import Studio
from likewise.studio.service._views import DoneView, StudyView

if TYPE_CHECKING:
    from likewise.studio.service._study import StudyDesk

router: APIRouter = APIRouter(tags=["study"])
Choice = Literal["pair", "triplet", "none"]


class NextBody(Body):
    """A step to the next stage."""

    key: Key


class SurveyBody(Body):
    """The questionnaire; each answer is a kind of question, or none."""

    key: Key
    performance: Choice
    effort_per_query: Choice
    overall_effort: Choice
    frustration: Choice
    preference: Choice
    comments: Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")] = ""


def _get_desk(studio: Studio) -> StudyDesk:
    if studio.study is None:
        raise NotFoundError("This project is not a study.", "Create one with likewise studio PATH --study.")
    return studio.study


@router.get("/api/study", responses=document_responses(StudyView), response_model=None)
def study(studio: TheStudio, person: Who) -> JSONResponse:
    """Return the person's stage in the study."""
    return make_json_response(_get_desk(studio).show_stage(person))


@router.post("/api/study/next", responses=document_responses(StudyView), response_model=None)
def go_on(body: NextBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Leave the introduction or a break."""
    return make_json_response(_get_desk(studio).go_on(person, body.key))


@router.post("/api/study/survey", responses=document_responses(DoneView), response_model=None)
def survey(body: SurveyBody, studio: TheStudio, person: Who) -> JSONResponse:
    """Submit the questionnaire, after all questions have been answered."""
    return make_json_response(
        _get_desk(studio).store_survey(person, body.key, body.model_dump(exclude={"key"}))
    )
