"""The interface of the store, and messages for errors of the databases."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from likewise.exceptions import (
    BadValueError,
    DiskFullError,
    StoreError,
    TransactionConflictError,
    UnreachableError,
    describe_cause,
)
from likewise.studio.store._connection import format_now
from likewise.studio.store._transaction import Transaction

T = TypeVar("T")


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
