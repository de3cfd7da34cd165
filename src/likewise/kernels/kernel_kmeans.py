"""Kernel k-means on a sparse graph: sums over clusters, batch steps, and moves of single rows."""

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True)
def sum_over_clusters(indptr, indices, data, labels, sums):
    """Add the weights of the edges from each row to each cluster.

    IN   indptr (n + 1,), indices, data: the graph; labels (n,)
    OUT  sums (n, k): increased by the weights
    """
    for i in range(len(labels)):
        for j in range(indptr[i], indptr[i + 1]):
            sums[i, labels[indices[j]]] += data[j]


@njit(nogil=True, cache=True)
def _compute_gains(own, mass, linked, inner, masses, sizes, here, gains):
    """Compute the change of the objective if a row moved from cluster `here` to each cluster."""
    before = inner[here] / masses[here]
    without = 0.0
    if sizes[here] > 1:
        without = (inner[here] - 2.0 * linked[here] + own) / (masses[here] - mass)
    for c in range(len(inner)):
        share = inner[c] / masses[c] if sizes[c] > 0 else 0.0
        gains[c] = (inner[c] + 2.0 * linked[c] + own) / (masses[c] + mass) - share + (without - before)
    gains[here] = 0.0


@njit(nogil=True, fastmath={"nnan", "nsz"}, cache=True)
def find_best_gains(own, mass, linked, inner, masses, sizes, labels, shares, best):
    """Compute the largest change of the objective by a move of each row; 0 if no move raises it.

    IN   own, mass (n,): the diagonal and the masses; linked (n, k), inner, masses, sizes (k,): the sums;
         labels (n,)
    OUT  shares (k,): scratch; best (n,)
    """
    for c in range(len(sizes)):
        shares[c] = inner[c] / masses[c] if sizes[c] > 0 else 0.0
    for i in range(len(labels)):
        here, most = labels[i], -float("inf")
        for c in range(len(sizes)):
            gain = (inner[c] + 2.0 * linked[i, c] + own[i]) / (masses[c] + mass[i]) - shares[c]
            most = max(most, -float("inf") if c == here else gain)
        without = 0.0
        if sizes[here] > 1:
            without = (inner[here] - 2.0 * linked[i, here] + own[i]) / (masses[here] - mass[i])
        best[i] = max(0.0, most + without - shares[here])


@njit(nogil=True, cache=True)
def find_nearest_means(linked, mass, offsets, whole, sizes, stay, labels, nearest, here):
    """Find the nearest cluster mean of each row, in the space of the kernel.

    IN   linked (n, k): the sums; mass (n,); offsets, whole (k,): what is subtracted for each cluster, and its
         mass; sizes (k,): clusters of size 0 are left out; stay (k,): what is added for the cluster of a row;
         labels (n,)
    OUT  nearest (n,): the current cluster unless another is nearer; here (n,): the nearness of the current
    """
    for i in range(len(labels)):
        mine, best, most = labels[i], 0, -float("inf")
        here[i] = 0.0
        for c in range(len(sizes)):
            if sizes[c] == 0:
                continue
            near = 2.0 * linked[i, c] / (mass[i] * whole[c]) - offsets[c]
            if c == mine:
                near += stay[c]
                here[i] = near
            if near > most:
                best, most = c, near
        nearest[i] = best if most > here[i] + 1e-12 * abs(here[i]) else mine


@njit(nogil=True, cache=True)
def move_rows(order, least, graph, by_row, columns, strengths, rows, sums, gains, labels):
    """Move rows, one after the other, to the cluster that raises the objective most.

    IN   order: the rows to try; least: smaller gains are ignored; graph, by_row, columns: (indptr, indices,
         data) of the graph and of the columns of the groups of links by rows and by columns; strengths of the
         groups; rows: the diagonal, what is added to it, and the masses, (n,) each
    OUT  sums: linked (n, k), inner, masses and sizes (k,); gains (k,): scratch; labels (n,)

    Returns the number of moves.
    """
    indptr, indices, data = graph
    row_starts, row_groups, row_shares = by_row
    group_starts, group_rows, group_shares = columns
    own, added, mass = rows
    linked, inner, masses, sizes = sums
    n_moves = 0
    for i in order:
        here = labels[i]
        if sizes[here] == 1:
            continue
        _compute_gains(own[i], mass[i], linked[i], inner, masses, sizes, here, gains)
        there = gains.argmax()
        if not gains[there] > least:
            continue
        inner[here] += own[i] - 2.0 * linked[i, here]
        inner[there] += own[i] + 2.0 * linked[i, there]
        for c, sign in ((here, -1), (there, 1)):
            masses[c] += sign * mass[i]
            sizes[c] += sign
            for j in range(indptr[i], indptr[i + 1]):
                linked[indices[j], c] += sign * data[j]
            linked[i, c] += sign * added[i]
            for j in range(row_starts[i], row_starts[i + 1]):
                group = row_groups[j]
                for b in range(group_starts[group], group_starts[group + 1]):
                    change = sign * row_shares[j] * strengths[group] * group_shares[b]
                    linked[group_rows[b], c] += change
        labels[i] = there
        n_moves += 1
    return n_moves
