"""What the data of a project were like when it was made, so that a later change is noticed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Fingerprint = dict[str, Any]


def iterate_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Go through the files of a folder by name: relative path with slashes, and what the system knows of it.

    Hidden files and folders and the projects of the studio are passed over, and so is what is not to be seen.
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
            if not stat.S_ISREG(found.st_mode):  # to open a pipe would be to wait for ever
                continue
            yield path.relative_to(folder).as_posix(), found


def compute_fingerprint(source: Path) -> Fingerprint:
    """Describe a data file by its content, a folder by the names and sizes of its files."""
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
    """Say in a sentence how data differ from what they were; None if they do not."""
    keep = "The project goes on with what it was made of"
    try:
        if was.get("kind") == "file" and source.is_file():
            found = source.stat()
            if (found.st_size, found.st_mtime_ns) == (was.get("bytes"), was.get("modified")):
                return None  # without reading it all
        now = compute_fingerprint(source)
    except OSError as error:
        shown = "media cannot be shown" if was.get("kind") == "folder" else "files it names may not be found"
        return f"{source} is gone or cannot be read ({error.strerror}). {keep}, but {shown} until it is back."
    if now["kind"] != was.get("kind"):
        return (
            f"{source} was a {was.get('kind')} when the project was made and is a {now['kind']} now. {keep}."
        )
    if now["digest"] == was.get("digest"):
        return None
    if now["kind"] == "folder" and now["files"] != was.get("files"):
        how = f"it had {was.get('files')} files and has {now['files']} now"
    elif now["bytes"] != was.get("bytes"):
        how = f"it had {was.get('bytes'):,} bytes and has {now['bytes']:,} now"
    else:
        how = "names or contents differ"
    return (
        f"{source} has changed since the project was made: {how}. {keep}; for the new data make another "
        "project."
    )
