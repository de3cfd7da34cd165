"""Bodies, paths and headers that our pages never send: each gets a clear error and changes nothing."""

import json

import pytest

from likewise.studio.security import MOST_BODY
from studio.http.web import HEADERS, SCRIPT, Site, answer, ask, code
from studio.service.desk import new_key, open_desk

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(visitor):
    return visitor


@pytest.fixture(scope="module")
def owner(shared):
    return shared.owner()


def post(client, body, path="/api/answers"):
    return client.post(path, content=body, headers=JSON)


def answer_body(**changed):
    return {"key": new_key(), "question": "0123456789abcdef", "answer": "SAME", "seconds": 1.0, **changed}


def raw(**changed):
    """JSON in which some values are inserted verbatim."""
    parts = {name: json.dumps(value) for name, value in answer_body().items()}
    parts |= changed
    return "{" + ", ".join(f'"{name}": {value}' for name, value in parts.items()) + "}"


# ---------------------------------------------------------------------- sizes


def test_a_body_of_the_largest_size_is_read_and_one_byte_more_is_not(client):
    body = json.dumps({"n": 1}).encode()
    assert post(client, body + b" " * (MOST_BODY - len(body)), "/api/questions").status_code == 200
    response = post(client, body + b" " * (MOST_BODY - len(body) + 1), "/api/questions")
    assert response.status_code == 413
    assert code(response) == "too_large"
    assert all(header in response.headers for header in HEADERS)


def test_a_body_without_a_length_is_counted(client):
    def chunks():
        for _ in range(70):
            yield b" " * 1024
        yield b'{"n": 1}'

    response = post(client, chunks(), "/api/questions")
    assert response.status_code == 413
    assert code(response) == "too_large"


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999", "0x10", "+5", "5, 5"])
def test_an_invalid_length_is_refused(client, length):
    response = client.post("/api/questions", content=b'{"n": 1}', headers={**JSON, "Content-Length": length})
    assert response.status_code == 413
    assert code(response) == "too_large"


# ---------------------------------------------------------------------- contents


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"[" * 50_000,
        b'{"a":' * 8_000,
        b'{"n": "\xff\xfe"}',
        b"\xef\xbb\xbf{}",
        b'{"n": ' + b"9" * 5_000 + b"}",
        b"\x00",
        b'{"n": 1} {"n": 1}',
        b"NaN",
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.parametrize("path", ["/api/answers", "/api/login"])
def test_unsuitable_json_is_refused_with_a_message(client, body, path):
    response = post(client, body, path)
    assert response.status_code in (400, 422), response.text
    assert code(response) in ("http", "bad_request")


@pytest.mark.parametrize(
    "changed",
    [
        {"seconds": "NaN"},
        {"seconds": "Infinity"},
        {"seconds": "1e400"},
        {"seconds": "-1"},
        {"seconds": "1e9"},
        {"seconds": "true"},
        {"seconds": '"1"'},
        {"key": "1"},
        {"key": '"short"'},
        {"key": '"has spaces in it"'},
        {"key": json.dumps("x" * 65)},
        {"key": json.dumps("abcdefgh\n")},
        {"key": '"abcdefgh\\u0000"'},
        {"key": '"abcdefgh\\ud800"'},
        {"key": "null"},
        {"question": '"../../etc/passwd"'},
        {"question": '""'},
        {"question": "9223372036854775808"},
        {"answer": '"same"'},
        {"answer": '["SAME"]'},
        {"answer": '"SAME\\u0000"'},
        {"more": "1"},
    ],
    ids=str,
)
def test_an_answer_with_an_invalid_value_is_refused(shared, client, changed):
    response = post(client, raw(**changed))
    assert response.status_code == 422, response.text
    assert code(response) == "bad_request"
    assert not shared.desk.events()


