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

from likewise.kernels._njit import njit


class IcmProblem(NamedTuple):
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


class IcmState(NamedTuple):
    """The labels, and the cells of the groups that follow from them. All OUT."""

    labels: np.ndarray  # (m,)
    n: np.ndarray  # (G, k)
    s: np.ndarray  # (G, k, d)
    q: np.ndarray  # (G, k, H)


@njit(nogil=True)
def _put(i, h, sign, group_ptr, group, X, Q, beta, n, s, q):
    # Add row i to the cells of cluster h (sign 1), or take it out (sign -1).
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
    # costs (k,): OUT, added to. What the groups of row i, now absent, make it cost in each cluster, less
    # what they make it cost in all clusters alike, which is returned.
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
            for step in range(H + 1):  # the cell's own metric first, then that of every other cluster
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


@njit(nogil=True, cache=True)
def descend(p, state, start, order, comp_ptr, member, max_rounds, max_sweeps):
    """Label the rows of an empty state; return the energy.

    Rows begin with the labels `start` (m,): IN, or absent if it has no entries. Then rows in the given
    `order` (m,): IN, and whole components move in turns until neither lowers the energy. The members of
    component c, two or more, are member[comp_ptr[c]:comp_ptr[c + 1]]: IN.

    A visit to a row is written once, since every further copy would be compiled anew and a first fit waits
    for that. What a visit is for is its phase: SWEEP gives the row its cheapest cluster; for each component
    in turn OUT takes its rows out one by one and adds up what they cost where they were, ELSEWHERE adds up
    what they would cost in every cluster, and IN puts them together into the cheapest one.
    """
    SWEEP, OUT, ELSEWHERE, IN = -1, 0, 1, 2
    m, k = p.U.shape
    H = p.dist.shape[1]
    n_components = comp_ptr.shape[0] - 1
    costs = np.empty(k)
    total = np.empty(k)
    old = np.empty(m, dtype=np.int64)
    due = np.ones(m, dtype=np.bool_)  # rows whose surroundings changed since they were last looked at
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
                best = 0
                for h in range(k):
                    if total[h] < total[best]:
                        best = h

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

                # What row i, now absent, would cost in each cluster.
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
                    if H > 1:  # the part of a broken must-link that depends on where row i goes
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
                    if entering:
                        new = start[i]
                    else:  # the present cluster if no other is cheaper by more than rounding
                        for h in range(k):
                            if new < 0 or costs[h] < costs[new] - 1e-12 * (abs(costs[h]) + abs(costs[new])):
                                new = h
                    if new != was:
                        settled = False
                        energy += costs[new] - (costs[was] if was >= 0 else 0.0)
                        for u in range(p.indptr[i], p.indptr[i + 1]):
                            due[p.partner[u]] = True
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
                        for u in range(p.indptr[rows[t]], p.indptr[rows[t] + 1]):
                            due[p.partner[u]] = True
                    continue
                for t in range(first, last):
                    i = rows[t]
                    state.labels[i] = old[i]
                    for sign in (-1, 1):
                        h = best if sign < 0 else old[i]
                        _put(i, h, sign, p.group_ptr, p.group, p.X, p.Q, p.beta, state.n, state.s, state.q)
        if not component_moved:
            break
    return energy
