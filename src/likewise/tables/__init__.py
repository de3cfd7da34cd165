"""Tables in files, for all packages that read or write them: formats, text, rows with line numbers, problems.

Internal: other packages of likewise use these names, users do not.
"""

from likewise.tables._columns import describe_unknown_column, is_plain_number, parse_number
from likewise.tables._formats import (
    SUFFIXES,
    WRITTEN,
    NumberedRows,
    choose_format,
    decompress,
    iterate_sheet,
    make_problems,
    read_csv_rows,
    read_parquet,
    read_parquet_rows,
    read_rows,
)
from likewise.tables._text import SHOWN, Problems, decode, iterate_csv, parse_json_lines
from likewise.tables._writing import format_csv, format_csv_line, format_json_lines, write_parquet

__all__ = [
    "SHOWN",
    "SUFFIXES",
    "WRITTEN",
    "NumberedRows",
    "Problems",
    "choose_format",
    "decode",
    "decompress",
    "describe_unknown_column",
    "format_csv",
    "format_csv_line",
    "format_json_lines",
    "is_plain_number",
    "iterate_csv",
    "iterate_sheet",
    "make_problems",
    "parse_json_lines",
    "parse_number",
    "read_csv_rows",
    "read_parquet",
    "read_parquet_rows",
    "read_rows",
    "write_parquet",
]
