"""Measure the studio under load, when it is killed, with many rows, and in a real browser.

`python benchmarks/studio.py` (`--only load`, `kills`, `answers`, `rows` or `points` for a part; `--quick` for
a short version). Everything runs on loopback, with limits on number and time. The goals, while 20 people
answer and the model refits: answers acknowledged within 100 ms (99 %), the next question painted within
150 ms of the key press (95 %). No acknowledged answer is lost in ten kills. Over 20,000 answers the memory
grows by at most 50 MB, and the WAL stays bounded. With 10^5 rows, the first question comes within 10 s and
the map within 2 s. 10^6 points are recoloured within 100 ms.
"""

import argparse
import asyncio
import json
import platform
import random
import tempfile
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_blobs

from _studio_client import Person, Served, invited
from likewise.studio.project import Project
from likewise.studio.records import Described, Group, Item, Layout, Picture, Settings
from likewise.studio.server import StudioServer
from likewise.studio.store import open_store

HERE = Path(__file__).parent
console = Console()
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def ms(seconds, share):
    """Return a quantile in milliseconds."""
    return round(float(np.quantile(seconds, share)) * 1000, 1)


def rows_file(folder, n, d=16, k=8):
    """Write rows; return the path of the table, the path of the features, and the true classes."""
    X, y = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)
    table, numbers = folder / "rows.csv", folder / "rows.npy"
    np.save(numbers, X.astype(np.float32))
    lines = ["id,name", *(f"r{i},item number {i}" for i in range(n))]
    table.write_text("\n".join(lines))
    return table, numbers, y


def right(question, y):
    a, b = (item["row"] for item in question["items"])
    return "SAME" if y[a] == y[b] else "DIFFERENT"


# Load


async def answers(person, y, until, think, seconds, failed, kept=None):
    """Answer until the time is over, with a pause for thought before each answer."""
    rng = random.Random(person.name)
    held = {}
    while time.monotonic() < until:
        if not held:
            _, asked = await person.call("POST", "/api/questions", {"n": 3})
            held = {question["id"]: question for question in asked["questions"]}
            if not held:
                await asyncio.sleep(0.05)
                continue
        await asyncio.sleep(rng.uniform(0.5, 1.5) * think)
        id, question = next(iter(held.items()))
        content = {"key": uuid.uuid4().hex, "question": id, "answer": right(question, y), "seconds": think}
        started = time.perf_counter()
        status, reply = await person.call("POST", "/api/answers", content)
        seconds.append(time.perf_counter() - started)
        del held[id]
        if status != 200:
            failed.append((status, reply))
            continue
        if kept is not None:
            kept.append(content["key"])
        held |= {q["id"]: q for q in reply["next"] if q["id"] != id}


async def load(n_people, length, think, with_browser):
    with tempfile.TemporaryDirectory() as folder:
        table, numbers, y = rows_file(Path(folder), 2000)
        served = Served(table, "--features", numbers, "--id", "id", "-k", 8)
        try:
            owner = await Person(served).log_in(served.token)
            await owner.first_question()
            people = await invited(owner, n_people)
            seconds, failed, keys, looking = [], [], [], None
            if with_browser:
                _, content = await owner.call("POST", "/api/people", {"name": "in a browser"})
                there = threading.Event()  # the start of a browser uses both cores and is not measured
                looking = asyncio.create_task(
                    asyncio.to_thread(browser_keys, content["link"], length - 1, there.set)
                )
                await asyncio.to_thread(there.wait, 60)
            until = time.monotonic() + length
            tasks = [
                asyncio.create_task(answers(person, y, until, think, seconds, failed)) for person in people
            ]
            await asyncio.gather(*tasks)
            keys = [] if looking is None else await looking
            owner.close()  # the server has closed the idle connection
            _, progress = await owner.call("GET", "/api/progress")
            found = {
                "people": n_people + with_browser,
                "think_s": think,
                "answers": len(seconds),
                "answers_per_s": round(len(seconds) / length, 1),
                "failed": len(failed),
                "post_ms": {"p50": ms(seconds, 0.5), "p95": ms(seconds, 0.95), "p99": ms(seconds, 0.99)},
                "behind": progress["behind"],
            }
            if keys:
                found["key_to_question_ms"] = {"n": len(keys), "p50": ms(keys, 0.5), "p95": ms(keys, 0.95)}
            return found
        finally:
            served.stop()


