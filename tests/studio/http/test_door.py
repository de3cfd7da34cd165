"""Access: hosts, origins, sessions, login links, and the roles required by routes."""

import re

import pytest

from likewise.exceptions import NotLoggedInError, TooManyRequestsError
from likewise.studio.service._accounts import LINK_SECONDS, SESSION_SECONDS
from likewise.studio.store import Transaction
from studio.http.web import HEADERS, HOST, Site, answer, ask, code
from studio.service.desk import new_key, open_desk

# Public routes. All others require a session; a new route must be listed here or refuse strangers.
PUBLIC = {
    ("GET", "/"),
    ("GET", "/login"),
    ("GET", "/static/{name}"),
    ("GET", "/favicon.ico"),
    ("GET", "/health"),
    ("GET", "/api/openapi.json"),
    ("POST", "/api/login"),
}
OWNERS = {
    ("GET", "/api/people"),
    ("POST", "/api/people"),
    ("POST", "/api/people/{person}/link"),
    ("POST", "/api/people/{person}/active"),
    ("GET", "/api/export"),
    ("GET", "/api/report"),
    ("POST", "/api/items"),
    ("GET", "/api/study/participants"),
    ("POST", "/api/uploads"),
    ("GET", "/api/setup"),
    ("POST", "/api/setup"),
    ("POST", "/api/setup/pictures"),
    ("GET", "/api/broken"),
}


def routes(site):
    """Every method and path of the application."""
    found = set()
    waiting = list(site.app.app.routes)
    while waiting:
        route = waiting.pop()
        waiting += getattr(getattr(route, "original_router", None), "routes", [])
        if hasattr(route, "methods") and hasattr(route, "path"):
            found |= {(method, route.path) for method in route.methods - {"HEAD"}}
    assert len(found) > 30
    return sorted(found)


def call(client, method, path, person=1, headers=None):
    """Call a route with placeholder parameters."""
    headers = headers or {}
    path = re.sub(r"\{person[^}]*\}", str(person), path)
    path = re.sub(r"\{[^}]*\}", "0", path)
    if path in ("/api/uploads", "/api/setup/pictures"):
        headers = {"Content-Type": "application/octet-stream", **headers}
        return client.request(method, path, params={"name": "a.png"}, content=b"x", headers=headers)
    return client.request(method, path, json={} if method != "GET" else None, headers=headers)


# ---------------------------------------------------------------------- sessions and roles


def test_every_route_is_listed_as_public_or_refuses_strangers(shared):
    client = shared.stranger()
    for method, path in routes(shared):
        if (method, path) not in PUBLIC:
            response = call(client, method, path)
            assert response.status_code == 401, (method, path, response.text)
            assert code(response) == "not_logged_in"


def test_an_annotator_is_refused_by_every_route_of_the_owner(shared, visitor):
    there = set(routes(shared))
    for method, path in OWNERS & there:
        response = call(visitor, method, path)
        assert response.status_code == 403, (method, path, response.text)
        assert code(response) == "not_allowed"
    assert len(OWNERS & there) >= 5


def test_an_annotator_is_not_refused_by_the_other_routes(site):
    """This ensures that the list of the owner's routes is complete."""
    client = site.annotator()
    for method, path in (
        set(routes(site)) - OWNERS - PUBLIC - {("GET", "/api/events"), ("POST", "/api/logout")}
    ):
        assert call(client, method, path).status_code not in (401, 403), (method, path)


@pytest.mark.parametrize("cookie", ["", "x", "A" * 43, "é", "a" * 10_000, '"; drop', "\x01"])
def test_a_forged_cookie_opens_nothing(shared, cookie):
    client = shared.stranger()
    response = client.get(
        "/api/me", headers={"Cookie": f"likewise-{shared.studio.id}={cookie}".encode("latin-1")}
    )
    assert response.status_code == 401
    assert code(response) == "not_logged_in"


def test_a_session_ends_with_a_logout(site):
    client = site.annotator()
    name = f"likewise-{site.studio.id}"
    session = client.cookies[name]
    assert client.post("/api/logout", json={}).json() == {"done": True}
    client.cookies.set(name, session)
    assert client.get("/api/me").status_code == 401


