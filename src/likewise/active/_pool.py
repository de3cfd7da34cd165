"""Candidates for questions about very many rows: few that speak for all, and those in doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._neighbors import Search
from likewise._rows import Rows, as_rows, drawn_rows
from likewise.active._doubt import Sites, rows_in_doubt
from likewise.active._survey import IntArray, Survey
from likewise.base import Rule, check_parameters, choice, integer, real

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

# With more rows than so many an interview looks at a pool of them: the first fit to all would take long.
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
    r"""Chooses among very many rows those that an interview looks at.

    At first it draws a `sample` and builds the graph of its near neighbours. From each row a walk goes to the
    nearest neighbour that lies denser, and on, until it ends at a peak of the density; the rows whose walks
    end at one peak are a region, and regions with many edges between them are joined. Of a region of s rows
    the pool takes a number that grows as :math:`\sqrt s`, the peak first, so that a small cluster has more
    rows in it than its share.

    Later, as answers come in, a part of the pool is made of rows in doubt. One pass over all rows finds those
    that lie nearly as far from two clusters; of these the model that was fitted to the answers says which it
    is least sure of, and of any two clusters as many are taken. Beside them come the drawn rows around them.
    Rows that hints name always stay.

    Parameters
    ----------
    size : int, default=5000
        How many rows a pool has, unless hints name more.
    sample : int, default=50000
        How many rows are drawn first.
    every : int, default=100
        After every so many answers the pool is chosen anew, with rows in doubt.
    doubtful : float, default=0.1
        The share of such a pool that is in doubt, half of it the rows themselves and half those around them.
        Many rows between clusters fill the gaps that the clusters are told apart by.
    n_neighbors : int, default=15
        How many neighbours of each row the graph has.
    neighbor_search : {"cells", "exact", "approximate"}, default="cells"
        How neighbours are found; "cells" is exact for up to 40,000 rows and goes cell by cell beyond,
        "approximate" uses pynndescent, from the extra ``likewise[scale]``.

    Notes
    -----
    The same rows give the same pool wherever they are and however they are cut into blocks. Costs: `sample`
    rows are read and compared; later one pass over all rows that compares each with 64 points. Memory: that
    of the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Pool
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(3960, 2)), rng.normal(size=(40, 2)) + 9.0]   # one in a hundred
    >>> rows = Pool(size=200).first(X, named=[7])
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
                f"Pool: size={self.size} rows cannot be chosen from a sample of {self.sample}. "
                "Draw a larger sample, or choose fewer."
            )

    def check_size(self, n_samples: int) -> None:
        """Refuse fewer rows than the pool is to have."""
        if self.size > n_samples:
            raise ValueError(
                f"Pool: a pool of size={self.size} cannot be chosen from {n_samples} rows. Choose a smaller "
                "one, or look at all rows: Interview(X, pool=None)."
            )

    def survey(self, X: MatrixLike, *, seed: int = 0) -> Survey:
        """Draw the sample and find its neighbours: what both other methods begin with, to be used again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows.
        seed : int, default=0
            Makes the draw repeatable.
        """
        rows = _as_rows(X)
        self.check_size(len(rows))
        drawn = drawn_rows(len(rows), self.sample, np.random.RandomState(seed % 2**32))
        return Survey.of(drawn, rows.take(drawn), self.n_neighbors, self.neighbor_search, seed % 2**31)

    def first(
        self, X: MatrixLike, *, named: Iterable[int] = (), seed: int = 0, survey: Survey | None = None
    ) -> IntArray:
        """Return the rows of a pool that knows no answers, ascending.

        Parameters
        ----------
        X : as :meth:`survey` takes it
            The rows.
        named : iterable of int
            Rows that hints name, which are always in the pool.
        seed : int, default=0
            Makes the draw repeatable.
        survey : Survey, optional
            What :meth:`survey` returned for these rows and this seed.
        """
        survey = self.survey(X, seed=seed) if survey is None else survey
        return self._filled(_numbers(named), survey)

    def refreshed(
        self,
        X: MatrixLike,
        among: Any,
        labels: Any,
        *,
        model: Any = None,
        named: Iterable[int] = (),
        seed: int = 0,
        survey: Survey | None = None,
    ) -> IntArray:
        """Return the rows of a pool that holds rows in doubt, ascending.

        Parameters
        ----------
        X : as :meth:`survey` takes it
            The rows.
        among : ndarray
            Which of them have labels, such as those of the pool before.
        labels : ndarray
            Their clusters, whole numbers from 0.
        model : estimator, optional
            The model that the labels come from. If it has `predict_proba`, or is of the k-means family, it
            says which rows it is least sure of; if not, distances do.
        named, seed, survey
            As :meth:`first` takes them.
        """
        rows = _as_rows(X)
        survey = self.survey(rows, seed=seed) if survey is None else survey
        sites = Sites.of(rows.take(_numbers(among)), np.asarray(labels), seed % 2**31)
        wanted = int(self.size * self.doubtful / 2)
        doubtful = rows_in_doubt(rows, sites, model, wanted)
        if not len(doubtful):
            return self._filled(_numbers(named), survey)
        around = survey.around(rows.take(doubtful))[:wanted]
        return self._filled(np.concatenate([_numbers(named), doubtful, around]), survey)

    def _filled(self, chosen: IntArray, survey: Survey) -> IntArray:
        """Return what was chosen and as many of the drawn rows as there is room for."""
        chosen = np.unique(chosen)
        ordered = survey.rows[survey.order]
        others = ordered[np.isin(ordered, chosen, invert=True)]
        filled: IntArray = np.union1d(chosen, others[: max(self.size - len(chosen), 0)])
        return filled


def _as_rows(X: Any) -> Rows:
    return as_rows(X if isinstance(X, Rows) or hasattr(X, "dtype") else np.asarray(X))


def _numbers(rows: Any) -> IntArray:
    return np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)


def inside(rows: IntArray, others: npt.ArrayLike) -> bool:
    """Tell whether all of these rows stand in an ascending array."""
    wanted = np.asarray(others, dtype=np.int64)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return bool((rows[at] == wanted).all())
