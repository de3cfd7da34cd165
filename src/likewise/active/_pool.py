"""Selection of the rows that an interview about very many rows considers.

A random sample, its neighbour graph and its regions give the first pool. Later pools also contain ambiguous
rows, found in one pass over all rows. Predicting all rows with the model may be slow: a nearest-neighbour
model compares each row with thousands. The pass therefore compares rows with a few sites, the k-means centres
of each cluster in the pool. Only rows with nearly equal distances to the sites of two clusters are passed to
the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from likewise.active._state import check_rows
from likewise.backends import Block, Rows, as_rows, draw_rows, get_n_threads, is_distributed
from likewise.backends.neighbors import Search, find_near_rows
from likewise.base import Rule, check_finite, check_parameters

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_JOINS = 0.1  # fraction of edges that merges regions; fewer may come from a few rows far from their cluster
_SITES = 64  # number of sites of all clusters; at least one per cluster
_ROWS_PER_SITE = 10
# Rows with larger margins are not ambiguous: the second cluster is over twice as far as the first.
_CLEAR = 1 / 3
_OVER = 4  # candidates that are passed to the model, per selected row
_LEAST = 4  # minimum number of candidates per pair of clusters
# If there are more rows, only every second, third … row is considered, which still finds thousands of
# candidates.
_LOOKED_AT = 2_000_000
# An interview about more rows uses a pool by default: fitting a model to all rows would take long.
LARGE = 100_000
_RULES: dict[str, Rule] = {
    "size": Rule.integer(2),
    "sample": Rule.integer(2),
    "every": Rule.integer(1),
    "doubtful": Rule("a number from 0 to 1", lambda v: Rule.real(0).holds(v) and v <= 1),
    "n_neighbors": Rule.integer(1),
    "neighbor_search": Rule.choice("cells", "exact", "approximate"),
}


@dataclass(frozen=True)
class Pool:
    r"""A subset of very many rows that an interview considers.

    First a random `sample` is drawn and its nearest-neighbour graph is built. From each row a path leads to
    its nearest neighbour of higher density, and on, until it ends at a density peak. The rows whose paths end
    at the same peak form a region, and regions with many edges between them are merged. From a region of s
    rows the pool takes a number that grows as :math:`\sqrt s`, starting with the peak, so small clusters are
    over-represented.

    Later, as answers come in, a part of the pool consists of doubtful rows. One pass over all rows finds
    those with nearly equal distances to two clusters. Of these, the rows that the fitted model is least sure
    of are taken, equally many for each pair of clusters, together with sampled rows near them. Hinted rows
    always stay in the pool.

    Parameters
    ----------
    size : int, default=5000
        The number of rows in the pool; larger if there are more hinted rows.
    sample : int, default=50000
        The number of rows in the random sample.
    every : int, default=100
        The pool is selected again, with doubtful rows, after every `every` answers.
    doubtful : float, default=0.1
        The fraction of such a pool that is used for doubtful rows, half of it for the rows near them. A large
        value fills the gaps that separate clusters.
    n_neighbors : int, default=15
        The number of neighbours of each row in the graph.
    neighbor_search : {"cells", "exact", "approximate"}, default="cells"
        How neighbours are found. "approximate" compares each row with the rows of its nearest cells of
        k-means; "cells" does so for more than 40,000 rows of 8 or more columns and is exact otherwise.

    Notes
    -----
    The same rows give the same pool, in memory or on disk and with any block size. Cost: `sample` rows are
    read and compared; later, one pass over all rows compares each with 64 points. Memory: linear in `sample`.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Pool
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(3960, 2)), rng.normal(size=(40, 2)) + 9.0]   # one in a hundred
    >>> rows = Pool(size=200).choose_first(X, named=[7])
    >>> len(rows), 7 in rows, bool((rows >= 3960).mean() > 0.01)
    (200, True, True)
    """

    size: int = 5_000
    sample: int = 50_000
    every: int = 100
    doubtful: float = 0.1
    n_neighbors: int = 15
    neighbor_search: Search = "cells"

    def __post_init__(self) -> None:
        check_parameters(self, _RULES)
        if self.sample < self.size:
            raise ValueError(
                f"Pool: expected size <= sample; got size={self.size} and sample={self.sample}. "
                "Use a larger sample, or a smaller size."
            )

    def check_size(self, n_samples: int) -> None:
        """Raise a ValueError if there are fewer rows than the pool should have.

        Parameters
        ----------
        n_samples : int
            The number of rows to select from.
        """
        if self.size > n_samples:
            raise ValueError(
                f"Pool: a pool of size={self.size} cannot be chosen from {n_samples} rows. Use a smaller "
                "size, or all rows: Interview(X, pool=None)."
            )

    def draw_sample(self, X: MatrixLike, *, random_state: int = 0) -> PoolSample:
        """Draw the sample and find its nearest neighbours, for `choose_first` and `choose_again`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows.
        random_state : int, default=0
            Seed of the random sample.

        Returns
        -------
        PoolSample
            The sample with its neighbours and regions.
        """
        rows = _as_rows(X)
        self.check_size(len(rows))
        drawn = draw_rows(len(rows), self.sample, np.random.RandomState(random_state % 2**32))
        return PoolSample.from_rows(
            drawn, rows.take(drawn), self.n_neighbors, self.neighbor_search, random_state % 2**31
        )

    def choose_first(
        self,
        X: MatrixLike,
        *,
        named: Iterable[int] = (),
        random_state: int = 0,
        survey: PoolSample | None = None,
    ) -> IntArray:
        """Select the first pool, before there are answers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows.
        named : iterable of int, default=()
            Hinted rows, which are always in the pool.
        random_state : int, default=0
            Seed of the random sample.
        survey : PoolSample, optional
            The result of :meth:`draw_sample` for these rows and this seed. By default it is computed here.

        Returns
        -------
        ndarray of int
            The numbers of the selected rows, ascending.
        """
        survey = self.draw_sample(X, random_state=random_state) if survey is None else survey
        return self._fill(_as_row_numbers(named), survey)

    def choose_again(
        self,
        X: MatrixLike,
        among: Any,
        labels: Any,
        *,
        model: Any = None,
        named: Iterable[int] = (),
        random_state: int = 0,
        survey: PoolSample | None = None,
    ) -> IntArray:
        """Select a pool with doubtful rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows.
        among : array-like of int of shape (n_labelled,)
            The rows that have labels, such as those of the previous pool.
        labels : array-like of int of shape (n_labelled,)
            Their clusters, numbered from 0.
        model : estimator, optional
            The model that the labels come from. If it has `predict_proba` or belongs to the k-means family,
            it decides which rows are most doubtful; otherwise distances do.
        named : iterable of int, default=()
            Hinted rows, which are always in the pool.
        random_state : int, default=0
            Seed of the random sample.
        survey : PoolSample, optional
            The result of :meth:`draw_sample` for these rows and this seed. By default it is computed here.

        Returns
        -------
        ndarray of int
            The numbers of the selected rows, ascending.
        """
        rows = _as_rows(X)
        survey = self.draw_sample(rows, random_state=random_state) if survey is None else survey
        sites = find_sites(rows.take(_as_row_numbers(among)), np.asarray(labels), random_state % 2**31)
        wanted = int(self.size * self.doubtful / 2)
        doubtful = find_ambiguous_rows(rows, *sites, model, wanted)
        if not len(doubtful):
            return self._fill(_as_row_numbers(named), survey)
        around = survey.find_around(rows.take(doubtful))[:wanted]
        return self._fill(np.concatenate([_as_row_numbers(named), doubtful, around]), survey)

    def _fill(self, chosen: IntArray, survey: PoolSample) -> IntArray:
        """Return the chosen rows, filled up with sampled rows to the size of the pool."""
        chosen = np.unique(chosen)
        ordered = survey.rows[survey.order]
        others = ordered[np.isin(ordered, chosen, invert=True)]
        return np.union1d(chosen, others[: max(self.size - len(chosen), 0)])


def _as_rows(X: Any) -> Rows:
    return as_rows(X if isinstance(X, Rows) or hasattr(X, "dtype") else np.asarray(X))


def _as_row_numbers(rows: Any) -> IntArray:
    return np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)


def contains_all(rows: IntArray, others: npt.ArrayLike) -> bool:
    """Return True if an ascending array contains all of the other rows."""
    wanted = np.asarray(others, dtype=np.int64)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return bool((rows[at] == wanted).all())


def check_data(X: Any, pool: Any) -> tuple[Any, Pool | None]:
    """Return the rows, as an array without a pool, and the pool if one is used.

    With "auto" this depends only on the number of rows; a small file is read into memory.
    """
    if pool is not None and pool != "auto" and not isinstance(pool, Pool):
        raise TypeError(f"Interview: pool must be a Pool, 'auto' or None, got {pool!r}.")
    if is_distributed(X) or (isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"):
        X = as_rows(X)
    if not isinstance(X, Rows):
        X = check_rows(X)
        if pool is None or (pool == "auto" and len(X) <= LARGE):
            return X, None
        return as_rows(X), Pool() if pool == "auto" else pool
    if not len(X) or not X.shape[1]:
        raise ValueError(
            f"Interview: X has {len(X)} rows and {X.shape[1]} columns; expected at least one of each."
        )
    check_finite(X, "Interview")
    if len(X) > LARGE and pool is None:
        raise ValueError(
            f"Interview: pool=None needs all rows in memory, but X is a {type(X).__name__} of {len(X):,} "
            "rows. Pass an array, or leave pool out."
        )
    if pool is None or (pool == "auto" and len(X) <= LARGE):
        return check_rows(np.concatenate(list(X.map(attrgetter("X"))))), None
    return X, Pool() if pool == "auto" else pool


# ---------------------------------------------------------------------- the sample


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
        nearest = pairwise_distances_argmin(X, self.X)
        places = np.concatenate([nearest, self.neighbors[nearest].T.ravel()])
        _, first = np.unique(places, return_index=True)
        return np.asarray(self.rows[places[np.sort(first)]])


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
    return np.lexsort((drawn, key))


# ---------------------------------------------------------------------- ambiguous rows


# The clusters of a pair are encoded as one number. The margin of a row is the difference of its distances to
# the two clusters, divided by their sum.
_AMBIGUOUS = np.dtype([("row", np.int64), ("pair", np.int64), ("margin", np.float64)])


def find_sites(X: npt.NDArray[Any], labels: IntArray, random_state: int) -> tuple[npt.NDArray[Any], IntArray]:
    """Find a few centres of the rows of each cluster by k-means.

    Returns the points, one per column, and the cluster of each, ascending.
    """
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
    return np.ascontiguousarray(np.concatenate(points).T), np.concatenate(owners)


def _keep_smallest_margins(found: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Keep the rows with the smallest margins of each pair of clusters; ties go to the first row."""
    found = found[np.lexsort((found["row"], found["margin"], found["pair"]))]
    return np.asarray(found[_rank_within_groups(found["pair"]) < most])


