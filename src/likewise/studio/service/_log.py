"""The events in memory: which count, whose they are, and what they imply."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

from likewise._event_log import KnownRelations
from likewise._reasons import Reason
from likewise.studio._stored_events import Key, StoredEventLog, get_question_key, make_question_key
from likewise.studio.records import QueuedQuestion, StoredEvent


class Log:
    """A thread-safe copy of the events of the store, updated by :meth:`add`.

    Everything needed for each answer is updated incrementally, so the cost does not grow with the number of
    events.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._log = StoredEventLog()
        self._by_person: dict[int, list[StoredEvent]] = defaultdict(list)
        self._answerers: defaultdict[Key, set[int]] = defaultdict(set)  # people whose answer counts
        self._skipped: Counter[Key] = Counter()
        self._n_answers: Counter[int | None] = Counter()
        self._known: KnownRelations | None = KnownRelations()  # None until computed again
        self._marks: list[StoredEvent] = []  # confirmed answers, and questions to be asked again

    @property
    def last(self) -> int:
        """The seq of the latest event here, or 0."""
        with self._lock:
            return self._log.last

    def add(self, events: Sequence[StoredEvent]) -> list[StoredEvent]:
        """Add events in the order of their seqs, and return those that are new."""
        with self._lock:
            new = [event for event in events if event.seq > self._log.last]
            change = self._log.add((event.seq, event) for event in new)
            for event in new:
                self._by_person[event.person].append(event)
                if event.kind in ("confirm", "again"):
                    self._marks.append(event)
            for event in change.stopped:
                self._count(event, -1)
            for event in change.started:
                self._count(event, 1)
            return new

    def _count(self, event: StoredEvent, n: Literal[1, -1]) -> None:
        """Take into account that an event counts, or no longer does."""
        if event.kind == "skip":
            self._skipped[get_question_key(event)] += n
        if event.kind != "answer":
            return
        self._n_answers[event.person] += n
        self._n_answers[None] += n
        if n < 0:
            self._answerers[get_question_key(event)].discard(event.person)
            self._known = None  # relations can be added but not taken back
            return
        self._answerers[get_question_key(event)].add(event.person)
        if self._known is not None:
            self._known.add(event.body["items"], event.body["answer"])

    def _get_known(self) -> KnownRelations:
        if self._known is None:
            self._known = KnownRelations()
            for event in self._log.get_counted("answer"):
                self._known.add(event.body["items"], event.body["answer"])
        return self._known

    def get_events(self, after: int = 0) -> tuple[StoredEvent, ...]:
        """Return the events after a seq."""
        with self._lock:
            return self._log.get_events(after)

    def get_events_of(self, person: int | None) -> tuple[StoredEvent, ...]:
        """Return the events of one person, or of all people."""
        with self._lock:
            return self._log.get_events() if person is None else tuple(self._by_person.get(person, ()))

    def get(self, seq: int) -> StoredEvent | None:
        """Return an event."""
        with self._lock:
            return self._log.get(seq)

    def is_undone(self, seq: int) -> bool:
        """Return True if an event was undone."""
        with self._lock:
            return self._log.is_undone(seq)

    def get_standing(self, *kinds: str, person: int | None = None) -> list[StoredEvent]:
        """Return the events of the given kinds that were not undone, of one person or of all."""
        with self._lock:
            if person is None:
                return self._log.get_standing(*kinds)
            own = self._by_person.get(person, ())
            return [e for e in own if e.kind in kinds and not self._log.is_undone(e.seq)]

    def count_answers(self, person: int | None = None) -> int:
        """Return the number of answers that count, of one person or of all."""
        with self._lock:
            return self._n_answers[person]

    def was_answered(self, question: QueuedQuestion) -> bool:
        """Return True if anyone answered or skipped a question."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            return bool(self._answerers.get(key)) or self._skipped[key] > 0

    def is_confirmed(self, seq: int) -> bool:
        """Return True if an answer was confirmed."""
        with self._lock:
            return any(
                event.kind == "confirm" and event.body["of"] == seq for event in self._get_standing_marks()
            )

    def is_last_answer(self, event: StoredEvent) -> bool:
        """Return True if an answer counts: not undone, and its person's last to its question."""
        with self._lock:
            return event.kind == "answer" and self._log.counts(event.seq)

    def get_answerers(self, question: QueuedQuestion) -> set[int]:
        """Return the people whose answer to a question counts."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            return set(self._answerers.get(key, ()))

    def get_revisits(self) -> dict[int, QueuedQuestion]:
        """Return questions to be asked again that are still open, by the seq of the earlier answer."""
        found = {}
        with self._lock:
            for mark in self._get_standing_marks():
                answer = self._log.get(int(mark.body["of"]))
                if mark.kind != "again" or answer is None or self._log.is_undone(answer.seq):
                    continue
                if not self._was_answered_since(mark.seq, get_question_key(answer)):
                    found[answer.seq] = QueuedQuestion(
                        id=f"again-{mark.seq}",
                        kind=answer.body["kind"],
                        items=tuple(answer.body["items"]),
                        reason=Reason("An earlier answer to this question is being checked."),
                    )
        return found

    def is_asked_again(self, answer: StoredEvent) -> bool:
        """Return True if the question of an answer is to be asked again, for this answer or another."""
        key = get_question_key(answer)
        return any(make_question_key(one.kind, one.items) == key for one in self.get_revisits().values())

    def _get_standing_marks(self) -> list[StoredEvent]:
        return [event for event in self._marks if not self._log.is_undone(event.seq)]

    def _was_answered_since(self, seq: int, key: Key) -> bool:
        return any(
            event.kind in ("answer", "skip")
            and not self._log.is_practice(event)
            and not self._log.is_undone(event.seq)
            and get_question_key(event) == key
            for event in self._log.get_events(seq)
        )

    def get_group_names(self) -> list[tuple[str, str]]:
        """Return the names given to groups, as (item id, name), the latest last."""
        return [(str(event.body["item"]), str(event.body["name"])) for event in self.get_standing("name")]

    def count_joined(self) -> dict[str, int]:
        """Return the number of items, including itself, to which answers join each item they mention."""
        with self._lock:
            return self._get_known().count_joined()

    def is_implied(self, question: QueuedQuestion) -> bool:
        """Return True if the answer to a question follows from answers that count."""
        with self._lock:
            return self._get_known().is_implied(question.items)

    def is_answered_by_others_only(self, question: QueuedQuestion, person: int) -> bool:
        """Return True if answers of others to this question count, but none of this person."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            answerers = self._answerers.get(key, set())
            return bool(answerers) and person not in answerers
