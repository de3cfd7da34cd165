"""Place rows into groups by questions about pairs, and other steps that strategies share.

Several strategies select a row and need its group. The questions are about pairs, so the row is compared with
the nearest row of each group, nearest group first, until one is the same (Basu, Banerjee & Mooney 2004,
*Consolidate*; Xiong, Johnson & Corso, sect. 2.3). The groups, and the rows that are partly compared, are
derived from the closure of the answers each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import InterviewState
from likewise.base import Rule
from likewise.supervision.cliques import Edges, find_clique, grow_groups, order_large_first

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
T = TypeVar("T")
_ENTRIES = 4_000_000  # distances per block: 32 MB
POSITIVE_OR_NONE = Rule("a number above 0 or None", lambda v: v is None or Rule.real(0, strict=True).holds(v))


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """The groups that the answers place rows in.

    Attributes
    ----------
    group : ndarray of shape (n_samples,)
        The group of each row, -1 for a row that is not placed.
    members : tuple of ndarray
        The rows of each group, ascending. Any two groups are known to be different.
    apart : ndarray of shape (n_components, n_groups)
        True if a component of the closure is known to differ from a group.
    begun : tuple of int
        Rows that answers distinguish from some groups but not all, those with the fewest groups left first.
    unresolved : frozenset of (component, group)
        Pairs that were asked without a result: the answer was UNSURE, skipped or is pending.
    """

    group: IntArray
    members: tuple[IntArray, ...]
    apart: BoolArray
    begun: tuple[int, ...] = ()
    unresolved: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
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
        """Derive the groups from the closure of the answers.

        Groups start as a clique of pairwise cannot-linked components, found greedily: large components first,
        then components with many cannot-links. If rows were placed one after another, this recovers the
        groups, because a row that is only partly compared lacks a cannot-link to some group. If K is known
        and there are K groups, a component that differs from K - 1 of them belongs to the remaining one. A
        component that differs from all groups starts a new one. Without any links, a random row is the first
        group.
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
        both = np.concatenate([unknown, unknown[:, ::-1]])
        use = both[(group[both[:, 0]] < 0) & (group[both[:, 1]] >= 0)]
        return cls(
            group=group,
            members=tuple(np.flatnonzero(group == g) for g in range(apart.shape[1])),
            apart=apart,
            begun=_find_begun_rows(known, group, component, apart.sum(axis=1)),
            unresolved=frozenset(zip(component[use[:, 0]].tolist(), group[use[:, 1]].tolist(), strict=True)),
        )


def find_asked_pairs(state: InterviewState) -> tuple[IntArray, IntArray]:
    """Return the pairs that were asked: those known to be different, and those without a result."""
    pairs = np.array(sorted(list_asked(state, "pair")), dtype=np.int64).reshape(-1, 2)
    relation = state.relations(pairs[:, 0], pairs[:, 1])
    return pairs[relation < 0], pairs[relation == 0]


def _find_begun_rows(
    pairs: IntArray, group: IntArray, component: IntArray, n_apart: IntArray
) -> tuple[int, ...]:
    """Return a row of each component that was asked about and is not placed, most groups ruled out first.

    Only questions of the interview count. Hints given before it may leave many rows partly compared, and
    placing all of these first would override the choice of the strategy.
    """
    rows: dict[int, int] = {}
    for i, j in np.concatenate([pairs, pairs[:, ::-1]]).tolist():
        if group[i] < 0 <= group[j]:
            rows[int(component[i])] = min(i, rows.get(int(component[i]), i))
    return tuple(sorted(rows.values(), key=lambda row: (-n_apart[component[row]], row)))


@dataclass(frozen=True, eq=False)
class Placing:
    """The order in which a strategy places rows, and the reasons.

    Attributes
    ----------
    rows : ndarray
        All rows that are not placed, in the order in which they should be placed.
    because : callable
        Called with a row; returns the end of the sentence "Row 7 …".
    scores : ndarray of shape (n_samples,), optional
        The score of each row.
    likely : callable, optional
        Called with a row; returns the probability of each group. The most probable group is asked first, by
        default the nearest.
    """

    rows: IntArray
    because: Callable[[int], str]
    scores: FloatArray | None = None
    likely: Callable[[int], FloatArray] | None = None


