"""The base class of simulated annotators, which draws errors from the error probabilities of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from likewise.active import Answer, OddOne, Piles, Question, Reply
from likewise.base import Rule, check_no_times, integer, real
from likewise.exceptions import SupervisionError
from likewise.oracles._label_oracle import LabelOracle

FloatArray = npt.NDArray[np.float64]
Pairs = Sequence[tuple[int, int]]

PROBABILITY = Rule("a number from 0 to 1", lambda v: real(0).holds(v) and bool(v <= 1))
_STREAMS = {"odd": (1,), "piles": (2,)}  # other random streams than for a triplet of the same rows


def check_argument(owner: str, name: str, value: Any, rule: Rule) -> None:
    """Raise a ValueError if the value of an argument breaks its rule."""
    if not rule.holds(value):
        raise ValueError(f"{owner}: {name} must be {rule.expected}, got {value!r}.")


def check_rows(owner: str, X: Any, n_samples: int) -> FloatArray:
    """Return the rows as an array, after checking that there is one per class."""
    check_no_times(X, owner)
    rows: FloatArray = check_array(X, dtype=np.float64, input_name="X")
    if len(rows) != n_samples:
        raise SupervisionError(
            f"{owner}: X has {len(rows)} rows, but y has {n_samples} entries. Pass one class per row of X."
        )
    return rows


class ErringOracle(ABC):
    """Answers by the classes of the rows, with errors. Subclasses define the error probability of each pair.

    A wrong answer misjudges one or more pairs of rows. Its weight is the mean error probability of these
    pairs. NEITHER of three rows has two readings, "all together" and "all different"; the reading with the
    larger weight counts. The probability of a wrong answer is the largest weight, and each wrong answer is
    drawn in proportion to its weight. For a pair this is the error probability of that pair.

    The rows of a tray are moved one by one. The weight of another pile is the mean error probability of the
    row with the rows of that pile; the weight of a new pile is the mean over the other rows of its own pile.

    Errors depend on the seed and the rows of the question only.
    """

    def __init__(self, y: Any, random_state: int) -> None:
        check_argument(type(self).__name__, "random_state", random_state, integer(0))
        self.random_state: int = int(random_state)
        self._truth = LabelOracle(y)
        self._codes = self._truth._codes

    @abstractmethod
    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        """Return the mean probability that these pairs of rows are misjudged."""

    def answer(self, question: Question) -> Answer | OddOne | Piles:
        """Answer a question by the classes of the rows, possibly wrongly.

        The same question always gets the same answer.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Answer, OddOne or Piles
            The answer; UNSURE if a class is unknown.
        """
        # Draw for the rows in ascending order, then translate to the order of the question.
        rows = question.key[1]
        ordered = Question(question.kind, rows)
        true = self._truth.answer(ordered)
        if true is Answer.UNSURE:
            return true
        rng = np.random.default_rng([self.random_state, len(rows), *rows, *_STREAMS.get(question.kind, ())])
        return Reply(ordered, self._draw(ordered, true, rng)).to(question)

    def _draw(
        self, question: Question, true: Answer | OddOne | Piles, rng: np.random.Generator
    ) -> Answer | OddOne | Piles:
        if isinstance(true, Piles):
            return self._sort(question, true, rng)
        wrong = [answer for answer in _list_answers(question) if answer != true]
        chance, shares = _normalize([self._weigh(question, answer) for answer in wrong])
        place = draw_index([1 - chance, *(chance * share / sum(shares) for share in shares)], rng.random())
        return [true, *wrong][place]

    def _weigh(self, question: Question, answer: Answer | OddOne) -> float:
        """Return the weight of a wrong answer."""
        rows = question.rows
        piles = Reply(question, answer).piles
        readings = [piles] if piles else [(rows,), tuple((row,) for row in rows)]
        return max(self._compute_chance(question, self._find_misjudged(reading)) for reading in readings)

    def _find_misjudged(self, piles: tuple[tuple[int, ...], ...]) -> Pairs:
        """Return the pairs of rows on which the piles and the classes disagree."""
        pile_of = {row: place for place, pile in enumerate(piles) for row in pile}
        return [
            (i, j)
            for i, j in combinations(sorted(pile_of), 2)
            if (pile_of[i] == pile_of[j]) != (self._codes[i] == self._codes[j])
        ]

    def _sort(self, question: Question, true: Piles, rng: np.random.Generator) -> Piles:
        """Sort a tray; each row has its own probability of a wrong pile."""
        pile_of = {row: place for place, pile in enumerate(true.groups) for row in pile}
        sorted_rows: dict[int, list[int]] = {}
        draws = rng.random((len(pile_of), 2)).tolist()
        for row, (draw, where) in zip(sorted(pile_of), draws, strict=True):
            home = pile_of[row]
            # Maps each wrong pile to the rows that the row would be misjudged against.
            against = {place: pile for place, pile in enumerate(true.groups) if place != home}
            if mates := tuple(mate for mate in true.groups[home] if mate != row):
                against[-1 - row] = mates  # a new pile
            chance, shares = _normalize(
                [
                    self._compute_chance(question, [(row, other) for other in pile])
                    for pile in against.values()
                ]
            )
            target = list(against)[draw_index(shares, where)] if draw < chance else home
            sorted_rows.setdefault(target, []).append(row)
        return Piles(tuple(tuple(pile) for pile in sorted_rows.values()))


def _list_answers(question: Question) -> list[Answer | OddOne]:
    if question.kind == "pair":
        return [Answer.SAME, Answer.DIFFERENT]
    if question.kind == "triplet":
        return [Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER]
    return [OddOne(row) for row in question.rows]


def _normalize(weights: list[float]) -> tuple[float, list[float]]:
    """Return the largest weight, and all weights divided by it."""
    largest = max(weights)
    return largest, [weight / largest if largest else 1.0 for weight in weights]


def draw_index(weights: Sequence[float], draw: float) -> int:
    """Return a random index with probabilities proportional to the weights; `draw` is uniform on [0, 1)."""
    place = int(np.searchsorted(np.cumsum(weights), draw * sum(weights), side="right"))
    return min(place, len(weights) - 1)
