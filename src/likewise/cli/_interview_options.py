"""Interviews at the command line: their files, how they are started or resumed, and their progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from likewise._locks import describe_holder, hold_lock
from likewise.cli._options import (
    STANDARDIZE,
    TableOptions,
    argument,
    flag_option,
    integer_option,
    option,
    parse_names,
    path_option,
    seed_option,
)
from likewise.cli._output import (
    STDOUT,
    Outputs,
    check_distinct,
    check_inputs,
    check_n_clusters,
    check_output,
    format_count,
)
from likewise.cli._strategies import STRATEGIES, StrategyName
from likewise.exceptions import FileFormatError, LikewiseError, LockedError

if TYPE_CHECKING:
    from likewise.active import Interview
    from likewise.active._saved_interview import GrowingFile
    from likewise.cli._data_tables import DataTable
    from likewise.supervision import Supervision

HINT_ENDINGS = (".csv", ".jsonl", ".parquet")
TRAY = "tray"  # name of the tray strategy in saved files
EVERY = 10  # number of answers between advice on whether to continue
_MOST_ROWS = 20_000  # advice costs six fits, which delays the next question on more rows


# ---------------------------------------------------------------------- files


class Files:
    """The files of the command: the data, the saved answers, and the results.

    Invalid file names are rejected by the constructor, before any question is asked.
    """

    data: str
    save: str
    hints: str | None
    labels: str | None

    def __init__(self, asked: AskOptions) -> None:
        from likewise.cli._write import ENDINGS, check_writer

        data, known, hints, labels = asked.data, asked.known, asked.hints, asked.labels
        if data == STDOUT:
            raise click.UsageError("answers are read from stdin, so DATA must be a file.")
        check_inputs(data, *known)
        path = str(Path(data).with_suffix(".ask.json")) if asked.save is None else asked.save
        check_distinct({"--save": path, "--hints": hints, "--labels": labels}, [data, *known])
        check_output(path, (".json",), "--save", links=True)
        for name, file, endings in (("--hints", hints, HINT_ENDINGS), ("--labels", labels, ENDINGS)):
            if file is not None:
                check_output(file, endings, name)
                check_writer(file)
        self.data, self.save, self.hints, self.labels = data, path, hints, labels
        self.resumed: bool = False
        self.note: str | None = None
        self._growing: GrowingFile | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the file of saved answers against other processes, and find out whether it exists."""
        real = Path(os.path.realpath(self.save))
        with ExitStack() as stack:
            try:
                killed = stack.enter_context(hold_lock(real.with_name(f"{real.name}.lock")))
            except LockedError as error:
                raise LikewiseError(
                    f"{self.save!r} is in use by another likewise ask ({describe_holder(error.holder)}). "
                    "Finish there first, or give another file with --save. Nothing was changed. For several "
                    "people at once, use likewise studio."
                ) from error
            self.resumed = os.path.exists(self.save)
            if self.resumed and killed is not None:
                from likewise.active._saved_interview import repair

                n_events = repair(self.save)
                if n_events is not None:
                    self.note = (
                        f"{self.save} ended in the middle of an answer, because the process that wrote it "
                        f"was killed. That answer is dropped; the {format_count(n_events, 'event')} before "
                        "it are kept."
                    )
            if self.hints is not None and not self.resumed and os.path.exists(self.hints):
                raise click.UsageError(
                    f"{self.hints} exists, and the answers of a new interview would replace it. Give --hints "
                    f"another name; to start from the hints in {self.hints}, add --known {self.hints}."
                )
            yield

    def save_interview(self, interview: Interview) -> None:
        """Append new events to the file; they are on disk when this returns."""
        from likewise.active._saved_interview import GrowingFile
        from likewise.exceptions import ChangedFileError

        if self._growing is None:
            self._growing = GrowingFile(self.save)
        try:
            self._growing.save(interview)
        except ChangedFileError as error:
            own = Path(self.save).with_suffix(f".{os.getpid()}.json")
            interview.save(own)
            raise LikewiseError(
                f"{error} All answers of this process are in {str(own)!r}. To continue, choose one of the "
                "two files with --save."
            ) from error

    def write_results(self, interview: Interview, table: DataTable, labels: Any) -> None:
        """Write hints and clusters to the files that were given for them."""
        from likewise.cli._report import make_labels_table
        from likewise.cli._write import write_table
        from likewise.supervision import write_hints

        with Outputs() as outputs:
            if self.hints is not None:
                hints = interview.supervision
                outputs.add(self.hints, lambda part: write_hints(part, hints, table.ids))
            if self.labels is not None and labels is not None:
                columns = make_labels_table(table.ids, labels)
                outputs.add(self.labels, lambda part: write_table(part, columns))

    @property
    def wrote(self) -> list[str]:
        """The files that the command wrote."""
        return [path for path in (self.save, self.hints, self.labels) if path is not None]


