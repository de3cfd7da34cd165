"""Fingerprints of the data of a project, to detect later changes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Fingerprint = dict[str, Any]


def iterate_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the relative path (with slashes) and the `stat` result of each file in a folder, sorted by name.

    Hidden files and folders, studio projects and unreadable files are skipped.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and not n.endswith(".likewise"))
        for name in sorted(names):
            if name.startswith("."):
                continue
            path = Path(place, name)
            try:
                found = path.stat()
            except OSError:
                continue
            if not stat.S_ISREG(found.st_mode):  # opening a pipe would block
                continue
            yield path.relative_to(folder).as_posix(), found


def compute_fingerprint(source: Path) -> Fingerprint:
    """Return a fingerprint of a file (its content) or a folder (the names and sizes of its files)."""
    if source.is_dir():
        digest, n, size = hashlib.sha256(), 0, 0
        for name, found in iterate_files(source):
            digest.update(os.fsencode(name) + f"\x00{found.st_size}\x00".encode())
            n, size = n + 1, size + found.st_size
        return {"kind": "folder", "files": n, "bytes": size, "digest": digest.hexdigest()[:32]}
    found = source.stat()
    with source.open("rb") as handle:
        content = hashlib.file_digest(handle, "sha256").hexdigest()[:32]
    return {"kind": "file", "bytes": found.st_size, "modified": found.st_mtime_ns, "digest": content}


def change(source: Path, was: Fingerprint) -> str | None:
    """Return a sentence that describes how the data have changed, or None if they have not."""
    keep = "The project still uses the data it was created from"
    try:
        if was.get("kind") == "file" and source.is_file():
            found = source.stat()
            if (found.st_size, found.st_mtime_ns) == (was.get("bytes"), was.get("modified")):
                return None  # avoids reading the file
        now = compute_fingerprint(source)
    except OSError as error:
        shown = "media cannot be shown" if was.get("kind") == "folder" else "files it lists may be missing"
        return f"{source} cannot be read ({error.strerror}). {keep}, but {shown} until it is back."
    if now["kind"] != was.get("kind"):
        return f"{source} was a {was.get('kind')} when the project was created, now a {now['kind']}. {keep}."
    if now["digest"] == was.get("digest"):
        return None
    if now["kind"] == "folder" and now["files"] != was.get("files"):
        how = f"it had {was.get('files')} files and now has {now['files']}"
    elif now["bytes"] != was.get("bytes"):
        how = f"it had {was.get('bytes'):,} bytes and now has {now['bytes']:,}"
    else:
        how = "names or contents differ"
    return (
        f"{source} has changed since the project was created: {how}. {keep}; to use the new data, create "
        "another project."
    )
