"""Commands about studio projects: ``likewise export``, ``import-answers`` and ``report``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from likewise.cli import _output as output
from likewise.exceptions import FileFormatError

if TYPE_CHECKING:
    from likewise.studio.exports import Format, What
    from likewise.studio.project import Project
    from likewise.studio.report import ReportData
    from likewise.studio.store import Store

F = TypeVar("F", bound=Callable[..., Any])
_WHAT = ("labels", "hints", "answers")
_FORMATS = ("csv", "jsonl", "parquet")


def _add_project_options(function: F) -> F:
    """Give a command the argument PROJECT and the option --db."""
    function = click.option(
        "--db", metavar="URL", help="The project's PostgreSQL database, with its password: postgresql://…"
    )(function)
    return click.argument("project", type=click.Path())(function)


@contextmanager
def _open_project(path: str, database: str | None) -> Iterator[tuple[Project, Store]]:
    """Open a project and its store for the duration of a block; a studio may be running on it.

    `path` is the folder of the project or the path of its data.
    """
    from likewise.studio.project import Project, get_default_folder
    from likewise.studio.store import open_store

    given = Path(path)
    beside = get_default_folder(given)
    places = [given, beside, beside.with_name(f"{given.name}{beside.suffix}")]
    found = next((place for place in places if (place / "project.json").exists()), None)
    if found is None and given.suffix == beside.suffix and given.is_dir():
        found = given  # opening it raises an error with the reason
    if found is None:
        raise FileFormatError(
            f"there is no project at {path!r}, nor beside it at {beside.name!r}. Create one with: likewise "
            f"studio {path}"
        )
    project = Project.open(found, database=database)
    store = open_store(project.database_url, backups=project.backups)
    try:
        yield project, store
    finally:
        store.close()
        project.items.close()


# ---------------------------------------------------------------------- export


@click.command("export", cls=output.Command)
@_add_project_options
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
    type=output.OutputPath(),
    default=output.STDOUT,
    metavar="PATH",
    help="The file or, with --what all, the folder, which is created if necessary.  [default: - for stdout]",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Do not escape cells that look like formulas. Do not open such a CSV file in a spreadsheet.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as one JSON document.")
def export(
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
    several = what == "all"
    wanted = cast("tuple[What, ...]", _WHAT if several else (what,))
    ending = Path(out).suffix.lower().removeprefix(".")
    format = format_ or "csv"
    if out != output.STDOUT and not several and ending in _FORMATS:
        if format_ not in (None, ending):
            raise click.UsageError(f"--format {format_} and --out {out!r} disagree; leave --format out.")
        format = ending
    paths = _choose_paths(wanted, format, out, as_json=as_json, several=several)
    if format == "parquet":
        from likewise._optional import require

        require("pyarrow.parquet", extra="scale")

    from likewise.studio.exports import Snapshot, export_bytes
    from likewise.studio.report import DerivedResults

    with _open_project(project, db) as (opened, store):
        snapshot = Snapshot.from_store(store)
        picture = None
        if "labels" in wanted:
            picture = DerivedResults.from_project(opened, snapshot, picture_only=True).picture
        ids = opened.items.get_ids()
    kind = cast("Format", format)
    made = {one: export_bytes(one, snapshot, ids, picture, format=kind, raw=raw) for one in wanted}
    if out == output.STDOUT:
        output.write_stdout(made[wanted[0]])
    else:
        if several:
            Path(out).mkdir(exist_ok=True)
        with output.Outputs() as outputs:
            for one, data in made.items():
                outputs.add(paths[one], lambda part, data=data: part.write_bytes(data))  # type: ignore[misc]
    n_groups = None if picture is None else len(picture.groups)
    if as_json:
        counts = {"items": len(ids), "groups": n_groups, "answers": len(snapshot.answers)}
        output.print_json({"project": project, **counts, "wrote": list(paths.values())})
    stderr = output.make_console()
    groups = "" if n_groups is None else f" in {n_groups:,} groups"
    stderr.print(f"project     {len(ids):,} items{groups}, {len(snapshot.answers):,} answers")
    for path in paths.values():
        stderr.print(f"wrote       {path}")


def _choose_paths(
    wanted: tuple[What, ...], format: str, out: str, *, as_json: bool, several: bool
) -> dict[str, str]:
    """Return the path of each file; raise an error if one cannot be written."""
    if out == output.STDOUT:
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
        folder = out.rstrip("/")
        output.check_output(f"{folder}.{format}", (f".{format}",), "--out")  # checks that its folder exists
        return {one: os.path.join(out, f"{one}.{format}") for one in wanted}
    output.check_output(out, tuple(f".{each}" for each in _FORMATS), "--out")
    return {wanted[0]: out}


# ---------------------------------------------------------------------- import


@click.command("import-answers", cls=output.Command)
@_add_project_options
@click.argument("file", type=click.Path())
@click.option(
    "--annotator",
    metavar="NAME",
    help="Annotator of the answers for which the file has none.  [default: imported]",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "jsonl", "parquet", "xlsx", "interview"]),
    help="The format of FILE.  [default: from its extension]",
)
@click.option(
    "--encoding", default="utf-8", show_default=True, help="The encoding of a CSV or JSON Lines file."
)
@click.option(
    "--raw", is_flag=True, help="FILE was written with --raw: leading apostrophes are part of the ids."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as one JSON document.")
def import_answers(
    project: str, db: str | None, file: str, format_: str | None, as_json: bool, **options: Any
) -> None:
    """Import earlier answers, hints or labels into a studio project.

    FILE is a file written by likewise export, a file of hints or labels (id,label) in the format of likewise
    cluster, or the .ask.json of likewise ask. It is checked first; if it has any error, nothing is imported.
    Importing a file twice adds nothing. A studio may be running on the project; it sees the answers within
    seconds.

    \b
    Examples:
      likewise import-answers birds.likewise earlier.csv --annotator Ann
      likewise import-answers birds birds.ask.json
    """
    output.check_inputs(file)

    from likewise.studio import imports

    with _open_project(project, db) as (opened, store):
        done = imports.import_answers(store, opened.items.get_ids(), file, format=format_, **options)
    if as_json:
        output.print_json({"project": project, "file": file, **asdict(done)})
    stderr = output.make_console()
    known = done.n_read - done.n_new
    stderr.print(f"read        {done.n_read:,} answers from {done.form}")
    stderr.print(f"imported    {done.n_new:,}{f'; {known:,} existed already' if known else ''}")
    if done.n_names:
        stderr.print(f"named       {done.n_names:,} groups")
    if done.people:
        stderr.print(f"people      new: {', '.join(done.people)}")
    for note in done.notes:
        stderr.print(f"note: {note}", style="yellow")


# ---------------------------------------------------------------------- report


@click.command("report", cls=output.Command)
@_add_project_options
@click.option("--html", type=output.OutputPath(), metavar="FILE", help="Write the page here; - for stdout.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON document.")
def report(project: str, db: str | None, html: str | None, as_json: bool) -> None:
    """Write a report on a studio project as an HTML page.

    PROJECT is the folder of a project, such as birds.likewise, or the data that it belongs to. The page shows
    groups with examples, the map, how the groups became stable, agreement, time, contradictions, the hints
    used, how to load the result in Python and, for a study, its tables and figures. It is one file that needs
    no network and runs no scripts.

    \b
    Examples:
      likewise report birds.likewise --html report.html
      likewise report birds --json
    """
    if html is None and not as_json:
        raise click.UsageError("give --html FILE for the page, or --json for the figures.")
    if html == output.STDOUT and as_json:
        raise click.UsageError("--html - and --json both write to stdout; give --html a file.")
    if html != output.STDOUT:
        output.check_output(html, (".html", ".htm"), "--html")

    from threadpoolctl import threadpool_limits

    from likewise.studio.exports import Snapshot
    from likewise.studio.report import DerivedResults, gather, make_report

    # The map and the fits are many short steps, in which other threads mostly wait for one another.
    with _open_project(project, db) as (opened, store), output.show_progress(3) as step, threadpool_limits(1):
        step("reading")
        snapshot = Snapshot.from_store(store)
        step("grouping")
        derived = DerivedResults.from_project(opened, snapshot)
        step("writing")
        data = gather(opened, snapshot, derived)
    if html is not None:
        page = make_report(data).encode()
        if html == output.STDOUT:
            output.write_stdout(page)
        else:
            with output.Outputs() as outputs:
                outputs.add(html, lambda part: part.write_bytes(page))
    if as_json:
        wrote = [html] if html is not None else []
        output.print_json({"project": project, **_collect_figures(data), "wrote": wrote})
    stderr = output.make_console()
    who = "1 person" if len(data.people) == 1 else f"{len(data.people):,} people"
    stderr.print(f"project     {data.title}: {data.n_items:,} items in {data.n_clusters:,} groups")
    stderr.print(f"answers     {f'{data.n_answers:,} by {who}' if data.n_answers else 'none yet'}")
    if data.advice:
        stderr.print(f"            {data.advice}")
    if data.n_conflicts:
        stderr.print(f"contradict  {data.n_conflicts:,} contradiction{'s' * (data.n_conflicts > 1)}")
    for note in data.notes:
        stderr.print(f"note        {note}")
    if html not in (None, output.STDOUT):
        stderr.print(f"wrote       {html}")


def _collect_figures(data: ReportData) -> dict[str, Any]:
    counted = ("n_answers", "n_unsure", "n_shared")
    people = [
        {
            **{name: getattr(one, name) for name in ("name", "role")},
            **{name.removeprefix("n_"): getattr(one, name) for name in counted},
            **{name: getattr(one, name) for name in ("accuracy", "reliability", "seconds")},
        }
        for one in data.people
    ]
    hints = {"together": data.hints.n_must, "apart": data.hints.n_cannot, "triplets": data.hints.n_triplets}
    return {
        "title": data.title,
        "items": data.n_items,
        "groups": [
            {"group": group.number + 1, "name": group.name, "size": group.size} for group in data.groups
        ],
        "answers": data.n_answers,
        "undone": data.n_undone,
        "skipped": data.n_skipped,
        "hints": hints,
        "people": people,
        "agreement": {"shared": data.n_shared, "observed": data.observed, "alpha": data.alpha},
        "contradictions": data.n_conflicts,
        "curve": [list(point) for point in data.curve],
        "advice": data.advice,
        "study": data.study_figures,
        "notes": list(data.notes),
    }
