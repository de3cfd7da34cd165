"""Names and edges of a hierarchy, from a list of edges that may include the root or an array of parents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.hierarchy._label_checks import check_names, check_pairs, format_names, unknown_label


def read_edges(edges: Any, names: Iterable[str] | None, root: str | None) -> dict[str, Any]:
    """Return the names and the edges between labels, given edges that may start at `root`."""
    pairs = check_pairs(edges, "edges")
    tops = {child for parent, child in pairs if root is not None and parent == root}
    inner = [(parent, child) for parent, child in pairs if root is None or parent != root]
    for parent, child in pairs:
        if root is not None and child == root:
            raise HierarchyError(
                f"{root!r} is a child of {parent!r}, but it is the name of the root. If it is a label, "
                "give the "
                "root another name with root=."
            )
    labels = check_names(find_labels(pairs, root) if names is None else names)
    if root is not None and root in labels:
        raise HierarchyError(
            f"{root!r} is both a label and the name of the root. Give the root another name with "
            "root=, or remove it from the names."
        )
    known = set(labels)
    for _, child in pairs:  # children of the root have no edge and are not checked elsewhere
        if child not in known:
            raise unknown_label(child, labels)
    both = next((child for _, child in inner if child in tops), None)
    if both is not None:
        above = dict.fromkeys(parent for parent, child in inner if child == both)
        raise HierarchyError(
            f"label {both!r} is a child of the root {root!r} and of {format_names(above)}. Keep one of the "
            "two."
        )
    return {"names": labels, "edges": inner}


def find_labels(pairs: list[tuple[Any, Any]], root: str | None) -> tuple[Any, ...]:
    """Return the labels of edges in the order of the children; other labels precede their first child.

    A file with a line for each child in column order therefore preserves the column order.

    >>> find_labels([("animal", "cat"), ("cat", "kitten"), ("root", "toy")], "root")
    ('animal', 'cat', 'kitten', 'toy')
    """
    below = {child for _, child in pairs}
    names: dict[Any, None] = {}
    for parent, child in pairs:
        if parent not in below and parent != root:
            names[parent] = None
        names[child] = None
    return tuple(names)


def read_parents(parents: Any, names: Iterable[str] | None) -> dict[str, Any]:
    """Return the names and edges of a tree, given the position of the parent of each label."""
    above = np.asarray(parents)
    if above.ndim != 1 or above.dtype.kind not in "iu":
        raise HierarchyError(
            f"parents must be one position per label, -1 for the root; got shape {above.shape} and type "
            f"{above.dtype}."
        )
    labels = check_names(map(str, range(len(above))) if names is None else names)
    if len(labels) != len(above):
        raise HierarchyError(
            f"expected one parent for each name; got {len(labels)} names and {len(above)} parents."
        )
    wrong = np.flatnonzero((above < -1) | (above >= len(above)))
    if wrong.size:
        raise HierarchyError(
            f"parents[{wrong[0]}] is {above[wrong[0]]}; expected a position from 0 to "
            f"{len(above) - 1}, or -1 "
            "for the root."
        )
    child = np.flatnonzero(above >= 0)
    return {"names": labels, "edges": np.column_stack([above[child], child])}
