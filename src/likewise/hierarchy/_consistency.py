"""How far label indicators agree with a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from likewise.hierarchy._checks import Edge, IntArray


@dataclass(frozen=True, eq=False)
class Consistency:
    """How far rows keep a hierarchy: who holds a label holds all of its parents.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    consistent_rows : float
        The share of the rows that break no edge; 1 if there are no rows.
    violations : ndarray of int64, of shape (n_edges,)
        For each edge, the rows that hold the child and not the parent.
    worst : list of (parent, child, count)
        The edges that are broken at all, the most often broken first.
    """

    n_rows: int
    consistent_rows: float
    violations: IntArray
    worst: list[tuple[str, str, int]]

    @classmethod
    def of(cls, held: sparse.csr_array, pairs: IntArray, edges: tuple[Edge, ...]) -> Consistency:
        """Count the broken edges (parent, child) of rows of ones."""
        columns = held.tocsc()
        child = columns[:, pairs[:, 1]]
        broken = sparse.csr_array(child - child.multiply(columns[:, pairs[:, 0]]))
        broken.eliminate_zeros()
        n_rows = held.shape[0]
        violations = np.bincount(broken.indices, minlength=len(pairs)).astype(np.int64)
        violations.flags.writeable = False
        order = np.argsort(-violations, kind="stable")
        return cls(
            n_rows=n_rows,
            consistent_rows=float(np.mean(np.diff(broken.indptr) == 0)) if n_rows else 1.0,
            violations=violations,
            worst=[(*edges[e], int(violations[e])) for e in order.tolist() if violations[e]],
        )

    def __str__(self) -> str:
        said = f"{self.consistent_rows:.1%} of {self.n_rows} rows are consistent"
        if not self.worst:
            return said
        parent, child, count = self.worst[0]
        return f"{said}; most often broken: {child!r} without {parent!r}, in {count} row(s)"
