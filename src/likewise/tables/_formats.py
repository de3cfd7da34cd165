"""Formats of tables: encodings, problems, reading rows with their numbers, writing columns."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from likewise._optional import require
from likewise.exceptions import FileFormatError, UnknownFormatError

WRITTEN = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
SUFFIXES = {**WRITTEN, ".xlsx": "xlsx"}
PASS_FORMAT = ", or pass format="

Rows = Iterator[tuple[int, Sequence[Any]]]
Columns = Mapping[str, Sequence[Any]]


def choose_format(
    path: str | os.PathLike[str], format: str | None, suffixes: Mapping[str, str] = SUFFIXES
) -> str:
    """Return the given format, or by default the format of the file extension.

    `suffixes` maps file extensions such as ``".csv"`` to formats.
    """
    if format is None:
        format = suffixes.get(Path(path).suffix.lower())
        if format is None:
            raise UnknownFormatError(
                f"the name {os.fspath(path)!r} does not determine the format; use a name that ends with one "
                f"of {', '.join(suffixes)}{{{PASS_FORMAT}}}.",
                parameter="format",
                terms=(PASS_FORMAT,),
            )
    formats = tuple(dict.fromkeys(suffixes.values()))
    if format not in formats:
        raise UnknownFormatError(f"format must be one of {formats}, got {format!r}.", parameter="format")
    return format


SHOWN = 5  # number of invalid lines that an error lists


@dataclass
class Problems:
    """The problems of a file, line by line; a file with problems is rejected as a whole."""

    path: str  # the name of the file in messages
    word: str = ":"  # what stands between the name of the file and the number of the line
    shown: int = SHOWN  # the number of problems that the error lists
    end: str = "Nothing was read."  # the last line of the error; none if empty
    found: list[tuple[int, str]] = field(default_factory=list)  # the problems with their lines
    notes: list[str] = field(default_factory=list)  # warnings about valid content
    ids: list[Any] = field(default_factory=list)  # the unknown ids

    def add(self, line: int, problem: str | Exception) -> None:
        """Record a problem of a line."""
        self.found.append((line, str(problem)))
        self.ids.extend(getattr(problem, "ids", ()))

    def settle(self) -> None:
        """Raise one error that lists the first few problems, if there are any."""
        if not self.found:
            return
        self.found.sort(key=lambda problem: problem[0])
        lines = [f"{self.path}{self.word}{line}: {text}" for line, text in self.found[: self.shown]]
        if (more := len(self.found) - self.shown) > 0:
            lines.append(f"and {more} more.")
        raise FileFormatError("\n".join([*lines, self.end] if self.end else lines), ids=self.ids)


def decode(data: bytes, encoding: str, path: str, *, option: str = "encoding={!r}") -> str:
    """Decode the bytes of a text file; the error names the invalid byte and encodings to try.

    `option` is the form in which the error suggests an encoding.
    """
    name = codecs.lookup(encoding).name
    try:
        return data.decode("utf-8-sig" if name == "utf-8" else name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        likely, because = ["latin-1", "cp1252"], "if it comes from an older Windows program"
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            likely, because = ["utf-16"], "which its first two bytes indicate"
        terms = tuple(map(option.format, likely))
        raise FileFormatError(
            f"{path}:{line}: byte {error.start} is {data[error.start]:#04x}, which is not {name}.",
            f"Save the file as UTF-8, or pass {' or '.join(f'{{{term}}}' for term in terms)}, {because}.",
            parameter="encoding",
            terms=terms,
        ) from error


# ---------------------------------------------------------------------- CSV and JSON Lines


def iterate_csv(text: str, problems: Problems, *, first_line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text with the line on which each begins; the row of a blank line is empty.

    The cells are separated by commas, semicolons or tabs, detected from the first row. Reading stops at
    malformed quotes, which are a problem of the line.
    """
    counts = {}  # of the cells in the first row, by delimiter
    for delimiter in (",", ";", "\t"):
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            counts[delimiter] = len(next((row for row in reader if row), []))
        except csv.Error:
            counts[delimiter] = 0
    ended = False

    def iterate_lines() -> Iterator[str]:
        nonlocal ended
        yield from io.StringIO(text, newline="")
        ended = True

    reader = csv.reader(iterate_lines(), delimiter=max(counts, key=counts.__getitem__), strict=True)
    line = first_line
    try:
        for row in reader:
            yield line, row
            line = first_line + reader.line_num
    except csv.Error as error:
        # At the end of the text only an open quote can cause an error.
        cut = "a quote is opened and never closed; the file may be truncated"
        problems.add(line, f"{cut if ended else error}.")


