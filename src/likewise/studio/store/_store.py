"""The interface of the store, and everything that can be done inside one transaction."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar, get_args

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from likewise.exceptions import BadValueError, KeyReusedError, NameTakenError
from likewise.studio.records import EventKind, NewEvent, Person, Role, StoredEvent
from likewise.studio.store._connection import (
    MOST_NAME,
    DialectStatement,
    StoreConnection,
    check_integer,
    check_number,
    check_text,
    format_body,
    format_now,
)
from likewise.studio.store._queue import Queue
from likewise.studio.store._schema import about, events, logins, people, sessions

T = TypeVar("T")
KINDS: tuple[str, ...] = get_args(EventKind)
_CONTENT = ("kind", "person", "question", "seconds", "body")
_APPEND = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_nothing(index_elements=["key"]).returning(events.c.seq), events
)
_LAST = sa.select(sa.func.coalesce(sa.func.max(events.c.seq), 0))
_NOTE = DialectStatement.from_builder(lambda insert: insert.on_conflict_do_nothing(), about)
_SET = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_update(
        index_elements=[about.c.name], set_={"value": insert.excluded.value}
    ),
    about,
)
_ADD = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_nothing().returning(*people.c), people
)
_DIGEST = frozenset("0123456789abcdef")


class EventTable(StoreConnection):
    """Append and read events, which are never changed.

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
        row = {
            "key": check_text(event.key, "the key", most=MOST_NAME),
            "kind": _check_kind(event.kind),
            "person": check_integer(event.person, "the person"),
            "time": format_now(),
            "question": None
            if event.question is None
            else check_text(event.question, "the question", most=MOST_NAME),
            "seconds": None if event.seconds is None else check_number(event.seconds, "the seconds"),
            "body": format_body(event.body, "the body"),
        }
        self._lock_shared()
        added = self._change(_APPEND, row, unknown=f"There is no person {event.person}.")
        seq = added.scalar_one_or_none()
        if seq is not None:
            return _make_event((seq, *row.values())), True
        stored = self._run(sa.select(events).where(events.c.key == row["key"])).one()
        if any(getattr(stored, name) != row[name] for name in _CONTENT):
            raise KeyReusedError(
                f"The key {event.key!r} was already used for another event.", "Use a new key for each event."
            )
        return _make_event(stored), False

    def get_events(
        self, after: int = 0, person: int | None = None, kinds: Collection[EventKind] | None = None
    ) -> list[StoredEvent]:
        """Return the events after a seq in order, of one person or all, and of some kinds or all."""
        chosen = sa.select(events).where(events.c.seq > check_integer(after, "after"))
        if person is not None:
            chosen = chosen.where(events.c.person == check_integer(person, "the person"))
        if kinds is not None:
            chosen = chosen.where(events.c.kind.in_([_check_kind(kind) for kind in kinds]))
        if (horizon := self._get_horizon()) is not None:
            chosen = chosen.where(events.c.seq <= horizon)
        return [_make_event(row) for row in self._run(chosen.order_by(events.c.seq))]

    def get_event_by_key(self, key: str) -> StoredEvent | None:
        """Return the event with this key, or None."""
        wanted = events.c.key == check_text(key, "the key")
        row = self._run(sa.select(events).where(wanted)).one_or_none()
        return None if row is None else _make_event(row)

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


def _make_event(row: Any) -> StoredEvent:
    seq, key, kind, person, time, question, seconds, body = row
    return StoredEvent(seq, key, kind, person, time, json.loads(body), question, seconds)


