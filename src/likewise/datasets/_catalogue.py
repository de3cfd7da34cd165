"""The catalogue of data sets: their sizes, sources, licences and checksums."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from likewise.exceptions import DatasetNotFoundError

Kind = Literal["labels", "bags", "multilabel", "text"]
Origin = Literal["scikit-learn", "folder", "openml"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The description of a data set in the catalogue, available before it is loaded.

    Parameters
    ----------
    name : str
        The name for :func:`~likewise.datasets.load`.
    n_rows, n_columns, n_classes : int
        The numbers of rows, features (0 if there are none) and classes; for "multilabel", the number of
        labels.
    files : tuple of (str, str)
        File names and their SHA-256. The first file contains the rows.
    source, citation, licence : str
        Where the data come from, what to cite, and the terms of use. Check the licence at the source before
        you redistribute the data.
    kind : {"labels", "bags", "multilabel", "text"}, default="labels"
        One class for each row; rows in labelled bags; several labels for each row; texts with one class each.
    n_bags : int, optional
        The number of bags, for "bags".
    sklearn_copy : str, optional
        The data set that scikit-learn ships: ``sklearn.datasets.load_<sklearn_copy>``.
    openml_id : int, optional
        The number of the data set at OpenML.
    parent : str, optional
        The data set that this one is a part of.
    keep : tuple of str, default=()
        The classes of `parent` to keep.
    class_names : tuple of str, default=()
        The names of the classes in the sorted order of their values, if the file contains numbers.
    aliases : tuple of str, default=()
        Other names that `load` accepts.
    note : str, default=""
        What to be aware of when using the data.

    Examples
    --------
    >>> from likewise.datasets import get_catalogue
    >>> entry = get_catalogue()["iris"]
    >>> entry.n_rows, entry.n_classes, entry.kind
    (150, 3, 'labels')
    >>> "scikit-learn" in entry.origins
    True
    """

    name: str
    n_rows: int
    n_columns: int
    n_classes: int
    files: tuple[tuple[str, str], ...]
    source: str
    citation: str
    licence: str
    kind: Kind = "labels"
    n_bags: int | None = None
    sklearn_copy: str | None = None
    openml_id: int | None = None
    parent: str | None = None
    keep: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    note: str = ""

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The places where `load` looks for the data set, in order. A part is also found with its parent."""
        found: list[Origin] = ["folder"]
        if self.sklearn_copy is not None:
            found.insert(0, "scikit-learn")
        if self.openml_id is not None or self.parent is not None:
            found.append("openml")
        return tuple(found)


@cache
def get_catalogue() -> Mapping[str, Entry]:
    """Return the data sets that :func:`load` supports, by name.

    No data are read or fetched. The mapping is read-only.

    Examples
    --------
    >>> entry = get_catalogue()["letters_ijl"]
    >>> entry.n_rows, entry.n_columns, entry.n_classes, entry.licence
    (2263, 16, 3, 'CC BY 4.0')
    >>> sorted(name for name, entry in get_catalogue().items() if entry.kind == "bags")
    ['hja_birdsong', 'letter_carroll', 'msrcv2']
    """
    text = files("likewise.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return MappingProxyType({name: _make_entry(name, fields) for name, fields in tomllib.loads(text).items()})


def _make_entry(name: str, fields: dict[str, Any]) -> Entry:
    names = tuple(fields.pop("files").items())
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Entry(name=name, files=names, **(fields | lists))


def find(name: str) -> Entry:
    """Return the entry of a name or an alias, ignoring case and dashes; the error suggests close names."""
    known = {alias: entry for entry in get_catalogue().values() for alias in (entry.name, *entry.aliases)}
    key = str(name).lower().replace("-", "_")
    if key in known:
        return known[key]
    close = difflib.get_close_matches(key, known, n=3)
    meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise DatasetNotFoundError(
        f"there is no data set {name!r} among the {len(get_catalogue())} in the catalogue.{meant} "
        "List them with print(likewise.datasets.describe())."
    )


def describe(name: str | None = None) -> str:
    """Return the catalogue as a table to print, or the details of one data set.

    Parameters
    ----------
    name : str, optional
        The name of a data set; None lists all of them, one per line.

    Returns
    -------
    str
        Text to print.

    Examples
    --------
    >>> print(describe("iris"))
    iris: Fisher Iris
      150 rows, 4 columns, 3 classes
      found in: scikit-learn, folder
      files: iris.csv.gz
      cite: R. A. Fisher (1936). The use of multiple measurements in taxonomic problems...
      licence: CC BY 4.0
    >>> print(describe())
    name            rows  columns  classes  kind        found in              licence
    ionosphere       351       34        2  labels      folder, openml        CC BY 4.0
    ...
    """
    if name is not None:
        return _describe_one(find(name))
    header = ("name", "rows", "columns", "classes", "kind", "found in", "licence")
    cells = [header]
    for e in get_catalogue().values():
        found = ", ".join(e.origins)
        cells.append(
            (e.name, str(e.n_rows), str(e.n_columns), str(e.n_classes), e.kind, found, e.licence),
        )
    widths = [max(len(row[c]) for row in cells) for c in range(len(header))]
    lines = []
    for row in cells:
        # Numbers are right-aligned, words left-aligned.
        parts = [
            cell.rjust(width) if 1 <= c <= 3 else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _describe_one(entry: Entry) -> str:
    size = f"{entry.n_rows} {'texts' if entry.kind == 'text' else 'rows'}"
    if entry.n_columns:
        size += f", {entry.n_columns} columns"
    if entry.n_bags:
        size += f", {entry.n_bags} bags"
    size += f", {entry.n_classes} {'labels' if entry.kind == 'multilabel' else 'classes'}"
    lines = [
        f"{entry.name}: {entry.source}",
        size,
        f"found in: {', '.join(entry.origins)}",
        f"files: {', '.join(file for file, _ in entry.files)}",
        f"cite: {entry.citation}",
        f"licence: {entry.licence}",
    ]
    if entry.parent is not None:
        lines.insert(2, f"part of {entry.parent}: classes {', '.join(entry.keep)}")
    if entry.note:
        lines.append(f"note: {entry.note}")
    return "\n  ".join(lines)
