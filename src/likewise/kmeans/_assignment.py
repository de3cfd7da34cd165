"""The hook through which a member of the k-means family assigns hinted rows to clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from likewise._blocks import Rows
from likewise._hinted import HintedSubset
from likewise.kmeans._clusters import Metric, mean_squared_distance
from likewise.kmeans._loop import HintedPlacement
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise.kmeans._base import KMeansFamily


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """The argument of :meth:`KMeansFamily.assign_hinted_rows`: hinted rows and their cost in each cluster.

    Parameters
    ----------
    hints : Supervision
        The hints. Rows are numbered from 0 to n_hinted - 1; rows without hints are left out.
    costs : ndarray of shape (n_hinted, n_clusters)
        What each hinted row adds to the objective in each cluster: its squared distance to the centre,
        multiplied by its sample weight.
    previous : ndarray of shape (n_hinted,) or None
        The cluster of each hinted row in the previous iteration; None in the first iteration.
    _rows : AssignedRows
        Private. The source of `scale`.

    Examples
    --------
    A member of the family that keeps every labelled row in the cluster of its class, and prints what it is
    given in the first iteration:

    >>> from likewise import Supervision
    >>> from likewise.kmeans import KMeansFamily
    >>> class LabelKMeans(KMeansFamily):
    ...     supported_hints = frozenset({"labels"})
    ...
    ...     def assign_hinted_rows(self, problem):
    ...         if problem.previous is None:
    ...             print(problem.costs.shape, problem.hints.label_codes)
    ...         return problem.hints.label_codes
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_labels(["a", None, "a", "b"])
    >>> LabelKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit(X, supervision=hints).labels_.tolist()
    (3, 2) [0 0 1]
    [0, 0, 0, 1]
    """

    hints: Supervision
    costs: np.ndarray
    previous: np.ndarray | None
    _rows: AssignedRows = field(repr=False)

    @property
    def scale(self) -> float:
        """The mean squared distance between two rows of X, in the unit of `costs`.

        A penalty of ``weight * scale`` means the same in any unit of the columns.
        """
        return self._rows.scale


class AssignedRows:
    """The hinted rows of a member that assigns them with its own `assign_hinted_rows`."""

    def __init__(self, member: KMeansFamily, X: Rows, named: HintedSubset) -> None:
        self.rows, self.X, self.weight = named.rows, np.asarray(named.X, dtype=np.float64), named.weight
        self._member, self._all_rows, self._hints = member, X, named.hints
        # A row of weight 0 still goes to its nearest cluster if its hints allow it.
        self._positive_weight = np.maximum(self.weight, 1e-12 * X.heaviest)

    @cached_property
    def scale(self) -> float:
        """The mean squared distance between two rows, multiplied by the unit of the row weights."""
        return mean_squared_distance(self._all_rows) * self._member._weight_unit

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> HintedPlacement:
        """Assign the rows and compute their contribution to the objective."""
        costs = metric.compute_costs(self.X, centers)
        problem = AssignmentProblem(self._hints, costs * self._positive_weight[:, None], previous, self)
        labels = self._check_labels(self._member.assign_hinted_rows(problem), len(centers))
        energy = float(self.weight @ costs[np.arange(len(labels)), labels])
        energy += self._member.compute_penalty(labels, problem)
        return HintedPlacement(labels, energy, costs.argmin(axis=1))

    def _check_labels(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        labels = np.asarray(labels)
        if (
            labels.shape != self.rows.shape
            or labels.dtype.kind not in "iu"
            or not ((labels >= 0) & (labels < n_clusters)).all()
        ):
            raise ValueError(
                f"{type(self._member).__name__}.assign_hinted_rows must return one integer from 0 to "
                f"{n_clusters - 1} for each of the {len(self.rows)} hinted rows; got {labels!r}."
            )
        return labels.astype(np.int64)

    def get_units(self) -> np.ndarray:
        """Return -1 for each row: a hinted row is never moved to fill an empty cluster."""
        return np.full(len(self.rows), -1)
