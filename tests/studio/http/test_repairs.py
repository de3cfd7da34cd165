"""Repairs over HTTP: who may make them, and requests that our pages never send."""

import pytest

from studio.http.web import code
from studio.service.desk import new_key


def repair(client, headers=None, **changed):
    body = {"key": new_key(), "act": "shelve", "rows": [0, 1], "groups": [], **changed}
    return client.post("/api/repairs", json=body, headers=headers or {})


def count_repairs(site):
    return sum(event.kind == "repair" for event in site.studio.hub.log.get_events())


def test_annotators_repair_and_undo_their_own_repairs_only(site):
    ann, bob, owner = site.annotator("Ann"), site.annotator("Bob"), site.owner()
    done = repair(ann).json()
    assert done["message"] == "2 items belong to none of the groups."
    assert ann.get("/api/shelf").json()["total"] == 2
    assert bob.post("/api/undo", json={"key": new_key(), "of": done["seq"]}).status_code == 404
    assert owner.post("/api/undo", json={"key": new_key(), "of": done["seq"]}).status_code == 200
    assert ann.get("/api/shelf").json()["total"] == 0


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"rows": list(range(5_001))}, 422),
        ({"rows": [0] * 5_001}, 422),
        ({"rows": [-1]}, 422),
        ({"rows": ["0"]}, 422),
        ({"rows": [True]}, 422),
        ({"rows": "01"}, 422),
        ({"rows": None}, 422),
        ({"rows": [2**31 - 1]}, 404),
        ({"rows": []}, 422),
        ({"act": "delete"}, 422),
        ({"act": "move", "groups": [65_536]}, 422),
        ({"act": "move", "groups": [40_000]}, 404),
        ({"act": "merge", "rows": [], "groups": list(range(101))}, 422),
        ({"act": "unshelve"}, 422),
        ({"person": 1}, 422),
        ({"target": "a0"}, 422),
        ({"key": "short"}, 422),
    ],
)
def test_a_wrong_repair_is_refused_and_changes_nothing(shared, visitor, changed, status):
    before = count_repairs(shared)
    response = repair(visitor, **changed)
    assert response.status_code == status
    assert code(response)
    assert count_repairs(shared) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
        {"X-Likewise": ""},
    ],
)
def test_a_repair_from_another_site_is_refused(shared, visitor, headers):
    before = count_repairs(shared)
    assert repair(visitor, headers=headers).status_code in (403, 415)
    assert count_repairs(shared) == before


@pytest.mark.parametrize(
    "path",
    [
        "search",
        "search?q=" + "x" * 201,
        "search?q=a&limit=201",
        "shelf?offset=-1",
        "moves?limit=0",
        "map/column",
        "map/column?name=" + "x" * 1001,
    ],
)
def test_wrong_requests_are_refused(visitor, path):
    assert visitor.get(f"/api/{path}").status_code == 422


def test_an_unknown_column_is_not_found_and_odd_searches_find_nothing(visitor):
    assert visitor.get("/api/map/column?name=truth").status_code == 404
    for text in ("%00", "%25", "_", "'; drop table items; --", "%F0%9F%A6%89" * 40):
        assert visitor.get(f"/api/search?q={text}").json()["rows"] == []
