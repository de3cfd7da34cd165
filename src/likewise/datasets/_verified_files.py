"""Read the files of a data folder after verifying their checksums."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.datasets._dataset import Label
from likewise.datasets._entry import Entry
from likewise.exceptions import FileFormatError
from likewise.tables import Problems, decode, decompress, iterate_csv

_INTEGER = re.compile(r"-?\d+")


def read(entry: Entry, folder: Path) -> dict[str, Any]:
    """Read the files of an entry in `folder`; return fields of its Dataset."""
    content = {name: _verify(folder / name, digest) for name, digest in entry.files}
    first = entry.files[0][0]
    if first.endswith(".npz"):
        fields = _read_npz(content[first])
    else:
        rows = _read_csv(content, first)
        if entry.kind == "text":
            fields = _read_texts(rows)
        elif entry.kind == "bags":
            fields = _read_bags(rows, _read_csv(content, f"{entry.name}.bags.csv"))
        elif entry.kind == "multilabel":
            fields = _read_indicators(rows)
        else:
            fields = _read_table(rows)
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
    fields: dict[str, Any] = {}
    if "X" in arrays:
        fields["X"] = arrays["X"].astype(np.float64)
    else:
        fields["X"] = _make_sparse(arrays)
    if "y" in arrays:
        fields["y"] = arrays["y"].astype(np.int64)
    if "Y" in arrays:
        fields["Y"] = arrays["Y"]
        fields["label_names"] = tuple(map(str, arrays["labels"]))
    elif "labels" in arrays:
        fields["target_names"] = tuple(map(str, arrays["labels"]))
    if "class_names" in arrays:
        fields["target_names"] = tuple(map(str, arrays["class_names"]))
    if "feature_names" in arrays:
        fields["feature_names"] = tuple(map(str, arrays["feature_names"]))
    if "view" in arrays:
        fields["views"] = arrays["view"]
    if "split" in arrays:
        fields["split"] = arrays["split"]
    return fields


def _make_sparse(arrays: dict[str, npt.NDArray[Any]]) -> Any:
    from scipy import sparse

    # The file has 16-bit indices to save space; SciPy needs 32 bits.
    parts = (arrays["data"].astype(np.float64), arrays["indices"].astype(np.int32), arrays["indptr"])
    return sparse.csr_array(parts, shape=tuple(int(n) for n in arrays["shape"]))
