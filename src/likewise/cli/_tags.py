"""The input of ``likewise hierarchy``: tags in one of three layouts, features, known trees and edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_count
from likewise.cli._items import check_embeddings_name, read_embeddings
from likewise.cli._options import find_closest
from likewise.exceptions import FileFormatError, UnknownFormatError
from likewise.features import Step, one_scale, text_features
from likewise.hierarchy import LabelHierarchy, PartialHierarchy, read_hierarchy
from likewise.supervision import RowIds
from likewise.tables import Column, ColumnRoles, RawTable, check_roles, get_ids, make_table, read_columns

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TREES = (".json", ".csv", ".nwk", ".newick", ".graphml")
LAYOUTS = (
    "Expected one of three layouts: an id and a column of 0 and 1 for each label; an id and a label, one tag "
    "per line; or an id and all its labels, separated by ';'."
)
_SHOWN = 5  # maximum number of ids or labels in one message
_YES, _NOT = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}
_OTHER_SEPARATORS = (";", "|", ",", "/")


@dataclass(frozen=True, eq=False)
class Tags:
    """The recorded labels of the rows."""

    Y: npt.NDArray[np.uint8]  # of shape (n_rows, n_labels); 1 if the label is recorded for the row
    names: tuple[str, ...]  # the labels that occur
    layout: str  # the detected layout of the table
    unused: tuple[str, ...] = ()  # labels that no row has; `Y` has no column for them
    notes: tuple[str, ...] = ()

    @property
    def n_tags(self) -> int:
        """The number of tags."""
        return int(self.Y.sum(dtype=np.int64))

    @property
    def n_bare(self) -> int:
        """The number of rows without tags."""
        return int((~self.Y.any(axis=1)).sum())


@dataclass(frozen=True)
class LabelTable:
    """A minimal table with named columns, as multi-label estimators accept it."""

    values: npt.NDArray[np.uint8] = field(repr=False)
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype)

    def to_numpy(self) -> npt.NDArray[np.uint8]:
        """Return the cells."""
        return self.values


# ---------------------------------------------------------------------- from columns of DATA


def read_tag_columns(raw: RawTable, names: tuple[str, ...]) -> Tags:
    """Read the columns of 0 and 1 that are given with ``--label-columns``."""
    check_roles([("--label-columns", name) for name in names], raw.names, raw.path)
    indicators = _read_indicators(raw, names)
    if isinstance(indicators, _NonBinaryCell):
        raise FileFormatError(
            f"{raw.place(indicators.row)}: expected 0 or 1 in the label column {indicators.name!r}; got "
            f"{indicators.cell!r}."
        )
    return _make_tags(indicators, names, "columns of 0 and 1")


# ---------------------------------------------------------------------- from a separate table


def find_shared_id(data: RawTable, tags: RawTable, dropped: Sequence[str] = ()) -> str | None:
    """Return the name of the first column of the tags if DATA has it too, with unique cells.

    It is an error, instead of numbering rows, if another column of DATA holds the ids of the tags. `dropped`
    are columns of DATA that are left out and therefore do not hold ids.
    """
    first, named = tags.names[0], set(map(str, tags.columns[0]))
    if first in data.names:
        try:
            get_ids(data, first)
        except FileFormatError:
            return None
        return first
    if named <= _YES | _NOT:
        return None  # a label, not ids
    for name, column in zip(data.names, data.columns, strict=True):
        cells = list(map(str, column))
        if name not in dropped and len(set(cells)) == len(cells) and named <= set(cells):
            raise FileFormatError(
                f"all ids in the column {first!r} of {tags.path} occur in the column {name!r} of "
                f"{data.path}. If these are the ids, pass --id {name}; if the tags refer to row numbers, "
                f"pass --drop {name}."
            )
    return None


def read_tag_table(raw: RawTable, ids: RowIds, *, id_column: str | None, separator: str, data: str) -> Tags:
    """Read a table of tags for the rows with these ids.

    `id_column` is the column of ids in DATA, None if rows are numbered; `separator` stands between the labels
    within a cell; `data` is the name of DATA in messages. See `LAYOUTS`.
    """
    if id_column not in raw.names and raw.n_rows == len(ids):
        every = _read_indicators(raw, raw.names)
        if not isinstance(every, _NonBinaryCell):
            return _make_tags(
                every, raw.names, f"a column of 0 and 1 for each label, rows in the order of {data}"
            )
    key = id_column if id_column in raw.names else raw.names[0]
    if key in ids and key != id_column:
        raise FileFormatError(
            f"{raw.path}: the first line begins with {key!r}, which is the id of a row, so the header seems "
            "to be missing. Begin the file with a line such as id,label."
        )
    rest = tuple(name for name in raw.names if name != key)
    if not rest:
        raise FileFormatError(f"{raw.path} has one column, {key!r}. {LAYOUTS}")
    rows = _match_rows(raw, key, ids, id_column, data)
    indicators = _read_indicators(raw, rest)
    repeated = len(set(rows.tolist())) < len(rows)
    if len(rest) == 1 and (isinstance(indicators, _NonBinaryCell) or repeated):
        return _read_label_lists(raw, rows, key, rest[0], len(ids), separator)
    if isinstance(indicators, _NonBinaryCell):
        raise FileFormatError(
            f"{raw.place(indicators.row)}: the column {indicators.name!r} contains {indicators.cell!r} "
            f"instead of 0 or 1, and there are {len(rest)} columns beside the ids. {LAYOUTS}"
        )
    if repeated:
        again = int(np.setdiff1d(np.arange(len(rows)), np.unique(rows, return_index=True)[1])[0])
        raise FileFormatError(
            f"{raw.place(again)}: the id {ids[int(rows[again])]!r} occurs twice; a table of 0 and 1 has one "
            "line per row."
        )
    Y = np.zeros((len(ids), len(rest)), dtype=np.uint8)
    Y[rows] = indicators
    return _make_tags(
        Y, rest, f"a column of 0 and 1 for each label, ids in {key!r}", *_format_unlisted(rows, ids)
    )


def _match_rows(raw: RawTable, key: str, ids: RowIds, id_column: str | None, data: str) -> IntArray:
    """Return the row of each line of the tags; raise an error if DATA lacks an id."""
    cells = raw.get_texts(key)
    for k, cell in enumerate(cells):
        if cell is None:
            raise FileFormatError(f"{raw.place(k)}: the id (column {key!r}) is empty.")
    rows = np.array([ids.row_of.get(str(cell), -1) for cell in cells], dtype=np.int64)
    lost = np.flatnonzero(rows < 0)
    if not lost.size:
        return rows
    unknown = list(dict.fromkeys(str(cells[k]) for k in lost.tolist()))
    where = (
        f"the column {id_column!r} of {data}" if id_column else f"{data}, whose rows are numbered 0, 1, 2, …"
    )
    tip = "" if id_column else " If one of its columns holds the ids, pass it as --id."
    raise FileFormatError(
        f"{raw.place(int(lost[0]))}: {ids.unknown_id(unknown[0])}\n{len(unknown)} of the {len(set(cells))} "
        f"ids in {raw.path} are not in {where}: {_format_names(unknown)}.{tip} Remove their "
        "lines, or add the rows."
    )


def _read_label_lists(
    raw: RawTable, rows: IntArray, key: str, column: str, n_rows: int, separator: str
) -> Tags:
    """Read a column with one or several labels per cell."""
    cells = [cell or "" for cell in raw.get_texts(column)]
    labels_of_rows = [[label for part in cell.split(separator) if (label := part.strip())] for cell in cells]
    names = sorted({label for labels in labels_of_rows for label in labels})
    if not names:
        raise FileFormatError(f"{raw.path}: every cell of the column {column!r} is empty; expected tags.")
    at = {name: k for k, name in enumerate(names)}
    Y = np.zeros((n_rows, len(names)), dtype=np.uint8)
    for row, labels in zip(rows.tolist(), labels_of_rows, strict=True):
        Y[row, [at[label] for label in labels]] = 1
    several = any(separator in cell for cell in cells)
    how = f"labels separated by {separator!r} in {column!r}" if several else f"one tag per line in {column!r}"
    notes = [] if several else _suggest_separator(cells, separator)
    unlisted = _format_unlisted(rows, range(n_rows)) if several else []
    return _make_tags(Y, tuple(names), f"{how}, ids in {key!r}", *notes, *unlisted)


def _suggest_separator(cells: list[str], separator: str) -> list[str]:
    """Return a note if many cells look like lists with another separator."""
    for other in _OTHER_SEPARATORS:
        count = sum(other in cell for cell in cells)
        if other != separator and (2 if other in ",/" else 5) * count > len(cells):
            return [
                f"{count} of {len(cells)} tags contain {other!r}. If it separates labels, pass "
                f"--separator '{other}'."
            ]
    return []


def _format_unlisted(rows: IntArray, ids: Iterable[Any]) -> list[str]:
    count = len(list(ids)) - len(set(rows.tolist()))
    return [f"{count} row(s) are not in the table of tags and count as rows without tags."] if count else []


def _make_tags(Y: npt.NDArray[np.uint8], names: tuple[str, ...], layout: str, *notes: str) -> Tags:
    used = np.flatnonzero(Y.sum(axis=0, dtype=np.int64)).tolist()
    if not used:
        raise FileFormatError("no row has a label; there is nothing to learn from.")
    kept = tuple(names[k] for k in used)
    unused = tuple(name for name in names if name not in set(kept))
    if unused:
        notes += (f"{len(unused)} label(s) are never used and are left out: {_format_names(unused)}.",)
    return Tags(np.ascontiguousarray(Y[:, used]), kept, layout, unused, notes)


# ---------------------------------------------------------------------- cells


@dataclass(frozen=True)
class _NonBinaryCell:
    """The first cell of some columns that is neither 0 nor 1."""

    name: str
    row: int
    cell: Any


def _read_indicators(raw: RawTable, names: tuple[str, ...]) -> npt.NDArray[np.uint8] | _NonBinaryCell:
    """Return columns as 0 and 1; an empty cell is 0, since 0, too, only means "not recorded"."""
    indicators = np.zeros((raw.n_rows, len(names)), dtype=np.uint8)
    for k, name in enumerate(names):
        column = raw.get_column(name)
        bad = _fill(column, indicators[:, k])
        if bad is not None:
            return _NonBinaryCell(name, bad, column[bad])
    return indicators


def _fill(column: Column, indicators: npt.NDArray[np.uint8]) -> int | None:
    """Set `indicators` to 1 for cells that are 1; return the first row whose cell is neither 0 nor 1."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        numbers = np.nan_to_num(column.astype(np.float64))
        indicators[:] = numbers == 1
        bad = np.flatnonzero((numbers != 0) & (numbers != 1))
        return int(bad[0]) if bad.size else None
    for row, cell in enumerate(column):
        word = "" if cell is None else str(cell).strip().lower()
        if word in _YES:
            indicators[row] = 1
        elif word not in _NOT:
            return row
    return None


