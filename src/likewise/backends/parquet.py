"""Parquet files, local or behind a URL: their metadata, and their rows in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise._optional import require
from likewise.exceptions import FileFormatError

_NUMBERS = ("float", "double", "halffloat", "int", "uint", "bool")
_BATCH_ROWS = 2**16


@dataclass(frozen=True)
class Footer:
    """The metadata of a Parquet file.

    Attributes
    ----------
    file : str
        The path or the URL.
    groups : tuple of int
        The number of rows in each row group.
    types : dict of str to str
        The type of each column.
    """

    file: str
    groups: tuple[int, ...]
    types: dict[str, str]

    @property
    def n_rows(self) -> int:
        """The number of rows in the file."""
        return sum(self.groups)


def is_url(path: Any) -> bool:
    """Return True for a URL: ``s3://…``, ``memory://…``, ``file://…``."""
    return isinstance(path, str) and "://" in path


def list_files(path: Any) -> list[str]:
    """Return the file, or the files of a folder whose names end in ``.parquet``, sorted."""
    if is_url(path):
        files, inside = _find_file_system(path)
        found = [inside]
        if files.isdir(inside):
            found = sorted(name for name in files.find(inside) if name.endswith(".parquet"))
        named = [files.unstrip_protocol(name) for name in found]
    else:
        folder = Path(path)
        named = [str(file) for file in (sorted(folder.rglob("*.parquet")) if folder.is_dir() else [folder])]
    if not named:
        raise FileNotFoundError(f"{path} is a folder without .parquet files.")
    return named


def _find_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    core = require("fsspec.core", extra="scale")
    try:
        files, inside = core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # unknown protocol, or its package is missing
        raise ValueError(f"{url} cannot be opened: {error}") from error
    return files, inside


@contextmanager
def open_file(file: str) -> Iterator[Any]:
    """Open a local or remote file for pyarrow."""
    parquet = require("pyarrow.parquet", extra="scale")
    if not is_url(file):
        if not Path(file).is_file():
            raise FileNotFoundError(f"{file} does not exist or is not a file.")
        with _read_as_parquet(file):
            found = parquet.ParquetFile(file, memory_map=True, pre_buffer=False)
        with found:
            yield found
        return
    files, inside = _find_file_system(file)
    try:
        source = files.open(inside, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"{file} does not exist or is not a file.") from None
    with source:
        with _read_as_parquet(file):
            found = parquet.ParquetFile(source)
        with found:
            yield found


