"""Shared by all routes: how they are declared and documented, dependencies, and request bodies."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any, ClassVar, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from likewise.exceptions import NotAllowedError
from likewise.studio.records import Person
from likewise.studio.service import Studio

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Responses = dict[int | str, dict[str, Any]]
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


def document_responses(model: Any, *statuses: int) -> Responses:
    """Return the responses of a route for its documentation; those in the list below are always possible."""
    described: Responses = {200: {"model": model}}
    for status in (400, 401, 403, 404, 409, 413, 415, 421, 422, 503, *statuses):
        described[status] = {"model": ErrorView}
    return described


def document_files(*types: str) -> Responses:
    """Return the documentation of a route that sends files of these media types."""
    return {**document_responses(str), 200: {"content": {kind: {} for kind in types}}}


class Routes:
    """The routes of one topic: functions that return a view or a response.

    The return annotation documents a view. It is sent as JSON without validation, because the service already
    returns the documented type.
    """

    def __init__(self, tag: str) -> None:
        self.router: APIRouter = APIRouter(tags=[tag])

    def get(self, path: str, responses: Responses | None = None) -> Callable[[Endpoint], Endpoint]:
        """Declare what a GET returns, with its documentation unless that is a view."""
        return partial(self._add, "GET", path, responses)

    def post(self, path: str, responses: Responses | None = None) -> Callable[[Endpoint], Endpoint]:
        """Declare what a POST does, with its documentation unless it returns a view."""
        return partial(self._add, "POST", path, responses)

    def _add(self, method: str, path: str, responses: Responses | None, endpoint: Endpoint) -> Endpoint:
        signature = inspect.signature(endpoint, eval_str=True)

        @wraps(endpoint)
        def respond(**given: Any) -> Response:
            found = endpoint(**given)
            return found if isinstance(found, Response) else JSONResponse(found)

        respond.__signature__ = signature  # type: ignore[attr-defined]
        documented = responses or document_responses(signature.return_annotation)
        self.router.add_api_route(path, respond, methods=[method], responses=documented, response_model=None)
        return endpoint


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
    if person.role != "owner":
        raise NotAllowedError("Only the owner of the project may do this.", "Ask the owner.")
    return person


def get_viewer(request: Request) -> Person:
    """Return the person who is logged in, if they may see the groups.

    Participants of a study may not, nor annotators who are to answer independently.
    """
    person = get_person(request)
    if get_studio(request).asking.hides_groups(person):
        raise NotAllowedError(
            "Only the owner of the project sees the groups, so that answers are independent.",
            "Ask the owner.",
        )
    return person


TheStudio = Annotated[Studio, Depends(get_studio)]
Who = Annotated[Person, Depends(get_person)]
Owner = Annotated[Person, Depends(get_owner)]
Looker = Annotated[Person, Depends(get_viewer)]


def send_tagged(request: Request, body: bytes, media_type: str, **headers: str) -> Response:
    """Return a response with an ETag, or 304 if the browser has it already."""
    headers["ETag"] = tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
