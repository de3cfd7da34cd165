"""Readable twins of the strategies: interviews with a memory, as the papers print them, and plain scores.

And the small states that tests of strategies begin with.
"""

import itertools
import math

import numpy as np

from likewise import Supervision
from likewise.active import Question, State


def line(*points):
    return np.array(points, dtype=float)[:, None]


def told(X, must=(), cannot=(), asked=None, **more):
    """A state in which these links were asked for, unless `asked` says otherwise."""
    pairs = [*must, *cannot] if asked is None else asked
    return State.of(
        X,
        Supervision.from_links(len(X), must=list(must) or None, cannot=list(cannot) or None),
        asked=frozenset(Question.pair(*pair).key for pair in pairs),
        n_answers=len(pairs),
        **more,
    )


def away(X, i, j):
    return math.dist(X[i], X[j])


def farthest(X, groups):
    """The row whose nearest placed row is farthest; the first of equal ones."""
    placed = [i for rows in groups for i in rows]
    rest = [i for i in range(len(X)) if i not in placed]
    return max(rest, key=lambda i: (min(away(X, i, j) for j in placed), -i)) if rest else None


def place(X, y, groups, row, k, asked):
    """Ask a row against the nearest row of each group, nearest group first, until it is placed."""
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
    """All questions of MinMax (Mallapragada, Jin & Jain 2008) that y answers, in order."""
    groups, asked = [[first]], []
    while (row := farthest(X, groups)) is not None:
        place(X, y, groups, row, k, asked)
    return asked, groups


def explore(X, y, k, first):
    """The questions of Explore (Basu, Banerjee & Mooney 2004, figure 3) until there are k groups."""
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


def normalized_uncertainty(leaves, groups, row):
    """Entropy over expected cost of one row (Xiong, Azimi & Fern 2014), pair by pair."""
    means = [np.mean([np.mean(leaves[row] == leaves[j]) for j in rows]) for rows in groups]
    total = sum(means)
    p = [mean / total if total else 1 / len(groups) for mean in means]
    entropy = -sum(q * math.log(q) for q in p if q)
    return entropy / sum(at * q for at, q in enumerate(sorted(p, reverse=True), start=1))


def marginal_uncertainty(proba, can_ask):
    """Every pair that can be asked with its distance from a coin toss."""
    return {
        (i, j): abs(sum(a * b for a, b in zip(proba[i], proba[j], strict=True)) - 0.5)
        for i, j in itertools.combinations(range(len(proba)), 2)
        if can_ask(i, j)
    }
