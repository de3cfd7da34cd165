"""Reproduce Figures 5.3 to 5.5 of Pei (2017): learn a label hierarchy from incomplete labels.

Run with ``python reproductions/label_hierarchy/run.py``; ``--quick`` is fast, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import case_study as cs
import experiments as ex
import numpy as np
import pictures
from rich.console import Console
from rich.table import Table

import likewise
from _curves import Report, curve_of, make_plan, over
from _runner import Runner, parser_of, positive, progress_of
from likewise.exceptions import DatasetNotFoundError

HERE = Path(__file__).parent
NOT_TESTED = {
    "pascal2007": "the features of Pascal 2007 (Figures 5.4 and 5.5) are not in the catalogue of data sets",
    "sosh": "Sosh (section 5.5.3) is not in the catalogue of data sets",
}
TITLES = {name: each.label for name, each in ex.SETS.items()}
ORDER = (*ex.SETS, *cs.SETS)
MADE = ("tree15", "tree40")  # a new tree for each run


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    data: tuple[str, ...] = ORDER
    methods: tuple[str, ...] = tuple(ex.METHODS)
    noises: tuple[float, ...] = ex.NOISES
    n_runs: int = 5
    n_draws: int = cs.N_DRAWS
    jobs: int = 1


QUICK = Plan(
    data=("church", "tree15", "emotions"),
    methods=tuple(key for key in ex.METHODS if key != "profile"),  # as slow as all others together
    noises=(0.1, 0.4),
    n_runs=2,
    n_draws=3,
)

# ---------------------------------------------------------------------- measuring


def measure(plan: Plan, console: Console, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run everything and return the results; `keep` gets the results so far after each method and set."""
    data: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    results = {
        "paper": "Y. Pei, Learning with partial supervision for clustering and classification, chapter 5",
        "measure": "tree: edges between labels, without direction in rf; F1 on rows with all their labels",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_runs": plan.n_runs,
        "data": data,
        "skipped": skipped,
        "not_tested": NOT_TESTED,
    }
    with progress_of("runs", console, 26) as progress:
        runner = Runner(plan.jobs, console, progress)
        for name in plan.data:
            try:
                if name in cs.SETS:
                    (data[name],) = runner.trials(f"{name} case study", cs.case, [(name, plan.n_draws)])
                    keep(results)
                    continue
                problem = ex.SETS[name].make(0)
            except DatasetNotFoundError as error:
                runner.tell_skipped(name, error, skipped)
                continue
            found = data.setdefault(name, _size(name, problem, plan))
            for method in ex.methods_of(name):
                if method in plan.methods:
                    found["curves"][method] = _measure_curves(runner, plan, name, method)
                    keep(results)
    return results


def _size(name: str, problem: ex.Problem, plan: Plan) -> dict[str, Any]:
    return {
        "n_samples": len(problem.X),
        "n_train": ex.SETS[name].n_train,
        "n_test": ex.SETS[name].n_test,
        "n_features": problem.X.shape[1],
        "n_labels": problem.Y.shape[1],
        "n_edges": None if name in MADE else len(problem.hierarchy.edges),
        "noises": list(plan.noises),
        "curves": {},
    }


def _measure_curves(runner: Runner, plan: Plan, name: str, method: str) -> dict[str, Any]:
    """Return a curve for each measure of the method."""
    n_runs = min(plan.n_runs, ex.SETS[name].most_runs)
    calls = [(name, method, noise, seed) for seed in range(n_runs) for noise in plan.noises]
    found = np.array(runner.trials(f"{name} {method}", ex.trial, calls))
    runs = found.reshape(n_runs, len(plan.noises), len(ex.MEASURES))
    return {
        key: curve_of(runs[..., m]) for m, key in enumerate(ex.MEASURES) if not np.isnan(runs[..., m]).any()
    }


