"""``likewise compare-hints``: compare the value of pair and triplet questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _output as output
from likewise.exceptions import FileFormatError

if TYPE_CHECKING:
    from likewise.tables import RawTable

IDS = ("id", "index", "key", "row", "name")  # columns that are not labels unless --column says so


def _parse_shares(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"expected numbers such as .5,.3,.2; got {value!r}.") from None


_chance = click.FloatRange(0, 1)
_time = click.FloatRange(0, min_open=True)


@click.command("compare-hints", cls=output.Command)
@click.argument("labels", type=click.Path(allow_dash=True), required=False)
@click.option("--column", metavar="COLUMN", help="The column of labels, if there are several columns.")
@click.option(
    "--classes", type=click.IntRange(min=1), help="Instead of LABELS: number of classes of equal size."
)
@click.option(
    "--shares", callback=_parse_shares, metavar="P,Q,R", help="Instead of LABELS: the share of each class."
)
@click.option("--noise-pair", type=_chance, default=0.0, help="Share of wrong answers to pairs.")
@click.option("--noise-triplet", type=_chance, default=0.0, help="Share of wrong answers to triplets.")
@click.option("--seconds-pair", type=_time, help="Time per answer to a pair.")
@click.option("--seconds-triplet", type=_time, help="Time per answer to a triplet.")
@click.option("--no-header", is_flag=True, help="The CSV file has no header; columns are f0, f1 and so on.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")
@click.option("--plot", type=click.Path(), help="Plot bits by number of classes: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON document.")
def command(
    labels: str | None,
    column: str | None,
    classes: int | None,
    shares: tuple[float, ...] | None,
    no_header: bool,
    encoding: str,
    plot: str | None,
    as_json: bool,
    **costs: Any,
) -> None:
    """Compare the value of pair and triplet questions.

    Counts the classes in a column of LABELS (CSV, Parquet or .npy; - is stdin) and computes how many bits of
    information about them one answer gives, for pairs ("do these two belong together?") and for triplets
    ("which two of these three do?"). People answer triplets more slowly and make more errors; set the options
    to what you know about your annotators.

    \b
    Examples:
      likewise compare-hints labels.csv --column species
      likewise compare-hints --classes 13 --noise-pair .1 --noise-triplet .2
      likewise compare-hints --shares .5,.3,.2 --seconds-pair 4 --seconds-triplet 7 --plot bits.png
    """
    if sum(given is not None for given in (labels, classes, shares)) != 1:
        raise click.UsageError("give exactly one of LABELS, --classes and --shares.")
    if column is not None and labels is None:
        raise click.UsageError("--column refers to a column of LABELS; give that file, too.")
    if labels is not None:
        output.check_inputs(labels)
        output.check_distinct({"--plot": plot}, [labels])
    output.check_output(plot, output.PICTURES, "--plot")

    from likewise.evaluation import compare_hints

    notes: list[str] = []
    if labels is None:
        found = compare_hints(shares=shares if classes is None else [1 / classes] * classes, **costs)
    else:
        from likewise.tables import read_columns

        raw = read_columns(labels, header=not no_header, encoding=encoding)
        name = _find_column(raw, column)
        known = [text for text in raw.get_texts(name) if text is not None]
        if not known:
            raise FileFormatError(f"{raw.path}: expected labels in the column {name!r}; it is empty.")
        notes.append(f"{len(known):,} labels of the column {name!r} were counted.")
        if len(known) < raw.n_rows:
            notes.append(f"{raw.n_rows - len(known):,} row(s) without a label were left out.")
        if len(set(known)) == len(known) > 1:
            notes.append("no label occurs twice; the column may hold ids. Choose another with --column.")
        found = compare_hints(known, **costs)
    if plot is not None:
        from likewise.plotting import InformationDisplay

        with output.Outputs() as outputs:
            outputs.add(plot, InformationDisplay.from_classes(marked=found).save)
    wrote = [] if plot is None else [plot]
    if as_json:
        output.print_json({**found.as_dict(), "wrote": wrote, "notes": notes})
        return
    click.echo(str(found))
    output.print_notes(notes, wrote)


def _find_column(raw: RawTable, asked: str | None) -> str:
    """Return the column of labels: the given one, or the only column that does not hold ids."""
    shown = ", ".join(map(repr, raw.names[:8])) + (", …" if len(raw.names) > 8 else "")
    if asked is not None:
        if asked not in raw.names:
            raise click.BadParameter(
                f"{raw.path} has no column {asked!r}; it has {shown}.", param_hint="'--column'"
            )
        return asked
    others = [name for name in raw.names if name.casefold() not in IDS] or list(raw.names)
    if len(others) > 1:
        raise click.UsageError(
            f"{raw.path} has several columns ({shown}); choose the column of labels with --column."
        )
    return others[0]
