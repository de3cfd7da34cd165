"""Group recordings, tickets and photographs in the studio, with 5 % wrong answers, through a real browser.

`python examples/studio_walks.py` starts the studio for each collection twice, with true answers and with some
wrong ones, answers with single keys, and prints the adjusted Rand index of the groups. With
``--pictures FOLDER`` it also takes screenshots in light and dark mode, on a large screen and on a phone. It
needs Chromium and the package playwright. The recordings are synthetic; tickets (Banking77) and photographs
(COIL-20) are read from the folder ``LIKEWISE_DATA`` and left out if it lacks them.
"""

import argparse
import csv
import io
import json
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.metrics import adjusted_rand_score

from likewise.datasets import load

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
READY = "section.question[data-ready=true]"
LOADED = """() => [...document.images].every(
    image => image.complete || image.getBoundingClientRect().top > innerHeight)"""
PATIENCE = 120_000  # milliseconds, enough for a busy machine


@dataclass(frozen=True)
class Collection:
    """Data on disk, the options of the studio, and the class of each item by id."""

    options: list[str]
    class_of: dict[str, str]
    n_answers: int


# ---------------------------------------------------------------------- collections


def draw_rows(rng, y, classes, n_each):
    """Draw rows of each class."""
    return np.concatenate([rng.choice(np.flatnonzero(y == one), n_each, replace=False) for one in classes])


def write_birds(folder, rng, n_each=25):
    """Write synthetic songs of six species: sweeps, trills and whistles, with noise of the recorder."""
    import soundfile

    species = {  # start and end of the pitch in Hz, notes per second, share of a note that sounds
        "wren": (5500, 4200, 9.0, 0.6),
        "thrush": (2200, 3100, 2.5, 0.8),
        "chiffchaff": (4600, 3600, 3.0, 0.4),
        "owl": (520, 480, 0.8, 0.7),
        "cuckoo": (680, 560, 1.6, 0.5),
        "warbler": (2800, 6000, 5.0, 0.9),
    }
    folder.mkdir()
    classes = {}
    names = [name for name in species for _ in range(n_each)]
    for number, name in enumerate(rng.permutation(names)):
        start, end, rate, share = species[name]
        time = np.arange(int(16_000 * rng.uniform(1.5, 3.0))) / 16_000
        phase = (time * rate * rng.uniform(0.9, 1.1)) % 1.0
        pitch = (start + (end - start) * phase / share) * rng.uniform(0.95, 1.05)
        loudness = np.where(phase < share, np.sin(np.pi * phase / share) ** 2, 0.0)
        song = loudness * np.sin(2 * np.pi * np.cumsum(pitch) / 16_000)
        noise = rng.normal(size=len(time)) * rng.uniform(0.01, 0.15)
        file = f"recording-{number:03d}.wav"
        soundfile.write(folder / file, 0.4 * rng.uniform(0.3, 1.0) * (song + noise), 16_000)
        classes[file] = name
    return Collection([str(folder)], classes, n_answers=60)


