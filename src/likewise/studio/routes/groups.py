"""Groups, examples, contradictions and the map."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Request
from fastapi.responses import Response

from likewise.studio.routes._common import (
    Body,
    Key,
    Limit,
    Looker,
    Name,
    Offset,
    Routes,
    Row,
    Seq,
    TheStudio,
    Who,
    document_files,
    send_tagged,
)
from likewise.studio.service import _views as views

routes: Routes = Routes("groups")
Number = Annotated[int, Path(ge=0, le=65_535)]


class NameBody(Body):
    """A name for a group."""

    key: Key
    name: Name


class RowBody(Body):
    """An item."""

    key: Key
    row: Row


class MarkBody(Body):
    """An answer, given by the number of its event."""

    key: Key
    of: Seq


@routes.get("/api/groups")
def groups(studio: TheStudio, person: Looker) -> views.GroupsView:
    """Return the groups with their most typical and most doubtful members."""
    return studio.groups.show_all()


@routes.get("/api/groups/{number}/items")
def members(
    number: Number,
    studio: TheStudio,
    person: Looker,
    offset: Offset = 0,
    limit: Limit = 60,
    order: Literal["typical", "doubtful"] = "typical",
) -> views.MembersView:
    """Return members of a group, page by page."""
    return studio.groups.show_members(number, offset, limit, order)


@routes.post("/api/groups/{number}/name")
def name(number: Number, body: NameBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """Give a group a name."""
    return studio.groups.name_group(person, number, **dict(body))


@routes.post("/api/groups/{number}/not-here")
def not_here(number: Number, body: RowBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """State that an item does not belong to a group."""
    return studio.groups.remove_item(person, number, **dict(body))


@routes.post("/api/groups/{number}/belongs")
def belongs(number: Number, body: RowBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """State that an item belongs to a group."""
    return studio.groups.add_item(person, number, **dict(body))


@routes.get("/api/reference")
def reference(studio: TheStudio, person: Who) -> views.ReferenceView:
    """Return examples of each group: chosen by the owner, or typical; or of each class in a study."""
    return studio.groups.show_reference(person)


@routes.get("/api/conflicts")
def conflicts(studio: TheStudio, person: Looker) -> views.ConflictsView:
    """Return answers that cannot all be true; annotators see only conflicts among their own."""
    return studio.groups.show_conflicts(person)


@routes.get("/api/odd-answers")
def suspect_answers(studio: TheStudio, person: Looker) -> views.SuspectAnswersView:
    """Return answers that look wrong; annotators see only their own."""
    return studio.groups.show_suspect_answers(person)


@routes.post("/api/odd-answers/keep")
def keep(body: MarkBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """Confirm an answer, which increases its weight."""
    return studio.asking.keep(person, **dict(body))


@routes.post("/api/odd-answers/ask-again")
def ask_again(body: MarkBody, studio: TheStudio, person: Looker) -> views.StatedView:
    """Ask the question of an answer again."""
    return studio.asking.ask_again(person, **dict(body))


_BYTES = "application/octet-stream"
_MAP = {**document_files(_BYTES), 304: {"description": "not modified"}}
_FRESH = {"Cache-Control": "private, no-cache"}


@routes.get("/api/map/points", _MAP)
def points(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return the map position of each item: pairs of little-endian float32 between 0 and 1."""
    body, how = studio.groups.get_points()
    return send_tagged(request, body, _BYTES, **_FRESH, **{"X-Layout": how})


@routes.get("/api/map/labels", _MAP)
def labels(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return the group of each item: little-endian uint16."""
    body, seq = studio.groups.get_labels()
    return send_tagged(request, body, _BYTES, **_FRESH, **{"X-Seq": str(seq)})


@routes.get("/api/map/doubt", _MAP)
def doubt(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return how doubtful the group of each item is: 0 to 255."""
    body, seq = studio.groups.get_doubt()
    return send_tagged(request, body, _BYTES, **_FRESH, **{"X-Seq": str(seq)})


@routes.get("/api/map/links")
def links(studio: TheStudio, person: Looker) -> views.LinksView:
    """Return answered pairs: two rows, and 1 for together or 0 for apart."""
    return {"links": studio.groups.get_links(person)}
