"""Pairwise models of labels in small groups: exact sums over all labellings of a group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

_BLOCK = 1 << 22  # maximum number of floats per block


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """A connected group of m labels; all of its 2^m labellings are enumerated.

    Attributes
    ----------
    members : ndarray of shape (m,)
        The labels.
    edges : ndarray of shape (e,)
        The edges of the graph within the group, as positions.
    pairs : ndarray of shape (e, 2)
        The ends of these edges, as positions in `members`.
    """

    members: np.ndarray
    edges: np.ndarray
    pairs: np.ndarray

    @cached_property
    def states(self) -> np.ndarray:
        """All labellings, of shape (2^m, m); the last member varies fastest."""
        m = len(self.members)
        return ((np.arange(1 << m)[:, None] >> np.arange(m - 1, -1, -1)) & 1).astype(np.float64)

    @cached_property
    def joined(self) -> np.ndarray:
        """1 where both ends of an edge are present in a labelling, of shape (2^m, e)."""
        return self.states[:, self.pairs[:, 0]] * self.states[:, self.pairs[:, 1]]

    def compute_shares(self, odds: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each labelling (n, 2^m), and the log partition functions (n,).

        `odds` (n, m) are the log-odds of the labels without edges, `weights` (e,) the weights of the edges of
        this group. Only n m exponentials are computed: the probabilities of the labels are multiplied, and
        the factors of the edges are the same for all rows.
        """
        held, free = expit(odds), expit(-odds)
        found = np.ones((len(odds), 1))
        for k in range(odds.shape[1]):
            both = (found * free[:, k : k + 1], found * held[:, k : k + 1])
            found = np.stack(both, axis=2).reshape(len(odds), -1)
        exponent = self.joined @ weights
        most = exponent.max()
        found *= np.exp(np.maximum(exponent - most, -600.0))
        total = found.sum(axis=1)
        found /= total[:, None]
        return found, np.logaddexp(0.0, odds).sum(axis=1) + np.log(total) + most

    def split_rows(self, n: int) -> list[slice]:
        """Split n rows into blocks of at most `_BLOCK` floats."""
        step = max(1, _BLOCK >> len(self.members))
        return [slice(start, start + step) for start in range(0, n, step)]

    def find_best(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the most probable labelling of each row, of shape (n, m)."""
        found = np.empty(odds.shape, dtype=np.int64)
        for rows in self.split_rows(len(odds)):
            worth = odds[rows] @ self.states.T + self.joined @ weights
            found[rows] = self.states[worth.argmax(axis=1)]
        return found


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """Edges between labels. Labels without edges are independent and are processed together."""

    n_labels: int
    edges: np.ndarray  # (e, 2), the smaller label first

    @cached_property
    def part(self) -> np.ndarray:
        """The number of the connected component of each label."""
        ends = (self.edges[:, 0], self.edges[:, 1])
        graph = sparse.csr_array((np.ones(len(self.edges)), ends), shape=(self.n_labels, self.n_labels))
        return np.asarray(connected_components(graph, directed=False)[1])

    @cached_property
    def groups(self) -> list[LabelGroup]:
        """The connected components with at least two labels."""
        groups = []
        for c in np.flatnonzero(np.bincount(self.part) > 1):
            members = np.flatnonzero(self.part == c)
            edges = np.flatnonzero(self.part[self.edges[:, 0]] == c)
            groups.append(LabelGroup(members, edges, members.searchsorted(self.edges[edges])))
        return groups

    def expect(self, odds: np.ndarray, weights: np.ndarray) -> LabelExpectations:
        """Return the expectations of labels whose log-odds without edges are `odds` (n, n_labels)."""
        held = expit(odds)
        joined = np.zeros(len(self.edges))
        alone = np.ones(self.n_labels, dtype=bool)
        log_total = 0.0
        for group in self.groups:
            alone[group.members] = False
            for rows in group.split_rows(len(odds)):
                shares, logs = group.compute_shares(odds[rows][:, group.members], weights[group.edges])
                held[rows, group.members] = shares @ group.states
                joined[group.edges] += shares.sum(axis=0) @ group.joined
                log_total += float(logs.sum())
        log_total += float(np.logaddexp(0.0, odds[:, alone]).sum())
        return LabelExpectations(held, joined, log_total)

    def compute_pair_moments(self, odds: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each pair of labels, the sums over rows of its probability and of its variance."""
        held = self.expect(odds, weights).held
        sums, squares = held.T @ held, (held**2).T @ held**2
        for group in self.groups:
            j, k = np.triu_indices(len(group.members), 1)
            joined = group.states[:, j] * group.states[:, k]
            first, second = np.zeros(len(j)), np.zeros(len(j))
            for rows in group.split_rows(len(odds)):
                shares = group.compute_shares(odds[rows][:, group.members], weights[group.edges])[0] @ joined
                first += shares.sum(axis=0)
                second += (shares**2).sum(axis=0)
            a, b = group.members[j], group.members[k]
            sums[a, b] = sums[b, a] = first
            squares[a, b] = squares[b, a] = second
        return sums, np.maximum(sums - squares, 0.0)

    def find_best(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the most probable labelling of each row, of shape (n, n_labels)."""
        found = (odds > 0.0).astype(np.int64)
        for group in self.groups:
            found[:, group.members] = group.find_best(odds[:, group.members], weights[group.edges])
        return found


@dataclass(frozen=True, eq=False)
class LabelExpectations:
    """Expectations under a pairwise model of labels.

    `held` (n, n_labels) is the probability of each label; `joined` (e,) is the sum over rows of the
    probability of both ends of each edge; `log_total` is the sum over rows of the log partition function.
    """

    held: np.ndarray
    joined: np.ndarray
    log_total: float
