"""Validate the `hierarchy` parameter: a whole hierarchy, or edges that are fixed or forbidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy, PartialHierarchy


def get_known_hierarchy(given: Any, names: tuple[str, ...]) -> tuple[LabelHierarchy | None, np.ndarray]:
    """Return the hierarchy if it is given as a whole (else None), and a mask of allowed edges.

    Node 0 of the mask is the root.
    """
    part = given if isinstance(given, PartialHierarchy) else PartialHierarchy()
    allowed = part.get_allowed_edges(names) if part.fixed or part.forbidden else allow_all_edges(len(names))
    if given is None or isinstance(given, PartialHierarchy):
        return None, allowed
    if not isinstance(given, Iterable | LabelHierarchy) or isinstance(given, Iterator):
        raise HierarchyError(
            "hierarchy must be a LabelHierarchy, a PartialHierarchy, a list of "
            f"pairs (parent, child) or None; got {given!r}."
        )
    if not isinstance(given, LabelHierarchy):
        # A label named "root" is an ordinary label; children of the root need no edge.
        given = LabelHierarchy.from_edges(given, names=names, root=None if "root" in names else "root")
    lacking, unknown = set(names) - set(given.names), set(given.names) - set(names)
    if lacking or unknown:
        some = sorted(unknown or lacking)[:5]
        raise HierarchyError(
            f"the hierarchy and the columns of Y have different labels: {', '.join(map(repr, some))} "
            f"{'is not a column' if unknown else 'is not in the hierarchy'}. Name the columns of Y with "
            "a DataFrame, or restrict the hierarchy to them with hierarchy.restrict(names)."
        )
    return LabelHierarchy(names, given.edges), allowed


def allow_all_edges(n_labels: int) -> np.ndarray:
    """Return a mask that allows all edges except those into the root and from a label to itself."""
    allowed = ~np.eye(n_labels + 1, dtype=bool)
    allowed[:, 0] = False
    return allowed