class PeopleTable(StoreConnection):
    """Read and change people, their one-time logins, their sessions, and facts about the database."""

    def get_or_set(self, name: str, value: str) -> str:
        """Return the value stored under a name; store `value` if there is none."""
        self._store_fact(_NOTE, name, value)
        kept: str = self._run(sa.select(about.c.value).where(about.c.name == name)).scalar_one()
        return kept

    def note(self, name: str, value: str) -> None:
        """Store a value under a name, replacing an earlier one."""
        self._store_fact(_SET, name, value)

    def _store_fact(self, statement: DialectStatement, name: str, value: str) -> None:
        given = {"name": check_text(name, "the name"), "value": check_text(value, "the value")}
        self._change(statement, given)

    def add_person(self, name: str, role: Role) -> Person:
        """Add a person; names are unique (:class:`NameTakenError`)."""
        name = check_text(name, "the name", most=MOST_NAME).strip()
        if role not in get_args(Role):
            raise BadValueError(f"role must be one of {', '.join(get_args(Role))}; got {role!r}.")
        given = {"name": name, "role": role, "active": True, "created": format_now()}
        row = self._change(_ADD, given).one_or_none()
        if row is None:
            raise NameTakenError(f"There is already a person called {name!r}.", "Choose another name.")
        return _make_person(row)

    def get_people(self) -> list[Person]:
        """Return all people, in the order in which they were added."""
        return [_make_person(row) for row in self._run(sa.select(people).order_by(people.c.id))]

    def get_person(self, id: int) -> Person | None:
        """Return one person, or None."""
        wanted = people.c.id == check_integer(id, "the person")
        row = self._run(sa.select(people).where(wanted)).one_or_none()
        return None if row is None else _make_person(row)

    def set_active(self, id: int, active: bool) -> None:
        """Activate or deactivate a person.

        Logins and sessions do not work while a person is not active, see :meth:`is_locked_out`, and are
        removed when the person becomes active again.
        """
        id = check_integer(id, "the person")
        before = self.get_person(id)
        if before is None:
            raise BadValueError(f"There is no person {id}.")
        self._change(sa.update(people).where(people.c.id == id).values(active=bool(active)))
        if active and not before.active:
            self._change(sa.delete(logins).where(logins.c.person == id))
            self.drop_sessions(id)

    def add_login(self, person: int, digest: str, expires: float) -> None:
        """Store the digest of a secret that logs this person in once, before `expires`."""
        self._keep(logins, person, digest, expires)

    def has_login(self, digest: str) -> bool:
        """Return True if a login exists, expired or not; only :meth:`take_login` checks validity."""
        found = self._run(sa.select(logins.c.person).where(logins.c.digest == _check_digest(digest)))
        return found.one_or_none() is not None

    def take_login(self, digest: str, now: float) -> Person | None:
        """Use up a login; return None if it is unknown, used or expired, or the person is not active."""
        given = _check_digest(digest)
        now = check_number(now, "the time")
        row = self._change(
            sa.delete(logins).where(logins.c.digest == given).returning(logins.c.person, logins.c.expires)
        ).one_or_none()
        for table in (logins, sessions):  # logins are rare: a good moment to delete expired ones
            self._change(sa.delete(table).where(table.c.expires <= now))
        if row is None or row.expires <= now:
            return None
        who = self.get_person(row.person)
        return who if who is not None and who.active else None

    def add_session(self, person: int, digest: str, expires: float) -> None:
        """Store the digest of a secret that identifies this person until `expires`."""
        self._keep(sessions, person, digest, expires)

    def find_session(self, digest: str, now: float) -> Person | None:
        """Return the person of a session; None if it is unknown or expired, or the person is not active."""
        mine = sessions.c.digest == _check_digest(digest)
        valid = sessions.c.expires > check_number(now, "the time")
        found = sa.select(people).join(sessions, sessions.c.person == people.c.id)
        row = self._run(found.where(mine, valid, people.c.active)).one_or_none()
        return None if row is None else _make_person(row)

    def is_locked_out(self, digest: str, now: float) -> bool:
        """Return True if this is a login or a session, not expired, of a person who is not active."""
        given, now = _check_digest(digest), check_number(now, "the time")
        found = (
            sa.select(people.c.id)
            .join(table, table.c.person == people.c.id)
            .where(table.c.digest == given, table.c.expires > now, sa.not_(people.c.active))
            for table in (logins, sessions)
        )
        return any(self._run(statement).first() is not None for statement in found)

    def drop_session(self, digest: str) -> None:
        """End a session, if it exists."""
        self._change(sa.delete(sessions).where(sessions.c.digest == _check_digest(digest)))

    def drop_sessions(self, person: int) -> None:
        """End all sessions of a person."""
        wanted = check_integer(person, "the person")
        self._change(sa.delete(sessions).where(sessions.c.person == wanted))

    def _keep(self, table: sa.Table, person: int, digest: str, expires: float) -> None:
        row = {
            "digest": _check_digest(digest),
            "person": check_integer(person, "the person"),
            "expires": check_number(expires, "the time of expiry"),
        }
        self._change(sa.insert(table), row, unknown=f"There is no person {person}, or the secret was used.")


