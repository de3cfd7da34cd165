"""Uncertain regions: the row whose answer resolves most of the uncertainty about the rows around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._placing import (
    FloatArray,
    IntArray,
    add_questions,
    find_asked_pairs,
    list_asked,
)
from likewise.active.strategies._random import RandomPairs
from likewise.base import Rule

_MANY = 1_000_000
_AS_RELIABLE = 0.03  # rows are reliable if their probability of being misplaced is this close to the smallest


@dataclass(frozen=True)
class UncertainRegions(CheckedStrategy):
    r"""The row whose answer resolves most of the uncertainty around it (for PropagationClustering; ours).

    With :math:`F_{ic}` the share of class c in row i, and :math:`u_i` between 0 and 1 the lack of answers
    around it (1 far from all rows with answers), the uncertainty, or doubt, about a row is
    :math:`1 - (F_{i1} - F_{i2}) + u_i`, where :math:`F_{i1}` and :math:`F_{i2}` are its two largest shares. A
    few steps of diffusion on the neighbour graph sum up the doubt that an answer about a row would resolve,

    .. math:: D^{\beta} (D^{-1} W)^{t} D^{-\beta} (\text{doubt}) ,

    where :math:`\beta` is the mean of u. At first this prefers rows with many neighbours; as the number of
    answers grows, the weights of the rows become equal. The row with the largest sum is compared with the
    nearest row of its most probable class that is not ruled out. If answers may be wrong, it is compared with
    the nearest *reliable* row of that class, so a misplaced row does not misplace others.

    If answers may be wrong, the most consequential ones are checked. A SAME answer that is the only link
    between two groups is followed by a question about another pair of the same groups. With two clusters
    everything depends on the link between the first two medoids; it is checked at once with rows next to
    them.

    Pairs of classes are compared first, the most similar pair first, if there are at most `compare` classes,
    while there are more classes than clusters, or if the number of clusters is unknown.

    Parameters
    ----------
    steps : int, default=3
        The number of diffusion steps t.
    compare : int, default=4
        If there are at most this many classes, all pairs of classes are compared before anything else.
    patience : int, default=10
        The model is fitted again when the number of answers has grown by a fraction of 1 / `patience`: with
        the default, after each of the first twenty answers, and after every tenth answer from a hundred on.
        In between, questions are selected as in a batch.

    Notes
    -----
    The cost is `steps` sparse matrix products after a fit, and little between fits.

    Examples
    --------
    >>> from likewise.active import Interview, UncertainRegions
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> interview = Interview(X, n_clusters=2, strategy=UncertainRegions())
    >>> question = interview.ask()
    >>> (question.rows[0] < 4) != (question.rows[1] < 4)     # are the two clusters really two?
    True
    """

    steps: int = 3
    compare: int = 4
    patience: int = 10

    name: ClassVar[str] = "regions"
    needs: ClassVar[frozenset[str]] = frozenset({"classes"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "steps": Rule.integer(0),
        "compare": Rule.integer(0),
        "patience": Rule.integer(1),
    }

    def count_answers_to_fit(self, n_answers: int) -> int:
        """Return the number of answers that the model is fitted to; it is not fitted again for each question.

        Parameters
        ----------
        n_answers : int
            The number of answers so far.

        Returns
        -------
        int
            The number of answers that the model is fitted to, at most `n_answers`.
        """
        return n_answers - n_answers % max(1, n_answers // self.patience)

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        passed = getattr(state.model, "propagation_", None)
        if passed is None:
            raise ValueError(
                f"{self.name}: the model has no classes. Use PropagationClustering, or a strategy that uses "
                "labels, such as NodeUncertainty."
            )
        asker = _RegionQuestions(state, passed)
        found: dict[Any, Question] = {}
        questions = add_questions(found, self._iterate_questions(asker), n)
        if len(questions) == n:
            return questions
        # Ask any pairs whose relation is unknown.
        return add_questions(found, RandomPairs().choose(state, n + len(found)), n)

    def _iterate_questions(self, asker: _RegionQuestions) -> Iterator[Question]:
        yield from asker.check_medoid_link()
        yield from asker.check_merges()
        wanted = asker.state.n_clusters
        if wanted is None or asker.n_distinct > wanted or asker.n_distinct <= self.compare:
            yield from asker.ask_between_classes()
        scores = asker.compute_scores(self.steps)
        again: list[int] = []
        while (scores > 0).any():
            row = int(scores.argmax())
            question = asker.ask_about(row, float(scores[row]))
            if question is not None:
                yield question
            again.append(row)
            scores[asker.get_region(row)] = 0.0
        yield from asker.ask_unplaced(again)
        yield from asker.ask_between_classes()


class _RegionQuestions:
    """Creates questions from the classes of a model."""

    def __init__(self, state: InterviewState, passed: Any) -> None:
        self.state, self.passed = state, passed
        self.n_classes: int = len(passed.heads)
        self.members = self._get_members()
        evidence = getattr(passed, "evidence", None)
        self.unreliability: FloatArray | None = None if evidence is None else evidence.unreliability
        # Pairs of components that were asked about without a result, such as UNSURE.
        unresolved = np.sort(state.closure.component[find_asked_pairs(state)[1]], axis=1)
        self._unresolved = {(low, high) for low, high in unresolved.tolist()}

    def _get_members(self) -> list[IntArray]:
        """Return the rows of each class: those that links place there, or else its representative."""
        of_row = self.passed.class_of
        rows = np.flatnonzero(of_row >= 0)
        order = rows[np.argsort(of_row[rows], kind="stable")]
        cuts = np.searchsorted(of_row[order], np.arange(1, self.n_classes))
        parts = np.split(order, cuts)
        heads: list[int] = self.passed.heads.tolist()
        return [part if len(part) else np.array([head]) for part, head in zip(parts, heads, strict=True)]

    def _is_waiting(self, i: int, j: int) -> bool:
        component = self.state.closure.component
        low, high = sorted((int(component[i]), int(component[j])))
        return (low, high) in self._unresolved

    @property
    def n_distinct(self) -> int:
        """The current number of classes; answers since the fit may have joined some of them."""
        return len(np.unique(self.state.closure.component[self.passed.heads]))

    def compute_scores(self, steps: int) -> FloatArray:
        """Return the doubt that an answer about each row would resolve; 0 for rows that have a class.

        It is also 0 around rows that were placed since the model was fitted.
        """
        key = ("regions", steps)
        before = self.state.cache.get(key)
        if before is None or before[0] is not self.passed:
            before = self.state.cache[key] = (self.passed, self._compute_spread(steps))
        scores: FloatArray = before[1].copy()
        for row in self._find_newly_placed().tolist():
            scores[self.get_region(row)] = 0.0
        return scores

    def _compute_spread(self, steps: int) -> FloatArray:
        shares, far = self.passed.shares, self.passed.unreached
        if self.n_classes > 1:
            top = np.partition(shares, self.n_classes - 2, axis=1)
            doubt = 1.0 - (top[:, -1] - top[:, -2]) + far
        else:
            doubt = far.copy()
        placed = self.passed.class_of >= 0
        doubt[placed] = 0.0
        spread: FloatArray = self.passed.smoother.diffuse(doubt, steps, float(far.mean()))
        spread[placed] = 0.0
        return spread

    def _find_newly_placed(self) -> IntArray:
        """Return the rows that have been placed in a class since the model was fitted."""
        component = self.state.closure.component
        rows = np.unique(self.state.closure.links.rows)
        rows = rows[self.passed.class_of[rows] < 0]
        rows = rows[np.isin(component[rows], component[self.passed.heads])]
        return np.asarray(rows[np.isin(rows, self.passed.heads, invert=True)])

    def get_region(self, row: int) -> IntArray:
        """Return the rows of the same component and the neighbours of a row."""
        own = np.flatnonzero(self.state.closure.component == self.state.closure.component[row])
        return np.concatenate([own, self.passed.smoother.get_neighbors(row)])

    def ask_about(self, row: int, score: float) -> Question | None:
        """Return the most informative question about a row; None if there is none left to ask."""
        for c in np.argsort(-self.passed.shares[row], kind="stable").tolist():
            if self.state.knows(row, int(self.passed.heads[c])) != "unknown":
                continue
            other = self._find_nearest(row, c)
            if self._is_waiting(row, other):
                continue
            share = min(self.passed.shares[row, c], 0.99)  # an estimate; 100 % would sound certain
            reason = Reason(
                "{Row} represents nearby {things} whose group is uncertain; it is in the group of {row} "
                f"with probability {share:.0%}.",
                (row, other),
            )
            question = Question.pair(row, other, score=score, reason=reason)
            if self.state.can_ask(question):
                return question
        return None

    def _find_nearest(self, row: int, c: int) -> int:
        """Return the nearest row of a class, among its most reliable rows if answers may be wrong.

        Rows that were not yet compared with `row` are preferred.
        """
        rows = self.members[c]
        if self.unreliability is not None:
            rows = self._select_reliable(row, rows)
        return int(rows[cdist(self.state.X[[row]], self.state.X[rows])[0].argmin()])

    def _select_reliable(self, row: int, rows: IntArray) -> IntArray:
        assert self.unreliability is not None
        asked = self.state.asked
        fresh = [r for r in rows.tolist() if r != row and Question.pair(row, r).key not in asked]
        rows = np.array(fresh, dtype=np.int64) if fresh else rows
        chance = self.unreliability[rows]
        return np.asarray(rows[chance <= chance.min() + _AS_RELIABLE])

    def check_medoid_link(self) -> Iterator[Question]:
        """Yield the question that checks the link between the first two medoids, unless it is settled."""
        evidence = getattr(self.passed, "evidence", None)
        medoid_link = None if evidence is None else evidence.medoid_link
        if medoid_link is not None and medoid_link.check is not None:
            a, b = medoid_link.medoids
            if medoid_link.medoids in self.state.own_pairs:
                return
            reason = Reason(
                "Both groups depend on the answer about {rows:2}; this question checks it.",
                (int(a), int(b)),
            )
            question = Question.pair(*medoid_link.check, reason=reason)
            if self.state.can_ask(question):
                yield question

    def check_merges(self) -> Iterator[Question]:
        """Yield a second question about two groups with a single link, unless one was already asked."""
        if not self.state.merges:
            return
        pairs = np.array(list_asked(self.state, "pair"), dtype=np.int64).reshape(-1, 2)
        for merge in self.state.merges:
            i, j = merge.pair
            was_checked = merge.are_across(pairs[(pairs != merge.pair).any(axis=1)]).any()
            if merge.pair in self.state.own_pairs or was_checked:
                continue
            first, second = (side[~np.isin(side, merge.pair)] for side in (merge.first, merge.second))
            reason = Reason(
                f"The answer about {{rows:2}} is the only link between groups of {len(merge.first)} and "
                f"{len(merge.second)} {{things}}; this question checks it.",
                (int(i), int(j)),
            )
            question = Question.pair(*_find_closest(self.state.X, first, second), reason=reason)
            if self.state.can_ask(question):
                yield question

    def ask_between_classes(self) -> Iterator[Question]:
        """Yield questions whether two classes are the same, most similar classes first."""
        first, second = np.triu_indices(self.n_classes, 1)
        alike = self.passed.alike[first, second]
        for at in np.argsort(-alike, kind="stable").tolist():
            if alike[at] < 0:
                return
            a, b = self.members[first[at]], self.members[second[at]]
            i, j = _find_closest(self.state.X, a, b)
            if self.state.knows(i, j) == "unknown" and not self._is_waiting(i, j):
                reason = Reason(
                    f"They represent two groups with {len(a)} and {len(b)} known {{things}}; are the groups "
                    "the same?"
                )
                question = Question.pair(i, j, score=float(alike[at]), reason=reason)
                if self.state.can_ask(question):
                    yield question

    def ask_unplaced(self, rows: list[int]) -> Iterator[Question]:
        """Yield all remaining questions about rows and classes, including classes already asked about."""
        for row in rows:
            for c in np.argsort(-self.passed.shares[row], kind="stable").tolist():
                for other in self.members[c][self.members[c] != row].tolist():
                    question = Question.pair(row, other, reason=Reason("{Row} has no group yet.", (row,)))
                    if self.state.can_ask(question):
                        yield question


def _find_closest(X: npt.NDArray[Any], a: IntArray, b: IntArray) -> tuple[int, int]:
    """Return the closest pair of rows, one from each set."""
    if len(a) * len(b) <= _MANY:
        away = cdist(X[a], X[b])
        first, second = np.unravel_index(away.argmin(), away.shape)
    else:  # block by block
        from sklearn.metrics import pairwise_distances_argmin_min

        nearest, least = pairwise_distances_argmin_min(X[a], X[b])
        first = least.argmin()
        second = nearest[first]
    return int(a[first]), int(b[second])
