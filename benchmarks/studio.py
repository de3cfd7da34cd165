"""Measure the studio under load, when it is killed, with many rows, and in a real browser.

`python benchmarks/studio.py` (`--only load`, `changes`, `kills`, `answers`, `rows` or `points` for a part;
`--quick` for a short version). Everything runs on loopback, with limits on number and time. The goals, while
20 people answer and the model refits: answers acknowledged within 100 ms (99 %), the next question painted
within 150 ms of the key press (95 %). `changes` is `load` while the owner repairs groups in bulk, adds items
with `POST /api/items`, and extends the data with `likewise studio --add`. In ten kills with all of this going
on, no acknowledged answer, repair or item is lost. Over 20,000 answers the memory of the server and of its
worker grows by at most 50 MB, and the WAL stays bounded. With 10^5 rows, the first question comes within 10 s
and the map within 2 s. 10^6 points are recoloured within 100 ms.
"""

import argparse
import asyncio
import itertools
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

from _studio_client import COMMAND, Person, Served, invited
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


class Rows:
    """A table and its features in files, which may get more rows, and the true class of each item.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    n, d, k : int
        The number of rows, columns and classes.
    """

    def __init__(self, folder, n, d=16, k=8):
        X, y = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)
        self.n, self.table, self.features = n, folder / "rows.csv", folder / "rows.npy"
        self._X, self._y, self._rng = X.astype(np.float32), y, np.random.default_rng(1)
        self.truth = {f"r{row}": int(label) for row, label in enumerate(y)}
        np.save(self.features, self._X)
        self.table.write_text("\n".join(["id,name", *(f"r{i},item number {i}" for i in range(n))]) + "\n")
        self.project = folder / "rows.likewise"

    def draw(self, n):
        """Return features near those of known rows, and their classes."""
        rows = self._rng.integers(self.n, size=n)
        noise = self._rng.normal(scale=0.5, size=(n, self._X.shape[1]))
        return self._X[rows] + noise.astype(np.float32), self._y[rows]

    def draw_items(self, n):
        """Return new items as `POST /api/items` takes them."""
        X, y = self.draw(n)
        name = uuid.uuid4().hex[:8]
        items = [{"id": f"u{name}-{at}", "features": row.tolist()} for at, row in enumerate(X)]
        self.truth |= {item["id"]: int(label) for item, label in zip(items, y, strict=True)}
        return items

    def extend(self, n):
        """Append rows to the files, and return their ids."""
        X, y = self.draw(n)
        name = uuid.uuid4().hex[:8]
        ids = [f"e{name}-{at}" for at in range(n)]
        self.truth |= {id: int(label) for id, label in zip(ids, y, strict=True)}
        part = self.features.with_name("part.npy")
        np.save(part, np.concatenate([np.load(self.features), X]))
        part.replace(self.features)
        with open(self.table, "a") as file:
            file.writelines(f"{id},added later\n" for id in ids)
        return ids

    def list_class(self, label, n):
        """Return up to n of the first rows that are of a class."""
        rows = np.flatnonzero(self._y == label)
        return self._rng.permutation(rows)[:n].tolist()


def answer_truly(question, truth):
    a, b = (item["id"] for item in question["items"])
    return "SAME" if truth[a] == truth[b] else "DIFFERENT"


# Load


async def answers(person, truth, until, think, seconds, failed, kept=None):
    """Answer until the time is over, with a pause for thought before each answer."""
    rng = random.Random(person.name)
    held = {}
    while time.monotonic() < until:
        if not held:
            status, asked = await person.call("POST", "/api/questions", {"n": 3})
            if status != 200:
                failed.append((status, asked))
            held = {question["id"]: question for question in asked.get("questions", ())}
            if not held:
                await asyncio.sleep(0.05)
                continue
        await asyncio.sleep(rng.uniform(0.5, 1.5) * think)
        id, question = next(iter(held.items()))
        reply_to = answer_truly(question, truth)
        content = {"key": uuid.uuid4().hex, "question": id, "answer": reply_to, "seconds": think}
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


