"""Exports and the report, for the owner."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import Response

from likewise.exceptions import NotFoundError
from likewise.studio.routes._common import Owner, TheStudio, document_responses

router: APIRouter = APIRouter(tags=["results"])
_TYPES = ("text/csv", "application/x-ndjson", "application/vnd.apache.parquet")


@router.get(
    "/api/export",
    responses={**document_responses(str), 200: {"content": {kind: {} for kind in _TYPES}}},
    response_model=None,
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
    ids = studio.project.items.get_ids()
    body = export_bytes(what, snapshot, ids, studio.hub.picture, format=format)
    name = f"{what}.{format}"
    return Response(
        body,
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get(
    "/api/report",
    responses={**document_responses(str), 200: {"content": {"text/html": {}}}},
    response_model=None,
)
def report(studio: TheStudio, owner: Owner) -> Response:
    """Return the report so far as one HTML page."""
    from likewise.studio.exports import Snapshot
    from likewise.studio.report import DerivedResults, gather, get_content_security_policy, make_report

    hub = studio.hub
    if hub.picture is None:
        raise NotFoundError("There are no groups to report on yet.", "They appear soon after the start.")
    derived = DerivedResults(hub.picture, hub.progress, hub.standing, hub.layout)
    data = gather(studio.project, Snapshot.from_store(studio.store), derived, curves=False)
    headers = {"Content-Security-Policy": get_content_security_policy()}
    return Response(make_report(data), media_type="text/html; charset=utf-8", headers=headers)