def parse_json_lines(text: str, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a text with their line numbers; blank lines are skipped."""

    def refuse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not a number in JSON")

    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=refuse_constant)
        except ValueError as error:
            cut = " The file may be truncated." if number == len(lines) else ""
            problems.add(number, f"not a JSON object: {error}.{cut}")
            continue
        if not isinstance(value, dict):
            problems.add(number, f'expected a JSON object such as {{"kind": "must", …}}; got {value!r}.')
            continue
        yield number, value


# ---------------------------------------------------------------------- rows of any format


def decompress(data: bytes, path: str) -> bytes:
    """Return the content of a file that may be compressed with gzip."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise FileFormatError(f"{path} cannot be decompressed with gzip: {error}.") from error


@dataclass
class NumberedRows:
    """A table as it is read, row by row."""

    header: list[str]  # the cells of the first row; empty if there is none
    line: int  # the number of the first row
    rows: Rows  # the other rows, each with the number of its line (CSV) or row
    comments: list[str] = field(default_factory=list)  # the lines above the header that begin with "#"
    metadata: dict[bytes, bytes] = field(default_factory=dict)  # of a Parquet file
    unfinished: int = 0  # the number of the last line of a CSV file if it has no line end


def read_rows(data: bytes, kind: str, encoding: str, problems: Problems) -> NumberedRows:
    """Read a table in the format "csv", "parquet" or "xlsx"; in the last two, problems are those of rows."""
    problems.word = ":" if kind == "csv" else ", row "
    if kind == "parquet":
        return read_parquet_rows(data, problems.path)
    if kind == "xlsx":
        return _read_sheet(data, problems)
    return read_csv_rows(decode(data, encoding, problems.path), problems)


def read_csv_rows(text: str, problems: Problems, *, comments: bool = True) -> NumberedRows:
    """Read a CSV table without its blank lines; with `comments`, lines above it may begin with "#"."""
    unfinished = 0 if text.endswith("\n") else text.count("\n") + 1
    above: list[str] = []
    while comments and text.startswith("#"):
        comment, _, text = text.partition("\n")
        above.append(comment)
    rows = (row for row in iterate_csv(text, problems, first_line=len(above) + 1) if row[1])
    line, header = next(rows, (len(above) + 1, []))
    return NumberedRows(header, line, rows, above, unfinished=unfinished)


def read_parquet(data: bytes, path: str) -> Any:
    """Return the content of a Parquet file as a pyarrow table."""
    parquet = require("pyarrow.parquet", extra="scale")
    pyarrow = require("pyarrow", extra="scale")
    try:
        return parquet.ParquetFile(pyarrow.BufferReader(data)).read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}.") from error


def read_parquet_rows(data: bytes, path: str) -> NumberedRows:
    """Read a Parquet file; its rows are numbered from 1, and null becomes ""."""
    table = read_parquet(data, path)
    try:
        columns = [["" if v is None or v != v else v for v in column.to_pylist()] for column in table.columns]
    except ValueError as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}.") from error
    rows = enumerate(zip(*columns, strict=True), start=1)
    return NumberedRows(list(map(str, table.column_names)), 0, rows, metadata=table.schema.metadata or {})


def _read_sheet(data: bytes, problems: Problems) -> NumberedRows:
    """Read the first sheet of a workbook; empty cells beyond the header are left out."""
    rows = iterate_sheet(data, problems)
    comments = []
    number, header = next(rows, (1, []))
    while header and header[0].startswith("#"):
        comments.append(";".join(header))
        number, header = next(rows, (number + 1, []))
    while header and not header[-1]:
        header.pop()
    width = len(header)
    cut = ((n, row[:width] if not any(row[width:]) else row) for n, row in rows)
    return NumberedRows(header, number, cut, comments)


