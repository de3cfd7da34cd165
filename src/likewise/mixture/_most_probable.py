"""The most probable joint labelling of units with cannot-links between them.

Groups already enumerated by `FactorNetwork` use its tables. A larger group is solved exactly by variable
elimination if its graph is nearly a tree, and otherwise labelled by a search that avoids violated links:
greedy colouring, then exchanges between two classes until none helps. Scores are log probabilities.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from likewise.mixture._factors import FactorNetwork

# Maximum number of entries, K^(width + 1), of an elimination table.
_MAX_TABLE_SIZE = 20_000
_PASSES = 50


def find_most_probable_labels(network: FactorNetwork, large: np.ndarray, log_unary: np.ndarray) -> np.ndarray:
    """Return the class of each unit in the most probable labelling of each connected group.

    `large` are the cannot-links (pairs of units) of the groups that are too large for `network`.
    """
    labels = np.asarray(log_unary.argmax(axis=1))
    if len(network.pairs):
        labels[network.pairs] = _label_pairs(log_unary[network.pairs])
    for group in network.groups:
        labels[group.units] = group.find_most_probable(log_unary[group.units])
    if len(large):
        units, ends = np.unique(large, return_inverse=True)
        labels[units] = label_graph(log_unary[units], ends.reshape(-1, 2))
    return labels


def has_consistent_labels(edges: np.ndarray, n_classes: int) -> bool:
    """Return True if a labelling that breaks no edge is found.

    The search is heuristic for large groups, so False does not prove that none exists.
    """
    if not len(edges):
        return True
    units, ends = np.unique(edges, return_inverse=True)
    ends = ends.reshape(-1, 2)
    labels = label_graph(np.zeros((len(units), n_classes)), ends)
    return bool((labels[ends[:, 0]] != labels[ends[:, 1]]).all())


def _label_pairs(log_unary: np.ndarray) -> np.ndarray:
    """Return the best labels (P, 2) of pairs that must differ, given scores of shape (P, 2, K)."""
    order = np.argsort(-log_unary, axis=2, kind="stable")[:, :, :2]
    best, second = order[..., 0], order[..., -1]
    loss = np.take_along_axis(log_unary, order, axis=2)
    loss = loss[..., 0] - loss[..., -1]
    labels = best.copy()
    same = np.flatnonzero(best[:, 0] == best[:, 1])
    gives_way = loss[same].argmin(axis=1)
    labels[same, gives_way] = second[same, gives_way]
    return labels


def label_graph(log_unary: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return labels (n,) of high total score in which the ends of each edge differ, if possible."""
    n = len(log_unary)
    graph = csr_array(
        coo_array((np.ones(2 * len(edges)), np.vstack([edges, edges[:, ::-1]]).T), shape=(n, n))
    )
    _, group = connected_components(graph, directed=False)
    labels = np.empty(n, dtype=np.int64)
    parts = (_split_by(group, np.arange(n)), _split_by(group[edges[:, 0]], edges))  # every group has edges
    for members, own in zip(*parts, strict=True):
        unary, own = log_unary[members], np.searchsorted(members, own)
        found = eliminate(unary, own)
        labels[members] = search(unary, own) if found is None else found
    return labels


