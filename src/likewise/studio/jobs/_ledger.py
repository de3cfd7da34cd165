"""Determine which answers count: not undone, and the last of each person to each question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from likewise._reasons import Reason
from likewise.active import Question, Reply
from likewise.active._questions import Key
from likewise.exceptions import LikewiseError
from likewise.studio._undone import find_undone
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

    An undo counts unless it was undone itself. Practice answers never count. If a person answered a question
    twice, the last answer counts. An answer is confirmed by a "confirm" event, or if its question was asked
    again (an "again" event) and got the same answer. An event that cannot be read, for example because it
    refers to a missing item, is recorded in `ignored` with a reason; the others are not affected.

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
        self._confirms: dict[int, int] = {}
        self._repeats: dict[int, int] = {}
        self._seen: set[int] = set()
        self._counted: StandingReplies | None = None
        self.ignored: dict[int, str] = {}

    def tell(self, events: Iterable[StoredEvent]) -> bool:
        """Add events, ignoring those added before; return True if this may change which answers count."""
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
                self.ignored[event.seq] = f"Event {event.seq} is ignored: {why}."
        return news

    def _take(self, event: StoredEvent) -> bool:
        if event.kind == "undo":
            self._undoes[event.seq] = int(event.body["of"])
            return True
        if event.kind == "confirm":
            self._confirms[event.seq] = int(event.body["of"])
            return True
        if event.kind == "again":
            self._repeats[event.seq] = int(event.body["of"])
            return False  # takes effect with the next answer to the question
        if event.kind not in ("answer", "skip") or event.body.get("source") == "practice":
            return False
        question = self._make_question(event.body)
        if event.kind == "skip":
            self._skips[event.seq] = question
            return True
        answer = question.check_answer(event.body["answer"])
        reply = Reply(question, answer, str(event.person), event.time or None, event.seconds)
        source = event.body.get("source")
        self._answers[event.seq] = Voice(
            event.seq, event.person, reply, steers=source != "study", corrects=source == "groups"
        )
        return True

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
            undone = find_undone(self._undoes)
            last: dict[tuple[Key, int], Voice] = {}
            for seq in sorted(self._answers):
                if seq not in undone:
                    voice = self._answers[seq]
                    last[voice.reply.question.key, voice.person] = voice
            voices = tuple(sorted(last.values(), key=lambda voice: voice.seq))
            skips = tuple(self._skips[seq] for seq in sorted(self._skips) if seq not in undone)
            confirmed = self._find_confirmed(voices, undone)
            self._counted = StandingReplies(self.seq, voices, skips, confirmed)
        return self._counted

    def _find_confirmed(self, voices: tuple[Voice, ...], undone: frozenset[int]) -> frozenset[int]:
        """Return the seqs of the answers that count and were confirmed."""
        found = {of for seq, of in self._confirms.items() if seq not in undone}
        for seq, of in self._repeats.items():
            earlier = self._answers.get(of)
            if earlier is None or seq in undone or of in undone:
                continue
            question, answer = earlier.reply.question, earlier.reply.answer
            found |= {
                voice.seq
                for voice in voices
                if voice.seq > seq
                and voice.reply.question.key == question.key
                and voice.reply.to(question) == answer
            }
        return frozenset(found & {voice.seq for voice in voices})

    @property
    def seq(self) -> int:
        """The seq of the last event added."""
        return max(self._seen, default=0)
