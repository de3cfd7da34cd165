"""The two nearest groups of sites of each row, and the distances to them."""

from __future__ import annotations

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def two_nearest_groups(X, sites, group, first, second, near, far):
    """Find the two nearest groups of each row; the distance to a group is that to its nearest site.

    The result of a row does not depend on the other rows, to the last digit. Ties go to the first site.

    IN   X (n, d); sites (d, m), one per column, with the dtype of X; group (m,): the group of each site
    OUT  first, second (n,): the two groups, -1 if there is none; near, far (n,): the squared distances to
         them, infinite if there is none
    """
    n, d = X.shape
    m = sites.shape[1]
    away = np.empty(m, dtype=X.dtype)
    for i in range(n):
        away[:] = 0.0
        for c in range(d):
            x = X[i, c]
            for s in range(m):
                step = x - sites[c, s]
                away[s] += step * step
        one, other = -1, -1
        least, next_least = np.inf, np.inf
        for s in range(m):
            if away[s] < least:
                if group[s] != one:
                    other, next_least = one, least
                one, least = group[s], away[s]
            elif away[s] < next_least and group[s] != one:
                other, next_least = group[s], away[s]
        first[i], second[i] = one, other
        near[i], far[i] = least, next_least
