"""Load a data set: from scikit-learn's copy, a folder of files or OpenML, in this order."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from likewise.datasets import _openml, _verified_files
from likewise.datasets._catalogue import find, get_catalogue
from likewise.datasets._dataset import Dataset
from likewise.datasets._entry import Entry, Origin
from likewise.exceptions import DatasetNotFoundError

VARIABLE = "LIKEWISE_DATA"
From = Literal["auto", "scikit-learn", "folder", "openml"]


def load(
    name: str,
    *,
    origin: From = "auto",
    folder: str | os.PathLike[str] | None = None,
    fetch: _openml.Fetch | None = None,
) -> Dataset:
    """Load a data set of the catalogue.

    The places are tried in this order: the copy that scikit-learn ships; the folder in the environment
    variable ``LIKEWISE_DATA``; OpenML, through scikit-learn's fetcher. Files in a folder must have
    the SHA-256 of the catalogue. Data from OpenML must have the shape and the number of classes of
    the catalogue; their labels may be spelled differently.

    Parameters
    ----------
    name : str
        A name in :func:`get_catalogue`, in any case and with dashes or underscores, such as "Letters-IJL".
    origin : {"auto", "scikit-learn", "folder", "openml"}, default="auto"
        Where to look; "auto" tries all, in the order above.
    folder : path, optional
        A folder to read instead of ``LIKEWISE_DATA``. If it is given, no other place is tried.
    fetch : callable, optional
        Called instead of ``sklearn.datasets.fetch_openml`` with the same keywords, for a mirror.

    Returns
    -------
    Dataset
        The data set; fields that it lacks are None.

    Raises
    ------
    DatasetNotFoundError
        If the name is unknown or no copy is available; the message says what to do.
    FileFormatError
        If a file does not have the checksum of the catalogue.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris
    Dataset('iris': X 150 x 4, 3 classes; from scikit-learn)
    >>> iris.target_names
    ('setosa', 'versicolor', 'virginica')
    """
    entry = find(name)
    if origin not in get_args(From):
        raise ValueError(f"origin must be one of {', '.join(map(repr, get_args(From)))}; got {origin!r}.")
    if folder is not None:
        if origin not in ("auto", "folder"):
            raise ValueError(
                f"folder={str(folder)!r} and origin={origin!r} exclude each other; pass one of the two."
            )
        origin = "folder"
    return _load(entry, origin, folder, fetch)


def _load(
    entry: Entry, origin: From, folder: str | os.PathLike[str] | None, fetch: _openml.Fetch | None
) -> Dataset:
    tried: list[str] = []
    cause: Exception | None = None
    if origin in ("auto", "scikit-learn"):
        if entry.sklearn_copy is not None:
            return _make_dataset(entry, "scikit-learn", _from_sklearn(entry.sklearn_copy))
        if origin == "scikit-learn":
            tried.append("scikit-learn ships no copy of it")
    if origin in ("auto", "folder"):
        path, why_not = _find_folder(folder)
        if path is not None:
            holder = _find_in_folder(entry, path)
            if holder is not None:
                return _make_dataset(
                    entry, "folder", _select_part(entry, holder, _verified_files.read(holder, path))
                )
            why_not = f"{path} has no file {entry.files[0][0]}"
        tried.append(why_not)
    if origin in ("auto", "openml"):
        holder = _find_whole_entry(entry)
        if holder.openml_id is None:
            tried.append("its OpenML number is unknown")
        else:
            try:
                return _make_dataset(
                    entry, "openml", _select_part(entry, holder, _openml.read(holder, fetch))
                )
            except DatasetNotFoundError as error:
                cause = error.__cause__ if isinstance(error.__cause__, Exception) else None
                tried.append(str(error))
    raise DatasetNotFoundError(_explain_how_to_get(entry, tried)) from cause


def _find_whole_entry(entry: Entry) -> Entry:
    return entry if entry.parent is None else get_catalogue()[entry.parent]


def _find_in_folder(entry: Entry, path: Path) -> Entry | None:
    """Return the entry whose files the folder contains: this one, else its parent."""
    for holder in dict.fromkeys((entry, _find_whole_entry(entry))):
        if not (path / holder.files[0][0]).is_file():
            continue
        missing = [file for file, _ in holder.files if not (path / file).is_file()]
        if missing:
            raise DatasetNotFoundError(
                f"{path} has {holder.files[0][0]}, but not {', '.join(missing)}, which {holder.name!r} also "
                "needs. Add the missing file."
            )
        return holder
    return None


def _find_folder(folder: str | os.PathLike[str] | None) -> tuple[Path | None, str]:
    """Return the folder to read, or None and the reason."""
    given = os.environ.get(VARIABLE) if folder is None else os.fspath(folder)
    if not given:
        return None, f"{VARIABLE} is not set"
    path = Path(given).expanduser()
    if not path.is_dir():
        # A wrong path is an error to report, not a reason to use the network.
        where = f"{VARIABLE} is set to" if folder is None else "folder is"
        raise DatasetNotFoundError(
            f"{where} {given!r}, which is not a folder. Set it to the folder with the data files."
        )
    return path, ""


def _from_sklearn(copy: str) -> dict[str, Any]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{copy}")()
    return {
        "X": np.asarray(bunch.data, dtype=np.float64),
        "y": np.asarray(bunch.target, dtype=np.int64),
        "feature_names": tuple(map(str, bunch.feature_names)),
        "target_names": tuple(map(str, bunch.target_names)),
    }


def _select_part(entry: Entry, holder: Entry, fields: dict[str, Any]) -> dict[str, Any]:
    """Select the classes of `entry` from its parent data set."""
    if holder is entry:
        return fields
    use = np.isin(fields["y"].astype(np.str_), entry.keep)
    y = fields["y"][use]
    return {**fields, "X": fields["X"][use], "y": y, "target_names": _verified_files.get_class_names(y)}


def _make_dataset(entry: Entry, origin: Origin, fields: dict[str, Any]) -> Dataset:
    known = {field.name for field in dataclasses.fields(Dataset)}
    assert fields.keys() <= known, fields.keys() - known
    return Dataset(name=entry.name, origin=origin, citation=entry.citation, licence=entry.licence, **fields)


def _explain_how_to_get(entry: Entry, tried: list[str]) -> str:
    files = ", ".join(file for file, _ in entry.files)
    ways = [f"put {files} into a folder and set {VARIABLE} to it (or pass folder=)"]
    if "openml" in entry.origins:
        number = _find_whole_entry(entry).openml_id
        ways.append(
            f"connect to the network, so that scikit-learn can fetch https://www.openml.org/d/{number}"
        )
    if entry.sklearn_copy is not None:
        ways.append("use origin='scikit-learn'")
    return (
        f"the data set {entry.name!r} is not available: {'; '.join(tried)}. To get it, "
        f"{'; or '.join(ways)}. Its source is {entry.source}."
    )
