"""Live updates as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from likewise.exceptions import NotLoggedInError
from likewise.studio.routes._common import TheStudio, document_responses, get_person

router: APIRouter = APIRouter(tags=["live"])
_QUIET = 15.0  # seconds between comments that keep proxies from closing the connection
_MOST_WAITING = 100


@router.get(
    "/api/events",
    responses={**document_responses(str), 200: {"content": {"text/event-stream": {}}}},
    response_model=None,
)
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
