"""Reproduce the figures of Pei (2017), chapter 4: Bayesian active clustering and its baselines.

Run with ``python reproductions/bayesian_active/run.py``; ``--quick`` is fast, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
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
    name: f"{name} (Table 4.1) is not in the catalogue of data sets" for name in ("parkinsons", "crabs")
}
BLUE, RED, GREEN, SKY, ORANGE, PINK, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#E69F00", "#CC79A7", "#777777",
)  # fmt: skip
STYLES = {
    "bc_tree": Style("BC+tree", BLUE, "o"),
    "itml": Style("ITML", RED, "s", "--"),
    "itml_tree": Style("ITML+tree", ORANGE, "s", ":"),
    "mpck": Style("MPCKMeans", GREEN, "^", "--"),
    "mpck_tree": Style("MPCKMeans+tree", SKY, "^", ":"),
    "info_bc": Style("Info+BC", BLUE, "o"),
    "uncertain_bc": Style("Uncertain+BC", SKY, "o", "-."),
    "npu_itml": Style("NPU+ITML", RED, "s", "--"),
    "npu_mpck": Style("NPU+MPCKMeans", ORANGE, "^", "--"),
    "min_max_itml": Style("MinMax+ITML", PINK, "s", ":"),
    "min_max_mpck": Style("MinMax+MPCKMeans", GREEN, "^", ":"),
    "info_itml": Style("answers of Info, to ITML", RED, "s", "--"),
    "info_mpck": Style("answers of Info, to MPCKMeans", GREEN, "^", "--"),
    "uncertain_itml": Style("answers of Uncertain, to ITML", ORANGE, "s", ":"),
    "uncertain_mpck": Style("answers of Uncertain, to MPCKMeans", SKY, "^", ":"),
    "info_bc_default": Style("Info+BC, our default prior", GREY, "D", "-."),
    "bc_tree_default": Style("BC+tree, our default prior", GREY, "D", "-."),
    "bc_tree_lambda_1": Style("BC+tree, λ = 1", RED, "v", "--"),
    "bc_tree_lambda_100": Style("BC+tree, λ = 100", ORANGE, "^", "--"),
    "bc_tree_tau_0": Style("BC+tree, τ = 0", GREEN, "v", ":"),
    "bc_tree_tau_10": Style("BC+tree, τ = 10", SKY, "^", ":"),
    "bc_tree_epsilon_0.01": Style("BC+tree, ε = 0.01", PINK, "v", "-."),
    "bc_tree_epsilon_0.2": Style("BC+tree, ε = 0.2", "#000000", "^", "-."),
}
PASSIVE = ("bc_tree", "itml", "itml_tree", "mpck", "mpck_tree")
ACTIVE = ("info_bc", "uncertain_bc", "npu_itml", "npu_mpck", "min_max_itml", "min_max_mpck")
HANDED = ("info_bc", "info_itml", "info_mpck", "uncertain_itml", "uncertain_mpck")
FIGURES = {
    "figure4.1": ("pairs at random", PASSIVE),
    "figure4.2": ("pairs that are chosen", (*ACTIVE, "info_bc_default")),
    "handed_on": ("answers that BC asked for, given to others", HANDED),
    "priors": ("pairs at random, other priors", ("bc_tree", *ex.PRIORS)),
}


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    parts: tuple[str, ...] = tuple(ex.PARTS)
    data: tuple[str, ...] = tuple(ex.BUDGETS)
    n_runs: int = 10
    most: int = 1000  # maximum number of questions per run
    jobs: int = 1


QUICK = Plan(data=("fertility",), n_runs=2, most=20)

# ---------------------------------------------------------------------- measuring


def measure(plan: Plan, console: Console, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run every part on every set and return the results; `keep` gets the results so far after each."""
    data: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    results = {
        "paper": "Pei (2017), Learning with partial supervision for clustering and classification, chapter 4",
        "measure": "pairwise F of all rows; columns standardised; answers by the classes",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_runs": plan.n_runs,
        "methods": {key: style.label for key, style in STYLES.items()},
        "table_4_2_at": list(ex.TABLE),
        "data": data,
        "skipped": skipped,
        "not_tested": NOT_TESTED,
    }
    with progress_of("runs", console, 26) as progress:
        runner = Runner(plan.jobs, console, progress)
        for part in plan.parts:
            for name in plan.data:
                try:
                    problem = ex.problem_of(name)
                except DatasetNotFoundError as error:
                    runner.tell_skipped(name, error, skipped)
                    continue
                found = data.setdefault(name, _size(problem, min(ex.BUDGETS[name], plan.most)))
                began = time.process_time()
                calls = [(name, seed, found["answers"][-1]) for seed in range(plan.n_runs)]
                runs = runner.trials(f"{name} {part}", ex.PARTS[part], calls)
                found["seconds"][part] = round(time.process_time() - began, 1)
                for key in runs[0]:
                    place = found["dropped" if key == "dropped" else "curves"]
                    place[part if key == "dropped" else key] = curve_of([run[key] for run in runs])
                keep(results)
    return results