def browser_keys(link, length, ready):
    """Answer in a real browser; return the seconds from each key press to the next question on the screen."""
    from playwright.sync_api import sync_playwright

    # Time key presses and paints inside the page, without the delay of the driver.
    watch = """() => {
        window.pressed = 0; window.took = [];
        const page = document.querySelector("section.question");
        let shown = page.dataset.question;
        addEventListener("keydown", () => { window.pressed = performance.now(); }, true);
        new MutationObserver(() => {
            if (page.dataset.question && page.dataset.question !== shown) {
                shown = page.dataset.question;
                requestAnimationFrame(() => setTimeout(() => {
                    if (window.pressed) window.took.push((performance.now() - window.pressed) / 1000);
                    window.pressed = 0;
                }));
            }
        }).observe(page, { attributes: true });
    }"""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.add_init_script("localStorage.setItem('likewise introduction', 'seen')")
        page.goto(link)
        page.locator("section.question[data-ready=true]").wait_for(timeout=20_000)
        page.evaluate(watch)
        ready()
        until, n = time.monotonic() + length, 0
        while time.monotonic() < until:
            page.keyboard.press("s" if n % 3 == 0 else "d")
            n += 1
            page.wait_for_timeout(400)
        took = page.evaluate("() => window.took")
        browser.close()
    return took


# Kills


async def kills(times, n_people, wanted):
    """Kill the server repeatedly after a number of answers; count acknowledged answers that are lost."""
    lost = repeated = acknowledged = 0
    with tempfile.TemporaryDirectory() as folder:
        table, numbers, y = rows_file(Path(folder), 1000)
        served = Served(table, "--features", numbers, "--id", "id", "-k", 8)
        owner = await Person(served).log_in(served.token)
        await owner.first_question()
        people = await invited(owner, n_people)
        kept = []
        for _ in range(times):
            until = time.monotonic() + 60
            tasks = [asyncio.create_task(answers(p, y, until, 0.02, [], [], kept)) for p in people]
            n, end = len(kept) + wanted, time.monotonic() + 20
            while len(kept) < n and time.monotonic() < end:
                await asyncio.sleep(0.02)
            served.kill()
            await asyncio.gather(*tasks, return_exceptions=True)
            served = Served(table, port=served.port)  # opens the same project; sessions stay valid
            for person in people:
                person.served = served
                person.close()
        served.stop()
        project = Project.open(Path(folder) / "rows.likewise")
        store = open_store(project.database_url)
        stored = [event.key for event in store.read(lambda tx: tx.get_events())]
        store.close()
        acknowledged = len(kept)
        lost, repeated = len(set(kept) - set(stored)), len(stored) - len(set(stored))
    return {"kills": times, "acknowledged": acknowledged, "lost": lost, "repeated": repeated}


# Memory and disk over many answers


def get_megabytes(pid):
    """Return the memory of the server and of its worker, without pages that they share with files."""
    server = psutil.Process(pid)
    return [
        round((one.memory_info().rss - one.memory_info().shared) / 2**20)
        for one in (server, *server.children())
    ]


async def many_answers(n, n_people):
    """Give many answers without a pause; return memory after a tenth and at the end, and the largest WAL."""
    with tempfile.TemporaryDirectory() as folder:
        table, numbers, y = rows_file(Path(folder), max(n, 1000), k=20)
        served = Served(table, "--features", numbers, "--id", "id", "-k", 20)
        log = Path(folder) / "rows.likewise" / "studio.sqlite-wal"
        try:
            owner = await Person(served).log_in(served.token)
            await owner.first_question()
            people = await invited(owner, n_people)
            kept, seconds, failed, memory, largest = [], [], [], [], 0
            until = time.monotonic() + 900
            tasks = [
                asyncio.create_task(answers(person, y, until, 0, seconds, failed, kept)) for person in people
            ]
            began = time.monotonic()
            while len(kept) < n and time.monotonic() < until and not any(task.done() for task in tasks):
                await asyncio.sleep(0.2)
                largest = max(largest, log.stat().st_size if log.exists() else 0)
                if len(kept) >= (len(memory) + 1) * n / 10:
                    memory.append(get_megabytes(served.process.pid))
            took = time.monotonic() - began
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            people[0].close()
            undos = []
            for _ in range(20):
                started = time.perf_counter()
                await people[0].call("POST", "/api/undo", {"key": uuid.uuid4().hex})
                undos.append(time.perf_counter() - started)
            return {
                "answers": len(kept),
                "answers_per_s": round(len(kept) / took, 1),
                "failed": len(failed),
                "post_ms": {"p50": ms(seconds, 0.5), "p99": ms(seconds, 0.99)},
                "server_MB": [one[0] for one in memory],
                "worker_MB": [max(one[1:], default=0) for one in memory],
                "largest_wal_MB": round(largest / 2**20, 1),
                "undo_ms": {"p50": ms(undos, 0.5), "most": ms(undos, 1)},
            }
        finally:
            served.stop()


# Many rows