def write_tickets(folder, rng, n_classes=12, n_each=40):
    """Write messages of twelve intents of Banking77 as a table."""
    data = load("banking77")
    texts, intents = data.texts, np.asarray(data.y)
    folder.mkdir()
    chosen = rng.choice(np.unique(intents), n_classes, replace=False)
    rows = draw_rows(rng, intents, chosen, n_each)
    with open(folder / "tickets.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "message"])
        table.writerows((f"t{row}", texts[row]) for row in rng.permutation(rows))
    options = [str(folder / "tickets.csv"), "--text", "message", "--id", "id"]
    return Collection(options, {f"t{row}": str(intents[row]) for row in rows}, n_answers=150)


def write_photographs(folder, rng, n_each=24):
    """Write photographs of twenty rotated objects (COIL-20)."""
    from PIL import Image

    data = load("coil20")
    X, y = data.X, np.asarray(data.y)
    folder.mkdir()
    rows = draw_rows(rng, y, np.unique(y), n_each)
    classes = {}
    for number, row in enumerate(rng.permutation(rows)):
        pixels = (255 * X[row].reshape(32, 32)).clip(0, 255).astype(np.uint8)
        file = f"photo-{number:03d}.png"
        Image.fromarray(pixels).resize((256, 256), Image.Resampling.BICUBIC).save(folder / file)
        classes[file] = str(y[row])
    return Collection([str(folder)], classes, n_answers=150)


COLLECTIONS = {"birds": write_birds, "tickets": write_tickets, "photographs": write_photographs}


# ---------------------------------------------------------------------- a person


class Person:
    """A simulated annotator for pairs, placements, members and groups, who gives some wrong answers."""

    def __init__(self, page, class_of_row, error_rate, n_answers):
        self.page, self.class_of_row = page, class_of_row
        self.draw, self.n_answers, self.n_wrong = random.Random(0), 0, 0
        self.wrong = set(self.draw.sample(range(n_answers), round(error_rate * n_answers)))

    def answer(self):
        """Answer the question on the screen and wait for the next one; return its kind, None at the end."""
        self.page.wait_for_selector(f'{READY}, section.question[data-state="finished"]', timeout=PATIENCE)
        section = self.page.locator("section.question")
        if section.get_attribute("data-state") == "finished":
            return None
        before = section.get_attribute("data-question")
        kind = section.locator(".items").get_attribute("class").split()[1]
        keys = getattr(self, f"_answer_{kind}")(section.locator(".items"))
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_selector(f'section.question:not([data-question="{before}"])', timeout=PATIENCE)
        return kind

    def _list_classes(self, part):
        rows = part.evaluate_all("found => found.map(one => Number(one.dataset.row))")
        return [self.class_of_row[row] for row in rows]

    def _choose(self, right, others):
        """Return the right key or, if this answer is to be wrong, another one."""
        self.n_answers += 1
        if self.n_answers - 1 not in self.wrong:
            return right
        self.n_wrong += 1
        return self.draw.choice(others)

    def _answer_pair(self, items):
        a, b = self._list_classes(items.locator("figure.item"))
        return [self._choose(*("s", ["d"]) if a == b else ("d", ["s"]))]

    def _answer_placement(self, items):
        (own,) = self._list_classes(items.locator("figure.item"))
        cards = items.locator(".choose")
        groups = [self._list_classes(cards.nth(i).locator("[data-row]"))[0] for i in range(cards.count())]
        keys = [*map(str, range(1, len(groups) + 1)), "n"]
        right = keys[groups.index(own)] if own in groups else "n"
        return [self._choose(right, [key for key in keys if key != right])]

    def _answer_members(self, items):
        group = self._list_classes(items.locator(".group-panel [data-row]"))[0]
        tiles = self._list_classes(items.locator(".tap [data-row]"))
        odd = {number for number, own in enumerate(tiles, start=1) if own != group}
        wrong = self._choose(None, list(range(1, len(tiles) + 1)))
        return [*map(str, sorted(odd if wrong is None else odd ^ {wrong})), "Enter"]

    def _answer_groups(self, items):
        panels = items.locator(".group-panel")
        a, b = (self._list_classes(panels.nth(i).locator("[data-row]"))[0] for i in range(2))
        return [self._choose(*("s", ["d"]) if a == b else ("d", ["s"]))]


# ---------------------------------------------------------------------- a walk


@contextmanager
def serve(options):
    """Run the studio, and yield its address and login link."""
    command = [Path(sys.executable).with_name("likewise"), "studio", *options, "--no-open", "--json"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        output = ""
        while not output.rstrip().endswith("}"):
            output += served.stdout.readline() or sys.exit("the studio did not start")
        yield json.loads(output)
    finally:
        served.terminate()
        served.communicate(timeout=60)


def read_labels(page, url):
    """Return the exported table of groups, a dict per item, once the groups include all answers."""
    while page.request.get(f"{url}/api/progress").json()["behind"]:
        page.wait_for_timeout(200)
    while not (reply := page.request.get(f"{url}/api/export?what=labels&format=csv")).ok:
        page.wait_for_timeout(200)  # the first groups are being computed
    return list(csv.DictReader(io.StringIO(reply.text(), newline="")))


def walk(browser, collection, error_rate, n_answers=None, pictures=None):
    """Answer questions about a collection; return the scores."""
    with serve(collection.options) as served:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.add_init_script("localStorage.setItem('likewise introduction', 'seen')")
        page.goto(served["login"])
        page.wait_for_selector(READY, timeout=PATIENCE)
        first = read_labels(page, served["url"])
        truth = [collection.class_of[row["id"]] for row in first]
        n_answers = n_answers or collection.n_answers
        person = Person(page, truth, error_rate, n_answers)
        kinds = {}
        for number in range(n_answers):
            if pictures is not None and number == 40:
                take_pictures(page, f"{pictures}-question")
            kind = person.answer()
            if kind is None:
                break
            kinds[kind] = kinds.get(kind, 0) + 1
        found = read_labels(page, served["url"])
        if pictures is not None:
            page.goto(f"{served['url']}/#/groups")
            page.wait_for_selector("article.group-card", timeout=PATIENCE)
            take_pictures(page, f"{pictures}-groups")
        groups = [row["group"] for row in found]
        page.close()
        return {
            "ari_before": round(adjusted_rand_score(truth, [row["group"] for row in first]), 3),
            "ari": round(adjusted_rand_score(truth, groups), 3),
            "groups": len(set(groups)),
            "answers": sum(kinds.values()),
            "wrong": person.n_wrong,
            "kinds": kinds,
            "faults": faults,
        }


def take_pictures(page, name):
    """Save screenshots in light and dark mode, on a large screen and on a phone."""
    for scheme in ("light", "dark"):
        for width, height in ((1440, 900), (390, 844)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(LOADED, timeout=PATIENCE)
            page.wait_for_timeout(400)  # transitions end; only for looks
            page.screenshot(path=f"{name}-{scheme}-{width}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_timeout(300)


def main():
    """Take all walks and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=COLLECTIONS, action="append")
    parser.add_argument("--answers", type=int, help="answers per walk (default: depends on the collection)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="take screenshots")
    options = parser.parse_args()
    with sync_playwright() as play, tempfile.TemporaryDirectory() as scratch:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in options.only or COLLECTIONS:
            for error_rate in (0.0, 0.05):
                folder = Path(scratch) / f"{name}-{error_rate:g}"
                folder.mkdir()
                try:
                    collection = COLLECTIONS[name](folder / name, np.random.default_rng(0))
                except FileNotFoundError as error:
                    print(f"{name} is left out: {error}", file=sys.stderr)
                    break
                pictures = options.pictures / f"walk-{name}" if options.pictures and error_rate else None
                found = walk(browser, collection, error_rate, options.answers, pictures)
                print(json.dumps({"collection": name, "error_rate": error_rate, **found}), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
