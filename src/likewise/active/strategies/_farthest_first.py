"""Explore and consolidate: find a row of every group, then place rows at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._exploration import explore_then
from likewise.active.strategies._node_to_pairs import Places, Placing


@dataclass(frozen=True)
class FarthestFirst:
    """Explore and consolidate (FFQS; Basu, Banerjee & Mooney 2004).

    *Explore*: with N the rows placed so far, take the row that is farthest from them,

    .. math:: \\arg\\max_{x \\notin N} \\min_{y \\in N} \\|x - y\\| ,

    and ask it against each group until it is placed; a row that is apart from all groups opens a new one.
    This goes on until there are as many groups as clusters. *Consolidate*: take rows at random and place
    them. The first row of all is drawn at random. Groups are asked nearest first, through their row that is
    nearest.

    If the number of clusters is not known, the walk ends once less than a tenth of the placed rows are alone
    in their group, and new groups may still open later.

    A question costs O(n d) for each row placed since the last one, where the distances to the placed rows are
    cached, and O(n d) times their number where they are not. No model is needed.

    References
    ----------
    S. Basu, A. Banerjee and R. J. Mooney (2004), Active semi-supervision for pairwise constrained clustering,
    SDM, figures 3 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import State
    >>> from likewise.active.strategies import FarthestFirst
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> hints = Supervision.from_links(4, cannot=[(0, 3)])
    >>> FarthestFirst().choose(State.of(X, hints, n_clusters=3), 1)[0].rows
    (2, 3)
    """

    name: ClassVar[str] = "farthest-first"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions that place rows."""

        def drawn(places: Places) -> Placing:
            return Placing(state.rng().permutation(places.unplaced), lambda row: "was drawn at random")

        return explore_then(state, n, drawn)
