"""Mean field over hinted rows: one exact coordinate step at a time.

Each of m rows has a distribution q_i over k clusters. Fixing all others, the best q_i is

    q_i(h)  in proportion to  exp(log_p[i, h] + F_i(h))

    F_i(h) =   sum over hints t of row i of
                   pull_first[t] u(h) + pull_second[t] v(h) + pull_both[t] u(h) v(h)
             + sum over groups g of row i of group_pull[g] (sums[g, h] - q_i(h))

where u and v are the q of the other one or two rows of the hint: an expected log-likelihood is linear in
each of them, so that pairs and triplets with any noise have this form, up to what is the same for all h.
A group's pairs are never built; `sums` holds the sum of its members' q, so a group of s rows costs s.
"""

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def ascend(
    log_p, indptr, first, second, pull_first, pull_second, pull_both, group_ptr, group, group_pull,
    hard, max_sweeps, tol, sums, q,
):  # fmt: skip
    """Update rows one after another, until no row changes by more than `tol`; return the number of sweeps.

    log_p (m, k); indptr (m + 1,), hints of row i are indptr[i] to indptr[i + 1]; first, second: the other
    rows of each hint, second -1 for a pair; the three pulls of each hint; group_ptr (m + 1,), group: the
    groups of each row; group_pull (G,): all IN. sums (G, k), q (m, k): OUT, q is also where it starts.

    A row is looked at again only after a row that shares a hint with it has changed. With `hard`, q_i is
    p_i among the clusters whose F is the largest, and 0 elsewhere.
    """
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
                if hard:  # 1e-6: sums of probabilities that should be equal differ by rounding
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
