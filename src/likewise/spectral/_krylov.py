"""Building blocks of eigensolvers: a growing basis, a Lanczos run, a Chebyshev filter."""

from __future__ import annotations

import numpy as np


class CountingOperator:
    """An operator that counts its matrix-vector products."""

    def __init__(self, operator):
        self.operator, self.shape, self.n_products = operator, operator.shape, 0

    def __matmul__(self, block):
        self.n_products += 1 if block.ndim == 1 else block.shape[1]
        return self.operator._matmat(block)


class Basis:
    """Orthonormal columns and their images under an operator, with a fixed maximum number of columns."""

    def __init__(self, counted, room):
        n = counted.shape[0]
        self.counted, self.room, self.size = counted, min(room, n), 0
        self.columns = np.empty((n, self.room), order="F")
        self.images = np.empty((n, self.room), order="F")
        self.inner = np.zeros((self.room, self.room))

    def compute_ritz(self, k):
        """Return the k leading Ritz values, their vectors and their residuals."""
        m = self.size
        values, turn = np.linalg.eigh(self.inner[:m, :m])
        self._values, self._turn = values[::-1], turn[:, ::-1]
        turn = self._turn[:, :k]
        vectors = self.columns[:, :m] @ turn
        return self._values[:k], vectors, self.images[:, :m] @ turn - vectors * self._values[:k]

    def expand(self, block, depth, inverse=None) -> int:
        """Append `block` and its repeated images, `depth` blocks in all; return the number of new columns."""
        before, overlap = self.size, None
        for _ in range(depth):
            low = self.size
            if not block.shape[1] or not self.add(block, overlap):
                break
            if inverse is None:
                block, overlap = self.images[:, low : self.size], self.inner[: self.size, low : self.size]
            else:
                block = inverse @ self.columns[:, low : self.size]
        return self.size - before

    def add(self, block, overlap=None) -> int:
        """Append the part of `block` outside the span of the basis; return the number of new columns.

        `overlap` is ``columns.T @ block`` if it is known.
        """
        low = self.size
        old = self.columns[:, :low]
        for _ in range(2):
            sizes = np.linalg.norm(block, axis=0)
            block = block - old @ (old.T @ block if overlap is None else overlap)
            overlap = None
            sizes[sizes == 0.0] = 1.0
            squares, turn = np.linalg.eigh((block.T @ block) / np.outer(sizes, sizes))
            kept = squares > 1e-12
            block = block @ (turn[:, kept] / np.sqrt(squares[kept]) / sizes[:, None])
            if squares.min(initial=1.0) > 0.5:
                break  # little cancellation, so the rest is as orthogonal as the basis
        high = min(low + block.shape[1], self.room)
        block = block[:, block.shape[1] - (high - low) :]  # the last columns are the least dependent
        if high > low:
            self.columns[:, low:high] = block
            self.images[:, low:high] = self.counted @ block
            mixed = self.columns[:, :high].T @ self.images[:, low:high]
            self.inner[:high, low:high] = mixed
            self.inner[low:high, :high] = mixed.T
            self.size = high
        return high - low

    def make_room(self, wanted, keep):
        """Keep only the `keep` leading Ritz vectors if there is no room for `wanted` more columns."""
        keep = min(keep, self.size)
        if self.size + wanted <= self.room:
            return
        turn = self._turn[:, :keep]
        self.columns[:, :keep] = self.columns[:, : self.size] @ turn
        self.images[:, :keep] = self.images[:, : self.size] @ turn
        self.inner[:keep, :keep] = np.diag(self._values[:keep])
        self.size = keep


def compute_basis(block, least):
    """Return the left singular vectors of `block` with singular values above `least`."""
    squares, turn = np.linalg.eigh(block.T @ block)
    kept = squares > max(least, 0.0) ** 2
    return block @ (turn[:, kept] / np.sqrt(squares[kept]))


def run_lanczos(counted, outside_of, steps, rng):
    """Return Ritz values, ascending, and vectors of a Krylov space orthogonal to the given columns."""
    n = counted.shape[0]
    fixed = 0 if outside_of is None else outside_of.shape[1]
    columns = np.empty((n, fixed + steps), order="F")
    if fixed:
        columns[:, :fixed] = outside_of
    inner = np.zeros((steps, steps))
    vector = rng.standard_normal(n)
    vector += counted.operator.apply_terms(vector)  # missed eigenvectors are likely to come from the terms
    vector -= columns[:, :fixed] @ (columns[:, :fixed].T @ vector)
    size, first = np.linalg.norm(vector), np.sqrt(n)
    done = 0
    while done < steps and size > 1e-10 * first:
        m = fixed + done + 1
        columns[:, m - 1] = vector / size
        vector = counted @ columns[:, m - 1]
        first = max(np.linalg.norm(vector), 1e-300)
        parts = columns[:, :m].T @ vector
        vector -= columns[:, :m] @ parts
        inner[: done + 1, done] = parts[fixed:]
        size = np.linalg.norm(vector)
        done += 1
    values, turn = np.linalg.eigh(inner[:done, :done], UPLO="U")
    return values, columns[:, fixed : fixed + done] @ turn


def compute_damped_interval(low, cut):
    """Return the centre and half-width of the interval that a filter damps, or None if it is a point."""
    low -= 0.05 * (cut - low)  # the smallest Ritz value is above the smallest eigenvalue
    half = (cut - low) / 2
    return ((cut + low) / 2, half) if half > 1e-12 * max(abs(cut), abs(low)) else None


def filter_degree(value, interval, gain) -> int:
    """Return the degree at which the filter amplifies the eigenvector of `value` about `gain` times."""
    centre, half = interval
    x = (value - centre) / half
    return max(1, int(np.arccosh(gain) / np.arccosh(x))) if x > 1 + 1e-9 else 1000


def apply_chebyshev_filter(counted, block, interval, degree):
    """Return T(S) @ block for the Chebyshev polynomial T with |T| at most 1 on the interval."""
    centre, half = interval
    old, new = block, ((counted @ block) - centre * block) / half
    for _ in range(degree - 1):
        after = counted @ new
        after -= centre * new
        after *= 2.0 / half
        after -= old
        old, new = new, after
    return new
