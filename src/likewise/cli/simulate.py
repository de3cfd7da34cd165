"""``likewise simulate``: compare query strategies on data with known classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import add_data_options, make_column_roles
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
from likewise.cli._strategies import MODELS, STRATEGIES, StrategyNames, make_strategy_and_model
from likewise.cli.cluster import PICTURES
from likewise.exceptions import FileFormatError, LikewiseWarning, render

if TYPE_CHECKING:
    from likewise.cli._data_tables import DataTable

_USUAL = "default,random"
ERROR_KINDS = {
    "uniform": "on all questions equally",
    "look-alike": "on similar rows of two classes and dissimilar rows of one",
    "coarse": "the nearest classes are merged, RATE being the share of classes merged",
    "fatigue": "increasingly often, from 0 at the first question to twice RATE at the last",
    "confusion": "on the nearest pairs of classes",
}


@click.command("simulate", cls=Command)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--label",
    metavar="COLUMN",
    required=True,
    help="The column of true classes, which determine the answers.",
)
@click.option(
    "--strategies",
    type=StrategyNames(),
    default=_USUAL,
    show_default=True,
    metavar="A,B,C",
    help=f"The strategies to compare: any of {', '.join(STRATEGIES)}.",
)
@click.option(
    "-k", "--clusters", type=click.IntRange(min=2), help="Number of clusters; by default that of classes."
)
@click.option(
    "--model",
    type=click.Choice(list(MODELS)),
    metavar="METHOD",
    help="The model that clusters the rows, for all strategies; by default that of an interview, and "
    f"bayesian for strategies that need probabilities. One of {', '.join(MODELS)}.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), default=60, show_default=True, help="Number of answers per run."
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of runs of each strategy, with different seeds.",
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of answers between scores; a larger number is faster.",
)
@click.option(
    "--errors",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="RATE",
    help="The share of wrong answers.  [default: 0]",
)
@click.option(
    "--error-kind",
    type=click.Choice(list(ERROR_KINDS)),
    metavar="KIND",
    help="Which answers are wrong: "
    + "; ".join(f"{kind} ({meaning})" for kind, meaning in ERROR_KINDS.items())
    + ".  [default: uniform]",
)
@click.option(
    "--reach",
    type=click.FloatRange(-1, 1),
    metavar="SCORE",
    help="Also report the number of answers after which this score is reached.",
)
@add_data_options
@click.option("--standardize", is_flag=True, help="Give every feature mean 0 and variance 1.")
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31),
    default=0,
    help="The seed of the first run.  [default: 0]",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of parallel runs."
)
@click.option("--out", type=OutputPath(), help="Write the curves: .csv, .parquet, .jsonl or -.")
@click.option("--plot", type=click.Path(), help="Plot the curves: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress bar and print no notes.")
def command(
    data: str,
    label: str,
    strategies: tuple[str, ...],
    clusters: int | None,
    model: str | None,
    budget: int,
    repeats: int,
    every: int,
    errors: float,
    error_kind: str | None,
    reach: float | None,
    id_column: str | None,
    features: tuple[str, ...] | None,
    drop: tuple[str, ...] | None,
    no_header: bool,
    encoding: str,
    standardize: bool,
    seed: int,
    jobs: int,
    out: str | None,
    plot: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare query strategies on data with known classes.

    Simulates interviews about the rows of DATA, with answers from the true classes in --label. After each
    answer the rows are clustered with all answers so far, and the clusters are scored against the classes
    (adjusted Rand index: 1 is perfect, 0 is random). The table is sorted by area, the mean score over all
    answers. Each strategy is compared with the first one seed by seed: if the interval of the difference
    contains 0, the runs do not distinguish the two.

    \b
    Examples:
      likewise simulate data.csv --label species
      likewise simulate data.csv --label species --strategies npu,min-max,random --budget 60 --plot curves.png
      likewise simulate data.csv --label species --errors 0.1 --reach 0.9 --jobs 2 --json
      likewise simulate data.csv --label species --errors 0.1 --error-kind look-alike
    """
    if error_kind is not None and not errors:
        raise click.BadParameter(
            f"the kind {error_kind!r} needs an error rate; add --errors, such as --errors 0.1.",
            param_hint="'--error-kind'",
        )
    kind = (error_kind or "uniform") if errors else None
    if as_json and out == STDOUT:
        raise click.UsageError("--json and --out - both write to stdout; give --out a file.")
    _check_files(data, out, plot)

    from likewise.active import compare
    from likewise.cli._data_tables import read_table, standardize_columns
    from likewise.cli._write import format_csv, write_table

    with gather_warnings() as notes, Outputs() as outputs:
        asked_columns = make_column_roles(id_column, features, drop, label, truth_option="--label")
        table = read_table(data, asked_columns, header=not no_header, encoding=encoding)
        notes.names = table.ids
        classes = _read_classes(table, label, data)
        k = len(set(classes)) if clusters is None else clusters
        if k > len(classes):
            raise FileFormatError(f"{k} clusters need at least as many rows; got {len(classes)}.")
        X = standardize_columns(table.X) if standardize else table.X
        asked = {name: make_strategy_and_model(name, k, model) for name in strategies}
        with show_progress(len(asked) * repeats, quiet=quiet) as step:
            found = _silence_failures(
                compare,
                asked,
                X,
                classes,
                n_clusters=k,
                budget=budget,
                repeats=repeats,
                every=every,
                oracle=None if kind is None else _OracleMaker(kind, classes, X, errors, max(2, budget)),
                random_state=seed,
                n_jobs=jobs,
                progress=_make_progress_callback(step),
            )
        curves = {name: found.curve(name) for name in found.areas}
        if plot is not None:
            title = f"{data}: {len(classes)} rows, {k} clusters, {_format_runs(repeats)}"
            outputs.add(plot, found.plot(reach=reach, title=title).save)
        columns = _make_columns(curves)
        if out is not None and out != STDOUT:
            outputs.add(out, lambda part: write_table(part, columns))
    notes += [render(remark, table.ids) for remark in _format_remarks(found, budget)]
    rows = found.rows(reach)
    wrote = [path for path in (out, plot) if path is not None and path != STDOUT]
    if as_json:
        result = {"data": data, "label": label, "n_rows": len(classes), "clusters": k, "model": model}
        result |= {"budget": budget, "repeats": repeats, "every": every, "reach": reach}
        result |= {"error_rate": errors, "error_kind": kind}
        result |= {"seed": seed, "standardize": standardize, "score": found.score_name}
        shown = {
            name: {key: _format_names(part) for key, part in vars(c).items()} for name, c in curves.items()
        }
        failures = [vars(failure) for failure in found.errors]
        print_json(
            {**result, "results": rows, "curves": shown, "errors": failures, "wrote": wrote, "notes": notes}
        )
        return
    if out == STDOUT:
        write_stdout(format_csv(columns))
        if quiet:
            return
    stdout = make_console(stderr=out == STDOUT)
    wrong = f", {kind} errors at a rate of {errors:g}" if errors else ""
    stdout.print(
        f"{len(classes)} rows, {k} clusters, {_format_runs(repeats)} of up to {budget} answers{wrong}\n"
    )
    stdout.print(found.table(reach))
    stdout.print("\nsorted by area, the largest first")
    stdout.print(f"score: {found.score_name}; area: its mean over the answers; ±: one standard error")
    if not quiet:
        for note in notes:
            make_console().print(f"note: {note}", style="yellow")
        for path in wrote:
            make_console().print(f"wrote {path}")


