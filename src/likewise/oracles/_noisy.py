"""Errors at a constant rate, or by a table of confusion probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise.active import Answer, OddOne, Piles, Question
from likewise.base import real
from likewise.exceptions import SupervisionError
from likewise.oracles._simulated import PROBABILITY, ErringOracle, Pairs, check_argument, draw_index


class NoisyOracle(ErringOracle):
    """Answers by the classes of the rows, with errors at a constant rate.

    The same question always gets the same answer, as a person who confuses a wren with an owl would do so
    again. Errors depend on the seed and the rows of the question only. For other kinds of errors see
    :func:`make_oracle`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    rate : float, default=0.1
        The probability of a wrong answer. A wrong answer to a triplet is any of the three others. A wrong
        answer to the odd one out names another row. On a tray, each row moves with this probability to
        another pile or to a new one.
    table : mapping of answer to mapping of answer to probability, optional
        The probability of each given answer (inner mapping) for each true answer (outer mapping); replaces
        `rate`. True answers that are absent are given correctly. AB, AC and BC refer to the three rows in
        ascending order. A table covers pairs and triplets; other questions raise an error.
    random_state : int, default=0
        Seed of the errors.

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
        random_state: int = 0,
    ) -> None:
        super().__init__(y, random_state)
        check_argument("NoisyOracle", "rate", rate, PROBABILITY)
        self.rate: float = float(rate)
        self.table: dict[Answer, dict[Answer, float]] | None = None if table is None else _check_table(table)

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        return self.rate

    def _draw(
        self, question: Question, true: Answer | OddOne | Piles, rng: np.random.Generator
    ) -> Answer | OddOne | Piles:
        if self.table is None:
            return super()._draw(question, true, rng)
        if question.kind not in ("pair", "triplet"):
            raise SupervisionError(
                f"the table has the errors of words such as SAME, but “{question.text}” is not answered with "
                "a word. Use rate instead of table, or ask pairs and triplets."
            )
        assert isinstance(true, Answer)
        row = self.table.get(true, {true: 1.0})
        return list(row)[draw_index(list(row.values()), rng.random())]


def _check_table(table: Mapping[Any, Mapping[Any, float]]) -> dict[Answer, dict[Answer, float]]:
    checked: dict[Answer, dict[Answer, float]] = {}
    for true, row in table.items():
        checked[Answer.from_word(true)] = chances = {
            Answer.from_word(word): chance for word, chance in row.items()
        }
        if not all(real(0).holds(c) for c in chances.values()) or abs(sum(chances.values()) - 1) > 1e-6:
            raise SupervisionError(
                f"table[{true!r}] must contain probabilities that add up to 1, got {row!r}."
            )
    return checked
