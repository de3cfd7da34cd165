"""Shared validation for label hierarchies: names, edges, and numeric columns."""

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
