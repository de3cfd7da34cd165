"""Explore and consolidate: find a row of every group, then place random rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from likewise.active._questions import Question
from likewise.active._state import InterviewState
from likewise.active.strategies._exploration import explore_then
from likewise.active.strategies._node_to_pairs import PlacedRows, Placing


@dataclass(frozen=True)
class FarthestFirst:
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
            Questions that place rows: the farthest rows first, then random rows.
        """

        def draw_rows(places: PlacedRows) -> Placing:
            return Placing(state.rng().permutation(places.unplaced), lambda row: "was drawn at random")

        return explore_then(state, n, draw_rows)
