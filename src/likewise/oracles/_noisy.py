"""An oracle that errs as people do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise.active import Answer, OddOne, Piles, Question, Reply
from likewise.base import integer, real
from likewise.exceptions import SupervisionError
from likewise.oracles._labels import LabelOracle

_WITHOUT_WORDS = {
    "odd": (1,),
    "piles": (2,),
}  # to draw for them otherwise than for a triplet of the same rows


class NoisyOracle:
    """Answers by the classes of the rows, and is wrong now and then.

    The same question gets the same answer, whenever it is put: a person who takes a wren for an owl does so
    again. What is drawn depends on the seed and the rows alone.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row; None and NaN mean that it is not known, and the answer then is UNSURE.
    rate : float, default=0.1
        How often the answer is wrong. A wrong answer to a triplet is any of the three others. A wrong
        answer to the odd one out calls another row odd. On a tray each row by itself goes astray with this
        chance, to any other pile or to one of its own.
    table : mapping of answer to mapping of answer to probability, optional
        How often each true answer (of the outer mapping) is given as each other one, in place of `rate`. A
        true answer that is absent is given as it is. The words AB, AC and BC are those of the three rows in
        ascending order. The odd one out and trays are not answered in words, and are refused with a table.
    seed : int, default=0
        Makes the errors repeatable.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import NoisyOracle
    >>> str(NoisyOracle([0, 0, 1], rate=1.0).answer(Question.pair(0, 1)))
    'DIFFERENT'
    >>> shy = NoisyOracle([0, 0, 1], table={"DIFFERENT": {"UNSURE": 1.0}})
    >>> str(shy.answer(Question.pair(0, 1))), str(shy.answer(Question.pair(0, 2)))
    ('SAME', 'UNSURE')
    """

    def __init__(
        self,
        y: Any,
        *,
        rate: float = 0.1,
        table: Mapping[Any, Mapping[Any, float]] | None = None,
        seed: int = 0,
    ) -> None:
        self._truth = LabelOracle(y)
        if not real(0).holds(rate) or rate > 1:
            raise ValueError(f"NoisyOracle: rate must be a number from 0 to 1, got {rate!r}.")
        if not integer(0).holds(seed):
            raise ValueError(f"NoisyOracle: seed must be {integer(0).wanted}, got {seed!r}.")
        self.rate = float(rate)
        self.seed = int(seed)
        self.table = None if table is None else _checked(table)

    def answer(self, question: Question) -> Answer | OddOne | Piles:
        """Return what the classes say, or something else."""
        # Drawn for the rows in ascending order and then put in the words of the order asked.
        rows = question.key[1]
        ordered = Question(question.kind, rows)
        true = self._truth.answer(ordered)
        if true is Answer.UNSURE:
            return true
        if question.kind in _WITHOUT_WORDS and self.table is not None:
            raise SupervisionError(
                f"the table says how words are mistaken, but “{question.text}” is not answered in words. "
                "Use rate in place of table, or ask pairs and triplets."
            )
        rng = np.random.default_rng([self.seed, len(rows), *rows, *_WITHOUT_WORDS.get(question.kind, ())])
        if isinstance(true, Piles):
            return self._astray(true, rng)
        words, chances = self._chances(ordered, true)
        at = int(np.searchsorted(np.cumsum(chances), rng.random() * sum(chances), side="right"))
        return Reply(ordered, words[min(at, len(words) - 1)]).to(question)

    def _chances(
        self, question: Question, true: Answer | OddOne
    ) -> tuple[list[Answer] | list[Answer | OddOne], list[float]]:
        if self.table is not None:
            assert isinstance(true, Answer)
            row = self.table.get(true, {true: 1.0})
            return list(row), list(row.values())
        every: list[Answer | OddOne]
        if question.kind == "pair":
            every = [Answer.SAME, Answer.DIFFERENT]
        elif question.kind == "triplet":
            every = [Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER]
        else:
            every = [OddOne(row) for row in question.rows]
        others = [answer for answer in every if answer != true]
        return [true, *others], [1 - self.rate, *[self.rate / len(others)] * len(others)]

    def _astray(self, true: Piles, rng: np.random.Generator) -> Piles:
        """Move rows to other piles, each with the chance of an error."""
        pile_of = {row: at for at, pile in enumerate(true.groups) for row in pile}
        moved: dict[int, list[int]] = {}
        for row, (astray, where) in zip(sorted(pile_of), rng.random((len(pile_of), 2)).tolist(), strict=True):
            home = pile_of[row]
            alone = [] if len(true.groups[home]) == 1 else [-1 - row]  # the name of a pile of its own
            others = [at for at in range(len(true.groups)) if at != home] + alone
            to = others[int(where * len(others))] if astray < self.rate else home
            moved.setdefault(to, []).append(row)
        return Piles(tuple(tuple(pile) for pile in moved.values()))


def _checked(table: Mapping[Any, Mapping[Any, float]]) -> dict[Answer, dict[Answer, float]]:
    checked: dict[Answer, dict[Answer, float]] = {}
    for true, row in table.items():
        checked[Answer.of(true)] = chances = {Answer.of(word): chance for word, chance in row.items()}
        if not all(real(0).holds(c) for c in chances.values()) or abs(sum(chances.values()) - 1) > 1e-6:
            raise SupervisionError(f"table[{true!r}] must hold probabilities that add up to 1, got {row!r}.")
    return checked
