"""Failures of SQLite: kills, full disks, missing permissions; several transactions in one commit."""

import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from likewise.exceptions import DiskFullError, StoreError, UnreachableError
from likewise.studio.records import NewEvent
from likewise.studio.store import open_store
from likewise.studio.store._sqlite import MOST_JOURNAL
from patience import PATIENCE


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studio.sqlite"


@pytest.fixture
def store(path):
    opened = open_store(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture
def ann(store):
    return store.write(lambda t: t.add_person("Ann", "owner")).id


def keys(store):
    return [event.key for event in store.read(lambda t: t.get_events())]


def pragma(store, name):
    """The settings of the writing connection."""
    return store.write(lambda t: t._connection.exec_driver_sql(f"PRAGMA {name}").scalar())


def test_the_write_ahead_log_shrinks_after_a_large_transaction(store, ann, path):
    log = path.with_name(path.name + "-wal")

    def write_much(t):
        for k in range(600):
            t.append(NewEvent(f"key {k}", "answer", ann, {"text": "x" * 60_000}))

    store.write(write_much)
    assert log.stat().st_size > 2 * MOST_JOURNAL - 2**22
    for k in range(3):  # the next writes start the log again
        store.write(lambda t, k=k: t.append(NewEvent(f"small {k}", "answer", ann, {})))
    assert log.stat().st_size <= MOST_JOURNAL


def test_the_file_is_durable_and_private(store, path):
    assert pragma(store, "journal_mode") == "wal"
    assert pragma(store, "synchronous") == 2, "FULL: acknowledged is on disk"
    assert pragma(store, "foreign_keys") == 1
    assert pragma(store, "busy_timeout") == 10_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert store.read(lambda t: t._connection.exec_driver_sql("PRAGMA query_only").scalar()) == 1


def at_once(store, works):
    """Run functions that all wait for the same commit; return their results or errors."""
    busy, go_on = threading.Event(), threading.Event()

    def first(t):
        busy.set()
        assert go_on.wait(PATIENCE)

    def result(work):
        try:
            return store.write(work)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(works) + 1) as pool:
        pool.submit(store.write, first)
        assert busy.wait(PATIENCE)
        waiting = [pool.submit(result, work) for work in works]
        while store._tasks.qsize() < len(works):
            pass
        go_on.set()
        return [future.result() for future in waiting]


def test_waiting_transactions_are_committed_together(store, ann):
    commits = []

    def work(i):
        def append(t):
            commits.append(id(t._connection.get_transaction()))
            return t.append(NewEvent(f"k{i}", "answer", ann, {}))[1]

        return append

    assert at_once(store, [work(i) for i in range(10)]) == [True] * 10
    assert len(set(commits)) == 1
    assert sorted(keys(store)) == sorted(f"k{i}" for i in range(10))


def test_a_failed_transaction_does_not_affect_the_others(store, ann):
    def good(i):
        return lambda t: t.append(NewEvent(f"k{i}", "answer", ann, {}))[1]

    def raises(t):
        t.append(NewEvent("lost", "answer", ann, {}))
        raise KeyError("mine alone")

    def breaks(t):
        t.append(NewEvent("lost too", "answer", ann, {}))
        t.append(NewEvent("of nobody", "answer", 99, {}))

    results = at_once(store, [good(0), raises, good(1), breaks, good(2)])
    assert results[0] is results[2] is results[4] is True
    assert isinstance(results[1], KeyError)
    assert "no person 99" in str(results[3])
    assert sorted(keys(store)) == ["k0", "k1", "k2"]


def test_a_full_disk_is_reported_and_survived(store, ann):
    pages = pragma(store, "page_count")
    pragma(store, f"max_page_count = {pages + 3}")

    def append(key, size):
        return store.write(lambda t: t.append(NewEvent(key, "answer", ann, {"text": "x" * size})))

    kept = []

    def fill():
        for i in range(100):
            append(f"k{i}", 3000)
            kept.append(f"k{i}")

    with pytest.raises(DiskFullError, match=r"The disk is full\. Free some space"):
        fill()
    assert kept
    assert keys(store) == kept
    with pytest.raises(DiskFullError):
        append("large", 60_000)
    pragma(store, "max_page_count = 100000")
    append("large", 60_000)
    assert keys(store) == [*kept, "large"]


