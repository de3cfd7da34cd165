"""Tables in files, for all packages that read or write them: formats, text, rows with line numbers, problems.

Internal: other packages of likewise use these names, users do not.
"""

from likewise.tables._formats import (
    SUFFIXES,
    WRITTEN,
    NumberedRows,
    choose_format,
    decompress,
    holds_objects,
    iterate_sheet,
    make_problems,
    read_csv_rows,
    read_parquet,
    read_parquet_rows,
    read_rows,
)
from likewise.tables._named_columns import (
    Column,
    NonNumericCell,
    RawTable,
    describe_unknown_column,
    get_texts,
    is_plain_number,
    is_wordy,
    parse_number,
    parse_numbers,
    read_columns,
)
from likewise.tables._text import SHOWN, Problems, decode, iterate_csv, parse_json_lines
from likewise.tables._writing import format_csv, format_csv_line, format_json_lines, write_parquet

__all__ = [
    "SHOWN",
    "SUFFIXES",
    "WRITTEN",
    "Column",
    "NonNumericCell",
    "NumberedRows",
    "Problems",
    "RawTable",
    "choose_format",
    "decode",
    "decompress",
    "describe_unknown_column",
    "format_csv",
    "format_csv_line",
    "format_json_lines",
    "get_texts",
    "holds_objects",
    "is_plain_number",
    "is_wordy",
    "iterate_csv",
    "iterate_sheet",
    "make_problems",
    "parse_json_lines",
    "parse_number",
    "parse_numbers",
    "read_columns",
    "read_csv_rows",
    "read_parquet",
    "read_parquet_rows",
    "read_rows",
    "write_parquet",
]
