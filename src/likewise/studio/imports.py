"""Earlier answers, labels and hints brought into a project, as events like any other.

The key of an event is made of its content, so that a file that is imported twice adds nothing the second
time, and a longer version of it only what is new.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.studio._earlier_answers import read_earlier
from likewise.studio._statements import PastAnswer, PastAnswers
from likewise.studio.records import NewEvent, Person, StoredEvent
from likewise.supervision import RowIds

if TYPE_CHECKING:
    from likewise.studio.store import Store, Transaction

NOBODY = "imported"  # who said what a file gives no name for
_AT_ONCE = 500  # events in a transaction, so that answers that come meanwhile need not wait long


@dataclass(frozen=True)
class ImportResult:
    """What became of a file.

    Attributes
    ----------
    form : {"answers", "labels", "hints", "interview"}
        What it was.
    n_read, n_new : int
        How many answers it states, and how many of them the project did not have.
    n_names : int
        How many groups got a name.
    people : tuple of str
        Who is new in the project. They have no login until the owner makes them a link.
    notes : tuple of str
        What was left out, and why.
    """

    form: str
    n_read: int
    n_new: int
    n_names: int
    people: tuple[str, ...]
    notes: tuple[str, ...]


def import_answers(
    store: Store,
    ids: Iterable[str],
    path: str | os.PathLike[str],
    *,
    annotator: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    raw: bool = False,
) -> ImportResult:
    """Bring a file of answers, labels, hints or an interview into a project.

    The whole file is checked first; if anything is wrong with it, nothing is written. A studio that runs on
    the project may go on running.

    Parameters
    ----------
    store : Store
        Where the events of the project are kept.
    ids : iterable of str
        The id of each item of the project.
    path : path-like
        The file; see :func:`likewise.studio._earlier_answers.read_earlier` for what it may be.
    annotator : str, optional
        Who said what the file gives no name for; "imported" by default.
    format, encoding, raw : optional
        How to read the file, if its name does not tell.
    """
    from likewise.studio.service._accounts import clean_name

    nobody = clean_name(NOBODY if annotator is None else annotator, "the name of the annotator")
    earlier = read_earlier(Path(path), RowIds.from_ids(ids), format=format, encoding=encoding, raw=raw)
    imported = _ImportedAnswers(earlier, nobody)
    new_people = store.write(imported.find_or_add_people)
    n_new = 0
    for start in range(0, len(imported.waiting), _AT_ONCE):
        part = imported.waiting[start : start + _AT_ONCE]
        n_new += store.write(lambda tx, part=part: imported.append(tx, part))  # type: ignore[misc]
    named = store.write(imported.name_groups)
    return ImportResult(
        earlier.form, len(earlier.answers), n_new, named, tuple(new_people), tuple(earlier.notes)
    )


class _ImportedAnswers:
    """What a file says, on its way into a store."""

    def __init__(self, earlier: PastAnswers, nobody: str) -> None:
        self.earlier, self.nobody = earlier, nobody
        self.people: dict[str, Person] = {}  # by the name in small letters, as the studio tells people apart
        self.waiting: list[NewEvent] = []

    def find_or_add_people(self, tx: Transaction) -> list[str]:
        """Find the people or add them, and see what the project has already; return who is new."""
        self.people = {person.name.casefold(): person for person in tx.get_people()}
        wanted = {one.annotator or self.nobody for one in self.earlier.answers}
        wanted |= {self.nobody} if self.earlier.names else set()
        new = sorted(name for name in wanted if name.casefold() not in self.people)
        added = []
        for name in new:
            if name.casefold() not in self.people:  # a file may write a name in two ways
                self.people[name.casefold()] = tx.add_person(name, "annotator")
                added.append(name)
        before = tx.get_events(kinds=["answer"])
        keys = {event.key for event in before}
        # An export that comes home brings the same moment of the same person; nothing of it is new.
        there = {_make_identity(event) for event in before}
        events = {event.key: event for event in map(self._make_event, self.earlier.answers)}  # each once
        self.waiting = [e for e in events.values() if e.key not in keys and _make_identity(e) not in there]
        return added

    def append(self, tx: Transaction, part: list[NewEvent]) -> int:
        """Append events and return how many of them are new."""
        return sum(tx.append(event)[1] for event in part)

    def name_groups(self, tx: Transaction) -> int:
        """Name groups, and return how many of the names are new."""
        who = self.people.get(self.nobody.casefold())
        n_new = 0
        for item, name in self.earlier.names:
            assert who is not None
            body = {"item": item, "name": name}
            n_new += tx.append(NewEvent(_make_key("name", who.name, item, name), "name", who.id, body))[1]
        return n_new

    def _get_person(self, one: PastAnswer) -> Person:
        return self.people[(one.annotator or self.nobody).casefold()]

    def _make_event(self, one: PastAnswer) -> NewEvent:
        body: dict[str, Any] = {
            "kind": one.kind,
            "items": list(one.items),
            "answer": one.answer,
            "source": "import",
        }
        person, moment = self._get_person(one), None
        if one.time is not None:
            body["said_at"] = moment = _normalise_time(one.time)
        key = _make_key(
            "answer", person.name.casefold(), one.kind, list(one.items), one.answer, moment, one.seconds
        )
        return NewEvent(key, "answer", person.id, body, seconds=one.seconds)


def _make_identity(event: NewEvent | StoredEvent) -> tuple[Any, ...]:
    """Return who said what, and when; a new event that does not know when is like no other."""
    body = event.body
    time = body.get("said_at") or getattr(event, "time", None)
    moment = event.key if time is None else _normalise_time(time)
    return event.person, body["kind"], tuple(body["items"]), body["answer"], moment


def _normalise_time(time: str) -> str:
    """Return a time in one form: in UTC, where it says how far it is from it."""
    moment = datetime.fromisoformat(time)
    try:
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
    except OverflowError:  # in the first or the last day that there is
        return time


def _make_key(*content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return "import-" + hashlib.sha256(text.encode()).hexdigest()[:32]
