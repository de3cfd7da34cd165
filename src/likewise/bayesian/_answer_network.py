"""Answers as a factor graph over the clusters of their rows.

Given the weights of the softmax model, the clusters of rows are independent, and an answer couples two or
three of them. If answers form a forest, message passing is exact. For cycles see `AnswerNetwork.from_hints`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.kernels.messages import gather, spread
from likewise.supervision import Supervision

# Maximum number of joint assignments of the rows of cycles for exact sums by enumeration.
MOST_WAYS = 4096
# Maximum log-odds of an answer, in nats; with larger values sums underflow.
LOUDEST = 50.0
# For each position of a node in a triplet: its relations with the other two nodes, and their relation.
SEEN_FROM = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
OTHERS = np.array([[1, 2], [0, 2], [0, 1]])


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers, and their log-probabilities for each true relation of their nodes."""

    nodes: np.ndarray  # (n_answers, 3) the two or three nodes of each answer; for a pair the last entry is -1
    # (n_answers, 4) the log-probability of the answer if the first two nodes are together (for a triplet,
    # without the third), the first and the third, the last two, or none of these; for a pair the last three
    # are equal
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

    def list_incidences(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the node and the answer of each incidence."""
        answer, place = np.nonzero(self.nodes >= 0)
        return self.nodes[answer, place], answer

    def number_components(self, n_nodes: int) -> np.ndarray:
        """Return the connected component of each node."""
        node, answer = self.list_incidences()
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
    """The cores of the components: nodes and answers on cycles or between cycles."""

    hard: np.ndarray  # a mask of the nodes of components whose core has too many joint assignments
    core: np.ndarray  # a mask of the nodes of cores
    answers: np.ndarray  # a mask of the answers within cores


def find_cycles(answers: Answers, n_nodes: int, n_clusters: int, most_ways: int) -> AnswerCycles:
    """Find the core of each component by repeatedly removing leaves."""
    node, answer = answers.list_incidences()
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


class Forest(NamedTuple):
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


@dataclass(frozen=True, eq=False)
class _Core:
    """Nodes in cycles, few enough to enumerate their joint assignments."""

    nodes: np.ndarray
    weight: np.ndarray  # of every assignment, in C order with nodes[0] first


@dataclass(frozen=True, eq=False)
class AnswerNetwork:
    """The factor graph of the answers, for sums over the clusters of the hinted rows."""

    n_clusters: int
    # (n_hinted,) The hinted rows, ascending. Everything else refers to positions in this array.
    rows: np.ndarray
    component: np.ndarray  # (n_hinted,) the connected component of each row
    exact: bool  # whether sums over the clusters are exact
    _constant: float
    _member: np.ndarray  # rows, sorted by their node
    _start: np.ndarray  # start of the members of each node
    _node: np.ndarray  # the node of each row
    _forest: Forest
    _cores: tuple[_Core, ...]
    _stated: Answers

    @classmethod
    def from_hints(
        cls, hints: Supervision, n_clusters: int, epsilon: float, most_ways: int = MOST_WAYS
    ) -> AnswerNetwork:
        """Build the network of links and triplets.

        Trees of any size are exact, and so are cycles whose rows have at most `most_ways` joint assignments,
        including the trees attached to them. In larger cycles, must-links that no cannot-link contradicts are
        treated as certain. If large cycles remain, each answer that closes a cycle refers to a copy of one of
        its rows: a row with the same features and an independent cluster.
        """
        rows, stated_answers = collect_answers(hints, epsilon)
        answers, node, settled = stated_answers, np.arange(len(rows)), 0.0
        cycles = find_cycles(answers, len(rows), n_clusters, most_ways)
        exact = not cycles.hard.any()
        if not exact:
            node = join_hard_nodes(answers, cycles.hard)
            answers, settled = answers.renumber(node)
            cycles = find_cycles(answers, int(node.max()) + 1, n_clusters, most_ways)
        n_nodes = len(cycles.hard)
        of, in_core, in_cores = np.arange(n_nodes), cycles.core & ~cycles.hard, cycles.answers
        if cycles.hard.any():
            in_cores = in_cores & ~cycles.hard[answers.nodes[:, 0]]
            answers, of = open_cycles(answers, cycles.hard)
            in_core = np.concatenate([in_core, np.zeros(len(of) - n_nodes, dtype=bool)])
        chance, taken_out = answers.compute_probabilities()
        cores = _list_cores(answers[in_cores], chance[in_cores], len(of), n_clusters)
        forest = hang_on_roots(answers[~in_cores], chance[~in_cores], len(of), in_core)
        order = np.argsort(node, kind="stable")
        first = np.searchsorted(node[order], np.arange(n_nodes + 1))
        members = [order[first[v] : first[v + 1]] for v in of]
        member = np.concatenate([*members, np.zeros(0, dtype=np.int64)])
        start = np.cumsum([0, *(len(m) for m in members)])[: len(of)].astype(np.int64)
        return cls(
            n_clusters, rows, stated_answers.number_components(len(rows)), exact, settled + taken_out,
            member, start, node, forest, cores, stated_answers,
        )  # fmt: skip

    # ------------------------------------------------------------------ sums over the clusters

    @property
    def is_plain(self) -> bool:
        """Whether every node is one row."""
        return len(self._start) == len(self.rows) == len(self._member)

    def _pass_upwards(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the upward beliefs of the nodes, (S, n_nodes, k), and the logarithm of the sums, (S,)."""
        if self.is_plain:
            belief, total = np.exp(log_p), np.full(len(log_p), self._constant)
        else:
            together = np.add.reduceat(log_p[:, self._member], self._start, axis=1)
            most = together.max(axis=2, keepdims=True)
            belief = np.exp(together - most)
            mass = belief.sum(axis=2, keepdims=True)
            belief /= mass
            total = self._constant + (np.log(mass) + most).sum(axis=(1, 2))
        gather(*self._forest, belief, total)
        return belief, total

    def _weigh_placements(self, core: _Core, belief: np.ndarray) -> np.ndarray:
        """Return the weight of every joint assignment of the nodes of a core, shape (S, k ** m)."""
        joint = belief[:, core.nodes[0]]
        for v in core.nodes[1:]:
            joint = (joint[:, :, None] * belief[:, v][:, None, :]).reshape(len(belief), -1)
        return np.asarray(joint * core.weight)

    def log_likelihood(self, log_p: np.ndarray) -> np.ndarray:
        """Return log P(answers | W), shape (S,), for log-probabilities of the rows, (S, n_hinted, k)."""
        return self._add_cores(*self._pass_upwards(log_p))

    def sum_over_clusters(self, p: np.ndarray) -> np.ndarray:
        """Return log P(answers | W), (S,), for probabilities (S, n_hinted, k), which are overwritten.

        Only for networks that are plain; they need no logarithms.
        """
        total = np.full(len(p), self._constant)
        gather(*self._forest, p, total)
        return self._add_cores(p, total)

    def _add_cores(self, belief: np.ndarray, total: np.ndarray) -> np.ndarray:
        for core in self._cores:
            total += np.log(np.maximum(self._weigh_placements(core, belief).sum(axis=1), 1e-300))
        return total

    def compute_posterior(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(answers | W) and the posterior of the nodes given answers and W, (S, n_nodes, k)."""
        belief, total = self._pass_upwards(log_p)
        for core in self._cores:
            ways = self._weigh_placements(core, belief)
            mass = np.maximum(ways.sum(axis=1), 1e-300)
            total += np.log(mass)
            ways = (ways / mass[:, None]).reshape(-1, *[self.n_clusters] * len(core.nodes))
            for at, v in enumerate(core.nodes):
                others = tuple(1 + j for j in range(len(core.nodes)) if j != at)
                belief[:, v] = ways.sum(axis=others)
        spread(*self._forest, np.empty(self.n_clusters), belief)
        return total, belief

    def compute_row_posterior(self, log_p: np.ndarray) -> np.ndarray:
        """Return the posterior of the rows given answers and W, shape (S, n_hinted, k)."""
        return np.asarray(self.compute_posterior(log_p)[1][:, self._node])

    def compute_together(self, log_p: np.ndarray, i: int) -> np.ndarray:
        """Return the probability that each row is with row i, given answers and W, shape (S, n_hinted)."""
        shared = np.zeros(log_p.shape[:2])
        own = self.compute_row_posterior(log_p)[:, i]
        for h in range(self.n_clusters):
            there = log_p.copy()
            there[:, i] = np.where(np.arange(self.n_clusters) == h, 0.0, -2 * LOUDEST)
            shared += own[:, h, None] * self.compute_row_posterior(there)[:, :, h]
        shared[:, i] = 1.0
        return np.minimum(shared, 1.0)

    def compute_gradient(self, log_p: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log P(answers | W) of one model and its gradient with respect to the logits of the rows.

        `log_p` has shape (n_hinted, k). The gradient is r - p, summed over a row and its copies.
        """
        total, belief = self.compute_posterior(log_p[None])
        size = np.diff(np.append(self._start, len(self._member)))
        of_member = np.repeat(np.arange(len(size)), size)
        gradient = np.zeros_like(log_p)
        np.add.at(gradient, self._member, belief[0, of_member] - np.exp(log_p)[self._member])
        return float(total[0]), gradient

    # ------------------------------------------------------------------ the most probable clusters

    def find_best(self, log_p: np.ndarray) -> np.ndarray:
        """Return the most probable joint clusters of the rows given answers and one model, (n_hinted,).

        Uses max-product on forests and enumeration of cores. If sums are not exact, single rows are then
        moved in a fixed order while the probability of all stated answers rises.
        """
        k, tree = self.n_clusters, self._forest
        score = np.add.reduceat(log_p[self._member], self._start, axis=0)
        tables = [_log_table(tree.chance[f], tree.second[f] >= 0, k) for f in range(len(tree.parent))]
        for f, table in enumerate(tables):
            reach = table + (score[tree.first[f]][:, None] if tree.second[f] >= 0 else score[tree.first[f]])
            if tree.second[f] >= 0:
                reach = reach + score[tree.second[f]]
            score[tree.parent[f]] += reach.reshape(k, -1).max(axis=1)
        label = score.argmax(axis=1)
        for core in self._cores:
            joint = np.zeros(1)
            for v in core.nodes:
                joint = (joint[:, None] + score[v]).ravel()
            way = int((joint + np.log(core.weight)).argmax())
            label[core.nodes] = np.unravel_index(way, [k] * len(core.nodes))
        for f in range(len(tables) - 1, -1, -1):
            a, b = tree.first[f], tree.second[f]
            row = tables[f][label[tree.parent[f]]]
            if b < 0:
                label[a] = (row + score[a]).argmax()
            else:
                label[a], label[b] = np.divmod(int((row + score[a][:, None] + score[b]).argmax()), k)
        label = label[self._node]
        return label if self.exact else self._improve(label, log_p)

    def _improve(self, label: np.ndarray, log_p: np.ndarray, max_sweeps: int = 20) -> np.ndarray:
        stated_answers = self._stated
        logs = np.maximum(stated_answers.logs - stated_answers.logs.max(axis=1, keepdims=True), -LOUDEST)
        node, answer = stated_answers.list_incidences()
        place = np.nonzero(stated_answers.nodes >= 0)[1]
        order = np.argsort(node, kind="stable")
        first = np.searchsorted(node[order], np.arange(len(label) + 1))
        # Log-likelihood of each relation, from the point of view of a row, relative to no relation.
        seen = logs[answer[:, None], SEEN_FROM[place]] - logs[answer, 3][:, None]
        others = stated_answers.nodes[answer[:, None], OTHERS[place]]
        seen, others = seen[order], others[order]
        for _ in range(max_sweeps):
            moved = False
            for i in range(len(label)):
                part = slice(first[i], first[i + 1])
                u, v = others[part].T
                pair = v < 0
                apart = pair | (label[u] != label[v])
                value = log_p[i] + np.bincount(label[u[apart]], seen[part][apart, 0], self.n_clusters)
                more = apart & ~pair
                value += np.bincount(label[v[more]], seen[part][more, 1], self.n_clusters)
                value -= np.bincount(label[u[~apart]], seen[part][~apart, 2], self.n_clusters)
                new = int(value.argmax())
                if value[new] > value[label[i]] + 1e-9:
                    label[i], moved = new, True
            if not moved:
                break
        return label


def _log_table(chance: np.ndarray, triplet: bool, k: int) -> np.ndarray:
    """Return the log-probability of an answer for each joint assignment of its two or three nodes."""
    log_chance = np.log(chance)
    same = np.eye(k, dtype=bool)
    if not triplet:
        return np.where(same, log_chance[0], log_chance[3])
    with_first, with_second, apart = same[:, :, None], same[:, None, :], same[None]
    table = np.where(with_first & ~with_second, log_chance[0], log_chance[3])
    table = np.where(with_second & ~with_first, log_chance[1], table)
    return np.where(apart & ~with_first, log_chance[2], table)


def _list_cores(answers: Answers, chance: np.ndarray, n_nodes: int, k: int) -> tuple[_Core, ...]:
    """Return the cores with the weights of their joint assignments."""
    component = answers.number_components(n_nodes)
    of_answer = component[answers.nodes[:, 0]]
    cores = []
    for c in np.unique(of_answer):
        nodes = np.flatnonzero(component == c)
        place = np.indices([k] * len(nodes)).reshape(len(nodes), -1)
        log_weight = np.zeros(place.shape[1])
        for f in np.flatnonzero(of_answer == c):
            at = [place[np.searchsorted(nodes, v)] for v in answers.nodes[f] if v >= 0]
            log_weight += _log_table(chance[f], len(at) == 3, k)[tuple(at)]
        cores.append(_Core(nodes, np.exp(np.maximum(log_weight, -600.0))))
    return tuple(cores)
