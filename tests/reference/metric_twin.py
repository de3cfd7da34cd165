"""Reference implementations of the metric learners: plain formulas, pair by pair."""

import itertools

import numpy as np
from scipy.optimize import linprog, minimize


def within_covariance(X, chunks):
    """Return the mean of (x - m)(x - m)^T over the rows of all chunklets."""
    C, n = np.zeros((X.shape[1],) * 2), 0
    for rows in chunks:
        for x in X[rows]:
            C += np.outer(x - X[rows].mean(axis=0), x - X[rows].mean(axis=0))
            n += 1
    return C / n


def itml(X, must, cannot, M, u, l, gamma, max_iter, tol, weights=None):
    """Run algorithm 1 of Davis et al. 2007; `weights` has one entry per pair, must-links first."""
    M = M.copy()
    pairs = [(i, j, 1, u) for i, j in must] + [(i, j, -1, l) for i, j in cannot]
    gammas = gamma * (np.ones(len(pairs)) if weights is None else weights)
    bounds = np.array([b for _, _, _, b in pairs], dtype=float)
    dual = np.zeros(len(pairs))
    for _ in range(max_iter):
        before = dual.copy()
        for t, (i, j, sign, _) in enumerate(pairs):
            v, g = X[i] - X[j], gammas[t]
            p = v @ M @ v
            alpha = min(dual[t], sign * g / (g + 1) * (1 / p - 1 / bounds[t]))
            beta = sign * alpha / (1 - sign * alpha * p)
            bounds[t] = g * bounds[t] / (g + sign * alpha * bounds[t])
            dual[t] -= alpha
            M = M + beta * np.outer(M @ v, M @ v)
        if np.abs(dual - before).sum() <= tol * (np.linalg.norm(dual) + np.linalg.norm(before)):
            break
    return M


def mmc_objective(X, cannot, M):
    """Return the mean distance of cannot-linked rows."""
    return float(np.mean([np.sqrt((X[i] - X[j]) @ M @ (X[i] - X[j])) for i, j in cannot]))


def mmc_scatter(X, must):
    """Return the mean outer product of differences of must-linked rows."""
    return np.mean([np.outer(X[i] - X[j], X[i] - X[j]) for i, j in must], axis=0)


def mmc(X, must, cannot, steps=3000):
    """Maximise by projected gradient ascent over positive semidefinite M with tr(S M) = 1."""
    S = mmc_scatter(X, must)
    root = np.linalg.inv(np.linalg.cholesky(S))  # root S root^T = I
    U = np.array([root @ (X[i] - X[j]) for i, j in cannot])
    B = np.eye(len(S)) / len(S)
    best = B
    for t in range(steps):
        q = np.sqrt(np.einsum("ij,jk,ik->i", U, B, U) + 1e-12)
        G = (U.T / (2 * q)) @ U / len(U)
        values, vectors = np.linalg.eigh(B + 0.5 / (1 + t) ** 0.5 * G / np.linalg.norm(G))
        B = (vectors * onto_simplex(values)) @ vectors.T
        if objective_of(U, B) > objective_of(U, best):
            best = B
    return root.T @ best @ root


def objective_of(U, B):
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", U, B, U), 0)).mean()


def onto_simplex(v):
    """Project onto the probability simplex."""
    s = np.sort(v)[::-1]
    over = s - (np.cumsum(s) - 1) / np.arange(1, len(v) + 1)
    k = np.flatnonzero(over > 0)[-1] + 1
    return np.maximum(v - (s[:k].sum() - 1) / k, 0)


def comparisons(hints):
    """Yield (i, j, k, weight) for "i is closer to j than to k", two for each answered triplet."""
    for (a, b, c), word, w in zip(
        hints.triplets.tolist(), hints.answer_words, hints.triplet_weights, strict=True
    ):
        if word != "NEITHER":
            i, j, k = {"AB": (a, b, c), "AC": (a, c, b), "BC": (b, c, a)}[word]
            yield i, j, k, w
            yield j, i, k, w