def _check_files(data: str, out: str | None, plot: str | None) -> None:
    """Raise an error before any work if a file cannot be read or written."""
    from likewise._optional import require
    from likewise.cli._write import ENDINGS, check_writer

    check_inputs(data)
    check_distinct({"--out": out, "--plot": plot}, [data])
    if out is not None and out != STDOUT:
        check_output(out, ENDINGS, "--out")
        check_writer(out)
    if plot is not None:
        check_output(plot, PICTURES, "--plot")
        require("matplotlib", extra="plot")


def _read_classes(table: DataTable, label: str, data: str) -> list[str]:
    """Return the class of each row; raise an error if the column is not suitable."""
    cells = table.kept[label]
    classes = [cell for cell in cells if cell is not None]
    if len(classes) < len(cells):
        first = table.ids[cells.index(None)]
        raise FileFormatError(
            f"{data}: {len(cells) - len(classes)} row(s) have no {label!r}, the first of them {first!r}. "
            "Each row needs a class, which determines the answers; remove such rows from the file."
        )
    if len(set(classes)) < 2:
        raise FileFormatError(
            f"{data}: expected at least two classes; all rows have the same {label!r}, {classes[0]!r}. Is it "
            "the right column?"
        )
    if len(set(classes)) == len(classes):
        raise FileFormatError(
            f"{data}: every row has a different {label!r}, so no two rows belong together. Is it a column of "
            "ids?"
        )
    return classes


@dataclass(frozen=True, eq=False)
class _OracleMaker:
    """Creates the oracle of a run from its seed. It is a class so that it can be sent to other processes."""

    kind: str
    classes: list[str]
    X: Any
    rate: float
    n_questions: int

    def __call__(self, seed: int) -> Any:
        from likewise.oracles import make_oracle

        kind: Any = self.kind
        return make_oracle(
            kind, self.classes, self.X, rate=self.rate, n_questions=self.n_questions, random_state=seed
        )


def _silence_failures(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compare without the warning about failed runs, which the table and a note report."""
    import warnings

    from sklearn.exceptions import FitFailedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        return function(*args, **kwargs)


def _make_progress_callback(step: Callable[[str], None]) -> Callable[[int, int], None]:
    step("asking")
    return lambda n_done, n_runs: step(f"{n_done} of {n_runs} interviews")


def _format_remarks(found: Any, budget: int) -> list[LikewiseWarning]:
    remarks = []
    if found.errors:
        first = found.errors[0]
        text = f"{len(found.errors)} run(s) failed, the first {first}"
        remarks.append(LikewiseWarning(text, rows=first.rows))
    if (most := int(found.n_answers[-1])) < budget:
        text = f"no run used more than {most} answers, because there was nothing left to ask."
        remarks.append(LikewiseWarning(text))
    return remarks


def _format_runs(repeats: int) -> str:
    return f"{repeats} run{'s' if repeats > 1 else ''} each"


def _make_columns(curves: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the curves as one long table."""
    columns: dict[str, list[Any]] = {key: [] for key in ("strategy", "answers", "mean", "low", "high")}
    for name, curve in curves.items():
        n = len(curve.n_answers)
        columns["strategy"] += [name] * n
        columns["answers"] += curve.n_answers.tolist()
        for key in ("mean", "low", "high"):
            part = getattr(curve, key)
            columns[key] += [None] * n if part is None else part.tolist()
    return columns


def _format_names(part: Any) -> list[float] | None:
    return None if part is None else part.tolist()
