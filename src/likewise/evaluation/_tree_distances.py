"""How far a hierarchy that was found is from the true one."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.evaluation._codes import IntArray
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from likewise.hierarchy._label_checks import format_names


def robinson_foulds(
    true: LabelHierarchy, found: LabelHierarchy, *, directed: bool = True, root_edges: bool = False
) -> int:
    """Return the Robinson-Foulds distance: the number of edges that only one of two hierarchies has.

    With Σ(T) the set of edges of T, it is ``|Σ(T) - Σ(T')| + |Σ(T') - Σ(T)|``. A label that was moved from
    one label to another costs 2. One that was moved to the root costs 1 without, and 2 with root edges.

    Parameters
    ----------
    true, found : LabelHierarchy
        Two hierarchies over the same labels, which may stand in any order. Exchanging the two changes
        nothing.
    directed : bool, default=True
        Whether an edge that goes the other way is another edge. Set it to False to compare with a tree
        that has no direction, such as Chow and Liu's.
    root_edges : bool, default=False
        Whether the edges from the root to the labels that hang on it count too.

    Returns
    -------
    int
        0 if the edges are the same. For two trees of n labels it is at most 2 (n - 1), and with root edges
        2 n.

    Raises
    ------
    HierarchyError
        If one has labels that the other has not.

    Notes
    -----
    The distance of [1]_ counts the splits of the leaves that two trees do not share. The thesis behind
    :class:`likewise.multilabel.LatentHierarchyClassifier` (section 5.5.1) calls by this name the distance
    here, since inner nodes are labels too. The cost is O(e log e) for e edges.

    References
    ----------
    .. [1] D. F. Robinson, L. R. Foulds (1981). Comparison of phylogenetic trees. Mathematical Biosciences.

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> true = LabelHierarchy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> found = LabelHierarchy.from_edges([("animal", "cat"), ("cat", "dog")])
    >>> robinson_foulds(true, found)
    2
    """
    names = _find_shared_names(true, found)
    one, other = (_edge_codes(tree.restrict(names), directed, root_edges) for tree in (true, found))
    return len(np.setxor1d(one, other, assume_unique=True))


def ancestor_f1(true: LabelHierarchy, found: LabelHierarchy) -> float:
    """Return the F1 score over the pairs of labels of which one is above the other, at any distance.

    With A(T) the pairs (ancestor, descendant) of T, the root left out, it is
    ``2 |A(T) ∩ A(T')| / (|A(T)| + |A(T')|)``. Unlike the Robinson-Foulds distance it forgives a label that
    was put under its grandparent, and it minds more when a large branch is in the wrong place.

    Parameters
    ----------
    true, found : LabelHierarchy
        Two hierarchies over the same labels, which may stand in any order. Exchanging the two changes
        nothing.

    Returns
    -------
    float
        From 0 to 1. If neither has any edge, the two are the same and the score is 1.

    Raises
    ------
    HierarchyError
        If one has labels that the other has not.

    Notes
    -----
    Time and memory are O(n_labels²).

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> true = LabelHierarchy.from_edges([("animal", "cat"), ("cat", "kitten")])
    >>> found = LabelHierarchy.from_edges([("animal", "cat"), ("animal", "kitten")])
    >>> ancestor_f1(true, found)
    0.8
    """
    names = _find_shared_names(true, found)
    one, other = (tree.restrict(names).ancestor_matrix() for tree in (true, found))
    n_pairs = int(one.sum()) + int(other.sum())
    return 2 * int((one & other).sum()) / n_pairs if n_pairs else 1.0


def _find_shared_names(true: Any, found: Any) -> tuple[str, ...]:
    """Return the labels of both in one order, or say which are only in one."""
    for what, tree in (("true", true), ("found", found)):
        if not isinstance(tree, LabelHierarchy):
            raise TypeError(
                f"{what} must be a LabelHierarchy, got {type(tree).__name__}. Make one with "
                "LabelHierarchy.from_edges or from_parents."
            )
    only = [
        f"only {which} has {format_names(names)}"
        for which, names in (
            ("the true one", _list_unshared(true, found)),
            ("the found one", _list_unshared(found, true)),
        )
        if names
    ]
    if only:
        raise HierarchyError(
            f"the hierarchies have different labels: {'; '.join(only)}. Compare what they share with "
            "restrict(names)."
        )
    names: tuple[str, ...] = true.names
    return names


def _list_unshared(one: LabelHierarchy, other: LabelHierarchy) -> list[str]:
    known = set(other.names)
    return [name for name in one.names if name not in known]


def _edge_codes(tree: LabelHierarchy, directed: bool, root_edges: bool) -> IntArray:
    """Return a number for each edge, the same for both trees; the root is numbered after the labels."""
    pairs = [(p, c) for c, above in enumerate(tree.parent_lists) for p in above]
    if root_edges:
        pairs += [(tree.n_labels, c) for c, above in enumerate(tree.parent_lists) if not above]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if not directed:
        ends = np.sort(ends, axis=1)
    return ends[:, 0] * (tree.n_labels + 1) + ends[:, 1]
