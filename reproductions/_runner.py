"""What every reproduction does in the same way: run trials, show how far they are, and write the results.

A script finds this file by putting the folder above its own on the path, so that it runs from anywhere.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

FULL = 30  # the runs of --full


def in_order(call: Callable[..., Any], calls: list[tuple[Any, ...]], jobs: int = 1) -> Iterator[Any]:
    """Yield the results of the calls in their order, whatever the number of processes."""
    if jobs == 1:
        yield from (call(*each) for each in calls)
        return
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from pool(joblib.delayed(call)(*each) for each in calls)


def progress_of(unit: str, console: Console, width: int = 20) -> Progress:
    """Return the bars that show how far the trials are, counted in `unit`."""
    return Progress(
        TextColumn(f"{{task.description:{width}}}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        console=console,
    )


class Runner:
    """Run trials, one after the other or in several processes, and show how far they are."""

    def __init__(self, jobs: int, console: Console, progress: Progress) -> None:
        self.jobs, self.console, self.progress = jobs, console, progress

    def trials(self, label: str, call: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """Return the results of the calls in their order."""
        task = self.progress.add_task(label, total=len(calls))
        found = []
        for result in in_order(call, calls, self.jobs):
            found.append(result)
            self.progress.advance(task)
        return found

    def tell_skipped(self, name: str, error: Exception, skipped: dict[str, str]) -> None:
        """Say once that a data set cannot be had, and keep why."""
        if name not in skipped:
            self.console.print(f"[yellow]skipped[/] {name}: {error}", highlight=False)
        skipped[name] = str(error)


def write_json(results: dict[str, Any], path: Path) -> None:
    """Write results so that people can read them too: a list of numbers stands on one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^][{}]+?)\s+\]", lambda found: "[" + " ".join(found[1].split()) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")


def positive(text: str) -> int:
    """Read a number of at least 1 from the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def count_runs(given: argparse.Namespace, asked: int | None) -> int | None:
    """Return how many runs were asked for, by number or with --full; None for the default."""
    return asked or (FULL if given.full else None)


def parser_of(doc: str | None, here: Path, quick: str, record: str = "") -> argparse.ArgumentParser:
    """Return a parser with what every reproduction takes; `quick` says what the quick run does."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--full", action="store_true", help=f"{FULL} runs of everything: hours")
    parser.add_argument(
        "--out", type=Path, default=here / "out", help="where results.json and the figures go"
    )
    parser.add_argument("--jobs", type=positive, default=1, help="how many processes (default 1)")
    record = record or "also replace expected.json and figures/ beside this file"
    parser.add_argument("--record", action="store_true", help=record)
    return parser
