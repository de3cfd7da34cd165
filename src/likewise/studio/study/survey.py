"""The questionnaire at the end: five comparisons of the two kinds of question, and a line for comments.

The five are those of Pei (2017, 3.5.1.4), some of which come from NASA's task load index, in our own words.
Three ask for the kind that cost more; the thesis's Table 3.7 counts the kind that cost less, so that these
are turned there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from likewise.exceptions import StudyError

Choice = Literal["pair", "triplet", "none"]
LONGEST = 10_000  # characters of a comment


@dataclass(frozen=True)
class SurveyQuestion:
    """One comparison: its name, its sentence, its row of Table 3.7, and whether it is turned there."""

    name: str
    text: str
    row: str
    turned: bool


SURVEY = (
    SurveyQuestion(
        "performance", "In which task are you more confident of your answers?", "Better performance", False
    ),
    SurveyQuestion(
        "effort_per_query",
        "In which task did a single question take you more effort?",
        "Less effort per question",
        True,
    ),
    SurveyQuestion(
        "overall_effort",
        "Which task, with all its questions taken together, took you more effort?",
        "Less effort for all questions",
        True,
    ),
    SurveyQuestion(
        "frustration", "In which task did you feel more stressed or discouraged?", "Less frustration", True
    ),
    SurveyQuestion("preference", "Which task would you rather do, all in all?", "Overall preference", False),
)


@dataclass(frozen=True)
class Questionnaire:
    """A questionnaire that was filled in."""

    performance: Choice
    effort_per_query: Choice
    overall_effort: Choice
    frustration: Choice
    preference: Choice
    comments: str = ""

    @classmethod
    def from_answers(cls, given: Mapping[str, Any]) -> Questionnaire:
        """Make it from what was sent; what is missing or makes no sense is refused, all of it at once."""
        problems = [
            f"{question.name} must be one of pair, triplet and none, got {given.get(question.name)!r}"
            for question in SURVEY
            if given.get(question.name) not in get_args(Choice)
        ]
        comments = given.get("comments", "")
        if not isinstance(comments, str):
            problems.append("comments must be text")
        elif len(comments) > LONGEST:
            problems.append(f"comments has {len(comments)} characters, and at most {LONGEST} are kept")
        if problems:
            raise StudyError(f"the questionnaire cannot be taken so: {'; '.join(problems)}.")
        return cls(comments=comments, **{question.name: given[question.name] for question in SURVEY})

    def to_json(self) -> dict[str, str]:
        """Return it as the body of an event has it."""
        return asdict(self)

    def find_favoured(self, question: SurveyQuestion) -> Choice:
        """Return the kind that comes off better: less effort where more was asked for."""
        choice: Choice = getattr(self, question.name)
        other: dict[Choice, Choice] = {"pair": "triplet", "triplet": "pair", "none": "none"}
        return other[choice] if question.turned else choice
