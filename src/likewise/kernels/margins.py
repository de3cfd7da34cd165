"""How near each row is to the nearest group of sites, and to the next."""

from __future__ import annotations

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def two_nearest_groups(X, sites, group, first, second, near, far):
    """Find the two nearest groups of each row; a group is as near as the nearest of its sites.

    What a row gets does not depend on the rows beside it, to the last digit. Of sites that are as near the
    first counts.

    IN   X (n, d); sites (d, m), a column each, in the type of X; group (m,): the group of each site
    OUT  first, second (n,): the two groups, -1 where there is no other; near, far (n,): the squared distances
         to them, infinite where there is none
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
