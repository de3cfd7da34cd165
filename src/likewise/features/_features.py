"""The result of the feature functions, and the steps that they share."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt

from likewise.exceptions import FileFormatError

FloatArray = npt.NDArray[np.floating[Any]]
Step = Callable[[int, int], None]  # called with the number done and the total
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Features:
    """Numeric features of texts, images, sounds or tables.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The features, all finite.
    description : str
        A description of the features for people.
    notes : tuple of str, default=()
        Further remarks, such as on columns that were not used.
    failed : mapping of int to str, optional
        The positions of the inputs that could not be read, and the reason for each. They have no row in `X`.
        Empty by default.

    Examples
    --------
    >>> from likewise.features import text_features
    >>> features = text_features(["a red car", "a fast red car", "two small cats", "a small cat"])
    >>> len(features.X), dict(features.failed)
    (4, {})
    """

    X: FloatArray
    description: str
    notes: tuple[str, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)


def one_scale(X: FloatArray) -> FloatArray:
    """Scale all columns by one factor to a mean variance of 1, which keeps their relative lengths.

    Without scaling, the components of text have variances well below 1 and a penalty on weights suppresses
    them: on 3,000 texts of clinc150 with 64 labels, F1 was 0.60 before scaling and 0.84 after.
    """
    spread = float(np.sqrt(X.var(axis=0, dtype=np.float64).mean()))
    return X / X.dtype.type(spread) if spread > 0 else X


def main_directions(X: FloatArray, most: int, *, keep: float = 0.99) -> tuple[FloatArray, float]:
    """Return the principal components of the rows, and the fraction of the variance that they explain.

    Enough components are kept to explain the fraction `keep` of the variance, but at most `most`. They are
    computed in float64 from the covariance, which is exact for a few hundred columns and any number of rows.
    The largest weight of each component is positive, so the order of the rows affects only rounding.
    """
    from sklearn.decomposition import PCA

    mean = X.mean(axis=0, dtype=np.float64)
    centred = X - mean  # in float64, and before PCA, whose covariance loses digits if the mean is large
    if np.vdot(centred, centred) <= 1e-12 * len(X) * max(1.0, float(np.square(mean).sum())):
        return np.zeros((len(X), 1), dtype=X.dtype), 1.0  # all rows are equal
    pca = PCA(keep, svd_solver="covariance_eigh").fit(centred)
    found = (centred @ pca.components_[:most].T).astype(X.dtype)
    return found, float(pca.explained_variance_ratio_[:most].sum())


def read_all(
    things: Sequence[T], read: Callable[[T], FloatArray], *, what: str, progress: Step | None
) -> tuple[FloatArray, dict[int, str]]:
    """Read each input into a row of float32; return the rows, and the reason for each input that failed.

    Decoders release the global interpreter lock, so a few threads help. `read` raises a ValueError for an
    input that it cannot read.
    """

    def try_reading(thing: T) -> FloatArray | ValueError:
        try:
            return read(thing).astype(np.float32, copy=False)
        except ValueError as error:
            return error

    rows: list[FloatArray] = []
    failed: dict[int, str] = {}
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for start in range(0, len(things), 256):  # `map` alone would submit all of them at once
            for place, found in enumerate(pool.map(try_reading, things[start : start + 256]), start):
                if isinstance(found, ValueError):
                    failed[place] = str(found)
                else:
                    rows.append(found)
                if progress is not None:
                    progress(place + 1, len(things))
    if not rows:
        why = f" The first: {next(iter(failed.values()))}" if failed else ""
        raise FileFormatError(f"none of the {len(things)} {what} can be read.{why}")
    return np.stack(rows), failed


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; raise a ValueError with the reason if that is not possible."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait forever
            raise ValueError("it is not a plain file.")
        return open(path, "rb")
    except OSError as error:
        raise ValueError(f"it cannot be opened ({error.strerror}).") from error
