"""Smooth and interpolate values along a graph."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, cg

from likewise.spectral._affinity import Graph

_TOL = 1e-5
_STEPS = 500
# Up to this many rows, and this many numbers, columns of the inverse are stored; above, each is solved anew.
_MOST_ROWS = 1_500
_MOST_KEPT = 20_000_000
# Added to a unit diagonal: two rows that are only similar to each other would make the matrix singular.
_RIDGE = 1e-9


class Smoother:
    r"""Solver of :math:`(D - (1-\gamma) W)\,x = b` for the weights W and the degrees D of a graph.

    The solution for :math:`b = \gamma D p` is p smoothed along the graph: it minimises
    :math:`(1-\gamma)\sum_{ij} w_{ij}(x_i - x_j)^2/2 + \gamma\sum_i d_i (x_i - p_i)^2`. It corresponds to a
    random walk with restart of about :math:`1/\gamma` steps. Conjugate gradients solve one column at a time,
    so the result for a column does not depend on other columns.
    """

    def __init__(self, graph: Graph, gamma: float) -> None:
        self.gamma = gamma
        self.degrees: np.ndarray = graph.degrees
        self._root = 1.0 / np.sqrt(graph.degrees)
        scale = diags_array(self._root)
        normal = csr_array(scale @ csr_array(graph.weights) @ scale)
        self._order = _find_cache_order(normal)
        self._place = np.argsort(self._order)
        self._normal = csr_array(normal[self._order][:, self._order])
        self._influence: dict[int, np.ndarray] = {}

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.degrees)

    def get_neighbors(self, row: int) -> np.ndarray:
        """Return the neighbours of a row in the graph."""
        at = self._place[row]
        start, end = self._normal.indptr[at : at + 2]
        return np.asarray(self._order[self._normal.indices[start:end]])

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return the columns of `values`, smoothed along the graph."""
        right = self.gamma * self.degrees[:, None] * values
        return np.column_stack([self._solve(column) for column in right.T])

    def diffuse(self, values: np.ndarray, steps: int, power: float) -> np.ndarray:
        """Return the values after some steps of diffusion.

        With power 0 each row gets the mean of its surroundings, with power 1 the mass that flows to it.
        """
        scale = self._root ** (2 * power - 1)
        held = (values * scale)[self._order]
        for _ in range(steps):
            held = self._normal @ held
        return np.asarray(held[self._place] / scale)

    def has_influence(self, n_rows: int) -> bool:
        """Return True if columns of the inverse are stored for this many rows, so hold-out is cheap."""
        return n_rows <= _MOST_ROWS and n_rows * self.n_samples <= _MOST_KEPT

    def interpolate(
        self, base: np.ndarray, rows: np.ndarray, values: np.ndarray, noise: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the smooth columns `base` plus the smoothest change that gives `rows` their `values`.

        With `noise`, a variance per row relative to the variance of the field there, rows approach their
        values only as far as their surroundings agree. This requires `has_influence`.
        """
        if not len(rows):
            return base
        missing = values - base[rows]
        if not self.has_influence(len(rows)):
            changes = [self._extend_smoothly(rows, column) for column in missing.T]
            return base + np.column_stack(changes)
        influence, unit, root = self._compute_influence(rows)
        unit[np.diag_indices(len(rows))] += _RIDGE if noise is None else _RIDGE + noise
        factor = cho_factor(unit, overwrite_a=True, check_finite=False)
        weights = cho_solve(factor, missing / root[:, None], check_finite=False) / root[:, None]
        return np.asarray(base + influence @ weights)

    def hold_out(self, base: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the values that `interpolate` would give each of `rows` if that row were held out.

        With K the covariance of the rows, these are ``values - (K^-1 missing) / diag(K^-1)`` for all rows at
        once (Dubrule 1983).
        """
        _, unit, root = self._compute_influence(rows)
        unit[np.diag_indices(len(rows))] += _RIDGE
        inverse = np.linalg.inv(unit)
        missing = (values - base[rows]) / root[:, None]
        away = (inverse @ missing) / np.diag(inverse)[:, None]
        return np.asarray(values - away * root[:, None])

    def _compute_influence(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the columns of the inverse for `rows`, the correlation matrix of `rows`, and their scales.

        The correlation is made symmetric, which it is up to rounding. Columns are stacked as rows in memory,
        which is faster.
        """
        influence = np.stack([self._compute_column(row) for row in rows.tolist()]).T
        own = influence[rows]
        root = np.sqrt(np.diag(own))
        return influence, (own + own.T) / (2 * np.outer(root, root)), root

    def _compute_column(self, row: int) -> np.ndarray:
        """Return the column of the inverse for one row: its influence on every row."""
        if row not in self._influence:
            one = np.zeros(self.n_samples)
            one[row] = 1.0
            self._influence[row] = self._solve(one)
        return self._influence[row]

    def _extend_smoothly(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the smoothest change that has `values` at `rows`."""
        held = np.zeros(self.n_samples)
        held[rows] = values / self._root[rows]
        right = (1.0 - self.gamma) * (self._normal @ held[self._order])[self._place]
        free = np.ones(self.n_samples)
        free[rows] = 0.0
        found = self._solve_by_gradients(right * free, free)
        found[rows] = held[rows]
        return np.asarray(found * self._root)

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return self._solve_by_gradients(right * self._root, None) * self._root

    def _solve_by_gradients(self, right: np.ndarray, free: np.ndarray | None) -> np.ndarray:
        """Solve (I - (1-gamma) N) x = right by conjugate gradients; entries with `free` = 0 stay 0."""
        free = None if free is None else free[self._order]

        def multiply(x: np.ndarray) -> np.ndarray:
            change = self._normal @ x
            change *= self.gamma - 1.0
            change += x
            return change if free is None else change * free

        operator = LinearOperator(self._normal.shape, matvec=multiply, dtype=np.float64)
        found = cg(operator, right[self._order], rtol=_TOL, atol=0.0, maxiter=_STEPS)[0]
        return np.asarray(found[self._place])


def _find_cache_order(graph: csr_array) -> np.ndarray:
    """Return an order of the rows in which products with the graph take two thirds of the time.

    Rows are sorted by their number of neighbours, which helps branch prediction, and then by position in the
    graph, which improves cache locality.
    """
    near = np.argsort(reverse_cuthill_mckee(graph, symmetric_mode=True))
    return np.lexsort((near, np.diff(graph.indptr)))
