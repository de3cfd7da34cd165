"""Which must-link components are known to be apart, looked up without making all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from likewise.supervision._closure import Closure
from likewise.supervision._row_checks import IntArray


@dataclass(frozen=True, eq=False)
class Edges:
    """Which components of a closure are known to be apart."""

    closure: Closure

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Every edge from either end, those from the same component next to one another."""
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
        """How many others each component is apart from; one that two links name counts twice."""
        counts: IntArray = np.bincount(self.closure.cannot.ravel(), minlength=self.closure.n_components)
        groups = self.closure.cannot_groups
        np.add.at(counts, groups.members, np.diff(groups.indptr)[groups.group_of] - 1)
        return counts

    def find_apart(self, components: IntArray) -> tuple[IntArray, IntArray]:
        """Return all that is apart from some components: where in `components` each is, and the others."""
        first, second = self._pairs
        start = np.searchsorted(first, components, side="left")
        counts = np.searchsorted(first, components, side="right") - start
        at = np.repeat(np.arange(len(components)), counts)
        other = second[np.arange(len(at)) + np.repeat(start - (np.cumsum(counts) - counts), counts)]
        if len(self.closure.cannot_groups):
            found = (self._sets[components] @ self._sets.T).tocoo()
            at = np.concatenate([at, found.row.astype(np.int64)])
            other = np.concatenate([other, found.col.astype(np.int64)])
        others = components[at] != other  # a set holds the component itself
        return at[others], other[others]
