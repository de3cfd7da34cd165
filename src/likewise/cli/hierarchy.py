"""``likewise hierarchy``: learn the tree behind tags, and find missing tags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import _check_encoding, parse_names
from likewise.cli._output import (
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_distinct,
    check_inputs,
    check_output,
    gather_warnings,
    make_console,
    print_json,
    show_progress,
    write_stdout,
)
from likewise.cli.cluster import PICTURES
from likewise.exceptions import LikewiseWarning

if TYPE_CHECKING:
    from likewise.cli._tags import Tags
    from likewise.cli._tree_report import TreeReport
    from likewise.hierarchy import LabelHierarchy
    from likewise.supervision import RowIds

PAGE = ".html"
TREES = (".json", ".csv", ".nwk", ".newick", ".graphml")
_READS_BADLY = 150  # with more labels, an HTML page is easier to read than a picture


class MissingRate(click.ParamType):
    """``auto``, ``shared``, ``per-label``, or a number."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        """Return the given word, or the rate as a number."""
        if isinstance(value, float) or value in ("auto", "shared", "per-label"):
            return value  # type: ignore[no-any-return]
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not 0.0 <= rate < 1.0:
            self.fail(
                f"expected auto, shared, per-label or a rate such as 0.2; got {value!r}.",
                param,
                ctx,
            )
        return rate


@click.command("hierarchy", cls=Command)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--labels", type=click.Path(), help="A table of the tags: id and 0/1 columns, or id,label.")
@click.option(
    "--label-columns", callback=parse_names, metavar="A,B,C", help="Columns of DATA that are 0/1 labels."
)
@click.option("--separator", default=";", show_default=True, help="Separator of labels within a cell.")
@click.option("--text", metavar="COLUMN", multiple=True, help="A column of text; may be given several times.")
@click.option(
    "--components",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Number of features to compute from the text.",
)
@click.option(
    "--features",
    callback=parse_names,
    metavar="A,B,C",
    help="Columns of numbers, or a .npy file with one row per row of DATA. By default all other columns; "
    "none with --text.",
)
@click.option(
    "--id",
    "id_column",
    metavar="COLUMN",
    help="The column of ids. By default the first column of the tags if DATA has it too; otherwise rows are "
    "numbered 0, 1, 2 and so on.",
)
@click.option("--drop", callback=parse_names, metavar="A,B,C", help="Columns to leave out.")
@click.option("--no-header", is_flag=True, help="DATA has no header; columns are f0, f1 and so on.")
@click.option(
    "--encoding",
    callback=_check_encoding,
    default="utf-8",
    show_default=True,
    help="Encoding of a CSV DATA file.",
)
@click.option(
    "--labels-encoding",
    callback=_check_encoding,
    default="utf-8",
    show_default=True,
    help="Encoding of a CSV file of tags or of edges.",
)
@click.option("--standardize", is_flag=True, help="Give every feature mean 0 and variance 1.")
@click.option("--hierarchy", "given", type=click.Path(), help="A known tree; only the rest is learned.")
@click.option("--fixed", type=click.Path(), help="Edges that the tree must have: parent,child.")
@click.option("--forbidden", type=click.Path(), help="Edges that the tree must not have: parent,child.")
@click.option(
    "--structure",
    type=click.Choice(["tree", "dag"]),
    default="tree",
    show_default=True,
    help="Whether a label may have several parents (dag).",
)
@click.option(
    "--missing-rate",
    type=MissingRate(),
    default="auto",
    show_default=True,
    help="Share of tags that are missing: one rate shared by all labels, one per-label, auto, or a known "
    "rate such as 0.2.",
)
@click.option("--max-iter", type=click.IntRange(min=1), help="Maximum number of EM iterations.")
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**32 - 1),
    default=0,
    help="Random seed.  [default: 0]",
)
@click.option("--truth", type=click.Path(), help="The true tree, to compare with.")
@click.option(
    "--out",
    type=OutputPath(),
    help="Write the tree: .json, .csv, .nwk, .graphml, or - (JSON on stdout).",
)
@click.option("--plot", type=click.Path(), help="Plot the tree: .png, .svg, .pdf, or .html for large trees.")
@click.option("--html", type=click.Path(), help="Write the tree as a page with collapsible branches: .html.")
@click.option("--missing-plot", type=click.Path(), help="Plot the missing rate of each label.")
@click.option(
    "--suggest", type=click.Path(), help="Write labels that may be missing: .csv, .parquet, .jsonl."
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Maximum number of suggestions per row.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(min=0, max=1),
    default=0.1,
    show_default=True,
    help="Suggest only labels with at least this probability.",
)
@click.option("--all", "whole", is_flag=True, help="Print the whole tree, even if it is large.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
def command(
    data: str,
    labels: str | None,
    label_columns: tuple[str, ...] | None,
    separator: str,
    text: tuple[str, ...],
    components: int,
    features: tuple[str, ...] | None,
    id_column: str | None,
    drop: tuple[str, ...] | None,
    no_header: bool,
    encoding: str,
    labels_encoding: str,
    standardize: bool,
    given: str | None,
    fixed: str | None,
    forbidden: str | None,
    structure: str,
    missing_rate: str | float,
    max_iter: int | None,
    seed: int,
    truth: str | None,
    out: str | None,
    plot: str | None,
    html: str | None,
    missing_plot: str | None,
    suggest: str | None,
    top: int,
    at_least: float,
    whole: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn the tree behind incomplete tags, and complete them.

    DATA is a CSV, Parquet or .npy file of items, or - for stdin. The tags are a second table with the ids of
    the items and a column of 0 and 1 for each label; or one tag per line; or all labels of an item in one
    cell, separated by ";". A tag that is not recorded may still be true: the report estimates how often, and
    --suggest lists probable ones.

    \b
    Examples:
      likewise hierarchy items.csv --labels tags.csv --text description --out tree.json --plot tree.png
      likewise hierarchy items.csv --labels tags.csv --text description --suggest suggestions.csv --top 3
      likewise hierarchy items.csv --label-columns red,green,blue --standardize --html tree.html
      likewise hierarchy items.csv --labels tags.csv --features embeddings.npy --fixed known.csv --json
    """
    if (labels is None) == (label_columns is None):
        raise click.UsageError(
            "give the tags either as a file with --labels or as columns of DATA with --label-columns."
        )
    if given is not None and (fixed is not None or forbidden is not None):
        raise click.UsageError("--hierarchy fixes the whole tree; leave --fixed and --forbidden out.")
    if not separator:
        raise click.UsageError("expected a separator of labels, such as ';'; got an empty --separator.")
    drawn = {"--plot": plot, "--html": html, "--missing-plot": missing_plot}
    read = [path for path in (labels, given, fixed, forbidden, truth) if path is not None]
    read += [name for name in features or () if name.lower().endswith(".npy")]
    if as_json and out == STDOUT:
        raise click.UsageError("--json and --out - both write to stdout; give --out a file.")
    _check_files(data, read, out, drawn, suggest, structure)

    from likewise.cli._data_tables import get_ids, standardize_columns
    from likewise.cli._item_features import FeatureOptions, build_items
    from likewise.cli._known_edges import read_known, read_tree
    from likewise.cli._raw_tables import read_raw
    from likewise.cli._tree_report import TreeReport
    from likewise.cli._write import write_table
    from likewise.hierarchy import write_hierarchy
    from likewise.hierarchy._json import compose

    with gather_warnings() as notes, show_progress(4, quiet=quiet) as step, Outputs() as outputs:
        step("reading")
        raw = read_raw(data, header=not no_header, encoding=encoding)
        table = None if labels is None else _read_labels(labels, labels_encoding)
        if id_column is None and table is not None:
            id_column = _find_shared_id(raw, table, drop or ())
        wanted = FeatureOptions.from_options(
            features,
            id=id_column,
            text=text,
            drop=drop or (),
            labels=label_columns or (),
            components=components,
        )
        items = build_items(raw, wanted, seed=seed)
        ids = get_ids(raw, id_column)
        tags = _read_tags(raw, table, ids, id_column, label_columns, separator)
        true, true_notes = (None, []) if truth is None else read_tree(truth, tags, "--truth")
        known, more = read_known(fixed, forbidden, tags, labels_encoding)
        tree, yet = (None, []) if given is None else read_tree(given, tags, "--hierarchy")
        if tree is not None and not tree.is_tree:
            _check_not_newick(out)
        step("learning")
        X = standardize_columns(items.X) if standardize else items.X
        options = {"structure": structure, "missing_rate": missing_rate, "random_state": seed}
        options |= {} if max_iter is None else {"max_iter": max_iter}
        model = _fit(X, tags, known if tree is None else tree, options)
        report = TreeReport(model, tags, ids, items, true)
        suggested = report.make_suggestions(X, top, at_least) if suggest is not None else None
        step("writing")
        if out is not None and out != STDOUT:
            outputs.add(out, lambda part: write_hierarchy(report.tree, part))
        for option, path in drawn.items():
            if path is not None:
                outputs.add(path, _make_writer(option, path, report))
        if suggest is not None and suggested is not None:
            outputs.add(suggest, lambda part: write_table(part, suggested))
    notes[:0] = [*items.notes, *tags.notes, *true_notes, *more, *yet]
    notes += _find_missing_letters(drawn, report)
    notes += _draw_long_picture(plot, report.tree)
    wrote = [path for path in (out, *drawn.values(), suggest) if path is not None and path != STDOUT]
    if as_json:
        asked = {"data": data, "labels_file": labels, "seed": seed, "standardize": standardize}
        asked |= {"structure": structure, "id_column": id_column}
        n_suggested = None if suggested is None else len(suggested["id"])
        print_json({**asked, **report.as_dict(), "n_suggested": n_suggested, "wrote": wrote, "notes": notes})
        return
    if out == STDOUT:
        write_stdout(compose(report.tree))
    if quiet:
        return
    for line in report.format_lines(
        labels, id_column, whole=whole, fixed_rate=isinstance(missing_rate, float)
    ):
        click.echo(line, err=out == STDOUT)
    if suggested is not None:
        counts = f"{len(suggested['id']):,} suggestions for {len(set(suggested['id'])):,} rows"
        click.echo(counts, err=out == STDOUT)
    stderr = make_console()
    for note in notes:
        stderr.print(f"note: {note}", style="yellow")
    for path in wrote:
        stderr.print(f"wrote {Path(path)}")


