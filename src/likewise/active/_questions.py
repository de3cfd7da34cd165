"""Questions about rows, their answers, and replies, which add the annotator, the time and the duration."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, combinations, product, zip_longest
from typing import Any, Literal, get_args

import numpy as np

from likewise._event_log import list_relations
from likewise._reasons import Reason
from likewise._repr_html import render_table
from likewise.active._answers import (
    Answer,
    AnswerValue,
    InGroup,
    Named,
    OddOne,
    Piles,
    Unlike,
    check_row_numbers,
    is_row_number,
)
from likewise.base import Rule
from likewise.exceptions import SupervisionError

QuestionKind = Literal["pair", "triplet", "odd", "piles", "placement", "members", "groups", "label"]
Key = tuple[str, tuple[int, ...]]
Relation = tuple[int, int, bool]  # two rows, and whether they belong together
_NO_REASON = Reason()
LARGEST_TRAY = 12  # people cannot compare more items than this at once
MOST_GROUPS = 7  # a placement shows at most this many groups
# The seconds that an answer takes, before any was measured. Assumptions, not measurements.
SECONDS_PER_KIND: dict[str, float] = {
    "pair": 2.5,
    "triplet": 4.0,
    "odd": 4.0,
    "piles": 8.0,
    "placement": 5.0,
    "members": 4.0,
    "groups": 4.0,
    "label": 6.0,
}

_WORDS: dict[str, tuple[Answer, ...]] = {
    "pair": (Answer.SAME, Answer.DIFFERENT, Answer.UNSURE),
    "triplet": (Answer.UNSURE, Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER),
    "odd": (Answer.SAME, Answer.UNSURE, Answer.NEITHER),
    "piles": (Answer.UNSURE,),
    "placement": (Answer.NEW, Answer.UNSURE),
    "members": (Answer.SAME, Answer.UNSURE),
    "groups": (Answer.SAME, Answer.DIFFERENT, Answer.UNSURE),
    "label": (Answer.UNSURE,),
}
_SIZES = {
    "pair": (2, 2),
    "triplet": (3, 3),
    "odd": (3, LARGEST_TRAY),
    "piles": (2, LARGEST_TRAY),
    "placement": (2, 1 + MOST_GROUPS),
    "members": (2, LARGEST_TRAY),
    "groups": (2, 2),
    "label": (1, 1),
}
_CALLED = {
    "pair": "a pair",
    "triplet": "a triplet",
    "odd": "an odd one out",
    "piles": "a tray",
    "placement": "a placement",
    "members": "a question about members",
    "groups": "a question about two groups",
    "label": "a label question",
}
_ALSO = {
    "pair": ", or yes or no",
    "triplet": ", where A, B and C are the rows",
    "odd": ", or the number of the odd row",
    "piles": ", or piles such as [[0, 3], [1]]",
    "placement": ", or the reference row of a group",
    "members": ", or a list of the rows that do not belong with the first",
    "groups": ", or yes or no",
    "label": ", or a name",
}
_SORTED = {"pair", "odd", "piles"}  # the order of other questions has a meaning, or is kept for display
_FIRST_APART = {"placement", "members"}  # their first row has another role than the others
_YES_NO = {
    **dict.fromkeys(("YES", "Y", "TRUE"), Answer.SAME),
    **dict.fromkeys(("NO", "N", "FALSE"), Answer.DIFFERENT),
}
_ODD_ONE = {Answer.AB: 2, Answer.AC: 1, Answer.BC: 0}
_LEAVES_OUT = {place: answer for answer, place in _ODD_ONE.items()}


def _check_rows(kind: str, rows: Any) -> tuple[int, ...]:
    given = check_row_numbers(rows)
    least, most = _SIZES[kind]
    if not least <= len(given) <= most or len(set(given)) < len(given):
        if kind in _FIRST_APART and len(given) == 1:
            needed = {
                "placement": f"1 to {MOST_GROUPS} groups to choose from; got no group for row {given[0]}. "
                "Pass a reference row for each group; Question.label asks for a name without groups.",
                "members": f"1 to {most - 1} rows to compare with the reference row; got only the reference "
                f"row {given[0]}. Pass at least one row that may belong to its group.",
            }
            raise SupervisionError(f"{_CALLED[kind]} needs {needed[kind]}")
        size = str(least) if least == most else f"{least} to {most}"
        if kind == "placement":
            size = f"one row and 1 to {MOST_GROUPS} groups, {size}"
        word = "row" if most == 1 else "different rows"
        raise SupervisionError(f"{_CALLED[kind]} has {size} {word}; got {given!r}.")
    return tuple(sorted(given)) if kind in _SORTED else given


def _list_shown(examples: Any, names: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the examples and names of groups as tuples; None becomes an empty tuple."""
    return () if examples is None else tuple(map(tuple, examples)), () if names is None else tuple(names)


