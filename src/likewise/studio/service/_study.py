"""The progress of each participant through a study."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from likewise.exceptions import BadRequestError, ConflictError, StudyError
from likewise.studio.project import Project
from likewise.studio.records import NewEvent, Person, QueuedQuestion, StoredEvent
from likewise.studio.service._append import append
from likewise.studio.service._hub import Hub
from likewise.studio.service._views import DoneView, StudyView
from likewise.studio.store import Transaction
from likewise.studio.study import Study, StudyOptions
from likewise.studio.study.plan import TEXTS, PlannedQuestion
from likewise.studio.study.survey import Questionnaire
from likewise.studio.study.veil import veil_item

if TYPE_CHECKING:
    from likewise.studio.records import Item


class StudyDesk:
    """The state of a study per participant, derived from that person's events."""

    texts: Mapping[str, str] = {str(kind): text for kind, text in TEXTS.items()}

    def __init__(self, hub: Hub, study: Study) -> None:
        self._hub = hub
        self._study = study
        self._turns: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    @staticmethod
    def veil(item: Item) -> Item:
        """Return the item without what a participant must not see."""
        return veil_item(item)

    def turn(self, person: int) -> threading.Lock:
        """Return a lock that serialises the requests of one person, who may have two tabs open."""
        return self._turns[person]

    @classmethod
    def from_project(cls, project: Project, hub: Hub) -> StudyDesk:
        """Create the desk for the study of a project."""
        items = project.items
        options = StudyOptions.from_json(project.settings.study or {})
        return cls(hub, Study(project.load_features(), items.get_ids(), items.get_classes(), options))

    @property
    def reference(self) -> tuple[tuple[str, str], ...]:
        """An example of each class, as (class, item id); empty if the study shows no examples."""
        return self._study.reference if self._study.options.reference else ()

    def show_stage(self, person: Person) -> StudyView:
        """Return the stage of a person."""
        found = self._study.find_stage(person.id, self._hub.log.get_events_of(person.id)).to_json()
        return {
            "stage": found["stage"],
            "task": found["task"],
            "reference": found["reference"],
            "answers": found["answers"],
        }

    def get_questions(self, person: int, n: int) -> list[tuple[QueuedQuestion, bool]]:
        """Return the next questions of a person, each with whether it is for practice."""
        events = self._hub.log.get_events_of(person)
        practice = self._study.find_stage(person, events).name == "practice"
        return [(question, practice) for question in self._study.get_questions(person, events, n)]

    def check_asked(
        self, person: int, events: Sequence[StoredEvent], question: str, answer: str
    ) -> tuple[PlannedQuestion, bool]:
        """Return the question that the person answers now, and whether it is practice; refuse any other."""
        practice = self._study.find_stage(person, events).name == "practice"
        try:
            return self._study.check_answer(person, events, question, answer), practice
        except StudyError as error:
            raise ConflictError(str(error), "Reload the page.") from error

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

        with self.turn(person.id):
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

        with self.turn(person.id):
            event = self._hub.store.write(work)
        self._hub.take_event(event)
        return {"done": True}
