"""Failures under a running studio: a full disk, a missing database or file."""

import shutil
import sqlite3
import subprocess
from contextlib import suppress

import pytest
import sqlalchemy as sa

from likewise.exceptions import DiskFullError, StoreError, UnreachableError
from likewise.studio.store._connection import convert_sqlite_error
from studio.http.web import HEADERS, Site, answer, ask, code
from studio.service.desk import new_key, open_desk


@pytest.fixture
def client(site):
    return site.annotator()


def fail_with(monkeypatch, site, error):
    def write(work):
        raise error

    monkeypatch.setattr(site.studio.store, "write", write)


def test_a_full_disk_is_reported_and_nothing_is_acknowledged(site, client, monkeypatch):
    (question,) = ask(client)
    key = new_key()
    with monkeypatch.context() as patch:
        fail_with(patch, site, DiskFullError("The disk is full.", "Free some space."))
        response = answer(client, question, key=key)
        assert response.status_code == 503
        assert code(response) == "not_saved"
        assert response.json()["error"]["message"] == "The disk is full."
        assert response.headers["retry-after"] == "5"
        assert all(header in response.headers for header in HEADERS)
        assert client.get("/health").status_code == 503
        assert client.get("/api/progress").json()["n_answers"] == 0
        assert client.get("/api/groups").status_code == 200  # reading still works
    assert not site.desk.events()
    # After space was freed, the same request is stored as new.
    assert answer(client, question, key=key).json()["new"] is True
    assert len(site.desk.events("answer")) == 1
    assert client.get("/health").json()["status"] == "ok"


def test_a_really_full_database_is_reported_and_works_again(site, client):
    """SQLite itself reports a full disk in the middle of a transaction."""
    (question,) = ask(client)
    store = site.studio.store
    seen = []

    def fill(tx):
        tx._connection.exec_driver_sql("PRAGMA max_page_count = 1")
        try:
            for n in range(200):
                tx.add_person(f"somebody {n} " + "x" * 80, "annotator")
        except StoreError as error:
            seen.append(error)
            raise
        finally:
            tx._connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")

    with pytest.raises(StoreError):
        store.write(fill)
    assert isinstance(seen[0], DiskFullError)
    assert answer(client, question).status_code == 200
    people = store.read(lambda tx: tx.get_people())
    assert not [person for person in people if person.name.startswith("somebody")]


@pytest.mark.parametrize(
    "error",
    [
        UnreachableError("The database localhost:5432 cannot be reached: connection refused."),
        convert_sqlite_error(sqlite3.OperationalError("database disk image is malformed")),
        StoreError("The store is closed."),
    ],
    ids=["lost connection", "unknown", "closed"],
)
def test_a_store_that_fails_is_reported_in_words(site, client, monkeypatch, error):
    (question,) = ask(client)
    fail_with(monkeypatch, site, error)
    for response in (answer(client, question), client.post("/api/questions", json={"n": 1})):
        assert response.status_code == 503
        assert response.json()["error"]["message"] == error.message
        assert response.json()["error"]["way_on"]


def test_a_database_that_is_removed_acknowledges_nothing_and_names_no_folder(site, client):
    (question,) = ask(client)
    file = site.desk.project.folder / "studio.sqlite"
    kept = file.rename(file.with_name("kept.sqlite"))
    response = answer(client, question)
    assert response.status_code == 503
    assert "removed or replaced" in response.json()["error"]["message"]
    assert str(site.desk.project.folder.parent) not in response.text
    kept.rename(file)
    assert answer(client, question).status_code == 200


def test_new_questions_that_cannot_be_kept_stop_nothing(site, client, monkeypatch):
    """New questions meet a full disk; the owner is notified, and answering continues afterwards."""
    heard = []
    leave = site.desk.hub.watch(lambda name, content: heard.append((name, content)))
    with monkeypatch.context() as patch:
        fail_with(patch, site, DiskFullError("The disk is full."))
        site.desk.settle()
    leave()
    assert any(name == "trouble" and "disk is full" in content["text"] for name, content in heard)
    site.desk.settle()
    questions = ask(client)
    assert answer(client, questions[0]).status_code == 200


def test_a_data_file_that_is_removed_is_reported_to_the_owner(site):
    project = site.desk.project
    assert project.describe_changed_source() is None
    project.source.unlink()
    assert project.describe_changed_source()
    client = site.annotator()
    assert answer(client, ask(client)[0]).status_code == 200


# ---------------------------------------------------------------------- health


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(path):
    """Write to a file until the disk is full."""
    with suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(512))


def test_health_says_that_the_disk_is_full_and_when_there_is_room_again(small_disk):
    site = Site(open_desk(small_disk))
    try:
        client = site.annotator()
        (question,) = ask(client)
        assert client.get("/health").json()["status"] == "ok"
        fill(small_disk / "filler")
        response = client.get("/health")
        assert (response.status_code, code(response)) == (503, "not_saved")
        assert response.json()["error"]["message"] == "The disk is full."
        assert answer(client, question).status_code == 503
        (small_disk / "filler").unlink()
        assert client.get("/health").status_code == 200
        assert answer(client, question).status_code == 200
    finally:
        site.close()


def test_health_says_that_the_database_is_gone(site, client):
    file = site.desk.project.folder / "studio.sqlite"
    kept = file.rename(file.with_name("kept.sqlite"))
    response = client.get("/health")
    assert (response.status_code, code(response)) == (503, "not_saved")
    assert "removed or replaced" in response.json()["error"]["message"]
    kept.rename(file)
    assert client.get("/health").status_code == 200


def test_health_says_that_the_database_cannot_be_written(site, client):
    def only_read(tx):
        tx._connection.exec_driver_sql("PRAGMA query_only = 1")

    store = site.studio.store
    # A write in the background that fails before the request makes the store connect anew.
    sa.event.listen(store._writers, "connect", lambda made, _: made.execute("PRAGMA query_only = 1"))
    store.write(only_read)
    response = client.get("/health")
    assert (response.status_code, code(response)) == (503, "not_saved")
    assert "cannot be written to" in response.json()["error"]["message"]
    assert client.get("/api/progress").status_code == 200  # reading works


def test_health_changes_nothing_that_people_see(site, client):
    before = client.get("/api/progress").json()
    assert [client.get("/health").status_code for _ in range(3)] == [200] * 3
    assert client.get("/api/progress").json() == before
    assert not site.desk.events()