def _is_list(answer: Any, standard: type) -> bool:
    """Return True for an answer in its standard form, and for a collection."""
    return isinstance(answer, standard | list | tuple | set | frozenset | np.ndarray)


def _is_word(answer: Any) -> bool:
    """Return True for a word of :class:`Answer`."""
    return isinstance(answer, str) and answer.strip().upper() in Answer.__members__


def _read_reason(reason: Reason | str) -> Reason:
    return Reason.from_text(reason) if isinstance(reason, str) else reason


@dataclass(frozen=True)
class Question:
    """A question about rows, such as whether two of them belong together.

    Questions about groups refer to a group by a reference row, which is known to be in it. The answer
    therefore keeps its meaning if groups change after the question was shown.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd", "piles", "placement", "members", "groups", "label"}
        "pair" asks whether two rows belong together, "triplet" which two of three rows do, "odd" which of 3
        to 12 rows does not belong with the others, and "piles" which of 2 to 12 rows belong together.
        "placement" asks to which of 1 to 7 groups a row belongs, "members" which of 1 to 11 rows do not
        belong with a reference row, "groups" whether two groups are the same, and "label" for the name of
        the group of a row.
    rows : tuple of int
        The rows. They are sorted in a pair, an odd one out and a tray. A placement has the row, then a
        reference row for each group; a question about members has the reference row, then the others; a
        question about two groups has their reference rows.
    score : float, optional
        The score that the strategy gave the question. Scores of different strategies cannot be compared.
    reason : Reason or str, default=Reason()
        Why the question was chosen. A string becomes a :class:`Reason` without placeholders.
    examples : tuple of tuple of int, default=()
        Typical rows of each group in the question, in the order of the groups, to show the groups to a
        person. Empty if the groups are shown by their reference rows.
    names : tuple of (str or None), default=()
        The name of each group in the question, None for a group without a name; for a label question the
        names in use, which are offered. Like `examples` they are for display and not part of `key`.

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
    examples: tuple[tuple[int, ...], ...] = ()
    names: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(QuestionKind):
            raise SupervisionError(f"kind must be one of {get_args(QuestionKind)}, got {self.kind!r}.")
        object.__setattr__(self, "rows", _check_rows(self.kind, self.rows))
        if self.score is not None:
            if not math.isfinite(self.score):
                raise SupervisionError(f"the score of a question must be finite, got {self.score}.")
            object.__setattr__(self, "score", float(self.score))
        object.__setattr__(self, "reason", _read_reason(self.reason))
        if self.examples or self.names:
            self._check_groups_shown()

    def _check_groups_shown(self) -> None:
        """Check that there are examples and a name for each group in the question, or for none."""
        n_groups = len(self.references)
        examples = tuple(check_row_numbers(rows) for rows in self.examples)
        names = tuple(self.names)
        if examples and len(examples) != max(n_groups, self.kind == "label"):
            raise SupervisionError(
                f"expected examples for each of the {n_groups} groups in {_CALLED[self.kind]}; got "
                f"{len(examples)} lists of rows."
            )
        if names and len(names) != n_groups and self.kind != "label":
            raise SupervisionError(
                f"expected a name or None for each of the {n_groups} groups in {_CALLED[self.kind]}; got "
                f"{names!r}."
            )
        if not all(isinstance(name, str | None) for name in names):
            raise SupervisionError(f"names of groups must be strings or None, got {names!r}.")
        object.__setattr__(self, "examples", examples)
        object.__setattr__(self, "names", names)

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

    @classmethod
    def placement(
        cls,
        row: int,
        groups: Iterable[int],
        *,
        examples: Iterable[Iterable[int]] | None = None,
        names: Iterable[str | None] | None = None,
        score: float | None = None,
        reason: Reason | str = _NO_REASON,
    ) -> Question:
        """Make the question to which of several groups a row belongs, or to a new one.

        Parameters
        ----------
        row : int
            The row to place.
        groups : iterable of int
            A reference row for each group shown, 1 to 7, the most probable group first.
        examples : iterable of iterable of int, optional
            Typical rows of each group, to show it.
        names : iterable of (str or None), optional
            The name of each group.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "placement".

        Examples
        --------
        >>> from likewise.active import Question, Reply
        >>> Reply(Question.placement(9, [4, 1]), 4).relations
        ((9, 4, True), (9, 1, False))
        >>> Reply(Question.placement(9, [4, 1]), "NEW").relations
        ((9, 4, False), (9, 1, False))
        """
        return cls("placement", (row, *groups), score, _read_reason(reason), *_list_shown(examples, names))

    @classmethod
    def members(
        cls,
        reference: int,
        rows: Iterable[int],
        *,
        examples: Iterable[Iterable[int]] | None = None,
        names: Iterable[str | None] | None = None,
        score: float | None = None,
        reason: Reason | str = _NO_REASON,
    ) -> Question:
        """Make the question which of several rows do not belong with a reference row.

        Parameters
        ----------
        reference : int
            The reference row of the group.
        rows : iterable of int
            The rows that may belong to the group, 1 to 11.
        examples : iterable of iterable of int, optional
            One list with typical rows of the group, to show it.
        names : iterable of (str or None), optional
            One entry, the name of the group.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "members".

        Examples
        --------
        >>> from likewise.active import Question, Reply
        >>> Reply(Question.members(4, [1, 9]), [9]).relations
        ((4, 1, True), (4, 9, False))
        """
        shown = _list_shown(examples, names)
        return cls("members", (reference, *rows), score, _read_reason(reason), *shown)

    @classmethod
    def groups(
        cls,
        a: int,
        b: int,
        *,
        examples: Iterable[Iterable[int]] | None = None,
        names: Iterable[str | None] | None = None,
        score: float | None = None,
        reason: Reason | str = _NO_REASON,
    ) -> Question:
        """Make the question whether two groups are the same.

        Parameters
        ----------
        a, b : int
            The reference rows of the groups.
        examples : iterable of iterable of int, optional
            Typical rows of either group, to show it.
        names : iterable of (str or None), optional
            The names of the two groups.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "groups".
        """
        return cls("groups", (a, b), score, _read_reason(reason), *_list_shown(examples, names))

    @classmethod
    def label(
        cls,
        row: int,
        *,
        examples: Iterable[int] = (),
        names: Iterable[str] = (),
        score: float | None = None,
        reason: Reason | str = _NO_REASON,
    ) -> Question:
        """Make the question for the name of the group of a row.

        Parameters
        ----------
        row : int
            The row.
        examples : iterable of int, default=()
            Other rows of the group, to show it.
        names : iterable of str, default=()
            The names in use, which are offered.
        score : float, optional
            The score that the strategy gave the question.
        reason : Reason or str, default=Reason()
            Why the question was chosen.

        Returns
        -------
        Question
            A question of kind "label".
        """
        others = tuple(examples)
        shown = ((others,) if others else (), tuple(names))
        return cls("label", (row,), score, _read_reason(reason), *shown)

    @property
    def references(self) -> tuple[int, ...]:
        """The reference rows of the groups in the question; empty if it is about rows only.

        Examples
        --------
        >>> from likewise.active import Question
        >>> Question.placement(9, [4, 1]).references, Question.members(4, [1, 9]).references
        ((4, 1), (4,))
        """
        if self.kind == "placement":
            return self.rows[1:]
        if self.kind == "members":
            return self.rows[:1]
        return self.rows if self.kind == "groups" else ()

    @cached_property
    def key(self) -> Key:
        """The identity of the question: its kind and its rows, without what is only shown.

        The rows are sorted, but the row to place, or the reference row of members, stays first.
        """
        if self.kind in _FIRST_APART:
            return self.kind, (self.rows[0], *sorted(self.rows[1:]))
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
        if self.kind in ("placement", "members", "groups", "label"):
            return self._describe_groups(name, names, noun)
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

    def _describe_groups(self, name: Callable[[int], str], rows: list[str], noun: str) -> str:
        """Return a question about groups as a sentence; groups are called by name, or by reference row."""
        one = noun.replace("rows", "row")
        called = self.names if self.references else ()
        groups = [
            f"{title} ({one}{name(row)})" if title else f"the group of {one}{name(row)}"
            for row, title in zip_longest(self.references, called)
        ]
        if self.kind == "placement":
            return f"Does {one}{rows[0]} belong to {', '.join(groups)} or a new group?"
        if self.kind == "groups":
            return f"Are {groups[0]} and {groups[1]} the same?"
        if self.kind == "label":
            return f"What is the name of the group of {one}{rows[0]}?"
        if len(rows) == 2:
            return f"Does {one}{rows[1]} belong to {groups[0]}?"
        listed = f"{', '.join(rows[1:-1])} and {rows[-1]}"
        return f"Which of {noun}{listed} do not belong to {groups[0]}?"

    def renumber(self, number: Callable[[int], int]) -> Question:
        """Replace the row numbers, also those in the reason and the examples.

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
        examples = tuple(tuple(map(number, shown)) for shown in self.examples)
        return replace(self, rows=rows, reason=self.reason.renumber(number), examples=examples)

    def _repr_html_(self) -> str:
        rows = [("answers", ", ".join(_WORDS[self.kind]) + _ALSO.get(self.kind, ""))]
        rows += [("why", str(self.reason))] if self.reason else []
        rows += [("score", f"{self.score:.4g}")] if self.score is not None else []
        return render_table(self.text, (), rows)

    def check_answer(self, answer: Any) -> AnswerValue:
        """Convert an answer to its standard form. Raise a SupervisionError if it does not fit the question.

        Parameters
        ----------
        answer : Answer, OddOne, Piles, InGroup, Unlike, Named, str, bool, int or list
            The answer. Words become an :class:`Answer`, the number of the odd row becomes an
            :class:`OddOne`, and a list of lists becomes :class:`Piles`. For a pair and for two groups, yes
            and True mean SAME, and no and False mean DIFFERENT. Piles with fewer than two rows in total
            become UNSURE. For a placement, a reference row becomes an :class:`InGroup`. For members, a list
            of rows becomes :class:`Unlike`, or SAME if it is empty. For a label question, a string becomes
            a :class:`Named`; pass a name such as "new", which is also a word of :class:`Answer`, as
            ``Named("new")``.

        Returns
        -------
        Answer, OddOne, Piles, InGroup, Unlike or Named
            The answer in its standard form.

        Examples
        --------
        >>> from likewise.active import Question
        >>> str(Question.pair(0, 1).check_answer("yes")), str(Question.pair(0, 1).check_answer(False))
        ('SAME', 'DIFFERENT')
        """
        if self.kind == "odd" and (isinstance(answer, OddOne) or is_row_number(answer)):
            one = answer if isinstance(answer, OddOne) else OddOne(answer)
            self._check_asked([one.row])
            return one
        if self.kind == "piles" and isinstance(answer, Piles | list | tuple):
            piles = answer if isinstance(answer, Piles) else Piles(tuple(answer))
            rows = list(chain.from_iterable(piles.groups))
            self._check_asked(rows)
            return piles if len(rows) > 1 else Answer.UNSURE
        if self.kind == "placement" and (_is_list(answer, InGroup) or is_row_number(answer)):
            chosen = answer if isinstance(answer, InGroup) else InGroup(answer)
            self._check_asked(chosen.references)
            if self.rows[0] in chosen.references:
                raise SupervisionError(
                    f"row {self.rows[0]} is the row to place; expected the reference row of a group, one of "
                    f"{', '.join(map(str, self.references))}, or NEW or UNSURE."
                )
            return chosen
        if self.kind == "members" and (_is_list(answer, Unlike) or is_row_number(answer)):
            odd = answer if isinstance(answer, Unlike) else Unlike(answer)
            self._check_asked(odd.rows)
            if self.rows[0] in odd.rows:
                raise SupervisionError(
                    f"row {self.rows[0]} is the reference row of the group; expected some of the rows "
                    f"{', '.join(map(str, self.rows[1:]))}. Answer UNSURE if it represents no group."
                )
            return odd if odd.rows else Answer.SAME
        if self.kind == "label" and isinstance(answer, str | Named) and not _is_word(answer):
            return answer if isinstance(answer, Named) else Named(answer)
        word = answer.strip().upper() if isinstance(answer, str) else answer
        if isinstance(answer, bool | np.bool_):
            word = "YES" if answer else "NO"
        if self.kind in ("pair", "groups") and isinstance(word, str) and word in _YES_NO:
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


