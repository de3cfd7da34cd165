"""What the functions of this room return, and the steps that they share."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt

from likewise.exceptions import FileFormatError

FloatArray = npt.NDArray[np.floating[Any]]
Step = Callable[[int, int], None]  # told how many of how many are done
T = TypeVar("T")
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Features:
    """Rows of numbers, and what they are.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The features, all finite.
    said : str
        What they are, in words.
    notes : tuple of str
        What else ought to be said.
    failed : mapping of int to str
        Which of the things given could not be read, by their place, and why. They have no row.
    """

    X: FloatArray
    said: str
    notes: tuple[str, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)


def one_scale(X: FloatArray) -> FloatArray:
    """Give a block mean variance 1 by one factor, so that its main directions stay the longest.

    Components of text are some tenths long, and a penalty on weights would hold them down: with it, on 3,000
    texts of clinc150 under 64 labels, F1 was 0.60 before and 0.84 after.
    """
    spread = float(np.sqrt(X.var(axis=0, dtype=np.float64).mean()))
    return X / X.dtype.type(spread) if spread > 0 else X


def main_directions(X: FloatArray, most: int, *, keep: float = 0.99) -> tuple[FloatArray, float]:
    """Return rows along their main directions, and the share of the variance that is left.

    So many directions as hold `keep` of the variance, and `most` at most. This is principal components by the
    eigenvectors of the covariance, summed over blocks of rows in float64: for some hundred columns and any
    number of rows, exact and without a copy of `X`. Signs are chosen by the largest weight, so that the order
    of the rows changes nothing but rounding.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    total = np.zeros((X.shape[1], X.shape[1]))
    blocks = [slice(start, start + 4096) for start in range(0, len(X), 4096)]
    for rows in blocks:
        centred = X[rows] - mean
        total += centred.T @ centred
    values, vectors = np.linalg.eigh(total)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    whole = float(values.sum())
    if whole <= 1e-12 * len(X) * max(1.0, float(np.square(mean).sum())):  # all rows are the same
        return np.zeros((len(X), 1), dtype=X.dtype), 1.0
    held = np.cumsum(values) / whole
    n = min(most, int(np.searchsorted(held, keep)) + 1, len(values))
    chosen = vectors[:, :n]
    largest = np.abs(chosen).argmax(axis=0)
    chosen = chosen * np.where(chosen[largest, np.arange(n)] < 0, -1.0, 1.0)
    out = np.empty((len(X), n), dtype=X.dtype)
    for rows in blocks:
        out[rows] = (X[rows] - mean) @ chosen
    return out, float(held[n - 1])


def each(
    things: Sequence[T], read: Callable[[T], FloatArray], *, what: str, progress: Step | None
) -> tuple[FloatArray, dict[int, str]]:
    """Read every thing into a row of float32; return the rows, and which could not be read and why.

    Decoders let go of the interpreter's lock, so a few threads help. `read` says what is wrong by a
    ValueError.
    """
    rows: list[FloatArray] = []
    failed: dict[int, str] = {}
    for place, found in enumerate(_read_in_turn(things, read)):
        if isinstance(found, ValueError):
            failed[place] = str(found)
        else:
            rows.append(found.astype(np.float32, copy=False))
        if progress is not None:
            progress(place + 1, len(things))
    if not rows:
        why = f" The first: {next(iter(failed.values()))}" if failed else ""
        raise FileFormatError(f"none of the {len(things)} {what} can be read.{why}")
    return np.stack(rows), failed


def _read_in_turn(things: Sequence[T], read: Callable[[T], FloatArray]) -> Iterator[FloatArray | ValueError]:
    def tried(thing: T) -> FloatArray | ValueError:
        try:
            return read(thing)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for start in range(0, len(things), 256):  # `map` alone would start on all of them at once
            yield from pool.map(tried, things[start : start + 256])


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a plain file for reading; a ValueError says why it cannot be."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would be to wait for ever
            raise ValueError("it is not a plain file.")
        return open(path, "rb")
    except OSError as error:
        raise ValueError(f"it cannot be opened ({error.strerror}).") from error


def some(names: Sequence[str]) -> str:
    """Name a few, and say how many more there are.

    >>> some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
