"""The data of a mixture fit: all rows, the rows on which starts are tried, and their moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from likewise._blocks import ArrayRows, Block, Rows
from likewise.mixture._em import MixtureSteps, Relations, split_rows
from likewise.mixture._gaussian_components import ComponentMoments, Covariances
from likewise.seeding import HintedSubset


@dataclass(frozen=True, eq=False)
class FitData:
    """The data of a fit.

    Attributes
    ----------
    rows, named
        All rows, and the hinted rows.
    trial, trial_named
        The rows on which starts are tried, and the hinted rows among them: all rows, or a sample in memory
        that includes every hinted row.
    middle : ndarray of shape (d,)
        The mean of the rows.
    ridge : float
        The constant that is added to variances.
    relations : callable or None
        Makes new relations for each start.
    """

    rows: Rows
    named: HintedSubset
    trial: Rows
    trial_named: HintedSubset
    middle: np.ndarray
    ridge: float
    relations: Callable[[], Relations] | None

    @property
    def sampled(self) -> bool:
        """Whether starts are tried on a sample."""
        return self.trial is not self.rows

    def make_steps(self) -> MixtureSteps:
        """Return the steps over all rows."""
        return MixtureSteps(self.rows, self.named, self.relations and self.relations(), ridge=self.ridge)

    def make_trial_steps(self) -> MixtureSteps:
        """Return the steps over the rows on which starts are tried."""
        return MixtureSteps(
            self.trial, self.trial_named, self.relations and self.relations(), ridge=self.ridge
        )


def load_rows(rows: Rows) -> Rows:
    """Return the rows in memory."""
    if isinstance(rows, ArrayRows):
        return rows
    return ArrayRows(get_all_rows(rows), threads=rows.threads)


def get_all_rows(rows: Rows) -> np.ndarray:
    """Return all rows as one array; a single block is not copied."""
    return rows.read(rows.blocks[0]) if len(rows.blocks) == 1 else rows.take(np.arange(len(rows)))


def sum_block(block: Block) -> np.ndarray:
    """Return the sum of the rows of a block."""
    total: np.ndarray = block.X.sum(axis=0, dtype=np.float64)
    return total


def sum_squares_from(middle: np.ndarray, block: Block) -> np.ndarray:
    """Return the column sums of the squared differences between the rows of a block and `middle`."""
    total: np.ndarray = np.square(np.subtract(block.X, middle, dtype=np.float64)).sum(axis=0)
    return total


def compute_moments(
    kind: Covariances, middle: np.ndarray, n_parts: int, X: np.ndarray, parts: np.ndarray
) -> ComponentMoments:
    """Return the moments of rows whose Gaussians are known."""
    each = np.eye(n_parts)
    found = [
        kind.compute_moments(kind.prepare(X[rows], middle), each[parts[rows]])
        for rows in split_rows(X, kind, n_parts)
    ]
    return sum(found[1:], start=found[0])


def compute_nearest_moments(
    kind: Covariances, middle: np.ndarray, means: np.ndarray, block: Block
) -> ComponentMoments:
    """Return the moments of the rows of a block, each assigned to the Gaussian with the nearest mean."""
    parts = np.empty(0, dtype=np.int64)
    if len(block):
        parts = pairwise_distances_argmin(block.X, means.astype(block.X.dtype))
    return compute_moments(kind, middle, len(means), block.X, parts)
