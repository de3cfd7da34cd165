"""Interviews with an oracle in the person's place: how good do the clusters get, answer by answer?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from sklearn.metrics import adjusted_rand_score

from likewise.active._interview import Interview
from likewise.active._questions import Answer, Question, Reply
from likewise.base import choice, either, integer
from likewise.exceptions import SupervisionError

FloatArray = npt.NDArray[np.float64]


class Oracle(Protocol):
    """Whoever answers, person or simulation."""

    def answer(self, question: Question) -> Answer | Reply:
        """Return the answer to a question."""


@dataclass(frozen=True, eq=False)
class Trace:
    """How an interview went.

    Attributes
    ----------
    n_answers : ndarray of shape (n_scores,)
        After so many answers a score was taken.
    scores : ndarray of shape (n_scores,)
        The scores.
    seconds : ndarray of shape (n_questions,)
        How long it took to choose each question, a fit included if the strategy looks at labels.
    """

    n_answers: npt.NDArray[np.int64]
    scores: FloatArray
    seconds: FloatArray

    @property
    def area(self) -> float:
        """The mean score over the answers: the area under the curve, divided by its width."""
        width = float(self.n_answers[-1] - self.n_answers[0])
        if width == 0:
            return float(self.scores[-1])
        return float(trapezoid(self.scores, self.n_answers) / width)

    def answers_to_reach(self, score: float) -> int | None:
        """Return after how many answers a score was first reached, None if it never was."""
        reached = np.flatnonzero(self.scores >= score)
        return int(self.n_answers[reached[0]]) if len(reached) else None


def simulate(
    interview: Interview,
    oracle: Oracle,
    budget: int | None = None,
    *,
    truth: Any,
    score: Callable[[Any, Any], float] = adjusted_rand_score,
    every: int = 1,
) -> Trace:
    """Put the questions of an interview to an oracle and score the clusters as the answers come in.

    The interview holds the answers afterwards. If the oracle raises, so does this, and the interview holds
    those that came before.

    Parameters
    ----------
    interview : Interview
        The interview; it may have answers already.
    oracle : object with a method ``answer(question)``
        See :mod:`likewise.oracles`.
    budget : int, optional
        The most answers, beside the interview's own budget. By default until there is nothing to ask.
    truth : array-like of shape (n_samples,)
        The true classes, for the scores.
    score : callable, default=adjusted_rand_score
        Called as ``score(truth, labels)``.
    every : int, default=1
        Score at the start, at the end, and after each so many answers. Where the strategy does not look at
        labels each score costs a fit.

    Examples
    --------
    >>> from likewise.active import Interview, RandomPairs, simulate
    >>> from likewise.oracles import LabelOracle
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs())
    >>> trace = simulate(interview, LabelOracle(y), budget=6, truth=y)
    >>> int(trace.n_answers[-1]) <= 6, float(trace.scores[-1]), interview.finished
    (True, 1.0, True)
    """
    classes = np.asarray(truth)
    if classes.shape != (interview.n_samples,):
        raise SupervisionError(
            f"truth must be one class a row, shape ({interview.n_samples},); got {classes.shape}."
        )
    for name, value, rule in (
        ("budget", budget, either(integer(0), choice(None))),
        ("every", every, integer(1)),
    ):
        if not rule.holds(value):
            raise ValueError(f"simulate: {name} must be {rule.wanted}, got {value!r}.")
    n_answers: list[int] = []
    scores: list[float] = []
    seconds: list[float] = []
    told = 0
    while True:
        question = None
        if budget is None or told < budget:
            start = time.perf_counter()
            question = interview.ask()
            seconds += [time.perf_counter() - start] * (question is not None)
        if question is None or told % every == 0:
            n_answers.append(interview.n_asked)
            scores.append(float(score(classes, interview.labels_)))
        if question is None:
            return Trace(np.array(n_answers, dtype=np.int64), np.array(scores), np.array(seconds))
        said = oracle.answer(question)
        if isinstance(said, Reply):
            interview.tell(
                question,
                said.to(question),
                annotator=said.annotator,
                time=said.time,
                seconds=said.seconds,
            )
        else:
            interview.tell(question, said)
        told += 1
