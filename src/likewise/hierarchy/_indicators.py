"""Conversion of label indicators (dense, sparse or DataFrame) to a CSR array, and back to their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from likewise.exceptions import HierarchyError
from likewise.hierarchy._label_checks import format_names


def find_held_labels(Y: Any, names: tuple[str, ...]) -> sparse.csr_array:
    """Return the labels of each row as a CSR array of ones, with columns in the order of `names`."""
    if _is_frame(Y):
        values = _as_numeric(Y.to_numpy())[:, _find_column_order(Y, names)]
    else:
        values = Y if sparse.issparse(Y) else _as_numeric(Y)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise HierarchyError(
            f"Y must have one column for each of the {len(names)} labels; got shape {values.shape}. For a "
            "subset of the labels, use restrict(names) first."
        )
    held = sparse.csr_array(values, copy=True)
    held.sum_duplicates()
    _check_zero_one(held.data)
    held.eliminate_zeros()
    return held.astype(np.int32)


def with_labels(Y: Any, held: sparse.csr_array, names: tuple[str, ...]) -> Any:
    """Return a copy of `Y` with the same type and dtype, in which the entries of `held` are set."""
    if sparse.issparse(Y):
        return type(Y)(held.astype(Y.dtype))
    rows, columns = held.nonzero()
    if _is_frame(Y):
        values = Y.to_numpy(copy=True)
        values[rows, np.array(_find_column_order(Y, names))[columns]] = 1
        return type(Y)(values, index=Y.index, columns=Y.columns).astype(Y.dtypes)
    out = np.array(Y)
    out[rows, columns] = 1
    return out


def _is_frame(Y: Any) -> bool:
    return hasattr(Y, "columns") and hasattr(Y, "to_numpy")


def _find_column_order(Y: Any, names: tuple[str, ...]) -> list[int]:
    """Return the position of the column of each label."""
    columns = [str(column) for column in Y.columns]
    place = {column: k for k, column in enumerate(columns)}
    missing = [name for name in names if name not in place]
    other = sorted(set(columns) - set(names))
    if missing or other or len(columns) != len(names):
        description = [f"there is no column {format_names(missing)}"] if missing else []
        description += [f"there is no label {format_names(other)}"] if other else []
        description = description or ["a column occurs twice"]
        raise HierarchyError(
            f"the columns of Y must be the labels, in any order; {' and '.join(description)}. Select columns "
            "with "
            "Y[list(names)], or labels with restrict(names)."
        )
    return [place[name] for name in names]


def _as_numeric(Y: Any) -> npt.NDArray[Any]:
    values = np.asarray(Y)
    if values.dtype.kind in "biuf":
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Y must be 1 where a row has a label and 0 elsewhere: {error}.") from error


def _check_zero_one(data: npt.NDArray[Any]) -> None:
    wrong = np.flatnonzero((data != 0) & (data != 1))
    if not wrong.size:
        return
    value = data[wrong[0]]
    way = "Fill in 0 where a label was not recorded." if value != value else "Use Y > 0 if that is meant."
    raise ValueError(f"Y must be 1 where a row has a label and 0 elsewhere; got {value}. {way}")
