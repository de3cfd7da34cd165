"""The store in a PostgreSQL database: a pool of connections, a transaction for each work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from likewise._optional import require
from likewise.studio.store._errors import Collision, StoreError, Unreachable, of_postgres
from likewise.studio.store._migrate import migrate
from likewise.studio.store._store import Store
from likewise.studio.store._transaction import Transaction

T = TypeVar("T")
TRIES = 5
CONNECT_SECONDS = 5


class PostgresStore(Store):
    """The store in a PostgreSQL database.

    The server commits for several at once by itself, so each work is a plain transaction on a connection of
    its own. A work that met another one (a deadlock) is run again. A connection that was lost is made anew
    for the next work; the one that lost it fails, because nobody can know whether its commit arrived.
    """

    def __init__(self, url: URL, backups: Path | None) -> None:
        require("psycopg", extra="postgres")
        # Nothing else of the address is ever said: a password may also be among its options.
        self._where = f"{url.database or ''} on {url.host or 'this machine'}" + (
            f":{url.port}" if url.port else ""
        )
        self._secrets = [str(word) for word in (url.password, url.query.get("password")) if word]
        self._closed = False
        self._engine = sa.create_engine(
            url,
            pool_size=10,
            max_overflow=20,
            pool_timeout=30,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",  # a second statement must see what was committed meanwhile
            connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "likewise studio"},
        )

        @sa.event.listens_for(self._engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            # What is acknowledged is on disk, whatever the server's default.
            connection.execute("SET synchronous_commit = on")
            connection.commit()

        try:
            with self._plain_errors(), self._engine.begin() as connection:
                migrate(connection, backups)
        except BaseException:
            self._engine.dispose()
            raise

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` and return its result once the commit is on disk."""
        for attempt in range(1, TRIES + 1):
            try:
                return self._run(work, writing=True)
            except Collision:
                if attempt == TRIES:
                    raise
        raise AssertionError("unreachable")

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Do `work`, which changes nothing, and return its result."""
        return self._run(work, writing=False)

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        self._engine.dispose()

    def _run(self, work: Callable[[Transaction], T], *, writing: bool) -> T:
        if self._closed:
            raise StoreError("The store is closed.")
        with self._plain_errors(), self._engine.begin() as connection:
            transaction = Transaction(connection, writing=writing, explain=self._explain)
            result = work(transaction)
            transaction.check()
        return result

    def _explain(self, error: DBAPIError) -> StoreError:
        found = of_postgres(error.orig or error, error.connection_invalidated, self._where)
        if any(len(secret) > 3 and secret in str(found) for secret in self._secrets):
            return Unreachable(f"The database {self._where} cannot be reached.", found.way_on)
        return found

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from None  # the text of the cause may hold what was being saved
        except sa.exc.TimeoutError:
            raise StoreError("Too many people use the database at once.", "Try again in a moment.") from None
