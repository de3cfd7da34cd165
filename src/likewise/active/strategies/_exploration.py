"""Farthest-first exploration, which finds a row of every group, and its stopping rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from likewise.active._questions import Question
from likewise.active._state import InterviewState
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray, PlacedRows, Placing, place

# If the number of clusters is unknown, explore while the next row starts a group with a higher probability.
_UNSEEN = 0.1
_BLOCK = 64  # distances to this many placed rows are computed at a time, to bound the memory


def is_exploring(state: InterviewState, places: PlacedRows) -> bool:
    """Return True if there are groups left to find: fewer groups than clusters, if their number is known.

    If it is unknown, the proportion of placed rows that are alone in their group estimates the probability
    that the next row starts a new one (Good 1953); exploration ends once it is at most 10 %.
    """
    if state.n_clusters is not None:
        return places.n_groups < state.n_clusters
    alone = sum(len(rows) == 1 for rows in places.members)
    return alone > _UNSEEN * len(places.placed)


def explore_then(
    state: InterviewState, n: int, placing: Callable[[PlacedRows], Placing], *, least: int = 1
) -> list[Question]:
    """Return questions that find at least `least` groups; after exploration, questions of `placing`."""
    places = PlacedRows.from_state(state)
    if is_exploring(state, places) or places.n_groups < least:
        return place(state, places, order_farthest_first(state, places, n), n)
    return place(state, places, placing(places), n) if len(places.unplaced) else []


def order_farthest_first(state: InterviewState, places: PlacedRows, n: int) -> Placing:
    """Order the rows by their distance to the nearest placed row, farthest first.

    Each of the first n is also far from those before it, so they can be asked as a batch.
    """
    nearest = _compute_distance_to_placed(state, places.placed)
    stuck = {c for c, _ in places.unresolved}
    waits = np.isin(state.closure.component, np.array(sorted(stuck), dtype=np.int64))
    walk = np.where((places.group < 0) & ~waits, nearest, -1.0)
    chosen: list[int] = []
    while len(chosen) < n and walk.max(initial=-1.0) >= 0:
        row = int(np.argmax(walk))
        chosen.append(row)
        walk = np.minimum(walk, cdist(state.X, state.X[[row]])[:, 0])
        walk[state.closure.component == state.closure.component[row]] = -1.0
    rows = places.unplaced
    rows = rows[np.argsort(-nearest[rows], kind="stable")]
    rows = np.concatenate([np.array(chosen, dtype=np.int64), rows[~np.isin(rows, chosen)]])
    return Placing(rows, lambda row: "is farthest from the {things} placed so far", scores=nearest)


def _compute_distance_to_placed(state: InterviewState, placed: IntArray) -> FloatArray:
    """Return the distance from each row to the nearest placed row.

    The distances are cached with the placed rows, so only distances to newly placed rows are computed.
    """
    before, nearest = state.cache.get("nearest placed", (placed[:0], np.full(state.n_samples, np.inf)))
    if not np.isin(before, placed).all():
        before, nearest = placed[:0], np.full(state.n_samples, np.inf)
    new = np.setdiff1d(placed, before)
    for start in range(0, len(new), _BLOCK):
        nearest = np.minimum(nearest, cdist(state.X, state.X[new[start : start + _BLOCK]]).min(axis=1))
    state.cache["nearest placed"] = (placed, nearest)
    distances: FloatArray = nearest
    return distances
