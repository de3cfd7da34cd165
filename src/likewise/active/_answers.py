"""The answers to questions about rows."""

from __future__ import annotations

import enum
import numbers
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from likewise.exceptions import SupervisionError

_LONGEST_NAME = 200


def is_row_number(row: Any) -> bool:
    """Return True for an integer of at least 0."""
    return isinstance(row, numbers.Integral) and not isinstance(row, bool) and int(row) >= 0


def check_row_numbers(rows: Iterable[Any]) -> tuple[int, ...]:
    """Return row numbers as a tuple of int; raise a SupervisionError if there is anything else."""
    given = tuple(rows)
    if not all(map(is_row_number, given)):
        raise SupervisionError(f"expected row numbers, integers from 0; got {given!r}.")
    return tuple(int(row) for row in given)


def _sort_rows(rows: Any) -> tuple[int, ...]:
    """Return one or several row numbers as a sorted tuple without duplicates."""
    if not isinstance(rows, Iterable):
        rows = (rows,)
    return tuple(sorted(set(check_row_numbers(rows))))


class Answer(enum.StrEnum):
    """The answers to questions that are a single word.

    ========= =================================================================================
    question  possible answers
    ========= =================================================================================
    pair      SAME, DIFFERENT, UNSURE
    triplet   AB, AC or BC, the two rows of (a, b, c) that belong together; NEITHER if all three
              belong together or no two of them do; UNSURE
    odd       an :class:`OddOne`; SAME if all rows belong together; NEITHER if there is no single
              odd one; UNSURE
    piles     :class:`Piles`; UNSURE
    placement an :class:`InGroup`; NEW if the row belongs to none of the groups shown; UNSURE
    members   :class:`Unlike`; SAME if all rows belong with the reference row; UNSURE
    groups    SAME, DIFFERENT, UNSURE
    label     a :class:`Named`; UNSURE
    ========= =================================================================================

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
    NEW = "NEW"

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
        object.__setattr__(self, "row", check_row_numbers([self.row])[0])

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
            piles = [check_row_numbers(pile) for pile in self.groups]
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


@dataclass(frozen=True)
class InGroup:
    """The answer to a placement: the row belongs to the group of this reference row.

    Parameters
    ----------
    references : int or sequence of int
        The reference row of the group. Several if the question shows one group twice: the row then belongs
        to each of them, so they are the same group. They are stored as a sorted tuple.

    Examples
    --------
    >>> from likewise.active import InGroup, Question
    >>> Question.placement(7, [4, 1]).check_answer(1) == InGroup(1)
    True
    >>> InGroup([4, 1]).references
    (1, 4)
    """

    references: tuple[int, ...]

    def __init__(self, references: int | Iterable[int]) -> None:
        rows = _sort_rows(references)
        if not rows:
            raise SupervisionError("InGroup needs the reference row of a group; use NEW if there is none.")
        object.__setattr__(self, "references", rows)

    def __str__(self) -> str:
        return f"IN {' = '.join(map(str, self.references))}"


@dataclass(frozen=True)
class Unlike:
    """The answer to a question about members: the rows that do not belong with the reference row.

    The other rows belong with it. Nothing is known about these rows among each other.

    Parameters
    ----------
    rows : int or iterable of int
        The rows. They are stored as a sorted tuple.

    Examples
    --------
    >>> from likewise.active import Question, Unlike
    >>> Question.members(4, [1, 7, 9]).check_answer([9, 1]) == Unlike([1, 9])
    True
    """

    rows: tuple[int, ...]

    def __init__(self, rows: int | Iterable[int]) -> None:
        object.__setattr__(self, "rows", _sort_rows(rows))

    def __str__(self) -> str:
        return f"UNLIKE {' '.join(map(str, self.rows))}"


@dataclass(frozen=True)
class Named:
    """The answer to a label question: the name of the group of a row.

    Rows with equal names belong together, and rows with different names do not.

    Parameters
    ----------
    name : str
        The name, of at most 200 characters. Unicode is normalized (NFC), and white space, including line
        ends, becomes single spaces. Upper and lower case differ. Empty names and control characters raise
        a SupervisionError.

    Examples
    --------
    >>> from likewise.active import Named
    >>> Named("  winter   wren ").name
    'winter wren'
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise SupervisionError(f"a name must be a string, got {self.name!r}. Convert it with str().")
        name = " ".join(unicodedata.normalize("NFC", self.name).split())
        if not name or len(name) > _LONGEST_NAME:
            shown = repr(name) if len(name) < 50 else f"{len(name)} characters"
            raise SupervisionError(f"a name must have 1 to {_LONGEST_NAME} characters, got {shown}.")
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
            raise SupervisionError(f"the name {name!r} contains a control character. Leave it out.")
        object.__setattr__(self, "name", name)

    def __str__(self) -> str:
        return self.name


AnswerValue = Answer | OddOne | Piles | InGroup | Unlike | Named
