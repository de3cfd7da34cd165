"""The files of the data: listing, fingerprints, safe opening and detection of types."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

from likewise.exceptions import NotAFileError, OutsideFolderError

FIRST = 64  # number of bytes from which the type of a file is detected
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"ID3": "audio/mpeg",
}
MEDIA_ENDINGS: dict[str, Literal["image", "sound"]] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".jpe", ".gif", ".webp", ".bmp"), "image"),
    **dict.fromkeys((".wav", ".wave", ".mp3", ".ogg", ".oga", ".flac"), "sound"),
}
_BMP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})


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


def compute_fingerprint(source: Path) -> dict[str, Any]:
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


def describe_change(source: Path, was: dict[str, Any]) -> str | None:
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
        f"{source} has changed since the project last read it: {how}. {keep}; to use the new data, run "
        f"likewise studio {source} --add."
    )


# ---------------------------------------------------------------------- opening


def open_beneath(root: Path, name: str) -> BinaryIO:
    """Open a file for reading by its path relative to `root`, with slashes.

    Symbolic links are followed if they stay inside `root`. The resolved path is then opened step by step
    without following links, so a link that is created meanwhile has no effect.
    """
    pure = PurePosixPath(name)
    if not name or "\x00" in name or "\\" in name or ":" in pure.parts[0] or pure.is_absolute():
        raise OutsideFolderError(name)
    if ".." in pure.parts:
        raise OutsideFolderError(name)
    top = root.resolve(strict=True)
    real = top.joinpath(*pure.parts).resolve(strict=True)
    if not real.is_relative_to(top):
        raise OutsideFolderError(name)
    handle = _walk(top, real.relative_to(top).parts, real)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotAFileError(name)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _walk(top: Path, parts: tuple[str, ...], real: Path) -> int:
    if not parts:
        raise NotAFileError(str(real))
    if os.open not in os.supports_dir_fd:  # Windows
        return os.open(real, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    no_link = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    place = os.open(top, no_link | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, no_link | os.O_DIRECTORY, dir_fd=place)
            os.close(place)
            place = below
        # Opening a pipe that has no writer would block.
        return os.open(parts[-1], no_link | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)


# ---------------------------------------------------------------------- types


def detect_content_type(first: bytes) -> str | None:
    """Return the content type of a picture or sound that browsers show and that has no scripts, or None.

    >>> detect_content_type(b"fLaC...."), detect_content_type(b"<svg onload='alert(1)'>")
    ('audio/flac', None)
    """
    for beginning, kind in _BEGINNINGS.items():
        if first.startswith(beginning):
            return kind
    if first.startswith(b"RIFF") and first[8:12] == b"WEBP":
        return "image/webp"
    if first.startswith(b"BM") and int.from_bytes(first[14:18], "little") in _BMP_HEADERS:
        return "image/bmp"
    if first.startswith((b"RIFF", b"RF64")) and first[8:12] == b"WAVE":
        return "audio/wav"
    if len(first) < 4 or first[0] != 0xFF or first[1] & 0xE0 != 0xE0:
        return None
    # The header of an MPEG audio frame: after the sync bits, no field has a reserved value.
    version, layer = first[1] >> 3 & 3, first[1] >> 1 & 3
    bitrate, rate = first[2] >> 4, first[2] >> 2 & 3
    is_frame = version != 1 and layer != 0 and bitrate not in (0, 15) and rate != 3
    return "audio/mpeg" if is_frame else None
