"""Reproduce the figures of Pei & Fern (2014): cluster the rows of bags by the labels of the bags.

Run with ``python reproductions/bag_constraints/run.py``; ``--quick`` takes less than a minute,
and ``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import experiments as ex
import numpy as np
import pictures
from rich.console import Console
from rich.table import Table

import likewise
from _runner import Runner, count_runs, parser_of, positive, progress_of, write_json
from likewise.exceptions import DatasetNotFoundError

HERE = Path(__file__).parent
# Figures 2 and 3 show two measures of the same fits.
FIGURES = {
    1: "alpha",
    2: "shares",
    3: "shares",
    4: "clusters",
    5: "ablation",
    6: "development",
    7: "several_labels",
    8: "self_loops",
}
SLOW = "hja_birdsong"  # a fit of all pairs of its 4998 rows takes about 5 s
ALPHAS = tuple(np.linspace(0, 1, 21).round(2).tolist())
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
FEW_SHARES = (0.2, 0.6, 1.0)
MADE_SHARES = (0.1, 0.4, 1.0)
COMPARED = (
    "sp",
    "sp_10",
    "sp_additive",
    "splearn_additive",
    "splearn",
    "spreg",
    "csp_without",
    "csp",
    "exact",
    "labelled",
    "default",
)
MORE_CLUSTERS = ("sp", "sp_10", "splearn_additive", "splearn", "csp_without", "csp", "default")
MADE = ("sp", "sp_10", "splearn", "csp", "default")
NOT_TESTED = {
    "letter_frost": "the rows that were drawn to spell Letter-Frost are not published; The Road Not Taken is "
    "spelled afresh in figure 6",
}


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    experiments: tuple[str, ...] = tuple(dict.fromkeys(FIGURES.values()))
    n_runs: int = 10  # half this number for development sets
    data: tuple[str, ...] = (*ex.SETS, *ex.DEVELOPMENT)
    jobs: int = 1

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds of the runs."""
        return tuple(range(self.n_runs))


QUICK = Plan(n_runs=2, data=("letter_carroll", "tyger", "ecoli"))


# ---------------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Point:
    """A point of a curve: the method, its position, and what is fitted."""

    key: str
    x: float
    share: float = 1.0
    n_clusters: int | None = None
    options: Any = None


def points_of(experiment: str, name: str, n_classes: int) -> list[Point]:
    """Return the points that are fitted to a set of the paper."""
    slow = name == SLOW
    if experiment == "alpha":
        return [Point("csp", alpha, options={"alpha": alpha}) for alpha in (ALPHAS[::2] if slow else ALPHAS)]
    if experiment == "clusters":
        keys = [key for key in MORE_CLUSTERS if not (slow and key == "splearn_additive")]
        return [Point(key, k, n_clusters=k) for key in keys for k in cluster_counts(n_classes)]
    if experiment == "several_labels":
        counts = cluster_counts(n_classes)[::3]
        return [Point(key, k, n_clusters=k) for key in ("sp", "splearn", "csp", "default") for k in counts]
    if experiment == "self_loops":
        return [Point(key, 1.0) for key in ("sp", "sp_loops", "csp", "csp_loops")]
    if experiment == "ablation":
        return [Point(key, share, share) for key in ("sp_10", *ex.ABLATION) for share in FEW_SHARES]
    return [Point(key, share, share) for key in COMPARED for share in shares_of(key, slow)]


def shares_of(key: str, slow: bool) -> tuple[float, ...]:
    """Return the shares of labelled bags at which a method is fitted; fewer if a fit is slow."""
    if ex.METHODS[key].uses == "nothing" or (slow and key == "spreg"):
        return (1.0,)
    if slow and key in ("splearn_additive", "exact", "labelled"):
        return (0.2, 1.0)
    return FEW_SHARES if slow and key != "default" else SHARES


def cluster_counts(n_classes: int) -> list[int]:
    """Return K from C to 2 C in seven steps."""
    counts: list[int] = np.linspace(n_classes, 2 * n_classes, 7).round().astype(int).tolist()
    return counts


