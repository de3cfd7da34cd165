"""The door for labels: a table of 0 and 1, one column a label, dense, sparse or a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """Labels that were checked.

    Attributes
    ----------
    Y : ndarray of uint8 of shape (n_samples, n_labels)
        1 where a row holds a label; in C order.
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
        """How many rows hold each label."""
        counts: np.ndarray = self.Y.sum(axis=0, dtype=np.int64)
        return counts


def check_labels(Y: Any, *, who: str = "") -> LabelColumns:
    """Check a table of labels and make it dense.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        1 or True where a row holds a label, 0 or False elsewhere. The columns of a DataFrame name the labels;
        other labels are named "0", "1", …
    who : str, optional
        Who asks: the beginning of every error.

    Returns
    -------
    labels : LabelColumns

    Raises
    ------
    ValueError
        For a table that has not two axes, is empty, has missing or other values, or two columns of one name.

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
                f"{who}Y must have at least one {axis}, got shape {values.shape}. Give one row a sample and "
                "one column a label."
            )
    return LabelColumns(_check_zeros_and_ones(values, who), names or tuple(map(str, range(values.shape[1]))))


def _get_column_names(Y: Any, who: str) -> tuple[str, ...] | None:
    """Return the names that a DataFrame gives its columns, as text."""
    if not (hasattr(Y, "columns") and hasattr(Y, "to_numpy")):
        return None
    names = tuple(map(str, Y.columns))
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"{who}two columns of Y have the name {twice[0]!r}. Each label needs a name of its own, as text: "
            "rename a column, or merge the two."
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
                f"{who}Y is not a table: its rows are of different lengths. Lists of the labels of each row "
                "become a table with sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y)."
            ) from error
    if values.ndim != 2:
        raise ValueError(
            f"{who}Y must have one column a label, shape (n_samples, n_labels); got shape {values.shape}. "
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
            f"{who}Y must hold 0 and 1, or False and True; got values of {values.dtype}, such as "
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
            f"{who}Y must hold 0 and 1 only; got {numbers[i, k]:g} in row {i}, column {k}. Say which values "
            "mean that a row holds the label, for instance Y > 0."
        )
    return np.ascontiguousarray(numbers, dtype=np.uint8)
