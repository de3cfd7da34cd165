"""Pages of the owner: who may answer, and how far people agree."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from likewise.studio.routes._common import (
    MOST_ROW,
    Body,
    Name,
    Owner,
    TheStudio,
    document_responses,
    make_json_response,
)
from likewise.studio.service._views import DoneView, InvitedView, LinkView, PeopleView

router: APIRouter = APIRouter(tags=["people"])
PersonPath = Annotated[int, Path(ge=1, le=MOST_ROW)]


class PersonBody(Body):
    """A new person."""

    name: Name
    role: Literal["owner", "annotator"] = "annotator"


class ActiveBody(Body):
    """Whether a person may log in."""

    active: bool


@router.get("/api/people", responses=document_responses(PeopleView), response_model=None)
def people(studio: TheStudio, owner: Owner) -> JSONResponse:
    """Return all people."""
    return make_json_response(studio.people.show_all())


@router.post("/api/people", responses=document_responses(InvitedView), response_model=None)
def add(body: PersonBody, request: Request, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Add a person and return their login link, which is shown only once."""
    return make_json_response(studio.people.invite(body.name, body.role, request.app.state.link))


@router.post("/api/people/{person}/link", responses=document_responses(LinkView), response_model=None)
def link(person: PersonPath, request: Request, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Return another login link for a person."""
    return make_json_response(studio.people.make_new_link(person, request.app.state.link))


@router.post("/api/people/{person}/active", responses=document_responses(DoneView), response_model=None)
def active(person: PersonPath, body: ActiveBody, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Deactivate or reactivate a person; their answers are kept."""
    studio.people.set_active(person, body.active, owner)
    return make_json_response({"done": True})
