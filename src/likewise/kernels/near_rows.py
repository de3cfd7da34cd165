"""The nearest rows of each row among many candidates.

Candidates are appended to the list of a row without a branch per candidate: most are farther than its limit,
which eight comparisons at a time find out, and the branch predictor cannot guess the others. A full list is
reduced to its k nearest, whose largest distance is the new limit.
"""

import numpy as np

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def _partition(values, members, size, k):
    """Move the k smallest of the first `size` values to the front; return the largest of them."""
    low, high = 0, size
    while True:
        a, b, c = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less = low
        for j in range(low, high):
            v, member = values[j], members[j]
            values[j], members[j] = values[less], members[less]
            values[less], members[less] = v, member
            less += v < pivot
        if less > k:
            high = less
            continue
        same = less
        for j in range(less, high):
            v, member = values[j], members[j]
            values[j], members[j] = values[same], members[same]
            values[same], members[same] = v, member
            same += v == pivot
        if same >= k:
            return pivot
        low = same


@njit(nogil=True, cache=True)
def keep_nearest(distances, rows, first, k, values, members, counts, limits, mask):
    """Add the candidates nearer than the limit to the list of each row, and shorten full lists.

    IN   distances (n_rows, n_candidates), where that of a row to itself becomes infinite; rows (n_rows,): the
         row numbers; candidate b is row first + b; k: the number of neighbours wanted
    OUT  values, members (n, room): distances and row numbers of the candidates of each row, of which the
         first counts[i] are valid; counts, limits (n,); mask: at least 8 more bytes than candidates
    """
    m = distances.shape[1]
    most = values.shape[1] - 8
    words = mask.view(np.uint64)
    whole = m // 8
    for a in range(distances.shape[0]):
        i = rows[a]
        away, value, member = distances[a], values[i], members[i]
        if 0 <= i - first < m:
            away[i - first] = np.inf
        limit, count = limits[i], counts[i]
        for b in range(m):
            mask[b] = away[b] < limit
        for w in range(whole):
            if words[w]:
                for b in range(8 * w, 8 * w + 8):
                    value[count] = away[b]
                    member[count] = first + b
                    count += away[b] < limit
                if count > most:
                    limit, count = _partition(value, member, count, k), k
        for b in range(8 * whole, m):
            value[count] = away[b]
            member[count] = first + b
            count += away[b] < limit
        if count > most:
            limit, count = _partition(value, member, count, k), k
        limits[i], counts[i] = limit, count


@njit(nogil=True, cache=True)
def select_smallest(values, found):
    """Find the columns of the smallest values of each row, in order; ties go to the first column.

    IN   values (n, m)
    OUT  found (n, k)
    """
    k = found.shape[1]
    best = np.empty(k, dtype=values.dtype)
    for a in range(values.shape[0]):
        best[:] = np.inf
        found[a] = 0
        for b in range(values.shape[1]):
            v = values[a, b]
            if v < best[k - 1]:
                at = k - 1
                while at > 0 and best[at - 1] > v:
                    best[at] = best[at - 1]
                    found[a, at] = found[a, at - 1]
                    at -= 1
                best[at] = v
                found[a, at] = b


@njit(nogil=True, fastmath={"reassoc", "contract"}, cache=True)
def compute_distances(X, first, neighbors, distances):
    """Compute the distances of the rows from `first` on to their neighbours, from differences.

    IN   X (n, d); neighbors (m, k): row numbers
    OUT  distances (m, k)
    """
    for a in range(neighbors.shape[0]):
        mine = X[first + a]
        for b in range(neighbors.shape[1]):
            other = X[neighbors[a, b]]
            total = 0.0
            for j in range(X.shape[1]):
                step = mine[j] - other[j]
                total += step * step
            distances[a, b] = np.sqrt(total)


@njit(nogil=True, cache=True)
def shorten_lists(values, members, counts, limits, k):
    """Reduce each list of more than k candidates to the k nearest, whose largest distance is its limit.

    OUT  values, members (n, room): as in `keep_nearest`, of which the first counts[i] are valid; counts,
         limits (n,)
    """
    for i in range(len(counts)):
        if counts[i] >= k:
            limits[i], counts[i] = _partition(values[i], members[i], counts[i], k), k


@njit(nogil=True, fastmath={"reassoc", "contract"}, cache=True)
def sort_nearest(X, rows, fixed, order, members, first, width, limits, distances, neighbors, certain):
    """Compute the distances of new rows to their candidates from differences, and sort the k smallest.

    IN   X (n, d): new rows; rows (m,): the numbers of those that are sorted here; fixed (n_fixed, d);
         members (m, room): the first `width` candidates of each row, where candidate c is the fixed row
         order[c - first]; limits (m,): fixed rows that are no candidates have at least this squared distance
    OUT  distances, neighbors (n, k): the nearest first, and of equally near rows the first; certain (n,):
         whether no other row can be among them
    """
    d, k = X.shape[1], distances.shape[1]
    squares, numbers = np.empty(width), np.empty(width, dtype=np.int64)
    for a in range(len(rows)):
        i = rows[a]
        for b in range(width):
            number = order[members[a, b] - first]
            other = fixed[number]
            total = 0.0
            for j in range(d):
                step = np.float64(X[i, j]) - np.float64(other[j])
                total += step * step
            at = b
            while at > 0 and (
                squares[at - 1] > total or (squares[at - 1] == total and numbers[at - 1] > number)
            ):
                squares[at], numbers[at] = squares[at - 1], numbers[at - 1]
                at -= 1
            squares[at], numbers[at] = total, number
        for b in range(k):
            distances[i, b], neighbors[i, b] = np.sqrt(squares[b]), numbers[b]
        certain[i] = squares[k - 1] < limits[a]


