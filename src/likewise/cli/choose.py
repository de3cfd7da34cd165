"""``likewise choose``: choose the number of clusters and the method from hints alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._methods import LINKS, METHODS, check_honoured, find_methods, list_terms, make_estimator
from likewise.cli._options import (
    STANDARDIZE,
    TableOptions,
    argument,
    choice_option,
    collect_options,
    flag_option,
    integer_option,
    option,
    path_option,
    seed_option,
)
from likewise.cli._output import (
    STDOUT,
    Command,
    OutputPath,
    Outputs,
    check_files,
    check_n_clusters,
    check_stdout,
    gather_warnings,
    get_program_name,
    ignore_failed_fits,
    list_written,
    make_console,
    print_json,
    print_notes,
    show_progress,
    write_stdout,
)
from likewise.exceptions import UnsupportedSupervisionError, render

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.supervision import RowIds, Supervision

SHOWN = 15
# The methods compared by default, if they use the hints. Simpler methods come first, since ties are listed in
# this order.
USUAL = (
    "seeded-k-means",
    "constrained-k-means",
    "pck-means",
    "mpck-means",
    "discriminative",
    "gm-pr",
    "em-pc",
)


class Counts(click.ParamType):
    """Numbers of clusters: ``4``, ``2:12`` (both ends included), ``2,3,5``, or ``2:4,8``."""

    name = "counts"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the distinct numbers in ascending order."""
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            low, colon, high = part.strip().partition(":")
            try:
                first, last = int(low), int(high) if colon else int(low)
            except ValueError:
                self.fail(f"expected numbers such as 4, 2:12 or 2,3,5; got {value!r}.", param, ctx)
            if first < 1 or last < first:
                self.fail(f"expected numbers of clusters of at least 1; got {part.strip()!r}.", param, ctx)
            found.update(range(first, last + 1))
        return tuple(sorted(found))


class Methods(click.ParamType):
    """Names of methods, separated by commas."""

    name = "methods"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        unknown = [name for name in names if name not in METHODS]
        if unknown or not names:
            self.fail(
                f"there is no method {unknown[0] if unknown else ''!r}; expected one of {_list(METHODS)}."
            )
        return names


def _list(names: Any) -> str:
    return ", ".join(names)


def _refuse_bags(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "likewise choose does not support bags: it holds out links, triplets and labels of rows, and a "
            "bag gives no information about a single row. Compare methods with likewise cluster --bags and "
            "--truth, or give links."
        )


@dataclass(frozen=True, kw_only=True)
class ChooseOptions:
    """The options of the command."""

    data: str = argument(type=click.Path(allow_dash=True))
    hints: tuple[str, ...] = argument(type=click.Path(), nargs=-1, required=True)
    clusters: tuple[int, ...] = option(
        "-k",
        "--clusters",
        type=Counts(),
        default="2:8",
        show_default=True,
        metavar="NUMBERS",
        help="The numbers of clusters to try: 4, 2:12 (both ends included), 2,3,5.",
    )
    methods: tuple[str, ...] | None = option(
        "--methods",
        type=Methods(),
        metavar="A,B,C",
        help="The methods to compare; by default the usual ones that use these hints. Add k-means, which "
        "uses no hints, to see what the hints contribute.",
    )
    cv: int = integer_option("--cv", least=2, default=5, help="Number of folds.")
    repeats: int | None = integer_option(
        "--repeats",
        least=1,
        help="Number of times the hints are split into folds; by default 3, or 1 for a single method.",
    )
    scoring: str = choice_option(
        "--scoring",
        values=["auto", "accuracy", "agreement", "balanced-accuracy", "log-score"],
        default="auto",
        help="Score for predictions of held-out hints; auto is agreement if few pairs are must-links, else "
        "accuracy.",
    )
    one_standard_error: bool = flag_option(
        "--one-standard-error", help="Choose the fewest clusters within one standard error of the best."
    )
    as_links: bool = flag_option(
        "--as-links", help="Convert hints to links for methods that do not use them directly."
    )
    table: TableOptions
    standardize: bool = flag_option("--standardize", help=STANDARDIZE)
    seed: int = seed_option("Random seed of the folds and the fits.")
    jobs: int = integer_option("--jobs", least=1, default=1, help="Number of parallel fits.")
    out: str | None = option(
        "--out", type=OutputPath(), help="Write all results: .csv, .parquet, .jsonl or -."
    )
    plot: str | None = path_option(
        "--plot", help="Plot the scores by number of clusters: .png, .svg or .pdf."
    )
    as_json: bool = flag_option("--json", help="Print everything as one JSON document.")
    quiet: bool = flag_option("-q", "--quiet", help="Show no progress and print no notes.")


