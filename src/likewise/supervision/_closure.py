"""What the stated links imply: components of must-links, and cannot edges between components.

Nothing here is ever larger than the rows plus the stated links: no pair inside a component is built.
Components are found by pointers that are shortened, a handful of passes over the rows and the links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from likewise.exceptions import InconsistentSupervisionError
from likewise.supervision._groups import Groups
from likewise.supervision._links import Links
from likewise.supervision._rows import IntArray, frozen, sorted_unique

OnConflict = Literal["raise", "drop", "keep"]
RelationKind = Literal["must", "cannot", "unknown"]


@dataclass(frozen=True)
class Relation:
    """What is known of two rows, and why.

    Attributes
    ----------
    kind : {"must", "cannot", "unknown"}
        Whether the two rows belong together, do not, or nothing is known.
    stated : bool
        True if somebody said so of these very rows, False if it follows from other links.
    steps : tuple of (int, int, str)
        The links that lead from the first row to the second, each "must" or "cannot".
    """

    kind: RelationKind
    stated: bool
    steps: tuple[tuple[int, int, str], ...]

    @property
    def reason(self) -> str:
        """The chain of links as text, such as ``0 = 3 ≠ 7``."""
        if not self.steps:
            return "no chain of links joins them"
        words = [str(self.steps[0][0])]
        for _, row, kind in self.steps:
            words += ["=" if kind == "must" else "≠", str(row)]
        return " ".join(words)


@dataclass(frozen=True, eq=False)
class Closure:
    """Must-link components and the cannot edges between them.

    Attributes
    ----------
    component : ndarray of shape (n_samples,)
        The component of each row; components are numbered by their first row.
    sizes : ndarray of shape (n_components,)
        How many rows each component has. A row in no must-link is a component of one.
    cannot : ndarray of shape (n_edges, 2)
        Pairs of components that must be apart because of a stated cannot-link, each once, c < d.
        With ``on_conflict="keep"`` a contradiction stands here as an edge from a component to itself.
    cannot_groups : Groups
        Groups of components no two of which may be together.
    conflicts : ndarray of shape (n_conflicts, 2)
        The pairs of rows that were said to be apart, yet are in one component.
    """

    component: IntArray
    sizes: IntArray
    cannot: IntArray
    cannot_groups: Groups
    conflicts: IntArray
    links: Links

    @property
    def n_components(self) -> int:
        """How many components there are, rows on their own included."""
        return len(self.sizes)

    @cached_property
    def first_rows(self) -> IntArray:
        """The first row of each component, which is its lowest."""
        first: IntArray = np.empty(self.n_components, dtype=np.int64)
        first[self.component[::-1]] = np.arange(len(self.component) - 1, -1, -1)
        return frozen(first)

    @cached_property
    def _graph(self) -> csr_array:
        return must_graph(self.links, len(self.component))

    @cached_property
    def _edge_source(self) -> tuple[IntArray, IntArray]:
        """The component edges as sorted keys, and for each the first cannot-link that states it."""
        return np.unique(_edge_keys(self.component[self.links.cannot], self.n_components), return_index=True)

    @cached_property
    def _group_source(self) -> Groups:
        """The stated cannot groups, with the component of each member in the member's place."""
        groups = self.links.cannot_groups
        return Groups(groups.indptr, self.component[groups.members], groups.weights)

    def components(self, min_size: int = 2) -> list[IntArray]:
        """Return the rows of each component of at least `min_size` rows, ascending.

        Examples
        --------
        >>> from likewise import Supervision
        >>> Supervision.from_links(5, must=[(0, 3), (3, 4)]).closure().components()
        [array([0, 3, 4])]
        """
        order = np.argsort(self.component, kind="stable")
        ends = np.cumsum(self.sizes)
        return [order[ends[c] - self.sizes[c] : ends[c]] for c in np.flatnonzero(self.sizes >= min_size)]

    def path(self, i: int, j: int) -> tuple[int, ...]:
        """Return the shortest chain of must-links from row i to row j, both ends included.

        A must group counts as links from its first row to each of the others.
        """
        if self.component[i] != self.component[j]:
            raise InconsistentSupervisionError(f"no chain of must-links joins rows {i} and {j}.", rows=(i, j))
        return shortest_path(self._graph, i, j)

    def contradiction(
        self, name_rows: Callable[..., list[str]], rows: IntArray | None = None
    ) -> InconsistentSupervisionError:
        """Return the error about the first of the conflicts, for hints that may be about `rows` alone.

        `name_rows` returns what messages call some rows.
        """
        path = self.path(*self.conflicts[0].tolist())
        chain = name_rows(path, among=rows)
        steps = path if rows is None else rows[path].tolist()
        more = len(self.conflicts) - 1
        return InconsistentSupervisionError(
            f"rows {chain[0]} and {chain[-1]} cannot be linked, yet are joined by must-links through "
            f"{' – '.join(chain)}.{f' ({more} more such contradictions follow.)' if more else ''}",
            "Drop one of these, or use closure(on_conflict='drop') or hints.without_conflicts(), "
            "which let the must-links win.",
            rows=(steps[0], steps[-1]),
            chain=steps,
            kinds=("links",),
        )

    def relation(self, i: int, j: int) -> Relation:
        """Tell what is known of rows i and j. Costs one walk through their components.

        Where hints contradict one another the must-links win: rows of one component belong together.
        """
        c, d = int(self.component[i]), int(self.component[j])
        if c == d:
            return Relation("must", _stated(self.links.must, self.links.must_groups, i, j), self._must(i, j))
        ends = self._cannot_ends(i, j, c, d)
        if ends is None:
            return Relation("unknown", False, ())
        a, b = ends if self.component[ends[0]] == c else ends[::-1]
        steps = (*self._must(i, a), (a, b, "cannot"), *self._must(b, j))
        return Relation("cannot", (a, b) == (i, j), steps)

    def _must(self, i: int, j: int) -> tuple[tuple[int, int, str], ...]:
        path = self.path(i, j) if i != j else (i,)
        return tuple((a, b, "must") for a, b in pairwise(path))

    def _cannot_ends(self, i: int, j: int, c: int, d: int) -> tuple[int, int] | None:
        """Return two rows said to be apart, one of component c and one of d: i and j if possible."""
        if _stated(self.links.cannot, self.links.cannot_groups, i, j):
            return i, j
        keys, source = self._edge_source
        key = min(c, d) * self.n_components + max(c, d)
        at = int(np.searchsorted(keys, key))
        if at < len(keys) and keys[at] == key:
            a, b = self.links.cannot[source[at]].tolist()
            return a, b
        groups = self._group_source.shared(c, d)
        if not len(groups):
            return None
        part = slice(*self._group_source.indptr[groups[0] : groups[0] + 2])
        rows, components = self.links.cannot_groups.members[part], self._group_source.members[part]
        return int(rows[components == c][0]), int(rows[components == d][0])