# ---------------------------------------------------------------------- reading


def _check_not_newick(out: str | None) -> None:
    if out is not None and Path(out).suffix.lower() in (".nwk", ".newick"):
        raise click.UsageError("a Newick file cannot contain a dag; end the name of --out with .json.")


def _check_files(
    data: str,
    read: list[str],
    out: str | None,
    drawn: dict[str, str | None],
    suggest: str | None,
    structure: str,
) -> None:
    """Raise an error before any work if a file cannot be read or written."""
    from likewise._optional import require
    from likewise.cli._write import ENDINGS, check_writer

    check_inputs(data, *read)
    check_distinct({"--out": out, **drawn, "--suggest": suggest}, [data, *read])
    if out is not None and out != STDOUT:
        check_output(out, TREES, "--out")
        if structure == "dag":
            _check_not_newick(out)
        if Path(out).suffix.lower() == ".graphml":
            require("networkx", extra="graphs")
    endings = {"--plot": (*PICTURES, PAGE), "--html": (PAGE,), "--missing-plot": PICTURES}
    for option, path in drawn.items():
        if path is not None:
            check_output(path, endings[option], option)
            require("jinja2" if Path(path).suffix.lower() == PAGE else "matplotlib", extra="plot")
    if suggest is not None:
        check_output(suggest, ENDINGS, "--suggest")
        check_writer(suggest)


