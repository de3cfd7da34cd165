"""A random sample of very many rows, its neighbour graph, and the order in which a pool takes its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._neighbors import Search, find_near_rows

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_JOINS = 0.1  # fraction of edges that merges regions; fewer may come from a few rows far from their cluster


@dataclass(frozen=True, eq=False)
class PoolSample:
    """Sampled rows, and the order in which they are taken into a pool.

    Attributes
    ----------
    rows : ndarray of shape (n_drawn,)
        The row numbers, ascending.
    X : ndarray of shape (n_drawn, n_features)
        The rows.
    neighbors : ndarray of shape (n_drawn, k)
        The k nearest sampled rows of each, nearest first, as positions in `rows`.
    order : ndarray of shape (n_drawn,)
        All positions, the most representative first: any prefix is a pool.
    """

    rows: IntArray
    X: npt.NDArray[Any]
    neighbors: IntArray
    order: IntArray

    @classmethod
    def from_rows(
        cls, rows: IntArray, X: npt.NDArray[Any], n_neighbors: int, search: Search, random_state: int
    ) -> PoolSample:
        """Find the neighbours of the sampled rows, their regions, and the order."""
        n = len(rows)
        if n <= 2:
            return cls(rows, X, np.empty((n, 0), dtype=np.int64), np.arange(n))
        distances, neighbors = find_near_rows(X, min(n_neighbors, n - 1), search, random_state)
        reach = distances[:, -1]
        small = find_regions(reach, neighbors)
        larger = [merge_regions(small, reach, neighbors, share) for share in (_JOINS, 0.0)]
        return cls(rows, X, neighbors, _order_by_region([small, *larger], random_state))

    def find_around(self, X: npt.NDArray[Any]) -> IntArray:
        """Return distinct sampled rows around some rows: the nearest of each, then their neighbours."""
        from sklearn.metrics import pairwise_distances_argmin

        nearest = pairwise_distances_argmin(X, self.X)
        places = np.concatenate([nearest, self.neighbors[nearest].T.ravel()])
        _, first = np.unique(places, return_index=True)
        found: IntArray = self.rows[places[np.sort(first)]]
        return found


def find_regions(reach: FloatArray, neighbors: IntArray) -> IntArray:
    """Return the region of each row, identified by the density peak at the end of its path.

    Each step of the path goes to the nearest neighbour of higher density, that is, with a smaller distance to
    its k-th neighbour (`reach`; ties go to the lower number), until there is none.
    """
    n = len(reach)
    rank = _rank_density(reach)
    denser = rank[neighbors] < rank[:, None]
    up = np.where(denser.any(axis=1), neighbors[np.arange(n), denser.argmax(axis=1)], np.arange(n))
    return _follow_to_end(up)


def merge_regions(region: IntArray, reach: FloatArray, neighbors: IntArray, share: float) -> IntArray:
    """Merge each region repeatedly into the region with a denser peak that most of its edges lead to.

    Because of sampling noise, a cluster has many peaks, which this merges. Two regions are merged only if at
    least a `share` of the edges of the one lead to the other; with 0, only unconnected regions stay separate.
    """
    (n, k), rank = neighbors.shape, _rank_density(reach)
    here, there = np.repeat(region, k), region[neighbors].ravel()
    edges, counts = np.unique((here * n + there)[rank[there] < rank[here]], return_counts=True)
    here, there = np.divmod(edges, n)
    enough = counts >= share * k * np.bincount(region, minlength=n)[here]
    here, there, counts = here[enough], there[enough], counts[enough]
    order = np.lexsort((rank[there], -counts, here))
    first = order[np.unique(here[order], return_index=True)[1]]
    up = np.arange(n)
    up[here[first]] = there[first]
    return _follow_to_end(up)[region]


def _rank_density(reach: FloatArray) -> IntArray:
    rank = np.empty(len(reach), dtype=np.int64)
    rank[np.argsort(reach, kind="stable")] = np.arange(len(reach))
    return rank


def _follow_to_end(up: IntArray) -> IntArray:
    """Return the end of the path from each node, where `up` is the next node of each."""
    while not ((further := up[up]) == up).all():
        up = further
    return up


def _order_by_region(regions: Sequence[IntArray], random_state: int) -> IntArray:
    """Return the order in which rows are taken: from a region of s rows, a number proportional to √s.

    A region with 1 % of the rows of another thus contributes 10 % as many rows, so a small cluster is not
    lost. This applies to the largest regions, and recursively to the regions that they consist of. In the
    smallest regions, the peak comes first and the other rows follow in random order. Rows between regions are
    not preferred, because they would fill the gaps that separate clusters.
    """
    n = len(regions[0])
    drawn = np.random.default_rng(random_state).permutation(n)
    key = np.where(regions[0] == np.arange(n), -1.0, drawn)
    for region in regions:
        by_region = np.lexsort((drawn, key, region))
        place = np.empty(n, dtype=np.int64)
        place[by_region] = np.arange(n) - np.searchsorted(region[by_region], region[by_region])
        key = (place + 0.5) / np.sqrt(np.bincount(region, minlength=n)[region])
    order: IntArray = np.lexsort((drawn, key))
    return order
