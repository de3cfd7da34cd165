"""Tables as named columns: text cells from CSV and Excel, arrays from Parquet and .npy; cells as numbers."""

from __future__ import annotations

import difflib
import io
import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.exceptions import FileFormatError, describe_cause
from likewise.tables._formats import holds_objects, iterate_sheet, read_parquet
from likewise.tables._text import Problems, decode, iterate_csv

FloatArray = npt.NDArray[np.float64]
_PARQUET, _NPY, _ZIP = b"PAR1", b"\x93NUMPY", b"PK\x03\x04"
_OTHERS = {
    _ZIP: "a zip archive; unpack it first",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of the old format; save it as .xlsx or CSV",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
}
Column = list[str] | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file.

    Attributes
    ----------
    path : str
        The name of the file in messages.
    names : tuple of str
        The names of the columns.
    columns : tuple of list of str or of ndarray
        Text cells from a CSV file or an Excel workbook, arrays from the other formats. None stands for a
        missing text.
    lines : list of int or None
        The line on which each row begins; None for formats without lines.
    unnamed : tuple of str
        Columns without a name in the file, such as the index that pandas writes.
    """

    path: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: list[int] | None
    unnamed: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def place(self, row: int) -> str:
        """Return the place of a row for a message: ``data.csv:5`` or ``data.npy, row 3 (counted from 0)``."""
        if self.lines is not None:
            return f"{self.path}:{self.lines[row]}"
        return f"{self.path}, row {row} (counted from 0)"

    def describe_row(self, row: int) -> str:
        """Return the place of a row without the name of the file."""
        return f"line {self.lines[row]}" if self.lines is not None else f"row {row}"


def read_columns(
    data: bytes,
    path: str,
    suffix: str,
    *,
    header: bool = True,
    encoding: str = "utf-8",
    encoding_option: str = "encoding={!r}",
    no_header: str = "header=False",
) -> RawTable:
    """Read a table whose first bytes, or else the extension of its name, determine its format.

    Parameters
    ----------
    data : bytes
        The content of the file.
    path : str
        The name of the file in messages.
    suffix : str
        The extension of its name, in lower case.
    header : bool, default=True
        Whether the first row of a CSV file or an Excel workbook holds the names of the columns.
    encoding : str, default="utf-8"
        The encoding of a CSV file.
    encoding_option, no_header : str
        How messages suggest another encoding, and that there is no header.
    """
    if not data.strip():
        raise FileFormatError(f"{path} is empty; expected a table with a header and at least one row.")
    if data.startswith(_PARQUET) or suffix in (".parquet", ".pq"):
        return _read_parquet(data, path)
    if data.startswith(_NPY) or suffix == ".npy":
        return _read_npy(data, path)
    if data.startswith(_ZIP) and suffix in ("", ".xlsx", ".xlsm"):
        return _read_xlsx(data, path, header, no_header)
    for start, what in _OTHERS.items():
        if data.startswith(start):
            raise FileFormatError(f"{path} is {what}.")
    text = decode(data, encoding, path, option=encoding_option)
    return _make_raw_table(*_split_rows(text, path), path, header, no_header)


# ---------------------------------------------------------------------- CSV


def _make_raw_table(
    rows: list[list[str]], lines: list[int], path: str, header: bool, no_header: str
) -> RawTable:
    """Return the columns of rows of text; with `header`, the first row holds their names."""
    first = [cell.strip() for cell in rows[0]]
    if not header:
        names = tuple(f"f{c}" for c in range(len(first)))
        unnamed: tuple[str, ...] = ()
    else:
        if all(parse_number(cell) is not None for cell in first):
            shown = ", ".join(first[:3]) + (", …" if len(first) > 3 else "")
            raise FileFormatError(
                f"{path}:{lines[0]}: expected the names of the columns in the first row; got only numbers "
                f"({shown}). If there is no header, pass {no_header}; the columns are then called f0, f1, ..."
            )
        names, unnamed = _name_columns(first)
        _check_names(names, path)
        rows, lines = rows[1:], lines[1:]
        if not rows:
            raise FileFormatError(f"{path} has a header but no rows.")
    problems = Problems(path, end="")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            wanted = "the header has" if header else "the first row has"
            problems.add(line, f"{len(row)} cell(s), but {wanted} {len(names)}.")
    problems.settle()
    return RawTable(path, names, tuple(map(list, zip(*rows, strict=True))), lines, unnamed)


def _split_rows(text: str, path: str) -> tuple[list[list[str]], list[int]]:
    """Return the rows of a CSV text and the line on which each begins; blank lines are skipped."""
    problems = Problems(path, end="")
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, row in iterate_csv(text, problems):
        rows.append(row)
        lines.append(line)
    problems.settle()
    while rows and not rows[-1]:
        rows.pop()
        lines.pop()
    width = max(map(len, rows), default=0)
    if width == 1:  # with one column, a blank line within the table is an empty cell
        return [row or [""] for row in rows], lines
    use = [k for k, row in enumerate(rows) if row]
    if len(use) < len(rows):
        rows, lines = [rows[k] for k in use], [lines[k] for k in use]
    if not rows:
        raise FileFormatError(f"{path} is empty; expected a table with a header and at least one row.")
    return rows, lines


def _name_columns(first: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns and the unnamed ones, which are called ``column 1`` and so on."""
    names = tuple(cell or f"column {c}" for c, cell in enumerate(first, start=1))
    return names, tuple(name for name, cell in zip(names, first, strict=True) if not cell)