# ---------------------------------------------------------------------- features of items


@dataclass(frozen=True, eq=False)
class Items:
    """The features of the items, a description of each source of features, and notes for the user."""

    X: FloatArray
    descriptions: tuple[str, ...]
    notes: tuple[str, ...] = ()


def build_items(
    raw: RawTable,
    *,
    features: Sequence[str] | None = None,
    embeddings: str | None = None,
    id: str | None = None,
    text: Sequence[str] = (),
    drop: Sequence[str] = (),
    labels: Sequence[str] = (),
    components: int = 100,
    method: str = "auto",
    cache: Path | None = None,
    progress: Step | None = None,
    seed: int,
) -> Items:
    """Return the features of the rows of a table.

    `features` are columns of numbers, and ``.npy`` files with one row for each row of the table; so is the
    file `embeddings`, which may be a Parquet file. The columns of `text` are concatenated and become
    `components` features; `method`, `cache` and `progress` are those of
    :func:`likewise.features.text_features`. A row without text has zeros.
    """
    if embeddings is not None:
        check_embeddings_name(embeddings, "--embeddings")
    files = [name for name in features or () if name.lower().endswith(".npy")]
    columns = [name for name in features or () if name not in files]
    several = (("--label-columns", labels), ("--text", text), ("--drop", drop), ("--features", columns))
    roles = ((option, name) for option, names in several for name in names)
    check_roles([("--id", id), *roles], raw.names, raw.path)
    blocks: list[FloatArray] = []
    descriptions: list[str] = []
    notes: list[str] = []
    left = [name for name in raw.names if name not in {id, *text, *drop, *labels, *columns}]
    # With text or embeddings, a column of numbers is a feature only if it is given explicitly.
    alone = not features and not text and embeddings is None
    if columns or (alone and left):
        blocks.append(_read_numeric_columns(raw, id, tuple(columns or left)))
        descriptions.append(f"{blocks[-1].shape[1]} column(s) of numbers")
    for path in files:
        blocks.append(_read_embeddings(path, raw))
        descriptions.append(f"{blocks[-1].shape[1]} numbers per row from {path}")
    if embeddings is not None:
        given = read_embeddings(embeddings, n_rows=raw.n_rows, of=f"rows in {raw.path}")
        blocks.append(given.X.astype(np.float64, copy=False))
        descriptions.append(given.description)
    if text:
        rows = zip(*(raw.get_texts(name) for name in text), strict=True)
        texts = [" ".join(cell for cell in row if cell) for row in rows]
        named = " and ".join(map(repr, text))
        full = [row for row, each in enumerate(texts) if each.strip()]
        try:
            found = text_features(
                [texts[row] for row in full],
                n_features=components,
                method=method,
                named=named,
                cache=cache,
                progress=progress,
                random_state=seed,
            )
        except FileFormatError as error:
            raise FileFormatError(f"{raw.path}: {error}") from error
        block = np.zeros((raw.n_rows, found.X.shape[1]))
        block[full] = found.X
        blocks.append(block)
        descriptions.append(found.description)
        notes += found.notes
        if n_empty := raw.n_rows - len(full):
            are = "has" if n_empty == 1 else "have"
            notes.append(f"{format_count(n_empty, 'row')} {are} no text in {named}.")
    if not blocks:
        raise FileFormatError(
            f"{raw.path} has no column left to learn from. Give a text column with --text, or a file of "
            "numbers with --embeddings."
        )
    if left and not alone:
        shown = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
        notes.append(f"not used: {shown}. Give columns of numbers with --features, text with --text.")
    return Items(np.hstack(blocks), tuple(descriptions), tuple(notes))


