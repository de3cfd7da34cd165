"""Bags in two tables: one with the rows and their bags, and one with the labels of the bags."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._atomic_files import replace_file
from likewise.exceptions import FileFormatError, SupervisionError
from likewise.supervision._bag_labels import (
    BAG,
    LABELS,
    PARTED_BY,
    Rows,
    format_name,
    map_names_by_text,
    read_bag_labels,
    read_table_cells,
)
from likewise.supervision._ids import RowIds
from likewise.supervision._labels import Labels, sort_values
from likewise.supervision._row_checks import FloatArray
from likewise.supervision._supervision import Supervision
from likewise.tables import (
    Problems,
    choose_format,
    describe_unknown_column,
    format_csv_line,
    parse_number,
    write_parquet,
)

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike

Path_ = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class BagData:
    """The result of :func:`read_bags`: rows in bags.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features, all finite.
    ids : RowIds
        The id of each row.
    supervision : Supervision
        The bag of each row, and the labels of the labelled bags.
    y : ndarray of object, of shape (n_samples,), or None
        The true class of each row as a string, None if unknown. None if there is no such column.
    feature_names : tuple of str
        The names of the columns of `X`.

    Examples
    --------
    >>> import os, tempfile
    >>> from likewise.supervision import read_bags
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("id,bag,pitch\\na,r1,1.5\\nb,r1,2.5\\nc,r2,3.5\\n")
    ...     data = read_bags(path)
    >>> data.X.shape, data.feature_names, data.supervision
    ((3, 1), ('pitch',), Supervision(3 rows: 2 bag(s), 0 of them labelled))
    """

    X: FloatArray
    ids: RowIds
    supervision: Supervision
    y: npt.NDArray[Any] | None
    feature_names: tuple[str, ...]


def read_bags(
    data: Path_,
    bag_labels: Path_ | None = None,
    *,
    bag: str = BAG,
    label: str | None = "label",
    id: str | None = "id",
    features: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> BagData:
    """Read multi-instance multi-label data: a table of rows in bags, and a table of the labels of the bags.

    The first table has columns for the bags and the features, and optionally for ids and true classes. A row
    with an empty bag cell is in no bag. The second table has the columns ``bag,labels``;
    :func:`read_bag_labels` reads only this table. Ids, bags and labels are strings. The cost is linear in the
    size of the files.

    Parameters
    ----------
    data : path-like
        The table of rows: CSV or Parquet, optionally compressed with gzip.
    bag_labels : path-like, optional
        The table of bag labels. Without it, all bags are unlabelled.
    bag : str, default="bag"
        The column with the bags.
    label : str or None, default="label"
        The column with the true classes; None uses no column. The default is used only if it exists.
    id : str or None, default="id"
        The column with the ids; None uses no column. The default is used only if it exists. Rows without ids
        have the ids 0, 1, 2 and so on.
    features : sequence of str, optional
        The columns with the features; by default all other columns.
    encoding : str, default="utf-8"
        The encoding of CSV files.

    Returns
    -------
    BagData
        The features, the ids, the bags as hints, and the true classes if there are any.

    Raises
    ------
    FileFormatError
        If anything in the files is invalid; the message gives the line.

    See Also
    --------
    write_bags : writes the two tables.
    likewise.datasets.load : the same for data sets of the catalogue.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import read_bags
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, labels = (pathlib.Path(folder, name) for name in ("rows.csv", "bags.csv"))
    ...     _ = rows.write_text("bag,label,f0\\nr1,wren,0.5\\nr1,owl,2\\n,owl,2.5\\n")
    ...     _ = labels.write_text("bag,labels\\nr1,wren;owl\\n")
    ...     read = read_bags(rows, labels)
    >>> read.X.tolist(), read.y.tolist()
    ([[0.5], [2.0], [2.5]], ['wren', 'owl', 'owl'])
    >>> read.supervision
    Supervision(3 rows: 1 bag(s), 1 of them labelled)
    """
    problems, header, rows = read_table_cells(data, None, encoding)
    path = problems.path
    if not rows:
        raise FileFormatError(f"{path} has a header and no rows.")
    bag = _find_column(bag, header, path)
    label, id = (
        _find_optional_column(name, default, header, path) for name, default in ((label, "label"), (id, "id"))
    )
    others = {bag, label, id}
    names = tuple(name for name in header if name not in others) if features is None else tuple(features)
    for name in names:
        if _find_column(name, header, path) in others or names.count(name) > 1:
            raise FileFormatError(
                f"{path}: the column {name!r} is used twice; expected one use for each column."
            )
    if not names:
        raise FileFormatError(
            f"{path} has no feature columns; its columns are {', '.join(map(repr, header))}."
        )
    X = _parse_numbers(rows, [header.index(name) for name in names], names, problems)
    bags = _read_texts(rows, header.index(bag), bag, problems)
    ids = None if id is None else _read_texts(rows, header.index(id), id, problems)
    if ids is not None:
        _check_ids(ids, rows, problems)
    classes = None if label is None else _read_texts(rows, header.index(label), label, problems)
    problems.settle()
    if bag_labels is None:
        hints = Supervision.from_bags(bags)
    else:
        hints = read_bag_labels(bag_labels, bags, encoding=encoding)
    y = None
    if classes is not None:
        y = np.array(classes, dtype=object)
    return BagData(
        X, RowIds.from_row_numbers(len(X)) if ids is None else RowIds.from_ids(ids), hints, y, names
    )


def write_bags(
    data: Path_,
    bag_labels: Path_,
    X: MatrixLike,
    hints: Supervision,
    *,
    ids: Any = None,
    y: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write multi-instance multi-label data as the two tables that :func:`read_bags` reads.

    Each file is written under a temporary name and then renamed, so that a crash leaves the old file intact.

    Parameters
    ----------
    data, bag_labels : path-like
        The files, CSV or Parquet according to their extensions. The first gets the columns ``id`` (if ids are
        given), ``bag``, ``label`` (if `y` is given) and the features, the second ``bag`` and ``labels``.
    X : array-like of shape (n_samples, n_features)
        The features.
    hints : Supervision
        Hints with bags only; other kinds are refused. Unlabelled bags do not appear in the second table.
        Names must be strings or integers, and labels must not contain semicolons.
    ids : RowIds or sequence of str, optional
        The id of each row.
    y : array-like of shape (n_samples,), optional
        The true class of each row; None if it is unknown.
    feature_names : sequence of str, optional
        The names of the features; by default ``f0``, ``f1`` and so on.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import Supervision, read_bags, write_bags
    >>> hints = Supervision.from_bags(["r1", "r1", None], {"r1": ["wren", "owl"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, labels = (pathlib.Path(folder, name) for name in ("rows.csv", "bags.csv"))
    ...     write_bags(rows, labels, [[0.5], [2.0], [2.5]], hints)
    ...     print(labels.read_text())
    ...     read_bags(rows, labels).supervision == hints
    bag,labels
    r1,owl;wren
    <BLANKLINE>
    True
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise ValueError(f"X must contain finite numbers of shape (n_samples, n_features), got {rows.shape}.")
    if hints.n_samples != len(rows):
        raise SupervisionError(f"the hints are for {hints.n_samples} rows, but X has {len(rows)}.")
    if others := sorted(hints.kinds - {"bags"}):
        raise SupervisionError(
            f"the hints also contain {' and '.join(others)}, which tables of bags cannot store. Write these "
            "with write_hints, and pass hints.select_kinds('bags') here."
        )
    if os.path.realpath(data) == os.path.realpath(bag_labels):
        raise ValueError(f"expected two files for the two tables; got {os.fspath(data)!r} twice.")
    for path in (data, bag_labels):
        if choose_format(path, None) == "jsonl":
            raise ValueError(f"{os.fspath(path)!r} is JSON Lines; tables of bags are CSV or Parquet.")
    names = _check_feature_names(feature_names, rows.shape[1])
    columns: dict[str, list[Any]] = {}
    if ids is not None:
        columns["id"] = list(RowIds.from_ids(ids))
    columns[BAG] = [""] * len(rows)
    label_columns: dict[str, list[str]] = {BAG: [], LABELS: []}
    if (bags := hints.bags) is not None:
        texts = [*_check_texts(bags.names, "bag"), ""]
        columns[BAG] = [texts[code] for code in bags.codes.tolist()]
        for text, labels in zip(texts, bags.labels, strict=False):
            if labels is not None:
                label_columns[BAG].append(text)
                label_columns[LABELS].append(PARTED_BY.join(_check_texts(sort_values(labels), "label")))
    if y is not None:
        classes = Labels.from_array(y, what="y")
        words = [*_check_texts(classes.classes, "label"), ""]
        columns["label"] = [words[code] for code in classes.codes.tolist()]
    columns |= {name: rows[:, c].tolist() for c, name in enumerate(names)}
    if wrong := [name for name, cells in columns.items() if len(cells) != len(rows)]:
        raise ValueError(f"{wrong[0]} has {len(columns[wrong[0]])} entries, but X has {len(rows)} rows.")
    for path, table in ((data, columns), (bag_labels, label_columns)):
        _write(path, table)


# ---------------------------------------------------------------------- reading


def _find_column(name: str, header: list[str], path: str) -> str:
    if name in header:
        return name
    raise FileFormatError(describe_unknown_column(name, header, path))


def _find_optional_column(name: str | None, default: str, header: list[str], path: str) -> str | None:
    """Return the name of an optional column; None if it is the default and does not exist."""
    if name is None or (name == default and name not in header):
        return None
    return _find_column(name, header, path)


def _parse_numbers(rows: Rows, at: list[int], names: Sequence[str], problems: Problems) -> FloatArray:
    try:
        X = np.array([[float(cells[c]) for c in at] for _, cells in rows], dtype=np.float64)
        if np.isfinite(X).all():
            return X
    except (TypeError, ValueError):
        pass
    for line, cells in rows:
        for c, name in zip(at, names, strict=True):
            number = parse_number(cells[c])
            if number is None or not math.isfinite(number):
                problems.add(line, f"the column {name!r} is {cells[c]!r}; expected a finite number.")
                break
    problems.settle()
    raise AssertionError("some cell is not a finite number")


def _read_texts(rows: Rows, at: int, name: str, problems: Problems) -> list[str | None]:
    found: list[str | None] = []
    for line, cells in rows:
        try:
            found.append(None if cells[at] == "" else format_name(cells[at], name))
        except SupervisionError as error:
            problems.add(line, error)
            found.append(None)
    return found


def _check_ids(ids: list[str | None], rows: Rows, problems: Problems) -> None:
    first: dict[str, int] = {}
    for (line, _), text in zip(rows, ids, strict=True):
        if text is None:
            problems.add(line, "the id is empty; each row needs one.")
        elif first.setdefault(text, line) != line:
            problems.add(line, f"line {first[text]} also has the id {text!r}; ids must differ.")


# ---------------------------------------------------------------------- writing


def _check_texts(values: Any, what: str) -> list[str]:
    """Return names as strings that are the same when they are read again."""
    texts = list(map_names_by_text(values, what))
    for text in texts:
        if not text or (what == "label" and (PARTED_BY in text or text != text.strip())):
            raise SupervisionError(
                f"the {what} {text!r} would change when the table is read; expected text that is not "
                f"empty{', without semicolons and surrounding spaces' if what == 'label' else ''}."
            )
    return texts


def _check_feature_names(given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    names = tuple(f"f{c}" for c in range(n_features)) if given is None else tuple(map(str, given))
    if len(names) != n_features or len(set(names)) < len(names):
        raise ValueError(f"feature_names must be {n_features} different names, got {names!r}.")
    if taken := [name for name in names if name in ("id", BAG, "label") or name != name.strip() or not name]:
        raise ValueError(f"a feature cannot be called {taken[0]!r} in a table of bags; rename it.")
    return names


def _write(path: Path_, columns: dict[str, list[Any]]) -> None:
    if choose_format(path, None) == "parquet":
        cells = {name: [None if cell == "" else cell for cell in column] for name, column in columns.items()}
        types = dict.fromkeys(("id", BAG, LABELS, "label"), "string")
        replace_file(path, lambda part: write_parquet(cells, part, types=types))
        return
    rows = zip(*columns.values(), strict=True)
    lines = [format_csv_line(columns), *(format_csv_line(map(_format_cell, row)) for row in rows)]
    text = "".join(line + "\n" for line in lines)
    replace_file(path, lambda part: Path(part).write_bytes(text.encode("utf-8")))


def _format_cell(value: Any) -> str:
    """Return a cell as a string; a float with an integer value without its decimal point."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)
