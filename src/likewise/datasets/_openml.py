"""Read a data set through scikit-learn's OpenML fetcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from likewise.datasets._entry import Entry
from likewise.datasets._verified_files import convert_labels, get_class_names
from likewise.exceptions import DatasetNotFoundError

Fetch = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class _OpenmlTable:
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    names: tuple[str, ...]

    def read_columns(self, use: npt.NDArray[np.bool_]) -> _OpenmlTable:
        return _OpenmlTable(
            self.X[:, use], self.y, tuple(n for n, u in zip(self.names, use, strict=True) if u)
        )

    def read_rows(self, use: Any) -> _OpenmlTable:
        return _OpenmlTable(self.X[use], self.y[use], self.names)


def _drop_speaker(table: _OpenmlTable) -> _OpenmlTable:
    known = {"train_or_test", "speaker_number", "sex"}
    return table.read_columns(np.array([name.lower() not in known for name in table.names]))


# Functions that convert OpenML's copy to the form of the catalogue where the two differ.
_TIDY: dict[str, Callable[[_OpenmlTable], _OpenmlTable]] = {
    "mnist_test": lambda table: table.read_rows(slice(60_000, None)),
    "segment": lambda table: table.read_columns(np.ptp(table.X, axis=0) > 0),
    "vowel": _drop_speaker,
    "wisconsin": lambda table: table.read_rows(~np.isnan(table.X).any(axis=1)),
}


def _import_fetch() -> Fetch:
    from sklearn.datasets import fetch_openml

    return cast(Fetch, fetch_openml)


def read(entry: Entry, fetch: Fetch | None) -> dict[str, Any]:
    """Fetch an entry by its OpenML number; return fields of its Dataset."""
    try:
        # The default parser needs pandas, which is not a dependency.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about retries; the final error is enough
            bunch = (fetch or _import_fetch())(data_id=entry.openml_id, as_frame=False, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFoundError(
            f"OpenML's data set {entry.openml_id} could not be fetched ({type(error).__name__}: {error})"
        ) from error
    table = _OpenmlTable(
        np.asarray(bunch.data, dtype=np.float64),
        convert_labels([str(label) for label in bunch.target]),
        tuple(map(str, bunch.feature_names)),
    )
    if entry.name in _TIDY:
        table = _TIDY[entry.name](table)
    names = get_class_names(table.y)
    # There are no checksums for data from OpenML, so the shape is checked.
    found, wanted = (*table.X.shape, len(names)), (entry.n_rows, entry.n_columns, entry.n_classes)
    if found != wanted:
        raise DatasetNotFoundError(
            f"OpenML's data set {entry.openml_id} has (rows, columns, classes) = {found}, "
            f"but the catalogue has {wanted}"
        )
    return {"X": table.X, "y": table.y, "feature_names": table.names, "target_names": names}
