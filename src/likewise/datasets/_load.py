"""Load a data set: from scikit-learn's copy, a folder of files or OpenML, in this order."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from likewise.datasets._catalogue import Entry, Origin, find, get_catalogue
from likewise.exceptions import DatasetNotFoundError, FileFormatError, SupervisionError
from likewise.tables import Problems, decode, decompress, iterate_csv

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike
    from likewise.supervision import Supervision

VARIABLE = "LIKEWISE_DATA"
From = Literal["auto", "scikit-learn", "folder", "openml"]
Fetch = Callable[..., Any]
Label = str | int
_INTEGER = re.compile(r"-?\d+")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Dataset:
    """A loaded data set: features, labels, and their source. Fields that a data set lacks are None.

    Parameters
    ----------
    name : str
        The name of the data set in the catalogue.
    origin : {"scikit-learn", "folder", "openml"}
        Where this copy was found.
    citation, licence : str
        What to cite, and the terms of use.
    X : ndarray of float64 or CSR array, of shape (n_samples, n_features), optional
        The features. NaN marks a value that is missing in the original.
    y : ndarray of shape (n_samples,), optional
        The class of each row, with the values that the source uses: integers if all of them are, else
        strings.
    feature_names, target_names : tuple of str, optional
        The names of the columns of `X` and of the classes; ``target_names[k]`` names the k-th smallest value
        of `y`.
    bags : ndarray of shape (n_samples,), optional
        The bag of each row.
    bag_labels : mapping of bag to tuple of labels, optional
        The labels of each bag, sorted.
    X_unlabelled : ndarray of shape (n_unlabelled, n_features), optional
        Further rows of these bags, whose class is unknown.
    bags_unlabelled : ndarray of shape (n_unlabelled,), optional
        The bag of each row of `X_unlabelled`.
    Y : ndarray of shape (n_samples, n_labels), optional
        Indicators of the labels, for data with several labels for each row.
    label_names : tuple of str, optional
        The names of the columns of `Y`.
    hierarchy : tuple of (parent, child), optional
        The edges of the tree of labels, whose root is ``"root"``. A row of `Y` with a label also has all
        ancestors of the label that have a column.
    texts : tuple of str, optional
        The texts, in the order of `y`.
    split : ndarray of str, of shape (n_samples,), optional
        The part of the published split that each row belongs to: "train", "test", "valid" or "trainval".
    views : ndarray of str, of shape (n_features,), optional
        The group of features that each column belongs to.
    ids : ndarray of str, of shape (n_samples,), optional
        The name of each row in the source.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> iris = load("iris")
    >>> iris
    Dataset('iris': X 150 x 4, 3 classes; from scikit-learn)
    >>> iris.X.shape, iris.y.shape
    ((150, 4), (150,))
    """

    name: str
    origin: Origin
    citation: str
    licence: str
    X: Any = None
    y: npt.NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    bags: npt.NDArray[np.int64] | None = None
    bag_labels: Mapping[int, tuple[Label, ...]] | None = None
    X_unlabelled: npt.NDArray[np.float64] | None = None
    bags_unlabelled: npt.NDArray[np.int64] | None = None
    Y: npt.NDArray[Any] | None = None
    label_names: tuple[str, ...] | None = None
    hierarchy: tuple[tuple[str, str], ...] | None = None
    texts: tuple[str, ...] | None = None
    split: npt.NDArray[np.str_] | None = None
    views: npt.NDArray[np.str_] | None = None
    ids: npt.NDArray[np.str_] | None = None

    def supervision(self, labelled: float = 1.0, *, random_state: RandomStateLike = None) -> Supervision:
        """Return the bags and their labels as hints.

        Parameters
        ----------
        labelled : float, default=1.0
            The fraction of the bags that keep their labels; see
            :func:`likewise.supervision.sample_bag_labels`.
        random_state : int, RandomState or None, default=None
            The seed for choosing these bags.

        Returns
        -------
        hints : Supervision
            Hints that contain only bags.

        Examples
        --------
        >>> data = Dataset(
        ...     name="birds", origin="folder", citation="", licence="", bags=np.array([1, 1, 2]),
        ...     bag_labels={1: ("wren", "owl"), 2: ("owl",)},
        ... )
        >>> data.supervision()
        Supervision(3 rows: 2 bag(s), 2 of them labelled)
        >>> data.supervision(labelled=0.5, random_state=0)
        Supervision(3 rows: 2 bag(s), 1 of them labelled)
        """
        from likewise.supervision import Supervision, sample_bag_labels

        if self.bags is None:
            raise SupervisionError(
                f"{self.name} has no bags, so it has no hints. Sample hints from its "
                "classes with likewise.supervision.sample_links(data.y, n), or sample_triplets."
            )
        hints = Supervision.from_bags(self.bags, self.bag_labels)
        return hints if labelled == 1 else sample_bag_labels(hints, labelled, random_state=random_state)

    def __repr__(self) -> str:
        parts = []
        if self.X is not None:
            parts.append(f"X {self.X.shape[0]} x {self.X.shape[1]}")
        if self.texts is not None:
            parts.append(f"{len(self.texts)} texts")
        if self.target_names is not None:
            parts.append(f"{len(self.target_names)} classes")
        if self.bag_labels is not None:
            parts.append(f"{len(self.bag_labels)} bags")
        if self.Y is not None:
            parts.append(f"Y {self.Y.shape[0]} x {self.Y.shape[1]}")
        return f"Dataset({self.name!r}: {', '.join(parts)}; from {self.origin})"


def load(
    name: str,
    *,
    origin: From = "auto",
    folder: str | os.PathLike[str] | None = None,
    fetch: Fetch | None = None,
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


def _load(entry: Entry, origin: From, folder: str | os.PathLike[str] | None, fetch: Fetch | None) -> Dataset:
    tried: list[str] = []
    cause: Exception | None = None
    if origin in ("auto", "scikit-learn"):
        if entry.sklearn_copy is not None:
            return _make_dataset(entry, "scikit-learn", _from_sklearn(entry.sklearn_copy))
        if origin == "scikit-learn":
            tried.append("scikit-learn ships no copy of it")
    if origin in ("auto", "folder"):
        path, why_not = _locate_folder(folder)
        if path is not None:
            holder = _find_in_folder(entry, path)
            if holder is not None:
                return _make_dataset(entry, "folder", _select_part(entry, holder, _read_folder(holder, path)))
            why_not = f"{path} has no file {entry.files[0][0]}"
        tried.append(why_not)
    if origin in ("auto", "openml"):
        holder = _find_whole_entry(entry)
        if holder.openml_id is None:
            tried.append("its OpenML number is unknown")
        else:
            try:
                return _make_dataset(
                    entry, "openml", _select_part(entry, holder, _read_openml(holder, fetch))
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


def _locate_folder(folder: str | os.PathLike[str] | None) -> tuple[Path | None, str]:
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
    return {**fields, "X": fields["X"][use], "y": y, "target_names": get_class_names(y)}


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


# ---------------------------------------------------------------------- files of a folder


def _read_folder(entry: Entry, folder: Path) -> dict[str, Any]:
    """Read the files of an entry in `folder`; return fields of its Dataset."""
    content = {name: _verify(folder / name, digest) for name, digest in entry.files}
    first = entry.files[0][0]
    if first.endswith(".npz"):
        fields = _read_npz(content[first])
    else:
        rows = _read_csv(content, first)
        if entry.kind == "bags":
            fields = _read_bags(rows, _read_csv(content, f"{entry.name}.bags.csv"))
        else:
            readers = {"text": _read_texts, "multilabel": _read_indicators, "labels": _read_table}
            fields = readers[entry.kind](rows)
    if f"{entry.name}.hierarchy.csv" in content:
        pairs = _read_csv(content, f"{entry.name}.hierarchy.csv")[1:]
        fields["hierarchy"] = tuple((parent, child) for parent, child in pairs)
    if f"{entry.name}_unlabelled.csv.gz" in content:
        more = _read_csv(content, f"{entry.name}_unlabelled.csv.gz")[1:]
        fields["X_unlabelled"] = _parse_numbers([row[1:] for row in more])
        fields["bags_unlabelled"] = np.array([int(row[0]) for row in more], dtype=np.int64)
    if "y" in fields:
        fields.setdefault("target_names", entry.class_names or get_class_names(fields["y"]))
    return fields


def _verify(path: Path, digest: str) -> bytes:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise FileFormatError(
            f"{path} is not the file in the catalogue: expected SHA-256 {digest}; got {found}. "
            "Copy the file again; if the data were changed on purpose, read them with NumPy instead of "
            "load()."
        )
    return content


def convert_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as integers if all of them are, else as strings.

    >>> convert_labels(["3", "8"])
    array([3, 8])
    >>> convert_labels(["3", "b"])
    array(['3', 'b'], dtype='<U1')
    """
    if all(_INTEGER.fullmatch(label) for label in labels):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return np.array(labels, dtype=np.str_)


