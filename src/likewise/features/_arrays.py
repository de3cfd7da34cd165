"""Precomputed features, such as embeddings, from a ``.npy`` file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from likewise.exceptions import FileFormatError, describe_cause
from likewise.features._features import Features, FloatArray, one_scale
from likewise.tables import holds_objects


def array_features(path: str | os.PathLike[str], *, n_rows: int | None = None, of: str = "items") -> Features:
    """Read features from a ``.npy`` file, and scale them by one factor to a mean variance of 1.

    Parameters
    ----------
    path : path
        A file written by ``numpy.save``, with an array of shape (n_rows, n_features). A file with Python
        objects raises an error, because reading it could run code from the file.
    n_rows : int, optional
        The expected number of rows.
    of : str, default="items"
        The name of the rows in the error message if their number is wrong.

    Returns
    -------
    features : Features
        The scaled features.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or does not contain finite numbers of the expected shape.
    """
    name = os.fspath(path)
    try:
        found: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {name}.") from error
    except (OSError, ValueError, EOFError) as error:
        why = describe_cause(error)
        if isinstance(error, ValueError):
            with open(path, "rb") as file:
                why = "it contains Python objects" if holds_objects(file) else why
        raise FileFormatError(
            f"{name} cannot be read as .npy: {why}. Save an array of numbers with numpy.save."
        ) from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise FileFormatError(
            f"{name} contains several arrays (.npz); expected one, as written by numpy.save."
        )
    if found.ndim != 2 or found.dtype.kind not in "biuf" or 0 in found.shape:
        raise FileFormatError(
            f"{name} contains an array of shape {found.shape} and type {found.dtype}; expected numbers "
            "of shape "
            "(rows, features)."
        )
    if n_rows is not None and len(found) != n_rows:
        raise FileFormatError(
            f"{name} has {len(found)} row(s), but there are {n_rows} {of}; expected one row for each, "
            "in the same "
            "order."
        )
    X: FloatArray = np.array(found, dtype=np.float32 if found.dtype.itemsize <= 4 else np.float64)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        raise FileFormatError(
            f"{name}, row {row}, column {column} (counted from 0) is {X[row, column]}; expected finite "
            "numbers."
        )
    return Features(one_scale(X), f"{X.shape[1]} numbers per row from {name}")
