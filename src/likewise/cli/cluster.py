"""``likewise cluster``: cluster a table of rows with hints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _options as opt
from likewise.cli import _output as output
from likewise.cli._methods import (
    DEFAULT,
    METHODS,
    MethodOptions,
    is_blockwise,
    make_estimator,
    prepare_hints,
    report_by_ids,
)

if TYPE_CHECKING:
    from likewise.cli._parquet_source import ParquetSource
    from likewise.cli._report import Report
    from likewise.supervision import Bags, Supervision
    from likewise.tables import RowIds

# Names of features that may be ids: what they identify, and the option for such a column.
_ID_COLUMNS = {
    **dict.fromkeys(("id", "index", "key", "row"), ("rows", "--id")),
    "bag": ("bags", "--bag-column"),
}


def _parse_shape(value: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*([1-9]\d*)\s*[x×,]\s*([1-9]\d*)\s*", value.lower())
    if match is None:
        raise click.BadParameter(f"expected height and width, such as 8x8; got {value!r}.")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options of the command."""

    data: str | None = opt.argument(type=click.Path(allow_dash=True), required=False)
    parquet: str | None = opt.option(
        "--parquet",
        metavar="PATH|URL",
        help="The rows, instead of DATA: a Parquet file, a folder of them, or a URL. They are read in "
        "blocks.",
    )
    scheduler: str | None = opt.option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --parquet: the Dask scheduler to use, such as tcp://10.0.0.5:8786.",
    )
    memory_limit: int | None = opt.option(
        "--memory-limit",
        type=opt.parse_bytes,
        metavar="SIZE",
        help="With --parquet: maximum memory for one block, such as 200MB.",
    )
    clusters: int = opt.integer("-k", "--clusters", least=1, required=True, help="The number of clusters.")
    hints: tuple[str, ...] = opt.path(
        "--hints", multiple=True, help="A file of hints; may be given several times."
    )
    method: str = opt.choice(
        "--method",
        values=METHODS,
        default=DEFAULT,
        help="The clustering method. constrained-k-means and seeded-k-means use labels, discriminative and "
        "mini-batch-discriminative links and triplets, sss-vad triplets, bag-spectral bags, labels and "
        "links, spectral-reg must-links, k-means no hints, and the others links.",
    )
    parameters: MethodOptions
    as_links: bool = opt.flag("--as-links", help="Convert labels, triplets and bags to links first.")
    bags: str | None = opt.path(
        "--bags", help="A table of the labels of bags: bag,labels, such as r1,wren;owl."
    )
    bag_column: str | None = opt.column(
        "--bag-column", help="The column of bags in DATA.  [default: bag, with --bags]"
    )
    table: opt.TableOptions
    standardize: bool = opt.standardize()
    truth: str | None = opt.column(
        "--truth", help="A column of true classes, used only to score the clustering."
    )
    seed: int = opt.seed()
    out: str | None = opt.option(
        "--out", type=output.OutputPath(), help="Write the labels: .csv, .parquet, .jsonl or -."
    )
    plot: str | None = opt.path("--plot", help="Plot clusters and links: .png, .svg or .pdf.")
    image_shape: tuple[int, int] | None = opt.option(
        "--image-shape",
        type=_parse_shape,
        metavar="HxW",
        help="With --plot for bag-spectral: show rows as images of this size, such as 8x8.",
    )
    bag_report: str | None = opt.path(
        "--bag-report", help="Write a report on each bag: .csv, .parquet or .jsonl."
    )
    as_json: bool = opt.flag("--json", help="Print everything as one JSON document.")
    quiet: bool = opt.flag("-q", "--quiet", help="Print no summary.")

    def check(self) -> None:
        """Raise an error, before any work, for options or files that do not fit together."""
        if self.method == "k-means" and (self.hints or self.bags):
            raise click.UsageError(
                "--method k-means uses no hints; leave --hints and --bags out, or choose another method."
            )
        if self.image_shape is not None and (self.plot is None or self.method != "bag-spectral"):
            raise click.UsageError("--image-shape is for --plot with --method bag-spectral.")
        if (self.data is None) == (self.parquet is None):
            raise click.UsageError("pass the rows either as DATA or with --parquet.")
        if self.parquet is not None:
            self._check_parquet()
        elif self.scheduler or self.memory_limit:
            given = "--scheduler" if self.scheduler else "--memory-limit"
            raise click.UsageError(f"{given} is for rows given with --parquet.")
        read = [path for path in (*self.hints, self.bags, self.table.embeddings) if path is not None]
        tables = {"--out": self.out, "--bag-report": self.bag_report}
        folders = [] if self.parquet is None else [self.parquet]
        output.check_files(read, tables, self.plot, as_json=self.as_json, data=self.data, folders=folders)
        if self.parquet is not None and self.as_json and self.out is None:
            raise click.UsageError("--json with --parquet omits the labels; give a file for them with --out.")

    def _check_parquet(self) -> None:
        """Raise an error for options that rows in blocks do not support."""
        if self.scheduler and self.memory_limit:
            raise click.UsageError(
                "--memory-limit limits this process; set the limit of Dask workers on their side."
            )
        in_memory = {
            "--bags": self.bags,
            "--bag-column": self.bag_column,
            "--bag-report": self.bag_report,
            "--standardize": self.standardize,
            "--truth": self.truth,
            "--plot": self.plot,
            "--no-header": self.table.no_header,
            "--text": self.table.text,
            "--image": self.table.image,
            "--audio": self.table.audio,
            "--embeddings": self.table.embeddings,
            "--features-from": self.table.features_from != "auto",
        }
        if given := [name for name, value in in_memory.items() if value]:
            raise click.UsageError(
                f"{given[0]} needs the rows in memory, and --parquet reads them in blocks. Give the file as "
                "DATA if it fits in memory."
            )
        if not is_blockwise(self.method):
            able = ", ".join(name for name in METHODS if is_blockwise(name))
            raise click.UsageError(
                f"--parquet reads rows in blocks, which --method {self.method} does not support. These do: "
                f"{able}. Or give the file as DATA if it fits in memory."
            )


