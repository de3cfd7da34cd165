"""Cluster the rows of the eigenvectors by k-means or by the rotation of Yu & Shi."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, svd
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning


def scale_to_unit_length(rows: np.ndarray) -> np.ndarray:
    """Scale each row to length 1; a row of zeros, which belongs to an isolated row, stays unchanged."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: np.ndarray = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def compute_cluster_means(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of each cluster, or zeros for an empty cluster."""
    sums = np.column_stack([np.bincount(labels, weights=column, minlength=k) for column in rows.T])
    means: np.ndarray = sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None]
    return means


def round_by_kmeans(
    rows: np.ndarray, k: int, n_init: int, rng: Any, labels: np.ndarray | None = None
) -> np.ndarray:
    """Return the clusters of the rows by k-means, starting from `labels` or from `n_init` random starts."""
    start: dict[str, Any] = {"n_init": n_init}
    if labels is not None:
        start = {"n_init": 1, "init": compute_cluster_means(rows, labels, k)}
    with warnings.catch_warnings():
        # The estimator has its own warning about fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: np.ndarray = KMeans(k, random_state=rng, **start).fit(rows).labels_
    return found


def round_by_rotation(rows: np.ndarray, rng: Any, *, max_iter: int = 100) -> np.ndarray:
    """Return the clusters by the discretisation of Yu & Shi (2003), for rows of length 1.

    Minimises ||A - rows R|| alternately over an indicator matrix A (each row goes to its largest coordinate)
    and a rotation R (the orthogonal matrix nearest to rows' A). R starts from nearly orthogonal rows, the
    first of them random.
    """
    n, k = rows.shape
    rotation = np.empty((k, k))
    rotation[:, 0] = rows[rng.randint(n)]
    along = np.zeros(n)
    for column in range(1, k):
        along += np.abs(rows @ rotation[:, column - 1])
        rotation[:, column] = rows[along.argmin()]
    labels = np.zeros(n, dtype=np.int64)
    reached = -np.inf
    for _ in range(max_iter):
        labels = (rows @ rotation).argmax(axis=1)
        sums = np.zeros((k, k))
        np.add.at(sums, labels, rows)
        try:
            left, values, right = svd(sums)  # sums' = V S U', so the nearest orthogonal matrix is (U V')'
        except LinAlgError:
            break
        if values.sum() <= reached * (1 + 1e-12):
            break
        reached = values.sum()
        rotation = (left @ right).T
    return labels
