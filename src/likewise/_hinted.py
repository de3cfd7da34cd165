"""The rows that hints name: gathered once, so that what is said of few rows costs what few rows cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise._blocks import Rows
from likewise.evaluation import Satisfaction, link_satisfaction
from likewise.supervision import Closure, Supervision


@dataclass(frozen=True, eq=False)
class HintedSubset:
    """The rows that hints name, and what is said of them.

    Attributes
    ----------
    rows : ndarray
        Which rows they are, ascending.
    hints : Supervision
        What is said of these rows alone, numbered from 0.
    closure : Closure
        What follows from that.
    X, weight : ndarray
        The rows themselves and their weights.
    """

    rows: np.ndarray
    hints: Supervision
    closure: Closure
    X: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_data(cls, X: Rows, rows: np.ndarray, hints: Supervision, closure: Closure) -> HintedSubset:
        """Gather the rows."""
        return cls(rows, hints, closure, X.take(rows), X.get_weights(rows))

    @classmethod
    def empty(cls, X: Rows) -> HintedSubset:
        """Return no rows."""
        hints = Supervision.empty(1)
        return cls.from_data(X, np.empty(0, dtype=np.int64), hints, hints.closure())

    def transform(self, X: Rows) -> HintedSubset:
        """Return the same for rows in another space."""
        return replace(self, X=X.take(self.rows))

    def compute_satisfaction(self, labels: np.ndarray) -> Satisfaction:
        """Return which links the labels of these rows keep."""
        if not len(self.rows):  # the hints then speak of one row, and say nothing
            labels = np.zeros(1, dtype=np.int32)
        return link_satisfaction(labels, self.hints).renumber(self.rows)
