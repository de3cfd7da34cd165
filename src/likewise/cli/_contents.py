"""Describe each cluster of a table: its distinguishing columns, typical rows and uncertain rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

from likewise.cli._data_tables import DataTable, standardize_columns
from likewise.cli._row_text import format_number

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_N_COLUMNS = 3
_N_ROWS = 3
_MOST_CLUSTERS = 8  # maximum number of clusters in the printed summary
_LONGEST_ID = 30
_APART = 0.5  # minimum difference of a column's mean, in standard deviations, to distinguish a cluster


@dataclass(frozen=True)
class ColumnContrast:
    """The mean of a column in a cluster and in all other rows.

    Attributes
    ----------
    name : str
        The column.
    mean, mean_elsewhere : float
        Its mean over the rows of the cluster, and over all other rows.
    difference : float
        (mean - mean_elsewhere) / s, with s the standard deviation of the column over all rows.
    """

    name: str
    mean: float
    mean_elsewhere: float
    difference: float


@dataclass(frozen=True)
class ClusterContents:
    """The description of one cluster.

    Attributes
    ----------
    cluster, size : int
        Its number, and its number of rows.
    columns : tuple of ColumnContrast
        The columns that distinguish it, the most different first; empty if none differs by half a standard
        deviation.
    typical : tuple of int
        The rows nearest to its mean, with standardised columns.
    doubtful : tuple of (int, int)
        The least certain of the remaining rows, each with its second-best cluster.
    """

    cluster: int
    size: int
    columns: tuple[ColumnContrast, ...]
    typical: tuple[int, ...]
    doubtful: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Contents:
    """The descriptions of the non-empty clusters of a table, in ascending order of their numbers."""

    clusters: tuple[ClusterContents, ...]
    table: DataTable

    @classmethod
    def from_model(cls, model: Any, X: FloatArray, table: DataTable, labels: IntArray) -> Contents:
        """Describe the clusters to which a fitted model assigns the rows of a table.

        Uncertainty comes from the model's probabilities or distances to centres if it has them; otherwise
        from the distances to the means of the clusters, in the spectral embedding if there is one.

        Parameters
        ----------
        model : fitted clusterer
            The model.
        X : ndarray of shape (n_samples, n_features)
            The training rows.
        table : DataTable
            The same rows in the units of the file.
        labels : ndarray of shape (n_samples,)
            The cluster of each row.

        Returns
        -------
        Contents
            Empty if there are fewer than two clusters with rows.
        """
        counts = np.bincount(labels)
        found = np.flatnonzero(counts)
        if len(found) < 2:
            return cls((), table)
        rows = standardize_columns(table.X)
        means, raw_means = _compute_means(rows, labels), _compute_means(table.X, labels)
        squares = _compute_squared_distances(rows, means)
        other, rank = _rank_doubt(model, X, labels, squares)
        overall = table.X.mean(axis=0)
        by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
        clusters = []
        for c in found.tolist():
            share = counts[c] / len(labels)
            elsewhere = (overall - share * raw_means[c]) / (1 - share)
            difference = means[c] / (1 - share)  # standardised columns have mean 0
            columns = tuple(
                ColumnContrast(name, *(float(values[j]) for values in (raw_means[c], elsewhere, difference)))
                for j in np.argsort(-np.abs(difference), kind="stable")[:_N_COLUMNS].tolist()
                for name in (table.feature_names[j],)
                if abs(difference[j]) >= _APART
            )
            members = by_cluster[c]
            members = members[np.argsort(squares[members, c], kind="stable")]
            typical, rest = members[:_N_ROWS], members[_N_ROWS:]
            rest = rest[np.argsort(rank[rest], kind="stable")[:_N_ROWS]]
            doubtful = tuple(zip(rest.tolist(), other[rest].tolist(), strict=True))
            clusters.append(ClusterContents(c, len(members), columns, tuple(typical.tolist()), doubtful))
        return cls(tuple(clusters), table)

    def as_list(self) -> list[dict[str, Any]]:
        """Return everything as plain values, with the ids of the rows."""
        ids = self.table.ids
        return [
            {
                "cluster": one.cluster,
                "size": one.size,
                "columns": [vars(column) for column in one.columns],
                "typical": [ids[row] for row in one.typical],
                "doubtful": [{"id": ids[row], "next_best_cluster": other} for row, other in one.doubtful],
            }
            for one in self.clusters
        ]

    def format_lines(self) -> list[str]:
        """Return the summary, line by line; only the largest of many clusters are shown."""
        shown = self.clusters
        if len(shown) > _MOST_CLUSTERS:
            largest = sorted(shown, key=lambda one: -one.size)[:_MOST_CLUSTERS]
            shown = tuple(sorted(largest, key=lambda one: one.cluster))
        ids = self.table.ids
        spreads = dict(zip(self.table.feature_names, np.ptp(self.table.X, axis=0).tolist(), strict=True))
        lines: list[str] = []
        for one in shown:
            columns = ", ".join(
                f"{column.name} {_format_mean(column.mean, spreads[column.name])} "
                f"(others {_format_mean(column.mean_elsewhere, spreads[column.name])})"
                for column in one.columns
            )
            lines.append(
                f"{'' if lines else 'contents':<12}{one.cluster:>3}  {columns or 'no column differs much'}"
            )
            rows = f"typical {', '.join(_cut(ids[row]) for row in one.typical)}"
            if one.doubtful:
                doubtful = (f"{_cut(ids[row])} (or in {other})" for row, other in one.doubtful)
                rows += f"; doubtful {', '.join(doubtful)}"
            lines.append(f"{'':<17}{rows}")
        if len(shown) < len(self.clusters):
            n_more = len(self.clusters) - len(shown)
            lines.append(f"{'':<12}and {n_more} smaller cluster{'s' if n_more > 1 else ''}; --json lists all")
        return lines


def _format_mean(mean: float, spread: float) -> str:
    """Return a mean, rounded to three significant digits of the range of its column.

    >>> _format_mean(0.04444, 16.0), _format_mean(2.513, 4.7), _format_mean(883.1, 1402.0)
    ('0.0', '2.51', '883')
    """
    if 1e-4 <= spread < 1e6:
        return f"{mean:.{max(2 - math.floor(math.log10(spread)), 0)}f}"
    return format_number(mean, spread)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_ID else f"{name[: _LONGEST_ID - 1]}…"


# ---------------------------------------------------------------------- doubt


def _compute_means(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of each cluster; NaN for an empty cluster."""
    counts = np.bincount(labels)
    place = (labels, np.arange(len(labels)))
    sums: FloatArray = csr_array((np.ones(len(labels)), place), shape=(len(counts), len(labels))) @ rows
    return np.divide(sums, counts[:, None], out=np.full_like(sums, np.nan), where=counts[:, None] > 0)


