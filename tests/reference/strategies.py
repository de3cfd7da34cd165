"""Slow twins of the strategies: interviews with a memory, as in the papers, and plain scores.

Also small states for the tests of strategies.
"""

import dataclasses
import itertools
import math

import numpy as np

from likewise import Supervision
from likewise.active import InterviewState, Question
from likewise.bayesian._pair_scores import best_pairs, score_triplets


def line(*points):
    return np.array(points, dtype=float)[:, None]


def make_state(X, must=(), cannot=(), asked=None, **more):
    """Return a state with these links; `asked` lists the asked pairs, by default those of the links."""
    pairs = [*must, *cannot] if asked is None else asked
    return InterviewState.from_data(
        X,
        Supervision.from_links(len(X), must=list(must) or None, cannot=list(cannot) or None),
        asked=frozenset(Question.pair(*pair).key for pair in pairs),
        n_answers=len(pairs),
        **more,
    )


def away(X, i, j):
    return math.dist(X[i], X[j])


def farthest(X, groups):
    """Return the row whose nearest placed row is farthest; ties go to the first row."""
    placed = [i for rows in groups for i in rows]
    rest = [i for i in range(len(X)) if i not in placed]
    return max(rest, key=lambda i: (min(away(X, i, j) for j in placed), -i)) if rest else None


def place(X, y, groups, row, k, asked):
    """Compare a row with the nearest row of each group, nearest group first, until it is placed."""
    nearest = [min(rows, key=lambda j: (away(X, row, j), j)) for rows in groups]
    order = sorted(range(len(groups)), key=lambda g: away(X, row, nearest[g]))
    for n_told_apart, g in enumerate(order):
        implied = len(groups) == k and n_told_apart == k - 1
        if not implied:
            asked.append(tuple(sorted((row, nearest[g]))))
        if implied or y[row] == y[nearest[g]]:
            groups[g].append(row)
            return
    groups.append([row])


def min_max(X, y, k, first):
    """Return all questions of MinMax (Mallapragada, Jin & Jain 2008) in order, answered by y."""
    groups, asked = [[first]], []
    while (row := farthest(X, groups)) is not None:
        place(X, y, groups, row, k, asked)
    return asked, groups


def explore(X, y, k, first):
    """Return the questions of Explore (Basu, Banerjee & Mooney 2004, figure 3) until there are k groups."""
    groups, asked = [[first]], []
    while len(groups) < k and (row := farthest(X, groups)) is not None:
        place(X, y, groups, row, k, asked)
    return asked, groups


def disagreement(X, labels, k, covariance):
    """Eq. 6 of Xiong, Johnson & Corso, by the Mahalanobis distance."""
    inverse = np.linalg.inv(covariance)
    found = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        near = sorted(others, key=lambda j: (X[i] - X[j]) @ inverse @ (X[i] - X[j]))[:k]
        found.append(1 - sum(labels[j] == labels[i] for j in near) / len(near))
    return np.array(found)


def compute_normalized_uncertainty(leaves, groups, row):
    """Entropy over expected cost of one row (Xiong, Azimi & Fern 2014), pair by pair."""
    means = [np.mean([np.mean(leaves[row] == leaves[j]) for j in rows]) for rows in groups]
    total = sum(means)
    p = [mean / total if total else 1 / len(groups) for mean in means]
    entropy = -sum(q * math.log(q) for q in p if q)
    return entropy / sum(at * q for at, q in enumerate(sorted(p, reverse=True), start=1))


def marginal_uncertainty(proba, can_ask):
    """Return every pair that can be asked with the distance of its probability from 1/2."""
    return {
        (i, j): abs(sum(a * b for a, b in zip(proba[i], proba[j], strict=True)) - 0.5)
        for i, j in itertools.combinations(range(len(proba)), 2)
        if can_ask(i, j)
    }


class Draws:
    """A model with given draws, (n_draws, n_samples, n_clusters)."""

    def __init__(self, samples):
        self.samples = np.asarray(samples, dtype=float)

    def membership_samples(self):
        return self.samples

    def best_pairs(self, n, *, exclude=(), rows=None, cycles=False):
        rows = np.arange(self.samples.shape[1]) if rows is None else rows
        at = {row: place for place, row in enumerate(rows.tolist())}
        inside = [(at[i], at[j]) for i, j in exclude if i in at and j in at]
        found = best_pairs(self.samples[:, rows], n, exclude=inside)
        return dataclasses.replace(found, pairs=rows[found.pairs])

    def triplet_scores(self, triplets):
        return score_triplets(self.samples, triplets)


