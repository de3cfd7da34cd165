"""Hierarchies as Newick, ``((cat,dog)animal,toy);``: trees in which every node but the outermost has a name.

If each node has the comment ``[&column=0,…]`` that :func:`compose` writes, the order of the columns and the
numbers of the labels are restored. All other comments, and branch lengths, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy._hierarchy import COLUMNS, LabelHierarchy, get_known_columns
from likewise.hierarchy._newick_reader import Node, read_tree

# Spaces, brackets, quotes, colons, semicolons and commas are special; some programs read _ as a space.
_QUOTED = re.compile(r"[\s()\[\]':;,_]")
_TOLD = re.compile(rf"[&,](column|{'|'.join(COLUMNS)})=([^,\]]+)")


def compose(hierarchy: LabelHierarchy) -> str:
    """Return the Newick text of a tree; the unnamed outermost node is the root."""
    if not hierarchy.is_tree:
        several = (len(above) > 1 for above in hierarchy.parent_lists)
        name = next(name for name, so in zip(hierarchy.names, several, strict=True) if so)
        raise HierarchyError(
            f"label {name!r} has several parents, but Newick supports only trees. Write CSV, GraphML or JSON."
        )
    below: list[list[int]] = [[] for _ in range(hierarchy.n_labels + 1)]
    for k, parent in enumerate(hierarchy.parents.tolist()):
        below[parent].append(k)  # -1, the root, is the last entry
    named = [*_iterate_names(hierarchy), ""]
    text: list[str] = []
    todo: list[int | str] = [
        hierarchy.n_labels
    ]  # a stack: a tree may be deeper than Python's recursion limit
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            text.append(node)
        elif not below[node]:
            text.append(named[node])
        else:
            text.append("(")
            todo.append(f"){named[node]}")
            for child in reversed(below[node]):
                todo += [child, ","]
            todo.pop()  # no comma before the first child
    return "".join(text) + ";\n"


def _iterate_names(hierarchy: LabelHierarchy) -> Iterator[str]:
    """Yield the name of each label, quoted if necessary, with its numbers as a comment."""
    columns = get_known_columns(hierarchy)
    for k, name in enumerate(hierarchy.names):
        text = "'" + name.replace("'", "''") + "'" if _QUOTED.search(name) else name
        comment = "".join(f",{column}={values[k]!r}" for column, values in columns.items())
        yield f"{text}[&column={k}{comment}]"


def parse(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a Newick text."""
    top = read_tree(text, path)
    if top.name == root:
        top.name = ""
    nodes = [node for node in _iterate_downwards(top) if node.name]
    comments = [dict(_TOLD.findall(node.comments)) for node in nodes]
    columns = [comment.get("column", "") for comment in comments]
    known = {str(k): k for k in range(len(nodes))}
    parts: dict[str, Any] = {}
    if sorted(columns) == sorted(known):  # written by `compose`
        order = sorted(range(len(nodes)), key=lambda k: known[columns[k]])
        nodes = [nodes[k] for k in order]
        for name, column in COLUMNS.items():
            if any(name in comment for comment in comments):
                parts[column] = [
                    _parse_number(comments[k].get(name, "nan"), path, nodes[known[columns[k]]]) for k in order
                ]
    parts["names"] = [node.name for node in nodes]
    parts["edges"] = [(node.above.name, node.name) for node in nodes if node.above and node.above.name]
    return parts


def _parse_number(text: str, path: str, node: Node) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(
            f"{path}:{node.line}: the comment of label {node.name!r} contains {text!r}; expected a "
            "number. Remove "
            "the comments to read only the tree."
        ) from None


def _iterate_downwards(top: Node) -> Iterator[Node]:
    """Yield all nodes, parents before children."""
    todo = [top]
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(node.below)
