"""The rows whose cluster is least clear, of very many: one pass over blocks, then the model itself on few.

A model may take long to look at a row: one that goes by near rows compares it with thousands. So a pass goes
by a few sites, centres of the rows that each cluster has in the pool, and what lies nearly as far from the
sites of two clusters is shown to the model.
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

_SITES = 64  # of all clusters together, or one each
_ROWS_PER_SITE = 10
_CLEAR = 1 / 3  # margins above are not in doubt: the second cluster is more than twice as far as the first
_OVER = 4  # so many times as many as are wanted are shown to the model
_LEAST = 4  # of any two clusters
# Of more rows than so many every second, third … is looked at: enough to find some thousands in doubt.
_LOOKED_AT = 2_000_000


@dataclass(frozen=True, eq=False)
class ClusterSites:
    """A few points for each cluster.

    Attributes
    ----------
    X : ndarray of shape (n_features, n_sites)
        The points, a column each.
    cluster : ndarray of shape (n_sites,)
        The cluster of each, ascending.
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
            warnings.simplefilter("ignore", ConvergenceWarning)  # of rows that are alike
            for cluster in clusters.tolist():
                own = X[labels == cluster]
                n = max(1, min(_SITES // len(clusters), len(own) // _ROWS_PER_SITE))
                points.append(KMeans(n, n_init=1, random_state=random_state).fit(own).cluster_centers_)
                owners.append(np.full(n, cluster, dtype=np.int64))
        return cls(np.ascontiguousarray(np.concatenate(points).T), np.concatenate(owners))


@dataclass(frozen=True, eq=False)
class AmbiguousRows:
    """Rows in doubt.

    Attributes
    ----------
    rows : ndarray
        Which rows they are.
    pair : ndarray
        Between which two clusters, as one number.
    margin : ndarray
        How much farther the second cluster is than the first, as a share of both distances.
    """

    rows: IntArray
    pair: IntArray
    margin: FloatArray

    def keep_smallest_margins(self, most: int) -> AmbiguousRows:
        """Keep for each pair of clusters the rows with the least margins, of equal ones the first."""
        order = np.lexsort((self.rows, self.margin, self.pair))
        order = order[_rank_within_groups(self.pair[order]) < most]
        return AmbiguousRows(self.rows[order], self.pair[order], self.margin[order])

    def __add__(self, other: AmbiguousRows) -> AmbiguousRows:
        both = ((getattr(self, name), getattr(other, name)) for name in ("rows", "pair", "margin"))
        return AmbiguousRows(*map(np.concatenate, both))


def _rank_within_groups(groups: IntArray) -> IntArray:
    """Return which of its group each is, counted from 0, where those of a group follow one another."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def find_in_block(sites: ClusterSites, most: int, step: int, block: Block) -> AmbiguousRows:
    """Return the rows of a block that are in doubt, the most doubtful of any two clusters.

    Of all rows those are looked at whose numbers `step` divides.
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
    """Return up to `wanted` rows in doubt, of any two clusters alike, ascending.

    One pass over the rows; the result is the same whatever the blocks are, since a row's margin goes by the
    row alone and equal margins by the numbers of rows.
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
    # One of each two clusters, then the next of each, and so on.
    turn = np.lexsort((found.rows, found.margin, _rank_within_groups(found.pair)))[:wanted]
    chosen: IntArray = np.sort(found.rows[turn])
    return chosen


def compute_margins(model: Any, X: npt.NDArray[Any]) -> FloatArray | None:
    """Return how much likelier, or nearer, the first cluster of each row is than the second, if known."""
    if hasattr(model, "predict_proba"):
        chances = np.sort(np.asarray(model.predict_proba(X), dtype=np.float64), axis=1)
        return chances[:, -1] - chances[:, -2] if chances.shape[1] > 1 else None
    if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
        near, far = np.partition(np.asarray(model.transform(X), dtype=np.float64), 1, axis=1)[:, :2].T
        margin: FloatArray = np.divide(far - near, far + near, out=np.zeros(len(far)), where=far > 0)
        return margin
    return None
