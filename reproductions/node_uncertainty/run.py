"""Reproduce Figures 2 to 4 of Xiong, Johnson & Corso: node uncertainty for spectral clustering.

Run with ``python reproductions/node_uncertainty/run.py``; ``--quick`` is fast, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import experiments as ex
import numpy as np
from rich.console import Console
from rich.table import Table

import likewise
from _curves import Report, Style, areas, curve_of, describe_counts, draw, make_plan, over, verdict
from _runner import Runner, parser_of, positive, progress_of
from likewise.exceptions import DatasetNotFoundError

HERE = Path(__file__).parent
NOT_TESTED = {
    "bupa": "Bupa (Figures 2 and 3) is not in the catalogue of data sets",
    "caltech": "Caltech 5-Class (Figure 4) is not in the catalogue of data sets",
}
STYLES = {
    "random": Style("Random", "#777777", "x", ":"),
    "ffqs": Style("FFQS", "#E69F00", "s", "--"),
    "asc": Style("ASC", "#CC79A7", "v", "-."),
    "quire": Style("QUIRE", "#009E73", "^", "--"),
    "pknn": Style("pKNN+AL", "#56B4E9", "D", ":"),
    "global": Style("Global OCSNU", "#D55E00", "P"),
    "local": Style("Local OCSNU", "#0072B2", "o"),
    "density": Style("Density", "#B8A800", "*", "--"),
    "compound": Style("Compound", "#000000", "h"),
}
LABELS = {"rand": "Rand index", "v_measure": "V-measure"}
UCI, OTHERS = ("balance_scale", "pima", "sonar", "wine"), ("cho", "semeion", "mfeat")
FIGURES = {
    "figure2": ("spectral learning", "spectral", UCI),
    "figure3": ("flexible spectral clustering", "flexible", ex.DATA["flexible"]),
    "figure4": ("spectral learning", "spectral", OTHERS),
    "dense": ("spectral learning on a graph of all pairs", "dense", ex.DATA["dense"]),
}


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    methods: tuple[str, ...] = ex.METHODS
    strategies: tuple[str, ...] = tuple(ex.STRATEGIES)
    data: tuple[str, ...] = tuple(ex.SETS)
    n_runs: int = 10
    most: int = 1000  # maximum number of questions per run
    jobs: int = 1


QUICK = Plan(data=("wine", "sonar"), n_runs=2, most=20)

# ---------------------------------------------------------------------- measuring


def measure(plan: Plan, console: Console, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run everything and return the results; `keep` gets the results so far after each strategy and set."""
    data: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    results = {
        "paper": "Xiong, Johnson & Corso, Online active constraint selection for semi-supervised clustering",
        "measure": "Rand index and V-measure of all rows; columns standardised; answers by the classes",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_runs": plan.n_runs,
        "strategies": {key: STYLES[key].label for key in STYLES},
        "data": data,
        "skipped": skipped,
        "not_tested": NOT_TESTED,
    }
    todo = [
        (method, strategy, name)
        for method in plan.methods
        for strategy in plan.strategies
        for name in ex.DATA[method]
        if name in plan.data
    ]
    with progress_of("runs", console, 30) as progress:
        runner = Runner(plan.jobs, console, progress)
        for method, strategy, name in todo:
            try:
                problem = ex.problem_of(name)
            except DatasetNotFoundError as error:
                runner.tell_skipped(name, error, skipped)
                continue
            length = replace(ex.SETS[name], budget=min(ex.SETS[name].budget, plan.most))
            found = data.setdefault(name, _size(problem, length))
            began = time.process_time()
            calls = [(name, method, strategy, seed, length) for seed in range(plan.n_runs)]
            runs = np.stack(runner.trials(f"{name} {method} {strategy}", ex.trial, calls))
            found["seconds"].setdefault(method, {})[strategy] = round(time.process_time() - began, 1)
            found["curves"].setdefault(method, {})[strategy] = {
                measure_name: curve_of(runs[:, m]) for m, measure_name in enumerate(ex.MEASURES)
            }
            keep(results)
    return results


def _size(problem: ex.Problem, length: ex.Length) -> dict[str, Any]:
    return {
        "n_samples": len(problem.X),
        "n_features": problem.X.shape[1],
        "n_clusters": problem.n_clusters,
        "largest_class": round(float(np.bincount(problem.y).max() / len(problem.y)), 4),
        "answers": length.marks,
        "seconds": {},
        "curves": {},
    }


