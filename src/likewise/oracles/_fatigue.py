"""Errors that become more frequent with every question."""

from __future__ import annotations

from typing import Any

from likewise.active import Answer, OddOne, Piles, Question
from likewise.base import Rule, integer
from likewise.oracles._simulated import PROBABILITY, ErringOracle, Pairs, check_argument


class FatigueOracle(ErringOracle):
    """Answers by the classes of the rows, with errors that become more frequent.

    The probability of an error grows linearly from `rate` at the first question to `final_rate` at question
    number `n_questions`, and stays there. Only different questions count: a question that is asked again gets
    its first answer. The answers therefore depend on the order of the questions; make a new oracle for each
    simulated interview.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    rate : float, default=0.0
        The probability of an error at the first question. See :class:`NoisyOracle` for the wrong answers.
    final_rate : float, default=0.2
        The probability of an error from question number `n_questions` on; at least `rate`.
    n_questions : int, default=100
        The number of questions over which the probability grows, at least 2.
    random_state : int, default=0
        Seed of the errors.

    Attributes
    ----------
    n_answered : int
        The number of different questions answered so far.
    current_rate : float
        The probability of an error at the next new question.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import FatigueOracle
    >>> oracle = FatigueOracle([0, 0, 0, 0], rate=0.0, final_rate=1.0, n_questions=3)
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2, 3, 1)][::2]
    ['SAME', 'DIFFERENT']
    >>> oracle.n_answered, oracle.current_rate
    (3, 1.0)
    """

    rate: float
    final_rate: float
    n_questions: int

    def __init__(
        self,
        y: Any,
        *,
        rate: float = 0.0,
        final_rate: float = 0.2,
        n_questions: int = 100,
        random_state: int = 0,
    ) -> None:
        super().__init__(y, random_state)
        check_argument("FatigueOracle", "rate", rate, PROBABILITY)
        grows = Rule(
            f"a number from rate, which is {rate:g}, to 1", lambda v: PROBABILITY.holds(v) and v >= rate
        )
        check_argument("FatigueOracle", "final_rate", final_rate, grows)
        check_argument("FatigueOracle", "n_questions", n_questions, integer(2))
        self.rate, self.final_rate, self.n_questions = float(rate), float(final_rate), int(n_questions)
        self._rates: dict[
            tuple[str, tuple[int, ...]], float
        ] = {}  # error rate of each question when it was first asked

    @property
    def n_answered(self) -> int:
        """The number of different questions answered so far."""
        return len(self._rates)

    @property
    def current_rate(self) -> float:
        """The probability of an error at the next new question."""
        progress = min(1.0, self.n_answered / (self.n_questions - 1))
        return (1 - progress) * self.rate + progress * self.final_rate

    def answer(self, question: Question) -> Answer | OddOne | Piles:
        """Answer a question, possibly wrongly. A repeated question gets its first answer.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Answer, OddOne or Piles
            The answer; UNSURE if a class is unknown.
        """
        self._truth.answer(question)  # raises an error if a row does not exist, before the question counts
        self._rates.setdefault(question.key, self.current_rate)
        return super().answer(question)

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        return self._rates[question.key]
