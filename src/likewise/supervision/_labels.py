"""Partial labels: the class of some of the rows."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from likewise.exceptions import InconsistentSupervisionError, QuestionableHintsWarning, SupervisionError
from likewise.supervision._row_checks import IntArray, ReadOnly, freeze


def is_missing(value: Any, missing: Any) -> bool:
    """Return True if `value` means "unknown": None, NaN, or the given marker."""
    if value is None or value is missing:
        return True
    if isinstance(value, float | np.floating) and np.isnan(value):
        return True
    if type(value).__name__ in {"NAType", "NaTType"}:  # the markers of pandas, without importing it
        return True
    if missing is None or isinstance(value, bool) != isinstance(missing, bool):
        return False
    # -1 and -1.0 are the same marker, but False is not 0.
    both_numbers = isinstance(value, numbers.Real) and isinstance(missing, numbers.Real)
    return (both_numbers or type(value) is type(missing)) and bool(value == missing)


def sort_values(values: Any) -> tuple[Any, ...]:
    """Sort hashable values; values without an order are sorted by type and text."""
    unique = list(dict.fromkeys(values))
    # Sets are only partially ordered, so the result of sorting them would depend on the order of the input.
    if all(isinstance(v, str | numbers.Real | bytes | date) for v in unique):
        try:
            return tuple(sorted(unique))
        except TypeError:
            pass
    return tuple(sorted(unique, key=_make_sort_key))


def _make_sort_key(value: Any) -> tuple[str, str]:
    if isinstance(value, frozenset):
        return "frozenset", repr(sorted(map(_make_sort_key, value)))
    return type(value).__name__, repr(value)


@dataclass(frozen=True, eq=False)
class Labels(ReadOnly):
    """The label of each row as an index into `classes`; -1 if it is unknown."""

    codes: IntArray
    classes: tuple[Hashable, ...]
    marker: Any = field(default=None, compare=False)  # the value that was read as unlabelled, for the repr

    @classmethod
    def from_array(cls, labels: Any, missing: Any = None, *, what: str = "labels") -> Labels:
        """Check and encode labels, one per row; None, NaN and `missing` mean "unknown"."""
        if isinstance(labels, str | bytes | Mapping | Set) or not hasattr(labels, "__len__"):
            raise SupervisionError(f"{what} must be a sequence with one entry per row, got {labels!r}.")
        if hasattr(labels, "ndim") and labels.ndim != 1:
            raise SupervisionError(f"{what} must be one-dimensional; got shape {labels.shape}.")
        if isinstance(missing, np.generic):
            missing = missing.item()
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iuU":
            return cls._from_plain_array(labels, missing)
        array = np.asarray(labels, dtype=object) if hasattr(labels, "dtype") else labels
        values = array.tolist() if hasattr(array, "tolist") else list(array)
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
        try:
            known = [None if is_missing(v, missing) else v for v in values]
            classes = sort_values(v for v in known if v is not None)
        except (TypeError, ValueError) as error:
            raise SupervisionError(f"{what} must be hashable: {error}.") from error
        code = {value: c for c, value in enumerate(classes)}
        codes = np.fromiter((-1 if v is None else code[v] for v in known), dtype=np.int64, count=len(known))
        marked = any(k is None and not is_missing(v, None) for k, v in zip(known, values, strict=True))
        return cls(freeze(codes), classes, missing if marked else None)

    @classmethod
    def _from_plain_array(cls, labels: np.ndarray, missing: Any) -> Labels:
        """Do the same for an array of integers or strings, about ten times as fast."""
        values, codes = np.unique(labels, return_inverse=True)
        known = np.array([not is_missing(v, missing) for v in values.tolist()], dtype=bool)
        lookup = np.where(known, np.cumsum(known) - 1, -1)
        marker = None if known.all() else missing
        return cls(freeze(lookup[codes.reshape(-1)].astype(np.int64)), tuple(values[known].tolist()), marker)

    def __len__(self) -> int:
        return int((self.codes >= 0).sum())

    @property
    def rows(self) -> IntArray:
        """The labelled rows."""
        return np.flatnonzero(self.codes >= 0)

    def restrict(self, rows: IntArray, positions: IntArray) -> Labels:
        """Return the labels of `rows`, with only the classes that occur there."""
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])
        lookup = np.full(len(self.classes) + 1, -1, dtype=np.int64)
        lookup[used] = np.arange(len(used))
        return Labels(freeze(lookup[codes]), tuple(self.classes[c] for c in used), self.marker)

    def union(self, other: Labels, n_samples: int, *, other_name: str = "is labelled") -> Labels:
        """Combine with other labels; it is an error if a row has two different labels."""
        classes = sort_values([*self.classes, *other.classes])
        code = {value: c for c, value in enumerate(classes)}
        mine, theirs = (
            np.array([*(code[v] for v in part.classes), -1], dtype=np.int64)[part.codes]
            for part in (self, other)
        )
        clash = np.flatnonzero((mine >= 0) & (theirs >= 0) & (mine != theirs))
        if clash.size:
            i = clash[0]
            raise InconsistentSupervisionError(
                f"row {i} {other_name} {classes[mine[i]]!r} and {classes[theirs[i]]!r}. Keep one of the two."
            )
        marker = self.marker if self.marker is not None else other.marker
        return Labels(freeze(np.where(mine >= 0, mine, theirs)), classes, marker)

    def summary(self) -> str:
        """Describe the labels in a few words."""
        text = f"{len(self)} label(s) of {len(self.classes)} class(es)"
        return text if self.marker is None else f"{text}, {self.marker!r} read as unlabelled"

    def warn_of_two_signs(self) -> None:
        """Warn if -1 was read as unlabelled although -1 and 1 may be the two classes."""
        if self.marker == -1 and self.classes == (1,):
            warnings.warn(
                "the labels are -1 and 1, and -1 is read as unlabelled, as scikit-learn does. If -1 is a "
                "class, pass missing=None.",
                QuestionableHintsWarning,
                stacklevel=3,
            )
