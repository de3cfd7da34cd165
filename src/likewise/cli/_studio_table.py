"""Read a table as the data of a studio project: rows, texts, or files listed in a column."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import click
import numpy as np

from likewise.cli._data_tables import check_roles, get_ids
from likewise.cli._raw_tables import read_raw
from likewise.cli._row_text import make_cell_formatter
from likewise.cli._studio_source import (
    Medium,
    Reiterable,
    SourceData,
    check_enough,
    compute_features,
    find_unreadable,
    shorten,
)
from likewise.exceptions import FileFormatError
from likewise.features import Features, array_features, table_features, text_features
from likewise.features._features import Step, format_some
from likewise.studio.items import find_id_problem
from likewise.studio.records import Described, Item, ItemKind
from likewise.tables import Column, RawTable, get_texts


def read_table_source(
    place: Path,
    *,
    text: Sequence[str],
    image: str | None,
    audio: str | None,
    id_column: str | None,
    truth: str | None,
    features: str | None,
    drop: Sequence[str],
    encoding: str,
    seed: int,
    progress: Step | None,
) -> SourceData:
    """Read a table; see :func:`likewise.cli._studio_data.read_source`."""
    named = [("--text", name) for name in text]
    named += [(option, name) for option, name in (("--image", image), ("--audio", audio)) if name is not None]
    if len({option for option, _ in named}) > 1:
        raise click.UsageError("--text, --image and --audio exclude one another; give only one of them.")
    raw = read_raw(str(place), encoding=encoding)
    table = _StudioTable(raw, id_column, truth, tuple(name for _, name in named), tuple(drop))
    table.check(named)
    if text:
        return _read_texts(table, features, seed)
    if named:
        return _read_media_column(table, place, "image" if image is not None else "sound", features, progress)
    return _read_rows(table, features)


@dataclass(frozen=True, eq=False)
class _StudioTable:
    """A table and the roles of its columns."""

    raw: RawTable
    id: str | None
    truth: str | None
    shown: tuple[str, ...]  # the text columns, or the column of media files
    drop: tuple[str, ...]

    def check(self, shown: list[tuple[str, str]]) -> None:
        """Raise an error if a column does not exist or has two roles."""
        dropped = [("--drop", name) for name in self.drop]
        check_roles(self.raw, [("--id", self.id), ("--truth", self.truth), *shown, *dropped])

    @property
    def others(self) -> tuple[str, ...]:
        """The other columns, which are shown beside the item."""
        taken = {self.id, self.truth, *self.shown, *self.drop}
        return tuple(name for name in self.raw.names if name not in taken)

    def get_ids(self) -> tuple[str, ...]:
        """Return the id of each row."""
        ids = get_ids(self.raw, self.id).ids
        for row, id in enumerate(ids):
            if problem := find_id_problem(id):
                raise FileFormatError(f"{self.raw.place(row)}: the id (column {self.id!r}) {problem}.")
        return ids

    def get_classes(self) -> tuple[str | None, ...] | None:
        """Return the true class of each row, or None without a column of classes."""
        return None if self.truth is None else get_texts(self.raw, self.truth)

    def _advise(self, beside: Sequence[str]) -> Iterator[str]:
        """Yield notes on column choices that users often regret later."""
        if beside:
            yield (
                f"shown beside each item: {', '.join(beside[:5])}{', …' * (len(beside) > 5)}. Hide columns "
                "with --drop."
            )
        columns = zip(self.raw.names, self.raw.columns, strict=True)
        if self.id is None and (
            name := next((name for name, column in columns if self._looks_like_ids(name, column)), None)
        ):
            yield f"items are numbered 0, 1, 2 and so on in files; --id {name} uses that column instead."

    def _looks_like_ids(self, name: str, column: Any) -> bool:
        if name in (self.truth, *self.shown, *self.drop):
            return False
        first = [_format_cell(cell) for cell in column[:20]]
        if all(cell.replace(".", "", 1).lstrip("-").isdigit() for cell in first):
            return False  # measurements are usually distinct, too
        cells = [_format_cell(cell) for cell in column]
        return all(0 < len(cell) <= 40 for cell in cells) and len(set(cells)) == len(cells)

    def make_data(
        self,
        made: Features,
        kind: ItemKind,
        kept: Sequence[int],
        look: Callable[[int], tuple[str, str | None, str | None]],
        notes: Sequence[str] = (),
    ) -> SourceData:
        """Return features and items; `look` returns the title, text and file of a row of the table."""
        check_enough(len(kept), self.raw.path)
        ids, truths, names = self.get_ids(), self.get_classes(), self.others
        shown = [_cell_formatter(self.raw.columns[self.raw.names.index(name)]) for name in names]

        def iterate_items() -> Iterator[Item]:
            for row, at in enumerate(kept):
                title, text, media = look(at)
                cells = tuple((name, show(at)) for name, show in zip(names, shown, strict=True))
                known = None if truths is None else truths[at]
                yield Item(row, ids[at], kind, title or ids[at], text, cells, media, known)

        has_truth = truths is not None and any(known is not None for known in truths)
        all_notes = (*notes, *made.notes, *self._advise(names if self.shown else ()))
        described = Described(kind, len(kept), names, has_truth, made.description, all_notes)
        return SourceData(made.X, Reiterable(iterate_items), described)


def _read_texts(table: _StudioTable, features: str | None, seed: int) -> SourceData:
    raw = table.raw
    columns = [_get_words(raw, name) for name in table.shown]
    texts = ["\n\n".join(cell for cell in row if cell) for row in zip(*columns, strict=True)]
    named = " and ".join(map(repr, table.shown))
    if features is not None:
        made = array_features(features, n_rows=raw.n_rows, of="rows in the table")
    else:
        try:
            made = text_features(texts, method="auto", named=named, random_state=seed)
        except FileFormatError as error:
            raise FileFormatError(f"{raw.path}: {error}") from error
    return table.make_data(
        made, "text", range(raw.n_rows), lambda row: (shorten(texts[row]), texts[row], None)
    )


def _read_rows(table: _StudioTable, features: str | None) -> SourceData:
    raw, notes = table.raw, []
    if features is not None:
        made = array_features(features, n_rows=raw.n_rows, of="rows in the table")
    else:
        names = [name for name in table.others if name not in raw.unnamed]
        if left := [name for name in table.others if name in raw.unnamed]:
            notes.append(
                f"the column {format_some(left)} has no name; it may be an index written by pandas, and is "
                "not used as a feature. "
                f"Use it as the ids with --id '{left[0]}'."
            )
        try:
            made = table_features({name: raw.columns[raw.names.index(name)] for name in names})
        except FileFormatError as error:
            raise FileFormatError(f"{raw.path}: {error}") from error
    return table.make_data(made, "row", range(raw.n_rows), lambda row: ("", None, None), notes)


def _read_media_column(
    table: _StudioTable, place: Path, kind: Medium, features: str | None, progress: Step | None
) -> SourceData:
    raw, column = table.raw, table.shown[0]
    option = "--image" if kind == "image" else "--audio"
    cells = _get_words(raw, column)
    names = [
        None if cell is None else _make_relative_path(raw, row, cell, option)
        for row, cell in enumerate(cells)
    ]
    rows = [row for row, name in enumerate(names) if name is not None]
    found = [name for name in names if name is not None]
    notes = []
    if len(rows) < raw.n_rows:
        notes.append(f"{raw.n_rows - len(rows)} row(s) are left out because their {column!r} is empty.")
    if not rows:
        raise FileFormatError(f"{raw.path}: every cell of {column!r} is empty; there is nothing to show.")
    if features is not None:
        whole = array_features(features, n_rows=raw.n_rows, of="rows in the table")
        made, kept = Features(whole.X[rows], whole.description, whole.notes), rows
    else:
        made, places = compute_features(place.absolute().parent, kind, found, None, progress)
        notes += find_unreadable(found, made)
        kept = [rows[at] for at in places]

    def look(row: int) -> tuple[str, str | None, str | None]:
        name = str(names[row])
        return shorten(PurePosixPath(name).name), None, name  # the folder may be the true class

    return table.make_data(made, kind, kept, look, notes)


def _make_relative_path(raw: RawTable, row: int, cell: str, option: str) -> str:
    """Return the path of a file relative to the folder of the table, with slashes."""
    where = f"{raw.place(row)}: {option} refers to {cell[:80]!r}, "
    if "://" in cell or cell.lower().startswith(("data:", "//", "\\\\")):
        raise FileFormatError(
            f"{where}a network address. The studio downloads nothing: save the files beside the table and "
            "refer to them there."
        )
    name = cell.strip().replace("\\", "/") if os.name == "nt" else cell.strip()
    folder = Path(raw.path).absolute().parent
    inside = os.path.normpath(folder / name)
    if "\x00" in name or not _is_inside(Path(inside), folder):
        raise FileFormatError(
            f"{where}which is not in the folder of the table, {folder}. Files outside it are not served; "
            "move the table to the folder of the files, or above it."
        )
    return Path(inside).relative_to(folder).as_posix()


def _is_inside(path: Path, folder: Path) -> bool:
    """Return True if a file is in a folder, both by its name and after resolving links."""
    if not path.is_relative_to(folder) or path == folder:
        return False
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # circular links
        return False


# ---------------------------------------------------------------------- cells as text


def _get_words(raw: RawTable, name: str) -> tuple[str | None, ...]:
    column = raw.columns[raw.names.index(name)]
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        raise FileFormatError(f"{raw.path}: expected text in the column {name!r}; got numbers.")
    return tuple(_format_cell(value) or None for value in column)


def _cell_formatter(column: Column) -> Callable[[int], str]:
    """Return a function that formats one cell of the column, with the same digits as ``likewise ask``.

    >>> show = _cell_formatter([0.12345678901234567, None, float("nan"), 1065.0, "0.30000000000000004"])
    >>> [show(row) for row in range(5)]
    ['0.1235', '', '', '1065', '0.3']
    """
    show_number = make_cell_formatter(column)

    def show(row: int) -> str:
        text = _format_cell(column[row])
        return show_number(row) if text and isinstance(column[row], str | float | np.floating) else text

    return show


def _format_cell(value: Any) -> str:
    """Return a cell as text.

    >>> _format_cell(2.0), _format_cell(None), _format_cell(b"abc")
    ('2', '', '3 bytes')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return ""
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else f"{number:.12g}"
    return str(value)
