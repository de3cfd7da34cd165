"""Features of tables: standardised numbers and dates, one-hot categories, and arrays of a ``.npy`` file."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_some
from likewise.exceptions import FileFormatError, describe_cause
from likewise.features._features import Features, find_scale, one_scale
from likewise.tables import holds_objects, parse_number

FloatArray = npt.NDArray[np.float64]
_GAPS = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "-", "?", "#n/a"})
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_OTHER = re.compile(r"[^0-9eE.+ -]")  # characters that do not occur in numbers
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")


def table_features(
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]], *, most_levels: int = 20
) -> Features:
    """Convert the columns of a table to a matrix in which all columns have equal weight.

    - Numbers, and dates as days, get mean 0 and variance 1. Missing values are replaced by the median, and an
      indicator column marks them.
    - Categories become one indicator per level, with a total variance of 1. With more than `most_levels`
      levels, the rarest are merged into one.
    - Constant columns, and columns of words that are rarely repeated (names, sentences), are omitted, with a
      note.

    Parameters
    ----------
    columns : mapping of str to sequence
        The cells of each column: text as in a CSV file, numbers, dates, or None.
    most_levels : int, default=20
        Maximum number of levels of a category.

    Returns
    -------
    Features
        One row for each row of the table, in float64.

    Examples
    --------
    >>> from likewise.features import table_features
    >>> found = table_features({"cm": ["1", "", "3"], "who": ["a", "b", "a"]})
    >>> found.X.round(2).tolist()
    [[-1.22, -0.71, 0.5, -0.5], [0.0, 1.41, -1.0, 1.0], [1.22, -0.71, 0.5, -0.5]]
    """
    blocks: list[FloatArray] = []
    recipes: list[dict[str, Any]] = []
    n_numbers = n_categories = 0
    flat, wordy = [], []
    for name, cells in columns.items():
        numbers = _parse_numbers(cells)
        if numbers is not None:
            block, learned = _standardize_column(numbers)
            n_numbers += block.shape[1] > 0
        else:
            words = [None if _is_gap(cell) else str(cell).strip() for cell in cells]
            counted = Counter(word for word in words if word is not None)
            if len(counted) > max(most_levels, len(words) // 10):
                wordy.append(name)
                continue
            block, learned = _make_indicators(words, counted, most_levels)
            n_categories += block.shape[1] > 0
        if block.shape[1]:
            blocks.append(block)
            recipes.append({"name": name, **learned})
        else:
            flat.append(name)
    notes = []
    if flat:
        notes.append(f"omitted constant columns: {format_some(flat)}.")
    if wordy:
        notes.append(
            f"omitted columns whose words are rarely repeated: {format_some(wordy)}. If one is text to "
            "learn from, use it as text: --text COLUMN."
        )
    if not blocks:
        why = " ".join(notes)
        raise FileFormatError(f"no column is left to learn from. {why}".strip())
    parts = [f"{n_numbers} column(s) of numbers"] if n_numbers else []
    parts += [f"{n_categories} of categories"] if n_categories else []
    X = np.hstack(blocks)
    recipe = {"kind": "table", "columns": recipes}
    return Features(X, f"{X.shape[1]} numbers from {' and '.join(parts)}", tuple(notes), recipe=recipe)


def repeat_table_features(
    recipe: Mapping[str, Any], columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]
) -> Features:
    """Convert other rows of a table in the same way: with the means, scales and levels of the first rows.

    A word in a column of numbers, and a gap in a column that had none, count as the median.
    """
    blocks = []
    for learned in recipe["columns"]:
        cells = columns.get(learned["name"])
        if cells is None:
            raise FileFormatError(
                f"the column {learned['name']!r} is missing; the features are made from it."
            )
        if "levels" in learned:
            words = [None if _is_gap(cell) else str(cell).strip() for cell in cells]
            blocks.append(_apply_indicators(words, learned))
        else:
            found = (_parse_numbers([cell]) for cell in cells)
            values = np.array([np.nan if value is None else value[0] for value in found])
            blocks.append(_apply_standardizing(values, learned))
    return Features(np.hstack(blocks), "", recipe=recipe)


def _apply_standardizing(values: FloatArray, learned: Mapping[str, Any]) -> FloatArray:
    gaps = np.isnan(values)
    filled = np.where(gaps, learned["median"], values) / learned["top"]
    found = [(filled - learned["mean"]) / learned["spread"]] if learned["spread"] else []
    if learned["gap_spread"]:
        found.append((gaps - learned["gap_mean"]) / learned["gap_spread"])
    return np.column_stack(found)


def _apply_indicators(words: Sequence[str | None], learned: Mapping[str, Any]) -> FloatArray:
    """Return the indicators of the levels; a word that is none of them counts as one of the rare ones."""
    place = {word: column for column, word in enumerate(learned["levels"])}
    rest = len(place)
    codes = np.array([place.get(word, rest) if word is not None else rest + 1 for word in words])
    table = (codes[:, None] == np.array(learned["codes"])).astype(np.float64)
    found: FloatArray = (table - np.array(learned["mean"])) / learned["spread"]
    return found


def _is_gap(cell: Any) -> bool:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip().lower() in _GAPS


def _parse_numbers(cells: Sequence[Any] | npt.NDArray[Any]) -> FloatArray | None:
    """Return a column as numbers, NaN for gaps; None if some cell is neither a number nor a date."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        values = cells.astype(np.float64)
        return np.where(np.isfinite(values), values, np.nan)
    with suppress(TypeError, ValueError):
        # Texts that are all finite numbers are converted at once, ten times faster than one by one.
        if not _OTHER.search(" ".join(cells)):
            values = np.array(cells).astype(np.float64)
            if np.isfinite(values).all():
                return values
    for read in (_number, _parse_day):
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            if _is_gap(cell):
                continue
            value = read(cell)
            if value is None:
                break
            values[row] = value
        else:
            return values
    return None


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool | np.bool_):
        return None  # a category
    if isinstance(cell, str):
        if not _NUMBER.fullmatch(cell.strip()):
            return None  # Python also reads 1_000 and infinity; in a table they are probably names
        cell = cell.strip()
    value = parse_number(cell)
    return math.nan if value is not None and not math.isfinite(value) else value


