"""Read and write label hierarchies as CSV edges, Newick, GraphML and JSON.

Invalid files are rejected as a whole. Files are written atomically.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from likewise._atomic_files import replace_file
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy import _csv, _graphml, _json, _newick
from likewise.hierarchy._hierarchy import LabelHierarchy
from likewise.tables import choose_format, decode

__all__ = ["Format", "read_hierarchy", "write_hierarchy"]

Format = Literal["csv", "newick", "graphml", "json"]
_SUFFIXES = {".csv": "csv", ".nwk": "newick", ".newick": "newick", ".graphml": "graphml", ".json": "json"}
_PARSE: dict[str, Callable[[str, str, str], dict[str, Any]]] = {
    "csv": _csv.parse,
    "newick": _newick.parse,
    "json": _json.parse,
}
_COMPOSE: dict[str, Callable[[LabelHierarchy], str]] = {
    "csv": _csv.compose,
    "newick": _newick.compose,
    "json": _json.compose,
}


def read_hierarchy(
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    root: str = "root",
    encoding: str = "utf-8",
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
        parts = _graphml.parse(data, root, name)
    else:
        parts = _PARSE[kind](decode(data, encoding, name), root, name)
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
        data = _graphml.compose(hierarchy)
    else:
        data = _COMPOSE[kind](hierarchy).encode("utf-8")
    replace_file(path, lambda part: part.write_bytes(data))