def _read_numeric_columns(raw: RawTable, id_column: str | None, names: tuple[str, ...]) -> FloatArray:
    wordy = next((name for name in names if raw.is_wordy(name)), None)
    try:
        return make_table(raw, ColumnRoles(id=id_column, features=names)).X
    except FileFormatError as error:
        if wordy is None:
            raise
        raise FileFormatError(f"{error} If it is text to learn from, pass --text '{wordy}'.") from error


def _read_embeddings(path: str, raw: RawTable) -> FloatArray:
    found = read_columns(path)
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


# ---------------------------------------------------------------------- known trees and edges


def read_tree(path: str, tags: Tags, option: str) -> tuple[LabelHierarchy, list[str]]:
    """Read a tree that contains all labels of the tags; return it with notes on unused labels."""
    try:
        tree = read_hierarchy(path)
    except UnknownFormatError as error:
        raise FileFormatError(
            f"{option}: expected a file that ends with {', '.join(TREES)}; got {path!r}."
        ) from error
    lost = [name for name in tags.names if name not in tree.names]
    if lost:
        raise FileFormatError(
            f"{path}: {len(lost)} of the {len(tags.names)} labels of the tags are not in it: "
            f"{_format_names(lost)}.{_suggest_name(lost[0], tree.names)} Add them; a label without a parent "
            "belongs to the root."
        )
    extra = [name for name in tree.names if name not in tags.names]
    notes = [f"{len(extra)} label(s) of {path} are never used and are left out: {_format_names(extra)}."]
    return tree.restrict(tags.names), notes * bool(extra)


