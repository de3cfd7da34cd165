"""Weighted kernel k-means on a graph with links: batch steps with a shifted kernel, and single moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array, csr_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from likewise.spectral._operator import LowRank, SpectralOperator


@dataclass(frozen=True, eq=False)
class Association:
    r"""The objective :math:`\sum_c x_c^\top A x_c / m^\top x_c`, which is maximised.

    :math:`x_c` is the indicator vector of cluster c and m contains the masses of the rows. A is a graph, plus
    a rank-one term for each group of linked rows, plus a diagonal.

    Attributes
    ----------
    near : ndarray or csr_array of shape (n, n)
        The graph, symmetric.
    columns : csc_array of shape (n, n_groups)
        One column per group of linked rows.
    strengths : ndarray of shape (n_groups,)
        The factor of the outer product of each column.
    added : ndarray of shape (n,)
        The diagonal.
    mass : ndarray of shape (n,)
        Positive.
    """

    near: Any
    columns: csc_array
    strengths: np.ndarray
    added: np.ndarray
    mass: np.ndarray

    def multiply(self, block: np.ndarray) -> np.ndarray:
        """Return A times a block of columns."""
        found: np.ndarray = self.near @ block + self.added[:, None] * block
        if len(self.strengths):
            found += self.columns @ (self.strengths[:, None] * (self.columns.T @ block))
        return found

    @cached_property
    def own(self) -> np.ndarray:
        """The diagonal of A."""
        squares = csr_array(self.columns.power(2)) @ self.strengths if len(self.strengths) else 0.0
        found: np.ndarray = np.asarray(self.near.diagonal()) + self.added + squares
        return found

    @cached_property
    def _by_row(self) -> csr_array:
        return csr_array(self.columns)

    def merge_units(self, component: np.ndarray) -> Association:
        """Return the same objective over units: groups of rows that move together."""
        n, n_units = len(component), int(component.max()) + 1
        of = csr_array((np.ones(n), component, np.arange(n + 1)), shape=(n, n_units))
        near = of.T @ self.near @ of
        return Association(
            csr_array(near) if issparse(near) else np.asarray(near),
            csc_array(of.T @ self.columns),
            self.strengths,
            np.bincount(component, weights=self.added, minlength=n_units),
            np.bincount(component, weights=self.mass, minlength=n_units),
        )

    def bound_eigenvalues(self, rng: Any) -> float:
        """Return a lower bound of the eigenvalues of M^-1/2 A M^-1/2, where M = diag(m)."""
        operator = SpectralOperator(
            self.near, self.mass**-0.5, diagonal=self.added, terms=self._iterate_terms()
        )
        n = len(self.mass)
        if n <= 200:
            return float(eigh(operator.toarray(), eigvals_only=True, subset_by_index=(0, 0))[0])
        try:
            values, vectors = eigsh(
                operator, 1, which="SA", tol=1e-2, v0=rng.standard_normal(n), maxiter=50 * n
            )
        except ArpackNoConvergence:  # sums of absolute values are a loose bound (Gershgorin)
            sizes = abs(self.near).sum(axis=1) + abs(self.added)
            sizes = sizes + abs(self.columns) @ (np.abs(self.strengths) * abs(self.columns).sum(axis=0))
            return -float((sizes / self.mass).max())
        residual = operator @ vectors[:, 0] - values[0] * vectors[:, 0]
        return float(values[0] - np.linalg.norm(residual))

    def _iterate_terms(self) -> list[Any]:
        return [LowRank(self._by_row, self.strengths)] if len(self.strengths) else []

    # ------------------------------------------------------------------ optimisation

    def move_all(self, labels: np.ndarray, sums: Sums, shift: float) -> np.ndarray:
        """Return the labels after moving every row to the nearest mean in the space of the shifted kernel.

        The kernel is ``A[i, j] / (m_i m_j)`` plus ``shift / m_i`` on the diagonal. If it is positive
        definite, the objective never falls (Dhillon, Guan & Kulis 2007). No cluster becomes empty.
        """
        near = sums.compute_nearness(sums.linked, self.mass, shift)
        rows = np.arange(len(labels))
        near[rows, labels] += 2.0 * shift / sums.mass[labels]
        best = near.argmax(axis=1)
        here = near[rows, labels]
        moved = np.where(near[rows, best] > here + 1e-12 * np.abs(here), best, labels)
        for c in np.flatnonzero((np.bincount(moved, minlength=len(sums.sizes)) == 0) & (sums.sizes > 0)):
            left = np.flatnonzero(labels == c)
            # The row that would gain least from moving stays, which only shortens the step.
            moved[left[near[left, c].argmax()]] = c
        return moved

    def move_single_rows(self, labels: np.ndarray, sums: Sums) -> int:
        """Move single rows that raise the objective; update labels and sums; return the number of moves."""
        least = 1e-10 * (float(np.abs(sums.shares).sum()) + 1e-300)
        gains = sums.compute_gains(self, np.arange(len(labels)), labels).max(axis=1)
        candidates = np.flatnonzero(gains > least)
        n_moves = 0
        for i in candidates[np.argsort(-gains[candidates], kind="stable")]:
            here = labels[i]
            if sums.sizes[here] == 1:
                continue
            gain = sums.compute_gains(self, np.array([i]), labels[i : i + 1])[0]
            there = int(gain.argmax())
            if gain[there] > least:
                self._move(sums, int(i), int(here), there)
                labels[i] = there
                n_moves += 1
        return n_moves

    def _move(self, sums: Sums, i: int, here: int, there: int) -> None:
        """Update the sums after a row moves from cluster `here` to `there`."""
        own = self.own[i]
        sums.inner[here] += own - 2.0 * sums.linked[i, here]
        sums.inner[there] += own + 2.0 * sums.linked[i, there]
        for c, sign in ((here, -1), (there, 1)):
            sums.mass[c] += sign * self.mass[i]
            sums.sizes[c] += sign
            linked = sums.linked[:, c]
            if issparse(self.near):
                row = slice(self.near.indptr[i], self.near.indptr[i + 1])
                linked[self.near.indices[row]] += sign * self.near.data[row]
            else:
                linked += sign * self.near[i]
            linked[i] += sign * self.added[i]
            of_row = slice(self._by_row.indptr[i], self._by_row.indptr[i + 1])
            for t, times in zip(self._by_row.indices[of_row], self._by_row.data[of_row], strict=True):
                of_group = slice(self.columns.indptr[t], self.columns.indptr[t + 1])
                change = sign * times * self.strengths[t] * self.columns.data[of_group]
                linked[self.columns.indices[of_group]] += change

    def fill_empty(self, labels: np.ndarray, k: int) -> np.ndarray:
        """Return the labels with, in each empty cluster, the row whose move costs least."""
        labels = labels.copy()
        for c in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
            sums = Sums.from_labels(self, labels, k)
            gains = sums.compute_gains(self, np.arange(len(labels)), labels)[:, c]
            labels[np.where(sums.sizes[labels] > 1, gains, -np.inf).argmax()] = c
        return labels


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums for each cluster: ``A x_c`` for every row, ``x_c' A x_c``, its mass, its number of rows."""

    linked: np.ndarray
    inner: np.ndarray
    mass: np.ndarray
    sizes: np.ndarray

    @classmethod
    def from_labels(cls, association: Association, labels: np.ndarray, k: int) -> Sums:
        """Compute the sums for these labels."""
        marks = np.zeros((len(labels), k))
        marks[np.arange(len(labels)), labels] = 1.0
        # Column-major, since a move updates single columns.
        linked = np.asfortranarray(association.multiply(marks))
        inner = np.einsum("ik,ik->k", marks, linked)
        return cls(linked, inner, association.mass @ marks, np.bincount(labels, minlength=k))

    def compute_nearness(self, linked: np.ndarray, mass: np.ndarray, shift: float = 0.0) -> np.ndarray:
        """Return negative squared distances of rows to the cluster means, up to a constant per row.

        `linked` contains the sums of A over each cluster for these rows, and `mass` the masses of the rows.
        """
        whole = np.where(self.sizes > 0, self.mass, 1.0)
        near: np.ndarray = (
            2.0 * linked / (mass[:, None] * whole) - (self.inner + shift * self.mass) / whole**2
        )
        near[:, self.sizes == 0] = -np.inf
        return near

    @property
    def value(self) -> float:
        """The objective."""
        return float(self.shares.sum())

    @property
    def shares(self) -> np.ndarray:
        """The term of each cluster in the objective."""
        found: np.ndarray = _divide_by_mass(self.inner, self.mass, self.sizes)
        return found

    def compute_gains(self, association: Association, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the change of the objective if each row moved to each cluster."""
        own, mass, linked = association.own[rows], association.mass[rows], self.linked[rows]
        at = np.arange(len(rows))
        shares = self.shares
        without = _divide_by_mass(
            self.inner[labels] - 2.0 * linked[at, labels] + own,
            self.mass[labels] - mass,
            self.sizes[labels] - 1,
        )
        within = (self.inner + 2.0 * linked + own[:, None]) / (self.mass + mass[:, None])
        gains: np.ndarray = within - shares + (without - shares[labels])[:, None]
        gains[at, labels] = 0.0
        return gains


def _divide_by_mass(inner: np.ndarray, mass: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return inner / mass, or 0 for clusters without rows."""
    return np.where(sizes > 0, inner / np.where(sizes > 0, mass, 1.0), 0.0)
