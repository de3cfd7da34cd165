"""Shared by all reproductions: run trials, show progress, and write the results.

A script adds its parent folder to the search path to find this file, so it can be run from any folder.
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

FULL = 30  # number of runs with --full


def in_order(call: Callable[..., Any], calls: list[tuple[Any, ...]], jobs: int = 1) -> Iterator[Any]:
    """Yield the results of the calls in order, for any number of processes."""
    if jobs == 1:
        yield from (call(*each) for each in calls)
        return
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from pool(joblib.delayed(call)(*each) for each in calls)


def progress_of(unit: str, console: Console, width: int = 20) -> Progress:
    """Return progress bars for trials, counted in `unit`."""
    return Progress(
        TextColumn(f"{{task.description:{width}}}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        console=console,
    )


class Runner:
    """Runs trials in one or several processes, and shows progress."""

    def __init__(self, jobs: int, console: Console, progress: Progress) -> None:
        self.jobs, self.console, self.progress = jobs, console, progress

    def trials(self, label: str, call: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """Return the results of the calls in order."""
        task = self.progress.add_task(label, total=len(calls))
        found = []
        for result in in_order(call, calls, self.jobs):
            found.append(result)
            self.progress.advance(task)
        return found

    def tell_skipped(self, name: str, error: Exception, skipped: dict[str, str]) -> None:
        """Report once that a data set is not available, and record the reason."""
        if name not in skipped:
            self.console.print(f"[yellow]skipped[/] {name}: {error}", highlight=False)
        skipped[name] = str(error)


def write_json(results: dict[str, Any], path: Path) -> None:
    """Write results as readable JSON, with each list of numbers on one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^][{}]+?)\s+\]", lambda found: "[" + " ".join(found[1].split()) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")


def positive(text: str) -> int:
    """Parse a number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1; got {number}")
    return number


def count_runs(given: argparse.Namespace, asked: int | None) -> int | None:
    """Return the number of runs from the options; None for the default."""
    return asked or (FULL if given.full else None)


def parser_of(doc: str | None, here: Path, quick: str, record: str = "") -> argparse.ArgumentParser:
    """Return a parser with the common options; `quick` describes the quick run."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--full", action="store_true", help=f"{FULL} runs of everything: hours")
    parser.add_argument(
        "--out", type=Path, default=here / "out", help="folder for results.json and the figures"
    )
    parser.add_argument("--jobs", type=positive, default=1, help="number of processes (default 1)")
    record = record or "also replace expected.json and figures/ beside this file"
    parser.add_argument("--record", action="store_true", help=record)
    return parser
