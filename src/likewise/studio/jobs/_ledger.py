"""Which answers count: events that were not undone, the last of each person to each question."""

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

    `seq` and `person` say which event it is and who gave it, `steers` whether it may steer the questions, and
    `corrects` whether it was given on the page of the groups, to correct what is shown there.
    """

    seq: int
    person: int
    reply: Reply
    steers: bool = True
    corrects: bool = False


@dataclass(frozen=True)
class StandingReplies:
    """What counts of all events up to `seq`: answers and skips, in the order in which they happened."""

    seq: int
    voices: tuple[Voice, ...]
    skipped: tuple[Question, ...]
    confirmed: frozenset[int] = frozenset()  # the seqs of answers that were confirmed

    @cached_property
    def people(self) -> tuple[int, ...]:
        """Who gave the answers, in the order of their first ones."""
        return tuple(dict.fromkeys(voice.person for voice in self.voices))


class Ledger:
    """Keeps events and tells which of them count.

    An undo counts unless it was undone itself. Practice counts for nothing. If a person answered a question
    twice the last answer counts. An answer is confirmed by a "confirm" event, or if its question was asked
    again (an "again" event) and the same answer was given. An event that cannot be read, since it names an
    item that is not there, is put aside in `ignored` with a sentence; it never stops the others.

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
        if event.kind == "confirm":
            self._confirms[event.seq] = int(event.body["of"])
            return True
        if event.kind == "again":
            self._repeats[event.seq] = int(event.body["of"])
            return False  # only the next answer to the question changes anything
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
        """Return why a question was asked; events of older projects have a sentence only."""
        if "reason" in body:
            reason = Reason.from_dict(body["reason"])
            if all(item in self.row_of for item in reason.rows):
                return reason.renumber(self.row_of.__getitem__)
        return Reason.from_text(str(body.get("why") or ""))

    def get_standing(self) -> StandingReplies:
        """Return what counts of all events that were told."""
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
        """Return the seqs of answers that count and were confirmed."""
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
        """The number of the last event that was told."""
        return max(self._seen, default=0)