def lsml_objective(X, hints, M, M0, gamma):
    def d(i, j):
        return np.sqrt((X[i] - X[j]) @ M @ (X[i] - X[j]))

    sigma2 = np.trace(M0 @ np.cov(X.T, bias=True).reshape(M0.shape)) / len(M0)
    loss = sum(w * max(d(i, j) - d(i, k), 0) ** 2 for i, j, k, w in comparisons(hints))
    return gamma / sigma2 * loss + np.trace(M @ np.linalg.inv(M0)) - np.linalg.slogdet(M)[1]


def sparse_lp(X, hints, sparsity):
    """Solve the whole program over the entries of M; return M and the objective."""
    d = X.shape[1]
    triples = list(comparisons(hints))
    total = sum(w for *_, w in triples)
    s = 2 * np.square(X - X.mean(axis=0)).sum(axis=1).mean()
    entries = list(itertools.combinations_with_replacement(range(d), 2))
    m = len(entries)
    cost = [sparsity / d * (1 if k == l else 2) for k, l in entries]
    # Variables: positive and negative part of each entry, then the slacks.
    c = np.concatenate([cost, cost, [w / total for *_, w in triples]])
    rows, rhs = [], []
    for t, (i, j, k, _) in enumerate(triples):
        n, f = X[i] - X[j], X[i] - X[k]
        gain = np.array([(f[p] * f[q] - n[p] * n[q]) * (1 if p == q else 2) for p, q in entries]) / s
        slack = np.zeros(len(triples))
        slack[t] = 1
        rows.append(-np.concatenate([gain, -gain, slack]))
        rhs.append(-1)
    for k in range(d):
        sign = np.array([-1.0 if p == q == k else 1.0 if k in (p, q) and p != q else 0.0 for p, q in entries])
        both = np.where(sign == -1.0, 1.0, sign)
        rows.append(np.concatenate([sign, both, np.zeros(len(triples))]))
        rhs.append(0)
    found = linprog(c, A_ub=np.array(rows), b_ub=rhs)
    M = np.zeros((d, d))
    for (k, l), value in zip(entries, found.x[:m] - found.x[m : 2 * m], strict=True):
        M[k, l] = M[l, k] = value
    return M, found.fun


def sssvad_objective(X, labels, centers, weights, triples, price, margin, temperature):
    """Return the objective of SSSVaD for rows X of mean variance 1; `triples` are (i, j, k, weight)."""
    d = X.shape[1]

    def D(h, x, y):
        return (weights[h] * (x - y) ** 2).sum() / d

    total = 0.0
    for x, h in zip(X, labels, strict=True):
        total += D(h, x, centers[h]) + temperature * (weights[h] * np.log(weights[h])).sum() / d
    for i, j, k, w in triples:
        h = labels[i]
        total += price * w * max(margin + D(h, X[i], X[j]) - D(h, X[i], X[k]), 0) ** 2
    return total


def relative_svm(features, near, far, prices, spread):
    """Solve the program of Schultz & Joachims 2003 by a general solver, over weights w and slacks xi.

    `near` and `far` are pairs of rows of `features`, one pair per comparison.
    """
    d, n = features.shape[1], len(near)
    gains = np.array(
        [
            ((features[i] - features[k]) ** 2 - (features[a] - features[b]) ** 2) / spread
            for (a, b), (i, k) in zip(near, far, strict=True)
        ]
    )
    found = minimize(
        lambda v: v[:d] @ v[:d] / 2 + prices @ v[d:],
        np.concatenate([np.zeros(d), np.ones(n)]),
        jac=lambda v: np.concatenate([v[:d], prices]),
        bounds=[(0, None)] * (d + n),
        constraints={
            "type": "ineq",
            "fun": lambda v: gains @ v[:d] + v[d:] - 1,
            "jac": lambda v: np.hstack([gains, np.eye(n)]),
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert (gains @ found.x[:d] + found.x[d:] >= 1 - 1e-6).all(), found.message
    return found.x[:d], found.fun
