"""Combine the answers of several people to one reply per question, and measure their agreement."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from likewise.active import Answer, Reply
from likewise.active._questions import Key
from likewise.oracles import Annotators
from likewise.studio.jobs._ledger import StandingReplies, Voice
from likewise.studio.records import Conflict, PersonStanding, Standing

# Minimum weight for a verdict on a disputed question to count: a pair with probability 3/4.
_LEAST_WEIGHT = 0.5
# Below this reliability (for pairs: right 5 times in 8) a person's answers count only if another person
# agrees.
_TRUSTED = 0.25
# Weight of a confirmed answer or a correction of the groups, as a number of answers. Items well inside
# another group start to move at about eight.
_FIRM_WEIGHT = 10.0


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
    """

    replies: tuple[Reply, ...]
    events: tuple[tuple[int, ...], ...]
    disputes: tuple[Conflict, ...] = ()
    weights: tuple[float, ...] = ()
    confirmed: frozenset[Key] = frozenset()


def settle(voices: Sequence[Voice], confirmed: Collection[int] = ()) -> SettledReplies:
    """Return one reply to each question.

    A unanimous answer counts unless everyone who gave it proved unreliable on questions that others answered
    too. If people disagree, the most probable answer counts if it has enough weight, and UNSURE otherwise. An
    UNSURE of one person does not affect the answers of the others. Answers with the seqs `confirmed`, and
    corrections of the groups, have a larger weight.
    """
    by_key: dict[Key, list[Voice]] = {}
    for voice in voices:
        by_key.setdefault(voice.reply.question.key, []).append(voice)
    judged = (
        _judge(voices) if any(len(voices_of_question) > 1 for voices_of_question in by_key.values()) else None
    )
    replies, events, disputes, weights = [], [], [], []
    confirmed_keys = set()
    for voices_of_question in by_key.values():
        reply = _find_agreed(voices_of_question, judged)
        replies.append(reply)
        events.append(tuple(voice.seq for voice in voices_of_question))
        agreeing = [voice for voice in voices_of_question if voice.reply.to(reply.question) == reply.answer]
        is_confirmed = any(voice.seq in confirmed for voice in agreeing)
        firm = is_confirmed or any(voice.corrects for voice in agreeing)
        weights.append(_FIRM_WEIGHT if firm else 1.0)
        if is_confirmed:
            confirmed_keys.add(reply.question.key)
        if reply.answer is Answer.UNSURE and _have_disagreement(voices_of_question):
            rows = reply.question.rows
            about = tuple(voice.seq for voice in voices_of_question if _is_sure(voice))
            disputes.append(Conflict(rows, rows if len(rows) == 2 else (), about))
    return SettledReplies(
        tuple(replies), tuple(events), tuple(disputes), tuple(weights), frozenset(confirmed_keys)
    )


def _judge(voices: Sequence[Voice]) -> Annotators:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # people who share no question; their answers count here
        return Annotators(voice.reply for voice in voices)


def _is_sure(voice: Voice) -> bool:
    return voice.reply.answer is not Answer.UNSURE


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
        return sure[0].reply if _has_trusted(sure, judged) else _is_unsure(first)
    chances = judged.posterior(first.question)
    answer = max(chances, key=lambda word: chances[word])
    n = len(chances)
    weight = (n * chances[answer] - 1) / (n - 1)  # as Verdict.weight
    if weight < _LEAST_WEIGHT:
        return _is_unsure(first)
    return Reply(first.question, answer, None, first.time, first.seconds)


def _is_unsure(reply: Reply) -> Reply:
    return Reply(reply.question, Answer.UNSURE, None, reply.time, reply.seconds)


def _has_trusted(voices: Sequence[Voice], judged: Annotators) -> bool:
    trusted = {
        one.name for one in judged.annotators if not one.n_shared or (one.reliability or 0.0) >= _TRUSTED
    }
    return any(str(voice.person) in trusted for voice in voices)


def compute_standing(counted: StandingReplies) -> Standing:
    """Return the agreement between people and the estimated reliability of each.

    Agreement on pairs and triplets is averaged, weighted by the number of questions; alpha refers to the kind
    asked more often. The reliability of a person who shares no question with others is unknown.
    """
    if not counted.voices:
        return Standing(0, None, None)
    judged = _judge(counted.voices)
    found = sorted((judged.agreement(kind) for kind in ("pair", "triplet")), key=lambda one: -one.n_questions)
    shared = [one for one in found if one.observed is not None]
    n_shared = sum(one.n_questions for one in shared)
    observed = sum(one.n_questions * (one.observed or 0.0) for one in shared) / n_shared if n_shared else None
    named = {one.name: one for one in judged.annotators}
    people = []
    for person in counted.people:
        mine = [voice for voice in counted.voices if voice.person == person]
        seconds = [voice.reply.seconds for voice in mine if voice.reply.seconds is not None]
        one = named[str(person)]
        known = one.n_shared > 0
        people.append(
            PersonStanding(
                person=person,
                n_answers=len(mine),
                n_shared=one.n_shared,
                n_unsure=one.n_unsure,
                accuracy=one.accuracy if known else None,
                reliability=one.reliability if known else None,
                seconds=float(median(seconds)) if seconds else None,
            )
        )
    return Standing(n_shared, observed, shared[0].alpha if shared else None, tuple(people))
