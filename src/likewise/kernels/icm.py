"""Iterated conditional modes for hinted rows: moves of single rows and of whole must-link components.

The energy of the labels l of m hinted rows is

    E(l) =   sum_i U[i, l_i]
           + sum over must-links e = (i, j) with l_i != l_j of
                 weight[e] (alpha + beta / 2 (dist[e, l_i] + dist[e, l_j]))
           + sum over cannot-links e = (i, j) with l_i == l_j = h of
                 weight[e] (reach[h] - beta dist[e, h])

and for a group of rows the same sum over all its pairs. The pairs of a group are never built: its rows in
cluster c form a cell, whose count n, sum s and squared lengths q give the sum of the squared distances from
row i to the cell as ``n Q[i, h] + q[h] - 2 Y[i, h] . s`` with ``Y[i, h] = A_h x_i`` and
``Q[i, h] = x_i . Y[i, h]``. So the cost of a group is linear in its size.

`dist`, `Y`, `Q` and `q` have one entry for each of H metrics: k, or 1 if the clusters share one.
A row with label -1 is absent. Every accepted move lowers E.
"""

from typing import NamedTuple

import numpy as np

from likewise.kernels._njit import njit


class IcmProblem(NamedTuple):
    """The costs and links of a labelling problem. All IN."""

    U: np.ndarray  # (m, k) the cost of each row in each cluster
    indptr: np.ndarray  # (m + 1,) the links of row i are indptr[i] to indptr[i + 1]
    partner: np.ndarray  # the other row of each link
    edge: np.ndarray  # the index of each link in the arrays of length E
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
    X: np.ndarray  # (m, d); no rows if there are no groups
    Y: np.ndarray  # (m, H, d)
    Q: np.ndarray  # (m, H)


class IcmState(NamedTuple):
    """The labels, and the cells of the groups under these labels. All OUT."""

    labels: np.ndarray  # (m,)
    n: np.ndarray  # (G, k)
    s: np.ndarray  # (G, k, d)
    q: np.ndarray  # (G, k, H)


@njit(nogil=True)
def _put(i, h, sign, group_ptr, group, X, Q, beta, n, s, q):
    # Add row i to the cells of cluster h (sign 1), or remove it (sign -1).
    for t in range(group_ptr[i], group_ptr[i + 1]):
        g = group[t]
        n[g, h] += sign
        if beta != 0.0:
            for j in range(X.shape[1]):
                s[g, h, j] += sign * X[i, j]
            for a in range(Q.shape[1]):
                q[g, h, a] += sign * Q[i, a]


@njit(nogil=True)
def _group_costs(i, group_ptr, group, is_cannot, weights, X, Y, Q, alpha, beta, reach, n, s, q, costs):
    # costs (k,): OUT, added to. Cost of row i, which is absent, in each cluster due to its groups, minus the
    # part that all clusters have in common, which is returned.
    k = costs.shape[0]
    H = Q.shape[1]
    common = 0.0
    for t in range(group_ptr[i], group_ptr[i + 1]):
        g = group[t]
        for c in range(k):
            if n[g, c] == 0:
                continue
            own = c if H > 1 else 0
            here = 0.0
            for step in range(H + 1):  # the metric of the cell's cluster first, then all other metrics
                a = own if step == 0 else step - 1
                if beta == 0.0 or (step > 0 and (a == own or is_cannot[g])):
                    continue
                total = n[g, c] * Q[i, a] + q[g, c, a]
                for j in range(X.shape[1]):
                    total -= 2.0 * Y[i, a, j] * s[g, c, j]
                total = max(total, 0.0)
                if step == 0:
                    here = total
                else:
                    costs[a] += weights[g] * 0.5 * beta * (total - here)
            if is_cannot[g]:
                costs[c] += weights[g] * (reach[c] * n[g, c] - beta * here)
            else:
                penalty = weights[g] * (alpha * n[g, c] + beta * here)
                common += penalty
                costs[c] -= penalty
    return common


@njit(nogil=True)
def _find_cheapest(costs, was):
    # The cheapest cluster; `was`, if it is not -1, unless another one is cheaper by more than rounding.
    best = was
    for h in range(costs.shape[0]):
        if best < 0 or costs[h] < costs[best] - 1e-12 * (abs(costs[h]) + abs(costs[best])):
            best = h
    return best


@njit(nogil=True)
def _mark_partners(i, indptr, partner, due):
    # due (m,): OUT, True for the rows that are linked to row i.
    for u in range(indptr[i], indptr[i + 1]):
        due[partner[u]] = True


