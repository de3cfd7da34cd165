"""Locks between processes: exclusive, released when the holder is killed, and usable without flock."""

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from likewise import _locks
from likewise._locks import describe_holder, find_holder, hold_lock
from likewise.exceptions import LockedError

HOLD = (
    "import sys\n"
    "from pathlib import Path\n"
    "from likewise._locks import hold_lock\n"
    "with hold_lock(Path(sys.argv[1]), work='ask'):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def _few_tries(monkeypatch):
    monkeypatch.setattr(_locks, "_TRIES", 2)
    monkeypatch.setattr(_locks, "_PAUSE", 0)


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline().strip() == b"held"
            yield process
        finally:
            process.kill()


def test_a_lock_is_exclusive_and_names_its_holder(holder, tmp_path):
    path = tmp_path / "lock"
    found = find_holder(path)
    assert (found["pid"], found["host"], found["work"]) == (holder.pid, socket.gethostname(), "ask")
    with (
        pytest.raises(LockedError, match=rf"locked by process {holder.pid}, since 20") as caught,
        hold_lock(path),
    ):
        pass
    assert caught.value.holder == found
    holder.communicate()
    assert not path.exists()
    assert find_holder(path) is None


def test_the_lock_of_a_killed_process_is_free(holder, tmp_path):
    path = tmp_path / "lock"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert path.exists()  # no process was left to remove it
    assert find_holder(path) is None
    with hold_lock(path) as killed:
        assert killed["pid"] == holder.pid
        assert find_holder(path)["pid"] == os.getpid()
    with hold_lock(path) as killed:
        assert killed is None


def test_a_lock_file_that_vanishes_during_the_wait_is_created_again(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    real, removed = fcntl.flock, []

    def remove_first(handle, how):
        if not removed:
            removed.append(path.unlink())  # as the previous holder does, between open and flock
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with hold_lock(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def _has_no_locks(handle, how):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_without_flock_the_process_id_decides(holder, tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", _has_no_locks)
    path = tmp_path / "lock"
    with pytest.raises(LockedError, match=str(holder.pid)), hold_lock(path):
        pass
    holder.kill()
    holder.wait()
    with hold_lock(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_a_holder_on_another_machine_is_named_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", _has_no_locks)
    path = tmp_path / "lock"
    path.write_text(json.dumps({"pid": 7, "host": "elsewhere", "since": "2026-03-09T12:00:00+00:00"}))
    with (
        pytest.raises(LockedError, match="process 7 on elsewhere, since 2026-03-09 12:00 UTC"),
        hold_lock(path),
    ):
        pass


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pid": null}'])
def test_an_invalid_lock_file_is_ignored(tmp_path, text):
    path = tmp_path / "lock"
    path.write_text(text)
    assert find_holder(path) is None
    with hold_lock(path):
        pass
    assert describe_holder({}) == "an unknown process"
