"""Questions about rows, their answers, and replies, which add the annotator, the time and the duration."""

from __future__ import annotations

import datetime
import enum
import math
import numbers
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from likewise._reasons import Reason
from likewise._repr_html import render_table
from likewise.base import Rule
from likewise.exceptions import SupervisionError

QuestionKind = Literal["pair", "triplet", "odd", "piles"]
Key = tuple[str, tuple[int, ...]]
_NO_REASON = Reason()
LARGEST_TRAY = 12  # people cannot compare more items than this at once


class Answer(enum.StrEnum):
    """The answers to questions that are a single word.

    ======== ==================================================================================
    question possible answers
    ======== ==================================================================================
    pair     SAME, DIFFERENT, UNSURE
    triplet  AB, AC or BC, the two rows of (a, b, c) that belong together; NEITHER if all three
             belong together or no two of them do; UNSURE
    odd      an :class:`OddOne`; SAME if all rows belong together; NEITHER if there is no single
             odd one; UNSURE
    piles    :class:`Piles`; UNSURE
    ======== ==================================================================================

    UNSURE adds no information about the rows; it does not mean that both answers are equally probable.

    Examples
    --------
    >>> from likewise.active import Answer
    >>> Answer("SAME") is Answer.SAME, Answer.from_word("different")
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
    def from_word(cls, word: Any) -> Answer:
        """Return the answer with a given name.

        "yes", "no", True and False are not names of answers; :meth:`Question.check_answer` accepts them for
        pairs.

        Parameters
        ----------
        word : str
            The name of the answer, in upper or lower case. Anything else raises a SupervisionError.

        Returns
        -------
        Answer
            The answer.
        """
        if isinstance(word, str) and word.strip().upper() in cls.__members__:
            return cls[word.strip().upper()]
        raise SupervisionError(f"{word!r} is not an answer; expected one of {', '.join(cls.__members__)}.")


@dataclass(frozen=True)
class OddOne:
    """The answer that one row does not belong with the others, and that the others belong together.

    Parameters
    ----------
    row : int
        The odd row.

    Examples
    --------
    >>> from likewise.active import OddOne, Question
    >>> Question.odd([4, 1, 7]).check_answer(7) == OddOne(7)
    True
    """

    row: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "row", _as_row_numbers([self.row])[0])

    def __str__(self) -> str:
        return f"ODD {self.row}"


@dataclass(frozen=True)
class Piles:
    """The answer that sorts rows into piles: rows of one pile belong together, rows of two piles do not.

    Rows of the question that are in no pile were set aside; nothing is known about them. The order of
    the piles and of the rows in a pile does not matter.

    Parameters
    ----------
    groups : sequence of sequence of int
        The rows of each pile. They are stored as sorted tuples.

    Examples
    --------
    >>> from likewise.active import Piles
    >>> Piles([[7, 3], [1]]).groups
    ((1,), (3, 7))
    """

    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        try:
            piles = [_as_row_numbers(pile) for pile in self.groups]
        except TypeError as error:
            raise SupervisionError(
                f"piles are lists of row numbers, such as [[0, 3], [1]]; got {self.groups!r}."
            ) from error
        if not all(piles):
            raise SupervisionError(f"a pile is empty: {self.groups!r}. Leave it out.")
        rows = list(chain.from_iterable(piles))
        if twice := sorted({row for row in rows if rows.count(row) > 1}):
            raise SupervisionError(
                f"row {twice[0]} occurs twice in {self.groups!r}; expected each row in one pile."
            )
        object.__setattr__(self, "groups", tuple(sorted(tuple(sorted(pile)) for pile in piles)))

    def __str__(self) -> str:
        return " | ".join(" ".join(map(str, pile)) for pile in self.groups)


AnswerValue = Answer | OddOne | Piles

_WORDS: dict[str, tuple[Answer, ...]] = {
    "pair": (Answer.SAME, Answer.DIFFERENT, Answer.UNSURE),
    "triplet": (Answer.UNSURE, Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER),
    "odd": (Answer.SAME, Answer.UNSURE, Answer.NEITHER),
    "piles": (Answer.UNSURE,),
}
_SIZES = {"pair": (2, 2), "triplet": (3, 3), "odd": (3, LARGEST_TRAY), "piles": (2, LARGEST_TRAY)}
_CALLED = {"pair": "a pair", "triplet": "a triplet", "odd": "an odd one out", "piles": "a tray"}
_ALSO = {
    "pair": ", or yes or no",
    "triplet": ", where A, B and C are the rows",
    "odd": ", or the number of the odd row",
    "piles": ", or piles such as [[0, 3], [1]]",
}
_YES_NO = {
    **dict.fromkeys(("YES", "Y", "TRUE"), Answer.SAME),
    **dict.fromkeys(("NO", "N", "FALSE"), Answer.DIFFERENT),
}
_ODD_ONE = {Answer.AB: 2, Answer.AC: 1, Answer.BC: 0}
_LEAVES_OUT = {place: answer for answer, place in _ODD_ONE.items()}


def _is_row(row: Any) -> bool:
    return isinstance(row, numbers.Integral) and not isinstance(row, bool) and int(row) >= 0


def _as_row_numbers(rows: Iterable[Any]) -> tuple[int, ...]:
    given = tuple(rows)
    if not all(map(_is_row, given)):
        raise SupervisionError(f"expected row numbers, integers from 0; got {given!r}.")
    return tuple(int(row) for row in given)


def _check_rows(kind: str, rows: Any) -> tuple[int, ...]:
    given = _as_row_numbers(rows)
    least, most = _SIZES[kind]
    if not least <= len(given) <= most or len(set(given)) < len(given):
        size = str(least) if least == most else f"{least} to {most}"
        raise SupervisionError(f"{_CALLED[kind]} has {size} different rows; got {given!r}.")
    return given if kind == "triplet" else tuple(sorted(given))


def _read_reason(reason: Reason | str) -> Reason:
    return Reason.from_text(reason) if isinstance(reason, str) else reason


@dataclass(frozen=True)
class Question:
    """A question about rows: a pair, a triplet, the odd one out of several, or a tray to sort into piles.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd", "piles"}
        "pair" asks whether two rows belong together, "triplet" which two of three rows do, "odd" which of 3
        to 12 rows does not belong with the others, and "piles" which of 2 to 12 rows belong together.
    rows : tuple of int
        The rows. They are sorted, except in a triplet, because AB, AC and BC refer to their order.
    score : float, optional
        The score that the strategy gave the question. Scores of different strategies cannot be compared.
    reason : Reason or str, default=Reason()
        Why the question was chosen. A string becomes a :class:`Reason` without placeholders.

    Examples
    --------
    >>> from likewise.active import Question
    >>> Question.pair(7, 3, reason="They are neighbours in different clusters.").rows
    (3, 7)
    >>> Question.pair(3, 7).key == Question.pair(7, 3, score=0.5).key
    True
    """

    kind: QuestionKind
    rows: tuple[int, ...]
    score: float | None = None
    reason: Reason = _NO_REASON

    def __post_init__(self) -> None:
        if self.kind not in get_args(QuestionKind):
            raise SupervisionError(f"kind must be one of {get_args(QuestionKind)}, got {self.kind!r}.")
        object.__setattr__(self, "rows", _check_rows(self.kind, self.rows))
        if self.score is not None:
            if not math.isfinite(self.score):
                raise SupervisionError(f"the score of a question must be finite, got {self.score}.")
            object.__setattr__(self, "score", float(self.score))
        object.__setattr__(self, "reason", _read_reason(self.reason))

    @classmethod
    def pair(
        cls, i: int, j: int, *, score: float | None = None, reason: Reason | str = _NO_REASON
    ) -> Question:
        """Make the question whether two rows belong together.

        Parameters
        ----------
        i, j : int
            The two rows.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "pair".
        """
        return cls("pair", (i, j), score, _read_reason(reason))

    @classmethod
    def triplet(
        cls, a: int, b: int, c: int, *, score: float | None = None, reason: Reason | str = ""
    ) -> Question:
        """Make the question which two of three rows belong together.

        Parameters
        ----------
        a, b, c : int
            The three rows, in the order that the answers AB, AC and BC refer to.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=""
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "triplet".
        """
        return cls("triplet", (a, b, c), score, _read_reason(reason))

    @classmethod
    def odd(
        cls, rows: Iterable[int], *, score: float | None = None, reason: Reason | str = _NO_REASON
    ) -> Question:
        """Make the question which of several rows does not belong with the others.

        Parameters
        ----------
        rows : iterable of int
            The rows, 3 to 12.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "odd".
        """
        return cls("odd", tuple(rows), score, _read_reason(reason))

    @classmethod
    def piles(
        cls, rows: Iterable[int], *, score: float | None = None, reason: Reason | str = _NO_REASON
    ) -> Question:
        """Make the question which of several rows belong together: a tray to sort into piles.

        Parameters
        ----------
        rows : iterable of int
            The rows, 2 to 12.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "piles".
        """
        return cls("piles", tuple(rows), score, _read_reason(reason))

    @cached_property
    def key(self) -> Key:
        """The identity of the question: its kind and its sorted rows, without score and reason."""
        return self.kind, tuple(sorted(self.rows))

    @property
    def text(self) -> str:
        """The question as a sentence with row numbers; :meth:`~likewise.active.Interview.text` uses ids."""
        return self.to_text(str, "rows ")

    def to_text(self, name: Callable[[int], str], noun: str = "") -> str:
        """Return the question as a sentence.

        Parameters
        ----------
        name : callable
            Called with each row number; returns the name of the row.
        noun : str, default=""
            Text before the first name, such as "rows ".

        Returns
        -------
        str
            The question with the names of the rows.
        """
        names = [name(row) for row in self.rows]
        if self.kind == "triplet":
            names = [f"{each} ({letter})" for each, letter in zip(names, "ABC", strict=True)]
        listed = f"{noun}{', '.join(names[:-1])} and {names[-1]}"
        if self.kind == "pair":
            return f"Do {listed} belong together?"
        if self.kind == "triplet":
            return f"Which two of {listed} belong together?"
        if self.kind == "odd":
            return f"Which of {listed} does not belong with the others?"
        return f"Which of {listed} belong together? Sort them into piles."

    def renumber(self, number: Callable[[int], int]) -> Question:
        """Replace the row numbers, also those in the reason.

        Parameters
        ----------
        number : callable
            Called with each row number; returns the new one.

        Returns
        -------
        Question
            The same question about the new rows.
        """
        rows = tuple(map(number, self.rows))
        return replace(self, rows=rows, reason=self.reason.renumber(number))

    def _repr_html_(self) -> str:
        rows = [("answers", ", ".join(_WORDS[self.kind]) + _ALSO.get(self.kind, ""))]
        rows += [("why", str(self.reason))] if self.reason else []
        rows += [("score", f"{self.score:.4g}")] if self.score is not None else []
        return render_table(self.text, (), rows)

    def check_answer(self, answer: Any) -> AnswerValue:
        """Convert an answer to its standard form. Raise a SupervisionError if it does not fit the question.

        Parameters
        ----------
        answer : Answer, OddOne, Piles, str, bool, int or list of list of int
            The answer. Words become an :class:`Answer`, the number of the odd row becomes an
            :class:`OddOne`, and a list of lists becomes :class:`Piles`. For a pair, yes and True mean SAME,
            and no and False mean DIFFERENT. Piles with fewer than two rows in total become UNSURE.

        Returns
        -------
        Answer, OddOne or Piles
            The answer in its standard form.

        Examples
        --------
        >>> from likewise.active import Question
        >>> str(Question.pair(0, 1).check_answer("yes")), str(Question.pair(0, 1).check_answer(False))
        ('SAME', 'DIFFERENT')
        """
        if self.kind == "odd" and (isinstance(answer, OddOne) or _is_row(answer)):
            odd = answer if isinstance(answer, OddOne) else OddOne(answer)
            self._check_asked([odd.row])
            return odd
        if self.kind == "piles" and isinstance(answer, Piles | list | tuple):
            piles = answer if isinstance(answer, Piles) else Piles(tuple(answer))
            rows = list(chain.from_iterable(piles.groups))
            self._check_asked(rows)
            return piles if len(rows) > 1 else Answer.UNSURE
        word = answer.strip().upper() if isinstance(answer, str) else answer
        if isinstance(answer, bool | np.bool_):
            word = "YES" if answer else "NO"
        if self.kind == "pair" and isinstance(word, str) and word in _YES_NO:
            return _YES_NO[word]
        if not isinstance(word, str) or word not in map(str, _WORDS[self.kind]):
            words = ", ".join(_WORDS[self.kind]) + _ALSO[self.kind]
            given = word if isinstance(word, str) and word in Answer.__members__ else repr(answer)
            raise SupervisionError(f"{given} does not answer {_CALLED[self.kind]}; expected one of {words}.")
        return Answer[word]

    def _check_asked(self, rows: Iterable[int]) -> None:
        for row in rows:
            if row not in self.rows:
                listed = ", ".join(map(str, self.rows))
                raise SupervisionError(f"row {row} is not in the question, which is about rows {listed}.")


@dataclass(frozen=True)
class Reply:
    """An answer to a question, with the annotator, the time and the duration.

    Parameters
    ----------
    question : Question
        The question.
    answer : Answer, OddOne or Piles
        The answer; other forms are converted by :meth:`Question.check_answer`.
    annotator : str, optional
        The name of the person who answered.
    time : str or datetime, optional
        The time of the answer. It is stored as a string in ISO 8601 format.
    seconds : float, optional
        The number of seconds that the answer took.

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> reply = Reply(Question.pair(0, 4), "no", annotator="Ann", seconds=2.5)
    >>> reply.answer, reply.piles
    (<Answer.DIFFERENT: 'DIFFERENT'>, ((0,), (4,)))
    """

    question: Question
    answer: AnswerValue
    annotator: str | None = None
    time: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise SupervisionError(f"question must be a Question, got {self.question!r}.")
        object.__setattr__(self, "answer", self.question.check_answer(self.answer))
        if self.annotator is not None and not isinstance(self.annotator, str):
            raise SupervisionError(f"annotator must be a string, got {self.annotator!r}.")
        if isinstance(self.time, datetime.datetime):
            object.__setattr__(self, "time", self.time.isoformat())
        elif self.time is not None:
            try:
                datetime.datetime.fromisoformat(self.time)
            except (TypeError, ValueError) as error:
                raise SupervisionError(
                    f"time must be a datetime or a string such as 2026-03-09T12:00:00, got {self.time!r}."
                ) from error
        if self.seconds is not None:
            if not Rule.real(0).holds(self.seconds):
                raise SupervisionError(f"seconds must be a number of at least 0, got {self.seconds!r}.")
            object.__setattr__(self, "seconds", float(self.seconds))

    @cached_property
    def piles(self) -> tuple[tuple[int, ...], ...]:
        """The answer as piles: rows of one pile belong together, rows of two piles do not.

        Empty for UNSURE, and for NEITHER, which piles cannot express.

        Examples
        --------
        >>> from likewise.active import OddOne, Question, Reply
        >>> Reply(Question.pair(0, 4), "DIFFERENT").piles
        ((0,), (4,))
        >>> Reply(Question.odd([0, 1, 4]), OddOne(1)).piles
        ((0, 4), (1,))
        """
        rows, answer = self.question.rows, self.answer
        if isinstance(answer, Piles):
            return answer.groups
        if answer is Answer.SAME:
            return (rows,)
        if answer is Answer.DIFFERENT:
            return ((rows[0],), (rows[1],))
        if isinstance(answer, OddOne) or answer in _ODD_ONE:
            odd = answer.row if isinstance(answer, OddOne) else rows[_ODD_ONE[answer]]
            return Piles((tuple(row for row in rows if row != odd), (odd,))).groups
        return ()

    def renumber(self, number: Callable[[int], int]) -> Reply:
        """Replace the row numbers of the question and the answer.

        Parameters
        ----------
        number : callable
            Called with each row number; returns the new one.

        Returns
        -------
        Reply
            The same reply about the new rows.
        """
        answer = self.answer
        if isinstance(answer, OddOne):
            answer = OddOne(number(answer.row))
        elif isinstance(answer, Piles):
            answer = Piles(tuple(tuple(map(number, pile)) for pile in answer.groups))
        return replace(self, question=self.question.renumber(number), answer=answer)

    def to(self, question: Question) -> AnswerValue:
        """Return the answer to the same question with its rows in another order.

        Parameters
        ----------
        question : Question
            The question with the same kind and rows. Any other question raises a SupervisionError.

        Returns
        -------
        Answer, OddOne or Piles
            The answer in terms of the order of `question`.

        Examples
        --------
        >>> from likewise.active import Question, Reply
        >>> str(Reply(Question.triplet(4, 1, 0), "AC").to(Question.triplet(0, 1, 4)))
        'AC'
        >>> str(Reply(Question.triplet(4, 1, 0), "AB").to(Question.triplet(0, 1, 4)))
        'BC'
        """
        if question.key != self.question.key:
            raise SupervisionError(
                f"expected the same question in another order; asked “{question.text}”, answered "
                f"“{self.question.text}”."
            )
        if not isinstance(self.answer, Answer) or self.answer not in _ODD_ONE:
            return self.answer  # does not depend on the order of the rows
        odd = self.question.rows[_ODD_ONE[self.answer]]
        return _LEAVES_OUT[question.rows.index(odd)]


def get_keys(questions: Any) -> frozenset[Hashable]:
    """Return the keys of one or several questions."""
    several = [questions] if isinstance(questions, Question) else list(questions)
    for question in several:
        if not isinstance(question, Question):
            raise SupervisionError(f"expected questions; got {type(question).__name__}: {question!r}.")
    return frozenset(question.key for question in several)


def check_question(question: Any, n_samples: int) -> None:
    """Raise an error if an object is not a question about these rows."""
    if not isinstance(question, Question):
        raise SupervisionError(f"expected a Question, as ask() returns; got {question!r}.")
    if max(question.rows) >= n_samples:
        raise SupervisionError(
            f"the question contains row {max(question.rows)}, but the rows are numbered 0 to "
            f"{n_samples - 1}. It may be a question of another interview."
        )