def read_known(
    fixed: str | None, forbidden: str | None, tags: Tags, encoding: str
) -> tuple[PartialHierarchy | None, list[str]]:
    """Read edges that the tree must have and edges that it must not have."""
    if fixed is None and forbidden is None:
        return None, []
    root = "root"
    while root in tags.names:
        root = f"({root})"
    notes: list[str] = []
    edges = [
        () if path is None else _read_edges(path, tags, root, encoding, notes.append)
        for path in (fixed, forbidden)
    ]
    return PartialHierarchy(fixed=edges[0], forbidden=edges[1], root=root), notes


def _read_edges(
    path: str, tags: Tags, root: str, encoding: str, note: Callable[[str], None]
) -> tuple[tuple[str, str], ...]:
    """Read a table of parents and children; an empty parent or "root" is the root."""
    raw = read_columns(path, encoding=encoding)
    if missing := [name for name in ("parent", "child") if name not in raw.names]:
        raise FileFormatError(
            f"{path}: there is no column {' and none '.join(map(repr, missing))}. The first line must be "
            "parent,child."
        )
    edges: list[tuple[str, str]] = []
    idle = 0
    for row, (parent, child) in enumerate(zip(raw.get_texts("parent"), raw.get_texts("child"), strict=True)):
        if child is None:
            raise FileFormatError(f"{raw.place(row)}: expected a label as the child; the cell is empty.")
        if child == root:
            raise FileFormatError(f"{raw.place(row)}: the child is the root, which has no parent.")
        above = root if parent is None or (parent == "root" and "root" not in tags.names) else parent
        labels = [label for label in (above, child) if label != root]
        for label in labels:
            if label not in tags.names and label not in tags.unused:
                tip = _suggest_name(label, tags.names)
                raise FileFormatError(f"{raw.place(row)}: no tag is {label!r}.{tip}")
        if all(label in tags.names for label in labels):
            edges.append((above, child))
        else:
            idle += 1
    if idle:
        note(f"{idle} edge(s) of {Path(path)} with labels that are never used are left out.")
    return tuple(edges)


def _suggest_name(name: str, names: tuple[str, ...]) -> str:
    close = find_closest(name, names)
    return f" Did you mean {close!r}?" if close else ""


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
