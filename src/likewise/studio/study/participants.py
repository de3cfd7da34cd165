"""How far each participant of a study is, for its owner."""

from __future__ import annotations

from collections.abc import Iterable

from likewise.studio.records import Person, StoredEvent
from likewise.studio.service._views import ParticipantView
from likewise.studio.study.plan import Study


def make_participant_view(study: Study, person: Person, events: Iterable[StoredEvent]) -> ParticipantView:
    """Return how far a person is; the practice does not count.

    Parameters
    ----------
    study : Study
        The plan.
    person : Person
        The participant.
    events : iterable of StoredEvent
        The events of this person.
    """
    own = list(events)
    planned = {one.id for task in study.get_tasks(person.id) for one in task.questions}
    answers = {e.question: e for e in reversed(own) if e.kind == "answer" and e.question in planned}
    return {
        "id": person.id,
        "name": person.name,
        "active": person.active,
        "stage": study.find_stage(person.id, own).name,
        "done": len(answers),
        "n": len(planned),
        "seconds": sum(event.seconds or 0.0 for event in answers.values()),
        "last": own[-1].time if own else None,
    }
