"""Import earlier answers, labels and hints into a project as events.

The key of an event is derived from its content. Importing a file twice therefore adds nothing, and a longer
version of it adds only what is new.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from likewise.studio._earlier_answers import PastAnswer, PastAnswers, read_earlier
from likewise.studio._repairs import STATED, describe_repair
from likewise.studio.records import NewEvent, Person, StoredEvent
from likewise.supervision import RowIds

if TYPE_CHECKING:
    from likewise.studio.store import Store, Transaction

DEFAULT_ANNOTATOR = "imported"  # annotator of answers without a name
_AT_ONCE = 500  # events per transaction, so that answers given meanwhile do not wait long


@dataclass(frozen=True)
class ImportResult:
    """The result of an import.

    Attributes
    ----------
    form : {"answers", "labels", "hints", "interview"}
        The kind of file.
    n_read, n_new : int
        Number of answers in the file, and number of those that are new to the project.
    n_names : int
        Number of groups that got a name.
    people : tuple of str
        People new to the project. They cannot log in until the owner creates a link for them.
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
    """Import a file of answers, labels, hints or an interview into a project.

    The whole file is checked first; if anything is wrong with it, nothing is written. A studio may run on the
    project meanwhile.

    Parameters
    ----------
    store : Store
        The store of the project.
    ids : iterable of str
        The id of each item of the project.
    path : path-like
        The file; see :func:`likewise.studio._earlier_answers.read_earlier` for the formats.
    annotator : str, optional
        Annotator of answers for which the file has no name; "imported" by default.
    format, encoding, raw : optional
        How to read the file, if the file name does not determine it.
    """
    from likewise.studio.service._accounts import clean_name

    default_annotator = clean_name(
        DEFAULT_ANNOTATOR if annotator is None else annotator, "the name of the annotator"
    )
    earlier = read_earlier(Path(path), RowIds.from_ids(ids), format=format, encoding=encoding, raw=raw)
    imported = _ImportedAnswers(earlier, default_annotator)
    new_people = store.write(imported.find_or_add_people)
    n_new = 0
    for start in range(0, len(imported.waiting), _AT_ONCE):
        n_new += store.write(partial(_append, imported.waiting[start : start + _AT_ONCE]))
    named = store.write(imported.name_groups)
    return ImportResult(
        earlier.form, len(earlier.answers), n_new, named, tuple(new_people), tuple(earlier.notes)
    )


def _append(events: list[NewEvent], tx: Transaction) -> int:
    return sum(tx.append(event)[1] for event in events)


class _ImportedAnswers:
    """Converts the content of a file to events and writes them to a store."""

    def __init__(self, earlier: PastAnswers, default_annotator: str) -> None:
        self.earlier, self.default_annotator = earlier, default_annotator
        self.people: dict[str, Person] = {}  # by lower-case name, as elsewhere in the studio
        self.waiting: list[NewEvent] = []

    def find_or_add_people(self, tx: Transaction) -> list[str]:
        """Find or add the people, and read the existing answers; return the names of new people."""
        self.people = {person.name.casefold(): person for person in tx.get_people()}
        wanted = {one.annotator or self.default_annotator for one in self.earlier.answers}
        wanted |= {self.default_annotator} if self.earlier.names else set()
        added = []
        for name in sorted(wanted):
            if name.casefold() not in self.people:  # a file may spell a name in two ways
                self.people[name.casefold()] = tx.add_person(name, "annotator")
                added.append(name)
        before = tx.get_events(kinds=["answer", "repair"])
        keys = {event.key for event in before}
        # An answer that was exported from this project has the same person and time, and is not new.
        there = {_make_identity(event) for event in before}
        events = {event.key: event for event in map(self._make_event, self.earlier.answers)}  # unique
        self.waiting = [e for e in events.values() if e.key not in keys and _make_identity(e) not in there]
        return added

    def name_groups(self, tx: Transaction) -> int:
        """Name groups and return how many of the names are new."""
        who = self.people.get(self.default_annotator.casefold())
        n_new = 0
        for item, name in self.earlier.names:
            assert who is not None
            body = {"item": item, "name": name}
            n_new += tx.append(NewEvent(_make_key("name", who.name, item, name), "name", who.id, body))[1]
        return n_new

    def _make_event(self, one: PastAnswer) -> NewEvent:
        items = list(one.items)
        body: dict[str, Any] = {"kind": one.kind, "items": items, "answer": one.answer, "source": "import"}
        if isinstance(one.answer, dict) and one.kind == "repair":
            # Ids may reveal a class, so the sentence has none.
            names = ["a group", *["another"] * (len(items) - 1)] if one.answer["act"] == "merge" else items
            names = ["1 item"] if len(items) == 1 else names
            why = describe_repair(one.answer["act"], names, "the same group as another item")
            body = {**one.answer, "items": items, "source": "import", "why": why}
        person, moment = self.people[(one.annotator or self.default_annotator).casefold()], None
        if one.note:
            body["note"] = one.note
        if one.time is not None:
            body["said_at"] = moment = _normalise_time(one.time)
        key = _make_key("answer", person.name.casefold(), one.kind, items, one.answer, moment, one.seconds)
        kind: Literal["answer", "repair"] = "repair" if one.kind == "repair" else "answer"
        return NewEvent(key, kind, person.id, body, seconds=one.seconds)


def _make_identity(event: NewEvent | StoredEvent) -> tuple[Any, ...]:
    """Return person, content and time of an answer; without a time, its key makes it unique."""
    body = event.body
    time = body.get("said_at") or getattr(event, "time", None)
    moment = event.key if time is None else _normalise_time(time)
    if event.kind == "repair":
        stated = {name: value for name, value in body.items() if name in STATED}
        return event.person, "repair", tuple(body["items"]), json.dumps(stated, sort_keys=True), moment
    return event.person, body["kind"], tuple(body["items"]), json.dumps(body["answer"]), moment


def _normalise_time(time: str) -> str:
    """Return a time in UTC if it has a time zone, in a uniform format."""
    moment = datetime.fromisoformat(time)
    try:
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
    except OverflowError:  # the first or last representable day
        return time


def _make_key(*content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return "import-" + hashlib.sha256(text.encode()).hexdigest()[:32]
