"""Groups that answers found: components that are all apart, and what must belong to one of them.

With K clusters known, and K components found that are all apart, whatever is apart from K - 1 of them belongs
to the last: nobody needs to say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.supervision import Closure, Supervision
from likewise.supervision._component_edges import Edges

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_STARTS = 32
_CROWD_COST = 1_000_000  # of so many components and starts together, at most


def find_clique(edges: Edges, ordered: IntArray) -> IntArray:
    """Return components that are all apart, ascending: a greedy walk through `ordered`, first ones first.

    None of the others of `ordered` is apart from all of them. The largest such set is hard to find. Costs
    O(number of components) for each that is chosen.
    """
    chosen: list[int] = []
    while len(ordered):
        chosen.append(int(ordered[0]))
        near = np.zeros(edges.closure.n_components, dtype=bool)
        near[edges.find_apart(ordered[:1])[1]] = True
        ordered = ordered[near[ordered]]
    return np.array(sorted(chosen), dtype=np.int64)


def find_crowd(closure: Closure, n_clusters: int) -> IntArray:
    """Return a row of each of more than `n_clusters` components that are all apart; empty if none were found.

    The greedy search of :func:`find_clique` from several components; it finds no crowd where there is none,
    and
    may miss one.
    """
    for group in closure.cannot_groups:
        if len(group) > n_clusters:
            return np.sort(closure.first_rows[group])
    edges = Edges(closure)
    candidates = np.flatnonzero(edges.counts >= n_clusters)
    if len(candidates) <= n_clusters:
        return candidates[:0]
    ordered = candidates[np.argsort(-edges.counts[candidates], kind="stable")]
    n_starts = min(_STARTS, max(1, _CROWD_COST // closure.n_components))
    for start in ordered[:n_starts]:
        found = find_clique(edges, np.concatenate([[start], ordered[ordered != start]]))
        if len(found) > n_clusters:
            return np.sort(closure.first_rows[found])
    return candidates[:0]


def order_large_first(edges: Edges, components: IntArray) -> IntArray:
    """Order components: large ones first, then those told apart from many."""
    ordered: IntArray = components[
        np.lexsort((components, -edges.counts[components], -edges.closure.sizes[components]))
    ]
    return ordered


@dataclass(frozen=True, eq=False)
class Grouping:
    """Where components belong.

    Attributes
    ----------
    place : ndarray of shape (n_components,)
        The group of each component, -1 for none.
    apart : ndarray of shape (n_components, n_groups)
        Which components are known to be apart from which groups.
    """

    place: IntArray
    apart: BoolArray


def grow_groups(edges: Edges, first: IntArray, n_clusters: int | None) -> Grouping:
    """Grow groups from components that are all apart by what must belong to one of them.

    What is apart from all but one of `n_clusters` groups joins that one, unless two that would join the same
    group are apart: then neither does. What is apart from all is a group more, and since there are then more
    groups than clusters nothing else follows. Each edge is looked at once from either end.
    """
    n = edges.closure.n_components
    place = np.full(n, -1, dtype=np.int64)
    place[first] = np.arange(len(first))
    apart = np.zeros((n, len(first)), dtype=bool)
    news, waiting = first, first[:0]
    while len(news):
        at, other = edges.find_apart(news)
        apart[other, place[news[at]]] = True
        n_groups = apart.shape[1]
        # Only what lies next to news can have changed.
        near = np.unique(np.concatenate([waiting, other[place[other] < 0]]))
        ruled_out = apart[near].sum(axis=1)
        alone = near[ruled_out == n_groups]
        if len(alone):
            news, waiting = alone[:1], alone[1:]
            place[news] = n_groups
            apart = np.column_stack([apart, np.zeros(n, dtype=bool)])
        elif n_clusters == n_groups >= 2:
            news = near[ruled_out == n_groups - 1]
            place[news] = np.argmin(apart[news], axis=1)
            news = _drop_clashing(edges, news, place)
        else:
            break
    return Grouping(place, apart)


def _drop_clashing(edges: Edges, news: IntArray, place: IntArray) -> IntArray:
    """Take out of their group components that are apart from one another; return the others."""
    at, other = edges.find_apart(news)
    clash = np.zeros(len(news), dtype=bool)
    clash[at[place[news[at]] == place[other]]] = True
    place[news[clash]] = -1
    return news[~clash]


def derive_implied_links(closure: Closure, n_clusters: int | None) -> Supervision:
    """Return the must-links that follow from the number of clusters: one for each component that joins.

    None of them contradicts what was said. Costs O(rows + links) as a rule.
    """
    nothing = Supervision.empty(len(closure.component))
    if n_clusters is None or not (len(closure.cannot) or len(closure.cannot_groups)):
        return nothing
    edges = Edges(closure)
    if np.count_nonzero(edges.counts >= n_clusters - 1) < n_clusters:
        return nothing  # no need to look for as many that are all apart
    ordered = order_large_first(edges, np.flatnonzero(edges.counts))
    first = find_clique(edges, ordered)
    for start in ordered[1:_STARTS]:
        if len(first) >= n_clusters:
            break
        # The greedy walk went astray: it began with, or passed, one that is not among them.
        first = find_clique(edges, np.concatenate([[start], ordered[ordered != start]]))
    if len(first) != n_clusters:
        return nothing
    place = grow_groups(edges, first, n_clusters).place
    joins = np.setdiff1d(np.flatnonzero((place >= 0) & (place < len(first))), first)
    must = closure.first_rows[np.column_stack([joins, first[place[joins]]])]
    return Supervision.from_links(len(closure.component), must=must) if len(must) else nothing
