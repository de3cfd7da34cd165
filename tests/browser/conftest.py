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
SIZE = {"width": 1280, "height": 800}
SETTLED = """async () => {
  const moving = () => document.getAnimations().filter(one => one.playState === "running");
  do {
    await new Promise(requestAnimationFrame);
    await Promise.all(moving().map(one => one.finished.catch(() => 0)));
  } while (moving().length);
}"""
SEEN = "try { localStorage.setItem('likewise introduction', 'seen'); } catch { /* a blank page */ }"
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
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


def grouped_squares(folder):
    """The same squares, asked about as groups."""
    X, items, source, _ = far_squares(folder)
    return X, items, source, Settings("Grouped squares")


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
    """Tones of three pitches and four lengths; asked about as triplets."""
    import soundfile

    X, groups = blobs(n)
    source = folder / "clips"
    source.mkdir()
    items = []
    for row, group in enumerate(groups):
        time = np.arange(1600 + 400 * (row % 4)) / 8000.0
        soundfile.write(
            source / f"clip-{row:02d}.wav", 0.3 * np.sin(2 * np.pi * 300 * (group + 1) * time), 8000
        )
        items.append(
            Item(row, f"clip-{row:02d}.wav", "sound", f"clip-{row:02d}.wav", media=f"clip-{row:02d}.wav")
        )
    return X, items, source, Settings("Clips", n_clusters=3, ask="triplets")


def uneven_sounds(folder, n=12):
    """Tones of one and of twenty seconds, asked about as triplets."""
    import soundfile

    X, groups = blobs(n)
    source = folder / "uneven"
    source.mkdir()
    items = []
    for row, group in enumerate(groups):
        name, seconds = f"tone-{row:02d}.wav", 20 if row % 2 else 1
        tone = 0.3 * np.sin(2 * np.pi * 300 * (group + 1) * np.arange(8000 * seconds) / 8000.0)
        soundfile.write(source / name, tone, 8000)
        items.append(Item(row, name, "sound", name, media=name))
    return X, items, source, Settings("Tones", n_clusters=3, ask="triplets")


def rows(folder, n=45):
    """Rows of a table: numbers of very different sizes, a category, and a long name."""
    X, groups = blobs(n)
    rng = np.random.default_rng(1)
    items = [
        Item(
            row,
            f"wine{row}",
            "row",
            f"wine{row}",
            cells=(
                ("ash", f"{2.3 + 0.1 * rng.normal():.2f}"),
                ("proline", f"{400 + 300 * group + 20 * rng.normal():.0f}"),
                ("a_column_with_a_very_long_name_without_any_space", f"{rng.normal():.1f}"),
                ("region", ("north", "south", "west")[group]),
            ),
        )
        for row, group in enumerate(groups)
    ]
    source = folder / "wines.csv"
    source.write_text("ash\n")
    return X, items, source, Settings("Wines", n_clusters=3)


KINDS = {
    "pictures": pictures,
    "far squares": far_squares,
    "grouped squares": grouped_squares,
    "prepared squares": grouped_squares,  # for questions that a test puts into the queue
    "texts": texts,
    "sounds": sounds,
    "uneven sounds": uneven_sounds,
    "rows": rows,
}


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

    def logged_in(self, role):
        """Add a person who is logged in, and return the cookie of their browser."""
        self.n_people += 1
        person, token = self.studio.people.add(f"Ann {self.n_people}", role)
        _, session = self.studio.people.log_in(token, "127.0.0.1")
        return person, {"name": f"likewise-{self.studio.id}", "value": session, "url": self.url}

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


@pytest.fixture(scope="package")
def browser():
    """Chromium. It ends with these tests, because Playwright's event loop conflicts with others."""
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


class Window:
    """A browser window with its own cookies; the errors of its pages are collected in `faults`."""

    def __init__(self, browser, newcomer=False, **options):
        self.context = browser.new_context(**{"viewport": SIZE, **options})
        if not newcomer:  # the introduction is a dialog, which would take the keys
            self.context.add_init_script(SEEN)
        self.context.set_default_timeout(PATIENCE * 1000)
        self.faults = []
        self.context.on("weberror", lambda error: self.faults.append(str(error.error)))
        self.context.on("console", self._look_for_refused_content)

    def _look_for_refused_content(self, message):
        if "Content Security Policy" in message.text:
            self.faults.append(message.text)

    def clear(self, origin):
        """Return its page, empty; forget cookies and what pages of this origin have stored."""
        page, *others = self.context.pages or [self.context.new_page()]
        for other in others:
            other.close()
        self.context.set_offline(False)
        self.context.unroute_all()
        page.unroute_all()
        page.goto("about:blank")
        page.set_viewport_size(SIZE)
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        self.context.clear_cookies()
        session = self.context.new_cdp_session(page)
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        return page


@pytest.fixture(scope="package")
def window(browser):
    """A window that all tests share: to open one takes as long as to load a page."""
    shared = Window(browser)
    yield shared
    shared.context.close()


class Visitor:
    """A person at a browser, who is logged in, and their page."""

    def __init__(self, window, page, served, role):
        self.served = served
        self.person, session = served.logged_in(role)
        self.context, self.page = window.context, page
        self.context.add_cookies([session])
        self.page.goto(f"{served.url}/")

    def tab(self):
        return self.context.new_page()

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
def visit(browser, window):
    """Log a new person in to a studio; `visit(studio)` returns a Visitor.

    The first one without options uses the window that all tests share. A test that listens to events of its
    page asks for another: `visit(studio, shared=False)`; `newcomer=True` shows the introduction.
    """
    used = []

    def come(served, role="annotator", *, shared=True, **options) -> Visitor:
        shared = shared and not options and window not in used
        used.append(window if shared else Window(browser, **options))
        page = window.clear(served.url) if shared else used[-1].context.new_page()
        used[-1].faults.clear()
        return Visitor(used[-1], page, served, role)

    yield come
    for one in used:
        if one is not window:
            one.context.close()
        assert not one.faults, one.faults


@pytest.fixture(scope="module")
def run(browser, studios):
    """Run a function of a module of the pages: `run("diff.js", "m => m.words('a b')")`."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(studios("pictures").url + "/login")

    def do(module, code):
        return page.evaluate(
            f"async () => ({code})(await import(new URL('static/{module}', document.baseURI)))"
        )

    yield do
    context.close()


@pytest.fixture
def axe():
    """Return what axe-core finds on a page in the light and the dark theme; nothing is expected."""
    package = pytest.importorskip("axe_playwright_python") if os.environ.get("CI") != "true" else None
    if package is None:
        import axe_playwright_python as package
    script = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")

    def find(page):
        found = []
        for theme in ("light", "dark"):
            # During a change of theme the contrast is between the two.
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.evaluate(SETTLED)
            if not page.evaluate("() => 'axe' in window"):
                page.evaluate(script)
            # All rules but those about colours look at the elements, which are the same in both themes.
            rules = {"runOnly": COLOUR_RULES} if theme == "dark" else {}
            report = page.evaluate("how => axe.run(document, how)", {"resultTypes": ["violations"], **rules})
            found += [
                f"{theme}: {one['id']}: {one['help']}: {node['html'][:200]}"
                for one in report["violations"]
                for node in one["nodes"]
            ]
        page.emulate_media(color_scheme="light")
        return found

    return find
