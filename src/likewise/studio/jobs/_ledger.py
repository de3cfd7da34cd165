"""Determine which answers count: not undone, and the last of each person to each question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from likewise._reasons import Reason
from likewise.active import Question, Reply
from likewise.exceptions import LikewiseError
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import StoredEvent


@dataclass(frozen=True)
class Voice:
    """An answer that counts.

    `seq` is its event, `person` who gave it; `steers` is true if it may influence which questions are asked,
    and `corrects` if it was given on the Groups page as a correction.
    """

    seq: int
    person: int
    reply: Reply
    steers: bool = True
    corrects: bool = False


@dataclass(frozen=True)
class StandingReplies:
    """The answers and skips that count among all events up to `seq`, in order of time."""

    seq: int
    voices: tuple[Voice, ...]
    skipped: tuple[Question, ...]
    confirmed: frozenset[int] = frozenset()  # seqs of confirmed answers

    @cached_property
    def people(self) -> tuple[int, ...]:
        """The people who answered, in the order of their first answers."""
        return tuple(dict.fromkeys(voice.person for voice in self.voices))


class Ledger:
    """Collects events and determines which of them count.

    See :class:`~likewise.studio._stored_events.StoredEventLog` for the rules. An answer is confirmed by a
    "confirm" event, or if its question was asked again (an "again" event) and got the same answer. An event
    that cannot be read, for example because it refers to a missing item, is recorded in `ignored` with a
    reason; the others are not affected.

    Parameters
    ----------
    row_of : mapping of str to int
        The row of each item.

    Attributes
    ----------
    seq : int
        The seq of the last event added.
    """

    def __init__(self, row_of: Mapping[str, int]) -> None:
        self.row_of = row_of
        self._log = StoredEventLog()  # of the events that can be read
        self._voices: dict[int, Voice] = {}
        self._skips: dict[int, Question] = {}
        self._counted: StandingReplies | None = None
        self.seq: int = 0
        self.ignored: dict[int, str] = {}

    def tell(self, events: Iterable[StoredEvent]) -> bool:
        """Add events, ignoring those added before; return True if this may change which answers count."""
        new = []
        for event in events:
            if self._log.get(event.seq) is not None or event.seq in self.ignored:
                continue
            self.seq = max(self.seq, event.seq)
            self._counted = None
            try:
                self._read(event)
                new.append((event.seq, event))
            except (LikewiseError, KeyError, TypeError, ValueError) as error:
                why = f"the item {error} is not in the data" if isinstance(error, KeyError) else str(error)
                self.ignored[event.seq] = f"Event {event.seq} is ignored: {why}."
        self._log.add(new)
        # A question to be asked again takes effect with its next answer.
        return any(
            event.kind in ("answer", "skip", "undo", "confirm") and not self._log.is_practice(event)
            for _, event in new
        )

    def _read(self, event: StoredEvent) -> None:
        """Read what an event is about; raise an error if that is not possible."""
        if event.kind in ("undo", "confirm", "again"):
            int(event.body["of"])
        if event.kind not in ("answer", "skip") or self._log.is_practice(event):
            return
        question = self._make_question(event.body)
        if event.kind == "skip":
            self._skips[event.seq] = question
            return
        answer = question.check_answer(event.body["answer"])
        reply = Reply(question, answer, str(event.person), event.time or None, event.seconds)
        source = event.body.get("source")
        self._voices[event.seq] = Voice(
            event.seq, event.person, reply, steers=source != "study", corrects=source == "groups"
        )

    def _make_question(self, body: Mapping[str, Any]) -> Question:
        rows = tuple(self.row_of[item] for item in body["items"])
        return Question(body["kind"], rows, body.get("score"), self._read_reason(body))

    def _read_reason(self, body: Mapping[str, Any]) -> Reason:
        """Return why a question was asked; events of older projects have only a sentence."""
        if "reason" in body:
            reason = Reason.from_dict(body["reason"])
            if all(item in self.row_of for item in reason.rows):
                return reason.renumber(self.row_of.__getitem__)
        return Reason.from_text(str(body.get("why") or ""))

    def get_standing(self) -> StandingReplies:
        """Return what counts among all events added so far."""
        if self._counted is None:
            voices = tuple(self._voices[event.seq] for event in self._log.get_counted("answer"))
            skips = tuple(self._skips[event.seq] for event in self._log.get_counted("skip"))
            self._counted = StandingReplies(self.seq, voices, skips, self._find_confirmed(voices))
        return self._counted

    def _find_confirmed(self, voices: tuple[Voice, ...]) -> frozenset[int]:
        """Return the seqs of the answers that count and were confirmed."""
        found = {int(event.body["of"]) for event in self._log.get_counted("confirm")}
        for event in self._log.get_counted("again"):
            of = int(event.body["of"])
            earlier = self._voices.get(of)
            if earlier is None or self._log.is_undone(of):
                continue
            question, answer = earlier.reply.question, earlier.reply.answer
            found |= {
                voice.seq
                for voice in voices
                if voice.seq > event.seq
                and voice.reply.question.key == question.key
                and voice.reply.to(question) == answer
            }
        return frozenset(found & {voice.seq for voice in voices})
