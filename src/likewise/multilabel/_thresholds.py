"""Thresholds of the largest F1, from labels of which some were not recorded."""

from __future__ import annotations

import numpy as np


def find_best_thresholds(chances: np.ndarray, Z: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return, for each label, the threshold on its chance that makes F1 largest.

    With m of the recorded and k rows predicted, F1 = 2 m' / (t' + k), where m' = m / (1 - α) and t', the
    recorded in all over 1 - α, estimate what complete labels would give. A label that was never recorded
    keeps 0.5. The threshold is half way to the next chance, so that equal chances fall on one side.
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
        f1[ranked == below] = -1.0  # no threshold parts equal chances
        k = int(np.argmax(f1))
        thresholds[c] = 0.5 * (ranked[k] + below[k])
    return thresholds