def make_answer_matrix(n, must, cannot):
    """Return the matrix of answers of Wang & Davidson's program: 1 on the diagonal, 1 and -1 for answers."""
    Q = np.eye(n)
    for pairs, value in ((must, 1), (cannot, -1)):
        for i, j in pairs:
            Q[i, j] = Q[j, i] = value
    return Q


def compute_expected_errors(Q, Q_u):
    """Return the expected squared errors of the relaxed relations Q_u (Wang & Davidson 2010), pair by pair.

    The probability of an answer comes from the rank-one singular value decomposition of the answers Q.
    """
    U, S, Vt = np.linalg.svd(Q)
    n, errors = len(Q), {}
    for i in range(n):
        for j in range(i + 1, n):
            together = (1 + max(-1, min(1, U[i, 0] * S[0] * Vt[0, j]))) / 2
            q = max(-1, min(1, Q_u[i, j]))
            errors[i, j] = (q - 1) ** 2 * together + (q + 1) ** 2 * (1 - together)
    return errors


def group_chances(X, groups, k, gamma, row):
    """Return the probability of each group by the k nearest placed rows (Jain & Kapoor 2009)."""
    placed = [(away(X, row, j), g) for g, rows in enumerate(groups) for j in rows]
    near = sorted(placed)[:k]
    similar = [sum(math.exp(-gamma * d * d) for d, h in near if h == g) for g in range(len(groups))]
    return [one / sum(similar) for one in similar]


def column_weights_loss(X, groups, gamma, weights):
    """Return the loss of the metric of pKNN: the negative log-likelihood of the groups plus the penalty."""
    total = sum((w - 1) ** 2 for w in weights) / 2
    for i, g in enumerate(groups):
        others = [j for j in range(len(X)) if j != i]
        if all(groups[j] != g for j in others):
            continue
        similar = {
            j: math.exp(-gamma * sum(w * (a - b) ** 2 for w, a, b in zip(weights, X[i], X[j], strict=True)))
            for j in others
        }
        total -= math.log(sum(similar[j] for j in others if groups[j] == g) / sum(similar.values()))
    return total


def density_entropy(X, labels):
    """Eq. 9 of Xiong, Johnson & Corso with leave-one-out kernel densities."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n, m = X.shape
    h = n ** (-1 / (m + 4))
    found = []
    for j in range(n):
        density = dict.fromkeys(labels.tolist(), 0.0)
        for i in range(n):
            if i != j:
                density[labels[i]] += math.exp(-(away(X, i, j) ** 2) / (2 * h * h))
        p = [value / sum(density.values()) for value in density.values()]
        found.append(-sum(q * math.log(q) for q in p if q))
    return np.array(found)


def quire_printed(K, ridge, placed, y, s):
    """The printed form of QUIRE (Huang, Jin & Zhou 2010), with explicit inverses."""
    n = len(K)
    L = np.linalg.inv(K + ridge * np.eye(n))
    a = [i for i in range(n) if i not in placed]
    u = [i for i in a if i != s]
    inner = L[np.ix_(u, placed)] if u else np.zeros((0, len(placed)))
    mean = L[s, placed] - (L[s, u] @ np.linalg.solve(L[np.ix_(u, u)], inner) if u else 0)
    return L[s, s] - np.linalg.det(L[np.ix_(a, a)]) / L[s, s] + 2 * abs(mean @ y)


def quire_exact(K, ridge, placed, y, s):
    """The worst case over the two groups of s, with the best values for the rows without a group."""
    n = len(K)
    L = np.linalg.inv(K + ridge * np.eye(n))
    u = [i for i in range(n) if i not in placed and i != s]
    values = []
    for side in (1.0, -1.0):
        full = np.zeros(n)
        full[placed], full[s] = y, side
        full[u] = -np.linalg.solve(L[np.ix_(u, u)], (L @ full)[u])
        values.append(full @ L @ full)
    return max(values)