def _check_names(names: tuple[str, ...], path: str) -> None:
    if len(set(names)) == len(names):
        return
    name = Counter(names).most_common(1)[0][0]
    at = [str(c) for c, other in enumerate(names, start=1) if other == name]
    raise FileFormatError(f"{path}: columns {' and '.join(at)} are both called {name!r}; rename one of them.")


# ---------------------------------------------------------------------- Excel, Parquet and .npy


def _read_xlsx(data: bytes, path: str, header: bool, no_header: str) -> RawTable:
    problems = Problems(path)
    rows = dict(iterate_sheet(data, problems))
    if not rows:
        raise FileFormatError(f"{path} is empty; expected a table with a header and at least one row.")
    for note in problems.notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    # A sheet may be wider than its table: columns that are empty in every row are dropped.
    width = max(at for row in rows.values() for at, cell in enumerate(row, start=1) if cell)
    return _make_raw_table([row[:width] for row in rows.values()], list(rows), path, header, no_header)


def _read_parquet(data: bytes, path: str) -> RawTable:
    table = read_parquet(data, path)
    pyarrow = require("pyarrow", extra="scale")
    names = tuple(map(str, table.column_names))
    if not names or not table.num_rows:
        raise FileFormatError(f"{path} has no {'rows' if names else 'columns'}.")
    _check_names(names, path)
    columns = tuple(_convert_arrow_column(pyarrow, column) for column in table.columns)
    unnamed = tuple(name for name in names if name.startswith("__index_level_"))  # written by pandas
    return RawTable(path, names, columns, None, unnamed)


def _convert_arrow_column(pyarrow: Any, column: Any) -> npt.NDArray[Any]:
    """Return integers as int64, other numbers as float64 with NaN for null, anything else as objects."""
    kinds = pyarrow.types
    type_ = column.type
    if kinds.is_integer(type_) and not column.null_count:
        array: npt.NDArray[Any] = column.to_numpy()
        return array
    if kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_decimal(type_):
        array = column.cast(pyarrow.float64(), safe=False).to_numpy()
        return array
    if kinds.is_boolean(type_) and not column.null_count:
        array = column.to_numpy().astype(np.float64)
        return array
    array = np.empty(len(column), dtype=object)
    array[:] = column.to_pylist()
    return array


