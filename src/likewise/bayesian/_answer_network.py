"""Answers as a factor graph over the clusters of their rows.

Given the weights of the softmax model, the clusters of rows are independent, and an answer couples two or
three of them. If answers form a forest, message passing is exact. For cycles see `AnswerNetwork.from_hints`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.bayesian._answers import (
    LOUDEST,
    OTHERS,
    SEEN_FROM,
    Answers,
    Forest,
    collect_answers,
    find_cycles,
    hang_on_roots,
    join_hard_nodes,
    open_cycles,
)
from likewise.kernels.messages import gather, spread
from likewise.supervision import Supervision

# Maximum number of joint assignments of the rows of cycles for exact sums by enumeration.
MOST_WAYS = 4096


@dataclass(frozen=True, eq=False)
class _Core:
    """Nodes in cycles, few enough to enumerate their joint assignments."""

    nodes: np.ndarray
    weight: np.ndarray  # of every assignment, in C order with nodes[0] first


@dataclass(frozen=True, eq=False)
class AnswerNetwork:
    """The factor graph of the answers, for sums over the clusters of the hinted rows.

    Attributes
    ----------
    rows : ndarray of shape (n_hinted,)
        The hinted rows, ascending. Everything else refers to positions in this array.
    component : ndarray of shape (n_hinted,)
        The connected component of each row.
    exact : bool
        Whether sums over the clusters are exact.
    """

    n_clusters: int
    rows: np.ndarray
    component: np.ndarray
    exact: bool
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

    def _pass_upwards(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the upward beliefs of the nodes, (S, n_nodes, k), and the logarithm of the sums, (S,)."""
        if len(self._start) == len(self.rows) == len(self._member):
            belief, total = np.exp(log_p), np.full(len(log_p), self._constant)
        else:
            together = np.add.reduceat(log_p[:, self._member], self._start, axis=1)
            most = together.max(axis=2, keepdims=True)
            belief = np.exp(together - most)
            mass = belief.sum(axis=2, keepdims=True)
            belief /= mass
            total = self._constant + (np.log(mass) + most).sum(axis=(1, 2))
        tree = self._forest
        gather(tree.parent, tree.first, tree.second, tree.chance, belief, total)
        return belief, total

    def _weigh_placements(self, core: _Core, belief: np.ndarray) -> np.ndarray:
        """Return the weight of every joint assignment of the nodes of a core, shape (S, k ** m)."""
        joint = belief[:, core.nodes[0]]
        for v in core.nodes[1:]:
            joint = (joint[:, :, None] * belief[:, v][:, None, :]).reshape(len(belief), -1)
        return np.asarray(joint * core.weight)

    def log_likelihood(self, log_p: np.ndarray) -> np.ndarray:
        """Return log P(answers | W), shape (S,), for log-probabilities of the rows, (S, n_hinted, k)."""
        belief, total = self._pass_upwards(log_p)
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
        tree, room = self._forest, np.empty(self.n_clusters)
        spread(tree.parent, tree.first, tree.second, tree.chance, room, belief)
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
        node, answer = stated_answers.list_incidences(len(label))
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
