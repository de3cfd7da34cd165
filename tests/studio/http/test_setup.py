"""Settings, guideline and broken items over HTTP: who may do what, and what attackers try."""

import pytest

from likewise.studio.project import Project
from studio.http.web import SCRIPT, answer, ask, code, png
from studio.service.desk import new_key

BYTES = {"Content-Type": "application/octet-stream"}
GOOD = {"title": "Wrens", "criterion": "the same species", "overlap": 2, "budget": 50, "n_clusters": 3}


def test_the_owner_changes_settings_and_everyone_sees_the_words(site):
    owner, client = site.owner(), site.annotator()
    changed = owner.post("/api/setup", json=GOOD)
    assert changed.status_code == 200
    assert {name: changed.json()[name] for name in GOOD} == GOOD
    assert owner.get("/api/setup").json() == changed.json()
    shown = client.get("/api/me").json()["project"]
    assert (shown["title"], shown["criterion"]) == ("Wrens", "the same species")
    assert client.get("/api/guide").json()["criterion"] == "the same species"


def test_an_annotator_changes_nothing(site):
    before = (site.desk.project.folder / "project.json").read_bytes()
    client = site.annotator()
    for response in (
        client.post("/api/setup", json=GOOD),
        client.get("/api/setup"),
        client.get("/api/broken"),
        client.post("/api/setup/pictures", params={"name": "a.png"}, content=png(), headers=BYTES),
    ):
        assert response.status_code == 403
        assert code(response) == "not_allowed"
    assert (site.desk.project.folder / "project.json").read_bytes() == before
    assert not (site.desk.project.folder / "guideline").exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.test"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"X-Likewise": "0"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Host": "evil.test"}, 421),
    ],
)
def test_other_sites_change_nothing(site, headers, status):
    owner = site.owner()
    for path, body in (("/api/setup", GOOD), ("/api/broken", {"key": new_key(), "row": 0})):
        assert owner.post(path, json=body, headers=headers).status_code == status
    sent = {**BYTES, **headers}
    assert owner.post("/api/setup/pictures?name=a.png", content=png(), headers=sent).status_code == status
    assert owner.get("/api/setup").json()["title"] == "Birds"
    assert owner.get("/api/broken").json() == {"items": []}


@pytest.mark.parametrize(
    "body",
    [
        {"title": ""},
        {"title": 7},
        {"criterion": "x" * 301},
        {"criterion": "two\nlines"},
        {"guideline": "x" * 20_001},
        {"questions": {"riddle": "?"}},
        {"questions": {"pair": "x" * 201}},
        {"examples": [{"name": "A", "rows": [99]}]},
        {"examples": [{"name": "A", "rows": []}]},
        {"examples": [{"name": "A", "rows": list(range(25))}]},
        {"n_clusters": 1},
        {"n_clusters": 2.5},
        {"n_clusters": [3]},
        {"n_clusters": [3, 4, 5]},
        {"n_clusters": [4, 3]},
        {"n_clusters": [1, 4]},
        {"n_clusters": [2, 900]},
        {"n_clusters": [2, 4.5]},
        {"n_clusters": [2, 4], "discover": True},
        {"n_clusters": [2, 4], "ask": "pairs"},
        {"overlap": 0},
        {"overlap": None},
        {"budget": -1},
        {"ask": "riddles"},
        {"independent": "yes"},
        {"seed": 1},
        {"database": "sqlite:///elsewhere"},
    ],
)
def test_wrong_settings_are_refused_with_a_reason(site, body):
    owner = site.owner()
    before = owner.get("/api/setup").json()
    refused = owner.post("/api/setup", json=body)
    assert refused.status_code in (404, 422), refused.text
    assert refused.json()["error"]["message"]
    assert owner.get("/api/setup").json() == before


def test_a_range_of_groups_is_stored_and_used(site):
    owner = site.owner()
    owner.post("/api/setup", json={"n_clusters": None})  # answers may open more groups
    changed = owner.post("/api/setup", json={"n_clusters": [2, 4], "ask": "default"})
    assert changed.status_code == 200, changed.text
    assert changed.json()["n_clusters"] == owner.get("/api/setup").json()["n_clusters"] == [2, 4]
    assert changed.json()["discover"] is False
    assert Project.open(site.desk.project.folder).settings.n_clusters == (2, 4)
    refused = owner.post("/api/setup", json={"ask": "pairs"}).json()["error"]
    assert "got 2 to 4 with 'pairs'" in refused["message"]
    assert owner.post("/api/setup", json={"n_clusters": [3, 3], "ask": "pairs"}).json()["n_clusters"] == 3


def test_bodies_that_are_too_large_are_refused(site):
    owner = site.owner()
    assert owner.post("/api/setup", json={"guideline": "x" * 600_000}).status_code == 413
    large = bytes(17 * 1024**2)
    assert owner.post("/api/setup/pictures?name=a.png", content=large, headers=BYTES).status_code == 413


