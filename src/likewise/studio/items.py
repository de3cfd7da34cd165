"""The items of a project in a file, read by row or id without loading all of them.

The file is written once and only read afterwards; when items are added, a new file takes its place. Any
number of threads and processes may therefore read it, each through its own connection, and SQLite takes no
locks.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, get_args

from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio.records import Item, ItemKind

_TABLE = """
CREATE TABLE items (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT,
    cells TEXT,
    media TEXT,
    truth TEXT,
    part TEXT
)
"""
_COLUMNS = "number, id, kind, title, text, cells, media, truth, part"
_AT_ONCE = 500  # SQLite's limit on parameters is at least 999
MOST_ID = 1000  # characters


# The size and time of the file of each item, by which changed files are found; older projects have no table.
_STAMPS = "CREATE TABLE IF NOT EXISTS stamps (number INTEGER PRIMARY KEY, stamp TEXT NOT NULL)"


def write_items(path: Path, items: Iterable[Item], root: Path | None = None) -> int:
    """Write items to a new file and return their number.

    Items must come in the order of their rows, from 0, with unique ids. `root` is the folder of their media.
    """
    return _write(path, items, 0, root, is_new=True)


def append_items(
    path: Path, items: Iterable[Item], n: int, changed: Iterable[Item] = (), root: Path | None = None
) -> int:
    """Add items to a copy of a file that has `n` of them, and replace changed ones; return their number."""
    return _write(path, items, n, root, changed)


def _write(
    path: Path,
    items: Iterable[Item],
    n: int,
    root: Path | None,
    changed: Iterable[Item] = (),
    *,
    is_new: bool = False,
) -> int:
    encode = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would create an encoder per item
    stamps: list[tuple[int, str]] = []

    def make_row(item: Item, row: int) -> tuple[Any, ...]:
        _check(item, row)
        if root is not None and item.media is not None:
            stamps.append((item.row, make_stamp(root / item.media)))
        cells = encode(item.cells) if item.cells else None
        part = encode(item.part) if item.part else None
        return item.row, item.id, item.kind, item.title, item.text, cells, item.media, item.truth, part

    def iterate_rows() -> Iterator[tuple[Any, ...]]:
        nonlocal n
        for item in items:
            yield make_row(item, n)
            n += 1

    # A failure discards the whole file, so SQLite need not protect it.
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("BEGIN")
        if is_new:
            connection.execute(_TABLE)
        connection.execute(_STAMPS)
        marks = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
        try:
            connection.executemany(
                f"REPLACE INTO items ({_COLUMNS}) VALUES {marks}", [make_row(one, one.row) for one in changed]
            )
            connection.executemany(f"INSERT INTO items ({_COLUMNS}) VALUES {marks}", iterate_rows())
        except sqlite3.IntegrityError as error:
            raise LikewiseError(
                f"the id of item {n} was used for an earlier item; ids must be unique ({error})."
            ) from error
        connection.executemany("REPLACE INTO stamps (number, stamp) VALUES (?, ?)", stamps)
        connection.execute("COMMIT")
    return n


def make_stamp(path: Path) -> str:
    """Return the size and time of a file, "" if it cannot be read; they change if its content does."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _check(item: Item, row: int) -> None:
    if item.row != row:
        raise LikewiseError(f"item {item.id!r} has row {item.row}, but comes as row {row}.")
    if item.kind not in get_args(ItemKind):
        raise LikewiseError(f"item {item.id!r} is a {item.kind!r}; expected one of {get_args(ItemKind)}.")
    if problem := find_id_problem(item.id):
        raise LikewiseError(f"the id {item.id[:80]!r} of row {row} {problem}.")
    parts = [item.title, item.text or "", item.media or "", item.truth or ""]
    for cell in item.cells:
        parts += cell
    if not _is_text("".join(parts)):
        wrong = next((part for part in parts if not _is_text(part)), "")
        raise LikewiseError(
            f"item {item.id!r}: {wrong[:80]!r} is not valid text (it contains half a character)."
        )


def find_id_problem(id: str) -> str | None:
    """Return what is wrong with an id, or None; ids must fit into files, databases and messages.

    >>> find_id_problem("s1"), find_id_problem("")
    (None, 'is empty')
    """
    if not id:
        return "is empty"
    if len(id) > MOST_ID:
        return f"has {len(id):,} characters; expected at most {MOST_ID:,}"
    if "\x00" in id:
        return "contains a NUL character"  # PostgreSQL cannot store it
    return None if _is_text(id) else "is not valid text (it contains half a character)"


