"""Validation of label matrices: 0 and 1, one column per label, dense, sparse or a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """A validated label matrix.

    Attributes
    ----------
    Y : ndarray of uint8 of shape (n_samples, n_labels)
        1 where a row has a label; in C order.
    names : tuple of str
        The name of each column.
    """

    Y: np.ndarray
    names: tuple[str, ...]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.names)

    @property
    def counts(self) -> np.ndarray:
        """The number of rows with each label."""
        counts: np.ndarray = self.Y.sum(axis=0, dtype=np.int64)
        return counts


def check_labels(Y: Any, *, who: str = "") -> LabelColumns:
    """Validate a label matrix and make it dense.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        1 or True where a row has a label, 0 or False elsewhere. The columns of a DataFrame name the labels;
        otherwise labels are named "0", "1", …
    who : str, optional
        The name of the caller, with which error messages begin.

    Returns
    -------
    labels : LabelColumns
        The validated labels.

    Raises
    ------
    ValueError
        If Y is not two-dimensional, is empty, contains NaN or values other than 0 and 1, or has two columns
        with the same name.

    Examples
    --------
    >>> labels = check_labels([[1, 0], [1, 1], [0, 0]])
    >>> labels.names, labels.counts.tolist()
    (('0', '1'), [2, 1])
    """
    who = f"{who}: " if who else ""
    if Y is None:
        raise ValueError(f"{who}requires y to be passed, but the target y is None.")
    names = _get_column_names(Y, who)
    values = _check_two_axes(Y, who)
    for axis, size in zip(("row", "column"), values.shape, strict=True):
        if not size:
            raise ValueError(
                f"{who}Y must have at least one {axis}; got shape {values.shape}. Pass one row per sample "
                "and one column per label."
            )
    return LabelColumns(_check_zeros_and_ones(values, who), names or tuple(map(str, range(values.shape[1]))))


def _get_column_names(Y: Any, who: str) -> tuple[str, ...] | None:
    """Return the column names of a DataFrame as strings, or None for other types."""
    if not (hasattr(Y, "columns") and hasattr(Y, "to_numpy")):
        return None
    names = tuple(map(str, Y.columns))
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"{who}two columns of Y have the name {twice[0]!r}. Label names must be unique when converted to "
            "text: rename a column, or merge the two."
        )
    return names


def _check_two_axes(Y: Any, who: str) -> np.ndarray:
    if sparse.issparse(Y):
        values = Y.toarray()
    else:
        try:
            values = np.asarray(Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
            if values.dtype.kind == "O" and hasattr(Y, "isna"):
                values = np.where(Y.isna(), np.nan, values)
        except ValueError as error:
            raise ValueError(
                f"{who}Y is not a matrix: its rows have different lengths. Convert lists of labels "
                "with sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y)."
            ) from error
    if values.ndim != 2:
        raise ValueError(
            f"{who}Y must have one column per label, shape (n_samples, n_labels); got shape {values.shape}. "
            "Pass one label as Y.reshape(-1, 1). Only binary classification is supported, label by label: "
            "turn a column of classes into labels with sklearn.preprocessing.LabelBinarizer()"
            ".fit_transform(y). A continuous target is for regressors."
        )
    return values


def _check_zeros_and_ones(values: np.ndarray, who: str) -> np.ndarray:
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values, dtype=np.uint8)
    try:
        if values.dtype.kind not in "iufO":
            raise TypeError
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}Y must contain 0 and 1, or False and True; got values of {values.dtype}, such as "
            f"{values.flat[0]!r}. Turn names of labels into columns with "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y)."
        ) from None
    missing = np.isnan(numbers)
    if missing.any():
        i, k = np.argwhere(missing)[0]
        raise ValueError(
            f"{who}Y contains NaN: {int(missing.sum())} value(s), the first in row {i}, column {k}. A label "
            "that was not recorded is a 0: Y.fillna(0), or numpy.nan_to_num(Y)."
        )
    other = (numbers != 0.0) & (numbers != 1.0)
    if other.any():
        i, k = np.argwhere(other)[0]
        raise ValueError(
            f"{who}Y must contain only 0 and 1; got {numbers[i, k]:g} in row {i}, column {k}. Convert it, "
            "for instance with Y > 0."
        )
    return np.ascontiguousarray(numbers, dtype=np.uint8)
