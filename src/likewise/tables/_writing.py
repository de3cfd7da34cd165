"""Write columns of equal length as CSV, JSON Lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
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
