"""Answers about pairs and triplets as a graph, and how its cycles are opened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.supervision import Supervision

# No answer, whatever its weight, speaks louder than this, in nats: beyond it sums underflow.
LOUDEST = 50.0
# The relation of a node with each other one of its triplet, and of the others, by the node's place.
SEEN_FROM = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
OTHERS = np.array([[1, 2], [0, 2], [0, 1]])


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers, and the logarithms of their probability for what may be true of their nodes.

    Attributes
    ----------
    nodes : ndarray of shape (n_answers, 3)
        The two or three nodes of each; -1 is no node, at the last place of a pair.
    logs : ndarray of shape (n_answers, 4)
        If the first two are together (of a triplet: without the third), the first and the third, the last
        two, and if neither; for a pair the last three are equal.
    """

    nodes: np.ndarray
    logs: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, which: np.ndarray) -> Answers:
        return Answers(self.nodes[which], self.logs[which])

    @property
    def is_pair(self) -> np.ndarray:
        """Which answers are about pairs."""
        return np.asarray(self.nodes[:, 2] < 0)

    def compute_probabilities(self) -> tuple[np.ndarray, float]:
        """Return probabilities over the largest of each answer, and the logarithm of what was taken out."""
        most = self.logs.max(axis=1, keepdims=True)
        return np.exp(np.maximum(self.logs - most, -LOUDEST)), float(most.sum())

    def renumber(self, node: np.ndarray) -> tuple[Answers, float]:
        """Give nodes new numbers, the same for some; return the answers and the logarithm of settled ones.

        A triplet of which two nodes are now the same is an answer about a pair; parallel pairs become one.
        """
        nodes = np.where(self.nodes >= 0, node[self.nodes], -1)
        logs = self.logs.copy()
        x, y, z = nodes.T
        triplet = z >= 0
        settled = np.where(triplet, (x == y) & (y == z), x == y)
        constant = float(np.where(triplet, logs[:, 3], logs[:, 0])[settled].sum())
        # If the pair that is left were together all three would be, which nobody calls a pair.
        for same, relation, left in ((x == y, 0, (0, 2)), (x == z, 1, (0, 1)), (y == z, 2, (0, 1))):
            now = same & triplet & ~settled
            nodes[now] = np.column_stack([nodes[now][:, left], np.full(now.sum(), -1)])
            apart = self.logs[now, relation]
            logs[now] = np.column_stack([self.logs[now, 3], apart, apart, apart])
        nodes, logs = nodes[~settled], logs[~settled]
        pair = nodes[:, 2] < 0
        ends, inverse = np.unique(np.sort(nodes[pair, :2], axis=1), axis=0, return_inverse=True)
        merged = np.zeros((len(ends), 4))
        np.add.at(merged, inverse.ravel(), logs[pair])
        ends = np.column_stack([ends.reshape(-1, 2), np.full(len(ends), -1)])
        return Answers(np.concatenate([ends, nodes[~pair]]), np.concatenate([merged, logs[~pair]])), constant

    def list_incidences(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return node and answer of each place of each answer."""
        answer, place = np.nonzero(self.nodes >= 0)
        return self.nodes[answer, place], answer

    def number_components(self, n_nodes: int) -> np.ndarray:
        """Number the nodes so that those joined by chains of answers have the same number."""
        node, answer = self.list_incidences(n_nodes)
        size = n_nodes + len(self)
        graph = coo_array((np.ones(len(node)), (node, n_nodes + answer)), shape=(size, size)).tocsr()
        found: np.ndarray = connected_components(graph, directed=False)[1][:n_nodes]
        return np.unique(found, return_inverse=True)[1].ravel()


def collect_answers(hints: Supervision, epsilon: float) -> tuple[np.ndarray, Answers]:
    """Return the rows that hints name, ascending, and the answers about them, parallel pairs joined."""
    cliques, clique_weights = hints.cannot_groups.list_pairs()
    star_weights = np.repeat(hints.must_groups.weights, np.diff(hints.must_groups.indptr) - 1)
    must = np.concatenate([hints.must, hints.must_groups.list_star_edges()])
    pairs = np.concatenate([must, hints.cannot, cliques])
    weight = np.concatenate([hints.must_weights, star_weights, hints.cannot_weights, clique_weights])
    right, wrong = weight * np.log1p(-epsilon), weight * np.log(epsilon)
    says_same = np.arange(len(pairs)) < len(must)
    apart = np.where(says_same, wrong, right)
    of_pairs = np.column_stack([np.where(says_same, right, wrong), apart, apart, apart])
    log_proba = np.full((len(hints.triplets), 4), np.log(epsilon / 3))
    log_proba[np.arange(len(log_proba)), hints.answers] = np.log1p(-epsilon)
    rows = np.unique(np.concatenate([pairs.ravel(), hints.triplets.ravel()]))
    pairs = np.column_stack([np.searchsorted(rows, pairs), np.full(len(pairs), -1)])
    nodes = np.concatenate([pairs, np.searchsorted(rows, hints.triplets)])
    logs = np.concatenate([of_pairs, log_proba * hints.triplet_weights[:, None]])
    return rows, Answers(nodes, logs).renumber(np.arange(len(rows)))[0]


@dataclass(frozen=True, eq=False)
class AnswerCycles:
    """What lies on cycles, or between them.

    Attributes
    ----------
    hard : ndarray of bool
        The nodes of components that have too many ways to place their core.
    core : ndarray of bool
        The nodes of cores.
    answers : ndarray of bool
        The answers within cores.
    """

    hard: np.ndarray
    core: np.ndarray
    answers: np.ndarray


def find_cycles(answers: Answers, n_nodes: int, n_clusters: int, most_ways: int) -> AnswerCycles:
    """Find the core of each component: what is left when leaves are cut off again and again."""
    node, answer = answers.list_incidences(n_nodes)
    alive = np.ones(len(node), dtype=bool)
    while True:
        of_node = np.bincount(node[alive], minlength=n_nodes)
        of_answer = np.bincount(answer[alive], minlength=len(answers))
        cut = alive & ((of_node[node] == 1) | (of_answer[answer] == 1))
        if not cut.any():
            break
        alive &= ~cut
    inside = of_answer > 0
    core = of_node > 0
    core[node[inside[answer]]] = True  # the third row of a triplet of which two are on a cycle
    component = answers.number_components(n_nodes)
    size = np.bincount(component, weights=core, minlength=1)
    too_large = size * np.log(max(n_clusters, 2)) > np.log(most_ways) + 1e-9
    return AnswerCycles(too_large[component], core, inside)


def join_hard_nodes(answers: Answers, hard: np.ndarray) -> np.ndarray:
    """Return a number for each node, the same for hard nodes that uncontradicted must-links join."""
    n = len(hard)
    pairs = answers[answers.is_pair]
    says_same = pairs.logs[:, 0] > pairs.logs[:, 3]
    must = pairs[says_same & hard[pairs.nodes[:, 0]]]
    together = must.number_components(n)
    against = pairs.nodes[~says_same, :2]
    against = against[together[against[:, 0]] == together[against[:, 1]]]
    contradicted = np.isin(together, together[against[:, 0]])
    return np.unique(np.where(contradicted, n + np.arange(n), together), return_inverse=True)[1].ravel()


def open_cycles(answers: Answers, hard: np.ndarray) -> tuple[Answers, np.ndarray]:
    """Open the cycles of hard nodes; return the answers, and the node that each node or copy is.

    Answers come in by what they tell: must-links, triplets, cannot-links. A node that an answer would join
    to what it is joined to already is replaced by a copy.
    """
    nodes, of = answers.nodes.copy(), list(range(len(hard)))
    loud = np.where(answers.is_pair, np.where(answers.logs[:, 0] > answers.logs[:, 3], 2, 0), 1)
    mine = np.flatnonzero(hard[nodes[:, 0]])
    met = DisjointSet(range(len(hard)))
    for f in mine[np.argsort(-loud[mine], kind="stable")].tolist():
        here: list[int] = []
        for place, v in enumerate(nodes[f].tolist()):
            if v < 0:
                continue
            if any(met.connected(v, w) for w in here):
                nodes[f, place] = len(of)
                of.append(v)
            else:
                here.append(v)
        for w in here[1:]:
            met.merge(here[0], w)
    return Answers(nodes, answers.logs), np.array(of, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Forest:
    """Answers hung on their roots, children's before their parents': arguments of the kernels."""

    parent: np.ndarray
    first: np.ndarray
    second: np.ndarray
    chance: np.ndarray


def hang_on_roots(answers: Answers, chance: np.ndarray, n_nodes: int, roots: np.ndarray) -> Forest:
    """Hang answers that form a forest on roots: `roots`, no two of one tree, and one more where none is."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes)]
    for f, nodes in enumerate(answers.nodes.tolist()):
        for place, v in enumerate(nodes):
            if v >= 0:
                near[v].append((f, place))
    seen, used = roots.copy(), np.zeros(len(answers), dtype=bool)
    line: list[tuple[int, int]] = []
    for root in [*np.flatnonzero(roots).tolist(), *range(n_nodes)]:
        if seen[root] and not roots[root]:
            continue
        seen[root] = True
        queue = [root]
        for v in queue:  # grows while it is walked
            for f, place in near[v]:
                if not used[f]:
                    used[f] = True
                    line.append((f, place))
                    below = [w for w in answers.nodes[f].tolist() if w >= 0 and w != v]
                    seen[below] = True
                    queue += below
    order, place_of = np.array(line[::-1], dtype=np.int64).reshape(-1, 2).T
    nodes, chance = answers.nodes[order], chance[order]
    at = np.arange(len(order))
    seen_as = np.column_stack([SEEN_FROM[place_of], np.full(len(order), 3)])
    pair = nodes[:, 2] < 0
    # The other node of a pair is at place 1 or 0, the first of the others either way.
    return Forest(
        nodes[at, place_of],
        nodes[at, OTHERS[place_of, 0]],
        np.where(pair, -1, nodes[at, OTHERS[place_of, 1]]),
        np.where(pair[:, None], chance, chance[at[:, None], seen_as]),
    )
