"""The questionnaire: five comparisons of the two kinds of question, and a comment.

The five are those of Pei (2017, 3.5.1.4), some of them from NASA's Task Load Index, reworded. Three ask for
the kind that cost more; Table 3.7 of the thesis counts the kind that cost less, so these are reversed there.
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
    """One comparison: its name, its text, its row of Table 3.7, and whether it is reversed there."""

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
    """A completed questionnaire."""

    performance: Choice
    effort_per_query: Choice
    overall_effort: Choice
    frustration: Choice
    preference: Choice
    comments: str = ""

    @classmethod
    def from_answers(cls, given: Mapping[str, Any]) -> Questionnaire:
        """Create a questionnaire from the submitted values; raise one error for all problems."""
        problems = [
            f"{question.name} must be one of pair, triplet and none; got {given.get(question.name)!r}"
            for question in SURVEY
            if given.get(question.name) not in get_args(Choice)
        ]
        comments = given.get("comments", "")
        if not isinstance(comments, str):
            problems.append("comments must be text")
        elif len(comments) > LONGEST:
            problems.append(f"comments has {len(comments)} characters; expected at most {LONGEST}")
        if problems:
            raise StudyError(f"the questionnaire is not valid: {'; '.join(problems)}.")
        return cls(comments=comments, **{question.name: given[question.name] for question in SURVEY})

    def to_json(self) -> dict[str, str]:
        """Return the questionnaire as JSON values for the body of an event."""
        return asdict(self)

    def find_favoured(self, question: SurveyQuestion) -> Choice:
        """Return the kind that was rated better; reversed for questions that ask which kind cost more."""
        choice: Choice = getattr(self, question.name)
        other: dict[Choice, Choice] = {"pair": "triplet", "triplet": "pair", "none": "none"}
        return other[choice] if question.turned else choice
