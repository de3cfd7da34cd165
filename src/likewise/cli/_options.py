"""Options objects: the options of a command as one frozen dataclass, and those that several commands share.

A command declares each option once, as a field of its dataclass, and receives the values as one object::

    from likewise.cli import _options as opt


    @dataclass(frozen=True, kw_only=True)
    class Options:
        data: str = opt.argument(type=click.Path())
        table: opt.TableOptions  # a field without a declaration holds further options
        seed: int = opt.seed()


    @click.command("name", cls=Command)
    @opt.collect_options(Options)
    def command(asked: Options) -> None: ...
"""

from __future__ import annotations

import codecs
import csv
import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import click

from likewise.exceptions import FileFormatError, render

if TYPE_CHECKING:
    from likewise.cli._items import SourceData
    from likewise.supervision import RowIds, Supervision
    from likewise.tables import ColumnRoles, DataTable, RawTable

Options = TypeVar("Options")


# ---------------------------------------------------------------------- options as fields of a dataclass


def option(*names: str, **settings: Any) -> Any:
    """Declare a field as an option, with the arguments of :func:`click.option`."""
    return field(metadata={"declare": lambda name: click.option(*names, name, **settings)})


def argument(**settings: Any) -> Any:
    """Declare a field as an argument, with the settings of :func:`click.argument`."""
    return field(metadata={"declare": lambda name: click.argument(name, **settings)})


def flag(*names: str, **settings: Any) -> Any:
    """Declare a field as an option without a value, which is False if it is not given."""
    return option(*names, is_flag=True, **settings)


def path(*names: str, **settings: Any) -> Any:
    """Declare a field as the name of a file."""
    return option(*names, type=click.Path(), **settings)


def column(*names: str, **settings: Any) -> Any:
    """Declare a field as the name of a column."""
    return option(*names, metavar="COLUMN", **settings)


def columns(*names: str, **settings: Any) -> Any:
    """Declare a field as names of columns, separated by commas."""
    return option(*names, type=parse_names, metavar="A,B,C", **settings)


def integer(*names: str, least: int, **settings: Any) -> Any:
    """Declare a field as an integer of at least `least`; the help shows a default."""
    return option(*names, type=click.IntRange(least), show_default=True, **settings)


def clusters(help: str) -> Any:
    """Declare a field as the option ``-k``: a number of clusters, or a range of it."""
    return option("-k", "--clusters", callback=_parse_clusters, metavar="K|LOW:HIGH", help=help)


