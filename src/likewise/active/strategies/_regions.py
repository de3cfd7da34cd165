"""Regions in doubt: the row that speaks for most of the rows whose cluster is not clear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise._reasons import Reason
from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray, asked_pairs
from likewise.active.strategies._random import RandomPairs
from likewise.base import integer

_MANY = 1_000_000
_AS_RELIABLE = 0.03  # rows whose chance of being misplaced is this close to the least count as reliable


@dataclass(frozen=True)
class UncertainRegions:
    r"""Ask about the row that speaks for most of the rows in doubt (for PropagationClustering; ours).

    With :math:`F_{ic}` the share of class c in row i, and :math:`u_i` how little is known around it (1 far
    from every row with an answer), the doubt about a row is :math:`1 - (F_{i1} - F_{i2}) + u_i`, the two
    largest shares being compared. A few steps of a walk along the graph of neighbours bring together the
    doubt that an answer about a row would settle,

    .. math:: D^{\beta} (D^{-1} W)^{t} D^{-\beta} (\text{doubt}) ,

    where :math:`\beta` is the mean of u: at first rows that many others are near to are preferred, and the
    more is known, the more each row counts alike. The row with most is put beside a row of its likeliest
    class that it is not known to be apart from: the nearest one, or the nearest *reliable* one where answers
    may be wrong, so that a row that a wrong answer misplaced does not carry its neighbours along.

    Where answers may be wrong, those on which much depends are checked. A SAME answer that is the only link
    between two groups is followed by a question about another pair of the same groups. With two clusters
    everything rests on the link between the two first medoids; it is checked at once with rows next to them.

    Classes are compared first where that is cheap (up to `compare` clusters), and always while there are more
    of them than clusters, or the number of clusters is not known: those that overlap most.

    Parameters
    ----------
    steps : int, default=3
        t, how far the doubt of others counts.
    compare : int, default=4
        With up to so many clusters all classes are compared before anything else.
    patience : int, default=10
        The model is fitted again when the answers have grown by one in `patience`: after each of the first
        twenty, after every tenth from a hundred on. In between, questions are chosen as a batch is.

    Notes
    -----
    Costs `steps` products with the graph after a fit, and little between fits.

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

    def __post_init__(self) -> None:
        for field, rule in (("steps", integer(0)), ("compare", integer(0)), ("patience", integer(1))):
            if not rule.holds(getattr(self, field)):
                raise ValueError(f"{field} must be {rule.wanted}, got {getattr(self, field)!r}.")

    def count_answers_to_fit(self, n_answers: int) -> int:
        """Return how many of the answers the model is fitted to, so that it need not be fitted each time."""
        return n_answers - n_answers % max(1, n_answers // self.patience)

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions, about different rows as far as possible."""
        passed = getattr(state.model, "passed_", None)
        if passed is None:
            raise ValueError(
                f"{self.name}: the model has no classes to look at. Use PropagationClustering, or a strategy "
                "that looks at labels, such as NodeUncertainty."
            )
        asker = _Asker(state, passed)
        found: dict[Any, Question] = {}
        questions = self._questions(asker)
        while len(found) < n and (question := next(questions, None)) is not None:
            found.setdefault(question.key, question)
        if len(found) < n:  # nothing else is left to ask: what is not known may still be
            for question in RandomPairs().choose(state, n + len(found)):
                if len(found) < n:
                    found.setdefault(question.key, question)
        return list(found.values())

    def _questions(self, asker: _Asker) -> Iterator[Question]:
        yield from asker.check_founding()
        yield from asker.check_merges()
        wanted = asker.state.n_clusters
        if wanted is None or asker.n_distinct > wanted or asker.n_distinct <= self.compare:
            yield from asker.between_classes()
        scores = asker.scores(self.steps)
        again: list[int] = []
        while (scores > 0).any():
            row = int(scores.argmax())
            question = asker.about(row, float(scores[row]))
            if question is not None:
                yield question
            again.append(row)
            scores[asker.near(row)] = 0.0
        yield from asker.of_unplaced(again)
        yield from asker.between_classes()


class _Asker:
    """Words questions about what a model with classes knows."""

    def __init__(self, state: State, passed: Any) -> None:
        self.state, self.passed = state, passed
        self.n_classes: int = len(passed.heads)
        component = state.closure.component
        self.members = self._members()
        evidence = getattr(passed, "evidence", None)
        self.unreliability: FloatArray | None = None if evidence is None else evidence.unreliability
        self._unresolved = self._asked_in_vain(component)

    def _members(self) -> list[IntArray]:
        """Return the rows of each class: those that links place there, or the one that stands for it."""
        of_row = self.passed.class_of
        rows = np.flatnonzero(of_row >= 0)
        order = rows[np.argsort(of_row[rows], kind="stable")]
        cuts = np.searchsorted(of_row[order], np.arange(1, self.n_classes))
        parts = np.split(order, cuts)
        heads: list[int] = self.passed.heads.tolist()
        return [part if len(part) else np.array([head]) for part, head in zip(parts, heads, strict=True)]

    def _asked_in_vain(self, component: IntArray) -> set[tuple[int, int]]:
        """Return the pairs of components that were asked about without a result."""
        both = np.sort(component[asked_pairs(self.state)[1]], axis=1)
        return {(low, high) for low, high in both.tolist()}

    def _waits(self, i: int, j: int) -> bool:
        component = self.state.closure.component
        low, high = sorted((int(component[i]), int(component[j])))
        return (low, high) in self._unresolved

    @property
    def n_distinct(self) -> int:
        """How many classes there are by now: some may have turned out to be one since the fit."""
        return len(np.unique(self.state.closure.component[self.passed.heads]))

    def scores(self, steps: int) -> FloatArray:
        """Return how much doubt an answer about each row would touch, 0 for rows that have a class.

        Around rows that were placed since the model was fitted there is nothing to ask before the next fit.
        """
        key = ("regions", steps)
        before = self.state.cache.get(key)
        if before is None or before[0] is not self.passed:
            before = self.state.cache[key] = (self.passed, self._spread(steps))
        scores: FloatArray = before[1].copy()
        for row in self._placed_since().tolist():
            scores[self.near(row)] = 0.0
        return scores

    def _spread(self, steps: int) -> FloatArray:
        shares, far = self.passed.shares, self.passed.unreached
        if self.n_classes > 1:
            top = np.partition(shares, self.n_classes - 2, axis=1)
            doubt = 1.0 - (top[:, -1] - top[:, -2]) + far
        else:
            doubt = far.copy()
        placed = self.passed.class_of >= 0
        doubt[placed] = 0.0
        spread: FloatArray = self.passed.smoother.spread(doubt, steps, float(far.mean()))
        spread[placed] = 0.0
        return spread

    def _placed_since(self) -> IntArray:
        """Return a row of each component that has a class by now and had none when the model was fitted."""
        component = self.state.closure.component
        rows = np.unique(self.state.closure.links.rows)
        rows = rows[self.passed.class_of[rows] < 0]
        rows = rows[np.isin(component[rows], component[self.passed.heads])]
        found: IntArray = rows[np.isin(rows, self.passed.heads, invert=True)]
        return found

    def near(self, row: int) -> IntArray:
        """Return the row and its neighbours, and all that is known to belong with it."""
        own = np.flatnonzero(self.state.closure.component == self.state.closure.component[row])
        return np.concatenate([own, self.passed.smoother.neighbors(row)])

    def about(self, row: int, score: float) -> Question | None:
        """Return the question that tells most about a row, None if all were asked in vain."""
        for c in np.argsort(-self.passed.shares[row], kind="stable").tolist():
            if self.state.knows(row, int(self.passed.heads[c])) != "unknown":
                continue
            other = self._nearest(row, c)
            if self._waits(row, other):
                continue
            share = self.passed.shares[row, c]
            reason = Reason(
                "{Row} speaks for near {things} whose cluster is in doubt; it is of the cluster of {row} "
                f"with a chance of {share:.0%}.",
                (row, other),
            )
            question = Question.pair(row, other, score=score, reason=reason)
            if self.state.can_ask(question):
                return question
        return None

    def _nearest(self, row: int, c: int) -> int:
        """Return the nearest row of a class; of its most reliable rows if answers may be wrong.

        Rows that were not yet compared with `row` are preferred.
        """
        rows = self.members[c]
        if self.unreliability is not None:
            rows = self._reliable(row, rows)
        return int(rows[cdist(self.state.X[[row]], self.state.X[rows])[0].argmin()])

    def _reliable(self, row: int, rows: IntArray) -> IntArray:
        assert self.unreliability is not None
        asked = self.state.asked
        fresh = [r for r in rows.tolist() if r != row and Question.pair(row, r).key not in asked]
        rows = np.array(fresh, dtype=np.int64) if fresh else rows
        chance = self.unreliability[rows]
        found: IntArray = rows[chance <= chance.min() + _AS_RELIABLE]
        return found

    def check_founding(self) -> Iterator[Question]:
        """Yield the check of the link on which both of two clusters rest, unless it is settled."""
        evidence = getattr(self.passed, "evidence", None)
        founding = None if evidence is None else evidence.founding
        if founding is not None and founding.check is not None:
            a, b = founding.medoids
            if founding.medoids in self.state.own_pairs:
                return
            reason = Reason(
                "Both clusters rest on the answer about {rows:2}; this one confirms or refutes it.",
                (int(a), int(b)),
            )
            question = Question.pair(*founding.check, reason=reason)
            if self.state.can_ask(question):
                yield question

    def check_merges(self) -> Iterator[Question]:
        """Yield a second question about two groups with a single link, unless one was asked already."""
        if not self.state.merges:
            return
        keys = [key[1] for key in self.state.asked if isinstance(key, tuple) and key[0] == "pair"]
        pairs = np.array(keys, dtype=np.int64).reshape(-1, 2)
        for merge in self.state.merges:
            i, j = merge.pair
            was_checked = merge.are_across(pairs[(pairs != merge.pair).any(axis=1)]).any()
            if merge.pair in self.state.own_pairs or was_checked:
                continue
            first, second = (side[~np.isin(side, merge.pair)] for side in (merge.first, merge.second))
            reason = Reason(
                f"The answer about {{rows:2}} is the only link between groups of {len(merge.first)} and "
                f"{len(merge.second)} {{things}}; this one confirms or refutes it.",
                (int(i), int(j)),
            )
            question = Question.pair(*_closest(self.state.X, first, second), reason=reason)
            if self.state.can_ask(question):
                yield question

    def between_classes(self) -> Iterator[Question]:
        """Yield whether two classes are one, for all that are not known to be apart, most alike first."""
        first, second = np.triu_indices(self.n_classes, 1)
        alike = self.passed.alike[first, second]
        for at in np.argsort(-alike, kind="stable").tolist():
            if alike[at] < 0:
                return
            a, b = self.members[first[at]], self.members[second[at]]
            i, j = _closest(self.state.X, a, b)
            if self.state.knows(i, j) == "unknown" and not self._waits(i, j):
                reason = Reason(
                    f"They stand for two groups, of which {len(a)} and {len(b)} {{things}} are known; are "
                    "they one?"
                )
                question = Question.pair(i, j, score=float(alike[at]), reason=reason)
                if self.state.can_ask(question):
                    yield question

    def of_unplaced(self, rows: list[int]) -> Iterator[Question]:
        """Yield what can still be asked of rows and classes, those asked in vain before included."""
        for row in rows:
            for c in np.argsort(-self.passed.shares[row], kind="stable").tolist():
                for other in self.members[c][self.members[c] != row].tolist():
                    question = Question.pair(row, other, reason=Reason("{Row} has no cluster yet.", (row,)))
                    if self.state.can_ask(question):
                        yield question


def _closest(X: npt.NDArray[Any], a: IntArray, b: IntArray) -> tuple[int, int]:
    """Return the two rows, one of each, that are closest."""
    if len(a) * len(b) <= _MANY:
        away = cdist(X[a], X[b])
        first, second = np.unravel_index(away.argmin(), away.shape)
    else:  # block by block
        from sklearn.metrics import pairwise_distances_argmin_min

        nearest, least = pairwise_distances_argmin_min(X[a], X[b])
        first = least.argmin()
        second = nearest[first]
    return int(a[first]), int(b[second])
