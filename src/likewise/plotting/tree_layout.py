"""Layout of a tree of labels, and the certainty of its edges in words and colours.

Leaves are in rows below one another, the root is at the left. All lengths are in points at full text size.
A name begins where its edge ends, and a column is as wide as its longest name, so names never overlap: labels
of one column are in different rows, and a leaf, which may be longer than its column, is alone in its row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise.plotting._figure import PALETTE

FloatArray = npt.NDArray[np.float64]
LINE = 15.0  # distance between rows
_NARROW, _WIDE = 26.0, 110.0  # minimum and maximum space between two columns


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """The positions of the labels.

    Attributes
    ----------
    x, y : ndarray of shape (n_labels,)
        The left end of the name of each label, and its height from the top.
    ends : ndarray of shape (n_labels,)
        The right end of each name.
    column_ends : ndarray of shape (n_labels,)
        The right end of the column of each label; edges leave their row only after it.
    gaps : ndarray of shape (n_labels + 1,)
        The space from the end of the column of each label to the next column; the last entry is the root.
    first_parents : ndarray of shape (n_labels,)
        The parent under which each label is placed; -1 is the root.
    root : tuple of float
        The position of the root.
    width, height : float
        The total size.
    """

    x: FloatArray
    y: FloatArray
    ends: FloatArray
    column_ends: FloatArray
    gaps: FloatArray
    first_parents: npt.NDArray[np.int64]
    root: tuple[float, float]
    width: float
    height: float

    def find_lane(self, parent: int, child: int) -> float:
        """Return the height at which an edge passes the columns between parent and child.

        It is the row of the child, which contains only ancestors of the child. If an edge from a second
        parent would cross one of these, it passes half a row above or below.
        """
        start = -np.inf if parent < 0 else self.x[parent]
        passed: list[float] = []
        above = int(self.first_parents[child])
        while above >= 0 and self.x[above] > start:
            passed.append(float(self.y[above]))
            above = int(self.first_parents[above])
        lanes = self.y[child] + LINE * np.array([0.0, -0.5, 0.5])
        if not passed:
            return float(lanes[0])
        clear = np.abs(lanes[:, None] - np.array(passed)).min(axis=1)
        return float(lanes[np.minimum(clear, LINE / 2).argmax()])


def lay_out(hierarchy: Any, widths: FloatArray) -> TreeLayout:
    """Place labels, given the widths of their names with everything on the same line.

    A label with several parents is placed under the first, to the right of all of them.
    """
    parents = _find_first_parents(hierarchy)
    columns = np.zeros(hierarchy.n_labels, dtype=np.int64)  # one to the right of the rightmost parent
    for k in hierarchy.order.tolist():
        columns[k] = max((columns[p] + 1 for p in hierarchy.parent_lists[k]), default=0)
    below = find_children(hierarchy)
    y, root_y = _compute_heights(below)
    n_columns = int(columns.max()) + 1
    leaves = np.array([not below[k] for k in range(len(parents))])
    if not hierarchy.is_tree:
        leaves[:] = False  # edges from a second parent may cross any row, so no name may exceed its column
    column_widths = np.zeros(n_columns)
    np.maximum.at(column_widths, columns[~leaves], widths[~leaves])
    # The space before each column and after the last grows with the span of its edges.
    most = np.zeros(n_columns + 1)
    before = np.where(parents >= 0, columns[parents] + 1, 0)
    np.maximum.at(most, before, np.abs(y - np.where(parents >= 0, y[parents], root_y)))
    gaps = np.clip(_NARROW + 2.2 * np.sqrt(most), _NARROW, _WIDE)
    starts = gaps[0] + np.concatenate([[0.0], np.cumsum(column_widths[:-1] + gaps[1:n_columns])])
    x = starts[columns]
    ends = x + widths
    return TreeLayout(
        x=x,
        y=y,
        ends=ends,
        column_ends=(starts + column_widths)[columns],
        gaps=np.append(gaps[columns + 1], gaps[0]),
        first_parents=parents,
        root=(0.0, root_y),
        width=float(ends.max()),
        height=float(y.max()) + LINE / 2,
    )


def _find_first_parents(hierarchy: Any) -> npt.NDArray[np.int64]:
    return np.array([known[0] if known else -1 for known in hierarchy.parent_lists], dtype=np.int64)


def find_children(hierarchy: Any) -> dict[int, list[int]]:
    """Return the labels placed under each label and under the root (-1), the most frequent first."""
    parents, counts = _find_first_parents(hierarchy), hierarchy.counts
    below: dict[int, list[int]] = {k: [] for k in range(-1, len(parents))}
    often = np.zeros(len(parents)) if counts is None else np.nan_to_num(counts)
    for k in np.lexsort((np.arange(len(parents)), -often)).tolist():
        below[int(parents[k])].append(k)
    return below


def _compute_heights(below: dict[int, list[int]]) -> tuple[FloatArray, float]:
    """Give each leaf a row, and every other label and the root the midpoint of its children."""
    order: list[int] = []  # depth first, parents before children
    waiting = below[-1][::-1]
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting += below[k][::-1]
    y = np.zeros(len(order) + 1)  # the last is the root
    leaves = [k for k in order if not below[k]]
    y[leaves] = LINE * (np.arange(len(leaves)) + 0.5)
    for k in [*reversed(order), -1]:
        if below[k]:
            y[k] = (y[below[k]].min() + y[below[k]].max()) / 2
    return y[:-1], float(y[-1])


# ---------------------------------------------------------------------- certainty of edges

MEANING = "loss in log-likelihood with the next best parent"


class Sureness(NamedTuple):
    """One step of the scale of certainty."""

    word: str
    range: str  # of margins, in words
    colour: str  # from orange (uncertain) to blue (certain), suitable for colour-blind readers
    width: float  # of a line in points


_LIMITS = (3.0, 10.0, 100.0)
STEPS = (
    Sureness("uncertain", "under 3", PALETTE[5], 0.9),
    Sureness("likely", "3 to 10", PALETTE[1], 1.5),
    Sureness("certain", "10 to 100", PALETTE[4], 2.2),
    Sureness("very certain", "100 and more", PALETTE[0], 3.0),
)
GIVEN = Sureness("given", "or the only choice", "#333333", 2.2)
UNKNOWN = Sureness("", "unknown", "#999999", 1.2)


def find_sureness(margin: float | None) -> Sureness:
    """Return the step of the scale for a margin; None and NaN mean unknown.

    >>> [find_sureness(margin).word for margin in (0.0, 3.0, 99.9, 1e6, float("inf"))]
    ['uncertain', 'likely', 'certain', 'very certain', 'given']
    """
    if margin is None or math.isnan(margin):
        return UNKNOWN
    if math.isinf(margin):
        return GIVEN
    return STEPS[sum(margin >= limit for limit in _LIMITS)]


def find_edge_sureness(hierarchy: Any) -> list[Sureness]:
    """Return the certainty of the edge into each label."""
    margins = hierarchy.margins
    if margins is None:
        return [UNKNOWN] * hierarchy.n_labels
    return [find_sureness(float(margin)) for margin in margins]


def count_texts(hierarchy: Any) -> list[str]:
    """Return the number of rows with each label as text; empty if unknown."""
    if hierarchy.counts is None:
        return [""] * hierarchy.n_labels
    return ["" if math.isnan(count) else f"{count:,.0f}" for count in hierarchy.counts]
