"""The event log of interviews and of the studio: which events count, and what the answers imply.

Events are never edited: an undo is another event. The rules which of them count are here and nowhere else;
:class:`~likewise.active.Interview` and all parts of the studio use them. This module imports only the
standard library, because the server of the studio must start without scikit-learn.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Generic, Protocol, TypeVar

# Which two of the three items belong together, and which one is apart.
_TOGETHER = {"AB": (0, 1, 2), "AC": (0, 2, 1), "BC": (1, 2, 0)}


class LoggedEvent(Protocol):
    """What an event log needs to know about an event."""

    @property
    def kind(self) -> str:
        """The kind of event, such as "answer", "skip" or "undo"."""

    @property
    def undoes(self) -> int | None:
        """The number of the event that an undo takes back; None for other kinds."""


E = TypeVar("E", bound=LoggedEvent)
T = TypeVar("T")


def find_undone(undos: Mapping[int, int]) -> frozenset[int]:
    """Return the numbers of the events taken back by an undo that was not itself undone.

    Parameters
    ----------
    undos : mapping of int to int
        The number of the event that each undo takes back, by the number of the undo. An undo of itself or of
        a later event has no effect.

    Examples
    --------
    >>> sorted(find_undone({3: 1, 4: 2, 5: 4}))  # event 5 takes back the undo of event 2
    [1, 4]
    """
    undone: set[int] = set()
    for number in sorted(undos, reverse=True):
        if number not in undone and undos[number] < number:
            undone.add(undos[number])
    return frozenset(undone)


@dataclass(frozen=True)
class CountChange(Generic[E]):
    """The events that count since the last change, and those that no longer count, in order."""

    started: tuple[E, ...] = ()
    stopped: tuple[E, ...] = ()


class EventLog(Generic[E]):
    """Numbered events, and which of them count. Updated with each event, in time that does not grow with it.

    An event is undone by an undo that is not undone itself. It counts if it is not undone, was not given for
    practice, and has not been replaced: of the events with the same slot that are not undone, only the last
    counts. An undo therefore also brings back what the undone event had replaced, or had undone. Events may
    be added in any order and more than once.

    In this class no event has a slot, and none is for practice. Subclasses override :meth:`get_slot` and
    :meth:`is_practice`.

    Parameters
    ----------
    events : iterable of (int, event)
        Events with their numbers.

    Examples
    --------
    >>> from likewise.active import Event, Question
    >>> asked = Question.pair(0, 1)
    >>> log = EventLog(enumerate([Event("skip", asked), Event("undo", asked, undoes=0)]))
    >>> log.find_not_undone("skip"), log.is_undone(0)
    ([], True)
    >>> change = log.add([(2, Event("undo", asked, undoes=1))])  # undoes the undo
    >>> log.find_not_undone("skip"), [event.kind for event in change.started]
    ([0], ['skip', 'undo'])
    """

    def __init__(self, events: Iterable[tuple[int, E]] = ()) -> None:
        self._events: dict[int, E] = {}
        self._numbers: list[int] = []  # ascending
        self._undos: dict[int, int] = {}
        self._undone: frozenset[int] = frozenset()
        self._slots: dict[Hashable, list[int]] = {}  # all events of each slot, ascending
        self._last: dict[Hashable, int] = {}  # the one that counts, if any
        self._counted: set[int] = set()
        self.add(events)

    def get_slot(self, event: E) -> Hashable | None:
        """Return a value that an event shares with the events that it replaces; None if it replaces none."""
        return None

    def is_practice(self, event: E) -> bool:
        """Return True for an event that never counts."""
        return False

    def add(self, events: Iterable[tuple[int, E]]) -> CountChange[E]:
        """Add events, ignoring numbers added before; return what counts since and what no longer counts.

        If one of them cannot be read, nothing is added.
        """
        new = {number: event for number, event in events if number not in self._events}
        undos = {number: of for number, event in new.items() if (of := event.undoes) is not None}
        slots = {number: slot for number, event in new.items() if (slot := self.get_slot(event)) is not None}
        ascending = all(below < above for below, above in pairwise([*self._numbers[-1:], *new]))
        self._events.update(new)
        self._numbers.extend(new)
        if not ascending:
            self._numbers.sort()
        for number, slot in slots.items():
            insort(self._slots.setdefault(slot, []), number)
        before = self._undone
        if undos:
            self._undos.update(undos)
            self._undone = find_undone(self._undos)
        return self._update(new.keys(), before, slots)

    def _update(self, new: Set[int], before: frozenset[int], slots: Mapping[int, Hashable]) -> CountChange[E]:
        """Determine what counts after some events were added, which have `slots`, and others undone."""
        started: list[int] = []
        stopped: list[int] = []
        touched = set()
        for number in new | {number for number in before ^ self._undone if number in self._events}:
            event = self._events[number]
            if self.is_practice(event):
                continue
            slot = slots[number] if number in slots else self.get_slot(event)
            if slot is not None:
                touched.add(slot)
            elif number not in self._undone:
                started.append(number)
            elif number not in new:
                stopped.append(number)
        for slot in touched:
            last = self._last.pop(slot, None)
            now = next((one for one in reversed(self._slots[slot]) if one not in self._undone), None)
            if now is not None:
                self._last[slot] = now
            if now != last:
                started += [] if now is None else [now]
                stopped += [] if last is None else [last]
        self._counted.difference_update(stopped)
        self._counted.update(started)
        return CountChange(
            tuple(self._events[number] for number in sorted(started)),
            tuple(self._events[number] for number in sorted(stopped)),
        )

    # ------------------------------------------------------------------ events

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> int:
        """The largest number of an event, or 0."""
        return self._numbers[-1] if self._numbers else 0

    def __getitem__(self, number: int) -> E:
        return self._events[number]

    def get(self, number: int) -> E | None:
        """Return an event, or None if there is none with this number."""
        return self._events.get(number)

    def get_events(self, after: int | None = None) -> tuple[E, ...]:
        """Return all events in order, or those after a number."""
        first = 0 if after is None else bisect_right(self._numbers, after)
        return tuple(self._events[number] for number in self._numbers[first:])

    # ------------------------------------------------------------------ what is undone and what counts

    @property
    def undone(self) -> frozenset[int]:
        """The numbers of the events that were undone."""
        return self._undone

    def is_undone(self, number: int) -> bool:
        """Return True if an event was undone."""
        return number in self._undone

    def find_not_undone(self, *kinds: str) -> list[int]:
        """Return the numbers of the events of some kinds that were not undone, in order."""
        return [
            number
            for number in self._numbers
            if number not in self._undone and self._events[number].kind in kinds
        ]

    def get_not_undone(self, *kinds: str) -> list[E]:
        """Return the events of some kinds that were not undone, in order."""
        return [self._events[number] for number in self.find_not_undone(*kinds)]

    def counts(self, number: int) -> bool:
        """Return True if an event counts: not undone, not replaced and not for practice."""
        return number in self._counted

    def get_counted(self, *kinds: str) -> list[E]:
        """Return the events of some kinds that count, in order."""
        return [event for number in sorted(self._counted) if (event := self._events[number]).kind in kinds]

    def get_last(self, slot: Hashable) -> E | None:
        """Return the event of a slot that counts."""
        number = self._last.get(slot)
        return None if number is None else self._events[number]


def list_relations(kind: str, items: Sequence[T], answer: Any) -> list[tuple[T, T, bool]]:
    """Return the pairs of items that an answer relates, each with whether they belong together.

    The answer is a word or, as in stored events, an object: {"groups": [...]} has the references of the group
    that was chosen in a placement, and {"unlike": [...]} the items that do not belong with the reference.
    UNSURE, NEITHER and names relate no pairs.

    >>> list_relations("triplet", ("a", "b", "c"), "AC")
    [('a', 'c', True), ('a', 'b', False), ('c', 'b', False)]
    >>> list_relations("placement", ("a", "b", "c"), {"groups": ["c"]})
    [('a', 'b', False), ('a', 'c', True)]
    >>> list_relations("members", ("a", "b", "c"), {"unlike": ["c"]})
    [('a', 'b', True), ('a', 'c', False)]
    """
    if answer == "UNSURE" or kind == "label":
        return []
    if kind == "placement":
        chosen = answer["groups"] if isinstance(answer, Mapping) else ()
        return [(items[0], item, item in chosen) for item in items[1:]]
    if kind == "members":
        odd_ones = answer["unlike"] if isinstance(answer, Mapping) else ()
        return [(items[0], item, item not in odd_ones) for item in items[1:]]
    if answer in ("SAME", "DIFFERENT"):
        return [(items[0], items[1], answer == "SAME")]
    if answer not in _TOGETHER:
        return []
    a, b, odd = (items[at] for at in _TOGETHER[answer])
    return [(a, b, True), (a, odd, False), (b, odd, False)]


class KnownRelations:
    """What answers imply about the items they mention: cheap for any number of rows.

    If answers contradict each other, those that join win, as in an interview.

    >>> known = KnownRelations()
    >>> (known.join("a", "b"), known.separate("b", "c"), known.is_implied(("a", "c")),
    ...  known.is_implied(("a", "d")))
    (None, None, True, False)
    """

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._apart: dict[str, set[str]] = defaultdict(set)

    def _find(self, item: str) -> str:
        root = item
        while (above := self._parent.get(root, root)) != root:
            root = above
        while (above := self._parent.get(item, item)) != root:
            self._parent[item], item = root, above
        return root

    def join(self, a: str, b: str) -> None:
        """Record that two items belong together."""
        a, b = self._find(a), self._find(b)
        if a == b:
            return
        self._parent[b] = a
        for other in self._apart.pop(b, ()):
            self._apart[other].discard(b)
            if other != a:
                self._apart[other].add(a)
                self._apart[a].add(other)

    def separate(self, a: str, b: str) -> None:
        """Record that two items do not belong together."""
        a, b = self._find(a), self._find(b)
        if a != b:
            self._apart[a].add(b)
            self._apart[b].add(a)

    def add(self, relations: Iterable[tuple[str, str, bool]]) -> None:
        """Record what an answer states; see :func:`list_relations`."""
        for a, b, together in relations:
            if together:
                self.join(a, b)
            else:
                self.separate(a, b)

    def count_joined(self) -> dict[str, int]:
        """Return how many items belong together with each item mentioned, including itself."""
        root = {item: self._find(item) for item in {*self._parent, *self._parent.values(), *self._apart}}
        sizes = Counter(root.values())
        return {item: sizes[at] for item, at in root.items()}

    def are_joined(self, a: str, b: str) -> bool:
        """Return True if two items are known to belong together."""
        return self._find(a) == self._find(b)

    def are_apart(self, a: str, b: str) -> bool:
        """Return True if two items are known not to belong together."""
        return self._find(b) in self._apart.get(self._find(a), ())

    def is_implied(self, items: Sequence[str], kind: str = "") -> bool:
        """Return True if the answer to a question about these items is known.

        This needs the relation of every two items; for members that of the first with each other item; and
        for a placement a group that the item is in, or that it is in none. A name is never implied.
        """
        if kind == "label":
            return False
        first, *others = items
        if kind == "placement" and any(self.are_joined(first, other) for other in others):
            return True
        about_first = kind in ("placement", "members")
        pairs = ((first, other) for other in others) if about_first else combinations(items, 2)
        return all(self.are_joined(a, b) or self.are_apart(a, b) for a, b in pairs)
