"""What happened in an interview, in order. Nothing is ever edited: an undo is an event of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Literal

from likewise.active._questions import Answer, Question, Reply
from likewise.supervision import Closure, Supervision
from likewise.supervision._cliques import find_crowd

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

    def renumber(self, number: Callable[[int], int]) -> Event:
        """Return an answer or a skip with other numbers for the rows."""
        reply = None if self.reply is None else self.reply.renumber(number)
        return Event(self.kind, self.question.renumber(number), reply)


@dataclass(frozen=True)
class Contradiction:
    """Rows that were said to be apart and cannot be: other answers join them, or there are too few clusters.

    Attributes
    ----------
    rows : tuple of int
        Two rows with a cannot-link between them; or a set of rows with cannot-links between all of them,
        larger than the number of clusters.
    chain : tuple of int
        The rows that lead from the one to the other, each said to belong with the next; empty if there are
        too few clusters.
    replies : tuple of Reply
        The answers that state what is apart or a step of the chain; what is missing among them was given as
        a hint.
    """

    rows: tuple[int, ...]
    chain: tuple[int, ...]
    replies: tuple[Reply, ...]

    def __str__(self) -> str:
        apart = f"rows {', '.join(map(str, self.rows[:-1]))} and {self.rows[-1]} were said to be apart"
        if self.chain:
            return f"{apart}, yet are joined: {' = '.join(map(str, self.chain))}"
        return f"{apart} from one another, which takes more clusters than there are"


def standing(history: Sequence[Event]) -> list[int]:
    """Return which events count: answers and skips that were not undone, in order."""
    undone = {event.undoes for event in history}
    return [at for at, event in enumerate(history) if event.kind != "undo" and at not in undone]


def supervision_of(replies: Sequence[Reply], n_samples: int) -> Supervision:
    """Return what the replies say of the rows, as it was said; UNSURE says nothing.

    A tray states must-links inside its piles, kept as groups, and a cannot-link for any two rows of
    different piles: 66 at most. Fewer would imply as many, but a method that weighs links would then hold
    what was said apart for less than what was said together.
    """
    must: list[tuple[int, ...]] = []
    cannot: list[tuple[int, int]] = []
    triplets: list[tuple[tuple[int, ...], str]] = []
    for reply in replies:
        question = reply.question
        # NEITHER of three rows is all that was said of them where a triplet can hold it.
        if question.kind == "triplet" or (reply.answer is Answer.NEITHER and len(question.rows) == 3):
            if reply.answer is not Answer.UNSURE:
                triplets.append((question.rows, str(reply.answer)))
            continue
        if reply.answer is Answer.SAME and len(question.rows) == 2:  # most of them
            must.append(question.rows)
        elif reply.answer is Answer.DIFFERENT:
            cannot.append(question.rows)  # type: ignore[arg-type]
        else:
            must += [pile for pile in reply.piles if len(pile) > 1]
            cannot += [pair for one, other in combinations(reply.piles, 2) for pair in product(one, other)]
    links = Supervision.from_links(
        n_samples,
        must=[pile for pile in must if len(pile) == 2],
        cannot=cannot,
        must_groups=[pile for pile in must if len(pile) > 2],
    )
    if not triplets:
        return links
    return links | Supervision.from_triplets(n_samples, *zip(*triplets, strict=True))


def contradictions_of(closure: Closure, replies: Sequence[Reply]) -> tuple[Contradiction, ...]:
    """Return what was said to be apart and is joined by other answers, each with the answers that say so."""
    found = []
    piles = [{row: at for at, pile in enumerate(reply.piles) for row in pile} for reply in replies]

    def say(reply: dict[int, int], i: int, j: int, *, together: bool) -> bool:
        return i in reply and j in reply and (reply[i] == reply[j]) is together

    for i, j in closure.conflicts.tolist():
        chain = closure.path(i, j)
        about = tuple(
            reply
            for reply, told in zip(replies, piles, strict=True)
            if say(told, i, j, together=False)
            or any(say(told, *step, together=True) for step in pairwise(chain))
        )
        found.append(Contradiction((i, j), chain, about))
    return tuple(found)


def crowds_of(
    closure: Closure, replies: Sequence[Reply], n_clusters: int | None
) -> tuple[Contradiction, ...]:
    """Return sets of mutually cannot-linked rows that are larger than the number of clusters.

    First the trays that were sorted into too many piles; joined ones count once. If there are none, a set of
    rows that several answers and hints keep apart.
    """
    if n_clusters is None:
        return ()
    found = []
    for reply in replies:
        rows = {int(closure.component[pile[0]]): pile[0] for pile in reply.piles}
        if len(rows) > n_clusters:
            found.append(Contradiction(tuple(sorted(rows.values())), (), (reply,)))
    if not found and len(crowd := find_crowd(closure, n_clusters)):
        components = set(closure.component[crowd].tolist())
        about = tuple(
            reply
            for reply in replies
            if len(components & {int(closure.component[pile[0]]) for pile in reply.piles}) > 1
        )
        found.append(Contradiction(tuple(crowd.tolist()), (), about))
    return tuple(found)