class ErrorRateParameter(click.ParamType):
    """The share of wrong answers: "learn", or a rate from 0 to below 0.5."""

    name = "learn|RATE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | Literal["learn"]:
        """Return "learn" or the rate."""
        if value == "learn":
            return "learn"
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not 0 <= rate < 0.5:
            self.fail(
                f"expected 'learn' or the share of wrong answers, from 0 (answers are certain) to below 0.5 "
                f"(answers are guesses), such as 0.1; got {value!r}.",
                param,
                ctx,
            )
        return rate


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of the command; they define the interview."""

    data: str = argument(type=click.Path())
    clusters: int | None = integer_option("-k", "--clusters", least=2, help="The number of clusters.")
    discover: bool = flag_option(
        "--discover", help="The number of clusters is unknown; answers open new ones."
    )
    show: tuple[str, ...] | None = option(
        "--show",
        callback=parse_names,
        metavar="COLUMN[,COLUMN]",
        help="Columns to show for each row; by default all, truncated. Text columns named here are not "
        "features.",
    )
    table: TableOptions
    standardize: bool = flag_option("--standardize", help=STANDARDIZE)
    known: tuple[str, ...] = path_option("--known", multiple=True, help="A file of existing hints.")
    save: str | None = path_option(
        "--save",
        metavar="FILE",
        help="File in which the answers are saved; if it exists, it is resumed.  "
        "[default: DATA with .ask.json]",
    )
    budget: int | None = integer_option(
        "--budget", least=0, help="Maximum number of answers, earlier ones included."
    )
    strategy: str | None = option(
        "--strategy",
        type=StrategyName(),
        metavar="NAME",
        help=f"The strategy that chooses the questions: {', '.join(STRATEGIES)}.",
    )
    errors: float | Literal["learn"] | None = option(
        "--errors",
        type=ErrorRateParameter(),
        metavar="learn|RATE",
        help="Share of wrong answers: a rate below 0.5 (0: answers are certain), or learn.  [default: learn]",
    )
    trays: bool = flag_option(
        "--trays", help="Ask you to sort trays of rows into piles instead of comparing pairs."
    )
    seed: int = seed_option("Random seed; another seed gives other questions.")
    annotator: str | None = option("--annotator", metavar="NAME", help="Your name, kept with your answers.")
    hints: str | None = path_option("--hints", help="Write the answers as hints: .csv, .jsonl or .parquet.")
    labels: str | None = path_option("--labels", help="Write the clusters: .csv, .parquet or .jsonl.")
    as_json: bool = flag_option("--json", help="Print everything as one JSON document at the end.")

    def make_interview(self, X: Any, table: DataTable, given: Supervision | None, files: Files) -> Interview:
        """Start an interview, or resume the saved one."""
        if len(table.ids) < 2:
            raise FileFormatError(f"{files.data} has one row; there is nothing to ask.")
        if self.clusters is not None:
            check_n_clusters(self.clusters, len(table.ids))
        made = self._resume(X, table, given, files) if files.resumed else self._start_new(X, table, given)
        if self.errors and "error_rate" not in getattr(made.model, "get_params", dict)():
            raise click.UsageError(
                f"--errors {self.errors} has no effect with the strategy {made.strategy.name!r}: its model "
                f"{type(made.model).__name__} treats every answer as certain. Leave --errors out, or choose "
                "another strategy."
            )
        return made

    def _start_new(self, X: Any, table: DataTable, given: Supervision | None) -> Interview:
        from likewise.active import Interview

        if self.clusters is None and not self.discover:
            raise click.UsageError("give the number of clusters with -k, or --discover if it is not known.")
        strategy, model = self._make_strategy(self.strategy, self.clusters or 2)
        return Interview(
            X,
            ids=table.ids,
            model=model,
            strategy=strategy,
            n_clusters=self.clusters,
            supervision=given,
            random_state=self.seed,
            budget=self.budget,
            discover=self.discover,
            errors="learn" if self.errors is None else self.errors,
        )

    def _resume(self, X: Any, table: DataTable, given: Supervision | None, files: Files) -> Interview:
        from likewise.active import Interview
        from likewise.active._saved_interview import read

        anew = f"To start again, give another file with --save, or delete {files.save!r}."
        try:
            saved = read(files.save)
            if self.errors is not None:
                saved.content["errors"] = self.errors
            strategy, model = self._restore_strategy(saved.content)
            interview = saved.restore(Interview, X, ids=table.ids, model=model, strategy=strategy)
        except LikewiseError as error:
            raise FileFormatError(f"{error}\n{anew}") from error
        for name, now, before in (
            ("-k", self.clusters, interview.n_clusters),
            ("--discover", self.discover or None, interview.discover),
            ("--seed", self.seed or None, interview.random_state),
            ("--known", given, interview.given),
        ):
            if now is not None and now != before:
                raise click.UsageError(
                    f"{files.save!r} was started with {name} {before}, which cannot be changed; leave the "
                    f"option out. {anew}"
                )
        if self.budget is not None:
            interview.budget = self.budget
        return interview

    def _make_strategy(self, name: str | None, n_clusters: int) -> tuple[Any, Any]:
        """Return the strategy with this name and its model; None stands for the interview's default."""
        if self.trays or name == TRAY:
            from likewise.active.strategies._fill_tray import FillTray

            return FillTray(), None
        from likewise.cli._strategies import make_strategy_and_model

        return (None, None) if name is None else make_strategy_and_model(name, n_clusters)

    def _restore_strategy(self, saved_options: dict[str, Any]) -> tuple[Any, Any]:
        """Return the strategy and model with which to resume; None takes them from the saved file."""
        k = saved_options.get("n_clusters") or 2
        before = (saved_options.get("strategy") or {}).get("name")
        has_model = saved_options.get("model") is not None  # the strategy needs its own model
        strategy, model = self._make_strategy(self.strategy, k)
        if strategy is None and (has_model or before == TRAY):
            return self._make_strategy(before, k)
        if model is None and has_model:
            model = self._make_strategy(before, k)[1]
        return strategy, model


