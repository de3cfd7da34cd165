"""Mean-field inference for hinted rows by exact coordinate updates.

Each of m rows has a distribution q_i over k clusters. Given all others, the best q_i is

    q_i(h)  proportional to  exp(log_p[i, h] + F_i(h))

    F_i(h) =   sum over hints t of row i of
                   pull_first[t] u(h) + pull_second[t] v(h) + pull_both[t] u(h) v(h)
             + sum over groups g of row i of group_pull[g] (sums[g, h] - q_i(h))

where u and v are the q of the other one or two rows of the hint. The expected log-likelihood is linear in
each of them, so pairs and triplets with any noise model have this form, up to a constant. The pairs of a
group are never built; `sums` is the sum of q over its members, so the cost of a group is linear in its size.
"""

from typing import NamedTuple

import numpy as np

from likewise.kernels._njit import njit


class IndexedHints(NamedTuple):
    """The hints and the groups of each row. All IN."""

    indptr: np.ndarray  # (m + 1,) the hints of row i are indptr[i] to indptr[i + 1]
    first: np.ndarray  # the other rows of each hint
    second: np.ndarray  # -1 for a pair
    pull_first: np.ndarray
    pull_second: np.ndarray
    pull_both: np.ndarray
    group_ptr: np.ndarray  # (m + 1,) the groups of row i
    group: np.ndarray
    group_pull: np.ndarray  # (G,)


@njit(nogil=True, cache=True)
def ascend(log_p, hints, hard, max_sweeps, tol, sums, q):
    """Update one row after another until no row changes by more than `tol`; return the number of sweeps.

    log_p (m, k), hints: an `IndexedHints`: IN. sums (G, k), q (m, k): IN (start) and OUT.

    A row is updated again only after a row that shares a hint with it has changed. With `hard`, q_i is
    proportional to p_i among the clusters with the largest F, and 0 for the others.
    """
    indptr, first, second, pull_first, pull_second, pull_both, group_ptr, group, group_pull = hints
    m, k = q.shape
    new = np.empty(k)
    pull = np.empty(k)
    due = np.ones(m, dtype=np.bool_)
    for sweep in range(max_sweeps):
        settled = True
        for i in range(m):
            if not due[i]:
                continue
            due[i] = group_ptr[i] < group_ptr[i + 1]
            for h in range(k):
                pull[h] = 0.0
            for t in range(indptr[i], indptr[i + 1]):
                u = first[t]
                v = second[t]
                if v < 0:
                    for h in range(k):
                        pull[h] += pull_first[t] * q[u, h]
                else:
                    for h in range(k):
                        pull[h] += (
                            pull_first[t] * q[u, h]
                            + pull_second[t] * q[v, h]
                            + pull_both[t] * q[u, h] * q[v, h]
                        )
            for t in range(group_ptr[i], group_ptr[i + 1]):
                g = group[t]
                for h in range(k):
                    pull[h] += group_pull[g] * (sums[g, h] - q[i, h])

            most = -np.inf
            for h in range(k):
                most = max(most, pull[h])
            top = -np.inf
            for h in range(k):
                if hard:  # 1e-6: sums that should be equal differ by rounding
                    new[h] = log_p[i, h] if pull[h] >= most - 1e-6 else -np.inf
                else:
                    new[h] = log_p[i, h] + pull[h]
                top = max(top, new[h])
            total = 0.0
            for h in range(k):
                new[h] = np.exp(new[h] - top)
                total += new[h]
            moved = 0.0
            for h in range(k):
                new[h] /= total
                moved = max(moved, abs(new[h] - q[i, h]))
            for t in range(group_ptr[i], group_ptr[i + 1]):
                for h in range(k):
                    sums[group[t], h] += new[h] - q[i, h]
            for h in range(k):
                q[i, h] = new[h]
            if moved > tol:
                settled = False
                for t in range(indptr[i], indptr[i + 1]):
                    due[first[t]] = True
                    if second[t] >= 0:
                        due[second[t]] = True
        if settled:
            return sweep + 1
    return max_sweeps
