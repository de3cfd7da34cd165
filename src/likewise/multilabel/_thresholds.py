"""Thresholds that maximise F1, estimated from incomplete labels."""

from __future__ import annotations

import numpy as np


def find_best_thresholds(chances: np.ndarray, Z: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return, for each label, the probability threshold that maximises F1.

    If a label is predicted for k rows, m of which have it recorded, then F1 = 2 m' / (t' + k). Here
    m' = m / (1 - α) and t' = t / (1 - α), with t recorded in total, estimate the counts of complete labels. A
    label that was never recorded keeps 0.5. The threshold is halfway to the next probability, so equal
    probabilities are on the same side.
    """
    thresholds = np.full(chances.shape[1], 0.5)
    for c in range(chances.shape[1]):
        total = Z[:, c].sum() / (1.0 - rates[c])
        if not total:
            continue
        order = np.argsort(-chances[:, c], kind="stable")
        ranked = chances[order, c]
        hits = np.minimum(np.cumsum(Z[order, c]) / (1.0 - rates[c]), np.arange(1, len(ranked) + 1))
        f1 = 2.0 * hits / (total + np.arange(1, len(ranked) + 1))
        below = np.append(ranked[1:], 0.0)
        f1[ranked == below] = -1.0  # no threshold separates equal probabilities
        k = int(np.argmax(f1))
        thresholds[c] = 0.5 * (ranked[k] + below[k])
    return thresholds
