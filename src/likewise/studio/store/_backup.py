"""Back up the database before a migration."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from likewise.exceptions import StoreError
from likewise.studio.store._store_errors import convert_sqlite_error


def back_up(connection: sa.Connection, folder: Path, revision: str) -> Path:
    """Copy the database into `folder` and return the file.

    A SQLite database is copied as a database; PostgreSQL is written as JSON Lines, one line per row with its
    table. The file gets its final name only when it is complete and on disk.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    sqlite = connection.dialect.name == "sqlite"
    final = folder / f"before-{revision}-{stamp}{'.sqlite' if sqlite else '.jsonl'}"
    part = final.with_suffix(".part")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if sqlite:
            _copy_sqlite(connection, part)
        else:
            _dump(connection, part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(final)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            part.unlink()
        reason = convert_sqlite_error(error).message if isinstance(error, sqlite3.Error) else str(error)
        raise StoreError(
            f"The database must be migrated for this version, but no copy can be made first: {reason}",
            f"Free space in {folder}, or make it writable. Nothing was changed.",
        ) from error
    return final


def _copy_sqlite(connection: sa.Connection, target: Path) -> None:
    # A separate connection: the transaction that is about to migrate has changed nothing yet.
    (name,) = connection.exec_driver_sql("SELECT file FROM pragma_database_list WHERE name = 'main'").one()
    with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file instead of three


def _dump(connection: sa.Connection, target: Path) -> None:
    tables = sa.MetaData()
    tables.reflect(connection)
    with target.open("w", encoding="utf-8") as file:
        for table in tables.sorted_tables:
            for row in connection.execute(sa.select(table)).mappings():
                line = {"table": table.name, "row": dict(row)}
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        file.flush()
        os.fsync(file.fileno())
