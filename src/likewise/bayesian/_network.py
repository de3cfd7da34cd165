"""Answers as a network: what they make of the clusters of the rows that they name.

Given the weights of the softmax model the clusters of rows are independent, and an answer ties two of them.
Where the answers form a forest, messages give everything exactly. Where they close cycles, see `Network.of`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from likewise.kernels.messages import gather, spread
from likewise.supervision import Supervision

# Cycles are summed over exactly as long as there are no more ways than these to place their rows.
MOST_WAYS = 4096
# No answer, whatever its weight, speaks louder than this, in nats: beyond it sums underflow.
LOUDEST = 50.0


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges between nodes a < b, and the log-probability of what was said if equal, and if different."""

    ends: np.ndarray
    log_same: np.ndarray
    log_other: np.ndarray

    def merged(self, node: np.ndarray) -> tuple[_Edges, float]:
        """Rename the ends, join parallel edges, and take out loops, whose logarithm is returned."""
        ends = np.sort(node[self.ends], axis=1)
        loop = ends[:, 0] == ends[:, 1]
        constant = float(self.log_same[loop].sum())
        unique, inverse = np.unique(ends[~loop], axis=0, return_inverse=True)
        inverse = inverse.ravel()
        log_same = np.bincount(inverse, weights=self.log_same[~loop], minlength=len(unique))
        log_other = np.bincount(inverse, weights=self.log_other[~loop], minlength=len(unique))
        return _Edges(unique.reshape(-1, 2), log_same, log_other), constant


@dataclass(frozen=True, eq=False)
class _Core:
    """Nodes tied in cycles, few enough to go through all ways to place them."""

    nodes: np.ndarray
    weight: np.ndarray  # of every way, nodes[0]'s cluster slowest


