"""Maximum-weight arborescence of a dense directed graph, rooted at node 0 (Chu and Liu 1965, Edmonds 1967).

Weights (m, m): IN, [p, c] the weight of the edge from p to c, -inf if there is none. The diagonal and
column 0 are ignored. All other weights must be finite.

Each node takes the best edge into it. A cycle is contracted to one node; the weight of an edge into it is
its gain over the edge of the cycle that it replaces (Tarjan 1977, in the dense form). Edges are stored as one
row per node over all sources, and a contracted cycle reuses the row of one of its nodes: m^2 time and memory,
without heaps.
"""

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def _enter(weights, barred, rows):
    """Write the weights as one row per node, and return which nodes can be reached from node 0.

    barred: IN, one edge (p, c) to leave out. rows (m, m): OUT, [c, p] the weight of the edge from p to c,
    -inf if p cannot be reached.
    """
    m = len(weights)
    source, child = barred
    reached = np.zeros(m, dtype=np.bool_)
    reached[0] = True
    waiting = np.zeros(m, dtype=np.int64)
    n_waiting = 1
    rows[:] = -np.inf
    while n_waiting > 0:
        n_waiting -= 1
        p = waiting[n_waiting]
        for c in range(1, m):
            if c != p and weights[p, c] > -np.inf and not (p == source and c == child):
                rows[c, p] = weights[p, c]
                if not reached[c]:
                    reached[c] = True
                    waiting[n_waiting] = c
                    n_waiting += 1
    return reached


@njit(nogil=True, cache=True)
def _contract(path, first, length, at, top, cost, rows, heads):
    """Contract a cycle into the row of its first node, which then holds the gain of each edge.

    path, first, length: IN, the cycle is path[first:length]; at (m,): IN, the position of each row on the
    path; cost (m,): IN, the weight of the edge that each row has taken. top (m,), rows, heads (m, m): OUT.
    """
    m = len(top)
    whole = path[first]
    for u in range(m):
        rows[whole, u] -= cost[whole]
    for step in range(first + 1, length):
        member = path[step]
        for u in range(m):
            gain = rows[member, u] - cost[member]
            if gain > rows[whole, u]:
                rows[whole, u] = gain
                heads[whole, u] = heads[member, u]
    for u in range(m):
        if at[top[u]] >= first:
            top[u] = whole
            rows[whole, u] = -np.inf
    for step in range(first + 1, length):
        at[path[step]] = -1


@njit(nogil=True, cache=True)
def _solve(rows, heads, reached, parents):
    """Compute the parents of the best arborescence; rows, heads (m, m) are overwritten."""
    m = len(rows)
    for c in range(m):
        heads[c] = c
    top = np.arange(m)  # the row of the contracted node that now contains each node
    name = np.arange(m)  # the number of the contracted node in each row
    inside = np.full(2 * m, -1)  # the contracted node that directly contains each node
    tail, head = np.empty(2 * m, dtype=np.int64), np.empty(2 * m, dtype=np.int64)
    cost = np.empty(m)
    settled = np.zeros(m, dtype=np.bool_)
    settled[0] = True
    path, at = np.empty(m, dtype=np.int64), np.full(m, -1)
    n_names = m
    for start in range(1, m):
        if settled[top[start]] or not reached[start]:
            continue
        path[0], length = top[start], 1
        at[top[start]] = 0
        while length > 0:
            row = path[length - 1]
            best = 0
            for u in range(1, m):
                if rows[row, u] > rows[row, best]:
                    best = u
            cost[row], tail[name[row]], head[name[row]] = rows[row, best], best, heads[row, best]
            found = top[best]
            if settled[found]:
                for step in range(length):
                    settled[path[step]] = True
                    at[path[step]] = -1
                length = 0
            elif at[found] >= 0:
                for step in range(at[found], length):
                    inside[name[path[step]]] = n_names
                _contract(path, at[found], length, at, top, cost, rows, heads)
                length = at[found] + 1
                name[found] = n_names
                n_names += 1
            else:
                at[found] = length
                path[length] = found
                length += 1
    _expand(n_names, inside, tail, head, reached, parents)


@njit(nogil=True, cache=True)
def _expand(n_names, inside, tail, head, reached, parents):
    """Undo the contractions in reverse order; an edge into a cycle replaces one edge of the cycle."""
    replaced = np.zeros(n_names, dtype=np.bool_)
    parents[0] = -1
    for joined in range(n_names - 1, 0, -1):
        if joined < len(parents) and not reached[joined]:
            parents[joined] = -2
        elif not replaced[joined]:
            c = head[joined]
            parents[c] = tail[joined]
            while c != joined:
                replaced[c] = True
                c = inside[c]


@njit(nogil=True, cache=True)
def maximum_arborescence(weights):
    """Return the parents (m,) of the tree of maximum weight, rooted at node 0.

    The parent of node 0 is -1, and that of a node that cannot be reached from node 0 is -2; all others form
    the best tree among themselves. Ties between edges into a node go to the smallest p.
    """
    m = len(weights)
    rows, heads = np.empty((m, m)), np.empty((m, m), dtype=np.int32)
    parents = np.empty(m, dtype=np.int64)
    _solve(rows, heads, _enter(weights, (-1, -1), rows), parents)
    return parents


@njit(nogil=True, cache=True)
def edge_margins(weights, parents, exact_up_to=300):
    """Return the margin (m,) of each node's edge: how much worse the best tree without this edge is.

    parents (m,): IN, the result of `maximum_arborescence`. The margin is inf for nodes without another
    possible parent, node 0 and unreachable nodes. Up to `exact_up_to` nodes besides the root, the margin is
    exact: the problem is solved again without each edge, in m^3 time. Above that, only the node with its
    subtree moves, which may overstate the margin, in m^2 time.
    """
    m = len(weights)
    margins = np.full(m, np.inf)
    if m - 1 > exact_up_to:
        _move_margins(weights, parents, margins)
        return margins
    rows, heads = np.empty((m, m)), np.empty((m, m), dtype=np.int32)
    other = np.empty(m, dtype=np.int64)
    for c in range(1, m):
        if parents[c] < 0:
            continue
        reached = _enter(weights, (parents[c], c), rows)
        if not reached[c]:
            continue
        _solve(rows, heads, reached, other)
        margin = 0.0
        for d in range(1, m):
            if parents[d] >= 0 and other[d] != parents[d]:
                margin += weights[parents[d], d] - weights[other[d], d]
        margins[c] = max(margin, 0.0)  # a tie may differ by rounding
    return margins


@njit(nogil=True, cache=True)
def _move_margins(weights, parents, margins):
    """Compute the loss if each node moves, with its subtree, to its next best parent."""
    m = len(weights)
    side = np.empty(m, dtype=np.int8)  # 0: not yet known, 1: in the subtree of the node, 2: outside
    for c in range(1, m):
        if parents[c] < 0:
            continue
        side[:] = 0
        side[0], side[c] = 2, 1
        best = -np.inf
        for p in range(m):
            if parents[p] == -2:
                continue
            end = p
            while side[end] == 0:
                end = parents[end]
            known = side[end]
            end = p
            while side[end] == 0:  # mark the path, so that each step is taken at most twice
                side[end] = known
                end = parents[end]
            if known == 2 and p != parents[c]:
                best = max(best, weights[p, c])
        margins[c] = max(weights[parents[c], c] - best, 0.0)
