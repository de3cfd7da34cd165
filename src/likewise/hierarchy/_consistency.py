"""Agreement of label indicators with a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from likewise.hierarchy._label_checks import Edge, IntArray


@dataclass(frozen=True, eq=False)
class Consistency:
    """Agreement of rows with a hierarchy, where a row with a label must have all parents of the label.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    consistent_rows : float
        The fraction of the rows that violate no edge; 1 if there are no rows.
    violations : ndarray of int64, of shape (n_edges,)
        For each edge, the number of rows with the child but without the parent.
    worst : list of (parent, child, count)
        The violated edges and their numbers of violations, in decreasing order.

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> found = LabelHierarchy(["bird", "owl"], [("bird", "owl")]).consistency([[1, 1], [0, 1]])
    >>> found.consistent_rows, found.worst
    (0.5, [('bird', 'owl', 1)])
    """

    n_rows: int
    consistent_rows: float
    violations: IntArray
    worst: list[tuple[str, str, int]]

    @classmethod
    def from_labels(cls, held: sparse.csr_array, pairs: IntArray, edges: tuple[Edge, ...]) -> Consistency:
        """Count the violations of each edge.

        Parameters
        ----------
        held : csr_array of shape (n_rows, n_labels)
            1 where a row has a label.
        pairs : ndarray of shape (n_edges, 2)
            The edges (parent, child) as columns of `held`.
        edges : tuple of (parent, child)
            The same edges as names.

        Returns
        -------
        found : Consistency
            The counts.
        """
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
        description = f"{self.consistent_rows:.1%} of {self.n_rows} rows are consistent"
        if not self.worst:
            return description
        parent, child, count = self.worst[0]
        return f"{description}; most often broken: {child!r} without {parent!r}, in {count} row(s)"