def iterate_sheet(data: bytes, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of the first sheet of an Excel workbook as strings, with their numbers.

    Empty rows are left out. A spreadsheet does not distinguish numbers from ids that look like numbers, so
    7 and 7.0 are "7".
    """
    openpyxl = require("openpyxl", extra="excel")
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = book.worksheets
        cells = [list(row) for row in sheets[0].iter_rows(values_only=True)] if sheets else []
    except Exception as error:  # openpyxl raises many kinds of exceptions
        raise FileFormatError(f"{problems.path} cannot be read as an Excel workbook: {error}.") from error
    if len(sheets) > 1:
        problems.notes.append(f"only the first of {len(sheets)} sheets, {sheets[0].title!r}, was read.")
    for number, row in enumerate(cells, start=1):
        if any(cell is not None for cell in row):
            whole = (int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row)
            yield number, ["" if cell is None else str(cell) for cell in whole]


def holds_objects(file: IO[bytes]) -> bool:
    """Return True if NumPy would have to unpickle the file: an array of objects, or a pickle."""
    formats = np.lib.format
    try:
        version = formats.read_magic(file)
        read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        return bool(read(file)[2].hasobject)
    except (ValueError, EOFError):  # np.load treats everything that is not an array as a pickle
        file.seek(0)
        first = file.read(6)
        return bool(first) and not first.startswith((b"\x93NUMPY", b"PK"))


# ---------------------------------------------------------------------- writing columns of equal length


def format_csv_line(cells: Iterable[str], delimiter: str = ",") -> str:
    """Return one line of CSV, quoted where necessary (the csv module does not quote a carriage return)."""
    return delimiter.join(
        '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in f'"{delimiter}\r\n') else cell
        for cell in cells
    )


def format_csv(columns: Columns) -> str:
    """Return columns as CSV with a header; None is an empty cell.

    >>> format_csv({"id": ["a", "b,c"], "cluster": [0, 1]})
    'id,cluster\\na,0\\n"b,c",1\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def format_json_lines(columns: Columns) -> str:
    """Return columns as one JSON object per row.

    >>> format_json_lines({"id": ["a", "b"], "cluster": [0, None]})
    '{"id": "a", "cluster": 0}\\n{"id": "b", "cluster": null}\\n'
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # created once, not per row
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return "".join(encode(row) + "\n" for row in rows)


def write_parquet(
    columns: Columns,
    target: Any,
    *,
    types: Mapping[str, str] | None = None,
    metadata: Mapping[bytes, str] | None = None,
) -> None:
    """Write columns to a path or a binary file as Parquet.

    `types` are pyarrow's names of types by column; the type of any other column is inferred.
    """
    parquet = require("pyarrow.parquet", extra="scale")
    pyarrow = require("pyarrow", extra="scale")
    types = types or {}
    table = pyarrow.table(
        {name: pyarrow.array(list(cells), type=types.get(name)) for name, cells in columns.items()}
    )
    parquet.write_table(table.replace_schema_metadata(metadata) if metadata else table, target)


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to a file; anything but .parquet and .jsonl is CSV."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        write_parquet(columns, path)
        return
    text = format_json_lines(columns) if suffix == ".jsonl" else format_csv(columns)
    path.write_bytes(text.encode("utf-8"))


class BlockWriter:
    """Writes ids and clusters in blocks, in the same form as :func:`write_table`.

    Without a path, the blocks are CSV and are passed to `put`.
    """

    def __init__(self, path: Path | None, put: Callable[[str], None]) -> None:
        self._path, self._put = path, put
        self._suffix = "" if path is None else path.suffix.lower()
        self._file: Any = None

    def __enter__(self) -> BlockWriter:
        pyarrow = require("pyarrow", extra="scale")
        if self._suffix == ".parquet":
            parquet = require("pyarrow.parquet", extra="scale")
            schema = pyarrow.schema([("id", pyarrow.string()), ("cluster", pyarrow.int64())])
            self._file = parquet.ParquetWriter(self._path, schema)
            return self
        if self._path is not None:
            self._file = open(self._path, "wb")
            self._put = lambda text: self._file.write(text.encode("utf-8"))
        if self._suffix != ".jsonl":
            self._put(format_csv({"id": [], "cluster": []}))
        return self

    def add(self, ids: Any, labels: Any) -> None:
        """Write a block of rows; the ids are a pyarrow array of text."""
        if self._suffix == ".parquet":
            pyarrow = require("pyarrow", extra="scale")
            clusters = pyarrow.array(labels).cast("int64")
            self._file.write_batch(pyarrow.record_batch([ids, clusters], names=["id", "cluster"]))
            return
        columns = {"id": ids.to_pylist(), "cluster": labels.tolist()}
        if self._suffix == ".jsonl":
            self._put(format_json_lines(columns))
        else:
            self._put(format_csv(columns).partition("\n")[2])

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
