"""Helpers of strategies that use the clusters of a model."""

from __future__ import annotations

import numpy as np

from likewise.active._state import InterviewState
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray, PlacedRows


def get_model_labels(state: InterviewState, name: str) -> IntArray:
    """Return the cluster of each row; clusters are numbered in the order of their first rows."""
    if state.labels is None:
        raise ValueError(
            f"the strategy {name!r} needs clusters, but no model was fitted: pass a model to the interview, "
            "or use a strategy that needs none, such as FarthestFirst()."
        )
    _, first, codes = np.unique(state.labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    labels: IntArray = rank[codes.reshape(-1)]
    return labels


def order_by_score(state: InterviewState, places: PlacedRows, scores: FloatArray) -> IntArray:
    """Return the rows that are not placed, largest score first, ties in random order."""
    rows = state.rng().permutation(places.unplaced)
    ordered: IntArray = rows[np.argsort(-scores[rows], kind="stable")]
    return ordered
