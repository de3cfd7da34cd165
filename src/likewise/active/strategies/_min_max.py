"""MinMax: the row that is least like anything placed so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._exploration import farthest_rows
from likewise.active.strategies._node_to_pairs import Places, place


@dataclass(frozen=True)
class MinMax:
    """The row whose greatest similarity to a placed row is smallest (Mallapragada, Jin & Jain 2008).

    With N the rows placed so far and k a Gaussian kernel, the row

    .. math:: \\arg\\min_{x \\notin N} \\max_{y \\in N} k(x, y)

    is placed next. The kernel falls with the distance, so whatever its width this is the row farthest from
    its nearest placed one: the walk of :class:`FarthestFirst`, gone on with after all groups are found.
    Working with distances spares the width, and the ties of far rows whose similarities are all too small
    for a float.

    Costs as much as :class:`FarthestFirst`. No model is needed.

    References
    ----------
    P. K. Mallapragada, R. Jin and A. K. Jain (2008), Active query selection for semi-supervised clustering,
    ICPR.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import State
    >>> from likewise.active.strategies import MinMax
    >>> X = np.array([[0.0], [1.0], [4.0], [9.0]])
    >>> hints = Supervision.from_links(4, cannot=[(0, 3)])
    >>> question = MinMax().choose(State.of(X, hints, n_clusters=2), 1)[0]
    >>> question.rows, question.score
    ((0, 2), 4.0)
    """

    name: ClassVar[str] = "min-max"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions that place rows."""
        places = Places.of(state)
        return place(state, places, farthest_rows(state, places, n), n)
