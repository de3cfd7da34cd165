"""What no longer counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.studio.records import StoredEvent

UNCOUNTED = ("practice",)  # sources of answers that say nothing of the items


def find_undos(events: Iterable[StoredEvent]) -> dict[int, int]:
    """Return which event each undo takes back, by their seqs."""
    return {event.seq: int(event.body["of"]) for event in events if event.kind == "undo"}


def find_undone(undos: Mapping[int, int]) -> frozenset[int]:
    """Return the seqs that do not count: those taken back by an undo that was not taken back itself.

    >>> sorted(find_undone({3: 1, 4: 2, 5: 4}))
    [1, 4]
    """
    undone: set[int] = set()
    for seq in sorted(undos, reverse=True):  # an undo names what came before it
        if seq not in undone:
            undone.add(undos[seq])
    return frozenset(undone)
