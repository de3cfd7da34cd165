"""MinMax: the row that is least similar to all rows placed so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from likewise.active._questions import Question
from likewise.active._state import InterviewState
from likewise.active.strategies._exploration import order_farthest_first
from likewise.active.strategies._node_to_pairs import PlacedRows, place


@dataclass(frozen=True)
class MinMax:
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
        """Select the next questions.

        Parameters
        ----------
        state : InterviewState
            The rows, the answers so far and the fitted model.
        n : int
            Maximum number of questions.

        Returns
        -------
        list of Question
            Questions that place rows, the farthest row first.
        """
        places = PlacedRows.from_state(state)
        return place(state, places, order_farthest_first(state, places, n), n)
