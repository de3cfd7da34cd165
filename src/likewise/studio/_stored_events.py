"""Determine which stored events count: not undone, not for practice, and a person's last to a question."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from likewise._event_log import EventLog, KnownRelations
from likewise._reasons import Reason
from likewise.studio._repairs import fill_shelf, resolve_repairs, update_shelf
from likewise.studio.records import QuestionKey, QueuedQuestion, StoredEvent

UNCOUNTED = ("practice",)  # answers from these sources are not about the items
_NOT_KEPT = ("why", "reason", "score")  # why a question was asked; only in the store, to save memory
Log = TypeVar("Log", bound="StoredEventLog")


def is_informative(event: StoredEvent) -> bool:
    """Return True if an event is an answer about the items."""
    return event.kind == "answer" and event.body.get("source") not in UNCOUNTED


def _is_naming(event: StoredEvent) -> bool:
    """Return True if an event may give a name to a group."""
    return event.kind == "name" or (event.kind == "answer" and event.body["kind"] == "label")


class StoredEventLog(EventLog[StoredEvent]):
    """The events of a project by seq, and which of them count.

    As in every :class:`~likewise._event_log.EventLog`, an undo counts unless it was undone itself. If a
    person answered a question twice, the last answer counts. Practice never counts.
    """

    @classmethod
    def from_events(cls: type[Log], events: Iterable[StoredEvent]) -> Log:
        """Create the log of some events."""
        return cls((event.seq, event) for event in events)

    def get_slot(self, event: StoredEvent) -> tuple[int, QuestionKey] | None:
        """Return who answered which question; None for other events."""
        return (event.person, event.question_key) if is_informative(event) else None

    def is_practice(self, event: StoredEvent) -> bool:
        """Return True for answers and skips during the practice of a study."""
        return event.body.get("source") in UNCOUNTED

    def get_group_names(self) -> list[tuple[str, str]]:
        """Return the names given to groups, as (item id, name), the latest last."""
        named = []
        for event in self._get_naming_events():
            if event.kind == "name" and not self.is_undone(event.seq):
                named.append((str(event.body["item"]), str(event.body["name"])))
            elif event.kind == "answer" and self.counts(event.seq) and event.body["answer"] != "UNSURE":
                named.append((str(event.body["items"][0]), str(event.body["answer"]["name"])))
        return named

    def _get_naming_events(self) -> Sequence[StoredEvent]:
        return [event for event in self.get_events() if _is_naming(event)]


def _share_strings(value: object) -> object:
    """Return JSON with one object for equal short strings, such as ids and words."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= 64 else value
    return [_share_strings(one) for one in value] if isinstance(value, list) else value


def share_strings(event: StoredEvent, left_out: Collection[str] = ()) -> StoredEvent:
    """Return an event whose short strings are shared with others, without some entries of its body."""
    body = {
        sys.intern(name): _share_strings(value) for name, value in event.body.items() if name not in left_out
    }
    return replace(event, body=body)


def _make_small(event: StoredEvent) -> StoredEvent:
    """Return an event without what is only in the store."""
    return share_strings(event, () if event.kind == "repair" else _NOT_KEPT)  # that of a repair is shown


