"""HTML pages, scripts and styles, live updates as server-sent events, and the health check."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from typing_extensions import TypedDict

from likewise import __version__
from likewise.exceptions import NotFoundError, NotLoggedInError
from likewise.studio.routes._common import Routes, TheStudio, document_files, get_person, send_tagged

router: APIRouter = APIRouter(include_in_schema=False)
live_router: APIRouter = APIRouter(tags=["live"])
health_routes: Routes = Routes("health")
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
_NAME = re.compile(r"[a-z_]+\.(js|css|svg|webmanifest)")
_FRESH = {"Cache-Control": "no-cache"}
_QUIET = 15.0  # seconds between comments that keep proxies from closing the connection
_MOST_WAITING = 100


class HealthView(TypedDict):
    """The result of a health check."""

    status: str
    version: str


@health_routes.get("/health")
def health(studio: TheStudio) -> HealthView:
    """Check that the studio and its database work, for a proxy or supervisor."""
    studio.store.check_health()
    return {"status": "ok", "version": __version__}


@lru_cache
def _read_asset(name: str) -> bytes:
    return (files("likewise.studio") / "static" / name).read_bytes()


def _send_page(request: Request, name: str) -> Response:
    # The base path consists of letters, digits, -, _, . and slashes, so it needs no escaping.
    body = _read_asset(name).replace(b"__BASE__", f"{request.app.state.base}/".encode())
    return send_tagged(request, body, "text/html; charset=utf-8", **_FRESH)


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
    return send_tagged(request, body, _TYPES[name.rpartition(".")[2]], **_FRESH)


@router.get("/favicon.ico", response_model=None)
def favicon(request: Request) -> Response:
    """Send the icon to browsers that request /favicon.ico."""
    return send_tagged(request, _read_asset("icon.svg"), _TYPES["svg"], **_FRESH)


@live_router.get("/api/events", responses=document_files("text/event-stream"), response_model=None)
async def events(request: Request, studio: TheStudio) -> StreamingResponse:
    """Stream updates: progress, picture, layout, ready and trouble, each with a line of JSON."""
    person = await run_in_threadpool(get_person, request)
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(_MOST_WAITING)
    closing: asyncio.Event = request.app.state.closing

    def put(name: str, content: dict[str, Any]) -> None:
        if not news.full():  # a slow reader gets the next one
            news.put_nowait((name, content))

    def watcher(name: str, content: dict[str, Any]) -> None:
        if name == "trouble" and person.role != "owner":
            return
        if not loop.is_closed():
            loop.call_soon_threadsafe(put, name, content)

    async def stream() -> AsyncIterator[bytes]:
        leave = studio.hub.watch(watcher)
        try:
            yield b"retry: 2000\n\n"
            put("progress", {})  # it may have changed since the page asked, or while its tab was hidden
            while not closing.is_set():
                name, content = await _wait_for_news(news, closing)
                if not await run_in_threadpool(_is_in, request):
                    return  # logged out or deactivated meanwhile
                if name is None:
                    yield b": still here\n\n"
                    continue
                if name == "progress":
                    content = dict(await run_in_threadpool(studio.asking.show_progress, person))
                yield f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()
        finally:
            leave()

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)


def _is_in(request: Request) -> bool:
    try:
        get_person(request)
    except NotLoggedInError:
        return False
    return True


async def _wait_for_news(
    news: asyncio.Queue[tuple[str, dict[str, Any]]], closing: asyncio.Event
) -> tuple[str | None, dict[str, Any]]:
    """Wait for an update, for shutdown, or until a keep-alive is due."""
    waits = {asyncio.ensure_future(news.get()), asyncio.ensure_future(closing.wait())}
    try:
        done, _ = await asyncio.wait(waits, timeout=_QUIET, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()  # has no effect if it is done
    for wait in done:
        if isinstance(found := wait.result(), tuple):
            return found
    return None, {}
