"""Options that several commands share, and how they affect reading data and hints."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from likewise.exceptions import FileFormatError, render

if TYPE_CHECKING:
    from likewise.cli._data_tables import ColumnRoles
    from likewise.supervision import RowIds, Supervision

Function = TypeVar("Function", bound=Callable[..., Any])


def _check_encoding(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        return codecs.lookup(value).name
    except LookupError:
        raise click.BadParameter(f"there is no encoding {value!r}; try utf-8, latin-1 or cp1252.") from None


def parse_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Parse column names separated by commas."""
    if value is None:
        return None
    from likewise.cli._data_tables import split_names

    names = split_names(value)
    if not names:
        raise click.BadParameter("expected at least one column name.")
    return names


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def parse_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Parse an amount of memory: 200MB, 1.5 GiB, 800000."""
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?|[kmg]i)b?\s*", value.casefold())
    size = 0 if match is None else int(float(match[1]) * _UNITS[match[2]])
    if size < 1:
        raise click.BadParameter(f"expected an amount of memory such as 200MB; got {value!r}.")
    return size


_DATA = (
    click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="The column of ids by which hints refer to rows. Without it, rows are numbered 0, 1, 2 and so "
        "on; the header is not counted.",
    ),
    click.option(
        "--features",
        callback=parse_names,
        metavar="A,B,C",
        help="The columns to use; by default all others.",
    ),
    click.option("--drop", callback=parse_names, metavar="A,B,C", help="Columns to leave out."),
    click.option(
        "--no-header", is_flag=True, help="The CSV file has no header; columns are f0, f1 and so on."
    ),
    click.option(
        "--encoding",
        callback=_check_encoding,
        default="utf-8",
        show_default=True,
        help="Encoding of a CSV DATA file.",
    ),
)
_HINTS = (
    click.option(
        "--hints-encoding",
        callback=_check_encoding,
        default="utf-8",
        show_default=True,
        help="Encoding of a CSV or JSON Lines file of hints.",
    ),
)


def add_table_options(function: Function) -> Function:
    """Add the options for reading DATA and hints."""
    return _with(_DATA + _HINTS, function)


def add_data_options(function: Function) -> Function:
    """Add the options for reading DATA, for a command that reads no hints."""
    return _with(_DATA, function)


def _with(options: Sequence[Callable[[Function], Function]], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def make_column_roles(
    id_column: str | None,
    features: tuple[str, ...] | None,
    drop: tuple[str, ...] | None,
    truth: str | None = None,
    bag: str | None = None,
    truth_option: str = "--truth",
) -> ColumnRoles:
    """Return the column roles that the options define."""
    from likewise.cli._data_tables import ColumnRoles

    return ColumnRoles(id_column, features, drop or (), truth, bag, truth_option)


def format_table_options(asked: Mapping[str, Any]) -> list[str]:
    """Return the options with which another command reads DATA in the same way."""
    words: list[str] = []
    for option, value in (
        ("--id", asked["id_column"]),
        ("--features", _format_names(asked["features"])),
        ("--drop", _format_names(asked["drop"])),
        ("--encoding", asked["encoding"]),
    ):
        words += [] if value in (None, "utf-8") else [option, value]
    return words + [f"--{name.replace('_', '-')}" for name in ("no_header", "standardize") if asked[name]]


def _format_names(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else ",".join(f'"{name}"' if "," in name else name for name in names)


# Parameters of the library in errors about hint files, and the options to show in their place.
HINT_OPTIONS = {
    ", or pass format=": "",
    "see read_bags": "give it as --bags",
    "read it with read_hints": "give it as --hints",
    **{f"encoding={name!r}": f"--hints-encoding {name}" for name in ("latin-1", "cp1252", "utf-16")},
}


def read_all_hints(
    paths: Sequence[str], ids: RowIds, *, encoding: str, id_column: str | None, path: str
) -> Supervision:
    """Read and combine files of hints; errors mention options instead of the library's parameters."""
    from likewise.supervision import Supervision, read_hints

    hints = Supervision.empty(len(ids))
    for file in paths:
        try:
            hints |= read_hints(file, ids, encoding=encoding)
        except FileFormatError as error:
            more = _explain_ids(id_column, path) if error.ids else ""
            raise FileFormatError(render(error, words=HINT_OPTIONS) + more) from error
    return hints


def _explain_ids(id_column: str | None, path: str) -> str:
    if id_column is None:
        return (
            f"\nWithout --id, the rows of {path} are numbered 0, 1, 2 and so on. If one of its columns holds "
            "ids, pass it as --id."
        )
    return f"\nThe ids of the rows are in the column {id_column!r} of {path}."
