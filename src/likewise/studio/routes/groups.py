"""Groups, examples, contradictions and the map."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from likewise.studio.routes._common import (
    Body,
    Key,
    Limit,
    Looker,
    Name,
    Offset,
    Row,
    Seq,
    TheStudio,
    Who,
    document_responses,
    make_json_response,
)
from likewise.studio.service._views import (
    ConflictsView,
    GroupsView,
    LinksView,
    MembersView,
    OddAnswersView,
    ReferenceView,
    StatedView,
)

router: APIRouter = APIRouter(tags=["groups"])
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


class MergeBody(Body):
    """Two groups to merge."""

    key: Key
    a: Row
    b: Row


@router.get("/api/groups", responses=document_responses(GroupsView), response_model=None)
def groups(studio: TheStudio, person: Looker) -> JSONResponse:
    """Return the groups with their most typical and most doubtful members."""
    return make_json_response(studio.groups.show_all())


@router.get("/api/groups/{number}/items", responses=document_responses(MembersView), response_model=None)
def members(
    number: Number,
    studio: TheStudio,
    person: Looker,
    offset: Offset = 0,
    limit: Limit = 60,
    order: Literal["typical", "doubtful"] = "typical",
) -> JSONResponse:
    """Return members of a group, page by page."""
    return make_json_response(studio.groups.show_members(number, offset, limit, order))


@router.post("/api/groups/merge", responses=document_responses(StatedView), response_model=None)
def merge(body: MergeBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """State that two groups are one."""
    return make_json_response(studio.groups.merge(person, key=body.key, a=body.a, b=body.b))


@router.post("/api/groups/{number}/name", responses=document_responses(StatedView), response_model=None)
def name(number: Number, body: NameBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """Give a group a name."""
    return make_json_response(studio.groups.name_group(person, number, key=body.key, name=body.name))


@router.post("/api/groups/{number}/not-here", responses=document_responses(StatedView), response_model=None)
def not_here(number: Number, body: RowBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """State that an item does not belong to a group."""
    return make_json_response(studio.groups.remove_item(person, number, key=body.key, row=body.row))


@router.post("/api/groups/{number}/belongs", responses=document_responses(StatedView), response_model=None)
def belongs(number: Number, body: RowBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """State that an item belongs to a group."""
    return make_json_response(studio.groups.add_item(person, number, key=body.key, row=body.row))


@router.get("/api/reference", responses=document_responses(ReferenceView), response_model=None)
def reference(studio: TheStudio, person: Who) -> JSONResponse:
    """Return examples of each group, or of each class in a study."""
    return make_json_response(studio.groups.show_reference())


@router.get("/api/conflicts", responses=document_responses(ConflictsView), response_model=None)
def conflicts(studio: TheStudio, person: Looker) -> JSONResponse:
    """Return answers that cannot all be true; annotators see only conflicts among their own."""
    return make_json_response(studio.groups.show_conflicts(person))


@router.get("/api/odd-answers", responses=document_responses(OddAnswersView), response_model=None)
def odd_answers(studio: TheStudio, person: Looker) -> JSONResponse:
    """Return answers that look wrong; annotators see only their own."""
    return make_json_response(studio.groups.show_odd_answers(person))


@router.post("/api/odd-answers/keep", responses=document_responses(StatedView), response_model=None)
def keep(body: MarkBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """Confirm an answer, which increases its weight."""
    return make_json_response(studio.asking.keep(person, key=body.key, of=body.of))


@router.post("/api/odd-answers/ask-again", responses=document_responses(StatedView), response_model=None)
def ask_again(body: MarkBody, studio: TheStudio, person: Looker) -> JSONResponse:
    """Ask the question of an answer again."""
    return make_json_response(studio.asking.ask_again(person, key=body.key, of=body.of))


def _respond_with_tag(request: Request, body: bytes, **headers: str) -> Response:
    """Return a response with an ETag, or 304 if it is unchanged."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    named = {"ETag": tag, "Cache-Control": "private, no-cache", **headers}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=named)
    return Response(body, media_type="application/octet-stream", headers=named)


_MAP = document_responses(str)
_MAP[200] = {"content": {"application/octet-stream": {}}}
_MAP[304] = {"description": "not modified"}


@router.get("/api/map/points", responses=_MAP, response_model=None)
def points(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return the map position of each item: pairs of little-endian float32 between 0 and 1."""
    body, how = studio.groups.get_points()
    return _respond_with_tag(request, body, **{"X-Layout": how})


@router.get("/api/map/labels", responses=_MAP, response_model=None)
def labels(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return the group of each item: little-endian uint16."""
    body, seq = studio.groups.get_labels()
    return _respond_with_tag(request, body, **{"X-Seq": str(seq)})


@router.get("/api/map/doubt", responses=_MAP, response_model=None)
def doubt(request: Request, studio: TheStudio, person: Looker) -> Response:
    """Return how doubtful the group of each item is: 0 to 255."""
    body, seq = studio.groups.get_doubt()
    return _respond_with_tag(request, body, **{"X-Seq": str(seq)})


@router.get("/api/map/links", responses=document_responses(LinksView), response_model=None)
def links(studio: TheStudio, person: Looker) -> JSONResponse:
    """Return answered pairs: two rows, and 1 for together or 0 for apart."""
    return make_json_response({"links": studio.groups.get_links(person)})
