"""Triplets: a third row beside the two of a pair, so that one answer settles more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import State, Strategy
from likewise.active.strategies._node_to_pairs import IntArray
from likewise.active.strategies._regions import UncertainRegions

_TRIES = 8  # so many rows of other classes are tried as the third
_NEAREST = 64


@dataclass(frozen=True)
class _OfPairs:
    """What is made of the pairs of another strategy, and looks at what that one looks at."""

    pairs: Strategy | None = None

    @property
    def _chooser(self) -> Strategy:
        return UncertainRegions() if self.pairs is None else self.pairs

    @property
    def needs(self) -> frozenset[str]:
        """What the strategy of the pairs looks at."""
        return self._chooser.needs

    def count_answers_to_fit(self, n_answers: int) -> int:
        """Return how many of the answers the model is fitted to, by the strategy of the pairs."""
        count = getattr(self._chooser, "count_answers_to_fit", None)
        return n_answers if count is None else int(count(n_answers))


@dataclass(frozen=True)
class WithThird(_OfPairs):
    """Ask which two of three belong together: a pair that another strategy chose, and a telling third row.

    A row in doubt and a row of its likeliest class get the nearest row of the next class that it may be of,
    so that one answer compares it with both. Where it is asked whether two classes are one, the third is a
    row of a class that is known to be apart from one of them; if there is none, a near row of the first. A
    class known to be apart from one of the two comes before others: NEITHER, which is said both of three
    alike and of three different rows, then says that all three are apart.

    This is for models with classes, such as PropagationClustering. With others the third is the nearest row
    that is known to be apart from one of the two, or else the nearest that is in another cluster.

    What was asked in a triplet without a result is not asked again as a pair. When no triplet is left, pairs
    are asked.

    Parameters
    ----------
    pairs : Strategy, optional
        What chooses the pairs; ``UncertainRegions()`` by default.

    Notes
    -----
    Costs what the pairs cost, and O(n d) for each question at most.

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

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n triplets; pairs where there are none."""
        return _mixed(state, self._chooser, [True] * n)


@dataclass(frozen=True)
class Alternating(_OfPairs):
    """Ask pairs and triplets in turn, so that no answer becomes a habit.

    A question after an even number of answers is a pair, after an odd number the triplet that
    :class:`WithThird` makes of one.

    Parameters
    ----------
    pairs : Strategy, optional
        What chooses the pairs; ``UncertainRegions()`` by default.

    Examples
    --------
    >>> from likewise.active import Alternating, Interview
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> interview = Interview(X, n_clusters=2, strategy=Alternating())
    >>> [question.kind for question in interview.ask(4)]
    ['pair', 'triplet', 'pair', 'triplet']
    """

    name: ClassVar[str] = "both"

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions, pairs and triplets in turn."""
        return _mixed(state, self._chooser, [(state.n_answers + at) % 2 == 1 for at in range(n)])


def _mixed(state: State, pairs: Strategy, with_third: list[bool]) -> list[Question]:
    """Return a question for each place, a triplet where one is wanted and there is one."""
    n = len(with_third)
    thirds = _Thirds(state)
    found: dict[Any, Question] = {}
    shown = replace(state, asked=state.asked | _asked_in_triplets(state))
    for question in pairs.choose(shown, n):
        wanted = with_third[len(found)]
        triplet = thirds.added(question, found) if wanted and question.kind == "pair" else None
        chosen = question if triplet is None else triplet
        found.setdefault(chosen.key, chosen)
    if len(found) < n:  # what a triplet asked in vain may be asked as a pair, when nothing else is left
        for question in pairs.choose(state, n + len(found)):
            if len(found) < n:
                found.setdefault(question.key, question)
    return list(found.values())


def _asked_in_triplets(state: State) -> frozenset[Any]:
    """Return the pairs that were part of a triplet, as keys of questions."""
    rows = [key[1] for key in state.asked if isinstance(key, tuple) and key[0] == "triplet"]
    return frozenset(("pair", pair) for three in rows for pair in combinations(sorted(three), 2))


class _Thirds:
    """Finds the row that makes most of a pair."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.passed = getattr(state.model, "passed_", None)

    def added(self, pair: Question, but: Any) -> Question | None:
        """Return the triplet that a pair becomes, None if none can be asked."""
        i, j = pair.rows
        for third, reason in self._rows(i, j):
            if third in (i, j):
                continue
            question = Question.triplet(i, j, third, score=pair.score, reason=pair.reason + reason)
            if question.key not in but and self.state.can_ask(question):
                return question
        return None

    def _rows(self, i: int, j: int) -> Iterator[tuple[int, Reason]]:
        if self.passed is not None:
            yield from self._by_classes(i, j)
        else:
            yield from self._by_clusters(i, j)

    def _by_classes(self, i: int, j: int) -> Iterator[tuple[int, Reason]]:
        """Yield rows of other classes: those known to be apart from one of the two, then the likeliest."""
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
            third = self._nearest(row, c)
            yield third, Reason("{Row} is of the next class that it may belong to.", (third,))
        if both_stand:
            for near in passed.smoother.neighbors(row).tolist():
                if state.knows(row, int(near)) == "unknown":
                    yield int(near), Reason("{Row} is near to {row}.", (int(near), row))
        yield from self._by_clusters(i, j)

    def _nearest(self, row: int, c: int) -> int:
        """Return the nearest row of a class, or the one that stands for it."""
        passed = self.passed
        assert passed is not None
        rows: IntArray = np.flatnonzero(passed.class_of == c)
        if not len(rows):
            return int(passed.heads[c])
        return int(rows[cdist(self.state.X[[row]], self.state.X[rows])[0].argmin()])

    def _by_clusters(self, i: int, j: int) -> Iterator[tuple[int, Reason]]:
        """Yield the nearest rows that are known to be apart from one of the two, then others."""
        state = self.state
        told = np.unique(state.closure.links.rows)
        known = state.relations(i, told), state.relations(j, told)
        rows = told[((known[0] == -1) | (known[1] == -1)) & ((known[0] == 0) | (known[1] == 0))]
        for row in self._near(i, rows):
            yield row, Reason("{Row} is known to be apart from one of them.", (row,))
        rows = np.arange(state.n_samples)
        if state.labels is not None:
            other = (state.labels != state.labels[i]) | (state.labels != state.labels[j])
            rows = rows[other]
        for row in self._near(i, rows):
            yield row, Reason("{Row} is near to them.", (row,))

    def _near(self, i: int, rows: IntArray) -> list[int]:
        """Return the rows that are nearest to a row, nearest first."""
        if not len(rows):
            return []
        away = cdist(self.state.X[[i]], self.state.X[rows])[0]
        k = min(_NEAREST, len(rows))
        near = np.argpartition(away, k - 1)[:k]
        ordered: list[int] = rows[near[np.lexsort((rows[near], away[near]))]].tolist()
        return ordered