class LiveEventLog(StoredEventLog):
    """A copy of the events of the store that grows with it: which count, whose they are, what they imply.

    The bodies lack why a question was asked.
    Everything needed for each answer is updated incrementally, so the cost does not grow with the number of
    events. Threads may share it: what iterates or combines several facts is locked.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_person: dict[int, list[StoredEvent]] = defaultdict(list)
        self._skipped: Counter[QuestionKey] = Counter()
        self._n_answers: Counter[int | None] = Counter()
        self._known: KnownRelations | None = KnownRelations()  # None until computed again
        self._marks: list[StoredEvent] = []  # confirmed answers, and questions to be asked again
        self._naming: list[StoredEvent] = []
        self._reports: list[StoredEvent] = []  # of broken items
        self._shelf: dict[str, None] | None = {}  # None until computed again
        self._repaired: set[str] = set()  # all items of repairs, also of those that do not count
        super().__init__()

    def extend(self, events: Iterable[StoredEvent]) -> list[StoredEvent]:
        """Add events in the order of their seqs, and return those that are new."""
        with self._lock:
            new = [_make_small(event) for event in events if event.seq > self.last]
            change = self.add((event.seq, event) for event in new)
            for event in new:
                self._by_person[event.person].append(event)
                if event.kind in ("confirm", "again"):
                    self._marks.append(event)
                if _is_naming(event):
                    self._naming.append(event)
                if event.kind == "broken":
                    self._reports.append(event)
            for event in change.stopped:
                self._count(event, -1)
            for event in change.started:
                self._count(event, 1)
            return new

    def _count(self, event: StoredEvent, n: Literal[1, -1]) -> None:
        """Take into account that an event counts, or no longer does."""
        if event.kind == "skip":
            self._skipped[event.question_key] += n
        if event.kind == "repair":
            self._count_repair(event, n)
        if event.kind != "answer":
            return
        self._n_answers[event.person] += n
        self._n_answers[None] += n
        if n < 0:
            self._known = None  # relations can be added but not taken back
        elif self._known is not None:
            self._known.add(event.relations)

    def _count_repair(self, event: StoredEvent, n: Literal[1, -1]) -> None:
        items = set(event.body["items"])
        if n < 0 or event.seq < self.last:  # the order of repairs matters
            self._known = self._shelf = None
        elif self._shelf is not None:
            update_shelf(self._shelf, event.body)
        if not self._repaired.isdisjoint(items):  # the relations of an earlier repair may have changed
            self._known = None
        if self._known is not None:
            self._known.add(event.relations)
            self._repaired |= {item for relation in event.relations for item in relation[:2]}
        self._repaired |= items

    def _get_known(self) -> KnownRelations:
        if self._known is None:
            self._known = KnownRelations()
            for event in self.get_counted("answer"):
                self._known.add(event.relations)
            repairs = [(event.person, event.body) for event in self.get_counted("repair")]
            for relations in resolve_repairs(repairs):
                self._known.add(relations)
        return self._known

    def _get_shelf(self) -> dict[str, None]:
        if self._shelf is None:
            self._shelf = fill_shelf(event.body for event in self.get_counted("repair"))
        return self._shelf

    def get_shelf(self) -> tuple[str, ...]:
        """Return the items that belong to no group, by repairs that count; the latest last."""
        with self._lock:
            return tuple(self._get_shelf())

    def get_events_of(self, person: int | None) -> tuple[StoredEvent, ...]:
        """Return the events of one person, or of all people."""
        with self._lock:
            return self.get_events() if person is None else tuple(self._by_person.get(person, ()))

    def get_not_undone(self, *kinds: str, person: int | None = None) -> list[StoredEvent]:
        """Return the events of the given kinds that were not undone, of one person or of all."""
        with self._lock:
            if person is None:
                return super().get_not_undone(*kinds)
            own = self._by_person.get(person, ())
            return [e for e in own if e.kind in kinds and not self.is_undone(e.seq)]

    def count_answers(self, person: int | None = None) -> int:
        """Return the number of answers that count, of one person or of all."""
        with self._lock:
            return self._n_answers[person]

    def was_answered(self, question: QueuedQuestion) -> bool:
        """Return True if anyone answered or skipped a question."""
        with self._lock:
            return bool(self.get_answerers(question)) or self._skipped[question.key] > 0

    def is_confirmed(self, seq: int) -> bool:
        """Return True if an answer was confirmed."""
        with self._lock:
            return any(
                event.kind == "confirm" and event.body["of"] == seq for event in self._get_marks_not_undone()
            )

    def is_last_answer(self, event: StoredEvent) -> bool:
        """Return True if an answer counts: not undone, and its person's last to its question."""
        return event.kind == "answer" and self.counts(event.seq)

    def get_answerers(self, question: QueuedQuestion) -> set[int]:
        """Return the people whose answer to a question counts."""
        with self._lock:
            key = question.key
            return {person for person in self._by_person if self.get_last((person, key)) is not None}

    def get_revisits(self) -> dict[int, QueuedQuestion]:
        """Return questions to be asked again that are still open, by the seq of the earlier answer."""
        found = {}
        with self._lock:
            for mark in self._get_marks_not_undone():
                answer = self.get(int(mark.body["of"]))
                if mark.kind != "again" or answer is None or self.is_undone(answer.seq):
                    continue
                if not self._was_answered_since(mark.seq, answer.question_key):
                    found[answer.seq] = QueuedQuestion(
                        id=f"again-{mark.seq}",
                        kind=answer.body["kind"],
                        items=tuple(answer.body["items"]),
                        reason=Reason("An earlier answer to this question is being checked."),
                        examples=tuple(map(tuple, answer.body.get("examples", ()))),
                        names=tuple(answer.body.get("names", ())),
                    )
        return found

    def is_asked_again(self, answer: StoredEvent) -> bool:
        """Return True if the question of an answer is to be asked again, for this answer or another."""
        return any(one.key == answer.question_key for one in self.get_revisits().values())

    def _get_marks_not_undone(self) -> list[StoredEvent]:
        return [event for event in self._marks if not self.is_undone(event.seq)]

    def _was_answered_since(self, seq: int, key: QuestionKey) -> bool:
        return any(
            event.kind in ("answer", "skip")
            and not self.is_practice(event)
            and not self.is_undone(event.seq)
            and event.question_key == key
            for event in self.get_events(seq)
        )

    def get_group_names(self) -> list[tuple[str, str]]:
        """Return the names given to groups, as (item id, name), the latest last."""
        with self._lock:
            return super().get_group_names()

    def _get_naming_events(self) -> Sequence[StoredEvent]:
        return self._naming

    def get_broken(self) -> dict[str, StoredEvent]:
        """Return the items that cannot be judged, each with the event that says so."""
        with self._lock:
            found = [event for event in self._reports if not self.is_undone(event.seq)]
        return {str(event.body["item"]): event for event in found}

    def has_broken_items(self, question: QueuedQuestion) -> bool:
        """Return True if a question is about an item that cannot be judged."""
        broken = self.get_broken() if self._reports else {}
        return any(item in broken for item in question.judged)

    def count_joined(self) -> dict[str, int]:
        """Return the number of items, including itself, to which answers join each item they mention."""
        with self._lock:
            return self._get_known().count_joined()

    def is_implied(self, question: QueuedQuestion) -> bool:
        """Return True if the answer follows from answers that count, or an item is on the shelf."""
        with self._lock:
            shelf = self._get_shelf()
            if shelf and any(item in shelf for item in question.items):
                return True
            return self._get_known().is_implied(question.items, question.kind)

    def update_groups(self, question: QueuedQuestion) -> QueuedQuestion | None:
        """Return a question with the groups as they are now; None if they have not changed.

        Of groups that answers have joined since, a placement keeps the first. Examples that answers have
        separated from their group are left out.
        """
        if question.kind in ("pair", "triplet", "label"):
            return None
        with self._lock:
            known = self._get_known()
            kept: list[int] = []
            for at, one in enumerate(question.references):
                joined = any(known.are_joined(one, question.references[other]) for other in kept)
                if question.kind != "placement" or not joined:
                    kept.append(at)
            examples = [question.examples[at] for at in kept] if question.examples else []
            examples = [
                tuple(item for item in shown if not known.are_apart(item, question.references[at]))
                for at, shown in zip(kept, examples, strict=bool(examples))
            ]
        items = question.items
        if question.kind == "placement":
            items = (items[0], *(question.references[at] for at in kept))
        if items == question.items and tuple(examples) == question.examples:
            return None
        # The same id for everyone, so that it counts as one question.
        digest = hashlib.sha256(json.dumps([question.id, items, examples]).encode()).hexdigest()
        names = tuple(question.names[at] for at in kept) if question.names else ()
        return replace(question, id=digest[:16], items=items, examples=tuple(examples), names=names)

    def is_answered_by_others_only(self, question: QueuedQuestion, person: int) -> bool:
        """Return True if answers of others to this question count, but none of this person."""
        answerers = self.get_answerers(question)
        return bool(answerers) and person not in answerers
