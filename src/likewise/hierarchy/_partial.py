"""Prior knowledge of a hierarchy that is to be learned: fixed edges and forbidden edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.hierarchy._edges import BoolArray, Edge, check_name, check_names, check_pairs, unknown_label
from likewise.hierarchy._hierarchy import LabelHierarchy


@dataclass(frozen=True)
class PartialHierarchy:
    """Edges (parent, child) that a learned hierarchy must have, and edges that it must not have.

    Parameters
    ----------
    fixed : iterable of (parent, child), default=()
        Edges that are known. A label can have at most one fixed parent.
    forbidden : iterable of (parent, child), default=()
        Edges that are known to be wrong. Only the edge is forbidden: the parent may still become a more
        distant ancestor.
    root : str, default="root"
        The name of the root in `fixed` and `forbidden`.

    Examples
    --------
    >>> known = PartialHierarchy(fixed=[("cat", "kitten")], forbidden=[("root", "cat")])
    >>> known.get_allowed_edges(["cat", "kitten", "pet"]).astype(int)  # from the root, cat, kitten, pet
    array([[0, 0, 0, 1],
           [0, 0, 1, 1],
           [0, 0, 0, 1],
           [0, 1, 0, 0]])
    """

    fixed: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    root: str = "root"

    def __post_init__(self) -> None:
        root = check_name(self.root, "root")
        fixed, forbidden = (_check_edges(getattr(self, what), what, root) for what in ("fixed", "forbidden"))
        object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "forbidden", forbidden)
        parent_of: dict[str, str] = {}
        for parent, child in fixed:
            if parent_of.setdefault(child, parent) != parent:
                raise HierarchyError(
                    f"label {child!r} has two fixed parents, {parent_of[child]!r} and {parent!r}. Keep one."
                )
        for parent, child in forbidden:
            if parent_of.get(child) == parent:
                raise HierarchyError(
                    f"the edge from {parent!r} to {child!r} is both fixed and forbidden. Keep one."
                )
        if fixed:
            LabelHierarchy.from_edges(fixed, root=root)  # raises an error for a cycle

    @property
    def names(self) -> tuple[str, ...]:
        """The labels in `fixed` and `forbidden`, in order of appearance."""
        ends = [end for edge in (*self.fixed, *self.forbidden) for end in edge]
        return tuple(dict.fromkeys(end for end in ends if end != self.root))

    def get_allowed_edges(self, names: Iterable[str]) -> BoolArray:
        """Return the edges that a hierarchy over the labels `names` may have.

        Parameters
        ----------
        names : iterable of str
            All labels, in column order.

        Returns
        -------
        ndarray of bool, of shape (n_labels + 1, n_labels + 1)
            ``[p, c]`` is True if p may be the parent of c. Node 0 is the root, node k + 1 is ``names[k]``. A
            label with a fixed parent has no other. If the edge from a to b is fixed, b and its descendants
            cannot become parents of a.

        Raises
        ------
        HierarchyError
            If a label of `fixed` or `forbidden` is not in `names`, or if a label has no possible parent.
        """
        labels = check_names(names)
        if self.root in labels:
            raise HierarchyError(
                f"{self.root!r} is both a label and the name of the root. Give the root another name "
                "with root=."
            )
        node = {name: k + 1 for k, name in enumerate(labels)}
        for name in self.names:
            if name not in node:
                raise unknown_label(name, labels)
        node[self.root] = 0
        may = ~np.eye(len(labels) + 1, dtype=bool)
        may[:, 0] = False
        for parent, child in self.forbidden:
            may[node[parent], node[child]] = False
        given = LabelHierarchy(labels, [edge for edge in self.fixed if edge[0] != self.root])
        may[1:, 1:] &= ~given.ancestor_matrix().T
        for parent, child in self.fixed:
            may[:, node[child]] = False
            may[node[parent], node[child]] = True
        stuck = np.flatnonzero(~may[:, 1:].any(axis=0))
        if stuck.size:
            raise HierarchyError(
                f"label {labels[stuck[0]]!r} has no possible parent: every edge to it, including the one "
                "from the root, is forbidden or would close a cycle. Allow one of them."
            )
        return may


def _check_edges(edges: Any, what: str, root: str) -> tuple[Edge, ...]:
    """Check edges by name; duplicates are removed and the order is kept."""
    out = []
    for k, (parent, child) in enumerate(check_pairs(edges, what)):
        parent, child = check_name(parent, f"{what}[{k}]"), check_name(child, f"{what}[{k}]")
        if child == root:
            raise HierarchyError(
                f"{what}[{k}] makes {root!r} a child of {parent!r}, but {root!r} is the name of the root. If "
                "it is a label, give the root another name with root=."
            )
        if parent == child:
            raise HierarchyError(f"{what}[{k}] makes {child!r} its own parent. Remove this edge.")
        out.append((parent, child))
    return tuple(dict.fromkeys(out))
