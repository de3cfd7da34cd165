"""The small problem that the tests of rows on a cluster are run on."""

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
