"""Which answers count, the one reply per question that those of several people amount to, and agreement."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from likewise.active import Answer, AnswerValue, InGroup, Key, Named, Question, Reply, Unlike
from likewise.exceptions import LikewiseError
from likewise.oracles import Annotators
from likewise.studio._repairs import Relation, count_new_groups, fill_shelf, resolve_repairs
from likewise.studio._stored_events import StoredEventLog, share_strings
from likewise.studio.records import Conflict, PeopleAgreement, PersonReliability, StoredEvent

# Minimum weight for a verdict on a disputed question to count: a pair with probability 3/4.
_LEAST_WEIGHT = 0.5
# Below this reliability (for pairs: right 5 times in 8) a person's answers count only if another person
# agrees.
_TRUSTED = 0.25
# Weight of a confirmed answer or a correction of the groups, as a number of answers. Items well inside
# another group start to move at about eight.
_FIRM_WEIGHT = 10.0
# What the page of a question showed. Kept for each of many answers, it would need most of the memory.
_ONLY_SHOWN = ("why", "reason", "score", "examples", "names")


@dataclass(frozen=True, slots=True)
class Voice:
    """An answer that counts.

    `seq` is its event, `person` who gave it; `steers` is true if it may influence which questions are asked,
    `corrects` if it was given on the Groups page as a correction, and `repairs` if it is a part of a repair.
    """

    seq: int
    person: int
    reply: Reply
    steers: bool = True
    corrects: bool = False
    repairs: bool = False


class _Asked(NamedTuple):
    """A question, and the different bodies of its answers, which those of several people share."""

    question: Question
    given: list[Mapping[str, Any]]


@dataclass(frozen=True)
class CountedReplies:
    """The answers and skips that count among all events up to `seq`, in order of time."""

    seq: int
    voices: tuple[Voice, ...]
    skipped: tuple[Question, ...]
    confirmed: frozenset[int] = frozenset()  # seqs of confirmed answers
    shelf: tuple[int, ...] = ()  # rows that belong to no group, by repairs
    n_new_groups: int = 0  # by which repairs change the number of groups

    @cached_property
    def people(self) -> tuple[int, ...]:
        """The people who answered, in the order of their first answers."""
        return tuple(dict.fromkeys(voice.person for voice in self.voices))

    def get_grouped_voices(self) -> tuple[Voice, ...]:
        """Return the answers from which the groups follow: those that relate no row on the shelf."""
        if not self.shelf:
            return self.voices
        shelf = frozenset(self.shelf)
        return tuple(voice for voice in self.voices if not _relates(voice.reply.question, shelf))


def _relates(question: Question, shelf: frozenset[int]) -> bool:
    """Return True if an answer would relate a row on the shelf to all the others of its question.

    A placement and members relate the first row to each of the others.
    """
    if question.kind in ("placement", "members"):
        return question.rows[0] in shelf
    return not shelf.isdisjoint(question.rows)


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
        self._asked: dict[Any, _Asked] = {}
        self._counted: CountedReplies | None = None
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
                event = self._make_small(event)
                self._read(event)
                new.append((event.seq, event))
            except (LikewiseError, KeyError, TypeError, ValueError) as error:
                why = f"the item {error} is not in the data" if isinstance(error, KeyError) else str(error)
                self.ignored[event.seq] = f"Event {event.seq} is ignored: {why}."
        self._log.add(new)
        # A question to be asked again takes effect with its next answer.
        return any(
            event.kind in ("answer", "skip", "undo", "confirm", "repair") and not self._log.is_practice(event)
            for _, event in new
        )

    def _read(self, event: StoredEvent) -> None:
        """Read what an event is about; raise an error if that is not possible."""
        if event.kind in ("undo", "confirm", "again"):
            int(event.body["of"])
        if event.kind == "broken":
            self.row_of[event.body["item"]]
        if event.kind == "repair":
            named = {item for relation in event.relations for item in relation[:2]}
            for item in (*event.body["items"], *sorted(named)):
                self.row_of[item]
        if event.kind not in ("answer", "skip") or self._log.is_practice(event):
            return
        question = self._get_asked(event.body).question
        if event.kind == "skip":
            self._skips[event.seq] = question
            return
        answer = self._read_answer(event.body["answer"])
        reply = Reply(question, answer, sys.intern(str(event.person)), event.time or None, event.seconds)
        source = event.body.get("source")
        self._voices[event.seq] = Voice(
            event.seq, event.person, reply, steers=source != "study", corrects=source == "groups"
        )

    def _make_repair_voices(self, event: StoredEvent, relations: Iterable[Relation]) -> list[Voice]:
        """Return what a repair states as answers about pairs of rows."""
        voices = []
        for a, b, together in relations:
            question = Question.pair(self.row_of[a], self.row_of[b])
            answer = Answer.SAME if together else Answer.DIFFERENT
            reply = Reply(question, answer, str(event.person), event.time or None)
            voices.append(Voice(event.seq, event.person, reply, corrects=True, repairs=True))
        return voices

    def _make_small(self, event: StoredEvent) -> StoredEvent:
        """Return an event with only what is needed here, as far as possible shared with other events."""
        if event.kind == "repair":
            return share_strings(event)
        event = replace(share_strings(event, _ONLY_SHOWN), key="", question=None)
        if event.kind != "answer":
            return event
        given = self._get_asked(event.body).given
        if event.body not in given:
            given.append(event.body)
        return replace(event, body=given[given.index(event.body)])

    def _get_asked(self, body: Mapping[str, Any]) -> _Asked:
        at = (body["kind"], tuple(self.row_of[item] for item in body["items"]))
        if at not in self._asked:
            self._asked[at] = _Asked(Question(*at), [])
        return self._asked[at]

    def _read_answer(self, answer: Any) -> Any:
        """Return a stored answer in terms of rows; :class:`~likewise.active.Reply` checks it."""
        if not isinstance(answer, Mapping):
            return answer
        if "name" in answer:
            return Named(answer["name"])
        if "groups" in answer:
            return InGroup(self.row_of[item] for item in answer["groups"])
        return Unlike(self.row_of[item] for item in answer["unlike"])

    def get_counted_replies(self) -> CountedReplies:
        """Return what counts among all events added so far."""
        if self._counted is None:
            repairs = [event.body for event in self._log.get_counted("repair")]
            voices = self._get_voices()
            skips = tuple(self._skips[event.seq] for event in self._log.get_counted("skip"))
            self._counted = CountedReplies(
                self.seq,
                voices,
                skips,
                self._find_confirmed(voices),
                tuple(sorted(self.row_of[item] for item in fill_shelf(repairs))),
                count_new_groups(repairs),
            )
        return self._counted

    def get_broken_rows(self) -> frozenset[int]:
        """Return the rows of items that cannot be judged."""
        return frozenset(self.row_of[event.body["item"]] for event in self._log.get_counted("broken"))

    def _get_voices(self) -> tuple[Voice, ...]:
        """Return the answers that count; of a person's answers to a pair and repairs of it, the last."""
        repairs = self._log.get_counted("repair")
        found = [self._voices[event.seq] for event in self._log.get_counted("answer")]
        if not repairs:
            return tuple(found)
        resolved = resolve_repairs([(event.person, event.body) for event in repairs])
        for event, relations in zip(repairs, resolved, strict=True):
            found += self._make_repair_voices(event, relations)
        last: dict[tuple[int, Key], Voice] = {}
        for voice in sorted(found, key=lambda voice: voice.seq):
            last.pop(at := (voice.person, voice.reply.question.key), None)
            last[at] = voice
        return tuple(last.values())

    def get_earlier_replies(self, seq: int) -> tuple[tuple[Voice, ...], frozenset[int]]:
        """Return the answers from which the groups followed after the event `seq`, and the confirmed ones."""
        earlier = Ledger(self.row_of)
        earlier.tell(event for event in self._log.get_events() if event.seq <= seq)
        counted = earlier.get_counted_replies()
        return counted.get_grouped_voices(), counted.confirmed

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


