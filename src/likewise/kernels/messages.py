"""Sum-product on a forest, for many models at once.

Each node has a distribution over k clusters for each of S models. An edge from a node to its parent weighs
equal clusters by `same` and different ones by `other`, so that the message of a child with distribution b is
``other + (same - other) b``: k numbers from k, not from k squared.
"""

from math import log

from numba import njit


@njit(nogil=True, cache=True)
def gather(order, parent, same, other, belief, log_total):
    """Pass messages from the leaves to the roots.

    order: the nodes that have a parent, children before parents; parent, same, other: of each node: IN.
    belief (S, m, k): OUT, begins as the nodes' own distributions and ends as what each node hears from
    below, normalised. log_total (S,): OUT, the logarithms of the normalisers are added to it.
    """
    n_models, _, k = belief.shape
    for s in range(n_models):
        total = 0.0
        for i in order:
            p = parent[i]
            gain = same[i] - other[i]
            mass = 0.0
            for h in range(k):
                belief[s, p, h] *= other[i] + gain * belief[s, i, h]
                mass += belief[s, p, h]
            if mass <= 0.0:  # underflow: nothing fits, so nothing is preferred
                for h in range(k):
                    belief[s, p, h] = 1.0 / k
                total += -700.0
            else:
                for h in range(k):
                    belief[s, p, h] /= mass
                total += log(mass)
        log_total[s] += total


@njit(nogil=True, cache=True)
def spread(order, parent, same, other, belief):
    """Pass messages from the roots to the leaves.

    order, parent, same, other: as for `gather`: IN. belief (S, m, k): OUT, begins as `gather` left it, with
    the roots' distributions given everything, and ends as every node's distribution given everything.
    """
    n_models, _, k = belief.shape
    for s in range(n_models):
        for at in range(len(order) - 1, -1, -1):
            i = order[at]
            p = parent[i]
            gain = same[i] - other[i]
            mass = 0.0
            for h in range(k):  # what the parent would think without this child
                mass += belief[s, p, h] / (other[i] + gain * belief[s, i, h])
            total = 0.0
            for h in range(k):
                rest = belief[s, p, h] / (other[i] + gain * belief[s, i, h]) / mass if mass > 0.0 else 1.0 / k
                belief[s, i, h] *= other[i] + gain * rest
                total += belief[s, i, h]
            for h in range(k):
                belief[s, i, h] = belief[s, i, h] / total if total > 0.0 else 1.0 / k
