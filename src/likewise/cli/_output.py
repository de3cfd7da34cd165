"""Shared by all commands: error messages, streams, progress, and atomic writing of output files.

Results go to stdout, everything else to stderr. The exit code is 0 on success, 1 if the data or the hints are
invalid, 2 for a usage error.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from likewise._atomic_files import name_file_in_errors
from likewise.exceptions import FileFormatError, LikewiseError, render

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.supervision import RowIds

STDOUT = "-"
SHOWN = 10  # maximum number of lines of one kind in a report
PICTURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".parquet", ".jsonl")
# The package, and the extra that installs it, with which a file is written.
_WRITERS = {
    ".parquet": ("pyarrow.parquet", "scale"),
    ".graphml": ("networkx", "graphs"),
    **dict.fromkeys(PICTURES, ("matplotlib", "plot")),
}


# ---------------------------------------------------------------------- errors


class Command(click.Command):
    """A command that ends with exit code 1 and one readable message if the data or the hints are invalid."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])
        debug = click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")
        self.params.append(debug)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an error that the user can correct into a message."""
        debug = ctx.params.pop("debug")
        try:
            return super().invoke(ctx)
        except (LikewiseError, ValueError, OSError, MemoryError) as error:
            if debug or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            if isinstance(error, FileFormatError) and (error.parameter or "").startswith("--"):
                raise click.BadParameter(error.message, ctx, param_hint=f"'{error.parameter}'") from error
            raise click.ClickException(format_error(error)) from error


def format_error(error: Exception) -> str:
    """Return the message of an error, for users who do not read tracebacks.

    >>> format_error(FileNotFoundError(2, "No such file or directory", "hints.csv"))
    "there is no file 'hints.csv'."
    """
    if isinstance(error, MemoryError):
        return " ".join(["there is not enough memory for this.", *map(str, error.args)])
    if isinstance(error, OSError) and error.filename is not None and not isinstance(error, LikewiseError):
        name = os.fsdecode(error.filename)
        if isinstance(error, FileNotFoundError):
            return f"there is no file {name!r}."
        if isinstance(error, IsADirectoryError):
            return f"{name!r} is a folder; expected a file."
        if isinstance(error, PermissionError):
            return f"{name!r} cannot be opened: permission denied."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{name!r}: {error.strerror}. Free some space, or write to another disk."
        return f"{name!r}: {error.strerror}."
    return render(error)


# ---------------------------------------------------------------------- streams


def make_console(*, stderr: bool = True) -> Console:
    """Return a console on stderr or stdout, coloured only on a terminal and without NO_COLOR."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def get_program_name() -> str:
    """Return the command that runs this program: its name if it is on the search path, else its full path."""
    return "likewise" if shutil.which("likewise") or not Path(sys.argv[0]).exists() else sys.argv[0]


