"""``likewise ask``: ask a person questions at the terminal, and cluster by the answers."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from likewise._locks import describe_holder, hold_lock
from likewise._words import format_count
from likewise.cli import _options as opt
from likewise.cli import _output as output
from likewise.cli._methods import make_strategy_and_model, strategy_option
from likewise.exceptions import FileFormatError, LikewiseError, LockedError

if TYPE_CHECKING:
    from likewise.active import Interview, Suspect
    from likewise.active.saved_interview import GrowingFile
    from likewise.supervision import Supervision
    from likewise.tables import DataTable

TRAY = "tray"  # name of the tray strategy in saved files
EVERY = 10  # number of answers between advice on whether to continue
_MOST_ROWS = 20_000  # advice costs six fits, which delays the next question on more rows
INTERRUPTED = 130  # the convention of shells: 128 plus the number of the signal
_MIN_ANSWERS = 20  # with fewer, the estimated error rate mostly reflects its prior


def _parse_error_rate(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> float | Literal["learn"] | None:
    """Parse the share of wrong answers: "learn", or a rate from 0 to below 0.5."""
    if value is None:
        return None
    if value == "learn":
        return "learn"
    rate = opt.parse_float(value)
    if not 0 <= rate < 0.5:
        raise click.BadParameter(
            "expected 'learn' or the share of wrong answers, from 0 (answers are certain) to below 0.5 "
            f"(answers are guesses), such as 0.1; got {value!r}."
        )
    return rate


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of the command; they define the interview."""

    data: str = opt.argument(type=click.Path())
    clusters: int | tuple[int, int] | None = opt.clusters(
        "The number of clusters, or a range of it, such as 50:100."
    )
    discover: bool = opt.flag("--discover", help="The number of clusters is unknown; answers open new ones.")
    show: tuple[str, ...] | None = opt.option(
        "--show",
        type=opt.parse_names,
        metavar="COLUMN[,COLUMN]",
        help="Columns to show for each row; by default all that are not dropped, truncated. "
        "Text columns named here are not features.",
    )
    table: opt.TableOptions
    standardize: bool = opt.standardize()
    known: tuple[str, ...] = opt.path("--known", multiple=True, help="A file of existing hints.")
    save: str | None = opt.path(
        "--save",
        metavar="FILE",
        help="File in which the answers are saved; if it exists, it is resumed.  "
        "[default: DATA with .ask.json]",
    )
    budget: int | None = opt.integer(
        "--budget", least=0, help="Maximum number of answers, earlier ones included."
    )
    strategy: str | None = strategy_option()
    errors: float | Literal["learn"] | None = opt.option(
        "--errors",
        callback=_parse_error_rate,
        metavar="learn|RATE",
        help="Share of wrong answers: a rate below 0.5 (0: answers are certain), or learn.  [default: learn]",
    )
    trays: bool = opt.flag(
        "--trays", help="Ask you to sort trays of rows into piles instead of comparing pairs."
    )
    seed: int = opt.seed("Random seed; another seed gives other questions.")
    annotator: str | None = opt.option(
        "--annotator", metavar="NAME", help="Your name, kept with your answers."
    )
    hints: str | None = opt.path("--hints", help="Write the answers as hints: .csv, .jsonl or .parquet.")
    labels: str | None = opt.path("--labels", help="Write the clusters: .csv, .parquet or .jsonl.")
    as_json: bool = opt.flag("--json", help="Print everything as one JSON document at the end.")

    def make_interview(self, X: Any, table: DataTable, given: Supervision | None, files: Files) -> Interview:
        """Start an interview, or resume the saved one."""
        if len(table.ids) < 2:
            raise FileFormatError(f"{files.data} has one row; there is nothing to ask.")
        if self.clusters is not None:
            most = self.clusters if isinstance(self.clusters, int) else self.clusters[1]
            output.check_n_clusters(most, len(table.ids))
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
        k = None if isinstance(self.clusters, tuple) else self.clusters
        strategy, model = self._make_strategy(self.strategy, k or 2)
        return Interview(
            X,
            ids=table.ids,
            model=None if isinstance(self.clusters, tuple) else model,
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
        from likewise.active.saved_interview import read

        anew = f"To start again, give another file with --save, or delete {files.save!r}."
        try:
            saved = read(files.save)
            if self.errors is not None:
                saved.content["errors"] = self.errors
            strategy, model = self._restore_strategy(saved.content)
            interview = saved.restore(Interview, X, ids=table.ids, model=model, strategy=strategy)
        except LikewiseError as error:
            raise FileFormatError(f"{error}\n{anew}") from error
        clusters = interview.cluster_range or interview.n_clusters
        for name, now, before in (
            ("-k", opt.format_clusters(self.clusters), opt.format_clusters(clusters)),
            ("--discover", self.discover or None, interview.discover),
            ("--seed", self.seed or None, interview.random_state),
            ("--known", _to_links(given), _to_links(interview.given)),  # older files have links for labels
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
            from likewise.active import FillTray

            return FillTray(), None
        return (None, None) if name is None else make_strategy_and_model(name, n_clusters)

    def _restore_strategy(self, saved_options: dict[str, Any]) -> tuple[Any, Any]:
        """Return the strategy and model with which to resume; None takes them from the saved file."""
        saved = saved_options.get("n_clusters")
        k = saved if isinstance(saved, int) else 2
        before = (saved_options.get("strategy") or {}).get("name")
        has_model = saved_options.get("model") is not None  # the strategy needs its own model
        strategy, model = self._make_strategy(self.strategy, k)
        if strategy is None and (has_model or before == TRAY):
            return self._make_strategy(before, k)
        if model is None and has_model:
            model = self._make_strategy(before, k)[1]
        return strategy, model


def _to_links(hints: Supervision | None) -> Supervision | None:
    """Return hints with links instead of labels."""
    if hints is None or "labels" not in hints.kinds:
        return hints
    return hints.select_kinds(*(hints.kinds - {"labels"})) | hints.select_kinds("labels").to_links()


@click.command("ask", cls=output.Command)
@opt.collect_options(AskOptions)
@click.pass_context
def command(ctx: click.Context, asked: AskOptions) -> None:
    """Answer questions about rows, and cluster by the answers.

    DATA is a CSV, Parquet or .npy file, or a folder of pictures or sounds, which are named but not shown; use
    likewise studio to see or hear them. Each question shows rows and asks whether they belong together: y is
    yes, n no, u unsure; s skips the question, b undoes the last answer, q quits. Every answer is saved at
    once; run the same command again to resume. Without a terminal, answers are read from stdin, one per line.
    A question is not asked if earlier answers that look right imply its answer.

    At a terminal, suspect answers are pointed out: k keeps one, r asks again, Enter leaves it.

    With more than 30 clusters, a range, or --strategy groups, questions are about groups, each shown by some
    of its rows. Besides u, s, b and q they have these keys:

    \b
      Which group does it belong to?     1 to 7 that group; n none of these; = 1 3 if one is shown twice
      Which do not belong to the group?  their numbers, then Enter; a all belong to it
      Are these two groups the same?     y yes, n no
      What is it called?                 a name, or the number of a name in use

    \b
    Examples:
      likewise ask data.csv -k 4 --show text
      likewise ask birds.csv --discover --id name --show name,song --standardize --annotator Ann
      likewise ask data.csv -k 3 --budget 60 --hints answers.csv --labels labels.csv
      likewise ask data.csv -k 3 --trays
      likewise ask tickets.csv --text message --discover --hints answers.csv
    """
    files = Files(asked)
    if asked.trays and asked.strategy is not None:
        raise click.UsageError("--trays and --strategy exclude each other: both choose the questions.")

    ctx.with_resource(files.hold())
    from likewise.oracles import ConsoleOracle
    from likewise.tables import standardize_columns

    options, known = asked.table, asked.known
    table, show, read_alike = _read_rows(asked)
    given = options.read_hints(known, table.ids, data=asked.data)
    X = standardize_columns(table.X) if asked.standardize else table.X
    if isinstance(sys.stdin, io.TextIOWrapper):  # an invalid byte is rejected as an answer
        sys.stdin.reconfigure(errors="replace")
    person = ConsoleOracle(show, annotator=asked.annotator)
    with output.gather_warnings() as notes:
        interview = asked.make_interview(X, table, given if known else None, files)
        files.save_interview(interview)
        n_read = interview.n_answers
        _greet(person, interview, files, table.description)
        progress = InterviewProgress(interview.n_samples)
        interrupted = False
        try:
            finished = person.hold(
                interview,
                after=files.save_interview,
                heading=progress.format_heading,
                check=not asked.as_json,
            )
        except KeyboardInterrupt:
            finished, interrupted = False, True
        finally:
            files.save_interview(interview)
        found = None if interrupted else interview.labels_
        looked_back = found is not None and progress.looks_back and interview.n_answers >= EVERY
        advice = interview.progress().advice if looked_back else None
        files.write_results(interview, table, found)
    notes[:0] = table.notes
    todo = _suggest_command(interview, replace(asked, table=read_alike), found)
    end = InterviewSummary(interview, found, finished, files, advice, todo)
    if asked.as_json:
        labels = None
        if found is not None and asked.labels is None:
            rows = zip(table.ids, found, strict=True)
            labels = [{"id": name, "cluster": int(label)} for name, label in rows]
        result = {**end.as_dict(), "feature_description": table.description}
        output.print_json({**result, "answers_read": n_read, "labels": labels, "notes": notes})
    stderr = output.make_console()
    for line in end.format_lines():
        stderr.print(line)
    output.print_notes(notes)
    if interrupted:
        ctx.exit(INTERRUPTED)


def _read_rows(asked: AskOptions) -> tuple[DataTable, Callable[[int], str], opt.TableOptions]:
    """Return the rows, a function that formats one of them, and how other commands read the same rows."""
    from likewise.cli._row_text import check_shown, drop_text_columns, make_row_formatter
    from likewise.tables import make_table

    options = asked.table
    if not options.has_items(asked.data):
        raw = options.read_columns(asked.data)
        check_shown(raw, asked.show)
        columns = drop_text_columns(options.make_roles(), raw, asked.show)
        table = make_table(raw, columns)
        show = make_row_formatter(raw, options.id_column, asked.show, options.drop)
        return table, show, replace(options, drop=columns.drop or None)
    with output.show_count("Computing features") as progress:
        source = options.read_source(asked.data, seed=asked.seed, progress=progress)
    check_shown(source.raw, asked.show)
    compared = tuple(name for _, name in source.options.list_media_columns())
    names = asked.show or compared or (("file",) if source.is_folder else None)
    show_row = make_row_formatter(source.raw, options.id_column, names, options.drop)
    rows = source.rows
    return source.make_table(), lambda row: show_row(rows[row]), options


def _greet(person: Any, interview: Interview, files: Files, features: str | None) -> None:
    if features is not None:
        person.write_line(f"Features: {features}.")
    if files.note is not None:
        person.write_line(files.note)
    if files.resumed:
        names = dict.fromkeys(reply.annotator for reply in interview.replies if reply.annotator)
        by = f" by {', '.join(names)}" if names else ""
        person.write_line(
            f"Resuming: read {format_count(interview.n_answers, 'answer')}{by} from {files.save}."
        )
    else:
        person.write_line(f"{interview.n_samples:,} rows. Every answer is saved at once in {files.save}.")


# ---------------------------------------------------------------------- files and progress


class Files:
    """The files of the command: the data, the saved answers, and the results.

    Invalid file names are rejected by the constructor, before any question is asked.
    """

    data: str
    save: str
    hints: str | None
    labels: str | None

    def __init__(self, asked: AskOptions) -> None:
        data, known, hints, labels = asked.data, asked.known, asked.hints, asked.labels
        if data == output.STDOUT:
            raise click.UsageError("answers are read from stdin, so DATA must be a file.")
        output.check_inputs(*known, asked.table.embeddings, data=data)
        path = asked.save
        if path is None:
            own = Path(data) if Path(data).name not in ("", "..") else Path(os.path.abspath(data))
            name = own.name if os.path.isdir(data) else own.stem
            path = str(own.with_name(f"{name}.ask.json"))
        output.check_distinct({"--save": path, "--hints": hints, "--labels": labels}, [data, *known])
        output.check_output(path, (".json",), "--save", links=True)
        output.check_output(hints, (".csv", ".jsonl", ".parquet"), "--hints")
        output.check_output(labels, output.TABLES, "--labels")
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
                from likewise.active.saved_interview import repair

                n_events = repair(self.save)
                if n_events is not None:
                    events = format_count(n_events, "event")
                    self.note = (
                        f"{self.save} ended in the middle of an answer, because the process that wrote it "
                        f"was killed. That answer is dropped; the {events} before it are kept."
                    )
            if self.hints is not None and not self.resumed and os.path.exists(self.hints):
                raise click.UsageError(
                    f"{self.hints} exists, and the answers of a new interview would replace it. Give --hints "
                    f"another name; to start from the hints in {self.hints}, add --known {self.hints}."
                )
            yield

    def save_interview(self, interview: Interview) -> None:
        """Append new events to the file; they are on disk when this returns."""
        from likewise.active.saved_interview import GrowingFile
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
        from likewise.supervision import write_hints

        with output.Outputs() as outputs:
            if self.hints is not None:
                hints = interview.supervision
                outputs.add(self.hints, lambda part: write_hints(part, hints, table.ids))
            if labels is not None:
                outputs.add_table(self.labels, make_labels_table(table.ids, labels))

    @property
    def wrote(self) -> list[str]:
        """The files that the command wrote."""
        return [path for path in (self.save, self.hints, self.labels) if path is not None]


class InterviewProgress:
    """Formats the heading of each question: its number, changed rows, and advice at intervals."""

    def __init__(self, n_samples: int) -> None:
        self.looks_back: bool = n_samples <= _MOST_ROWS
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


# ---------------------------------------------------------------------- summary


@dataclass(frozen=True)
class InterviewSummary:
    """The outcome of an interview, as printed lines and as a JSON document."""

    interview: Interview
    labels: Any
    finished: bool
    files: Files
    advice: str | None
    todo: str | None

    @property
    def words(self) -> dict[str, int]:
        """The number of answers of each kind; odd-one-out answers count as one kind, and so on."""
        from likewise.active import Answer

        words = [
            reply.answer.lower() if isinstance(reply.answer, Answer) else reply.question.kind
            for reply in self.interview.replies
        ]
        kinds = {
            **dict.fromkeys(("ab", "ac", "bc", "odd"), "odd one out"),
            "piles": "sorted",
            "placement": "placed",
            "members": "some odd",
            "label": "named",
            "new": "new (none of these)",
        }
        counts = Counter(kinds.get(word, word) for word in words)
        return dict(counts.most_common())

    @property
    def sizes(self) -> list[int] | None:
        """The number of rows of each cluster."""
        if self.labels is None:
            return None
        import numpy as np

        sizes: list[int] = np.bincount(self.labels).tolist()
        return sizes

    @property
    def suspects(self) -> list[Suspect]:
        """The suspect answers; none after an interruption, since finding them may cost a fit."""
        from likewise.oracles import find_suspects

        return [] if self.labels is None else find_suspects(self.interview)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "data": self.files.data,
            "rows": self.interview.n_samples,
            "answers": self.interview.n_answers,
            "said": self.words,
            "finished": self.finished,
            "clusters": None if self.sizes is None else len(self.sizes),
            "sizes": self.sizes,
            "advice": self.advice,
            "names": {name: self._get_id(row) for name, row in self.interview.names.items()},
            "contradictions": [str(one) for one in self.interview.contradictions],
            **self._collect_evidence(),
            "wrote": self.files.wrote,
            "next": self.todo,
        }

    def _get_id(self, row: int) -> Any:
        return row if self.interview.ids is None else self.interview.ids[row]

    def _collect_evidence(self) -> dict[str, Any]:
        """Return the error rate and the suspicious answers as plain values; None after an interruption."""
        from likewise.active.saved_interview import answer_entry

        if self.labels is None:
            return {"error_rate": None, "suspects": None}
        interview, rate = self.interview, self.interview.error_rate
        ids = interview.ids or range(interview.n_samples)
        suspects = [
            {
                "number": interview.replies.index(suspect.reply) + 1,
                "ids": [ids[row] for row in suspect.question.rows],
                "answer": answer_entry(suspect.reply.answer, interview.ids),
                "annotator": suspect.reply.annotator,
                "chance": suspect.chance,
                "n_against": len(suspect.against),
                "n_near": len(suspect.rows),
                "confirmed": suspect.confirmed,
            }
            for suspect in interview.suspects
        ]
        values = None if rate is None else {"mean": rate.mean, "low": rate.low, "high": rate.high}
        return {"error_rate": values, "suspects": suspects}

    def _format_evidence(self) -> list[str]:
        """Return the error rate and the first suspect answers.

        The rate is left out after few answers of which none is suspect: it would mostly be the prior.
        """
        from likewise.oracles import describe_suspect

        interview, lines = self.interview, []
        enough = interview.n_answers - self.words.get("unsure", 0) >= _MIN_ANSWERS or bool(self.suspects)
        if self.labels is not None and interview.errors == "learn" and enough:
            rate = interview.error_rate
            if rate is not None:
                mean, low, high = (round(100 * part) for part in (rate.mean, rate.low, rate.high))
                about = f"About {mean}" if mean else "Less than 1"
                lines.append(f"errors      {about} % of the answers are probably wrong ({low} to {high} %).")
        if suspects := self.suspects:
            lines.append(f"suspect     {format_count(len(suspects), 'suspect answer')}:")
        for suspect in suspects[:3]:
            number = interview.replies.index(suspect.reply) + 1
            lines.append(f"            answer {number}: {describe_suspect(interview, suspect)}")
        if len(suspects) > 3:
            lines.append(f"            and {len(suspects) - 3} more; --json lists them all")
        return lines

    def format_lines(self) -> list[str]:
        """Return the summary, line by line."""
        summary = ", ".join(f"{n} {word}" for word, n in self.words.items())
        lines = [
            "",
            "answers     "
            f"{format_count(self.interview.n_answers, 'answer')}{f': {summary}' if summary else ''}",
        ]
        if self.finished and self.interview.left == 0:
            lines.append(
                f"            the budget is spent; continue with --budget {self.interview.n_answers + 20}"
            )
        elif self.finished:
            lines.append("            there is nothing left to ask")
        elif self.advice is not None:
            lines.append(f"            {self.advice}")
        for one in self.interview.contradictions:
            lines.append(f"contradict  {one}")
        lines += self._format_evidence()
        if self.sizes is not None:
            lines.append(f"clusters    {len(self.sizes)}, of {', '.join(map(str, self.sizes))} rows")
            expected = (self.interview.cluster_range or (self.interview.n_clusters,))[0]
            if expected is not None and len(self.sizes) < expected:
                lines.append(
                    f"            fewer than the {expected} expected: answers joined some, and more answers "
                    "are needed to find the others"
                )
        kept = "" if self.finished else "; run the same command again to resume"
        lines.append(f"saved       {self.files.save}{kept}")
        lines += [f"wrote       {path}" for path in self.files.wrote[1:]]
        if self.todo is not None:
            lines.append(f"next        {self.todo}")
            if self.files.labels is not None and self.labels is not None:
                lines.append(f"            it fits again, so a few rows may differ from {self.files.labels}")
        if self.files.hints is None and self.interview.n_answers:
            lines.append("            add --hints FILE to write the answers as hints for other commands")
        return lines


def _suggest_command(interview: Interview, asked: AskOptions, labels: Any) -> str | None:
    """Return the command that clusters by the answers, or None if they were not written as hints.

    Its labels can differ in a few rows from those of the interview, which learns its metric from fewer
    answers and weights repeated answers and annotators. It therefore writes to a new file.
    """
    if asked.hints is None or not interview.supervision:
        return None
    fixed = interview.n_clusters is not None and not interview.discover
    k = interview.n_clusters if labels is None or fixed else int(labels.max()) + 1
    words = [output.get_program_name(), "cluster", asked.data, "-k", str(k), "--hints", asked.hints]
    if interview.model_is_default and "groups" not in interview.strategy.needs:  # the model of the interview
        words += ["--method", "propagation"]
    words += ["--as-links"] if "triplets" in interview.supervision.kinds else []
    words += asked.table.format_options(standardize=asked.standardize)
    words += ["--seed", str(asked.seed)] if asked.seed else []
    return shlex.join([*words, "--out", _find_free_name(asked.labels or "labels.csv")])


def _find_free_name(path: str) -> str:
    """Return the path, with the next free number after its name if the file exists."""
    free, number = Path(path), 2
    while free.exists():
        free, number = Path(path).with_stem(f"{Path(path).stem}-{number}"), number + 1
    return str(free)
