"""Which answers count: events that were not undone, the last of each person to each question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from likewise.active import Question, Reply
from likewise.active._questions import Key
from likewise.exceptions import LikewiseError
from likewise.studio._standing import undone_by
from likewise.studio.records import StoredEvent


@dataclass(frozen=True)
class Voice:
    """An answer that counts: which event it is, who gave it, and whether it may steer the questions."""

    seq: int
    person: int
    reply: Reply
    steers: bool = True


@dataclass(frozen=True)
class Counted:
    """What counts of all events up to `seq`: answers and skips, in the order in which they happened."""

    seq: int
    voices: tuple[Voice, ...]
    skipped: tuple[Question, ...]

    @cached_property
    def people(self) -> tuple[int, ...]:
        """Who gave the answers, in the order of their first ones."""
        return tuple(dict.fromkeys(voice.person for voice in self.voices))


class Ledger:
    """Keeps events and tells which of them count.

    An undo counts unless it was undone itself. Practice counts for nothing. If a person answered a question
    twice the last answer counts. An event that cannot be read, since it names an item that is not there, is
    put aside in `ignored` with a sentence; it never stops the others.

    Parameters
    ----------
    row_of : mapping of str to int
        The row of each item.
    """

    def __init__(self, row_of: Mapping[str, int]) -> None:
        self.row_of = row_of
        self._answers: dict[int, Voice] = {}
        self._skips: dict[int, Question] = {}
        self._undoes: dict[int, int] = {}
        self._seen: set[int] = set()
        self._counted: Counted | None = None
        self.ignored: dict[int, str] = {}

    def tell(self, events: Iterable[StoredEvent]) -> bool:
        """Take events, but for those taken before; tell whether any of them may change what counts."""
        news = False
        for event in events:
            if event.seq in self._seen:
                continue
            self._seen.add(event.seq)
            self._counted = None
            try:
                news |= self._take(event)
            except (LikewiseError, KeyError, TypeError, ValueError) as error:
                why = f"the item {error} is not in the data" if isinstance(error, KeyError) else str(error)
                self.ignored[event.seq] = f"Event {event.seq} is left out: {why}."
        return news

    def _take(self, event: StoredEvent) -> bool:
        if event.kind == "undo":
            self._undoes[event.seq] = int(event.body["of"])
            return True
        if event.kind not in ("answer", "skip") or event.body.get("source") == "practice":
            return False
        question = self._question(event.body)
        if event.kind == "skip":
            self._skips[event.seq] = question
            return True
        said = question.fitting(event.body["answer"])
        reply = Reply(question, said, str(event.person), event.time or None, event.seconds)
        steers = event.body.get("source") != "study"
        self._answers[event.seq] = Voice(event.seq, event.person, reply, steers)
        return True

    def _question(self, body: Mapping[str, Any]) -> Question:
        rows = tuple(self.row_of[item] for item in body["items"])
        return Question(body["kind"], rows, body.get("score"), str(body.get("why") or ""))

    def counted(self) -> Counted:
        """Return what counts of all events that were told."""
        if self._counted is None:
            undone = undone_by(self._undoes)
            last: dict[tuple[Key, int], Voice] = {}
            for seq in sorted(self._answers):
                if seq not in undone:
                    voice = self._answers[seq]
                    last[voice.reply.question.key, voice.person] = voice
            voices = tuple(sorted(last.values(), key=lambda voice: voice.seq))
            skips = tuple(self._skips[seq] for seq in sorted(self._skips) if seq not in undone)
            self._counted = Counted(self.seq, voices, skips)
        return self._counted

    @property
    def seq(self) -> int:
        """The number of the last event that was told."""
        return max(self._seen, default=0)