def _parse_day(cell: Any) -> float | None:
    """Return a date as days since 1970."""
    if isinstance(cell, str):
        if not _DATE.fullmatch(cell.strip()):
            return None
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if isinstance(cell, date):
        seconds = 0.0
        if isinstance(cell, datetime):
            seconds = cell.hour * 3600.0 + cell.minute * 60.0 + cell.second + cell.microsecond / 1e6
            if (shift := cell.utcoffset()) is not None:
                seconds -= shift.total_seconds()
        return cell.toordinal() - date(1970, 1, 1).toordinal() + seconds / 86_400.0
    return None


def _standardize_column(values: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return one column, and a second one if there are gaps; none if the column is constant.

    Then come the numbers with which other values are standardised.
    """
    gaps = np.isnan(values)
    if gaps.all():
        return np.empty((len(values), 0)), {}
    median = np.median(values[~gaps])
    filled = np.where(gaps, median, values)
    top, divisor = np.abs(filled).max(), 1.0
    if top > 1e150:  # squares would overflow
        filled = filled / top
        top, divisor = 1.0, top
    mean = filled.mean()
    centred = filled - mean
    spread = centred.std()
    found = []
    learned = {"median": float(median), "top": float(divisor), "mean": float(mean), "spread": 0.0}
    learned |= {"gap_mean": float(gaps.mean()), "gap_spread": float(gaps.std())}
    if spread > 1e-12 * top:  # not constant up to rounding
        found.append(centred / spread)
        learned["spread"] = float(spread)
    if gaps.any():
        found.append((gaps - gaps.mean()) / gaps.std())
    return np.column_stack(found) if found else np.empty((len(values), 0)), learned


def _make_indicators(
    words: list[str | None], counted: Counter[str], most: int
) -> tuple[FloatArray, dict[str, Any]]:
    """Return one column per level, the most frequent first, with a total variance of 1; gaps are a level.

    Then come the levels and numbers with which other words are converted.
    """
    often = sorted(counted, key=lambda word: (-counted[word], word))
    if len(often) > most:
        often = often[: most - 1]
    place = {word: column for column, word in enumerate(often)}
    rest = len(often)
    codes = np.array([place.get(word, rest) if word is not None else rest + 1 for word in words])
    levels = [level for level in range(rest + 2) if (codes == level).any()]
    if len(levels) < 2:
        return np.empty((len(words), 0)), {}
    table = (codes[:, None] == np.array(levels)).astype(np.float64)
    mean = table.mean(axis=0)
    table -= mean
    spread = math.sqrt(table.var(axis=0).sum())
    found: FloatArray = table / spread
    return found, {"levels": often, "codes": levels, "mean": mean.tolist(), "spread": spread}


def array_features(path: str | os.PathLike[str], *, n_rows: int | None = None, of: str = "items") -> Features:
    """Read features from a ``.npy`` file, and scale them by one factor to a mean variance of 1.

    Parameters
    ----------
    path : path
        A file written by ``numpy.save``, with an array of shape (n_rows, n_features). A file with Python
        objects raises an error, because reading it could run code from the file.
    n_rows : int, optional
        The expected number of rows.
    of : str, default="items"
        The name of the rows in the error message if their number is wrong.

    Returns
    -------
    features : Features
        The scaled features.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or does not contain finite numbers of the expected shape.
    """
    name = os.fspath(path)
    try:
        found: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {name}.") from error
    except (OSError, ValueError, EOFError) as error:
        why = describe_cause(error)
        if isinstance(error, ValueError):
            with open(path, "rb") as file:
                why = "it contains Python objects" if holds_objects(file) else why
        raise FileFormatError(
            f"{name} cannot be read as .npy: {why}. Save an array of numbers with numpy.save."
        ) from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise FileFormatError(
            f"{name} contains several arrays (.npz); expected one, as written by numpy.save."
        )
    if found.ndim != 2 or found.dtype.kind not in "biuf" or 0 in found.shape:
        raise FileFormatError(
            f"{name} contains an array of shape {found.shape} and type {found.dtype}; expected numbers "
            "of shape (rows, features)."
        )
    if n_rows is not None and len(found) != n_rows:
        raise FileFormatError(
            f"{name} has {len(found)} row(s), but there are {n_rows} {of}; expected one row for each, "
            "in the same order."
        )
    X: npt.NDArray[Any] = np.array(found, dtype=np.float32 if found.dtype.itemsize <= 4 else np.float64)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        raise FileFormatError(
            f"{name}, row {row}, column {column} (counted from 0) is {X[row, column]}; expected finite "
            "numbers."
        )
    recipe = {"kind": "array", "scale": find_scale(X), "columns": X.shape[1]}
    return Features(one_scale(X), f"{X.shape[1]} numbers per row from {name}", recipe=recipe)
