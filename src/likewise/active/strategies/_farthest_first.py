"""Farthest-first exploration, and the two strategies that explore: FarthestFirst and MinMax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from likewise.active._questions import Question
from likewise.active._state import InterviewState, Strategy
from likewise.active.strategies._placing import FloatArray, IntArray, PlacedRows, Placing, place

# If the number of clusters is unknown, explore while the next row starts a group with a higher probability.
_UNSEEN = 0.1
_BLOCK = 64  # distances to this many placed rows are computed at a time, to bound the memory


@dataclass(frozen=True)
class FarthestFirst(Strategy):
    """Explore and consolidate (FFQS; Basu, Banerjee & Mooney 2004).

    *Explore*: with N the rows placed so far, take the row that is farthest from them,

    .. math:: \\arg\\max_{x \\notin N} \\min_{y \\in N} \\|x - y\\| ,

    and compare it with each group until it is placed. A row that belongs to none of the groups starts a new
    one. This ends when there are as many groups as clusters. *Consolidate*: take random rows and place them.
    The very first row is drawn at random. A row is compared with the nearest group first, and with the row of
    the group that is nearest to it.

    If the number of clusters is unknown, exploration ends once at most 10 % of the placed rows are alone in
    their group; new groups can still start later.

    With cached distances, a question costs O(n d) for each row placed since the last one; without a cache,
    O(n d) for each placed row. No model is needed.

    References
    ----------
    S. Basu, A. Banerjee and R. J. Mooney (2004), Active semi-supervision for pairwise constrained clustering,
    SDM, figures 3 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import FarthestFirst
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> hints = Supervision.from_links(4, cannot=[(0, 3)])
    >>> FarthestFirst().choose(InterviewState.from_data(X, hints, n_clusters=3), 1)[0].rows
    (2, 3)
    """

    name: ClassVar[str] = "farthest-first"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        def draw_rows(places: PlacedRows) -> Placing:
            return Placing(state.rng().permutation(places.unplaced), lambda row: "was drawn at random")

        return explore_then(state, n, draw_rows)


@dataclass(frozen=True)
class MinMax(Strategy):
    """The row whose greatest similarity to a placed row is smallest (Mallapragada, Jin & Jain 2008).

    With N the rows placed so far and k a Gaussian kernel, the row

    .. math:: \\arg\\min_{x \\notin N} \\max_{y \\in N} k(x, y)

    is placed next. The kernel decreases with the distance, so for any width this is the row with the largest
    distance to its nearest placed row: the exploration of :class:`FarthestFirst`, continued after all groups
    are found. Using distances avoids the choice of a width, and ties between distant rows whose similarities
    all underflow.

    The cost is the same as for :class:`FarthestFirst`. No model is needed.

    References
    ----------
    P. K. Mallapragada, R. Jin and A. K. Jain (2008), Active query selection for semi-supervised clustering,
    ICPR.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import MinMax
    >>> X = np.array([[0.0], [1.0], [4.0], [9.0]])
    >>> hints = Supervision.from_links(4, cannot=[(0, 3)])
    >>> question = MinMax().choose(InterviewState.from_data(X, hints, n_clusters=2), 1)[0]
    >>> question.rows, question.score
    ((0, 2), 4.0)
    """

    name: ClassVar[str] = "min-max"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        places = PlacedRows.from_state(state)
        return place(state, places, order_farthest_first(state, places, n), n)


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
    return np.asarray(nearest)
