"""The fraction of the hints that a clustering satisfies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._repr_html import list_some, render_table
from likewise.evaluation._scores import IntArray, check_same_rows, count_pairs, encode_labels


@dataclass(frozen=True, eq=False)
class Satisfaction:
    """The numbers of must-links and cannot-links that a clustering satisfies.

    Parameters
    ----------
    n_must, n_must_kept, n_cannot, n_cannot_kept : int
        The numbers of must-links and cannot-links, and of those that are satisfied. A group of m rows counts
        as m (m - 1) / 2 links.
    violated_must, violated_cannot : ndarray of shape (n, 2)
        The violated links. Links of groups are only counted.
    n_must_groups, n_violated_must_groups, n_cannot_groups, n_violated_cannot_groups : int, default=0
        The numbers of groups, and of groups with at least one violated link.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.evaluation import link_satisfaction
    >>> hints = Supervision.from_links(3, must=[(0, 1)], cannot=[(0, 2)])
    >>> kept = link_satisfaction([0, 0, 0], hints)
    >>> kept.n_must_kept, kept.n_cannot_kept, kept.violated_cannot.tolist(), kept.share
    (1, 0, [[0, 2]], 0.5)
    """

    n_must: int
    n_must_kept: int
    n_cannot: int
    n_cannot_kept: int
    violated_must: IntArray
    violated_cannot: IntArray
    n_must_groups: int = 0
    n_violated_must_groups: int = 0
    n_cannot_groups: int = 0
    n_violated_cannot_groups: int = 0

    @classmethod
    def _from_codes(cls, codes: IntArray, links: Any, rows: IntArray | None = None) -> Satisfaction:
        """Count the links that labels from 0 on satisfy; row i of the links is ``rows[i]`` of the data."""
        must = np.asarray(links.must, dtype=np.int64).reshape(-1, 2)
        cannot = np.asarray(links.cannot, dtype=np.int64).reshape(-1, 2)
        must_kept = codes[must[:, 0]] == codes[must[:, 1]]
        cannot_kept = codes[cannot[:, 0]] != codes[cannot[:, 1]]
        must_groups, cannot_groups = (
            _GroupPairs.from_codes(codes, groups) if len(groups.indptr) > 1 else _GroupPairs()
            for groups in (links.must_groups, links.cannot_groups)
        )
        violated_must, violated_cannot = must[~must_kept], cannot[~cannot_kept]
        if rows is not None:
            violated_must, violated_cannot = rows[violated_must], rows[violated_cannot]
        return cls(
            len(must) + must_groups.total,
            int(must_kept.sum()) + must_groups.together,
            len(cannot) + cannot_groups.total,
            int(cannot_kept.sum()) + cannot_groups.total - cannot_groups.together,
            violated_must,
            violated_cannot,
            must_groups.n_groups,
            must_groups.n_not_whole,
            cannot_groups.n_groups,
            cannot_groups.n_not_apart,
        )

    @property
    def share(self) -> float:
        """The fraction of all links that are satisfied; 1 if there are no links."""
        total = self.n_must + self.n_cannot
        return (self.n_must_kept + self.n_cannot_kept) / total if total else 1.0

    def renumber(self, rows: IntArray) -> Satisfaction:
        """Renumber the rows of the violated links, for hints about a part of the data.

        Parameters
        ----------
        rows : ndarray of int
            Row i of the hints is row ``rows[i]`` of the data.

        Returns
        -------
        satisfaction : Satisfaction
            A copy with the row numbers of the data.
        """
        return replace(
            self, violated_must=rows[self.violated_must], violated_cannot=rows[self.violated_cannot]
        )

    def __str__(self) -> str:
        return (
            f"{self.n_must_kept} of {self.n_must} must-links and {self.n_cannot_kept} of "
            f"{self.n_cannot} cannot-links kept ({self.share:.1%})"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        kinds = (
            ("must-links", self.n_must, self.n_must_kept, self.violated_must, "="),
            ("cannot-links", self.n_cannot, self.n_cannot_kept, self.violated_cannot, "≠"),
        )
        rows = [
            (
                name,
                stated,
                kept,
                stated - kept,
                list_some([f"{i} {sign} {j}" for i, j in violated[:5].tolist()], len(violated)),
            )
            for name, stated, kept, violated, sign in kinds
        ]
        n_groups = self.n_violated_must_groups + self.n_violated_cannot_groups
        notes = (
            [f"{n_groups} group(s) with a violated link; the table counts their pairs"] if n_groups else []
        )
        return render_table(
            f"{self.share:.1%} of the links kept",
            ("links", "stated", "kept", "violated", "examples"),
            rows,
            notes,
        )


@dataclass(frozen=True, eq=False)
class TripletSatisfaction:
    """The number of triplets that a clustering satisfies.

    Parameters
    ----------
    n_triplets : int
        The number of triplets.
    n_kept : int
        The number of triplets that are satisfied.
    violated : ndarray of int
        The positions of the violated triplets in the list of triplets.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.evaluation import triplet_satisfaction
    >>> kept = triplet_satisfaction([0, 0, 1, 1], Supervision.from_triplets(4, [(0, 1, 2), (0, 2, 3)], "AB"))
    >>> kept.n_kept, kept.violated.tolist(), kept.share
    (1, [1], 0.5)
    """

    n_triplets: int
    n_kept: int
    violated: IntArray

    @property
    def share(self) -> float:
        """The fraction of the triplets that are satisfied; 1 if there are none."""
        return self.n_kept / self.n_triplets if self.n_triplets else 1.0

    def __str__(self) -> str:
        return f"{self.n_kept} of {self.n_triplets} triplets kept ({self.share:.1%})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        places = list_some(list(map(str, self.violated[:5].tolist())), len(self.violated))
        notes = [f"positions of the violated triplets: {places}"] if len(self.violated) else []
        rows = [(self.n_triplets, self.n_kept, self.n_triplets - self.n_kept)]
        return render_table(
            f"{self.share:.1%} of the triplets kept", ("stated", "kept", "violated"), rows, notes
        )


def link_satisfaction(labels: Any, supervision: Any) -> Satisfaction:
    """Count the must-links and cannot-links that a clustering satisfies.

    A must-link (i, j) is satisfied if l_i = l_j, a cannot-link if l_i ≠ l_j. A group counts as all its pairs:
    with c_k of its m rows in cluster k, Σ_k C(c_k, 2) of the C(m, 2) links of a must-link group are
    satisfied, and all others of a cannot-link group. Weights are ignored, and implied links are not counted.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The cluster of each row. -1 is a label like any other.
    supervision : Supervision
        The hints, of which the links are used: `must`, `cannot`, `must_groups` and `cannot_groups`.

    Returns
    -------
    Satisfaction
        The counts, the violated pairs, and the fraction of links that are satisfied, `share`.

    Notes
    -----
    The cost is O(n log n + pairs + members of groups); the pairs of a group are never enumerated.

    Examples
    --------
    >>> from likewise.supervision import Supervision
    >>> hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
    >>> kept = link_satisfaction([0, 0, 1, 1], hints)
    >>> print(kept)
    1 of 2 must-links and 1 of 1 cannot-links kept (66.7%)
    >>> kept.violated_must
    array([[1, 2]])
    """
    codes = encode_labels(labels, what="labels")
    check_same_rows(supervision, len(codes), labels)
    return Satisfaction._from_codes(codes, supervision)


@dataclass(frozen=True)
class _GroupPairs:
    """Counts of the pairs in groups of rows, from the number of occurrences of each label in each group."""

    n_groups: int = 0
    total: int = 0  # pairs in all groups
    together: int = 0  # those with the same label
    n_not_whole: int = 0  # groups with more than one label
    n_not_apart: int = 0  # groups in which some label occurs twice

    @classmethod
    def from_codes(cls, codes: IntArray, groups: Any) -> _GroupPairs:
        indptr: IntArray = np.asarray(groups.indptr, dtype=np.int64)
        sizes: IntArray = indptr[1:] - indptr[:-1]
        group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        members = np.asarray(groups.members, dtype=np.int64)
        n_labels = int(codes.max()) + 1
        cells, counts = np.unique(group * n_labels + codes[members], return_counts=True)
        n_cells = np.bincount(cells // n_labels, minlength=len(sizes))  # distinct labels in each group
        return cls(
            n_groups=len(sizes),
            total=count_pairs(sizes),
            together=count_pairs(counts),
            n_not_whole=int((n_cells > 1).sum()),
            n_not_apart=int((n_cells < sizes).sum()),
        )


def triplet_satisfaction(labels: Any, supervision: Any) -> TripletSatisfaction:
    """Count the triplets (a, b, c) that a clustering satisfies.

    The answer AB is satisfied if l_a = l_b ≠ l_c, and AC and BC likewise. NEITHER, which means that no two of
    the three belong together more than the others, is satisfied if the labels are all equal or all different.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The cluster of each row.
    supervision : Supervision
        The hints, of which the triplets are used: `triplets` and `answers`.

    Returns
    -------
    TripletSatisfaction
        The counts, the positions of the violated triplets, and the fraction satisfied, `share`.

    Notes
    -----
    The cost is O(n log n + triplets).

    Examples
    --------
    >>> from likewise.supervision import Supervision
    >>> hints = Supervision.from_triplets(4, [(0, 1, 2), (0, 2, 3)], "AB")
    >>> print(triplet_satisfaction([0, 0, 1, 1], hints))
    1 of 2 triplets kept (50.0%)
    """
    codes = encode_labels(labels, what="labels")
    check_same_rows(supervision, len(codes), labels)
    a, b, c = codes[np.asarray(supervision.triplets, dtype=np.int64).reshape(-1, 3)].T
    answers = np.asarray(supervision.answers, dtype=np.int64).reshape(-1)
    ab, ac, bc = a == b, a == c, b == c
    # Two of the three equalities imply the third, so exactly one, none or all hold. If exactly one holds, it
    # is the answer of the labels; else the answer is NEITHER.
    given = np.select([ab & ~ac, ac & ~ab, bc & ~ab], [0, 1, 2], default=3)
    kept = given == answers
    return TripletSatisfaction(len(kept), int(kept.sum()), np.flatnonzero(~kept))
