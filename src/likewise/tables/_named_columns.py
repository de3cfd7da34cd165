"""Tables as named columns: files with a header, cells as texts and numbers, and the roles of the columns.

The messages mention the options of commands, which are the only readers of such tables.
"""

from __future__ import annotations

import difflib
import io
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.exceptions import FileFormatError, describe_cause
from likewise.tables._formats import Problems, decode, holds_objects, iterate_csv, iterate_sheet, read_parquet
from likewise.tables._ids import RowIds

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
    """The columns of a file."""

    path: str  # its name in messages
    names: tuple[str, ...]
    # Text cells from a CSV file or an Excel workbook, arrays from other formats. None is a missing text.
    columns: tuple[Column, ...]
    lines: list[int] | None  # the line on which each row begins; None for formats without lines
    unnamed: tuple[str, ...] = ()  # columns without a name in the file, such as the index that pandas writes

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def get_column(self, name: str) -> Column:
        """Return the cells of a column."""
        return self.columns[self.names.index(name)]

    def get_texts(self, name: str) -> tuple[str | None, ...]:
        """Return the cells of a column as texts; None for an empty cell."""
        column = self.get_column(name)
        if isinstance(column, list):
            return tuple(cell if cell else None for cell in column)
        if column.dtype.kind == "f":
            whole = column[np.isfinite(column)]
            if (whole != np.floor(whole)).any() or (np.abs(whole) >= 2**53).any():
                raise FileFormatError(
                    f"{self.path}: expected text or whole numbers in the column {name!r}; "
                    f"got decimal numbers such as {whole[0]!r}."
                )
            return tuple(str(int(value)) if math.isfinite(value) else None for value in column.tolist())
        return tuple(None if value is None or value == "" else str(value) for value in column.tolist())

    def is_wordy(self, name: str) -> bool:
        """Return True if a cell of the column is text other than a number."""
        found = parse_numbers(self.get_column(name))
        return isinstance(found, NonNumericCell) and bool(found.text)

    def place(self, row: int) -> str:
        """Return the place of a row for a message: ``data.csv:5`` or ``data.npy, row 3 (counted from 0)``."""
        if self.lines is not None:
            return f"{self.path}:{self.lines[row]}"
        return f"{self.path}, row {row} (counted from 0)"


def read_columns(
    path: str, *, header: bool = True, encoding: str = "utf-8", encoding_option: str = "--encoding"
) -> RawTable:
    """Read a table whose first bytes, or else the extension of its name, determine its format.

    The path - stands for standard input. `header` says whether the first row of a CSV file or an Excel
    workbook holds the names of the columns. `encoding_option` is the option to mention if the encoding of a
    CSV file is wrong.
    """
    if path == "-":
        data, path, suffix = sys.stdin.buffer.read(), "<stdin>", ""
    else:
        data, suffix = Path(path).read_bytes(), Path(path).suffix.lower()
    if not data.strip():
        raise FileFormatError(f"{path} is empty; expected a table with a header and at least one row.")
    if data.startswith(_PARQUET) or suffix in (".parquet", ".pq"):
        return _read_parquet(data, path)
    if data.startswith(_NPY) or suffix == ".npy":
        return _read_npy(data, path)
    if data.startswith(_ZIP) and suffix in ("", ".xlsx", ".xlsm"):
        return _read_xlsx(data, path, header)
    for start, what in _OTHERS.items():
        if data.startswith(start):
            raise FileFormatError(f"{path} is {what}.")
    problems = Problems(path, end="")
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, row in iterate_csv(decode(data, encoding, path, option=f"{encoding_option} {{}}"), problems):
        lines.append(line)
        rows.append(row)
    problems.settle()
    while rows and not rows[-1]:
        rows.pop()
        lines.pop()
    if max(map(len, rows), default=0) == 1:
        rows = [row or [""] for row in rows]  # a blank line within one column is an empty cell
    elif not all(rows):
        lines = [line for line, row in zip(lines, rows, strict=True) if row]
        rows = [row for row in rows if row]
    return _make_raw_table(rows, lines, path, header)


def _make_raw_table(rows: list[list[str]], lines: list[int], path: str, header: bool) -> RawTable:
    """Return the columns of rows of text; with `header`, the first row holds their names."""
    if not rows:
        raise FileFormatError(f"{path} is empty; expected a table with a header and at least one row.")
    first = [cell.strip() for cell in rows[0]]
    names = tuple(f"f{c}" for c in range(len(first)))
    unnamed: tuple[str, ...] = ()
    if header:
        if all(parse_number(cell) is not None for cell in first):
            shown = ", ".join(first[:3]) + (", …" if len(first) > 3 else "")
            raise FileFormatError(
                f"{path}:{lines[0]}: expected the names of the columns in the first row; got only numbers "
                f"({shown}). If there is no header, pass --no-header; the columns are then called f0, f1, ..."
            )
        names = tuple(cell or f"column {c}" for c, cell in enumerate(first, start=1))
        unnamed = tuple(name for name, cell in zip(names, first, strict=True) if not cell)
        if len(set(names)) < len(names):
            raise _make_repeated_error(names, path)
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