@dataclass(frozen=True, eq=False)
class SettledReplies:
    """One reply to each question.

    Attributes
    ----------
    replies : tuple of Reply
        In the order in which the questions were first answered.
    events : tuple of tuple of int
        The seqs of the answers behind each reply.
    disputes : tuple of Conflict
        Undecided disagreements; those about a triplet have no chain.
    weights : tuple of float
        The weight of each reply, as a number of answers.
    confirmed : frozenset of Key
        The questions with a confirmed answer.
    divided : tuple of Question
        Questions about several rows of which only some are decided: the reply is about these, and the
        question itself is not asked again.
    """

    replies: tuple[Reply, ...]
    events: tuple[tuple[int, ...], ...]
    disputes: tuple[Conflict, ...] = ()
    weights: tuple[float, ...] = ()
    confirmed: frozenset[Key] = frozenset()
    divided: tuple[Question, ...] = ()


def settle(voices: Sequence[Voice], confirmed: Collection[int] = ()) -> SettledReplies:
    """Return one reply to each question.

    A unanimous answer counts unless everyone who gave it proved unreliable on questions that others answered
    too. If people disagree, the most probable answer counts if it has enough weight, and UNSURE otherwise. If
    they disagree about some rows of a placement or of members, this applies to each row. An UNSURE of one
    person does not affect the answers of the others. Answers with the seqs `confirmed`, and corrections of
    the groups, have a larger weight.
    """
    by_key: dict[Key, list[Voice]] = {}
    for voice in voices:
        by_key.setdefault(voice.reply.question.key, []).append(voice)
    judged = (
        _judge(voices) if any(len(voices_of_question) > 1 for voices_of_question in by_key.values()) else None
    )
    replies, events, disputes, weights = [], [], [], []
    confirmed_keys, divided = set(), []
    for voices_of_question in by_key.values():
        reply = _find_agreed(voices_of_question, judged)
        replies.append(reply)
        events.append(tuple(voice.seq for voice in voices_of_question))
        asked = voices_of_question[0].reply.question
        if asked.key != reply.question.key:
            divided.append(asked)
        agreeing = [voice for voice in voices_of_question if agrees(voice, reply)]
        is_confirmed = any(voice.seq in confirmed for voice in agreeing)
        firm = is_confirmed or any(voice.corrects for voice in agreeing)
        weights.append(_FIRM_WEIGHT if firm else 1.0)
        if is_confirmed:
            confirmed_keys.add(reply.question.key)
        decided = reply.question.rows[1:] if reply.answer is not Answer.UNSURE else ()
        if (not decided or asked in divided) and _have_disagreement(voices_of_question):
            rows = tuple(row for row in asked.rows if row not in decided)
            about = tuple(voice.seq for voice in voices_of_question if _is_sure(voice))
            disputes.append(Conflict(rows, rows if len(rows) == 2 else (), about))
    return SettledReplies(
        tuple(replies),
        tuple(events),
        tuple(disputes),
        tuple(weights),
        frozenset(confirmed_keys),
        tuple(divided),
    )


