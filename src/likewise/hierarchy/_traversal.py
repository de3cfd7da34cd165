"""Traversal of a directed graph given as lists of parents and lists of children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from likewise.hierarchy._label_checks import BoolArray, IntArray

Lists = tuple[tuple[int, ...], ...]


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
