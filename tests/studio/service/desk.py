"""A complete studio for tests: a SQLite store, the real analysis in a thread, and a manual clock."""

import threading
import uuid

from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.jobs.layout import compute_plain_layout
from likewise.studio.service import Studio
from patience import wait_until
from small_projects import make


def new_key():
    return uuid.uuid4().hex


class Clock:
    """A clock that only moves when it is set."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


class Inside:
    """Does the work of the worker process in the calling thread."""

    def __init__(self, project, hear):
        self.project = project
        self.analysis = ProjectAnalysis.from_project(project)
        self.hear = hear
        self.told = []
        self.first = True
        self.progress_is_due = False
        self.paused = threading.Event()
        self.tells = 0

    def start(self):
        pass

    def stop(self):
        pass

    def reload(self):
        """Open the project again, and process all events again with the next message."""
        self.analysis = ProjectAnalysis.from_project(type(self.project).open(self.project.folder))
        self.analysis.tell(self.told)
        self.first = True

    def tell(self, message):
        if self.paused.is_set():
            raise RuntimeError("the worker is away")
        self.tells += 1
        self.told.extend(message.events)
        changed = self.analysis.tell(message.events)
        if message.wanted:
            self.hear(self.analysis.choose_questions(message.wanted, message.pending))
        if changed or self.first:
            self.hear(self.analysis.make_picture())
            self.hear(self.analysis.compute_agreement())
            self.progress_is_due = True
        if self.progress_is_due and (self.first or not changed):  # last, as in the worker
            self.hear(self.analysis.compute_progress())
            self.hear(self.analysis.describe_groups())
            self.progress_is_due = False
        if self.first:
            self.hear(compute_plain_layout(self.analysis.X, seed=0))
        self.first = False


class Desk:
    """A running studio, with shorthands for what people do in it."""

    def __init__(self, project, **options):
        self.project = project
        self.clock = options.pop("clock", None) or Clock()
        self.studio = Studio(project, teller=self._teller, clock=self.clock, **options)
        self.studio.start()
        self.hub, self.asking, self.groups = self.studio.hub, self.studio.asking, self.studio.groups
        self.owner = self.studio.people.get_owner()
        self.settle()

    def _teller(self, hear):
        self.teller = Inside(self.project, hear)
        return self.teller

    def close(self):
        self.studio.stop()

    def again(self):
        """Stop, and open the same project again."""
        self.close()
        return Desk(type(self.project).open(self.project.folder), clock=self.clock)

    def settle(self):
        """Wait until all answers have been processed."""
        hub = self.hub
        hub.wake_worker()
        before = self.teller.tells
        wait_until(
            lambda: (
                self.teller.tells > before and not hub._has_news and self.teller.analysis.seq >= hub.log.last
            ),
            "a refit",
        )
        # The thread may be processing the last message; a new one is handled after it. The second one follows
        # the questions that the first one has stored.
        for _ in range(2):
            before = self.teller.tells
            hub.wake_worker()
            wait_until(lambda before=before: self.teller.tells > before, "another look")

    def person(self, name, role="annotator"):
        return self.studio.people.add(name, role)[0]

    def ask(self, person, n=1):
        return self.asking.give_questions(person, n)["questions"]

    def ask_to_the_end(self, person, n=1):
        """Yield questions until none is left; wait while the next ones are being chosen."""
        while True:
            wait_until(lambda: self.asking.give_questions(person, n)["state"] != "thinking", "a question")
            if not (questions := self.ask(person, n)):
                return
            yield questions

    def answer(self, person, question, word, key=None, seconds=1.0):
        return self.asking.answer(
            person, key=key or new_key(), question=question["id"], answer=word, seconds=seconds
        )

    def skip(self, person, question, key=None):
        return self.asking.skip(person, key=key or new_key(), question=question["id"], seconds=None)

    def undo(self, person, of=None, key=None):
        return self.asking.undo(person, key=key or new_key(), of=of)

    def state(self, person, a, b, word):
        """Make a statement about two items without being asked."""
        self.asking.store_pair(person, key=new_key(), items=(a, b), answer=word, why="stated")

    def events(self, *kinds):
        events = self.studio.store.read(lambda tx: tx.get_events())
        return [event for event in events if not kinds or event.kind in kinds]

    def true_word(self, question):
        """Answer by the two groups of the small project: ids with the same first letter belong together."""
        heads = [item["id"][:1] for item in question["items"]]
        if len(heads) == 2:
            return "SAME" if heads[0] == heads[1] else "DIFFERENT"
        for word, (i, j, odd) in {"AB": (0, 1, 2), "AC": (0, 2, 1), "BC": (1, 2, 0)}.items():
            if heads[i] == heads[j] != heads[odd]:
                return word
        return "NEITHER"


def ids_of(question):
    return tuple(item["id"] for item in question["items"])


def names(n):
    """Return n ids, half of which begin with a and half with b."""
    return tuple(f"a{i}" for i in range(n // 2)) + tuple(f"b{i}" for i in range(n - n // 2))


def open_desk(folder, n=8, options=None, **settings):
    """Create a small project of n texts and open its studio."""
    return Desk(make(folder, names(n), **settings), **(options or {}))
