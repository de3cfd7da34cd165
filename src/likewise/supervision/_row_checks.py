"""Checks that all kinds of hints share: row numbers, weights, and keys that select rows."""

from __future__ import annotations

import numbers
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def freeze(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view of an array, because hints are immutable."""
    view = array.view()
    view.flags.writeable = False
    return view


class ReadOnly:
    """Mixin for dataclasses that keeps arrays read-only when they are pickled, which would lose the flag."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, freeze(value) if isinstance(value, np.ndarray) else value)


def sort_unique(values: IntArray) -> IntArray:
    """Return the sorted unique values. np.unique uses hashing and took 8 times as long on 10^6 keys."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def check_n_samples(n_samples: Any) -> int:
    """Check the number of rows and return it as an int."""
    if isinstance(n_samples, bool) or not isinstance(n_samples, numbers.Integral):
        raise SupervisionError(
            f"n_samples must be an integer, the number of rows of the data; got "
            f"{type(n_samples).__name__}. Pass len(X)."
        )
    if n_samples < 1:
        raise SupervisionError(f"n_samples must be at least 1, got {n_samples}.")
    return int(n_samples)


def check_rows(values: Any, n_samples: int, *, width: int | None, what: str) -> IntArray:
    """Check row numbers, in an array with `width` columns or in a flat list (None); return them as int64."""
    shape = (0,) if width is None else (0, width)
    if values is None:
        return np.empty(shape, dtype=np.int64)
    if isinstance(values, set | frozenset):
        values = sorted(values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged
        wanted = "a flat list of rows" if width is None else f"rows of {width} numbers"
        raise SupervisionError(f"{what} must be {wanted}; the lengths differ.") from error
    if array.size == 0:
        return np.empty(shape, dtype=np.int64)
    if width is not None and (array.ndim != 2 or array.shape[1] != width):
        raise SupervisionError(
            f"{what} must be an array of shape (n, {width}), one hint per row; got shape {array.shape}."
        )
    if width is None and array.ndim != 1:
        raise SupervisionError(f"{what} must be a flat list of rows; got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise SupervisionError(
            f"{what} must contain integer row numbers, got values of type {array.dtype}. To refer to rows by "
            "index label, pass index=, as in Supervision.from_links(index=df.index, …). Files of hints refer "
            "to rows by id."
        )
    flat = array.reshape(-1)
    wrong = np.flatnonzero((flat < 0) | (flat >= n_samples))
    if wrong.size:
        at = int(wrong[0]) // (width or 1)
        raise SupervisionError(
            f"{what}[{at}] names row {flat[wrong[0]]}, but the rows are numbered 0 to {n_samples - 1}.",
            parameter=what,
        )
    return array.astype(np.int64, copy=False)


def check_weights(weights: Any, n: int, *, what: str) -> FloatArray:
    """Check weights: one for each of `n` hints, or one for all hints; None means 1."""
    if weights is None:
        return np.ones(n)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SupervisionError(f"{what} must be numbers, got {weights!r}.") from error
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise SupervisionError(
            f"{what} must have one weight per hint: expected {n}; got shape {array.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if bad.size:
        raise SupervisionError(
            f"{what}[{bad[0]}] is {array[bad[0]]}; weights must be finite and above 0.",
            "Remove a hint that should not count.",
            parameter=what,
        )
    return array


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


class RowPositions:
    """The positions of old rows in `rows` (ascending), computed on demand, without an array of all rows."""

    def __init__(self, rows: IntArray) -> None:
        self._rows = rows

    def __getitem__(self, old: IntArray) -> IntArray:
        return np.searchsorted(self._rows, old)

    def max(self, initial: int = -1) -> int:
        """Return the last position, like the method of an array of all positions."""
        return max(len(self._rows) - 1, initial)
