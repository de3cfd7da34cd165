"""Names and edges of a hierarchy: checks, edge lists, arrays of parents, and traversal."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import HierarchyError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Edge = tuple[str, str]
Lists = tuple[tuple[int, ...], ...]  # the parents, or the children, of each node

_SHOWN = 5


def format_names(names: Iterable[object]) -> str:
    """Return names joined for a message; only the first few if there are many.

    >>> format_names(["a", "b"])
    "'a' and 'b'"
    >>> format_names("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    words = [repr(name) for name in names]
    if len(words) > _SHOWN:
        words = [*words[:_SHOWN], f"{len(words) - _SHOWN} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def check_name(name: Any, what: str) -> str:
    """Return the name of a label as a string, or raise an error."""
    if not isinstance(name, str):
        raise HierarchyError(
            f"{what} is {name!r}, of type {type(name).__name__}; label names must be strings. Convert "
            "it with str()."
        )
    if not name:
        raise HierarchyError(f"{what} is empty; every label needs a name.")
    return str(name)  # convert a NumPy string to str


def check_names(names: Any) -> tuple[str, ...]:
    """Check the names of all labels: strings, at least one, no duplicates."""
    if isinstance(names, str):
        raise HierarchyError(f"names must be a list of labels; got the string {names!r}. Put it in a list.")
    checked = tuple(check_name(name, f"names[{k}]") for k, name in enumerate(names))
    if not checked:
        raise HierarchyError("there are no labels; a hierarchy needs at least one.")
    if len(set(checked)) < len(checked):
        seen: set[str] = set()
        twice = [name for name in checked if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise HierarchyError(
            f"{format_names(dict.fromkeys(twice))} occur(s) more than once among the names. Names must "
            "be unique."
        )
    return checked


def unknown_label(name: object, known: Iterable[str]) -> HierarchyError:
    """Return the error for an unknown label, with the closest known name."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    tip = f"Did you mean {near[0]!r}?" if near else f"The labels are {format_names(known)}."
    return HierarchyError(f"there is no label {name!r}. {tip}")


def check_pairs(edges: Any, what: str) -> list[tuple[Any, Any]]:
    """Return edges as a list of pairs; raise an error that names the first edge that is not a pair."""
    pairs = []
    for k, edge in enumerate(edges.tolist() if isinstance(edges, np.ndarray) else edges):
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise HierarchyError(f"{what}[{k}] is {edge!r}; an edge is a pair (parent, child).")
        pairs.append((edge[0], edge[1]))
    return pairs


def edge_positions(edges: Any, names: tuple[str, ...], index: Mapping[str, int]) -> IntArray:
    """Return edges as positions (parent, child), each once, ordered by child and then by parent."""
    if isinstance(edges, np.ndarray) and edges.dtype.kind in "iu" and edges.ndim == 2 and edges.shape[1] == 2:
        pairs = edges.astype(np.int64)
    else:
        named = enumerate(check_pairs(edges, "edges"))
        ends = [(_find_position(p, k, index), _find_position(c, k, index)) for k, (p, c) in named]
        pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    outside = np.argwhere((pairs < 0) | (pairs >= len(names)))
    if outside.size:
        k, end = outside[0]
        raise HierarchyError(
            f"edges[{k}] refers to position {pairs[k, end]}; expected a position from 0 to "
            f"{len(names) - 1}. A child of the root needs no edge."
        )
    own = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if own.size:
        raise HierarchyError(f"label {names[pairs[own[0], 0]]!r} is its own parent. Remove this edge.")
    child, parent = np.divmod(np.unique(pairs[:, 1] * len(names) + pairs[:, 0]), len(names))
    return np.column_stack([parent, child])


def _find_position(end: Any, k: int, index: Mapping[str, int]) -> int:
    if isinstance(end, str):
        if end not in index:
            raise unknown_label(end, index)
        return index[end]
    if isinstance(end, numbers.Integral) and not isinstance(end, bool):
        return int(end)
    raise HierarchyError(f"edges[{k}] contains {end!r}; expected the name of a label or its position.")


def check_column(values: Any, n_labels: int, what: str, *, least: float = -np.inf) -> FloatArray | None:
    """Check a column with one number per label (NaN: unknown); return a read-only copy."""
    if values is None:
        return None
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise HierarchyError(f"{what} must be one number per label: {error}.") from error
    if column.shape != (n_labels,):
        raise HierarchyError(
            f"{what} must be one number per label, of shape ({n_labels},); got shape {column.shape}."
        )
    low = np.flatnonzero(column < least)
    if low.size:
        raise HierarchyError(f"{what}[{low[0]}] is {column[low[0]]}; expected at least {least:g}.")
    column.flags.writeable = False
    return column


def cycle_text(cycle: list[str]) -> str:
    """Return the message for a cycle of edges; a long cycle is abbreviated in the middle.

    >>> cycle_text(["a", "b"])
    "the edges form a cycle: 'a' > 'b' > 'a'."
    """
    words = [repr(name) for name in [*cycle, cycle[0]]]
    if len(words) > 9:
        words = [*words[:5], f"({len(words) - 8} more)", *words[-3:]]
    return f"the edges form a cycle: {' > '.join(words)}."


# ---------------------------------------------------------------------- edge lists and arrays of parents


def read_edges(edges: Any, names: Iterable[str] | None, root: str | None) -> dict[str, Any]:
    """Return the names and the edges between labels, given edges that may start at `root`."""
    pairs = check_pairs(edges, "edges")
    tops = {child for parent, child in pairs if root is not None and parent == root}
    inner = [(parent, child) for parent, child in pairs if root is None or parent != root]
    for parent, child in pairs:
        if root is not None and child == root:
            raise HierarchyError(
                f"{root!r} is a child of {parent!r}, but it is the name of the root. If it is a label, give "
                "the root another name with root=."
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
            f"parents[{wrong[0]}] is {above[wrong[0]]}; expected a position from 0 to {len(above) - 1}, or "
            "-1 for the root."
        )
    child = np.flatnonzero(above >= 0)
    return {"names": labels, "edges": np.column_stack([above[child], child])}


# ---------------------------------------------------------------------- traversal


def group_values(keys: IntArray, values: IntArray, n: int) -> Lists:
    """Return the values of each key from 0 to n - 1, in their order.

    >>> group_values(np.array([2, 0, 2]), np.array([5, 6, 7]), 3)
    ((6,), (), (5, 7))
    """
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=n)).tolist()
    ordered = values[order].tolist()
    return tuple(tuple(ordered[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True))


def depths_or_cycle(parents: Lists, children: Lists) -> tuple[IntArray, list[int]]:
    """Return the length of the longest path to each node, and one cycle (empty if there is none)."""
    waiting = [len(above) for above in parents]
    depths = [0] * len(parents)
    ready = [node for node, n_above in enumerate(waiting) if n_above == 0]
    for node in ready:  # the list grows during the loop
        for child in children[node]:
            depths[child] = max(depths[child], depths[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    cycle = _cycle(parents, waiting) if len(ready) < len(parents) else []
    return np.array(depths, dtype=np.int64), cycle


def _cycle(parents: Lists, waiting: Sequence[int]) -> list[int]:
    """Return a cycle, parents first and from its smallest node; waiting nodes are on or below a cycle."""
    node = next(node for node, left in enumerate(waiting) if left)
    place: dict[int, int] = {}
    walk: list[int] = []
    while node not in place:
        place[node] = len(walk)
        walk.append(node)
        node = next(above for above in parents[node] if waiting[above])
    cycle = walk[place[node] :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def reachable(start: int, steps: Lists) -> list[int]:
    """Return the nodes reachable from a node in at least one step: the nearest first, then by position."""
    seen: set[int] = set()
    out: list[int] = []
    ring = sorted(set(steps[start]))
    while ring:
        seen.update(ring)
        out += ring
        ring = sorted({far for near in ring for far in steps[near]} - seen)
    return out


def ancestor_matrix(parents: Lists, order: IntArray) -> BoolArray:
    """Return the ancestor relation: ``[a, d]`` is True if a is an ancestor of d."""
    above = np.zeros((len(parents), len(parents)), dtype=bool)  # row d: the ancestors of d
    for node in order.tolist():
        for parent in parents[node]:
            above[node] |= above[parent]
            above[node, parent] = True
    return np.ascontiguousarray(above.T)


def nearest_kept(parents: Lists, order: IntArray, kept: set[int]) -> list[list[int]]:
    """Return the nearest kept ancestors of each node."""
    above: list[list[int]] = [[] for _ in parents]
    for node in order.tolist():
        found: dict[int, None] = {}
        for parent in parents[node]:
            found.update(dict.fromkeys([parent] if parent in kept else above[parent]))
        above[node] = list(found)
    return above


def cycle_of(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names along one cycle of edges, parents first; an empty list if there is none."""
    index = {name: k for k, name in enumerate(names)}
    pairs = np.array([(index[p], index[c]) for p, c in edges], dtype=np.int64).reshape(-1, 2)
    parents = group_values(pairs[:, 1], pairs[:, 0], len(names))
    children = group_values(pairs[:, 0], pairs[:, 1], len(names))
    return [names[k] for k in depths_or_cycle(parents, children)[1]]