class Changes:
    """What an owner changes while others answer; each method runs until the time is over.

    Attributes
    ----------
    repairs, items, extended : list of str
        The keys of acknowledged repairs, the ids of acknowledged items, and the ids of rows that
        `likewise studio --add` has added.
    seconds : dict of str to list of float
        The times of the requests.
    failed : list
        The replies other than 200 and 409.
    """

    def __init__(self, rows):
        self.rows = rows
        self.repairs, self.items, self.extended, self.failed = [], [], [], []
        self.seconds = {"repair": [], "add": []}

    async def send(self, person, what, path, content):
        """Send a change; return True if it was acknowledged."""
        started = time.perf_counter()
        status, reply = await person.call("POST", path, content)
        self.seconds[what].append(time.perf_counter() - started)
        if status not in (200, 409):
            self.failed.append((status, reply))
        return status == 200

    async def repair(self, person, until, pause, n=50):
        """Move many items to a group of their class, put some on the shelf, and take them off again."""
        shelved = []
        for at in itertools.count():
            if time.monotonic() > until:
                return
            status, shown = await person.call("GET", "/api/groups")
            if status == 200 and len(shown["groups"]) > 1:
                key, target = uuid.uuid4().hex, random.Random(at).choice(shown["groups"])
                label = self.rows.truth[target["typical"][0]["id"]]
                content = {"key": key, "act": "move", "groups": [target["number"]]}
                content["rows"] = self.rows.list_class(label, n)
                if shelved:
                    content, shelved = {"key": key, "act": "unshelve", "rows": shelved}, []
                elif at % 4 == 3:
                    shelved = self.rows.list_class(label, n // 5)
                    content = {"key": key, "act": "shelve", "rows": shelved}
                if await self.send(person, "repair", "/api/repairs", content):
                    self.repairs.append(key)
                    if at % 8 == 5:
                        await person.call("POST", "/api/undo", {"key": uuid.uuid4().hex})
                        shelved = []
            await asyncio.sleep(pause)

    async def add(self, person, until, pause, n=20):
        """Add items with their features."""
        while time.monotonic() < until:
            items = self.rows.draw_items(n)
            content = {"key": uuid.uuid4().hex, "items": items}
            if await self.send(person, "add", "/api/items", content):
                self.items += [item["id"] for item in items]
            await asyncio.sleep(pause)

    async def extend(self, until, pause, n=20, started=None):
        """Append rows to the data, and add them with a command while the studio runs."""
        await asyncio.sleep(pause / 2)
        while time.monotonic() < until:
            ids = self.rows.extend(n)
            adding = await asyncio.create_subprocess_exec(
                *(*COMMAND, str(self.rows.table), "--add", "--no-open"),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            if started is not None:
                started.append(adding)
            _, said = await adding.communicate()
            if adding.returncode == 0:
                self.extended += ids
            elif adding.returncode > 0 and b"items are being added" not in said:
                self.failed.append((adding.returncode, said.decode()))
            await asyncio.sleep(pause)


async def load(n_people, length, think, with_browser, with_changes=False):
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder), 2000)
        served = Served(rows.table, "--features", rows.features, "--id", "id", "-k", 8)
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
                asyncio.create_task(answers(person, rows.truth, until, think, seconds, failed))
                for person in people
            ]
            changes = Changes(rows)
            if with_changes:
                await wait_for_picture(owner)
                other = Person(served)  # a second connection with the session of the owner
                other.cookie = owner.cookie
                tasks += [
                    asyncio.create_task(changes.repair(owner, until, 2.0)),
                    asyncio.create_task(changes.add(other, until, 6.0)),
                    asyncio.create_task(changes.extend(until - 5, 12.0)),
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
            if with_changes:
                found |= {
                    "repairs": len(changes.repairs),
                    "repair_ms": {
                        "p50": ms(changes.seconds["repair"], 0.5),
                        "most": ms(changes.seconds["repair"], 1),
                    },
                    "added_items": len(changes.items),
                    "add_ms": {"p50": ms(changes.seconds["add"], 0.5), "most": ms(changes.seconds["add"], 1)},
                    "items_of_extensions": len(changes.extended),
                    "failed_changes": len(changes.failed),
                }
                for one in [*failed, *changes.failed][:5]:
                    console.print(one)
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
    """Kill the server repeatedly while people answer, repair, add and extend; count what is lost.

    A command that adds rows of the data is killed at the same moments.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder), 1000)
        served = Served(rows.table, "--features", rows.features, "--id", "id", "-k", 8)
        owner = await Person(served).log_in(served.token)
        await owner.first_question()
        people = await invited(owner, n_people)
        other = Person(served)
        other.cookie = owner.cookie
        kept, changes, largest = [], Changes(rows), 0
        log = rows.project / "studio.sqlite-wal"
        for at in range(times):
            until = time.monotonic() + 60
            adding, tasks = (
                [],
                [asyncio.create_task(answers(p, rows.truth, until, 0.02, [], [], kept)) for p in people],
            )
            # Kills come after a number of answers, so they hit repairs and additions at various moments.
            tasks += [
                asyncio.create_task(changes.repair(owner, until, 0.05)),
                asyncio.create_task(changes.add(other, until, 0.2 + 0.1 * (at % 4))),
                asyncio.create_task(changes.extend(until, 0.2 * (at % 5), started=adding)),
            ]
            n, end = len(kept) + wanted, time.monotonic() + 30
            while len(kept) < n and time.monotonic() < end:
                await asyncio.sleep(0.02)
                largest = max(largest, log.stat().st_size if log.exists() else 0)
            served.kill()
            for one in adding:
                if one.returncode is None:
                    one.kill()
            await asyncio.sleep(0.2)
            for task in tasks[len(people) :]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            served = Served(rows.table, port=served.port)  # opens the same project; sessions stay valid
            for person in [*people, owner, other]:
                person.served = served
                person.close()
        served.stop()
        project = Project.open(rows.project)
        store = open_store(project.database_url)
        stored = [event.key for event in store.read(lambda tx: tx.get_events())]
        store.close()
        items, n_rows = project.items.get_ids(), len(project.load_features())
        return {
            "kills": times,
            "acknowledged": {
                "answers": len(kept),
                "repairs": len(changes.repairs),
                "items": len(changes.items),
                "items_of_extensions": len(changes.extended),
            },
            "lost": {
                "answers": len(set(kept) - set(stored)),
                "repairs": len(set(changes.repairs) - set(stored)),
                "items": len(set(changes.items) - set(items)),
                "items_of_extensions": len(set(changes.extended) - set(items)),
            },
            "repeated": len(stored) - len(set(stored)) + len(items) - len(set(items)),
            "rows_without_features": len(items) - n_rows,
            "failed_changes": len(changes.failed),
            "largest_wal_MB": round(largest / 2**20, 1),
        }


# Memory and disk over many answers


def get_megabytes(pid):
    """Return the memory of the server and of its worker, without pages that they share with files."""
    server = psutil.Process(pid)
    return [
        round((one.memory_info().rss - one.memory_info().shared) / 2**20)
        for one in (server, *server.children())
    ]


async def many_answers(n, n_people):
    """Give many answers without a pause; return memory after each tenth, its growth, and the largest WAL.

    Everybody answers each question, since otherwise they would wait for the model most of the time. The
    worker refits meanwhile, as it always does.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder), max(n // 10, 1000))
        served = Served(rows.table, "--features", rows.features, "--id", "id", "-k", 8, "--overlap", n_people)
        log = rows.project / "studio.sqlite-wal"
        try:
            owner = await Person(served).log_in(served.token)
            await owner.first_question()
            people = await invited(owner, n_people)
            kept, seconds, failed, memory, largest = [], [], [], [], 0
            until = time.monotonic() + 900
            tasks = [
                asyncio.create_task(answers(person, rows.truth, until, 0, seconds, failed, kept))
                for person in people
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
            owner.close()
            _, progress = await owner.call("GET", "/api/progress")
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
                "growth_MB": {
                    "server": memory[-1][0] - memory[0][0],
                    "worker": max(memory[-1][1:], default=0) - max(memory[0][1:], default=0),
                },
                "pictures_behind": progress["behind"],
                "largest_wal_MB": round(largest / 2**20, 1),
                "undo_ms": {"p50": ms(undos, 0.5), "most": ms(undos, 1)},
            }
        finally:
            served.stop()


# Many rows


async def many_rows(n, d):
    """Return the seconds from the command to the first question, and to the map in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder), n, d, 20)
        found = {"rows": n, "columns": d}
        for name, arguments in (
            ("new", (rows.table, "--features", rows.features, "--id", "id", "-k", 20)),
            ("again", (rows.table,)),
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
    parser.add_argument("--only", choices=["load", "changes", "kills", "answers", "rows", "points"])
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    quick = asked.quick
    parts = {
        "load": lambda: asyncio.run(load(19, 10 if quick else 40, 1.0, True)),
        "changes": lambda: asyncio.run(load(19, 15 if quick else 60, 1.0, True, with_changes=True)),
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
