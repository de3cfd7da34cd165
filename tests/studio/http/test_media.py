"""Files over HTTP: addressed only by row, of safe types only, whole or as one range."""

import pytest

from studio.http.web import FILES, SCRIPT, code, png

WHOLE = png()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("media")


@pytest.fixture(scope="module")
def site(folder):
    from studio.http.web import Site, picture_project
    from studio.service.desk import Desk

    site = Site(Desk(picture_project(folder)))
    yield site
    site.close()


@pytest.fixture(scope="module")
def client(site):
    return site.annotator()


def get(client, name, what="media", **headers):
    return client.get(f"/api/items/{FILES.index(name)}/{what}", headers=headers)


@pytest.mark.parametrize("what", ["media", "thumb"])
def test_a_picture_is_sent_in_a_sandbox(client, what):
    response = get(client, "good.png", what)
    assert response.status_code == 200
    assert response.headers["content-type"] in ("image/png", "image/webp")
    assert response.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"].startswith("private")
    same = get(client, "good.png", what, **{"If-None-Match": response.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")


@pytest.mark.parametrize("name", sorted(set(FILES) - {"good.png", "cut.png"}))
@pytest.mark.parametrize("what", ["media", "thumb", "spectrogram"])
def test_files_that_are_not_pictures_of_the_folder_are_not_sent(client, name, what, folder):
    """An SVG, an HTML page, a page named like a picture, a link or path out of the folder, a URL."""
    response = get(client, name, what)
    assert response.status_code == 404
    assert code(response) == "no_media"
    assert str(folder) not in response.text
    assert SCRIPT not in response.text


def test_a_damaged_picture_has_no_thumbnail_and_is_reported(client):
    response = get(client, "cut.png", "thumb")
    assert response.status_code == 404
    assert code(response) == "no_media"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../records.py",
        "/static/..%2frecords.py",
        "/static/%2e%2e%2frecords.py",
        "/static/%2e%2e/records.py",
        "/static/..%5crecords.py",
        "/static/....//records.py",
        "/static/%252e%252e%252frecords.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/app.js%00",
        "/static/index.html",
        "/static/login.html",
        "/static/.app.js",
        "/static/app.js/",
        "/static/APP.JS",
        "/api/items/../../project.json",
        "/api/items/..%2f..%2fproject.json/media",
        "/api/items/0/../../secret",
        "/api/items/0%2f..%2f..%2fsecret/media",
        "/api/items/0/media/../../../../etc/passwd",
        "/studio.sqlite",
        "/secret",
        "/pictures.likewise/secret",
    ],
)
def test_no_path_leads_to_another_file(client, path):
    response = client.get(path)
    assert response.status_code in (404, 422)
    code(response)
    assert "def " not in response.text


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=0-", (0, len(WHOLE))),
        ("bytes=5-9", (5, 10)),
        ("bytes=-4", (len(WHOLE) - 4, len(WHOLE))),
        ("bytes=-99999", (0, len(WHOLE))),
        ("bytes=3-99999", (3, len(WHOLE))),
    ],
)
def test_one_range_is_sent(client, wanted, part):
    start, stop = part
    response = get(client, "good.png", Range=wanted)
    assert response.status_code == 206
    assert response.content == WHOLE[start:stop]
    assert response.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(WHOLE)}"
    assert response.headers["content-length"] == str(stop - start)


@pytest.mark.parametrize("wanted", ["bytes=5-3", f"bytes={len(WHOLE)}-", "bytes=99999-", "bytes=-0"])
def test_a_range_beyond_the_file_is_refused(client, wanted):
    response = get(client, "good.png", Range=wanted)
    assert response.status_code == 416
    assert response.headers["content-range"] == f"bytes */{len(WHOLE)}"
    assert response.content == b""


@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=" + ",".join(f"{n}-{n}" for n in range(1_000)),
        "bytes=0-,0-,0-",
        "bytes=-",
        "bytes=a-b",
        "bytes=1" + "0" * 400 + "-",
        "lines=0-1",
        "bytes 0-1",
        "",
    ],
    ids=lambda wanted: wanted[:12],
)
def test_several_ranges_and_nonsense_get_the_whole_file(client, wanted):
    response = get(client, "good.png", Range=wanted)
    assert response.status_code == 200
    assert response.content == WHOLE


def test_the_titles_of_files_come_back_as_json(client):
    response = client.get("/api/items?rows=0,1")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["items"][0]["title"] == f"{SCRIPT}good.png"
    assert response.json()["items"][0]["media"] == "api/items/0/media"


def test_a_folder_that_is_removed_under_a_running_project(site, client, folder):
    """Answering continues; the pictures are reported as missing, without their path."""
    (folder / "pictures").rename(folder / "elsewhere")
    try:
        response = get(client, "good.png")
        assert response.status_code == 404
        assert "is missing" in response.json()["error"]["message"]
        assert str(folder) not in response.text
        asked = client.post("/api/questions", json={"n": 1})
        assert asked.status_code == 200
        assert site.desk.project.describe_changed_source() is not None
    finally:
        (folder / "elsewhere").rename(folder / "pictures")
    assert get(client, "good.png").status_code == 200


def test_a_file_is_closed_if_the_client_is_gone(tmp_path):
    import asyncio

    from starlette.requests import ClientDisconnect

    from likewise.studio.media import Media
    from likewise.studio.routes.files import _Sending

    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF")

    async def gone(message):
        raise OSError("the connection was closed")

    async def wait():
        await asyncio.sleep(60)

    file = path.open("rb")
    sending = _Sending(Media("audio/wav", 4, "tag", file), 0, 4, 200, {})
    with pytest.raises((ClientDisconnect, BaseExceptionGroup)):  # older versions of Starlette raise a group
        asyncio.run(sending({"type": "http", "asgi": {"spec_version": "2.4"}}, wait, gone))
    assert file.closed
    other = path.open("rb")
    Media("audio/wav", 4, "tag", other)  # nobody sends it
    assert other.closed
