"""The studio as a web application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from likewise import __version__
from likewise.exceptions import (
    BadValueError,
    KeyReusedError,
    LikewiseError,
    MediaError,
    NameTakenError,
    RequestError,
    StoreError,
)
from likewise.studio.routes import files, groups, new_items, pages, people, questions, repairs, setup, study
from likewise.studio.routes._common import get_owner
from likewise.studio.security import Guard, check_base
from likewise.studio.service import Studio

log: logging.Logger = logging.getLogger("likewise.studio")
_PARTS = (people, questions, files, groups, repairs, study, new_items, setup)


def create_app(
    studio: Studio,
    *,
    hosts: frozenset[str],
    link: Callable[[str], str],
    base: str = "",
    https: bool = False,
) -> Any:
    """Return the ASGI application of a studio that has been started.

    Parameters
    ----------
    studio : Studio
        The studio to serve.
    hosts : frozenset of str
        The allowed host names, with ports.
    link : callable
        Makes a login link from a token.
    base : str
        Path prefix behind a proxy.
    https : bool
        True if browsers use https; cookies are then restricted to https.
    """
    base = check_base(base)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.closing = asyncio.Event()
        yield
        app.state.closing.set()

    app = FastAPI(
        title="likewise studio",
        version=__version__,
        description="Questions about items, and the groups that follow from the answers. Log in with a link; "
        "send JSON (files as application/octet-stream) and the header X-Likewise: 1 with every request that "
        "changes something.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # redirects would lose the base path
        lifespan=lifespan,
    )
    app.state.studio, app.state.base, app.state.https, app.state.link = studio, base, https, link
    for part in _PARTS:
        app.include_router(part.routes.router)
    for router in (files.result_routes.router, pages.live_router, pages.health_routes.router, pages.router):
        app.include_router(router)
    app.add_exception_handler(RequestError, _handle_refused)
    app.add_exception_handler(MediaError, _handle_no_media)
    app.add_exception_handler(StoreError, _handle_store_error)
    for kind in (BadValueError, KeyReusedError, NameTakenError):
        app.add_exception_handler(kind, _handle_bad_value)
    app.add_exception_handler(LikewiseError, _handle_known_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_unknown_error)

    def is_owner(scope: MutableMapping[str, Any]) -> bool:
        with suppress(LikewiseError):  # the route refuses the request with the reason
            get_owner(Request({**scope, "app": app}))
            return True
        return False

    return Guard(app, hosts, base, is_owner=is_owner)


def _make_error_response(
    status: int, code: str, message: str, way_on: str = "", **headers: str
) -> JSONResponse:
    content = {"error": {"code": code, "message": _make_printable(message), "way_on": way_on}}
    return JSONResponse(content, status_code=status, headers=headers or None)


def _make_printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _hide_folders(request: Request, text: str) -> str:
    """Return a message without paths of this machine, which only the owner may see."""
    project = request.app.state.studio.project
    for folder in (project.folder.parent, project.folder.resolve().parent):
        text = text.replace(f"{folder}/", "")
    return text


async def _handle_refused(request: Request, error: Any) -> JSONResponse:
    return _make_error_response(error.status, error.code, error.message, error.suggestion)


async def _handle_no_media(request: Request, error: Any) -> JSONResponse:
    way_on = "The question can be answered or skipped without it."
    if not request.app.state.studio.asking.follows_plan:
        return _make_error_response(404, "no_media", str(error), way_on)
    # File names, like item names, often reveal the class.
    return _make_error_response(404, "no_media", "The file of this item cannot be shown.", way_on)


async def _handle_store_error(request: Request, error: Any) -> JSONResponse:
    log.error("%s", error)
    way_on = error.suggestion or "It was not saved. The page keeps it and tries again automatically."
    message = _hide_folders(request, error.message)
    return _make_error_response(
        503, "not_saved", message, _hide_folders(request, way_on), **{"Retry-After": "5"}
    )


async def _handle_bad_value(request: Request, error: Any) -> JSONResponse:
    status = 409 if isinstance(error, KeyReusedError) else 422
    return _make_error_response(status, "bad_value", error.message, error.suggestion)


async def _handle_known_error(request: Request, error: Any) -> JSONResponse:
    return _make_error_response(400, "refused", _hide_folders(request, str(error)))


async def _handle_invalid(request: Request, error: Any) -> JSONResponse:
    # The input is left out: it may be long or contain what a response cannot represent.
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5]]
    return _make_error_response(422, "bad_request", "; ".join(problems))


async def _handle_http_error(request: Request, error: Any) -> JSONResponse:
    words = {404: "There is nothing here.", 405: "This method is not allowed here."}
    headers = dict(error.headers or {})
    return _make_error_response(
        error.status_code, "http", words.get(error.status_code, str(error.detail)), **headers
    )


async def _handle_unknown_error(request: Request, error: Any) -> JSONResponse:
    log.exception("a request failed: %s %s", request.method, request.url.path, exc_info=error)
    return _make_error_response(
        500, "failed", "Something went wrong in the studio.", "The owner can find details in the terminal."
    )
