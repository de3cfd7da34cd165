"""Labels of rows: the class of some of the rows, and the set of classes in a bag of rows."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from likewise.exceptions import InconsistentSupervisionError, QuestionableHintsWarning, SupervisionError
from likewise.supervision._links import ReadOnly, freeze
from likewise.supervision.row_checks import IntArray

LabelSet = frozenset[Hashable]


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


@dataclass(frozen=True, eq=False)
class Bags(ReadOnly):
    """The bag of each row, and the set of labels of each bag.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The bag of each row, as an index into `names`; -1 for a row in no bag.
    names : tuple
        The name of each bag.
    labels : tuple of frozenset or None
        The labels of each bag; None for an unlabelled bag.

    Examples
    --------
    >>> from likewise import Supervision
    >>> bags = Supervision.from_bags(["r1", "r1", "r2"], {"r1": ["wren"]}).bags
    >>> bags.names, bags.codes.tolist(), bags.labels
    (('r1', 'r2'), [0, 0, 1], (frozenset({'wren'}), None))
    """

    codes: IntArray
    names: tuple[Hashable, ...]
    labels: tuple[LabelSet | None, ...]

    @classmethod
    def from_arrays(cls, bags: Any, bag_labels: Mapping[Any, Any] | None = None) -> Bags:
        """Check and encode the bag of each row and the labels of the bags.

        Parameters
        ----------
        bags : array-like of shape (n_samples,)
            The bag of each row, any hashable; None for a row in no bag.
        bag_labels : mapping of bag to a collection of labels, optional
            The labels of each bag. A bag that is missing or None is unlabelled.

        Returns
        -------
        bags : Bags
            The checked bags.
        """
        members = Labels.from_array(bags, what="bags")
        given = dict(bag_labels or {})
        names = set(members.classes)
        unknown = [name for name in given if name not in names]
        if unknown:
            raise SupervisionError(_explain_no_rows(unknown[0], members.classes))
        labels: list[LabelSet | None] = []
        for name in members.classes:
            value = given.get(name)
            if value is None:
                labels.append(None)
                continue
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
                raise SupervisionError(
                    f"the labels of bag {name!r} must be a collection, got {value!r}. "
                    "Split it first, or put it in a list."
                )
            try:
                unique = frozenset(v.item() if isinstance(v, np.generic) else v for v in value)
            except TypeError as error:
                raise SupervisionError(f"the labels of bag {name!r} must be hashable: {error}.") from error
            if any(is_missing(label, None) for label in unique):
                raise SupervisionError(
                    f"bag {name!r} has a missing label among {value!r}. Give all labels of a bag, or None."
                )
            if not unique:
                raise SupervisionError(
                    f"bag {name!r} has an empty set of labels. Pass None if its labels are unknown."
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
        """Restrict the bags to some rows. A bag that loses rows keeps its labels.

        Parameters
        ----------
        rows : ndarray of shape (n,)
            The rows to keep, in their new order.
        positions : ndarray of shape (n_samples,)
            The new position of each row; -1 for a row that is removed.

        Returns
        -------
        bags : Bags
            The bags of these rows.
        """
        part = Labels(self.codes, self.names).restrict(rows, positions)
        label_of = dict(zip(self.names, self.labels, strict=True))
        return Bags(part.codes, part.classes, tuple(label_of[name] for name in part.classes))

    def union(self, other: Bags, n_samples: int) -> Bags:
        """Combine with other bags of the same rows.

        Parameters
        ----------
        other : Bags
            The other bags.
        n_samples : int
            The number of rows.

        Returns
        -------
        bags : Bags
            The bags of both. It is an error if they contradict each other.
        """
        theirs = Labels(other.codes, other.names)
        merged = Labels(self.codes, self.names).union(theirs, n_samples, other_name="is in the bags")
        labels = dict(zip(self.names, self.labels, strict=True))
        for name, value in zip(other.names, other.labels, strict=True):
            if labels.get(name) is not None and value is not None and labels[name] != value:
                raise InconsistentSupervisionError(
                    f"bag {name!r} has the labels {sort_values(labels[name])} and "
                    f"{sort_values(value)}. Keep one of the two."
                )
            labels[name] = labels.get(name) or value
        names = merged.classes
        return Bags(freeze(merged.codes), names, tuple(labels[name] for name in names))

    def summary(self) -> str:
        """Describe the bags in a few words.

        Returns
        -------
        text : str
            The numbers of bags and of labelled bags.
        """
        known = sum(labels is not None for labels in self.labels)
        return f"{len(self)} bag(s), {known} of them labelled"


def _explain_no_rows(name: Hashable, known: tuple[Hashable, ...]) -> str:
    """Return the error text for a bag without rows, which mentions an equal name of another type."""
    message = f"bag_labels contains bag {name!r}, but no row is in it."
    alike = next((other for other in known if _normalise_name(other) == _normalise_name(name)), None)
    if alike is None:
        return f"{message} Remove it from bag_labels, or check the bags of the rows."
    return (
        f"{message} There are rows in bag {alike!r}, of type {type(alike).__name__}, but bag_labels has "
        f"{type(name).__name__}. Use the same type for the names of bags in both."
    )


def _normalise_name(name: Hashable) -> str:
    """Return the same text for a name as a string, an integer or a float."""
    text = str(name).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(number)
