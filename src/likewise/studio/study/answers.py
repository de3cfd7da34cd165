"""The answers of the participants, in order, with the right answers, and their questionnaires."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from likewise.exceptions import StudyError
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import StoredEvent
from likewise.studio.study.options import Difficulty, QuestionKind
from likewise.studio.study.plan import ALLOWED, PlannedQuestion, Study

Choice = Literal["pair", "triplet", "none"]
LONGEST = 10_000  # characters of a comment


class SurveyQuestion(NamedTuple):
    """One comparison of the two kinds: its name, its text, its row of Table 3.7, and whether it is reversed.

    The five are those of Pei (2017, 3.5.1.4), some of them from NASA's Task Load Index, reworded. Three ask
    for the kind that cost more; Table 3.7 of the thesis counts the one that cost less, so these are reversed.
    """

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


# ---------------------------------------------------------------------- answers


@dataclass(frozen=True)
class StudyAnswer:
    """An answer that counts. `seconds` is None if no time was sent."""

    kind: QuestionKind
    rows: tuple[int, ...]
    truth: str
    answer: str
    seconds: float | None
    difficulty: Difficulty = "easy"


@dataclass(frozen=True)
class Participant:
    """A person who answered questions that count.

    Attributes
    ----------
    person : int
        The id of the person.
    first : {"pair", "triplet"}
        The kind of question in the first task.
    pairs, triplets : tuple of StudyAnswer
        The answers, in the order in which they were given.
    survey : Questionnaire or None
        The questionnaire.
    finished : bool
        True if all questions of all tasks are answered.
    """

    person: int
    first: QuestionKind
    pairs: tuple[StudyAnswer, ...]
    triplets: tuple[StudyAnswer, ...]
    survey: Questionnaire | None
    finished: bool

    def get_answers(self, kind: QuestionKind) -> tuple[StudyAnswer, ...]:
        """Return the answers to one kind of question."""
        return self.pairs if kind == "pair" else self.triplets


def find_participants(
    study: Study, events: Iterable[StoredEvent], *, leave_out: Collection[int] = ()
) -> tuple[Participant, ...]:
    """Return the participants and their answers.

    Practice and undone answers do not count; of two answers to one question the first counts.

    Parameters
    ----------
    study : Study
        The plan.
    events : iterable of StoredEvent
        All of them, in order.
    leave_out : collection of int
        People whose answers do not belong to the study, such as an owner who tried it out.
    """
    events_of: dict[int, dict[str, StoredEvent]] = {}
    surveys: dict[int, Questionnaire] = {}
    for event in StoredEventLog.from_events(events).get_standing("answer", "survey"):
        if event.person in leave_out:
            continue
        if event.kind == "answer" and event.body.get("source") == "study" and event.question:
            events_of.setdefault(event.person, {}).setdefault(event.question, event)
        elif event.kind == "survey":
            surveys[event.person] = Questionnaire.from_answers(event.body)
    people = []
    for person, answers in sorted(events_of.items()):
        planned = {one.id: one for task in study.get_tasks(person) for one in task.questions}
        given = [_make_answer(planned[name], event) for name, event in answers.items() if name in planned]
        people.append(
            Participant(
                person=person,
                first=study.get_task_order(person)[0],
                pairs=tuple(one for one in given if one.kind == "pair"),
                triplets=tuple(one for one in given if one.kind == "triplet"),
                survey=surveys.get(person),
                finished=len(given) == len(planned),
            )
        )
    return tuple(people)


def _make_answer(planned: PlannedQuestion, event: StoredEvent) -> StudyAnswer:
    asked, answer = planned.asked, str(event.body.get("answer"))
    if tuple(event.body.get("items", ())) != planned.items:
        raise StudyError(
            f"event {event.seq} answers {planned.id!r} about other items than the plan of the study has. "
            "Were the data, their classes or the options of the study changed? Restore them."
        )
    if answer not in ALLOWED[asked.kind]:
        raise StudyError(f"event {event.seq} has the answer {answer!r} to a {asked.kind} of the study.")
    return StudyAnswer(asked.kind, asked.rows, asked.truth, answer, event.seconds, asked.difficulty)
