"""Projection of posteriors onto cannot-link constraints: coordinate ascent on the dual, one link at a time.

Units u have logits t_u over k classes and q_u = softmax(t_u). A link e = (a, b) requires
q_a(m) + q_b(m) <= 1 for every class m, that is, the log odds of m in a and in b sum to at most 0. At most one
class of a link can violate this. Its multiplier l subtracts share[a] l from t_a(m) and share[b] l from
t_b(m), so the l for which the log odds sum to 0 has a closed form.
"""

import numpy as np

from likewise.kernels._njit import njit


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
