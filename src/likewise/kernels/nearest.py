"""Sorted lists of the nearest rows, updated with one block of distances at a time."""

from __future__ import annotations

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def keep_nearest(distances, rows, members, best, found):
    """Insert members that are nearer than the k-th nearest so far into the sorted lists of the rows.

    IN   distances (n_rows, n_members); rows (n_rows,), members (n_members,): the row numbers of both
    OUT  best (n, k): the smallest distances of each row so far, ascending; found (n, k): the rows at these
         distances
    """
    k = best.shape[1]
    for a in range(distances.shape[0]):
        i = rows[a]
        for b in range(distances.shape[1]):
            d = distances[a, b]
            if d < best[i, k - 1] and members[b] != i:
                at = k - 1
                while at > 0 and best[i, at - 1] > d:
                    best[i, at] = best[i, at - 1]
                    found[i, at] = found[i, at - 1]
                    at -= 1
                best[i, at] = d
                found[i, at] = members[b]
