"""Read the tables of commands: files, or standard input, with messages that mention options."""

from __future__ import annotations

import sys
from pathlib import Path

from likewise.tables import RawTable, read_columns

STDIN = "-"


def read_raw(
    path: str, *, header: bool = True, encoding: str = "utf-8", encoding_option: str = "--encoding"
) -> RawTable:
    """Read a table whose first bytes determine its format.

    `encoding_option` is the option to mention if the encoding is wrong.
    """
    if path == STDIN:
        data, name, suffix = sys.stdin.buffer.read(), "<stdin>", ""
    else:
        data, name, suffix = Path(path).read_bytes(), path, Path(path).suffix.lower()
    return read_columns(
        data,
        name,
        suffix,
        header=header,
        encoding=encoding,
        encoding_option=f"{encoding_option} {{}}",
        no_header="--no-header",
    )
