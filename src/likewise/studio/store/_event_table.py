"""The table of events, which are appended and never changed."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, get_args

import sqlalchemy as sa

from likewise.exceptions import BadValueError, KeyReusedError
from likewise.studio.records import EventKind, NewEvent, StoredEvent
from likewise.studio.store import _values
from likewise.studio.store._connection import DialectStatement, StoreConnection, format_now
from likewise.studio.store._schema import events

KINDS: tuple[str, ...] = get_args(EventKind)
_COLUMNS: Any = tuple(events.c)
_CONTENT = ("kind", "person", "question", "seconds", "body")
_APPEND = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_nothing(index_elements=["key"]).returning(events.c.seq), events
)
_LAST = sa.select(sa.func.coalesce(sa.func.max(events.c.seq), 0))


class Events(StoreConnection):
    """Append and read events.

    PostgreSQL assigns seqs before the commit. Event 8 may thus become visible before event 7, and a reader
    that continues after 8 would miss 7. Appending therefore takes a shared lock until the commit. Reading
    first waits until no one holds it and notes the last seq: up to there nothing can appear later. SQLite has
    only one writer, so the problem does not arise.
    """

    def append(self, event: NewEvent) -> tuple[StoredEvent, bool]:
        """Store an event; return the stored event, and whether it is new.

        The same key with the same content returns the event that is already stored; with other content or
        another person it raises :class:`KeyReusedError`.
        """
        row = _make_row(event)
        self._lock_shared()
        seq = self._change(
            _APPEND,
            row,
            unknown=f"There is no person {event.person}.",
        ).scalar_one_or_none()
        if seq is not None:
            return _make_event(seq=seq, **row), True
        stored = self._run(sa.select(*_COLUMNS).where(events.c.key == row["key"])).mappings().one()
        if any(stored[name] != row[name] for name in _CONTENT):
            raise KeyReusedError(
                f"The key {event.key!r} was already used for another event.", "Use a new key for each event."
            )
        return _make_event(**stored), False

    def get_events(
        self,
        after: int = 0,
        limit: int | None = None,
        person: int | None = None,
        kinds: Collection[EventKind] | None = None,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[StoredEvent]:
        """Return the events with ``after < seq < before``, oldest or newest first."""
        chosen = sa.select(*_COLUMNS).where(events.c.seq > _values.check_integer(after, "after"))
        if before is not None:
            chosen = chosen.where(events.c.seq < _values.check_integer(before, "before"))
        if person is not None:
            chosen = chosen.where(events.c.person == _values.check_integer(person, "the person"))
        if kinds is not None:
            chosen = chosen.where(events.c.kind.in_([_check_kind(kind) for kind in kinds]))
        if limit is not None:
            chosen = chosen.limit(_values.check_integer(limit, "the limit", least=0))
        if not newest_first:
            horizon = self._get_horizon()
            if horizon is not None:
                chosen = chosen.where(events.c.seq <= horizon)
        chosen = chosen.order_by(events.c.seq.desc() if newest_first else events.c.seq)
        return [_make_event(**row) for row in self._run(chosen).mappings()]

    def get_event(self, seq: int) -> StoredEvent | None:
        """Return one event, or None."""
        wanted = _values.check_integer(seq, "the seq")
        row = self._run(sa.select(*_COLUMNS).where(events.c.seq == wanted)).mappings().one_or_none()
        return None if row is None else _make_event(**row)

    def get_event_by_key(self, key: str) -> StoredEvent | None:
        """Return the event with this key, or None."""
        wanted = _values.check_text(key, "the key")
        row = self._run(sa.select(*_COLUMNS).where(events.c.key == wanted)).mappings().one_or_none()
        return None if row is None else _make_event(**row)

    def get_last_seq(self) -> int:
        """Return the seq of the last event, or 0."""
        horizon = self._get_horizon()
        return int(self._run(_LAST).scalar_one()) if horizon is None else horizon

    def _get_horizon(self) -> int | None:
        """Return the last seq up to which nothing can appear later, or None if that holds for all seqs."""
        if not self._postgres or self._writing:
            return None
        # Rolling back to a savepoint releases the locks taken since.
        self._run(sa.text("SAVEPOINT horizon"))
        self._lock_exclusive()
        last = int(self._run(_LAST).scalar_one())
        self._run(sa.text("ROLLBACK TO SAVEPOINT horizon"))
        self._locked = False
        return last


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise BadValueError(f"The kind of an event must be one of {', '.join(KINDS)}; got {kind!r}.")
    return kind


def _make_row(event: NewEvent) -> dict[str, Any]:
    return {
        "key": _values.check_text(event.key, "the key", most=_values.MOST_NAME),
        "kind": _check_kind(event.kind),
        "person": _values.check_integer(event.person, "the person"),
        "time": format_now(),
        "question": None
        if event.question is None
        else _values.check_text(event.question, "the question", most=_values.MOST_NAME),
        "seconds": None if event.seconds is None else _values.check_number(event.seconds, "the seconds"),
        "body": _values.format_body(event.body, "the body"),
    }


def _make_event(
    seq: int,
    key: str,
    kind: EventKind,
    person: int,
    time: str,
    question: str | None,
    seconds: float | None,
    body: str,
) -> StoredEvent:
    return StoredEvent(seq, key, kind, person, time, json.loads(body), question, seconds)
