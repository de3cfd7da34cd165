"""The owner adds pictures in the page: a real upload, its progress, and items that fit nowhere."""

import io
import re

import pytest
from PIL import Image

from browser.conftest import Served
from likewise.features import image_features
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings


def png(color):
    out = io.BytesIO()
    Image.new("RGB", (24, 24), color).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "squares"
    folder.mkdir()
    names = [f"{k:02}.png" for k in range(30)]
    for k, name in enumerate(names):
        (folder / name).write_bytes(png((200 + k, 10, 0) if k % 2 else (0, 10, 200 + k)))
    made = image_features([folder / name for name in names], method="pixels")
    project = Project.create(
        tmp_path / "squares.likewise",
        X=made.X,
        items=[Item(row, name, "image", name, media=name) for row, name in enumerate(names)],
        settings=Settings("Squares", n_clusters=2),
        described=Described("image", 30, features="numbers"),
        source=folder,
        recipe=made.recipe,
    )
    served = Served(project)
    yield served
    served.stop()


def test_the_owner_uploads_pictures(visit, served, axe):
    owner = visit(served, role="owner")
    owner.go("people")
    part = owner.page.locator("section.additions")
    new = [("red.png", (210, 10, 0)), ("green.png", (0, 255, 0))]
    files = [{"name": name, "mimeType": "image/png", "buffer": png(color)} for name, color in new]
    files.append({"name": "page.png", "mimeType": "image/png", "buffer": b"<html>"})
    part.get_by_label("Pictures to add").set_input_files(files)
    part.get_by_role("button", name="Add", exact=True).press("Enter")
    part.get_by_role("status").get_by_text("2 items added. 1 file refused.").wait_for()
    part.get_by_text("1 item fits nowhere so far").wait_for()  # once the new items have groups
    far = part.get_by_role("list", name="Items that fit nowhere")
    assert far.locator("figure").get_attribute("data-row") == "31"
    placed = part.get_by_role("list", name="Groups of new items").get_by_role("listitem")
    assert placed.locator("figure").get_attribute("data-row") == "30"
    assert re.search(r"Group [12], (very|fairly) certain", placed.inner_text())
    assert "32 pictures" in owner.page.get_by_role("region", name="Data").inner_text()
    assert axe(owner.page) == []
    assert served.project.items.get_ids()[30:] == ["red.png", "green.png"]


def test_the_page_shows_items_that_are_gone(visit, served, axe):
    for name in ("03.png", "07.png"):
        (served.project.source / name).unlink()
    served.project.keep_comparison(["03.png", "07.png"])
    owner = visit(served, role="owner")
    owner.go("people")
    part = owner.page.locator("section.additions")
    part.get_by_text(
        "2 items are gone from the data: not asked about until back, and answers stay."
    ).wait_for()
    shown = part.get_by_role("list", name="Items that are gone").locator("figure")
    assert [one.get_attribute("data-row") for one in shown.all()] == ["3", "7"]
    assert axe(owner.page) == []
