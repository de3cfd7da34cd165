"""Failures of PostgreSQL: it disappears, comes back, refuses, and has a password."""

import dataclasses
import logging
import os
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from likewise.exceptions import BadValueError, InUseError, StoreError, UnreachableError
from likewise.studio.records import NewEvent
from likewise.studio.store import open_store
from patience import PATIENCE, wait_until
from small_projects import make
from studio.service.desk import Desk


@pytest.fixture
def store(postgres_url):
    opened = open_store(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def ann(store):
    return store.write(lambda t: t.add_person("Ann", "owner")).id


def hang_up(postgres):
    """Close all connections of the studio, as a restart or a firewall does."""
    with psycopg.connect(postgres.url()) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
            "WHERE application_name LIKE 'likewise%'"
        )


def test_a_commit_is_on_disk_regardless_of_the_server_default(store):
    def look(t):
        return t._connection.exec_driver_sql("SHOW synchronous_commit").scalar()

    assert store.write(look) == "on"


def test_a_connection_lost_between_transactions_is_replaced(store, ann, postgres):
    hang_up(postgres)
    store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    hang_up(postgres)
    assert store.read(lambda t: t.get_last_seq()) == 1


def test_a_connection_lost_in_a_transaction_is_reported_and_the_next_one_works(store, ann, postgres):
    def work(t):
        t.append(NewEvent("k", "answer", ann, {}))
        hang_up(postgres)
        t.append(NewEvent("l", "answer", ann, {}))

    with pytest.raises(UnreachableError, match=r"cannot be reached.*can be sent again") as caught:
        store.write(work)
    assert postgres.password not in str(caught.value)
    assert store.read(lambda t: t.get_last_seq()) == 0
    assert store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))[1]


def test_a_connection_lost_at_the_commit_is_reported(store, ann, postgres):
    def work(t):
        t.append(NewEvent("k", "answer", ann, {}))
        hang_up(postgres)

    with pytest.raises(UnreachableError):
        store.write(work)
    assert store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))[1], (
        "the same key can be sent again"
    )


def test_a_server_that_stops_and_comes_back(own_postgres):
    store = open_store(own_postgres.empty())
    ann = store.write(lambda t: t.add_person("Ann", "owner")).id
    store.write(lambda t: t.append(NewEvent("before", "answer", ann, {})))
    own_postgres.stop()
    with pytest.raises(
        UnreachableError, match=r"127\.0\.0\.1.*cannot be reached.*Check that it is running"
    ) as caught:
        store.write(lambda t: t.append(NewEvent("meanwhile", "answer", ann, {})))
    with pytest.raises(StoreError):
        store.read(lambda t: t.get_events())
    with pytest.raises(StoreError):
        store.check_health()
    assert own_postgres.password not in "".join(traceback.format_exception(caught.value))
    own_postgres.start()
    store.check_health()
    store.write(lambda t: t.append(NewEvent("after", "answer", ann, {})))
    assert [event.key for event in store.read(lambda t: t.get_events())] == ["before", "after"]
    store.close()


def test_deadlocked_transactions_are_run_again(store, ann):
    """Two transactions append the same two keys in opposite order: PostgreSQL aborts one of them."""
    first = threading.Barrier(2, timeout=PATIENCE)
    runs = []

    def work(order):
        def run(t):
            runs.append(order)
            t.append(NewEvent(order[0], "answer", ann, {}))
            if len(runs) <= 2:
                first.wait()
            return t.append(NewEvent(order[1], "answer", ann, {}))[1]

        return lambda: store.write(run)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(work(order)) for order in ("ab", "ba")]
        assert sum(future.result() for future in futures) == 1
    assert len(runs) >= 3
    assert len(store.read(lambda t: t.get_events())) == 2