def test_html_in_texts_stays_text(site):
    owner = site.owner()
    body = {"title": SCRIPT, "criterion": SCRIPT, "guideline": SCRIPT, "questions": {"pair": SCRIPT}}
    assert owner.post("/api/setup", json=body).status_code == 200
    for path in ("/api/guide", "/api/me", "/api/setup"):
        response = owner.get(path)
        assert response.headers["content-type"] == "application/json"
        assert SCRIPT in response.json().get("text", response.json().get("guideline", SCRIPT))
    assert ask(owner)[0]["text"] == SCRIPT
    assert SCRIPT not in owner.get("/").text


def test_pictures_of_the_guideline_cannot_run_or_lead_elsewhere(site):
    owner, client = site.owner(), site.annotator()
    sent = owner.post("/api/setup/pictures?name=a.png", content=png() + SCRIPT.encode(), headers=BYTES)
    path = f"/api/guide/pictures/{sent.json()['picture']}"
    got = client.get(path)
    assert got.headers["content-type"] == "image/webp"
    assert "sandbox" in got.headers["content-security-policy"]
    assert got.headers["x-content-type-options"] == "nosniff"
    assert SCRIPT.encode() not in got.content
    assert site.stranger().get(path).status_code == 401
    for name in ("../secret", "..%2Fsecret", "%2e%2e%2fproject.json", "0" * 15, "0" * 16, "A" * 16):
        assert client.get(f"/api/guide/pictures/{name}").status_code in (404, 422), name
    for content in (f"<svg>{SCRIPT}</svg>".encode(), b"GIF89a", b""):
        refused = owner.post("/api/setup/pictures?name=a.png", content=content, headers=BYTES)
        assert refused.status_code == 422


def test_a_picture_bomb_is_refused(site):
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(10_000)))
    refused = site.owner().post("/api/setup/pictures?name=a.png", content=bomb, headers=BYTES)
    assert refused.status_code == 422


def test_independent_annotators_are_refused_by_every_route_about_groups(site):
    owner, client = site.owner(), site.annotator()
    paths = (
        "groups",
        "groups/0/items",
        "conflicts",
        "odd-answers",
        "additions",
        "map/points",
        "map/labels",
        "map/doubt",
        "map/links",
    )
    assert [path for path in paths if client.get(f"/api/{path}").status_code == 403] == []
    owner.post("/api/setup", json={"overlap": 2})
    site.desk.settle()
    assert [path for path in paths if client.get(f"/api/{path}").status_code != 403] == []
    assert [path for path in paths if owner.get(f"/api/{path}").status_code == 403] == []
    for path, body in (
        ("repairs", {"act": "shelve", "rows": [0]}),
        ("groups/0/name", {"name": "x"}),
        ("groups/0/belongs", {"row": 1}),
    ):
        assert client.post(f"/api/{path}", json={"key": new_key(), **body}).status_code == 403
    assert ask(client)[0]["why"] == ""
    assert client.get("/api/reference").json() == {"groups": [], "given": False}
    owner.post("/api/setup", json={"independent": False})
    assert client.get("/api/groups").status_code == 200


def test_a_note_and_a_broken_item_reach_the_owner(site):
    owner, client = site.owner(), site.annotator("Ann")
    first = ask(client)[0]
    body = {"key": new_key(), "question": first["id"], "answer": "SAME", "seconds": 1.0, "note": SCRIPT}
    assert client.post("/api/answers", json=body).status_code == 200
    assert client.post("/api/answers", json=body).json()["new"] is False
    assert client.post("/api/answers", json={**body, "key": new_key(), "note": "x" * 1001}).status_code == 422
    assert owner.get("/api/history").json()["events"][0]["note"] == SCRIPT
    second = ask(client)[0]
    row = second["items"][1]["row"]
    said = client.post("/api/broken", json={"key": new_key(), "row": row, "question": second["id"]})
    assert said.status_code == 200
    assert row not in [item["row"] for question in ask(client, 3) for item in question["items"]]
    (listed,) = owner.get("/api/broken").json()["items"]
    assert (listed["item"]["row"], listed["person"]) == (row, "Ann")
    other = next(item for item in range(8) if item not in (row, *(one["row"] for one in second["items"])))
    refused = client.post("/api/broken", json={"key": new_key(), "row": other, "question": second["id"]})
    assert refused.status_code == 404
    assert client.post("/api/undo", json={"key": new_key(), "of": listed["seq"]}).status_code == 200
    assert owner.get("/api/broken").json() == {"items": []}


def test_who_is_locked_out_is_told_so(site):
    owner, client = site.owner(), site.annotator()
    person = client.get("/api/me").json()["person"]["id"]
    token = site.studio.people.make_link_token(person)
    owner.post(f"/api/people/{person}/active", json={"active": False})
    for response in (
        client.get("/api/me"),
        answer(client, {"id": "x"}),
        site.stranger().post("/api/login", json={"token": token}),
    ):
        assert response.status_code == 401
        assert code(response) == "locked_out"
        assert "ended your access" in response.json()["error"]["message"]
    owner.post(f"/api/people/{person}/active", json={"active": True})
    assert code(client.get("/api/me")) == "not_logged_in"  # a new login is required
    assert code(site.stranger().post("/api/login", json={"token": token})) == "not_logged_in"
