"""Linked rows, which are gathered once and labelled jointly, separately from all other rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from likewise._blocks import Rows
from likewise._hinted import HintedSubset
from likewise.kmeans._farthest_rows import FarthestRows
from likewise.kmeans._metric import Metric
from likewise.supervision import RowGroups

_MAX_ROUNDS = 20
_MAX_SWEEPS = 20
AFRESH = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class HintedPlacement:
    """The clusters of the hinted rows and their contribution to the objective."""

    labels: np.ndarray
    energy: float
    nearest: np.ndarray  # the nearest clusters, regardless of hints


@dataclass(frozen=True)
class Penalty:
    """The cost of a broken link.

    A must-link costs ``weight (alpha + beta ||x_i - x_j||^2)`` and a cannot-link
    ``weight (reach - beta ||x_i - x_j||^2)``. If `reach` is None, it is the largest squared distance.
    """

    must_weight: float
    cannot_weight: float
    alpha: float
    beta: float
    reach: float | None


class LinkedRows:
    """The linked rows, and the energy of their labels (distance costs plus penalties)."""

    def __init__(self, X: Rows, named: HintedSubset, penalty: Penalty, rng: np.random.RandomState) -> None:
        links = named.hints.links
        self.rows, self.X, self.weight = named.rows, np.asarray(named.X, dtype=np.float64), named.weight
        # A row of weight 0 still goes to its nearest cluster if its links allow it.
        self._pull = np.maximum(self.weight, 1e-12 * X.heaviest)
        self._ends = np.concatenate([links.must, links.cannot])
        self._is_cannot = np.repeat([False, True], [len(links.must), len(links.cannot)])
        self._stated_weights = np.concatenate([links.must_weights, links.cannot_weights])
        self._difference = self.X[self._ends[:, 0]] - self.X[self._ends[:, 1]]
        self._indptr, self._partner, self._edge = build_adjacency(self._ends, len(self.rows))
        self._set_groups(links.must_groups, links.cannot_groups)
        self._set_penalty(penalty)
        self._component = named.closure.component
        parts = named.closure.components(min_size=2)
        self._components = (
            np.cumsum([0, *map(len, parts)], dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.int64), *parts]),
        )
        self._order = rng.permutation(len(self.rows))
        self._reach = None
        if penalty.reach is None and (self._is_cannot.any() or self._group_is_cannot.any()):
            grouped = self.X[np.unique(np.concatenate([[], *self._groups]).astype(np.int64))]
            self._reach = FarthestRows(X, self._difference[self._is_cannot], grouped, rng)

    def _set_groups(self, must: RowGroups, cannot: RowGroups) -> None:
        self._groups = [np.asarray(rows) for rows in (*must, *cannot)]
        self._group_is_cannot = np.repeat([False, True], [len(must), len(cannot)])
        self._stated_group_weights = np.concatenate([must.weights, cannot.weights])
        self._group_ptr, self._group_of = index_groups(self._groups, len(self.rows))

    def _set_penalty(self, penalty: Penalty, share: float = 1.0) -> None:
        self._penalty = penalty
        must, cannot = share * penalty.must_weight, share * penalty.cannot_weight
        self._weight = np.where(self._is_cannot, cannot, must) * self._stated_weights
        self._group_weight = np.where(self._group_is_cannot, cannot, must) * self._stated_group_weights
        self._known: tuple[Metric, tuple[np.ndarray, ...]] | None = None

    def with_share(self, share: float, penalty: Penalty) -> LinkedRows:
        """Return a copy whose rows and links have `share` times their weight, with another penalty.

        Linked rows are in every batch, so they must count less for a batch to represent all rows.
        """
        other = copy(self)
        other.weight, other._pull = share * self.weight, share * self._pull
        other._set_penalty(penalty, share)
        return other

    def _prepare_metric(self, metric: Metric) -> tuple[np.ndarray, ...]:
        """Return the arrays that depend on the metric only, cached for the last metric."""
        if self._known is None or self._known[0] is not metric:
            beta = self._penalty.beta
            H, d = len(metric.A), self.X.shape[1]
            # In the coordinates of a shared metric, distances are Euclidean.
            Z = metric.embed(self.X) if metric.shared else self.X
            dist = np.zeros((len(self._ends), H))
            if beta and metric.shared:
                dist[:, 0] = row_norms(Z[self._ends[:, 0]] - Z[self._ends[:, 1]], squared=True)
            elif beta:
                dist = np.ascontiguousarray(metric.compute_lengths(self._difference))
            X, Y, Q = np.empty((0, d)), np.empty((0, H, d)), np.empty((0, H))
            if beta and self._groups:
                X, Y, Q = self.X, metric.apply(self.X), metric.compute_lengths(self.X)
            far = np.zeros((H, d))
            reach = np.full(H, self._penalty.reach or 0.0)
            if self._reach is not None:
                reach, far = self._reach.find_farthest(metric)
            self._known = (metric, (Z, row_norms(Z, squared=True), dist, X, Y, Q, reach, far))
        return self._known[1]

    def place(self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None) -> HintedPlacement:
        """Label the rows by a local search for the lowest energy.

        Confident rows go first (largest gap between their two cheapest clusters; ties in random order). Then
        single rows and whole components move alternately until neither lowers the energy. From the second
        iteration on this is done twice, from the previous labels and from scratch, and the better result is
        kept: moves of single rows rarely escape labels that suited earlier centres.
        """
        from likewise.kernels import icm

        Z, norms, dist, X, Y, Q, reach, _ = self._prepare_metric(metric)
        if metric.shared:
            C = metric.embed(centers)
            costs = norms[:, None] - 2.0 * (Z @ C.T) + (row_norms(C, squared=True) - metric.log_det[0])
        else:
            costs = metric.compute_costs(self.X, centers)
        nearest = costs.argmin(axis=1)
        costs *= self._pull[:, None]
        problem = icm.IcmProblem(
            costs, self._indptr, self._partner, self._edge, self._is_cannot, self._weight, dist,
            float(self._penalty.alpha), float(self._penalty.beta), np.resize(reach, len(centers)),
            self._group_ptr, self._group_of, self._group_is_cannot, self._group_weight, X, Y, Q,
        )  # fmt: skip
        order = self._order[np.argsort(-compute_margins(costs)[self._order], kind="stable")]
        starts = [AFRESH] if previous is None else [AFRESH, previous]
        found = [descend(problem, start, order, self._components) for start in starts]
        energy, labels = min(found, key=lambda pair: pair[0])
        return HintedPlacement(labels, energy, nearest)

    def get_units(self) -> np.ndarray:
        """Return the must-link component of each row. Components are moved as a whole."""
        return self._component

    def add_violations(self, scatter: np.ndarray, labels: np.ndarray, metric: Metric) -> None:
        """Add the contribution of broken links to the scatter matrices (Bilenko, Basu & Mooney 2004).

        A broken must-link adds ``w/2 (x_i - x_j)(x_i - x_j)'`` to the scatter of both clusters (twice to a
        shared one). A broken cannot-link adds ``w [(u - v)(u - v)' - (x_i - x_j)(x_i - x_j)']``, where u and
        v are the farthest two rows.
        """
        *_, far = self._prepare_metric(metric)
        shared = len(scatter) == 1
        left, right = labels[self._ends[:, 0]], labels[self._ends[:, 1]]
        must = ~self._is_cannot & (left != right)
        cannot = self._is_cannot & (left == right)
        for owner in (left, right):
            _add_squares(scatter, owner[must], self._difference[must], self._weight[must] / 2)
        _add_squares(scatter, left[cannot], self._difference[cannot], -self._weight[cannot])
        far_of = np.zeros(len(left), dtype=np.int64) if len(far) == 1 else left
        _add_squares(scatter, left[cannot], far[far_of[cannot]], self._weight[cannot])
        for rows, is_cannot, weight in zip(
            self._groups, self._group_is_cannot, self._group_weight, strict=True
        ):
            clusters = np.unique(labels[rows])
            parts = {int(h): self.X[rows[labels[rows] == h]] for h in clusters}
            for h, part in parts.items():
                if is_cannot:
                    n_pairs = len(part) * (len(part) - 1) / 2
                    own = 0 if shared else h
                    vector = far[0 if len(far) == 1 else h]
                    scatter[own] += weight * n_pairs * _compute_squares(vector[None], scatter.ndim)
                    scatter[own] -= weight * _compute_pair_scatter(part, part, scatter.ndim) / 2
                    continue
                for g, other in parts.items():
                    if g != h:  # each pair is visited twice, half for the metric of either cluster
                        scatter[0 if shared else h] += (
                            weight / 2 * _compute_pair_scatter(part, other, scatter.ndim)
                        )


def descend(
    problem: Any, start: np.ndarray, order: np.ndarray, components: tuple[np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """Minimise the energy locally from the labels `start` (empty: from scratch); return energy and labels."""
    from likewise.kernels import icm

    (m, k), G = problem.U.shape, len(problem.group_weight)
    cells = G if len(problem.X) else 0
    state = icm.IcmState(
        np.full(m, -1), np.zeros((G, k)),
        np.zeros((cells, k, problem.X.shape[1])), np.zeros((cells, k, problem.Q.shape[1])),
    )  # fmt: skip
    energy = icm.descend(problem, state, start, order, *components, _MAX_ROUNDS, _MAX_SWEEPS)
    return energy, state.labels


def compute_margins(costs: np.ndarray) -> np.ndarray:
    """Return the cost difference between the second cheapest and the cheapest cluster of each row."""
    if costs.shape[1] == 1:
        return np.zeros(len(costs))
    two = np.partition(costs, 1, axis=1)
    return two[:, 1] - two[:, 0]


def build_adjacency(ends: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the links of m rows in compressed form: indptr, the partner rows and the link numbers."""
    here = np.concatenate([ends[:, 0], ends[:, 1]])
    there = np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.argsort(here, kind="stable")
    indptr = np.searchsorted(here[order], np.arange(m + 1))
    return indptr, there[order], np.tile(np.arange(len(ends)), 2)[order]


