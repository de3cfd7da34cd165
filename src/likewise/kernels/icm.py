"""Labels of hinted rows: one row at a time, and whole components at a time.

The energy of the labels l of m hinted rows is

    E(l) =   sum_i U[i, l_i]
           + sum over must-links e = (i, j) with l_i != l_j of
                 weight[e] (alpha + beta / 2 (dist[e, l_i] + dist[e, l_j]))
           + sum over cannot-links e = (i, j) with l_i == l_j = h of
                 weight[e] (reach[h] - beta dist[e, h])

and for a group of rows the same sum over all its pairs. A group's pairs are never built: the rows that it
has in cluster c form a cell, whose count n, sum s and squared lengths q give the distances from row i to
the whole cell as ``n Q[i, h] + q[h] - 2 Y[i, h] . s`` with ``Y[i, h] = A_h x_i`` and
``Q[i, h] = x_i . Y[i, h]``. So a group of s rows costs s, and not s^2.

`dist`, `Y`, `Q` and `q` have one entry for each metric: k of them, or 1 if the clusters share one.
A row with the label -1 is absent. Every accepted step lowers E.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Problem(NamedTuple):
    """What the labels are chosen for. All IN."""

    U: np.ndarray  # (m, k) the cost of each row in each cluster
    indptr: np.ndarray  # (m + 1,) the links of row i are indptr[i] to indptr[i + 1]
    partner: np.ndarray  # the other row of each
    edge: np.ndarray  # and its place in the four arrays below
    is_cannot: np.ndarray  # (E,)
    weight: np.ndarray  # (E,)
    dist: np.ndarray  # (E, H)
    alpha: float
    beta: float
    reach: np.ndarray  # (k,)
    group_ptr: np.ndarray  # (m + 1,) the groups of row i
    group: np.ndarray
    group_is_cannot: np.ndarray  # (G,)
    group_weight: np.ndarray  # (G,)
    X: np.ndarray  # (m, d), with no rows where there are no groups
    Y: np.ndarray  # (m, H, d)
    Q: np.ndarray  # (m, H)


class State(NamedTuple):
    """The labels, and the cells of the groups that follow from them. All OUT."""

    labels: np.ndarray  # (m,)
    n: np.ndarray  # (G, k)
    s: np.ndarray  # (G, k, d)
    q: np.ndarray  # (G, k, H)


@njit(nogil=True, cache=True)
def _put(p, state, i, h, sign):
    # Add row i to the cells of cluster h (sign 1), or take it out (sign -1).
    for t in range(p.group_ptr[i], p.group_ptr[i + 1]):
        g = p.group[t]
        state.n[g, h] += sign
        if p.beta != 0.0:
            for j in range(p.X.shape[1]):
                state.s[g, h, j] += sign * p.X[i, j]
            for a in range(p.Q.shape[1]):
                state.q[g, h, a] += sign * p.Q[i, a]


@njit(nogil=True, cache=True)
def _to_cell(p, state, i, g, c, a):
    # The distances from row i to the rows of group g in cluster c, added up, in metric a.
    total = state.n[g, c] * p.Q[i, a] + state.q[g, c, a]
    for j in range(p.X.shape[1]):
        total -= 2.0 * p.Y[i, a, j] * state.s[g, c, j]
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def _costs(p, state, i, costs):
    # costs (k,): OUT. What row i, now absent, would cost in each cluster.
    k = p.U.shape[1]
    shared = p.dist.shape[1] == 1
    common = 0.0
    for h in range(k):
        costs[h] = p.U[i, h]
    for t in range(p.indptr[i], p.indptr[i + 1]):
        g = state.labels[p.partner[t]]
        if g < 0:
            continue
        e = p.edge[t]
        if p.is_cannot[e]:
            costs[g] += p.weight[e] * (p.reach[g] - p.beta * p.dist[e, 0 if shared else g])
        elif shared:
            penalty = p.weight[e] * (p.alpha + p.beta * p.dist[e, 0])
            common += penalty
            costs[g] -= penalty
        else:
            for h in range(k):
                if h != g:
                    costs[h] += p.weight[e] * (p.alpha + 0.5 * p.beta * (p.dist[e, g] + p.dist[e, h]))
    for t in range(p.group_ptr[i], p.group_ptr[i + 1]):
        g = p.group[t]
        weight = p.group_weight[g]
        for c in range(k):
            n = state.n[g, c]
            if n == 0:
                continue
            if p.group_is_cannot[g]:
                d = _to_cell(p, state, i, g, c, 0 if shared else c) if p.beta != 0.0 else 0.0
                costs[c] += weight * (p.reach[c] * n - p.beta * d)
                continue
            d = _to_cell(p, state, i, g, c, 0 if shared else c) if p.beta != 0.0 else 0.0
            for h in range(k):
                if h != c:
                    e = d
                    if p.beta != 0.0 and not shared:
                        e = _to_cell(p, state, i, g, c, h)
                    costs[h] += weight * (p.alpha * n + 0.5 * p.beta * (d + e))
    for h in range(k):
        costs[h] += common


@njit(nogil=True, cache=True)
def _cheapest(costs, current):
    # The cheapest cluster; the current one if no other is cheaper by more than rounding.
    best = current
    for h in range(costs.shape[0]):
        if best < 0 or costs[h] < costs[best] - 1e-12 * (abs(costs[h]) + abs(costs[best])):
            best = h
    return best


@njit(nogil=True, cache=True)
def enter(p, state, labels):
    """Label the rows of an empty state and return the energy. labels (m,): IN; state: OUT."""
    costs = np.empty(p.U.shape[1])
    energy = 0.0
    for i in range(p.U.shape[0]):
        _costs(p, state, i, costs)
        energy += costs[labels[i]]
        state.labels[i] = labels[i]
        _put(p, state, i, labels[i], 1)
    return energy


@njit(nogil=True, cache=True)
def sweep_rows(p, state, order, max_sweeps):
    """Give each row in turn its cheapest cluster, until nothing changes; return the change of the energy.

    order (m,): IN. Rows that are absent enter, and what they cost counts. After the first sweep only rows
    in groups, and rows one of whose partners moved, are looked at again.
    """
    costs = np.empty(p.U.shape[1])
    due = np.ones(order.shape[0], dtype=np.bool_)
    change = 0.0
    for _ in range(max_sweeps):
        moved = False
        for t in range(order.shape[0]):
            i = order[t]
            if not due[i]:
                continue
            due[i] = p.group_ptr[i] < p.group_ptr[i + 1]
            old = state.labels[i]
            if old >= 0:
                state.labels[i] = -1
                _put(p, state, i, old, -1)
            _costs(p, state, i, costs)
            new = _cheapest(costs, old)
            state.labels[i] = new
            _put(p, state, i, new, 1)
            if new != old:
                moved = True
                change += costs[new] - (costs[old] if old >= 0 else 0.0)
                for e in range(p.indptr[i], p.indptr[i + 1]):
                    due[p.partner[e]] = True
        if not moved:
            break
    return change


@njit(nogil=True, cache=True)
def move_components(p, state, comp_ptr, member):
    """Move each component whole to its cheapest cluster where that lowers the energy; return the change.

    The members of component c are member[comp_ptr[c]:comp_ptr[c + 1]]: IN.
    """
    k = p.U.shape[1]
    costs = np.empty(k)
    total = np.empty(k)
    old = np.empty(state.labels.shape[0], dtype=state.labels.dtype)
    change = 0.0
    for c in range(comp_ptr.shape[0] - 1):
        first = comp_ptr[c]
        last = comp_ptr[c + 1]
        before = 0.0
        for t in range(first, last):  # take the rows out one by one: what they cost where they were
            i = member[t]
            old[i] = state.labels[i]
            state.labels[i] = -1
            _put(p, state, i, old[i], -1)
            _costs(p, state, i, costs)
            before += costs[old[i]]
        total[:] = 0.0
        for t in range(first, last):
            _costs(p, state, member[t], costs)
            total += costs
        best = np.argmin(total)
        after = 0.0
        for t in range(first, last):  # put them in together: what they cost there
            i = member[t]
            _costs(p, state, i, costs)
            after += costs[best]
            state.labels[i] = best
            _put(p, state, i, best, 1)
        if after < before - 1e-10 * (abs(after) + abs(before)):
            change += after - before
            continue
        for t in range(first, last):
            i = member[t]
            _put(p, state, i, best, -1)
            state.labels[i] = old[i]
            _put(p, state, i, old[i], 1)
    return change
