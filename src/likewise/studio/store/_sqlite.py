"""A store in one SQLite file: a single thread writes and commits for all waiting callers."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from likewise.exceptions import StoreError, TransactionUndoneError, UnreachableError
from likewise.studio.store._connection import convert_sqlite_error
from likewise.studio.store._schema import migrate
from likewise.studio.store._store import Store, Transaction, touch

T = TypeVar("T")
BUSY_SECONDS = 10
MOST_AT_ONCE = 64  # units of work per commit; the first waits for all of them
MOST_JOURNAL = 16 * 2**20  # bytes of the write-ahead log that stay on disk after a large transaction
_CLOSED = "The store is closed."


@dataclass
class _Task:
    work: Callable[[Transaction], Any]
    future: Future[Any] = field(default_factory=Future)


class SQLiteStore(Store):
    """A store in one SQLite file.

    Twenty transactions that each wait for the disk take far longer than one that does the work of all. A
    single thread therefore collects all waiting units of work, runs each in a savepoint, commits once, and
    then notifies the callers. Reads use separate connections and never wait.
    """

    def __init__(self, url: URL, backups: Path | None) -> None:
        url = _create_file(url)
        self._writers = _make_engine(url, "BEGIN IMMEDIATE", poolclass=NullPool)
        self._readers = _make_engine(url, "BEGIN", pool_size=8, max_overflow=24, pool_timeout=30)
        with _convert_errors(), self._writers.connect() as connection, connection.begin():
            (name,) = connection.exec_driver_sql(
                "SELECT file FROM pragma_database_list WHERE name = 'main'"
            ).one()
            self._path = Path(name)
            migrate(connection, backups or self._path.parent / "backups")
            touch(Transaction(connection, writing=True, explain=_explain))
        self._file = _get_file_identity(self._path)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._door = threading.Lock()  # prevents tasks from being queued after the stop marker
        self._closed = False
        self._thread = threading.Thread(target=self._write_all, name="likewise store", daemon=True)
        self._thread.start()

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` and return its result once the commit is on disk."""
        if threading.current_thread() is self._thread:
            raise StoreError("write was called inside a transaction.", "Do everything in the one function.")
        task = _Task(work)
        with self._door:
            if self._closed:
                raise StoreError(_CLOSED)
            self._tasks.put(task)
        result: T = task.future.result()
        return result

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on a consistent state of the database and return its result."""
        if self._closed:
            raise StoreError(_CLOSED)
        self._check_file()
        with _convert_errors(), self._readers.connect() as connection, connection.begin():
            transaction = Transaction(connection, writing=False, explain=_explain)
            result = work(transaction)
            transaction.check()
        return result

    def hold(self) -> None:
        """Do nothing: the lock of the project folder keeps other studios away."""

    def close(self) -> None:
        """Finish pending writes and close the file."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._tasks.put(None)
        self._thread.join()
        self._readers.dispose()
        self._writers.dispose()

    # ------------------------------------------------------------------ the writing thread

    def _write_all(self) -> None:
        going_on = True
        connection: sa.Connection | None = None
        while going_on:
            tasks, going_on = self._take_waiting()
            if not tasks:
                continue
            try:
                if connection is None or connection.closed or connection.invalidated:
                    connection = self._writers.connect()
                self._commit(connection, tasks)
            except BaseException as error:  # callers must never wait for ever
                for task in tasks:
                    if not task.future.done():
                        task.future.set_exception(_convert_error(error))
                if connection is not None:
                    with suppress(Exception):
                        connection.close()
                    connection = None
            del tasks
        if connection is not None:
            connection.close()

    def _take_waiting(self) -> tuple[list[_Task], bool]:
        """Return all waiting tasks, at least one, and whether more may follow."""
        tasks: list[_Task] = []
        try:
            task = self._tasks.get()
            while task is not None:
                tasks.append(task)
                if len(tasks) == MOST_AT_ONCE:
                    return tasks, True
                task = self._tasks.get_nowait()
            return tasks, False
        except queue.Empty:
            return tasks, True

    def _commit(self, connection: sa.Connection, tasks: Sequence[_Task]) -> None:
        transaction = connection.begin()
        try:
            done = [self._run(connection, task) for task in tasks]
            self._check_file()
            transaction.commit()
        except (DBAPIError, sqlite3.Error, UnreachableError, TransactionUndoneError) as error:
            with suppress(DBAPIError):
                transaction.rollback()
            if len(tasks) == 1 or isinstance(error, UnreachableError):
                for task in tasks:
                    task.future.set_exception(_convert_error(error))
                return
            for task in tasks:  # one task failed the commit; run each separately
                self._commit(connection, [task])
            return
        for task, (result, failure) in zip(tasks, done, strict=True):
            if failure is None:
                task.future.set_result(result)
            else:
                task.future.set_exception(failure)

    def _check_file(self) -> None:
        """Raise an error if the file was removed or replaced; SQLite would silently write to the old one."""
        if _get_file_identity(self._path) != self._file:
            raise UnreachableError(
                f"The file {self._path} was removed or replaced while the store was open.",
                "Put it back, or restart the studio. What was being saved is lost.",
            )

    def _run(self, connection: sa.Connection, task: _Task) -> tuple[Any, BaseException | None]:
        """Run one task in a savepoint; raise only if the whole transaction was rolled back."""
        raw: Any = connection.connection.dbapi_connection
        raw.execute("SAVEPOINT work")
        try:
            transaction = Transaction(connection, writing=True, explain=_explain)
            result = task.work(transaction)
            transaction.check()
        except BaseException as failure:
            if not raw.in_transaction:  # a full disk rolls back everything, not only the last statement
                raise TransactionUndoneError from failure
            raw.execute("ROLLBACK TO work")
            raw.execute("RELEASE work")
            return None, failure
        raw.execute("RELEASE work")
        return result, None


def _make_engine(url: URL, begin: str, **pool: Any) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS}, **pool)
    only_reads = begin == "BEGIN"

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # BEGIN is explicit; Python's implicit one comes too late
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {MOST_JOURNAL}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {int(only_reads)}")

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _create_file(url: URL) -> URL:
    """Create the file if it is missing, and return a URL that never creates it.

    SQLite would create it readable for all. If the file vanished later, the next connection would continue
    with an empty one.
    """
    name = url.database or ""
    if name.startswith("file:"):
        return url
    with suppress(OSError):  # the file exists, or SQLite will report the problem
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return url.set(database=f"file:{quote(os.path.abspath(name))}", query={"mode": "rw", "uri": "true"})


def _get_file_identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _explain(error: DBAPIError) -> StoreError:
    return (
        convert_sqlite_error(error.orig)
        if isinstance(error.orig, sqlite3.Error)
        else StoreError(str(error.orig))
    )


def _convert_error(error: BaseException) -> BaseException:
    if isinstance(error, TransactionUndoneError) and error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, DBAPIError):
        return _explain(error)
    return convert_sqlite_error(error) if isinstance(error, sqlite3.Error) else error


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _convert_error(error) from error
    except sa.exc.TimeoutError as error:
        raise StoreError("Too many people are reading at once.", "Try again in a moment.") from error