def _edge_keys(ends: IntArray, n_components: int) -> IntArray:
    """Number the edges between components; an edge has the same number in both directions."""
    keys: IntArray = ends.min(axis=1) * n_components + ends.max(axis=1)
    return keys


def _stated(pairs: IntArray, groups: Groups, i: int, j: int) -> bool:
    low, high = min(i, j), max(i, j)
    first = np.searchsorted(pairs[:, 0], low, side="left")
    last = np.searchsorted(pairs[:, 0], low, side="right")
    if bool((pairs[first:last, 1] == high).any()):
        return True
    return len(groups.shared(i, j)) > 0


def must_graph(links: Links, n_samples: int) -> csr_array:
    """Return the must-links as a symmetric sparse graph over the rows; groups enter as stars."""
    edges = np.concatenate([links.must, links.must_groups.star_edges()])
    ends = np.concatenate([edges, edges[:, ::-1]])
    # Floats, since csgraph would convert anything else at each call.
    graph = csr_array(coo_array((np.ones(len(ends)), ends.T), shape=(n_samples, n_samples)))
    return graph


def shortest_path(graph: csr_array, i: int, j: int) -> tuple[int, ...]:
    """Return the shortest chain of edges from i to j, which must be in one component."""
    # The graph is symmetric; directed=False would transpose it first.
    _, before = breadth_first_order(graph, i, directed=True, return_predecessors=True)
    chain = [int(j)]
    while chain[-1] != i:
        chain.append(int(before[chain[-1]]))
    return tuple(reversed(chain))


