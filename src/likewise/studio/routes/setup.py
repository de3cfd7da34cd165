"""What is asked: the guideline for everyone, the settings for the owner, and broken items."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body as RawBody
from fastapi import Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from likewise.studio.records import AskKind
from likewise.studio.routes._common import (
    Body,
    Key,
    Owner,
    QuestionId,
    Routes,
    Row,
    TheStudio,
    Who,
    document_files,
    document_responses,
    send_tagged,
)
from likewise.studio.security import MEDIA_POLICY
from likewise.studio.service import _views as views
from likewise.studio.wording import (
    LONGEST_CRITERION,
    LONGEST_GUIDELINE,
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_QUESTION,
    MOST_EXAMPLES,
    MOST_GROUPS,
)

routes: Routes = Routes("setup")
_PLAIN = r"^[^\x00]*$"
Note = Annotated[str | None, Field(max_length=LONGEST_NOTE, pattern=_PLAIN)]
_Number = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class ExampleBody(Body):
    """Items, by row, that the owner chose as examples of a group."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=_PLAIN)]
    rows: Annotated[list[Row], Field(min_length=1, max_length=MOST_EXAMPLES)]


class QuestionTexts(Body):
    """The wording of each kind of question; empty for the default."""

    pair: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""
    triplet: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""
    placement: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""
    members: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""
    groups: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""
    label: Annotated[str, Field(max_length=LONGEST_QUESTION)] = ""


class SetupBody(Body):
    """Settings to change; what is left out stays. A repeated request changes nothing more."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] = ""
    criterion: Annotated[str, Field(max_length=LONGEST_CRITERION)] = ""
    questions: QuestionTexts = QuestionTexts()
    guideline: Annotated[str, Field(max_length=LONGEST_GUIDELINE)] = ""
    examples: Annotated[list[ExampleBody], Field(default_factory=list, max_length=MOST_GROUPS)]
    n_clusters: _Number | Annotated[list[_Number], Field(max_length=10)] | None = None  # a range has two
    discover: bool = False
    ask: AskKind = "default"
    overlap: _Number = 1
    budget: _Number | None = None
    independent: bool | None = None


class BrokenBody(Body):
    """An item that cannot be judged, and the question that shows it."""

    key: Key
    row: Row
    question: QuestionId | None = None
    note: Note = None


@routes.get("/api/setup")
def show(studio: TheStudio, owner: Owner) -> views.SetupView:
    """Return everything that the owner can set."""
    return studio.setup.show()


@routes.post("/api/setup")
def change(body: SetupBody, studio: TheStudio, owner: Owner) -> views.SetupView:
    """Change the words of the questions, or how they are asked; takes effect at once."""
    given = body.model_dump(exclude_unset=True)
    if "examples" in given:
        given["examples"] = [(example.name, example.rows) for example in body.examples]
    return studio.setup.change(given)


@routes.post("/api/setup/pictures", document_responses(views.GuidePictureView))
def add_picture(
    studio: TheStudio,
    owner: Owner,
    name: Annotated[str, Query(min_length=1, max_length=400)],
    content: Annotated[bytes, RawBody(media_type="application/octet-stream")],
) -> views.GuidePictureView:
    """Receive a picture for the guideline, which mentions it as ![caption](picture:DIGEST)."""
    return studio.setup.receive_picture(name, content)


@routes.get("/api/guide")
def guide(studio: TheStudio, person: Who) -> views.GuideView:
    """Return the guideline and the examples that the owner chose."""
    return studio.setup.show_guide()


@routes.get("/api/guide/pictures/{digest}", document_files("image/webp"))
def picture(
    digest: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")], request: Request, studio: TheStudio, person: Who
) -> Response:
    """Send a picture of the guideline."""
    headers = {"Cache-Control": "private, max-age=86400", "Content-Security-Policy": MEDIA_POLICY}
    return send_tagged(request, studio.setup.read_picture(digest), "image/webp", **headers)


@routes.post("/api/broken")
def report(body: BrokenBody, studio: TheStudio, person: Who) -> views.StatedView:
    """State that an item cannot be judged: it is no longer asked about. Undo it like an answer."""
    return studio.broken.report(person, **dict(body))


@routes.get("/api/broken")
def broken(studio: TheStudio, owner: Owner) -> views.BrokenItemsView:
    """Return the items that cannot be judged, for the owner."""
    return studio.broken.show()
