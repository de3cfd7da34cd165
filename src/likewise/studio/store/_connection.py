"""A connection inside a transaction: values are checked, and errors converted to those of likewise."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError

from likewise.exceptions import (
    BadValueError,
    DiskFullError,
    StoreError,
    TransactionConflictError,
    UnreachableError,
    describe_cause,
)

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


MOST_NAME = 200
MOST_BODY = 64 * 1024
MOST_DEPTH = 20
_LOW, _HIGH = -(2**63), 2**63 - 1


def check_text(value: object, what: str, *, most: int | None = None, empty: bool = False) -> str:
    """Return `value` if it is a text that both databases can store."""
    if not isinstance(value, str):
        raise BadValueError(f"{what} must be a text; got {type(value).__name__}.")
    if not empty and not value.strip():
        raise BadValueError(f"{what} is empty.")
    if most is not None and len(value) > most:
        raise BadValueError(f"{what} has {len(value)} characters; expected at most {most}.")
    if "\0" in value:
        raise BadValueError(f"{what} contains a NUL character, which cannot be stored.", "Remove it.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadValueError(
            f"{what} contains half of a surrogate pair, which is not a character.", "Remove it."
        ) from None
    return value


def check_integer(value: object, what: str, *, least: int = _LOW) -> int:
    """Return `value` if it is an integer of at most 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValueError(f"{what} must be an integer; got {type(value).__name__}.")
    if not least <= value <= _HIGH:
        raise BadValueError(f"{what} must be between {least} and {_HIGH}.")
    return value


def check_number(value: object, what: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"{what} must be a number; got {type(value).__name__}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise BadValueError(f"{what} must be finite; got {result}.")
    return result


def format_body(value: Mapping[str, Any], what: str) -> str:
    """Return a mapping as canonical JSON: equal contents give equal texts."""
    if not isinstance(value, Mapping):
        raise BadValueError(f"{what} must be a mapping; got {type(value).__name__}.")
    written = json.dumps(
        _check_plain(value, what, 0),
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    size = len(written.encode("utf-8"))
    if size > MOST_BODY:
        raise BadValueError(f"{what} takes {size} bytes as JSON; expected at most {MOST_BODY}.")
    return written


def _check_plain(value: Any, what: str, depth: int) -> Any:
    if depth > MOST_DEPTH:
        raise BadValueError(f"{what} is nested more than {MOST_DEPTH} levels deep.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, what, empty=True)
    if isinstance(value, int):
        return check_integer(value, what)
    if isinstance(value, float):
        return check_number(value, what)
    if isinstance(value, Mapping):
        return {
            check_text(key, f"a key of {what}", most=MOST_NAME, empty=True): _check_plain(
                inner, f"{what}[{key!r}]", depth + 1
            )
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_check_plain(inner, f"{what}[{i}]", depth + 1) for i, inner in enumerate(value)]
    raise BadValueError(f"{what} contains a {type(value).__name__}, which is not JSON.")


# ---------------------------------------------------------------------- errors of the databases

_AGAIN = "What was saved before is safe; what was being saved was not saved, and can be sent again."
_SQLITE = {
    "SQLITE_FULL": (DiskFullError, "The disk is full.", f"Free some space. {_AGAIN}"),
    "SQLITE_READONLY": (
        StoreError,
        "The database of the project cannot be written to.",
        "Check the permissions of the file and of its folder. The data in it are safe.",
    ),
    "SQLITE_CANTOPEN": (
        UnreachableError,
        "The database of the project cannot be opened.",
        "Check that its folder exists and is writable.",
    ),
    "SQLITE_BUSY": (
        StoreError,
        "The database of the project is in use by another program.",
        f"Close that program. {_AGAIN}",
    ),
    "SQLITE_IOERR": (
        StoreError,
        "The disk could not be read or written.",
        f"Check the free space and the health of the disk. {_AGAIN}",
    ),
    "SQLITE_NOTADB": (
        StoreError,
        "The file is not a SQLite database.",
        "Replace it by a copy from the project's backups folder.",
    ),
    "SQLITE_CORRUPT": (
        StoreError,
        "The database of the project is damaged.",
        "Keep the file, and replace it by a copy from the project's backups folder.",
    ),
}


def convert_sqlite_error(error: sqlite3.Error) -> StoreError:
    """Convert an error of SQLite."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for start, (kind, message, way_on) in _SQLITE.items():
        if name.startswith(start):
            return kind(message, way_on)
    return StoreError(f"The database of the project failed: {error}.", _AGAIN)


def convert_postgres_error(error: BaseException, lost: bool, where: str) -> StoreError:
    """Convert an error of PostgreSQL; `where` is the server, without a password."""
    state = getattr(error, "sqlstate", None) or ""
    if state in {"40001", "40P01", "55P03"}:
        return TransactionConflictError("Two transactions conflicted.", _AGAIN)
    if state in {"53100", "54000"}:
        return DiskFullError(f"The disk of the database {where} is full.", f"Free some space there. {_AGAIN}")
    if state in {"25006", "42501"}:
        return StoreError(
            f"The database {where} is not writable: {describe_cause(error)}.",
            "Grant the user the right to create and write tables there.",
        )
    if lost or not state or state[:2] in {"08", "57", "28", "3D", "53"}:
        return UnreachableError(
            f"The database {where} cannot be reached: {describe_cause(error)}.",
            f"Check that it is running, and the address, user and password. {_AGAIN}",
        )
    return StoreError(f"The database {where} failed: {describe_cause(error)}.", _AGAIN)
