"""Small problems that several tests use."""

import numpy as np

from likewise import SeededKMeans, Supervision
from likewise.supervision import sample_links

N = 240


def some_rows(dtype=np.float64, n=N, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(4, d))[y] + 10
    return X.astype(dtype), y


def hints_for(model, y):
    if isinstance(model, SeededKMeans):
        return Supervision.from_labels([int(label) if i % 9 == 0 else None for i, label in enumerate(y)])
    return sample_links(y, 40, random_state=1)  # of rows drawn from everywhere, so across chunks


def corners(seed, wide, n_links=8):
    """Four corners, wider than high, whose classes are top and bottom; equally many links of both kinds."""
    rng = np.random.default_rng(seed)
    x, y = rng.choice([-1, 1], 200), rng.choice([-1, 1], 200)
    X = np.column_stack([wide * x + 0.6 * rng.normal(size=200), y + 0.5 * rng.normal(size=200)])

    def drawn(same):
        pairs = rng.integers(200, size=(200, 2))
        fit = (pairs[:, 0] != pairs[:, 1]) & ((y[pairs[:, 0]] == y[pairs[:, 1]]) == same)
        return pairs[fit][:n_links]

    return X, y, Supervision.from_links(200, must=drawn(True), cannot=drawn(False))
