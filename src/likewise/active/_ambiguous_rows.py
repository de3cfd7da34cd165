"""Search for the rows with the most ambiguous cluster, in one pass over many rows.

Predicting all rows with the model may be slow: a nearest-neighbour model compares each row with thousands.
The pass therefore compares rows with a few sites, the k-means centres of each cluster in the pool. Only rows
with nearly equal distances to the sites of two clusters are passed to the model.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from likewise._blocks import Block, Rows
from likewise._threads import get_n_threads
from likewise.active._survey import FloatArray, IntArray

_SITES = 64  # number of sites of all clusters; at least one per cluster
_ROWS_PER_SITE = 10
_CLEAR = (
    1 / 3
)  # rows with larger margins are not ambiguous: the second cluster is over twice as far as the first
_OVER = 4  # candidates that are passed to the model, per selected row
_LEAST = 4  # minimum number of candidates per pair of clusters
# If there are more rows, only every second, third … row is considered, which still finds thousands of
# candidates.
_LOOKED_AT = 2_000_000


@dataclass(frozen=True, eq=False)
class ClusterSites:
    """A few points for each cluster.

    Attributes
    ----------
    X : ndarray of shape (n_features, n_sites)
        The points, one per column.
    cluster : ndarray of shape (n_sites,)
        The cluster of each point, ascending.
    """

    X: npt.NDArray[Any]
    cluster: IntArray

    @classmethod
    def from_clusters(cls, X: npt.NDArray[Any], labels: IntArray, random_state: int) -> ClusterSites:
        """Find the centres of the rows of each cluster by k-means."""
        clusters = np.unique(labels)
        points: list[npt.NDArray[Any]] = []
        owners: list[IntArray] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # raised for equal rows
            for cluster in clusters.tolist():
                own = X[labels == cluster]
                n = max(1, min(_SITES // len(clusters), len(own) // _ROWS_PER_SITE))
                points.append(KMeans(n, n_init=1, random_state=random_state).fit(own).cluster_centers_)
                owners.append(np.full(n, cluster, dtype=np.int64))
        return cls(np.ascontiguousarray(np.concatenate(points).T), np.concatenate(owners))


@dataclass(frozen=True, eq=False)
class AmbiguousRows:
    """Rows with nearly equal distances to two clusters.

    Attributes
    ----------
    rows : ndarray
        The row numbers.
    pair : ndarray
        The two clusters, encoded as one number.
    margin : ndarray
        The difference of the distances to the two clusters, divided by their sum.
    """

    rows: IntArray
    pair: IntArray
    margin: FloatArray

    def keep_smallest_margins(self, most: int) -> AmbiguousRows:
        """Keep the rows with the smallest margins of each pair of clusters; ties go to the first row."""
        order = np.lexsort((self.rows, self.margin, self.pair))
        order = order[_rank_within_groups(self.pair[order]) < most]
        return AmbiguousRows(self.rows[order], self.pair[order], self.margin[order])

    def __add__(self, other: AmbiguousRows) -> AmbiguousRows:
        both = ((getattr(self, name), getattr(other, name)) for name in ("rows", "pair", "margin"))
        return AmbiguousRows(*map(np.concatenate, both))


def _rank_within_groups(groups: IntArray) -> IntArray:
    """Return the position of each entry within its group, from 0; groups must be consecutive."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def find_in_block(sites: ClusterSites, most: int, step: int, block: Block) -> AmbiguousRows:
    """Return the most ambiguous rows of a block for each pair of clusters.

    Only rows whose number is a multiple of `step` are considered.
    """
    from likewise.kernels.margins import two_nearest_groups

    start = -block.rows.start % step
    X = np.ascontiguousarray(block.X[start::step])
    n = len(X)
    first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    near, far = np.empty(n), np.empty(n)
    points = sites.X.astype(X.dtype, copy=False)
    two_nearest_groups(X, points, sites.cluster, first, second, near, far)
    np.sqrt(near, out=near)
    np.sqrt(far, out=far)
    between = np.flatnonzero((far - near <= _CLEAR * (far + near)) & (second >= 0))
    near, far, first, second = near[between], far[between], first[between], second[between]
    total = near + far
    margin = np.divide(far - near, total, out=np.zeros(len(total)), where=total > 0)
    pair = np.minimum(first, second) * (int(sites.cluster[-1]) + 1) + np.maximum(first, second)
    return AmbiguousRows(block.rows.start + start + step * between, pair, margin).keep_smallest_margins(most)


def find_ambiguous_rows(rows: Rows, sites: ClusterSites, model: Any, wanted: int) -> IntArray:
    """Return up to `wanted` ambiguous rows, equally many for each pair of clusters, ascending.

    The cost is one pass over the rows. The result does not depend on the blocks, because the margin of a row
    depends on that row only, and ties go to the lower row number.
    """
    n_clusters = len(np.unique(sites.cluster))
    if n_clusters < 2 or wanted < 1:
        return np.empty(0, dtype=np.int64)
    most = max(_LEAST, -(-_OVER * wanted // (n_clusters * (n_clusters - 1) // 2)))
    step = -(-len(rows) // _LOOKED_AT)
    rows.threads = get_n_threads(rows.shape[0] // step * sites.X.size, None)
    found = AmbiguousRows(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    for part in rows.map(partial(find_in_block, sites, most, step)):
        found = (found + part).keep_smallest_margins(most)
    if not len(found.rows):
        return found.rows
    order = np.argsort(found.rows)
    found = AmbiguousRows(found.rows[order], found.pair[order], found.margin[order])
    margin = compute_margins(model, rows.take(found.rows))
    if margin is not None:
        found = AmbiguousRows(found.rows, found.pair, margin)
    found = found.keep_smallest_margins(len(found.rows))
    # One row of each pair of clusters, then the next row of each, and so on.
    turn = np.lexsort((found.rows, found.margin, _rank_within_groups(found.pair)))[:wanted]
    chosen: IntArray = np.sort(found.rows[turn])
    return chosen


def compute_margins(model: Any, X: npt.NDArray[Any]) -> FloatArray | None:
    """Return the margin between the two best clusters of each row by the model; None if it has no scores."""
    if hasattr(model, "predict_proba"):
        chances = np.sort(np.asarray(model.predict_proba(X), dtype=np.float64), axis=1)
        return chances[:, -1] - chances[:, -2] if chances.shape[1] > 1 else None
    if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
        near, far = np.partition(np.asarray(model.transform(X), dtype=np.float64), 1, axis=1)[:, :2].T
        margin: FloatArray = np.divide(far - near, far + near, out=np.zeros(len(far)), where=far > 0)
        return margin
    return None
