"""The data of a command: row ids, a feature matrix, and columns kept for other purposes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import click
import numpy as np
import numpy.typing as npt

from likewise.cli._raw_tables import read_raw
from likewise.exceptions import FileFormatError
from likewise.supervision import RowIds
from likewise.tables import NonNumericCell, RawTable, describe_unknown_column, get_texts, parse_numbers

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DataTable:
    """Rows ready to be clustered.

    Attributes
    ----------
    ids : RowIds
        The id of each row: the cells of the ``--id`` column, or "0", "1", and so on.
    X : ndarray of shape (n_rows, n_features)
        The features, all finite.
    feature_names : tuple of str
        The columns of `X`.
    dropped : tuple of str
        The columns of the file that are neither features nor ids.
    kept : mapping of str to tuple
        The cells of other requested columns, as text; None for an empty cell.
    """

    ids: RowIds
    X: FloatArray
    feature_names: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    kept: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns, as given by the options of a command.

    Attributes
    ----------
    id : str or None
        ``--id``: the column of ids, which is never a feature.
    features : tuple of str or None
        ``--features``: the columns to use; None for all columns without another role.
    drop : tuple of str
        ``--drop``: columns to leave out.
    truth : str or None
        ``--truth``: the column of true classes, which is never a feature.
    bag : str or None
        ``--bag-column``: the column of bags, which is never a feature.
    truth_option : str
        The name of the ``--truth`` option in this command.
    """

    id: str | None = None
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    truth: str | None = None
    bag: str | None = None
    truth_option: str = "--truth"

    def check(self, raw: RawTable) -> None:
        """Raise an error if a column does not exist or has two roles."""
        one = (("--id", self.id), (self.truth_option, self.truth), ("--bag-column", self.bag))
        several = (("--drop", self.drop), ("--features", self.features or ()))
        check_roles(raw, [*one, *((option, name) for option, names in several for name in names)])


def check_roles(raw: RawTable, roles: Iterable[tuple[str, str | None]]) -> None:
    """Raise an error if a column does not exist or has two roles; `roles` are options with their columns."""
    option_of: dict[str, str] = {}
    for option, name in roles:
        if name is None:
            continue
        if name not in raw.names:
            raise click.BadParameter(make_unknown_column_error(name, raw), param_hint=f"'{option}'")
        if name in option_of:
            what = "twice" if option_of[name] == option else f"for {option_of[name]} too"
            raise click.BadParameter(f"the column {name!r} is given {what}.", param_hint=f"'{option}'")
        option_of[name] = option


def split_names(text: str) -> tuple[str, ...]:
    """Split a list of column names at its commas; double quotes enclose a name that contains a comma.

    >>> split_names('a, b,"c,d"')
    ('a', 'b', 'c,d')
    """
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(name for cell in cells if (name := cell.strip()))


def read_table(path: str, columns: ColumnRoles, *, header: bool = True, encoding: str = "utf-8") -> DataTable:
    """Read a table of rows and features; an error gives the place in the file."""
    raw = read_raw(path, header=header, encoding=encoding)
    return make_table(raw, columns)


def make_table(raw: RawTable, columns: ColumnRoles) -> DataTable:
    """Return the ids, features and kept columns of a table."""
    columns.check(raw)
    ids = get_ids(raw, columns.id)
    others = {columns.id, columns.truth, columns.bag, *columns.drop}
    names = columns.features or tuple(name for name in raw.names if name not in others)
    if not names:
        raise FileFormatError(f"{raw.path} has no column left to use as a feature; drop fewer columns.")
    if columns.features is None and (stray := [name for name in raw.unnamed if name in names]):
        raise FileFormatError(
            f"{raw.path}: the column {stray[0]!r} has no name; it may be an index written by pandas. "
            f"Use it as the ids with --id '{stray[0]}', or leave it out with --drop '{stray[0]}'."
        )
    X = _read_features(raw, names)
    kept = {name: get_texts(raw, name) for name in (columns.truth, columns.bag) if name is not None}
    dropped = tuple(name for name in raw.names if name not in {*names, columns.id, columns.bag})
    return DataTable(ids, X, names, dropped, kept)


def make_unknown_column_error(name: str, raw: RawTable) -> str:
    """Return the message for an unknown column, with the closest name if there is one."""
    return describe_unknown_column(name, raw.names, raw.path)


# ---------------------------------------------------------------------- ids and other texts


def get_ids(raw: RawTable, name: str | None) -> RowIds:
    """Return the cells of a column as ids, or row numbers from 0 if there is none."""
    if name is None:
        return RowIds.from_row_numbers(raw.n_rows)
    texts = get_texts(raw, name)
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is None:
            raise FileFormatError(f"{raw.place(row)}: the id (column {name!r}) is empty; each row needs one.")
        if text in first:
            raise FileFormatError(
                f"{raw.place(row)}: the id {text!r} (column {name!r}) also occurs in "
                f"{raw.describe_row(first[text])}"
                "; ids must be unique. Choose another column, or leave --id out to number the rows."
            )
        first[text] = row
    return RowIds.from_ids(first)


# ---------------------------------------------------------------------- features


def _read_features(raw: RawTable, names: tuple[str, ...]) -> FloatArray:
    at = {name: c for c, name in enumerate(raw.names)}
    parsed = [parse_numbers(raw.columns[at[name]]) for name in names]
    texts = {name: bad for name, bad in zip(names, parsed, strict=True) if isinstance(bad, NonNumericCell)}
    wrong = {name: bad for name, bad in texts.items() if bad.text}
    if wrong:
        raise FileFormatError(_make_not_numeric_error(raw, wrong))
    if texts:
        name, bad = min(texts.items(), key=lambda item: item[1].row)
        others = sum(isinstance(other, NonNumericCell) for other in parsed) - 1
        more = f" {others} more column(s) have such cells." if others else ""
        raise FileFormatError(
            f"{raw.place(bad.row)}: the column {name!r} is {bad.shown}; expected a finite number. Fill the "
            f"cell, leave out the row, or drop the column with --drop {_quote_names([name])}.{more}"
        )
    X = np.empty((raw.n_rows, len(names)))
    for c, column in enumerate(parsed):
        assert not isinstance(column, NonNumericCell)
        X[:, c] = column
    return X


def _make_not_numeric_error(raw: RawTable, wrong: dict[str, NonNumericCell]) -> str:
    name, bad = next(iter(wrong.items()))
    if re.fullmatch(r"[-+]?\d+,\d+", bad.text.strip()):
        tip = "It seems to use decimal commas; save the file with decimal points."
    elif raw.lines is not None and bad.row == 0 and raw.lines[0] == 1 and len(wrong) == len(raw.names):
        tip = "The first row seems to be a header; leave --no-header out."
    elif len(wrong) > 8:
        tip = f"{len(wrong)} columns are not; choose the columns to use with --features."
    else:
        names = list(wrong)
        tip = (
            f"Leave out non-numeric columns with --drop {_quote_names(names)}, use a column as the ids "
            "with "
            f"--id {_quote_names([name])}, or choose the columns to use with --features."
        )
    others = [repr(other) for other in list(wrong)[1:4]]
    more = f" Neither is {' nor '.join(others)}." if others else ""
    return f"{raw.place(bad.row)}: the column {name!r} is not numeric; it has {bad.shown}.{more} {tip}"


def _quote_names(names: list[str]) -> str:
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
