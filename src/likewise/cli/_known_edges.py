"""Read known trees and edges for the labels that occur in the tags."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from likewise.cli._raw_tables import read_raw
from likewise.cli._tags import Tags
from likewise.exceptions import FileFormatError, UnknownFormatError
from likewise.hierarchy import LabelHierarchy, PartialHierarchy, read_hierarchy
from likewise.tables import RawTable, get_texts

ENDINGS = (".json", ".csv", ".nwk", ".newick", ".graphml")
_SHOWN = 5


def read_tree(path: str, tags: Tags, option: str) -> tuple[LabelHierarchy, list[str]]:
    """Read a tree that contains all labels of the tags; return it with notes on unused labels."""
    try:
        tree = read_hierarchy(path)
    except UnknownFormatError as error:
        raise FileFormatError(
            f"{option}: expected a file that ends with {', '.join(ENDINGS)}; got {path!r}."
        ) from error
    lost = [name for name in tags.names if name not in tree.names]
    if lost:
        raise FileFormatError(
            f"{path}: {len(lost)} of the {len(tags.names)} labels of the tags are not in it: "
            f"{_format_names(lost)}.{_suggest_name(lost[0], tree.names)} Add them; a label without a parent "
            "belongs to the root."
        )
    extra = [name for name in tree.names if name not in tags.names]
    notes = [f"{len(extra)} label(s) of {path} are never used and are left out: {_format_names(extra)}."]
    return tree.restrict(tags.names), notes * bool(extra)


def read_known(
    fixed: str | None, forbidden: str | None, tags: Tags, encoding: str
) -> tuple[PartialHierarchy | None, list[str]]:
    """Read edges that the tree must have and edges that it must not have."""
    if fixed is None and forbidden is None:
        return None, []
    root = "root"
    while root in tags.names:
        root = f"({root})"
    notes: list[str] = []
    edges = [
        () if path is None else _read_edges(path, tags, root, encoding, notes.append)
        for path in (fixed, forbidden)
    ]
    return PartialHierarchy(fixed=edges[0], forbidden=edges[1], root=root), notes


def _read_edges(
    path: str, tags: Tags, root: str, encoding: str, note: Callable[[str], None]
) -> tuple[tuple[str, str], ...]:
    """Read a table of parents and children; an empty parent or "root" is the root."""
    raw = read_raw(path, encoding=encoding)
    if missing := [name for name in ("parent", "child") if name not in raw.names]:
        raise FileFormatError(
            f"{path}: there is no column {' and none '.join(map(repr, missing))}. The first line must be "
            "parent,child."
        )
    edges: list[tuple[str, str]] = []
    idle = 0
    for row, (parent, child) in enumerate(
        zip(get_texts(raw, "parent"), get_texts(raw, "child"), strict=True)
    ):
        if child is None:
            raise FileFormatError(f"{raw.place(row)}: expected a label as the child; the cell is empty.")
        if child == root:
            raise FileFormatError(f"{raw.place(row)}: the child is the root, which has no parent.")
        above = root if parent is None or (parent == "root" and "root" not in tags.names) else parent
        known = [_is_used(label, raw, row, tags) for label in (above, child) if label != root]
        if all(known):
            edges.append((above, child))
        idle += not all(known)
    if idle:
        note(f"{idle} edge(s) of {Path(path)} with labels that are never used are left out.")
    return tuple(edges)


def _is_used(label: str, raw: RawTable, row: int, tags: Tags) -> bool:
    if label in tags.names or label in tags.unused:
        return label in tags.names
    raise FileFormatError(f"{raw.place(row)}: no tag is {label!r}.{_suggest_name(label, tags.names)}")


def _suggest_name(name: str, names: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _format_names(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
