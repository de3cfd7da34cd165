"""Readable reference code for mixtures: likelihoods link by link, posteriors by enumeration."""

import itertools

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from reference.kmeans import all_links


def matrices(model):
    """The covariances of a fitted model as full matrices, one (d, d) matrix per component."""
    n_parts, d = model.means_.shape
    found = model.covariances_
    return {
        "full": lambda: found,
        "tied": lambda: np.array([found] * n_parts),
        "diag": lambda: np.array([np.diag(row) for row in found]),
        "spherical": lambda: np.array([value * np.eye(d) for value in found]),
    }[model.covariance_type]()


def class_densities(model, X):
    """p_m(x) = sum_k pi_mk N(x; mu_mk, S_mk), shape (n, M)."""
    parts = np.array(
        [
            multivariate_normal.pdf(X, mean, matrix, allow_singular=True)
            for mean, matrix in zip(model.means_, matrices(model), strict=True)
        ]
    ).reshape(len(model.means_), len(X))
    within = getattr(model, "subcluster_weights_", np.ones((len(model.weights_), 1)))
    return np.einsum("mk,mkn->nm", within, parts.reshape(*within.shape, len(X)))


def pair_table(a, p_first, p_second):
    """The posterior of the classes of two cannot-linked rows as an M x M table, and its normaliser."""
    table = np.outer(a * p_first, a * p_second)
    np.fill_diagonal(table, 0.0)
    return table / table.sum(), table.sum()


def pairs_model(a, p, hints):
    """The composite log-likelihood of GM-PR, the mass of each row in each class, and the class counts.

    Free rows, must-links, cannot-links: each a factor of its own, counted as often as its weight says.
    """
    n, m = p.shape
    free = np.ones(n, dtype=bool)
    mass, counts, total = np.zeros((n, m)), np.zeros(m), 0.0
    for i, j, weight, is_cannot in all_links(hints):
        free[[i, j]] = False
        if is_cannot:
            table, norm = pair_table(a, p[i], p[j])
            first, second = table.sum(axis=1), table.sum(axis=0)
            total += weight * (np.log(norm) - np.log(1 - np.sum(a**2)))
            counts += weight * (first + second)
        else:
            joint = a * p[i] * p[j]
            first = second = joint / joint.sum()
            total += weight * np.log(joint.sum())
            counts += weight * first
        mass[i] += weight * first
        mass[j] += weight * second
    for row in np.flatnonzero(free):
        joint = a * p[row]
        total += np.log(joint.sum())
        mass[row] += joint / joint.sum()
        counts += joint / joint.sum()
    return total, mass, counts


def components(n, hints):
    """The must-link component of each row, by repeated relabelling."""
    name = np.arange(n)
    for i, j, _, is_cannot in all_links(hints):
        if not is_cannot:
            name[name == name[j]] = name[i]
    return np.unique(name, return_inverse=True)[1]


def all_labellings(a, p, hints, *, prior_of="components"):
    """Enumerate every labelling of the rows that satisfies every link.

    The prior has one factor for each component, or for each row. Returns the log of the sum of prior times
    density, the log of the sum of the priors, the marginals (n, M), the expected number of components (or
    rows) in each class, and the most probable labelling.
    """
    n, m = p.shape
    unit = components(n, hints)
    apart = [(unit[i], unit[j]) for i, j, _, is_cannot in all_links(hints) if is_cannot]
    weight_sum, prior_sum, best = 0.0, 0.0, (-1.0, None)
    marginals, counts = np.zeros((n, m)), np.zeros(m)
    for z in itertools.product(range(m), repeat=unit.max() + 1):
        if any(z[u] == z[v] for u, v in apart):
            continue
        labels = np.array(z)[unit]
        drawn = labels if prior_of == "rows" else np.array(z)
        prior = np.prod(a[drawn])
        weight = prior * np.prod(p[np.arange(n), labels])
        prior_sum += prior
        weight_sum += weight
        marginals[np.arange(n), labels] += weight
        np.add.at(counts, drawn, weight)
        best = max(best, (weight, tuple(labels)))
    return (
        np.log(weight_sum),
        np.log(prior_sum),
        marginals / weight_sum,
        counts / weight_sum,
        np.array(best[1]),
    )


def project(p, sizes, edges, penalty=None):
    """The q that minimises sum_u size_u KL(q_u || p_u) s.t. q_a(m) + q_b(m) <= 1, by a general solver.

    With a penalty, a link may be violated at that price for each unit of what is too much. Returns q, and
    what it costs.
    """
    n, m = p.shape
    n_slack = 0 if penalty is None else len(edges)

    def q_of(v):
        return v[: n * m].reshape(n, m)

    def divergence(v):
        q = np.maximum(q_of(v), 1e-12)
        return float(sizes @ (q * np.log(q / p)).sum(axis=1)) + (penalty or 0.0) * v[n * m :].sum()

    def slope(v):
        q = np.maximum(q_of(v), 1e-12)
        return np.concatenate(
            [(sizes[:, None] * (np.log(q / p) + 1)).ravel(), np.full(n_slack, penalty or 0.0)]
        )

    def room(v):
        q = q_of(v)
        slack = v[n * m :] if n_slack else np.zeros(len(edges))
        return np.concatenate([1 - q[a] - q[b] + s for (a, b), s in zip(edges, slack, strict=True)])

    # With redundant constraints the solver may stop early, so it is started from two points.
    found = min(
        (
            minimize(
                divergence,
                np.concatenate([start.ravel(), np.zeros(n_slack)]),
                jac=slope,
                method="SLSQP",
                bounds=[(1e-10, 1.0)] * (n * m) + [(0.0, 2.0)] * n_slack,
                constraints=[
                    {"type": "eq", "fun": lambda v: q_of(v).sum(axis=1) - 1},
                    {"type": "ineq", "fun": room},
                ],
                options={"ftol": 1e-12, "maxiter": 500},
            )
            for start in (p, np.full((n, m), 1 / m))
        ),
        key=lambda found: (not found.success, found.fun),
    )
    return q_of(found.x), found.fun
