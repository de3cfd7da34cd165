"""The hinted rows of a data set, gathered once, so that work on hints scales with their number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise._blocks import Rows
from likewise.evaluation import Satisfaction, link_satisfaction
from likewise.supervision import Closure, Supervision


@dataclass(frozen=True, eq=False)
class HintedSubset:
    """The hinted rows and the hints about them.

    Attributes
    ----------
    rows : ndarray
        The row numbers, sorted.
    hints : Supervision
        The hints, with these rows numbered from 0.
    closure : Closure
        The closure of the hints.
    X, weight : ndarray
        The rows and their weights.
    """

    rows: np.ndarray
    hints: Supervision
    closure: Closure
    X: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_data(cls, X: Rows, rows: np.ndarray, hints: Supervision, closure: Closure) -> HintedSubset:
        """Take the hinted rows and their weights from X."""
        return cls(rows, hints, closure, X.take(rows), X.get_weights(rows))

    @classmethod
    def empty(cls, X: Rows) -> HintedSubset:
        """Return a subset without rows and hints."""
        hints = Supervision.empty(1)
        return cls.from_data(X, np.empty(0, dtype=np.int64), hints, hints.closure())

    def transform(self, X: Rows) -> HintedSubset:
        """Return the subset with rows taken from X, which has the same rows in another space."""
        return replace(self, X=X.take(self.rows))

    def compute_satisfaction(self, labels: np.ndarray) -> Satisfaction:
        """Return which links the labels of these rows satisfy."""
        if not len(self.rows):  # `hints` is then empty and has one row
            labels = np.zeros(1, dtype=np.int32)
        return link_satisfaction(labels, self.hints).renumber(self.rows)
