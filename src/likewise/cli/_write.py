"""Small tables written as CSV, Parquet or JSON Lines, told apart by the end of the name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise._optional import require

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_writer(path: str) -> None:
    """Make sure, before the work begins, that what writing needs is installed."""
    if Path(path).suffix.lower() == ".parquet":
        require("pyarrow.parquet", extra="scale")


def csv_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns of equal length as CSV with a header; None is an empty cell.

    >>> csv_text({"id": ["a", "b,c"], "cluster": [0, 1]})
    'id,cluster\\na,0\\n"b,c",1\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length to a file; anything but .parquet and .jsonl is CSV."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        parquet = require("pyarrow.parquet", extra="scale")
        pyarrow = require("pyarrow", extra="scale")
        parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), path)
        return
    if suffix == ".jsonl":
        rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    else:
        text = csv_text(columns)
    path.write_bytes(text.encode("utf-8"))
