"""Bags: groups of rows that share a set of labels, such as the syllables of one recording."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.exceptions import InconsistentSupervisionError, SupervisionError
from likewise.supervision._labels import Labels, is_missing, sort_values
from likewise.supervision._row_checks import IntArray, ReadOnly, freeze

LabelSet = frozenset[Hashable]


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
