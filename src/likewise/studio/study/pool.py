"""The pool from which the questions of a study are drawn, divided into easy and difficult ones.

Pei (2017, 3.5.1.3) marked the pool by hand; :func:`read_pool` reads such a file. Otherwise pairs and triplets
are drawn at random and divided by the distances of their items, which is what a person who sees only the
features would use:

- a pair of one class is difficult if its items are far apart, a pair of two classes if they are near;
- a triplet in which two belong together is difficult if these do not stand out: the smaller of their
  distances to the third, minus their own distance, is small;
- a triplet without such a pair, because all three belong together or no two do, is difficult if a pair
  stands out nevertheless: the second smallest of the distances, minus the smallest, is large.

Each of these four sets is divided at its median, so difficulty does not affect how often an answer is right.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import FileFormatError, StudyError
from likewise.studio.study.options import Difficulty, MarkedQuestion, QuestionKind
from likewise.tables import Problems, read_csv_rows

SIZES: dict[QuestionKind, int] = {"pair": 2, "triplet": 3}
_LARGE = 4000  # questions per kind, or twenty times as many as a person answers if that is more
_FEW = 20_000  # up to this number all combinations are listed; otherwise some are drawn
_MOST_PROBLEMS = 5  # maximum number of problems of a file reported at once

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StudyQuestion:
    """A question: its rows in the order shown, its right answer and its difficulty."""

    kind: QuestionKind
    rows: tuple[int, ...]
    truth: str
    difficulty: Difficulty


def find_right_answer(classes: Sequence[Any]) -> str:
    """Return the right answer to a question about items of these classes.

    >>> (find_right_answer(["owl", "owl"]), find_right_answer(["owl", "wren", "owl"]),
    ...  find_right_answer(["owl"] * 3))
    ('SAME', 'AC', 'NEITHER')
    """
    if len(classes) == 2:
        return "SAME" if classes[0] == classes[1] else "DIFFERENT"
    a, b, c = classes
    together = [word for word, same in (("AB", a == b), ("AC", a == c), ("BC", b == c)) if same]
    return together[0] if len(together) == 1 else "NEITHER"


def draw_pool(
    X: npt.NDArray[Any], rows: IntArray, classes: Sequence[Any], kind: QuestionKind, n: int, seed: int
) -> list[StudyQuestion]:
    """Draw a large pool of questions about the given rows, and divide it by distances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features; only the drawn rows are read.
    rows : ndarray
        The rows that may be asked about.
    classes : sequence of length n_samples
        The class of each row.
    kind : {"pair", "triplet"}
        The kind of question.
    n : int
        Number of questions per participant.
    seed : int
        Random seed.
    """
    rng = np.random.default_rng([seed, SIZES[kind]])
    drawn = rows[_draw_combinations(len(rows), SIZES[kind], max(_LARGE, 20 * n), rng)]
    truths = [find_right_answer([classes[row] for row in asked]) for asked in drawn]
    hard = _find_difficult(_compute_gaps(X, drawn, truths), truths)
    return [
        StudyQuestion(kind, tuple(asked), truth, "difficult" if difficult else "easy")
        for asked, truth, difficult in zip(drawn.tolist(), truths, hard, strict=True)
    ]


def _draw_combinations(n: int, size: int, wanted: int, rng: np.random.Generator) -> IntArray:
    """Return `wanted` distinct sets of `size` out of n positions in random order, or all of them."""
    if comb(n, size) <= max(_FEW, 2 * wanted):
        every = np.array(list(combinations(range(n), size)), dtype=np.int64).reshape(-1, size)
        return every[rng.permutation(len(every))[:wanted]]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < wanted:  # at most half of all sets are drawn, so most draws are new
        for places in np.sort(rng.integers(n, size=(wanted, size)), axis=1).tolist():
            if len(set(places)) == size and len(found) < wanted:
                found[tuple(places)] = None
    return np.array(list(found), dtype=np.int64)


def _compute_gaps(X: npt.NDArray[Any], drawn: IntArray, truths: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return how strongly the distances support the right answer; for a pair, the distance itself."""
    left, right = (0, 1) if drawn.shape[1] == 2 else ([0, 0, 1], [1, 2, 2])
    rows = np.asarray(X[drawn.reshape(-1)], dtype=np.float64).reshape(*drawn.shape, X.shape[1])
    distances = np.linalg.norm(rows[:, left] - rows[:, right], axis=-1)
    if drawn.shape[1] == 2:
        return np.asarray(np.where(np.array(truths) == "SAME", -distances, distances))
    ordered = np.sort(distances, axis=1)
    gaps = ordered[:, 0] - ordered[:, 1]  # for NEITHER: the less a pair stands out, the better
    for place, word in enumerate(("AB", "AC", "BC")):
        here = np.array(truths) == word
        others = np.delete(distances[here], place, axis=1)
        gaps[here] = others.min(axis=1, initial=np.inf) - distances[here, place]
    return np.asarray(gaps)