def _judge(voices: Sequence[Voice]) -> Annotators:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # people who share no question; their answers count here
        return Annotators(voice.reply for voice in voices)


def _is_sure(voice: Voice) -> bool:
    return voice.reply.answer is not Answer.UNSURE


def agrees(voice: Voice, reply: Reply) -> bool:
    """Return True if a person gave this answer, or one that states the same about its rows."""
    if voice.reply.question.key == reply.question.key:
        return voice.reply.to(reply.question) == reply.answer
    return set(reply.relations) <= set(voice.reply.relations)


def _have_disagreement(voices_of_question: Sequence[Voice]) -> bool:
    first = voices_of_question[0].reply.question
    return len({voice.reply.to(first) for voice in voices_of_question if _is_sure(voice)}) > 1


def _find_agreed(voices_of_question: Sequence[Voice], judged: Annotators | None) -> Reply:
    first = voices_of_question[0].reply
    sure = [voice for voice in voices_of_question if _is_sure(voice)]
    if not sure:
        return first
    if judged is None:
        return sure[0].reply
    if not _have_disagreement(voices_of_question):
        trusted = {
            one.name for one in judged.annotators if not one.n_shared or (one.reliability or 0.0) >= _TRUSTED
        }
        is_trusted = any(str(voice.person) in trusted for voice in sure)
        return sure[0].reply if is_trusted else _make_unsure(first)
    if first.question.kind == "label":
        return _choose_name(sure, judged)
    if first.question.kind in ("placement", "members"):
        return _combine_relations(sure, judged)
    asked = Question.pair(*first.question.rows) if first.question.kind == "groups" else first.question
    answer = _find_probable(asked, judged)
    if answer is None:
        return _make_unsure(first)
    return Reply(first.question, answer, None, first.time, first.seconds)


