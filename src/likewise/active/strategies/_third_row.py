"""Triplets: a pair with a third row, which makes an answer more informative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import InterviewState, Strategy
from likewise.active.strategies._placing import IntArray, add_questions, list_asked
from likewise.active.strategies._uncertain_regions import UncertainRegions

_TRIES = 8  # maximum number of other classes that are tried for the third row
_NEAREST = 64


@dataclass(frozen=True)
class _PairBased(Strategy, Protocol):
    """Base class of strategies that extend the pairs of another strategy.

    Parameters
    ----------
    pairs : Strategy, optional
        The strategy that selects the pairs. By default ``UncertainRegions()``.
    """

    pairs: Strategy | None = None

    @property
    def _chooser(self) -> Strategy:
        return UncertainRegions() if self.pairs is None else self.pairs

    @property
    def needs(self) -> frozenset[str]:
        """The requirements of the strategy that selects the pairs for the model."""
        return self._chooser.needs

    def count_answers_to_fit(self, n_answers: int) -> int:
        """Return the number of answers that the model is fitted to.

        This is decided by the strategy that selects the pairs; by default the model is fitted to all answers.

        Parameters
        ----------
        n_answers : int
            The number of answers so far.

        Returns
        -------
        int
            The number of answers that the model is fitted to, at most `n_answers`.
        """
        count = getattr(self._chooser, "count_answers_to_fit", None)
        return n_answers if count is None else int(count(n_answers))


@dataclass(frozen=True)
class WithThird(_PairBased):
    """Triplets: a pair that another strategy selects, with an informative third row.

    If a row is compared with a row of its most probable class, the third row is the nearest one of the next
    class that it may belong to, so one answer compares it with both classes. If two classes are
    compared, the third row is of a class that is known to differ from one of them, or else a neighbour of the
    first row. Classes that are known to differ from one of the two rows come first. NEITHER, which means that
    all three rows belong together or that all are different, then means that all are different.

    This is for models with classes, such as PropagationClustering. With other models the third row is the
    nearest row that is known to differ from one of the two, or else the nearest row of another cluster.

    A pair that was part of a triplet without a result is asked again as a pair only if there are no other
    questions left. Pairs are asked when there are no triplets left.

    Parameters
    ----------
    pairs : Strategy, optional
        The strategy that selects the pairs. By default ``UncertainRegions()``.

    Notes
    -----
    The cost is the cost of the pairs, plus at most O(n d) for each question.

    Examples
    --------
    >>> from likewise.active import Interview, WithThird
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> interview = Interview(X, n_clusters=2, strategy=WithThird())
    >>> question = interview.ask()
    >>> question.kind, sum(row < 4 for row in question.rows) in (1, 2)
    ('triplet', True)
    """

    name: ClassVar[str] = "triplets"

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        return _mix(state, self._chooser, [True] * n)


@dataclass(frozen=True)
class Alternating(_PairBased):
    """Pairs and triplets in turn, which keeps people attentive.

    After an even number of answers the question is a pair; after an odd number it is a triplet as in
    :class:`WithThird`.

    Parameters
    ----------
    pairs : Strategy, optional
        The strategy that selects the pairs. By default ``UncertainRegions()``.

    Examples
    --------
    >>> from likewise.active import Alternating, Interview
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> interview = Interview(X, n_clusters=2, strategy=Alternating())
    >>> [question.kind for question in interview.ask(4)]
    ['pair', 'triplet', 'pair', 'triplet']
    """

    name: ClassVar[str] = "both"

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        return _mix(state, self._chooser, [(state.n_answers + at) % 2 == 1 for at in range(n)])


def _mix(state: InterviewState, pairs: Strategy, with_third: list[bool]) -> list[Question]:
    """Return a question for each entry of `with_third`: a triplet if it is True and there is one."""
    n = len(with_third)
    thirds = _ThirdRowSearch(state)
    found: dict[Any, Question] = {}
    in_triplets = {
        ("pair", pair) for rows in list_asked(state, "triplet") for pair in combinations(sorted(rows), 2)
    }
    for question in pairs.choose(replace(state, asked=state.asked | in_triplets), n):
        wanted = with_third[len(found)]
        triplet = thirds.add_third(question, found) if wanted and question.kind == "pair" else None
        chosen = question if triplet is None else triplet
        found.setdefault(chosen.key, chosen)
    # Then ask pairs that were part of triplets without a result.
    return add_questions(found, pairs.choose(state, n + len(found)) if len(found) < n else (), n)


class _ThirdRowSearch:
    """Finds the third row for a pair."""

    def __init__(self, state: InterviewState) -> None:
        self.state = state
        self.passed = getattr(state.model, "propagation_", None)

    def add_third(self, pair: Question, but: Any) -> Question | None:
        """Return a triplet that contains a pair; None if no such triplet can be asked."""
        i, j = pair.rows
        iterate = self._iterate_by_clusters if self.passed is None else self._iterate_by_classes
        for third, reason in iterate(i, j):
            if third in (i, j):
                continue
            question = Question.triplet(i, j, third, score=pair.score, reason=pair.reason + reason)
            if question.key not in but and self.state.can_ask(question):
                return question
        return None

    def _iterate_by_classes(self, i: int, j: int) -> Iterator[tuple[int, Reason]]:
        """Yield rows of other classes: first classes known to differ from one row, then by probability."""
        passed, state = self.passed, self.state
        assert passed is not None
        heads = passed.heads
        stands = np.zeros(state.n_samples, dtype=bool)
        stands[heads] = True
        stands |= passed.class_of >= 0
        both_stand = bool(stands[i] and stands[j])
        row = j if stands[i] and not stands[j] else i
        other = i if row == j else j
        relation_i, relation_j = state.relations(row, heads), state.relations(other, heads)
        own = (relation_i == 1) | (relation_j == 1)
        helps = ~own & (relation_i != -1)
        apart = relation_j == -1
        chance = passed.shares[row].copy()
        if both_stand:
            own_class = np.flatnonzero(relation_i == 1)
            if len(own_class):
                chance = passed.alike[own_class[0]].copy()
            apart = apart | (relation_i == -1)
            helps = ~own & apart
        order = np.lexsort((-chance, ~apart))
        for c in order[helps[order]][:_TRIES].tolist():
            third = self._find_nearest(row, c)
            yield third, Reason("{Row} is in the next most probable group.", (third,))
        if both_stand:
            for near in passed.smoother.get_neighbors(row).tolist():
                if state.knows(row, int(near)) == "unknown":
                    yield int(near), Reason("{Row} is near {row}.", (int(near), row))
        yield from self._iterate_by_clusters(i, j)

    def _find_nearest(self, row: int, c: int) -> int:
        """Return the nearest row of a class, or its representative."""
        passed = self.passed
        assert passed is not None
        rows: IntArray = np.flatnonzero(passed.class_of == c)
        if not len(rows):
            return int(passed.heads[c])
        return int(rows[cdist(self.state.X[[row]], self.state.X[rows])[0].argmin()])

    def _iterate_by_clusters(self, i: int, j: int) -> Iterator[tuple[int, Reason]]:
        """Yield the nearest rows that are known to differ from one of the two, then other rows."""
        state = self.state
        hinted_rows = np.unique(state.closure.links.rows)
        known = state.relations(i, hinted_rows), state.relations(j, hinted_rows)
        rows = hinted_rows[((known[0] == -1) | (known[1] == -1)) & ((known[0] == 0) | (known[1] == 0))]
        for row in self._order_by_distance(i, rows):
            yield row, Reason("{Row} is known to differ from one of them.", (row,))
        rows = np.arange(state.n_samples)
        if state.labels is not None:
            other = (state.labels != state.labels[i]) | (state.labels != state.labels[j])
            rows = rows[other]
        for row in self._order_by_distance(i, rows):
            yield row, Reason("{Row} is near them.", (row,))

    def _order_by_distance(self, i: int, rows: IntArray) -> list[int]:
        """Return the rows nearest to a row, nearest first."""
        if not len(rows):
            return []
        away = cdist(self.state.X[[i]], self.state.X[rows])[0]
        k = min(_NEAREST, len(rows))
        near = np.argpartition(away, k - 1)[:k]
        return list(map(int, rows[near[np.lexsort((rows[near], away[near]))]]))
