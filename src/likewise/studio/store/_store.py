"""The door of the store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from likewise.exceptions import BadValueError
from likewise.studio.store._connection import format_now
from likewise.studio.store._transaction import Transaction

T = TypeVar("T")


class Store(ABC):
    """Where events, people and leases are kept.

    A work is a function of a :class:`Transaction`. All that it does is kept together, or nothing of it if it
    raises. It may be run more than once, if it met another one or a full disk on the first run, so it should
    speak to nothing but the transaction. Inside a work neither `write` nor `read` of the store is called.
    """

    @abstractmethod
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` and return its result once the commit is on disk."""

    @abstractmethod
    def read(self, work: Callable[[Transaction], T]) -> T:
        """Do `work`, which changes nothing, and return its result."""

    def check_health(self) -> None:
        """Raise :class:`StoreError` unless the store can be read and something was just saved in it."""
        self.read(lambda transaction: transaction.get_last_seq())
        self.write(lambda transaction: transaction.note("health", format_now()))

    @abstractmethod
    def hold(self) -> None:
        """Keep other studios from this store until it is closed; :class:`InUseError` if another has it.

        Called again, it makes sure that the store is still held.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish what is being written and let go of the database; twice does no harm."""


def touch(transaction: Transaction) -> None:
    """Change nothing, by a statement that fails where nothing can be changed. SQLite's BEGIN does not."""
    transaction.drop_session("0" * 64)


def open_store(url: str, *, backups: Path | None = None) -> Store:
    """Open the database at `url`, and make or migrate its tables first.

    Parameters
    ----------
    url : str
        ``sqlite:///PATH`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
    backups : Path, optional
        Where a copy is put before an existing database is changed; for SQLite the folder ``backups`` beside
        it is the default.

    Raises
    ------
    NewerProjectError
        If a newer version of likewise has written the database.
    StoreError
        If it cannot be reached, read or written.
    """
    parsed = _parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        from likewise.studio.store._sqlite import SQLiteStore

        return SQLiteStore(parsed, backups)
    from likewise.studio.store._postgres import PostgresStore

    return PostgresStore(parsed, backups)


def _parse_url(url: str) -> URL:
    wanted = BadValueError(
        "The address of the database is neither sqlite:///PATH nor postgresql://USER:PASSWORD@HOST/NAME.",
        "A colon, slash or @ in the password is written as %3A, %2F or %40.",
    )
    path = url.removeprefix("sqlite:///")
    if path != url and not path.startswith((":", "file:")) and path:
        return URL.create("sqlite", database=path)  # all of it: a folder may have a question mark in its name
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise wanted from None  # the address is in the error's text, and a password in the address
    name = parsed.drivername
    if name in {"postgres", "postgresql", "postgresql+psycopg"}:
        return parsed.set(drivername="postgresql+psycopg")
    if name == "sqlite" and (parsed.database or "").startswith("file:"):
        return parsed
    raise wanted
