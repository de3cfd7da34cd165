"""The nearest cluster, rows or groups of each row.

`nearest_linear` and `nearest_diagonal` assign rows to clusters and sum over each cluster in one pass. Costs
are compared in the precision of the rows, without the part that is the same for every cluster. Sums are
always in float64, so that the objective can be computed from them to full precision. The first processes four
rows and two clusters at a time, which keeps the products in registers: at 10^6 x 16 with 10 clusters it is as
fast as a matrix product.
"""

import numpy as np

from likewise.kernels._njit import njit

# Sums may be reordered and fused. Infinities must be respected: a padded cluster costs inf.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, fastmath=_FAST, inline="always")
def _add_row(X, i, h, weight, sums, counts):
    counts[h] += weight
    for j in range(X.shape[1]):
        sums[h, j] += weight * X[i, j]


@njit(nogil=True, fastmath=_FAST, cache=True)
def nearest_linear(X, weight, W, b, labels, sums, counts):
    """Assign each row to the cluster with the smallest ``W[h] . x + b[h]``.

    X (n, d), weight (n,), W (K, d), b (K,): IN. K is even; a padded cluster has b = inf.
    labels (n,): OUT. sums (K, d), counts (K,): OUT, added to.
    """
    n, d = X.shape
    zero = X.dtype.type(0)
    inf = X.dtype.type(np.inf)
    whole = n - n % 4
    for i in range(0, whole, 4):
        b0 = b1 = b2 = b3 = inf
        l0 = l1 = l2 = l3 = 0
        for h in range(0, W.shape[0], 2):
            s0 = s1 = s2 = s3 = zero
            t0 = t1 = t2 = t3 = zero
            for j in range(d):
                v = W[h, j]
                w = W[h + 1, j]
                x0 = X[i, j]
                x1 = X[i + 1, j]
                x2 = X[i + 2, j]
                x3 = X[i + 3, j]
                s0 += x0 * v
                s1 += x1 * v
                s2 += x2 * v
                s3 += x3 * v
                t0 += x0 * w
                t1 += x1 * w
                t2 += x2 * w
                t3 += x3 * w
            s0 += b[h]
            s1 += b[h]
            s2 += b[h]
            s3 += b[h]
            t0 += b[h + 1]
            t1 += b[h + 1]
            t2 += b[h + 1]
            t3 += b[h + 1]
            if s0 < b0:
                b0 = s0
                l0 = h
            if s1 < b1:
                b1 = s1
                l1 = h
            if s2 < b2:
                b2 = s2
                l2 = h
            if s3 < b3:
                b3 = s3
                l3 = h
            if t0 < b0:
                b0 = t0
                l0 = h + 1
            if t1 < b1:
                b1 = t1
                l1 = h + 1
            if t2 < b2:
                b2 = t2
                l2 = h + 1
            if t3 < b3:
                b3 = t3
                l3 = h + 1
        labels[i] = l0
        labels[i + 1] = l1
        labels[i + 2] = l2
        labels[i + 3] = l3
        for r in range(i, i + 4):
            _add_row(X, r, labels[r], weight[r], sums, counts)
    for i in range(whole, n):
        best = inf
        label = 0
        for h in range(W.shape[0]):
            s = zero
            for j in range(d):
                s += X[i, j] * W[h, j]
            s += b[h]
            if s < best:
                best = s
                label = h
        labels[i] = label
        _add_row(X, i, label, weight[i], sums, counts)


@njit(nogil=True, fastmath=_FAST, cache=True)
def nearest_sparse(data, indices, indptr, weight, W, b, tie, labels, sums, counts):
    """Assign each sparse row to the cluster with the smallest ``W[:, h] . x + b[h]``.

    data, indices, indptr: n rows in CSR form; weight (n,), W (d, k), b (k,): IN.
    tie: IN. If it is positive and ``b[h] = |c_h|^2``, the first cluster is chosen whose cost exceeds the
    smallest by at most ``tie * (|x|^2 + |c_h|^2)``.
    labels (n,): OUT. sums (k, d), counts (k,): OUT, added to.
    """
    cost = np.empty(len(b), dtype=b.dtype)
    for i in range(len(labels)):
        cost[:] = b
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            row = W[indices[p]]
            for h in range(len(b)):
                cost[h] += value * row[h]
        label = cost.argmin()
        if tie > 0:
            square = b.dtype.type(0)
            for p in range(indptr[i], indptr[i + 1]):
                square += data[p] * data[p]
            least = cost[label]
            for h in range(label):
                if cost[h] - least <= tie * (square + b[h]):
                    label = h
                    break
        labels[i] = label
        counts[label] += weight[i]
        for p in range(indptr[i], indptr[i + 1]):
            sums[label, indices[p]] += weight[i] * data[p]


@njit(nogil=True, fastmath=_FAST, cache=True)
def add_rows(X, weight, labels, sums, counts):
    """Add the rows of each cluster.

    X (n, d), weight (n,), labels (n,): IN. sums (k, d), counts (k,): OUT, added to.
    """
    for i in range(X.shape[0]):
        _add_row(X, i, labels[i], weight[i], sums, counts)


