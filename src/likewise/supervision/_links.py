"""Links: pairs and groups of rows that belong together, or that do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError
from likewise.supervision._row_checks import FloatArray, IntArray, ReadOnly, check_rows, check_weights, freeze
from likewise.supervision._row_groups import RowGroups

_MUST = ("must", "must-link", "must_link", "ml", "same", "yes", "y", "true", "1", "+1", "1.0")
_CANNOT = ("cannot", "cannot-link", "cannot_link", "cl", "different", "no", "n", "false", "-1", "-1.0")
LINK_WORDS = dict.fromkeys(_MUST, "must") | dict.fromkeys(_CANNOT, "cannot")


def parse_link(cell: Any) -> str:
    """Return "must" or "cannot" for a cell of a table of links; other words raise a ValueError.

    0 is refused, because it means "different" in some tables and "unknown" in others.
    """
    word = str(cell).strip().lower()
    if word not in LINK_WORDS:
        tip = " 0 may mean cannot or unknown: write cannot, or leave the link out."
        raise ValueError(
            f"the link is {cell!r}; expected must or cannot, yes or no.{tip * (word in ('0', '0.0'))}"
        )
    return LINK_WORDS[word]


def check_pairs(values: Any, weights: Any, n_samples: int, *, what: str) -> tuple[IntArray, FloatArray]:
    """Check pairs and convert them to the normal form: i < j, sorted, each once with its largest weight."""
    pairs = check_rows(values, n_samples, width=2, what=what)
    weight = check_weights(weights, len(pairs), what=f"{what}_weights")
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if same.size:
        raise SupervisionError(f"{what}[{same[0]}] links row {pairs[same[0], 0]} with itself.")
    keys = pairs.min(axis=1) * n_samples + pairs.max(axis=1)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if keys.size else np.empty(0, dtype=np.intp)
    first, second = np.divmod(keys[start], n_samples)
    heaviest = np.maximum.reduceat(weight[order], start) if keys.size else weight
    return freeze(np.column_stack([first, second])), freeze(heaviest)


@dataclass(frozen=True, eq=False)
class Links(ReadOnly):
    """Must-links and cannot-links, as pairs and as groups."""

    must: IntArray
    must_weights: FloatArray
    cannot: IntArray
    cannot_weights: FloatArray
    must_groups: RowGroups
    cannot_groups: RowGroups

    @classmethod
    def from_pairs(
        cls,
        n_samples: int,
        must: Any = None,
        cannot: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        must_groups: Any = None,
        cannot_groups: Any = None,
        must_group_weights: Any = None,
        cannot_group_weights: Any = None,
    ) -> Links:
        """Check and normalise must-links and cannot-links, given as pairs and groups."""
        return cls(
            *check_pairs(must, must_weights, n_samples, what="must"),
            *check_pairs(cannot, cannot_weights, n_samples, what="cannot"),
            RowGroups.from_lists(must_groups, n_samples, weights=must_group_weights, what="must_groups"),
            RowGroups.from_lists(
                cannot_groups, n_samples, weights=cannot_group_weights, what="cannot_groups"
            ),
        )

    def __len__(self) -> int:
        return len(self.must) + len(self.cannot) + len(self.must_groups) + len(self.cannot_groups)

    @property
    def rows(self) -> IntArray:
        """The rows of all links, with repetitions."""
        return np.concatenate(
            [
                self.must.reshape(-1),
                self.cannot.reshape(-1),
                self.must_groups.members,
                self.cannot_groups.members,
            ]
        )

    def restrict(self, rows: IntArray, positions: IntArray) -> Links:
        """Return the links between the remaining rows, renumbered."""
        kept: list[Any] = []  # must, its weights, cannot, its weights
        n_samples = max(len(rows), 1)
        for pairs, weights in ((self.must, self.must_weights), (self.cannot, self.cannot_weights)):
            moved = positions[pairs]
            use = (moved >= 0).all(axis=1)
            kept += check_pairs(moved[use], weights[use], n_samples, what="links")
        kept += [self.must_groups.restrict(positions), self.cannot_groups.restrict(positions)]
        return Links(*kept)

    def union(self, other: Links, n_samples: int) -> Links:
        """Return the links of both; a link in both has the larger weight."""
        merged: list[Any] = []
        for name in ("must", "cannot"):
            pairs = np.concatenate([getattr(self, name), getattr(other, name)])
            weights = np.concatenate([getattr(self, f"{name}_weights"), getattr(other, f"{name}_weights")])
            merged += check_pairs(pairs, weights, n_samples, what=name)
        merged.append(self.must_groups.union(other.must_groups, n_samples))
        merged.append(self.cannot_groups.union(other.cannot_groups, n_samples))
        return Links(*merged)

    def drop_cannot(self, pairs: npt.NDArray[np.bool_], groups: RowGroups) -> Links:
        """Return the links without the cannot-links marked in `pairs`, and with other cannot-link groups."""
        return replace(
            self,
            cannot=freeze(self.cannot[~pairs]),
            cannot_weights=freeze(self.cannot_weights[~pairs]),
            cannot_groups=groups,
        )

    def summary(self) -> str:
        """Describe the links in a few words."""
        parts = []
        if len(self.must):
            parts.append(f"{len(self.must)} must")
        if len(self.cannot):
            parts.append(f"{len(self.cannot)} cannot")
        if len(self.must_groups):
            parts.append(f"{len(self.must_groups)} must group(s)")
        if len(self.cannot_groups):
            parts.append(f"{len(self.cannot_groups)} cannot group(s)")
        return ", ".join(parts)
