"""Files: items, addressed only by row (no path ever comes from a request), exports and the report."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from likewise.exceptions import NotFoundError
from likewise.studio import media
from likewise.studio.routes._common import (
    MOST_ROW,
    Owner,
    Routes,
    TheStudio,
    Who,
    document_files,
    document_responses,
)
from likewise.studio.security import MEDIA_POLICY
from likewise.studio.service._views import ItemsView, ItemView, ProfileView, make_item_view

routes: Routes = Routes("items")
result_routes: Routes = Routes("results")
RowPath = Annotated[int, Path(ge=0, le=MOST_ROW)]
_FILE = {
    **document_responses(str, 416),
    **document_files("image/*", "audio/*"),
    206: {"description": "the requested range"},
    304: {"description": "not modified"},
}
_RANGE = re.compile(r"bytes=(\d{1,15})?-(\d{1,15})?")


@routes.get("/api/items")
def items(
    studio: TheStudio, person: Who, rows: Annotated[str, Query(pattern=r"^[0-9]{1,10}(,[0-9]{1,10}){0,199}$")]
) -> ItemsView:
    """Return up to 200 items, given by comma-separated rows."""
    return {"items": [item(int(row), studio, person) for row in rows.split(",")]}


@routes.get("/api/profile")
def profile(studio: TheStudio, person: Who) -> ProfileView:
    """Return what is usual among the items: ranges of columns, and common words."""
    return studio.get_profile()


@routes.get("/api/items/{row}")
def item(row: RowPath, studio: TheStudio, person: Who) -> ItemView:
    """Return an item."""
    return make_item_view(studio.asking.veil(studio.asking.get_item(row)))


@routes.get("/api/items/{row}/media", _FILE)
def file(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send the picture or sound of an item, whole or a range of it."""
    return _send_file(request, media.open_media(studio.project, studio.asking.get_item(row)))


@routes.get("/api/items/{row}/thumb", _FILE)
def thumb(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send a thumbnail of an item."""
    return _send_file(request, media.make_thumbnail(studio.project, studio.asking.get_item(row)))


@routes.get("/api/items/{row}/spectrogram", _FILE)
def spectrogram(row: RowPath, request: Request, studio: TheStudio, person: Who) -> Response:
    """Send the spectrogram of a sound."""
    return _send_file(request, media.make_spectrogram(studio.project, studio.asking.get_item(row)))


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


@result_routes.get(
    "/api/export", document_files("text/csv", "application/x-ndjson", "application/vnd.apache.parquet")
)
def export(
    studio: TheStudio,
    owner: Owner,
    what: Literal["labels", "hints", "answers"] = "labels",
    format: Literal["csv", "jsonl", "parquet"] = "csv",
) -> Response:
    """Return labels, hints or answers as a file."""
    from likewise.studio.exports import MEDIA_TYPES, Snapshot, export_bytes

    snapshot = Snapshot.from_store(studio.store)
    ids, picture = studio.project.items.get_ids(), studio.hub.picture
    if what == "labels" and picture is not None:
        ids = ids[: len(picture.labels)]  # items that were just added have no group yet
    body = export_bytes(what, snapshot, ids, picture, format=format)
    headers = {"Content-Disposition": f'attachment; filename="{what}.{format}"'}
    return Response(body, media_type=MEDIA_TYPES[format], headers=headers)


@result_routes.get("/api/report", document_files("text/html"))
def report(studio: TheStudio, owner: Owner) -> Response:
    """Return the report so far as one HTML page."""
    from likewise.studio.exports import Snapshot
    from likewise.studio.report import DerivedResults, gather, get_content_security_policy, make_report

    hub = studio.hub
    if hub.picture is None:
        raise NotFoundError("There are no groups to report on yet.", "They appear soon after the start.")
    derived = DerivedResults(hub.picture, hub.progress, hub.agreement, hub.layout, hub.descriptions)
    data = gather(studio.project, Snapshot.from_store(studio.store), derived, curves=False)
    headers = {"Content-Security-Policy": get_content_security_policy()}
    return Response(make_report(data), media_type="text/html; charset=utf-8", headers=headers)