@njit(nogil=True, cache=True)
def sum_shares(distances, neighbors, own, scales, shares, n_kept, out):
    """Average the shares of the most similar neighbours of each row, weighted by similarity.

    The similarity of row i to its neighbour j is exp(-d^2 / (2 own_i scales_j)); ties go to the nearer row.

    IN   distances, neighbors (m, k), nearest first; own (m,); scales (n,); shares (n, c): of the neighbours
    OUT  out (m, c): unchanged for rows whose similarities are all 0
    """
    k, n_clusters = neighbors.shape[1], shares.shape[1]
    ratios, order = np.empty(k), np.empty(k, dtype=np.int64)
    weights = np.empty(n_kept)
    for a in range(neighbors.shape[0]):
        for b in range(k):
            ratio = distances[a, b] ** 2 / scales[neighbors[a, b]]
            at = b
            while at > 0 and ratios[at - 1] > ratio:
                ratios[at], order[at] = ratios[at - 1], order[at - 1]
                at -= 1
            ratios[at], order[at] = ratio, b
        total = 0.0
        for b in range(n_kept):
            weights[b] = np.exp(-ratios[b] / (2.0 * own[a]))
            total += weights[b]
        if total > 0.0:
            for c in range(n_clusters):
                found = 0.0
                for b in range(n_kept):
                    found += weights[b] * shares[neighbors[a, order[b]], c]
                out[a, c] = found / total


@njit(nogil=True, fastmath=True, cache=True)
def _compute_minima(values, minima):
    """Compute the minimum of every g-th value, where g is the length of `minima`."""
    n_groups = len(minima)
    minima[:] = values[:n_groups]
    for lo in range(n_groups, len(values), n_groups):
        for g in range(n_groups):
            value, before = values[lo + g], minima[g]
            minima[g] = value if value < before else before


@njit(nogil=True, fastmath=True, cache=True)
def _compute_minimum(values):
    least = values[0]
    for b in range(1, len(values)):
        least = values[b] if values[b] < least else least
    return least


@njit(nogil=True, cache=True)
def vote_by_nearest(
    products, away, rounding, members, starts, scales, shares, k, nth, n_kept, margin, labels
):
    """Find the most likely cluster of new rows from their nearest candidates; -1 if it is in doubt.

    This is `sum_shares` for the k nearest candidates, with distances in the precision of the products. If all
    of these have the same most likely cluster, shares are not needed. Otherwise a row is in doubt if it may
    equal a candidate, if its distances are as small as rounding errors, or if its two largest shares differ
    by less than the margin.

    IN   products (m, c): squared distances to the candidates minus the squares of `away`, where c is a
         multiple of 64; away, rounding (m,): of squared distances; members (c,): the row numbers of the
         candidates, of which those from starts[j] to starts[j + 1] have the most likely cluster j; scales
         (n,), shares (n, n_clusters): of these rows; k: the number of nearest candidates, of which the nth
         gives the scale of a new row; n_kept: of these, the number of the most similar
    OUT  labels (m,)
    """
    (m, c), n_clusters = products.shape, shares.shape[1]
    n_groups = 64
    while n_groups < 2 * k and c % (2 * n_groups) == 0:
        n_groups *= 2
    smallest, unused = np.empty(n_groups, dtype=products.dtype), np.empty(n_groups, dtype=np.int32)
    near, places = np.empty(c, dtype=products.dtype), np.empty(c, dtype=np.int32)
    votes, mask, least = np.empty(n_clusters), np.empty(c, dtype=np.uint8), scales.min()
    words = mask.view(np.uint64)
    for a in range(m):
        found, square = products[a], away[a] ** 2
        home, nearest, other = 0, np.inf, np.inf
        for j in range(n_clusters):
            if starts[j] == starts[j + 1]:
                continue
            value = _compute_minimum(found[starts[j] : starts[j + 1]])
            if value < nearest:
                home, nearest, other = j, value, nearest
            elif value < other:
                other = value
        limit, count = products.dtype.type(other - 2.0 * rounding[a]), 0
        own = found[starts[home] : starts[home + 1]]
        for b in range(len(own)):
            count += own[b] < limit
        if count >= k:
            labels[a] = home
            continue
        # The k-th smallest of the minima of groups is not below the k-th smallest of all.
        limit = products.dtype.type(np.inf)
        if k <= n_groups:
            _compute_minima(found, smallest)
            limit = _partition(smallest, unused, n_groups, k)
        for b in range(c):
            mask[b] = found[b] <= limit
        count = 0
        for w in range(c // 8):
            if words[w]:
                for b in range(8 * w, 8 * w + 8):
                    near[count], places[count] = found[b], members[b]
                    count += mask[b]
        _partition(near, places, count, k)
        scale = _partition(near, places, k, nth) + square
        labels[a] = -1
        if nearest + square <= 2.0 * rounding[a] or scale <= 100.0 * rounding[a]:
            continue
        half = -0.5 / max(np.sqrt(scale), least)
        for b in range(k):
            near[b] = (near[b] + square) / scales[places[b]]
        _partition(near, places, k, n_kept)
        votes[:] = 0.0
        for b in range(n_kept):
            weight, share = np.exp(near[b] * half), shares[places[b]]
            for j in range(n_clusters):
                votes[j] += weight * share[j]
        best, first, second, total = 0, -1.0, 0.0, 0.0
        for j in range(n_clusters):
            total += votes[j]
            if votes[j] > first:
                best, first, second = j, votes[j], max(first, 0.0)
            elif votes[j] > second:
                second = votes[j]
        if first - second > margin * total:
            labels[a] = best
