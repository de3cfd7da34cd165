"""For the owner: upload files, add items, and see which of them fit nowhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body as RawBody
from fastapi import Query
from pydantic import Field

from likewise.studio.routes._common import Body, Key, Looker, Owner, Routes, TheStudio, document_responses
from likewise.studio.service import _views as views
from likewise.studio.service._uploads import MOST_FILES, NewItem

routes: Routes = Routes("additions")
_Text = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
_Cell = _Text | Annotated[float, Field(allow_inf_nan=False)] | None
_Upload = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
_Number = Annotated[float, Field(allow_inf_nan=False)]


class ItemBody(Body):
    """A new item of a project of texts, or of rows of a table; without an id it gets one."""

    id: Annotated[str | None, Field(min_length=1, max_length=1000)] = None
    text: _Text | None = None
    cells: Annotated[dict[str, _Cell] | None, Field(max_length=1000)] = None
    features: Annotated[list[_Number] | None, Field(max_length=10_000)] = None


class AdditionBody(Body):
    """Items, or files that were uploaded, to be added at once."""

    key: Key
    items: Annotated[list[ItemBody], Field(default_factory=list, max_length=1000)]
    uploads: Annotated[list[_Upload], Field(default_factory=list, max_length=MOST_FILES)]


@routes.post("/api/uploads", document_responses(views.UploadView))
def upload(
    studio: TheStudio,
    owner: Owner,
    name: Annotated[str, Query(min_length=1, max_length=400)],
    content: Annotated[bytes, RawBody(media_type="application/octet-stream")],
) -> views.UploadView:
    """Receive one file; it joins the project when it is added. Send it as application/octet-stream."""
    return studio.uploads.receive_file(name, content)


@routes.post("/api/items", document_responses(views.AddedView))
def add(body: AdditionBody, studio: TheStudio, owner: Owner) -> views.AddedView:
    """Add items, or uploaded files, to the project."""
    items = [NewItem(item.id, item.text, item.cells, item.features) for item in body.items]
    return studio.uploads.add(body.key, items, body.uploads)


@routes.get("/api/additions")
def additions(studio: TheStudio, person: Looker) -> views.AdditionView:
    """Return how many items joined last, and which of them fit nowhere."""
    return studio.uploads.show()
