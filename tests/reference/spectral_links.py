"""Dense reference implementations of the spectral methods with weighted links."""

import numpy as np
from scipy.linalg import cholesky, eig


def make_implied_matrix(hints):
    """Return 1 for pairs linked by stated or implied must-links, -1 for cannot-links, 0 otherwise."""
    n = hints.n_samples
    value = {"must": 1.0, "cannot": -1.0, "unknown": 0.0}
    whole = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            whole[i, j] = whole[j, i] = value[hints.relation(i, j).kind]
    return whole


def flexible_solutions(weights, links, level):
    """Return positive eigenvalues, unit vectors and costs of the generalised eigenproblem of the paper."""
    degrees = weights.sum(axis=1)
    half = degrees**-0.5
    n = len(weights)
    L = np.eye(n) - half[:, None] * weights * half
    Q = half[:, None] * links * half
    lambdas, vectors = eig(L, Q - level * np.eye(n))
    real = np.isfinite(lambdas) & (np.abs(lambdas.imag) < 1e-9)
    lambdas, vectors = lambdas[real].real, vectors[:, real].real
    keep = lambdas > 1e-9
    lambdas, vectors = lambdas[keep], vectors[:, keep] / np.linalg.norm(vectors[:, keep], axis=0)
    costs = np.array([v @ L @ v for v in vectors.T])
    parts = np.array([v.max() > 1e-8 and v.min() < -1e-8 for v in vectors.T], dtype=bool)
    order = np.argsort(costs)
    order = order[parts[order]]
    return lambdas[order], vectors[:, order], costs[order]


def association_value(A, mass, labels):
    """Return the sum over clusters of x' A x / m' x."""
    total = 0.0
    for c in np.unique(labels):
        x = (labels == c).astype(float)
        total += x @ A @ x / (mass @ x)
    return total


def distances_to_means(A, mass, labels, k, shift):
    """Return the squared distances of explicit feature vectors to the weighted means of their clusters.

    The vectors are the rows of a Cholesky factor of the kernel shift / m + A / (m m').
    """
    kernel = np.diag(shift / mass) + A / np.outer(mass, mass)
    rows = cholesky(kernel, lower=True)
    means = np.array([np.average(rows[labels == c], axis=0, weights=mass[labels == c]) for c in range(k)])
    return ((rows[:, None] - means) ** 2).sum(axis=2)
