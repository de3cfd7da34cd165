"""The events of an interview, the hints that answers state, and contradictions among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Literal

from likewise.active._questions import Answer, Question, Reply
from likewise.supervision import Closure, Supervision
from likewise.supervision._cliques import find_too_large_clique

EventKind = Literal["answer", "skip", "undo"]


@dataclass(frozen=True)
class Event:
    """An entry in the history of an interview: an answer, a skipped question, or an undo.

    Parameters
    ----------
    kind : {"answer", "skip", "undo"}
        The kind of event.
    question : Question
        The question that was answered or skipped, or that is open again after an undo.
    reply : Reply, optional
        The reply, if the event is an answer.
    undoes : int, optional
        The index in the history of the event that no longer counts, if the event is an undo.

    Examples
    --------
    >>> from likewise.active import Interview, Question
    >>> interview = Interview([[0.0], [1.0], [5.0]])
    >>> reply = interview.tell(Question.pair(0, 1), "SAME")
    >>> undone = interview.undo()
    >>> [(event.kind, event.undoes) for event in interview.history]
    [('answer', None), ('undo', 0)]
    """

    kind: EventKind
    question: Question
    reply: Reply | None = None
    undoes: int | None = None

    def renumber(self, number: Callable[[int], int]) -> Event:
        """Replace the row numbers of an answer or a skip.

        Parameters
        ----------
        number : callable
            Called with each row number; returns the new one.

        Returns
        -------
        Event
            The same event about the new rows.
        """
        reply = None if self.reply is None else self.reply.renumber(number)
        return Event(self.kind, self.question.renumber(number), reply)


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be true.

    Either must-links connect two cannot-linked rows, or more rows are cannot-linked to one another than there
    are clusters.

    Parameters
    ----------
    rows : tuple of int
        Two rows with a cannot-link between them, or a set of rows with cannot-links between all of them that
        is larger than the number of clusters.
    chain : tuple of int
        The rows on the path of must-links from the first row to the second. Empty if there are too few
        clusters.
    replies : tuple of Reply
        The answers that state the cannot-links or a must-link of the chain. Links that none of them states
        were given as hints.

    Examples
    --------
    >>> from likewise.active import Interview, Question
    >>> interview = Interview([[0.0], [1.0], [5.0]])
    >>> for i, j, answer in [(0, 1, "SAME"), (1, 2, "SAME"), (0, 2, "DIFFERENT")]:
    ...     reply = interview.tell(Question.pair(i, j), answer)
    >>> contradiction = interview.contradictions[0]
    >>> contradiction.rows, contradiction.chain, len(contradiction.replies)
    ((0, 2), (0, 1, 2), 3)
    """

    rows: tuple[int, ...]
    chain: tuple[int, ...]
    replies: tuple[Reply, ...]

    def __str__(self) -> str:
        apart = f"rows {', '.join(map(str, self.rows[:-1]))} and {self.rows[-1]} are cannot-linked"
        if self.chain:
            return f"{apart}, but must-links connect them: {' = '.join(map(str, self.chain))}"
        return f"{apart} to one another, which requires more clusters than there are"


def build_supervision(replies: Sequence[Reply], n_samples: int) -> Supervision:
    """Return the replies as supervision; UNSURE adds nothing.

    A tray adds a must-link group for each pile and a cannot-link for each pair of rows of different piles, at
    most 66. Fewer cannot-links would imply the others, but then a method that weights links would give
    cannot-links less weight than must-links.
    """
    must: list[tuple[int, ...]] = []
    cannot: list[tuple[int, int]] = []
    triplets: list[tuple[tuple[int, ...], str]] = []
    for reply in replies:
        question = reply.question
        # NEITHER about three rows is stored as a triplet, for all kinds of questions.
        if question.kind == "triplet" or (reply.answer is Answer.NEITHER and len(question.rows) == 3):
            if reply.answer is not Answer.UNSURE:
                triplets.append((question.rows, str(reply.answer)))
            continue
        if reply.answer is Answer.SAME and len(question.rows) == 2:  # the most frequent case
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


def find_contradictions(closure: Closure, replies: Sequence[Reply]) -> tuple[Contradiction, ...]:
    """Return the cannot-links between rows that must-links connect, each with the answers involved."""
    found = []
    piles = [{row: at for at, pile in enumerate(reply.piles) for row in pile} for reply in replies]

    def describe(reply: dict[int, int], i: int, j: int, *, together: bool) -> bool:
        return i in reply and j in reply and (reply[i] == reply[j]) is together

    for i, j in closure.conflicts.tolist():
        chain = closure.path(i, j)
        about = tuple(
            reply
            for reply, pile in zip(replies, piles, strict=True)
            if describe(pile, i, j, together=False)
            or any(describe(pile, *step, together=True) for step in pairwise(chain))
        )
        found.append(Contradiction((i, j), chain, about))
    return tuple(found)


def find_too_many_groups(
    closure: Closure, replies: Sequence[Reply], n_clusters: int | None
) -> tuple[Contradiction, ...]:
    """Return sets of mutually cannot-linked rows that are larger than the number of clusters.

    The first are trays that were sorted into too many piles; piles that must-links connect count once. If
    there are none, the result is a set of rows that several answers and hints separate, if one is found.
    """
    if n_clusters is None:
        return ()
    found = []
    for reply in replies:
        rows = {int(closure.component[pile[0]]): pile[0] for pile in reply.piles}
        if len(rows) > n_clusters:
            found.append(Contradiction(tuple(sorted(rows.values())), (), (reply,)))
    if not found and len(clique := find_too_large_clique(closure, n_clusters)):
        components = set(closure.component[clique].tolist())
        about = tuple(
            reply
            for reply in replies
            if len(components & {int(closure.component[pile[0]]) for pile in reply.piles}) > 1
        )
        found.append(Contradiction(tuple(clique.tolist()), (), about))
    return tuple(found)
