"""Standardised rows and their distances to the placed rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from likewise.active._state import InterviewState
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray

_ENTRIES = 4_000_000  # distances per block: 32 MB


def standardize_columns(X: Any) -> FloatArray:
    """Return the rows with columns of mean 0 and variance 1; constant columns become 0."""
    from sklearn.preprocessing import StandardScaler

    rows: FloatArray = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    return rows


def get_standardized(state: InterviewState) -> FloatArray:
    """Return the standardised rows of a state; they are cached."""
    if "standardized rows" not in state.cache:
        state.cache["standardized rows"] = standardize_columns(state.X)
    rows: FloatArray = state.cache["standardized rows"]
    return rows


def get_default_gamma(rows: FloatArray) -> float:
    """Return 1 / (number of columns): half the mean squared distance then has the similarity exp(-1)."""
    return 1.0 / int(rows.shape[1])


def iterate_squared_distances(rows: FloatArray, to: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows with their squared distances to the rows `to`."""
    step = max(1, _ENTRIES // max(1, len(to)))
    for lo in range(0, len(rows), step):
        yield slice(lo, lo + step), cdist(rows[lo : lo + step], rows[to], "sqeuclidean")
