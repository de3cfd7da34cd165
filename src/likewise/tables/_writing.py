"""Write columns of equal length, whole or in blocks, as CSV, JSON Lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise._optional import require

Columns = Mapping[str, Sequence[Any]]


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
