"""The table of bag labels, ``bag,labels``: the label set of each bag, in a file beside the data."""

from __future__ import annotations

import difflib
import os
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from likewise.exceptions import FileFormatError, InconsistentSupervisionWarning, SupervisionError
from likewise.supervision._hint_tables import NOTE
from likewise.supervision._labels import Labels, sort_values
from likewise.supervision._supervision import Supervision
from likewise.supervision.io import Format
from likewise.tables import (
    SHOWN,
    Problems,
    choose_format,
    decode,
    decompress,
    parse_number,
    read_csv_rows,
    read_parquet_rows,
)

BAG, LABELS = "bag", "labels"
PARTED_BY = ";"
_MANY = 20_000  # with more bags than this, only simple typing errors are recognised
Rows = list[tuple[int, Sequence[Any]]]


def read_bag_labels(
    path: str | os.PathLike[str],
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
    names = map_names_by_text(members.classes)
    problems, header, rows = read_table_cells(path, format, encoding)
    _check_header(header, problems.path)
    at_bag, at_labels = header.index(BAG), header.index(LABELS)
    labels_of_bag: dict[Hashable, tuple[frozenset[str], int]] = {}
    for line, cells in rows:
        try:
            bag, labels = _find_bag(cells[at_bag], names), _parse_label_set(cells[at_labels], cells[at_bag])
            before, first = labels_of_bag.setdefault(bag, (labels, line))
            if before != labels:
                raise ValueError(
                    f"bag {cells[at_bag]!r} has the labels {_format_labels(labels)}, but "
                    f"{_format_labels(before)} on line {first}. Keep one of the two lines."
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
        _warn_small(small, problems.path)
    known = [None if code < 0 else members.classes[code] for code in members.codes.tolist()]
    return Supervision.from_bags(known, {bag: labels for bag, (labels, _) in labels_of_bag.items()})


def read_table_cells(
    path: str | os.PathLike[str], format: str | None, encoding: str
) -> tuple[Problems, list[str], Rows]:
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


def format_name(value: Any, what: str = "bag") -> str:
    """Return the name of a bag or label as it is written to a file: an integer by its digits.

    >>> format_name("01"), format_name(1), format_name(1.0)
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


def map_names_by_text(values: Iterable[Hashable], what: str = "bag") -> dict[str, Hashable]:
    """Map the text of each name to the name; it is an error if two names have the same text."""
    names: dict[str, Hashable] = {}
    for value in values:
        text = format_name(value, what)
        if text in names:
            raise SupervisionError(
                f"{names[text]!r} and {value!r} are two {what}s, but both are written as {text!r}. "
                "Rename one of them."
            )
        names[text] = value
    return names


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
    text = format_name(cell)
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
    labels = frozenset(label for part in parts if (label := format_name(part, "label").strip()))
    if not labels:
        raise ValueError(
            f"bag {bag!r} has no labels. Leave the line out if they are unknown; if none of the classes "
            "occurs in the bag, give it a separate label, such as none."
        )
    return labels


def _format_labels(labels: frozenset[str]) -> str:
    return PARTED_BY.join(sort_values(labels))


def _warn_small(small: list[tuple[Hashable, int, int]], path: str) -> None:
    description = ", ".join(f"{name!r} ({n_labels} for {n_rows})" for name, n_labels, n_rows in small[:SHOWN])
    more = f" and {len(small) - SHOWN} more" if len(small) > SHOWN else ""
    warnings.warn(
        f"{path}: {len(small)} bag(s) have more labels than rows: {description}{more}. Some of their labels "
        "cannot belong to any row; rows may be missing.",
        InconsistentSupervisionWarning,
        stacklevel=3,
    )
