"""Rows of hints: selected as in NumPy, and named by index label.

pandas is recognised by its attributes and never imported.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError
from likewise.tables import check_n_samples as check_n_samples

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_MANY = 20_000  # with more index labels, no close match is sought


def select_rows(key: Any, n_samples: int) -> IntArray:
    """Return the row numbers that a slice, a mask or integers select, as in NumPy."""
    if isinstance(key, tuple):  # scikit-learn indexes row-aligned objects as obj[rows, ...]
        rest = [part for part in key if part is not Ellipsis]
        if len(rest) != 1:
            raise IndexError(f"hints are one-dimensional; got the index {key!r}.")
        key = rest[0]
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        raise TypeError(
            "expected a slice, a mask or a list; got one row. Use hints[i:i+1] or hints.relation(i, j)."
        )
    rows: IntArray = np.arange(n_samples, dtype=np.int64)[key]
    if rows.ndim != 1:
        raise IndexError(f"hints are indexed by a slice, a mask or a list of rows, got {key!r}.")
    return rows


def find_first_positions(rows: IntArray, n_samples: int) -> IntArray:
    """Return the first position of each old row in `rows`; -1 if it does not occur."""
    positions = np.full(n_samples, -1, dtype=np.int64)
    positions[rows[::-1]] = np.arange(len(rows) - 1, -1, -1, dtype=np.int64)
    return positions


# ---------------------------------------------------------------------- rows by index label


class RowIndex:
    """Index labels of the rows, or only the number of rows if hints use row numbers."""

    def __init__(self, n_samples: int, labels: tuple[Hashable, ...] | None) -> None:
        self.n_samples: int = n_samples
        self.labels: tuple[Hashable, ...] | None = labels

    @classmethod
    def from_index(cls, index: Any, n_samples: Any = None) -> RowIndex:
        """Check the index labels of the rows; None means that hints use row numbers."""
        if index is None:
            if n_samples is None:
                raise SupervisionError(
                    "the number of rows is unknown. Pass n_samples=len(X) if hints name rows by number, or "
                    "index=df.index if they name rows by label."
                )
            return cls(check_n_samples(n_samples), None)
        if is_pandas(index) or isinstance(index, str | bytes | Mapping) or not isinstance(index, Iterable):
            raise SupervisionError(
                f"index must be the labels of the rows, such as df.index; got {type(index).__name__}."
            )
        labels = tuple(index.tolist() if hasattr(index, "tolist") else index)
        if n_samples is not None and check_n_samples(n_samples) != len(labels):
            raise SupervisionError(
                f"n_samples is {n_samples}, but index has {len(labels)} labels; leave n_samples out."
            )
        row_index = cls(check_n_samples(len(labels)), labels)
        if len(row_index._row_of) < len(labels):
            row, label = next((r, v) for r, v in enumerate(labels) if row_index._row_of[v] != r)
            raise SupervisionError(
                f"rows {row} and {row_index._row_of[label]} both have the index label {label!r}, so a hint "
                "with this label would be ambiguous. Use df.reset_index(drop=True), or row numbers."
            )
        return row_index

    @cached_property
    def _row_of(self) -> dict[Hashable, int]:
        return {label: row for row, label in enumerate(self.labels or ())}

    def find_row(self, label: Any, where: str) -> int:
        """Return the row with this label; `where` is the beginning of the error if there is none."""
        try:
            return self._row_of[label]
        except (KeyError, TypeError):
            raise SupervisionError(
                f"{where} names {label!r}, which is not in the index{self._suggest_label(label)}"
            ) from None

    def _suggest_label(self, label: Any) -> str:
        """Return a question that suggests a similar label, or only the full stop."""
        if self.n_samples > _MANY:
            return "."
        texts = {str(known): known for known in self._row_of}
        near = difflib.get_close_matches(str(label), texts, n=1, cutoff=0.75)
        if not near:
            return "."
        known = texts[near[0]]
        kind = f", of type {type(known).__name__}" if near[0] == str(label) else ""
        return f"; did you mean {known!r}{kind}?"

    def find_rows(self, values: Any, what: str, *, width: int | None = None) -> Any:
        """Return lists of labels as lists of rows; `width` is the length that each must have."""
        if self.labels is None or values is None:
            return values
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        found = []
        for place, labels in enumerate(values.tolist() if hasattr(values, "tolist") else values):
            where = f"{what}[{place}]"
            if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
                raise SupervisionError(
                    f"{where} is {labels!r}; expected a list of {f'{width} ' if width else ''}index labels."
                )
            rows = [self.find_row(label, where) for label in labels]
            if width is not None and len(rows) != width:
                raise SupervisionError(f"{where} has {len(rows)} label(s); expected {width}.")
            found.append(rows)
        return found


def is_pandas(value: Any) -> bool:
    """Return True for a Series or a data frame of pandas, or an object that works like one."""
    return hasattr(value, "iloc") and hasattr(value, "index")


def align(values: Any, index: Any, what: str) -> tuple[Any, tuple[Hashable, ...] | None]:
    """Return one value for each row, None if a Series or mapping has none, and the labels of the rows.

    A Series is aligned by its index. Without the index of the data, only a Series that is indexed 0, 1, 2
    and so on can be read.
    """
    if index is None:
        is_series = is_pandas(values) and getattr(values, "ndim", 0) == 1
        if is_series and not np.array_equal(np.asarray(values.index), np.arange(len(values.index))):
            raise SupervisionError(
                f"{what} is a Series whose index is not 0, 1, 2, … ({_format_index(values.index)}). To align "
                "it with the rows of the data, pass index=df.index; if it is in the order of the rows, pass "
                f"{what}.to_numpy()."
            )
        return values, None
    row_index = RowIndex.from_index(index)
    if isinstance(values, Mapping):
        labels, cells = list(values), list(values.values())
    elif is_pandas(values) and getattr(values, "ndim", 0) == 1:
        labels, cells = values.index.tolist(), values.tolist()
    else:
        if hasattr(values, "__len__") and len(values) != row_index.n_samples:
            raise SupervisionError(
                f"{what} has {len(values)} entries, but index has {row_index.n_samples} labels. Pass a "
                "Series or a mapping to cover only some of the rows."
            )
        return values, row_index.labels
    aligned: list[Any] = [None] * row_index.n_samples
    given: set[int] = set()
    for label, cell in zip(labels, cells, strict=True):
        row = row_index.find_row(label, what)
        if row in given:
            raise SupervisionError(f"{what} names the index label {label!r} twice; keep one of the two.")
        given.add(row)
        aligned[row] = cell
    return aligned, row_index.labels


def check_row_labels(hints: Any, X: Any, who: str = "", what: str = "X") -> None:
    """Raise an error if a data frame or Series has other rows, or another order, than hints made by index."""
    labels = getattr(hints, "_index", None)  # other objects are refused when hints are checked
    if labels is None or not is_pandas(X) or len(X) != len(labels):
        return
    for row, (expected, found) in enumerate(zip(labels, X.index, strict=True)):
        if expected != found and not (expected != expected and found != found):  # NaN differs from itself
            raise SupervisionError(
                f"{who}{': ' if who else ''}the hints were made for other rows or in another order: "
                f"row {row} of {what} has the index label {found!r}, but the hints expect {expected!r}. Make "
                f"the hints again with index={what}.index, or pass {what}.to_numpy() if the rows are in the "
                "order of the hints."
            )


def check_same_labels(first: tuple[Any, ...] | None, second: tuple[Any, ...] | None) -> None:
    """Raise an error if two sets of hints were made with different index labels."""
    if first is None or second is None or first == second:
        return
    row = next(row for row, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    raise SupervisionError(
        f"the hints were made for other rows or in another order: row {row} has the index label "
        f"{first[row]!r} in the first and {second[row]!r} in the second. Make both with the same index=."
    )


def check_same_index(hinted: Any, weights: Any, what: str) -> None:
    """Raise an error if weights in a Series have another index than the data frame of links."""
    expected = hinted.index if is_pandas(hinted) else range(len(weights))
    if list(weights.index) != list(expected):
        raise SupervisionError(
            f"{what}_weights is a Series whose index ({_format_index(weights.index)}) differs from the "
            f"index of {what}. Pass {what}_weights.to_numpy() if both are in the same order."
        )


def _format_index(index: Any) -> str:
    return ", ".join(map(repr, list(index[:3]))) + (", …" if len(index) > 3 else "")
