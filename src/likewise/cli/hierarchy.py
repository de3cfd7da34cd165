"""``likewise hierarchy``: learn the tree behind tags, and find missing tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _options as opt
from likewise.cli import _output as output
from likewise.exceptions import LikewiseWarning

if TYPE_CHECKING:
    from likewise.cli._tags import Tags
    from likewise.cli._tree_report import TreeReport

PAGE = ".html"
_READS_BADLY = 150  # with more labels, an HTML page is easier to read than a picture


def _parse_missing_rate(ctx: click.Context, param: click.Parameter, value: str) -> str | float:
    if value in ("auto", "shared", "per-label"):
        return value
    rate = opt.parse_float(value)
    if not 0.0 <= rate < 1.0:
        raise click.BadParameter(f"expected auto, shared, per-label or a rate such as 0.2; got {value!r}.")
    return rate


@dataclass(frozen=True, kw_only=True)
class HierarchyOptions:
    """The options of the command."""

    data: str = opt.argument(type=click.Path(allow_dash=True))
    labels: str | None = opt.path("--labels", help="A table of the tags: id and 0/1 columns, or id,label.")
    label_columns: tuple[str, ...] | None = opt.columns(
        "--label-columns", help="Columns of DATA that are 0/1 labels."
    )
    separator: str = opt.option(
        "--separator", default=";", show_default=True, help="Separator of labels within a cell."
    )
    text: tuple[str, ...] = opt.column(
        "--text", multiple=True, help="A column of text; may be given several times."
    )
    components: int = opt.integer(
        "--components", least=1, default=100, help="Number of features to compute from the text."
    )
    embeddings: str | None = opt.embeddings()
    features_from: str = opt.features_from(("text",))
    features: tuple[str, ...] | None = opt.columns(
        "--features",
        help="Columns of numbers, or a .npy file with one row per row of DATA. By default all other columns; "
        "none with --text or --embeddings.",
    )
    id_column: str | None = opt.column(
        "--id",
        help="The column of ids. By default the first column of the tags if DATA has it too; otherwise rows "
        "are numbered 0, 1, 2 and so on.",
    )
    drop: tuple[str, ...] | None = opt.columns("--drop", help="Columns to leave out.")
    no_header: bool = opt.flag("--no-header", help="DATA has no header; columns are f0, f1 and so on.")
    encoding: str = opt.encoding_option("--encoding", "Encoding of a CSV DATA file.")
    labels_encoding: str = opt.encoding_option(
        "--labels-encoding", "Encoding of a CSV file of tags or of edges."
    )
    standardize: bool = opt.standardize()
    hierarchy: str | None = opt.path("--hierarchy", help="A known tree; only the rest is learned.")
    fixed: str | None = opt.path("--fixed", help="Edges that the tree must have: parent,child.")
    forbidden: str | None = opt.path("--forbidden", help="Edges that the tree must not have: parent,child.")
    structure: str = opt.choice(
        "--structure",
        values=["tree", "dag"],
        default="tree",
        help="Whether a label may have several parents (dag).",
    )
    missing_rate: str | float = opt.option(
        "--missing-rate",
        callback=_parse_missing_rate,
        metavar="RATE",
        default="auto",
        show_default=True,
        help="Share of tags that are missing: one rate shared by all labels, one per-label, auto, or a known "
        "rate such as 0.2.",
    )
    max_iter: int | None = opt.integer("--max-iter", least=1, help="Maximum number of EM iterations.")
    seed: int = opt.seed()
    truth: str | None = opt.path("--truth", help="The true tree, to compare with.")
    out: str | None = opt.option(
        "--out",
        type=output.OutputPath(),
        help="Write the tree: .json, .csv, .nwk, .graphml, or - (JSON on stdout).",
    )
    plot: str | None = opt.path("--plot", help="Plot the tree: .png, .svg, .pdf, or .html for large trees.")
    html: str | None = opt.path("--html", help="Write the tree as a page with collapsible branches: .html.")
    missing_plot: str | None = opt.path("--missing-plot", help="Plot the missing rate of each label.")
    suggest: str | None = opt.path(
        "--suggest", help="Write labels that may be missing: .csv, .parquet, .jsonl."
    )
    top: int = opt.integer("--top", least=1, default=5, help="Maximum number of suggestions per row.")
    at_least: float = opt.option(
        "--at-least",
        type=click.FloatRange(min=0, max=1),
        default=0.1,
        show_default=True,
        help="Suggest only labels with at least this probability.",
    )
    whole: bool = opt.flag("--all", help="Print the whole tree, even if it is large.")
    as_json: bool = opt.flag("--json", help="Print everything as one JSON document.")
    quiet: bool = opt.flag("-q", "--quiet", help="Print no report.")

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
        if self.features_from != "auto" and not self.text:
            raise click.UsageError(
                "--features-from computes features of texts; give their column with --text."
            )
        if not self.separator:
            raise click.UsageError("expected a separator of labels, such as ';'; got an empty --separator.")
        self._check_files()

    def _check_files(self) -> None:
        from likewise._optional import require

        given = (self.labels, self.hierarchy, self.fixed, self.forbidden, self.truth, self.embeddings)
        read = [self.data, *(path for path in given if path is not None)]
        read += [name for name in self.features or () if name.lower().endswith(".npy")]
        output.check_inputs(*read)
        outputs = {"--out": self.out, **self.drawn, "--suggest": self.suggest}
        output.check_distinct(outputs, read, as_json=self.as_json)
        if self.out != output.STDOUT:
            output.check_output(self.out, (".json", ".csv", ".nwk", ".newick", ".graphml"), "--out")
        if self.structure == "dag":
            _check_not_newick(self.out)
        endings = {"--plot": (*output.PICTURES, PAGE), "--html": (PAGE,), "--missing-plot": output.PICTURES}
        for name, path in self.drawn.items():
            output.check_output(path, endings[name], name)
            if path is not None and Path(path).suffix.lower() == PAGE:
                require("jinja2", extra="plot")
        output.check_output(self.suggest, output.TABLES, "--suggest")


@click.command("hierarchy", cls=output.Command)
@opt.collect_options(HierarchyOptions)
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
      likewise hierarchy items.csv --labels tags.csv --embeddings vectors.npy --fixed known.csv --json
    """
    asked.check()

    from likewise.cli._items import get_cache_folder
    from likewise.cli._tags import (
        build_items,
        find_shared_id,
        read_known,
        read_tag_columns,
        read_tag_table,
        read_tree,
    )
    from likewise.cli._tree_report import TreeReport
    from likewise.hierarchy import write_hierarchy
    from likewise.hierarchy.io import compose_json
    from likewise.tables import get_ids, read_columns, standardize_columns

    out, suggest, id_column = asked.out, asked.suggest, asked.id_column
    with (
        output.gather_warnings() as notes,
        output.show_progress(4, quiet=asked.quiet) as step,
        output.Outputs() as outputs,
    ):
        step("reading")
        raw = read_columns(asked.data, header=not asked.no_header, encoding=asked.encoding)
        table = None if asked.labels is None else _read_labels(asked.labels, asked.labels_encoding)
        if id_column is None and table is not None:
            id_column = find_shared_id(raw, table, asked.drop or ())
        items = build_items(
            raw,
            features=asked.features,
            embeddings=asked.embeddings,
            id=id_column,
            text=asked.text,
            drop=asked.drop or (),
            labels=asked.label_columns or (),
            components=asked.components,
            method=asked.features_from,
            cache=None if asked.data == output.STDOUT else get_cache_folder(asked.data),
            progress=lambda done, n: step(f"computing features: {done:,} of {n:,}", within=True),
            seed=asked.seed,
        )
        ids = get_ids(raw, id_column)
        if table is None:
            tags = read_tag_columns(raw, asked.label_columns or ())
        else:
            tags = read_tag_table(table, ids, id_column=id_column, separator=asked.separator, data=raw.path)
        true, true_notes = (None, []) if asked.truth is None else read_tree(asked.truth, tags, "--truth")
        known, known_notes = read_known(asked.fixed, asked.forbidden, tags, asked.labels_encoding)
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
        if out is not None and out != output.STDOUT:
            outputs.add(out, lambda part: write_hierarchy(report.tree, part))
        for name, path in asked.drawn.items():
            if path is not None:
                outputs.add(path, _make_writer(name, path, report))
        outputs.add_table(suggest, suggested or {})
    notes[:0] = [*items.notes, *tags.notes, *true_notes, *known_notes, *yet]
    notes += _find_missing_letters(asked.drawn, report)
    n_labels, plot = report.tree.n_labels, Path(asked.plot or "")
    if asked.plot is not None and plot.suffix.lower() != PAGE and n_labels > _READS_BADLY:
        long = f"a picture of {n_labels} labels is long; an HTML page is easier to read: --plot"
        notes.append(f"{long} {plot.stem}{PAGE}.")
    wrote = output.list_written(out, *asked.drawn.values(), suggest)
    if asked.as_json:
        result = {"data": asked.data, "labels_file": asked.labels, "seed": asked.seed}
        result |= {"standardize": asked.standardize, "structure": asked.structure, "id_column": id_column}
        result |= {**report.as_dict(), "n_suggested": None if suggested is None else len(suggested["id"])}
        output.print_json({**result, "wrote": wrote, "notes": notes})
        return
    if out == output.STDOUT:
        output.write_stdout(compose_json(report.tree))
    if asked.quiet:
        return
    for line in report.format_lines(
        asked.labels, id_column, whole=asked.whole, fixed_rate=isinstance(asked.missing_rate, float)
    ):
        click.echo(line, err=out == output.STDOUT)
    if suggested is not None:
        counts = f"{len(suggested['id']):,} suggestions for {len(set(suggested['id'])):,} rows"
        click.echo(counts, err=out == output.STDOUT)
    output.print_notes(notes, map(Path, wrote))


# ---------------------------------------------------------------------- reading


def _check_not_newick(out: str | None) -> None:
    if out is not None and Path(out).suffix.lower() in (".nwk", ".newick"):
        raise click.UsageError("a Newick file cannot contain a dag; end the name of --out with .json.")


def _read_labels(path: str, encoding: str) -> Any:
    from likewise.tables import read_columns

    if path == output.STDOUT:
        raise click.UsageError("--labels must be a file; only DATA can be read from stdin.")
    return read_columns(path, encoding=encoding, encoding_option="--labels-encoding")


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


def _make_writer(name: str, path: str, report: TreeReport) -> Any:
    """Return the function that writes a picture or a page to a file."""
    from likewise.plotting import HierarchyDisplay, MissingRateDisplay

    title = f"{len(report.tags.names)} labels of {len(report.ids):,} rows"
    if Path(path).suffix.lower() == PAGE:
        return lambda part: HierarchyDisplay(report.tree).write_html(part, title=title)
    if name == "--missing-plot":
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