def _split_by(group: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
    """Return the values of each group, in their original order."""
    order = np.argsort(group, kind="stable")
    return np.split(values[order], np.flatnonzero(np.diff(group[order])) + 1)


def eliminate(log_unary: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """Return the best labels by variable elimination; None if a table would be too large.

    If no labelling satisfies every edge, the labels break as few edges as possible.
    """
    n, k = log_unary.shape
    # A violated edge costs more than the largest possible gain in score.
    penalty = 1.0 + float(np.ptp(log_unary, axis=1).sum())
    near: list[set[int]] = [set() for _ in range(n)]
    tables: list[list[tuple[tuple[int, ...], np.ndarray]]] = [[((u,), log_unary[u])] for u in range(n)]
    for a, b in edges.tolist():
        if b not in near[a]:
            near[a].add(b)
            near[b].add(a)
            tables[a].append(((a, b), -penalty * np.eye(k)))
    heap = [(len(near[u]), u) for u in range(n)]
    heapify(heap)
    done: list[tuple[int, tuple[int, ...], np.ndarray]] = []
    gone = np.zeros(n, dtype=bool)
    while heap:
        degree, u = heappop(heap)
        if gone[u] or degree != len(near[u]):
            continue
        if k ** (degree + 1) > _MAX_TABLE_SIZE:
            return None
        rest = tuple(sorted(near[u]))
        scope = (u, *rest)
        total = np.zeros((k,) * len(scope))
        for v in scope:
            kept = []
            for variables, table in tables[v]:
                if u in variables:
                    total = total + _expand_axes(table, variables, scope)
                else:
                    kept.append((variables, table))
            tables[v] = kept
        done.append((u, rest, total.argmax(axis=0)))
        gone[u] = True
        for v in rest:
            near[v].discard(u)
            near[v].update(w for w in rest if w != v)
            heappush(heap, (len(near[v]), v))
        if rest:
            tables[rest[0]].append((rest, total.max(axis=0)))
    labels = np.empty(n, dtype=np.int64)
    for u, rest, best in reversed(done):
        labels[u] = best[tuple(labels[v] for v in rest)]
    return labels


def _expand_axes(table: np.ndarray, variables: tuple[int, ...], scope: tuple[int, ...]) -> np.ndarray:
    """Return a table with the axes of a larger scope."""
    places = [scope.index(v) for v in variables]
    table = table.transpose(np.argsort(places))
    return table.reshape([len(table) if at in places else 1 for at in range(len(scope))])


def search(log_unary: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return good labels of a connected graph: greedy colouring, then exchanges between two classes.

    The units of two classes form connected parts. In each part, the two classes can be exchanged without
    breaking a link; a part with violated links and no odd cycle is relabelled.
    """
    k = log_unary.shape[1]
    labels = _color(log_unary, edges)
    for _ in range(_PASSES):
        before = labels.copy()
        for first, second in combinations(range(k), 2):
            at = np.flatnonzero((labels == first) | (labels == second))
            inside = np.isin(edges, at).all(axis=1)
            part, side = _color_with_two(len(at), np.searchsorted(at, edges[inside]))
            now = (labels[at] == second).astype(np.int64)
            violated = np.zeros(part.max(initial=-1) + 1, dtype=bool)
            ends = np.searchsorted(at, edges[inside])
            violated[part[ends[now[ends[:, 0]] == now[ends[:, 1]], 0]]] = True
            odd = np.zeros_like(violated)
            odd[part[ends[side[ends[:, 0]] == side[ends[:, 1]], 0]]] = True
            now = np.where((violated & ~odd)[part], side, now)
            gain = log_unary[at, second] - log_unary[at, first]
            swap = np.bincount(part, weights=np.where(now, -gain, gain), minlength=len(violated)) > 1e-12
            labels[at] = np.where(now ^ swap[part], second, first)
        if (labels == before).all():
            break
    return labels


def _color_with_two(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the component of each node, and a two-colouring of each component.

    The colours come from the double cover, in which every node occurs twice and edges cross over; components
    with an odd cycle have none, and all their nodes get 0.
    """
    a, b = edges.T
    ones = np.ones(len(edges))
    _, part = connected_components(coo_array((ones, (a, b)), shape=(n, n)), directed=False)
    cover = coo_array((np.tile(ones, 2), (np.r_[a, a + n], np.r_[b + n, b])), shape=(2 * n, 2 * n))
    _, twice = connected_components(cover, directed=False)
    return part, (twice[:n] > twice[n:]).astype(np.int64)


def _color(log_unary: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Label units greedily: fewest open classes first, then the largest gap between the two best scores."""
    n, k = log_unary.shape
    both = np.vstack([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    near = np.split(both[:, 1], np.searchsorted(both[:, 0], np.arange(1, n)))
    left = log_unary.copy()
    labels = np.full(n, -1)

    def compute_urgency(u: int) -> tuple[int, float, int]:
        values = np.sort(left[u][left[u] > -np.inf])
        return len(values), -float(values[-1] - values[-2]) if len(values) > 1 else 0.0, u

    heap = [compute_urgency(u) for u in range(n)]
    heapify(heap)
    while heap:
        *_, u = heappop(heap)
        if labels[u] >= 0:
            continue
        if left[u].max() > -np.inf:
            labels[u] = left[u].argmax()
        else:  # no class is left: break as few links as possible
            taken = labels[near[u]]
            counts = np.bincount(taken[taken >= 0], minlength=k)
            labels[u] = np.where(counts == counts.min(), log_unary[u], -np.inf).argmax()
        for v in near[u].tolist():
            if labels[v] < 0 and left[v, labels[u]] > -np.inf:
                left[v, labels[u]] = -np.inf
                heappush(heap, compute_urgency(v))
    return labels
