"""Cannot-links between must-link components, looked up without enumerating all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from likewise.supervision._closure import Closure
from likewise.supervision._row_checks import IntArray


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
        groups = self.closure.cannot_groups
        entries = (np.ones(len(groups.members)), (groups.members, groups.group_of))
        return csr_array(entries, shape=(self.closure.n_components, len(groups)))

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
