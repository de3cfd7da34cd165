"""Shared by all routes: dependencies, request bodies and responses."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from likewise.studio.records import Person
from likewise.studio.service import Studio

MOST_ROW = 2**31 - 1
MOST_SEQ = 2**53 - 1


class ErrorContent(TypedDict):
    """An error: a code for programs, a sentence for people, and what to do about it."""

    code: str
    message: str
    way_on: str


class ErrorView(TypedDict):
    """Any response that is not a success."""

    error: ErrorContent


def document_responses(model: Any, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses of a route for its documentation; those in the list below are always possible."""
    described: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    for status in (400, 401, 403, 404, 409, 413, 415, 421, 422, 503, *statuses):
        described[status] = {"model": ErrorView}
    return described


class Body(BaseModel):
    """A request body with strict types and no unknown fields."""

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")


Key = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{8,64}$",
        description="A new value for each action; a request sent twice counts once.",
    ),
]
QuestionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Seconds = Annotated[float | None, Field(ge=0, le=604_800, allow_inf_nan=False)]
Row = Annotated[int, Field(ge=0, le=MOST_ROW)]
Seq = Annotated[int, Field(ge=1, le=MOST_SEQ)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Limit = Annotated[int, Query(ge=1, le=200)]
Offset = Annotated[int, Query(ge=0, le=MOST_ROW)]


def get_studio(request: Request) -> Studio:
    """Return the studio."""
    studio: Studio = request.app.state.studio
    return studio


def get_cookie_name(request: Request) -> str:
    """Return the name of the session cookie; browsers share cookies between all ports of a machine."""
    return f"likewise-{get_studio(request).id}"


def get_person(request: Request) -> Person:
    """Return the person who is logged in."""
    return get_studio(request).people.find_by_session(request.cookies.get(get_cookie_name(request)))


def get_owner(request: Request) -> Person:
    """Return the person who is logged in, if it is the owner."""
    person = get_person(request)
    get_studio(request).check_owner(person)
    return person


def get_viewer(request: Request) -> Person:
    """Return the person who is logged in, if they may see the groups; participants of a study may not."""
    studio, person = get_studio(request), get_person(request)
    if studio.study is not None:
        studio.check_owner(person)
    return person


TheStudio = Annotated[Studio, Depends(get_studio)]
Who = Annotated[Person, Depends(get_person)]
Owner = Annotated[Person, Depends(get_owner)]
Looker = Annotated[Person, Depends(get_viewer)]


def make_json_response(content: Any) -> JSONResponse:
    """Return content as JSON without validation; the service already returns the documented type."""
    return JSONResponse(content)
