"""Log in and out; and for the owner: who may answer, and how far people agree."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal

from fastapi import Path, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from likewise.studio.routes._common import (
    MOST_ROW,
    Body,
    Name,
    Owner,
    Routes,
    TheStudio,
    Who,
    document_responses,
    get_cookie_name,
)
from likewise.studio.service import _views as views
from likewise.studio.service._accounts import SESSION_SECONDS

routes: Routes = Routes("people")
PersonPath = Annotated[int, Path(ge=1, le=MOST_ROW)]


class LoginBody(Body):
    """The token of a login link. It follows the # in the link, so it never appears in a log."""

    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class PersonBody(Body):
    """A new person."""

    name: Name
    role: Literal["owner", "annotator"] = "annotator"


class ActiveBody(Body):
    """Whether a person may log in."""

    active: bool


@routes.post("/api/login", document_responses(views.WhoView, 429))
def log_in(body: LoginBody, request: Request, studio: TheStudio) -> JSONResponse:
    """Exchange the token of a login link, which works once, for a session."""
    person, session = studio.people.log_in(body.token, _get_network(request))
    response = JSONResponse(views.make_who_view(person))
    response.set_cookie(
        get_cookie_name(request),
        session,
        max_age=int(SESSION_SECONDS),
        path=f"{request.app.state.base}/",
        httponly=True,
        samesite="lax",
        secure=bool(request.app.state.https),
    )
    return response


def _get_network(request: Request) -> str:
    """Return the client's address; for IPv6 its network, all of which belongs to one person."""
    host = "" if request.client is None else request.client.host.partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


@routes.post("/api/logout", document_responses(views.DoneView))
def log_out(request: Request, studio: TheStudio, person: Who) -> JSONResponse:
    """End the session."""
    studio.people.log_out(request.cookies.get(get_cookie_name(request), ""))
    response = JSONResponse({"done": True})
    response.delete_cookie(get_cookie_name(request), path=f"{request.app.state.base}/")
    return response


@routes.get("/api/me")
def me(studio: TheStudio, person: Who) -> views.MeView:
    """Return who is logged in, and what the project is about."""
    return studio.show_me(person)


@routes.get("/api/people")
def people(studio: TheStudio, owner: Owner) -> views.PeopleView:
    """Return all people."""
    return studio.people.show_all()


@routes.post("/api/people")
def add(body: PersonBody, request: Request, studio: TheStudio, owner: Owner) -> views.InvitedView:
    """Add a person and return their login link, which is shown only once."""
    return studio.people.invite(body.name, body.role, request.app.state.link)


@routes.post("/api/people/{person}/link")
def link(person: PersonPath, request: Request, studio: TheStudio, owner: Owner) -> views.LinkView:
    """Return another login link for a person."""
    return studio.people.make_new_link(person, request.app.state.link)


@routes.post("/api/people/{person}/active")
def active(person: PersonPath, body: ActiveBody, studio: TheStudio, owner: Owner) -> views.DoneView:
    """Deactivate or reactivate a person; their answers are kept."""
    studio.people.set_active(person, body.active, owner)
    return {"done": True}