def _make_repeated_error(names: tuple[str, ...], path: str) -> FileFormatError:
    """Return the error for two columns with the same name."""
    name = Counter(names).most_common(1)[0][0]
    at = " and ".join(str(c) for c, other in enumerate(names, start=1) if other == name)
    return FileFormatError(f"{path}: columns {at} are both called {name!r}; rename one of them.")


def _read_xlsx(data: bytes, path: str, header: bool) -> RawTable:
    problems = Problems(path)
    rows = dict(iterate_sheet(data, problems))
    for note in problems.notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    # A sheet may be wider than its table: columns that are empty in every row are dropped.
    width = max((at for row in rows.values() for at, cell in enumerate(row, start=1) if cell), default=0)
    return _make_raw_table([row[:width] for row in rows.values()], list(rows), path, header)


def _read_parquet(data: bytes, path: str) -> RawTable:
    table = read_parquet(data, path)
    pyarrow = require("pyarrow", extra="scale")
    names = tuple(map(str, table.column_names))
    if not names or not table.num_rows:
        raise FileFormatError(f"{path} has no {'rows' if names else 'columns'}.")
    if len(set(names)) < len(names):
        raise _make_repeated_error(names, path)
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
        gap = "missing" if math.isnan(values[row]) else "infinite"
        return NonNumericCell(row, repr(cell) if isinstance(cell, str) else gap)
    return values


def _find_first_bad(column: Column) -> NonNumericCell:
    gap: NonNumericCell | None = None
    for row, cell in enumerate(column):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            gap = gap or NonNumericCell(row, "empty")
        elif not is_plain_number(cell):
            return NonNumericCell(row, repr(cell), str(cell))
    assert gap is not None
    return gap


# ---------------------------------------------------------------------- roles of columns


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns, as given by the options of a command."""

    id: str | None = None  # the column of ids
    features: tuple[str, ...] | None = None  # the columns to use; None for all columns without another role
    drop: tuple[str, ...] = ()
    truth: str | None = None  # the column of true classes
    bag: str | None = None  # the column of bags
    truth_option: str = "--truth"  # the option for the column of true classes

    def check(self, names: Sequence[str], path: str) -> None:
        """Raise an error if a column does not exist or has two roles."""
        one = (("--id", self.id), (self.truth_option, self.truth), ("--bag-column", self.bag))
        several = (("--drop", self.drop), ("--features", self.features or ()))
        roles = [*one, *((option, name) for option, given in several for name in given)]
        check_roles(roles, names, path)

    def select_features(self, names: Sequence[str], path: str) -> tuple[str, ...]:
        """Return the given features, or else the columns without another role."""
        others = {self.id, self.truth, self.bag, *self.drop}
        features = self.features or tuple(name for name in names if name not in others)
        if not features:
            raise FileFormatError(f"{path} has no column left to use as a feature; drop fewer columns.")
        return features


def check_roles(roles: Iterable[tuple[str, str | None]], names: Sequence[str], path: str) -> None:
    """Raise an error if a column does not exist or has two roles; `roles` are options with their columns."""
    option_of: dict[str, str] = {}
    for option, name in roles:
        if name is None:
            continue
        if name not in names:
            raise FileFormatError(describe_unknown_column(name, names, path), parameter=option)
        if name in option_of:
            what = "twice" if option_of[name] == option else f"for {option_of[name]} too"
            raise FileFormatError(f"the column {name!r} is given {what}.", parameter=option)
        option_of[name] = option


def describe_unknown_column(name: str, names: Sequence[str], path: str) -> str:
    """Return the message for a column that a file does not have, with the closest name if there is one."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"{path} has no column {name!r}; did you mean {close[0]!r}?"
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f"{path} has no column {name!r}; it has {shown}."


@dataclass(frozen=True, eq=False)
class DataTable:
    """Rows ready to be clustered."""

    ids: RowIds
    X: FloatArray  # of shape (n_rows, n_features), all finite
    feature_names: tuple[str, ...]
    dropped: tuple[str, ...] = ()  # the columns of the file that are neither features nor ids
    # The cells of the columns of classes and bags, as text; None for an empty cell.
    kept: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    description: str | None = None  # of features that are not columns of the file
    notes: tuple[str, ...] = ()  # on rows that are left out
    # The text, or the path of the picture or sound, of each row, if the features are computed from them.
    texts: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None


