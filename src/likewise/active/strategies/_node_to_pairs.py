"""From rows to pairs: which rows are placed in which group by the answers, and how to place one more.

Several strategies choose a row and want to know its group. People can only be asked about pairs, so the row
is put beside the nearest row of each group, nearest group first, until one is the same (Basu, Banerjee &
Mooney 2004, *Consolidate*; Xiong, Johnson & Corso, sect. 2.3). What was asked so far, and which row is in
the middle of being placed, is read off the closure of the answers each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import InterviewState
from likewise.supervision._cliques import find_clique, grow_groups, order_large_first
from likewise.supervision._component_edges import Edges

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Where the answers put the rows.

    Attributes
    ----------
    group : ndarray of shape (n_samples,)
        The group of each row, -1 for a row that is not placed.
    members : tuple of ndarray
        The rows of each group, ascending. Any two groups are known to be apart.
    apart : ndarray of shape (n_components, n_groups)
        Which components of the closure are known to be apart from which groups.
    begun : tuple of int
        Rows that somebody told apart from some groups but not from all, those nearest to an end first.
    unresolved : frozenset of (component, group)
        What was asked without a result: unsure, skipped, or still with somebody.
    """

    group: IntArray
    members: tuple[IntArray, ...]
    apart: BoolArray
    begun: tuple[int, ...] = ()
    unresolved: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.members)

    @property
    def placed(self) -> IntArray:
        """The rows that are in a group, ascending."""
        return np.flatnonzero(self.group >= 0)

    @property
    def unplaced(self) -> IntArray:
        """The rows that are in no group, ascending."""
        return np.flatnonzero(self.group < 0)

    @classmethod
    def from_state(cls, state: InterviewState) -> PlacedRows:
        """Read the groups off the closure of the answers.

        Groups begin as components of must-links that are all known to be apart: a clique of the cannot edges,
        found greedily, large components first, then those told apart from many. Where the answers came from
        placing one row after another this gives back the groups, since a row that is not done lacks an edge
        to some. With K clusters known and K groups, what is apart from K - 1 of them is in the last: nobody
        needs to say so. What is apart from all is a group more. If no row is named by any link, one drawn at
        random is the first group.
        """
        component = state.closure.component
        hinted_components = np.unique(component[state.closure.links.rows])
        if not len(hinted_components):
            hinted_components = component[[int(state.rng().integers(state.n_samples))]]
        edges = Edges(state.closure)
        found = grow_groups(
            edges, find_clique(edges, order_large_first(edges, hinted_components)), state.n_clusters
        )
        group, apart = found.place[component], found.apart
        known, unknown = find_asked_pairs(state)
        return cls(
            group=group,
            members=tuple(np.flatnonzero(group == g) for g in range(apart.shape[1])),
            apart=apart,
            begun=_find_begun_rows(known, group, component, apart.sum(axis=1)),
            unresolved=_find_unresolved_rows(unknown, group, component),
        )


def find_asked_pairs(state: InterviewState) -> tuple[IntArray, IntArray]:
    """Return the pairs that were asked: those whose rows are known to be apart, and those with no result."""
    keys = [key[1] for key in state.asked if isinstance(key, tuple) and key[0] == "pair"]
    pairs = np.array(sorted(keys), dtype=np.int64).reshape(-1, 2)
    relation = state.relations(pairs[:, 0], pairs[:, 1])
    return pairs[relation < 0], pairs[relation == 0]


def _find_begun_rows(
    pairs: IntArray, group: IntArray, component: IntArray, n_apart: IntArray
) -> tuple[int, ...]:
    """Return a row of each component that was asked about and is not placed, most groups ruled out first.

    Only what was asked in the interview counts. Hints that were given beforehand may leave any number of rows
    half told, and to finish all of those first would keep a strategy from its own choice.
    """
    rows: dict[int, int] = {}
    for i, j in np.concatenate([pairs, pairs[:, ::-1]]).tolist():
        if group[i] < 0 <= group[j]:
            rows[int(component[i])] = min(i, rows.get(int(component[i]), i))
    return tuple(sorted(rows.values(), key=lambda row: (-n_apart[component[row]], row)))


