"""Simulated participants: their answers, errors and response times."""

import numpy as np

from likewise.studio.records import StoredEvent
from likewise.studio.study import ALLOWED, Study, StudyOptions

BETTER = {
    "performance": "pair",
    "effort_per_query": "triplet",
    "overall_effort": "triplet",
    "frustration": "none",
    "preference": "pair",
    "comments": "",
}


def clouds(n=120, n_classes=3, seed=0):
    """Return rows in clouds, their ids and classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + 3 * np.eye(max(n_classes, 4))[y][:, :4]
    return X, [f"item {i}" for i in range(n)], [f"class {label}" for label in y]


def small_study(**options):
    """Return a study about clouds."""
    return Study(*clouds(), StudyOptions(**{"n_pairs": 30, "n_triplets": 20, **options}))


class Record:
    """A list of events, as in a store."""

    def __init__(self):
        self.events = []

    def add(self, kind, person, body, question=None, seconds=None):
        seq = len(self.events) + 1
        event = StoredEvent(seq, f"key {seq}", kind, person, "2026-01-01T00:00:00Z", body, question, seconds)
        self.events.append(event)
        return event

    def answer(self, study, person, queued, answer, seconds=1.0, source="study"):
        body = {
            "kind": queued.kind,
            "items": list(queued.items),
            "answer": answer,
            "source": source,
        }
        return self.add("answer", person, body, queued.id, seconds)


def take_part(study, record, person, *, right=None, seconds=None, survey=BETTER, upto=None):
    """Let a person complete the study; `right` and `seconds` are called for each question."""
    steps = 0
    while upto is None or steps < upto:
        stage = study.find_stage(person, record.events)
        if stage.name in ("intro", "break"):
            record.add("stage", person, {"to": study.find_next_stage(person, record.events)})
        elif stage.name in ("practice", "task"):
            queued = study.get_questions(person, record.events, 1)[0]
            planned = study.find(person, queued.id)
            wrong = [word for word in ALLOWED[queued.kind] if word != planned.asked.truth]
            is_right = right is None or right(planned)
            given = planned.asked.truth if is_right else wrong[steps % len(wrong)]
            study.check_answer(person, record.events, queued.id, given)
            record.answer(
                study,
                person,
                queued,
                given,
                1.0 if seconds is None else seconds(planned, given),
                "practice" if stage.name == "practice" else "study",
            )
        elif stage.name == "survey" and survey is not None:
            record.add("survey", person, survey)
        else:
            break
        steps += 1
    return record
