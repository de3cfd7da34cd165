"""Annotators must not see the folder of a file if it is the true class."""

import numpy as np
import pytest

from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from likewise.studio.service._views import make_item_view
from studio.http.web import Site, png
from studio.service.desk import Desk

pytest.importorskip("fastapi")
CLASSES = ("owl", "wren")


@pytest.fixture(params=["plain", "study"])
def birds(request, tmp_path):
    """A client of an annotator; the pictures are in one folder per class."""
    items = []
    for row in range(24):
        name = CLASSES[row // 12]
        (tmp_path / "birds" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "birds" / name / f"{name}{row}.png").write_bytes(png())
        media = f"{name}/{name}{row}.png"
        items.append(Item(row, media, "image", f"{name}{row}.png", media=media, truth=name))
    X = np.array([[9.0 * (row // 12), row / 7] for row in range(24)])
    study = {"n_pairs": 4, "n_triplets": 4, "practice": 1} if request.param == "study" else None
    project = Project.create(
        tmp_path / "birds.likewise",
        X=X,
        items=items,
        settings=Settings("Birds", n_clusters=2, ask="both", study=study),
        described=Described("image", 24, has_truth=True),
        source=tmp_path / "birds",
    )
    (tmp_path / "birds" / "owl" / "owl3.png").unlink()
    (tmp_path / "birds" / "owl" / "owl4.png").write_bytes(b"no picture")
    (tmp_path / "birds" / "owl" / "owl5.png").write_bytes(png()[:50])
    site = Site(Desk(project))
    client = site.annotator()
    client.is_study = study is not None
    yield client
    site.close()


def test_no_error_about_a_file_reveals_the_class(birds):
    forbidden = "owl" if birds.is_study else "owl/"
    for row in range(6):
        for what in ("media", "thumb", "spectrogram"):
            response = birds.get(f"/api/items/{row}/{what}")
            if response.status_code != 200:
                assert forbidden not in response.text


def test_nothing_an_annotator_can_read_reveals_the_class(birds):
    birds.post("/api/study/next", json={"key": "next-key-1"}) if birds.is_study else None
    asked = birds.post("/api/questions", json={"n": 10})
    assert asked.json()["questions"]
    seen = [asked.text]
    for path in (
        "groups",
        "groups/0/items",
        "conflicts",
        "odd-answers",
        "history",
        "progress",
        "items?rows=0,1,13",
        "me",
        "search?q=png",
        "shelf",
        "moves",
    ):
        seen.append(birds.get(f"/api/{path}").text)
    if not birds.is_study:
        seen.append(birds.get("/api/reference").text)
    for text in seen:
        assert "owl/" not in text
        assert "wren/" not in text


def test_a_search_for_the_class_finds_nothing_that_is_hidden(birds):
    if not birds.is_study:
        assert (
            len(birds.get("/api/search?q=owl1").json()["rows"]) == 3
        )  # owl1, owl10 and owl11, by their titles
        assert birds.get("/api/search?q=owl/").json()["rows"] == []


def test_participants_of_a_study_cannot_see_groups_but_annotators_can(birds):
    wanted = 403 if birds.is_study else 200
    for path in (
        "groups",
        "groups/0/items",
        "conflicts",
        "odd-answers",
        "map/points",
        "map/labels",
        "map/doubt",
        "map/links",
        "search?q=png",
        "shelf",
        "moves",
    ):
        assert birds.get(f"/api/{path}").status_code == wanted, path
    repair = {"key": "repair-key-1", "act": "shelve", "rows": [0, 1]}
    assert birds.post("/api/repairs", json=repair).status_code == wanted
    named = birds.post("/api/groups/0/name", json={"key": "name-key-1", "name": "owls"})
    assert named.status_code == wanted
    assert birds.get("/api/reference").status_code == 200


def test_the_title_of_a_row_does_not_reveal_a_class_in_its_id():
    shown = make_item_view(Item(0, "owl/17", "row", "owl/17", truth="owl"))
    assert (shown["id"], shown["title"]) == ("17", "17")


def test_only_the_owner_of_a_study_sees_how_far_participants_are(birds):
    response = birds.get("/api/study/participants")
    assert response.status_code == 403
