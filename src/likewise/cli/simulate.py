"""``likewise simulate``: compare query strategies on data with known classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _options as opt
from likewise.cli import _output as output
from likewise.cli._methods import MODELS, STRATEGIES, make_strategy_and_model, parse_strategies
from likewise.exceptions import FileFormatError, LikewiseWarning, render

if TYPE_CHECKING:
    from likewise.tables import DataTable

_USUAL = "default,random"
ERROR_KINDS = {
    "uniform": "on all questions equally",
    "look-alike": "on similar rows of two classes and dissimilar rows of one",
    "coarse": "the nearest classes are merged, RATE being the share of classes merged",
    "fatigue": "increasingly often, from 0 at the first question to twice RATE at the last",
    "confusion": "on the nearest pairs of classes",
}


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """The options of the command."""

    data: str = opt.argument(type=click.Path(allow_dash=True))
    label: str = opt.column(
        "--label", required=True, help="The column of true classes, which determine the answers."
    )
    strategies: tuple[str, ...] = opt.option(
        "--strategies",
        callback=parse_strategies,
        default=_USUAL,
        show_default=True,
        metavar="A,B,C",
        help=f"The strategies to compare: any of {', '.join(STRATEGIES)}.",
    )
    clusters: int | None = opt.integer(
        "-k", "--clusters", least=2, help="Number of clusters; by default that of classes."
    )
    model: str | None = opt.choice(
        "--model",
        values=MODELS,
        metavar="METHOD",
        help="The model that clusters the rows, for all strategies; by default that of an interview, and "
        f"bayesian for strategies that need probabilities. One of {', '.join(MODELS)}.",
    )
    budget: int = opt.integer("--budget", least=1, default=60, help="Number of answers per run.")
    repeats: int = opt.integer(
        "--repeats", least=1, default=10, help="Number of runs of each strategy, with different seeds."
    )
    every: int = opt.integer(
        "--every", least=1, default=1, help="Number of answers between scores; a larger number is faster."
    )
    errors: float = opt.option(
        "--errors",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="RATE",
        help="The share of wrong answers.  [default: 0]",
    )
    error_kind: str | None = opt.choice(
        "--error-kind",
        values=ERROR_KINDS,
        metavar="KIND",
        help="Which answers are wrong: "
        + "; ".join(f"{kind} ({meaning})" for kind, meaning in ERROR_KINDS.items())
        + ".  [default: uniform]",
    )
    reach: float | None = opt.option(
        "--reach",
        type=click.FloatRange(-1, 1),
        metavar="SCORE",
        help="Also report the number of answers after which this score is reached.",
    )
    table: opt.DataOptions
    standardize: bool = opt.standardize()
    seed: int = opt.seed("The seed of the first run.", most=2**31)
    jobs: int = opt.integer("--jobs", least=1, default=1, help="Number of parallel runs.")
    out: str | None = opt.option(
        "--out", type=output.OutputPath(), help="Write the curves: .csv, .parquet, .jsonl or -."
    )
    plot: str | None = opt.path("--plot", help="Plot the curves: .png, .svg or .pdf.")
    as_json: bool = opt.flag("--json", help="Print everything as one JSON document.")
    quiet: bool = opt.flag("-q", "--quiet", help="Show no progress bar and print no notes.")

    @property
    def kind(self) -> str | None:
        """The kind of errors; None if all answers are right."""
        return (self.error_kind or "uniform") if self.errors else None


@click.command("simulate", cls=output.Command)
@opt.collect_options(SimulateOptions)
def command(asked: SimulateOptions) -> None:
    """Compare query strategies on data with known classes.

    Simulates interviews about the rows of DATA, with answers from the true classes in --label. After each
    answer the rows are clustered with all answers so far, and the clusters are scored against the classes
    (adjusted Rand index: 1 is perfect, 0 is random). The table is sorted by area, the mean score over all
    answers. Each strategy is compared with the first one seed by seed: if the interval of the difference
    contains 0, the runs do not distinguish the two.

    DATA is a table, or a folder of pictures or sounds; --label folder takes the names of its sub-folders as
    the true classes.

    \b
    Examples:
      likewise simulate data.csv --label species
      likewise simulate data.csv --label species --strategies npu,min-max,random --budget 60 --plot curves.png
      likewise simulate data.csv --label species --errors 0.1 --reach 0.9 --jobs 2 --json
      likewise simulate data.csv --label species --errors 0.1 --error-kind look-alike
      likewise simulate tickets.csv --text message --label topic
      likewise simulate photos/ --label folder
    """
    if asked.error_kind is not None and not asked.errors:
        raise click.BadParameter(
            f"the kind {asked.error_kind!r} needs an error rate; add --errors, such as --errors 0.1.",
            param_hint="'--error-kind'",
        )
    read = [] if asked.table.embeddings is None else [asked.table.embeddings]
    output.check_files(read, {"--out": asked.out}, asked.plot, as_json=asked.as_json, data=asked.data)

    from likewise.active import compare
    from likewise.tables import format_csv, standardize_columns

    data, label, kind, out = asked.data, asked.label, asked.kind, asked.out
    runs = f"{asked.repeats} run{'s' if asked.repeats > 1 else ''} each"
    with output.gather_warnings() as notes, output.Outputs() as outputs:
        with output.show_count("Computing features", quiet=asked.quiet) as progress:
            table = asked.table.read_table(
                data, seed=asked.seed, progress=progress, truth=label, truth_option="--label"
            )
        notes.names = table.ids
        classes = _read_classes(table, label, data)
        k = len(set(classes)) if asked.clusters is None else asked.clusters
        output.check_n_clusters(k, len(classes))
        X = standardize_columns(table.X) if asked.standardize else table.X
        compared = {name: make_strategy_and_model(name, k, asked.model) for name in asked.strategies}
        n_runs = len(compared) * asked.repeats
        with output.show_progress(n_runs, quiet=asked.quiet) as step, output.ignore_failed_fits():
            step("asking")
            oracle = _OracleMaker(kind, classes, X, asked.errors, max(2, asked.budget)) if kind else None
            found = compare(
                compared,
                X,
                classes,
                n_clusters=k,
                budget=asked.budget,
                repeats=asked.repeats,
                every=asked.every,
                oracle=oracle,
                random_state=asked.seed,
                n_jobs=asked.jobs,
                progress=lambda n_done, n_runs: step(f"{n_done} of {n_runs} interviews"),
            )
        curves = {name: found.curve(name) for name in found.areas}
        if asked.plot is not None:
            title = f"{data}: {len(classes)} rows, {k} clusters, {runs}"
            outputs.add(asked.plot, found.plot(reach=asked.reach, title=title).save)
        columns = _make_columns(curves)
        outputs.add_table(out, columns)
    notes[:0] = table.notes
    if found.errors:
        first = found.errors[0]
        failed = f"{len(found.errors)} run(s) failed, the first {first}"
        notes.append(render(LikewiseWarning(failed, rows=first.rows), table.ids))
    if (most := int(found.n_answers[-1])) < asked.budget:
        notes.append(f"no run used more than {most} answers, because there was nothing left to ask.")
    wrote = output.list_written(out, asked.plot)
    if asked.as_json:
        shown = {
            name: {key: None if part is None else part.tolist() for key, part in vars(curve).items()}
            for name, curve in curves.items()
        }
        result: dict[str, Any] = {"data": data, "feature_description": table.description}
        result |= {"label": label, "n_rows": len(classes), "clusters": k}
        result |= {name: getattr(asked, name) for name in ("model", "budget", "repeats", "every", "reach")}
        result |= {"error_rate": asked.errors, "error_kind": kind}
        result |= {"seed": asked.seed, "standardize": asked.standardize, "score": found.score_name}
        result |= {"results": found.rows(asked.reach), "curves": shown}
        failures = [vars(failure) for failure in found.errors]
        output.print_json({**result, "errors": failures, "wrote": wrote, "notes": notes})
        return
    if out == output.STDOUT:
        output.write_stdout(format_csv(columns))
        if asked.quiet:
            return
    stdout = output.make_console(stderr=out == output.STDOUT)
    wrong = f", {kind} errors at a rate of {asked.errors:g}" if asked.errors else ""
    stdout.print(f"{len(classes)} rows, {k} clusters, {runs} of up to {asked.budget} answers{wrong}\n")
    stdout.print(found.table(asked.reach))
    stdout.print("\nsorted by area, the largest first")
    stdout.print(f"score: {found.score_name}; area: its mean over the answers; ±: one standard error")
    if not asked.quiet:
        output.print_features(table.description)
        output.print_notes(notes, wrote)


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
