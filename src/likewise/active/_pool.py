"""Selection of the rows that an interview about very many rows considers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._blocks import Rows, as_rows, draw_rows
from likewise._neighbors import Search
from likewise.active._ambiguous_rows import ClusterSites, find_ambiguous_rows
from likewise.active._survey import IntArray, PoolSample
from likewise.base import Rule, check_parameters, choice, integer, real

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

# An interview about more rows uses a pool by default: fitting a model to all rows would take long.
LARGE = 100_000
_RULES: dict[str, Rule] = {
    "size": integer(2),
    "sample": integer(2),
    "every": integer(1),
    "doubtful": Rule("a number from 0 to 1", lambda v: real(0).holds(v) and v <= 1),
    "n_neighbors": integer(1),
    "neighbor_search": choice("cells", "exact", "approximate"),
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
        How neighbours are found. "cells" is exact for up to 40,000 rows and searches cell by cell beyond;
        "approximate" uses pynndescent, from the extra ``likewise[scale]``.

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
        sites = ClusterSites.from_clusters(
            rows.take(_as_row_numbers(among)), np.asarray(labels), random_state % 2**31
        )
        wanted = int(self.size * self.doubtful / 2)
        doubtful = find_ambiguous_rows(rows, sites, model, wanted)
        if not len(doubtful):
            return self._fill(_as_row_numbers(named), survey)
        around = survey.find_around(rows.take(doubtful))[:wanted]
        return self._fill(np.concatenate([_as_row_numbers(named), doubtful, around]), survey)

    def _fill(self, chosen: IntArray, survey: PoolSample) -> IntArray:
        """Return the chosen rows, filled up with sampled rows to the size of the pool."""
        chosen = np.unique(chosen)
        ordered = survey.rows[survey.order]
        others = ordered[np.isin(ordered, chosen, invert=True)]
        filled: IntArray = np.union1d(chosen, others[: max(self.size - len(chosen), 0)])
        return filled


def _as_rows(X: Any) -> Rows:
    return as_rows(X if isinstance(X, Rows) or hasattr(X, "dtype") else np.asarray(X))


def _as_row_numbers(rows: Any) -> IntArray:
    return np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)


def contains_all(rows: IntArray, others: npt.ArrayLike) -> bool:
    """Return True if an ascending array contains all of the other rows."""
    wanted = np.asarray(others, dtype=np.int64)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return bool((rows[at] == wanted).all())