async def many_rows(n, d):
    """Return the seconds from the command to the first question, and to the map in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        table, numbers, _ = rows_file(Path(folder), n, d, 20)
        found = {"rows": n, "columns": d}
        for name, arguments in (
            ("new", (table, "--features", numbers, "--id", "id", "-k", 20)),
            ("again", (table,)),
        ):
            served = Served(*arguments)
            owner = await Person(served).log_in(served.token)
            await owner.first_question()
            found[f"first_question_{name}_s"] = round(time.monotonic() - served.started, 1)
            if name == "again":
                await wait_for_picture(owner)
                _, invitation = await owner.call("POST", "/api/people", {"name": "in a browser"})
                found |= await asyncio.to_thread(browser_map, served.url, invitation["link"])
            served.stop()
        return found


async def wait_for_picture(owner, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _, groups = await owner.call("GET", "/api/groups")
        if groups["groups"]:
            return
        await asyncio.sleep(0.2)
    raise RuntimeError("there were no groups in time")


def browser_map(url, link):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(link)
        page.locator("section.question").wait_for(timeout=20_000)
        page.goto(f"{url}/#/map")
        paints = entries(page, "map-first-paint", 1)
        browser.close()
    return {"map_first_paint_s": round(paints[0] / 1000, 2)}


class Painter:
    """A stand-in for the worker that provides groups and a map of n points without a fit."""

    def __init__(self, n, hear):
        self.n, self.hear, self.seq = n, hear, 0

    def start(self):
        xy = np.random.default_rng(0).normal(0.5, 0.15, (self.n, 2)).astype(np.float32).clip(0, 1)
        self.hear(Layout(xy, "drawn", True))
        self.paint()

    def paint(self):
        """Give every point a new group."""
        self.seq += 1
        labels = np.random.default_rng(self.seq).integers(0, 20, self.n).astype(np.int32)
        groups = tuple(Group(k, int((labels == k).sum()), (k,), (k,)) for k in range(20))
        nothing = np.zeros((0, 3), dtype=np.int32)
        doubt = np.zeros(self.n, dtype=np.float32)
        self.hear(Picture(self.seq, labels, doubt, groups, (), nothing, 0.0))

    def tell(self, message):
        pass

    def stop(self):
        pass


def points(n):
    """Return the times of the first paint of n points and of a change of colours, in Chromium."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "points.csv"
        source.write_text("id")
        items = (Item(i, f"p{i}", "row", f"point {i}") for i in range(n))
        project = Project.create(
            Path(folder) / "points.likewise",
            X=np.zeros((n, 1), dtype=np.float32),
            items=items,
            settings=Settings("points", n_clusters=20),
            described=Described("row", n),
            source=source,
        )
        server, made, links = StudioServer(project), [], []
        ready = threading.Event()

        def teller(hear):
            made.append(Painter(n, hear))
            return made[0]

        def say(studio, link):
            links.append(link)
            ready.set()

        thread = threading.Thread(target=lambda: server.serve(ready=say, teller=teller), daemon=True)
        thread.start()
        ready.wait(60)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(links[0])
            page.locator("section.question").wait_for(timeout=20_000)
            page.goto(f"{server.url}/#/map")
            first = entries(page, "map-first-paint", 1)
            for k in range(1, 8):
                made[0].paint()
                recolours = entries(page, "map-recolour", k)
            browser.close()
        server.stop()
        thread.join(20)
    return {
        "points": n,
        "first_paint_ms": round(first[0]),
        "recolour_ms": {"median": round(float(np.median(recolours)), 1), "most": round(max(recolours), 1)},
    }


def entries(page, name, wanted, seconds=30):
    """Wait until the page has the expected number of measurements; return their milliseconds."""
    end, found = time.monotonic() + seconds, []
    while len(found) < wanted and time.monotonic() < end:
        found = page.evaluate(f"() => performance.getEntriesByName('{name}').map((e) => e.duration)")
        page.wait_for_timeout(20)
    if len(found) < wanted:
        raise RuntimeError(f"expected {wanted} measurements of {name}; got {len(found)}")
    return found


def print_table(name, found):
    table = Table(title=name)
    table.add_column("what")
    table.add_column("measured", justify="right")
    for key, value in found.items():
        table.add_row(key, json.dumps(value) if isinstance(value, dict) else str(value))
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["load", "kills", "answers", "rows", "points"])
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    quick = asked.quick
    parts = {
        "load": lambda: asyncio.run(load(19, 10 if quick else 40, 1.0, True)),
        "kills": lambda: asyncio.run(kills(2 if quick else 10, 20, 60)),
        "answers": lambda: asyncio.run(many_answers(1_000 if quick else 20_000, 20)),
        "rows": lambda: asyncio.run(many_rows(20_000 if quick else 100_000, 16)),
        "points": lambda: points(100_000 if quick else 1_000_000),
    }
    results = {"machine": platform.platform(), "python": platform.python_version()}
    for name, part in parts.items():
        if asked.only in (None, name):
            results[name] = part()
            print_table(name, results[name])
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "studio.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
