"""A connection inside a transaction, with database errors converted to those of likewise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError

from likewise.exceptions import BadValueError, StoreError

Explain = Callable[[DBAPIError], StoreError]
Given = Mapping[str, Any] | Sequence[Mapping[str, Any]]
_LOCK = 0x6C696B65  # arbitrary number
_SHARED = sa.select(sa.func.pg_advisory_xact_lock_shared(_LOCK))
_ALONE = sa.select(sa.func.pg_advisory_xact_lock(_LOCK))


@dataclass(frozen=True)
class DialectStatement:
    """A statement in the dialects of SQLite and PostgreSQL.

    Both are built once, at import: building a statement takes longer than running it.
    """

    sqlite: sa.Executable
    postgres: sa.Executable

    @classmethod
    def from_builder(cls, build: Callable[[Any], sa.Executable], table: sa.Table) -> DialectStatement:
        """Build from an INSERT with ON CONFLICT, which SQLAlchemy provides per dialect."""
        return cls(build(sqlite.insert(table)), build(postgresql.insert(table)))


class StoreConnection:
    """A connection inside a transaction; its changes are committed together or not at all."""

    def __init__(self, connection: sa.Connection, *, writing: bool, explain: Explain) -> None:
        self._connection = connection
        self._writing = writing
        self._explain = explain
        self._failed: StoreError | None = None
        self._locked = False
        self._postgres = connection.dialect.name == "postgresql"

    def _run(
        self, statement: sa.Executable | DialectStatement, given: Given | None = None, *, unknown: str = ""
    ) -> sa.CursorResult[Any]:
        """Execute a statement; `unknown` is the error message if a referenced row does not exist."""
        if self._failed is not None:  # PostgreSQL would refuse; SQLite would commit a part
            raise self._failed
        if isinstance(statement, DialectStatement):
            statement = statement.postgres if self._postgres else statement.sqlite
        try:
            return self._connection.execute(statement, given)
        except IntegrityError as error:
            self._failed = BadValueError(unknown) if unknown else self._explain(error)
            raise self._failed from error
        except DBAPIError as error:
            self._failed = self._explain(error)
            raise self._failed from error

    def _change(
        self, statement: sa.Executable | DialectStatement, given: Given | None = None, *, unknown: str = ""
    ) -> sa.CursorResult[Any]:
        """Execute a statement that changes data."""
        if not self._writing:
            raise StoreError("This transaction is read-only.", "Use Store.write.")
        return self._run(statement, given, unknown=unknown)

    def _lock_shared(self) -> None:
        """On PostgreSQL, block exclusive lock holders until the commit. SQLite has one writer anyway."""
        if self._postgres and not self._locked:
            self._run(_SHARED)
            self._locked = True

    def _lock_exclusive(self) -> None:
        """On PostgreSQL, wait for all shared locks and prevent new ones until the commit."""
        if self._postgres:
            self._run(_ALONE)
            self._locked = True

    def check(self) -> None:
        """Raise the error of a statement that failed, even if the caller ignored it."""
        if self._failed is not None:
            raise self._failed


def format_now() -> str:
    """Return the current time in the format of events."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