def _rank_within_groups(groups: IntArray) -> IntArray:
    """Return the position of each entry within its group, from 0; groups must be consecutive."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def _find_in_block(
    sites: npt.NDArray[Any], cluster: IntArray, most: int, step: int, block: Block
) -> npt.NDArray[Any]:
    """Return the most ambiguous rows of a block for each pair of clusters.

    Only rows whose number is a multiple of `step` are considered.
    """
    from likewise.kernels.assign import two_nearest_groups

    start = -block.rows.start % step
    X = np.ascontiguousarray(block.X[start::step])
    n = len(X)
    first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    near, far = np.empty(n), np.empty(n)
    two_nearest_groups(X, sites.astype(X.dtype, copy=False), cluster, first, second, near, far)
    np.sqrt(near, out=near)
    np.sqrt(far, out=far)
    between = np.flatnonzero((far - near <= _CLEAR * (far + near)) & (second >= 0))
    near, far, first, second = near[between], far[between], first[between], second[between]
    total = near + far
    found = np.empty(len(between), dtype=_AMBIGUOUS)
    found["row"] = block.rows.start + start + step * between
    found["pair"] = np.minimum(first, second) * (int(cluster[-1]) + 1) + np.maximum(first, second)
    found["margin"] = np.divide(far - near, total, out=np.zeros(len(total)), where=total > 0)
    return _keep_smallest_margins(found, most)


def find_ambiguous_rows(
    rows: Rows, sites: npt.NDArray[Any], cluster: IntArray, model: Any, wanted: int
) -> IntArray:
    """Return up to `wanted` ambiguous rows, equally many for each pair of clusters, ascending.

    The cost is one pass over the rows. The result does not depend on the blocks, because the margin of a row
    depends on that row only, and ties go to the lower row number.
    """
    n_clusters = len(np.unique(cluster))
    if n_clusters < 2 or wanted < 1:
        return np.empty(0, dtype=np.int64)
    most = max(_LEAST, -(-_OVER * wanted // (n_clusters * (n_clusters - 1) // 2)))
    step = -(-len(rows) // _LOOKED_AT)
    rows.threads = get_n_threads(rows.shape[0] // step * sites.size, None)
    found = np.empty(0, dtype=_AMBIGUOUS)
    for part in rows.map(partial(_find_in_block, sites, cluster, most, step)):
        found = _keep_smallest_margins(np.concatenate([found, part]), most)
    if len(found):
        found = found[np.argsort(found["row"])]
        margin = compute_margins(model, rows.take(np.ascontiguousarray(found["row"])))
        found["margin"] = found["margin"] if margin is None else margin
        found = _keep_smallest_margins(found, len(found))
    # One row of each pair of clusters, then the next row of each, and so on.
    turn = np.lexsort((found["row"], found["margin"], _rank_within_groups(found["pair"])))[:wanted]
    return np.sort(found["row"][turn])


def compute_margins(model: Any, X: npt.NDArray[Any]) -> FloatArray | None:
    """Return the margin between the two best clusters of each row by the model; None if it has no scores."""
    if hasattr(model, "predict_proba"):
        chances = np.sort(np.asarray(model.predict_proba(X), dtype=np.float64), axis=1)
        return chances[:, -1] - chances[:, -2] if chances.shape[1] > 1 else None
    if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
        near, far = np.partition(np.asarray(model.transform(X), dtype=np.float64), 1, axis=1)[:, :2].T
        return np.asarray(np.divide(far - near, far + near, out=np.zeros(len(far)), where=far > 0))
    return None
