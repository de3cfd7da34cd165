"""The items of a project as a file: found by row or by id, without all of them in memory.

The file is written once, when the project is made, and only read from then on. So any number of threads and
processes may read it, each through a connection that nobody else uses meanwhile, and SQLite takes no lock.
"""

from __future__ import annotations

import json
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
    truth TEXT
)
"""
_COLUMNS = "number, id, kind, title, text, cells, media, truth"
_AT_ONCE = 500  # SQLite takes 999 parameters or more, depending on how it was built
MOST_ID = 1000  # letters


def write_items(path: Path, items: Iterable[Item]) -> int:
    """Write items to a new file and return how many there were.

    They come in the order of their rows, 0, 1, and so on, and no id comes twice.
    """
    n = 0
    encode = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make one for each item

    def iterate_rows() -> Iterator[tuple[Any, ...]]:
        nonlocal n
        for item in items:
            _check(item, n)
            cells = encode(item.cells) if item.cells else None
            yield item.row, item.id, item.kind, item.title, item.text, cells, item.media, item.truth
            n += 1

    # The whole folder is thrown away if this fails, so SQLite need not guard the file against it.
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("BEGIN")
        connection.execute(_TABLE)
        try:
            connection.executemany(
                f"INSERT INTO items ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", iterate_rows()
            )
        except sqlite3.IntegrityError as error:
            raise LikewiseError(
                f"the id of item {n} is that of an item before it; ids must differ ({error})."
            ) from error
        connection.execute("COMMIT")
    return n


def _check(item: Item, row: int) -> None:
    if item.row != row:
        raise LikewiseError(f"item {item.id!r} is said to be row {item.row}, yet comes as row {row}.")
    if item.kind not in get_args(ItemKind):
        raise LikewiseError(f"item {item.id!r} is a {item.kind!r}; wanted one of {get_args(ItemKind)}.")
    if problem := find_id_problem(item.id):
        raise LikewiseError(f"the id {item.id[:80]!r} of row {row} {problem}.")
    parts = [item.title, item.text or "", item.media or "", item.truth or ""]
    for cell in item.cells:
        parts += cell
    if not _is_text("".join(parts)):
        wrong = next((part for part in parts if not _is_text(part)), "")
        raise LikewiseError(
            f"item {item.id!r}: {wrong[:80]!r} is not valid text (it has half a character in it)."
        )


def find_id_problem(id: str) -> str | None:
    """Say what is wrong with an id, if anything is: it has to fit into files, databases and messages.

    >>> find_id_problem("s1"), find_id_problem("")
    (None, 'is empty')
    """
    if not id:
        return "is empty"
    if len(id) > MOST_ID:
        return f"has {len(id):,} letters; wanted at most {MOST_ID:,}"
    if "\x00" in id:
        return "has a NUL character in it"  # PostgreSQL cannot keep it
    return None if _is_text(id) else "is not valid text (it has half a character in it)"


def _is_text(text: str) -> bool:
    """Tell a text from one with lone surrogates, such as a file name that is not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class ItemFile:
    """Items by row and by id.

    Parameters
    ----------
    path : Path
        A file that :func:`write_items` made.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path.absolute()
        # Lent out and given back: threads come and go, and one for each that ever was would pile up.
        self._idle: deque[sqlite3.Connection] = deque()
        if not path.is_file():
            raise FileFormatError(f"{path} is gone; without it the project cannot be opened.")
        self.n: int = self._select_all("SELECT count(*) FROM items")[0][0]

    def __reduce__(self) -> tuple[type[ItemFile], tuple[Path]]:
        return ItemFile, (self.path,)

    def __len__(self) -> int:
        return self.n

    def get_ids(self) -> list[str]:
        """Return the id of each row."""
        return [id for (id,) in self._select_all("SELECT id FROM items ORDER BY number")]

    def get_classes(self) -> list[str | None]:
        """Return the true class of each row; None where it is not known."""
        return [truth for (truth,) in self._select_all("SELECT truth FROM items ORDER BY number")]

    def get(self, row: int) -> Item:
        """Return the item of a row."""
        return self.get_items([row])[0]

    def get_items(self, rows: Sequence[int]) -> list[Item]:
        """Return the items of some rows, in their order."""
        wanted = [int(row) for row in rows]
        for row in wanted:
            if not 0 <= row < self.n:
                raise LikewiseError(f"there is no item {row}; the rows are 0 to {self.n - 1}.")
        found = {
            values[0]: _make_item(values)
            for values in self._select_in(f"SELECT {_COLUMNS} FROM items WHERE number IN", wanted)
        }
        return [found[row] for row in wanted]

    def get_row(self, id: str) -> int:
        """Return the row of an id."""
        return self.get_rows([id])[0]

    def get_rows(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of some ids, in their order."""
        known = [id for id in ids if not find_id_problem(id)]
        found = dict(self._select_in("SELECT id, number FROM items WHERE id IN", known))
        for id in ids:
            if id not in found:
                raise LikewiseError(f"there is no item with the id {id[:80]!r} in this project.")
        return [found[id] for id in ids]

    def __iter__(self) -> Iterator[Item]:
        """Go through all items in the order of their rows, some at a time."""
        for start in range(0, self.n, 1000):
            asked = f"SELECT {_COLUMNS} FROM items WHERE number >= ? AND number < ? ORDER BY number"
            yield from map(_make_item, self._select_all(asked, [start, start + 1000]))

    def close(self) -> None:
        """Close all connections that nobody uses; reading again opens another."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    # ------------------------------------------------------------------ asking the file

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
                f"{self.path} cannot be read as the items of a project: {error}. If it is damaged, put back "
                "a copy of the project, or make a new one and import the answers."
            ) from error

    @contextmanager
    def _borrow_connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            # Immutable: SQLite takes no locks and looks for no journal.
            uri = f"{self.path.as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)


def _make_item(values: tuple[Any, ...]) -> Item:
    row, id, kind, title, text, cells, media, truth = values
    pairs = tuple((column, value) for column, value in json.loads(cells)) if cells else ()
    return Item(row, id, kind, title, text, pairs, media, truth)
