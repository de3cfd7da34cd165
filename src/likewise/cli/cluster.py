"""``likewise cluster``: cluster a table of rows with hints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._methods import DEFAULT, METHODS, build_options, is_blockwise, make_estimator
from likewise.cli._options import add_table_options, make_column_roles, parse_bytes, read_all_hints
from likewise.cli._output import (
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_distinct,
    check_inputs,
    check_output,
    gather_warnings,
    print_json,
    show_progress,
    write_stdout,
)
from likewise.exceptions import FileFormatError

if TYPE_CHECKING:
    from likewise.cli._report import Report
    from likewise.supervision import Supervision

PICTURES = (".png", ".svg", ".pdf")


def _parse_shape(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    match = re.fullmatch(r"\s*([1-9]\d*)\s*[x×,]\s*([1-9]\d*)\s*", value.lower())
    if match is None:
        raise click.BadParameter(f"expected height and width, such as 8x8; got {value!r}.")
    return int(match[1]), int(match[2])


@click.command("cluster", cls=Command)
@click.argument("data", type=click.Path(allow_dash=True), required=False)
@click.option(
    "--parquet",
    metavar="PATH|URL",
    help="The rows, instead of DATA: a Parquet file, a folder of them, or a URL. They are read in blocks.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --parquet: the Dask scheduler to use, such as tcp://10.0.0.5:8786.",
)
@click.option(
    "--memory-limit",
    callback=parse_bytes,
    metavar="SIZE",
    help="With --parquet: maximum memory for one block, such as 200MB.",
)
@click.option("-k", "--clusters", type=click.IntRange(min=1), required=True, help="The number of clusters.")
@click.option(
    "--hints", type=click.Path(), multiple=True, help="A file of hints; may be given several times."
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default=DEFAULT,
    show_default=True,
    help="The clustering method. constrained-k-means and seeded-k-means use labels, discriminative and "
    "mini-batch-discriminative links and triplets, sss-vad triplets, bag-spectral bags, labels and links, "
    "spectral-reg must-links, k-means no hints, and the others links.",
)
@click.option("--metric", type=click.Choice(["full", "diagonal"]), help="The kind of metric to learn.")
@click.option("--per-cluster", is_flag=True, help="Learn a metric for each cluster.")
@click.option(
    "--covariance",
    type=click.Choice(["full", "tied", "diag", "spherical"]),
    help="The covariance type of a mixture of Gaussians.",
)
@click.option(
    "--tau",
    type=click.FloatRange(min=0),
    help="Weight of the mutual-information term (method discriminative).",
)
@click.option(
    "--affinity",
    type=click.Choice(["local", "rbf", "neighbors"]),
    help="Similarity of rows in spectral methods. local: RBF with a width per row; rbf: one width; "
    "neighbors: nearest neighbours.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(min=1),
    help="Number of neighbours of each row in the graph; by default 10 for bag-spectral and propagation "
    "(fewer with few rows), and for the others all rows up to 4,000, 30 neighbours above.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(min=0),
    help="Weight of the bags in bag-spectral; by default 1.5, less if not all bags are labelled, and 0.7 for "
    "the variants of the paper.",
)
@click.option(
    "--variant",
    type=click.Choice(["propagated", "labelled", "exact", "printed"]),
    help="How bag-spectral uses bags; by default propagated. The others are the variants of the paper.",
)
@click.option(
    "--drop-cannot", is_flag=True, help="Method spectral-reg: drop cannot-links, which it cannot use."
)
@click.option("--n-init", type=click.IntRange(min=1), help="Number of starts, of which the best is used.")
@click.option("--max-iter", type=click.IntRange(min=1), help="Maximum number of iterations of one start.")
@click.option("--as-links", is_flag=True, help="Convert labels, triplets and bags to links first.")
@click.option(
    "--bags", type=click.Path(), help="A table of the labels of bags: bag,labels, such as r1,wren;owl."
)
@click.option(
    "--bag-column", metavar="COLUMN", help="The column of bags in DATA.  [default: bag, with --bags]"
)
@add_table_options
@click.option("--standardize", is_flag=True, help="Give every feature mean 0 and variance 1.")
@click.option(
    "--truth", metavar="COLUMN", help="A column of true classes, used only to score the clustering."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**32 - 1),
    default=0,
    help="Random seed.  [default: 0]",
)
@click.option("--out", type=OutputPath(), help="Write the labels: .csv, .parquet, .jsonl or -.")
@click.option("--plot", type=click.Path(), help="Plot clusters and links: .png, .svg or .pdf.")
@click.option(
    "--image-shape",
    callback=_parse_shape,
    metavar="HxW",
    help="With --plot for bag-spectral: show rows as images of this size, such as 8x8.",
)
@click.option("--bag-report", type=click.Path(), help="Write a report on each bag: .csv, .parquet or .jsonl.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print no summary.")
def command(
    data: str | None,
    parquet: str | None,
    scheduler: str | None,
    memory_limit: int | None,
    clusters: int,
    hints: tuple[str, ...],
    method: str,
    metric: str | None,
    per_cluster: bool,
    covariance: str | None,
    tau: float | None,
    affinity: str | None,
    neighbors: int | None,
    alpha: float | None,
    variant: str | None,
    drop_cannot: bool,
    n_init: int | None,
    max_iter: int | None,
    as_links: bool,
    bags: str | None,
    bag_column: str | None,
    id_column: str | None,
    features: tuple[str, ...] | None,
    drop: tuple[str, ...] | None,
    no_header: bool,
    encoding: str,
    hints_encoding: str,
    standardize: bool,
    truth: str | None,
    seed: int,
    out: str | None,
    plot: str | None,
    image_shape: tuple[int, int] | None,
    bag_report: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Cluster a table of rows, following hints.

    DATA is a CSV, Parquet or .npy file, or - for stdin. A CSV file has a header; all its columns must be
    numbers, except those given with --id, --truth and --bag-column. Labels are written as id,cluster to
    --out, or to stdout; a summary goes to stderr. The same command gives the same labels. For rows that do
    not fit in memory, use --parquet instead of DATA and a method that reads rows in blocks.

    \b
    Examples:
      likewise cluster data.csv -k 3 --hints hints.csv --out labels.csv
      likewise cluster data.csv -k 3 --id name --drop notes --standardize --plot clusters.png
      likewise cluster data.csv -k 3 --hints known.csv --method seeded-k-means --json
      likewise cluster data.csv -k 3 --hints hints.csv --method gm-pr --covariance diag
      likewise cluster rows.csv -k 5 --method bag-spectral --bags bags.csv --bag-column bag --plot bags.png
      likewise cluster --parquet rows/ -k 9 --id name --hints hints.csv --out labels.parquet
      likewise cluster --parquet s3://lab/rows -k 9 --scheduler tcp://10.0.0.5:8786 --out labels.csv
    """
    if method == "k-means" and (hints or bags):
        raise click.UsageError(
            "--method k-means uses no hints; leave --hints and --bags out, or choose another method."
        )
    if image_shape is not None and (plot is None or method != "bag-spectral"):
        raise click.UsageError("--image-shape is for --plot with --method bag-spectral.")
    if bags is not None and bag_column is None:
        bag_column = "bag"
    if as_json and out == STDOUT:
        raise click.UsageError("--json and --out - both write to stdout; give --out a file.")
    if (data is None) == (parquet is None):
        raise click.UsageError("pass the rows either as DATA or with --parquet.")
    in_memory = {
        "--bags": bags,
        "--bag-column": bag_column,
        "--bag-report": bag_report,
        "--standardize": standardize,
        "--truth": truth,
        "--plot": plot,
        "--no-header": no_header,
    }
    of_files = {"--scheduler": scheduler, "--memory-limit": memory_limit}
    _check_way(method, parquet, in_memory, of_files)
    others = (*hints, *([bags] if bags else []))
    _check_files(data, others, {"--out": out, "--bag-report": bag_report}, plot, parquet)
    options = build_options(
        method,
        n_init=n_init,
        max_iter=max_iter,
        metric=metric,
        per_cluster=per_cluster or None,
        covariance_type=covariance,
        tau=tau,
        affinity=affinity,
        n_neighbors=neighbors,
        alpha=alpha,
        variant=variant,
        cannot="drop" if drop_cannot else None,
    )

    columns = make_column_roles(id_column, features, drop, truth, bag_column)
    if parquet is not None:
        from likewise.cli._parquet_cluster import ParquetOptions, cluster_files

        asked_of = ParquetOptions(
            parquet, columns, clusters, method, options, hints, hints_encoding, as_links, seed
        )
        cluster_files(asked_of, scheduler, memory_limit, out, as_json=as_json, quiet=quiet)
        return
    assert data is not None

    from likewise.cli._bag_report import read_bag_hints
    from likewise.cli._data_tables import read_table, standardize_columns
    from likewise.cli._fitting import fit_by_ids, select_hints
    from likewise.cli._report import Report, make_labels_table, print_report
    from likewise.cli._write import format_csv, write_table

    with gather_warnings() as notes, show_progress(4, quiet=quiet) as step, Outputs() as outputs:
        step("reading")
        table = read_table(data, columns, header=not no_header, encoding=encoding)
        if clusters > len(table.ids):
            raise FileFormatError(f"{clusters} clusters need at least as many rows; got {len(table.ids)}.")
        all_hints = read_all_hints(hints, table.ids, encoding=hints_encoding, id_column=id_column, path=data)
        if bag_column is not None:
            cells = table.kept[bag_column]
            all_hints |= read_bag_hints(bags, cells, encoding=hints_encoding, column=bag_column)
        if bag_report is not None and all_hints.bags is None:
            raise click.UsageError("--bag-report needs bags; give their column with --bag-column.")
        used = select_hints(all_hints, method, clusters, as_links, options)
        step("clustering")
        X = standardize_columns(table.X) if standardize else table.X
        model = make_estimator(method, clusters, seed, options)
        contradiction = fit_by_ids(model, X, used, table.ids, method)
        shown = X if as_json or not quiet else None
        report = Report.from_model(method, model, table, used, truth, all_hints.bags, shown)
        labels = make_labels_table(table.ids, report.labels, getattr(model, "class_of_cluster_", ()))
        if plot is not None:
            step("drawing")
            picture = _draw_picture(X, report, model, image_shape)
            outputs.add(plot, picture.save)
        if bag_report is not None:
            assert report.bags is not None
            by_bag = report.bags.make_columns()
            outputs.add(bag_report, lambda part: write_table(part, by_bag))
        if out is not None and out != STDOUT:
            outputs.add(out, lambda part: write_table(part, labels))
        step("writing")
    notes += [
        *contradiction,
        *_warn_of_id_columns(table.feature_names),
        *(_warn_of_neither(all_hints) if as_links else []),
    ]
    wrote = [path for path in (out, plot, bag_report) if path is not None and path != STDOUT]
    if as_json:
        asked = {"data": data, "hint_files": list(hints), "bag_file": bags, "seed": seed}
        asked |= {"standardize": standardize, **options}
        listed = [dict(zip(labels, row, strict=True)) for row in zip(*labels.values(), strict=True)]
        in_document = {"labels": listed if out is None else None}
        print_json({**report.as_dict(), **asked, **in_document, "wrote": wrote, "notes": notes})
    elif out is None or out == STDOUT:
        write_stdout(format_csv(labels))
    if not quiet:
        print_report(report, notes, wrote)