def _check_digest(value: str) -> str:
    check_text(value, "the digest")
    if len(value) != 64 or not _DIGEST.issuperset(value):
        raise BadValueError("The digest must have the 64 hexadecimal digits of a SHA-256.")
    return value


def _make_person(row: Any) -> Person:
    return Person(*row)


class Transaction(PeopleTable, EventTable, Queue):
    """People, events and the queue; the argument of `work` in :meth:`Store.write` and :meth:`Store.read`."""


class Store(ABC):
    """The database of events, people and leases.

    `write` and `read` take a function `work` of a :class:`Transaction`. Its changes are committed together,
    or not at all if it raises. It may be run more than once, after a deadlock or a full disk, so it should
    have no other side effects. It must not call `write` or `read` of the store.
    """

    @abstractmethod
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` and return its result once the commit is on disk."""

    @abstractmethod
    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work`, which must not change anything, and return its result."""

    def check_health(self) -> None:
        """Raise :class:`StoreError` unless the store can be read and written."""
        self.read(lambda transaction: transaction.get_last_seq())
        self.write(lambda transaction: transaction.note("health", format_now()))

    @abstractmethod
    def hold(self) -> None:
        """Lock this store against other studios until it is closed; raise :class:`InUseError` if locked.

        Repeated calls check that the lock is still held.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish pending writes and close the database; may be called twice."""


def touch(transaction: Transaction) -> None:
    """Run a statement that changes nothing but fails on a read-only database. SQLite's BEGIN does not."""
    transaction.drop_session("0" * 64)


def open_store(url: str, *, backups: Path | None = None) -> Store:
    """Open the database at `url`; create or migrate its tables first.

    Parameters
    ----------
    url : str
        ``sqlite:///PATH`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
    backups : Path, optional
        Folder for a copy before an existing database is migrated; for SQLite the default is the folder
        ``backups`` beside it.

    Raises
    ------
    NewerProjectError
        If the database was written by a newer version of likewise.
    StoreError
        If the database cannot be reached, read or written.
    """
    parsed = _parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        from likewise.studio.store._sqlite import SQLiteStore

        return SQLiteStore(parsed, backups)
    from likewise.studio.store._postgres import PostgresStore

    return PostgresStore(parsed, backups)


def _parse_url(url: str) -> URL:
    wanted = BadValueError(
        "The URL of the database is neither sqlite:///PATH nor postgresql://USER:PASSWORD@HOST/NAME.",
        "A colon, slash or @ in the password is written as %3A, %2F or %40.",
    )
    path = url.removeprefix("sqlite:///")
    if path != url and not path.startswith((":", "file:")) and path:
        return URL.create("sqlite", database=path)  # no parsing: the path may contain a question mark
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise wanted from None  # the error text contains the URL, and with it the password
    name = parsed.drivername
    if name in {"postgres", "postgresql", "postgresql+psycopg"}:
        return parsed.set(drivername="postgresql+psycopg")
    if name == "sqlite" and (parsed.database or "").startswith("file:"):
        return parsed
    raise wanted