def _size(problem: ex.Problem, budget: int) -> dict[str, Any]:
    return {
        "n_samples": len(problem.X),
        "n_features": problem.X.shape[1],
        "n_clusters": problem.n_clusters,
        "largest_class": round(float(np.bincount(problem.y).max() / len(problem.y)), 4),
        "answers": ex.marks_of(budget),
        "seconds": {},
        "curves": {},
        "dropped": {},
    }


# ---------------------------------------------------------------------- showing


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return Markdown tables: the area under each curve, F at the last answer, and Table 4.2."""
    out: dict[str, list[str]] = {}
    for figure, (_, keys) in FIGURES.items():
        here = [key for key in keys if any(key in found["curves"] for found in results["data"].values())]
        if here:
            out[f"{figure}, mean"] = _lines(results, here, _area_cell)
            out[f"{figure}, end"] = _lines(results, here, _end_cell)
    if any(found["dropped"] for found in results["data"].values()):
        out["table 4.2"] = _describe_dropped(results)
    return out


def _lines(results: dict[str, Any], keys: list[str], cell: Callable[..., str]) -> list[str]:
    heads = [STYLES[key].label for key in keys]
    lines = [f"| data | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    for name, found in results["data"].items():
        if sum(key in found["curves"] for key in keys) > 1:  # a single curve has no comparison
            lines.append(f"| {name} | {' | '.join(cell(found, key) for key in keys)} |")
    return lines


def _area_cell(found: dict[str, Any], key: str) -> str:
    if key not in found["curves"]:
        return ""
    area = areas(found["curves"][key], found["answers"])
    error = area.std(ddof=1) / np.sqrt(len(area)) if len(area) > 1 else 0.0
    return f"{area.mean():.3f} ± {error:.3f}"


def _end_cell(found: dict[str, Any], key: str) -> str:
    if key not in found["curves"]:
        return ""
    curve = found["curves"][key]
    return f"{curve['mean'][-1]:.3f} ± {curve['standard_error'][-1]:.3f}"


def _describe_dropped(results: dict[str, Any]) -> list[str]:
    lines = [f"| data | {' | '.join(map(str, ex.TABLE))} |", "| --- " * (1 + len(ex.TABLE)) + "|"]
    for name, found in results["data"].items():
        columns = [found["dropped"].get(part, {"mean": []})["mean"] for part in ("info", "uncertain")]
        cells = [f"{info:.1f}/{uncertain:.1f}" for info, uncertain in zip(*columns, strict=False)]
        if cells:
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def gains(found: dict[str, Any], key: str, others: tuple[str, ...]) -> dict[str, tuple[float, float, str]]:
    """Return the lead of a curve over others in its mean, the standard error, and the verdict."""
    area = {each: areas(found["curves"][each], found["answers"]) for each in (key, *others)}
    return {each: (*over(area[key], area[each]), verdict(area[key], area[each])) for each in others}


def format_table(results: dict[str, Any]) -> Table:
    """Return a table for the terminal: the mean and the end of every curve."""
    out = Table(title="pairwise F: mean over the answers, and at the last; ± standard error over runs")
    for heading in ("data", "method", "mean", "end"):
        out.add_column(heading, no_wrap=True)
    for name, found in results["data"].items():
        for key in found["curves"]:
            out.add_row(name, key, _area_cell(found, key), _end_cell(found, key))
    return out


def pictures(results: dict[str, Any], folder: Path) -> None:
    """Plot every figure with curves."""
    for figure, (what, keys) in FIGURES.items():
        panels = []
        for name, found in results["data"].items():
            curves = {key: found["curves"][key] for key in keys if key in found["curves"]}
            if len(curves) > 1:
                title = f"{name}: {found['n_samples']} rows, {found['n_clusters']} classes"
                panels.append((title, "pairwise F", found["answers"], curves))
        if panels:
            rows = [panels[at : at + 3] for at in range(0, len(panels), 3)]
            n_runs = describe_counts(curve for panel in panels for curve in panel[3].values())
            of_thesis = figure.replace("figure", "after Figure ").replace("_", " ")
            title = f"{of_thesis}: {what}; mean and standard error of {n_runs}"
            draw(rows, STYLES, title, folder / f"{figure}.png")


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(
        __doc__,
        HERE,
        "fertility, 2 runs of 20 questions: a few seconds",
        "also update expected.json and figures/ beside this file",
    )
    for option, names in (("--data", ex.BUDGETS), ("--parts", ex.PARTS)):
        parser.add_argument(
            option, nargs="+", choices=names, metavar="NAME", help=f"any of {', '.join(names)}"
        )
    parser.add_argument("--runs", type=positive, help="number of runs (default 10; the thesis made 30)")
    given = parser.parse_args(args)
    plan = make_plan(QUICK, Plan(), given, ("data", "parts"))
    return Report(measure, format_table, pictures, ex.BUDGETS).run(plan, given, HERE)


if __name__ == "__main__":
    sys.exit(main())
