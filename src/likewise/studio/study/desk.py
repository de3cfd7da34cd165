"""Questions and answers of a study, and the progress of each participant."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from likewise.exceptions import BadRequestError, ConflictError, NotAllowedError, StudyError
from likewise.studio.project import Project
from likewise.studio.records import Item, NewEvent, Person, StoredEvent
from likewise.studio.service._hub import Hub, append
from likewise.studio.service._questions_and_answers import (
    PREFETCHED,
    GivenAnswer,
    QuestionsAndAnswers,
    make_body,
)
from likewise.studio.service._views import (
    AnsweredView,
    DoneView,
    ParticipantsView,
    QuestionsView,
    StudyView,
)
from likewise.studio.store import Transaction
from likewise.studio.study import TEXTS, PlannedQuestion, Questionnaire, Study, StudyOptions, veil_item
from likewise.studio.study.participants import make_participant_view


class StudyDesk(QuestionsAndAnswers):
    """Questions and answers of a study: a plan for each participant, and answers that are final.

    The state is derived from the events of each person.
    """

    texts: Mapping[str, str] = {str(kind): text for kind, text in TEXTS.items()}
    follows_plan = True

    def __init__(self, hub: Hub, project: Project, *args: Any) -> None:
        super().__init__(hub, project, *args)
        options, items = StudyOptions.from_json(project.settings.study or {}), project.items
        self._study = Study(project.load_features(), items.get_ids(), items.get_classes(), options)
        self._turns: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    def get_text(self, kind: str) -> str:
        """Return the question of a kind, which is the same for all participants."""
        return self.texts[kind]

    def veil(self, item: Item) -> Item:
        """Return the item without what a participant must not see."""
        return veil_item(item)

    def get_examples(self) -> tuple[tuple[str, str], ...]:
        """Return an example of each class, as (class, item id); empty if the study shows no examples."""
        return self._study.reference if self._study.options.reference else ()

    # ------------------------------------------------------------------ questions and answers

    def give_questions(self, person: Person, n: int) -> QuestionsView:
        """Return the next `n` questions of a person."""
        events = self._hub.log.get_events_of(person.id)
        practice = self._study.find_stage(person.id, events).name == "practice"
        asked = self._study.get_questions(person.id, events, n)
        until = self._clock() + self._lease_seconds
        questions = [self._make_question_view(question, until, person, practice) for question in asked]
        return {
            "questions": questions,
            "state": "ready" if questions else "finished",
            "message": None if questions else "This part is done.",
        }

    def answer(
        self,
        person: Person,
        *,
        key: str,
        question: str,
        answer: GivenAnswer,
        seconds: float | None,
        note: str | None = None,
    ) -> AnsweredView:
        """Store the answer to the question that the person is asked now, and return the next questions."""
        if note:
            raise NotAllowedError("Answers of a study have no notes.")
        word = answer if isinstance(answer, str) else json.dumps(dict(answer))  # refused as any other word

        def work(tx: Transaction) -> tuple[StoredEvent, bool, str]:
            before = tx.get_events(person=person.id)  # the log does not include the current transaction
            repeated = [e for e in before if e.key == key]
            if repeated:
                if repeated[0].question != question or repeated[0].body.get("answer") != word:
                    raise ConflictError("This key was already used for another answer.", "Reload the page.")
                return repeated[0], False, ""
            planned, practice = self._check_asked(person.id, before, question, word)
            body = make_body(planned.queued, "practice" if practice else "study", word)
            event, new = append(tx, NewEvent(key, "answer", person.id, body, question, seconds))
            return event, new, planned.asked.truth if practice else ""

        with self._turns[person.id]:
            event, new, right = self._hub.store.write(work)
        self._hub.take_event(event)
        shown = self.give_questions(person, PREFETCHED)
        return self._make_answered_view(person, event, new, shown, right)

    def _check_asked(
        self, person: int, events: Sequence[StoredEvent], question: str, answer: str
    ) -> tuple[PlannedQuestion, bool]:
        """Return the question that the person answers now, and whether it is practice; refuse any other."""
        practice = self._study.find_stage(person, events).name == "practice"
        try:
            return self._study.check_answer(person, events, question, answer), practice
        except StudyError as error:
            raise ConflictError(str(error), "Reload the page.") from error

    def skip(self, person: Person, **details: Any) -> NoReturn:
        """Refuse to skip a question."""
        raise NotAllowedError(
            "Questions of a study cannot be skipped.", "Choose the answer that seems likelier."
        )

    def store_pair(self, person: Person, **statement: Any) -> NoReturn:
        """Refuse an answer to a question that was not asked."""
        raise NotAllowedError("In a study you can only answer its questions.")

    def store_repair(self, *details: Any) -> NoReturn:
        """Refuse."""
        raise NotAllowedError("In a study you can only answer its questions.")

    def undo(self, person: Person, **event: Any) -> NoReturn:
        """Refuse to undo an answer."""
        raise NotAllowedError("Answers of a study cannot be undone.")

    def _mark_answer(self, *details: Any) -> NoReturn:
        raise NotAllowedError("Answers of a study cannot be changed.")

    # ------------------------------------------------------------------ stages

    def show_stage(self, person: Person) -> StudyView:
        """Return the stage of a person."""
        stage = self._study.find_stage(person.id, self._hub.log.get_events_of(person.id))
        return cast(StudyView, stage.to_json())

    def show_participants(self) -> ParticipantsView:
        """Return how far each participant is; an owner who tries the study is left out."""
        people = self._hub.store.read(lambda tx: tx.get_people())
        found = [
            make_participant_view(self._study, person, self._hub.log.get_events_of(person.id))
            for person in people
            if person.role != "owner"
        ]
        return {"participants": found, "n_finished": sum(one["stage"] == "done" for one in found)}

    def go_on(self, person: Person, key: str) -> StudyView:
        """Leave the introduction or a break."""

        def work(tx: Transaction) -> StoredEvent:
            before = tx.get_events(person=person.id)
            for event in before:
                if event.key == key:
                    return event
            try:
                to = self._study.find_next_stage(person.id, before)
            except StudyError as error:
                raise ConflictError(str(error), "Reload the page.") from error
            return append(tx, NewEvent(key, "stage", person.id, {"to": to}))[0]

        with self._turns[person.id]:  # a person may have two tabs open
            event = self._hub.store.write(work)
        self._hub.take_event(event)
        return self.show_stage(person)

    def store_survey(self, person: Person, key: str, given: Mapping[str, Any]) -> DoneView:
        """Store a questionnaire, after all questions have been answered."""
        try:
            survey = Questionnaire.from_answers(given)
        except StudyError as error:
            raise BadRequestError(str(error)) from error

        def work(tx: Transaction) -> StoredEvent:
            before = tx.get_events(person=person.id)
            stage = self._study.find_stage(person.id, before).name
            if stage != "survey" and not any(event.key == key for event in before):
                raise ConflictError(
                    "The questionnaire was already submitted."
                    if stage == "done"
                    else "The questionnaire comes after all questions."
                )
            return append(tx, NewEvent(key, "survey", person.id, survey.to_json()))[0]

        with self._turns[person.id]:  # a person may have two tabs open
            event = self._hub.store.write(work)
        self._hub.take_event(event)
        return {"done": True}
