"""Read tags, the labels recorded for each row, from a table in one of three layouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.cli._data_tables import check_roles, get_ids
from likewise.exceptions import FileFormatError
from likewise.supervision import RowIds
from likewise.tables import Column, RawTable, get_texts

LAYOUTS = (
    "Expected one of three layouts: an id and a column of 0 and 1 for each label; an id and a label, one tag "
    "per line; or an id and all its labels, separated by ';'."
)
_SHOWN = 5  # maximum number of ids in one message
_HELD, _NOT = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}
_OTHER_SEPARATORS = (";", "|", ",", "/")


@dataclass(frozen=True, eq=False)
class Tags:
    """The recorded labels of the rows.

    Attributes
    ----------
    Y : ndarray of uint8 of shape (n_rows, n_labels)
        1 if the label is recorded for the row.
    names : tuple of str
        The labels that occur.
    layout : str
        The detected layout of the table.
    unused : tuple of str
        Labels that no row has; `Y` has no column for them.
    notes : tuple of str
        Notes for the user.
    """

    Y: npt.NDArray[np.uint8]
    names: tuple[str, ...]
    layout: str
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_tags(self) -> int:
        """The number of tags."""
        return int(self.Y.sum(dtype=np.int64))

    @property
    def n_bare(self) -> int:
        """The number of rows without tags."""
        return int((~self.Y.any(axis=1)).sum())


@dataclass(frozen=True)
class LabelTable:
    """A minimal table with named columns, as multi-label estimators accept it."""

    values: npt.NDArray[np.uint8] = field(repr=False)
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype)

    def to_numpy(self) -> npt.NDArray[np.uint8]:
        """Return the cells."""
        return self.values


# ---------------------------------------------------------------------- from columns of DATA


def read_tag_columns(raw: RawTable, names: tuple[str, ...]) -> Tags:
    """Read the columns of 0 and 1 that are given with ``--label-columns``."""
    check_roles(raw, [("--label-columns", name) for name in names])
    held = _read_indicators(raw, names)
    if isinstance(held, _NonBinaryCell):
        raise FileFormatError(
            f"{raw.place(held.row)}: expected 0 or 1 in the label column {held.name!r}; got {held.cell!r}."
        )
    return _make_tags(held, names, "columns of 0 and 1")


# ---------------------------------------------------------------------- from a separate table


def find_shared_id(data: RawTable, tags: RawTable, dropped: Iterable[str] = ()) -> str | None:
    """Return the name of the first column of the tags if DATA has it too, with unique cells.

    `dropped` are columns of DATA that are left out and therefore do not hold ids.
    """
    name = tags.names[0]
    if name not in data.names:
        _check_not_elsewhere(data, tags, set(dropped))
        return None
    try:
        get_ids(data, name)
    except FileFormatError:
        return None
    return name


def _check_not_elsewhere(data: RawTable, tags: RawTable, dropped: set[str]) -> None:
    """Raise an error, instead of numbering rows, if another column of DATA holds the ids of the tags."""
    named = set(map(str, tags.columns[0]))
    if named <= _HELD | _NOT:
        return  # a label, not ids
    for name, column in zip(data.names, data.columns, strict=True):
        cells = list(map(str, column))
        if name not in dropped and len(set(cells)) == len(cells) and named <= set(cells):
            raise FileFormatError(
                f"all ids in the column {tags.names[0]!r} of {tags.path} occur in the column {name!r} of "
                f"{data.path}. If these are the ids, pass --id {name}; if the tags refer to row numbers, "
                f"pass --drop {name}."
            )


def read_tag_table(raw: RawTable, ids: RowIds, *, id_column: str | None, separator: str, data: str) -> Tags:
    """Read a table of tags for the rows with these ids.

    Parameters
    ----------
    raw : Raw
        The table; see `LAYOUTS`.
    ids : RowIds
        The ids of the rows.
    id_column : str or None
        The column of ids in DATA; None if rows are numbered.
    separator : str
        The separator of labels within a cell.
    data : str
        The name of DATA in messages.
    """
    if id_column not in raw.names and raw.n_rows == len(ids):
        every = _read_indicators(raw, raw.names)
        if not isinstance(every, _NonBinaryCell):
            return _make_tags(
                every, raw.names, f"a column of 0 and 1 for each label, rows in the order of {data}"
            )
    key = id_column if id_column in raw.names else raw.names[0]
    if key in ids and key != id_column:
        raise FileFormatError(
            f"{raw.path}: the first line begins with {key!r}, which is the id of a row, so the header seems "
            "to be missing. Begin the file with a line such as id,label."
        )
    rest = tuple(name for name in raw.names if name != key)
    if not rest:
        raise FileFormatError(f"{raw.path} has one column, {key!r}. {LAYOUTS}")
    rows = _match_rows(raw, key, ids, id_column, data)
    held = _read_indicators(raw, rest)
    repeated = len(set(rows.tolist())) < len(rows)
    if len(rest) == 1 and (isinstance(held, _NonBinaryCell) or repeated):
        return _read_label_lists(raw, rows, key, rest[0], len(ids), separator)
    if isinstance(held, _NonBinaryCell):
        raise FileFormatError(
            f"{raw.place(held.row)}: the column {held.name!r} contains {held.cell!r} instead of 0 or 1, and "
            f"there are {len(rest)} columns beside the ids. {LAYOUTS}"
        )
    if repeated:
        again = int(np.setdiff1d(np.arange(len(rows)), np.unique(rows, return_index=True)[1])[0])
        raise FileFormatError(
            f"{raw.place(again)}: the id {ids[int(rows[again])]!r} occurs twice; a table of 0 and 1 has one "
            "line per row."
        )
    Y = np.zeros((len(ids), len(rest)), dtype=np.uint8)
    Y[rows] = held
    return _make_tags(
        Y, rest, f"a column of 0 and 1 for each label, ids in {key!r}", *_format_unlisted(rows, ids)
    )


def _match_rows(
    raw: RawTable, key: str, ids: RowIds, id_column: str | None, data: str
) -> npt.NDArray[np.int64]:
    """Return the row of each line of the tags; raise an error if DATA lacks an id."""
    cells = get_texts(raw, key)
    for k, cell in enumerate(cells):
        if cell is None:
            raise FileFormatError(f"{raw.place(k)}: the id (column {key!r}) is empty.")
    rows = np.array([ids.row_of.get(str(cell), -1) for cell in cells], dtype=np.int64)
    lost = np.flatnonzero(rows < 0)
    if not lost.size:
        return rows
    unknown = list(dict.fromkeys(str(cells[k]) for k in lost.tolist()))
    shown = ", ".join(map(repr, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
    where = (
        f"the column {id_column!r} of {data}" if id_column else f"{data}, whose rows are numbered 0, 1, 2, …"
    )
    tip = "" if id_column else " If one of its columns holds the ids, pass it as --id."
    raise FileFormatError(
        f"{raw.place(int(lost[0]))}: {ids.unknown_id(unknown[0])}\n{len(unknown)} of the {len(set(cells))} "
        f"ids in {raw.path} are not in {where}: {shown}.{tip} Remove their lines, or add the rows."
    )


def _read_label_lists(
    raw: RawTable, rows: npt.NDArray[np.int64], key: str, column: str, n_rows: int, separator: str
) -> Tags:
    """Read a column with one or several labels per cell."""
    cells = [cell or "" for cell in get_texts(raw, column)]
    held = [[label for part in cell.split(separator) if (label := part.strip())] for cell in cells]
    names = sorted({label for labels in held for label in labels})
    if not names:
        raise FileFormatError(f"{raw.path}: every cell of the column {column!r} is empty; expected tags.")
    at = {name: k for k, name in enumerate(names)}
    Y = np.zeros((n_rows, len(names)), dtype=np.uint8)
    for row, labels in zip(rows.tolist(), held, strict=True):
        Y[row, [at[label] for label in labels]] = 1
    several = any(separator in cell for cell in cells)
    how = f"labels separated by {separator!r} in {column!r}" if several else f"one tag per line in {column!r}"
    notes = [] if several else _suggest_separator(cells, separator)
    unlisted = _format_unlisted(rows, range(n_rows)) if several else []
    return _make_tags(Y, tuple(names), f"{how}, ids in {key!r}", *notes, *unlisted)


def _suggest_separator(cells: list[str], separator: str) -> list[str]:
    """Return a note if many cells look like lists with another separator."""
    for other in _OTHER_SEPARATORS:
        count = sum(other in cell for cell in cells)
        if other != separator and (2 if other in ",/" else 5) * count > len(cells):
            return [
                f"{count} of {len(cells)} tags contain {other!r}. If it separates labels, pass "
                f"--separator '{other}'."
            ]
    return []


def _format_unlisted(rows: npt.NDArray[np.int64], ids: Iterable[Any]) -> list[str]:
    count = len(list(ids)) - len(set(rows.tolist()))
    return [f"{count} row(s) are not in the table of tags and count as rows without tags."] if count else []


def _make_tags(Y: npt.NDArray[np.uint8], names: tuple[str, ...], layout: str, *notes: str) -> Tags:
    used = np.flatnonzero(Y.sum(axis=0, dtype=np.int64)).tolist()
    if not used:
        raise FileFormatError("no row has a label; there is nothing to learn from.")
    kept = tuple(names[k] for k in used)
    unused = tuple(name for name in names if name not in set(kept))
    if unused:
        shown = ", ".join(map(repr, unused[:_SHOWN])) + (", …" if len(unused) > _SHOWN else "")
        notes += (f"{len(unused)} label(s) are never used and are left out: {shown}.",)
    return Tags(np.ascontiguousarray(Y[:, used]), kept, layout, unused, notes)


# ---------------------------------------------------------------------- cells


@dataclass(frozen=True)
class _NonBinaryCell:
    """The first cell of some columns that is neither 0 nor 1."""

    name: str
    row: int
    cell: Any


def _read_indicators(raw: RawTable, names: tuple[str, ...]) -> npt.NDArray[np.uint8] | _NonBinaryCell:
    """Return columns as 0 and 1; an empty cell is 0, since 0, too, only means "not recorded"."""
    held = np.zeros((raw.n_rows, len(names)), dtype=np.uint8)
    for k, name in enumerate(names):
        column = raw.columns[raw.names.index(name)]
        bad = _fill(column, held[:, k])
        if bad is not None:
            return _NonBinaryCell(name, bad, column[bad])
    return held


def _fill(column: Column, held: npt.NDArray[np.uint8]) -> int | None:
    """Set `held` to 1 for cells that are 1; return the first row whose cell is neither 0 nor 1."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        numbers = np.nan_to_num(column.astype(np.float64))
        held[:] = numbers == 1
        bad = np.flatnonzero((numbers != 0) & (numbers != 1))
        return int(bad[0]) if bad.size else None
    for row, cell in enumerate(column):
        word = "" if cell is None else str(cell).strip().lower()
        if word in _HELD:
            held[row] = 1
        elif word not in _NOT:
            return row
    return None
