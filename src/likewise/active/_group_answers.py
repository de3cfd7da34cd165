"""What the answers of an interview say about groups: references, members, refusals, and joined groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.backends.neighbors import find_near_rows

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

N_NEAR = 40  # neighbours of each row
_N_SMOOTH = 8  # rows whose mean stands for a row in the mean of a young group


def scale_rows(X: npt.NDArray[Any]) -> FloatArray:
    """Return rows of length one; columns are standardized first unless the rows have length one already."""
    lengths = np.linalg.norm(X, axis=1)
    if not np.allclose(lengths, 1.0, atol=0.01):
        X = X - X.mean(axis=0)
        X = X / np.maximum(X.std(axis=0), 1e-12)
        lengths = np.linalg.norm(X, axis=1)
    return np.ascontiguousarray(X / np.maximum(lengths, 1e-12)[:, None], dtype=np.float32)


@dataclass(eq=False)
class Surroundings:
    """What is computed from the rows alone, once: unit rows, near rows, and the mean of each neighbourhood."""

    rows: FloatArray
    near: IntArray
    cosines: FloatArray
    smooth: FloatArray
    base: float

    @classmethod
    def from_data(cls, X: npt.NDArray[Any], random_state: int) -> Surroundings:
        rows = scale_rows(X)
        k = min(N_NEAR, len(rows) - 1)
        distances, near = find_near_rows(rows, k, "cells", random_state)
        cosines = (1.0 - 0.5 * distances**2).astype(np.float32)
        smooth = rows + rows[near[:, :_N_SMOOTH]].sum(axis=1)
        smooth /= np.maximum(np.linalg.norm(smooth, axis=1), 1e-12)[:, None]
        base = float(np.median(cosines[:, -1])) if k else 0.0
        return cls(rows, near, cosines, smooth, base)


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """What the first answers of an interview say.

    Attributes
    ----------
    references, group_of : ndarray of int
        The rows that stand for groups, and the group of each, numbered from 0.
    rows, refs, signs : ndarray
        The evidence: row, index of the reference, and 1 if the row belongs to its group, -1 if not.
    links : ndarray of int of shape (n, 3)
        Pairs of rows that are no references, with the sign.
    placed : ndarray of shape (n, 3)
        For each first page of a placement: the cosine to the nearest group then, whether it was new, and the row.
    tiles : ndarray of shape (n, 2)
        For each tile: the probability of membership predicted then, and whether it belonged to the group.
    """

    n_answers: int
    references: IntArray
    group_of: IntArray
    rows: IntArray
    refs: IntArray
    signs: FloatArray
    links: IntArray
    placed: npt.NDArray[np.float64]
    tiles: npt.NDArray[np.float64]
    again: npt.NDArray[np.float64]
    asked: dict[int, list[tuple[int, int]]]
    births: IntArray
    differ: set[tuple[int, int]]
    paged: tuple[int, int]

    @property
    def n_groups(self) -> int:
        return int(self.group_of.max()) + 1 if len(self.group_of) else 0


@dataclass(eq=False)
class AnswerLog:
    """A fold of replies into evidence about groups. It only grows; `cut` returns what a prefix says."""

    around: Surroundings
    sharpness: float = 20.0
    _replies: list[Any] = field(default_factory=list)
    _ends: list[tuple[int, ...]] = field(default_factory=lambda: [(0,) * 7])

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._replies, self._ends = [], [(0,) * 7]
        self._refs: list[int] = []
        self._index: dict[int, int] = {}
        self._evidence: list[tuple[int, int, int]] = []
        self._links: list[tuple[int, int, int]] = []
        self._votes: list[tuple[int, int, int]] = []
        self._placed: list[tuple[float, bool, int]] = []
        self._tiles: list[tuple[float, bool]] = []
        self._again: list[tuple[float, ...]] = []  # answer, reference index, hit, page
        self._sums: list[FloatArray] = []
        self._births: list[int] = []
        self._page, self._paged = 0, -1  # pages after the first, and the row, if the last answer was NEW
        self._roots = np.empty(0, dtype=np.int64)
        self._means: FloatArray | None = None

    def cut(self, replies: Sequence[Any]) -> GroupAnswers:
        """Return what these replies say; those already read are not read again."""
        seen = self._replies
        common = min(len(seen), len(replies))
        if any(a is not b and a != b for a, b in zip(seen[:common], replies, strict=False)):
            self._start()
        for reply in replies[len(self._replies) :]:
            self._add(reply)
        n = len(replies)
        ends = self._ends[n]
        refs = np.array(self._refs[: ends[0]], dtype=np.int64)
        evidence = np.array(self._evidence[: ends[1]], dtype=np.int64).reshape(-1, 3)
        votes = self._votes[: ends[3]]
        roots = find_roots(len(refs), votes, evidence)
        kept, group_of = np.unique(roots, return_inverse=True)
        placed = np.array(self._placed[: ends[4]], dtype=np.float64).reshape(-1, 3)
        if len(placed):  # a group that turned out to be another one was not new
            for at in np.flatnonzero(placed[:, 1]):
                ref = self._index.get(int(placed[at, 2]), -1)
                if 0 <= ref < len(refs) and roots[ref] != ref:
                    placed[at, 1] = 0
        asked: dict[int, list[tuple[int, int]]] = {}
        again = self._again[: ends[6]]
        for when, ref, hit, _ in again:
            asked.setdefault(int(ref), []).append((int(when), int(hit)))
        return GroupAnswers(
            n,
            refs,
            group_of.astype(np.int64),
            evidence[:, 0],
            evidence[:, 1],
            evidence[:, 2].astype(np.float32),
            np.array(self._links[: ends[2]], dtype=np.int64).reshape(-1, 3),
            placed,
            np.array(self._tiles[: ends[5]], dtype=np.float64).reshape(-1, 2),
            np.array(again, dtype=np.float64).reshape(-1, 4),
            asked,
            np.array(self._births[: ends[0]], dtype=np.int64),
            {(a, b) for a, b, sign in votes if sign < 0},
            (self._page, self._paged) if n == len(self._replies) else (0, -1),
        )

    # ------------------------------------------------------------------ adding one reply

    def _add_reference(self, row: int) -> int:
        if row not in self._index:
            self._index[row] = len(self._refs)
            self._refs.append(row)
            self._births.append(len(self._replies))
            self._sums.append(self.around.smooth[row].copy())
            self._roots = np.append(self._roots, self._index[row])
            self._means = None
        return self._index[row]

    def _state(self, row: int, ref: int, sign: int) -> None:
        """Record that a row belongs to the group of a reference, or not."""
        own = self._index.get(row)
        if own is not None:
            if own == ref:
                return
            self._votes.append((own, ref, sign))
            self._roots = find_roots(
                len(self._refs), self._votes, np.array(self._evidence, dtype=np.int64).reshape(-1, 3)
            )
            self._means = None
        else:
            self._evidence.append((row, ref, sign))
            if sign > 0:
                self._sums[ref] = self._sums[ref] + self.around.smooth[row]
                self._means = None

    def _get_means(self) -> tuple[IntArray, FloatArray]:
        """Return the groups (roots) and their means as known from the answers so far."""
        if self._means is None:
            self._kept, inverse = np.unique(self._roots, return_inverse=True)
            means = np.zeros((len(self._kept), self.around.rows.shape[1]), dtype=np.float32)
            np.add.at(means, inverse, np.array(self._sums))
            self._inverse = inverse
            self._means = means / np.maximum(np.linalg.norm(means, axis=1), 1e-12)[:, None]
        return self._inverse, self._means

    def get_means(self) -> FloatArray:
        """Return the mean of each group, in the order of `GroupAnswers.group_of`, after all replies."""
        return self._get_means()[1]

    def _add(self, reply: Any) -> None:
        kind, rows, answer = reply.question.kind, reply.question.rows, reply.answer
        when = len(self._replies)
        if kind != "placement":
            self._page, self._paged = 0, -1
        if str(answer) == "UNSURE":
            pass
        elif kind == "placement":
            self._add_placement(rows[0], rows[1:], answer, when)
        elif kind == "members":
            ref = self._add_reference(rows[0])
            tapped = set(getattr(answer, "rows", ()))
            inverse, means = self._get_means()
            for row in rows[1:]:
                logits = self.sharpness * (means @ self.around.rows[row])
                shares = np.exp(logits - logits.max())
                p = float(shares[inverse[ref]] / shares.sum())
                self._tiles.append((p, row not in tapped))
            for row in rows[1:]:
                self._state(row, ref, -1 if row in tapped else 1)
        else:
            for i, j, together in reply.relations:
                if i in self._index or j in self._index:
                    ref, row = (i, j) if i in self._index else (j, i)
                    self._state(row, self._index[ref], 1 if together else -1)
                elif together:
                    self._state(j, self._add_reference(i), 1)
                else:
                    self._links.append((i, j, -1))
        self._replies.append(reply)
        self._ends.append(
            tuple(
                map(
                    len,
                    (
                        self._refs,
                        self._evidence,
                        self._links,
                        self._votes,
                        self._placed,
                        self._tiles,
                        self._again,
                    ),
                )
            )
        )

    def _add_placement(self, row: int, shown: Sequence[int], answer: Any, when: int) -> None:
        refs = [self._add_reference(r) for r in shown]
        new = str(answer) == "NEW"
        if row in self._index:
            hit = 0.0 if new else 1.0
            page = self._page + 1 if self._paged == row else 0
            self._again.append((when, self._index[row], hit, page))
            self._page, self._paged = (page, row) if page and new else (0, -1)
        else:
            _, means = self._get_means()
            near = float((means @ self.around.rows[row]).max())
            self._placed.append((near, new, row))
            self._page, self._paged = (0, row) if new else (0, -1)
        if new:
            self._add_reference(row)
            for ref in refs:
                self._state(row, ref, -1)
        else:
            self._state(row, self._index[answer.reference], 1)


def find_roots(n: int, votes: Sequence[tuple[int, int, int]], evidence: IntArray) -> IntArray:
    """Return the first reference of the group of each reference.

    Two references are in one group if more answers say so than not. Rows that answers put in one group and not in
    the other count as well.
    """
    net: dict[tuple[int, int], int] = {}
    for a, b, sign in votes:
        key = (a, b) if a < b else (b, a)
        net[key] = net.get(key, 0) + sign
    roots = np.arange(n)
    positive = sorted((key for key, value in net.items() if value > 0), key=lambda key: (-net[key], key))
    for a, b in positive:
        low, high = sorted((roots[a], roots[b]))
        if low != high:
            roots[roots == high] = low
    return roots
