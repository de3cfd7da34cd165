"""Coming in and going out."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from likewise.studio.routes._common import Body, TheStudio, Who, cookie_of, documented, shown
from likewise.studio.service._accounts import SESSION_SECONDS
from likewise.studio.service._views import DoneView, MeView, WhoView

router: APIRouter = APIRouter(tags=["people"])


class LoginBody(Body):
    """What the page of a login link sends: the token after its #, which no log ever sees."""

    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


@router.post("/api/login", responses=documented(WhoView, 429), response_model=None)
def log_in(body: LoginBody, request: Request, studio: TheStudio) -> JSONResponse:
    """Trade the token of a login link, which works once, for a session."""
    person, session = studio.people.log_in(body.token, _network_of(request))
    response = shown({"id": person.id, "name": person.name, "role": person.role})
    response.set_cookie(
        cookie_of(request),
        session,
        max_age=int(SESSION_SECONDS),
        path=f"{request.app.state.base}/",
        httponly=True,
        samesite="lax",
        secure=bool(request.app.state.https),
    )
    return response


def _network_of(request: Request) -> str:
    """Return the address that a request comes from; of IPv6 the network, since a person has all of it."""
    host = "" if request.client is None else request.client.host.partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


@router.post("/api/logout", responses=documented(DoneView), response_model=None)
def log_out(request: Request, studio: TheStudio, person: Who) -> JSONResponse:
    """End the session."""
    studio.people.log_out(request.cookies.get(cookie_of(request), ""))
    response = shown({"done": True})
    response.delete_cookie(cookie_of(request), path=f"{request.app.state.base}/")
    return response


@router.get("/api/me", responses=documented(MeView), response_model=None)
def me(studio: TheStudio, person: Who) -> JSONResponse:
    """Tell who is logged in, and what the project is about."""
    return shown(studio.me(person))
