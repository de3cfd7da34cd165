"""Probabilistic nearest neighbours: the row whose near placed rows are of most groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._exploration import explore_then
from likewise.active.strategies._labels import by_score
from likewise.active.strategies._node_to_pairs import FloatArray, Places, Placing
from likewise.active.strategies._rows import default_gamma, squared_distances, standardized_of
from likewise.base import integer, real


@dataclass(frozen=True)
class ProbabilisticKNN:
    """The row whose group is most uncertain by its nearest placed rows (pKNN+AL; Jain & Kapoor 2009).

    With N(x) the nearest placed rows of row x, g(y) the group of row y and a Gaussian similarity, the chance
    that x belongs to group g, and the entropy that is largest for the row to be placed next, are

    .. math:: p_g(x) = \\frac{\\sum_{y \\in N(x), g(y) = g} \\exp(-\\gamma \\|x - y\\|^2)}
        {\\sum_{y \\in N(x)} \\exp(-\\gamma \\|x - y\\|^2)} , \\qquad u(x) = -\\sum_g p_g(x) \\log p_g(x) .

    Groups are first explored as :class:`FarthestFirst` does, and rows are placed by pairs, as Xiong, Johnson
    & Corso did to compare with it; the likeliest group is asked first. The paper was not at hand: the formula
    is from memory. It learns a metric from the labels besides, which is not done here: columns are brought to
    unit variance, and gamma is fixed. Ties are broken at random by the seed.

    No model is needed. A question costs O(n m d), with m rows placed, and 32 MB.

    Parameters
    ----------
    n_neighbors : int, default=10
        How many placed rows are looked at; all of them while there are fewer.
    gamma : float, optional
        How fast similarity falls with the squared distance. By default 1 / d, for columns of unit variance.

    References
    ----------
    P. Jain and A. Kapoor (2009), Active learning for large multi-class problems, CVPR.

    Examples
    --------
    Row 2 is as far from the one group as from the other.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import State
    >>> from likewise.active.strategies import ProbabilisticKNN
    >>> X = np.array([[0.0], [1.0], [4.0], [7.0], [8.0]])
    >>> state = State.of(X, Supervision.from_links(5, cannot=[(0, 4)]), n_clusters=2)
    >>> question = ProbabilisticKNN().choose(state, 1)[0]
    >>> 2 in question.rows, round(question.score, 3)
    (True, 0.693)
    """

    n_neighbors: int = 10
    gamma: float | None = None

    name: ClassVar[str] = "pknn"
    needs: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        if not (rule := integer(1)).holds(self.n_neighbors):
            raise ValueError(f"n_neighbors must be {rule.wanted}, got {self.n_neighbors!r}.")
        if self.gamma is not None and not (above := real(0, strict=True)).holds(self.gamma):
            raise ValueError(f"gamma must be {above.wanted} or None, got {self.gamma!r}.")

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions that place rows."""
        return explore_then(state, n, lambda places: self._placing(state, places), least=2)

    def _placing(self, state: State, places: Places) -> Placing:
        rows = standardized_of(state)
        gamma = default_gamma(rows) if self.gamma is None else self.gamma
        chance = group_chances(rows, places, self.n_neighbors, gamma)
        scores = entr(chance).sum(axis=1)

        def because(row: int) -> str:
            return f"may be of {np.exp(scores[row]):.1f} groups by the placed rows near it"

        ordered = by_score(state, places, scores)
        return Placing(ordered, because, scores, likely=lambda row: chance[row])


def group_chances(rows: FloatArray, places: Places, n_neighbors: int, gamma: float) -> FloatArray:
    """Return the chance of each group for each row, shape (n_samples, n_groups)."""
    placed = places.placed
    k = min(n_neighbors, len(placed))
    chance = np.zeros((len(rows), places.n_groups))
    for block, away in squared_distances(rows, placed):
        near = np.argpartition(away, k - 1, axis=1)[:, :k]
        log = -gamma * np.take_along_axis(away, near, axis=1)
        # Relative to the nearest row, since all similarities of a far row may be too small for a float.
        similar = np.exp(log - log.max(axis=1, keepdims=True))
        at = np.arange(len(away))[:, None]
        np.add.at(chance[block], (at, places.group[placed][near]), similar)
    chance /= chance.sum(axis=1, keepdims=True)
    return chance