@click.command("choose", cls=Command)
@click.option("--bags", hidden=True, expose_value=False, callback=_refuse_bags)
@click.option("--bag-column", hidden=True, expose_value=False, callback=_refuse_bags)
@collect_options(ChooseOptions)
def command(asked: ChooseOptions) -> None:
    """Choose method and number of clusters by held-out hints.

    No true classes are needed. The hints of the HINTS files are split into folds. Each method is fitted with
    each number of clusters on all folds but one, and predicts the hints of that fold. Hints that the others
    imply do not count. Among methods that the hints hardly distinguish, the simpler one, which comes first in
    --methods, is chosen. The table is sorted by score; the last line is the command to run next.

    \b
    Examples:
      likewise choose data.csv hints.csv -k 2:12
      likewise choose data.csv hints.csv -k 2:12 --methods mpck-means,gm-pr,k-means --plot choice.png
      likewise choose data.csv pairs.csv triplets.csv -k 2,3,5 --as-links --out table.csv --json
    """
    check_stdout(asked.out, asked.as_json)
    check_files([asked.data, *asked.hints], {"--out": asked.out}, asked.plot)

    from likewise.cli._data_tables import standardize_columns
    from likewise.cli._write import format_csv, write_table
    from likewise.evaluation import HintSearchCV

    clusters, out, quiet = asked.clusters, asked.out, asked.quiet
    with gather_warnings() as notes, Outputs() as outputs:
        table = asked.table.read_table(asked.data, asked.table.make_roles())
        notes.names = table.ids
        check_n_clusters(clusters[-1], len(table.ids))
        all_hints = asked.table.read_hints(asked.hints, table.ids, data=asked.data)
        names = _select_methods(asked.methods, all_hints, asked.as_links)
        X = standardize_columns(table.X) if asked.standardize else table.X
        grid = {"n_clusters": list(clusters)}
        n_repeats = asked.repeats or (3 if len(names) > 1 else 1)
        search = HintSearchCV(
            [(name, make_estimator(name, clusters[0], asked.seed, {}), grid) for name in names],
            cv=asked.cv,
            n_repeats=n_repeats,
            scoring=asked.scoring.replace("-", "_"),
            rule="one_standard_error" if asked.one_standard_error else "simplest_method",
            refit=False,
            as_links=asked.as_links,
            n_jobs=asked.jobs,
            random_state=asked.seed,
        )
        with show_progress(len(names) * len(clusters) * asked.cv * n_repeats, quiet=quiet) as step:
            search.set_params(progress=_make_progress_callback(step, quiet))
            with ignore_failed_fits():
                search.fit(X, supervision=all_hints)
        rows = _make_rows(search)
        if asked.plot is not None:
            outputs.add(asked.plot, _draw_picture(search).save)
        cells = {name: [row[name] for row in rows] for name in rows[0]}
        if out is not None and out != STDOUT:
            outputs.add(out, lambda part: write_table(part, cells))
    notes += _format_failures(search, table.ids)
    best = next(row for row in rows if row["chosen"])
    todo = _suggest_command(best, all_hints, asked)
    wrote = list_written(out, asked.plot)
    if asked.as_json:
        print_json(
            {
                "data": asked.data,
                "hint_files": list(asked.hints),
                "seed": asked.seed,
                "folds": asked.cv,
                "repeats": n_repeats,
                "scoring": search.scoring_.replace("_", "-"),
                "n_scored": search.n_scored_,
                "n_implied": search.n_implied_,
                "best": best,
                "ties": _find_ties(search),
                "results": rows,
                "next": todo,
                "wrote": wrote,
                "notes": notes,
            }
        )
        return
    if out == STDOUT:
        write_stdout(format_csv(cells))
    if out != STDOUT or not quiet:
        _print_result(rows, search, todo, make_console(stderr=out == STDOUT))
    if not quiet:
        print_notes(notes, wrote)


def _select_methods(asked: tuple[str, ...] | None, hints: Supervision, as_links: bool) -> tuple[str, ...]:
    """Return the methods to compare; raise an error if one of them cannot use the hints."""
    if asked is None:
        fitting = {*find_methods(hints.kinds), *(find_methods(LINKS) if as_links else ())}
        usual = tuple(name for name in USUAL if name in fitting)
        if not usual:
            raise UnsupportedSupervisionError(
                f"no method uses {' and '.join(sorted(hints.kinds))} directly. Add --as-links to convert "
                "them to links."
            )
        return usual
    for name in asked:
        if METHODS[name].uses and not (as_links and METHODS[name].uses >= LINKS):
            check_honoured(name, hints.kinds)
    return asked


def _make_progress_callback(step: Callable[[str], None], quiet: bool) -> Callable[[int, int], None]:
    """Return a callback that moves the bar or, if stderr is not a terminal, prints at most ten lines."""
    step("fitting")
    prints_lines = not quiet and not sys.stderr.isatty()

    def show(n_done: int, n_fits: int) -> None:
        step(f"{n_done} of {n_fits} fits")
        if prints_lines and 10 * n_done // n_fits > 10 * (n_done - 1) // n_fits:
            click.echo(f"{n_done} of {n_fits} fits", err=True)

    return show


