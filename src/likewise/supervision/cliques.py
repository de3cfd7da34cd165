"""Cliques of pairwise cannot-linked components, and the must-links that they imply.

If the number of clusters is K and there are K pairwise cannot-linked components, then each cluster contains
one of them. A component that is cannot-linked to K - 1 of them belongs with the remaining one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise.supervision import Closure, Supervision

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_STARTS = 32
_CLIQUE_SEARCH_COST = 1_000_000  # maximum number of components times number of starts


@dataclass(frozen=True, eq=False)
class Edges:
    """The cannot-links between the components of a closure, as a graph."""

    closure: Closure

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Each edge in both directions, sorted by the first component."""
        ends = np.concatenate([self.closure.cannot, self.closure.cannot[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        return ends[:, 0], ends[:, 1]

    @cached_property
    def _sets(self) -> csr_array:
        return self.closure.cannot_groups._make_incidence(self.closure.n_components)

    @cached_property
    def counts(self) -> IntArray:
        """The number of edges of each component; an edge that two links state counts twice."""
        counts: IntArray = np.bincount(self.closure.cannot.ravel(), minlength=self.closure.n_components)
        groups = self.closure.cannot_groups
        np.add.at(counts, groups.members, np.diff(groups.indptr)[groups.group_of] - 1)
        return counts

    def find_apart(self, components: IntArray) -> tuple[IntArray, IntArray]:
        """Return the edges of some components: positions in `components`, and components linked to them."""
        first, second = self._pairs
        start = np.searchsorted(first, components, side="left")
        counts = np.searchsorted(first, components, side="right") - start
        at = np.repeat(np.arange(len(components)), counts)
        other = second[np.arange(len(at)) + np.repeat(start - (np.cumsum(counts) - counts), counts)]
        if len(self.closure.cannot_groups):
            found = (self._sets[components] @ self._sets.T).tocoo()
            at = np.concatenate([at, found.row.astype(np.int64)])
            other = np.concatenate([other, found.col.astype(np.int64)])
        others = components[at] != other  # a group contains the component itself
        return at[others], other[others]


def find_clique(edges: Edges, ordered: IntArray) -> IntArray:
    """Return a maximal clique of pairwise cannot-linked components, ascending.

    The search is greedy, in the order of `ordered`: finding the largest clique is NP-hard. The cost is
    O(number of components) for each member of the clique.
    """
    chosen: list[int] = []
    while len(ordered):
        chosen.append(int(ordered[0]))
        near = np.zeros(edges.closure.n_components, dtype=bool)
        near[edges.find_apart(ordered[:1])[1]] = True
        ordered = ordered[near[ordered]]
    return np.array(sorted(chosen), dtype=np.int64)


def find_too_large_clique(closure: Closure, n_clusters: int) -> IntArray:
    """Return one row of each member of a clique of more than `n_clusters` components; empty if none is found.

    The search repeats :func:`find_clique` from several components, so it may miss such a clique.
    """
    for group in closure.cannot_groups:
        if len(group) > n_clusters:
            return np.sort(closure.first_rows[group])
    edges = Edges(closure)
    candidates = np.flatnonzero(edges.counts >= n_clusters)
    if len(candidates) <= n_clusters:
        return candidates[:0]
    ordered = candidates[np.argsort(-edges.counts[candidates], kind="stable")]
    n_starts = min(_STARTS, max(1, _CLIQUE_SEARCH_COST // closure.n_components))
    for start in ordered[:n_starts]:
        found = find_clique(edges, np.concatenate([[start], ordered[ordered != start]]))
        if len(found) > n_clusters:
            return np.sort(closure.first_rows[found])
    return candidates[:0]


def order_large_first(edges: Edges, components: IntArray) -> IntArray:
    """Order components by size, then by number of cannot-links, both descending."""
    ordered: IntArray = components[
        np.lexsort((components, -edges.counts[components], -edges.closure.sizes[components]))
    ]
    return ordered


class Grouping(NamedTuple):
    """An assignment of must-link components to groups."""

    place: IntArray  # (n_components,), the group of each component, -1 for none
    apart: BoolArray  # (n_components, n_groups), True if a component is cannot-linked to a group


def grow_groups(edges: Edges, first: IntArray, n_clusters: int | None) -> Grouping:
    """Grow groups from a clique of components, by adding the components that must belong to one of them.

    If there are `n_clusters` groups, a component that is cannot-linked to all but one of them joins that
    one. Two cannot-linked components never join the same group: then neither joins. A component that is
    cannot-linked to all groups starts a new group; there are then more groups than clusters, and nothing more
    is implied. Each edge is visited once from either end.
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
        # Only components with an edge to a new member can have changed.
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
    """Remove new members of a group that are cannot-linked to one another; return the other new members."""
    at, other = edges.find_apart(news)
    clash = np.zeros(len(news), dtype=bool)
    clash[at[place[news[at]] == place[other]]] = True
    place[news[clash]] = -1
    return news[~clash]


def derive_implied_links(closure: Closure, n_clusters: int | None) -> Supervision:
    """Return the must-links that the number of clusters implies: one for each component that joins a group.

    None of them contradicts a stated link. The cost is usually O(rows + links).
    """
    nothing = Supervision.empty(len(closure.component))
    if n_clusters is None or not (len(closure.cannot) or len(closure.cannot_groups)):
        return nothing
    edges = Edges(closure)
    if np.count_nonzero(edges.counts >= n_clusters - 1) < n_clusters:
        return nothing  # too few components have enough cannot-links for a clique of this size
    ordered = order_large_first(edges, np.flatnonzero(edges.counts))
    first = find_clique(edges, ordered)
    for start in ordered[1:_STARTS]:
        if len(first) >= n_clusters:
            break
        # The greedy search may have chosen a component that is not in the largest clique.
        first = find_clique(edges, np.concatenate([[start], ordered[ordered != start]]))
    if len(first) != n_clusters:
        return nothing
    place = grow_groups(edges, first, n_clusters).place
    joins = np.setdiff1d(np.flatnonzero((place >= 0) & (place < len(first))), first)
    must = closure.first_rows[np.column_stack([joins, first[place[joins]]])]
    return Supervision.from_links(len(closure.component), must=must) if len(must) else nothing