# ---------------------------------------------------------------------- showing


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return Markdown tables for each figure: the mean over the answers, and the end, by both measures."""
    out: dict[str, list[str]] = {}
    for figure, (_, method, names) in FIGURES.items():
        here = {name: results["data"][name] for name in names if _has(results, name, method)}
        keys = [key for key in STYLES if any(key in found["curves"][method] for found in here.values())]
        for measure_name in ex.MEASURES if here else ():
            for kind, cell in (("mean", _area_cell), ("end", _end_cell)):
                lines = [f"| data | start | {' | '.join(STYLES[key].label for key in keys)} |"]
                lines.append("| --- " * (2 + len(keys)) + "|")
                for name, found in here.items():
                    curves = {key: found["curves"][method].get(key, {}).get(measure_name) for key in keys}
                    start = next(curve["mean"][0] for curve in curves.values() if curve)
                    cells = [cell(curves[key], found["answers"]) for key in keys]
                    lines.append(f"| {name} | {start:.3f} | {' | '.join(cells)} |")
                out[f"{figure}, {measure_name}, {kind}"] = lines
    return out


def _has(results: dict[str, Any], name: str, method: str) -> bool:
    return method in results["data"].get(name, {"curves": {}})["curves"]


def _area_cell(curve: dict[str, Any] | None, answers: list[int]) -> str:
    if curve is None:
        return ""
    area = areas(curve, answers)
    error = area.std(ddof=1) / np.sqrt(len(area)) if len(area) > 1 else 0.0
    return f"{area.mean():.3f} ± {error:.3f}"


def _end_cell(curve: dict[str, Any] | None, answers: list[int]) -> str:
    return "" if curve is None else f"{curve['mean'][-1]:.3f} ± {curve['standard_error'][-1]:.3f}"


def gains(
    found: dict[str, Any], method: str, key: str, measure_name: str = "v_measure"
) -> dict[str, tuple[float, float, str]]:
    """Return the lead of a strategy over each other one in its mean, the error, and the verdict."""
    area = {each: areas(c[measure_name], found["answers"]) for each, c in found["curves"][method].items()}
    return {
        each: (*over(area[key], area[each]), verdict(area[key], area[each])) for each in area if each != key
    }


def format_table(results: dict[str, Any]) -> Table:
    """Return a table for the terminal: the mean and the end of every curve."""
    out = Table(title="mean over the answers, and at the last; ± standard error over runs")
    for heading in ("data", "method", "strategy", "Rand", "end", "V-measure", "end"):
        out.add_column(heading, no_wrap=True)
    for name, found in results["data"].items():
        for method, curves in found["curves"].items():
            for key, curve in curves.items():
                cells = [
                    cell(curve[each], found["answers"])
                    for each in ex.MEASURES
                    for cell in (_area_cell, _end_cell)
                ]
                out.add_row(name, method, key, *cells)
    return out


def pictures(results: dict[str, Any], folder: Path) -> None:
    """Plot every figure with curves: V-measure at the top, the Rand index at the bottom, as in the paper."""
    for figure, (what, method, names) in FIGURES.items():
        here = {name: results["data"][name] for name in names if _has(results, name, method)}
        if not here:
            continue
        rows = []
        for measure_name in ("v_measure", "rand"):
            row = []
            for name, found in here.items():
                curves = found["curves"][method]
                title = f"{name}: {found['n_samples']} rows, {found['n_clusters']} classes"
                kept = {key: curves[key][measure_name] for key in STYLES if key in curves}
                row.append((title, LABELS[measure_name], found["answers"], kept))
            rows.append(row)
        of_paper = figure.replace("figure", "after Figure ")
        n_runs = describe_counts(curve for row in rows for panel in row for curve in panel[3].values())
        title = f"{of_paper}: {what}; mean and standard error of {n_runs}"
        draw(rows, STYLES, title, folder / f"{figure}.png")


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(
        __doc__,
        HERE,
        "wine and sonar, 2 runs of 20 questions: a few seconds",
        "also update expected.json and figures/ beside this file",
    )
    for option, names in (("--data", ex.SETS), ("--methods", ex.METHODS), ("--strategies", ex.STRATEGIES)):
        parser.add_argument(
            option, nargs="+", choices=names, metavar="NAME", help=f"any of {', '.join(names)}"
        )
    parser.add_argument("--runs", type=positive, help="number of runs (default 10; the paper made 30)")
    given = parser.parse_args(args)
    plan = make_plan(QUICK, Plan(), given, ("data", "methods", "strategies"))
    return Report(measure, format_table, pictures, ex.SETS).run(plan, given, HERE)


if __name__ == "__main__":
    sys.exit(main())