# ---------------------------------------------------------------------- showing


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return Markdown tables for each figure and set: one row per method, one column per noise."""
    out: dict[str, list[str]] = {}
    for figure, (_, panels) in pictures.FIGURES.items():
        for panel in panels:
            for name, found in results["data"].items():
                if any(True for _ in pictures.curves_of(found, panel)):
                    out[f"{figure}, {panel.axis}, {name}"] = _table(found, panel)
    for name in cs.SETS:
        if name in results["data"]:
            out[f"{name}, edges"] = _edge_table(results["data"][name])
            out[f"{name}, tree"] = ["```text", *cs.format_tree(results["data"][name]), "```"]
    out["floors"] = floor_table(results)
    return out


def _table(found: dict[str, Any], panel: pictures.Panel) -> list[str]:
    digits = 1 if panel.axis == "RF distance" else 3
    counts = panel.axis == "RF distance"
    heading = [f"{noise:g}" for noise in found["noises"]] + (["edges at the ends"] if counts else [])
    lines = [f"| | {' | '.join(heading)} |", "| --- " * (1 + len(heading)) + "|"]
    for line, curve in pictures.curves_of(found, panel):
        pairs = zip(curve["mean"], pictures.interval(curve), strict=True)
        cells = [f"{mean:.{digits}f} ± {half:.{digits}f}" for mean, half in pairs]
        if counts:
            ends = found["curves"][line.method]["n_edges"]["mean"]
            cells.append(f"{ends[0]:.1f}, {ends[-1]:.1f}")
        lines.append(f"| {line.style.label} | {' | '.join(cells)} |")
    return lines


def _edge_table(found: dict[str, Any]) -> list[str]:
    lines = ["| parent | child | rows with the child | of these with the parent | margin | drawn again |"]
    lines.append("| --- " * 6 + "|")
    for edge in found["edges"]:
        share = f"{edge['with_parent'] / edge['rows']:.0%}"
        cells = [edge["parent"], edge["child"], str(edge["rows"]), share]
        lines.append(f"| {' | '.join(cells)} | {edge['margin']:.1f} | {edge['drawn_again']:.0%} |")
    return lines


def format_table(results: dict[str, Any]) -> Table:
    """Return a table of the means for the terminal."""
    out = Table(title="means over runs, at the least and at the most noise")
    for heading in ("data", "method", "RF", "micro", "macro", "missing"):
        out.add_column(heading, no_wrap=True)
    for name, found in results["data"].items():
        for method, curves in found.get("curves", {}).items():
            cells = [
                "→".join(f"{curves[key]['mean'][at]:.{digits}f}" for at in (0, -1)) if key in curves else ""
                for key, digits in (("rf", 1), ("f1_micro", 2), ("f1_macro", 2), ("rate", 2))
            ]
            out.add_row(name, method, *cells)
    return out


# ---------------------------------------------------------------------- goals


@dataclass(frozen=True)
class Floor:
    """A goal on a set: its worst case, and whether it was reached."""

    what: str
    where: str
    worst: str
    reached: bool
    asked: bool = True  # False if it was not a goal for this set


def floors(results: dict[str, Any]) -> list[Floor]:
    """Check the goals on each set that has the necessary curves."""
    checks: tuple[Callable[[str, dict[str, Any]], Floor], ...] = (
        _tree_floor,
        _exact_floor,
        _label_floor,
        _check_given_floor,
        lambda name, found: _rate_floor(name, found, "gt", 0.05, "given"),
        lambda name, found: _rate_floor(name, found, "learn", 0.1, "learned"),
    )
    of_tree = _sets_with(results, {"learn", "chow_liu"})
    of_labels = _sets_with(results, {"learn", "gt", "chow_liu", "br_rescaled"})
    return [
        check(name, found)
        for check in checks
        for name, found in (of_tree if check in (_tree_floor, _exact_floor) else of_labels).items()
    ]


def _sets_with(results: dict[str, Any], methods: set[str]) -> dict[str, Any]:
    return {name: found for name, found in results["data"].items() if methods <= set(found.get("curves", {}))}


def _tree_floor(name: str, found: dict[str, Any]) -> Floor:
    ours, theirs = (np.array(found["curves"][key]["rf"]["mean"]) for key in ("learn", "chow_liu"))
    at = int(np.argmin(theirs - ours))
    worst = f"{ours[at]:.1f} against {theirs[at]:.1f} at {found['noises'][at]:g}"
    what, reached = "mean RF of learn below Chow-Liu's at every noise", bool((ours < theirs).all())
    return Floor(what, name, worst, reached, asked=name in ("voc2007", "20news", *MADE))


def _exact_floor(name: str, found: dict[str, Any]) -> Floor:
    wrong = [run[0] for run in found["curves"]["learn"]["rf"]["runs"]]
    what = f"RF 0 at noise {found['noises'][0]:g} in every run"
    return Floor(what, name, f"largest {max(wrong):g}", max(wrong) == 0, asked=name in ("voc2007", *MADE))


def _gains(found: dict[str, Any], ahead: str, behind: str, least: float) -> list[tuple[float, float, str]]:
    """Return the paired lead of a method, half the width of its interval, and the place."""
    out = []
    for measure_name in ("f1_micro", "f1_macro"):
        one, other = (np.array(found["curves"][key][measure_name]["runs"]) for key in (ahead, behind))
        for at, noise in enumerate(found["noises"]):
            if noise >= least:
                mean, error = over(one[:, at], other[:, at])
                half = pictures.interval({"runs": one, "mean": [0.0], "standard_error": [error]})[0]
                out.append((mean, float(half), f"{measure_name[3:]} at {noise:g}"))
    return out


def _label_floor(name: str, found: dict[str, Any]) -> Floor:
    gains = _gains(found, "learn", "br_rescaled", 0.2)
    mean, half, where = min(gains)
    what = "F1 of learn above BR with the true missing rate, from noise 0.2"
    worst, reached = f"{mean:+.3f} ± {half:.3f}, {where}", all(gain[0] > 0 for gain in gains)
    return Floor(what, name, worst, reached, asked=name == "20news")


def _check_given_floor(name: str, found: dict[str, Any]) -> Floor:
    gains = _gains(found, "gt", "learn", 0.0)
    mean, half, where = min(gains, key=lambda gain: (gain[0] + gain[1], gain))
    what = "F1 with the true tree not below learn's by more than the interval"
    return Floor(what, name, f"{mean:+.3f} ± {half:.3f}, {where}", all(m >= -h for m, h, _ in gains))


def _rate_floor(name: str, found: dict[str, Any], method: str, most: float, what: str) -> Floor:
    curve = found["curves"][method]["rate"]
    off = np.array(curve["mean"]) - found["noises"]
    at = int(np.argmax(abs(off)))
    single = abs(np.array(curve["runs"]) - found["noises"]).max()
    worst = f"mean off by {off[at]:+.3f} at {found['noises'][at]:g}; a single run by {single:.3f}"
    return Floor(f"missing rate within {most:g}, tree {what}", name, worst, bool((abs(off) <= most).all()))


def floor_table(results: dict[str, Any]) -> list[str]:
    """Return a Markdown table with one row per goal and set; brackets mark checks that were not goals."""
    lines = ["| to reach | set | where it was nearest to failing | reached |", "| --- | --- | --- | --- |"]
    for each in floors(results):
        word = "yes" if each.reached else "**no**"
        lines.append(f"| {each.what} | {each.where} | {each.worst} | {word if each.asked else f'({word})'} |")
    return lines


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(
        __doc__,
        HERE,
        "church, generated trees and emotions, 2 runs: a few seconds",
        "also update expected.json and figures/ beside this file",
    )
    for option, names in (("--data", ORDER), ("--methods", ex.METHODS)):
        parser.add_argument(
            option, nargs="+", choices=names, metavar="NAME", help=f"any of {', '.join(names)}"
        )
    parser.add_argument("--runs", type=positive, help="number of runs (default 5, as in the thesis)")
    given = parser.parse_args(args)
    plan = make_plan(QUICK, Plan(), given, ("data", "methods"))

    def draw(results: dict[str, Any], folder: Path) -> None:
        pictures.draw(results, TITLES, folder)

    return Report(measure, format_table, draw, ORDER).run(plan, given, HERE)


if __name__ == "__main__":
    sys.exit(main())
