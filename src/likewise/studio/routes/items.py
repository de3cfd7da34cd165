"""Items and their files, addressed only by row: no path ever comes from a request."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from likewise.studio import media
from likewise.studio.routes._common import MOST_ROW, TheStudio, Who, document_responses, make_json_response
from likewise.studio.security import MEDIA_POLICY
from likewise.studio.service._views import ItemsView, ItemView

router: APIRouter = APIRouter(tags=["items"])
RowPath = Annotated[int, Path(ge=0, le=MOST_ROW)]
_FILE = {
    **document_responses(str, 416),
    200: {"content": {kind: {} for kind in ("image/*", "audio/*")}},
    206: {"description": "the requested range"},
    304: {"description": "not modified"},
}
_RANGE = re.compile(r"bytes=(\d{1,15})?-(\d{1,15})?")


@router.get("/api/items", responses=document_responses(ItemsView), response_model=None)
def items(
    studio: TheStudio, person: Who, rows: Annotated[str, Query(pattern=r"^[0-9]{1,10}(,[0-9]{1,10}){0,199}$")]
) -> JSONResponse:
    """Return up to 200 items, given by comma-separated rows."""
    return make_json_response({"items": studio.show_items([int(row) for row in rows.split(",")])})


@router.get("/api/items/{row}", responses=document_responses(ItemView), response_model=None)
def item(row: RowPath, studio: TheStudio, person: Who) -> JSONResponse:
    """Return an item."""
    return make_json_response(studio.show_items([row])[0])


@router.get("/api/items/{row}/media", responses=_FILE, response_model=None)
def file(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send the picture or sound of an item, whole or a range of it."""
    return _send_file(request, media.open_media(studio.project, studio.get_item(row)))


@router.get("/api/items/{row}/thumb", responses=_FILE, response_model=None)
def thumb(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send a thumbnail of an item."""
    return _send_file(request, media.make_thumbnail(studio.project, studio.get_item(row)))


@router.get("/api/items/{row}/spectrogram", responses=_FILE, response_model=None)
def spectrogram(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send the spectrogram of a sound."""
    return _send_file(request, media.make_spectrogram(studio.project, studio.get_item(row)))


def _send_file(request: Request, file: media.Media) -> Response:
    """Send a file, or the requested range. A request for several ranges gets the whole file."""
    tag = f'"{file.etag}"'
    headers = {
        "ETag": tag,
        "Cache-Control": "private, max-age=60",
        "Content-Security-Policy": MEDIA_POLICY,
        "Accept-Ranges": "bytes",
    }
    if request.headers.get("if-none-match") == tag:
        file.close()
        return Response(status_code=304, headers=headers)
    start, stop, status = 0, file.size, 200
    wanted = _RANGE.fullmatch(request.headers.get("range", ""))
    if wanted is not None and wanted.group() != "bytes=-" and file.size:
        first, last = wanted.groups()
        if first is None:
            start = max(file.size - int(last), 0)
        else:
            start = int(first)
            stop = min(int(last) + 1, file.size) if last else file.size
        if start >= stop:
            file.close()
            return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{file.size}"})
        status = 206
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    headers["Content-Length"] = str(stop - start)
    return _Sending(file, start, stop, status, headers)


class _Sending(StreamingResponse):
    """A range of a file. The file is closed even if the client disconnects before the first byte."""

    def __init__(
        self, file: media.Media, start: int, stop: int, status: int, headers: dict[str, str]
    ) -> None:
        super().__init__(file.iterate_part(start, stop), status, headers, media_type=file.content_type)
        self._file = file

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()