@click.command("cluster", cls=output.Command)
@opt.collect_options(ClusterOptions)
def command(asked: ClusterOptions) -> None:
    """Cluster rows, texts, pictures or sounds, following hints.

    DATA is a CSV, Parquet or .npy file, a folder of pictures or sounds, or - for stdin. A CSV file has a
    header; all its columns must be numbers, except those given with --id, --truth and --bag-column. With
    --text, --image, --audio or --embeddings they need not be: the features are then computed from that
    column, or read from that file. Labels are written as id,cluster to --out, or to stdout; a summary goes
    to stderr. The same command gives the same labels. For rows that do not fit in memory, use --parquet
    instead of DATA and a method that reads rows in blocks.

    \b
    Examples:
      likewise cluster data.csv -k 3 --hints hints.csv --out labels.csv
      likewise cluster data.csv -k 3 --id name --drop notes --standardize --plot clusters.png
      likewise cluster data.csv -k 3 --hints known.csv --method seeded-k-means --json
      likewise cluster tickets.csv -k 8 --text message --hints hints.csv --out labels.csv
      likewise cluster photos/ -k 8 --hints hints.csv --out labels.csv
      likewise cluster data.csv -k 3 --embeddings vectors.npy --hints hints.csv --out labels.csv
      likewise cluster data.csv -k 3 --hints hints.csv --method gm-pr --covariance diag
      likewise cluster rows.csv -k 5 --method bag-spectral --bags bags.csv --bag-column bag --plot bags.png
      likewise cluster --parquet rows/ -k 9 --id name --hints hints.csv --out labels.parquet
      likewise cluster --parquet s3://lab/rows -k 9 --scheduler tcp://10.0.0.5:8786 --out labels.csv
    """
    asked.check()
    options = asked.parameters.make_parameters(asked.method)

    method, clusters, out = asked.method, asked.clusters, asked.out
    prints_labels = not asked.as_json and (out is None or out == output.STDOUT)
    wrote = output.list_written(out, asked.plot, asked.bag_report)
    source: TableSource | ParquetSource
    with (
        output.gather_warnings() as notes,
        output.show_progress(4, quiet=asked.quiet) as step,
        ExitStack() as stack,
    ):
        if asked.parquet is None:
            source = TableSource(asked, step)
        else:
            from likewise.cli._parquet_source import open_parquet

            source = stack.enter_context(open_parquet(asked, asked.parquet, step))
        output.check_n_clusters(clusters, source.n_rows)
        all_hints = source.read_hints()
        used = prepare_hints(all_hints, method, clusters, asked.as_links, options)
        step("clustering")
        model = make_estimator(method, clusters, asked.seed, options)
        if source.callbacks:
            model.set_callbacks(*source.callbacks)
        with report_by_ids(used, source.ids, method) as contradiction:
            model.fit(source.X, **({"supervision": used} if used.kinds else {}))  # k-means takes none
        report = source.make_report(model, used, all_hints.bags)
        if wrote:
            _write_files(asked, source, model, report, step)
        else:
            step("writing")
        if prints_labels and source.writes_blocks:
            source.write_labels(model, None)
    notes += [*contradiction, *source.notes]
    if asked.as_json:
        output.print_json({**report.as_dict(), **source.describe(options), "wrote": wrote, "notes": notes})
    elif prints_labels and not source.writes_blocks:
        source.write_labels(model, None)
    if not asked.quiet:
        stderr = output.make_console()
        for line in report.format_lines():
            stderr.print(line, style="red" if line.lstrip().startswith("violated:") else None)
        if notes or wrote:
            output.print_notes(notes, map(Path, wrote))


