"""Helpers for reading and writing files that do not import NumPy."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likewise.exceptions import LikewiseError


@contextmanager
def name_file_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Replace the file name in system errors, such as a full disk, by the name that the user gave.

    >>> with name_file_in_errors("labels.csv"):
    ...     raise OSError(28, "No space left on device", ".labels.part")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'labels.csv'
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, LikewiseError):
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


def replace_file(path: str | os.PathLike[str], write: Callable[[Path], Any]) -> None:
    """Call `write` with a temporary path in the same folder, then rename the file to `path` atomically."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with name_file_in_errors(path):
            write(part)
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