def test_a_transaction_that_fills_the_disk_does_not_affect_others(store, ann):
    pragma(store, f"max_page_count = {pragma(store, 'page_count') + 4}")

    def of(key, size):
        return lambda t: t.append(NewEvent(key, "answer", ann, {"text": "x" * size}))[1]

    results = at_once(store, [of("a", 10), of("large", 60_000), of("b", 10)])
    assert results[0] is results[2] is True
    assert isinstance(results[1], DiskFullError)
    assert keys(store) == ["a", "b"]


def test_a_read_only_database_is_reported(store, ann, path):
    store.close()
    with pytest.raises(StoreError, match=r"cannot be written to\. Check the permissions"):
        open_store(f"sqlite:///file:{path}?mode=ro&uri=true")


def test_a_folder_may_have_any_name(tmp_path):
    folder = tmp_path / "what? 100% of #7 & ü; 'x'"
    folder.mkdir()
    for _ in range(2):
        open_store(f"sqlite:///{folder / 'studio.sqlite'}").close()
    assert [path.name for path in folder.iterdir()] == ["studio.sqlite"]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_a_read_only_folder_is_reported(tmp_path):
    folder = Path("/proc/self")  # where not even root may
    if not folder.is_dir():
        folder = tmp_path / "closed"
        folder.mkdir(mode=0o500)
    with pytest.raises(UnreachableError, match="cannot be opened"):
        open_store(f"sqlite:///{folder / 'studio.sqlite'}")


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(UnreachableError, match=r"cannot be opened\. Check that its folder exists"):
        open_store(f"sqlite:///{tmp_path / 'no' / 'studio.sqlite'}")


def test_a_file_that_is_not_a_database_is_reported(path):
    path.write_bytes(b"something else altogether, and long enough to be looked at" * 100)
    with pytest.raises(StoreError, match=r"not a SQLite database\. Replace it by a copy from the project's"):
        open_store(f"sqlite:///{path}")


def test_a_removed_file_is_noticed(store, ann, path):
    path.rename(path.with_suffix(".away"))
    with pytest.raises(UnreachableError, match="was removed or replaced"):
        store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    with pytest.raises(UnreachableError):
        store.check_health()
    path.with_suffix(".away").rename(path)
    store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    assert keys(store) == ["k"]


def test_a_writing_program_is_waited_for(store, ann, path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    free = threading.Timer(0.2, other.execute, ["COMMIT"])
    free.start()
    store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    free.join()
    other.close()
    assert keys(store) == ["k"]


def test_a_program_that_holds_the_lock_is_reported(store, ann, path):
    pragma(store, "busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="in use by another program"):
        store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    other.execute("ROLLBACK")
    other.close()
    store.write(lambda t: t.append(NewEvent("k", "answer", ann, {})))
    assert keys(store) == ["k"]


def test_a_backup_while_people_write(store, ann, path, tmp_path):
    """A copy of the file is made meanwhile: no one waits for it, and the copy is complete."""
    with ThreadPoolExecutor(5) as pool:

        def write(part):
            for i in range(20):
                store.write(lambda t, i=i: t.append(NewEvent(f"{part}-{i}", "answer", ann, {})))

        writers = [pool.submit(write, part) for part in range(4)]
        source, copy = sqlite3.connect(path), sqlite3.connect(tmp_path / "copy.sqlite")
        source.backup(copy)
        for writer in writers:
            writer.result()
        source.close()
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    assert len(keys(store)) == 80


def test_nested_writes_are_refused(store):
    with pytest.raises(StoreError, match="write was called inside a transaction"):
        store.write(lambda t: store.write(lambda u: None))


def test_a_closed_store_raises_a_clear_error(store, ann, path):
    store.close()
    store.close()
    for use in (store.write, store.read):
        with pytest.raises(StoreError, match="closed"):
            use(lambda t: None)
    with pytest.raises(StoreError, match="closed"):
        store.check_health()
    assert not path.with_name("studio.sqlite-wal").exists(), "one file is left"


def test_pending_writes_are_finished_on_close(store, ann, path):
    def write(i):
        try:
            return store.write(lambda t: t.append(NewEvent(f"k{i}", "answer", ann, {}))[1])
        except StoreError:
            return False

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(write, i) for i in range(40)]
        futures[5].result()
        store.close()
    acknowledged = {f"k{i}" for i, future in enumerate(futures) if future.result()}
    with sqlite3.connect(path) as connection:
        assert {key for (key,) in connection.execute("SELECT key FROM events")} == acknowledged
    connection.close()


def test_a_healthy_store(store):
    store.check_health()