def sets_of(experiment: str) -> tuple[str, ...]:
    """Return the sets of an experiment."""
    if experiment == "several_labels":
        return (SLOW,)
    if experiment == "self_loops":
        return tuple(name for name in ex.SETS if name != SLOW)
    return ex.DEVELOPMENT if experiment == "development" else ex.SETS


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    """Run every experiment and return the results in the form of the JSON file."""
    experiments: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    with progress_of("fits", console, 28) as progress:
        runner = Runner(plan.jobs, console, progress)
        for experiment in plan.experiments:
            made = experiment == "development"
            found = {}
            for name in sets_of(experiment):
                if name not in plan.data:
                    continue
                began = time.perf_counter()
                try:
                    curves = (
                        measure_made(runner, name, plan)
                        if made
                        else measure_set(runner, experiment, name, plan)
                    )
                except DatasetNotFoundError as error:
                    runner.tell_skipped(name, error, skipped)
                    continue
                found[name] = {"seconds": round(time.perf_counter() - began, 1), **curves}
            if found:
                experiments[experiment] = found
    return {
        "paper": "Pei & Fern (2014), Constrained instance clustering in multi-instance multi-label learning",
        "measure": "purity and normalised mutual information (arithmetic mean) of all rows",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_runs": plan.n_runs,
        "methods": {key: method.label for key, method in ex.METHODS.items()},
        "experiments": experiments,
        "skipped": skipped,
        "not_tested": NOT_TESTED,
    }


def measure_set(runner: Runner, experiment: str, name: str, plan: Plan) -> dict[str, Any]:
    """Return the curves of an experiment on a set of the paper."""
    problem = ex.problem_of(name)
    if experiment == "several_labels":
        problem = problem.without_single_labels()
    points = points_of(experiment, name, problem.n_classes)
    calls, owners = [], []
    for at, point in enumerate(points):
        for seeds in ex.groups_of(plan.seeds, point.share, point.key):
            calls.append((problem, point.key, point.share, seeds, point.n_clusters, point.options))
            owners.append(at)
    found: list[list[np.ndarray]] = [[] for _ in points]
    for at, result in zip(owners, runner.trials(f"{experiment} {name}", ex.fit_scores, calls), strict=True):
        found[at].append(result)
    by_key: dict[str, dict[float, np.ndarray]] = {}
    for point, results in zip(points, found, strict=True):
        by_key.setdefault(point.key, {})[point.x] = np.concatenate(results)
    curves = {
        key: curve_of(found, same_everywhere=experiment == "shares" and ex.METHODS[key].uses == "nothing")
        for key, found in by_key.items()
    }
    return {**_size(problem), "curves": curves}


