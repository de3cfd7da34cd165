"""Repairs of the groups, the shelf, search, what moved, and columns for the map."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import Field

from likewise.exceptions import NotFoundError
from likewise.studio._repairs import MOST_REPAIRED, RepairAct
from likewise.studio.routes._common import (
    Body,
    Key,
    Limit,
    Looker,
    Offset,
    Routes,
    Row,
    TheStudio,
    document_files,
    send_tagged,
)
from likewise.studio.service import _views as views

routes: Routes = Routes("repairs")
_BYTES = "application/octet-stream"
Rows = Annotated[list[Row], Field(max_length=MOST_REPAIRED)]
Numbers = Annotated[list[Annotated[int, Field(ge=0, le=65_535)]], Field(max_length=100)]


class RepairBody(Body):
    """A repair: move items to a group, split them off, put them on the shelf or off it, or merge groups."""

    key: Key
    act: RepairAct
    rows: Rows = Field(default_factory=list)
    groups: Numbers = Field(default_factory=list)


@routes.post("/api/repairs")
def repair(body: RepairBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """Repair the groups: one event, which can be undone as one. An acknowledged repair is on disk."""
    return studio.repairs.repair(person, **dict(body))


@routes.get("/api/shelf")
def shelf(studio: TheStudio, person: Looker, offset: Offset = 0, limit: Limit = 60) -> views.MembersView:
    """Return the items that belong to no group, the latest first."""
    return studio.repairs.show_shelf(offset, limit)


@routes.get("/api/moves")
def moves(studio: TheStudio, person: Looker, offset: Offset = 0, limit: Limit = 60) -> views.MovesView:
    """Return the items that changed their group with the last refit that moved any, before and after."""
    return studio.repairs.show_moves(offset, limit)


@routes.get("/api/search")
def search(
    studio: TheStudio, person: Looker, q: Annotated[str, Query(max_length=200)], limit: Limit = 60
) -> views.FoundView:
    """Return items that contain a text."""
    return studio.repairs.search(q, limit)


@routes.get("/api/map/column", {**document_files(_BYTES), 304: {"description": "not modified"}})
def column(
    request: Request, studio: TheStudio, person: Looker, name: Annotated[str, Query(max_length=1000)]
) -> Response:
    """Return the value of each item in a column: 0 to 254, or the place of its level; 255 is neither."""
    for one in studio.get_profile()["columns"]:
        if one["name"] == name:
            body, kind = studio.repairs.get_column(one)
            headers = {"Cache-Control": "private, no-cache", "X-Kind": kind}
            return send_tagged(request, body, _BYTES, **headers)
    raise NotFoundError("There is no such column.", "Reload the page.")
