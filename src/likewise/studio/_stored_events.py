"""Determine which stored events count: not undone, not for practice, and a person's last to a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from likewise._event_log import EventLog
from likewise.studio.records import StoredEvent

Key = tuple[str, tuple[str, ...]]
UNCOUNTED = ("practice",)  # answers from these sources are not about the items
Log = TypeVar("Log", bound="StoredEventLog")


def make_question_key(kind: str, items: Iterable[str]) -> Key:
    """Return a key that identifies a question regardless of the order of its items."""
    return kind, tuple(sorted(items))


def get_question_key(event: StoredEvent) -> Key:
    """Return the key of the question that was answered or skipped."""
    return make_question_key(event.body["kind"], event.body["items"])


def is_informative(event: StoredEvent) -> bool:
    """Return True if an event is an answer about the items."""
    return event.kind == "answer" and event.body.get("source") not in UNCOUNTED


class StoredEventLog(EventLog[StoredEvent]):
    """The events of a project by seq, and which of them count.

    As in every :class:`~likewise._event_log.EventLog`, an undo counts unless it was undone itself. If a
    person answered a question twice, the last answer counts. Practice never counts.
    """

    @classmethod
    def from_events(cls: type[Log], events: Iterable[StoredEvent]) -> Log:
        """Create the log of some events."""
        return cls((event.seq, event) for event in events)

    def get_slot(self, event: StoredEvent) -> tuple[int, Key] | None:
        """Return who answered which question; None for other events."""
        return (event.person, get_question_key(event)) if is_informative(event) else None

    def is_practice(self, event: StoredEvent) -> bool:
        """Return True for answers and skips during the practice of a study."""
        return event.body.get("source") in UNCOUNTED
