"""``likewise ask``: ask a person questions at the terminal, and cluster by the answers."""

from __future__ import annotations

import io
import shlex
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._interview_options import (
    EVERY,
    AskOptions,
    Files,
    InterviewProgress,
)
from likewise.cli._options import collect_options
from likewise.cli._output import (
    Command,
    format_count,
    gather_warnings,
    get_program_name,
    make_console,
    print_json,
    print_notes,
)

if TYPE_CHECKING:
    from likewise.active import Interview, Suspect
    from likewise.cli._data_tables import DataTable

_SAID = {
    "ab": "odd one out",
    "ac": "odd one out",
    "bc": "odd one out",
    "odd": "odd one out",
    "piles": "sorted",
}
INTERRUPTED = 130  # the convention of shells: 128 plus the number of the signal
_MIN_ANSWERS = 20  # with fewer, the estimated error rate mostly reflects its prior


@click.command("ask", cls=Command)
@collect_options(AskOptions)
@click.pass_context
def command(ctx: click.Context, asked: AskOptions) -> None:
    """Answer questions about rows, and cluster by the answers.

    DATA is a CSV, Parquet or .npy file. Each question shows rows and asks whether they belong together: y
    is yes, n no, u unsure; s skips the question, b undoes the last answer, q quits. Every answer is saved at
    once; run the same command again to resume. Without a terminal, answers are read from stdin, one per line.
    A question is not asked if earlier answers that look right imply its answer.

    At a terminal, answers that look odd are pointed out: k keeps one, r asks again, Enter leaves it.

    \b
    Examples:
      likewise ask data.csv -k 4 --show text
      likewise ask birds.csv --discover --id name --show name,song --standardize --annotator Ann
      likewise ask data.csv -k 3 --budget 60 --hints answers.csv --labels labels.csv
      likewise ask data.csv -k 3 --trays
    """
    files = Files(asked)
    if asked.trays and asked.strategy is not None:
        raise click.UsageError("--trays and --strategy exclude each other: both choose the questions.")

    ctx.with_resource(files.hold())
    from likewise.cli._data_tables import make_table, standardize_columns
    from likewise.cli._raw_tables import read_raw
    from likewise.cli._row_text import check_shown, drop_text_columns, make_row_formatter
    from likewise.oracles import ConsoleOracle

    options, known = asked.table, asked.known
    raw = read_raw(asked.data, header=not options.no_header, encoding=options.encoding)
    check_shown(raw, asked.show)
    columns = drop_text_columns(options.make_roles(), raw, asked.show)
    table = make_table(raw, columns)
    given = options.read_hints(known, table.ids, data=asked.data)
    if "labels" in given.kinds:  # links carry the same information
        given = given.select_kinds(given.kinds - {"labels"}) | given.select_kinds("labels").to_links()
    X = standardize_columns(table.X) if asked.standardize else table.X
    _read_any_bytes()
    person = ConsoleOracle(make_row_formatter(raw, options.id_column, asked.show), annotator=asked.annotator)
    with gather_warnings() as notes:
        interview = asked.make_interview(X, table, given if known else None, files)
        files.save_interview(interview)
        n_read = interview.n_answers
        _greet(person, interview, files)
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
    read_alike = replace(options, drop=columns.drop or None)
    todo = _suggest_command(interview, replace(asked, table=read_alike), found)
    end = InterviewSummary(interview, found, finished, files, advice, todo)
    if asked.as_json:
        labels = _list_clusters(table, found, asked.labels)
        print_json({**end.as_dict(), "answers_read": n_read, "labels": labels, "notes": notes})
    stderr = make_console()
    for line in end.format_lines():
        stderr.print(line)
    print_notes(notes)
    if interrupted:
        ctx.exit(INTERRUPTED)


def _read_any_bytes() -> None:
    """Decode invalid bytes on stdin as a replacement character, which is rejected as an answer."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")


def _greet(person: Any, interview: Interview, files: Files) -> None:
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
        """The number of answers of each kind; odd-one-out answers count as one kind, and so do piles."""
        from likewise.active import Answer

        words = [
            reply.answer.lower() if isinstance(reply.answer, Answer) else reply.question.kind
            for reply in self.interview.replies
        ]
        counts = Counter(_SAID.get(word, word) for word in words)
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
    def odd(self) -> list[Suspect]:
        """The answers that look odd; none after an interruption, since finding them may cost a fit."""
        from likewise.oracles._console import find_odd

        return [] if self.labels is None else find_odd(self.interview)

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
            "contradictions": [str(one) for one in self.interview.contradictions],
            **self._collect_evidence(),
            "wrote": self.files.wrote,
            "next": self.todo,
        }

    def _collect_evidence(self) -> dict[str, Any]:
        """Return the error rate and the suspicious answers as plain values; None after an interruption."""
        from likewise.active._saved_interview import answer_entry

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
        """Return the error rate and the first odd answers.

        The rate is left out after few answers of which none looks odd: it would mostly be the prior.
        """
        from likewise.oracles._console import describe_suspect

        interview, lines = self.interview, []
        enough = interview.n_answers - self.words.get("unsure", 0) >= _MIN_ANSWERS or bool(self.odd)
        if self.labels is not None and interview.errors == "learn" and enough:
            rate = interview.error_rate
            if rate is not None:
                mean, low, high = (round(100 * part) for part in (rate.mean, rate.low, rate.high))
                about = f"About {mean}" if mean else "Less than 1"
                lines.append(f"errors      {about} % of the answers are probably wrong ({low} to {high} %).")
        if odd := self.odd:
            lines.append(
                f"odd         {format_count(len(odd), 'answer')} look{'s' if len(odd) == 1 else ''} odd:"
            )
        for suspect in odd[:3]:
            number = interview.replies.index(suspect.reply) + 1
            lines.append(f"            answer {number}: {describe_suspect(interview, suspect)}")
        if len(odd) > 3:
            lines.append(f"            and {len(odd) - 3} more; --json lists them all")
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
            expected = self.interview.n_clusters
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
    k = interview.n_clusters if labels is None or not interview.discover else int(labels.max()) + 1
    words = [get_program_name(), "cluster", asked.data, "-k", str(k), "--hints", asked.hints]
    words += ["--method", "propagation"] if interview.model_is_default else []  # the model of the interview
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


def _list_clusters(table: DataTable, labels: Any, written: str | None) -> list[dict[str, Any]] | None:
    """Return the clusters for the JSON document; None if they are written to a file."""
    if labels is None or written is not None:
        return None
    return [{"id": name, "cluster": int(label)} for name, label in zip(table.ids, labels, strict=True)]
