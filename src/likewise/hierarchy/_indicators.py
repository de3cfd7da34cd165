"""Label indicators (dense, sparse or DataFrame): conversion to a CSR array and back, agreement with edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from likewise.exceptions import HierarchyError
from likewise.hierarchy._edges import Edge, IntArray, format_names


def read_indicators(Y: Any, names: tuple[str, ...]) -> sparse.csr_array:
    """Return the labels of each row as a CSR array of ones, with columns in the order of `names`."""
    if _is_frame(Y):
        values = _as_numeric(Y.to_numpy())[:, _find_column_order(Y, names)]
    else:
        values = Y if sparse.issparse(Y) else _as_numeric(Y)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise HierarchyError(
            f"Y must have one column for each of the {len(names)} labels; got shape {values.shape}. For a "
            "subset of the labels, use restrict(names) first."
        )
    indicators = sparse.csr_array(values, copy=True)
    indicators.sum_duplicates()
    wrong = indicators.data[(indicators.data != 0) & (indicators.data != 1)]
    if wrong.size:
        value = wrong[0]
        way = "Fill in 0 where a label was not recorded." if value != value else "Use Y > 0 if that is meant."
        raise ValueError(f"Y must be 1 where a row has a label and 0 elsewhere; got {value}. {way}")
    indicators.eliminate_zeros()
    return indicators.astype(np.int32)


def with_labels(Y: Any, indicators: sparse.csr_array, names: tuple[str, ...]) -> Any:
    """Return a copy of `Y` with the same type and dtype, in which the entries of `indicators` are set."""
    if sparse.issparse(Y):
        return type(Y)(indicators.astype(Y.dtype))
    rows, columns = indicators.nonzero()
    if _is_frame(Y):
        values = Y.to_numpy(copy=True)
        values[rows, np.array(_find_column_order(Y, names))[columns]] = 1
        return type(Y)(values, index=Y.index, columns=Y.columns).astype(Y.dtypes)
    out = np.array(Y)
    out[rows, columns] = 1
    return out


def _is_frame(Y: Any) -> bool:
    return hasattr(Y, "columns") and hasattr(Y, "to_numpy")


def _find_column_order(Y: Any, names: tuple[str, ...]) -> list[int]:
    """Return the position of the column of each label."""
    columns = [str(column) for column in Y.columns]
    place = {column: k for k, column in enumerate(columns)}
    missing = [name for name in names if name not in place]
    other = sorted(set(columns) - set(names))
    if missing or other or len(columns) != len(names):
        description = [f"there is no column {format_names(missing)}"] if missing else []
        description += [f"there is no label {format_names(other)}"] if other else []
        description = description or ["a column occurs twice"]
        raise HierarchyError(
            f"the columns of Y must be the labels, in any order; {' and '.join(description)}. Select columns "
            "with Y[list(names)], or labels with restrict(names)."
        )
    return [place[name] for name in names]


def _as_numeric(Y: Any) -> npt.NDArray[Any]:
    values = np.asarray(Y)
    if values.dtype.kind in "biuf":
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Y must be 1 where a row has a label and 0 elsewhere: {error}.") from error


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
    def from_labels(
        cls, indicators: sparse.csr_array, pairs: IntArray, edges: tuple[Edge, ...]
    ) -> Consistency:
        """Count the violations of each edge.

        Parameters
        ----------
        indicators : csr_array of shape (n_rows, n_labels)
            1 where a row has a label.
        pairs : ndarray of shape (n_edges, 2)
            The edges (parent, child) as columns of `indicators`.
        edges : tuple of (parent, child)
            The same edges as names.

        Returns
        -------
        found : Consistency
            The counts.
        """
        columns = indicators.tocsc()
        child = columns[:, pairs[:, 1]]
        violated = sparse.csr_array(child - child.multiply(columns[:, pairs[:, 0]]))
        violated.eliminate_zeros()
        n_rows = indicators.shape[0]
        violations = np.bincount(violated.indices, minlength=len(pairs)).astype(np.int64)
        violations.flags.writeable = False
        order = np.argsort(-violations, kind="stable")
        return cls(
            n_rows=n_rows,
            consistent_rows=float(np.mean(np.diff(violated.indptr) == 0)) if n_rows else 1.0,
            violations=violations,
            worst=[(*edges[e], int(violations[e])) for e in order.tolist() if violations[e]],
        )

    def __str__(self) -> str:
        description = f"{self.consistent_rows:.1%} of {self.n_rows} rows are consistent"
        if not self.worst:
            return description
        parent, child, count = self.worst[0]
        return f"{description}; most often violated: {child!r} without {parent!r}, in {count} row(s)"
