"""Write small tables as CSV, Parquet or JSON Lines, depending on the file extension."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise._optional import require
from likewise.cli._output import write_stdout

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_writer(path: str) -> None:
    """Raise an error, before any work, if a package that is needed to write the file is not installed."""
    if Path(path).suffix.lower() == ".parquet":
        require("pyarrow.parquet", extra="scale")


def format_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns of equal length as CSV with a header; None is an empty cell.

    >>> format_csv({"id": ["a", "b,c"], "cluster": [0, 1]})
    'id,cluster\\na,0\\n"b,c",1\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _format_json_lines(columns: Mapping[str, Sequence[Any]]) -> str:
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length to a file; anything but .parquet and .jsonl is CSV."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        parquet = require("pyarrow.parquet", extra="scale")
        pyarrow = require("pyarrow", extra="scale")
        parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), path)
        return
    if suffix == ".jsonl":
        text = _format_json_lines(columns)
    else:
        text = format_csv(columns)
    path.write_bytes(text.encode("utf-8"))


class BlockWriter:
    """Writes ids and clusters in blocks, as CSV, Parquet or JSON Lines; to stdout without a path.

    The files have the same form as those of :func:`write_table`.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
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
            self._put(_format_json_lines(columns))
        else:
            self._put(format_csv(columns).partition("\n")[2])

    def _put(self, text: str) -> None:
        if self._file is None:
            write_stdout(text)
        else:
            self._file.write(text.encode("utf-8"))

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
