"""What happened in an interview, in order. Nothing is ever edited: an undo is an event of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from likewise.active._questions import Answer, Question, Reply
from likewise.supervision import Supervision

EventKind = Literal["answer", "skip", "undo"]


@dataclass(frozen=True)
class Event:
    """One thing that happened: an answer, a question that was skipped, or the undoing of such an event.

    Attributes
    ----------
    kind : {"answer", "skip", "undo"}
        What happened.
    question : Question
        What was answered, skipped, or is open again.
    reply : Reply or None
        What was said, for an answer.
    undoes : int or None
        Which event of the history no longer counts, for an undo.
    """

    kind: EventKind
    question: Question
    reply: Reply | None = None
    undoes: int | None = None


@dataclass(frozen=True)
class Contradiction:
    """Rows that were said to be apart and that other answers join.

    Attributes
    ----------
    rows : tuple of (int, int)
        The two rows that were said to be apart.
    chain : tuple of int
        The rows that lead from the one to the other, each said to belong with the next.
    replies : tuple of Reply
        The answers that state the two or a step of the chain; what is missing among them was given as a hint.
    """

    rows: tuple[int, int]
    chain: tuple[int, ...]
    replies: tuple[Reply, ...]

    def __str__(self) -> str:
        return (
            f"rows {self.rows[0]} and {self.rows[1]} were said to be apart, "
            f"yet are joined: {' = '.join(map(str, self.chain))}"
        )


def standing(history: Sequence[Event]) -> list[int]:
    """Return which events count: answers and skips that were not undone, in order."""
    undone = {event.undoes for event in history}
    return [at for at, event in enumerate(history) if event.kind != "undo" and at not in undone]


def supervision_of(replies: Sequence[Reply], n_samples: int) -> Supervision:
    """Return what the replies say of the rows; UNSURE says nothing."""
    told: dict[Answer, list[tuple[int, ...]]] = {Answer.SAME: [], Answer.DIFFERENT: []}
    triplets = []
    for reply in replies:
        if reply.answer in told:
            told[reply.answer].append(reply.question.rows)
        elif reply.answer is not Answer.UNSURE:
            triplets.append(reply)
    links = Supervision.from_links(n_samples, must=told[Answer.SAME], cannot=told[Answer.DIFFERENT])
    if not triplets:
        return links
    rows = [reply.question.rows for reply in triplets]
    return links | Supervision.from_triplets(n_samples, rows, [str(reply.answer) for reply in triplets])
