"""Several people: one answer to each question out of all that was said to it, and how far they agree."""

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

# A verdict on what people disagree about counts from this weight on: a pair with a chance of 3 in 4.
_LEAST_WEIGHT = 0.5
# Somebody below this reliability (for pairs: right 5 times in 8) is not believed without somebody else.
_TRUSTED = 0.25
# A confirmed answer, or a correction of the groups, counts as this many answers. Items that lie well inside
# another group move from about eight on.
_FIRM_WEIGHT = 10.0


@dataclass(frozen=True, eq=False)
class SettledReplies:
    """One reply to each question.

    Attributes
    ----------
    replies : tuple of Reply
        In the order in which the questions were first answered.
    events : tuple of tuple of int
        The seqs of the answers behind each.
    disputes : tuple of Conflict
        What people disagree about and no verdict decides; of a triplet there is no chain.
    weights : tuple of float
        As how many answers each reply counts.
    confirmed : frozenset of Key
        The questions whose answer was confirmed.
    """

    replies: tuple[Reply, ...]
    events: tuple[tuple[int, ...], ...]
    disputes: tuple[Conflict, ...] = ()
    weights: tuple[float, ...] = ()
    confirmed: frozenset[Key] = frozenset()


def settle(voices: Sequence[Voice], confirmed: Collection[int] = ()) -> SettledReplies:
    """Return one reply to each question.

    An answer that one person gave, or several gave alike, counts unless all of them proved unreliable on
    questions that others answered too. Where people disagree, the most probable answer counts if it has
    enough weight, and UNSURE otherwise. UNSURE of one person takes nothing from the others. Answers with the
    seqs `confirmed`, and corrections of the groups, have a larger weight.
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
        warnings.simplefilter("ignore")  # of people who share no question: they are believed here
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
    """Return how far people agree, and what is thought of each.

    Agreement on pairs and triplets is taken together by the number of questions; alpha is that of the kind
    that was asked more often. Of somebody who shares no question nothing is known.
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
