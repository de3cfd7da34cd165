"""What rows hold when a label may have several parents: approximate inference on a graph.

A label with several parents is held with chance s_c if all of them are, and with chance ε_c otherwise, so
that it still implies each of its parents. Sums over a graph with cycles cost exponential time. Messages are
passed as on a tree instead, for a number of rounds and damped (loopy belief propagation): exact on a tree,
and an approximation elsewhere that is best where few labels have several parents. The log-likelihood is
Bethe's.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from likewise.hierarchy import LabelHierarchy

_ROUNDS = 30
_DAMPING = 0.5
_TINY = 1e-12


def graph_posterior(
    hierarchy: LabelHierarchy,
    logits: np.ndarray,
    relaxations: np.ndarray,
    Z: np.ndarray | None,
    keep: np.ndarray | None,
    *,
    max_rounds: int = _ROUNDS,
    tol: float = 1e-6,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the chance of each label, with all its parents, of all its parents, and the log-likelihood.

    Parameters
    ----------
    hierarchy : LabelHierarchy
    logits : ndarray of shape (n_samples, n_labels)
        Log-odds of a label given all its parents.
    relaxations : ndarray of shape (n_labels,)
    Z, keep : ndarray of shape (n_samples, n_labels), (n_labels,), or None
        What was recorded, and 1 less the missing rates; None if nothing was.
    max_rounds, tol
        Messages are passed until none changes by more than `tol`, `max_rounds` times at most.
    """
    lists, order = hierarchy.parent_lists, hierarchy.order
    n, k = logits.shape
    s = expit(np.clip(logits, -300.0, 300.0))
    if Z is None or keep is None:
        seen = np.full((n, k), 0.5)
        unit = np.full((n, k), 2.0)
    else:
        on, off = np.where(Z, keep, 1.0 - keep), np.where(Z, 0.0, 1.0)
        unit = on + off
        seen = on / unit
    # up[c][j]: from the factor of c to its j-th parent; down[c]: to c itself; all as the chance of 1.
    up = [np.full((n, len(parents)), 0.5) for parents in lists]
    down = np.where([not parents for parents in lists], s, 0.5)
    children: list[list[tuple[int, int]]] = [[] for _ in range(k)]
    for c, parents in enumerate(lists):
        for j, p in enumerate(parents):
            children[p].append((c, j))

    def belief(v: int, *, without: tuple[int, int] | None = None, with_down: bool = True) -> np.ndarray:
        one, zero = np.log(seen[:, v] + _TINY**2), np.log(1.0 - seen[:, v] + _TINY**2)
        if with_down:
            one, zero = one + np.log(down[:, v] + _TINY**2), zero + np.log(1.0 - down[:, v] + _TINY**2)
        for c, j in children[v]:
            if (c, j) != without:
                one = one + np.log(up[c][:, j] + _TINY**2)
                zero = zero + np.log(1.0 - up[c][:, j] + _TINY**2)
        return expit(one - zero)

    def sweep(damping: float) -> float:
        change = 0.0
        for c in order[::-1]:
            if not lists[c]:
                continue
            own = belief(c, with_down=False)
            inside = s[:, c] * own + (1.0 - s[:, c]) * (1.0 - own)
            outside = relaxations[c] * own + (1.0 - relaxations[c]) * (1.0 - own)
            into = np.column_stack([belief(p, without=(c, j)) for j, p in enumerate(lists[c])])
            for j in range(len(lists[c])):
                others = np.prod(np.delete(into, j, axis=1), axis=1)
                one = inside * others + outside * (1.0 - others)
                new = one / (one + outside)
                new = damping * up[c][:, j] + (1.0 - damping) * new
                change = max(change, float(np.abs(new - up[c][:, j]).max()))
                up[c][:, j] = new
        for c in order:
            if not lists[c]:
                continue
            into = np.column_stack([belief(p, without=(c, j)) for j, p in enumerate(lists[c])])
            every = np.prod(into, axis=1)
            new = s[:, c] * every + relaxations[c] * (1.0 - every)
            new = damping * down[:, c] + (1.0 - damping) * new
            change = max(change, float(np.abs(new - down[:, c]).max()))
            down[:, c] = new
        return change

    for t in range(max_rounds):
        if sweep(0.0 if hierarchy.is_tree or t == 0 else _DAMPING) < tol:
            break
    return _read_out(hierarchy, s, relaxations, seen, unit, belief)


def _read_out(hierarchy, s, relaxations, seen, unit, belief):
    """Turn messages into chances, and Bethe's log-likelihood: factors less the labels that they share."""
    lists = hierarchy.parent_lists
    n, k = s.shape
    one = np.column_stack([belief(v) for v in range(k)])
    both, above = one.copy(), np.ones((n, k))
    total = np.log(unit).sum()
    degree = np.ones(k)
    for parents in lists:
        for p in parents:
            degree[p] += 1
    for c in range(k):
        own = belief(c, with_down=False)
        into = [belief(p, without=(c, j)) for j, p in enumerate(lists[c])]
        every = np.prod(into, axis=0) if into else np.ones(n)
        inside = every * (s[:, c] * own + (1.0 - s[:, c]) * (1.0 - own))
        outside = (1.0 - every) * (relaxations[c] * own + (1.0 - relaxations[c]) * (1.0 - own))
        mass = inside + outside
        above[:, c] = inside / mass if into else 1.0
        both[:, c] = every * s[:, c] * own / mass
        # the energy and entropy of the factor, whose states that leave some parent out are told apart
        total += _factor_free_energy(s[:, c], relaxations[c], own, into, mass).sum()
        total += (xlogy(one[:, c], seen[:, c]) + xlogy(1.0 - one[:, c], 1.0 - seen[:, c])).sum()
        total += (degree[c] - 1.0) * (xlogy(one[:, c], one[:, c]) + xlogy(1 - one[:, c], 1 - one[:, c])).sum()
    return one, both, above, float(total)


def _factor_free_energy(s, eps, own, into, mass):
    """Return Σ b log(f / b) over the states of one factor, with b = f · messages / mass.

    log(f / b) = log mass - Σ log messages, so only the factor's own marginals are needed.
    """
    every = np.prod(into, axis=0) if into else np.ones_like(s)
    top = (every * s + (1.0 - every) * eps) * own / mass
    out = np.log(mass) - xlogy(top, own) - xlogy(1.0 - top, 1.0 - own)
    for j, message in enumerate(into):
        others = (
            np.prod([m for i, m in enumerate(into) if i != j], axis=0) if len(into) > 1 else np.ones_like(s)
        )
        inside = s * own + (1.0 - s) * (1.0 - own)
        outside = eps * own + (1.0 - eps) * (1.0 - own)
        held = message * (others * inside + (1.0 - others) * outside) / mass
        out -= xlogy(held, message) + xlogy(1.0 - held, 1.0 - message)
    return out