def _format_failures(search: Any, ids: RowIds) -> list[str]:
    results = search.cv_results_
    failed = [
        (str(method), int(n_clusters), error)
        for method, n_clusters, error in zip(
            results["method"], results["n_clusters"], results["exception"], strict=True
        )
        if error is not None
    ]
    if not failed:
        return []
    method, n_clusters, error = min(failed, key=lambda candidate: candidate[:2])
    return [
        f"{len(failed)} of {len(results['method'])} candidates failed. The first is {method} with "
        f"{n_clusters} clusters: {render(error, ids, words=list_terms())}"
    ]


def _make_rows(search: Any) -> list[dict[str, Any]]:
    """Return one row per candidate, the best score first, with plain values."""
    results = search.cv_results_
    order = sorted(range(len(results["rank_test_score"])), key=lambda c: (results["rank_test_score"][c], c))
    return [
        {
            "method": str(results["method"][c]),
            "clusters": int(results["n_clusters"][c]),
            "score": _plain_value(results["mean_test_score"][c]),
            "error": _plain_value(results["error_test_score"][c]),
            "pairs_right": _plain_value(results["pair_accuracy"][c]),
            "triplets_right": _plain_value(results["triplet_accuracy"][c]),
            "seconds": _plain_value(results["mean_fit_time"][c]),
            "chosen": c == search.best_index_,
            "tied": bool(results["tied"][c]),
            "failure": results["failure"][c],
        }
        for c in order
    ]


def _find_ties(search: Any) -> list[dict[str, Any]]:
    """Return the candidates within one standard error of the best, the simplest first."""
    results = search.cv_results_
    return [
        {"method": str(results["method"][c]), "clusters": int(results["n_clusters"][c])}
        for c in search.ties_.tolist()
    ]


def _describe_folds(search: Any) -> str:
    times = f", split {search.n_repeats_} times" if search.n_repeats_ > 1 else ""
    return f"{search.n_splits_} folds{times}"


def _plain_value(value: Any) -> float | None:
    return None if value != value else float(value)


def _draw_picture(search: Any) -> Any:
    from likewise.plotting import ChoiceDisplay

    title = f"{search.n_scored_} held-out hints in {_describe_folds(search)}"
    return ChoiceDisplay.from_search(search, title=title)


def _suggest_command(best: dict[str, Any], all_hints: Supervision, asked: ChooseOptions) -> str:
    """Return the command that clusters with the chosen method and number of clusters."""
    uses = METHODS[best["method"]].uses
    words = [get_program_name(), "cluster", asked.data, "-k", str(best["clusters"])]
    words += ["--method", best["method"]]
    for path in asked.hints if uses else ():
        words += ["--hints", path]
    words += ["--as-links"] if uses and not all_hints.kinds <= uses else []
    words += asked.table.format_options(standardize=asked.standardize)
    if uses and asked.table.hints_encoding != "utf-8":
        words += ["--hints-encoding", asked.table.hints_encoding]
    words += ["--seed", str(asked.seed)] if asked.seed else []
    return shlex.join([*words, "--out", "labels.csv"])


def _print_result(rows: list[dict[str, Any]], search: Any, todo: str, stdout: Console) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    pairs, triplets = (
        any(row[f"{kind}_right"] is not None for row in rows) for kind in ("pairs", "triplets")
    )
    if search.scoring_ == "accuracy" and pairs != triplets:  # the column would repeat the score
        pairs = triplets = False
    table.add_column("method", min_width=max(len(row["method"]) for row in rows), no_wrap=True)
    for name in ("clusters", search.scoring_.replace("_", " "), "±"):
        table.add_column(name, justify="right")
    for name, shown in (("pairs right", pairs), ("triplets right", triplets)):
        if shown:
            table.add_column(name, justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("")
    chosen = next(place for place, row in enumerate(rows) if row["chosen"])
    for row in rows[: max(SHOWN, chosen + 1)]:
        cells = [
            row["method"],
            str(row["clusters"]),
            _format_cell(row["score"], ".3f"),
            _format_cell(row["error"], ".3f"),
        ]
        cells += [_format_cell(row["pairs_right"], ".0%")] if pairs else []
        cells += [_format_cell(row["triplets_right"], ".0%")] if triplets else []
        note = next((word for word in ("chosen", "failure", "tied") if row[word]), "")
        note = "failed" if note == "failure" else note
        table.add_row(
            *cells, _format_cell(row["seconds"], ".2f"), note, style="bold" if row["chosen"] else None
        )
    stdout.print(
        f"{search.n_scored_} held-out hints in {_describe_folds(search)}"
        f" ({search.n_implied_} more follow from others and do not count)"
    )
    stdout.print(table)
    if len(rows) > SHOWN:
        stdout.print(f"and {len(rows) - SHOWN} more; --out and --json have all")
    ties = _find_ties(search)
    if len(ties) > 1:
        first = ties[0]
        stdout.print(
            f"{len(ties)} candidates are tied: each is worse than the best by at most one standard error of "
            f"the difference. The simplest is {first['method']} with {first['clusters']} clusters."
        )
    stdout.print("next, cluster with this choice:")
    stdout.print(f"  {todo}", style="bold")


def _format_cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