def _read_npy(data: bytes, path: str) -> RawTable:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        why = "it holds Python objects" if holds_objects(io.BytesIO(data)) else describe_cause(error)
        raise FileFormatError(
            f"{path} cannot be read as .npy: {why}. Save a table of numbers with numpy.save."
        ) from error
    if not isinstance(array, np.ndarray):
        raise FileFormatError(f"expected one array, as written by numpy.save; {path} holds several (.npz).")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or 0 in array.shape:
        raise FileFormatError(
            f"{path}: expected an array of numbers of shape (rows, features); got shape {array.shape} and "
            f"type {array.dtype}."
        )
    return RawTable(path, tuple(f"f{c}" for c in range(array.shape[1])), tuple(array.T), None)


# ---------------------------------------------------------------------- names and texts


def describe_unknown_column(name: str, names: Sequence[str], path: str) -> str:
    """Return the message for a column that a file does not have, with the closest name if there is one."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"{path} has no column {name!r}; did you mean {close[0]!r}?"
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f"{path} has no column {name!r}; it has {shown}."


def get_texts(raw: RawTable, name: str) -> tuple[str | None, ...]:
    """Return the cells of a column as texts; None for an empty cell."""
    column = raw.columns[raw.names.index(name)]
    if isinstance(column, list):
        return tuple(cell if cell else None for cell in column)
    if column.dtype.kind == "f":
        whole = column[np.isfinite(column)]
        if (whole != np.floor(whole)).any() or (np.abs(whole) >= 2**53).any():
            raise FileFormatError(
                f"{raw.path}: expected text or whole numbers in the column {name!r}; "
                f"got decimal numbers such as {whole[0]!r}."
            )
        return tuple(str(int(value)) if math.isfinite(value) else None for value in column.tolist())
    return tuple(None if value is None or value == "" else str(value) for value in column.tolist())


# ---------------------------------------------------------------------- numbers


def parse_number(cell: Any) -> float | None:
    """Return a cell as a number, which may be infinite or NaN; None if it is none.

    >>> parse_number("1e3"), parse_number(" nan "), parse_number("red"), parse_number(None)
    (1000.0, nan, None, None)
    """
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def is_plain_number(cell: Any) -> bool:
    """Return True if a cell is a number; 1_000, which Python accepts, counts as text."""
    return not (isinstance(cell, str) and "_" in cell) and parse_number(cell) is not None


def is_wordy(raw: RawTable, name: str) -> bool:
    """Return True if a cell of the column is text other than a number."""
    found = parse_numbers(raw.columns[raw.names.index(name)])
    return isinstance(found, NonNumericCell) and bool(found.text)


@dataclass(frozen=True)
class NonNumericCell:
    """The first cell of a column that is not a finite number."""

    row: int
    shown: str
    text: str = ""  # the cell; empty for a missing value


def parse_numbers(column: Column) -> FloatArray | NonNumericCell:
    """Return a column as numbers, or its first text cell, or its first missing or infinite cell."""
    try:
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            values = column.astype(np.float64)
        else:
            values = np.array([float(cell) for cell in column], dtype=np.float64)
    except (TypeError, ValueError):
        return _find_first_bad(column)
    # Python reads 1_000 as a number; in a table it is more likely a name.
    if isinstance(column, list) and any("_" in cell for cell in column):
        return _find_first_bad(column)
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size:
        row = int(gaps[0])
        cell = column[row]
        return NonNumericCell(row, repr(cell) if isinstance(cell, str) else _format_number(float(cell)))
    return values


def _format_number(value: float) -> str:
    return "missing" if math.isnan(value) else "infinite"


def _find_first_bad(column: Column) -> NonNumericCell:
    gap: NonNumericCell | None = None
    for row, cell in enumerate(column):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            gap = gap or NonNumericCell(row, "empty")
        elif not is_plain_number(cell):
            return NonNumericCell(row, repr(cell), str(cell))
    assert gap is not None
    return gap
