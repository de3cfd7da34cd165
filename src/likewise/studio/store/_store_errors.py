"""Convert errors of the databases to messages that can be shown to a person."""

from __future__ import annotations

import sqlite3

from likewise.exceptions import (
    DiskFullError,
    StoreError,
    TransactionConflictError,
    UnreachableError,
    describe_cause,
)

_AGAIN = "What was saved before is safe; what was being saved was not saved, and can be sent again."
_SQLITE = {
    "SQLITE_FULL": (DiskFullError, "The disk is full.", f"Free some space. {_AGAIN}"),
    "SQLITE_READONLY": (
        StoreError,
        "The database of the project cannot be written to.",
        "Check the permissions of the file and of its folder. The data in it are safe.",
    ),
    "SQLITE_CANTOPEN": (
        UnreachableError,
        "The database of the project cannot be opened.",
        "Check that its folder exists and is writable.",
    ),
    "SQLITE_BUSY": (
        StoreError,
        "The database of the project is in use by another program.",
        f"Close that program. {_AGAIN}",
    ),
    "SQLITE_IOERR": (
        StoreError,
        "The disk could not be read or written.",
        f"Check the free space and the health of the disk. {_AGAIN}",
    ),
    "SQLITE_NOTADB": (
        StoreError,
        "The file is not a SQLite database.",
        "Replace it by a copy from the project's backups folder.",
    ),
    "SQLITE_CORRUPT": (
        StoreError,
        "The database of the project is damaged.",
        "Keep the file, and replace it by a copy from the project's backups folder.",
    ),
}


def convert_sqlite_error(error: sqlite3.Error) -> StoreError:
    """Convert an error of SQLite."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for start, (kind, message, way_on) in _SQLITE.items():
        if name.startswith(start):
            return kind(message, way_on)
    return StoreError(f"The database of the project failed: {error}.", _AGAIN)


def convert_postgres_error(error: BaseException, lost: bool, where: str) -> StoreError:
    """Convert an error of PostgreSQL; `where` is the server, without a password."""
    state = getattr(error, "sqlstate", None) or ""
    if state in {"40001", "40P01", "55P03"}:
        return TransactionConflictError("Two transactions conflicted.", _AGAIN)
    if state in {"53100", "54000"}:
        return DiskFullError(f"The disk of the database {where} is full.", f"Free some space there. {_AGAIN}")
    if state in {"25006", "42501"}:
        return StoreError(
            f"The database {where} is not writable: {describe_cause(error)}.",
            "Grant the user the right to create and write tables there.",
        )
    if lost or not state or state[:2] in {"08", "57", "28", "3D", "53"}:
        return UnreachableError(
            f"The database {where} cannot be reached: {describe_cause(error)}.",
            f"Check that it is running, and the address, user and password. {_AGAIN}",
        )
    return StoreError(f"The database {where} failed: {describe_cause(error)}.", _AGAIN)