@pytest.mark.parametrize(
    "of", ["9223372036854775808", str(2**63 - 1), "1e3", "true", "0", "-1", "1.5", '"1"']
)
def test_the_number_of_an_event_must_be_an_integer_in_range(client, of):
    response = post(client, f'{{"key": "{new_key()}", "of": {of}}}', "/api/undo")
    assert response.status_code == 422, response.text


@pytest.mark.parametrize("name", ["\\u0000", "a\\u0000b", "\\ud800", "a\\udfffb", "\\u202e", "\\n", "", " "])
def test_names_that_databases_cannot_store_are_refused(owner, name):
    for path in ("/api/people", "/api/groups/0/name"):
        body = f'{{"name": "{name}"' + (f', "key": "{new_key()}"' if "groups" in path else "") + "}"
        response = post(owner, body, path)
        assert response.status_code == 422, response.text
        assert code(response) == "bad_request"


@pytest.mark.parametrize("n", ["0", "11", "true", "1.0", "2e0", '"3"', "null", str(2**63), "-1"])
def test_the_number_of_questions_must_be_a_small_integer(client, n):
    assert post(client, f'{{"n": {n}}}', "/api/questions").status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/api/items/-1",
        "/api/items/9223372036854775808",
        "/api/items/1e3",
        "/api/items/true",
        "/api/items/%00",
        "/api/items/٣x",
        "/api/items?rows=",
        "/api/items?rows=1,,2",
        "/api/items?rows=-1",
        "/api/items?rows=" + ",".join(["1"] * 201),
        "/api/items?rows=1%0A",
        "/api/items",
        "/api/history?before=0",
        "/api/history?before=99999999999999999999",
        "/api/history?limit=0",
        "/api/history?limit=201",
        "/api/groups/65536/items",
        "/api/groups/0/items?offset=-1",
        "/api/groups/0/items?order=truth",
    ],
)
def test_paths_with_invalid_values_are_refused(client, path):
    response = client.get(path)
    assert response.status_code == 422, response.text
    assert code(response) == "bad_request"


@pytest.mark.parametrize(
    "path", ["/api/items/8", "/api/items/2147483647", "/api/items?rows=0,8", "/api/items/8/media"]
)
def test_unknown_items_are_refused(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert code(response) == "not_found"


# ---------------------------------------------------------------------- methods and addresses


@pytest.mark.parametrize(
    "path", ["/nothing", "/api", "/api/", "/api/nothing", "/static/", "/static", "/.env"]
)
def test_unknown_paths_return_404_in_our_format(client, path):
    response = client.get(path)
    assert response.status_code == 404
    code(response)
    assert all(header in response.headers for header in HEADERS)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/answers"),
        ("DELETE", "/api/people"),
        ("PUT", "/api/answers"),
        ("PATCH", "/"),
        ("POST", "/"),
    ],
)
def test_an_unknown_method_returns_405_and_lists_the_allowed_ones(client, method, path):
    response = client.request(method, path, json={})
    assert response.status_code == 405
    assert response.headers["allow"]
    code(response)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/api/me", "/api/answers", "/static/app.js", "/health"])
def test_other_methods_do_nothing_and_echo_nothing(client, method, path):
    response = client.request(method, path, headers={"X-Secret": "s3cret"})
    assert response.status_code in (200, 405, 415)
    assert "s3cret" not in response.text
    assert response.status_code != 200 or method == "HEAD"
    assert all(header in response.headers for header in HEADERS)


# ---------------------------------------------------------------------- text that means harm


