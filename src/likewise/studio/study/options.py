"""Options of a study: numbers of questions, share of difficult ones, and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple

from likewise.base import Rule
from likewise.exceptions import StudyError

Difficulty = Literal["easy", "difficult"]
QuestionKind = Literal["pair", "triplet"]

_MOST = 100_000  # per kind: more than anyone answers, and small enough for a pool in memory


class MarkedQuestion(NamedTuple):
    """A question whose difficulty was marked by hand, with item ids; `c` is None for a pair."""

    a: str
    b: str
    c: str | None
    difficulty: Difficulty


def _count(low: int) -> Rule:
    rule = Rule.integer(low)
    return Rule(f"an integer from {low} to {_MOST}", lambda value: bool(rule.holds(value) and value <= _MOST))


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(0 <= value <= 1)


_RULES = {
    "n_pairs": _count(1),
    "n_triplets": _count(1),
    "difficult": Rule("a number from 0 to 1", _is_share),
    "practice": _count(0),
    "blocks": _count(1),
    "reference": Rule("true or false", lambda value: isinstance(value, bool)),
    "sets": Rule("true or false", lambda value: isinstance(value, bool)),
    "seed": Rule(
        "an integer from 0 to 2^32 - 1", lambda value: bool(Rule.integer(0).holds(value) and value < 2**32)
    ),
}


@dataclass(frozen=True)
class StudyOptions:
    """Options of a study, stored as ``Settings.study`` of its project.

    Attributes
    ----------
    n_pairs, n_triplets : int, default=60 and 40
        Number of questions of each kind per participant and data set. Three pairs and two triplets show
        the same number of items; Pei (2017) used 195 and 130.
    difficult : float, default=0.5
        The share of difficult questions, the same for all participants.
    practice : int, default=4
        Number of practice questions of each kind, which show the right answer and do not count.
    blocks : int, default=1
        Number of tasks per kind. Two give pairs, triplets, triplets, pairs, so practice and
        fatigue affect both kinds equally.
    sets : bool, default=False
        Whether the items are of several data sets, each with its own tasks. The data set of an item is the
        part of its class before the first "/", as in "flowers/rose".
    reference : bool, default=True
        Whether to show a reference book: one example of each class, which is not asked about.
    seed : int, default=0
        Random seed of the questions.
    pool : tuple of MarkedQuestion
        Questions whose difficulty was marked by hand, from which all questions are drawn. If empty, a pool
        is drawn at random and divided by distances; see :mod:`likewise.studio.study.pool`.

    Examples
    --------
    >>> options = StudyOptions(n_pairs=195, n_triplets=130)
    >>> StudyOptions.from_json(options.to_json()) == options
    True
    >>> options.count_by_difficulty("pair")
    (97, 98)
    """

    n_pairs: int = 60
    n_triplets: int = 40
    difficult: float = 0.5
    practice: int = 4
    blocks: int = 1
    sets: bool = False
    reference: bool = True
    seed: int = 0
    pool: tuple[MarkedQuestion, ...] = ()

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            value = getattr(self, name)
            if not rule.holds(value):
                raise StudyError(f"{name} of a study must be {rule.expected}; got {value!r}.")
        if self.blocks > min(self.n_pairs, self.n_triplets):
            raise StudyError(
                f"{self.blocks} blocks of {min(self.n_pairs, self.n_triplets)} questions leave some empty. "
                "Use fewer blocks or more questions."
            )

    def count_questions(self, kind: QuestionKind) -> int:
        """Return the number of questions of a kind per participant."""
        return self.n_pairs if kind == "pair" else self.n_triplets

    def count_by_difficulty(self, kind: QuestionKind) -> tuple[int, int]:
        """Return the numbers of easy and difficult questions; a half is rounded up to difficult."""
        difficult = int(self.count_questions(kind) * self.difficult + 0.5)
        return self.count_questions(kind) - difficult, difficult

    @property
    def same_items(self) -> bool:
        """True if both kinds of question show the same number of items, as in the thesis."""
        return 2 * self.n_pairs == 3 * self.n_triplets

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        return {**asdict(self), "pool": [list(marked) for marked in self.pool]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> StudyOptions:
        """Create options from JSON; missing ones get their defaults, unknown ones raise an error."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise StudyError(
                f"a study has no option {', '.join(map(repr, unknown))}. Expected {', '.join(sorted(known))}."
            )
        rest = dict(given)
        try:
            pool = tuple(_make_marked(*row) for row in rest.pop("pool", ()))
        except TypeError as error:
            raise StudyError("the pool must be a list of [a, b, c or null, difficulty].") from error
        return cls(pool=pool, **rest)


def _make_marked(a: Any, b: Any, c: Any, difficulty: Any) -> MarkedQuestion:
    if difficulty not in ("easy", "difficult"):
        raise StudyError(f"a question of the pool must be 'easy' or 'difficult'; got {difficulty!r}.")
    return MarkedQuestion(str(a), str(b), None if c is None else str(c), difficulty)
