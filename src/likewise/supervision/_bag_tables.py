"""Bags in two tables: one with the rows and their bags, and one with the labels of the bags."""

from __future__ import annotations

import difflib
import math
import os
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._atomic_files import replace_file
from likewise.exceptions import FileFormatError, InconsistentSupervisionWarning, SupervisionError
from likewise.supervision._labels import Labels, sort_values
from likewise.supervision._supervision import Supervision
from likewise.supervision.io import NOTE, Format
from likewise.supervision.row_checks import FloatArray
from likewise.tables import (
    SHOWN,
    Problems,
    RowIds,
    choose_format,
    decode,
    decompress,
    describe_unknown_column,
    format_csv_line,
    parse_number,
    read_csv_rows,
    read_parquet_rows,
    write_parquet,
)

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike

Path_ = str | os.PathLike[str]
Rows = list[tuple[int, Sequence[Any]]]
BAG, LABELS = "bag", "labels"
PARTED_BY = ";"
_MANY = 20_000  # with more bags than this, only simple typing errors are recognised


def read_bag_labels(
    path: Path_,
    bags: Any,
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
) -> Supervision:
    """Read the labels of bags from a table, for rows whose bags are known.

    The table has the columns ``bag,labels``, with the labels of a bag separated by semicolons:
    ``r1,wren;owl``. Bags that are not in the table are unlabelled. Names are compared as strings and must be
    equal; an integer in `bags` is compared by its digits, 1 as ``1``. The cost is linear in rows and lines.

    Parameters
    ----------
    path : path-like
        The file: CSV or Parquet, optionally compressed with gzip.
    bags : array-like of shape (n_samples,)
        The bag of each row: a string or an integer; None or NaN for a row in no bag.
    format : {"csv", "parquet"}, optional
        By default the file extension determines it.
    encoding : str, default="utf-8"
        The encoding of a CSV file.

    Returns
    -------
    Supervision
        Hints with bags, named as in `bags`, and their labels, which are strings.

    Raises
    ------
    FileFormatError
        If a bag of the table has no rows, no labels, or different labels on two lines; the message gives the
        lines, and nothing is read.

    Warns
    -----
    InconsistentSupervisionWarning
        If a bag has more labels than rows, so some of its labels cannot belong to any row.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import read_bag_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bags.csv")
    ...     _ = path.write_text("bag,labels\\n1,wren;owl\\n")
    ...     hints = read_bag_labels(path, [1, 1, 2, None])
    >>> hints
    Supervision(4 rows: 2 bag(s), 1 of them labelled)
    >>> sorted(hints.bags.labels[0])
    ['owl', 'wren']
    """
    members = Labels.from_array(bags, what="bags")
    names = _map_names_by_text(members.classes)
    problems, header, rows = _read_cells(path, format, encoding)
    _check_header(header, problems.path)
    at_bag, at_labels = header.index(BAG), header.index(LABELS)
    labels_of_bag: dict[Hashable, tuple[frozenset[str], int]] = {}
    for line, cells in rows:
        try:
            bag, labels = _find_bag(cells[at_bag], names), _parse_label_set(cells[at_labels], cells[at_bag])
            before, first = labels_of_bag.setdefault(bag, (labels, line))
            if before != labels:
                raise ValueError(
                    f"bag {cells[at_bag]!r} has the labels {PARTED_BY.join(sort_values(labels))}, but "
                    f"{PARTED_BY.join(sort_values(before))} on line {first}. Keep one of the two lines."
                )
        except ValueError as error:
            problems.add(line, error)
    problems.settle()
    counts = Counter(members.codes.tolist())
    small = [
        (name, len(labels_of_bag[name][0]), counts[code])
        for code, name in enumerate(members.classes)
        if name in labels_of_bag and len(labels_of_bag[name][0]) > counts[code]
    ]
    if small:
        few = ", ".join(f"{name!r} ({n_labels} for {n_rows})" for name, n_labels, n_rows in small[:SHOWN])
        more = f" and {len(small) - SHOWN} more" if len(small) > SHOWN else ""
        warnings.warn(
            f"{problems.path}: {len(small)} bag(s) have more labels than rows: {few}{more}. Some of their "
            "labels cannot belong to any row; rows may be missing.",
            InconsistentSupervisionWarning,
            stacklevel=2,
        )
    known = [None if code < 0 else members.classes[code] for code in members.codes.tolist()]
    return Supervision.from_bags(known, {bag: labels for bag, (labels, _) in labels_of_bag.items()})


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
    problems, header, rows = _read_cells(data, None, encoding)
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
    row_ids = RowIds.from_row_numbers(len(X)) if ids is None else RowIds.from_ids(ids)
    y = None if classes is None else np.array(classes, dtype=object)
    return BagData(X, row_ids, hints, y, names)


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


