"""Reference implementations of bag constraints and linked graphs, and random problems."""

from itertools import product

import numpy as np

from likewise import Supervision


def local_scaling(X, t=7):
    """Return exp(-d^2 / (2 s_p s_q)) with s_p the distance of row p to its t-th neighbour, and the scales."""
    X = np.asarray(X, dtype=float)
    n = len(X)
    far = np.array([[np.linalg.norm(a - b) for b in X] for a in X])
    scales = np.array([sorted(np.delete(far[p], p))[min(t, n - 1) - 1] for p in range(n)])
    weights = np.exp(-(far**2) / (2 * np.outer(scales, scales)))
    np.fill_diagonal(weights, 0.0)
    return weights, scales


def gather_hints(hints):
    """Return the bag of each row and the label set of each bag (or None); a labelled row is a separate bag.

    Bags without remaining rows are not counted.
    """
    bag_of, sets = [], {}
    for row in range(hints.n_samples):
        if hints.label_codes[row] >= 0:
            bag, labels = ("row", row), frozenset([hints.classes[hints.label_codes[row]]])
        elif hints.bags is not None and hints.bags.codes[row] >= 0:
            code = hints.bags.codes[row]
            bag, labels = ("bag", code), hints.bags.labels[code]
        else:
            bag, labels = None, None
        bag_of.append(bag)
        if bag is not None:
            sets[bag] = labels
    return bag_of, sets


def alike(a, b, weights=None):
    """Return the product of the equal shares of two label sets; 0 if one is unknown."""
    if a is None or b is None:
        return 0.0
    return sum(1.0 if weights is None else weights[label] for label in a & b) / (len(a) * len(b))


def bag_matrix(hints, variant, without_links=False, more_clusters=False, class_weights=None):
    """Return Q entry by entry: the agreement of the bags of two rows, minus mu where the variant has it."""
    bag_of, sets = gather_hints(hints)
    counted = [labels for labels in sets.values() if labels is not None or variant != "labelled"]
    mu = sum(alike(a, b, class_weights) for a, b in product(counted, counted)) / max(len(counted), 1) ** 2
    n = hints.n_samples
    Q = np.zeros((n, n))
    for p, q in product(range(n), range(n)):
        if bag_of[p] is None or bag_of[q] is None:
            continue
        a, b = sets[bag_of[p]], sets[bag_of[q]]
        taken = {
            "printed": bag_of[p] == bag_of[q],
            "exact": True,
            "labelled": a is not None and b is not None,
        }[variant]
        Q[p, q] = alike(a, b, class_weights) - mu * taken
        if without_links and a is not None and b is not None:
            must = len(a) == len(b) == 1 and a == b and not more_clusters
            if must or not a & b:
                Q[p, q] = 0.0
    return Q


def quadruple_sum(hints):
    """Return the matrix of the paper's sum over pairs of pairs of bags (eq. 9), divided by 2 M^2.

    The sum of (L_ij - L_rs)(A_ij - A_rs) over all bags i, j, r, s is linear in the similarities A_ij of two
    bags, and A_ij is the sum over their pairs of rows: the coefficient of each pair is collected.
    """
    bag_of, sets = gather_hints(hints)
    names = list(sets)
    members = {name: [p for p, bag in enumerate(bag_of) if bag == name] for name in names}
    Q = np.zeros((hints.n_samples, hints.n_samples))
    for i, j, r, s in product(names, repeat=4):
        gap = alike(sets[i], sets[j]) - alike(sets[r], sets[s])
        Q[np.ix_(members[i], members[j])] += gap
        Q[np.ix_(members[r], members[s])] -= gap
    return Q / (2 * max(len(names), 1) ** 2)


def make_linked_matrix(weights, hints):
    """Return the weights with 1 for must-linked rows and 0 for cannot-linked rows."""
    W = np.array(weights, dtype=float)
    for p in range(len(W)):
        for q in range(p):
            kind = hints.relation(p, q).kind
            if kind != "unknown":
                W[p, q] = W[q, p] = kind == "must"
    return W


