"""Groups of rows, of which all or no two belong together, stored in linear space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.exceptions import SupervisionError
from likewise.supervision._row_checks import FloatArray, IntArray, ReadOnly, check_rows, check_weights, freeze


@dataclass(frozen=True, eq=False)
class RowGroups(ReadOnly):
    """Weighted groups of rows. Iterating over them yields the rows of each group.

    Parameters
    ----------
    indptr : ndarray of shape (n_groups + 1,)
        The members of group g are ``members[indptr[g]:indptr[g + 1]]``.
    members : ndarray of int
        The rows of all groups, ascending in each group.
    weights : ndarray of shape (n_groups,)
        The weight of each group.

    Examples
    --------
    >>> from likewise import Supervision
    >>> groups = Supervision.from_links(5, must_groups=[[0, 2, 4]]).must_groups
    >>> [rows.tolist() for rows in groups], groups.n_pairs
    ([[0, 2, 4]], 3)
    """

    indptr: IntArray
    members: IntArray
    weights: FloatArray

    @classmethod
    def from_lists(cls, groups: Any, n_samples: int, *, weights: Any = None, what: str) -> RowGroups:
        """Check groups given as lists of rows.

        Parameters
        ----------
        groups : iterable of array-like of int, or None
            The rows of each group, at least two. A repeated group counts once, with the largest weight.
        n_samples : int
            The number of rows of the data.
        weights : float or array-like of shape (n_groups,), optional
            The weight of each group; 1 by default.
        what : str
            The name of the groups in error messages.

        Returns
        -------
        groups : RowGroups
            The checked groups.
        """
        lists = [] if groups is None else list(groups)
        weight = check_weights(weights, len(lists), what=f"weights of {what}")
        seen: dict[bytes, float] = {}
        for g, group in enumerate(lists):
            rows = check_rows(group, n_samples, width=None, what=f"{what}[{g}]")
            unique = np.unique(rows)
            if unique.size < rows.size:
                values, counts = np.unique(rows, return_counts=True)
                raise SupervisionError(f"{what}[{g}] contains row {values[counts > 1][0]} twice.")
            if unique.size < 2:
                raise SupervisionError(f"{what}[{g}] has {unique.size} row(s); a group needs at least two.")
            key = unique.tobytes()
            seen[key] = max(seen.get(key, 0.0), float(weight[g]))
        members = [np.frombuffer(key, dtype=np.int64) for key in sorted(seen)]
        return cls._pack(members, [seen[key] for key in sorted(seen)])

    @classmethod
    def _pack(cls, members: list[IntArray], weights: list[float]) -> RowGroups:
        indptr = np.zeros(len(members) + 1, dtype=np.int64)
        np.cumsum([len(m) for m in members], out=indptr[1:])
        flat = np.concatenate(members) if members else np.empty(0, dtype=np.int64)
        return cls(freeze(indptr), freeze(flat), freeze(np.asarray(weights, dtype=np.float64)))

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[IntArray]:
        return (self.members[a:b] for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True))

    @property
    def group_of(self) -> IntArray:
        """The group of each entry of `members`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    @property
    def n_pairs(self) -> int:
        """The number of pairs in all groups."""
        sizes = np.diff(self.indptr)
        return int((sizes * (sizes - 1) // 2).sum())

    def restrict(self, positions: IntArray) -> RowGroups:
        """Restrict the groups to some rows. Groups with fewer than two remaining rows are dropped.

        Parameters
        ----------
        positions : ndarray of shape (n_samples,)
            The new position of each row; -1 for a row that is removed.

        Returns
        -------
        groups : RowGroups
            The renumbered groups.
        """
        n_samples = int(positions.max(initial=-1)) + 1
        kept = [positions[g][positions[g] >= 0] for g in self]
        use = [g for g, rows in enumerate(kept) if len(rows) >= 2]
        if not use:
            return self._pack([], [])
        return RowGroups.from_lists(
            [kept[g] for g in use], n_samples, weights=self.weights[use], what="groups"
        )

    def union(self, other: RowGroups, n_samples: int) -> RowGroups:
        """Combine with other groups of the same rows.

        Parameters
        ----------
        other : RowGroups
            The other groups.
        n_samples : int
            The number of rows.

        Returns
        -------
        groups : RowGroups
            The groups of both. A group in both has the larger weight.
        """
        weights = np.concatenate([self.weights, other.weights])
        return RowGroups.from_lists([*self, *other], n_samples, weights=weights, what="groups")

    def list_star_edges(self) -> IntArray:
        """Return edges from the first member of each group to the others.

        Returns
        -------
        edges : ndarray of shape (n_edges, 2)
            Size - 1 edges for each group, which connect its members.
        """
        first = np.repeat(self.members[self.indptr[:-1]], np.diff(self.indptr))
        edges: IntArray = np.column_stack([first, self.members])[first != self.members]
        return edges

    def list_pairs(self) -> tuple[IntArray, FloatArray]:
        """Enumerate the pairs of all groups. Their number is quadratic in the sizes of the groups.

        Returns
        -------
        pairs : ndarray of shape (n_pairs, 2)
            The pairs.
        weights : ndarray of shape (n_pairs,)
            The weight of the group of each pair.
        """
        corners = [np.triu_indices(len(rows), 1) for rows in self]
        lists = [np.column_stack([rows[i], rows[j]]) for rows, (i, j) in zip(self, corners, strict=True)]
        weights = np.repeat(self.weights, [len(pairs) for pairs in lists])
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *lists]), weights

    @cached_property
    def _by_member(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.members, kind="stable")
        return self.members[order], self.group_of[order]

    def find_shared(self, i: int, j: int) -> IntArray:
        """Return the groups that contain two rows. The cost is a binary search, after one sort.

        Parameters
        ----------
        i, j : int
            The rows.

        Returns
        -------
        groups : ndarray of int
            The indices of the groups that contain both.
        """
        members, group_of = self._by_member
        of_i, of_j = (group_of[slice(*np.searchsorted(members, [k, k + 1]))] for k in (i, j))
        return np.intersect1d(of_i, of_j)
