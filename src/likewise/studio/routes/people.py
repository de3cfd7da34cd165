"""The owner's desk: who may answer, and how far they agree."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from likewise.studio.routes._common import MOST_ROW, Body, Name, Owner, TheStudio, documented, shown
from likewise.studio.service._views import DoneView, InvitedView, LinkView, PeopleView

router: APIRouter = APIRouter(tags=["people"])
PersonPath = Annotated[int, Path(ge=1, le=MOST_ROW)]


class PersonBody(Body):
    """Somebody new."""

    name: Name
    role: Literal["owner", "annotator"] = "annotator"


class ActiveBody(Body):
    """Whether somebody may log in."""

    active: bool


@router.get("/api/people", responses=documented(PeopleView), response_model=None)
def people(studio: TheStudio, owner: Owner) -> JSONResponse:
    """Show everybody."""
    return shown(studio.people.all())


@router.post("/api/people", responses=documented(InvitedView), response_model=None)
def add(body: PersonBody, request: Request, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Let somebody in, and get the link by which they log in, once."""
    return shown(studio.people.invited(body.name, body.role, request.app.state.link))


@router.post("/api/people/{person}/link", responses=documented(LinkView), response_model=None)
def link(person: PersonPath, request: Request, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Get another login link for somebody."""
    return shown(studio.people.new_link(person, request.app.state.link))


@router.post("/api/people/{person}/active", responses=documented(DoneView), response_model=None)
def active(person: PersonPath, body: ActiveBody, studio: TheStudio, owner: Owner) -> JSONResponse:
    """Lock somebody out, or let them in again; what they answered stays."""
    studio.people.set_active(person, body.active, owner)
    return shown({"done": True})
