"""Simulated interviews: an oracle answers, and the clusters are scored as the answers come in."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from sklearn.metrics import adjusted_rand_score

from likewise.active._interview import Interview
from likewise.active._questions import AnswerValue, Question, Reply
from likewise.base import choice, either, integer
from likewise.exceptions import LikewiseError, OracleError, SupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike

FloatArray = npt.NDArray[np.float64]
Score = Callable[[Any, Any], float]


class Oracle(Protocol):
    """The protocol of oracles, which answer questions: any object with a method `answer`.

    No base class is needed. :mod:`likewise.oracles` has oracles that know the classes, simulate errors, call
    a function, or ask a person at a terminal.

    Examples
    --------
    >>> from likewise.active import Answer, Question
    >>> class SameParity:
    ...     def answer(self, question):
    ...         return Answer.SAME if sum(question.rows) % 2 == 0 else Answer.DIFFERENT
    >>> str(SameParity().answer(Question.pair(0, 4)))
    'SAME'
    """

    def answer(self, question: Question) -> AnswerValue | Reply:
        """Answer a question.

        Parameters
        ----------
        question : Question
            The question, usually a pair of rows.

        Returns
        -------
        Answer, OddOne, Piles or Reply
            The answer, or a reply that also states the annotator, the time and the duration.
        """


@dataclass(frozen=True, eq=False)
class Trace:
    """The scores of a simulated interview and the time per question.

    Parameters
    ----------
    n_answers : ndarray of shape (n_scores,)
        The numbers of answers at which the clusters were scored, ascending.
    scores : ndarray of shape (n_scores,)
        The score at each of these numbers.
    seconds : ndarray of shape (n_questions,)
        The seconds that the selection of each question took, including the fit if the strategy needs one.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Trace
    >>> trace = Trace(np.array([0, 10, 20]), np.array([0.2, 0.6, 0.8]), np.zeros(20))
    >>> trace.start, trace.final, round(trace.area, 2), trace.answers_to_reach(0.5)
    (0.2, 0.8, 0.55, 10)
    """

    n_answers: npt.NDArray[np.int64]
    scores: FloatArray
    seconds: FloatArray

    @property
    def start(self) -> float:
        """The first score, before the first question."""
        return float(self.scores[0])

    @property
    def final(self) -> float:
        """The last score."""
        return float(self.scores[-1])

    @property
    def area(self) -> float:
        """The area under the curve, divided by its width: the mean score over the answers."""
        width = float(self.n_answers[-1] - self.n_answers[0])
        if width == 0:
            return self.final
        return float(trapezoid(self.scores, self.n_answers) / width)

    def answers_to_reach(self, score: float) -> int | None:
        """Return the number of answers at which a score was first reached.

        Parameters
        ----------
        score : float
            The score to reach.

        Returns
        -------
        int or None
            The number of answers; None if the score was never reached.
        """
        reached = np.flatnonzero(self.scores >= score)
        return int(self.n_answers[reached[0]]) if len(reached) else None

    def get_scores_at(self, n_answers: Any) -> FloatArray:
        """Return the scores at given numbers of answers.

        Scores are interpolated linearly. After the last one the score stays constant, because an interview
        with nothing left to ask keeps its clusters.

        Parameters
        ----------
        n_answers : array-like of int
            The numbers of answers.

        Returns
        -------
        ndarray of float
            The score at each number of answers.
        """
        return np.asarray(np.interp(n_answers, self.n_answers, self.scores), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as lists that can be written as JSON.

        Returns
        -------
        dict
            The keys are "n_answers", "scores" and "seconds".
        """
        return {
            "n_answers": self.n_answers.tolist(),
            "scores": self.scores.tolist(),
            "seconds": self.seconds.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Trace:
        """Make a trace from the result of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            A mapping with the keys "n_answers", "scores" and "seconds".

        Returns
        -------
        Trace
            The same trace.
        """
        return cls(
            np.array(document["n_answers"], dtype=np.int64),
            np.array(document["scores"], dtype=np.float64),
            np.array(document["seconds"], dtype=np.float64),
        )


def simulate(
    interview: Interview,
    oracle: Oracle,
    budget: int | None = None,
    *,
    y_true: ArrayLike,
    score: Score = adjusted_rand_score,
    every: int = 1,
    progress: Callable[[int, int | None], Any] | None = None,
) -> Trace:
    """Let an oracle answer the questions of an interview, and score the clusters as the answers come in.

    The interview keeps the answers. If the oracle raises an error or returns an invalid answer, this function
    raises an error, and the interview keeps the answers until then.

    Parameters
    ----------
    interview : Interview
        The interview; it may have answers already.
    oracle : Oracle
        An object with a method ``answer(question)``, see :mod:`likewise.oracles`.
    budget : int, optional
        Maximum number of answers in this call; the budget of the interview applies as well. By default
        questions are asked until there is nothing left to ask.
    y_true : array-like of shape (n_samples,)
        The true class of each row, for the scores.
    score : callable, default=adjusted_rand_score
        Called as ``score(y_true, labels)``; returns a finite number.
    every : int, default=1
        The clusters are scored at the start, after every `every` answers, and at the end. If the strategy
        needs no model, each score costs a fit.
    progress : callable, optional
        Called as ``progress(n_answers, budget)`` after every answer.

    Returns
    -------
    Trace
        The scores and the time per question.

    Examples
    --------
    >>> from likewise.active import Interview, RandomPairs, simulate
    >>> from likewise.oracles import LabelOracle
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs())
    >>> trace = simulate(interview, LabelOracle(y), budget=6, y_true=y)
    >>> int(trace.n_answers[-1]) <= 6, trace.final, interview.finished
    (True, 1.0, True)
    """
    classes = check_y_true(y_true, interview.n_samples)
    for name, value, rule in (
        ("budget", budget, either(integer(0), choice(None))),
        ("every", every, integer(1)),
    ):
        if not rule.holds(value):
            raise ValueError(f"simulate: {name} must be {rule.expected}, got {value!r}.")
    check_oracle(oracle)
    n_answers: list[int] = []
    scores: list[float] = []
    seconds: list[float] = []
    n_answered = 0
    while True:
        question = None
        if budget is None or n_answered < budget:
            start = time.perf_counter()
            question = interview.ask()
            seconds += [time.perf_counter() - start] * (question is not None)
        if question is None or n_answered % every == 0:
            n_answers.append(interview.n_answers)
            scores.append(_finite_or_none(score(classes, interview.labels_)))
        if question is None:
            return Trace(np.array(n_answers, dtype=np.int64), np.array(scores), np.array(seconds))
        _answer_question(interview, oracle, question, n_answered)
        n_answered += 1
        if progress is not None:
            progress(n_answered, budget)


def check_y_true(y_true: Any, n_samples: int) -> npt.NDArray[Any]:
    """Return the classes as an array after checking that each row has one."""
    classes = np.asarray(y_true)
    if classes.shape != (n_samples,):
        raise SupervisionError(
            f"y_true must have the shape ({n_samples},), one class per row; got {classes.shape}."
        )
    unknown = np.flatnonzero(Supervision.from_labels(classes, missing=None).label_codes < 0)
    if len(unknown):
        raise SupervisionError(
            f"y_true has no class for {len(unknown)} row(s), the first of them row {unknown[0]}, but scores "
            "need known classes. Remove such rows from X and y_true."
        )
    return classes


def check_oracle(oracle: Any) -> None:
    """Raise a TypeError if an object has no method `answer`."""
    if isinstance(oracle, type) or not callable(getattr(oracle, "answer", None)):
        raise TypeError(
            f"expected an oracle with a method answer(question), such as LabelOracle(y); got {oracle!r}. "
            "CallableOracle(function) makes an oracle from a function."
        )


def _answer_question(interview: Interview, oracle: Oracle, question: Question, n_answered: int) -> None:
    """Let the oracle answer a question and record the answer; errors state the number of answers so far."""
    kept = f"The interview keeps the {n_answered} answer(s) until then."
    try:
        answer = oracle.answer(question)
        if isinstance(answer, Reply):
            interview.tell(
                question,
                answer.to(question),
                annotator=answer.annotator,
                time=answer.time,
                seconds=answer.seconds,
            )
        else:
            interview.tell(question, answer)
    except LikewiseError as error:
        error.add_note(kept)
        raise
    except Exception as error:  # oracles may raise anything
        raise OracleError(
            f"the oracle failed at “{question.text}”: {type(error).__name__}: {error}. {kept}", question
        ) from error


def _finite_or_none(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"the score of the clusters must be a finite number, got {number}.")
    return number
