"""Determine which events were undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.studio.records import StoredEvent

UNCOUNTED = ("practice",)  # answers from these sources are not about the items


def find_undos(events: Iterable[StoredEvent]) -> dict[int, int]:
    """Return the seq of the event that each undo takes back, by the seq of the undo."""
    return {event.seq: int(event.body["of"]) for event in events if event.kind == "undo"}


def find_undone(undos: Mapping[int, int]) -> frozenset[int]:
    """Return the seqs of events taken back by an undo that was not itself undone.

    >>> sorted(find_undone({3: 1, 4: 2, 5: 4}))
    [1, 4]
    """
    undone: set[int] = set()
    for seq in sorted(undos, reverse=True):  # an undo refers to an earlier event
        if seq not in undone:
            undone.add(undos[seq])
    return frozenset(undone)
