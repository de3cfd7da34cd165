"""Keep computed rows of features in files, by the digest of what they were computed from.

A cache is a folder. Each run adds files of its own, which are written under another name and then renamed.
So a process that is killed loses only the rows of its last seconds, and processes may share a folder.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from likewise._atomic_files import replace_file

FloatArray = npt.NDArray[np.float32]
_SECONDS = 10.0  # between two files of one run
_MOST_FILES = 16  # more are merged into one


class RowCache:
    """Rows of float32 by digest, in files ``NAME-….npz`` of a folder; without a folder nothing is kept.

    Parameters
    ----------
    folder : path or None
        The folder, which is created if need be.
    name : str
        The name of the model and the version of its features.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, name: str) -> None:
        self._folder = None if folder is None else Path(folder)
        self._name = name
        self._rows: dict[bytes, FloatArray] = {}
        self._new: list[bytes] = []
        self._files: list[Path] = []
        self._saved = time.monotonic()
        if self._folder is not None:
            self._read(self._folder)

    def digest(self, path: str | os.PathLike[str]) -> bytes:
        """Return the digest of the contents of a file; an empty one if nothing is kept."""
        if self._folder is None:
            return b""
        if not os.path.isfile(path):  # reading a pipe would wait forever
            raise ValueError("it is not a plain file." if os.path.exists(path) else "there is no such file.")
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()

    def get(self, digest: bytes) -> FloatArray | None:
        """Return the row of a digest; None if it is not in the cache."""
        return self._rows.get(digest)

    def put(self, digest: bytes, row: FloatArray) -> None:
        """Add a row, and write the new rows from time to time."""
        if self._folder is None:
            return
        self._rows[digest] = row
        self._new.append(digest)
        if time.monotonic() - self._saved > _SECONDS:
            self.save()

    def save(self) -> None:
        """Write the new rows; a folder that cannot be written to is no error, since only time is lost."""
        if self._folder is None or not self._new:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            merge = len(self._files) >= _MOST_FILES
            new = self._write(self._folder, list(self._rows) if merge else self._new)
            if merge:
                for path in self._files:
                    path.unlink(missing_ok=True)
                self._files = []
            self._files.append(new)
        self._new, self._saved = [], time.monotonic()

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
            self._files.append(path)
            with suppress(
                OSError, ValueError, KeyError, EOFError, BadZipFile
            ):  # a damaged file only costs time
                with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
                    digests, rows = found["digests"], found["rows"]
                if rows.dtype == np.float32 and len(rows) == len(digests) and np.isfinite(rows).all():
                    self._rows.update(zip(map(bytes, digests), rows, strict=True))


def digest_text(text: str) -> bytes:
    """Return the digest of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
