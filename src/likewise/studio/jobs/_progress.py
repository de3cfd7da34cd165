"""Progress of the interview: its own outlook, or a cheap substitute if fits are expensive."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy.typing as npt

from likewise.active import AdviceCode, Interview, Reply
from likewise.active._stopping import compute_changed_share as changed_between

_STEP, _LAST = 5, 10
_AT_ONCE = 4  # maximum number of fits per call; the curve then grows with later calls
_SETTLED = 0.01
Point = tuple[int, float]


class ChangeCurve:
    """The share of labels that changed over the last ten answers, computed after every five.

    It is computed from the answers that count now, a few points at a time. If an answer is undone or changed,
    earlier points remain valid.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._replies: tuple[Reply, ...] = ()

    def is_behind(self, replies: tuple[Reply, ...]) -> bool:
        """Return True if points are missing."""
        return self._count_kept(replies) < len(replies) // _STEP

    def _count_kept(self, replies: tuple[Reply, ...]) -> int:
        """Return the number of points that are still valid."""
        if replies[: len(self._replies)] == self._replies:
            return len(self.points)
        same = 0
        for one, other in zip(replies, self._replies, strict=False):
            if one != other:
                break
            same += 1
        return min(len(self.points), same // _STEP)

    def extend(self, interview: Interview) -> None:
        """Compute a few of the missing points."""
        replies = interview.replies
        del self.points[self._count_kept(replies) :]
        for _ in range(_AT_ONCE):
            n = _STEP * (len(self.points) + 1)
            if n > len(replies):
                break
            before = interview.labels_after(max(n - _LAST, 0))
            self.points.append((n, changed_between(before, interview.labels_after(n))))
        self._replies = replies[: _STEP * len(self.points)]


class KeptLabels:
    """Labels of the last fits, used if further fits would take too long."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._labels: list[tuple[int, npt.NDArray[Any]]] = []

    def add(self, n: int, labels: npt.NDArray[Any]) -> None:
        """Add the labels after n answers and drop those after more answers, which were undone since."""
        self._labels = [(m, kept) for m, kept in self._labels if m < n]
        self._labels.append((n, labels))
        enough = bisect_right([m for m, _ in self._labels], n - _LAST)
        del self._labels[: max(enough - 1, 0)]
        del self.points[bisect_right(self.points, (n - n % _STEP, -1.0)) :]
        changed = self.changed
        if changed is not None and n >= _STEP:
            self.points.append((n - n % _STEP, changed))

    @property
    def changed(self) -> float | None:
        """The share of labels that changed over the last ten answers, or since the oldest labels kept."""
        if not self._labels or not self._labels[-1][0] or len(self._labels) < 2:
            return None
        return changed_between(self._labels[0][1], self._labels[-1][1])


def advise(n_answers: int, finished: str | None, changed: float | None) -> tuple[bool, AdviceCode, str]:
    """Return whether to go on, the reason, and a sentence, judging only by how many labels changed."""
    if finished is not None:
        return False, "finished", finished
    if n_answers < _LAST or changed is None:
        return True, "early", f"There are fewer than {_LAST} answers yet: go on."
    moved = f"{changed:.1%} of the labels changed over the last {_LAST} answers"
    if changed > _SETTLED:
        return True, "changing", f"{moved}: go on."
    return True, "settled", f"{moved}: further answers will change little unless they find something new."
