"""Pairwise models of labels: sums and maxima over labellings, exact in small groups, else relaxed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

_BLOCK = 1 << 16  # maximum number of floats per block; blocks that fit into the cache are faster
_SWEEPS = 20  # rounds of message passing, for groups that are too large to enumerate


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """A connected group of m labels; all of its 2^m labellings are enumerated."""

    members: np.ndarray  # (m,), the labels
    edges: np.ndarray  # (e,), the edges of the graph within the group, as positions
    pairs: np.ndarray  # (e, 2), the ends of these edges, as positions in `members`

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
        small = np.exp(-np.abs(odds.T))
        larger, smaller = 1.0 / (1.0 + small), small / (1.0 + small)
        is_positive = odds.T >= 0.0
        present, absent = np.where(is_positive, larger, smaller), np.where(is_positive, smaller, larger)
        found = np.ones((1, len(odds)))  # one row for each labelling, since rows of X are many
        for k in range(odds.shape[1]):
            found = np.stack((found * absent[k], found * present[k]), axis=1).reshape(-1, len(odds))
        exponent = self.joined @ weights
        most = exponent.max()
        found *= np.exp(np.maximum(exponent - most, -600.0))[:, None]
        total = found.sum(axis=0)
        found /= total
        logs = (np.log(1.0 + small) + np.maximum(odds.T, 0.0)).sum(axis=0)
        return found.T, logs + np.log(total) + most

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


class LabelExpectations(NamedTuple):
    """Expectations under a pairwise model of labels."""

    proba: np.ndarray  # (n, n_labels), the probability of each label
    joined: np.ndarray  # (e,), the sum over rows of the probability of both ends of each edge
    log_total: float  # the sum over rows of the log partition function


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
        proba = expit(odds)
        joined = np.zeros(len(self.edges))
        alone = np.ones(self.n_labels, dtype=bool)
        log_total = 0.0
        for group in self.groups:
            alone[group.members] = False
            for rows in group.split_rows(len(odds)):
                shares, logs = group.compute_shares(odds[rows][:, group.members], weights[group.edges])
                proba[rows, group.members] = shares @ group.states
                joined[group.edges] += shares.sum(axis=0) @ group.joined
                log_total += float(logs.sum())
        log_total += float(np.logaddexp(0.0, odds[:, alone]).sum())
        return LabelExpectations(proba, joined, log_total)

    def compute_pair_moments(self, odds: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each pair of labels, the sums over rows of its probability and of its variance."""
        proba = self.expect(odds, weights).proba
        sums, squares = proba.T @ proba, (proba**2).T @ proba**2
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

    def find_best(self, odds: np.ndarray, weights: np.ndarray, exact_up_to: float = np.inf) -> np.ndarray:
        """Return the labelling with the highest score for each row: exact in small groups, else relaxed."""
        found = (odds > 0.0).astype(np.int64)
        for group in self.groups:
            own, pulls = odds[:, group.members], weights[group.edges]
            if len(group.members) <= exact_up_to:
                found[:, group.members] = group.find_best(own, pulls)
            else:
                start = compute_relaxed_margins(group, own, pulls) > 0
                found[:, group.members] = improve_labels(group, own, pulls, start)
        return found


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """A graph whose edges are the pairs of cliques; each clique has a weight for each pair of its labels.

    If two cliques share a pair, their weights for it are added.
    """

    n_labels: int
    cliques: tuple[tuple[int, ...], ...]  # the labels of each clique, ascending
    exact_up_to: int  # maximum number of labels of a connected group whose labellings are enumerated

    @cached_property
    def pairs(self) -> np.ndarray:
        """The pairs of labels in the cliques, concatenated clique by clique."""
        each = [np.array(c)[np.column_stack(np.triu_indices(len(c), 1))] for c in self.cliques]
        return np.concatenate(each) if each else np.empty((0, 2), dtype=np.int64)

    @cached_property
    def clique_of(self) -> np.ndarray:
        """The clique of each pair."""
        sizes = [len(c) * (len(c) - 1) // 2 for c in self.cliques]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)

    @cached_property
    def graph(self) -> LabelGraph:
        """The edges of all cliques."""
        return LabelGraph(self.n_labels, np.unique(self.pairs, axis=0))

    @cached_property
    def edge_of(self) -> np.ndarray:
        """The edge of each pair."""
        return np.unique(self.pairs, axis=0, return_inverse=True)[1].reshape(-1)

    def compute_edge_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each edge: the sum over the cliques that contain it."""
        return np.bincount(self.edge_of, weights=weights, minlength=len(self.graph.edges))

    def compute_clique_norms(self, weights: np.ndarray) -> np.ndarray:
        """Return the norm |v_c| of the weights of each clique."""
        return np.sqrt(np.bincount(self.clique_of, weights=weights**2, minlength=len(self.cliques)))

    def find_best(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the labelling with the highest score for each row: exact in small groups, else relaxed."""
        return self.graph.find_best(odds, self.compute_edge_weights(weights), self.exact_up_to)

    def compute_margins(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return, for each label, the highest score with the label minus the highest score without it.

        In groups that are too large to enumerate, return the beliefs of the relaxation.
        """
        edges = self.compute_edge_weights(weights)
        found = odds.copy()
        for group in self.graph.groups:
            own, pulls = odds[:, group.members], edges[group.edges]
            if len(group.members) > self.exact_up_to:
                found[:, group.members] = compute_relaxed_margins(group, own, pulls)
                continue
            holds = group.states.astype(bool)
            for rows in group.split_rows(len(odds)):
                worth = own[rows] @ group.states.T + group.joined @ pulls
                for k, label in enumerate(group.members):
                    without = worth[:, ~holds[:, k]].max(axis=1)
                    found[rows, label] = worth[:, holds[:, k]].max(axis=1) - without
        return found


def compute_relaxed_margins(group: LabelGroup, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return beliefs of the linear-programming relaxation over the edges: positive for labels it selects.

    Max-product linear programming (Globerson & Jaakkola 2007): coordinate descent on the dual, edge by edge
    and for all rows at once. The bound never rises, and is tight on trees; after ties or slow convergence
    the signs of the beliefs may not be the best labelling.
    """
    beliefs = odds.copy()  # score of presence minus score of absence, with all messages
    messages = np.zeros((2, len(weights), len(odds)))
    for _ in range(_SWEEPS):
        before = beliefs.copy()
        for e, ((j, k), v) in enumerate(zip(group.pairs.tolist(), weights.tolist(), strict=True)):
            first, second = beliefs[:, j] - messages[0, e], beliefs[:, k] - messages[1, e]
            # The maximum over the other end of v y_j y_k + its belief, for y_j = 1 minus y_j = 0.
            to_first = np.maximum(second + v, 0.0) - np.maximum(second, 0.0)
            to_second = np.maximum(first + v, 0.0) - np.maximum(first, 0.0)
            messages[0, e], messages[1, e] = (to_first - first) / 2.0, (to_second - second) / 2.0
            beliefs[:, j], beliefs[:, k] = (first + to_first) / 2.0, (second + to_second) / 2.0
        if np.abs(beliefs - before).max(initial=0.0) < 1e-9:
            break
    return beliefs


def improve_labels(group: LabelGroup, odds: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Change single labels while this raises the score; return the labellings."""
    m = len(group.members)
    pulls = np.zeros((m, m))
    pulls[group.pairs[:, 0], group.pairs[:, 1]] = weights
    pulls += pulls.T
    found = start.astype(np.float64)
    for _ in range(2 * m):
        gain = (odds + found @ pulls) * (1.0 - 2.0 * found)
        best = gain.argmax(axis=1)
        rows = np.flatnonzero(gain[np.arange(len(gain)), best] > 1e-12)
        if not len(rows):
            break
        found[rows, best[rows]] = 1.0 - found[rows, best[rows]]
    return found.astype(np.int64)