# Many replies, as those of several people to a question, share these; each would need a kilobyte of its own.
@lru_cache(maxsize=8192)
def _list_piles(kind: str, rows: tuple[int, ...], answer: AnswerValue) -> tuple[tuple[int, ...], ...]:
    """Return an answer as piles; see :attr:`Reply.piles`."""
    if kind in ("placement", "members", "label"):
        return ()
    if isinstance(answer, Piles):
        return answer.groups
    if answer is Answer.SAME:
        return (tuple(sorted(rows)),)
    if answer is Answer.DIFFERENT:
        return tuple((row,) for row in sorted(rows))
    if isinstance(answer, OddOne) or answer in _ODD_ONE:
        odd = answer.row if isinstance(answer, OddOne) else rows[_ODD_ONE[answer]]
        return Piles((tuple(row for row in rows if row != odd), (odd,))).groups
    return ()


@lru_cache(maxsize=8192)
def _list_answer_relations(kind: str, rows: tuple[int, ...], answer: AnswerValue) -> tuple[Relation, ...]:
    """Return what an answer states about pairs of rows; see :attr:`Reply.relations`."""
    if isinstance(answer, InGroup):
        return tuple(list_relations(kind, rows, {"groups": answer.references}))
    if isinstance(answer, Unlike):
        return tuple(list_relations(kind, rows, {"unlike": answer.rows}))
    if kind in ("placement", "members"):
        return tuple(list_relations(kind, rows, answer))
    piles = _list_piles(kind, rows, answer)
    together = ((i, j, True) for pile in piles for i, j in combinations(pile, 2))
    across = (product(one, other) for one, other in combinations(piles, 2))
    return (*together, *((i, j, False) for i, j in chain.from_iterable(across)))


