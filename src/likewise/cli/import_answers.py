"""``likewise import-answers``: import earlier answers, labels and hints into a studio project."""

from __future__ import annotations

from dataclasses import asdict

import click

from likewise.cli._output import Command, check_inputs, make_console, print_json
from likewise.cli._projects import add_project_options, open_project


@click.command("import-answers", cls=Command)
@add_project_options
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
def command(
    project: str,
    db: str | None,
    file: str,
    annotator: str | None,
    format_: str | None,
    encoding: str,
    raw: bool,
    as_json: bool,
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
    check_inputs(file)

    from likewise.studio.imports import import_answers

    with open_project(project, db) as found:
        done = import_answers(
            found.store,
            found.project.items.get_ids(),
            file,
            annotator=annotator,
            format=format_,
            encoding=encoding,
            raw=raw,
        )
    if as_json:
        print_json({"project": project, "file": file, **asdict(done)})
    stderr = make_console()
    known = done.n_read - done.n_new
    stderr.print(f"read        {done.n_read:,} answers from {done.form}")
    stderr.print(f"imported    {done.n_new:,}{f'; {known:,} existed already' if known else ''}")
    if done.n_names:
        stderr.print(f"named       {done.n_names:,} groups")
    if done.people:
        stderr.print(f"people      new: {', '.join(done.people)}")
    for note in done.notes:
        stderr.print(f"note: {note}", style="yellow")
