"""Find further parents for the labels of a tree: labels that a label implies besides its parent."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from likewise.hierarchy import LabelHierarchy

_SLIP = 0.01  # fraction of the rows of a label that may lack one of its parents
_MISFIT = 4.0  # nats: maximum loss of fit of an inclusion against the best-fitting fraction


def with_further_parents(
    tree: LabelHierarchy, both: np.ndarray, n_rows: int, rates: np.ndarray, allowed: np.ndarray
) -> LabelHierarchy:
    """Add all further parents that the recorded labels support to a tree.

    Label q is a further parent of c, whose parent is p, if rows with c have q recorded at the rate 1 - α_q
    that inclusion predicts, and not at the rate that follows from p. The two binomial log-likelihoods must
    differ by at least log n_labels + ½ log n nats. Parents that are implied by another parent are removed.
    """
    names, k = tree.names, tree.n_labels
    counts, keep = np.diag(both), 1.0 - rates
    share = np.clip(counts / (n_rows * keep), 1e-12, 1.0)
    price = np.log(k) + 0.5 * np.log(max(n_rows, 2))
    margins = np.array(tree.margins, dtype=np.float64)
    above = tree.ancestor_matrix()
    extra: list[tuple[int, int]] = []
    # Frequent labels first: the parents of a label are final before the labels below it are visited.
    for c in sorted(range(k), key=lambda v: (-counts[v], v)):
        gains = _compute_gains(c, tree, both, n_rows, share, keep)
        for q in np.argsort(-gains, kind="stable"):
            if gains[q] <= price:
                break
            is_known = q == c or above[q, c] or above[c, q]
            if is_known or share[q] <= share[c] or not allowed[q + 1, c + 1]:
                continue
            extra.append((int(q), c))
            margins[c] = min(margins[c], gains[q] - price)
            heads, tails = np.append(np.flatnonzero(above[:, q]), q), np.append(np.flatnonzero(above[c]), c)
            above[np.ix_(heads, tails)] = True
    edges = [(int(p), c) for c, p in enumerate(tree.parents) if p >= 0] + extra
    kept = [(p, c) for p, c in edges if not (above[p] & above[:, c]).any()]
    return LabelHierarchy(
        names,
        [(names[p], names[c]) for p, c in kept],
        scores=tree.scores,
        margins=margins,
        counts=tree.counts,
    )


def _compute_gains(
    c: int, tree: LabelHierarchy, both: np.ndarray, n_rows: int, share: np.ndarray, keep: np.ndarray
) -> np.ndarray:
    """Return the log-likelihood ratio of "q includes c" to "q is as frequent as under the parent of c"."""
    p = tree.parents[c]
    if p < 0:
        base = share
    else:
        base = np.clip(both[p] / (n_rows * keep[p] * keep * share[p]), 0.0, 1.0)
    n_c, found = both[c, c], both[c]

    def compute_likelihood(rate: np.ndarray) -> np.ndarray:
        rate = np.clip(rate, 1e-12, 1.0 - 1e-12)
        return found * np.log(rate) + (n_c - found) * np.log1p(-rate)

    included = compute_likelihood(keep * (1.0 - _SLIP))
    free = (
        np.zeros_like(share)
        if n_c == 0
        else xlogy(found, found / n_c) + xlogy(n_c - found, 1.0 - found / n_c)
    )
    gains = included - compute_likelihood(keep * np.minimum(base, 1.0 - _SLIP))
    return np.where(free - included <= _MISFIT, gains, -np.inf)
