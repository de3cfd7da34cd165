"""Products of a large sparse graph with many columns at once, in single precision."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from likewise.backends.neighbors import EXACT_ROWS

# Graphs with more rows are multiplied in single precision, by blocks of columns. Below, single columns in
# double precision are fast enough, and results do not change.
LARGE_GRAPH = EXACT_ROWS


class GraphBlocks:
    """A symmetric graph in single precision, with its rows in an order that keeps neighbours in the cache.

    All blocks have their rows in this order: ``block = columns[order]``, ``columns = block[place]``.
    """

    def __init__(self, graph: csr_array) -> None:
        self.order = reverse_cuthill_mckee(graph, symmetric_mode=True)
        self.place = np.argsort(self.order)
        ordered = csr_array(graph[self.order][:, self.order])
        ordered.sort_indices()
        self._indptr, self._indices = ordered.indptr, ordered.indices.astype(np.uint32)
        self._data = ordered.data.astype(np.float32)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.order)

    def multiply(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the product with a block of `WIDTH` columns."""
        from likewise.kernels.graph import multiply_block

        out = np.empty_like(block) if out is None else out
        multiply_block(self._indptr, self._indices, self._data, block, out)
        return out

    def solve(
        self, rights: np.ndarray, factor: float, *, fixed: np.ndarray | None = None, tol: float, max_iter: int
    ) -> np.ndarray:
        """Solve ``(I - factor * graph) x = right`` for each row of `rights` by conjugate gradients.

        Rows of the graph in the mask `fixed` stay 0. A column that has converged stays unchanged while
        others of its block are improved, so the result for a column does not depend on the others.
        """
        from likewise.kernels.graph import WIDTH, move_along, subtract_product, turn_direction

        found = np.empty_like(rights, dtype=np.float64)
        held = np.zeros(self.n_samples, dtype=bool) if fixed is None else fixed[self.order]
        inner, squares = np.empty(WIDTH), np.empty(WIDTH)
        for lo in range(0, len(rights), WIDTH):
            some = rights[lo : lo + WIDTH]
            residual = np.zeros((self.n_samples, WIDTH), dtype=np.float32)
            # Scaled to length 1, so that small columns keep their digits.
            lengths = np.linalg.norm(some, axis=1)
            lengths[lengths == 0] = 1.0
            residual[:, : len(some)] = (some.T / lengths)[self.order]
            solution, direction, image = np.zeros_like(residual), residual.copy(), np.empty_like(residual)
            before = np.einsum("nc,nc->c", residual, residual, dtype=np.float64)
            for _ in range(max_iter):
                active = before > tol**2
                if not active.any():
                    break
                self.multiply(direction, image)
                subtract_product(direction, np.float32(factor), held, image, inner)
                step = np.where(active & (inner > 0), before / np.where(inner > 0, inner, 1.0), 0.0)
                move_along(step.astype(np.float32), direction, image, solution, residual, squares)
                turn = np.where(active, squares / np.where(before > 0, before, 1.0), 0.0)
                turn_direction(turn.astype(np.float32), residual, direction)
                before = np.where(step > 0, squares, np.minimum(before, tol**2))
            found[lo : lo + WIDTH] = solution[self.place, : len(some)].T * lengths[:, None]
        return found