@njit(nogil=True, fastmath=_FAST, cache=True)
def two_nearest_linear(X, rows, W, b, labels, near, far):
    """Find the cluster with the smallest ``W[h] . x + b[h]``, this value and the second smallest one.

    X (N, d), rows (n,): the rows of X to compare, W (K, d), b (K,): IN. K is even; a padded cluster has
    b = inf. labels (n,), near (n,), far (n,): OUT.
    """
    n, d = len(rows), X.shape[1]
    zero = X.dtype.type(0)
    inf = X.dtype.type(np.inf)
    cost = np.empty((4, 2), dtype=X.dtype)
    for i in range(0, n, 4):
        m = min(4, n - i)
        # The last row may be compared several times, so that every row is computed in the same way.
        i0 = rows[i]
        i1 = rows[min(i + 1, n - 1)]
        i2 = rows[min(i + 2, n - 1)]
        i3 = rows[min(i + 3, n - 1)]
        for r in range(m):
            labels[i + r] = 0
            near[i + r] = inf
            far[i + r] = inf
        for h in range(0, W.shape[0], 2):
            s0 = s1 = s2 = s3 = zero
            t0 = t1 = t2 = t3 = zero
            for j in range(d):
                v = W[h, j]
                w = W[h + 1, j]
                x0 = X[i0, j]
                x1 = X[i1, j]
                x2 = X[i2, j]
                x3 = X[i3, j]
                s0 += x0 * v
                s1 += x1 * v
                s2 += x2 * v
                s3 += x3 * v
                t0 += x0 * w
                t1 += x1 * w
                t2 += x2 * w
                t3 += x3 * w
            cost[0, 0] = s0 + b[h]
            cost[1, 0] = s1 + b[h]
            cost[2, 0] = s2 + b[h]
            cost[3, 0] = s3 + b[h]
            cost[0, 1] = t0 + b[h + 1]
            cost[1, 1] = t1 + b[h + 1]
            cost[2, 1] = t2 + b[h + 1]
            cost[3, 1] = t3 + b[h + 1]
            for r in range(m):
                for g in range(2):
                    s = cost[r, g]
                    if s < near[i + r]:
                        far[i + r] = near[i + r]
                        near[i + r] = s
                        labels[i + r] = h + g
                    elif s < far[i + r]:
                        far[i + r] = s


@njit(nogil=True, fastmath=_FAST, cache=True)
def update_bounds(X, squares, W, b, labels, moves, rounding, reach, upper, lower, is_open):
    """Update the bounds on distances after the centres moved, and find the rows whose label may change.

    IN   X (n, d); squares (n,): their squared lengths; W (K, d), b (K,): ``W[h] . x + b[h] + |x|^2`` is the
         squared distance to centre h; labels (n,); moves (4, k): for each centre, (0) how far it moved, the
         longest move of (1) any other centre and (2) any other centre that is not fast, (3) the distance to
         the nearest other centre; rounding, reach: the error of a squared distance is at most
         ``rounding * (|x|^2 + reach)``
    OUT  upper, lower (n,): IN and OUT; is_open (n,): True if the label may change. The lower bound of an open
         row holds only for centres that are not fast: the caller compares it with the fast ones.
    """
    for i in range(X.shape[0]):
        h = labels[i]
        slack = rounding * (squares[i] + reach)
        upper[i] += moves[0, h]
        lower_all = max(lower[i] - moves[1, h], 0.0)
        is_open[i] = False
        bound = max(lower_all, moves[3, h] - upper[i])
        is_apart = bound > upper[i] and bound * bound - upper[i] * upper[i] > 2 * slack
        if not is_apart and upper[i] < np.inf:
            s = X.dtype.type(0)
            for j in range(X.shape[1]):
                s += X[i, j] * W[h, j]
            upper[i] = np.sqrt(max(s + b[h] + squares[i] + slack, 0.0))
            bound = max(lower_all, moves[3, h] - upper[i])
            is_apart = bound > upper[i] and bound * bound - upper[i] * upper[i] > 2 * slack
        is_open[i] = not is_apart
        lower[i] = lower_all if is_apart else max(lower[i] - moves[2, h], 0.0)


@njit(nogil=True, fastmath=_FAST, cache=True)
def nearest_diagonal(X, weight, A, B, c, labels, sums, squares, counts):
    """Assign each row to the cluster with the smallest ``sum_j x_j (A[h, j] x_j + B[h, j]) + c[h]``.

    X (n, d), weight (n,), A, B (k, d), c (k,): IN.
    labels (n,): OUT. sums, squares (k, d), counts (k,): OUT, added to.
    """
    n, d = X.shape
    zero = X.dtype.type(0)
    inf = X.dtype.type(np.inf)
    for i in range(n):
        best = inf
        label = 0
        for h in range(A.shape[0]):
            s = zero
            for j in range(d):
                s += X[i, j] * (A[h, j] * X[i, j] + B[h, j])
            s += c[h]
            if s < best:
                best = s
                label = h
        labels[i] = label
        _add_row(X, i, label, weight[i], sums, counts)
        for j in range(d):
            squares[label, j] += weight[i] * X[i, j] * X[i, j]


@njit(nogil=True, fastmath=_FAST, cache=True)
def come_nearer(X, points, labels, nearest):
    """Update the squared distance to the nearest point so far with the distance to the labelled point.

    X (n, d), points (k, d), labels (n,): IN. nearest (n,): IN and OUT. Distances are computed from
    differences, so they are exactly 0 for equal rows.
    """
    for i in range(X.shape[0]):
        total = X.dtype.type(0)
        for j in range(X.shape[1]):
            step = X[i, j] - points[labels[i], j]
            total += step * step
        nearest[i] = min(nearest[i], total)


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
