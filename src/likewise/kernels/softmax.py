"""Softmax over clusters for many models at once; models, clusters and rows are the axes of the logits.

Rows are the last axis, so that inner loops run over contiguous numbers. Exponentials are left to NumPy, whose
`exp` is several times as fast as the scalar one of a compiled loop.
"""

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def mix_logits(a, b, which, by_a, by_b, first, largest, out):
    """Combine logits linearly, and subtract the largest of each row.

    a, b (S, k, n): IN the logits; which (s,): IN the models to combine; by_a, by_b (s,): IN their factors;
    first: the first row to use. largest (n_out,): scratch. out (s, k, n_out): OUT, for n_out rows.
    """
    k, n = out.shape[1:]
    for j in range(len(which)):
        s, p, q = which[j], by_a[j], by_b[j]
        for h in range(k):
            # Views of single clusters, and no built-in `max`: loops are vectorised, in a third of the time.
            x, y, mixed = a[s, h, first : first + n], b[s, h, first : first + n], out[j, h]
            for i in range(n):
                value = p * x[i] + q * y[i]
                mixed[i] = value
                largest[i] = value if h == 0 or value > largest[i] else largest[i]
        for h in range(k):
            mixed = out[j, h]
            for i in range(n):
                mixed[i] -= largest[i]


@njit(nogil=True, cache=True)
def add_masses(p, logits, mass, mixed):
    """Sum over clusters: mass (s, n) OUT of p (s, k, n), and mixed (s, n) OUT of p times logits."""
    n_models, k, n = p.shape
    for j in range(n_models):
        own, own_mixed = mass[j], mixed[j]
        for i in range(n):
            own[i] = own_mixed[i] = 0.0
        for h in range(k):
            x, y = p[j, h], logits[j, h]
            for i in range(n):
                own[i] += x[i]
                own_mixed[i] += x[i] * y[i]


@njit(nogil=True, cache=True)
def transpose(a, factor, shift, rows, out):
    """Write factor * a + shift of some rows with clusters last.

    a (s, k, n), factor, shift (s, n), rows (m,): IN. out (s, m, k): OUT.
    """
    n_models, k, _ = a.shape
    for j in range(n_models):
        for at in range(len(rows)):
            i = rows[at]
            for h in range(k):
                out[j, at, h] = factor[j, i] * a[j, h, i] + shift[j, i]


@njit(nogil=True, cache=True)
def rotate(a, b, which, by_a, by_b):
    """Replace a[which] by by_a * a[which] + by_b * b[which]. a (S, k, n): IN and OUT, b: IN."""
    for j in range(len(which)):
        for h in range(a.shape[1]):
            x, y = a[which[j], h], b[which[j], h]
            for i in range(len(x)):
                x[i] = by_a[j] * x[i] + by_b[j] * y[i]


@njit(nogil=True, cache=True)
def differentiate_softmax(logits, raised, inverse, log_mass, tau, by_mean, out):
    """Turn derivatives t by the probabilities of rows into derivatives by their logits, p (t - <p, t>).

    logits, raised (k, n or more): IN, raised = exp(logits). inverse, log_mass (n,): IN, of the sums of raised
    over clusters, so p = raised * inverse. by_mean (k,): IN, t = tau log p + by_mean. out (k, n or more):
    OUT. Returns the sum of <p, t> over the rows.
    """
    n, total = len(inverse), np.zeros(len(inverse))
    for h in range(len(by_mean)):
        x, y, t = logits[h], raised[h], out[h]
        for i in range(n):
            value = tau * (x[i] - log_mass[i]) + by_mean[h]
            t[i] = value
            total[i] += y[i] * inverse[i] * value
    for h in range(len(by_mean)):
        y, t = raised[h], out[h]
        for i in range(n):
            t[i] = y[i] * inverse[i] * (t[i] - total[i])
    return total.sum()
