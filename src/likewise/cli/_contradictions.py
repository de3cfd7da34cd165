"""Find contradictions among hints and report them with the ids of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.supervision import RowIds, Supervision


@dataclass(frozen=True)
class LinkConflict:
    """Two cannot-linked rows that a chain of must-links or labels joins."""

    a: str
    b: str
    chain: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.a} ≠ {self.b}, yet {' = '.join(self.chain)}"


@dataclass(frozen=True)
class TripletConflict:
    """A triplet with more than one answer."""

    items: tuple[str, str, str]
    answers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.items)}: {' and '.join(self.answers)}"


def find_link_conflicts(hints: Supervision, ids: RowIds) -> list[LinkConflict]:
    """Return the cannot-links that must-links contradict; labels count as links.

    >>> hints = Supervision.from_links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    >>> print(find_link_conflicts(hints, RowIds.from_ids(["wren", "finch", "owl"]))[0])
    wren ≠ owl, yet wren = finch = owl
    """
    closed = hints.select_kinds("links", "labels").to_links().closure(on_conflict="drop")
    return [
        LinkConflict(ids[i], ids[j], tuple(ids[row] for row in closed.path(i, j)))
        for i, j in closed.conflicts.tolist()
    ]


@dataclass(frozen=True)
class TruthAgreement:
    """The number of hints that agree with the true classes; rows of unknown class are not counted.

    Attributes
    ----------
    right, compared : dict of str to int
        For each kind of hint (must-links, cannot-links, triplets, labels), how many agree with the true
        classes, and how many could be compared with them.
    against : tuple of str
        The links and labels that disagree, by the ids of their rows.
    """

    right: dict[str, int]
    compared: dict[str, int]
    against: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{self.right[kind]} of {n} {kind}" for kind, n in self.compared.items() if n]
        return f"{', '.join(parts)} agree with it" if parts else "no hint can be compared with it"


def compare_with_truth(hints: Supervision, classes: Sequence[str | None], ids: RowIds) -> TruthAgreement:
    """Compare links, triplets and labels with the true classes of the rows.

    >>> hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
    >>> found = compare_with_truth(hints, ["owl", "owl", "wren", None], RowIds.from_ids(["a", "b", "c", "d"]))
    >>> print(found, found.against)
    1 of 2 must-links agree with it ('b = c',)
    """
    from likewise.evaluation import link_satisfaction, triplet_satisfaction

    names = sorted({name for name in classes if name is not None})
    code_of = {name: code for code, name in enumerate(names)}
    rows = np.array([row for row, name in enumerate(classes) if name is not None], dtype=np.int64)
    if not len(rows):
        return TruthAgreement({}, {}, ())
    codes = np.array([code_of[name] for name in classes if name is not None])
    known = hints[rows]
    links, triplets = link_satisfaction(codes, known), triplet_satisfaction(codes, known)
    labelled = np.flatnonzero(known.label_codes >= 0)
    wrong = [
        (row, known.classes[known.label_codes[row]])
        for row in labelled.tolist()
        if str(known.classes[known.label_codes[row]]) != names[codes[row]]
    ]
    pairs = [(links.broken_must, "="), (links.broken_cannot, "≠")]
    against = [f"{ids[rows[i]]} {sign} {ids[rows[j]]}" for broken, sign in pairs for i, j in broken.tolist()]
    against += [f"{ids[rows[row]]} is {label}" for row, label in wrong]
    return TruthAgreement(
        {
            "must-links": links.n_must_kept,
            "cannot-links": links.n_cannot_kept,
            "triplets": triplets.n_kept,
            "labels": len(labelled) - len(wrong),
        },
        {
            "must-links": links.n_must,
            "cannot-links": links.n_cannot,
            "triplets": triplets.n_triplets,
            "labels": len(labelled),
        },
        tuple(against),
    )


def find_triplet_conflicts(hints: Supervision, ids: RowIds) -> list[TripletConflict]:
    """Return the triplets with more than one answer."""
    answers_of: dict[tuple[int, int, int], list[str]] = {}
    for (i, j, k), word in zip(hints.triplets.tolist(), hints.answer_words, strict=True):
        answers_of.setdefault((i, j, k), []).append(word)
    return [
        TripletConflict((ids[i], ids[j], ids[k]), tuple(words))
        for (i, j, k), words in answers_of.items()
        if len(words) > 1
    ]
