"""Distances between a learned hierarchy and the true one."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.evaluation._scores import IntArray
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from likewise.hierarchy._edges import format_names


def robinson_foulds(
    true: LabelHierarchy, found: LabelHierarchy, *, directed: bool = True, root_edges: bool = False
) -> int:
    """Return the Robinson-Foulds distance: the number of edges that only one of two hierarchies has.

    With Σ(T) the set of edges of T, it is ``|Σ(T) - Σ(T')| + |Σ(T') - Σ(T)|``. Moving a label from
    one label to another costs 2. Moving it to the root costs 1 without root edges, and 2 with them.

    Parameters
    ----------
    true, found : LabelHierarchy
        Two hierarchies over the same labels, in any order. The distance is symmetric.
    directed : bool, default=True
        If False, the direction of edges is ignored, for comparison with undirected trees such as the
        Chow–Liu tree.
    root_edges : bool, default=False
        Count the edges from the root to its children as well.

    Returns
    -------
    int
        0 if the edges are equal. For two trees of n labels it is at most 2 (n - 1), and with root edges
        2 n.

    Raises
    ------
    HierarchyError
        If one hierarchy has labels that the other lacks.

    Notes
    -----
    The distance of [1]_ counts the splits of the leaves that only one of two trees has. Here inner
    nodes are labels too, so edges are compared; the thesis behind
    :class:`likewise.multilabel.LatentHierarchyClassifier` (section 5.5.1) uses the same name for this
    distance. The cost is O(e log e) for e edges.

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
    """Return the F1 score over pairs of labels in which one is an ancestor of the other.

    With A(T) the pairs (ancestor, descendant) of T, without the root, it is
    ``2 |A(T) ∩ A(T')| / (|A(T)| + |A(T')|)``. Compared with the Robinson-Foulds distance, it penalises a
    label under its grandparent less, and a misplaced large branch more.

    Parameters
    ----------
    true, found : LabelHierarchy
        Two hierarchies over the same labels, in any order. The score is symmetric.

    Returns
    -------
    float
        Between 0 and 1. If neither has any edge, the two are equal and the score is 1.

    Raises
    ------
    HierarchyError
        If one hierarchy has labels that the other lacks.

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
    """Return the labels of both in one order; raise an error for labels that only one has."""
    for what, tree in (("true", true), ("found", found)):
        if not isinstance(tree, LabelHierarchy):
            raise TypeError(
                f"{what} must be a LabelHierarchy; got {type(tree).__name__}. Make one with "
                "LabelHierarchy.from_edges or from_parents."
            )
    only = [
        f"only {which} has {format_names(names)}"
        for which, one, other in (("the true one", true, found), ("the found one", found, true))
        if (names := [name for name in one.names if name not in set(other.names)])
    ]
    if only:
        raise HierarchyError(
            f"the hierarchies have different labels: {'; '.join(only)}. Compare the common labels with "
            "restrict(names)."
        )
    shared: tuple[str, ...] = true.names
    return shared


def _edge_codes(tree: LabelHierarchy, directed: bool, root_edges: bool) -> IntArray:
    """Return a code for each edge that is the same in both trees; the root is numbered after the labels."""
    pairs = [(p, c) for c, above in enumerate(tree.parent_lists) for p in above]
    if root_edges:
        pairs += [(tree.n_labels, c) for c, above in enumerate(tree.parent_lists) if not above]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if not directed:
        ends = np.sort(ends, axis=1)
    return ends[:, 0] * (tree.n_labels + 1) + ends[:, 1]
