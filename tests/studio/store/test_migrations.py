"""Migrations from one release to the next, with data, on both databases."""

import json
import shutil
import sqlite3
import stat

import pytest
import sqlalchemy as sa

from likewise.exceptions import NewerProjectError, StoreError
from likewise.studio.records import NewEvent, QueuedQuestion
from likewise.studio.store import _schema, open_store

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.add_column("people", sa.Column("colour", sa.Text(), nullable=True))
    op.execute("UPDATE people SET colour = 'red'")
"""


@pytest.fixture
def later(tmp_path, monkeypatch):
    """Simulate a later version, whose tables have one more column."""

    def become(step=NEXT):
        folder = tmp_path / "later" / "versions"
        shutil.copytree(_schema.VERSIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "v0002_next.py").write_text(step)
        monkeypatch.setitem(_schema.migrate.__kwdefaults__, "versions", folder)
        monkeypatch.setitem(_schema.migrate.__kwdefaults__, "to", "0002")

    return become


@pytest.fixture
def filled(database_url):
    """The URL of a database with a row in every table."""
    store = open_store(database_url)

    def fill(t):
        assert t.get_or_set("data", "birds") == "birds" == t.get_or_set("data", "cars")
        ann = t.add_person("Ann", "owner").id
        t.add_login(ann, "a" * 64, 9.0)
        t.add_session(ann, "b" * 64, 9.0)
        t.append(NewEvent("k1", "answer", ann, {"text": 'ü "x"\n'}, "q1", 1.5))
        t.refill([QueuedQuestion("q1", "pair", ("a", "b"))])
        t.lease(ann, 1, now=0.0, until=1.0, overlap=1)

    store.write(fill)
    store.close()
    return database_url


def engine(url):
    return sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)


def query(url, statement):
    with engine(url).connect() as connection:
        return connection.execute(sa.text(statement)).all()


def test_the_latest_migration_creates_the_expected_tables(database_url):
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    open_store(database_url).close()
    options = {"version_table": _schema.VERSION_TABLE, "compare_type": True}
    with engine(database_url).connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, _schema.metadata) == []


def test_the_latest_migration_is_the_expected_one():
    assert _schema._make_script(_schema.VERSIONS).get_heads() == [_schema.REVISION]


def test_a_new_database_needs_no_backup(database_url, tmp_path):
    open_store(database_url, backups=tmp_path / "backups").close()
    open_store(database_url, backups=tmp_path / "backups").close()
    assert not (tmp_path / "backups").exists()


def test_an_old_database_is_migrated_after_a_backup(filled, later, tmp_path):
    later()
    backups = tmp_path / "kept" / "backups"
    store = open_store(filled, backups=backups)
    assert [event.body for event in store.read(lambda t: t.get_events())] == [{"text": 'ü "x"\n'}]
    assert store.read(lambda t: t.was_leased("q1", 1))
    store.close()
    assert query(filled, "SELECT colour FROM people") == [("red",)]
    assert query(filled, f"SELECT version_num FROM {_schema.VERSION_TABLE}") == [("0002",)]
    (copy,) = backups.iterdir()
    assert copy.name.startswith("before-0002-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    check_copy(copy)
    open_store(filled, backups=backups).close()
    assert len(list(backups.iterdir())) == 1, "nothing to do the second time"


def check_copy(copy):
    if copy.suffix == ".sqlite":
        connection = sqlite3.connect(copy)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT key FROM events").fetchall() == [("k1",)]
        assert "colour" not in [row[1] for row in connection.execute("PRAGMA table_info(people)")]
        connection.close()
        return
    rows = [json.loads(line) for line in copy.read_text(encoding="utf-8").splitlines()]
    assert {row["table"] for row in rows} == {*_schema.metadata.tables, _schema.VERSION_TABLE}
    (event,) = [row["row"] for row in rows if row["table"] == "events"]
    assert (event["key"], json.loads(event["body"])) == ("k1", {"text": 'ü "x"\n'})
    assert "colour" not in next(row["row"] for row in rows if row["table"] == "people")


def test_a_backup_of_sqlite_can_be_opened(tmp_path, later, monkeypatch):
    url = f"sqlite:///{tmp_path / 'studio.sqlite'}"
    store = open_store(url)
    store.write(lambda t: t.add_person("Ann", "owner"))
    store.close()
    later()
    open_store(url).close()
    monkeypatch.undo()
    (copy,) = (tmp_path / "backups").iterdir()
    store = open_store(f"sqlite:///{copy}")
    assert [person.name for person in store.read(lambda t: t.get_people())] == ["Ann"]
    store.close()


def test_a_failed_migration_changes_nothing(filled, later, tmp_path, monkeypatch):
    later(NEXT + "    raise KeyError('half way')\n")
    with pytest.raises(KeyError, match="half way"):
        open_store(filled, backups=tmp_path / "backups")
    monkeypatch.undo()
    store = open_store(filled, backups=tmp_path / "backups")
    assert store.read(lambda t: t.get_last_seq()) == 1
    store.close()
    with pytest.raises(sa.exc.DBAPIError):
        query(filled, "SELECT colour FROM people")


def test_a_newer_database_is_refused(filled, later, tmp_path, monkeypatch):
    later()
    open_store(filled, backups=tmp_path / "backups").close()
    monkeypatch.undo()
    before = query(filled, "SELECT * FROM people")
    with pytest.raises(NewerProjectError, match=r"'0002'.*reads up to '0001'.*Install that version"):
        open_store(filled, backups=tmp_path / "backups")
    assert query(filled, "SELECT * FROM people") == before


def test_without_a_backup_nothing_is_changed(filled, later, tmp_path):
    later()
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(StoreError, match=r"no copy can be made first.*Nothing was changed"):
        open_store(filled, backups=blocked / "backups")
    assert query(filled, f"SELECT version_num FROM {_schema.VERSION_TABLE}") == [("0001",)]


def test_postgres_requires_a_folder_for_the_backup(postgres_url, later):
    open_store(postgres_url).close()
    later()
    with pytest.raises(StoreError, match=r"no folder for a backup\. Open it with"):
        open_store(postgres_url)
