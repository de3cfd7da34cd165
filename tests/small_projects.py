"""Small projects of the studio for tests: two groups far apart, people, and answers."""

from contextlib import contextmanager

import numpy as np

from likewise.studio.project import Project
from likewise.studio.records import Described, Item, NewEvent, Settings
from likewise.studio.store import open_store

IDS = ("a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4")
# Everything that a table, a spreadsheet or a page could stumble over.
WEIRD = (
    "=1+1",
    "+49 30",
    "-5",
    "@ann",
    "'=quoted",
    "a,b",
    'say "hi"',
    "two\nlines",
    "007",
    "🦉",
    "עברית",
    " space ",
    "\ttab",
    "<script>alert(1)</script>",
    "'tis",
    "a;b",
)


def make(folder, ids=IDS, *, texts=None, **settings):
    """Make a project of texts, the first half of which is far from the second."""
    n = len(ids)
    X = np.array([[0.0, k / n] if k < n // 2 else [9.0, k / n] for k in range(n)])
    items = [
        Item(row, id, "text", id, text=texts[row] if texts else f"text of {id}") for row, id in enumerate(ids)
    ]
    source = folder / "birds.csv"
    source.write_text("name\n")
    return Project.create(
        folder / "birds.likewise",
        X=X,
        items=items,
        settings=Settings(**{"title": "Birds", "n_clusters": 2, **settings}),
        described=Described("text", n, features="2 numbers"),
        source=source,
    )


@contextmanager
def open_project_store(project):
    """Open the store of a project for the time of a block."""
    store = open_store(project.database_url)
    try:
        yield store
    finally:
        store.close()


class AnswerWriter:
    """Somebody who tells a store things, with a new key each time."""

    def __init__(self, store, name="Ann", role="annotator"):
        self.store, self.name = store, name
        self.person = store.write(lambda tx: tx.add_person(name, role))
        self.n = 0

    def _append(self, kind, body, seconds=None):
        self.n += 1
        event = NewEvent(f"{self.name} {self.n}", kind, self.person.id, body, seconds=seconds)
        return self.store.write(lambda tx: tx.append(event))[0]

    def answer(self, *items, answer, seconds=2.5, source="question", **more):
        kind = "pair" if len(items) == 2 else "triplet"
        body = {"kind": kind, "items": list(items), "answer": answer, "source": source, **more}
        return self._append("answer", body, seconds)

    def undo(self, event):
        return self._append("undo", {"of": event.seq})

    def skip(self, *items):
        return self._append("skip", {"kind": "pair", "items": list(items), "source": "question"})

    def name_group(self, item, name):
        return self._append("name", {"item": item, "name": name})