def _find_difficult(gaps: npt.NDArray[np.float64], truths: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Mark the lower half for each kind of answer; of equal values, the later ones are easy."""
    kinds = np.array(["pick" if word in ("AB", "AC", "BC") else word for word in truths])
    hard = np.zeros(len(gaps), dtype=bool)
    for kind in np.unique(kinds):
        here = np.flatnonzero(kinds == kind)
        hard[here[np.argsort(gaps[here], kind="stable")[: (len(here) + 1) // 2]]] = True
    return hard


# ---------------------------------------------------------------------- pools marked by hand


def make_marked_pool(
    marked: Sequence[MarkedQuestion], row_of: dict[str, int], classes: Sequence[Any], kind: QuestionKind
) -> list[StudyQuestion]:
    """Return the questions of a kind that were marked by hand."""
    found: dict[frozenset[int], StudyQuestion] = {}
    for ids, difficulty in ((one[: 2 if one.c is None else 3], one.difficulty) for one in marked):
        if len(ids) != SIZES[kind]:
            continue
        for item in map(str, ids):
            if item not in row_of:
                raise StudyError(
                    f"the pool asks about {item!r}, which is not among the items of the project."
                )
            if classes[row_of[item]] is None:
                raise StudyError(
                    f"the pool asks about {item!r}, whose class is not known. Remove its questions, or add "
                    "its class."
                )
        rows = tuple(row_of[str(item)] for item in ids)
        if len(set(rows)) < len(rows):
            raise StudyError(f"a question of the pool shows one item twice: {', '.join(map(str, ids))}.")
        if frozenset(rows) in found:
            raise StudyError(f"the pool has the question about {', '.join(map(str, ids))} twice; remove one.")
        truth = find_right_answer([classes[row] for row in rows])
        found[frozenset(rows)] = StudyQuestion(kind, rows, truth, difficulty)
    return list(found.values())


def read_pool(path: str | os.PathLike[str]) -> tuple[MarkedQuestion, ...]:
    """Read questions marked by hand from a CSV file with the columns a, b, c and difficulty.

    The first three are item ids; c is empty for a pair; difficulty is easy or difficult.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{name} cannot be read as a pool of questions: {error}.") from error
    problems = Problems(name)
    table = read_csv_rows(text, problems, comments=False)
    if missing := {"a", "b", "c", "difficulty"} - set(table.header):
        raise FileFormatError(
            f"{name}: expected the columns a, b, c and difficulty; missing: {', '.join(sorted(missing))}."
        )
    questions = []
    for line, cells in table.rows:
        if len(cells) != len(table.header):
            problems.add(line, "its number of cells differs from the header")
            continue
        row = dict(zip(table.header, cells, strict=True))
        difficulty = row["difficulty"].strip().lower()
        if not row["a"] or not row["b"]:
            problems.add(line, "a and b are required")
        elif difficulty != "easy" and difficulty != "difficult":
            problems.add(line, f"difficulty must be easy or difficult; got {row['difficulty']!r}")
        else:
            questions.append(MarkedQuestion(row["a"], row["b"], row["c"] or None, difficulty))
    found = [f"line {line}: {wrong.removesuffix('.')}" for line, wrong in problems.found]
    if found or not questions:
        description = "; ".join(found[:_MOST_PROBLEMS]) or "it has no questions"
        more = f"; and {len(found) - _MOST_PROBLEMS} more" if len(found) > _MOST_PROBLEMS else ""
        raise FileFormatError(f"{name}: {description}{more}.")
    return tuple(questions)
