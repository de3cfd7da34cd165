"""Assign a class to each cluster, from the labels of the bags."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csc_array, csr_array

from likewise.spectral._bag_propagation import compute_class_profile, compute_even_shares
from likewise.spectral._bag_terms import BagMatrices

_SWEEPS = 20


def name_clusters(bag_matrices: BagMatrices, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the class number of each cluster, or -1 for a cluster without rows of labelled bags.

    Maximises the number of rows whose class is a label of their bag, plus the number of bag labels that are
    the class of some row of the bag. With the first term alone, frequent classes would also name clusters of
    classes that always co-occur with them. The search starts from the class that is allowed for most rows of
    each cluster, then renames single clusters and swaps the names of pairs until nothing improves.
    """
    known = np.flatnonzero(bag_matrices.sets.known)
    if not len(known):
        return np.full(k, -1)
    bags, of_row = np.unique(bag_matrices.codes[known], return_inverse=True)
    shape = (len(bags), k)
    counts = csc_array(csr_array((np.ones(len(known)), (of_row, labels[known])), shape=shape))
    holds = csr_array(bag_matrices.allowed[bag_matrices.labelled_bags])
    fitting = np.asarray((counts.T @ holds).toarray())  # number of rows of a cluster that may have a class
    names = np.where(fitting.any(axis=1), fitting.argmax(axis=1), -1)
    held = holds.toarray() > 0
    carried = np.zeros(held.shape, dtype=np.int64)
    present = [counts.indices[counts.indptr[c] : counts.indptr[c + 1]] for c in range(k)]
    named, every = np.flatnonzero(names >= 0).tolist(), np.arange(held.shape[1])

    def set_name(cluster: int, step: int) -> None:
        carried[present[cluster], names[cluster]] += step

    def compute_gains(cluster: int, which: np.ndarray) -> np.ndarray:
        """Return the gain of each of these names for a cluster without a name."""
        at = present[cluster][:, None]
        added: np.ndarray = fitting[cluster, which] + (held[at, which] & (carried[at, which] == 0)).sum(
            axis=0
        )
        return added

    for cluster in named:
        set_name(cluster, 1)
    for _ in range(_SWEEPS):
        before = names.copy()
        for cluster in named:
            set_name(cluster, -1)
            gain = compute_gains(cluster, every)
            if gain.max() > gain[names[cluster]]:
                names[cluster] = gain.argmax()
            set_name(cluster, 1)
        # Single changes cannot correct two clusters that have each other's name.
        for one, other in combinations(named, 2):
            pair = names[[one, other]]
            if pair[0] == pair[1]:
                continue
            set_name(one, -1)
            set_name(other, -1)
            of_one, of_other = compute_gains(one, pair), compute_gains(other, pair)
            if of_one[1] + of_other[0] > of_one[0] + of_other[1]:
                names[[other, one]] = pair
            set_name(one, 1)
            set_name(other, 1)
        if (names == before).all():
            break
    return names


def compute_profile(bag_matrices: BagMatrices, labels: np.ndarray, k: int, names: np.ndarray) -> np.ndarray:
    """Return the share of each class in each cluster, starting from the class assigned to the cluster."""
    start = compute_even_shares(bag_matrices.allowed)
    rows = np.repeat(np.arange(start.shape[0]), np.diff(start.indptr))
    own = names[labels[rows]] == start.indices
    start.data[:] = np.where(own, 1.0, 0.1 * start.data)
    totals = np.bincount(rows, weights=start.data, minlength=start.shape[0])
    start.data /= totals[rows]
    return compute_class_profile(labels, bag_matrices.allowed, k, start)
