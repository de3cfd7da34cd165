"""``likewise report``: write a report on a studio project as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from likewise.cli._output import (
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_output,
    make_console,
    print_json,
    show_progress,
    write_stdout,
)
from likewise.cli._projects import add_project_options, open_project

if TYPE_CHECKING:
    from likewise.studio.report import ReportData


@click.command("report", cls=Command)
@add_project_options
@click.option("--html", type=OutputPath(), metavar="FILE", help="Write the page here; - for stdout.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON document.")
def command(project: str, db: str | None, html: str | None, as_json: bool) -> None:
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
    if html == STDOUT and as_json:
        raise click.UsageError("--html - and --json both write to stdout; give --html a file.")
    if html is not None and html != STDOUT:
        check_output(html, (".html", ".htm"), "--html")

    from likewise.studio.exports import Snapshot
    from likewise.studio.report import DerivedResults, gather, make_report

    with open_project(project, db) as found, show_progress(3) as step:
        step("reading")
        snapshot = Snapshot.from_store(found.store)
        step("grouping")
        derived = DerivedResults.from_project(found.project, snapshot)
        step("writing")
        data = gather(found.project, snapshot, derived)
    if html is not None:
        page = make_report(data).encode()
        if html == STDOUT:
            write_stdout(page)
        else:
            with Outputs() as outputs:
                outputs.add(html, lambda part: part.write_bytes(page))
    if as_json:
        print_json(_make_figures(data, project, html))
    stderr = make_console()
    for line in _format_lines(data, html):
        stderr.print(line)


def _make_figures(data: ReportData, project: str, html: str | None) -> dict[str, Any]:
    return {
        "project": project,
        "title": data.title,
        "items": data.n_items,
        "groups": [
            {"group": group.number + 1, "name": group.name, "size": group.size} for group in data.groups
        ],
        "answers": data.n_answers,
        "undone": data.n_undone,
        "skipped": data.n_skipped,
        "hints": {
            "together": data.hints.n_must,
            "apart": data.hints.n_cannot,
            "triplets": data.hints.n_triplets,
        },
        "people": [
            {
                "name": one.name,
                "role": one.role,
                "answers": one.n_answers,
                "unsure": one.n_unsure,
                "shared": one.n_shared,
                "accuracy": one.accuracy,
                "reliability": one.reliability,
                "seconds": one.seconds,
            }
            for one in data.people
        ],
        "agreement": {"shared": data.n_shared, "observed": data.observed, "alpha": data.alpha},
        "contradictions": data.n_conflicts,
        "curve": [list(point) for point in data.curve],
        "advice": data.advice,
        "study": data.study_figures,
        "notes": list(data.notes),
        "wrote": [html] if html is not None else [],
    }


def _format_lines(data: ReportData, html: str | None) -> list[str]:
    who = "1 person" if len(data.people) == 1 else f"{len(data.people):,} people"
    lines = [
        f"project     {data.title}: {data.n_items:,} items in {data.n_clusters:,} groups",
        f"answers     {f'{data.n_answers:,} by {who}' if data.n_answers else 'none yet'}",
    ]
    lines += [f"            {data.advice}"] if data.advice else []
    lines += (
        [f"contradict  {data.n_conflicts:,} contradiction{'s' * (data.n_conflicts > 1)}"]
        if data.n_conflicts
        else []
    )
    lines += [f"note        {note}" for note in data.notes]
    lines += [f"wrote       {html}"] if html not in (None, STDOUT) else []
    return lines
