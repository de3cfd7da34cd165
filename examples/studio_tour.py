"""Take screenshots of a newcomer's first minutes in the studio for the documentation.

`python examples/studio_tour.py` writes the pictures to ``docs/images``. It starts the studio with its sample
data, logs in with the link, answers, undoes, skips, contradicts itself, resolves the contradiction and
exports. It needs Chromium and the package playwright.
"""

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from likewise.studio.sample import write_sample

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
READY = "section.question[data-ready=true]"
PATIENCE = 60_000  # milliseconds, enough for a busy machine


class Tour:
    """A simulated newcomer who answers by the true kinds."""

    def __init__(self, page, url, kind_of, pictures):
        self.page, self.url, self.kind_of, self.pictures = page, url, kind_of, pictures
        self.answered = []

    def picture(self, name):
        """Save a screenshot."""
        if self.pictures is not None:
            self.page.mouse.move(1, 1)  # away from buttons, which would be highlighted
            self.page.wait_for_timeout(400)  # let transitions finish and pictures load; only for looks
            self.page.screenshot(path=self.pictures / f"studio-{name}.png")

    def asked(self):
        """Return the question on the screen and its rows, once the page accepts keys."""
        self.page.locator(READY).wait_for(timeout=PATIENCE)
        question = self.page.locator("section.question").get_attribute("data-question")
        figures = self.page.locator("section.question figure.item")
        return question, [int(figures.nth(i).get_attribute("data-row")) for i in range(figures.count())]

    def press(self, key):
        """Press a key, and wait for another question."""
        before, rows = self.asked()
        self.page.keyboard.press(key)
        self.page.locator(f'section.question:not([data-question="{before}"])').wait_for(timeout=PATIENCE)
        return before, rows

    def answer(self, n):
        """Answer n questions correctly."""
        for _ in range(n):
            _, (a, b) = self.asked()
            self.press("s" if self.kind_of[a] == self.kind_of[b] else "d")
            self.answered.append((a, b))

    def saved(self):
        """Wait until the page shows that everything is saved."""
        expect(self.page.locator("#saved")).to_have_attribute("data-state", "saved", timeout=PATIENCE)

    def settled(self):
        """Wait until the groups reflect all answers."""
        for _ in range(PATIENCE // 100):
            if not self.api("api/progress").json()["behind"]:
                return
            self.page.wait_for_timeout(100)

    def go(self, view):
        """Open a page of the studio."""
        self.page.goto(f"{self.url}/#/{view}")

    def api(self, path):
        """Send a request to the server, like the page does."""
        return self.page.request.get(f"{self.url}/{path}")


@contextmanager
def chromium():
    """Start a separate browser."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def tour(folder, pictures=None, browser=None, n_birds=96, n_answers=30):
    """Take the tour in a folder, in the given browser or a new one, and return the result."""
    folder = Path(folder)
    kind_of = write_sample(folder / "sample-birds", n=n_birds)
    command = [Path(sys.executable).with_name("likewise"), "studio", "--sample", "--no-open", "--json"]
    served = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    problems = []
    try:
        output = ""
        while not output.rstrip().endswith("}"):
            output += served.stdout.readline() or sys.exit("the studio did not start")
        output = json.loads(output)
        with chromium() if browser is None else nullcontext(browser) as found:
            page = found.new_page(viewport={"width": 1200, "height": 800})
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(output["login"])
            return {**walk(Tour(page, output["url"], kind_of, pictures), n_answers), "problems": problems}
    finally:
        served.terminate()
        served.communicate(timeout=20)


def walk(newcomer, n_answers):
    """Go through everything that a newcomer would try."""
    page = newcomer.page
    page.locator("dialog.intro-dialog").wait_for(timeout=PATIENCE)
    page.get_by_role("group", name="Sample answers").get_by_role("button", name="Same").click()
    newcomer.picture("introduction")
    for name in ("Next", "Next", "Start"):
        page.get_by_role("button", name=name, exact=True).click()
    newcomer.asked()
    newcomer.picture("question")
    newcomer.answer(5)
    before, rows = newcomer.press("u")
    newcomer.asked()
    page.keyboard.press("z")  # undo "unsure"
    page.locator(f'section.question[data-question="{before}"]').wait_for(timeout=PATIENCE)
    again = newcomer.asked()[1]
    newcomer.press("k")
    newcomer.answer(n_answers - 5)
    newcomer.saved()
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    newcomer.picture("keys")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")

    newcomer.go("history")
    page.get_by_role("button", name="Put back").first.wait_for(timeout=PATIENCE)
    newcomer.picture("history")

    newcomer.go("map")
    page.locator("canvas").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(3000 if newcomer.pictures else 100)
    newcomer.picture("map")

    newcomer.go("groups")
    page.locator("article.group-card").first.wait_for(timeout=PATIENCE)
    newcomer.picture("groups")

    contradiction = contradict(newcomer)
    answers = newcomer.api("api/export?what=answers&format=csv").text().splitlines()
    labels = newcomer.api("api/export?what=labels&format=csv").text().splitlines()
    report = newcomer.api("api/report")

    newcomer.go("people")
    page.get_by_role("table").first.wait_for(timeout=PATIENCE)
    newcomer.picture("people")
    looks(newcomer)
    return {
        "undone": rows == again,
        "answers": len(answers) - 1,
        "labels": len(labels) - 1,
        "contradiction": contradiction,
        "report": report.status,
    }


def contradict(newcomer):
    """Contradict an answer: join the groups of two items that were answered apart, then undo one answer."""
    page, corrections = newcomer.page, 0
    for attempt in range(5):  # a refit in between may change the groups that the corrections refer to
        corrections += join_groups_of_items_apart(newcomer, attempt)
        newcomer.settled()
        if newcomer.api("api/conflicts").json()["conflicts"]:
            break
    newcomer.go("conflicts")
    back = page.get_by_role("button", name="Undo this answer").first
    back.wait_for(timeout=PATIENCE)
    newcomer.picture("conflicts")
    there = newcomer.api("api/conflicts").json()["conflicts"]
    left = len(there)
    for _ in range(6):  # after an undo another chain may remain
        joins = page.get_by_role("button", name=re.compile("Undo this answer: (Same|.* one group)"))
        with page.expect_response("**/api/undo"):
            joins.last.click()
        newcomer.settled()
        left = len(newcomer.api("api/conflicts").json()["conflicts"])
        if not left:
            break
        page.reload()
        joins.last.wait_for(timeout=PATIENCE)
    return {"found": len(there), "left": left, "corrections": corrections}


def join_groups_of_items_apart(newcomer, attempt):
    """Say that the groups of two items answered apart are one; return the number of corrections."""
    groups = newcomer.api("api/groups").json()["groups"]
    middles = {group["typical"][0]["row"] for group in groups}
    labels = struct.unpack(f"<{len(newcomer.kind_of)}H", newcomer.api("api/map/labels").body())
    events = newcomer.api("api/history?limit=50").json()["events"]
    answered = [
        [item["row"] for item in event["question"]["items"]]
        for event in events
        if event["answer"] == "DIFFERENT"
    ]
    apart = min(
        (rows for rows in answered if labels[rows[0]] != labels[rows[1]]),
        key=lambda rows: len(middles & set(rows)),
    )
    own = [labels[row] for row in apart]
    corrections = [
        (f"groups/{number}/belongs", {"row": row})
        for number, row in zip(own, apart, strict=True)
        if row not in middles  # the others are joined with these
    ]
    corrections.append(("repairs", {"act": "merge", "groups": own}))
    for place, (path, content) in enumerate(corrections):
        output = newcomer.page.request.post(
            f"{newcomer.url}/api/{path}",
            data={"key": f"tour-correction-{attempt}-{place}", **content},
            headers={"X-Likewise": "1"},
        )
        assert output.ok, output.text()
    return len(corrections)


def looks(newcomer):
    """Show the question in dark mode and on a phone."""
    page = newcomer.page
    page.emulate_media(color_scheme="dark")
    newcomer.go("question")
    newcomer.asked()
    newcomer.picture("dark")
    page.set_viewport_size({"width": 390, "height": 800})
    newcomer.picture("phone")


if __name__ == "__main__":
    place = Path(__file__).parents[1] / "docs" / "images"
    with tempfile.TemporaryDirectory() as scratch:
        print(tour(scratch, place))
