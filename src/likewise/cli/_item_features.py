"""Build the features of tagged items from columns of numbers, text, and embeddings from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.cli._data_tables import ColumnRoles, check_roles, make_table
from likewise.cli._raw_tables import read_raw
from likewise.exceptions import FileFormatError
from likewise.features import text_features
from likewise.features._features import one_scale
from likewise.tables import RawTable, get_texts, is_wordy

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FeatureOptions:
    """The sources of features, as given by the options.

    Attributes
    ----------
    id : str or None
        The column of ids.
    columns : tuple of str or None
        Columns of numbers; None if none were given.
    files : tuple of str
        Files of embeddings, one row for each row of the table.
    text : tuple of str
        Columns of text, which are concatenated.
    drop : tuple of str
        Columns to leave out.
    labels : tuple of str
        Columns of labels.
    components : int
        The number of features to compute from the text.
    """

    id: str | None = None
    columns: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    components: int = 100

    @classmethod
    def from_options(cls, features: tuple[str, ...] | None, **others: Any) -> FeatureOptions:
        """Split the values of ``--features`` into files and columns by their file extension."""
        named = features or ()
        files = tuple(name for name in named if name.lower().endswith(".npy"))
        columns = tuple(name for name in named if name not in files)
        return cls(columns=columns or None, files=files, **others)


@dataclass(frozen=True, eq=False)
class Items:
    """The features of the items.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The features.
    descriptions : tuple of str
        A description of each source of features.
    notes : tuple of str
        Notes for the user.
    """

    X: FloatArray
    descriptions: tuple[str, ...]
    notes: tuple[str, ...] = ()


def build_items(raw: RawTable, options: FeatureOptions, *, seed: int) -> Items:
    """Return the features of the rows of a table."""
    several = (
        ("--label-columns", options.labels),
        ("--text", options.text),
        ("--drop", options.drop),
        ("--features", options.columns or ()),
    )
    roles = ((option, name) for option, names in several for name in names)
    check_roles(raw, [("--id", options.id), *roles])
    blocks: list[FloatArray] = []
    descriptions: list[str] = []
    notes: list[str] = []
    others = {options.id, *options.text, *options.drop, *options.labels, *(options.columns or ())}
    left = [name for name in raw.names if name not in others]
    # With text or embeddings, a column of numbers is a feature only if it is given explicitly.
    alone = options.columns is None and not options.files and not options.text
    if options.columns or (alone and left):
        block = _read_numeric_columns(raw, options, left)
        blocks.append(block)
        descriptions.append(f"{block.shape[1]} column(s) of numbers")
    for path in options.files:
        blocks.append(_read_embeddings(path, raw))
        descriptions.append(f"{blocks[-1].shape[1]} numbers per row from {path}")
    if options.text:
        found = _vectorize_text(raw, options, seed)
        blocks.append(found.X)
        descriptions += found.descriptions
        notes += found.notes
    if not blocks:
        raise FileFormatError(
            f"{raw.path} has no column left to learn from. Give a text column with --text, or a .npy file "
            "with --features."
        )
    if left and not alone:
        shown = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
        notes.append(f"not used: {shown}. Give columns of numbers with --features, text with --text.")
    return Items(np.hstack(blocks), tuple(descriptions), tuple(notes))


def _read_numeric_columns(raw: RawTable, options: FeatureOptions, left: list[str]) -> FloatArray:
    """Return the given columns of numbers, or all columns without another role."""
    names = options.columns or tuple(left)
    wordy = next((name for name in names if is_wordy(raw, name)), None)
    try:
        return make_table(raw, ColumnRoles(id=options.id, features=names)).X
    except FileFormatError as error:
        if wordy is None:
            raise
        raise FileFormatError(f"{error} If it is text to learn from, pass --text '{wordy}'.") from error


def _read_embeddings(path: str, raw: RawTable) -> FloatArray:
    found = read_raw(path)
    X = np.column_stack(found.columns).astype(np.float64)
    if len(X) != raw.n_rows:
        raise FileFormatError(
            f"{path}: expected one row for each of the {raw.n_rows} rows of {raw.path}, in the same order; "
            f"got {len(X)}."
        )
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        raise FileFormatError(
            f"{path}, row {row}, column {column} (counted from 0): expected a finite number; got "
            f"{X[row, column]}."
        )
    return one_scale(X).astype(np.float64, copy=False)


def _vectorize_text(raw: RawTable, options: FeatureOptions, seed: int) -> Items:
    """Return features computed from the text columns."""
    cells = [get_texts(raw, name) for name in options.text]
    texts = [" ".join(cell for cell in row if cell) for row in zip(*cells, strict=True)]
    named = " and ".join(map(repr, options.text))
    try:
        found = text_features(texts, n_features=options.components, named=named, random_state=seed)
    except FileFormatError as error:
        raise FileFormatError(f"{raw.path}: {error}") from error
    return Items(found.X.astype(np.float64, copy=False), (found.description,), found.notes)
