"""Hard links: COP-KMeans, which satisfies every link or reports why that is impossible."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from likewise._seeding import HintedSubset
from likewise.backends import Rows
from likewise.exceptions import InfeasibleSupervisionError
from likewise.kmeans._base import KMeansFamily
from likewise.kmeans._loop import HintedPlacement, Metric, compute_level_costs
from likewise.kmeans._mpck import FROM_SCRATCH, index_links

_MAX_STEPS = 200_000
_NO_COMPONENTS = (np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))


class ApartComponents:
    """Must-link components separated by cannot-links; each component is assigned to one cluster as a whole.

    The components are the nodes of a graph whose edges are the cannot-links. A labelling that satisfies
    every link is a colouring of this graph with k colours.
    """

    def __init__(self, hinted: HintedSubset, k: int) -> None:
        closure = hinted.closure
        self.rows, self.X, self.weight = hinted.rows, hinted.X.astype(np.float64), hinted.weight
        names, self._node = np.unique(closure.component, return_inverse=True)
        self._n = len(names)
        self._first_rows = np.unique(self._node, return_index=True)[1]
        self._name_rows = partial(hinted.hints._name_rows, among=self.rows)
        self._edges = np.searchsorted(names, closure.cannot)
        self._groups = [np.searchsorted(names, group) for group in closure.cannot_groups]
        self._link_index, self._group_index = index_links(self._edges, self._groups, self._n)
        self._k = k
        for group in self._groups:
            if len(group) > k:
                raise InfeasibleSupervisionError(
                    f"{len(group)} rows must be apart from one another ({self._format_some(group)}), "
                    f"but there are only {k} clusters.",
                    f"Use at least {len(group)}.",
                    rows=self.rows[self._first_rows[group]],
                    parameter="n_clusters",
                    kinds=("links",),
                )
        self._last: np.ndarray | None = None

    def _format_some(self, nodes: Any) -> str:
        names = self._name_rows(self._first_rows[list(nodes)[:10]].tolist())
        return f"row{'s' if len(names) > 1 else ''} {', '.join(names)}{', …' if len(nodes) > 10 else ''}"

    def place(
        self, metric: Metric, centers: np.ndarray, previous: np.ndarray | None, tie: float = 0.0
    ) -> HintedPlacement:
        """Label the components at the lowest cost that the search finds, with every link satisfied."""
        from likewise.kernels import icm

        costs = compute_level_costs(metric, self.X, centers, tie)
        node_costs = np.zeros((self._n, self._k))
        pull = np.maximum(
            self.weight, 1e-12 * self.weight.max(initial=1.0)
        )  # rows of weight 0 still go to a near cluster
        np.add.at(node_costs, self._node, costs * pull[:, None])
        # Breaking a link costs more than all rows together could gain.
        never = 1.0 + 2.0 * float((node_costs.max(axis=1) - node_costs.min(axis=1)).sum())
        no_rows = np.empty((0, 1))
        problem = icm.IcmProblem(
            node_costs, *self._link_index,
            np.ones(len(self._edges), dtype=bool), np.ones(len(self._edges)), np.zeros((len(self._edges), 1)),
            0.0, 0.0, np.full(self._k, never),
            *self._group_index,
            np.ones(len(self._groups), dtype=bool), np.ones(len(self._groups)),
            no_rows, no_rows[:, None], no_rows,
        )  # fmt: skip

        order = np.arange(self._n)
        if self._k > 1:  # components with a large gap between their two cheapest clusters go first
            two = np.partition(node_costs, 1, axis=1)
            order = np.argsort(two[:, 0] - two[:, 1], kind="stable")

        def improve(start: np.ndarray) -> np.ndarray:
            _, labels = icm.descend(problem, start, order, _NO_COMPONENTS)
            return labels

        found = [improve(FROM_SCRATCH)]
        if self._last is not None:
            found.append(improve(self._last))
        elif self._find_violated(found[0]):
            found.append(improve(self._search(node_costs)))
        cost = [
            np.inf if self._find_violated(labels) else float(node_costs[np.arange(self._n), labels].sum())
            for labels in found
        ]
        best = int(np.argmin(cost))
        self._last = found[best]
        return HintedPlacement(self._last[self._node], cost[best], costs.argmin(axis=1))

    def get_units(self) -> np.ndarray:
        """Return the component of each row. Components are moved as a whole to fill an empty cluster."""
        return self._node

    def _find_violated(self, labels: np.ndarray) -> bool:
        if (labels[self._edges[:, 0]] == labels[self._edges[:, 1]]).any():
            return True
        return any(len(np.unique(labels[group])) < len(group) for group in self._groups)

    def _search(self, costs: np.ndarray) -> np.ndarray:
        """Find a labelling that satisfies every link by backtracking, or raise an error.

        A component with fewer than k cannot-linked neighbours can always be labelled last. Such components
        are set aside repeatedly; the remaining graph is searched one connected part at a time.
        """
        near: list[set[int]] = [set() for _ in range(self._n)]
        for a, b in self._edges.tolist():
            near[a].add(b)
            near[b].add(a)
        for group in self._groups:
            for a in group.tolist():
                near[a].update(int(b) for b in group if b != a)
        labels = np.full(self._n, -1, dtype=np.int64)
        degree = np.array([len(others) for others in near])
        aside = [node for node in range(self._n) if degree[node] < self._k]
        is_aside = degree < self._k
        for node in aside:  # the list grows during the loop
            for other in near[node]:
                degree[other] -= 1
                if degree[other] < self._k and not is_aside[other]:
                    is_aside[other] = True
                    aside.append(other)
        seen = is_aside.copy()
        for root in range(self._n):
            if not seen[root]:
                part = [root]
                seen[root] = True
                for node in part:
                    new = [other for other in near[node] if not seen[other]]
                    seen[new] = True
                    part += new
                self._color(part, near, costs, labels)
        for node in reversed(aside):
            taken = {int(labels[other]) for other in near[node]}
            labels[node] = next(int(h) for h in np.argsort(costs[node], kind="stable") if int(h) not in taken)
        return labels

    def _color(self, part: list[int], near: list[set[int]], costs: np.ndarray, labels: np.ndarray) -> None:
        """Label one connected part, the component with the fewest open clusters first (Brélaz 1979)."""
        nodes = np.array(part)
        place = {node: p for p, node in enumerate(part)}
        inside = [[place[other] for other in near[node] if other in place] for node in part]
        blocked = np.zeros((len(part), self._k), dtype=np.int64)
        left = np.full(len(part), self._k)  # number of open clusters of each component
        rank = -np.array([len(others) for others in inside], dtype=np.float64) / (1 + len(part))
        waiting = np.zeros(len(part))  # infinite for labelled components
        stack: list[tuple[int, list[int]]] = []
        dead_ends = 0
        stuck = 0

        def set_label(p: int, label: int, sign: int) -> None:
            labels[nodes[p]] = label if sign > 0 else -1
            for other in inside[p]:
                blocked[other, label] += sign
                left[other] -= sign * (blocked[other, label] == (1 if sign > 0 else 0))

        for _ in range(_MAX_STEPS):
            p = int(np.argmin(left + rank + waiting))
            waiting[p] = np.inf
            options = [int(h) for h in np.argsort(costs[nodes[p]], kind="stable") if blocked[p, h] == 0]
            stack.append((p, options[::-1]))
            while stack and not stack[-1][1]:  # dead end: undo the last step
                p, _ = stack.pop()
                waiting[p] = 0.0
                stuck = stuck if dead_ends else p
                dead_ends += 1
                if stack:
                    before = stack[-1][0]
                    set_label(before, int(labels[nodes[before]]), -1)
            if not stack:
                break
            p, options = stack[-1]
            set_label(p, options.pop(), +1)
            if len(stack) == len(part):
                return
        node, neighbors = nodes[stuck], sorted(near[nodes[stuck]])
        proved = (
            f"no labelling that satisfies them all was found in {_MAX_STEPS} steps"
            if stack
            else "no labelling satisfies them all"
        )
        raise InfeasibleSupervisionError(
            f"{len(part)} must-link components are connected by cannot-links, and with {self._k} clusters "
            f"{proved}. The search fails at {self._format_some([node])}, which must be apart from "
            f"{self._format_some(neighbors)}.",
            "Use more clusters, drop some of these links, or use {PCKMeans}, which treats links as soft.",
            rows=self.rows[self._first_rows[[node, *neighbors]]],
            parameter="n_clusters",
            kinds=("links",),
            terms=("PCKMeans",),
        )


class COPKMeans(KMeansFamily):
    """K-means that satisfies every link, or raises an error that explains why it cannot.

    Minimises :math:`\\sum_i \\|x_i - \\mu_{l_i}\\|^2` subject to :math:`l_i = l_j` for every must-link and
    :math:`l_i \\ne l_j` for every cannot-link (Wagstaff, Cardie, Rogers & Schrödl 2001). The published
    algorithm assigns rows one by one and gives up at the first dead end. Here must-link components are
    assigned as a whole, confident ones first; backtracking resolves dead ends; components then move to
    cheaper clusters while every link stays satisfied. Whether k clusters suffice is a graph colouring
    problem, so the search can take long with dense cannot-links. If it fails, the error says where, and
    whether it is proved that no solution exists.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales each row to unit length first, here and in `predict`,
        `transform` and `score`, so that only its direction counts, as is usual for texts and embeddings.
        Centres are then means of unit rows. A row of zeros has no direction and stays at the origin.
    init : {"hints", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting centres. With "hints" the first start uses the centroids of the must-link components,
        selected by a weighted farthest-first traversal, and the others are k-means++ draws. If
        n_features * n_clusters is at least 4,096, centroids that cover few other rows are exchanged for
        drawn rows. An array gives the only start.
    n_init : int, default=5
        Number of starts. After a few iterations, the start whose nearest-centre clusters break the fewest
        links is finished, and among equals the one with the lowest objective; without links all are
        finished.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-4
        Stop when the centres move less than this, relative to the variance of the columns. If
        n_samples * n_features * n_clusters is at least 2**36, also stop when the relative change of the
        objective is at most `tol`. For sparse rows, n_samples * n_features is the number of stored values.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit. Small data use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The mean of each cluster, weighted by `sample_weight`.
    violations_ : likewise.evaluation.Satisfaction
        Satisfied and violated links; none are violated.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Number of iterations of the selected start.

    Examples
    --------
    >>> from likewise import COPKMeans, Supervision
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> hints = Supervision.from_links(4, must=[(0, 3)], cannot=[(0, 1)])
    >>> labels = COPKMeans(n_clusters=2, random_state=0).fit(X, supervision=hints).labels_
    >>> bool(labels[0] == labels[3] != labels[1])
    True
    >>> COPKMeans(n_clusters=2).fit(X, supervision=Supervision.from_links(4, cannot_groups=[[0, 1, 2]]))
    Traceback (most recent call last):
    ...
    likewise.exceptions.InfeasibleSupervisionError: COPKMeans: 3 rows must be apart from one another ...
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})

    def _make_hinted_rows(self, X: Rows, hinted: HintedSubset, rng: Any) -> ApartComponents | None:
        return ApartComponents(hinted, self.n_clusters) if "links" in hinted.hints.kinds else None
