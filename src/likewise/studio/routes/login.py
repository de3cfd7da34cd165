"""Log in and out."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from likewise.studio.routes._common import (
    Body,
    TheStudio,
    Who,
    document_responses,
    get_cookie_name,
    make_json_response,
)
from likewise.studio.service._accounts import SESSION_SECONDS
from likewise.studio.service._views import DoneView, MeView, WhoView

router: APIRouter = APIRouter(tags=["people"])


class LoginBody(Body):
    """The token of a login link. It follows the # in the link, so it never appears in a log."""

    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


@router.post("/api/login", responses=document_responses(WhoView, 429), response_model=None)
def log_in(body: LoginBody, request: Request, studio: TheStudio) -> JSONResponse:
    """Exchange the token of a login link, which works once, for a session."""
    person, session = studio.people.log_in(body.token, _get_network(request))
    response = make_json_response({"id": person.id, "name": person.name, "role": person.role})
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


@router.post("/api/logout", responses=document_responses(DoneView), response_model=None)
def log_out(request: Request, studio: TheStudio, person: Who) -> JSONResponse:
    """End the session."""
    studio.people.log_out(request.cookies.get(get_cookie_name(request), ""))
    response = make_json_response({"done": True})
    response.delete_cookie(get_cookie_name(request), path=f"{request.app.state.base}/")
    return response


@router.get("/api/me", responses=document_responses(MeView), response_model=None)
def me(studio: TheStudio, person: Who) -> JSONResponse:
    """Return who is logged in, and what the project is about."""
    return make_json_response(studio.show_me(person))
