"""A real browser and a real studio: Chromium through Playwright, small projects, served in a thread."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from fork_server import start_workers_by_fork
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from patience import PATIENCE

# The same engine without a window, which opens four times as fast, if it is installed.
SHELL = "/usr/bin/chromium-headless-shell"
CHROMIUM = SHELL if Path(SHELL).exists() else "/usr/bin/chromium"
READY = 'section.question[data-ready="true"]'
COLOURS = ((200, 60, 50), (40, 120, 190), (60, 150, 80))
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="session", autouse=True)
def start_background_processes_quickly():
    start_workers_by_fork()


def cannot(reason):
    """Skip on a developer's machine; fail in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


# ---------------------------------------------------------------------- projects


def blobs(n, k=3, seed=0):
    """Rows in k slightly overlapping groups, so that there are questions to ask."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    return rng.normal(size=(n, 4)) + 2.5 * np.eye(k, 4)[groups], groups


def pictures(folder, n=45):
    """Squares in three colours, 24 pixels wide."""
    from PIL import Image

    X, groups = blobs(n)
    source = folder / "squares"
    source.mkdir()
    items = []
    for row, group in enumerate(groups):
        Image.new("RGB", (24, 24), COLOURS[group]).save(source / f"square-{row:02d}.png")
        items.append(
            Item(
                row,
                f"square-{row:02d}.png",
                "image",
                f"square-{row:02d}.png",
                media=f"square-{row:02d}.png",
            )
        )
    return X, items, source, Settings("Squares", n_clusters=3)


def far_squares(folder):
    """The same squares with well separated groups, so that a wrong answer stands out."""
    _, items, source, settings = pictures(folder)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(items), 4)) + 20 * np.eye(3, 4)[np.arange(len(items)) % 3]
    return X, items, source, settings


def texts(folder, n=45):
    """Short texts with two further columns; each ends in something that must stay text."""
    X, groups = blobs(n)
    about = ("the invoice is wrong", "the page does not load", "the colours are too dark")
    items = [
        Item(
            row,
            f"t{row}",
            "text",
            f"Ticket {row}",
            text=f"Hello, {about[group]} since day {row}. {HOSTILE}",
            cells=(("plan", "free" if row % 2 else "team"), ("country", "PT")),
        )
        for row, group in enumerate(groups)
    ]
    source = folder / "tickets.csv"
    source.write_text("text\n")
    return X, items, source, Settings(f"Tickets {HOSTILE}", n_clusters=3)


def sounds(folder, n=24):
    """Tones of three pitches; asked about as triplets."""
    import soundfile

    X, groups = blobs(n)
    source = folder / "clips"
    source.mkdir()
    time = np.arange(1600) / 8000.0
    items = []
    for row, group in enumerate(groups):
        soundfile.write(
            source / f"clip-{row:02d}.wav", 0.3 * np.sin(2 * np.pi * 300 * (group + 1) * time), 8000
        )
        items.append(
            Item(row, f"clip-{row:02d}.wav", "sound", f"clip-{row:02d}.wav", media=f"clip-{row:02d}.wav")
        )
    return X, items, source, Settings("Clips", n_clusters=3, ask="triplets")


KINDS = {"pictures": pictures, "far squares": far_squares, "texts": texts, "sounds": sounds}


# ---------------------------------------------------------------------- a server


class Served:
    """A studio in a thread that can be stopped and restarted at the same address."""

    def __init__(self, project):
        self.project = project
        self.port = 0
        self.n_people = 0
        self.start()

    def start(self):
        from likewise.studio.server import StudioServer

        self.server = StudioServer(self.project, port=self.port)
        self.url = self.server.url
        self.port = int(self.url.rsplit(":", 1)[1])
        up = threading.Event()

        def ready(studio, link):
            self.studio, self.owner_link = studio, link
            up.set()

        self.thread = threading.Thread(target=self.server.serve, kwargs={"ready": ready}, daemon=True)
        self.thread.start()
        assert up.wait(PATIENCE), "the studio did not start"

    def stop(self):
        self.server.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the studio did not end"

    def person(self, name=None, role="annotator"):
        """Add a person and return their login link."""
        self.n_people += 1
        person, token = self.studio.people.add(name or f"Ann {self.n_people}", role)
        return person, self.server.make_link(token)

    def events(self, person):
        """The stored events of a person, in order."""
        return self.studio.store.read(lambda tx: tx.get_events(person=person.id))


@pytest.fixture(scope="module")
def studios(tmp_path_factory):
    """Return the running studio of a kind of project; one of each per test module."""
    running = {}

    def get(kind) -> Served:
        if kind not in running:
            folder = tmp_path_factory.mktemp(kind)
            X, items, source, settings = KINDS[kind](folder)
            project = Project.create(
                folder / f"{kind}.likewise",
                X=X,
                items=items,
                settings=settings,
                described=Described(
                    items[0].kind, len(items), features="4 numbers", notes=("One file was left out.",)
                ),
                source=source,
            )
            running[kind] = Served(project)
        return running[kind]

    yield get
    for served in running.values():
        served.stop()


@pytest.fixture
def studio(studios):
    """A running studio of pictures, asked about in pairs."""
    return studios("pictures")


# ---------------------------------------------------------------------- a browser


@pytest.fixture(scope="module")
def browser():
    """Chromium. It ends with the test module, because Playwright's event loop conflicts with others."""
    playwright = pytest.importorskip("playwright.sync_api") if os.environ.get("CI") != "true" else None
    if playwright is None:
        from playwright import sync_api as playwright
    if not Path(CHROMIUM).exists():
        cannot(f"chromium is not installed: no {CHROMIUM}")
    playwright.expect.set_options(timeout=PATIENCE * 600)  # three minutes, so that a failure is visible
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield found
        found.close()


