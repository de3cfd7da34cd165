"""Sum-product on a forest of answers about pairs and triplets, for many models at once.

Each node has a distribution over k clusters for each of S models. An answer connects a parent with one or two
children. `chance` is the probability of the answer in each case:

    chance[0]: the parent is with the first child (in a triplet: with it alone)
    chance[1]: the parent is with the second child alone; unused for a pair
    chance[2]: the two children are together, without the parent; unused for a pair
    chance[3]: none of these: no two are together, or all three are

Only equality of clusters matters, so sums over k x k or k x k x k labellings reduce to sums of k products.
"""

from math import log

from likewise.kernels._njit import njit


@njit(nogil=True, cache=True, inline="always")
def _message(chance, first, second, alone, u, v, shared):
    """Return the message to one cluster of a node; u, v are the probabilities of this cluster for the others.

    first, second, alone: the indices into `chance` of the cases that the node is with the first alone, with
    the second alone, and that these two are together without it. They share a cluster with probability
    `shared`.
    """
    none = chance[3]
    value = (
        none
        + (chance[first] - none) * u * (1.0 - v)
        + (chance[second] - none) * v * (1.0 - u)
        + (chance[alone] - none) * (shared - u * v)
    )
    # The value is a mean of chances, so anything below their minimum is due to rounding.
    return max(value, min(min(chance[0], chance[1]), min(chance[2], none)))


@njit(nogil=True, cache=True)
def gather(parent, first, second, chance, belief, log_total):
    """Pass messages from the leaves to the roots.

    parent, first, second (F,): the nodes of each answer, children before their parents, second -1 for a pair;
    chance (F, 4): IN. belief (S, m, k): IN the distributions of the nodes without answers, OUT the normalised
    distributions given the answers below each node. log_total (S,): OUT, the log normalisers are added to it.
    """
    n_models, _, k = belief.shape
    for s in range(n_models):
        total = 0.0
        for f in range(len(parent)):
            p, a, b = parent[f], first[f], second[f]
            mass = 0.0
            if b >= 0:
                shared = 0.0
                for h in range(k):
                    shared += belief[s, a, h] * belief[s, b, h]
                for h in range(k):
                    belief[s, p, h] *= _message(chance[f], 0, 1, 2, belief[s, a, h], belief[s, b, h], shared)
                    mass += belief[s, p, h]
            else:
                together, apart = chance[f, 0], chance[f, 3]
                for h in range(k):
                    belief[s, p, h] *= max(apart + (together - apart) * belief[s, a, h], min(together, apart))
                    mass += belief[s, p, h]
            if mass > 0.0:
                for h in range(k):
                    belief[s, p, h] /= mass
                total += log(mass)
            else:  # underflow: no cluster fits, so use a uniform distribution
                for h in range(k):
                    belief[s, p, h] = 1.0 / k
                total -= 700.0
        log_total[s] += total


@njit(nogil=True, cache=True)
def spread(parent, first, second, chance, cavity, belief):
    """Pass messages from the roots to the leaves.

    parent, first, second, chance: IN, as for `gather`. cavity (k,): scratch. belief (S, m, k): IN the result
    of `gather`, in which the roots have their posterior distributions, OUT the posterior of every node.
    """
    n_models, _, k = belief.shape
    for s in range(n_models):
        for f in range(len(parent) - 1, -1, -1):
            p, a, b = parent[f], first[f], second[f]
            shared = 0.0
            if b >= 0:
                for h in range(k):
                    shared += belief[s, a, h] * belief[s, b, h]
            mass = 0.0
            for h in range(k):  # the distribution of the parent without this answer
                other = belief[s, b, h] if b >= 0 else 0.0
                heard = _message(chance[f], 0, 1, 2, belief[s, a, h], other, shared)
                cavity[h] = belief[s, p, h] / heard if heard > 0.0 else 0.0
                mass += cavity[h]
            near_a, near_b = 0.0, 0.0
            for h in range(k):
                cavity[h] = cavity[h] / mass if mass > 0.0 else 1.0 / k
                near_a += cavity[h] * belief[s, a, h]
                near_b += cavity[h] * belief[s, b, h] if b >= 0 else 0.0
            mass_a, mass_b = 0.0, 0.0
            for h in range(k):
                u, v = belief[s, a, h], belief[s, b, h] if b >= 0 else 0.0
                belief[s, a, h] = u * _message(chance[f], 0, 2, 1, cavity[h], v, near_b)
                mass_a += belief[s, a, h]
                if b >= 0:
                    belief[s, b, h] = v * _message(chance[f], 1, 2, 0, cavity[h], u, near_a)
                    mass_b += belief[s, b, h]
            for h in range(k):
                belief[s, a, h] = belief[s, a, h] / mass_a if mass_a > 0.0 else 1.0 / k
                if b >= 0:
                    belief[s, b, h] = belief[s, b, h] / mass_b if mass_b > 0.0 else 1.0 / k
