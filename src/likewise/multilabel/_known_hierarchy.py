"""What is known of a hierarchy before anything is learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy, PartialHierarchy


def get_known_hierarchy(given: Any, names: tuple[str, ...]) -> tuple[LabelHierarchy | None, np.ndarray]:
    """Return the hierarchy if it is given whole, and which edges are allowed, node 0 the root."""
    part = given if isinstance(given, PartialHierarchy) else PartialHierarchy()
    allowed = part.get_allowed_edges(names) if part.fixed or part.forbidden else allow_all_edges(len(names))
    if given is None or isinstance(given, PartialHierarchy):
        return None, allowed
    if not isinstance(given, Iterable | LabelHierarchy) or isinstance(given, Iterator):
        raise HierarchyError(
            "hierarchy must be a LabelHierarchy, a PartialHierarchy, a list of "
            f"pairs (parent, child) or None, got {given!r}."
        )
    if not isinstance(given, LabelHierarchy):
        # a label of that name is meant, where there is one: a label on the root needs no edge
        given = LabelHierarchy.from_edges(given, names=names, root=None if "root" in names else "root")
    lacking, unknown = set(names) - set(given.names), set(given.names) - set(names)
    if lacking or unknown:
        some = sorted(unknown or lacking)[:5]
        raise HierarchyError(
            f"the hierarchy and the columns of Y have different labels: {', '.join(map(repr, some))} "
            f"{'is not a column' if unknown else 'is not in the hierarchy'}. Name the columns of Y with "
            "a DataFrame, or cut the hierarchy to them with hierarchy.restrict(names)."
        )
    return LabelHierarchy(names, given.edges), allowed


def allow_all_edges(n_labels: int) -> np.ndarray:
    """Return that every edge is allowed but those into the root and from a label to itself."""
    allowed = ~np.eye(n_labels + 1, dtype=bool)
    allowed[:, 0] = False
    return allowed
