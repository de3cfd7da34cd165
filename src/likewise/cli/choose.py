"""``likewise choose``: choose the number of clusters and the method from hints alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise._words import format_some
from likewise.cli import _options as opt
from likewise.cli import _output as output
from likewise.cli._methods import (
    LINKS,
    METHODS,
    check_supported,
    find_methods,
    list_terms,
    make_estimator,
    make_name_error,
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


def _parse_counts(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse numbers of clusters: ``4``, ``2:12`` (both ends included), ``2,3,5``, or ``2:4,8``."""
    found: set[int] = set()
    for part in value.split(","):
        low, colon, high = part.strip().partition(":")
        try:
            first, last = int(low), int(high) if colon else int(low)
        except ValueError:
            raise click.BadParameter(f"expected numbers such as 4, 2:12 or 2,3,5; got {value!r}.") from None
        if first < 1 or last < first:
            raise click.BadParameter(f"expected numbers of clusters of at least 1; got {part.strip()!r}.")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _parse_methods(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Parse names of methods, separated by commas; each is returned once."""
    if value is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = next((name for name in names if name not in METHODS), None if names else "")
    if unknown is not None:
        raise make_name_error("method", unknown, METHODS)
    return names


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

    data: str = opt.argument(type=click.Path(allow_dash=True))
    hints: tuple[str, ...] = opt.argument(type=click.Path(), nargs=-1, required=True)
    clusters: tuple[int, ...] = opt.option(
        "-k",
        "--clusters",
        callback=_parse_counts,
        default="2:8",
        show_default=True,
        metavar="NUMBERS",
        help="The numbers of clusters to try: 4, 2:12 (both ends included), 2,3,5.",
    )
    methods: tuple[str, ...] | None = opt.option(
        "--methods",
        callback=_parse_methods,
        metavar="A,B,C",
        help="The methods to compare; by default the usual ones that use these hints. Add k-means, which "
        "uses no hints, to see what the hints contribute.",
    )
    cv: int = opt.integer("--cv", least=2, default=5, help="Number of folds.")
    repeats: int | None = opt.integer(
        "--repeats",
        least=1,
        help="Number of times the hints are split into folds; by default 3, or 1 for a single method.",
    )
    scoring: str = opt.choice(
        "--scoring",
        values=["auto", "accuracy", "agreement", "balanced-accuracy", "log-score"],
        default="auto",
        help="Score for predictions of held-out hints; auto is agreement if few pairs are must-links, else "
        "accuracy.",
    )
    one_standard_error: bool = opt.flag(
        "--one-standard-error", help="Choose the fewest clusters within one standard error of the best."
    )
    as_links: bool = opt.flag(
        "--as-links", help="Convert hints to links for methods that do not use them directly."
    )
    table: opt.TableOptions
    standardize: bool = opt.standardize()
    seed: int = opt.seed("Random seed of the folds and the fits.")
    jobs: int = opt.integer("--jobs", least=1, default=1, help="Number of parallel fits.")
    out: str | None = opt.option(
        "--out", type=output.OutputPath(), help="Write all results: .csv, .parquet, .jsonl or -."
    )
    plot: str | None = opt.path("--plot", help="Plot the scores by number of clusters: .png, .svg or .pdf.")
    as_json: bool = opt.flag("--json", help="Print everything as one JSON document.")
    quiet: bool = opt.flag("-q", "--quiet", help="Show no progress and print no notes.")


@click.command("choose", cls=output.Command)
@click.option("--bags", hidden=True, expose_value=False, callback=_refuse_bags)
@click.option("--bag-column", hidden=True, expose_value=False, callback=_refuse_bags)
@opt.collect_options(ChooseOptions)
def command(asked: ChooseOptions) -> None:
    """Choose method and number of clusters by held-out hints.

    DATA is a table, or a folder of pictures or sounds. No true classes are needed. The hints of the HINTS
    files are split into folds. Each method is fitted with each number of clusters on all folds but one, and
    predicts the hints of that fold. Hints that the others imply do not count. Among methods within half a
    standard error of the best, the first in --methods is chosen; by default simpler methods come first.
    Candidates within one standard error are tied. The table is sorted by score; the last line is the command
    to run next.

    \b
    Examples:
      likewise choose data.csv hints.csv -k 2:12
      likewise choose data.csv hints.csv -k 2:12 --methods mpck-means,gm-pr,k-means --plot choice.png
      likewise choose data.csv pairs.csv triplets.csv -k 2,3,5 --as-links --out table.csv --json
      likewise choose tickets.csv hints.csv -k 4:12 --text message
    """
    read = [*asked.hints, *([] if asked.table.embeddings is None else [asked.table.embeddings])]
    output.check_files(read, {"--out": asked.out}, asked.plot, as_json=asked.as_json, data=asked.data)

    from likewise.evaluation import HintSearchCV
    from likewise.tables import format_csv, standardize_columns

    clusters, out, quiet = asked.clusters, asked.out, asked.quiet
    with output.gather_warnings() as notes, output.Outputs() as outputs:
        with output.show_count("Computing features", quiet=quiet) as progress:
            table = asked.table.read_table(asked.data, seed=asked.seed, progress=progress)
        notes.names = table.ids
        output.check_n_clusters(clusters[-1], len(table.ids))
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
        with output.show_progress(len(names) * len(clusters) * asked.cv * n_repeats, quiet=quiet) as step:
            search.set_params(progress=_make_progress_callback(step, quiet))
            with output.ignore_failed_fits():
                search.fit(X, supervision=all_hints)
        rows = _make_rows(search)
        if asked.plot is not None:
            from likewise.plotting import ChoiceDisplay

            title = f"{search.n_scored_} held-out hints in {_describe_folds(search)}"
            outputs.add(asked.plot, ChoiceDisplay.from_search(search, title=title).save)
        cells = {name: [row[name] for row in rows] for name in rows[0]}
        outputs.add_table(out, cells)
    notes[:0] = table.notes
    notes += _format_failures(search, table.ids)
    best = next(row for row in rows if row["chosen"])
    todo = _suggest_command(best, all_hints, asked)
    wrote = output.list_written(out, asked.plot)
    if asked.as_json:
        output.print_json(
            {
                "data": asked.data,
                "feature_description": table.description,
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
    if out == output.STDOUT:
        output.write_stdout(format_csv(cells))
    if out != output.STDOUT or not quiet:
        _print_result(rows, search, todo, output.make_console(stderr=out == output.STDOUT))
    if not quiet:
        output.print_features(table.description)
        output.print_notes(notes, wrote)


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
            check_supported(name, hints.kinds)
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
    columns = (results[name] for name in ("method", "n_clusters", "exception"))
    failed = [
        (str(name), int(k), error) for name, k, error in zip(*columns, strict=True) if error is not None
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
    numbers = {
        "score": results["mean_test_score"],
        "error": results["error_test_score"],
        "pairs_right": results["pair_accuracy"],
        "triplets_right": results["triplet_accuracy"],
        "seconds": results["mean_fit_time"],
    }
    order = sorted(range(len(results["rank_test_score"])), key=lambda c: (results["rank_test_score"][c], c))
    return [
        {
            "method": str(results["method"][c]),
            "clusters": int(results["n_clusters"][c]),
            **{name: None if (x := values[c]) != x else float(x) for name, values in numbers.items()},
            "chosen": c == search.best_index_,
            "tied": bool(results["tied"][c]),
            "failure": results["failure"][c],
        }
        for c in order
    ]


def _find_ties(search: Any) -> list[dict[str, Any]]:
    """Return the candidates within one standard error of the best, those with the fewest clusters first."""
    results = search.cv_results_
    return [
        {"method": str(results["method"][c]), "clusters": int(results["n_clusters"][c])}
        for c in search.ties_.tolist()
    ]


def _describe_folds(search: Any) -> str:
    times = f", split {search.n_repeats_} times" if search.n_repeats_ > 1 else ""
    return f"{search.n_splits_} folds{times}"


def _suggest_command(best: dict[str, Any], all_hints: Supervision, asked: ChooseOptions) -> str:
    """Return the command that clusters with the chosen method and number of clusters."""
    uses = METHODS[best["method"]].uses
    words = [output.get_program_name(), "cluster", asked.data, "-k", str(best["clusters"])]
    words += ["--method", best["method"]]
    for path in asked.hints if uses else ():
        words += ["--hints", path]
    words += ["--as-links"] if uses and not all_hints.kinds <= uses else []
    words += asked.table.format_options(standardize=asked.standardize)
    if uses and asked.table.hints_encoding != "utf-8":
        words += ["--hints-encoding", asked.table.hints_encoding]
    words += ["--seed", str(asked.seed)] if asked.seed else []
    return shlex.join([*words, "--out", output.find_free_name("labels.csv")])


def _print_result(rows: list[dict[str, Any]], search: Any, todo: str, stdout: Console) -> None:
    from rich import box
    from rich.table import Table

    formats = {search.scoring_.replace("_", " "): ("score", ".3f"), "±": ("error", ".3f")}
    both = [f"{kind} right" for kind in ("pairs", "triplets")]
    given = [name for name in both if any(row[name.replace(" ", "_")] is not None for row in rows)]
    if search.scoring_ != "accuracy" or len(given) != 1:  # one column would repeat the score
        formats |= {name: (name.replace(" ", "_"), ".0%") for name in given}
    formats["seconds"] = ("seconds", ".2f")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", min_width=max(len(row["method"]) for row in rows), no_wrap=True)
    for name in ("clusters", *formats):
        table.add_column(name, justify="right")
    table.add_column("")
    chosen = next(place for place, row in enumerate(rows) if row["chosen"])
    for row in rows[: max(SHOWN, chosen + 1)]:
        cells = ("" if row[name] is None else format(row[name], form) for name, form in formats.values())
        notes = {"chosen": "chosen", "failure": "failed", "tied": "tied"}
        note = next((text for name, text in notes.items() if row[name]), "")
        style = "bold" if row["chosen"] else None
        table.add_row(row["method"], str(row["clusters"]), *cells, note, style=style)
    stdout.print(
        f"{search.n_scored_} held-out hints in {_describe_folds(search)}"
        f" ({search.n_implied_} more follow from others and do not count)"
    )
    stdout.print(table)
    if len(rows) > SHOWN:
        stdout.print(f"and {len(rows) - SHOWN} more; --out and --json have all")
    ties = _find_ties(search)
    if len(ties) > 1:
        fewest = ties[0]["clusters"]
        methods = [tie["method"] for tie in ties if tie["clusters"] == fewest]
        stdout.print(
            f"{len(ties)} candidates are tied: each is worse than the best by at most one standard error of "
            f"the difference. The fewest clusters among them: {fewest}, with {format_some(methods)}."
        )
    stdout.print("next, cluster with this choice:")
    stdout.print(f"  {todo}", style="bold")
