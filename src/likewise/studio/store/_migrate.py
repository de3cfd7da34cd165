"""Migrate the tables of a database to this version, after a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from likewise._optional import require
from likewise.exceptions import NewerProjectError, StoreError
from likewise.studio.store._backup import back_up
from likewise.studio.store._schema import REVISION, VERSION_TABLE, metadata

VERSIONS = Path(__file__).parent / "migrations" / "versions"
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
    return ScriptDirectory(str(versions.parent), version_locations=[str(versions)])


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
