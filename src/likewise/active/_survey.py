"""A sample of very many rows, the graph of its neighbours, and who of it speaks for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._neighbors import Search, find_near_rows

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_JOINS = 0.1  # a few rows far from their own cluster are near to others: one edge in ten


@dataclass(frozen=True, eq=False)
class PoolSample:
    """Rows that were drawn, and the order in which they are taken into a pool.

    Attributes
    ----------
    rows : ndarray of shape (n_drawn,)
        Which of all rows they are, ascending.
    X : ndarray of shape (n_drawn, n_features)
        The rows themselves.
    neighbors : ndarray of shape (n_drawn, k)
        The k nearest drawn rows of each, nearest first, by their places among the drawn.
    order : ndarray of shape (n_drawn,)
        All of them by their places, those that speak for others first: any beginning of it is a pool.
    """

    rows: IntArray
    X: npt.NDArray[Any]
    neighbors: IntArray
    order: IntArray

    @classmethod
    def from_rows(
        cls, rows: IntArray, X: npt.NDArray[Any], n_neighbors: int, search: Search, random_state: int
    ) -> PoolSample:
        """Find the neighbours of the drawn rows, the regions that they make, and the order."""
        n = len(rows)
        if n <= 2:
            return cls(rows, X, np.empty((n, 0), dtype=np.int64), np.arange(n))
        distances, neighbors = find_near_rows(X, min(n_neighbors, n - 1), search, random_state)
        reach = distances[:, -1]
        small = find_regions(reach, neighbors)
        larger = [merge_regions(small, reach, neighbors, share) for share in (_JOINS, 0.0)]
        return cls(rows, X, neighbors, _order_by_region([small, *larger], random_state))

    def find_around(self, X: npt.NDArray[Any]) -> IntArray:
        """Return the drawn rows around some rows: the nearest of each, then the neighbours of these.

        Each once, in the order in which they speak for them.
        """
        from sklearn.metrics import pairwise_distances_argmin

        nearest = pairwise_distances_argmin(X, self.X)
        places = np.concatenate([nearest, self.neighbors[nearest].T.ravel()])
        _, first = np.unique(places, return_index=True)
        found: IntArray = self.rows[places[np.sort(first)]]
        return found


def find_regions(reach: FloatArray, neighbors: IntArray) -> IntArray:
    """Return the region of each row: the row that a walk uphill from it ends at, a peak of the density.

    Each step goes to the nearest neighbour that lies denser, which is to say whose own k-th neighbour is
    nearer (`reach`; of as near ones the lower number), until there is none.
    """
    n = len(reach)
    rank = _rank_density(reach)
    denser = rank[neighbors] < rank[:, None]
    up = np.where(denser.any(axis=1), neighbors[np.arange(n), denser.argmax(axis=1)], np.arange(n))
    return _follow_to_end(up)


def merge_regions(region: IntArray, reach: FloatArray, neighbors: IntArray, share: float) -> IntArray:
    """Return larger regions: each goes to the one with a denser peak that most of its edges lead to, and on.

    A cluster has many peaks by chance, and these become one. What leads away from a region counts if it is
    at least a `share` of its edges; without one, regions stay apart that no edge joins.
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
    """Return where walks end that go from each to its next."""
    while not ((further := up[up]) == up).all():
        up = further
    return up


def _order_by_region(regions: Sequence[IntArray], random_state: int) -> IntArray:
    """Return the order in which rows are taken: of a region of s rows the square root of s, all being equal.

    So a region with a hundredth of the rows of another has a tenth of its share, and a small cluster is not
    lost. It holds for the largest regions, and within each for those that it consists of. Of the smallest the
    peak comes first, then the others as they are drawn. Rows between regions are not preferred: that would
    fill the gaps that clusters are told apart by.
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
