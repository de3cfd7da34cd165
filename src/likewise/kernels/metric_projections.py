"""Bregman projections onto the constraints of single pairs: one rank-one update of the metric per pair."""

from likewise.kernels._njit import njit

# Sums may be reordered and fused, so that they can be vectorised.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


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
