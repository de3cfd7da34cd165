"""How many of the hints a clustering keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._html import list_some, render_table
from likewise.evaluation._agreement import n_pairs
from likewise.evaluation._codes import IntArray, check_same_rows, label_codes


@dataclass(frozen=True, eq=False)
class Satisfaction:
    """How many must-links and cannot-links a clustering keeps.

    Attributes
    ----------
    n_must, n_must_kept, n_cannot, n_cannot_kept : int
        Numbers of links. A group of m rows counts as the m (m - 1) / 2 links that it states.
    broken_must, broken_cannot : ndarray of shape (n, 2)
        The links stated as pairs that the clustering breaks; those of groups are only counted.
    n_must_groups, n_broken_must_groups, n_cannot_groups, n_broken_cannot_groups : int
        Numbers of groups, and of groups in which at least one link is broken.
    """

    n_must: int
    n_must_kept: int
    n_cannot: int
    n_cannot_kept: int
    broken_must: IntArray
    broken_cannot: IntArray
    n_must_groups: int = 0
    n_broken_must_groups: int = 0
    n_cannot_groups: int = 0
    n_broken_cannot_groups: int = 0

    @property
    def share(self) -> float:
        """The share of all links that are kept; 1 where there are none, for then none is broken."""
        total = self.n_must + self.n_cannot
        return (self.n_must_kept + self.n_cannot_kept) / total if total else 1.0

    def of_rows(self, rows: IntArray) -> Satisfaction:
        """Return the same for hints that were about these rows alone: row i of theirs is ``rows[i]``."""
        return replace(self, broken_must=rows[self.broken_must], broken_cannot=rows[self.broken_cannot])

    def __str__(self) -> str:
        return (
            f"{self.n_must_kept} of {self.n_must} must-links and {self.n_cannot_kept} of "
            f"{self.n_cannot} cannot-links kept ({self.share:.1%})"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        kinds = (
            ("must-links", self.n_must, self.n_must_kept, self.broken_must, "="),
            ("cannot-links", self.n_cannot, self.n_cannot_kept, self.broken_cannot, "≠"),
        )
        rows = [
            (
                name,
                stated,
                kept,
                stated - kept,
                list_some([f"{i} {sign} {j}" for i, j in broken[:5].tolist()], len(broken)),
            )
            for name, stated, kept, broken, sign in kinds
        ]
        n_groups = self.n_broken_must_groups + self.n_broken_cannot_groups
        notes = [f"{n_groups} group(s) with a broken link, counted above by pairs"] if n_groups else []
        return render_table(
            f"{self.share:.1%} of the links kept",
            ("links", "stated", "kept", "broken", "broken ones"),
            rows,
            notes,
        )


@dataclass(frozen=True, eq=False)
class TripletSatisfaction:
    """How many triplets a clustering keeps, and the places of the broken ones in the list of triplets."""

    n_triplets: int
    n_kept: int
    broken: IntArray

    @property
    def share(self) -> float:
        """The share of the triplets that are kept; 1 where there are none."""
        return self.n_kept / self.n_triplets if self.n_triplets else 1.0

    def __str__(self) -> str:
        return f"{self.n_kept} of {self.n_triplets} triplets kept ({self.share:.1%})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        places = list_some(list(map(str, self.broken[:5].tolist())), len(self.broken))
        notes = [f"broken, by their place in the list: {places}"] if len(self.broken) else []
        rows = [(self.n_triplets, self.n_kept, self.n_triplets - self.n_kept)]
        return render_table(
            f"{self.share:.1%} of the triplets kept", ("stated", "kept", "broken"), rows, notes
        )


def link_satisfaction(labels: Any, supervision: Any) -> Satisfaction:
    """Count the must-links and cannot-links that a clustering keeps.

    A must-link (i, j) is kept if l_i = l_j, a cannot-link if l_i ≠ l_j. A group counts as all its pairs:
    with c_k of its m rows in cluster k, a must-group keeps Σ_k C(c_k, 2) of its C(m, 2) links and a
    cannot-group keeps the rest. Weights do not enter; links that follow from others are not counted.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clusters. -1 is a label like any other.
    supervision : Supervision
        Its `must` and `cannot` of shape (n, 2) and its `must_groups` and `cannot_groups` are read.

    Returns
    -------
    Satisfaction
        Counts, the broken pairs and the `share` of links kept.

    Notes
    -----
    The cost is O(n log n + pairs + members of groups); the pairs in a group are never listed.

    Examples
    --------
    >>> from likewise.supervision import Supervision
    >>> hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
    >>> kept = link_satisfaction([0, 0, 1, 1], hints)
    >>> print(kept)
    1 of 2 must-links and 1 of 1 cannot-links kept (66.7%)
    >>> kept.broken_must
    array([[1, 2]])
    """
    codes = label_codes(labels, what="labels")
    check_same_rows(supervision, len(codes), labels)
    must = np.asarray(supervision.must, dtype=np.int64).reshape(-1, 2)
    cannot = np.asarray(supervision.cannot, dtype=np.int64).reshape(-1, 2)
    must_kept = codes[must[:, 0]] == codes[must[:, 1]]
    cannot_kept = codes[cannot[:, 0]] != codes[cannot[:, 1]]
    must_groups = _GroupPairs.of(codes, supervision.must_groups)
    cannot_groups = _GroupPairs.of(codes, supervision.cannot_groups)
    return Satisfaction(
        n_must=len(must) + must_groups.total,
        n_must_kept=int(must_kept.sum()) + must_groups.together,
        n_cannot=len(cannot) + cannot_groups.total,
        n_cannot_kept=int(cannot_kept.sum()) + cannot_groups.total - cannot_groups.together,
        broken_must=must[~must_kept],
        broken_cannot=cannot[~cannot_kept],
        n_must_groups=must_groups.n_groups,
        n_broken_must_groups=must_groups.n_not_whole,
        n_cannot_groups=cannot_groups.n_groups,
        n_broken_cannot_groups=cannot_groups.n_not_apart,
    )


@dataclass(frozen=True)
class _GroupPairs:
    """Pairs inside groups of rows, counted from how often each label occurs in each group."""

    n_groups: int
    total: int  # pairs in all groups
    together: int  # those with the same label
    n_not_whole: int  # groups with more than one label
    n_not_apart: int  # groups in which some label occurs twice

    @classmethod
    def of(cls, codes: IntArray, groups: Any) -> _GroupPairs:
        indptr: IntArray = np.asarray(groups.indptr, dtype=np.int64)
        sizes: IntArray = indptr[1:] - indptr[:-1]
        group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        members = np.asarray(groups.members, dtype=np.int64)
        n_labels = int(codes.max()) + 1
        cells, counts = np.unique(group * n_labels + codes[members], return_counts=True)
        n_cells = np.bincount(cells // n_labels, minlength=len(sizes))  # distinct labels in each group
        return cls(
            n_groups=len(sizes),
            total=n_pairs(sizes),
            together=n_pairs(counts),
            n_not_whole=int((n_cells > 1).sum()),
            n_not_apart=int((n_cells < sizes).sum()),
        )


def triplet_satisfaction(labels: Any, supervision: Any) -> TripletSatisfaction:
    """Count the triplets (a, b, c) that a clustering keeps.

    The answer AB is kept if l_a = l_b ≠ l_c, and AC and BC likewise. NEITHER, "no two of them stand out
    as belonging together", is kept if the three labels are all equal or all different.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clusters.
    supervision : Supervision
        Its `triplets` of shape (n, 3) and its `answers`, codes 0 to 3 for AB, AC, BC, NEITHER, are read.

    Returns
    -------
    TripletSatisfaction
        Counts, the places of the broken triplets, and the `share` kept.

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
    codes = label_codes(labels, what="labels")
    check_same_rows(supervision, len(codes), labels)
    a, b, c = codes[np.asarray(supervision.triplets, dtype=np.int64).reshape(-1, 3)].T
    answers = np.asarray(supervision.answers, dtype=np.int64).reshape(-1)
    ab, ac, bc = a == b, a == c, b == c
    # Two of the three equalities make the third, so exactly one or none or all hold: the answer that the
    # labels give is the one that holds alone, else NEITHER.
    given = np.select([ab & ~ac, ac & ~ab, bc & ~ab], [0, 1, 2], default=3)
    kept = given == answers
    return TripletSatisfaction(len(kept), int(kept.sum()), np.flatnonzero(~kept))