def index_groups(groups: list[np.ndarray], m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of m rows in compressed form: row i is in ``group[indptr[i]:indptr[i + 1]]``."""
    member = np.concatenate([np.empty(0, dtype=np.int64), *groups])
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups]).astype(np.int64)
    order = np.argsort(member, kind="stable")
    return np.searchsorted(member[order], np.arange(m + 1)), group[order]


def _compute_squares(rows: np.ndarray, ndim: int, weight: np.ndarray | float = 1.0) -> np.ndarray:
    weighted = rows * np.reshape(weight, (-1, 1))
    return (weighted * rows).sum(axis=0) if ndim == 2 else weighted.T @ rows


def _add_squares(scatter: np.ndarray, owner: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> None:
    if len(scatter) == 1:
        owner = np.zeros_like(owner)
    for h in np.unique(owner):
        mine = owner == h
        scatter[h] += _compute_squares(rows[mine], scatter.ndim, weight[mine])


def _compute_pair_scatter(A: np.ndarray, B: np.ndarray, ndim: int) -> np.ndarray:
    """Return the sum of squares of a - b over all rows a of A and b of B, without building the pairs."""
    a, b = A.sum(axis=0), B.sum(axis=0)
    squares = len(B) * _compute_squares(A, ndim) + len(A) * _compute_squares(B, ndim)
    return squares - (2 * a * b if ndim == 2 else np.outer(a, b) + np.outer(b, a))
