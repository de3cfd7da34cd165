"""A studio behind its web application, without a port; and a folder of harmful files."""

import io
import warnings

import numpy as np
from PIL import Image

from likewise.studio.app import create_app
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from studio.service.desk import new_key

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have httpx2
    from starlette.testclient import TestClient

HOST = "studio.test"
SCRIPT = "<script>alert(1)</script>"
HEADERS = ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control")


def link(token):
    return f"http://{HOST}/login#{token}"


class Site:
    """A studio and its web application."""

    def __init__(self, desk, **options):
        self.desk, self.studio = desk, desk.studio
        self.app = create_app(desk.studio, hosts=frozenset({HOST}), link=link, **options)
        self.clients = []

    def close(self):
        for client in self.clients:
            client.__exit__(None, None, None)
        self.desk.close()

    def stranger(self, **headers):
        """A client that is not logged in."""
        client = TestClient(
            self.app,
            base_url=f"http://{HOST}",
            headers={"X-Likewise": "1", **headers},
            raise_server_exceptions=False,
            follow_redirects=False,
        )
        client.__enter__()
        self.clients.append(client)
        return client

    def log_in(self, person):
        client = self.stranger()
        token = self.studio.people.make_link_token(person.id)
        assert client.post("/api/login", json={"token": token}).status_code == 200
        return client

    def owner(self):
        """A client of the owner."""
        return self.log_in(self.desk.owner)

    def annotator(self, name=None):
        """A client of a new annotator."""
        return self.log_in(self.desk.person(name or f"Ann {len(self.clients)}"))


def code(response):
    """The code of an error, which always has the same shape."""
    content = response.json()
    assert set(content) == {"error"}
    assert set(content["error"]) == {"code", "message", "way_on"}
    assert all(isinstance(value, str) for value in content["error"].values())
    return content["error"]["code"]


def ask(client, n=1):
    return client.post("/api/questions", json={"n": n}).json()["questions"]


def answer(client, question, word="SAME", key=None):
    body = {"key": key or new_key(), "question": question["id"], "answer": word, "seconds": 1.5}
    return client.post("/api/answers", json=body)


def png(size=(8, 8)):
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, "PNG")
    return out.getvalue()


# The items of the folder of pictures, in the order of their rows.
FILES = (
    *("good.png", "drawing.svg", "page.html", "link.png", "gone.png", "cut.png", "named.png"),
    *("up.png", "far.png"),
)


def picture_project(tmp_path):
    """Create a project of pictures, some of which are not: an SVG with a script, a page, a link out …"""
    folder = tmp_path / "pictures"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(png())
    (folder / "good.png").write_bytes(png())
    (folder / "drawing.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{SCRIPT}</svg>')
    (folder / "page.html").write_text(f"<html>{SCRIPT}</html>")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "gone.png").write_bytes(png())
    (folder / "cut.png").write_bytes(png((64, 64))[:60])
    (folder / "named.png").write_text(f"<html>{SCRIPT}</html>")
    media = [*FILES[:-2], "../secret.png", "http://127.0.0.1:9/far.png"]
    items = [
        Item(row, name, "image", f"{SCRIPT}{name}", media=path)
        for row, (name, path) in enumerate(zip(FILES, media, strict=True))
    ]
    X = np.array([[0.0, row] if row < 4 else [9.0, row] for row in range(len(FILES))])
    project = Project.create(
        tmp_path / "pictures.likewise",
        X=X,
        items=items,
        settings=Settings("Pictures", n_clusters=2),
        described=Described("image", len(FILES)),
        source=folder,
    )
    (folder / "gone.png").unlink()
    return project
