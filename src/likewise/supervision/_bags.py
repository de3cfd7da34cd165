"""Bags: rows told about together, such as the syllables of one recording."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.exceptions import InconsistentSupervisionError, SupervisionError
from likewise.supervision._labels import Labels
from likewise.supervision._rows import IntArray, frozen

LabelSet = frozenset[Hashable]


@dataclass(frozen=True, eq=False)
class Bags:
    """The bag of each row as a code into `names` (-1: in no bag), and each bag's set of labels.

    ``labels[b]`` is None where nobody said what bag b holds.
    """

    codes: IntArray
    names: tuple[Hashable, ...]
    labels: tuple[LabelSet | None, ...]

    @classmethod
    def of(cls, bags: Any, bag_labels: Mapping[Any, Any] | None = None) -> Bags:
        """Check each row's bag, and the labels of the bags that have any."""
        members = Labels.of(bags)
        given = dict(bag_labels or {})
        unknown = [name for name in given if name not in set(members.classes)]
        if unknown:
            raise SupervisionError(
                f"bag_labels speaks of bag {unknown[0]!r}, but no row is in it. "
                "Check that the names are of the same type on both sides."
            )
        labels: list[LabelSet | None] = []
        for name in members.classes:
            value = given.get(name)
            if value is None:
                labels.append(None)
                continue
            if isinstance(value, str | bytes):
                raise SupervisionError(
                    f"the labels of bag {name!r} must be a collection, got the text {value!r}. "
                    "Split it first, or put it in a list."
                )
            if not (unique := frozenset(value)):
                raise SupervisionError(
                    f"bag {name!r} has an empty set of labels. Give None if its labels are not known."
                )
            labels.append(unique)
        return cls(members.codes, members.classes, tuple(labels))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rows(self) -> IntArray:
        """The rows of labelled bags."""
        known = np.array([*(labels is not None for labels in self.labels), False])
        return np.flatnonzero(known[self.codes])

    def restrict(self, rows: IntArray, positions: IntArray) -> Bags:
        """Return the bags of `rows`; a bag that loses rows keeps what was said of it."""
        part = Labels(self.codes, self.names).restrict(rows, positions)
        label_of = dict(zip(self.names, self.labels, strict=True))
        return Bags(part.codes, part.classes, tuple(label_of[name] for name in part.classes))

    def union(self, other: Bags, n_samples: int) -> Bags:
        """Return the bags of both, or say where they differ."""
        merged = Labels(self.codes, self.names).union(Labels(other.codes, other.names), n_samples)
        labels = dict(zip(self.names, self.labels, strict=True))
        for name, value in zip(other.names, other.labels, strict=True):
            if labels.get(name) is not None and value is not None and labels[name] != value:
                raise InconsistentSupervisionError(
                    f"bag {name!r} has the labels {set(labels[name] or ())} and {set(value)}. "
                    "Keep one of the two."
                )
            labels[name] = labels.get(name) or value
        names = merged.classes
        return Bags(frozen(merged.codes), names, tuple(labels[name] for name in names))

    def summary(self) -> str:
        """Say what is inside in a few words."""
        known = sum(labels is not None for labels in self.labels)
        return f"{len(self)} bag(s), {known} of them labelled"