def place(state: InterviewState, places: PlacedRows, placing: Placing, n: int) -> list[Question]:
    """Return at most n questions that place rows, partly compared rows first.

    Several questions are about different rows as far as possible, because the answer to one question about a
    row often answers the next. Rows and groups whose question had no result come after all others.
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
    return add_questions({}, chain(firsts, others, again, asker.ask_unplaced(every)), n)


@dataclass(frozen=True, eq=False)
class _RowQuestions:
    """Creates the questions that place one row."""

    state: InterviewState
    places: PlacedRows
    placing: Placing

    def _make_question(self, row: int, other: int, where: str) -> Question:
        score = None if self.placing.scores is None else float(self.placing.scores[row])
        if row in self.places.begun:
            because = "is already known to differ from some groups"
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
                    question = self._make_question(row, other, "is the nearest in a group it may belong to")
                    if self.state.can_ask(question):
                        yield question
                        break

    def ask_again(self, row: int) -> Iterator[Question]:
        """Yield all remaining questions about the row and placed rows."""
        for _, members in self._order_groups(row):
            for other in members.tolist():
                question = self._make_question(row, other, "is also in a group it may belong to")
                if self.state.can_ask(question):
                    yield question

    def ask_unplaced(self, rows: IntArray) -> Iterator[Question]:
        """Yield questions about pairs of rows that are not placed, if there are no others left."""
        for at, row in enumerate(rows.tolist()):
            for other in rows[at + 1 :][self.state.relations(row, rows[at + 1 :]) == 0].tolist():
                question = self._make_question(row, other, "is not placed either")
                if question.key not in self.state.asked:
                    yield question


# ---------------------------------------------------------------------- what several strategies need


def cache_result(state: InterviewState, key: Hashable, compute: Callable[[], T], *used: Any) -> T:
    """Return a result from the cache of a state; compute it again if an array that it used has changed."""
    before = state.cache.get(key)
    if before is None or not all(map(np.array_equal, before[0], used)):
        before = state.cache[key] = (used, compute())
    found: T = before[1]
    return found


def list_asked(state: InterviewState, kind: str) -> list[tuple[int, ...]]:
    """Return the rows of the questions of a kind that were asked."""
    return [key[1] for key in state.asked if isinstance(key, tuple) and key[0] == kind]


def add_questions(found: dict[Any, Question], questions: Iterable[Question], n: int) -> list[Question]:
    """Add different questions until there are n, and return all of them."""
    for question in questions if len(found) < n else ():
        found.setdefault(question.key, question)
        if len(found) >= n:
            break
    return list(found.values())


def draw_fixed_subset(state: InterviewState, max_rows: int) -> IntArray:
    """Return all rows, or a random subset of `max_rows` that is the same for all answers, ascending."""
    every = np.arange(state.n_samples)
    if state.n_samples <= max_rows:
        return every
    rng = np.random.default_rng([state.random_state, state.n_samples])
    return np.sort(rng.choice(every, max_rows, replace=False))


def get_model_labels(state: InterviewState, name: str) -> IntArray:
    """Return the cluster of each row; clusters are numbered in the order of their first rows."""
    if state.labels is None:
        raise ValueError(
            f"the strategy {name!r} needs clusters, but no model was fitted: pass a model to the interview, "
            "or use a strategy that needs none, such as FarthestFirst()."
        )
    _, first, codes = np.unique(state.labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes.reshape(-1)]


def order_by_score(state: InterviewState, places: PlacedRows, scores: FloatArray) -> IntArray:
    """Return the rows that are not placed, largest score first, ties in random order."""
    rows = state.rng().permutation(places.unplaced)
    return rows[np.argsort(-scores[rows], kind="stable")]


def standardize_columns(X: Any) -> FloatArray:
    """Return the rows with columns of mean 0 and variance 1; constant columns become 0."""
    from sklearn.preprocessing import StandardScaler

    return np.asarray(StandardScaler().fit_transform(np.asarray(X, dtype=np.float64)))


def get_standardized(state: InterviewState) -> FloatArray:
    """Return the standardised rows of a state; they are cached."""
    return cache_result(state, "standardized rows", lambda: standardize_columns(state.X))


def iterate_squared_distances(rows: FloatArray, to: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows with their squared distances to the rows `to`."""
    step = max(1, _ENTRIES // max(1, len(to)))
    for lo in range(0, len(rows), step):
        yield slice(lo, lo + step), cdist(rows[lo : lo + step], rows[to], "sqeuclidean")
