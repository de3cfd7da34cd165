"""Triplets: which two of three rows belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError
from likewise.supervision._row_checks import FloatArray, IntArray, ReadOnly, check_rows, check_weights, freeze

TripletAnswer = Literal["AB", "AC", "BC", "NEITHER"]
TRIPLET_ANSWERS: tuple[str, ...] = get_args(TripletAnswer)

# AB leaves c out, AC leaves b out, BC leaves a out. The table is its own inverse: a triplet whose odd one
# is at position p has the answer _ODD_ONE[p].
_ODD_ONE = (2, 1, 0)


def check_answers(answers: Any, n: int) -> npt.NDArray[np.int8]:
    """Convert the words AB, AC, BC, NEITHER (one for all, or one per triplet) to the codes 0 to 3."""
    words = [answers] * n if isinstance(answers, str) else list(answers)
    if len(words) != n:
        raise SupervisionError(f"answers must be one word per triplet: expected {n}; got {len(words)}.")
    codes = {word: code for code, word in enumerate(TRIPLET_ANSWERS)}
    out = np.empty(n, dtype=np.int8)
    for t, word in enumerate(words):
        key = str(word).upper()
        if key not in codes:
            raise SupervisionError(
                f"answers[{t}] is {word!r}; expected one of {', '.join(TRIPLET_ANSWERS)}. "
                "Remove triplets whose answer is unknown."
            )
        out[t] = codes[key]
    return out


@dataclass(frozen=True, eq=False)
class Triplets(ReadOnly):
    """Triplets (a, b, c) with a < b < c, and the answer to "which two belong together?"."""

    rows_abc: IntArray
    answers: npt.NDArray[np.int8]
    weights: FloatArray

    @classmethod
    def from_arrays(cls, n_samples: int, triplets: Any, answers: Any, weights: Any = None) -> Triplets:
        """Check triplets and convert them to the normal form: rows ascending, without repetitions."""
        rows = check_rows(triplets, n_samples, width=3, what="triplets")
        weight = check_weights(weights, len(rows), what="weights")
        codes = check_answers(answers, len(rows))
        order = np.argsort(rows, axis=1, kind="stable")
        sorted_rows = np.take_along_axis(rows, order, axis=1)
        twice = np.flatnonzero((np.diff(sorted_rows, axis=1) == 0).any(axis=1))
        if twice.size:
            given = tuple(rows[twice[0]].tolist())
            raise SupervisionError(f"triplets[{twice[0]}] is {given}; expected three different rows.")
        return cls._sort_and_merge(sorted_rows, _reorder_codes(codes, order), weight)

    @classmethod
    def _sort_and_merge(cls, rows: IntArray, codes: npt.NDArray[np.int8], weight: FloatArray) -> Triplets:
        order = np.lexsort((-weight, codes, rows[:, 2], rows[:, 1], rows[:, 0]))
        rows, codes, weight = rows[order], codes[order], weight[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
        return cls(freeze(rows[new]), freeze(codes[new]), freeze(weight[new]))

    def __len__(self) -> int:
        return len(self.rows_abc)

    @property
    def rows(self) -> IntArray:
        """The rows of all triplets, with repetitions."""
        return self.rows_abc.reshape(-1)

    def restrict(self, rows: IntArray, positions: IntArray) -> Triplets:
        """Return the triplets whose three rows remain, renumbered."""
        moved = positions[self.rows_abc]
        use = (moved >= 0).all(axis=1)
        moved = moved[use]
        order = np.argsort(moved, axis=1, kind="stable")
        codes = _reorder_codes(self.answers[use], order)
        return self._sort_and_merge(np.take_along_axis(moved, order, axis=1), codes, self.weights[use])

    def union(self, other: Triplets, n_samples: int) -> Triplets:
        """Return the triplets of both."""
        return self._sort_and_merge(
            np.concatenate([self.rows_abc, other.rows_abc]),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.weights, other.weights]),
        )

    def summary(self) -> str:
        """Describe the triplets in a few words."""
        return f"{len(self)} triplet(s)"


def _reorder_codes(codes: npt.NDArray[np.int8], order: IntArray) -> npt.NDArray[np.int8]:
    """Return the codes of the answers after the three rows are put in `order`."""
    out = codes.copy()
    odd = np.array([*_ODD_ONE, -1])[codes]  # which of a, b, c is the odd one; -1 for NEITHER
    pairs = codes < 3
    place = (order == odd[:, None]).argmax(axis=1)  # its new position
    out[pairs] = np.array(_ODD_ONE, dtype=np.int8)[place[pairs]]
    return out
