"""Write small tables as CSV, Parquet or JSON Lines, depending on the file extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise._optional import require
from likewise.cli._output import write_stdout
from likewise.tables import format_csv, format_json_lines, write_parquet

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_writer(path: str) -> None:
    """Raise an error, before any work, if a package that is needed to write the file is not installed."""
    if Path(path).suffix.lower() == ".parquet":
        require("pyarrow.parquet", extra="scale")


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length to a file; anything but .parquet and .jsonl is CSV."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        write_parquet(columns, path)
        return
    text = format_json_lines(columns) if suffix == ".jsonl" else format_csv(columns)
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
            self._put(format_json_lines(columns))
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
