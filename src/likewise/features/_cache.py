"""Keep computed rows of features in files, by the digest of what they were computed from.

A cache is a folder. Each run adds files of its own, which are written under another name and then renamed.
So a process that is killed loses at most its last batch and ten seconds, and processes may share a folder.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from likewise._atomic_files import replace_file

FloatArray = npt.NDArray[np.float32]
_VERSION = 2  # to be increased if a method computes other rows than before
_SECONDS = 10.0  # between two files of one run
_MOST_FILES = 16  # more are merged into one


class RowCache:
    """Rows of float32 by digest, in files ``NAME-….npz`` of a folder; without a folder nothing is kept.

    Parameters
    ----------
    folder : path or None
        The folder, which is created if need be.
    name : str
        The name of the method, with all settings that its rows depend on.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, name: str) -> None:
        self._folder = None if folder is None else Path(folder)
        self._name = f"{name}-v{_VERSION}"
        self._rows: dict[bytes, FloatArray] = {}
        self._new: list[bytes] = []
        self._files: list[Path] = []
        self._saved = time.monotonic()
        if self._folder is not None:
            self._read(self._folder)

    def digest(self, file: BinaryIO) -> bytes:
        """Return the digest of a file, and go back to its beginning; an empty one if nothing is kept."""
        if self._folder is None:
            return b""
        digest = hashlib.file_digest(file, _make_hash).digest()  # type: ignore[arg-type]
        file.seek(0)
        return digest

    def get(self, digest: bytes) -> FloatArray | None:
        """Return the row of a digest; None if it is not in the cache."""
        return self._rows.get(digest)

    def put(self, digest: bytes, row: FloatArray) -> None:
        """Add a row, and write the new rows from time to time."""
        if self._folder is None:
            return
        if self._rows and len(next(iter(self._rows.values()))) != len(row):
            self._rows, self._new = {}, []  # rows of another method under the same name
        self._rows[digest] = row
        self._new.append(digest)
        if time.monotonic() - self._saved > _SECONDS:
            self.save()

    def save(self) -> None:
        """Write the new rows; a folder that cannot be written to is no error, since only time is lost."""
        if self._folder is None or not self._new:
            return
        self._saved = time.monotonic()
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            merge = len(self._files) >= _MOST_FILES
            new = self._write(self._folder, list(self._rows) if merge else self._new)
            self._new = []
            if merge:
                for path in self._files:
                    path.unlink(missing_ok=True)
                self._files = []
            self._files.append(new)

    def _write(self, folder: Path, keys: list[bytes]) -> Path:
        rows = np.stack([self._rows[key] for key in keys])
        digests = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)

        def write(part: Path) -> None:
            with open(part, "wb") as file:
                np.savez(file, digests=digests, rows=rows)

        path = folder / f"{self._name}-{secrets.token_hex(8)}.npz"
        replace_file(path, write)
        return path

    def _read(self, folder: Path) -> None:
        for path in sorted(folder.glob(f"{self._name}-*.npz")):
            # A damaged file, or one that another process has just merged into a new one, only costs time.
            with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
                with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
                    digests, rows = found["digests"], found["rows"]
                width = {rows.shape[1], *(len(row) for row in islice(self._rows.values(), 1))}
                if rows.dtype == np.float32 and len(rows) == len(digests) and len(width) == 1:
                    self._rows.update(zip(map(bytes, digests), rows, strict=True))
                    self._files.append(path)


def digest_part(digest: bytes, part: tuple[float, ...]) -> bytes:
    """Return the digest of a part of a file from the digest of the file."""
    return _make_hash(digest + repr(part).encode()).digest()


def digest_text(text: str) -> bytes:
    """Return the digest of a text."""
    return _make_hash(text.encode("utf-8", "surrogatepass")).digest()


_make_hash = partial(hashlib.blake2b, digest_size=16)
