"""What a fit of a mixture stands on: all rows, the ones that starts are tried on, and their first sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from likewise._blocks import ArrayRows, Block, Rows
from likewise._hinted import HintedSubset
from likewise.mixture._em import MixtureSteps, Relations, split_rows
from likewise.mixture._gaussian_components import ComponentMoments, Covariances


@dataclass(frozen=True, eq=False)
class FitData:
    """What a fit stands on.

    Attributes
    ----------
    rows, named
        All rows, and those that hints name.
    trial, trial_named
        The rows that starts are tried on, in memory, and the named ones among them: the same, or a sample
        in which every named row is.
    middle : ndarray of shape (d,)
        The mean of the rows.
    ridge : float
        What is added to variances.
    relations : callable or None
        Makes the relations anew for each start.
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
        """Return the steps over the rows that starts are tried on."""
        return MixtureSteps(
            self.trial, self.trial_named, self.relations and self.relations(), ridge=self.ridge
        )


def load_rows(rows: Rows) -> Rows:
    """Gather rows, if they are not in memory as they are."""
    if isinstance(rows, ArrayRows):
        return rows
    return ArrayRows(get_all_rows(rows), threads=rows.threads)


def get_all_rows(rows: Rows) -> np.ndarray:
    """Return all of few rows; those of one block are not copied."""
    return rows.read(rows.blocks[0]) if len(rows.blocks) == 1 else rows.take(np.arange(len(rows)))


def sum_block(block: Block) -> np.ndarray:
    """Return the sum of the rows of a block."""
    total: np.ndarray = block.X.sum(axis=0, dtype=np.float64)
    return total


def sum_squares_from(middle: np.ndarray, block: Block) -> np.ndarray:
    """Return the sum of the squares of the rows of a block, less the middle."""
    total: np.ndarray = np.square(np.subtract(block.X, middle, dtype=np.float64)).sum(axis=0)
    return total


def compute_moments(
    kind: Covariances, middle: np.ndarray, n_parts: int, X: np.ndarray, parts: np.ndarray
) -> ComponentMoments:
    """Add up rows whose components are known."""
    each = np.eye(n_parts)
    found = [
        kind.compute_moments(kind.prepare(X[rows], middle), each[parts[rows]])
        for rows in split_rows(X, kind, n_parts)
    ]
    return sum(found[1:], start=found[0])


def compute_nearest_moments(
    kind: Covariances, middle: np.ndarray, means: np.ndarray, block: Block
) -> ComponentMoments:
    """Add up the rows of a block, each in the component whose mean is the nearest."""
    parts = np.empty(0, dtype=np.int64)
    if len(block):
        parts = pairwise_distances_argmin(block.X, means.astype(block.X.dtype))
    return compute_moments(kind, middle, len(means), block.X, parts)