def get_class_names(y: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the distinct values of `y`, sorted, as strings."""
    return tuple(str(value) for value in np.unique(y))


def _read_csv(content: dict[str, bytes], name: str) -> list[list[str]]:
    problems = Problems(name)
    text = decode(decompress(content[name], name), "utf-8", name)
    rows = [row for _, row in iterate_csv(text, problems)]
    problems.settle()
    return rows


def _parse_numbers(rows: list[list[str]]) -> npt.NDArray[np.float64]:
    return np.array(rows, dtype=np.str_).astype(np.float64)


def _read_table(table: list[list[str]]) -> dict[str, Any]:
    header, *rows = table
    return {
        "X": _parse_numbers([row[:-1] for row in rows]),
        "y": convert_labels([row[-1] for row in rows]),
        "feature_names": tuple(header[:-1]),
    }


def _read_texts(table: list[list[str]]) -> dict[str, Any]:
    rows = table[1:]
    return {
        "texts": tuple(row[0] for row in rows),
        "split": np.array([row[1] for row in rows], dtype=np.str_),
        "y": convert_labels([row[2] for row in rows]),
    }


def _read_bags(table: list[list[str]], bags: list[list[str]]) -> dict[str, Any]:
    header, *rows = table
    y = convert_labels([row[1] for row in rows])
    as_label = int if y.dtype.kind == "i" else str
    labels_of_bag: dict[int, tuple[Label, ...]] = {
        int(bag): tuple(as_label(label) for label in labels.split(";") if label) for bag, labels in bags[1:]
    }
    return {
        "X": _parse_numbers([row[2:] for row in rows]),
        "y": y,
        "feature_names": tuple(header[2:]),
        "bags": np.array([int(row[0]) for row in rows], dtype=np.int64),
        "bag_labels": labels_of_bag,
    }


def _read_indicators(table: list[list[str]]) -> dict[str, Any]:
    header, *rows = table
    return {
        "ids": np.array([row[0] for row in rows], dtype=np.str_),
        "split": np.array([row[1] for row in rows], dtype=np.str_),
        "Y": np.array([row[2:] for row in rows], dtype=np.str_).astype(np.int8),
        "label_names": tuple(header[2:]),
    }


def _read_npz(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    if "X" in arrays:
        fields: dict[str, Any] = {"X": arrays["X"].astype(np.float64)}
    else:
        from scipy import sparse

        # The file has 16-bit indices to save space; SciPy needs 32 bits.
        parts = (arrays["data"].astype(np.float64), arrays["indices"].astype(np.int32), arrays["indptr"])
        fields = {"X": sparse.csr_array(parts, shape=tuple(int(n) for n in arrays["shape"]))}
    if "y" in arrays:
        fields["y"] = arrays["y"].astype(np.int64)
    names = {
        "labels": "label_names" if "Y" in arrays else "target_names",
        "class_names": "target_names",
        "feature_names": "feature_names",
    }
    fields |= {field: tuple(map(str, arrays[key])) for key, field in names.items() if key in arrays}
    as_stored = {"Y": "Y", "view": "views", "split": "split"}
    return fields | {field: arrays[key] for key, field in as_stored.items() if key in arrays}


# ---------------------------------------------------------------------- OpenML


def _read_openml(entry: Entry, fetch: Fetch | None) -> dict[str, Any]:
    """Fetch an entry by its OpenML number; return fields of its Dataset."""
    if fetch is None:
        from sklearn import datasets

        fetch = datasets.fetch_openml
    try:
        # The default parser needs pandas, which is not a dependency.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about retries; the final error is enough
            bunch = fetch(data_id=entry.openml_id, as_frame=False, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFoundError(
            f"OpenML's data set {entry.openml_id} could not be fetched ({type(error).__name__}: {error})"
        ) from error
    X = np.asarray(bunch.data, dtype=np.float64)
    y = convert_labels([str(label) for label in bunch.target])
    names = np.array(list(map(str, bunch.feature_names)))
    rows, columns = _select_like_catalogue(entry.name, X, names)
    X, y, names = X[rows][:, columns], y[rows], names[columns]
    classes = get_class_names(y)
    # There are no checksums for data from OpenML, so the shape is checked.
    found, wanted = (*X.shape, len(classes)), (entry.n_rows, entry.n_columns, entry.n_classes)
    if found != wanted:
        raise DatasetNotFoundError(
            f"OpenML's data set {entry.openml_id} has (rows, columns, classes) = {found}, "
            f"but the catalogue has {wanted}"
        )
    return {"X": X, "y": y, "feature_names": tuple(names.tolist()), "target_names": classes}


def _select_like_catalogue(name: str, X: npt.NDArray[np.float64], names: npt.NDArray[np.str_]) -> Any:
    """Return the rows and columns of OpenML's copy that the catalogue has, where the two differ."""
    if name == "mnist_test":
        return slice(60_000, None), slice(None)
    if name == "wisconsin":
        return ~np.isnan(X).any(axis=1), slice(None)
    if name == "segment":
        return slice(None), np.ptp(X, axis=0) > 0
    if name == "vowel":
        return slice(None), ~np.isin(np.char.lower(names), ["train_or_test", "speaker_number", "sex"])
    return slice(None), slice(None)
