"""New items over HTTP: who may add them, what is refused, and what becomes of the groups."""

import gzip
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from likewise.features import array_features, image_features, sound_features, table_features, text_features
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from likewise.studio.service._studio import LEASE_SECONDS
from small_projects import make
from studio.http.web import Site, code
from studio.service.desk import Desk, new_key

OCTETS = {"Content-Type": "application/octet-stream"}


def png(color, size=(16, 16)):
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, "PNG")
    return out.getvalue()


def wav(pitch):
    from scipy.io import wavfile

    out = io.BytesIO()
    wavfile.write(out, 8000, np.sin(np.arange(4000) * pitch).astype(np.float32))
    return out.getvalue()


def bomb():
    """A PNG of 60,000 x 60,000 pixels in a few bytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"\0" * 100_000))
    return b"\x89PNG\r\n\x1a\n" + head + data + chunk(b"IEND", b"")


def create(tmp_path, kind, made, items, source, columns=()):
    return Project.create(
        tmp_path / "things.likewise",
        X=made.X,
        items=items,
        settings=Settings("Things", n_clusters=2),
        described=Described(kind, len(items), columns, features="numbers"),
        source=source,
        recipe=made.recipe,
    )


def make_files(tmp_path, kind):
    folder = tmp_path / "things"
    folder.mkdir()
    contents = [png((250, 20 * k, 0)) if k < 6 else png((0, 20 * k, 250)) for k in range(12)]
    if kind == "sound":
        contents = [wav(0.05 + 0.01 * k) if k < 6 else wav(1.0 + 0.01 * k) for k in range(12)]
    names = [f"{k:02}.{'png' if kind == 'image' else 'wav'}" for k in range(12)]
    for name, content in zip(names, contents, strict=True):
        (folder / name).write_bytes(content)
    paths = [folder / name for name in names]
    made = image_features(paths, method="pixels") if kind == "image" else sound_features(paths)
    items = [Item(row, name, kind, name, media=name) for row, name in enumerate(names)]
    return create(tmp_path, kind, made, items, folder)


@pytest.fixture
def open_site():
    sites = []

    def open_site(project):
        sites.append(Site(Desk(project)))
        return sites[-1]

    yield open_site
    for site in sites:
        site.close()


@pytest.fixture
def pictures(tmp_path, open_site):
    return open_site(make_files(tmp_path, "image"))


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """A studio of pictures for the tests in which nothing is added."""
    site = Site(Desk(make_files(tmp_path_factory.mktemp("unchanged"), "image")))
    site.client = site.owner()
    yield site
    site.close()


def upload(client, name, content, **headers):
    return client.post("/api/uploads", params={"name": name}, content=content, headers=OCTETS | headers)


def add(client, **body):
    return client.post("/api/items", json={"key": new_key(), **body})


@pytest.mark.parametrize("kind", ["image", "sound"])
def test_uploaded_files_join_the_groups(tmp_path, open_site, kind):
    site = open_site(make_files(tmp_path, kind))
    owner, project = site.owner(), site.studio.project
    labels = site.studio.hub.picture.labels
    content = png((250, 30, 0)) if kind == "image" else wav(0.055)
    end = "png" if kind == "image" else "wav"
    received = [upload(owner, name, content).json() for name in (f"new one.{end}", f"00.{end}")]
    assert project.items.n == 12  # not before they are added
    response = add(owner, uploads=[one["upload"] for one in received])
    assert response.status_code == 200
    assert response.json() == {"new": True, "n": 2, "n_items": 14, "message": "2 items added."}
    assert project.items.get_ids()[12:] == [f"new one.{end}", f"00-2.{end}"]  # 00 is taken
    assert (project.source / f"new one.{end}").read_bytes() == content
    site.desk.settle()
    picture = site.studio.hub.picture
    np.testing.assert_array_equal(picture.labels[:12], labels)
    assert set(picture.labels[12:].tolist()) == {labels[0]}
    assert owner.get("/api/items/12").json()["id"] == f"new one.{end}"
    assert owner.get("/api/items/12/media").status_code == 200
    assert owner.get("/api/me").json()["project"]["n_items"] == 14
    assert len(owner.get("/api/export").text.splitlines()) == 15
    shown = owner.get("/api/additions").json()
    assert (shown["n_items"], shown["n_new"], shown["fitting"]) == (14, 2, False)
    placed = {one["item"]["row"]: one for one in shown["placed"]}
    assert sorted([*placed, *(item["row"] for item in shown["unplaced"])]) == [12, 13]
    assert all(one["group"]["number"] == labels[0] for one in placed.values())
    doubts = [one["doubt"] for one in placed.values()]
    assert doubts == sorted(doubts, reverse=True)
    assert all(0 <= doubt <= 1 for doubt in doubts)
    assert project.describe_changed_source() is None
    assert not list((project.folder / "uploads").iterdir())
    again = site.desk.again()  # the database is that of this project
    assert again.project.items.n == 14
    again.close()


def test_items_that_are_gone_leave_the_questions_and_come_back(tmp_path, open_site):
    desk = open_site(make(tmp_path)).desk
    ann, project = desk.person("Ann"), desk.project
    desk.answer(ann, *desk.ask(ann), "SAME")
    desk.settle()
    gone = desk.ask(ann)[0]["items"][0]
    answers = desk.events("answer")

    def compare(ids):
        desk.settle()  # this worker must not be reloaded while it works
        Project.open(project.folder).keep_comparison(ids)  # as --add does in another process
        desk.studio.use_changes()
        desk.settle()

    desk.clock.now += LEASE_SECONDS  # nobody looks at questions from before
    compare([gone["id"]])
    assert project.gone == (gone["id"],)
    shown = desk.studio.uploads.show()
    assert (shown["n_new"], shown["n_gone"], [item["id"] for item in shown["gone"]]) == (0, 1, [gone["id"]])
    bob = desk.person("Bob")
    asked = {item["id"] for questions in desk.ask_to_the_end(bob) for item in _answer(desk, bob, questions)}
    assert asked
    assert gone["id"] not in asked
    assert desk.events("answer")[: len(answers)] == answers
    assert len(desk.hub.picture.labels) == project.items.n
    compare([])
    assert desk.studio.uploads.show()["n_gone"] == 0
    asked = {item["id"] for questions in desk.ask_to_the_end(bob) for item in _answer(desk, bob, questions)}
    assert gone["id"] in asked


def _answer(desk, person, questions):
    for question in questions:
        desk.answer(person, question, desk.true_word(question))
    return [item for question in questions for item in question["items"]]


def test_a_key_counts_once(pictures):
    owner = pictures.owner()
    body = {"key": new_key(), "uploads": [upload(owner, "a.png", png((9, 9, 9))).json()["upload"]]}
    first, second = (owner.post("/api/items", json=body).json() for _ in range(2))
    assert (first["new"], first["n_items"]) == (True, 13)
    assert (second["new"], second["n_items"]) == (False, 13)


def test_texts(tmp_path, open_site):
    texts = [f"a red cat number {k}" if k % 2 else f"two blue owls and {k}" for k in range(12)]
    items = [Item(row, str(row), "text", text, text=text) for row, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("text\n")
    made = text_features(texts, method="words")
    site = open_site(create(tmp_path, "text", made, items, tmp_path / "t.csv"))
    owner = site.owner()
    labels = site.studio.hub.picture.labels
    response = add(owner, items=[{"text": "another red cat"}, {"id": "x", "text": "blue owls"}])
    assert response.json()["n"] == 2
    assert site.studio.project.items.get_ids()[12:] == ["upload-1", "x"]
    site.desk.settle()
    np.testing.assert_array_equal(site.studio.hub.picture.labels[:12], labels)
    assert site.studio.project.items.get(12).text == "another red cat"
    for bad in ({"text": " "}, {}, {"id": "x", "text": "again"}, {"text": "x", "features": [1.0]}):
        assert add(owner, items=[bad]).status_code == 422
    assert upload(owner, "a.png", png((1, 1, 1))).status_code == 422
    assert site.studio.project.items.n == 14


def test_numbered_ids_leave_out_those_of_the_same_request(tmp_path, open_site):
    items = [Item(row, str(row), "text", "a cat", text="a cat") for row in range(4)]
    (tmp_path / "t.csv").write_text("text\n")
    made = text_features(["a red cat", "a blue cat", "an owl", "a dog"], method="words")
    site = open_site(create(tmp_path, "text", made, items, tmp_path / "t.csv"))
    given = [{"text": "one"}, {"id": "upload-1", "text": "two"}, {"text": "three"}]
    assert add(site.owner(), items=given).json()["n"] == 3
    assert site.studio.project.items.get_ids()[4:] == ["upload-2", "upload-1", "upload-3"]


def test_rows_of_a_table(tmp_path, open_site):
    columns = {"x": [float(k % 2 * 9 + k / 12) for k in range(12)], "color": ["red", "blue"] * 6}
    made = table_features(columns)
    cells = [(("x", str(x)), ("color", c)) for x, c in zip(*columns.values(), strict=True)]
    items = [Item(row, str(row), "row", str(row), cells=cells[row]) for row in range(12)]
    (tmp_path / "t.csv").write_text("x,color\n")
    site = open_site(create(tmp_path, "row", made, items, tmp_path / "t.csv", ("x", "color")))
    owner = site.owner()
    assert add(owner, items=[{"cells": {"x": "9.5", "color": "blue"}}]).json()["n"] == 1
    assert add(owner, items=[{"cells": {"x": 0.5, "color": None}}]).json()["n_items"] == 14
    assert site.studio.project.items.get(13).cells == (("x", "0.5"), ("color", ""))
    response = add(owner, items=[{"cells": {"x": "9.5"}}])
    assert response.status_code == 422
    assert "the column 'color' is missing" in response.json()["error"]["message"]
    site.desk.settle()
    labels = site.studio.hub.picture.labels
    assert labels[12] == labels[1]


def test_embeddings_need_features(tmp_path, open_site):
    X = np.array([[k % 2 * 9.0, k / 12] for k in range(12)])
    np.save(tmp_path / "x.npy", X)
    made = array_features(tmp_path / "x.npy")
    items = [Item(row, str(row), "text", "t", text="t") for row in range(12)]
    site = open_site(create(tmp_path, "text", made, items, tmp_path / "x.npy"))
    owner = site.owner()
    assert add(owner, items=[{"text": "new"}]).status_code == 422
    assert add(owner, items=[{"text": "new", "features": [9.0, 0.0, 1.0]}]).status_code == 422
    assert add(owner, items=[{"text": "new", "features": [9.0, X[1, 1]]}]).status_code == 200
    features = site.studio.project.load_features()
    np.testing.assert_allclose(features[12], features[1])


def test_a_project_of_parts_of_files_takes_no_uploads(tmp_path, open_site):
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "a.png").write_bytes(png((9, 9, 9)))
    made = image_features([folder / "a.png"] * 4, method="pixels")
    items = [Item(row, str(row), "image", "a", media="a.png", part=(row, 0, 4, 4)) for row in range(4)]
    owner = open_site(create(tmp_path, "image", made, items, folder)).owner()
    response = upload(owner, "b.png", png((1, 1, 1)))
    assert response.status_code == 422
    assert "parts of files" in response.json()["error"]["message"]


# ---------------------------------------------------------------------- attacks


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../x.png",
            "../../x.png",
            "..",
            "a/b.png",
            "a\\b.png",
            "/etc/x.png",
            "C:x.png",
            ".hidden.png",
            "x\0.png",
            "x\n.png",
        ),
        *("x.svg", "x.html", "x.png.exe", "x", "x.wav", "x.png ", f"{'x' * 300}.png", "\u202egnp.png"),
        *("CON.png", "nul.png", "Aux .png", "com1.tar.png", "LPT9.png", "COM¹.png", "conin$.png"),
    ],
)
def test_bad_names_are_refused(unchanged, name):
    assert upload(unchanged.client, name, png((1, 1, 1))).status_code == 422
    folder = unchanged.studio.project.folder / "uploads"
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize(
    "content",
    [b"<svg onload='alert(1)'/>", b"<html>", b"", b"MZ\x90\0", wav(0.1), b"PK\x03\x04" + b"\0" * 99],
)
def test_other_types_are_refused_whatever_their_name(unchanged, content):
    assert upload(unchanged.client, "x.png", content).status_code == 422


@pytest.mark.parametrize("content", [bomb(), png((1, 2, 3))[:60]], ids=["bomb", "cut"])
def test_a_file_that_cannot_be_decoded_is_not_added(pictures, content):
    owner, project = pictures.owner(), pictures.studio.project
    bad = upload(owner, "bad.png", content).json()["upload"]
    assert add(owner, uploads=[bad]).status_code == 422
    assert project.items.n == 12
    good, bad = (upload(owner, "x.png", each).json()["upload"] for each in (png((9, 9, 9)), content))
    response = add(owner, uploads=[good, bad])
    assert response.json()["n"] == 1
    assert "1 file could not be read: x.png" in response.json()["message"]
    assert sorted(path.name for path in project.source.iterdir())[-1] == "x.png"
    assert len(list(project.source.iterdir())) == 13


def flac(seconds, claimed=None):
    """A FLAC of silence in few bytes, whose header may claim another number of samples."""
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, np.zeros(int(seconds * 8000), dtype=np.int16), 8000, format="FLAC")
    content = bytearray(out.getvalue())
    if claimed is not None:
        content[21:26] = bytes([content[21] & 0xF0 | claimed >> 32]) + struct.pack(">I", claimed & 0xFFFFFFFF)
    return bytes(content)


def many_channels():
    head = struct.pack("<IHHIIHH", 16, 1, 1024, 8000, 8000 * 2048, 2048, 16)
    data = bytes(2048 * 100)
    return b"RIFF" + struct.pack("<I", 2**31) + b"WAVEfmt " + head + b"data" + struct.pack("<I", 2**31) + data


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("long.flac", flac(1800)),
        ("claims.flac", flac(1800, claimed=2**36 - 1)),
        ("channels.wav", many_channels()),
    ],
)
def test_of_a_sound_bomb_only_a_minute_is_read(tmp_path, open_site, monkeypatch, name, content):
    from likewise.features import _sounds

    site = open_site(make_files(tmp_path, "sound"))
    owner, read = site.owner(), []
    decode = _sounds._read_by_soundfile
    monkeypatch.setattr(_sounds, "_read_by_soundfile", lambda *given: read.append(decode(*given)) or read[-1])
    assert len(content) < 300_000
    sent = upload(owner, name, content).json()["upload"]
    assert add(owner, uploads=[sent]).status_code == 200
    assert 0 < max(samples.size for samples, *_ in read) <= 60 * 8000
    assert owner.get("/api/items/12/spectrogram").status_code == 200


def test_compressed_bodies_are_not_unpacked(unchanged):
    body = gzip.compress(b'{"key": "' + b"x" * 10**7 + b'"}')
    for path in ("/api/items", "/api/setup", "/api/repairs"):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        response = unchanged.client.post(path, content=body, headers=headers)
        assert response.status_code == 400


def test_only_the_owner_adds_items(unchanged):
    for client, status in ((unchanged.annotator(), 403), (unchanged.stranger(), 401)):
        assert upload(client, "x.png", png((1, 1, 1))).status_code == status
        assert add(client, uploads=["0" * 32]).status_code == status
    assert unchanged.annotator().get("/api/additions").status_code == 200
    assert unchanged.stranger().get("/api/additions").status_code == 401


@pytest.mark.parametrize("path", ["/api/uploads", "/api/items"])
@pytest.mark.parametrize("who", ["owner", "annotator", "stranger"])
def test_a_large_body_is_read_only_from_the_owner(unchanged, path, who):
    client, body = getattr(unchanged, who)(), b" " * 2**21
    kind = OCTETS if path == "/api/uploads" else {"Content-Type": "application/json"}
    app, asked = unchanged.app.app, []

    async def watch(scope, receive, send):
        async def receive_watched():
            message = await receive()
            asked.append(len(message.get("body", b"")))
            return message

        await app(scope, receive_watched, send)

    unchanged.app.app = watch
    try:
        response = client.post(path, params={"name": "x.png"}, content=body, headers=kind)
    finally:
        unchanged.app.app = app
    expected = {"owner": 422, "annotator": 403, "stranger": 401}[who]
    assert response.status_code == expected
    assert sum(asked) == (len(body) if who == "owner" else 0)
    assert (response.headers.get("connection") == "close") == (who != "owner")


def test_other_sites_and_other_types_are_refused(unchanged):
    owner, picture = unchanged.client, png((1, 1, 1))
    assert code(upload(owner, "x.png", picture, Origin="http://evil.test")) == "wrong_origin"
    assert code(upload(owner, "x.png", picture, **{"Sec-Fetch-Site": "cross-site"})) == "wrong_origin"
    assert code(upload(owner, "x.png", picture, **{"X-Likewise": "0"})) == "missing_header"
    for kind in ("multipart/form-data; boundary=x", "text/plain", "application/json", "image/png"):
        assert code(upload(owner, "x.png", picture, **{"Content-Type": kind})) == "wrong_type"
    response = owner.post("/api/items", content=b"{}", headers=OCTETS)
    assert code(response) == "wrong_type"
    assert owner.post("/api/answers", content=b"{}", headers=OCTETS).status_code == 415


def test_sizes_are_limited(pictures, monkeypatch):
    owner = pictures.owner()
    response = owner.post("/api/items", json={"key": new_key(), "items": [{"text": "x" * 5_000_000}]})
    assert (response.status_code, code(response)) == (413, "too_large")
    response = upload(owner, "x.png", b"x", **{"Content-Length": str(10**9)})
    assert (response.status_code, code(response)) == (413, "too_large")
    monkeypatch.setattr("likewise.studio.service._uploads.MOST_FILES", 1)
    assert upload(owner, "x.png", png((1, 1, 1))).status_code == 200
    assert upload(owner, "y.png", png((1, 1, 1))).status_code == 422


@pytest.mark.parametrize("uploads", [["0" * 32], ["../../secret"], ["x" * 32], [], [1]])
def test_unknown_uploads_are_refused(unchanged, uploads):
    assert add(unchanged.client, uploads=uploads).status_code in (404, 422)
    assert unchanged.studio.project.items.n == 12


def test_files_that_were_forgotten_are_removed(pictures, monkeypatch):
    owner = pictures.owner()
    old = upload(owner, "x.png", png((1, 1, 1))).json()["upload"]
    monkeypatch.setattr("likewise.studio.service._uploads._FORGOTTEN", -1.0)
    assert add(owner, uploads=[old]).status_code == 404
    assert not list((pictures.studio.project.folder / "uploads").iterdir())