class Visitor:
    """A person at a browser: their page, and its errors."""

    def __init__(self, browser, served, role="annotator", **options):
        self.served = served
        self.person, link = served.person(role=role)
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.context.set_default_timeout(PATIENCE * 1000)
        self.faults = []
        self.page = self.tab()
        self.page.goto(link)
        self.page.wait_for_url(lambda url: "login" not in url)

    def tab(self):
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.faults.append(message.text) if "Content Security Policy" in message.text else None
            ),
        )
        return page

    def ready(self, page=None):
        """Wait until a question can be answered, and return its id."""
        page = page or self.page
        page.wait_for_selector(READY)
        return page.get_attribute("section.question", "data-question")

    def press(self, key, page=None):
        """Press a key, wait for the next question, and return the ids of both."""
        page = page or self.page
        before = self.ready(page)
        page.keyboard.press(key)
        page.wait_for_selector(f'{READY}:not([data-question="{before}"])')
        return before, page.get_attribute("section.question", "data-question")

    def saved(self, state="saved", page=None):
        """Wait for the badge."""
        (page or self.page).wait_for_selector(f'#saved[data-state="{state}"]')

    def go(self, route):
        self.page.evaluate("route => { location.hash = '#/' + route; }", route)

    def events(self):
        return self.served.events(self.person)

    def words(self):
        """The answers of this person in the store."""
        return [event.body.get("answer", event.kind) for event in self.events()]


@pytest.fixture
def visit(browser):
    """Log a new person in to a studio; `visit(studio)` returns a Visitor."""
    visitors = []

    def come(served, **options) -> Visitor:
        visitors.append(Visitor(browser, served, **options))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.context.close()
        assert not visitor.faults, visitor.faults


@pytest.fixture
def axe():
    """Return what axe-core finds on a page; nothing is expected."""
    package = pytest.importorskip("axe_playwright_python") if os.environ.get("CI") != "true" else None
    if package is None:
        import axe_playwright_python as package
    script = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")

    def find(page):
        # During a change of theme the contrast is between the two.
        page.emulate_media(reduced_motion="reduce")
        page.evaluate("() => Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0)))")
        page.evaluate(script)
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {node['html'][:200]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    return find