class InterviewProgress:
    """Formats the heading of each question: its number, changed rows, and advice at intervals."""

    def __init__(self, n_samples: int) -> None:
        self.looks_back = n_samples <= _MOST_ROWS
        self._labels: Any = None
        self._n_reported = 0

    def format_heading(self, interview: Interview) -> str:
        """Return the number of the question, how many rows changed cluster, and sometimes advice."""
        n = interview.n_answers
        number = f"{n + 1}" if interview.budget is None else f"{n + 1} of {interview.budget}"
        lines = [f"Question {number}{self._format_moved(interview)}"]
        if self.looks_back and n and n % EVERY == 0 and n != self._n_reported:
            lines.insert(0, f"{format_count(n, 'answer')} so far. {interview.progress().advice}")
        self._n_reported = n
        return "\n" + "\n".join(lines)

    def _format_moved(self, interview: Interview) -> str:
        """Return how many rows changed cluster; empty if finding out would cost another fit."""
        if not interview.strategy.needs:
            return ""
        from likewise.cli._report import find_strayed_rows

        before, self._labels = self._labels, interview.labels_
        if before is None:
            return ""
        n_moved = len(find_strayed_rows(self._labels, before))
        return f"   ({format_count(n_moved, 'row')} changed cluster since the last)" if n_moved else ""
