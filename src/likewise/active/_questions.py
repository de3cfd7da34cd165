"""Questions about rows, the words that answer them, and replies: who said what, when, in how long."""

from __future__ import annotations

import datetime
import enum
import math
import numbers
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from likewise.exceptions import SupervisionError

QuestionKind = Literal["pair", "triplet"]
Key = tuple[str, tuple[int, ...]]


class Answer(enum.StrEnum):
    """What can be said to a question. UNSURE says nothing of the rows: it is not half a yes and half a no.

    A pair takes SAME, DIFFERENT and UNSURE. A triplet (a, b, c), "which two belong together?", takes AB, AC
    and BC, NEITHER if all three or no two of them do, and UNSURE.

    Examples
    --------
    >>> from likewise.active import Answer
    >>> Answer("SAME") is Answer.SAME, Answer.of("different")
    (True, <Answer.DIFFERENT: 'DIFFERENT'>)
    """

    SAME = "SAME"
    DIFFERENT = "DIFFERENT"
    UNSURE = "UNSURE"
    AB = "AB"
    AC = "AC"
    BC = "BC"
    NEITHER = "NEITHER"

    @classmethod
    def of(cls, word: Any) -> Answer:
        """Return the answer that a word names, in upper or lower case; anything else is refused."""
        if isinstance(word, str) and word.strip().upper() in cls.__members__:
            return cls[word.strip().upper()]
        raise SupervisionError(
            f"{word!r} is not an answer; an answer is a word, one of {', '.join(cls.__members__)}."
        )


_FITTING: dict[str, frozenset[Answer]] = {
    "pair": frozenset({Answer.SAME, Answer.DIFFERENT, Answer.UNSURE}),
    "triplet": frozenset({Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER, Answer.UNSURE}),
}
_ODD_ONE = {Answer.AB: 2, Answer.AC: 1, Answer.BC: 0}
_LEAVES_OUT = {place: answer for answer, place in _ODD_ONE.items()}


def _checked_rows(kind: str, rows: Any) -> tuple[int, ...]:
    given = tuple(rows)
    size = 2 if kind == "pair" else 3
    if any(isinstance(row, bool) or not isinstance(row, numbers.Integral) or row < 0 for row in given):
        raise SupervisionError(f"a question names rows by their numbers, 0 and up; got {given!r}.")
    if len(given) != size or len(set(given)) != size:
        raise SupervisionError(f"a {kind} is {size} different rows, got {given!r}.")
    return tuple(int(row) for row in given)


@dataclass(frozen=True)
class Question:
    """A question about two rows ("do they belong together?") or three ("which two belong together?").

    Parameters
    ----------
    kind : {"pair", "triplet"}
        What is asked.
    rows : tuple of int
        The rows. Those of a pair are put in ascending order; those of a triplet stay as they are given, since
        the words AB, AC and BC go by their order.
    score : float, optional
        What the strategy thought of the question; its meaning is the strategy's own.
    why : str, optional
        A sentence that says why it was chosen.

    Examples
    --------
    >>> from likewise.active import Question
    >>> Question.pair(7, 3, why="They are neighbours in different clusters.").rows
    (3, 7)
    >>> Question.pair(3, 7).key == Question.pair(7, 3, score=0.5).key
    True
    """

    kind: QuestionKind
    rows: tuple[int, ...]
    score: float | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(QuestionKind):
            raise SupervisionError(f"kind must be one of {get_args(QuestionKind)}, got {self.kind!r}.")
        rows = _checked_rows(self.kind, self.rows)
        object.__setattr__(self, "rows", tuple(sorted(rows)) if self.kind == "pair" else rows)
        if self.score is not None:
            if not math.isfinite(self.score):
                raise SupervisionError(f"the score of a question must be finite, got {self.score}.")
            object.__setattr__(self, "score", float(self.score))

    @classmethod
    def pair(cls, i: int, j: int, *, score: float | None = None, why: str = "") -> Question:
        """Make the question whether rows i and j belong together."""
        return cls("pair", (i, j), score, why)

    @classmethod
    def triplet(cls, a: int, b: int, c: int, *, score: float | None = None, why: str = "") -> Question:
        """Make the question which two of rows a, b and c belong together."""
        return cls("triplet", (a, b, c), score, why)

    @property
    def key(self) -> Key:
        """What tells the question from others, whatever its score and the order of its rows."""
        return self.kind, tuple(sorted(self.rows))

    @property
    def text(self) -> str:
        """The question in words."""
        if self.kind == "pair":
            return f"Do rows {self.rows[0]} and {self.rows[1]} belong together?"
        a, b, c = self.rows
        return f"Which two of rows {a} (A), {b} (B) and {c} (C) belong together?"

    def fitting(self, answer: Any) -> Answer:
        """Return the answer as an :class:`Answer`, or raise an error if it is no answer to this question."""
        said = Answer.of(answer)
        if said not in _FITTING[self.kind]:
            words = ", ".join(word for word in Answer if word in _FITTING[self.kind])
            raise SupervisionError(f"{said} does not answer a {self.kind}; wanted one of {words}.")
        return said


@dataclass(frozen=True)
class Reply:
    """An answer to a question, with who gave it, when (ISO 8601) and how many seconds it took."""

    question: Question
    answer: Answer
    annotator: str | None = None
    time: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise SupervisionError(f"a reply is to a Question, got {self.question!r}.")
        object.__setattr__(self, "answer", self.question.fitting(self.answer))
        if self.annotator is not None and not isinstance(self.annotator, str):
            raise SupervisionError(f"annotator must be a name, got {self.annotator!r}.")
        object.__setattr__(self, "time", _iso(self.time))
        if self.seconds is not None:
            object.__setattr__(self, "seconds", _duration(self.seconds))

    def to(self, question: Question) -> Answer:
        """Return what this reply says to the same question with its rows in another order.

        >>> from likewise.active import Question, Reply
        >>> str(Reply(Question.triplet(4, 1, 0), "AC").to(Question.triplet(0, 1, 4)))
        'AC'
        >>> str(Reply(Question.triplet(4, 1, 0), "AB").to(Question.triplet(0, 1, 4)))
        'BC'
        """
        if question.key != self.question.key:
            raise SupervisionError(f"asked “{question.text}”, answered “{self.question.text}”.")
        if self.answer not in _ODD_ONE:
            return self.answer
        odd = self.question.rows[_ODD_ONE[self.answer]]
        return _LEAVES_OUT[question.rows.index(odd)]


def _iso(time: Any) -> str | None:
    if isinstance(time, datetime.datetime):
        return time.isoformat()
    try:
        if time is not None:
            datetime.datetime.fromisoformat(time)
    except (TypeError, ValueError) as error:
        raise SupervisionError(
            f"time must be a datetime or a text such as 2026-03-09T12:00:00, got {time!r}."
        ) from error
    return time  # type: ignore[no-any-return]


def _duration(seconds: Any) -> float:
    number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not number or not math.isfinite(seconds) or seconds < 0:
        raise SupervisionError(f"seconds must be a number of at least 0, got {seconds!r}.")
    return float(seconds)


def keys_of(questions: Any) -> frozenset[Hashable]:
    """Return the keys of one question or several."""
    several = [questions] if isinstance(questions, Question) else list(questions)
    for question in several:
        if not isinstance(question, Question):
            raise SupervisionError(f"wanted questions, got {type(question).__name__}: {question!r}.")
    return frozenset(question.key for question in several)