def _find_unresolved_rows(
    pairs: IntArray, group: IntArray, component: IntArray
) -> frozenset[tuple[int, int]]:
    both = np.concatenate([pairs, pairs[:, ::-1]])
    use = both[(group[both[:, 0]] < 0) & (group[both[:, 1]] >= 0)]
    return frozenset(zip(component[use[:, 0]].tolist(), group[use[:, 1]].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Placing:
    """How rows are to be placed.

    Attributes
    ----------
    rows : ndarray
        All rows that are not placed, the one to place first in front.
    because : callable
        Takes a row and returns the end of the sentence "Row 7 …".
    scores : ndarray of shape (n_samples,), optional
        What the strategy thinks of each row.
    likely : callable, optional
        Takes a row and returns how likely each group is; the likeliest is asked first. By default the
        nearest.
    """

    rows: IntArray
    because: Callable[[int], str]
    scores: FloatArray | None = None
    likely: Callable[[int], FloatArray] | None = None


def place(state: InterviewState, places: PlacedRows, placing: Placing, n: int) -> list[Question]:
    """Return at most n questions that place rows, rows that were begun first.

    Several questions are about different rows as far as possible, because the answer to one question about a
    row often answers the next. Rows and groups whose question had no result wait until all others had theirs.
    """
    component = state.closure.component
    every = np.concatenate([np.array(places.begun, dtype=np.int64), placing.rows])
    stuck = {c for c, _ in places.unresolved} - {int(component[row]) for row in places.begun}
    waits = np.isin(component[every], np.array(sorted(stuck), dtype=np.int64))
    every = np.concatenate([every[~waits], every[waits]])
    ordered = every[np.sort(np.unique(component[every], return_index=True)[1])].tolist()
    asker = _RowQuestions(state, places, placing)
    firsts = (question for row in ordered for question in islice(asker.ask_new_groups(row), 1))
    others = (question for row in ordered for question in asker.ask_new_groups(row))
    again = (question for row in every.tolist() for question in asker.ask_again(row))
    found: dict[object, Question] = {}
    for question in chain(firsts, others, again, asker.ask_unplaced(every)):
        if len(found) >= n:
            break
        found.setdefault(question.key, question)
    return list(found.values())


@dataclass(frozen=True, eq=False)
class _RowQuestions:
    """Words the questions about one row."""

    state: InterviewState
    places: PlacedRows
    placing: Placing

    def _make_question(self, row: int, other: int, where: str) -> Question:
        score = None if self.placing.scores is None else float(self.placing.scores[row])
        if row in self.places.begun:
            because = "is told apart from some groups already"
        else:
            because = self.placing.because(row)
        reason = Reason(f"{{Row}} {because}; {{row}} {where}.", (row, other))
        return Question.pair(row, other, score=score, reason=reason)

    def _order_groups(self, row: int) -> Iterator[tuple[int, IntArray]]:
        """Yield the groups that the row may belong to, best first, with their rows, nearest first."""
        X, members = self.state.X, self.places.members
        open_groups = np.flatnonzero(~self.places.apart[self.state.closure.component[row]]).tolist()
        away = {g: cdist(X[[row]], X[members[g]])[0] for g in open_groups}
        if self.placing.likely is None:
            order = sorted(away, key=lambda g: float(away[g].min()))
        else:
            likely = self.placing.likely(row)
            order = sorted(away, key=lambda g: (-float(likely[g]), float(away[g].min())))
        for g in order:
            yield g, members[g][np.argsort(away[g], kind="stable")]

    def ask_new_groups(self, row: int) -> Iterator[Question]:
        """Yield a question for each group that the row was not yet compared with."""
        component = int(self.state.closure.component[row])
        for g, members in self._order_groups(row):
            if (component, g) not in self.places.unresolved:
                for other in members.tolist():
                    question = self._make_question(row, other, "is the nearest of a group it may belong to")
                    if self.state.can_ask(question):
                        yield question
                        break

    def ask_again(self, row: int) -> Iterator[Question]:
        """Yield all that can be asked of the row and placed ones."""
        for _, members in self._order_groups(row):
            for other in members.tolist():
                question = self._make_question(row, other, "is another of a group it may belong to")
                if self.state.can_ask(question):
                    yield question

    def ask_unplaced(self, rows: IntArray) -> Iterator[Question]:
        """Yield what can be asked of rows that are not placed, when nothing else is left."""
        for at, row in enumerate(rows.tolist()):
            for other in rows[at + 1 :][self.state.relations(row, rows[at + 1 :]) == 0].tolist():
                question = self._make_question(row, other, "is not placed either")
                if question.key not in self.state.asked:
                    yield question