def measure_made(runner: Runner, name: str, plan: Plan) -> dict[str, Any]:
    """Return the curves of a development set, with a new draw in each run."""
    problem = ex.make_problem(name, 0)
    draws = plan.seeds[: max(1, plan.n_runs // 2)]
    calls = [(name, seed, MADE, MADE_SHARES) for seed in draws]
    found = np.stack(runner.trials(f"development {name}", ex.make_scores, calls))
    curves = {
        key: curve_of({share: found[:, m, s] for s, share in enumerate(MADE_SHARES)})
        for m, key in enumerate(MADE)
    }
    return {**_size(problem), "curves": curves}


def _size(problem: ex.Problem) -> dict[str, Any]:
    must, cannot = problem.implied()
    return {
        "n_samples": len(problem.X),
        "n_features": problem.X.shape[1],
        "n_classes": problem.n_classes,
        "n_bags": len(problem.bag_labels),
        "labels_per_bag": round(problem.labels_per_bag, 2),
        "pairs_that_must": round(must, 4),
        "pairs_that_cannot": round(cannot, 4),
    }


def curve_of(found: Mapping[float, np.ndarray], *, same_everywhere: bool = False) -> dict[str, Any]:
    """Summarise the runs of a method at each place: runs x (measures and whether the fit converged).

    A method without hints is the `same_everywhere`, for any share of labelled bags, and is measured once.
    """
    out: dict[str, Any] = {"x": list(found), "same_everywhere": same_everywhere}
    for m, measure_name in enumerate(ex.MEASURES):
        values = [runs[:, m] for runs in found.values()]
        out[measure_name] = {
            "mean": [round(float(each.mean()), 4) for each in values],
            "standard_deviation": [
                round(float(each.std(ddof=1)), 4) if len(each) > 1 else 0.0 for each in values
            ],
            "runs": [each.round(4).tolist() for each in values],
        }
    out["not_settled"] = [int((runs[:, -1] == 0).sum()) for runs in found.values()]
    return out


# ---------------------------------------------------------------------- showing


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return Markdown tables of purity, one per experiment."""
    out: dict[str, list[str]] = {}
    for experiment, sets in results["experiments"].items():
        places = sorted(
            {x for found in sets.values() for curve in found["curves"].values() for x in curve["x"]}
        )
        if experiment in ("alpha", "clusters", "several_labels"):
            for name, found in sets.items():
                own = sorted({x for curve in found["curves"].values() for x in curve["x"]})
                own = own[::4] if experiment == "alpha" and len(own) > 11 else own
                own = own[::2] if experiment == "alpha" and len(own) > 6 else own
                out[f"{experiment}, {name}"] = _lines({name: found}, own, "purity", _place(experiment))
            continue
        out[experiment] = _lines(sets, places, "purity", _place(experiment))
        if experiment == "shares":
            out["shares, nmi"] = _lines(sets, places, "nmi", _place(experiment))
    return out


def _place(experiment: str) -> str:
    if experiment in ("clusters", "several_labels"):
        return "K = {:.0f}"
    return "α = {:.2f}" if experiment == "alpha" else "{:.0%}"


def _lines(sets: dict[str, Any], places: list[float], measure_name: str, form: str) -> list[str]:
    heads = [form.format(x).replace("%", " %") for x in places]
    lines = [f"| data | method | {' | '.join(heads)} |", "| --- " * (2 + len(heads)) + "|"]
    for name, found in sets.items():
        for key, curve in found["curves"].items():
            lines.append(
                f"| {name} | `{key}` | {' | '.join(_cell(curve, x, measure_name) for x in places)} |"
            )
    return lines


def _cell(curve: dict[str, Any], x: float, measure_name: str) -> str:
    scores = curve[measure_name]
    once = curve["same_everywhere"]
    if x not in curve["x"] and not once:
        return ""
    at = 0 if once else curve["x"].index(x)
    return f"{scores['mean'][at]:.3f} ± {scores['standard_deviation'][at]:.3f}"


def format_table(results: dict[str, Any]) -> Table:
    """Return a table for the terminal: purity of every method with the fewest and with all bags labelled."""
    out = Table(title="purity, mean ± standard deviation over runs")
    for heading in ("experiment", "data", "method", "first", "last"):
        out.add_column(heading, no_wrap=True)
    for experiment, sets in results["experiments"].items():
        for name, found in sets.items():
            for key, curve in found["curves"].items():
                ends = [curve["x"][0], curve["x"][-1]]
                out.add_row(experiment, name, key, *(f"{_cell(curve, x, 'purity')} at {x:g}" for x in ends))
    return out


def merge_results(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the new results, and the old ones that were not measured again."""
    experiments = {}
    for experiment in dict.fromkeys(FIGURES.values()):
        sets = old["experiments"].get(experiment, {}) | new["experiments"].get(experiment, {})
        order = [name for name in (*ex.SETS, *ex.DEVELOPMENT) if name in sets]
        if order:
            experiments[experiment] = {name: sets[name] for name in order}
    return {**new, "experiments": experiments}


def write(results: dict[str, Any], file: Path, figures: Path) -> None:
    """Write the JSON file and the figures."""
    write_json(results, file)
    figures.mkdir(parents=True, exist_ok=True)
    for number, experiment in FIGURES.items():
        if experiment in results["experiments"]:
            path = figures / f"figure{number}.png"
            pictures.draw(number, results["experiments"][experiment], path, results["n_runs"])


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(
        __doc__,
        HERE,
        "letter_carroll and two development sets, 2 runs: less than a minute",
        "also update expected.json and figures/ beside this file",
    )
    parser.add_argument(
        "--figures", nargs="+", type=int, choices=FIGURES, metavar="N", help=f"any of {str([*FIGURES])[1:-1]}"
    )
    names = Plan().data
    parser.add_argument("--data", nargs="+", choices=names, metavar="NAME", help=f"any of {', '.join(names)}")
    parser.add_argument("--runs", type=positive, help="number of runs (default 10; the paper made 20)")
    given = parser.parse_args(args)
    plan = QUICK if given.quick else Plan()
    wanted = tuple(dict.fromkeys(FIGURES[number] for number in given.figures or ()))
    chosen = {
        "experiments": wanted,
        "data": given.data and tuple(given.data),
        "n_runs": count_runs(given, given.runs),
        "jobs": given.jobs,
    }
    plan = replace(plan, **{name: value for name, value in chosen.items() if value})
    console = Console()
    results = measure(plan, console)
    if not results["experiments"]:
        console.print("No data set is available; nothing was written.")
        return 1
    console.print(format_table(results))
    write(results, given.out / "results.json", given.out)
    console.print(f"Wrote results.json and the figures to {given.out}", highlight=False)
    if given.record:
        expected = HERE / "expected.json"
        old = json.loads(expected.read_text(encoding="utf-8")) if expected.exists() else {"experiments": {}}
        write(merge_results(old, results), expected, HERE / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
