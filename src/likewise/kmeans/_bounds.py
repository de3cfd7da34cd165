"""Bounds on the distances between rows and centres, so that most rows need not be compared with all centres.

In the manner of Hamerly (2010): for each row, an upper bound on the distance to its own centre and a lower
bound on the distance to every other centre. When centres move, the bounds change by at most the distances
that they moved. A row whose bounds stay apart keeps its label. The labels are those of a full comparison:
the bounds allow for the rounding errors of both.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import row_norms

from likewise.backends import Block, Rows, get_scratch
from likewise.kmeans._loop import ClusterStats, FixedLabels


class DistanceBounds:
    """The bounds of all rows under the Euclidean metric, for rows in this process.

    Parameters
    ----------
    X : Rows
        The rows.
    """

    def __init__(self, X: Rows) -> None:
        n = X.shape[0]
        self._upper, self._lower = np.full(n, np.inf), np.zeros(n)
        self._squares = np.full(n, -1.0)  # squared lengths of the rows; -1 if not yet computed
        self._centers: np.ndarray | None = None
        # The error of a product of d numbers in blocks of at least 8, relative to their lengths.
        self._rounding = 2 * float(np.finfo(X.dtype).eps) * (16 + X.shape[1] / 8)

    def forget(self, rows: np.ndarray) -> None:
        """Forget the bounds of rows whose labels were not chosen by distance."""
        self._upper[rows] = np.inf

    def move(self, centers: np.ndarray) -> None:
        """Set the centres of the next pass. The bounds change with each block that is assigned."""
        k = len(centers)
        before, self._centers = centers if self._centers is None else self._centers, centers
        shift = np.sqrt(row_norms(centers - before, squared=True))
        farthest = int(shift.argmax())
        other_shift = np.full(k, shift[farthest])
        other_shift[farthest] = np.delete(shift, farthest).max(initial=0.0)
        squares = row_norms(centers, squared=True)
        self._reach = float(squares.max())
        apart = squares[:, None] + squares - 2.0 * (centers @ centers.T)
        np.fill_diagonal(apart, np.inf)
        gap = np.sqrt(np.maximum(apart.min(axis=1) - 1e-12 * self._reach, 0.0))
        self._moves = np.stack([shift, other_shift, gap])
        self._W, self._b = -2.0 * centers, squares
        if k % 2:  # the kernel takes clusters two at a time
            self._W, self._b = np.vstack([self._W, np.zeros(centers.shape[1])]), np.append(squares, np.inf)

    def assign(
        self, block: Block, weight: np.ndarray, fixed: FixedLabels, labels: np.ndarray
    ) -> ClusterStats:
        """Update the labels of a block to the nearest clusters, and return the statistics of the clusters.

        `labels` are the labels of the previous pass. `fixed` rows get their fixed labels.
        """
        from likewise.kernels import assign

        here, X, k = block.rows, block.X, len(self._moves[0])
        upper, lower, squares = self._upper[here], self._lower[here], self._squares[here]
        W, b = self._W.astype(X.dtype), self._b.astype(X.dtype)
        if len(X) and squares[0] < 0:
            squares[...] = row_norms(X, squared=True)
        is_open = get_scratch("is_open", labels.shape, np.bool_)
        at, given = fixed.restrict_to_block(here)
        labels[at] = given
        error = (self._rounding, self._reach)
        assign.update_bounds(X, squares, W, b, labels, self._moves, *error, upper, lower, is_open)
        is_open[at] = False
        rows = np.flatnonzero(is_open)
        if len(rows):
            found = get_scratch("found", rows.shape, np.int32)
            near, far = (get_scratch(name, rows.shape, X.dtype) for name in ("near", "far"))
            assign.two_nearest_linear(X, rows, W, b, found, near, far)
            labels[rows] = found
            slack = self._rounding * (squares[rows] + self._reach)
            upper[rows] = np.sqrt(np.maximum(near + squares[rows] + slack, 0.0))
            lower[rows] = np.sqrt(np.maximum(far + squares[rows] - slack, 0.0))
        sums, counts = np.zeros((k, X.shape[1])), np.zeros(k)
        assign.add_rows(X, weight, labels, sums, counts)
        return ClusterStats(counts, sums, None)
