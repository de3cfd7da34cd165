"""``likewise export``: write labels, hints and answers of a studio project to files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from likewise.cli._output import (
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_output,
    make_console,
    print_json,
    write_stdout,
)
from likewise.cli._projects import add_project_options, open_project

if TYPE_CHECKING:
    from likewise.studio.exports import Format, Snapshot, What
    from likewise.studio.project import Project
    from likewise.studio.records import Picture

_WHAT = ("labels", "hints", "answers")
_FORMATS = ("csv", "jsonl", "parquet")


@click.command("export", cls=Command)
@add_project_options
@click.option(
    "--what",
    type=click.Choice([*_WHAT, "all"]),
    default="labels",
    show_default=True,
    help="labels: the group of each item; hints: the answers as hints; answers: every answer, with its "
    "annotator and duration.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="The format.  [default: from the extension of --out, else csv]",
)
@click.option(
    "--out",
    type=OutputPath(),
    default=STDOUT,
    metavar="PATH",
    help="The file or, with --what all, the folder, which is created if necessary.  [default: - for stdout]",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Do not escape cells that look like formulas. Do not open such a CSV file in a spreadsheet.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as one JSON document.")
def command(
    project: str, db: str | None, what: str, format_: str | None, out: str, raw: bool, as_json: bool
) -> None:
    """Write labels, hints or answers of a studio project.

    PROJECT is the folder of a project, such as birds.likewise, or the data that it belongs to. A studio may
    be running on it; all files show the same moment. Read files of hints with likewise cluster or read_hints,
    and files of answers with likewise import-answers.

    In CSV files an apostrophe precedes text that a spreadsheet would interpret as a formula.

    \b
    Examples:
      likewise export birds.likewise --out labels.csv
      likewise export birds --what answers --format jsonl > answers.jsonl
      likewise export birds --what all --format parquet --out results
    """
    wanted = cast("tuple[What, ...]", _WHAT if what == "all" else (what,))
    format = _format(format_, out, several=what == "all")
    paths = _choose_paths(wanted, format, out, as_json=as_json, several=what == "all")
    if format == "parquet":
        from likewise._optional import require

        require("pyarrow.parquet", extra="scale")

    from likewise.studio.exports import Snapshot, export_bytes

    with open_project(project, db) as found:
        snapshot = Snapshot.from_store(found.store)
        picture = _get_picture(found.project, snapshot) if "labels" in wanted else None
        ids = found.project.items.get_ids()
    made = {one: export_bytes(one, snapshot, ids, picture, format=format, raw=raw) for one in wanted}
    if out == STDOUT:
        write_stdout(made[wanted[0]])
    else:
        if what == "all":
            Path(out).mkdir(exist_ok=True)
        with Outputs() as outputs:
            for one, data in made.items():
                outputs.add(paths[one], lambda part, data=data: part.write_bytes(data))  # type: ignore[misc]
    result = {
        "project": project,
        "items": len(ids),
        "groups": None if picture is None else len(picture.groups),
        "answers": len(snapshot.answers),
        "wrote": list(paths.values()),
    }
    if as_json:
        print_json(result)
    _print_summary(result, paths)


def _format(format: str | None, out: str, *, several: bool) -> Format:
    """Return the given format, or the one that the file extension determines."""
    ending = Path(out).suffix.lower().removeprefix(".")
    if out == STDOUT or several or ending not in _FORMATS:
        return cast("Format", format or "csv")
    if format is not None and format != ending:
        raise click.UsageError(f"--format {format} and --out {out!r} disagree; leave --format out.")
    return cast("Format", ending)


def _choose_paths(
    wanted: tuple[What, ...], format: Format, out: str, *, as_json: bool, several: bool
) -> dict[str, str]:
    """Return the path of each file; raise an error if one cannot be written."""
    if out == STDOUT:
        if several:
            raise click.UsageError("three files cannot be written to stdout; give a folder with --out.")
        if as_json:
            raise click.UsageError(
                "--json and the exported file both write to stdout; give the file a name with --out."
            )
        if format == "parquet" and sys.stdout.isatty():
            raise click.UsageError("Parquet cannot be written to a terminal; give a file with --out.")
        return {}
    if several:
        if os.path.exists(out) and not os.path.isdir(out):
            raise click.UsageError(f"--out {out!r} is a file; with --what all give a folder.")
        check_output(
            out.rstrip("/") + f".{format}", (f".{format}",), "--out"
        )  # checks that its folder exists
        return {one: os.path.join(out, f"{one}.{format}") for one in wanted}
    check_output(out, tuple(f".{each}" for each in _FORMATS), "--out")
    return {wanted[0]: out}


def _get_picture(project: Project, snapshot: Snapshot) -> Picture:
    from likewise.studio.report import DerivedResults

    return DerivedResults.from_project(project, snapshot, picture_only=True).picture


def _print_summary(result: dict[str, Any], paths: dict[str, str]) -> None:
    stderr = make_console()
    groups = "" if result["groups"] is None else f" in {result['groups']:,} groups"
    stderr.print(f"project     {result['items']:,} items{groups}, {result['answers']:,} answers")
    for path in paths.values():
        stderr.print(f"wrote       {path}")
