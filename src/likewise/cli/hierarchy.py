"""``likewise hierarchy``: learn the tree behind tags, and find missing tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import (
    STANDARDIZE,
    argument,
    choice_option,
    collect_options,
    column_option,
    columns_option,
    encoding_option,
    flag_option,
    integer_option,
    option,
    path_option,
    seed_option,
)
from likewise.cli._output import (
    PICTURES,
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_distinct,
    check_inputs,
    check_output,
    check_stdout,
    gather_warnings,
    list_written,
    print_json,
    print_notes,
    show_progress,
    write_stdout,
)
from likewise.exceptions import LikewiseWarning

if TYPE_CHECKING:
    from likewise.cli._tags import Tags
    from likewise.cli._tree_report import TreeReport
    from likewise.hierarchy import LabelHierarchy

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


@dataclass(frozen=True, kw_only=True)
class HierarchyOptions:
    """The options of the command."""

    data: str = argument(type=click.Path(allow_dash=True))
    labels: str | None = path_option("--labels", help="A table of the tags: id and 0/1 columns, or id,label.")
    label_columns: tuple[str, ...] | None = columns_option(
        "--label-columns", help="Columns of DATA that are 0/1 labels."
    )
    separator: str = option(
        "--separator", default=";", show_default=True, help="Separator of labels within a cell."
    )
    text: tuple[str, ...] = column_option(
        "--text", multiple=True, help="A column of text; may be given several times."
    )
    components: int = integer_option(
        "--components", least=1, default=100, help="Number of features to compute from the text."
    )
    features: tuple[str, ...] | None = columns_option(
        "--features",
        help="Columns of numbers, or a .npy file with one row per row of DATA. By default all other columns; "
        "none with --text.",
    )
    id_column: str | None = column_option(
        "--id",
        help="The column of ids. By default the first column of the tags if DATA has it too; otherwise rows "
        "are numbered 0, 1, 2 and so on.",
    )
    drop: tuple[str, ...] | None = columns_option("--drop", help="Columns to leave out.")
    no_header: bool = flag_option("--no-header", help="DATA has no header; columns are f0, f1 and so on.")
    encoding: str = encoding_option("--encoding", "Encoding of a CSV DATA file.")
    labels_encoding: str = encoding_option("--labels-encoding", "Encoding of a CSV file of tags or of edges.")
    standardize: bool = flag_option("--standardize", help=STANDARDIZE)
    hierarchy: str | None = path_option("--hierarchy", help="A known tree; only the rest is learned.")
    fixed: str | None = path_option("--fixed", help="Edges that the tree must have: parent,child.")
    forbidden: str | None = path_option(
        "--forbidden", help="Edges that the tree must not have: parent,child."
    )
    structure: str = choice_option(
        "--structure",
        values=["tree", "dag"],
        default="tree",
        help="Whether a label may have several parents (dag).",
    )
    missing_rate: str | float = option(
        "--missing-rate",
        type=MissingRate(),
        default="auto",
        show_default=True,
        help="Share of tags that are missing: one rate shared by all labels, one per-label, auto, or a known "
        "rate such as 0.2.",
    )
    max_iter: int | None = integer_option("--max-iter", least=1, help="Maximum number of EM iterations.")
    seed: int = seed_option()
    truth: str | None = path_option("--truth", help="The true tree, to compare with.")
    out: str | None = option(
        "--out",
        type=OutputPath(),
        help="Write the tree: .json, .csv, .nwk, .graphml, or - (JSON on stdout).",
    )
    plot: str | None = path_option(
        "--plot", help="Plot the tree: .png, .svg, .pdf, or .html for large trees."
    )
    html: str | None = path_option(
        "--html", help="Write the tree as a page with collapsible branches: .html."
    )
    missing_plot: str | None = path_option("--missing-plot", help="Plot the missing rate of each label.")
    suggest: str | None = path_option(
        "--suggest", help="Write labels that may be missing: .csv, .parquet, .jsonl."
    )
    top: int = integer_option("--top", least=1, default=5, help="Maximum number of suggestions per row.")
    at_least: float = option(
        "--at-least",
        type=click.FloatRange(min=0, max=1),
        default=0.1,
        show_default=True,
        help="Suggest only labels with at least this probability.",
    )
    whole: bool = flag_option("--all", help="Print the whole tree, even if it is large.")
    as_json: bool = flag_option("--json", help="Print everything as one JSON document.")
    quiet: bool = flag_option("-q", "--quiet", help="Print no report.")

    @property
    def drawn(self) -> dict[str, str | None]:
        """The pictures and pages to write, by option."""
        return {"--plot": self.plot, "--html": self.html, "--missing-plot": self.missing_plot}

    def check(self) -> None:
        """Raise an error, before any work, for options or files that do not fit together."""
        if (self.labels is None) == (self.label_columns is None):
            raise click.UsageError(
                "give the tags either as a file with --labels or as columns of DATA with --label-columns."
            )
        if self.hierarchy is not None and (self.fixed is not None or self.forbidden is not None):
            raise click.UsageError("--hierarchy fixes the whole tree; leave --fixed and --forbidden out.")
        if not self.separator:
            raise click.UsageError("expected a separator of labels, such as ';'; got an empty --separator.")
        check_stdout(self.out, self.as_json)
        self._check_files()

    def _check_files(self) -> None:
        from likewise._optional import require
        from likewise.cli._write import ENDINGS, check_writer

        given = (self.labels, self.hierarchy, self.fixed, self.forbidden, self.truth)
        read = [self.data, *(path for path in given if path is not None)]
        read += [name for name in self.features or () if name.lower().endswith(".npy")]
        check_inputs(*read)
        check_distinct({"--out": self.out, **self.drawn, "--suggest": self.suggest}, read)
        if self.out is not None and self.out != STDOUT:
            check_output(self.out, TREES, "--out")
            if self.structure == "dag":
                _check_not_newick(self.out)
            if Path(self.out).suffix.lower() == ".graphml":
                require("networkx", extra="graphs")
        endings = {"--plot": (*PICTURES, PAGE), "--html": (PAGE,), "--missing-plot": PICTURES}
        for name, path in self.drawn.items():
            if path is not None:
                check_output(path, endings[name], name)
                require("jinja2" if Path(path).suffix.lower() == PAGE else "matplotlib", extra="plot")
        if self.suggest is not None:
            check_output(self.suggest, ENDINGS, "--suggest")
            check_writer(self.suggest)


@click.command("hierarchy", cls=Command)
@collect_options(HierarchyOptions)
def command(asked: HierarchyOptions) -> None:
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
    asked.check()

    from likewise.cli._data_tables import get_ids, standardize_columns
    from likewise.cli._item_features import FeatureOptions, build_items
    from likewise.cli._known_edges import read_known, read_tree
    from likewise.cli._raw_tables import read_raw
    from likewise.cli._tags import find_shared_id, read_tag_columns, read_tag_table
    from likewise.cli._tree_report import TreeReport
    from likewise.cli._write import write_table
    from likewise.hierarchy import write_hierarchy
    from likewise.hierarchy._json import compose

    out, suggest, id_column = asked.out, asked.suggest, asked.id_column
    with gather_warnings() as notes, show_progress(4, quiet=asked.quiet) as step, Outputs() as outputs:
        step("reading")
        raw = read_raw(asked.data, header=not asked.no_header, encoding=asked.encoding)
        table = None if asked.labels is None else _read_labels(asked.labels, asked.labels_encoding)
        if id_column is None and table is not None:
            id_column = find_shared_id(raw, table, asked.drop or ())
        wanted = FeatureOptions.from_options(
            asked.features,
            id=id_column,
            text=asked.text,
            drop=asked.drop or (),
            labels=asked.label_columns or (),
            components=asked.components,
        )
        items = build_items(raw, wanted, seed=asked.seed)
        ids = get_ids(raw, id_column)
        if table is None:
            tags = read_tag_columns(raw, asked.label_columns or ())
        else:
            tags = read_tag_table(table, ids, id_column=id_column, separator=asked.separator, data=raw.path)
        true, true_notes = (None, []) if asked.truth is None else read_tree(asked.truth, tags, "--truth")
        known, more = read_known(asked.fixed, asked.forbidden, tags, asked.labels_encoding)
        given = asked.hierarchy
        tree, yet = (None, []) if given is None else read_tree(given, tags, "--hierarchy")
        if tree is not None and not tree.is_tree:
            _check_not_newick(out)
        step("learning")
        X = standardize_columns(items.X) if asked.standardize else items.X
        options = {"structure": asked.structure, "missing_rate": asked.missing_rate}
        options |= {"random_state": asked.seed}
        options |= {} if asked.max_iter is None else {"max_iter": asked.max_iter}
        model = _fit(X, tags, known if tree is None else tree, options)
        report = TreeReport(model, tags, ids, items, true)
        suggested = report.make_suggestions(X, asked.top, asked.at_least) if suggest is not None else None
        step("writing")
        if out is not None and out != STDOUT:
            outputs.add(out, lambda part: write_hierarchy(report.tree, part))
        for name, path in asked.drawn.items():
            if path is not None:
                outputs.add(path, _make_writer(name, path, report))
        if suggest is not None and suggested is not None:
            outputs.add(suggest, lambda part: write_table(part, suggested))
    notes[:0] = [*items.notes, *tags.notes, *true_notes, *more, *yet]
    notes += _find_missing_letters(asked.drawn, report)
    notes += _draw_long_picture(asked.plot, report.tree)
    wrote = list_written(out, *asked.drawn.values(), suggest)
    if asked.as_json:
        result = {"data": asked.data, "labels_file": asked.labels, "seed": asked.seed}
        result |= {"standardize": asked.standardize, "structure": asked.structure, "id_column": id_column}
        result |= {**report.as_dict(), "n_suggested": None if suggested is None else len(suggested["id"])}
        print_json({**result, "wrote": wrote, "notes": notes})
        return
    if out == STDOUT:
        write_stdout(compose(report.tree))
    if asked.quiet:
        return
    for line in report.format_lines(
        asked.labels, id_column, whole=asked.whole, fixed_rate=isinstance(asked.missing_rate, float)
    ):
        click.echo(line, err=out == STDOUT)
    if suggested is not None:
        counts = f"{len(suggested['id']):,} suggestions for {len(set(suggested['id'])):,} rows"
        click.echo(counts, err=out == STDOUT)
    print_notes(notes, map(Path, wrote))


# ---------------------------------------------------------------------- reading


def _check_not_newick(out: str | None) -> None:
    if out is not None and Path(out).suffix.lower() in (".nwk", ".newick"):
        raise click.UsageError("a Newick file cannot contain a dag; end the name of --out with .json.")


def _read_labels(path: str, encoding: str) -> Any:
    from likewise.cli._raw_tables import read_raw

    if path == STDOUT:
        raise click.UsageError("--labels must be a file; only DATA can be read from stdin.")
    return read_raw(path, encoding=encoding, encoding_option="--labels-encoding")


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
