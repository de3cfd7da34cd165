"""Partial labels: the class of some of the rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.exceptions import InconsistentSupervisionError, SupervisionError
from likewise.supervision._rows import IntArray, frozen


def is_missing(value: Any, missing: Any) -> bool:
    """Tell whether `value` stands for "not known": None, NaN, or the marker that was given."""
    if value is None or value is missing:
        return True
    if isinstance(value, float | np.floating) and np.isnan(value):
        return True
    return missing is not None and type(value) is type(missing) and bool(value == missing)


def sorted_values(values: Any) -> tuple[Any, ...]:
    """Sort hashable values, by their words where they cannot be compared."""
    unique = list(dict.fromkeys(values))
    try:
        return tuple(sorted(unique))
    except TypeError:
        return tuple(sorted(unique, key=lambda v: (type(v).__name__, repr(v))))


@dataclass(frozen=True, eq=False)
class Labels:
    """The label of each row as a code into `classes`, -1 where it is not known."""

    codes: IntArray
    classes: tuple[Hashable, ...]

    @classmethod
    def of(cls, labels: Any, missing: Any = None) -> Labels:
        """Check labels, one a row; None, NaN and `missing` mean "not known"."""
        if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
            raise SupervisionError(f"labels must be a sequence with one entry a row, got {labels!r}.")
        array = np.asarray(labels, dtype=object) if hasattr(labels, "dtype") else labels
        if hasattr(array, "ndim") and array.ndim != 1:
            raise SupervisionError(f"labels must have one axis, the rows; got shape {array.shape}.")
        values = array.tolist() if hasattr(array, "tolist") else list(array)
        if isinstance(missing, np.generic):
            missing = missing.item()
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
        try:
            known = [None if is_missing(v, missing) else v for v in values]
            classes = sorted_values(v for v in known if v is not None)
        except (TypeError, ValueError) as error:
            raise SupervisionError(f"labels must be hashable: {error}.") from error
        code = {value: c for c, value in enumerate(classes)}
        codes = np.fromiter((-1 if v is None else code[v] for v in known), dtype=np.int64, count=len(known))
        return cls(frozen(codes), classes)

    def __len__(self) -> int:
        return int((self.codes >= 0).sum())

    @property
    def rows(self) -> IntArray:
        """The rows whose label is known."""
        return np.flatnonzero(self.codes >= 0)

    def restrict(self, rows: IntArray, positions: IntArray) -> Labels:
        """Return the labels of `rows`; classes that no kept row has are forgotten."""
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])
        lookup = np.full(len(self.classes) + 1, -1, dtype=np.int64)
        lookup[used] = np.arange(len(used))
        return Labels(frozen(lookup[codes]), tuple(self.classes[c] for c in used))

    def union(self, other: Labels, n_samples: int) -> Labels:
        """Return the labels of both, or say which row was given two."""
        classes = sorted_values([*self.classes, *other.classes])
        code = {value: c for c, value in enumerate(classes)}
        mine, theirs = (
            np.array([*(code[v] for v in part.classes), -1], dtype=np.int64)[part.codes]
            for part in (self, other)
        )
        clash = np.flatnonzero((mine >= 0) & (theirs >= 0) & (mine != theirs))
        if clash.size:
            i = clash[0]
            raise InconsistentSupervisionError(
                f"row {i} is labelled {classes[mine[i]]!r} and {classes[theirs[i]]!r}. Keep one of the two."
            )
        return Labels(frozen(np.where(mine >= 0, mine, theirs)), classes)

    def summary(self) -> str:
        """Say what is inside in a few words."""
        return f"{len(self)} label(s) of {len(self.classes)} class(es)"