@contextmanager
def _read_as_parquet(file: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these two
        raise ValueError(f"{file} cannot be read as Parquet: {error}") from error


def read_footer(file: str) -> Footer:
    """Read the metadata of a file."""
    with open_file(file) as found:
        meta = found.metadata
        groups = tuple(meta.row_group(g).num_rows for g in range(meta.num_row_groups))
        return Footer(file, groups, {field.name: str(field.type) for field in found.schema_arrow})


def choose_columns(
    footers: Sequence[Footer], columns: Sequence[str] | None
) -> tuple[tuple[str, ...], np.dtype]:
    """Return the columns to use and their common dtype; raise an error if a file lacks a column.

    The rows are float32 if every column of every file is, else float64.
    """
    names = list(footers[0].types) if columns is None else list(columns)
    if isinstance(columns, str) or not names or len(set(names)) < len(names):
        raise ValueError(f"columns must be unique names, at least one; got {columns!r}.")
    for one in footers:
        check_columns(one, names)
        wrong = [
            f"{name!r} ({one.types[name]})" for name in names if not one.types[name].startswith(_NUMBERS)
        ]
        if wrong:
            raise FileFormatError(
                f"{one.file}: {', '.join(wrong)} cannot be used as numbers.",
                "Name the columns to use: columns=[…].",
                parameter="columns",
            )
    single = all(one.types[name] == "float" for one in footers for name in names)
    return tuple(names), np.dtype(np.float32 if single else np.float64)


def check_columns(one: Footer, names: Sequence[str]) -> None:
    """Raise an error for columns that a file lacks."""
    if missing := [name for name in names if name not in one.types]:
        raise ValueError(f"{one.file} has no column {missing[0]!r}. Its columns are {', '.join(one.types)}.")


def iterate_batches(
    one: Footer, columns: Sequence[str], most: int, start: int = 0, stop: int | None = None
) -> Iterator[Any]:
    """Yield the rows from `start` to `stop` of a file as record batches of at most `most` rows.

    Only the row groups that contain these rows are read. It is an error if the number of rows has changed
    since the metadata was read.
    """
    stop = one.n_rows if stop is None else stop
    edges = np.cumsum([0, *one.groups])
    groups = [g for g in range(len(one.groups)) if edges[g] < stop and edges[g + 1] > start]
    if not groups:
        return
    at = int(edges[groups[0]])
    with open_file(one.file) as found:
        if found.metadata.num_rows != one.n_rows:
            raise OSError(
                f"{one.file} had {one.n_rows:,} rows when it was opened and now has "
                f"{found.metadata.num_rows:,}"
            )
        read = found.iter_batches(most, row_groups=groups, columns=list(columns), use_threads=False)
        while True:
            with _read_as_parquet(one.file):
                batch = next(read, None)
            if batch is None:
                return
            first, last = max(start - at, 0), min(stop - at, batch.num_rows)
            at += batch.num_rows
            if first < last:
                yield batch.slice(first, last - first)
            if at >= stop:
                return


def convert_batch(batch: Any, columns: Sequence[str], dtype: np.dtype) -> np.ndarray:
    """Return a record batch of numbers as an array in C order; missing values become NaN."""
    rows = np.empty((batch.num_rows, len(columns)), dtype=dtype)
    for j, name in enumerate(columns):
        column = batch.column(name)
        if str(column.type) == "bool":
            column = column.cast("uint8")
        rows[:, j] = column.to_numpy(zero_copy_only=False)
    return rows


# ---------------------------------------------------------------------- ids


@dataclass(frozen=True)
class FoundIds:
    """The rows in which ids were found. Results of different rows are combined with ``+``."""

    rows: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: FoundIds) -> FoundIds:
        return FoundIds(self.rows + other.rows)

    def find_rows(self, names: Sequence[str], where: str) -> np.ndarray:
        """Return the row of each id; raise an error for an id that no row or several rows have."""
        at: dict[str, int] = {}
        for name, row in self.rows:
            if at.setdefault(name, row) != row:
                raise ValueError(
                    f"rows {at[name]} and {row} of {where} both have the id {name!r}; an id in a hint "
                    "must be unique."
                )
        if missing := [name for name in names if name not in at]:
            more = f" {len(missing) - 1} other id(s) are missing too." if len(missing) > 1 else ""
            raise ValueError(f"{where}: no row has the id {missing[0]!r}.{more}")
        return np.array([at[name] for name in names], dtype=np.int64)


def find_ids(parts: Iterable[Any], names: Sequence[str], first_row: int = 0) -> FoundIds:
    """Look up ids in consecutive parts of a column; only the matching ids are kept in memory."""
    pyarrow, compute = (require(name, extra="scale") for name in ("pyarrow", "pyarrow.compute"))
    wanted = pyarrow.array(list(names), type=pyarrow.string())
    found: list[tuple[str, int]] = []
    for cells in parts:
        texts = as_texts(cells)
        here = np.flatnonzero(compute.is_in(texts, value_set=wanted).to_numpy(zero_copy_only=False))
        found += zip(texts.take(here).to_pylist(), (first_row + here).tolist(), strict=True)
        first_row += len(cells)
    return FoundIds(tuple(found))


def as_texts(cells: Any) -> Any:
    """Return the cells of a column of ids as strings; raise an error for floating-point numbers."""
    kind = str(cells.type)
    if kind.startswith("dictionary"):
        cells = cells.dictionary_decode()
        kind = str(cells.type)
    if not kind.startswith(("string", "large_string", "string_view", "int", "uint")):
        raise ValueError(f"ids must be strings or integers; got a column of {kind}.")
    return cells.cast("string")


def iterate_ids(
    one: Footer, column: str, most: int, start: int = 0, stop: int | None = None
) -> Iterator[Any]:
    """Yield the cells of a column of ids as strings, in batches."""
    for batch in iterate_batches(one, [column], most, start, stop):
        try:
            yield as_texts(batch.column(column))
        except ValueError as error:
            raise ValueError(f"{one.file}, column {column!r}: {error}") from None


def find_rows_by_id(footers: Sequence[Footer], column: str, names: Sequence[str]) -> FoundIds:
    """Look up ids in a column of files in one pass."""
    for one in footers:
        check_columns(one, [column])
    return find_ids((cells for one in footers for cells in iterate_ids(one, column, _BATCH_ROWS)), names)
