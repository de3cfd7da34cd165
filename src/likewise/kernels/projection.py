"""Projections onto the constraints of single links, one link at a time.

`hold_apart` projects posteriors onto cannot-links by coordinate ascent on the dual. Units u have logits t_u
over k classes and q_u = softmax(t_u). A link e = (a, b) requires q_a(m) + q_b(m) <= 1 for every class m, that
is, the log odds of m in a and in b sum to at most 0. At most one class of a link can violate this. Its
multiplier l subtracts share[a] l from t_a(m) and share[b] l from t_b(m), so the l for which the log odds sum
to 0 has a closed form.

`project_pairs` makes Bregman projections of a metric: one rank-one update for each pair.
"""

import numpy as np

from likewise.kernels._njit import njit

# Sums may be reordered and fused, so that they can be vectorised.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True)
def _log_odds(logits, m):
    # logits[m] minus the log-sum-exp of the others.
    peak = -np.inf
    for h in range(logits.shape[0]):
        if h != m and logits[h] > peak:
            peak = logits[h]
    total = 0.0
    for h in range(logits.shape[0]):
        if h != m:
            total += np.exp(logits[h] - peak)
    return logits[m] - peak - np.log(total)


@njit(nogil=True, cache=True)
def hold_apart(edges, share, caps, max_sweeps, tol, multiplier, klass, logits):
    """Visit the links in turn until no multiplier changes by more than `tol`; return the number of sweeps.

    edges (E, 2), share (n,), caps (E,) (upper bounds of the multipliers): IN. multiplier (E,), klass (E,)
    (the class of each multiplier), logits (n, k) (with the multipliers subtracted): IN (start) and OUT.

    A link is updated again only after another link has changed one of its units.
    """
    n_edges = edges.shape[0]
    visited = np.full(n_edges, -1)
    moved = np.zeros(logits.shape[0], dtype=np.int64)
    now = 0
    for sweep in range(max_sweeps):
        settled = True
        for e in range(n_edges):
            a, b = edges[e, 0], edges[e, 1]
            now += 1
            if moved[a] <= visited[e] and moved[b] <= visited[e]:
                continue
            visited[e] = now
            old, m = multiplier[e], klass[e]
            logits[a, m] += old * share[a]
            logits[b, m] += old * share[b]
            # A violated class has more than half of the mass of one unit, so it is the largest class there.
            best, largest_b = np.argmax(logits[a]), np.argmax(logits[b])
            excess = _log_odds(logits[a], best) + _log_odds(logits[b], best)
            other = _log_odds(logits[a], largest_b) + _log_odds(logits[b], largest_b)
            if other > excess:
                best, excess = largest_b, other
            new = min(max(excess / (share[a] + share[b]), 0.0), caps[e])
            logits[a, best] -= new * share[a]
            logits[b, best] -= new * share[b]
            step = abs(new - old) if best == m else max(new, old)
            multiplier[e], klass[e] = new, best
            if step > tol:
                moved[a] = moved[b] = now
                settled = False
        if settled:
            return sweep + 1
    return max_sweeps


@njit(nogil=True, cache=True, fastmath=_FAST)
def project_pairs(V, sign, gamma, A, dual, inverse_bound, Av):
    """Project A onto the bound of each pair in turn (Davis et al. 2007, algorithm 1).

    V (m, d): IN, differences, none zero. sign (m,): IN, 1 if v^T A v should be at most the bound, -1 if at
    least. gamma (m,): IN, the cost of slack. A (d, d), dual (m,), inverse_bound (m,): OUT, changed in place;
    the bound changes with the slack. Av (d,): scratch.
    """
    m, d = V.shape
    for t in range(m):
        p = 0.0
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += A[i, j] * V[t, j]
            Av[i] = s
            p += s * V[t, i]
        if p <= 0.0:  # A is no longer positive in this direction, due to rounding
            continue
        step = sign[t] * gamma[t] / (gamma[t] + 1.0) * (1.0 / p - inverse_bound[t])
        step = min(dual[t], step)
        if step == 0.0:
            continue
        dual[t] -= step
        step *= sign[t]
        inverse_bound[t] += step / gamma[t]
        beta = step / (1.0 - step * p)
        for i in range(d):
            b = beta * Av[i]
            for j in range(d):
                A[i, j] += b * Av[j]