def test_a_session_ends_when_a_person_is_locked_out(site):
    owner, client = site.owner(), site.annotator()
    person = client.get("/api/me").json()["person"]["id"]
    assert owner.post(f"/api/people/{person}/active", json={"active": False}).status_code == 200
    assert client.get("/api/me").status_code == 401
    assert ask_status(client) == 401
    refused = owner.post(f"/api/people/{person}/link", json={})
    assert refused.status_code == 403
    owner.post(f"/api/people/{person}/active", json={"active": True})
    assert client.get("/api/me").status_code == 401  # a new login is required


def ask_status(client):
    return client.post("/api/questions", json={"n": 1}).status_code


def test_a_session_expires(site):
    client = site.annotator()
    site.desk.clock.now += SESSION_SECONDS + 60
    assert client.get("/api/me").status_code == 401


# ---------------------------------------------------------------------- links


def test_a_link_works_once(site):
    token = site.studio.people.make_link_token(site.desk.owner.id)
    assert site.stranger().post("/api/login", json={"token": token}).status_code == 200
    second = site.stranger().post("/api/login", json={"token": token})
    assert second.status_code == 401
    assert "already used" in second.json()["error"]["message"]
    assert "set-cookie" not in second.headers


def test_a_link_expires(site):
    token = site.studio.people.make_link_token(site.desk.owner.id)
    site.desk.clock.now += LINK_SECONDS + 1
    assert site.stranger().post("/api/login", json={"token": token}).status_code == 401


def test_a_link_of_a_locked_out_person_does_not_work(site):
    ann = site.desk.person("Ann")
    token = site.studio.people.make_link_token(ann.id)
    site.studio.people.set_active(ann.id, False, site.desk.owner)
    assert site.stranger().post("/api/login", json={"token": token}).status_code == 401


def test_guessing_is_limited_without_affecting_logged_in_people(site):
    inside, outside = site.annotator(), site.stranger()
    got = [outside.post("/api/login", json={"token": f"guess{n}"}).status_code for n in range(40)]
    assert got == [401] * 30 + [429] * 10
    assert inside.get("/api/me").status_code == 200
    site.desk.clock.now += 61
    token = site.studio.people.make_link_token(site.desk.owner.id)
    assert outside.post("/api/login", json={"token": token}).status_code == 200


def test_invalid_links_do_not_lock_out_valid_ones(site):
    outside = site.stranger()
    token = site.studio.people.make_link_token(site.desk.owner.id)
    for n in range(60):
        outside.post("/api/login", json={"token": f"rubbish{n}"})
    assert outside.post("/api/login", json={"token": "more"}).status_code == 429
    assert outside.post("/api/login", json={"token": token}).status_code == 200  # from the same address


def test_failed_logins_are_counted_for_each_address(site, monkeypatch):
    from likewise.studio.service import _accounts

    people = site.studio.people

    def fail(address):
        with pytest.raises((NotLoggedInError, TooManyRequestsError)) as caught:
            people.log_in("rubbish", address)
        return caught.type

    assert [fail("10.0.0.1") for _ in range(31)] == [NotLoggedInError] * 30 + [TooManyRequestsError]
    assert fail("10.0.0.2") is NotLoggedInError
    monkeypatch.setattr(_accounts, "_MOST_ADDRESSES", 2)
    assert fail("10.0.0.3") is NotLoggedInError  # and the first is forgotten
    assert fail("10.0.0.1") is NotLoggedInError


def test_invalid_tokens_are_not_written_to_the_store(site, monkeypatch):
    taken = []
    monkeypatch.setattr(Transaction, "take_login", lambda *given: taken.append(given))
    assert site.stranger().post("/api/login", json={"token": "rubbish"}).status_code == 401
    assert not taken


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "::ffff:10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        (None, ""),
    ],
)
def test_an_ipv6_address_is_counted_by_its_network(host, network):
    from starlette.requests import Request

    from likewise.studio.routes.people import _get_network

    client = None if host is None else (host, 1)
    assert _get_network(Request({"type": "http", "client": client, "headers": []})) == network


