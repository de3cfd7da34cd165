"""Posteriors held to cannot-links on average: coordinate ascent on the dual, one link at a time.

Units u have logits t_u over k classes and q_u = softmax(t_u). A link e = (a, b) wants q_a(m) + q_b(m) <= 1
for every class m, which is to say that the log odds of m in a and in b add up to no more than 0. At most one
class of a link can be too full. Its multiplier l takes share[a] l from t_a(m) and share[b] l from t_b(m), so
what makes the odds add up to 0 has a closed form.
"""

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def _log_odds(logits, m):
    # logits[m] less the log-sum-exp of the others.
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
    """Visit the links in turn until no multiplier moves by more than `tol`; return the number of sweeps.

    edges (E, 2), share (n,), caps (E,), the largest multiplier of each link: IN. multiplier, klass (E,), the
    class that it is of, logits (n, k), less what the multipliers take: OUT, and also where it starts.

    A link is looked at again only after another one has moved a unit of its.
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
            # A class that is too full has more than half of one of the two, so it is the largest there.
            best, room = np.argmax(logits[a]), np.argmax(logits[b])
            excess = _log_odds(logits[a], best) + _log_odds(logits[b], best)
            other = _log_odds(logits[a], room) + _log_odds(logits[b], room)
            if other > excess:
                best, excess = room, other
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
