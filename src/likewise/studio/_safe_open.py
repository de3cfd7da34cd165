"""Open files inside a folder such that no name, symbolic link or race can reach outside of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from likewise.exceptions import NotAFileError, OutsideFolderError


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