@dataclass(frozen=True)
class Reply:
    """An answer to a question, with the annotator, the time and the duration.

    Parameters
    ----------
    question : Question
        The question.
    answer : Answer, OddOne, Piles, InGroup, Unlike or Named
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

    @property
    def piles(self) -> tuple[tuple[int, ...], ...]:
        """The answer as piles: rows of one pile belong together, rows of two piles do not.

        Empty for answers that piles cannot express: UNSURE, NEITHER, and the answers to placements, members
        and label questions; see `relations`.

        Examples
        --------
        >>> from likewise.active import OddOne, Question, Reply
        >>> Reply(Question.pair(0, 4), "DIFFERENT").piles
        ((0,), (4,))
        >>> Reply(Question.odd([0, 1, 4]), OddOne(1)).piles
        ((0, 4), (1,))
        """
        return _list_piles(self.question.kind, self.question.rows, self.answer)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What the answer states about pairs of rows: each pair, and whether the two rows belong together.

        Empty for UNSURE, for NEITHER, and for a name, which relates its row to the rows that other answers
        name; see :func:`collect_relations`.

        Examples
        --------
        >>> from likewise.active import Question, Reply
        >>> Reply(Question.triplet(0, 1, 4), "AC").relations
        ((0, 4, True), (0, 1, False), (4, 1, False))
        >>> Reply(Question.members(0, [1, 4]), "SAME").relations
        ((0, 1, True), (0, 4, True))
        """
        return _list_answer_relations(self.question.kind, self.question.rows, self.answer)

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
        elif isinstance(answer, InGroup):
            answer = InGroup(map(number, answer.references))
        elif isinstance(answer, Unlike):
            answer = Unlike(map(number, answer.rows))
        return replace(self, question=self.question.renumber(number), answer=answer)

    def to(self, question: Question) -> AnswerValue:
        """Return the answer to the same question with its rows in another order.

        Parameters
        ----------
        question : Question
            The question with the same kind and rows. Any other question raises a SupervisionError.

        Returns
        -------
        Answer, OddOne, Piles, InGroup, Unlike or Named
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
    last = max(chain(question.rows, *question.examples))
    if last >= n_samples:
        raise SupervisionError(
            f"the question contains row {last}, but the rows are numbered 0 to "
            f"{n_samples - 1}. It may be a question of another interview."
        )
