"""Convert links to differences of rows, and triplets to comparisons "i is closer to j than to k"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise.base import Rule, choice, warn_caller
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    SupervisionError,
    UnsupportedSupervisionError,
)
from likewise.supervision import RowGroups, Supervision

Unused = Literal["refuse", "drop"]
IS_UNUSED: Rule = choice("refuse", "drop")
# Maximum number of pairs in groups; learners visit each pair, so more would take very long.
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class Pairs:
    """Differences between linked rows, shape (n_pairs, n_features) and never zero, and their weights."""

    must: np.ndarray
    must_weights: np.ndarray
    cannot: np.ndarray
    cannot_weights: np.ndarray


@dataclass(frozen=True)
class Comparisons:
    """Comparisons "row i is closer to j than to k" as rows (i, j, k), shape (n, 3), and their weights."""

    rows: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def get_near_differences(self, X: np.ndarray) -> np.ndarray:
        """Return the differences that should be small."""
        out: np.ndarray = X[self.rows[:, 0]] - X[self.rows[:, 1]]
        return out

    def get_far_differences(self, X: np.ndarray) -> np.ndarray:
        """Return the differences that should be large."""
        out: np.ndarray = X[self.rows[:, 0]] - X[self.rows[:, 2]]
        return out


def get_stated_pairs(estimator: Any, X: np.ndarray, hints: Supervision) -> Pairs:
    """Return the stated links as differences of rows, with groups expanded; warn about contradictions."""
    estimator._compute_soft_closure(hints)
    count = hints.must_groups.n_pairs + hints.cannot_groups.n_pairs
    if count > _MOST_PAIRS:
        raise SupervisionError(
            f"{{estimator}}: the groups contain {count} links; expected at most {_MOST_PAIRS}, because each "
            f"link is visited separately.",
            "Pass fewer links, as pairs, or use RCA, whose cost depends on rows, not links.",
            kinds=("links",),
            estimator=type(estimator).__name__,
        )
    if count:
        must, must_weights = _expand_groups(hints.must, hints.must_weights, hints.must_groups)
        cannot, cannot_weights = _expand_groups(hints.cannot, hints.cannot_weights, hints.cannot_groups)
        hints = Supervision.from_links(  # merges equal pairs and keeps the larger weight
            len(X), must, cannot, must_weights=must_weights, cannot_weights=cannot_weights
        )
    close = X[hints.must[:, 0]] - X[hints.must[:, 1]]
    apart = X[hints.cannot[:, 0]] - X[hints.cannot[:, 1]]
    differ, distinct = close.any(axis=1), apart.any(axis=1)
    if not distinct.all():
        i, j = hints.cannot[~distinct][0]
        _warn_identical(
            estimator, int((~distinct).sum()), f"cannot-link(s), the first between rows {i} and {j}"
        )
    return Pairs(close[differ], hints.must_weights[differ], apart[distinct], hints.cannot_weights[distinct])


def _expand_groups(
    pairs: np.ndarray, weights: np.ndarray, groups: RowGroups
) -> tuple[np.ndarray, np.ndarray]:
    each, shares = groups.list_pairs()
    return np.concatenate([pairs, each]), np.concatenate([weights, shares])


def get_comparisons(estimator: Any, X: np.ndarray, hints: Supervision, neither: Unused) -> Comparisons:
    """Return two comparisons for each answered triplet: a and b are closer to each other than to c.

    The answer NEITHER contains no comparison; `neither` sets whether it raises an error or is dropped.
    """
    name = type(estimator).__name__
    is_answered = hints.answers < 3
    if neither == "refuse" and not is_answered.all():
        raise UnsupportedSupervisionError(
            f"{{estimator}}: {int((~is_answered).sum())} of {len(is_answered)} triplets have the answer "
            "NEITHER, which contains no comparison.",
            "{estimator}(neither='drop') learns from the other triplets.",
            parameter="neither",
            kinds=("triplets",),
            estimator=name,
        )
    rows, code = hints.triplets[is_answered], hints.answers[is_answered]
    twice = (rows[1:] == rows[:-1]).all(axis=1)  # triplets are sorted, and equal ones were merged
    if twice.any():
        first = tuple(rows[1:][twice][0].tolist())
        warn_caller(
            InconsistentSupervisionWarning(
                f"{{estimator}}: {int(twice.sum())} triplet(s) have contradictory answers, the first of them "
                f"for rows {first}. All answers are used and traded off against one another.",
                rows=first,
                kinds=("triplets",),
                estimator=name,
            )
        )
    order = np.array([(0, 1, 2), (0, 2, 1), (1, 2, 0)])[code]
    a, b, c = np.take_along_axis(rows, order, axis=1).T
    comparisons = Comparisons(
        np.concatenate([np.column_stack([a, b, c]), np.column_stack([b, a, c])]),
        np.tile(hints.triplet_weights[is_answered], 2),
    )
    same = ~comparisons.get_far_differences(X).any(axis=1)
    if same.any():
        i, _, k = comparisons.rows[same][0]
        _warn_identical(estimator, int(same.sum()), f"comparison(s), the first between rows {i} and {k}")
    return comparisons


def _warn_identical(estimator: Any, count: int, what: str) -> None:
    warn_caller(
        f"{type(estimator).__name__}: {count} {what}, would separate identical rows, which no metric can do.",
        InconsistentSupervisionWarning,
    )
