"""One server to a project: a lock that the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likewise.exceptions import LikewiseError

_TRIES, _PAUSE = 20, 0.05  # whoever only looks whether it is held holds it for a moment


class Held:
    """A lock that is held; `say` changes what others are told of the holder."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def say(self, url: str) -> None:
        """Write where the server can be reached."""
        text = json.dumps({"pid": os.getpid(), "url": url}).encode("utf-8")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)


@contextmanager
def lock(path: Path, url: str) -> Iterator[Held]:
    """Hold the lock, or say where the server is that holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LikewiseError(
            f"{path} cannot be opened for writing: {error.strerror}. The studio needs a folder that it may "
            "write to."
        ) from error
    try:
        for left in reversed(range(_TRIES)):
            if _take(handle):
                break
            if not left:
                raise LikewiseError(_refused(path))
            time.sleep(_PAUSE)
        held = Held(handle)
        held.say(url)
        try:
            yield held
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)  # which lets go of the lock


def holder(path: Path) -> str | None:
    """Return the URL of the server that holds the lock, None if nobody does; "" if it does not say."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if _take(handle):
            return None
        return str(_said(path).get("url", ""))
    finally:
        os.close(handle)


def _refused(path: Path) -> str:
    said = _said(path)
    where = f" at {said['url']}" if said.get("url") else ""
    who = f" (process {said['pid']})" if said.get("pid") else ""
    return (
        f"{path.parent} is open in another studio{where}{who}. Use that one, or stop it first: two on one "
        "project would ask the same questions twice."
    )


def _said(path: Path) -> dict[str, object]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _take(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 2**30, os.SEEK_SET)  # a byte past the text: on Windows a locked one cannot be read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