def _find_probable(question: Question, judged: Annotators) -> Answer | None:
    """Return the most probable answer to a pair or triplet; None if it has too little weight."""
    chances = judged.posterior(question)
    answer = max(chances, key=lambda word: chances[word])
    n = len(chances)
    weight = (n * chances[answer] - 1) / (n - 1)  # as Verdict.weight
    return answer if weight >= _LEAST_WEIGHT else None


def _combine_relations(sure: Sequence[Voice], judged: Annotators) -> Reply:
    """Return the reply to a placement or members about the rows on which a verdict counts."""
    first = sure[0].reply
    row, *others = first.question.rows
    found = {other: _find_probable(Question.pair(row, other), judged) for other in others}
    decided = [other for other, word in found.items() if word is not None]
    together = [other for other in decided if found[other] is Answer.SAME]
    apart = [other for other in decided if found[other] is Answer.DIFFERENT]
    if not decided:
        return _make_unsure(first)
    asked = first.question if len(decided) == len(others) else replace(first.question, rows=(row, *decided))
    answer: AnswerValue = Unlike(apart)
    if asked.kind == "placement":
        answer = InGroup(together) if together else Answer.NEW
    return Reply(asked, answer, None, first.time, first.seconds)


def _choose_name(sure: Sequence[Voice], judged: Annotators) -> Reply:
    """Return the name that the most reliable people gave, or UNSURE if no name has more weight."""
    reliability = {one.name: max(one.reliability or 0.0, 0.0) + 1e-9 for one in judged.annotators}
    weights: dict[Any, float] = {}
    for voice in sure:
        answer = voice.reply.answer
        weights[answer] = weights.get(answer, 0.0) + reliability.get(str(voice.person), 1e-9)
    best, second = sorted(weights.values(), reverse=True)[:2]
    first = sure[0].reply
    if best - second < _LEAST_WEIGHT * best:
        return _make_unsure(first)
    return Reply(
        first.question, max(weights, key=lambda name: weights[name]), None, first.time, first.seconds
    )


def _make_unsure(reply: Reply) -> Reply:
    return Reply(reply.question, Answer.UNSURE, None, reply.time, reply.seconds)


def compute_agreement(counted: CountedReplies) -> PeopleAgreement:
    """Return the agreement between people and the estimated reliability of each.

    Agreement on pairs and triplets is averaged, weighted by their number; the pairs include those that
    answers about groups state. Alpha refers to the more frequent of the two. The reliability of a person who
    shares no question with others is unknown.
    """
    if not counted.voices:
        return PeopleAgreement(0, None, None)
    judged = _judge(counted.voices)
    found = sorted((judged.agreement(kind) for kind in ("pair", "triplet")), key=lambda one: -one.n_questions)
    shared = [one for one in found if one.observed is not None]
    n_shared = sum(one.n_questions for one in shared)
    observed = sum(one.n_questions * (one.observed or 0.0) for one in shared) / n_shared if n_shared else None
    named = {one.name: one for one in judged.annotators}
    people = []
    for person in counted.people:
        mine = [voice for voice in counted.voices if voice.person == person and not voice.repairs]
        seconds = [voice.reply.seconds for voice in mine if voice.reply.seconds is not None]
        one = named[str(person)]
        known = one.n_shared > 0
        people.append(
            PersonReliability(
                person=person,
                n_answers=len(mine),
                n_shared=one.n_shared,
                n_unsure=one.n_unsure,
                accuracy=one.accuracy if known else None,
                reliability=one.reliability if known else None,
                seconds=float(median(seconds)) if seconds else None,
            )
        )
    return PeopleAgreement(n_shared, observed, shared[0].alpha if shared else None, tuple(people))
