"""Locks between processes. The operating system releases them when the holder ends, however it ends."""

from __future__ import annotations

import datetime
import errno
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from likewise.exceptions import LikewiseError, LockedError

_TRIES, _PAUSE = 20, 0.05  # Retries: `find_holder` in another process takes the lock briefly.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


@contextmanager
def hold_lock(path: Path, **about: Any) -> Iterator[dict[str, Any] | None]:
    """Hold the lock at `path`, or raise `LockedError`; yield the entry left by a killed holder, or None.

    The file at `path` exists while the lock is held. It contains the process, the machine, the time and the
    items of `about`. A file that was left behind by a killed process does not lock anything.

    Parameters
    ----------
    path : Path
        The lock file, which is created and removed at the end.
    **about : JSON values
        More information about the holder for other processes.
    """
    handle = _acquire(path)
    try:
        killed = _read_entry(path) or None
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        entry = {"pid": os.getpid(), "host": socket.gethostname(), "since": now, **about}
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(entry).encode("utf-8"))
        yield killed
    finally:
        if sys.platform == "win32":  # an open file cannot be removed
            os.ftruncate(handle, 0)
        else:
            path.unlink(missing_ok=True)  # before the lock is released: afterwards another process may own it
        os.close(handle)


def find_holder(path: Path) -> dict[str, Any] | None:
    """Return the entry of the process that holds the lock, or None if no process holds it."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _try_lock(handle, path) else _read_entry(path)
    finally:
        os.close(handle)


def describe_holder(holder: Mapping[str, Any]) -> str:
    """Describe the holder: its process, its machine unless it is this one, and the time.

    >>> describe_holder({"pid": 4711, "host": "elsewhere", "since": "2026-03-09T12:00:00+00:00"})
    'process 4711 on elsewhere, since 2026-03-09 12:00 UTC'
    """
    if not holder.get("pid"):
        return "an unknown process"
    host = holder.get("host")
    where = f" on {host}" if host and host != socket.gethostname() else ""
    since = ""
    with suppress(TypeError, ValueError):
        since = f", since {datetime.datetime.fromisoformat(holder['since']):%Y-%m-%d %H:%M} UTC"
    return f"process {holder['pid']}{where}{since}"


def _acquire(path: Path) -> int:
    """Lock the file at `path` and return its handle."""
    for left in reversed(range(_TRIES)):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            locked = _try_lock(handle, path)
            # the previous holder may have deleted the file since we opened it
            if locked and _is_at(handle, path):
                return handle
            if not locked and not left:
                entry = _read_entry(path)
                raise LockedError(f"{path} is locked by {describe_holder(entry)}.", entry)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if not locked:
            time.sleep(_PAUSE)
    raise LikewiseError(f"{path} cannot be locked: other processes keep replacing it.")


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _try_lock(handle: int, path: Path) -> bool:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 2**30, os.SEEK_SET)  # past the text: on Windows a locked byte cannot be read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return not _is_alive(_read_entry(path))
    except OSError as error:
        # Some network file systems have no locks; use the process id instead.
        return error.errno in _UNSUPPORTED and not _is_alive(_read_entry(path))
    return True


def _is_alive(entry: Mapping[str, Any]) -> bool:
    """Return True if the process that wrote an entry still runs; assumed for other machines."""
    pid = entry.get("pid")
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    if entry.get("host") != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read_entry(path: Path) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}
