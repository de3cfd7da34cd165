"""Fits on batches of rows: drawing batches, patience, and the checks of `partial_fit`, for all families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from likewise.backends import Block, Rows
from likewise.base import HintedClusterer
from likewise.supervision import Supervision

# Number of batches drawn at a time, so that distant rows or scattered parts of a file are read less often.
AT_ONCE = 8


def draw_pools(
    draw: Callable[[int], np.ndarray],
    at_once: int,
    rng: np.random.RandomState,
    n_batches: int | None = None,
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Draw the rows of several batches at a time, without end or until there are `n_batches`.

    ``draw(n)`` returns the rows of n batches, ascending; they are divided among the batches at random.
    """
    left = np.inf if n_batches is None else n_batches
    while left > 0:
        n = int(max(1, min(at_once, left)))
        left -= n
        rows = draw(n)
        yield rows, np.array_split(rng.permutation(len(rows)), n)


def read_batches(
    rows: Rows,
    pools: Iterable[tuple[np.ndarray, list[np.ndarray]]],
    read: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows and weights of one batch after another.

    Several batches are read at once: a pool is an ascending array of row numbers, and the positions in it of
    the rows of each batch. The next pool is drawn when its first batch is requested. `read` returns the rows
    of a pool, ``rows.take`` by default.
    """
    for which, batches in pools:
        X, weight = (read or rows.take)(which), rows.get_weights(which)
        for at in batches:
            yield X[at], weight[at]


class Patience:
    """Decides when a fit on batches has converged: the objective has not risen for many batches.

    Parameters
    ----------
    n_batches : int or None
        The number of consecutive batches without a rise; None for no limit.
    tol : float
        The smallest change that counts as a rise, relative to the best value if `relative`.
    burn_in : int
        The first batches, which are not compared.
    """

    def __init__(self, n_batches: int | None, tol: float, *, burn_in: int, relative: bool = False) -> None:
        self._n_batches, self._tol, self._burn_in, self._relative = n_batches, tol, burn_in, relative
        self._best, self._stale, self._n_seen = -np.inf, 0, 0

    def is_exhausted(self, value: float) -> bool:
        """Take the objective after one more batch, and return whether the fit has converged."""
        self._n_seen += 1
        if self._n_seen <= self._burn_in or value > self._best + self._tol * (
            abs(self._best) if self._relative else 1.0
        ):
            self._best, self._stale = value, 0
        else:
            self._stale += 1
        return self._stale == self._n_batches


class BatchChecksMixin(HintedClusterer):
    """The checks of `partial_fit`."""

    n_iter_: int
    n_steps_: int
    n_rows_seen_: int

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"supervision": True}

    def _check_batch(self, X: Any, y: Any, supervision: Any, *, first: bool) -> tuple[Rows, Supervision]:
        """Validate the parameters, the rows of a batch and the hints about them."""
        self._check_parameters()
        rows = self._check_rows(X, reset=first)
        if not first:  # with `reset`, the rows have been checked
            self._check_largest(max(rows.map(_find_largest)), rows.dtype, len(rows) * rows.shape[1])
        hints = self._check_supervision(supervision, len(rows), y, given=X)
        self._check_n_clusters(self.n_clusters, max(len(rows), self.n_clusters), hints)
        return rows, hints


def _find_largest(block: Block) -> float:
    return float(np.abs(block.X).max(initial=0.0))
