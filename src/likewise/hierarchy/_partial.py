"""What is known of a hierarchy before it is learned: edges that must be there, and edges that cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.hierarchy._hierarchy import LabelHierarchy
from likewise.hierarchy._label_checks import (
    BoolArray,
    Edge,
    check_name,
    check_names,
    check_pairs,
    unknown_label,
)


@dataclass(frozen=True)
class PartialHierarchy:
    """Edges (parent, child) that a learned hierarchy must have, and edges that it must not have.

    Parameters
    ----------
    fixed : iterable of (parent, child), default=()
        Edges that are known. A label has one fixed parent at most.
    forbidden : iterable of (parent, child), default=()
        Edges that are known to be wrong. Only the edge itself is: the parent may still become a more
        distant ancestor.
    root : str, default="root"
        The name by which `fixed` and `forbidden` speak of the root.

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
                    f"the edge from {parent!r} to {child!r} is fixed and forbidden. Keep one."
                )
        if fixed:
            LabelHierarchy.from_edges(fixed, root=root)  # finds a cycle

    @property
    def names(self) -> tuple[str, ...]:
        """The labels that are spoken of, in order of appearance."""
        ends = [end for edge in (*self.fixed, *self.forbidden) for end in edge]
        return tuple(dict.fromkeys(end for end in ends if end != self.root))

    def get_allowed_edges(self, names: Iterable[str]) -> BoolArray:
        """Return which edges a hierarchy over the labels `names` may have.

        Parameters
        ----------
        names : iterable of str
            All labels, in column order.

        Returns
        -------
        ndarray of bool, of shape (n_labels + 1, n_labels + 1)
            ``[p, c]`` is true if p may be the parent of c. Node 0 is the root, node k + 1 is ``names[k]``. A
            label with a fixed parent may have no other. If a fixes b, then b and all that is fixed below it
            cannot become parents of a.

        Raises
        ------
        HierarchyError
            If a label that is spoken of is not among `names`, or one is left without any parent.
        """
        labels = check_names(names)
        if self.root in labels:
            raise HierarchyError(
                f"{self.root!r} is a label here, and the name of the root too. Give the root another name "
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
                f"label {labels[stuck[0]]!r} is left without any parent: every edge to it, that from the "
                "root included, is forbidden or would close a circle. Allow one of them."
            )
        return may


def _check_edges(edges: Any, what: str, root: str) -> tuple[Edge, ...]:
    """Check edges by name; each is kept once, in the order given."""
    out = []
    for k, (parent, child) in enumerate(check_pairs(edges, what)):
        parent, child = check_name(parent, f"{what}[{k}]"), check_name(child, f"{what}[{k}]")
        if child == root:
            raise HierarchyError(
                f"{what}[{k}] puts {root!r} under {parent!r}, but {root!r} is the name of the root. If it is "
                "a label, give the root another name with root=."
            )
        if parent == child:
            raise HierarchyError(f"{what}[{k}] makes {child!r} its own parent. Take this edge out.")
        out.append((parent, child))
    return tuple(dict.fromkeys(out))
