"""Values that vary little between near rows: known in some places, passed along the graph elsewhere."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, cg

from likewise.spectral._affinity import Graph

_TOL = 1e-5
_STEPS = 500
# The influence of this many rows, and this many numbers of it, are kept; beyond, each column is solved for.
_MOST_ROWS = 1_500
_MOST_KEPT = 20_000_000
# Added to a unit diagonal: twins, rows that are like one another and no others, would make it singular.
_RIDGE = 1e-9


class Smoother:
    r"""Solves :math:`(D - (1-\gamma) W)\,x = b`, W being the weights of a graph and D their sums.

    Its solution for :math:`b = \gamma D p` is p, smoothed: the smallest
    :math:`(1-\gamma)\sum_{ij} w_{ij}(x_i - x_j)^2/2 + \gamma\sum_i d_i (x_i - p_i)^2`. The walk that it
    describes ends after some :math:`1/\gamma` steps. The conjugate gradients take one column at a time, so
    that a column is the same whatever else was solved for before.
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
        """Return the rows that a row has an edge to."""
        at = self._place[row]
        start, end = self._normal.indptr[at : at + 2]
        return np.asarray(self._order[self._normal.indices[start:end]])

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return columns of values, one for each row, smoothed."""
        right = self.gamma * self.degrees[:, None] * values
        return np.column_stack([self._solve(column) for column in right.T])

    def diffuse(self, values: np.ndarray, steps: int, power: float) -> np.ndarray:
        """Return what a few steps of the walk bring together.

        With power 0 each row gets the mean of its surroundings, with power 1 what flows to it.
        """
        scale = self._root ** (2 * power - 1)
        held = (values * scale)[self._order]
        for _ in range(steps):
            held = self._normal @ held
        return np.asarray(held[self._place] / scale)

    def has_influence(self, n_rows: int) -> bool:
        """Tell whether the influence of this many rows is kept, so that they can be held out cheaply."""
        return n_rows <= _MOST_ROWS and n_rows * self.n_samples <= _MOST_KEPT

    def interpolate(
        self, base: np.ndarray, rows: np.ndarray, values: np.ndarray, noise: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `base`, smooth columns, changed as smoothly as can be so that `rows` have `values`.

        With `noise`, a variance for each row relative to that of the field there, rows come near to their
        values only as far as their surroundings agree. It needs `has_influence`.
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
        """Return the value that `interpolate` gives each of `rows` when the row itself is left out.

        For all rows at once: with K the covariance of the rows, the value left out is
        ``values - (K^-1 missing) / diag(K^-1)`` (Dubrule 1983).
        """
        _, unit, root = self._compute_influence(rows)
        unit[np.diag_indices(len(rows))] += _RIDGE
        inverse = np.linalg.inv(unit)
        missing = (values - base[rows]) / root[:, None]
        away = (inverse @ missing) / np.diag(inverse)[:, None]
        return np.asarray(values - away * root[:, None])

    def _compute_influence(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the influence of rows as columns, their correlation where they meet, and their scales.

        The correlation is symmetric but for rounding. Influences are copied as rows of memory, which is
        quicker.
        """
        influence = np.stack([self._compute_column(row) for row in rows.tolist()]).T
        own = influence[rows]
        root = np.sqrt(np.diag(own))
        return influence, (own + own.T) / (2 * np.outer(root, root)), root

    def _compute_column(self, row: int) -> np.ndarray:
        """Return how strongly each row feels what happens at one row: a column of the inverse."""
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
        """Solve (I - (1-gamma) N) x = right by conjugate gradients; where `free` is 0, x stays 0."""
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

    Rows with as many neighbours as one another come together, so that the processor foresees where each sum
    ends, and near ones among them together, so that it finds what they share at hand.
    """
    near = np.argsort(reverse_cuthill_mckee(graph, symmetric_mode=True))
    return np.lexsort((near, np.diff(graph.indptr)))