def test_scripts_come_back_as_json_and_never_as_a_page(site):
    """In texts, names of files, people and groups, and in messages of errors."""
    owner = site.owner()
    assert owner.post("/api/people", json={"name": SCRIPT}).status_code == 200
    assert owner.post("/api/groups/0/name", json={"key": new_key(), "name": SCRIPT}).status_code == 200
    twice = owner.post("/api/people", json={"name": SCRIPT})
    assert twice.status_code == 422
    seen = [
        twice,
        *(owner.get(path) for path in ("/api/people", "/api/groups", "/api/history", "/api/reference")),
    ]
    for response in seen:
        assert SCRIPT in json.dumps(response.json())
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert "unsafe" not in response.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", [f"/{SCRIPT}", f"/api/items/{SCRIPT}", f"/static/{SCRIPT}", f"/login?next={SCRIPT}"]
)
def test_scripts_in_addresses_come_back_in_no_page(client, path):
    response = client.get(path)
    if response.headers["content-type"].startswith("text/html"):
        assert SCRIPT not in response.text
    else:
        assert response.headers["content-type"] == "application/json"


def test_a_host_with_a_script_comes_back_as_json(shared):
    response = shared.stranger(host=SCRIPT).get("/")
    assert response.status_code == 421
    assert response.headers["content-type"] == "application/json"


def test_the_pages_hold_no_inline_script_or_style(client):
    for path in ("/", "/login"):
        page = client.get(path).text
        assert "<style" not in page
        assert " style=" not in page
        assert " onclick" not in page
        for tag in page.split("<script")[1:]:
            assert " src=" in tag.partition(">")[0]
        assert "http://" not in page
        assert "https://" not in page


def test_every_answer_has_its_headers(client):
    paths = [
        "/",
        "/login",
        "/static/app.js",
        "/health",
        "/api/me",
        "/api/progress",
        "/api/groups",
        "/nothing",
    ]
    paths += ["/api/map/points", "/api/map/labels", "/api/items/0", "/api/items/99", "/api/export"]
    for path in paths:
        response = client.get(path)
        for header in HEADERS:
            assert len(response.headers.get_list(header)) == 1, (path, header)
        assert response.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert "server" not in response.headers


def test_no_error_reveals_code_or_folders(shared, client, monkeypatch):
    """Not even an unexpected one."""
    here = str(shared.desk.project.folder.parent)

    def fail(*_):
        raise RuntimeError(f"secret at {here}")

    monkeypatch.setattr(shared.studio.asking, "show_progress", fail)
    response = client.get("/api/progress")
    assert response.status_code == 500
    assert code(response) == "failed"
    assert all(header in response.headers for header in HEADERS)
    for word in ("Traceback", "RuntimeError", "secret", here, ".py"):
        assert word not in response.text


# ---------------------------------------------------------------------- the base path


@pytest.mark.parametrize("prefix", ["/birds", ""], ids=["left by the proxy", "taken off"])
def test_a_base_path_works_whether_or_not_a_proxy_removes_it(tmp_path, prefix):
    site = Site(open_desk(tmp_path), base="/birds")
    try:
        client = site.stranger()
        token = site.studio.people.make_link_token(site.desk.owner.id)
        name = f"likewise-{site.studio.id}"
        session = client.post(f"{prefix}/api/login", json={"token": token}).cookies[name]
        client.headers["Cookie"] = f"{name}={session}"  # the proxy's path is the browser's
        assert client.get(f"{prefix}/api/me").status_code == 200
        page = client.get(f"{prefix}/")
        assert 'href="/birds/"' in page.text
        assert "__BASE__" not in page.text
        assert client.get(f"{prefix}/static/app.js").status_code == 200
        assert client.get("/birdsong/api/me").status_code == 404
        assert client.get("/birds/birds/api/me").status_code == 404
    finally:
        site.close()


# ---------------------------------------------------------------------- an answer is what it was


def test_an_answer_that_is_repeated_is_the_same(site):
    client = site.annotator()
    (question,) = ask(client)
    key = new_key()
    first, again = answer(client, question, key=key), answer(client, question, key=key)
    assert first.status_code == again.status_code == 200
    assert (first.json()["seq"], again.json()["new"]) == (again.json()["seq"], False)
    other = answer(client, question, "DIFFERENT", key=key)
    assert other.status_code == 409
    assert code(other) == "clash"
