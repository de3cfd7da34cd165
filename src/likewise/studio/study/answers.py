"""The answers of the participants, in order, with the right answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from likewise.exceptions import StudyError
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import StoredEvent
from likewise.studio.study.options import Difficulty, QuestionKind
from likewise.studio.study.plan import ALLOWED, PlannedQuestion, Study
from likewise.studio.study.survey import Questionnaire


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
    return tuple(
        _make_participant(study, person, answers, surveys.get(person))
        for person, answers in sorted(events_of.items())
    )


def _make_participant(
    study: Study, person: int, answers: dict[str, StoredEvent], survey: Questionnaire | None
) -> Participant:
    planned = {one.id: one for task in study.get_tasks(person) for one in task.questions}
    given = [_make_answer(planned[name], event) for name, event in answers.items() if name in planned]
    return Participant(
        person=person,
        first=study.get_task_order(person)[0],
        pairs=tuple(one for one in given if one.kind == "pair"),
        triplets=tuple(one for one in given if one.kind == "triplet"),
        survey=survey,
        finished=len(given) == len(planned),
    )


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
