"""The tables of people, logins and sessions."""

from __future__ import annotations

from typing import Any, cast, get_args

import sqlalchemy as sa

from likewise.exceptions import BadValueError, NameTakenError
from likewise.studio.records import Person, Role
from likewise.studio.store import _values
from likewise.studio.store._connection import DialectStatement, StoreConnection, format_now
from likewise.studio.store._schema import about, logins, people, sessions

_COLUMNS: Any = (people.c.id, people.c.name, people.c.role, people.c.active, people.c.created)
_NOTE = DialectStatement.from_builder(lambda insert: insert.on_conflict_do_nothing(), about)
_SET = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_update(
        index_elements=[about.c.name], set_={"value": insert.excluded.value}
    ),
    about,
)
_ADD = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_nothing().returning(*_COLUMNS), people
)
_DIGEST = frozenset("0123456789abcdef")


class PeopleTable(StoreConnection):
    """Read and change people, their one-time logins, their sessions, and facts about the database."""

    def get_or_set(self, name: str, value: str) -> str:
        """Return the value stored under a name; store `value` if there is none."""
        given = {
            "name": _values.check_text(name, "the name"),
            "value": _values.check_text(value, "the value"),
        }
        self._change(_NOTE, given)
        kept: str = self._run(sa.select(about.c.value).where(about.c.name == given["name"])).scalar_one()
        return kept

    def note(self, name: str, value: str) -> None:
        """Store a value under a name, replacing an earlier one."""
        self._change(
            _SET,
            {"name": _values.check_text(name, "the name"), "value": _values.check_text(value, "the value")},
        )

    def add_person(self, name: str, role: Role) -> Person:
        """Add a person; names are unique (:class:`NameTakenError`)."""
        name = _values.check_text(name, "the name", most=_values.MOST_NAME).strip()
        if role not in get_args(Role):
            raise BadValueError(f"role must be one of {', '.join(get_args(Role))}; got {role!r}.")
        row = self._change(
            _ADD, {"name": name, "role": role, "active": True, "created": format_now()}
        ).one_or_none()
        if row is None:
            raise NameTakenError(f"There is already a person called {name!r}.", "Choose another name.")
        return _make_person(row)

    def get_people(self) -> list[Person]:
        """Return all people, in the order in which they were added."""
        return [_make_person(row) for row in self._run(sa.select(*_COLUMNS).order_by(people.c.id))]

    def get_person(self, id: int) -> Person | None:
        """Return one person, or None."""
        wanted = _values.check_integer(id, "the person")
        row = self._run(sa.select(*_COLUMNS).where(people.c.id == wanted)).one_or_none()
        return None if row is None else _make_person(row)

    def set_active(self, id: int, active: bool) -> None:
        """Activate or deactivate a person; deactivating removes their logins and sessions."""
        id = _values.check_integer(id, "the person")
        done = self._change(sa.update(people).where(people.c.id == id).values(active=bool(active)))
        if done.rowcount == 0:
            raise BadValueError(f"There is no person {id}.")
        if not active:
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
        now = _values.check_number(now, "the time")
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
        row = self._run(
            sa.select(*_COLUMNS)
            .join(sessions, sessions.c.person == people.c.id)
            .where(
                sessions.c.digest == _check_digest(digest),
                sessions.c.expires > _values.check_number(now, "the time"),
                people.c.active,
            )
        ).one_or_none()
        return None if row is None else _make_person(row)

    def drop_session(self, digest: str) -> None:
        """End a session, if it exists."""
        self._change(sa.delete(sessions).where(sessions.c.digest == _check_digest(digest)))

    def drop_sessions(self, person: int) -> None:
        """End all sessions of a person."""
        wanted = _values.check_integer(person, "the person")
        self._change(sa.delete(sessions).where(sessions.c.person == wanted))

    def _keep(self, table: sa.Table, person: int, digest: str, expires: float) -> None:
        row = {
            "digest": _check_digest(digest),
            "person": _values.check_integer(person, "the person"),
            "expires": _values.check_number(expires, "the time of expiry"),
        }
        self._change(sa.insert(table), row, unknown=f"There is no person {person}, or the secret was used.")


def _check_digest(value: str) -> str:
    _values.check_text(value, "the digest")
    if len(value) != 64 or not _DIGEST.issuperset(value):
        raise BadValueError("The digest must have the 64 hexadecimal digits of a SHA-256.")
    return value


def _make_person(row: Any) -> Person:
    return Person(row.id, row.name, cast(Role, row.role), bool(row.active), row.created)