def test_the_token_of_a_link_follows_the_hash_and_is_never_stored(site):
    invited = site.owner().post("/api/people", json={"name": "Ann"}).json()
    address, _, token = invited["link"].partition("#")
    assert "?" not in address
    assert len(token) >= 40
    database = site.desk.project.folder / "studio.sqlite"
    for file in (database, database.with_name("studio.sqlite-wal")):
        assert token.encode() not in file.read_bytes()


def test_a_cookie_is_restricted_to_this_server(site, tmp_path):
    token = site.studio.people.make_link_token(site.desk.owner.id)
    flags = site.stranger().post("/api/login", json={"token": token}).headers["set-cookie"]
    assert "HttpOnly" in flags
    assert "SameSite=lax" in flags
    assert "Path=/;" in flags
    assert "Secure" not in flags  # no https on loopback
    (tmp_path / "other").mkdir()
    behind = Site(open_desk(tmp_path / "other"), base="/birds", https=True)
    try:
        token = behind.studio.people.make_link_token(behind.desk.owner.id)
        flags = behind.stranger().post("/birds/api/login", json={"token": token}).headers["set-cookie"]
        assert "Secure" in flags
        assert "Path=/birds/;" in flags
    finally:
        behind.close()


# ---------------------------------------------------------------------- other sites


@pytest.mark.parametrize("host", ["evil.example", "studio.test:81", "studio.test.evil.example", "", "[::1"])
@pytest.mark.parametrize("path", ["/", "/api/me", "/health"])
def test_a_foreign_host_is_refused(shared, host, path):
    """A foreign name that points to this machine gives no access."""
    response = shared.stranger(host=host).get(path)
    assert response.status_code == 421
    assert code(response) == "wrong_host"
    assert all(header in response.headers for header in HEADERS)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://studio.test.evil.example",
        "http://studio.test@evil.example",
        "http://[",
        "file://",
        "",
    ],
)
def test_a_foreign_origin_is_refused(visitor, origin):
    response = visitor.post("/api/questions", json={"n": 1}, headers={"Origin": origin})
    assert response.status_code == 403, response.text
    assert code(response) == "wrong_origin"


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        ({"Origin": "https://evil.example"}, 403, "wrong_origin"),
        ({"Origin": "null"}, 403, "wrong_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "wrong_origin"),
        ({"Sec-Fetch-Site": "same-site"}, 403, "wrong_origin"),
        ({"X-Likewise": ""}, 403, "missing_header"),  # a form cannot set it
        ({"Content-Type": "text/plain"}, 415, "wrong_type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "wrong_type"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415, "wrong_type"),
        ({"Host": "evil.example"}, 421, "wrong_host"),
    ],
)
def test_no_route_takes_a_change_from_another_site(shared, headers, status, expected):
    """The owner's browser sends cookies along, so the owner is the one to be deceived."""
    changing = [(method, path) for method, path in routes(shared) if method not in ("GET", "OPTIONS")]
    assert len(changing) > 15
    owner = shared.owner()
    for method, path in changing:
        response = call(owner, method, path, headers=headers)
        assert (response.status_code, code(response)) == (status, expected), (method, path, response.text)


def test_the_own_origin_is_accepted(visitor):
    headers = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
    assert visitor.post("/api/questions", json={"n": 1}, headers=headers).status_code == 200


@pytest.mark.parametrize("value", ["cross-site", "same-site", "whatever"])
def test_a_request_started_by_another_site_is_refused(visitor, value):
    response = visitor.post("/api/questions", json={"n": 1}, headers={"Sec-Fetch-Site": value})
    assert response.status_code == 403
    assert code(response) == "wrong_origin"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b'{"n":1}='),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="n"\r\n\r\n1\r\n--x--',
        ),
        ("text/plain", b'{"n": 1}'),
        ("application/json-seq", b'{"n": 1}'),
        ("", b'{"n": 1}'),
    ],
)
def test_a_form_of_another_site_does_nothing(visitor, kind, body):
    """Browsers send these types across sites without a preflight request."""
    response = visitor.post("/api/questions", content=body, headers={"Content-Type": kind})
    assert response.status_code == 415
    assert code(response) == "wrong_type"


