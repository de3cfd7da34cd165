"""Answers about pairs and triplets as a graph; find its cycles and open them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.supervision import Supervision

# Maximum log-odds of an answer, in nats; with larger values sums underflow.
LOUDEST = 50.0
# For each position of a node in a triplet: its relations with the other two nodes, and their relation.
SEEN_FROM = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
OTHERS = np.array([[1, 2], [0, 2], [0, 1]])


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers, and their log-probabilities for each true relation of their nodes.

    Attributes
    ----------
    nodes : ndarray of shape (n_answers, 3)
        The two or three nodes of each answer; for a pair the last entry is -1.
    logs : ndarray of shape (n_answers, 4)
        The log-probability of the answer if the first two nodes are together (for a triplet, without the
        third), the first and the third, the last two, or none of these; for a pair the last three are equal.
    """

    nodes: np.ndarray
    logs: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, which: np.ndarray) -> Answers:
        return Answers(self.nodes[which], self.logs[which])

    @property
    def is_pair(self) -> np.ndarray:
        """A mask of the answers about pairs."""
        return np.asarray(self.nodes[:, 2] < 0)

    def compute_probabilities(self) -> tuple[np.ndarray, float]:
        """Return probabilities divided by the largest of each answer, and the logarithm of all divisors."""
        most = self.logs.max(axis=1, keepdims=True)
        return np.exp(np.maximum(self.logs - most, -LOUDEST)), float(most.sum())

    def renumber(self, node: np.ndarray) -> tuple[Answers, float]:
        """Renumber the nodes, some of which may be merged.

        Answers whose nodes are all merged are dropped; their log-probability is returned as well. A triplet
        with two merged nodes becomes an answer about a pair, and answers about the same pair are combined.
        """
        nodes = np.where(self.nodes >= 0, node[self.nodes], -1)
        logs = self.logs.copy()
        x, y, z = nodes.T
        triplet = z >= 0
        settled = np.where(triplet, (x == y) & (y == z), x == y)
        constant = float(np.where(triplet, logs[:, 3], logs[:, 0])[settled].sum())
        # If the remaining pair were together, all three nodes would be, for which the relation is "none".
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
        """Return the node and the answer of each incidence."""
        answer, place = np.nonzero(self.nodes >= 0)
        return self.nodes[answer, place], answer

    def number_components(self, n_nodes: int) -> np.ndarray:
        """Return the connected component of each node."""
        node, answer = self.list_incidences(n_nodes)
        size = n_nodes + len(self)
        graph = coo_array((np.ones(len(node)), (node, n_nodes + answer)), shape=(size, size)).tocsr()
        found: np.ndarray = connected_components(graph, directed=False)[1][:n_nodes]
        return np.unique(found, return_inverse=True)[1].ravel()


def collect_answers(hints: Supervision, epsilon: float) -> tuple[np.ndarray, Answers]:
    """Return the hinted rows, ascending, and the answers about them, one for each pair or triplet."""
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
    """The cores of the components: nodes and answers on cycles or between cycles.

    Attributes
    ----------
    hard : ndarray of bool
        A mask of the nodes of components whose core has too many joint assignments.
    core : ndarray of bool
        A mask of the nodes of cores.
    answers : ndarray of bool
        A mask of the answers within cores.
    """

    hard: np.ndarray
    core: np.ndarray
    answers: np.ndarray


def find_cycles(answers: Answers, n_nodes: int, n_clusters: int, most_ways: int) -> AnswerCycles:
    """Find the core of each component by repeatedly removing leaves."""
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
    core[node[inside[answer]]] = True  # includes the third row of a triplet with two rows on a cycle
    component = answers.number_components(n_nodes)
    size = np.bincount(component, weights=core, minlength=1)
    too_large = size * np.log(max(n_clusters, 2)) > np.log(most_ways) + 1e-9
    return AnswerCycles(too_large[component], core, inside)


def join_hard_nodes(answers: Answers, hard: np.ndarray) -> np.ndarray:
    """Return new node numbers that merge hard nodes joined by uncontradicted must-links."""
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
    """Open the cycles of hard nodes; return the answers, and the original node of each node or copy.

    Answers are added in the order must-links, triplets, cannot-links. If an answer would close a cycle at a
    node, the node is replaced by a copy in that answer.
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
    """Answers as rooted trees, children before parents; the arguments of the message kernels."""

    parent: np.ndarray
    first: np.ndarray
    second: np.ndarray
    chance: np.ndarray


def hang_on_roots(answers: Answers, chance: np.ndarray, n_nodes: int, roots: np.ndarray) -> Forest:
    """Root the trees of a forest: at `roots`, at most one per tree, and at some node in other trees."""
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
        for v in queue:  # grows during the iteration
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
    # The other node of a pair is at position 1 or 0, the first entry of OTHERS in both cases.
    return Forest(
        nodes[at, place_of],
        nodes[at, OTHERS[place_of, 0]],
        np.where(pair, -1, nodes[at, OTHERS[place_of, 1]]),
        np.where(pair[:, None], chance, chance[at[:, None], seen_as]),
    )
