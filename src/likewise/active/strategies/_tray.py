"""Trays to sort: rows in doubt beside representatives of the groups that they may belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import LARGEST_TRAY, Question
from likewise.active._state import State
from likewise.active.strategies._exploration import is_exploring
from likewise.active.strategies._labels import labels_of
from likewise.active.strategies._node_to_pairs import BoolArray, FloatArray, IntArray, Places
from likewise.active.strategies._node_uncertainty import mahalanobis_neighbors
from likewise.active.strategies._random import RandomPairs
from likewise.active.strategies._rows import standardized_of
from likewise.base import integer

_NEIGHBORS = 10
_CHOICE = 4  # so many rows in doubt for each seat, of which those far apart are taken
_TRIES = 50  # so many rows in a row are tried in vain as the first of a tray; then pairs are asked


@dataclass(frozen=True)
class FillTray:
    """Fill a tray with rows whose group is in doubt and with representatives of the groups in question.

    By the model row i belongs to cluster c with chance :math:`p_{ic}`: its ``predict_proba`` if it has one,
    else the share of the row and its 10 nearest neighbours (Mahalanobis distance) that are in c. A cluster
    stands for the group that most of its placed rows are in; groups that the row is known to be apart from
    have no chance. The first seat is for the row in most doubt,

    .. math:: \\arg\\max_i \\; -\\sum_c p_{ic} \\log p_{ic} ,

    half of the tray at most for a representative of each of its likeliest groups, the placed row nearest to
    the middle of the group, or of the cluster where no row is placed yet. The other seats go to rows that
    are in doubt between the same groups: of up to four for each seat with the largest entropy times chance
    of these groups, none less than half of the largest, those that lie farthest apart. While groups are still
    to be found those farthest apart of all rows are taken. One answer places all of these rows, where a pair
    places one at best.

    Rows that a tray told nothing of, because the answer was UNSURE or they were set aside, come after the
    others. When no tray holds two rows that are not known and were never together in one, pairs are asked.

    Costs O(n) times the number of neighbours or clusters, once the neighbours are found.

    Parameters
    ----------
    size : int, default=8
        How many rows a tray has, 3 to 12.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import FillTray, State
    >>> X = np.array([[0.0], [0.1], [0.2], [2.4], [2.6], [5.0], [5.1], [5.2]])
    >>> hints = Supervision.from_links(8, must=[(0, 1), (5, 6)], cannot=[(0, 5)])
    >>> state = State.of(X, hints, n_clusters=3, labels=np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> question = FillTray(size=4).choose(state, 1)[0]
    >>> question.kind, len(question.rows)
    ('piles', 4)
    """

    size: int = 8

    name: ClassVar[str] = "tray"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __post_init__(self) -> None:
        if not integer(3).holds(self.size) or self.size > LARGEST_TRAY:
            raise ValueError(f"size must be an integer from 3 to {LARGEST_TRAY}, got {self.size!r}.")

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n trays, of different rows but for the representatives; then pairs."""
        if state.n_samples < 2:
            return []
        found = {question.key: question for question in islice(self._trays(state), n)}
        if len(found) < n:
            found |= {question.key: question for question in RandomPairs().choose(state, n - len(found))}
        return list(found.values())

    def _trays(self, state: State) -> Iterator[Question]:
        doubts = _Doubts.of(state, self.name)
        together = _asked_together(state)
        free = doubts.group < 0
        in_vain = 0
        for lead in doubts.ordered.tolist():
            if not free[lead] or in_vain == _TRIES:
                continue
            shown, rows = doubts.tray(lead, free, self.size)
            if _is_fresh([*shown, *rows], state, together):
                in_vain = 0
                free[rows] = False
                template = f"It is in doubt where {{list:{len(rows)}}} belong"
                template += f"; {{list:{len(shown)}}} stand for clusters." if shown else "."
                reason = Reason(template, (*sorted(rows), *sorted(shown)))
                yield Question.piles([*shown, *rows], score=float(doubts.doubt[rows].sum()), reason=reason)
            else:
                in_vain += 1


def _asked_together(state: State) -> frozenset[tuple[int, int]]:
    """Return the pairs of rows that some question held."""
    keys = [key[1] for key in state.asked if isinstance(key, tuple)]
    return frozenset(pair for rows in keys for pair in combinations(rows, 2))


def _is_fresh(tray: list[int], state: State, together: frozenset[tuple[int, int]]) -> bool:
    """Tell whether a tray holds two rows that are not known and were never asked about together."""
    pairs = [pair for pair in combinations(sorted(tray), 2) if pair not in together]
    if not pairs:
        return False
    first, second = np.array(pairs).T
    return bool((state.relations(first, second) == 0).any())


@dataclass(frozen=True, eq=False)
class _Doubts:
    """Which group each row may belong to.

    Attributes
    ----------
    state : State
        What is known.
    group : ndarray of shape (n_samples,)
        The group that each row is placed in, -1 for none.
    chance : ndarray of shape (n_samples, n_targets)
        The chance of each target: a group, or a cluster none of whose rows are placed.
    doubt : ndarray of shape (n_samples,)
        The entropy of these chances.
    waits : ndarray of shape (n_samples,)
        How many questions about each row brought nothing: it comes after those with fewer.
    shown : ndarray of shape (n_targets,)
        The row that represents each target.
    ordered : ndarray
        The rows that are not placed, those to be placed first in front.
    exploring : bool
        Whether there are groups still to be found.
    """

    state: State
    group: IntArray
    chance: FloatArray
    doubt: FloatArray
    waits: IntArray
    shown: IntArray
    ordered: IntArray
    exploring: bool

    @classmethod
    def of(cls, state: State, name: str) -> _Doubts:
        """Work out the chances, and read groups off the answers."""
        places = Places.of(state)
        component = state.closure.component
        told = len(state.closure.links.rows) > 0  # if not, the only group is a row drawn at random
        group = places.group if told else np.full(state.n_samples, -1, dtype=np.int64)
        n_groups = places.n_groups if told else 0
        target, chance = _targets(state, name, group, n_groups)
        barred = np.zeros(chance.shape, dtype=bool)
        barred[:, :n_groups] = places.apart[component, :n_groups]
        chance[barred] = 0.0
        # Where no likely group is left all others are as likely.
        chance = np.where(chance.any(axis=1, keepdims=True), chance, ~barred)
        chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1.0e-300)
        log = np.log(chance, out=np.zeros_like(chance), where=chance > 0)
        doubt = -(chance * log).sum(axis=1)
        waits = _without_result(state)
        rows = state.rng().permutation(np.flatnonzero(group < 0))
        rows = rows[np.lexsort((-doubt[rows], waits[rows]))]
        return cls(
            state=state,
            group=group,
            chance=chance,
            doubt=doubt,
            waits=waits,
            shown=_middles(state, target, group, chance.shape[1]),
            ordered=rows[np.sort(np.unique(component[rows], return_index=True)[1])],
            exploring=not told or is_exploring(state, places),
        )

    def tray(self, lead: int, free: BoolArray, size: int) -> tuple[list[int], list[int]]:
        """Return the representatives and the rows in doubt of a tray that begins with a row."""
        component = self.state.closure.component
        likely = np.lexsort((-self.chance[self.ordered].sum(axis=0), -self.chance[lead]))
        if not self.exploring:
            likely = likely[self.chance[lead][likely] > 0]
        targets = likely[: size // 2]
        shown = [row for row in self.shown[targets].tolist() if component[row] != component[lead]]
        rows = self.ordered[free[self.ordered]]
        rows = rows[~np.isin(component[rows], component[[lead, *shown]])]
        seats = size - len(shown) - 1
        good = self.waits[rows] == self.waits[rows[:1]]  # those to be placed first are in front
        start = [lead, *shown]
        if not self.exploring:
            score = self.doubt[rows] * self.chance[rows][:, targets].sum(axis=1)
            best = np.lexsort((-score, self.waits[rows]))[: _CHOICE * seats]
            good = (good & (score >= score[good].max(initial=0.0) / 2))[best]
            rows, start = rows[best], [lead]
        return shown, [lead, *_spread(self.state, rows[: max(good.sum(), seats)], start, seats)]


def _spread(state: State, rows: IntArray, start: list[int], n: int) -> list[int]:
    """Return n of the rows, each the farthest from those before it and from the start."""
    X = standardized_of(state)
    away = cdist(X[rows], X[start]).min(axis=1)
    chosen: list[int] = []
    for _ in range(min(n, len(rows))):
        at = int(np.argmax(away))
        chosen.append(int(rows[at]))
        away = np.minimum(away, cdist(X[rows], X[rows[at : at + 1]])[:, 0])
        away[at] = -1.0
    return chosen


def _targets(state: State, name: str, group: IntArray, n_groups: int) -> tuple[IntArray, FloatArray]:
    """Return the target of each row, its own group or that of its cluster, and the chances of all targets."""
    proba = None
    if hasattr(state.model, "predict_proba"):
        proba = np.asarray(state.model.predict_proba(state.X), dtype=np.float64)
    cluster = labels_of(state, name) if proba is None else proba.argmax(axis=1)
    n_clusters = int(cluster.max()) + 1 if proba is None else proba.shape[1]
    placed = np.flatnonzero(group >= 0)
    table = np.zeros((n_groups, n_clusters))
    np.add.at(table, (group[placed], cluster[placed]), 1.0)
    target_of = np.full(n_clusters, -1, dtype=np.int64)
    for g in np.argsort(table.max(axis=1, initial=0.0), kind="stable").tolist():
        target_of[table[g].argmax()] = g  # the group with most rows comes last
    new = np.setdiff1d(cluster[group < 0], np.flatnonzero(target_of >= 0))
    target_of[new] = n_groups + np.arange(len(new))
    target = np.where(group >= 0, group, target_of[cluster])
    chance = np.zeros((state.n_samples, n_groups + len(new)))
    if proba is not None:
        for c in np.flatnonzero(target_of >= 0).tolist():
            chance[:, target_of[c]] += proba[:, c]
        return target, chance
    every = np.arange(state.n_samples)
    for near in (every, *_neighbors(state).T):
        chance[every, target[near]] += 1.0
    return target, chance


def _neighbors(state: State) -> IntArray:
    key = ("mahalanobis neighbours", _NEIGHBORS)
    if key not in state.cache:
        state.cache[key] = mahalanobis_neighbors(state.X, _NEIGHBORS)
    neighbors: IntArray = state.cache[key]
    return neighbors


def _middles(state: State, target: IntArray, group: IntArray, n_targets: int) -> IntArray:
    """Return for each target the row nearest to the mean of its rows, of the placed ones if there are any."""
    X = standardized_of(state)
    found = []
    for t in range(n_targets):
        rows = np.flatnonzero(target == t)
        placed = rows[group[rows] >= 0]
        rows = placed if len(placed) else rows
        found.append(int(rows[np.argmin(cdist(X[rows], X[rows].mean(axis=0)[None])[:, 0])]))
    return np.array(found, dtype=np.int64)


def _without_result(state: State) -> IntArray:
    """Count for each row the questions that held it and left open how it stands to all the others."""
    counts = np.zeros(state.n_samples, dtype=np.int64)
    for key in state.asked:
        if isinstance(key, tuple):
            rows = np.array(key[1])
            known = state.relations(rows[:, None], rows[None, :]) != 0
            np.fill_diagonal(known, False)
            counts[rows[~known.any(axis=1)]] += 1
    return counts
