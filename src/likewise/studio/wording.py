"""What is asked, in the words of the owner: the criterion, the questions, the guideline and examples."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from likewise.exceptions import BadRequestError
from likewise.studio.records import AskedKind

LONGEST_CRITERION, LONGEST_QUESTION, LONGEST_NAME = 300, 200, 100
LONGEST_GUIDELINE = 20_000
LONGEST_NOTE = 1_000
MOST_GROUPS, MOST_EXAMPLES = 100, 24
_PICTURE = re.compile(r"!\[[^\]\n]*\]\((item|picture):([0-9a-z]{1,16})\)")
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
QUESTIONS: Mapping[str, str] = {
    "pair": "Do these belong together?",
    "triplet": "Which two belong together?",
    "placement": "Which group does this belong to?",
    "members": "Which of these do not belong?",
    "groups": "Are these two groups the same?",
    "label": "What is this group called?",
}


@dataclass(frozen=True)
class Wording:
    """The texts of the owner for a project; all of them are optional.

    Attributes
    ----------
    criterion : str
        One sentence that says what "together" means, shown above every question.
    questions : mapping of str to str
        Texts of questions by kind; other kinds use :data:`QUESTIONS`.
    guideline : str
        Text with simple markup: ``# heading``, ``- item``, ``**bold**``, ``*italic*``,
        ``![caption](item:ROW)`` and ``![caption](picture:DIGEST)``.
    examples : tuple of (str, tuple of str)
        Names of groups, each with the ids of items that the owner chose as examples.
    """

    criterion: str = ""
    questions: Mapping[str, str] = field(default_factory=dict)
    guideline: str = ""
    examples: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def from_json(cls, given: Any) -> Wording:
        """Read and check a wording; :class:`BadRequestError` says what is wrong."""
        if not isinstance(given, Mapping) or (unknown := set(given) - set(cls.__dataclass_fields__)):
            what = f"unknown entries {sorted(unknown)}" if isinstance(given, Mapping) else repr(given)
            raise BadRequestError(
                f"The wording must be an object with {', '.join(cls.__dataclass_fields__)}; got {what}."
            )
        questions, examples = given.get("questions", {}), given.get("examples", ())
        if not isinstance(questions, Mapping) or not isinstance(examples, list | tuple):
            raise BadRequestError("The questions must be an object, and the examples a list.")
        if unknown := set(questions) - set(get_args(AskedKind)):
            kinds = ", ".join(get_args(AskedKind))
            raise BadRequestError(f"There is no kind of question {min(unknown)[:40]!r}; expected {kinds}.")
        if len(examples) > MOST_GROUPS:
            raise BadRequestError(f"Examples are limited to {MOST_GROUPS} groups; got {len(examples)}.")
        texts = {kind: check_line(text, "A question", LONGEST_QUESTION) for kind, text in questions.items()}
        return cls(
            check_line(given.get("criterion", ""), "The criterion", LONGEST_CRITERION),
            {kind: text for kind, text in texts.items() if text and text != QUESTIONS[kind]},
            check_text(given.get("guideline", ""), "The guideline", LONGEST_GUIDELINE),
            tuple(_read_example(example) for example in examples),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the wording as it is stored; entries that are empty are left out."""
        entries = {
            "criterion": self.criterion,
            "questions": dict(self.questions),
            "guideline": self.guideline,
            "examples": [[name, list(items)] for name, items in self.examples],
        }
        return {name: value for name, value in entries.items() if value}

    def get_question(self, kind: str) -> str:
        """Return the text of a question of a kind."""
        return self.questions.get(kind) or QUESTIONS[kind]

    @property
    def has_guide(self) -> bool:
        """True if there is something to read before answering."""
        return bool(self.guideline or self.examples)

    def list_items(self) -> list[int]:
        """Return the rows of the items in the guideline.

        >>> Wording(guideline="See ![a wren](item:12) and ![another](item:7).").list_items()
        [12, 7]
        """
        found = _PICTURE.findall(self.guideline)
        return list(dict.fromkeys(int(name) for kind, name in found if kind == "item" and name.isdigit()))

    def list_pictures(self) -> set[str]:
        """Return the digests of the pictures in the guideline."""
        return {name for kind, name in _PICTURE.findall(self.guideline) if kind == "picture"}

    def check_references(self, n_items: int, pictures: Collection[str]) -> None:
        """Raise an error if the guideline mentions an item or a picture that does not exist."""
        for kind, name in _PICTURE.findall(self.guideline):
            if kind == "item" and not (name.isdigit() and int(name) < n_items):
                raise BadRequestError(
                    f"There is no item {name!r}; there are {n_items:,}, numbered from 0.",
                    "Use the button that inserts items.",
                )
        for name in self.list_pictures():
            if name not in pictures:
                raise BadRequestError(f"There is no uploaded picture {name[:80]!r}.", "Upload it again.")


def _read_example(example: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(example, list | tuple) or len(example) != 2 or not isinstance(example[1], list | tuple):
        raise BadRequestError("An example must be the name of a group and a list of item ids.")
    name, items = check_line(example[0], "The name of a group", LONGEST_NAME), example[1]
    if not name or not 1 <= len(items) <= MOST_EXAMPLES:
        raise BadRequestError(
            f"Examples need the name of their group and 1 to {MOST_EXAMPLES} items; got {name!r} and "
            f"{len(items)}."
        )
    if not all(isinstance(item, str) for item in items):
        raise BadRequestError("Examples must be item ids, as strings.")
    return name, tuple(dict.fromkeys(items))


def check_line(text: Any, what: str, most: int) -> str:
    """Return a text of one line without surrounding whitespace, or raise an error."""
    line = check_text(text, what, most)
    if "\n" in line or "\t" in line:
        raise BadRequestError(f"{what} must be one line of text.")
    return line


def check_text(text: Any, what: str, most: int) -> str:
    """Return a text without surrounding whitespace; refuse control characters and texts that are too long."""
    if not isinstance(text, str):
        raise BadRequestError(f"{what} must be a text; got {text!r}.")
    found = unicodedata.normalize("NFC", text.replace("\r\n", "\n")).strip()
    if len(found) > most:
        raise BadRequestError(
            f"{what} can have at most {most:,} characters; got {len(found):,}.", "Shorten it."
        )
    plain = found.replace("\n", "").replace("\t", "")
    if any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in plain
    ) or _DIRECTIONS.search(plain):
        raise BadRequestError(f"{what} must not have control characters.")
    return found