def _compute_squared_distances(rows: FloatArray, means: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each mean; infinite for an empty cluster."""
    squares: FloatArray = euclidean_distances(rows, np.nan_to_num(means), squared=True)
    squares[:, np.isnan(means[:, 0])] = np.inf
    return squares


def _compute_margins(
    model: Any, X: FloatArray, labels: IntArray, squares: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the second-best cluster of each row, and the margin by which the row prefers its own cluster."""
    n_clusters = squares.shape[1]
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X), dtype=np.float64)
        if shares.shape[1] >= n_clusters:
            return _compute_margin(-shares, labels, relative=False)
    elif hasattr(model, "transform"):
        distances = np.asarray(model.transform(X), dtype=np.float64)
        if distances.shape[1] >= n_clusters:
            return _compute_margin(distances, labels)
    elif getattr(model, "embedding_", None) is not None:
        embedding = np.asarray(model.embedding_, dtype=np.float64)
        return _compute_margin(
            _compute_squared_distances(embedding, _compute_means(embedding, labels)), labels
        )
    return _compute_margin(squares, labels)


def _compute_margin(
    distances: FloatArray, labels: IntArray, *, relative: bool = True
) -> tuple[IntArray, FloatArray]:
    """Return the nearest other cluster of each row, and how much farther it is than the row's own cluster."""
    at = np.arange(len(labels))
    others = distances.copy()
    others[at, labels] = np.inf
    nearest = others.argmin(axis=1)
    own, next_best = distances[at, labels], others[at, nearest]
    gap = next_best - own
    if relative:
        total = next_best + own
        gap = np.divide(gap, total, out=np.zeros_like(gap), where=total > 0)
    return nearest, gap


def _rank_doubt(
    model: Any, X: FloatArray, labels: IntArray, squares: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the second-best cluster and the uncertainty rank of each row; distances to means break ties."""
    other, margin = _compute_margins(model, X, labels, squares)
    rank = np.empty(len(margin), dtype=np.int64)
    rank[np.lexsort((_compute_margin(squares, labels)[1], margin))] = np.arange(len(margin))
    return other, rank