def _check_way(method: str, parquet: str | None, in_memory: dict[str, Any], of_files: dict[str, Any]) -> None:
    """Raise an error for options of DATA given with --parquet, or the reverse, before anything is read."""
    if parquet is None:
        if given := [option for option, value in of_files.items() if value]:
            raise click.UsageError(f"{given[0]} is for rows given with --parquet.")
        return
    if all(of_files.values()):
        raise click.UsageError(
            "--memory-limit limits this process; set the limit of Dask workers on their side."
        )
    if given := [option for option, value in in_memory.items() if value]:
        raise click.UsageError(
            f"{given[0]} needs the rows in memory, and --parquet reads them in blocks. Give the file as DATA "
            "if it fits in memory."
        )
    if not is_blockwise(method):
        able = ", ".join(name for name in METHODS if is_blockwise(name))
        raise click.UsageError(
            f"--parquet reads rows in blocks, which --method {method} does not support. These do: {able}. "
            "Or give the file as DATA if it fits in memory."
        )


def _check_files(
    data: str | None,
    hints: tuple[str, ...],
    tables: dict[str, str | None],
    plot: str | None,
    parquet: str | None,
) -> None:
    """Raise an error before any work if a file cannot be read or written."""
    from likewise._optional import require
    from likewise.cli._write import ENDINGS, check_writer

    inputs = [*([] if data is None else [data]), *hints]
    check_inputs(*inputs)
    check_distinct({**tables, "--plot": plot}, [*inputs, *([] if parquet is None else [parquet])])
    for option, path in tables.items():
        if path is not None and path != STDOUT:
            check_output(path, ENDINGS, option)
            check_writer(path)
    if plot is not None:
        check_output(plot, PICTURES, "--plot")
        require("matplotlib", extra="plot")


def _warn_of_neither(all_hints: Supervision) -> list[str]:
    """Return a note on triplets with the answer NEITHER, which no link can express."""
    count = int((all_hints.answers == 3).sum())
    return [f"{count} triplet(s) with the answer NEITHER give no links and are left out."] * bool(count)


def _warn_of_id_columns(names: tuple[str, ...]) -> list[str]:
    """Return a note for each feature that looks like a column of ids or of bags."""
    options = {
        **dict.fromkeys(("id", "index", "key", "row"), ("rows", "--id")),
        "bag": ("bags", "--bag-column"),
    }
    found = [(name, *options[name.casefold()]) for name in names if name.casefold() in options]
    return [
        f"the column {name!r} is used as a feature. If it identifies {what}, pass {option} {name}."
        for name, what, option in found
    ]


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