def _write_files(
    asked: ClusterOptions, source: TableSource | ParquetSource, model: Any, report: Report, step: output.Step
) -> None:
    """Write the plot, the report on bags and the labels, all or none of them."""
    with output.Outputs() as outputs:
        if asked.plot is not None:
            step("drawing")
            outputs.add(asked.plot, _draw_picture(source.X, report, model, asked.image_shape).save)
        step("writing")
        if asked.bag_report is not None and report.bags is not None:
            outputs.add_table(asked.bag_report, report.bags.make_columns())
        if asked.out is not None and asked.out != output.STDOUT:
            outputs.add(asked.out, lambda part: source.write_labels(model, part))


class TableSource:
    """The rows of a table in memory."""

    writes_blocks = False
    callbacks: Sequence[Any] = ()
    ids: RowIds
    n_rows: int

    def __init__(self, asked: ClusterOptions, step: output.Step) -> None:
        from likewise.tables import standardize_columns

        assert asked.data is not None
        step("reading")
        self._asked, self._path = asked, asked.data
        # The column of bags is called bag if only the labels of bags are given.
        self._bag_column = "bag" if asked.bags is not None and asked.bag_column is None else asked.bag_column
        self._table = asked.table.read_table(
            self._path,
            seed=asked.seed,
            progress=lambda done, n: step(f"computing features: {done:,} of {n:,}", within=True),
            truth=asked.truth,
            bag=self._bag_column,
        )
        self.ids, self.n_rows = self._table.ids, len(self._table.X)
        self.X = standardize_columns(self._table.X) if asked.standardize else self._table.X
        found = [(name, _ID_COLUMNS.get(name.casefold())) for name in self._table.feature_names]
        notes = [
            f"the column {name!r} is used as a feature. If it identifies {role[0]}, pass {role[1]} {name}."
            for name, role in found
            if role is not None
        ]
        self.notes: Sequence[str] = [*self._table.notes, *notes]

    def read_hints(self) -> Supervision:
        """Read the hints and the bags."""
        asked, column = self._asked, self._bag_column
        hints = asked.table.read_hints(asked.hints, self.ids, data=self._path)
        if column is not None:
            from likewise.cli._bag_report import read_bag_hints

            cells, encoding = self._table.kept[column], asked.table.hints_encoding
            hints |= read_bag_hints(asked.bags, cells, encoding=encoding, column=column)
        if asked.bag_report is not None and hints.bags is None:
            raise click.UsageError("--bag-report needs bags; give their column with --bag-column.")
        if asked.as_links and (count := int((hints.answers == 3).sum())):
            neither = f"{count} triplet(s) with the answer NEITHER give no links and are left out."
            self.notes = [*self.notes, neither]
        return hints

    def make_report(self, model: Any, hints: Supervision, bags: Bags | None) -> Report:
        """Return the report on all rows, with the contents of each cluster if they are shown."""
        from likewise.cli._report import Report, list_contents, make_labels_table

        asked, table = self._asked, self._table
        contents = list_contents(model, self.X, table) if asked.as_json or not asked.quiet else None
        report = Report.from_model(asked.method, model, table, hints, asked.truth, bags, contents)
        self._labels = make_labels_table(self.ids, report.labels, getattr(model, "class_of_cluster_", ()))
        return report

    def write_labels(self, model: Any, path: Path | None) -> None:
        """Write the labels to a file, or as CSV to stdout."""
        from likewise.tables import format_csv, write_table

        if path is None:
            output.write_stdout(format_csv(self._labels))
        else:
            write_table(path, self._labels)

    def describe(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the source, the options and, if there is no file for them, the labels."""
        asked, labels = self._asked, self._labels
        listed = [dict(zip(labels, row, strict=True)) for row in zip(*labels.values(), strict=True)]
        return {
            "data": asked.data,
            "hint_files": list(asked.hints),
            "bag_file": asked.bags,
            "seed": asked.seed,
            "standardize": asked.standardize,
            **options,
            "labels": listed if asked.out is None else None,
        }


def _draw_picture(X: Any, report: Report, model: Any, image_shape: tuple[int, int] | None) -> Any:
    from likewise.plotting import BagDisplay, ClusterDisplay

    title = f"{report.method}, {report.n_clusters} clusters"
    names = report.table.feature_names
    if any(name is not None for name in getattr(model, "class_of_cluster_", ())):
        rows = X if image_shape is None else report.table.X  # images are shown unscaled
        shape = {"image_shape": image_shape, "feature_names": names, "title": title}
        return BagDisplay.from_estimator(model, rows, report.hints, **shape)
    return ClusterDisplay.from_predictions(
        X, report.labels, supervision=report.hints, feature_names=names, title=title
    )
