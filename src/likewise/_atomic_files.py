"""Helpers for reading and writing files that do not import NumPy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

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