@njit(nogil=True, cache=True)
def descend(p, state, start, order, comp_ptr, member, max_rounds, max_sweeps):
    """Label the rows of an empty state; return the energy.

    Rows start with the labels `start` (m,): IN, or absent if it is empty. Then single rows in the given
    `order` (m,): IN, and whole components move alternately until neither lowers the energy. The members of
    component c, at least two, are member[comp_ptr[c]:comp_ptr[c + 1]]: IN.

    The code of a visit to a row is written once, since every copy of it would lengthen the compilation, for
    which the first fit waits: with a function for each phase it took 10 s instead of 6 s, and a function that
    receives `p` for every row counts the references to all its arrays, which made fits 2 to 7 times slower.
    The phase determines the effect of a visit: SWEEP moves the row to its cheapest cluster. For each
    component in turn, OUT removes its rows one by one and sums their costs, ELSEWHERE sums the costs that
    they would have in each cluster, and IN moves all of them to the cheapest cluster.
    """
    SWEEP, OUT, ELSEWHERE, IN = -1, 0, 1, 2
    m, k = p.U.shape
    H = p.dist.shape[1]
    n_components = comp_ptr.shape[0] - 1
    costs = np.empty(k)
    total = np.empty(k)
    old = np.empty(m, dtype=np.int64)
    due = np.ones(m, dtype=np.bool_)  # rows whose linked rows have moved since their last visit
    energy = before = after = 0.0
    best = 0
    for turn in range(max_rounds):
        component_moved = False
        settled = False
        for segment in range(max_sweeps + 3 * n_components):
            phase = SWEEP
            rows = order
            first, last = 0, m
            entering = turn == 0 and segment == 0 and start.shape[0] > 0
            if segment >= max_sweeps:
                phase = (segment - max_sweeps) % 3
                rows = member
                c = (segment - max_sweeps) // 3
                first, last = comp_ptr[c], comp_ptr[c + 1]
            elif settled:
                continue
            settled = not entering
            if phase == OUT:
                before = after = 0.0
                total[:] = 0.0
            elif phase == IN:
                best = np.argmin(total)

            for t in range(first, last):
                i = rows[t]
                if phase == SWEEP and not due[i]:
                    continue
                in_groups = p.group_ptr[i] < p.group_ptr[i + 1]
                was = state.labels[i]
                if was >= 0:
                    state.labels[i] = -1
                    if in_groups:
                        _put(i, was, -1, p.group_ptr, p.group, p.X, p.Q, p.beta, state.n, state.s, state.q)

                # The cost of row i, now absent, in each cluster.
                common = 0.0
                for h in range(k):
                    costs[h] = p.U[i, h]
                for u in range(p.indptr[i], p.indptr[i + 1]):
                    g = state.labels[p.partner[u]]
                    if g < 0:
                        continue
                    e = p.edge[u]
                    here = p.dist[e, g if H > 1 else 0]
                    if p.is_cannot[e]:
                        costs[g] += p.weight[e] * (p.reach[g] - p.beta * here)
                        continue
                    if H > 1:  # the part of a violated must-link that depends on where row i goes
                        for h in range(k):
                            costs[h] += p.weight[e] * 0.5 * p.beta * (p.dist[e, h] - here)
                    penalty = p.weight[e] * (p.alpha + p.beta * here)
                    common += penalty
                    costs[g] -= penalty
                if in_groups:
                    common += _group_costs(
                        i, p.group_ptr, p.group, p.group_is_cannot, p.group_weight, p.X, p.Y, p.Q,
                        p.alpha, p.beta, p.reach, state.n, state.s, state.q, costs,
                    )  # fmt: skip
                for h in range(k):
                    costs[h] += common

                new = was
                if phase == SWEEP:
                    due[i] = entering or in_groups
                    new = start[i] if entering else _find_cheapest(costs, was)
                    if new != was:
                        settled = False
                        energy += costs[new] - (costs[was] if was >= 0 else 0.0)
                        _mark_partners(i, p.indptr, p.partner, due)
                elif phase == OUT:
                    old[i] = was
                    before += costs[was]
                    new = -1
                elif phase == ELSEWHERE:
                    for h in range(k):
                        total[h] += costs[h]
                else:
                    new = best
                    after += costs[best]
                if new >= 0:
                    state.labels[i] = new
                    if in_groups:
                        _put(i, new, 1, p.group_ptr, p.group, p.X, p.Q, p.beta, state.n, state.s, state.q)

            if phase == IN:
                if after < before - 1e-10 * (abs(after) + abs(before)):
                    energy += after - before
                    component_moved = True
                    for t in range(first, last):
                        due[rows[t]] = True
                        _mark_partners(rows[t], p.indptr, p.partner, due)
                    continue
                for t in range(first, last):
                    i = rows[t]
                    state.labels[i] = old[i]
                    _put(i, best, -1, p.group_ptr, p.group, p.X, p.Q, p.beta, state.n, state.s, state.q)
                    _put(i, old[i], 1, p.group_ptr, p.group, p.X, p.Q, p.beta, state.n, state.s, state.q)
        if not component_moved:
            break
    return energy