def make_table(raw: RawTable, roles: ColumnRoles) -> DataTable:
    """Return the ids, features and kept columns of a table; an error gives the place in the file."""
    roles.check(raw.names, raw.path)
    ids = get_ids(raw, roles.id)
    names = roles.select_features(raw.names, raw.path)
    if roles.features is None and (stray := [name for name in raw.unnamed if name in names]):
        raise FileFormatError(
            f"{raw.path}: the column {stray[0]!r} has no name; it may be an index written by pandas. "
            f"Use it as the ids with --id '{stray[0]}', or leave it out with --drop '{stray[0]}'."
        )
    found = {name: parse_numbers(raw.get_column(name)) for name in names}
    gaps = {name: cell for name, cell in found.items() if isinstance(cell, NonNumericCell)}
    if gaps:
        raise FileFormatError(_describe_gaps(raw, gaps))
    X = np.column_stack([column for column in found.values() if isinstance(column, np.ndarray)])
    kept = {name: raw.get_texts(name) for name in (roles.truth, roles.bag) if name is not None}
    dropped = tuple(name for name in raw.names if name not in {*names, roles.id, roles.bag})
    return DataTable(ids, X, names, dropped, kept)


def get_ids(raw: RawTable, name: str | None) -> RowIds:
    """Return the cells of a column as ids, or row numbers from 0 if there is none."""
    if name is None:
        return RowIds.from_row_numbers(raw.n_rows)
    first: dict[str, int] = {}
    for row, text in enumerate(raw.get_texts(name)):
        if text is None:
            raise FileFormatError(f"{raw.place(row)}: the id (column {name!r}) is empty; each row needs one.")
        if text in first:
            before = f"row {first[text]}" if raw.lines is None else f"line {raw.lines[first[text]]}"
            raise FileFormatError(
                f"{raw.place(row)}: the id {text!r} (column {name!r}) also occurs in {before}; ids must be "
                "unique. Choose another column, or leave --id out to number the rows."
            )
        first[text] = row
    return RowIds.from_ids(first)


def _describe_gaps(raw: RawTable, gaps: dict[str, NonNumericCell]) -> str:
    """Return the message for columns with cells that are not finite numbers, with a way to go on."""
    wrong = {name: cell for name, cell in gaps.items() if cell.text}
    if not wrong:
        name, bad = min(gaps.items(), key=lambda item: item[1].row)
        more = f" {len(gaps) - 1} more column(s) have such cells." if len(gaps) > 1 else ""
        return (
            f"{raw.place(bad.row)}: the column {name!r} is {bad.shown}; expected a finite number. Fill the "
            f"cell, leave out the row, or drop the column with --drop {_quote_names([name])}.{more}"
        )
    name, bad = next(iter(wrong.items()))
    if re.fullmatch(r"[-+]?\d+,\d+", bad.text.strip()):
        tip = "It seems to use decimal commas; save the file with decimal points."
    elif raw.lines is not None and bad.row == 0 and raw.lines[0] == 1 and len(wrong) == len(raw.names):
        tip = "The first row seems to be a header; leave --no-header out."
    elif len(wrong) > 8:
        tip = f"{len(wrong)} columns are not; choose the columns to use with --features."
    else:
        tip = (
            f"Leave out non-numeric columns with --drop {_quote_names(wrong)}, use a column as the ids with "
            f"--id {_quote_names([name])}, or choose the columns to use with --features."
        )
    for other, cell in wrong.items():
        if (option := _guess_option(cell.text)) is not None:
            tip = f"To compute features from {other!r}, use {option} {_quote_names([other])}. {tip}"
            break
    others = [repr(other) for other in list(wrong)[1:4]]
    more = f" Neither is {' nor '.join(others)}." if others else ""
    return f"{raw.place(bad.row)}: the column {name!r} is not numeric; it has {bad.shown}.{more} {tip}"


def _guess_option(cell: str) -> str | None:
    """Return the option for a column of texts, pictures or sounds, judged by one cell; None for others."""
    ending = cell.strip().lower().rpartition(".")[2]
    if ending in ("png", "jpg", "jpeg", "gif", "webp", "bmp"):
        return "--image"
    if ending in ("wav", "mp3", "ogg", "flac"):
        return "--audio"
    return "--text" if len(cell.split()) > 2 else None


def _quote_names(names: Iterable[str]) -> str:
    """Return names in the form that an option expects, quoted if a shell would split them."""
    text = ",".join(f'"{name}"' if "," in name else name for name in names)
    return text if re.fullmatch(r"[\w.,-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def standardize_columns(X: FloatArray) -> FloatArray:
    """Return columns with mean 0 and variance 1; a constant column becomes 0.

    >>> standardize_columns(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    # The spread of a column that is constant up to rounding is only rounding error.
    flat = spread <= 1e-12 * np.abs(X).max(axis=0)
    scaled: FloatArray = np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
    return scaled