@dataclass(frozen=True, eq=False)
class Network:
    """The answers about some rows, ready for sums over the clusters of those rows.

    Attributes
    ----------
    rows : ndarray of shape (n_hinted,)
        The rows that answers name, ascending. Everything else here speaks of them by their place.
    component : ndarray of shape (n_hinted,)
        Rows that chains of answers join have the same number.
    exact : bool
        Whether sums over the clusters are exact.
    """

    n_clusters: int
    rows: np.ndarray
    component: np.ndarray
    exact: bool
    _constant: float
    _member: np.ndarray  # rows, sorted by the node that they belong to
    _start: np.ndarray  # where the members of each node begin
    _node: np.ndarray  # the node that speaks for each row
    _order: np.ndarray
    _parent: np.ndarray
    _same: np.ndarray
    _other: np.ndarray
    _cores: tuple[_Core, ...]
    _stated: _Edges

    @classmethod
    def of(cls, hints: Supervision, n_clusters: int, epsilon: float, most_ways: int = MOST_WAYS) -> Network:
        """Make the network of the links.

        Trees of answers, whatever their size, and cycles whose rows can be placed in at most `most_ways`
        ways, with all trees that hang on them, are treated exactly. Of larger ones, first the must-links
        that no cannot-link contradicts are taken as certain. If that is not enough, a tree of the loudest
        answers is kept, and each answer that closes a cycle speaks of a copy of one of its rows: a row with
        the same columns, whose cluster is drawn anew.
        """
        rows, edges = _edges_of(hints, epsilon)
        n = len(rows)
        component = connected_components(_graph(edges.ends, n), directed=False)[1]
        node, constant = np.arange(n), 0.0
        hard, _ = _hard_nodes(edges.ends, n, n_clusters, most_ways)
        exact = not hard.any()
        if not exact:
            node = _joined(edges, hard)
            edges, constant = edges.merged(node)
        n_nodes = int(node.max(initial=-1)) + 1
        hard, core = _hard_nodes(edges.ends, n_nodes, n_clusters, most_ways)
        of = np.arange(n_nodes)  # which node a node or its copy is
        if hard.any():
            edges, of, closing = _split(edges, hard)
            core[hard] = False
            core = np.concatenate([core, np.zeros(closing, dtype=bool)])
        log_most = np.maximum(edges.log_same, edges.log_other)
        constant += float(log_most.sum())
        same = np.exp(np.maximum(edges.log_same - log_most, -LOUDEST))
        other = np.exp(np.maximum(edges.log_other - log_most, -LOUDEST))
        inside = core[edges.ends].all(axis=1) if len(edges.ends) else np.zeros(0, dtype=bool)
        order, parent, up = _forest(edges.ends, len(of), core, inside)
        members = [np.flatnonzero(node == v) for v in range(n_nodes)] if not exact else None
        if members is None:
            member, start = np.arange(n), np.arange(n)
        else:
            lists = [members[v] for v in of]
            member = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
            start = np.concatenate([[0], np.cumsum([len(m) for m in lists])[:-1]]).astype(np.int64)
        per_node = np.ones((2, len(of)))
        child = np.flatnonzero(up >= 0)
        per_node[0, child], per_node[1, child] = same[up[child]], other[up[child]]
        return cls(
            n_clusters, rows, component, exact, constant, member, start, node, order, parent,
            per_node[0], per_node[1],
            tuple(_cores(edges.ends[inside], same[inside], other[inside], n_clusters)),
            _edges_of(hints, epsilon)[1],
        )  # fmt: skip

    # ------------------------------------------------------------------ sums over the clusters

    def _heard(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each node hears from below, (S, n_nodes, k), and the logarithm of all sums, (S,)."""
        if len(self._member) == len(self.rows):
            belief, total = np.exp(log_p), np.full(len(log_p), self._constant)
        else:
            joined = np.add.reduceat(log_p[:, self._member], self._start, axis=1)
            most = joined.max(axis=2, keepdims=True)
            belief = np.exp(joined - most)
            mass = belief.sum(axis=2, keepdims=True)
            belief /= mass
            total = self._constant + (np.log(mass) + most).sum(axis=(1, 2))
        gather(self._order, self._parent, self._same, self._other, belief, total)
        return belief, total

    def _ways(self, core: _Core, belief: np.ndarray) -> np.ndarray:
        """Return the weight of every way to place the nodes of a core, shape (S, k ** m)."""
        joint = belief[:, core.nodes[0]]
        for v in core.nodes[1:]:
            joint = (joint[:, :, None] * belief[:, v][:, None, :]).reshape(len(belief), -1)
        return np.asarray(joint * core.weight)

    def log_likelihood(self, log_p: np.ndarray) -> np.ndarray:
        """Return log P(answers | W), shape (S,), for log-probabilities of the rows, shape (S, n_hinted, k)."""
        belief, total = self._heard(log_p)
        for core in self._cores:
            total += np.log(np.maximum(self._ways(core, belief).sum(axis=1), 1e-300))
        return total

    def posterior(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(answers | W), and the nodes' distributions given answers and W, (S, n_nodes, k)."""
        belief, total = self._heard(log_p)
        for core in self._cores:
            ways = self._ways(core, belief)
            mass = np.maximum(ways.sum(axis=1), 1e-300)
            total += np.log(mass)
            ways = (ways / mass[:, None]).reshape(-1, *[self.n_clusters] * len(core.nodes))
            for at, v in enumerate(core.nodes):
                others = tuple(1 + j for j in range(len(core.nodes)) if j != at)
                belief[:, v] = ways.sum(axis=others)
        spread(self._order, self._parent, self._same, self._other, belief)
        return total, belief

    def row_posterior(self, log_p: np.ndarray) -> np.ndarray:
        """Return the rows' distributions given answers and W, shape (S, n_hinted, k)."""
        return np.asarray(self.posterior(log_p)[1][:, self._node])

    def gradient(self, log_p: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log P(answers | W) of one model, and its gradient by the logits of the rows.

        `log_p` has shape (n_hinted, k). The gradient is r - p, added up over a row and its copies.
        """
        total, belief = self.posterior(log_p[None])
        size = np.diff(np.append(self._start, len(self._member)))
        of_member = np.repeat(np.arange(len(size)), size)
        gradient = np.zeros_like(log_p)
        np.add.at(gradient, self._member, belief[0, of_member] - np.exp(log_p)[self._member])
        return float(total[0]), gradient

    # ------------------------------------------------------------------ the best clusters

    def best(self, log_p: np.ndarray) -> np.ndarray:
        """Return the most probable clusters of the rows together, given answers and one model, (n_hinted,).

        Max-product on forests and over the ways of cores. Where sums are not exact, rows are then moved one
        by one, in a fixed order, as long as the probability of all answers as stated rises.
        """
        k = self.n_clusters
        score = np.add.reduceat(log_p[self._member], self._start, axis=0) if len(self.rows) else log_p.copy()
        log_same, log_other = np.log(self._same), np.log(self._other)
        heard = np.empty((len(score), k))
        for i in self._order:
            heard[i] = np.maximum(score[i] + log_same[i], _best_other(score[i]) + log_other[i])
            score[self._parent[i]] += heard[i]
        label = score.argmax(axis=1)
        for core in self._cores:
            joint = np.zeros(1)
            for v in core.nodes:
                joint = (joint[:, None] + score[v]).ravel()
            way = int((joint + np.log(core.weight)).argmax())
            label[core.nodes] = np.unravel_index(way, [k] * len(core.nodes))
        for i in self._order[::-1]:
            there = np.arange(k) == label[self._parent[i]]
            label[i] = (score[i] + np.where(there, log_same[i], log_other[i])).argmax()
        label = label[self._node]
        return label if self.exact else self._improved(label, log_p)

    def _improved(self, label: np.ndarray, log_p: np.ndarray, max_sweeps: int = 20) -> np.ndarray:
        ends, pull = self._stated.ends, self._stated.log_same - self._stated.log_other
        pull = np.clip(pull, -LOUDEST, LOUDEST)
        row, neighbour = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.argsort(row, kind="stable")
        neighbour, pull = neighbour[order], np.tile(pull, 2)[order]
        first = np.searchsorted(row[order], np.arange(len(label) + 1))
        for _ in range(max_sweeps):
            moved = False
            for i in range(len(label)):
                part = slice(first[i], first[i + 1])
                value = log_p[i] + np.bincount(label[neighbour[part]], pull[part], self.n_clusters)
                new = int(value.argmax())
                if value[new] > value[label[i]] + 1e-9:
                    label[i], moved = new, True
            if not moved:
                break
        return label


def _best_other(score: np.ndarray) -> np.ndarray:
    """Return for each cluster the best score of another one."""
    if len(score) == 1:
        return np.full(1, -np.inf)
    top = int(score.argmax())
    best = np.full(len(score), score[top])
    best[top] = np.delete(score, top).max()
    return best


# ---------------------------------------------------------------------- making a network


def _edges_of(hints: Supervision, epsilon: float) -> tuple[np.ndarray, _Edges]:
    """Return the rows that links name, and the links between them, parallel ones joined."""
    cliques, clique_weights = hints.cannot_groups.pairs()
    star = hints.must_groups.star_edges()
    star_weights = np.repeat(hints.must_groups.weights, np.diff(hints.must_groups.indptr) - 1)
    must = np.concatenate([hints.must, star])
    cannot = np.concatenate([hints.cannot, cliques])
    weight = np.concatenate([hints.must_weights, star_weights, hints.cannot_weights, clique_weights])
    right, wrong = weight * np.log1p(-epsilon), weight * np.log(epsilon)
    ends = np.concatenate([must, cannot])
    says_same = np.arange(len(ends)) < len(must)
    rows = np.unique(ends)
    edges = _Edges(
        np.searchsorted(rows, ends), np.where(says_same, right, wrong), np.where(says_same, wrong, right)
    )
    return rows, edges.merged(np.arange(len(rows)))[0]


def _graph(ends: np.ndarray, n: int, weight: np.ndarray | None = None) -> coo_array:
    data = np.ones(len(ends)) if weight is None else weight
    return coo_array((data, ends.T), shape=(n, n)).tocsr()


def _hard_nodes(ends: np.ndarray, n: int, n_clusters: int, most_ways: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which nodes are in components with too large a core, and which nodes are in cores.

    A core is what is left of a component when leaves are cut off, again and again: nothing, for a tree.
    """
    alive = np.ones(len(ends), dtype=bool)
    degree = np.bincount(ends.ravel(), minlength=n)
    while True:
        leaf = degree == 1
        cut = alive & leaf[ends].any(axis=1) if len(ends) else alive
        if not cut.any():
            break
        alive &= ~cut
        degree = np.bincount(ends[alive].ravel(), minlength=n)
    core = degree > 0
    _, component = connected_components(_graph(ends, n), directed=False)
    size = np.bincount(component, weights=core, minlength=1)
    too_large = size * np.log(max(n_clusters, 1)) > np.log(most_ways) + 1e-9
    return too_large[component], core


def _joined(edges: _Edges, hard: np.ndarray) -> np.ndarray:
    """Return a number for each node, the same for hard nodes that uncontradicted must-links join."""
    says_same = edges.log_same > edges.log_other
    inside = hard[edges.ends].all(axis=1)
    _, joined = connected_components(_graph(edges.ends[says_same & inside], len(hard)), directed=False)
    against = ~says_same & (joined[edges.ends[:, 0]] == joined[edges.ends[:, 1]])
    contradicted = np.isin(joined, joined[edges.ends[against, 0]])
    alone = joined.max(initial=0) + 1 + np.arange(len(hard))
    return np.unique(np.where(contradicted, alone, joined), return_inverse=True)[1].ravel()


def _split(edges: _Edges, hard: np.ndarray) -> tuple[_Edges, np.ndarray, int]:
    """Open the cycles among hard nodes: return the edges, the node that each node is, the number of copies."""
    n = len(hard)
    pull = edges.log_same - edges.log_other
    # Must-links say more than cannot-links, so they are kept first; all weights must differ from 0.
    loud = np.where(pull > 0, 2.0, 1.0) + np.minimum(np.abs(pull), LOUDEST) / (2 * LOUDEST)
    tree = minimum_spanning_tree(_graph(edges.ends, n, 4.0 - loud)).tocoo()
    kept = np.isin(edges.ends @ [n, 1], np.minimum(*tree.coords) * n + np.maximum(*tree.coords))
    closing = np.flatnonzero(~kept & hard[edges.ends[:, 0]])
    ends = edges.ends.copy()
    of = np.concatenate([np.arange(n), ends[closing, 1]])
    ends[closing, 1] = n + np.arange(len(closing))
    return _Edges(ends, edges.log_same, edges.log_other), of, len(closing)


def _forest(
    ends: np.ndarray, n: int, core: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hang the trees on their roots: return children before parents, each node's parent, and its edge."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e in np.flatnonzero(~inside).tolist():
        a, b = ends[e].tolist()
        near[a].append((b, e))
        near[b].append((a, e))
    parent, up = np.full(n, -1), np.full(n, -1)
    seen = core.copy()
    line: list[int] = []
    for root in [*np.flatnonzero(core).tolist(), *range(n)]:
        if not core[root] and seen[root]:
            continue
        seen[root] = True
        queue = [root]
        for v in queue:  # grows while it is walked
            for w, e in near[v]:
                if not seen[w]:
                    seen[w], parent[w], up[w] = True, v, e
                    queue.append(w)
        line += queue[1:]
    return np.array(line[::-1], dtype=np.int64), parent, up


def _cores(ends: np.ndarray, same: np.ndarray, other: np.ndarray, n_clusters: int) -> list[_Core]:
    """List the cores, with the weight of every way to place their nodes."""
    nodes, local = np.unique(ends, return_inverse=True)
    local = local.reshape(-1, 2)
    _, piece = connected_components(_graph(local, len(nodes)), directed=False)
    cores = []
    for c in range(piece.max(initial=-1) + 1):
        mine = np.flatnonzero(piece == c)
        place = np.indices([n_clusters] * len(mine)).reshape(len(mine), -1)
        log_weight = np.zeros(place.shape[1])
        for e in np.flatnonzero(piece[local[:, 0]] == c):
            a, b = np.searchsorted(mine, local[e])
            log_weight += np.log(np.where(place[a] == place[b], same[e], other[e]))
        cores.append(_Core(nodes[mine], np.exp(np.maximum(log_weight, -600.0))))
    return cores