def _read_cells(path: Path_, format: str | None, encoding: str) -> tuple[Problems, list[str], Rows]:
    """Read a table; return a collector for its problems, its header, and its rows with their line numbers."""
    content, name = Path(path).read_bytes(), os.fspath(path)
    data = decompress(content, name)
    if data is not content and Path(path).suffix.lower() == ".gz":
        path = Path(path).with_suffix("")
    kind = choose_format(path, format)
    if kind == "jsonl":
        raise ValueError(f"{name!r} is JSON Lines; tables of bags are CSV or Parquet.")
    problems = Problems(name, ", row " if kind == "parquet" else ":")
    if not data.strip():
        raise FileFormatError(f"{name} is empty; expected a table with a header.")
    if kind == "parquet":
        table = read_parquet_rows(data, name)
        header = table.header
    else:
        table = read_csv_rows(decode(data, encoding, name), problems, comments=False)
        header = [cell.strip() for cell in table.header or [""]]
    rows = list(table.rows)
    problems.settle()
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise FileFormatError(f"{name}: two columns are called {twice!r}; rename one of them.")
    for line, cells in rows:
        if len(cells) != len(header):
            problems.add(line, f"{len(cells)} cell(s), but the header has {len(header)}.")
    problems.settle()
    return problems, header, rows


def _check_header(header: list[str], path: str) -> None:
    header[:] = [name.lower() for name in header]
    if {BAG, LABELS} <= set(header) <= {BAG, LABELS, NOTE}:
        return
    way_on = "Rename or remove the others; a column `note` may stay."
    if "id" in header:
        way_on = "A table that names rows by their ids is a table of hints: {read it with read_hints}."
    elif "label" in header and LABELS not in header:
        way_on = f"One line lists all labels of a bag, as in r1,wren{PARTED_BY}owl."
    raise FileFormatError(
        f"{path}: the columns are {', '.join(map(repr, header))}; expected {BAG} and {LABELS}.",
        way_on,
        terms=("read it with read_hints",),
    )


def _find_bag(cell: Any, names: dict[str, Hashable]) -> Hashable:
    """Return the bag that a cell names; the error for an unknown bag suggests a similar name."""
    if cell == "":
        raise ValueError("bag is empty.")
    text = _format_name(cell)
    if text in names:
        return names[text]
    message = f"bag {text!r} has labels, but no row is in it"
    number = parse_number(text)
    same = next((name for name in names if number is not None and parse_number(name) == number), None)
    if same is not None:
        raise SupervisionError(
            f"{message}; there are rows in bag {same!r}.",
            "The two files write the same number in two ways: write it the same way in both.",
            ids=(text,),
            kinds=("bags",),
        )
    plain = text.strip().casefold()
    near = next((name for name in names if name.strip().casefold() == plain), None)
    if near is None and len(names) <= _MANY:
        near = next(iter(difflib.get_close_matches(text, names, n=1, cutoff=0.75)), None)
    suggestion = f"Did you mean {near!r}?" if near else "Remove the line, or add rows."
    raise SupervisionError(f"{message}.", suggestion, ids=(text,), kinds=("bags",))


def _parse_label_set(cell: Any, bag: Any) -> frozenset[str]:
    parts = cell if isinstance(cell, list) else [cell] if not isinstance(cell, str) else cell.split(PARTED_BY)
    labels = frozenset(label for part in parts if (label := _format_name(part, "label").strip()))
    if not labels:
        raise ValueError(
            f"bag {bag!r} has no labels. Leave the line out if they are unknown; if none of the classes "
            "occurs in the bag, give it a separate label, such as none."
        )
    return labels


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
            found.append(None if cells[at] == "" else _format_name(cells[at], name))
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


# ---------------------------------------------------------------------- names


def _format_name(value: Any, what: str = "bag") -> str:
    """Return the name of a bag or label as it is written to a file: an integer by its digits.

    >>> _format_name("01"), _format_name(1), _format_name(1.0)
    ('01', '1', '1')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():  # pandas converts 1 to 1.0 if some cells are empty
        return str(int(value))
    raise SupervisionError(
        f"the {what} {value!r} is of type {type(value).__name__}; in a table, the name of a {what} is a "
        "string or an integer. Convert it to a string first."
    )


def _map_names_by_text(values: Iterable[Hashable], what: str = "bag") -> dict[str, Hashable]:
    """Map the text of each name to the name; it is an error if two names have the same text."""
    names: dict[str, Hashable] = {}
    for value in values:
        text = _format_name(value, what)
        if text in names:
            raise SupervisionError(
                f"{names[text]!r} and {value!r} are two {what}s, but both are written as {text!r}. "
                "Rename one of them."
            )
        names[text] = value
    return names


# ---------------------------------------------------------------------- writing


def _check_texts(values: Any, what: str) -> list[str]:
    """Return names as strings that are the same when they are read again."""
    texts = list(_map_names_by_text(values, what))
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
