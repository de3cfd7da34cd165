"""Kernel k-means on a sparse graph: sums over clusters, and moves of single rows."""

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
