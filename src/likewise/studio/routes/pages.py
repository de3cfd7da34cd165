"""HTML pages, scripts and styles, and the health check."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from typing_extensions import TypedDict

from likewise import __version__
from likewise.exceptions import NotFoundError
from likewise.studio.routes._common import TheStudio, document_responses, make_json_response

router: APIRouter = APIRouter(include_in_schema=False)
health_router: APIRouter = APIRouter(tags=["health"])
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
_NAME = re.compile(r"[a-z_]+\.(js|css|svg|webmanifest)")


class HealthView(TypedDict):
    """The result of a health check."""

    status: str
    version: str


@health_router.get("/health", responses=document_responses(HealthView), response_model=None)
def health(studio: TheStudio) -> JSONResponse:
    """Check that the studio and its database work, for a proxy or supervisor."""
    studio.store.check_health()
    return make_json_response({"status": "ok", "version": __version__})


@lru_cache
def _read_asset(name: str) -> bytes:
    return (files("likewise.studio") / "static" / name).read_bytes()


def _send_asset(request: Request, body: bytes, kind: str) -> Response:
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


def _send_page(request: Request, name: str) -> Response:
    # The base path consists of letters, digits, -, _, . and slashes, so it needs no escaping.
    body = _read_asset(name).replace(b"__BASE__", f"{request.app.state.base}/".encode())
    return _send_asset(request, body, "text/html; charset=utf-8")


@router.get("/", response_model=None)
def index(request: Request) -> Response:
    """Send the main page."""
    return _send_page(request, "index.html")


@router.get("/login", response_model=None)
def login(request: Request) -> Response:
    """Send the login page, which a login link opens."""
    return _send_page(request, "login.html")


@router.get("/static/{name}", response_model=None)
def static(name: str, request: Request) -> Response:
    """Send a script, stylesheet or icon."""
    if not _NAME.fullmatch(name):
        raise NotFoundError("There is no such file.")
    try:
        body = _read_asset(name)
    except FileNotFoundError as error:
        raise NotFoundError("There is no such file.") from error
    return _send_asset(request, body, _TYPES[name.rpartition(".")[2]])


@router.get("/favicon.ico", response_model=None)
def favicon(request: Request) -> Response:
    """Send the icon to browsers that request /favicon.ico."""
    return _send_asset(request, _read_asset("icon.svg"), _TYPES["svg"])