class OutputPath(click.Path):
    """A file to write, or - for stdout; names such as /dev/stdout also mean stdout."""

    def __init__(self) -> None:
        super().__init__(allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or - for any name of stdout."""
        path = super().convert(value, param, ctx)
        return STDOUT if path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else path


def write_stdout(data: str | bytes) -> None:
    """Write results to stdout; an error of the operating system mentions it like a file."""
    try:
        click.echo(data, nl=False)
    except OSError as error:
        error.filename = None if error.errno is None else "stdout"
        raise


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    write_stdout(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def print_features(description: str | None) -> None:
    """Print on stderr which features are used, if they are not the columns of a table."""
    if description is not None:
        make_console().print(f"features    {description}")


def print_notes(notes: Iterable[str], wrote: Iterable[str | Path] = ()) -> None:
    """Print notes and the names of the written files on stderr."""
    stderr = make_console()
    for note in notes:
        stderr.print(f"note: {note}", style="yellow")
    for path in wrote:
        stderr.print(f"wrote {path}")


def format_first(lines: Sequence[str], *, indent: str = "", all: str = "--json lists all") -> list[str]:
    """Return the first ten lines, and the number of the others, which `all` says how to see."""
    more = [f"{indent}and {len(lines) - SHOWN} more; {all}"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


class Notes(list[str]):
    """Notes for the user; if the `names` of the rows are set, warnings use them instead of row numbers."""

    names: RowIds | None = None


@contextmanager
def gather_warnings() -> Iterator[Notes]:
    """Collect the warnings that are meant for the user as distinct texts instead of printing them."""
    texts = Notes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield texts
        finally:
            meant = [w.message for w in caught if issubclass(w.category, UserWarning)]
            texts.extend(dict.fromkeys(render(message, texts.names) for message in meant))


@contextmanager
def ignore_failed_fits() -> Iterator[None]:
    """Hide the warning about failed fits, which the table and a note report."""
    from sklearn.exceptions import FitFailedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        yield


class Step(Protocol):
    """Called with the name of a step when it begins or, with `within`, with its current state."""

    def __call__(self, name: str, *, within: bool = False) -> None:
        """Show the step."""


@contextmanager
def show_count(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with the number of things done and of all; a terminal shows both."""
    if quiet or not sys.stderr.isatty():
        yield lambda n_done, n_all: None
        return
    with make_console().status(f"{what} …") as status:
        yield lambda n_done, n_all: status.update(f"{what} … {n_done:,} of {n_all:,}")


@contextmanager
def show_progress(n_steps: int, *, quiet: bool = False) -> Iterator[Step]:
    """Yield a function to call with the name of each step; it shows a bar if stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda name, *, within=False: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=make_console(), transient=True) as bar:
        task = bar.add_task("", total=n_steps)
        begun = False

        def advance(name: str, *, within: bool = False) -> None:
            nonlocal begun
            bar.update(task, description=name, advance=1 if begun and not within else 0)
            begun = True

        yield advance


# ---------------------------------------------------------------------- files


class Outputs:
    """Output files that are written all together or not at all.

    Each is written under a temporary name in its folder. If the block ends without an error, all files are
    moved into place; otherwise they are deleted, and existing files stay untouched.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Path, Path]] = []

    def __enter__(self) -> Outputs:
        return self

    def add(self, path: str, write: Callable[[Path], Any]) -> None:
        """Call `write` with a temporary file that replaces `path` at the end of the block."""
        with name_file_in_errors(path):
            if _is_special(path):
                write(Path(path))
                return
            target = Path(os.path.realpath(path))
            part = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
            self._parts.append((part, target))
            write(part)

    def add_table(self, path: str | None, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write columns to a file of the format of its extension; do nothing without a file."""
        from likewise.tables import write_table

        if path is not None and path != STDOUT:
            self.add(path, lambda part: write_table(part, columns))

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                for part, target in self._parts:
                    with name_file_in_errors(target), open(part, "rb+") as file:
                        os.fsync(file.fileno())
                for part, target in self._parts:
                    with name_file_in_errors(target):
                        os.replace(part, target)
        finally:
            for part, _ in self._parts:
                part.unlink(missing_ok=True)


def check_n_clusters(n_clusters: int, n_rows: int) -> None:
    """Raise an error if there are more clusters than rows."""
    if n_clusters > n_rows:
        raise FileFormatError(f"{n_clusters} clusters need at least as many rows; got {n_rows}.")


def check_files(
    inputs: list[str],
    tables: Mapping[str, str | None],
    plot: str | None,
    *,
    as_json: bool,
    data: str | None = None,
    folders: Iterable[str] = (),
) -> None:
    """Raise an error, before any work, if a file cannot be read or written.

    `tables` are the tables to write, by option; `as_json` says whether a JSON document is written to stdout;
    `data` is another input, which may be a folder; `folders` are read, too, but not checked here.
    """
    check_inputs(*inputs, data=data)
    inputs = inputs if data is None else [data, *inputs]
    outputs = {option: path for option, path in (*tables.items(), ("--plot", plot)) if path is not None}
    if outputs:
        check_distinct(outputs, [*inputs, *folders], as_json=as_json)
    for option, path in outputs.items():
        if option == "--plot" or path != STDOUT:
            check_output(path, PICTURES if option == "--plot" else TABLES, option)


def list_written(*paths: str | None) -> list[str]:
    """Return the paths that name files: neither None nor stdout."""
    return [path for path in paths if path is not None and path != STDOUT]


def find_free_name(name: str) -> str:
    """Return a file name that no file has: `name`, or with a number before the suffix."""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}-{number}"), number + 1
    return str(path)


def check_inputs(*paths: str | None, data: str | None = None) -> None:
    """Raise an error, before anything is imported, if a file does not exist; `data` may be a folder."""
    for path in (data, *paths):
        if path is not None and path != STDOUT and not (path is data and os.path.isdir(path)):
            with open(path, "rb"):
                pass


def _is_special(path: str) -> bool:
    """Return True if the path exists and is not a file: a pipe, /dev/null, or a shell's >(command)."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_output(path: str | None, endings: tuple[str, ...], option: str, *, links: bool = False) -> None:
    """Raise an error, before any work, if no file can be written at `path`; None is no file.

    A symbolic link is rejected unless `links` is true, because its target may be the user's data.
    """
    if path is None:
        return
    if os.path.islink(path) and not links and not _is_special(path):
        raise click.BadParameter(
            f"{path!r} is a symbolic link to {os.path.realpath(path)!r}. Give another file name, or the name "
            "of that file to replace it.",
            param_hint=f"'{option}'",
        )
    if Path(path).suffix.lower() not in endings and not _is_special(path):
        raise click.BadParameter(
            f"expected a file name that ends with {' or '.join(endings)}; got {path!r}.",
            param_hint=f"'{option}'",
        )
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileFormatError(
            f"{path!r} cannot be written: there is no folder {str(folder)!r}. Create it first."
        )
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if (suffix := Path(path).suffix.lower()) in _WRITERS:
        from likewise._optional import require

        package, extra = _WRITERS[suffix]
        require(package, extra=extra)


def check_distinct(outputs: Mapping[str, str | None], inputs: list[str], *, as_json: bool = False) -> None:
    """Raise an error if an output is also an input or another output; JSON documents go to stdout."""
    if as_json and outputs.get("--out") == STDOUT:
        raise click.UsageError("--json and --out - both write to stdout; give --out a file.")
    seen = {os.path.realpath(path): "a file that is read" for path in inputs if path != STDOUT}
    read = [_get_file_identity(path) for path in inputs]
    folders = [real for real in seen if os.path.isdir(real)]
    for option, path in outputs.items():
        if path is None or path == STDOUT or _is_special(path):
            continue
        real = os.path.realpath(path)
        also = seen.get(real)
        if also is None and (found := _get_file_identity(path)) is not None and found in read:
            also = "a file that is read, by another name"
        if also is None and real.endswith(".parquet") and any(Path(real).is_relative_to(f) for f in folders):
            also = "in the folder that is read"
        if also is not None:
            raise click.UsageError(f"{option} {path!r} is also {also}. Give it another name.")
        seen[real] = f"the file of {option}"


def _get_file_identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file; - stands for the file from which stdin is redirected."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == STDOUT else os.stat(path)
    except (OSError, ValueError, AttributeError):  # missing file, or stdin is not a file
        return None
    return found.st_dev, found.st_ino
