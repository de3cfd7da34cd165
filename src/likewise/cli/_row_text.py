"""Format rows of a table for a person to read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from likewise._words import truncate
from likewise.exceptions import FileFormatError
from likewise.tables import Column, ColumnRoles, RawTable, describe_unknown_column, is_plain_number

_SHORT = 60  # maximum number of characters on one line
_LONGEST = 160  # maximum number of characters of a row without --show
_DIGITS = 4  # significant digits of a number
_SPREAD_DIGITS = 3  # minimum number of digits of its column's spread, so that rows can be distinguished


def check_shown(raw: RawTable, names: tuple[str, ...] | None) -> None:
    """Raise an error if a column of ``--show`` does not exist."""
    for name in names or ():
        if name not in raw.names:
            raise FileFormatError(describe_unknown_column(name, raw.names, raw.path), parameter="--show")


def drop_text_columns(columns: ColumnRoles, raw: RawTable, shown: tuple[str, ...] | None) -> ColumnRoles:
    """Add the shown columns that are not numeric to the dropped columns."""
    if columns.features is not None:
        return columns
    others = {columns.id, *columns.drop}
    texts = [name for name in shown or () if name not in others and raw.is_wordy(name)]
    return replace(columns, drop=(*columns.drop, *texts))


def make_row_formatter(
    raw: RawTable,
    id_column: str | None,
    names: tuple[str, ...] | None,
    dropped: tuple[str, ...] | None = None,
) -> Callable[[int], str]:
    """Return a function that formats a row: its id and the given columns, or all columns truncated.

    Dropped columns are shown only if they are given: they may hold the classes.

    >>> raw = RawTable("birds.csv", ("name", "song"), (["wren", "owl"], ["loud", "low"]), None)
    >>> (make_row_formatter(raw, None, ("song",))(1), make_row_formatter(raw, "name", None)(1),
    ...  make_row_formatter(raw, None, None)(1), make_row_formatter(raw, None, None, ("song",))(1))
    ('low', 'owl: song low', 'name owl, song low', 'name owl')
    """
    listed = names or tuple(name for name in raw.names if name not in (id_column, *(dropped or ())))
    wanted = [(name, make_cell_formatter(raw.get_column(name))) for name in listed]
    ids = None
    if id_column is not None and id_column not in listed:
        ids = raw.get_texts(id_column)

    def show(row: int) -> str:
        cells = [(name, show_cell(row)) for name, show_cell in wanted]
        text = ", ".join(f"{name} {cell}" for name, cell in cells)
        if names is None:
            text = truncate(text, _LONGEST)
        elif len(cells) == 1:
            text = cells[0][1]
        elif len(text) > _SHORT:
            text = "\n".join(f"{name}: {cell}" for name, cell in cells)
        return text if ids is None else f"{ids[row] or ''}: {text}"

    return show


# ---------------------------------------------------------------------- numbers


def make_cell_formatter(column: Column) -> Callable[[int], str]:
    """Return a function that formats one cell of the column; only long decimals are changed (rounded).

    >>> show = make_cell_formatter(["0.12345678901234567", "2.50", "007", "n/a"])
    >>> [show(row) for row in range(4)]
    ['0.1235', '2.50', '007', 'n/a']
    """
    spread = _find_spread(column)

    def show(row: int) -> str:
        cell = column[row]
        if isinstance(cell, float | np.floating):
            return format_number(float(cell), spread)
        if not isinstance(cell, str):
            return "" if cell is None else str(cell)
        text = cell.strip()
        if text.lstrip("+-").isdigit() or not is_plain_number(text):
            return cell
        value = float(text)
        # A number without superfluous digits is kept as written: 1.10 may be a version.
        return text if len(text) <= len(_round_cell(value, spread)) else format_number(value, spread)

    return show


def format_number(value: float, spread: float = 0.0) -> str:
    """Return a number with four significant digits, or with more if its column varies only in later ones.

    `spread` is the difference between the largest and the smallest number of its column, 0 if unknown. No
    digit before the decimal point is rounded away.

    >>> format_number(0.30000000000000004), format_number(1065.0), format_number(123456.789)
    ('0.3', '1065', '123457')
    >>> format_number(1000001.23456, spread=2.0), format_number(1.23456e-9)
    ('1000001.23', '1.235e-09')
    """
    text = _round_cell(value, spread)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _round_cell(value: float, spread: float) -> str:
    """Return a number with the digits that it needs, trailing zeros included."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    digits = _DIGITS
    if 0 < spread < math.inf:
        digits = max(digits, magnitude - math.floor(math.log10(spread)) + _SPREAD_DIGITS)
    if -5 < magnitude < 15:
        return f"{value:.{max(digits - 1 - magnitude, 0)}f}"
    return f"{value:.{min(digits, 17)}g}"


def _find_spread(column: Column) -> float:
    """Return the range of the finite numbers of a column; 0 if there are fewer than two."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        values = column.astype(np.float64)
    else:
        values = np.array([float(cell) for cell in column if is_plain_number(cell)], dtype=np.float64)
    values = values[np.isfinite(values)]
    return float(values.max()) - float(values.min()) if values.size else 0.0