@pytest.mark.parametrize("value", ["", "0", "true"])
def test_a_request_without_our_header_does_nothing(visitor, value):
    response = visitor.post("/api/questions", json={"n": 1}, headers={"X-Likewise": value})
    assert response.status_code == 403
    assert code(response) == "missing_header"


def test_nothing_says_that_other_sites_may_read(visitor):
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for response in (
        visitor.options("/api/answers", headers=headers),
        visitor.get("/api/me", headers=headers),
    ):
        assert not [name for name in response.headers if name.startswith("access-control")]


# ---------------------------------------------------------------------- acting as another


def test_nobody_can_act_as_another_person(site):
    ann, bob = site.annotator("Ann"), site.annotator("Bob")
    (question,) = ask(ann)
    stolen = answer(bob, question)
    assert stolen.status_code == 404
    seq = answer(ann, question).json()["seq"]
    assert bob.post("/api/undo", json={"key": new_key(), "of": seq}).status_code == 404
    assert bob.get("/api/history").json()["events"] == []
    # A person named in a body is ignored.
    for extra in ({"person": 1}, {"person_id": 1}, {"role": "owner"}):
        body = {"key": new_key(), "question": question["id"], "answer": "SAME", **extra}
        assert bob.post("/api/answers", json=body).status_code == 422


def test_filters_do_not_reveal_answers_of_others(site):
    ann, bob = site.annotator("Ann"), site.annotator("Bob")
    answer(ann, ask(ann)[0])
    for query in ("?person=2", "?limit=200&before=9007199254740991", "?person=", "?all=1"):
        assert bob.get(f"/api/history{query}").json()["events"] == []
    assert bob.get("/api/map/links").json() == {"links": []}
    assert bob.get("/api/progress").json()["mine"] == 0


def test_the_truth_is_never_sent(tmp_path):
    import numpy as np

    from likewise.studio.project import Project
    from likewise.studio.records import Described, Item, Settings
    from studio.service.desk import Desk

    items = [Item(i, f"item{i}", "text", f"item{i}", text="t", truth="t0p-secret") for i in range(6)]
    source = tmp_path / "x.csv"
    source.write_text("x\n")
    project = Project.create(
        tmp_path / "x.likewise",
        X=np.arange(12.0).reshape(6, 2),
        items=items,
        settings=Settings("x", n_clusters=2),
        described=Described("text", 6, has_truth=True),
        source=source,
    )
    site = Site(Desk(project))
    try:
        client = site.annotator()
        for path in ("/api/me", "/api/items/0", "/api/items?rows=0,1", "/api/groups", "/api/reference"):
            response = client.get(path)
            assert response.status_code == 200
            assert "t0p-secret" not in response.text
        assert "t0p-secret" not in client.post("/api/questions", json={"n": 3}).text
    finally:
        site.close()


def test_logging_in_to_a_second_studio_keeps_the_session_of_the_first(tmp_path):
    sites = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        sites.append(Site(open_desk(tmp_path / name)))
    try:
        first, second = (site.owner() for site in sites)
        jar = {**first.cookies, **second.cookies}  # one browser; cookies are shared between ports
        for site in sites:
            client = site.stranger()
            client.cookies.update(jar)
            assert client.get("/api/me").status_code == 200
    finally:
        for site in sites:
            site.close()


def test_a_locked_out_owner_gets_no_login_link(tmp_path):
    desk = open_desk(tmp_path)
    try:
        other = desk.person("Other", "owner")
        desk.studio.people.set_active(desk.owner.id, False, other)
        found = desk.studio.people.get_owner()
        assert found == other
        person, _ = desk.studio.people.log_in(desk.studio.people.make_link_token(found.id))
        assert person == other
    finally:
        desk.close()
