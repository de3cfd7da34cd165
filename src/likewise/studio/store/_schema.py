"""The tables as the latest migration leaves them (a test compares the two), and migration of a database.

Only events cannot be derived again. Questions and leases merely record who is looking at what.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from likewise._optional import require
from likewise.exceptions import NewerProjectError, StoreError
from likewise.studio.store._connection import convert_sqlite_error

REVISION = "0001"  # the latest in migrations
VERSION_TABLE = "likewise_version"

metadata = sa.MetaData()
_Seq = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite increments only INTEGER columns

# Facts about the database: "data" is the mark of the items, which protects against answers about other items.
about = sa.Table(
    "about",
    metadata,
    sa.Column("name", sa.Text(), primary_key=True),
    sa.Column("value", sa.Text(), nullable=False),
)

people = sa.Table(
    "people",
    metadata,
    sa.Column("id", _Seq, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text(), nullable=False, unique=True),
    sa.Column("role", sa.Text(), nullable=False),
    sa.Column("active", sa.Boolean(), nullable=False),
    sa.Column("created", sa.Text(), nullable=False),
    sqlite_autoincrement=True,
)

# Digests only: reading the database does not allow anyone to log in.
logins = sa.Table(
    "logins",
    metadata,
    sa.Column("digest", sa.Text(), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires", sa.Double(), nullable=False),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.Text(), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires", sa.Double(), nullable=False),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", _Seq, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text(), nullable=False, unique=True),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False),
    sa.Column("time", sa.Text(), nullable=False),
    sa.Column("question", sa.Text()),
    sa.Column("seconds", sa.Double()),
    sa.Column("body", sa.Text(), nullable=False),  # JSON with sorted keys
    sa.Index("events_of_person", "person", "seq"),
    sqlite_autoincrement=True,  # seqs are never reused
)

# Questions that a person has seen are kept, so that a late answer finds them; `queued` marks those still
# offered.
questions = sa.Table(
    "questions",
    metadata,
    sa.Column("id", sa.Text(), primary_key=True),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("items", sa.Text(), nullable=False),  # JSON: item ids, or an object with groups
    sa.Column("score", sa.Double()),
    sa.Column("why", sa.Text(), nullable=False),
    sa.Column("place", _Seq, nullable=False),  # order in which questions are offered
    sa.Column("queued", sa.Integer(), nullable=False),
    sa.Column("n_answers", sa.Integer(), nullable=False),
    sa.Index("questions_in_order", "queued", "place"),
    sa.Index("questions_by_answers", "queued", "n_answers"),
)

# One row per question and person who was given it. `state` is "held" (until `until`), "released", "answered"
# or "skipped".
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("question", sa.Text(), sa.ForeignKey("questions.id"), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), primary_key=True),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("until", sa.Double(), nullable=False),
    sa.Index("leases_of_person", "person", "state"),
    sa.Index("leases_by_end", "state", "until"),
)


VERSIONS = Path(__file__).parent / "migrations"
_LOCK = 0x6C696B66


def migrate(
    connection: sa.Connection,
    backups: Path | None,
    *,
    to: str = REVISION,
    versions: Path = VERSIONS,
) -> Path | None:
    """Migrate inside the transaction of `connection`; return the backup, or None if none was needed.

    A step that fails or is killed leaves the database unchanged.
    """
    if connection.dialect.name == "postgresql":  # two servers may start at once
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    revision = get_revision(connection)
    if revision == to:
        return None
    script = _make_script(versions)
    known = {step.revision for step in script.walk_revisions()}
    if revision is not None and revision not in known:
        raise NewerProjectError(
            f"The database has format {revision!r}, but this version of likewise reads up to {to!r}: "
            "a newer version has written it.",
            "Install that version or a later one; nothing was changed.",
        )
    copy = None
    if revision is not None:
        if backups is None:
            raise StoreError(
                f"The database must be migrated from format {revision!r} to {to!r}, but there is no folder "
                "for a backup.",
                "Open it with a folder for backups.",
            )
        copy = back_up(connection, backups, to)
    elif foreign := set(sa.inspect(connection).get_table_names()) & set(metadata.tables):
        raise StoreError(
            f"The database has tables that do not belong to likewise: {', '.join(sorted(foreign))}.",
            "Use an empty database, or an empty schema with ?options=-csearch_path%3DNAME.",
        )
    _upgrade(connection, script, to)
    return copy


def get_revision(connection: sa.Connection) -> str | None:
    """Return the format of the database, or None if it is new."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.execute(
        sa.text(f"SELECT version_num FROM {VERSION_TABLE}")
    ).scalar_one_or_none()
    return found


def _make_script(versions: Path) -> Any:
    ScriptDirectory = require("alembic.script", extra="studio").ScriptDirectory
    return ScriptDirectory(str(versions), version_locations=[str(versions)])


def _upgrade(connection: sa.Connection, script: Any, to: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext

    def list_steps(revision: Any, _: Any) -> Any:
        # Alembic's upgrade command does the same, but needs an env.py that runs code on import.
        return script._upgrade_revs(to, revision)

    with EnvironmentContext(Config(), script, fn=list_steps, destination_rev=to) as environment:
        environment.configure(
            connection=connection,
            target_metadata=metadata,
            version_table=VERSION_TABLE,
            transactional_ddl=True,  # for SQLite too: a step is applied completely or not at all
        )
        environment.run_migrations()


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
