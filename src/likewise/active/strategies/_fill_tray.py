"""Trays to sort: uncertain rows with representatives of the groups that they may belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import LARGEST_TRAY, Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._farthest_first import is_exploring
from likewise.active.strategies._node_uncertainty import get_neighbors
from likewise.active.strategies._placing import (
    BoolArray,
    FloatArray,
    IntArray,
    PlacedRows,
    get_model_labels,
    get_standardized,
)
from likewise.active.strategies._random import RandomPairs
from likewise.base import Rule

_NEIGHBORS = 10
_CHOICE = 4  # candidates per free place on the tray, of which those far from one another are taken
_TRIES = 50  # after this many failures in a row to start a tray, pairs are asked


@dataclass(frozen=True)
class FillTray(CheckedStrategy):
    """Fill a tray with uncertain rows and with representatives of the groups that they may belong to.

    Row i belongs to cluster c with probability :math:`p_{ic}`: ``predict_proba`` of the model if it has this
    method, otherwise the proportion of the row and its 10 nearest neighbours (Mahalanobis distance) that are
    in c. A cluster corresponds to the group that most of its placed rows are in. Groups that the row is known
    not to belong to get probability 0. The first place on the tray is for the most uncertain row,

    .. math:: \\arg\\max_i \\; -\\sum_c p_{ic} \\log p_{ic} .

    At most half of the tray is for representatives of its most probable groups, one for each: the placed row
    nearest to the mean of the group, or the row nearest to the mean of the cluster if none is placed yet. The
    other places are for rows that are uncertain between the same groups. Up to four candidates per place are
    taken by the largest entropy times the total probability of these groups, at least half of the largest
    value; of these, the ones farthest from one another go on the tray. While there are groups left to find,
    the candidates are all rows. One answer places all rows of a tray, while a pair places at most one.

    Rows about which an earlier tray gave no information, because the answer was UNSURE or they were set
    aside, come last. Pairs are asked when no tray would contain two rows of unknown relation that were never
    on the same tray.

    The cost is O(n) times the number of neighbours or clusters, after the neighbours are found.

    Parameters
    ----------
    size : int, default=8
        The number of rows on a tray, 3 to 12.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import FillTray, InterviewState
    >>> X = np.array([[0.0], [0.1], [0.2], [2.4], [2.6], [5.0], [5.1], [5.2]])
    >>> hints = Supervision.from_links(8, must=[(0, 1), (5, 6)], cannot=[(0, 5)])
    >>> state = InterviewState.from_data(X, hints, n_clusters=3, labels=np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> question = FillTray(size=4).choose(state, 1)[0]
    >>> question.kind, len(question.rows)
    ('piles', 4)
    """

    size: int = 8

    name: ClassVar[str] = "tray"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "size": Rule(
            f"an integer from 3 to {LARGEST_TRAY}", lambda v: Rule.integer(3).holds(v) and v <= LARGEST_TRAY
        )
    }

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        if state.n_samples < 2:
            return []
        found = {question.key: question for question in islice(self._iterate_trays(state), n)}
        return [*found.values(), *RandomPairs().choose(state, n - len(found))]

    def _iterate_trays(self, state: InterviewState) -> Iterator[Question]:
        doubts = _GroupProbabilities.from_state(state, self.name)
        asked = [key[1] for key in state.asked if isinstance(key, tuple)]
        together = frozenset(pair for rows in asked for pair in combinations(rows, 2))
        free = doubts.group < 0
        in_vain = 0
        for lead in doubts.ordered.tolist():
            if not free[lead] or in_vain == _TRIES:
                continue
            shown, rows = doubts.fill_tray(lead, free, self.size)
            if _is_fresh([*shown, *rows], state, together):
                in_vain = 0
                free[rows] = False
                template = f"The clusters of {{list:{len(rows)}}} are uncertain"
                template += f"; {{list:{len(shown)}}} represent clusters." if shown else "."
                reason = Reason(template, (*sorted(rows), *sorted(shown)))
                yield Question.piles([*shown, *rows], score=float(doubts.doubt[rows].sum()), reason=reason)
            else:
                in_vain += 1


def _is_fresh(tray: list[int], state: InterviewState, together: frozenset[tuple[int, int]]) -> bool:
    """Return True if two rows of a tray have an unknown relation and were never in the same question."""
    pairs = [pair for pair in combinations(sorted(tray), 2) if pair not in together]
    if not pairs:
        return False
    first, second = np.array(pairs).T
    return bool((state.relations(first, second) == 0).any())


@dataclass(frozen=True, eq=False)
class _GroupProbabilities:
    """The groups that each row may belong to.

    Attributes
    ----------
    state : InterviewState
        The state of the interview.
    group : ndarray of shape (n_samples,)
        The group that each row is placed in, -1 for none.
    chance : ndarray of shape (n_samples, n_targets)
        The probability of each target: a group, or a cluster without placed rows.
    doubt : ndarray of shape (n_samples,)
        The entropy of these probabilities.
    waits : ndarray of shape (n_samples,)
        The number of questions about each row without a result; rows with fewer come first.
    shown : ndarray of shape (n_targets,)
        The row that represents each target.
    ordered : ndarray
        The rows that are not placed, in the order in which they should be placed.
    exploring : bool
        Whether there are groups left to find.
    """

    state: InterviewState
    group: IntArray
    chance: FloatArray
    doubt: FloatArray
    waits: IntArray
    shown: IntArray
    ordered: IntArray
    exploring: bool

    @classmethod
    def from_state(cls, state: InterviewState, name: str) -> _GroupProbabilities:
        """Compute the groups from the answers, and the probabilities of the groups."""
        places = PlacedRows.from_state(state)
        component = state.closure.component
        has_hints = len(state.closure.links.rows) > 0  # if False, the only group is a random row
        group = places.group if has_hints else np.full(state.n_samples, -1, dtype=np.int64)
        n_groups = places.n_groups if has_hints else 0
        target, chance = _find_targets(state, name, group, n_groups)
        barred = np.zeros(chance.shape, dtype=bool)
        barred[:, :n_groups] = places.apart[component, :n_groups]
        chance[barred] = 0.0
        # If no probable group is left, all other groups are equally probable.
        chance = np.where(chance.any(axis=1, keepdims=True), chance, ~barred)
        chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1.0e-300)
        log = np.log(chance, out=np.zeros_like(chance), where=chance > 0)
        doubt = -(chance * log).sum(axis=1)
        waits = _count_without_result(state)
        rows = state.rng().permutation(np.flatnonzero(group < 0))
        rows = rows[np.lexsort((-doubt[rows], waits[rows]))]
        return cls(
            state=state,
            group=group,
            chance=chance,
            doubt=doubt,
            waits=waits,
            shown=_find_middles(state, target, group, chance.shape[1]),
            ordered=rows[np.sort(np.unique(component[rows], return_index=True)[1])],
            exploring=not has_hints or is_exploring(state, places),
        )

    def fill_tray(self, lead: int, free: BoolArray, size: int) -> tuple[list[int], list[int]]:
        """Return the representatives and the uncertain rows of a tray that starts with a given row."""
        component = self.state.closure.component
        likely = np.lexsort((-self.chance[self.ordered].sum(axis=0), -self.chance[lead]))
        if not self.exploring:
            likely = likely[self.chance[lead][likely] > 0]
        targets = likely[: size // 2]
        shown = [row for row in self.shown[targets].tolist() if component[row] != component[lead]]
        rows = self.ordered[free[self.ordered]]
        rows = rows[~np.isin(component[rows], component[[lead, *shown]])]
        seats = size - len(shown) - 1
        good = self.waits[rows] == self.waits[rows[:1]]  # rows are ordered by `waits`
        start = [lead, *shown]
        if not self.exploring:
            score = self.doubt[rows] * self.chance[rows][:, targets].sum(axis=1)
            best = np.lexsort((-score, self.waits[rows]))[: _CHOICE * seats]
            good = (good & (score >= score[good].max(initial=0.0) / 2))[best]
            rows, start = rows[best], [lead]
        return shown, [lead, *_select_farthest(self.state, rows[: max(good.sum(), seats)], start, seats)]


def _select_farthest(state: InterviewState, rows: IntArray, start: list[int], n: int) -> list[int]:
    """Return n of the rows, each farthest from the start and from the rows selected before it."""
    X = get_standardized(state)
    away = cdist(X[rows], X[start]).min(axis=1)
    chosen: list[int] = []
    for _ in range(min(n, len(rows))):
        at = int(np.argmax(away))
        chosen.append(int(rows[at]))
        away = np.minimum(away, cdist(X[rows], X[rows[at : at + 1]])[:, 0])
        away[at] = -1.0
    return chosen


def _find_targets(
    state: InterviewState, name: str, group: IntArray, n_groups: int
) -> tuple[IntArray, FloatArray]:
    """Return the target of each row (its group, or the group of its cluster) and the target probabilities."""
    proba = None
    if hasattr(state.model, "predict_proba"):
        proba = np.asarray(state.model.predict_proba(state.X), dtype=np.float64)
    cluster = get_model_labels(state, name) if proba is None else proba.argmax(axis=1)
    n_clusters = int(cluster.max()) + 1 if proba is None else proba.shape[1]
    placed = np.flatnonzero(group >= 0)
    table = np.zeros((n_groups, n_clusters))
    np.add.at(table, (group[placed], cluster[placed]), 1.0)
    target_of = np.full(n_clusters, -1, dtype=np.int64)
    for g in np.argsort(table.max(axis=1, initial=0.0), kind="stable").tolist():
        target_of[table[g].argmax()] = g  # the group with the most rows comes last and takes precedence
    new = np.setdiff1d(cluster[group < 0], np.flatnonzero(target_of >= 0))
    target_of[new] = n_groups + np.arange(len(new))
    target = np.where(group >= 0, group, target_of[cluster])
    chance = np.zeros((state.n_samples, n_groups + len(new)))
    if proba is not None:
        for c in np.flatnonzero(target_of >= 0).tolist():
            chance[:, target_of[c]] += proba[:, c]
        return target, chance
    every = np.arange(state.n_samples)
    for near in (every, *get_neighbors(state, _NEIGHBORS).T):
        chance[every, target[near]] += 1.0
    return target, chance


def _find_middles(state: InterviewState, target: IntArray, group: IntArray, n_targets: int) -> IntArray:
    """Return the row of each target nearest to the mean of its placed rows, or of all its rows if none is."""
    X = get_standardized(state)
    found = []
    for t in range(n_targets):
        rows = np.flatnonzero(target == t)
        placed = rows[group[rows] >= 0]
        rows = placed if len(placed) else rows
        found.append(int(rows[np.argmin(cdist(X[rows], X[rows].mean(axis=0)[None])[:, 0])]))
    return np.array(found, dtype=np.int64)


def _count_without_result(state: InterviewState) -> IntArray:
    """Count the questions about each row that left its relations to their other rows unknown."""
    counts = np.zeros(state.n_samples, dtype=np.int64)
    for key in state.asked:
        if isinstance(key, tuple):
            rows = np.array(key[1])
            known = state.relations(rows[:, None], rows[None, :]) != 0
            np.fill_diagonal(known, False)
            counts[rows[~known.any(axis=1)]] += 1
    return counts