def normalize(W, matrix=None):
    """Return D^-1/2 M D^-1/2, with D the row sums of W (1 where they are 0) and M = W unless given."""
    degrees = W.sum(axis=1)
    half = np.where(degrees > 0, degrees, 1.0) ** -0.5
    return half[:, None] * (W if matrix is None else matrix) * half


def additive(W):
    """Return (W + d_max I - D) / d_max."""
    degrees = W.sum(axis=1)
    degrees = np.where(degrees > 0, degrees, 1.0)
    return (W + np.diag(degrees.max() - degrees)) / degrees.max()


def must_laplacian(hints):
    """Return the Laplacian of the graph of stated must-links, pairs and groups, each with its weight."""
    n = hints.n_samples
    A = np.zeros((n, n))
    for (i, j), weight in zip(hints.must, hints.must_weights, strict=True):
        A[i, j] += weight
        A[j, i] += weight
    for group, weight in zip(hints.must_groups, hints.must_groups.weights, strict=True):
        for i, j in product(group, group):
            A[i, j] += weight * (i != j)
    return np.diag(A.sum(axis=1)) - A


def propagate(weights, allowed, stay=0.1, steps=100, settled=1e-3, degrees=None):
    """Return the shares of the classes in each row, row by row; `allowed` has a set of classes for each."""
    n, c = len(weights), 1 + max(max(one) for one in allowed if one)
    even = np.array([[(k in one) / max(len(one), 1) for k in range(c)] for one in allowed], dtype=float)
    shares = even
    for _ in range(steps):
        step = np.zeros((n, c))
        for p in range(n):
            degree = weights[p].sum() if degrees is None else degrees[p]
            heard = sum(weights[p, q] * shares[q] for q in range(n)) / max(degree, 1e-300)
            mixed = (1 - stay) * heard + stay * even[p]
            if allowed[p]:
                mixed = np.array([mixed[k] if k in allowed[p] else 0.0 for k in range(c)])
            step[p] = mixed / mixed.sum() if mixed.sum() > 0 else even[p]
        change = np.mean([np.abs(step[p] - shares[p]).sum() for p in range(n)])
        shares = step
        if change < settled:
            break
    for p in range(n):
        if not allowed[p]:
            shares[p] = 0.0
    return shares


# ---------------------------------------------------------------------- random problems


def draw_weights(rng, n):
    """Return symmetric weights, some of them 0."""
    weights = np.triu(rng.uniform(0.05, 1, (n, n)) * (rng.uniform(size=(n, n)) < 0.7), 1)
    return weights + weights.T


def draw_links(rng, n, y=None):
    """Return links and groups of both kinds; true links if classes `y` are given, else random links."""
    pairs = [tuple(rng.choice(n, 2, replace=False)) for _ in range(rng.integers(0, 2 * n))]
    same = [y[i] == y[j] if y is not None else rng.uniform() < 0.5 for i, j in pairs]
    must_groups, cannot_groups = None, None
    if rng.uniform() < 0.5:
        must_groups = [rng.choice(n, 3, replace=False)] if y is None else None
        cannot_groups = [rng.choice(n, 3, replace=False)] if y is None else None
        if y is not None:
            must_groups = [rows for c in np.unique(y) if len(rows := np.flatnonzero(y == c)) > 2][:1]
            firsts = np.unique(y, return_index=True)[1]
            cannot_groups = [firsts] if len(firsts) > 1 else None
    return Supervision.from_links(
        n,
        must=[p for p, s in zip(pairs, same, strict=True) if s],
        cannot=[p for p, s in zip(pairs, same, strict=True) if not s],
        must_groups=must_groups,
        cannot_groups=cannot_groups,
    )


def draw_bags(rng, n, y):
    """Return bags labelled with the classes of their rows; some are unlabelled, some rows have no bag."""
    bag = rng.integers(-1, max(n // 2, 1), n)
    holds = {
        int(b): {*y[bag == b].tolist(), *rng.integers(0, 4, rng.integers(0, 2)).tolist()}
        for b in np.unique(bag)
        if b >= 0 and rng.uniform() < 0.7
    }
    return Supervision.from_bags([int(b) if b >= 0 else None for b in bag], holds)