def _components(links: Links, n_samples: int) -> IntArray:
    """Return the component of each row; components are numbered by their first row.

    Each row points to a row of its component that comes no later, at first to itself. Where the two ends of
    a link point to different rows, the later of these is pointed to the earlier, and then every row to where
    its pointers end: at least every second of the components that a link leaves joins another, so that a few
    rounds are enough.
    """
    edges = links.must
    if len(links.must_groups):
        edges = np.concatenate([edges, links.must_groups.star_edges()])
    every = np.arange(n_samples)
    heads, ends = every, edges
    while len(ends := ends[ends[:, 0] != ends[:, 1]]):
        heads = heads.copy()
        np.minimum.at(heads, ends.max(axis=1), ends.min(axis=1))
        while not np.array_equal(heads, further := heads[heads]):
            heads = further
        ends = heads[edges]
    numbers: IntArray = (np.cumsum(heads == every) - 1)[heads]
    return numbers


def close(links: Links, n_samples: int, on_conflict: OnConflict) -> Closure:
    """Derive components and cannot edges from the stated links, in time linear in rows and links.

    The caller raises the error that ``on_conflict="raise"`` asks for, since it knows the names of the rows.
    """
    if on_conflict not in get_args(OnConflict):
        raise ValueError(f"on_conflict must be one of {get_args(OnConflict)}, got {on_conflict!r}.")
    component = _components(links, n_samples)
    n_components = int(component.max()) + 1

    ends = component[links.cannot]
    clash = ends[:, 0] == ends[:, 1]
    group_clash = _clashes_in_groups(links.cannot_groups, component)
    conflicts = np.concatenate([links.cannot[clash], group_clash])
    ends = ends[~clash] if on_conflict == "drop" else np.concatenate([ends, component[group_clash]])
    keys = sorted_unique(_edge_keys(ends, n_components))
    groups = [np.unique(component[rows]) for rows in links.cannot_groups]
    use = [g for g, members in enumerate(groups) if len(members) >= 2]
    return Closure(
        component=frozen(component),
        sizes=frozen(np.bincount(component, minlength=n_components)),
        cannot=frozen(np.column_stack(np.divmod(keys, n_components)).astype(np.int64)),
        cannot_groups=Groups.of(
            [groups[g] for g in use],
            n_components,
            weights=links.cannot_groups.weights[use],
            what="cannot_groups",
        ),
        conflicts=frozen(conflicts),
        links=links,
    )


def _clashes_in_groups(groups: Groups, component: IntArray) -> IntArray:
    """Return pairs of neighbours (by component) in a cannot group that share a component."""
    members, group_of = groups.members, groups.group_of
    order = np.lexsort((members, component[members], group_of))
    rows, in_group = members[order], group_of[order]
    same = (component[rows][1:] == component[rows][:-1]) & (in_group[1:] == in_group[:-1])
    return np.column_stack([rows[:-1][same], rows[1:][same]]).reshape(-1, 2)


def without_conflicts(links: Links, n_samples: int) -> Links:
    """Return the links less the cannot-links that the must-links contradict.

    In a cannot group the first row of each component stays, so that what is left still holds.
    """
    closed = close(links, n_samples, on_conflict="drop")
    ends = closed.component[links.cannot]
    mask: npt.NDArray[np.bool_] = ends[:, 0] == ends[:, 1]
    kept = [rows[np.unique(closed.component[rows], return_index=True)[1]] for rows in links.cannot_groups]
    use = [g for g, rows in enumerate(kept) if len(rows) >= 2]
    groups = Groups.of(
        [kept[g] for g in use], n_samples, weights=links.cannot_groups.weights[use], what="cannot_groups"
    )
    return links.without_cannot(mask, groups)