def _is_text(text: str) -> bool:
    """Return False for a text with lone surrogates, such as a file name that is not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class ItemFile:
    """Read items by row and by id.

    Parameters
    ----------
    path : Path
        A file written by :func:`write_items`.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path.absolute()
        # A pool: threads come and go, so one connection per thread would accumulate.
        self._idle: deque[sqlite3.Connection] = deque()
        if not path.is_file():
            raise FileFormatError(f"{path} is missing; the project cannot be opened without it.")
        self.n: int = self._select_all("SELECT count(*) FROM items")[0][0]
        names = [column[1] for column in self._select_all("PRAGMA table_info(items)")]
        # Earlier projects have no parts of files.
        self._columns = _COLUMNS if "part" in names else _COLUMNS.replace("part", "NULL")

    def __reduce__(self) -> tuple[type[ItemFile], tuple[Path]]:
        return ItemFile, (self.path,)

    def __len__(self) -> int:
        return self.n

    def switch_to(self, path: Path) -> None:
        """Read another file from now on, which has the same items and more."""
        other = ItemFile(path)
        self.path, self.n = other.path, other.n
        self.close()

    def get_stamps(self) -> dict[int, str]:
        """Return the size and time of the file of each row when it was read; empty in older projects."""
        if not self._select_all("SELECT 1 FROM sqlite_master WHERE name = 'stamps'"):
            return {}
        return dict(self._select_all("SELECT number, stamp FROM stamps"))

    def find_missing(self, root: Path) -> list[int]:
        """Return the rows whose file below `root` is missing.

        The list is empty if all files are missing, e.g. because the disk is not mounted.
        """
        listed = self._select_all("SELECT number, media FROM items WHERE media IS NOT NULL")
        missing = [row for row, media in listed if not os.path.exists(root / media)]
        return missing if len(missing) < len(listed) else []

    def get_ids(self) -> list[str]:
        """Return the id of each row."""
        return [id for (id,) in self._select_all("SELECT id FROM items ORDER BY number")]

    def get_classes(self) -> list[str | None]:
        """Return the true class of each row, or None where it is unknown."""
        return [truth for (truth,) in self._select_all("SELECT truth FROM items ORDER BY number")]

    def get(self, row: int) -> Item:
        """Return the item of a row."""
        return self.get_items([row])[0]

    def get_items(self, rows: Sequence[int]) -> list[Item]:
        """Return the items of the given rows, in their order."""
        wanted = [int(row) for row in rows]
        for row in wanted:
            if not 0 <= row < self.n:
                raise LikewiseError(f"there is no item {row}; the rows are 0 to {self.n - 1}.")
        found = {
            values[0]: _make_item(values)
            for values in self._select_in(f"SELECT {self._columns} FROM items WHERE number IN", wanted)
        }
        return [found[row] for row in wanted]

    def get_row(self, id: str) -> int:
        """Return the row of an id."""
        return self.get_rows([id])[0]

    def get_rows(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of the given ids, in their order."""
        known = [id for id in ids if not find_id_problem(id)]
        found = dict(self._select_in("SELECT id, number FROM items WHERE id IN", known))
        for id in ids:
            if id not in found:
                raise LikewiseError(f"there is no item with the id {id[:80]!r} in this project.")
        return [found[id] for id in ids]

    def __iter__(self) -> Iterator[Item]:
        """Yield all items in the order of their rows, reading them in batches."""
        for start in range(0, self.n, 1000):
            asked = f"SELECT {self._columns} FROM items WHERE number >= ? AND number < ? ORDER BY number"
            yield from map(_make_item, self._select_all(asked, [start, start + 1000]))

    def search(self, text: str) -> Iterator[Item]:
        """Yield items that may contain a text, in the order of their rows, reading them in batches.

        All that do are among them, in any case of the letters.
        """
        # LIKE ignores the case of ASCII letters only; JSON has quotes and backslashes in another form.
        plain = "".join(c if c.isascii() and c.isprintable() and c not in '%_"\\' else "%" for c in text)
        fields = " OR ".join(f"{name} LIKE ?" for name in ("id", "title", "text", "cells"))
        asked = f"SELECT {self._columns} FROM items WHERE number >= ? AND number < ? AND ({fields})"
        for start in range(0, self.n, 1000):
            values = [start, start + 1000, *[f"%{plain}%"] * 4]
            yield from map(_make_item, self._select_all(f"{asked} ORDER BY number", values))

    def get_cells(self, column: str) -> Iterator[str]:
        """Yield the cell of each row in a column, "" where there is none."""
        names = [name for name, _ in self.get(0).cells]
        at = names.index(column) if column in names else -1
        for start in range(0, self.n, 10_000):
            # SQLite finds the cell without creating the others, if all rows have the same columns.
            asked = (
                f"SELECT json_extract(cells, '$[{at}][0]'), json_extract(cells, '$[{at}][1]'), number "
                "FROM items WHERE number >= ? AND number < ? ORDER BY number"
            )
            for name, value, row in self._select_all(asked, [start, start + 10_000]) if at >= 0 else ():
                yield value if name == column else dict(self.get(row).cells).get(column, "")
            if at < 0:
                rows = range(start, min(start + 10_000, self.n))
                yield from (dict(item.cells).get(column, "") for item in self.get_items(rows))

    def close(self) -> None:
        """Close all idle connections; later reads open new ones."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    # ------------------------------------------------------------------ queries

    def _select_in(self, asked: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        different = list(dict.fromkeys(values))
        for start in range(0, len(different), _AT_ONCE):
            part = different[start : start + _AT_ONCE]
            yield from self._select_all(f"{asked} ({', '.join('?' * len(part))})", part)

    def _select_all(self, asked: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._borrow_connection() as connection:
                return connection.execute(asked, values).fetchall()
        except sqlite3.Error as error:
            raise FileFormatError(
                f"{self.path} cannot be read as the items of a project: {error}. If it is damaged, restore "
                "a copy of the project, or create a new one and import the answers."
            ) from error

    @contextmanager
    def _borrow_connection(self) -> Iterator[sqlite3.Connection]:
        path = self.path
        try:
            connection = self._idle.pop()
        except IndexError:
            # Immutable: SQLite takes no locks and does not look for a journal.
            uri = f"{path.as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if path == self.path:
            self._idle.append(connection)
        else:
            connection.close()


def _make_item(values: tuple[Any, ...]) -> Item:
    row, id, kind, title, text, cells, media, truth, part = values
    pairs = tuple((column, value) for column, value in json.loads(cells)) if cells else ()
    return Item(row, id, kind, title, text, pairs, media, truth, tuple(json.loads(part)) if part else ())
