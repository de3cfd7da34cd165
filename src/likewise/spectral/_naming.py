"""Which class each cluster stands for, as far as the labels of bags tell."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from likewise.spectral._bag_terms import ToldBags
from likewise.spectral._propagation import class_profile, even_shares

_SWEEPS = 20


def named_clusters(told: ToldBags, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the class of each cluster by number; -1 for a cluster without rows of labelled bags.

    Makes as many rows as possible carry a label of their bag, and as many labels as possible be carried by
    some row of their bag: rows that carry plus labels that are carried. Frequent classes would otherwise
    name clusters of others that they always come with. Begins with the class that most rows of a cluster
    could be, and takes clusters in turn until nothing improves; a turn is linear in the labels of the bags.
    """
    known = np.flatnonzero(told.sets.known)
    if not len(known):
        return np.full(k, -1)
    bags, of_row = np.unique(told.codes[known], return_inverse=True)
    shape = (len(bags), k)
    counts = csc_array(csr_array((np.ones(len(known)), (of_row, labels[known])), shape=shape))
    holds = csr_array(told.allowed[told.labelled_bags])
    fitting = np.asarray((counts.T @ holds).toarray())  # rows of a cluster that could be of a class
    names = np.where(fitting.any(axis=1), fitting.argmax(axis=1), -1)
    held = holds.toarray() > 0
    carried = np.zeros(held.shape, dtype=np.int64)
    present = [counts.indices[counts.indptr[c] : counts.indptr[c + 1]] for c in range(k)]
    for cluster in np.flatnonzero(names >= 0):
        carried[present[cluster], names[cluster]] += 1
    for _ in range(_SWEEPS):
        before = names.copy()
        for cluster in np.flatnonzero(names >= 0):
            at = present[cluster]
            carried[at, names[cluster]] -= 1
            gain = fitting[cluster] + (held[at] & (carried[at] == 0)).sum(axis=0)
            if gain.max() > gain[names[cluster]]:
                names[cluster] = gain.argmax()
            carried[at, names[cluster]] += 1
        if (names == before).all():
            break
    return names


def profile_of(told: ToldBags, labels: np.ndarray, k: int, names: np.ndarray) -> np.ndarray:
    """Return the share of each class in each cluster, beginning with the class that it is named for."""
    start = even_shares(told.allowed)
    rows = np.repeat(np.arange(start.shape[0]), np.diff(start.indptr))
    own = names[labels[rows]] == start.indices
    start.data[:] = np.where(own, 1.0, 0.1 * start.data)
    totals = np.bincount(rows, weights=start.data, minlength=start.shape[0])
    start.data /= totals[rows]
    return class_profile(labels, told.allowed, k, start)[0]
