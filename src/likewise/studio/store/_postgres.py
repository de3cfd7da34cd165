"""A store in a PostgreSQL database: a connection pool, one transaction per unit of work."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from likewise._optional import require
from likewise.exceptions import InUseError, StoreError, TransactionConflictError, UnreachableError
from likewise.studio.store._connection import convert_postgres_error
from likewise.studio.store._schema import migrate
from likewise.studio.store._store import Store, Transaction

T = TypeVar("T")
TRIES = 5
CONNECT_SECONDS = 5
_STUDIO = 0x73747564  # with the schema, the key of the lock that a running studio holds
_TRY_HOLD = sa.text("SELECT pg_try_advisory_lock(:studio, hashtext(current_schema()))")
_SET_NAME = sa.text("SELECT set_config('application_name', :name, false)")
_HOLDER = sa.text(
    "SELECT application_name, to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS since "
    "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND classid = CAST(:studio AS oid) AND CAST(CAST(objid AS bigint) AS bit(32)) = "
    "CAST(hashtext(current_schema()) AS bit(32))"
)


class PostgresStore(Store):
    """A store in a PostgreSQL database.

    PostgreSQL combines commits itself, so each unit of work is a plain transaction on its own connection.
    After a deadlock the work is run again. A lost connection is replaced for the next work; the work that
    lost it fails, because it is unknown whether its commit arrived.
    """

    def __init__(self, url: URL, backups: Path | None) -> None:
        require("psycopg", extra="postgres")
        # Messages show no other part of the URL: its options may contain a password too.
        self._where = f"{url.database or ''} on {url.host or 'this machine'}" + (
            f":{url.port}" if url.port else ""
        )
        self._secrets = [str(word) for word in (url.password, url.query.get("password")) if word]
        self._closed = False
        self._holding: sa.Connection | None = None
        self._held_by_another: InUseError | None = None
        self._hold_lock = threading.Lock()
        self._engine = sa.create_engine(
            url,
            pool_size=10,
            max_overflow=20,
            pool_timeout=30,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",  # a later statement must see what was committed meanwhile
            connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "likewise studio"},
        )

        @sa.event.listens_for(self._engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            # An acknowledged write is on disk, regardless of the server's default.
            connection.execute("SET synchronous_commit = on")
            connection.commit()

        try:
            with self._convert_errors(), self._engine.begin() as connection:
                migrate(connection, backups)
        except BaseException:
            self._engine.dispose()
            raise

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` and return its result once the commit is on disk."""
        for _ in range(TRIES - 1):
            with suppress(TransactionConflictError):
                return self._run(work, writing=True)
        return self._run(work, writing=True)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work`, which must not change anything, and return its result."""
        return self._run(work, writing=False)

    def hold(self) -> None:
        """Lock this schema against other studios until the store is closed; raise `InUseError` if locked.

        PostgreSQL releases the lock when its connection ends, so a killed studio blocks no one. After a lost
        connection the lock is taken again; if another studio was faster, this one can no longer write.
        """
        with self._hold_lock, self._convert_errors():
            if self._closed or self._is_lock_alive():
                return
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()  # used for the lock only, and closed with the store
            try:
                name = f"likewise studio, process {os.getpid()} on {socket.gethostname()}"[:63]
                connection.execute(_SET_NAME, {"name": name})
                if connection.execute(_TRY_HOLD, {"studio": _STUDIO}).scalar():
                    self._holding, self._held_by_another = connection, None
                    return
                found = connection.execute(_HOLDER, {"studio": _STUDIO}).first()
                who = "" if found is None else f" ({found.application_name}, since {found.since} UTC)"
                self._held_by_another = InUseError(
                    f"The database {self._where} is in use by another studio{who}.",
                    "Use that one, or stop it first: two studios would ask the same questions twice. "
                    "For another project use an empty schema, with ?options=-csearch_path%3DNAME.",
                )
                raise self._held_by_another
            finally:
                if self._holding is not connection:
                    connection.close()

    def _is_lock_alive(self) -> bool:
        """Return True if the connection of the lock is alive; otherwise discard it."""
        if self._holding is None:
            return False
        try:
            self._holding.execute(sa.text("SELECT 1"))
            return True
        except DBAPIError:
            self._holding.close()
            self._holding = None
            return False

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        with self._hold_lock:
            if self._holding is not None:
                with suppress(DBAPIError):  # at once; the server notices the end of a connection later
                    self._holding.execute(sa.text("SELECT pg_advisory_unlock_all()"))
                self._holding.close()
                self._holding = None
        self._engine.dispose()

    def _run(self, work: Callable[[Transaction], T], *, writing: bool) -> T:
        if self._closed:
            raise StoreError("The store is closed.")
        if writing and self._held_by_another is not None:
            raise self._held_by_another
        with self._convert_errors(), self._engine.begin() as connection:
            transaction = Transaction(connection, writing=writing, explain=self._explain)
            result = work(transaction)
            transaction.check()
        return result

    def _explain(self, error: DBAPIError) -> StoreError:
        found = convert_postgres_error(error.orig or error, error.connection_invalidated, self._where)
        if any(len(secret) > 3 and secret in str(found) for secret in self._secrets):
            return UnreachableError(f"The database {self._where} cannot be reached.", found.suggestion)
        return found

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from None  # the text of the cause may contain data being saved
        except sa.exc.TimeoutError:
            raise StoreError("Too many people use the database at once.", "Try again in a moment.") from None
