"""Read and write label hierarchies as CSV edges, Newick, GraphML and JSON.

Invalid files are rejected as a whole. Files are written atomically.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import ParseError

from likewise._atomic_files import replace_file
from likewise._optional import require
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy import _newick
from likewise.hierarchy._edges import check_names, cycle_of, cycle_text, find_labels
from likewise.hierarchy._hierarchy import COLUMNS, LabelHierarchy, get_known_columns, make_graph, read_graph
from likewise.supervision.io import NOTE
from likewise.tables import Problems, choose_format, decode, format_csv_line, parse_number, read_csv_rows

__all__ = ["read_hierarchy", "write_hierarchy"]

Format = Literal["csv", "newick", "graphml", "json"]
_SUFFIXES = {".csv": "csv", ".nwk": "newick", ".newick": "newick", ".graphml": "graphml", ".json": "json"}


def read_hierarchy(
    path: str | os.PathLike[str], *, format: Format | None = None, root: str = "root", encoding: str = "utf-8"
) -> LabelHierarchy:
    """Read a label hierarchy from a file.

    Parameters
    ----------
    path : path-like
        The file: CSV with the columns ``parent,child`` and optionally ``score,margin,count``, Newick with a
        name for every node, GraphML (needs ``pip install 'likewise[graphs]'``), or the JSON of
        :func:`write_hierarchy`.
    format : {"csv", "newick", "graphml", "json"}, optional
        By default the file extension determines it: .csv, .nwk or .newick, .graphml, .json.
    root : str, default="root"
        The name of the root in the file. If the file lists `root` as a label, it is an ordinary label. The
        root need not occur: labels without a parent are children of the root.
    encoding : str, default="utf-8"
        The encoding of a CSV, Newick or JSON file. GraphML files declare theirs.

    Returns
    -------
    LabelHierarchy
        Labels are in the order in which they were written, or, in files of other programs, in order of
        appearance.

    Raises
    ------
    FileFormatError
        If anything in the file is wrong; the message says where.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.hierarchy import read_hierarchy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("parent,child\\nroot,animal\\nanimal,cat\\nanimal,dog\\n")
    ...     read_hierarchy(path).edges
    (('animal', 'cat'), ('animal', 'dog'))
    """
    kind = choose_format(path, format, _SUFFIXES)
    name = os.fspath(path)
    data = Path(path).read_bytes()
    if not data.strip():
        raise FileFormatError(f"{name} is empty; a hierarchy needs at least one label.")
    if kind == "graphml":
        parts = _parse_graphml(data, root, name)
    else:
        parse: Callable[[str, str, str], dict[str, Any]]
        parse = {"csv": _parse_csv, "newick": _newick.parse, "json": _parse_json}[kind]
        parts = parse(decode(data, encoding, name), root, name)
    try:
        return LabelHierarchy(**parts)
    except HierarchyError as error:
        raise FileFormatError(f"{name}: {error} Nothing was read.") from error


def write_hierarchy(
    hierarchy: LabelHierarchy, path: str | os.PathLike[str], *, format: Format | None = None
) -> None:
    """Write a label hierarchy to a UTF-8 file, from which the same hierarchy can be read.

    The file is written atomically: a crash leaves the old file intact.

    Parameters
    ----------
    hierarchy : LabelHierarchy
        The hierarchy. Newick supports only trees.
    path : path-like
        The file; an existing file is replaced.
    format : {"csv", "newick", "graphml", "json"}, optional
        By default the file extension determines it. GraphML needs ``pip install 'likewise[graphs]'``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.hierarchy import LabelHierarchy, read_hierarchy, write_hierarchy
    >>> pets = LabelHierarchy(["animal", "cat", "toy"], [("animal", "cat")], counts=[7, 3, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     write_hierarchy(pets, path)
    ...     print(path.read_text())
    ...     read_hierarchy(path) == pets
    parent,child,count
    root,animal,7
    animal,cat,3
    root,toy,1
    <BLANKLINE>
    True
    """
    kind = choose_format(path, format, _SUFFIXES)
    if kind == "graphml":
        data = _compose_graphml(hierarchy)
    else:
        compose: Callable[[LabelHierarchy], str]
        compose = {"csv": _compose_csv, "newick": _newick.compose, "json": compose_json}[kind]
        data = compose(hierarchy).encode("utf-8")
    replace_file(path, lambda part: part.write_bytes(data))


# ---------------------------------------------------------------------- CSV, one line for each edge


_NEEDED = ("parent", "child")


def _compose_csv(hierarchy: LabelHierarchy) -> str:
    """Return the table: labels in column order; children of the root have the parent "root".

    If a label is named "root", children of the root have an empty parent instead.
    """
    root = "" if "root" in hierarchy.names else "root"
    columns = get_known_columns(hierarchy)
    lines = [format_csv_line([*_NEEDED, *columns])]
    for k, name in enumerate(hierarchy.names):
        numbers = ["" if (x := values[k]) != x else repr(x) for values in columns.values()]
        above = [hierarchy.names[p] for p in hierarchy.parent_lists[k]]
        lines += [format_csv_line([parent, name, *numbers]) for parent in above or [root]]
    return "".join(line + "\n" for line in lines)


def _parse_csv(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a table of edges."""
    problems = Problems(path)
    lines = read_csv_rows(text, problems)
    header = [cell.strip().lower() for cell in lines.header]
    _check_header(header, f"{path}:{len(lines.comments) + 1}")
    table = _EdgeTable(header, problems)
    for line, row in lines.rows:
        table.add(line, row)
    problems.settle()
    if not table.lines:
        raise FileFormatError(
            f"{path}: there are no lines below the header; a hierarchy needs at least one label."
        )
    return table.parts(root)


def _check_header(header: list[str], where: str) -> None:
    description = f"{where}: the columns are {', '.join(map(repr, header))}"
    if missing := [name for name in _NEEDED if name not in header]:
        raise FileFormatError(
            f"{description}; missing: {' and '.join(missing)}. Begin the file with the line parent,child."
        )
    known = (*_NEEDED, *COLUMNS, NOTE)
    if unknown := [name for name in header if name not in known]:
        raise FileFormatError(
            f"{description}; expected only {', '.join(known)}, got {unknown[0]!r}. Rename or remove the "
            "others."
        )
    if len(set(header)) < len(header):
        raise FileFormatError(f"{description}; column names must be unique.")


class _EdgeTable:
    """The lines of a table of edges, and the problems found in them."""

    def __init__(self, header: list[str], problems: Problems) -> None:
        self.header, self.problems = header, problems
        self.lines: dict[tuple[str, str], int] = {}
        self.numbers_of_label: dict[str, dict[str, float]] = {name: {} for name in COLUMNS if name in header}

    def add(self, line: int, row: Sequence[str]) -> None:
        """Add a line, or record what is wrong with it."""
        if len(row) != len(self.header):
            self.problems.add(line, f"{len(row)} cell(s), but the header has {len(self.header)}.")
            return
        cells = dict(zip(self.header, row, strict=True))
        parent, child = cells["parent"], cells["child"]
        if not child:
            self.problems.add(line, "the child is empty. Only the parent may be empty, which means the root.")
        elif parent == child:
            self.problems.add(line, f"label {child!r} is its own parent. Remove this line.")
        else:
            self.lines.setdefault((parent, child), line)
            for name, values in self.numbers_of_label.items():
                self._number(line, child, name, cells[name], values)

    def _number(self, line: int, child: str, name: str, cell: str, values: dict[str, float]) -> None:
        value = parse_number(cell) if cell.strip() else float("nan")
        if value is None:
            self.problems.add(
                line, f"the {name} is {cell!r}; expected a number such as 0.5, or an empty cell."
            )
            return
        before = values.setdefault(child, value)
        if before != value and not (before != before and value != value):
            description = f"label {child!r} has the {name} {value:g} here and {before:g} above"
            self.problems.add(line, f"{description}. All lines of a label must agree.")

    def parts(self, root: str) -> dict[str, Any]:
        """Return the names, edges and columns after all lines were read."""
        is_label = any(child == root for _, child in self.lines)
        top = {""} if is_label else {"", root}
        edges = [edge for edge in self.lines if edge[0] not in top]
        below = {child for _, child in edges}
        for (parent, child), line in self.lines.items():
            if parent in top and child in below:
                self.problems.add(
                    line, f"label {child!r} is a child of the root here and has a parent elsewhere."
                )
        names = find_labels([(None if p in top else p, c) for p, c in self.lines], None)
        if cycle := cycle_of(names, edges):  # the line numbers of its edges are known only here
            line = max(self.lines[edge] for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            self.problems.add(line, f"{cycle_text(cycle)} Remove one of these edges.")
        self.problems.settle()
        parts: dict[str, Any] = {"names": names, "edges": edges}
        for name, values in self.numbers_of_label.items():
            parts[COLUMNS[name]] = [values.get(label, float("nan")) for label in names]
        return parts


# ---------------------------------------------------------------------- JSON: one object per label


_FORMAT = "likewise label hierarchy"
_VERSION = 1


def compose_json(hierarchy: LabelHierarchy) -> str:
    """Return the JSON text, with one line per label."""
    columns = get_known_columns(hierarchy)
    lines = []
    for k, name in enumerate(hierarchy.names):
        label: dict[str, Any] = {
            "name": name,
            "parents": [hierarchy.names[p] for p in hierarchy.parent_lists[k]],
        }
        for column, values in columns.items():  # JSON has no infinity and no NaN
            finite = values[k] if math.isfinite(values[k]) else str(values[k])
            label[column] = None if math.isnan(values[k]) else finite
        lines.append("    " + json.dumps(label, ensure_ascii=False, allow_nan=False))
    head = f'{{\n  "format": {json.dumps(_FORMAT)},\n  "version": {_VERSION},\n  "labels": [\n'
    return head + ",\n".join(lines) + "\n  ]\n}\n"


def _parse_json(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a JSON text."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{path}:{error.lineno}: invalid JSON: {error.msg}. The file may be truncated."
        ) from error
    labels = _read_labels(content, path)
    names = [label["name"] for label in labels]
    is_label = root in names
    parts: dict[str, Any] = {
        "names": names,
        "edges": [
            (parent, label["name"])
            for label in labels
            for parent in label.get("parents", [])
            if is_label or parent != root
        ],
    }
    for column, of in COLUMNS.items():
        if any(column in label for label in labels):
            parts[of] = [_read_number(label.get(column), label["name"], column, path) for label in labels]
    return parts


def _read_labels(content: Any, path: str) -> list[dict[str, Any]]:
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FileFormatError(
            f'{path}: this is JSON, but not a label hierarchy; expected an object with "format": '
            f'"{_FORMAT}", as write_hierarchy writes it. Edges in a table can be read from CSV.'
        )
    version = content.get("version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(
            f"{path}: the version is {version!r}; expected an integer from 1 to {_VERSION}."
        )
    if version > _VERSION:
        raise FileFormatError(
            f"{path}: the file has format version {version}, but this version of likewise reads up to "
            f"{_VERSION}. Update likewise, or write CSV with the newer version."
        )
    labels = content.get("labels")
    if not isinstance(labels, list):
        raise FileFormatError(f'{path}: "labels" must be a list of objects, one per label.')
    for k, label in enumerate(labels):
        if not _is_label(label):
            raise FileFormatError(
                f"{path}: labels[{k}] is {json.dumps(label)[:80]}; expected "
                '{"name": …, "parents": […]} with names as strings.'
            )
    return labels


def _is_label(label: Any) -> bool:
    if not isinstance(label, dict) or not isinstance(label.get("name"), str):
        return False
    parents = label.get("parents", [])
    return isinstance(parents, list) and all(isinstance(parent, str) for parent in parents)


def _read_number(value: Any, name: str, column: str, path: str) -> float:
    if value is None:
        return math.nan
    number = None if isinstance(value, bool) else parse_number(value)
    if number is None:
        raise FileFormatError(
            f'{path}: the {column} of label {name!r} is {value!r}; expected a number, "inf", or null '
            "if it is unknown."
        )
    return number


# ---------------------------------------------------------------------- GraphML, through networkx


# A graph attribute names the root node, so a label may be named "root" as well.
_ROOT = "root"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _compose_graphml(hierarchy: LabelHierarchy) -> bytes:
    """Return the bytes of a GraphML file, in which the root is a node like any label."""
    for name in hierarchy.names:
        if found := _NO_XML.search(name):
            raise HierarchyError(
                f"label {name!r} contains the character {found[0]!r}, which GraphML does not allow. "
                "Rename it, or write CSV or JSON."
            )
    root = _ROOT
    while root in hierarchy.names:
        root += "_"
    graph = make_graph(hierarchy, root)
    graph.graph[_ROOT] = root
    file = io.BytesIO()
    # Not write_graphml, which uses lxml if it is installed and then writes different files.
    require("networkx", extra="graphs").write_graphml_xml(graph, file, encoding="utf-8")
    return file.getvalue()


def _parse_graphml(data: bytes, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a GraphML file.

    If every node has a label, as drawing programs write them, labels are the names; otherwise ids are.
    """
    networkx = require("networkx", extra="graphs")
    try:
        graph = networkx.read_graphml(io.BytesIO(data))
    except ParseError as error:
        raise FileFormatError(
            f"{path}:{error.position[0]}: invalid XML: {error}. The file may be truncated, or have "
            "another format."
        ) from error
    except (networkx.NetworkXError, LookupError, ValueError) as error:
        raise FileFormatError(f"{path}: invalid GraphML: {error}.") from error
    try:
        labels = {node: str(label) for node, label in graph.nodes(data="label") if label not in (None, "")}
        if labels and len(labels) == len(graph):
            check_names(labels.values())  # networkx would merge nodes with the same label
            graph = networkx.relabel_nodes(graph, labels)
        top = graph.graph.get(_ROOT)
        if top is None and graph.is_directed() and root in graph and not graph.pred[root]:
            top = root
        return read_graph(graph, top)
    except HierarchyError as error:
        raise FileFormatError(f"{path}: {error} Nothing was read.") from error
