"""Shared validation for scores: convert labels to integer codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError
from likewise.supervision._row_checks import check_row_labels

IntArray = npt.NDArray[np.int64]


def encode_labels(labels: Any, *, what: str) -> IntArray:
    """Convert labels of any type to codes from 0 to k - 1, in the sorted order of their values.

    >>> encode_labels(["b", "a", "b"], what="labels")
    array([1, 0, 1])
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(
            f"{what} must be one label per row, an array of shape (n_samples,); got shape {array.shape}. "
            "For label indicators, score one column at a time."
        )
    if array.size == 0:
        raise ValueError(f"{what} is empty; a score needs at least one row.")
    missing = np.flatnonzero(_is_missing(array))
    if missing.size:
        raise ValueError(
            f"{what}[{missing[0]}] is {array[missing[0]]}, not a label ({missing.size} such row(s)). "
            "Drop these rows from both labellings before scoring."
        )
    try:
        codes = np.unique(array, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"{what} mixes values that cannot be compared ({error}). Give labels of one kind, "
            "all numbers or all strings."
        ) from error
    return codes.astype(np.int64, copy=False)


def _is_missing(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if array.dtype.kind in "fc":
        return np.asarray(np.isnan(array), dtype=bool)
    if array.dtype.kind == "O":
        # NaN differs from itself; comparing pandas' NA with itself gives NA.
        return np.array([v is None or type(v).__name__ == "NAType" or bool(v != v) for v in array])
    return np.zeros(array.shape, dtype=bool)


def encode_label_pair(labels_true: Any, labels_pred: Any) -> tuple[IntArray, IntArray]:
    """Validate two labellings of the same rows and return both as codes."""
    true = encode_labels(labels_true, what="labels_true")
    pred = encode_labels(labels_pred, what="labels_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"labels_true has {len(true)} rows and labels_pred has {len(pred)}; both must label the same "
            "rows in the same order."
        )
    return true, pred


def check_same_rows(supervision: Any, n_samples: int, given: Any, *, what: str = "labels") -> None:
    """Raise an error if hints have another number of rows, or another index, than `given`."""
    shape = getattr(supervision, "shape", None)
    if shape is None:
        raise SupervisionError(
            f"supervision must be a likewise.supervision.Supervision; got {type(supervision).__name__}. "
            "Build one with Supervision.from_links(len(X), must=..., cannot=...)."
        )
    if tuple(shape) != (n_samples,):
        raise SupervisionError(
            f"the hints are for {shape[0]} rows, but {what} has {n_samples}. "
            "Select the hints of the same rows with supervision[rows]."
        )
    check_row_labels(supervision, given, what=what)
