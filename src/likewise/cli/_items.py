"""Read the data of a studio project: a folder of pictures or sounds, or a table, as items and features."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import click
import numpy as np

from likewise._words import format_some, truncate
from likewise.cli._row_text import make_cell_formatter
from likewise.exceptions import FileFormatError
from likewise.features import (
    Features,
    Step,
    array_features,
    image_features,
    sound_features,
    table_features,
    text_features,
)
from likewise.studio.data_files import FIRST, detect_content_type, iterate_files
from likewise.studio.items import find_id_problem
from likewise.studio.records import Described, Item, ItemKind
from likewise.tables import Column, RawTable, check_roles, get_ids, read_columns

Medium = Literal["image", "sound"]
WORD = {"image": "pictures", "sound": "sounds"}
ENDS: dict[str, Medium] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".jpe", ".gif", ".webp", ".bmp"), "image"),
    **dict.fromkeys((".wav", ".wave", ".mp3", ".ogg", ".oga", ".flac"), "sound"),
}
_TITLE = 80  # maximum number of characters


@dataclass(frozen=True, eq=False)
class SourceData:
    """The features and items of a new project."""

    X: np.ndarray
    items: Iterable[Item]  # in the order of the rows, created again on each iteration
    described: Described  # the description of all items, with notes for the user

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        return self.described.notes


class Reiterable:
    """An iterable that creates its items on each iteration instead of keeping a list."""

    def __init__(self, make: Callable[[], Iterator[Item]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Item]:
        return self._make()


def read_source(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str] | None = None,
    image: str | None = None,
    audio: str | None = None,
    id_column: str | None = None,
    truth: str | None = None,
    features: str | None = None,
    drop: Sequence[str] = (),
    encoding: str = "utf-8",
    seed: int = 0,
    progress: Step | None = None,
) -> SourceData:
    """Read a folder of pictures or sounds, or a table with a column `image` or `audio` of file names.

    `text` lists one or more columns of text, which are concatenated. `features` is a ``.npy`` file with one
    row per item. `progress` is called with the number of files read so far and the number of all files.
    """
    place = Path(path)
    if features is not None and not features.lower().endswith(".npy"):
        raise click.BadParameter(
            f"expected a .npy file with one row of numbers per item; got {features!r}.",
            param_hint="'--features'",
        )
    if place.is_dir():
        single = {"--image": image, "--audio": audio, "--id": id_column, "--truth": truth}
        given = {"--text": ", ".join(text or ()) or None, **single, "--drop": ", ".join(drop) or None}
        for option, name in given.items():
            if name is not None:
                raise click.UsageError(f"{option} refers to a column of a table, but {place} is a folder.")
        return _read_folder(place, features, progress)
    if not place.exists():
        if re.match("[a-z]{3,}:/", place.as_posix()):
            raise FileFormatError(
                f"{place} is a URL, and the studio downloads nothing. Save it, and give the file."
            )
        raise FileFormatError(f"there is no file or folder {place}.")
    if place.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        raise FileFormatError(f"expected a CSV or Parquet table, or a folder; {place} is JSON.")
    if place.suffix.lower() in ENDS:
        raise FileFormatError(f"{place} is a single file; give its folder: {place.parent}.")
    named = [("--text", name) for name in text or ()]
    named += [(option, name) for option, name in (("--image", image), ("--audio", audio)) if name is not None]
    if len({option for option, _ in named}) > 1:
        raise click.UsageError("--text, --image and --audio exclude one another; give only one of them.")
    raw = read_columns(str(place), encoding=encoding)
    table = _StudioTable(raw, id_column, truth, tuple(name for _, name in named), tuple(drop))
    roles = [("--id", id_column), ("--truth", truth), *named, *(("--drop", name) for name in drop)]
    check_roles(roles, raw.names, raw.path)
    if text:
        return _read_texts(table, features, seed)
    if named:
        return _read_media_column(table, place, "image" if image is not None else "sound", features, progress)
    return _read_rows(table, features)


def _compute_features(
    root: Path, kind: Medium, names: list[str], features: str | None, progress: Step | None
) -> tuple[Features, list[int]]:
    """Return features, and the indices of the files that could be read."""
    if features is not None:  # files need not be read; the studio marks broken ones
        return array_features(features, n_rows=len(names), of=WORD[kind]), list(range(len(names)))
    make: Callable[..., Features] = image_features if kind == "image" else sound_features
    try:
        made = make([root / name for name in names], progress=progress)
    except FileFormatError as error:
        raise FileFormatError(f"{root}: {error} The first file is {names[0]}.") from error
    return made, [row for row in range(len(names)) if row not in made.failed]


def _find_unreadable(names: list[str], made: Features) -> list[str]:
    if not made.failed:
        return []
    failures = [f"{names[row]} ({why.rstrip('.')})" for row, why in made.failed.items()]
    return [f"{len(failures)} file(s) cannot be read and are left out: {format_some(failures)}."]


def _check_enough(n: int, where: str) -> None:
    if n < 2:
        raise FileFormatError(f"{where}: expected at least two items; got {n}.")


def _shorten(text: str) -> str:
    """Return the text as a title: one line, truncated."""
    return truncate(" ".join(text.split()), _TITLE)


# ---------------------------------------------------------------------- a folder


def _read_folder(folder: Path, features: str | None, progress: Step | None) -> SourceData:
    names: dict[Medium, list[str]] = {"image": [], "sound": []}
    others: list[str] = []
    away: list[str] = []
    top = folder.resolve()
    for name, _ in iterate_files(folder):
        medium = _detect_medium(folder / name)
        if medium is None:
            others.append(name)
        elif find_id_problem(name) or not (folder / name).resolve().is_relative_to(top):
            away.append(ascii(name)[1:-1] if find_id_problem(name) else name)
        else:
            names[medium].append(name)
    kind: Medium = max(names, key=lambda each: len(names[each]))
    found = sorted(names[kind])
    minor: Medium = "sound" if kind == "image" else "image"
    if not found:
        raise FileFormatError(_format_no_media(folder, others))
    notes = []
    if names[minor]:
        notes.append(f"{len(names[minor])} {WORD[minor]} are left out: {format_some(sorted(names[minor]))}.")
    if others:
        notes.append(f"{len(others)} file(s) of other kinds are left out: {format_some(sorted(others))}.")
    if away:
        notes.append(
            f"{len(away)} link(s) out of the folder or names that are not UTF-8 are left out: "
            f"{format_some(away)}."
        )
    made, kept = _compute_features(folder, kind, found, features, progress)
    notes += [*made.notes, *_find_unreadable(found, made)]
    found = [found[row] for row in kept]
    _check_enough(len(found), str(folder))
    truths = _find_sub_folders(found)
    if truths is not None:
        notes.append(f"the names of the {len(set(truths))} sub-folders are used as the true classes.")

    def iterate_items() -> Iterator[Item]:
        for row, name in enumerate(found):
            # The title omits the folder, which may be the true class.
            title = PurePosixPath(name).name
            known = None if truths is None else truths[row]
            yield Item(row, name, kind, _shorten(title), media=name, truth=known)

    described = Described(
        kind, len(found), has_truth=truths is not None, features=made.description, notes=tuple(notes)
    )
    return SourceData(made.X, Reiterable(iterate_items), described)


def _detect_medium(path: Path) -> Medium | None:
    """Return the medium of a file from its extension or, without one, from its first bytes."""
    if path.suffix:
        return ENDS.get(path.suffix.lower())
    try:
        with path.open("rb") as file:
            kind = detect_content_type(file.read(FIRST))
    except OSError:
        return None
    return None if kind is None else "image" if kind.startswith("image/") else "sound"


def _format_no_media(folder: Path, others: list[str]) -> str:
    ends = ", ".join(sorted(end[1:] for end in ENDS))
    tables = [name for name in others if name.lower().endswith((".csv", ".tsv", ".xlsx", ".parquet", ".pq"))]
    if tables:
        return f"{folder} has no pictures or sounds. If a table lists them, give that: {folder / tables[0]}."
    has = f"It has {format_some(sorted(others))}" if others else "It is empty"
    return f"{folder} has no pictures or sounds. {has}; expected files that end with one of {ends}."


def _find_sub_folders(names: list[str]) -> list[str] | None:
    """Return the folder of each file, if all files are one level deep in at least two folders."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(len(each) != 2 for each in parts) or len({each[0] for each in parts}) < 2:
        return None
    return [each[0] for each in parts]


# ---------------------------------------------------------------------- a table


@dataclass(frozen=True, eq=False)
class _StudioTable:
    """A table and the roles of its columns."""

    raw: RawTable
    id: str | None
    truth: str | None
    shown: tuple[str, ...]  # the text columns, or the column of media files
    drop: tuple[str, ...]

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
        _check_enough(len(kept), self.raw.path)
        ids, names = self.get_ids(), self.others
        truths = None if self.truth is None else self.raw.get_texts(self.truth)
        shown = [_cell_formatter(self.raw.get_column(name)) for name in names]

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
        made, "text", range(raw.n_rows), lambda row: (_shorten(texts[row]), texts[row], None)
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
            made = table_features({name: raw.get_column(name) for name in names})
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
        made, places = _compute_features(place.absolute().parent, kind, found, None, progress)
        notes += _find_unreadable(found, made)
        kept = [rows[at] for at in places]

    def look(row: int) -> tuple[str, str | None, str | None]:
        name = str(names[row])
        return _shorten(PurePosixPath(name).name), None, name  # the folder may be the true class

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
    column = raw.get_column(name)
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
