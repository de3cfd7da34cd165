"""The events in memory: which count, whose they are, and what they imply."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from likewise._reasons import Reason
from likewise.studio._undone import UNCOUNTED
from likewise.studio.records import QueuedQuestion, StoredEvent

Key = tuple[str, tuple[str, ...]]
# Which two of the three items belong together, and which one is apart.
TOGETHER = {"AB": (0, 1, 2), "AC": (0, 2, 1), "BC": (1, 2, 0)}


def make_question_key(kind: str, items: Iterable[str]) -> Key:
    """Return a key that identifies a question regardless of the order of its items."""
    return kind, tuple(sorted(items))


class Log:
    """A thread-safe copy of the events of the store, updated by :meth:`add`.

    Everything needed for each answer is updated incrementally, so the cost does not grow with the number of
    events.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._events: list[StoredEvent] = []
        self._seqs: list[int] = []
        self._at: dict[int, StoredEvent] = {}
        self._undone: set[int] = set()
        self._by_person: dict[int | None, list[StoredEvent]] = defaultdict(list)
        self._last_answers: dict[tuple[int, Key], StoredEvent] = {}  # last answers count
        self._answered: Counter[Key] = Counter()
        self._skipped: Counter[Key] = Counter()
        self._n_answers: Counter[int | None] = Counter()
        self._known = KnownRelations()
        self._marks: list[StoredEvent] = []  # confirmed answers, and questions to be asked again

    @property
    def last(self) -> int:
        """The seq of the latest event here, or 0."""
        with self._lock:
            return self._seqs[-1] if self._seqs else 0

    def add(self, events: Sequence[StoredEvent]) -> list[StoredEvent]:
        """Add events in the order of their seqs, and return those that are new."""
        with self._lock:
            new = [event for event in events if event.seq > self.last]
            for event in new:
                self._events.append(event)
                self._seqs.append(event.seq)
                self._at[event.seq] = event
                self._by_person[event.person].append(event)
                self._by_person[None].append(event)
                self._count(event)
            return new

    def _count(self, event: StoredEvent) -> None:
        if is_informative(event):
            key = make_question_key(event.body["kind"], event.body["items"])
            if (event.person, key) in self._last_answers:
                self._recount()  # the event replaces an earlier one
            else:
                self._count_answer(event, key)
        if _is_skip(event):
            self._skipped[make_question_key(event.body["kind"], event.body["items"])] += 1
        if event.kind in ("confirm", "again"):
            self._marks.append(event)
        if event.kind != "undo":
            return
        of = int(event.body["of"])
        undone = self._at.get(of)
        if undone is None or of in self._undone:
            return
        self._undone.add(of)
        if is_informative(undone):
            self._recount()
        elif _is_skip(undone):
            self._skipped[make_question_key(undone.body["kind"], undone.body["items"])] -= 1

    def _count_answer(self, event: StoredEvent, key: Key) -> None:
        self._last_answers[event.person, key] = event
        self._answered[key] += 1
        self._n_answers.update((event.person, None))
        self._known.add(event)

    def _recount(self) -> None:
        """Count again from the first event, because an event no longer counts."""
        last: dict[tuple[int, Key], StoredEvent] = {}
        for event in self.get_standing("answer"):
            if is_informative(event):
                last[event.person, make_question_key(event.body["kind"], event.body["items"])] = event
        self._last_answers, self._known = {}, KnownRelations()
        self._answered.clear()
        self._n_answers.clear()
        for event in sorted(last.values(), key=lambda event: event.seq):
            self._count_answer(event, make_question_key(event.body["kind"], event.body["items"]))

    def get_events(self, after: int = 0) -> tuple[StoredEvent, ...]:
        """Return the events after a seq."""
        with self._lock:
            return tuple(self._events[bisect_right(self._seqs, after) :])

    def get_events_of(self, person: int | None) -> tuple[StoredEvent, ...]:
        """Return the events of one person, or of all people."""
        with self._lock:
            return tuple(self._by_person.get(person, ()))

    def get(self, seq: int) -> StoredEvent | None:
        """Return an event."""
        with self._lock:
            return self._at.get(seq)

    def is_undone(self, seq: int) -> bool:
        """Return True if an event was undone."""
        with self._lock:
            return seq in self._undone

    def get_standing(self, *kinds: str, person: int | None = None) -> list[StoredEvent]:
        """Return the events of the given kinds that count."""
        with self._lock:
            return [e for e in self.get_events_of(person) if e.kind in kinds and e.seq not in self._undone]

    def count_answers(self, person: int | None = None) -> int:
        """Return the number of answers that count, of one person or of all."""
        with self._lock:
            return self._n_answers[person]

    def was_answered(self, question: QueuedQuestion) -> bool:
        """Return True if anyone answered or skipped a question."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            return self._answered[key] > 0 or self._skipped[key] > 0

    def is_confirmed(self, seq: int) -> bool:
        """Return True if an answer was confirmed."""
        with self._lock:
            return any(
                event.kind == "confirm" and event.body["of"] == seq for event in self._get_standing_marks()
            )

    def is_last_answer(self, event: StoredEvent) -> bool:
        """Return True if an answer counts: not undone, and its person's last to its question."""
        if not is_informative(event):
            return False
        with self._lock:
            last = self._last_answers.get((event.person, _get_key(event)))
            return last is not None and last.seq == event.seq

    def get_answerers(self, question: QueuedQuestion) -> set[int]:
        """Return the people whose answer to a question counts."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            return {person for person, answered in self._last_answers if answered == key}

    def get_revisits(self) -> dict[int, QueuedQuestion]:
        """Return questions to be asked again that are still open, by the seq of the earlier answer."""
        found = {}
        with self._lock:
            for mark in self._get_standing_marks():
                answer = self._at.get(int(mark.body["of"]))
                if mark.kind != "again" or answer is None or answer.seq in self._undone:
                    continue
                if not self._was_answered_since(mark.seq, _get_key(answer)):
                    found[answer.seq] = QueuedQuestion(
                        id=f"again-{mark.seq}",
                        kind=answer.body["kind"],
                        items=tuple(answer.body["items"]),
                        reason=Reason("An earlier answer to this question is being checked."),
                    )
        return found

    def is_asked_again(self, answer: StoredEvent) -> bool:
        """Return True if the question of an answer is to be asked again, for this answer or another."""
        key = _get_key(answer)
        return any(make_question_key(one.kind, one.items) == key for one in self.get_revisits().values())

    def _get_standing_marks(self) -> list[StoredEvent]:
        return [event for event in self._marks if event.seq not in self._undone]

    def _was_answered_since(self, seq: int, key: Key) -> bool:
        later = self._events[bisect_right(self._seqs, seq) :]
        return any(
            (is_informative(event) or _is_skip(event))
            and event.seq not in self._undone
            and _get_key(event) == key
            for event in later
        )

    def get_group_names(self) -> list[tuple[str, str]]:
        """Return the names given to groups, as (item id, name), the latest last."""
        return [(str(event.body["item"]), str(event.body["name"])) for event in self.get_standing("name")]

    def count_joined(self) -> dict[str, int]:
        """Return the number of items, including itself, to which answers join each item they mention."""
        with self._lock:
            return self._known.count_joined()

    def is_implied(self, question: QueuedQuestion) -> bool:
        """Return True if the answer to a question follows from answers that count."""
        with self._lock:
            return self._known.is_implied(question.items)

    def is_answered_by_others_only(self, question: QueuedQuestion, person: int) -> bool:
        """Return True if answers of others to this question count, but none of this person."""
        key = make_question_key(question.kind, question.items)
        with self._lock:
            return self._answered[key] > 0 and (person, key) not in self._last_answers


def is_informative(event: StoredEvent) -> bool:
    """Return True if an event is an answer about the items."""
    return event.kind == "answer" and event.body.get("source") not in UNCOUNTED


def _get_key(event: StoredEvent) -> Key:
    return make_question_key(event.body["kind"], event.body["items"])


def _is_skip(event: StoredEvent) -> bool:
    return event.kind == "skip" and event.body.get("source") not in UNCOUNTED


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

    def add(self, answer: StoredEvent) -> None:
        """Record an answer; UNSURE and NEITHER imply nothing about two items."""
        items, word = answer.body["items"], answer.body["answer"]
        if word == "SAME":
            self.join(items[0], items[1])
        elif word == "DIFFERENT":
            self.separate(items[0], items[1])
        elif word in TOGETHER and len(items) == 3:
            a, b, odd = (items[at] for at in TOGETHER[word])
            self.join(a, b)
            self.separate(a, odd)

    def count_joined(self) -> dict[str, int]:
        """Return how many items belong together with each item mentioned, including itself."""
        root = {item: self._find(item) for item in {*self._parent, *self._parent.values(), *self._apart}}
        sizes = Counter(root.values())
        return {item: sizes[at] for item, at in root.items()}

    def is_implied(self, items: Sequence[str]) -> bool:
        """Return True if the relation of every two of the items is known."""
        roots = [self._find(item) for item in items]
        return all(a == b or b in self._apart.get(a, ()) for a, b in combinations(roots, 2))