def _read_labels(path: str, encoding: str) -> Any:
    from likewise.cli._raw_tables import read_raw

    if path == STDOUT:
        raise click.UsageError("--labels must be a file; only DATA can be read from stdin.")
    return read_raw(path, encoding=encoding, encoding_option="--labels-encoding")


def _find_shared_id(raw: Any, table: Any, dropped: tuple[str, ...]) -> str | None:
    from likewise.cli._tags import find_shared_id

    return find_shared_id(raw, table, dropped)


def _read_tags(
    raw: Any,
    table: Any,
    ids: RowIds,
    id_column: str | None,
    columns: tuple[str, ...] | None,
    separator: str,
) -> Tags:
    from likewise.cli._tags import read_tag_columns, read_tag_table

    if columns is not None:
        return read_tag_columns(raw, columns)
    return read_tag_table(table, ids, id_column=id_column, separator=separator, data=raw.path)


# ---------------------------------------------------------------------- learning and plotting


def _fit(X: Any, tags: Tags, hierarchy: Any, options: dict[str, Any]) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from likewise.cli._tags import LabelTable
    from likewise.multilabel import LatentHierarchyClassifier

    model = LatentHierarchyClassifier(hierarchy, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, LabelTable(tags.Y, tags.names))
    for warned in caught:
        message = warned.message
        if issubclass(warned.category, ConvergenceWarning):
            text = f"EM did not converge in {model.max_iter} iterations; increase --max-iter."
            message = LikewiseWarning(text, parameter="max_iter")
        warnings.warn(message, stacklevel=2)
    return model


def _make_writer(option: str, path: str, report: TreeReport) -> Any:
    """Return the function that writes a picture or a page to a file."""
    title = f"{len(report.tags.names)} labels of {len(report.ids):,} rows"
    if Path(path).suffix.lower() == PAGE:
        from likewise.plotting import write_hierarchy_html

        return lambda part: write_hierarchy_html(report.tree, part, title=title)
    from likewise.plotting import HierarchyDisplay, MissingRateDisplay

    if option == "--missing-plot":
        return lambda part: _save_quietly(MissingRateDisplay.from_estimator(report.model, title=title), part)
    return lambda part: _save_quietly(HierarchyDisplay.from_hierarchy(report.tree, title=title), part)


def _save_quietly(display: Any, part: Path) -> None:
    """Save a picture without a warning for each character that the font lacks; a note counts them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        display.save(part)


def _find_missing_letters(drawn: Mapping[str, str | None], report: TreeReport) -> list[str]:
    """Return a note on the characters that the font of the pictures lacks."""
    if all(path is None or Path(path).suffix.lower() == PAGE for path in drawn.values()):
        return []
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties())).get_charmap()
    lacking = {letter for name in report.tree.names for letter in name if ord(letter) not in known}
    if not lacking:
        return []
    return [f"the font of the picture lacks {len(lacking)} character(s); --html shows all of them."]


def _draw_long_picture(plot: str | None, tree: LabelHierarchy) -> list[str]:
    if plot is None or Path(plot).suffix.lower() == PAGE or tree.n_labels <= _READS_BADLY:
        return []
    return [
        f"a picture of {tree.n_labels} labels is long; an HTML page is easier to read: --plot "
        f"{Path(plot).stem}{PAGE}."
    ]
