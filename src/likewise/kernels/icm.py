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

The search is one plain function that Python can run and numba can compile. Compiling takes a second or more,
and loading numba and the compiled code a third of a second, so Python does the first small problems of a
process. Both give the same labels and the same energy, to the last digit: all numbers are float64, and
nothing is reordered.
"""

from typing import Any, NamedTuple

import numpy as np

# Python solves small problems, of size at most _SMALL, until their total size exceeds
# max(_TOTAL, _CALLS * size). This takes about 0.6 s: no longer than compiling, and little longer than loading
# numba and compiled code. From then on, or from the first larger problem on, the compiled search solves all
# problems.
_SMALL = 2**15
_TOTAL = 2**19
_CALLS = 80
_total = 0
_compiled: Any = None


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


def descend(problem, start, order, components, max_rounds=20, max_sweeps=20):
    """Label the rows; return the energy and the labels.

    Rows start with the labels `start` (m,): IN, or absent if it is empty. Then single rows in the given
    `order` (m,): IN, and whole components move alternately until neither lowers the energy. The components
    are (comp_ptr, member): IN. The members of component c, at least two, are
    member[comp_ptr[c]:comp_ptr[c + 1]].
    """
    global _total
    p = problem
    (m, k), (H, d), G = p.U.shape, p.Y.shape[1:], len(p.group_weight)
    size = m * k + len(p.partner) * (k if H > 1 else 1) + len(p.group) * k * (1 + H * d)
    _total += size
    if _compiled is None and (size > _SMALL or _total > max(_TOTAL, _CALLS * size)):
        _compile()
    cells = G * k * (len(p.X) > 0)
    given = [p.U, p.indptr, p.partner, p.edge, p.is_cannot, p.weight, p.dist, p.reach]
    given += [start, order, *components]
    given += [np.full(m, -1), np.zeros(m, dtype=np.int64), np.ones(m, dtype=bool), np.zeros(2 * k)]
    if G:
        given += [p.group_ptr, p.group, p.group_is_cannot, p.group_weight, p.X, p.Y, p.Q]
        given += [np.zeros(G * k), np.zeros(cells * d), np.zeros(cells * H)]
    in_python = _compiled is None
    flat: Any = tuple([each.ravel().tolist() if in_python else each.ravel() for each in given])
    links, path, state, groups = flat[:8], flat[8:12], flat[12:16], flat[16:] or None
    search = _search if in_python else _compiled
    energy = search(links, groups, state, path, k, H, p.alpha, p.beta, max_rounds, max_sweeps)
    return energy, np.asarray(state[0], dtype=np.int64)


def _compile():
    """Load numba, and the compiled search if it is in the cache."""
    global _compiled
    from likewise.kernels._njit import njit, register_jitable

    register_jitable(_put)
    register_jitable(_group_costs)
    _compiled = njit(nogil=True, cache=True)(_search)


def _put(i, h, sign, k, group_ptr, group, X, Q, n, s, q):
    # Add row i to the cells of cluster h (sign 1.0), or remove it (sign -1.0). If beta is 0, s and q have no
    # entries.
    d, H = len(s) // len(n), len(q) // len(n)
    for t in range(group_ptr[i], group_ptr[i + 1]):
        cell = group[t] * k + h
        n[cell] += sign
        for j in range(d):
            s[cell * d + j] += sign * X[i * d + j]
        for a in range(H):
            q[cell * H + a] += sign * Q[i * H + a]


def _group_costs(i, k, H, group_ptr, group, is_cannot, weights, Y, Q, alpha, beta, reach, n, s, q, costs):
    # costs (k,): OUT, added to. Cost of row i, which is absent, in each cluster due to its groups, minus the
    # part that all clusters have in common, which is returned.
    d = len(s) // len(n)
    common = 0.0
    for t in range(group_ptr[i], group_ptr[i + 1]):
        g = group[t]
        for c in range(k):
            cell = g * k + c
            if n[cell] == 0.0:
                continue
            own = c if H > 1 else 0
            here = 0.0
            for step in range(H + 1):  # the metric of the cell's cluster first, then all other metrics
                a = own if step == 0 else step - 1
                if beta == 0.0 or (step > 0 and (a == own or is_cannot[g])):
                    continue
                total = n[cell] * Q[i * H + a] + q[cell * H + a]
                for j in range(d):
                    total -= 2.0 * Y[(i * H + a) * d + j] * s[cell * d + j]
                if total < 0.0:
                    total = 0.0
                if step == 0:
                    here = total
                else:
                    costs[a] += weights[g] * 0.5 * beta * (total - here)
            if is_cannot[g]:
                costs[c] += weights[g] * (reach[c] * n[cell] - beta * here)
            else:
                penalty = weights[g] * (alpha * n[cell] + beta * here)
                common += penalty
                costs[c] -= penalty
    return common


def _search(links, groups, state, path, k, H, alpha, beta, max_rounds, max_sweeps):
    """Label the rows of an empty state; return the energy.

    links, path: IN; groups: IN, the last three arrays OUT, None if there are none; state: OUT, the labels
    and room for intermediate results.

    The code of a visit to a row is written once, since every copy of it would lengthen the compilation. For
    the same reason there are no new arrays and no functions of NumPy, and without groups their code is not
    compiled. The phase determines the effect of a visit: SWEEP moves the row to its cheapest cluster. For
    each component in turn, OUT removes its rows one by one and sums their costs, ELSEWHERE sums the costs
    that they would have in each cluster, and IN moves all of them to the cheapest cluster.
    """
    SWEEP, OUT, ELSEWHERE, IN = -1, 0, 1, 2
    U, indptr, partner, edge, is_cannot, weight, dist, reach = links
    start, order, comp_ptr, member = path
    # due: rows whose linked rows have moved since their last visit; costs: of a row, then of a component
    labels, old, due, costs = state
    if groups is not None:
        group_ptr, group, group_is_cannot, group_weight, X, Y, Q, n, s, q = groups
    m = len(labels)
    n_components = len(comp_ptr) - 1
    energy = before = after = 0.0
    best = 0
    for turn in range(max_rounds):
        component_moved = False
        settled = False
        for segment in range(max_sweeps + 3 * n_components):
            phase = SWEEP
            rows = order
            first, last = 0, m
            entering = turn == 0 and segment == 0 and len(start) > 0
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
                for h in range(k):
                    costs[k + h] = 0.0
            elif phase == IN:
                best = 0
                for h in range(1, k):
                    if costs[k + h] < costs[k + best]:
                        best = h

            for t in range(first, last):
                i = rows[t]
                if phase == SWEEP and not due[i]:
                    continue
                was = labels[i]
                labels[i] = -1
                in_groups = False
                if groups is not None:
                    in_groups = group_ptr[i] < group_ptr[i + 1]
                    if in_groups and was >= 0:
                        _put(i, was, -1.0, k, group_ptr, group, X, Q, n, s, q)

                # The cost of row i, now absent, in each cluster.
                common = 0.0
                for h in range(k):
                    costs[h] = U[i * k + h]
                for u in range(indptr[i], indptr[i + 1]):
                    g = labels[partner[u]]
                    if g < 0:
                        continue
                    e = edge[u]
                    here = dist[e * H + g] if H > 1 else dist[e]
                    if is_cannot[e]:
                        costs[g] += weight[e] * (reach[g] - beta * here)
                        continue
                    if H > 1:  # the part of a violated must-link that depends on where row i goes
                        for h in range(k):
                            costs[h] += weight[e] * 0.5 * beta * (dist[e * H + h] - here)
                    penalty = weight[e] * (alpha + beta * here)
                    common += penalty
                    costs[g] -= penalty
                if groups is not None and in_groups:
                    common += _group_costs(
                        i, k, H, group_ptr, group, group_is_cannot, group_weight, Y, Q,
                        alpha, beta, reach, n, s, q, costs,
                    )  # fmt: skip
                for h in range(k):
                    costs[h] += common

                new = was
                if phase == SWEEP:
                    due[i] = entering or in_groups
                    if entering:
                        new = start[i]
                    else:  # the cheapest cluster, if it is cheaper by more than rounding
                        for h in range(k):
                            if new >= 0 and costs[h] >= costs[new]:
                                continue  # the test below takes Python much longer
                            if new < 0 or costs[h] < costs[new] - 1e-12 * (abs(costs[h]) + abs(costs[new])):
                                new = h
                    if new != was:
                        settled = False
                        energy += costs[new] - (costs[was] if was >= 0 else 0.0)
                        for u in range(indptr[i], indptr[i + 1]):
                            due[partner[u]] = True
                elif phase == OUT:
                    old[i] = was
                    before += costs[was]
                    new = -1
                elif phase == ELSEWHERE:
                    for h in range(k):
                        costs[k + h] += costs[h]
                else:
                    new = best
                    after += costs[best]
                labels[i] = new
                if groups is not None and in_groups and new >= 0:
                    _put(i, new, 1.0, k, group_ptr, group, X, Q, n, s, q)

            if phase == IN:
                is_better = after < before - 1e-10 * (abs(after) + abs(before))
                if is_better:
                    energy += after - before
                    component_moved = True
                for t in range(first, last):
                    i = rows[t]
                    if is_better:
                        due[i] = True
                        for u in range(indptr[i], indptr[i + 1]):
                            due[partner[u]] = True
                    else:
                        labels[i] = old[i]
                        if groups is not None:
                            _put(i, best, -1.0, k, group_ptr, group, X, Q, n, s, q)
                            _put(i, old[i], 1.0, k, group_ptr, group, X, Q, n, s, q)
        if not component_moved:
            break
    return energy