def _parse_clusters(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> int | tuple[int, int] | None:
    """Parse the number of clusters: ``4``, or a range such as ``50:100``."""
    if value is None:
        return None
    low, colon, high = value.partition(":")
    try:
        first, last = int(low), int(high) if colon else int(low)
    except ValueError:
        raise click.BadParameter(
            f"expected the number of clusters, such as 4, or a range, such as 50:100; got {value!r}."
        ) from None
    if first < 2 or last < first:
        raise click.BadParameter(
            "expected at least 2 clusters, and the smaller number of a range first, such as 50:100; got "
            f"{value!r}."
        )
    return first if first == last else (first, last)


def format_clusters(clusters: int | tuple[int, int] | None) -> str | None:
    """Return the number of clusters as the option -k has it."""
    if clusters is None:
        return None
    return ":".join(map(str, clusters)) if isinstance(clusters, tuple) else str(clusters)


def choice(*names: str, values: Iterable[str], **settings: Any) -> Any:
    """Declare a field as one of some words; the help shows a default."""
    return option(*names, type=NameChoice(list(values)), show_default=True, **settings)


class NameChoice(click.Choice[str]):
    """One of some words; the error for another word suggests the closest."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the error for another word."""
        message = super().get_invalid_choice_message(value, ctx)
        close = find_closest(str(value), self.choices)
        return message if close is None else f"{message} Did you mean {close!r}?"


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a misspelled one; None if none is similar.

    >>> find_closest("mpckmean", ["mpck-means", "k-means"])
    'mpck-means'
    """
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def standardize() -> Any:
    """Declare a field as the option ``--standardize``."""
    return flag("--standardize", help="Give every feature mean 0 and variance 1.")


def seed(help: str = "Random seed.", most: int = 2**32 - 1) -> Any:
    """Declare a field as the option ``--seed``."""
    return option("--seed", type=click.IntRange(0, most), default=0, help=f"{help}  [default: 0]")


def encoding_option(name: str, help: str) -> Any:
    """Declare a field as the encoding of files."""
    return option(name, callback=_check_encoding, default="utf-8", show_default=True, help=help)


def collect_options(options: type[Options]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command, which gets their values as its last argument."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **values: Any) -> Any:
            return function(*args, _collect(options, values))

        command: Callable[..., Any] = run
        for declare in reversed(list(_iterate_declarations(options))):
            command = declare(command)
        return command

    return decorate


def _iterate_declarations(options: type) -> Iterator[Callable[[Any], Any]]:
    types = get_type_hints(options)
    for each in fields(options):
        if "declare" in each.metadata:
            yield each.metadata["declare"](each.name)
        else:
            yield from _iterate_declarations(types[each.name])


def _collect(options: type[Options], values: dict[str, Any]) -> Options:
    types = get_type_hints(options)
    return options(
        **{
            each.name: values[each.name] if "declare" in each.metadata else _collect(types[each.name], values)
            for each in fields(options)  # type: ignore[arg-type]
        }
    )


# ---------------------------------------------------------------------- where features come from

# The methods of text, image and sound features, by the kind of items that they fit. They are listed here
# because the features import NumPy, which the help does without.
FEATURE_METHODS = {
    "text": ("words", "wordllama", "minilm", "minilm-int8", "minilm+wordllama"),
    "image": ("efficientnet", "hog", "pixels"),
    "sound": ("mel", "speech", "birdnet"),
}


def embeddings() -> Any:
    """Declare a field as the option ``--embeddings``."""
    return path(
        "--embeddings",
        metavar="FILE",
        help="Use the numbers in this .npy or .parquet file as features: one row for each row of DATA, in "
        "the same order.",
    )


def features_from(kinds: Sequence[str] = tuple(FEATURE_METHODS)) -> Any:
    """Declare a field as the option ``--features-from``, for some kinds of items."""
    names = "; ".join(f"{kind}: {', '.join(FEATURE_METHODS[kind])}" for kind in kinds)
    return choice(
        "--features-from",
        values=["auto", *(name for kind in kinds for name in FEATURE_METHODS[kind])],
        default="auto",
        metavar="NAME",
        help=f"How features are computed ({names}). auto is the best that is installed; see likewise models.",
    )


# ---------------------------------------------------------------------- values


def _check_encoding(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        return codecs.lookup(value).name
    except LookupError:
        raise click.BadParameter(f"there is no encoding {value!r}; try utf-8, latin-1 or cp1252.") from None


def parse_names(value: str) -> tuple[str, ...]:
    """Parse column names separated by commas; double quotes enclose a name that contains a comma.

    >>> parse_names('a, b,"c,d"')
    ('a', 'b', 'c,d')
    """
    cells = next(csv.reader([value], skipinitialspace=True), [])
    names = tuple(name for cell in cells if (name := cell.strip()))
    if not names:
        raise click.BadParameter("expected at least one column name.")
    return names


class NumberRange(click.FloatRange):
    """A range of numbers; :class:`click.FloatRange` finds NaN in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a value as a number in the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


def parse_float(value: str) -> float:
    """Return a value as a number; NaN, which is in no range, if it is none."""
    try:
        return float(value)
    except ValueError:
        return float("nan")


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def parse_bytes(value: str) -> int:
    """Parse an amount of memory: 200MB, 1.5 GiB, 800000."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?|[kmg]i)b?\s*", value.casefold())
    size = 0 if match is None else int(float(match[1]) * _UNITS[match[2]])
    if size < 1:
        raise click.BadParameter(f"expected an amount of memory such as 200MB; got {value!r}.")
    return size


# ---------------------------------------------------------------------- reading data and hints


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """How to read DATA."""

    id_column: str | None = column(
        "--id",
        help="The column of ids by which hints refer to rows. Without it, rows are numbered 0, 1, 2 and so "
        "on; the header is not counted.",
    )
    text: tuple[str, ...] = column(
        "--text", multiple=True, help="Compare the texts in this column; may be given several times."
    )
    image: str | None = column(
        "--image", help="Compare the pictures whose paths, relative to DATA, are in this column."
    )
    audio: str | None = column(
        "--audio", help="Compare the sounds whose paths, relative to DATA, are in this column."
    )
    embeddings: str | None = embeddings()
    features_from: str = features_from()
    features: tuple[str, ...] | None = columns(
        "--features", help="The columns to use; by default all others."
    )
    drop: tuple[str, ...] | None = columns("--drop", help="Columns to leave out.")
    no_header: bool = flag("--no-header", help="The CSV file has no header; columns are f0, f1 and so on.")
    encoding: str = encoding_option("--encoding", "Encoding of a CSV DATA file.")

    def has_items(self, path: str) -> bool:
        """Return True if features are computed from texts or files, or read from a file of their own."""
        given = self.text or self.image or self.audio or self.embeddings or self.features_from != "auto"
        return bool(given) or os.path.isdir(path)

    def make_roles(self, **roles: Any) -> ColumnRoles:
        """Return the column roles of these options; `roles` are further roles."""
        from likewise.tables import ColumnRoles

        return ColumnRoles(self.id_column, self.features, self.drop or (), **roles)

    def read_columns(self, path: str) -> RawTable:
        """Read all columns of the table."""
        from likewise.tables import read_columns

        return read_columns(path, header=not self.no_header, encoding=self.encoding)

    def read_table(
        self, path: str, *, seed: int = 0, progress: Callable[[int, int], None] | None = None, **roles: Any
    ) -> DataTable:
        """Read the rows: columns of numbers, or features of texts, pictures or sounds.

        `seed` and `progress` are for features that are computed; `roles` are further roles of columns.
        """
        if self.has_items(path):
            return self.read_source(path, seed=seed, progress=progress, **roles).make_table()
        from likewise.tables import ColumnRoles, make_table, read_columns

        raw = read_columns(path, header=not self.no_header, encoding=self.encoding)
        return make_table(raw, ColumnRoles(self.id_column, self.features, self.drop or (), **roles))

    def read_source(
        self, path: str, *, seed: int = 0, progress: Callable[[int, int], None] | None = None, **roles: Any
    ) -> SourceData:
        """Read texts, pictures, sounds or embeddings; see `has_items` and `read_table`."""
        from likewise.cli._items import read_source

        if self.features is not None:
            raise click.UsageError(
                "--features chooses columns of numbers, and --text, --image, --audio, --embeddings and "
                "folders have features of their own; leave --features out."
            )
        return read_source(
            path,
            progress,
            text=[name for value in self.text for name in parse_names(value)],
            image=self.image,
            audio=self.audio,
            id_column=self.id_column,
            features=self.embeddings,
            features_option="--embeddings",
            drop=self.drop or (),
            no_header=self.no_header,
            encoding=self.encoding,
            method=self.features_from,
            seed=seed,
            classes_of_folders=False,
            **roles,
        )

    def format_options(self, *, standardize: bool) -> list[str]:
        """Return the options with which another command reads DATA in the same way."""
        words: list[str] = []
        for name, value in (
            ("--id", self.id_column),
            *(("--text", name) for name in self.text),
            ("--image", self.image),
            ("--audio", self.audio),
            ("--embeddings", self.embeddings),
            ("--features-from", None if self.features_from == "auto" else self.features_from),
            ("--features", _format_names(self.features)),
            ("--drop", _format_names(self.drop)),
            ("--encoding", None if self.encoding == "utf-8" else self.encoding),
        ):
            words += [] if value is None else [name, value]
        return words + ["--no-header"] * self.no_header + ["--standardize"] * standardize


@dataclass(frozen=True, kw_only=True)
class TableOptions(DataOptions):
    """How to read DATA and hints."""

    hints_encoding: str = encoding_option(
        "--hints-encoding", "Encoding of a CSV or JSON Lines file of hints."
    )

    def read_hints(self, paths: Sequence[str], ids: RowIds, *, data: str) -> Supervision:
        """Read and combine files of hints; errors mention options instead of the library's parameters."""
        from likewise.supervision import Supervision, read_hints

        hints: Supervision | None = None
        for file in paths:
            try:
                found = read_hints(file, ids, encoding=self.hints_encoding)
            except FileFormatError as error:
                more = _explain_ids(self.id_column, data) if error.ids else ""
                raise FileFormatError(render(error, words=HINT_OPTIONS) + more) from error
            hints = found if hints is None else hints | found
        return Supervision(len(ids)) if hints is None else hints


def _format_names(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else ",".join(f'"{name}"' if "," in name else name for name in names)


# Parameters of the library in errors about hint files, and the options to show in their place.
HINT_OPTIONS = {
    ", or pass format=": "",
    "see read_bags": "give it as --bags",
    "read it with read_hints": "give it as --hints",
    **{f"encoding={name!r}": f"--hints-encoding {name}" for name in ("latin-1", "cp1252", "utf-16")},
}


def _explain_ids(id_column: str | None, path: str) -> str:
    if id_column is None:
        if os.path.isdir(path):
            return f"\nThe ids of the files in {path} are their names."
        return (
            f"\nWithout --id, the rows of {path} are numbered 0, 1, 2 and so on. If one of its columns holds "
            "ids, pass it as --id."
        )
    return f"\nThe ids of the rows are in the column {id_column!r} of {path}."
