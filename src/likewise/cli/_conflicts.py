"""Contradictions among hints, told by the ids of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.supervision import RowIds, Supervision


@dataclass(frozen=True)
class Conflict:
    """Two rows that were said to be apart, yet a chain of must-links or labels joins them."""

    a: str
    b: str
    chain: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.a} ≠ {self.b}, yet {' = '.join(self.chain)}"


@dataclass(frozen=True)
class TripletConflict:
    """Three rows about which more than one answer was given."""

    items: tuple[str, str, str]
    answers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.items)}: {' and '.join(self.answers)}"


def link_conflicts(hints: Supervision, ids: RowIds) -> list[Conflict]:
    """Return the cannot-links that the must-links contradict, labels read as links.

    >>> hints = Supervision.from_links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    >>> print(link_conflicts(hints, RowIds.of(["wren", "finch", "owl"]))[0])
    wren ≠ owl, yet wren = finch = owl
    """
    closed = hints.only("links", "labels").to_links().closure(on_conflict="drop")
    return [
        Conflict(ids[i], ids[j], tuple(ids[row] for row in closed.path(i, j)))
        for i, j in closed.conflicts.tolist()
    ]


def triplet_conflicts(hints: Supervision, ids: RowIds) -> list[TripletConflict]:
    """Return the triplets that were given more than one answer."""
    said: dict[tuple[int, int, int], list[str]] = {}
    for (i, j, k), word in zip(hints.triplets.tolist(), hints.answer_words, strict=True):
        said.setdefault((i, j, k), []).append(word)
    return [
        TripletConflict((ids[i], ids[j], ids[k]), tuple(words))
        for (i, j, k), words in said.items()
        if len(words) > 1
    ]