def test_the_password_is_never_stated(postgres, caplog, capfd):
    wrong = "tr0ub4dor%&/"
    with caplog.at_level(logging.DEBUG), pytest.raises(UnreachableError) as caught:
        open_store(postgres.url(password=wrong))
    output = "".join(traceback.format_exception(caught.value)) + caplog.text + "".join(capfd.readouterr())
    assert "authentication failed" in str(caught.value)
    assert "postgres on 127.0.0.1" in str(caught.value)
    assert wrong not in output
    assert "tr0ub4dor" not in output


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:tr0ub4dor@host:port/db",
        "mysql://ann:tr0ub4dor@host/db",
        "tr0ub4dor",
        "sqlite://",
        "sqlite:///:memory:",
        "",
    ],
)
def test_an_invalid_url_is_refused_without_repeating_it(url):
    with pytest.raises(BadValueError, match=r"neither sqlite:///PATH nor postgresql://") as caught:
        open_store(url)
    assert "tr0ub4dor" not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_reported(closed_port):
    with pytest.raises(UnreachableError, match="cannot be reached"):
        open_store(f"postgresql://ann:x@127.0.0.1:{closed_port}/db")


def test_a_user_who_may_not_write_is_reported(postgres):
    url = postgres.empty()
    schema = url.rpartition("%3D")[2]
    with psycopg.connect(postgres.url()) as connection:
        connection.execute(f"CREATE ROLE reader{schema} LOGIN PASSWORD 'r'")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader{schema}")
    host = url.partition("@")[2]
    with pytest.raises(StoreError, match=r"is not writable: permission denied.*Grant the user the right"):
        open_store(f"postgresql://reader{schema}:r@{host}")


def test_a_database_with_foreign_tables_is_refused(postgres, postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE events (mine text)")
    with pytest.raises(StoreError, match=r"tables that do not belong to likewise: events\. Use an empty"):
        open_store(postgres_url)


def test_two_servers_that_start_at_once_make_the_tables_once(postgres_url):
    with ThreadPoolExecutor(4) as pool:
        for store in pool.map(open_store, [postgres_url] * 4):
            store.check_health()
            store.close()


def test_a_closed_store_raises_a_clear_error(store):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.read(lambda t: None)


# ---------------------------------------------------------------------- one studio


def test_a_second_studio_on_one_database_is_refused_with_the_holder(store, postgres_url, postgres):
    store.hold()
    store.hold()  # which checks that it still does
    other = open_store(postgres_url)
    with pytest.raises(
        InUseError, match=rf"by another studio \(likewise studio, process {os.getpid()} on .*, since 20"
    ):
        other.hold()
    with pytest.raises(InUseError):
        other.write(lambda t: t.add_person("Bob", "annotator"))
    elsewhere = open_store(postgres.empty())
    elsewhere.hold()  # another schema is for another studio
    elsewhere.close()
    store.close()
    other.hold()
    other.write(lambda t: t.add_person("Bob", "annotator"))
    other.close()


def test_reading_a_database_in_use_needs_no_lock(store, ann, postgres_url):
    store.hold()
    other = open_store(postgres_url)
    other.write(lambda t: t.append(NewEvent("imported", "answer", ann, {})))
    assert [event.key for event in other.read(lambda t: t.get_events())] == ["imported"]
    other.close()


def test_a_studio_that_was_killed_does_not_block_the_next(postgres_url):
    code = (
        "import sys\n"
        "from likewise.studio.store import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "store.hold()\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, postgres_url]
    store = open_store(postgres_url)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline().strip() == b"held"
            with pytest.raises(InUseError, match=f"process {process.pid}"):
                store.hold()
        finally:
            process.kill()

    def is_held():
        with suppress(InUseError):
            store.hold()
            return True
        return False

    wait_until(is_held, "the end of the lock")
    store.close()


def test_a_lost_lock_is_taken_again_unless_another_studio_was_faster(store, ann, postgres, postgres_url):
    store.hold()
    hang_up(postgres)
    store.hold()
    other = open_store(postgres_url)
    with pytest.raises(InUseError):
        other.hold()
    hang_up(postgres)
    other.hold()
    with pytest.raises(InUseError):
        store.hold()
    with pytest.raises(InUseError, match="Use that one, or stop it first"):
        store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    assert store.read(lambda t: t.get_last_seq()) == 0
    other.close()
    store.hold()
    store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))


def test_a_second_studio_of_another_project_folder_is_refused(postgres_url, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    projects = []
    for folder in folders:
        folder.mkdir()
        projects.append(dataclasses.replace(make(folder), database=postgres_url))
    desk = Desk(projects[0])
    try:
        with pytest.raises(InUseError, match="in use by another studio"):
            Desk(projects[1])
    finally:
        desk.close()
    Desk(projects[1]).close()
