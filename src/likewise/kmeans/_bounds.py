"""Bounds on the distances between rows and centres, so that most rows need not be compared with all centres.

In the manner of Hamerly (2010): for each row, an upper bound on the distance to its own centre and a lower
bound on the distance to every other centre. When centres move, the bounds change by at most the distances
that they moved. A row whose bounds stay apart keeps its label. The labels are those of a full comparison:
the bounds allow for the rounding errors of both.

After some iterations most centres hardly move, but a few still do. A single lower bound must fall by the
longest move of any centre. So rows are compared with the few centres that moved farthest, the fast centres,
and the bound falls only by the longest move of the others.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import row_norms

from likewise.backends import Block, Rows, get_scratch
from likewise.kmeans._loop import ClusterStats, FixedLabels, choose_lowest

# The number of fast centres is 0 or k divided by one of these, by the bounds of about this many sampled rows.
_DIVISORS = (64, 32, 16, 8, 4)
_SAMPLE_SIZE = 4096


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
        self._fast = self._choose_fast_centers(shift)
        squares = row_norms(centers, squared=True)
        self._reach = float(squares.max())
        apart = squares[:, None] + squares - 2.0 * (centers @ centers.T)
        np.fill_diagonal(apart, np.inf)
        gap = np.sqrt(np.maximum(apart.min(axis=1) - 1e-12 * self._reach, 0.0))
        slow_shift = shift.copy()
        slow_shift[self._fast] = 0.0
        self._moves = np.stack([shift, _find_longest_other(shift), _find_longest_other(slow_shift), gap])
        self._W, self._b = -2.0 * centers, squares
        if k % 2:  # the kernel takes clusters two at a time
            self._W, self._b = np.vstack([self._W, np.zeros(centers.shape[1])]), np.append(squares, np.inf)

    def assign(
        self, block: Block, weight: np.ndarray, fixed: FixedLabels, labels: np.ndarray, tie: float = 0.0
    ) -> ClusterStats:
        """Update the labels of a block to the nearest clusters, and return the statistics of the clusters.

        `labels` are the labels of the previous pass. `fixed` rows get their fixed labels. `tie` is that of
        :func:`~likewise.kmeans._loop.choose_lowest`.
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
        is_open[at] = False  # their lower bounds do not cover the fast centres: `forget` before the next pass
        rows = np.flatnonzero(is_open)

        def find_two_nearest(rows: np.ndarray, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
            """Return the nearest centre, bounds on its distance, and a lower bound on the others."""
            found = get_scratch("found", rows.shape, np.int32)
            near, far = (get_scratch(name, rows.shape, X.dtype) for name in ("near", "far"))
            assign.two_nearest_linear(X, rows, W, b, found, near, far)
            slack = self._rounding * (squares[rows] + self._reach)
            near, far = near + squares[rows], far + squares[rows]
            bounds = near + slack, near - slack, far - slack
            return found, *(np.sqrt(np.maximum(bound, 0.0)) for bound in bounds)

        def is_apart(rows: np.ndarray) -> np.ndarray:
            slack = self._rounding * (squares[rows] + self._reach)
            bound, own = lower[rows], np.minimum(upper[rows], np.finfo(np.float64).max ** 0.5)
            return (bound > own) & (np.square(bound) - np.square(own) > 2 * slack)

        if len(self._fast) and len(rows):
            settled = rows[is_apart(rows)]
            if len(settled):
                found, _, near, far = find_two_nearest(settled, W[self._fast], b[self._fast])
                others = np.where(self._fast[found] == labels[settled], far, near)
                lower[settled] = np.minimum(lower[settled], others)
                is_open[settled[is_apart(settled)]] = False
                rows = np.flatnonzero(is_open)
        if len(rows):
            labels[rows], upper[rows], near, lower[rows] = find_two_nearest(rows, W, b)
            slack = tie * (squares[rows] + self._reach)
            tied = rows[np.square(lower[rows]) - np.square(near) <= slack] if tie else rows[:0]
            if len(tied):
                labels[tied] = choose_lowest(X[tied] @ W[:k].T + b[:k], X[tied], b[:k], tie)
                upper[tied] = np.inf  # the chosen centre may not be the nearest: compute the bounds again
        sums, counts = np.zeros((k, X.shape[1])), np.zeros(k)
        assign.add_rows(X, weight, labels, sums, counts)
        return ClusterStats(counts, sums, None)

    def _choose_fast_centers(self, shift: np.ndarray) -> np.ndarray:
        """Return the fast centres, of which there may be none.

        Their number minimises the expected number of comparisons, by the bounds of a sample of the rows.
        """
        k, step = len(shift), max(1, len(self._upper) // _SAMPLE_SIZE)
        margin = self._lower[::step] - self._upper[::step]
        margin = np.sort(margin[np.isfinite(margin)])
        if not len(margin):
            return np.empty(0, dtype=np.int64)
        order = np.argsort(-shift, kind="stable")
        sizes = [0, *(size for divisor in _DIVISORS if (size := k // divisor // 2 * 2))]
        n_open = np.searchsorted(margin, shift[order[sizes]])
        cost = (n_open[0] - n_open) * (np.array(sizes) / k) + n_open
        return np.sort(order[: sizes[int(cost.argmin())]])


def _find_longest_other(shift: np.ndarray) -> np.ndarray:
    """Return, for each centre, the longest move of any other centre."""
    farthest = int(shift.argmax())
    longest = np.full(len(shift), shift[farthest])
    longest[farthest] = np.delete(shift, farthest).max(initial=0.0)
    return longest
