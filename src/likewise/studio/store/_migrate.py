"""Bring the tables of a database up to this version, after a copy was made."""

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
    """Migrate inside the transaction of `connection`; return the backup, None if there was no need for one.

    A step that fails, and a kill in the middle of one, leave the database as it was.
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
            f"The database has the format {revision!r}, and this version of likewise knows up to {to!r}: "
            "a newer one has written it.",
            "Install that version or a later one; nothing was changed.",
        )
    copy = None
    if revision is not None:
        if backups is None:
            raise StoreError(
                f"The database must be brought from format {revision!r} to {to!r}, and there is no folder "
                "for a copy of it.",
                "Open it with a folder for backups.",
            )
        copy = back_up(connection, backups, to)
    elif foreign := set(sa.inspect(connection).get_table_names()) & set(metadata.tables):
        raise StoreError(
            f"The database holds tables of somebody else: {', '.join(sorted(foreign))}.",
            "Give an empty database, or an empty schema with ?options=-csearch_path%3DNAME.",
        )
    _upgrade(connection, script, to)
    return copy


def get_revision(connection: sa.Connection) -> str | None:
    """The format of the database; None if it has none yet."""
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
        # Alembic's own command does the same; its public door wants an env.py, which is run when imported.
        return script._upgrade_revs(to, revision)

    with EnvironmentContext(Config(), script, fn=list_steps, destination_rev=to) as environment:
        environment.configure(
            connection=connection,
            target_metadata=metadata,
            version_table=VERSION_TABLE,
            transactional_ddl=True,  # also SQLite: a step is done wholly or not at all
        )
        environment.run_migrations()
