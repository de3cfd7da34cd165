"""Reproduce the figures of Yu, Elhabian & Whitaker: mixtures with pairwise relations and baselines.

Run with ``python reproductions/gm_pr/run.py``; ``--quick`` takes a minute, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import sys
import time
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
TOYS = (3, 8)
FIGURES = (3, 4, 6, 7, 8, 9, 10)
NOT_TESTED = {
    "haberman": "Haberman's survival (figures 4, 6 and 7) is not in the catalogue of data sets",
    "thyroid": "Thyroid (figures 4, 6 and 7) is not in the catalogue of data sets",
}


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    figures: tuple[int, ...] = FIGURES
    n_trials: int = 20
    links: tuple[int, ...] | None = None  # replaces the numbers of links of the figure
    data: tuple[str, ...] = tuple(ex.SETS)
    jobs: int = 1


QUICK = Plan(n_trials=2, links=(0, 128), data=("digits123",))

# ---------------------------------------------------------------------- measuring


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    """Run every figure and return the results in the form of the JSON file."""
    figures: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    with progress_of("trials", console) as progress:
        runner = Runner(plan.jobs, console, progress)
        for number in plan.figures:
            began = time.perf_counter()
            if number in TOYS:
                found = measure_toy(runner, plan) if number == 3 else measure_moons(runner, plan)
            else:
                found = measure_sweep(runner, plan, number, skipped)
            if found:
                figures[str(number)] = {"seconds": round(time.perf_counter() - began, 1), **found}
    return {
        "paper": "Yu, Elhabian & Whitaker, Clustering with pairwise relationships: a generative approach",
        "measure": "purity and adjusted Rand index of all rows, classes by predict",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_trials": plan.n_trials,
        "methods": {name: method.label.replace("$", "") for name, method in ex.METHODS.items()},
        "figures": figures,
        "skipped": skipped,
        "not_tested": NOT_TESTED,
    }


def _share(n_trials: int, share: float) -> int:
    return max(1, round(n_trials * share))


def measure_sweep(runner: Runner, plan: Plan, number: int, skipped: dict[str, str]) -> dict[str, Any]:
    """Return the curves of a figure for each available set."""
    sweep = ex.SWEEPS[number]
    sweep = replace(sweep, links=plan.links or sweep.links)
    n_trials = _share(plan.n_trials, sweep.share)
    data: dict[str, Any] = {}
    for name in sweep.data:
        if name not in plan.data:
            continue
        try:
            X, y = ex.data_of(name)
        except DatasetNotFoundError as error:
            runner.tell_skipped(name, error, skipped)
            continue
        curves: dict[str, Any] = {}
        for share in sorted({ex.METHODS[m].share for m in sweep.methods}, reverse=True):
            methods = [m for m in sweep.methods if ex.METHODS[m].share == share]
            calls = [(sweep, X, y, seed, methods) for seed in range(_share(n_trials, share))]
            found = np.stack(
                runner.trials(f"{number:2} {name}{' default' * (share < 1)}", ex.sweep_trial, calls)
            )
            curves |= {m: _curve(found[:, i], found[:, 0]) for i, m in enumerate(methods)}
        spectral = ex.spectral_trials(X, y, n_trials)
        data[name] = {
            "n_samples": len(X),
            "n_features": X.shape[1],
            "n_clusters": int(y.max()) + 1,
            "majority": round(float(np.bincount(y).max() / len(y)), 4),
            "links": list(sweep.links),
            "spectral": _spread(spectral),
            "curves": {m: curves[m] for m in sweep.methods},
        }
    return {"n_trials": n_trials, "data": data} if data else {}


def _curve(found: np.ndarray, first: np.ndarray) -> dict[str, Any]:
    """Summarise trials x numbers of links x scores; `first` are those of the first method with this start."""
    less = found[..., 0] - first[..., 0]
    return {
        "n_trials": len(found),
        **_spread(found),
        "not_settled": (1 - found[..., -1]).sum(axis=0).astype(int).tolist(),
        # All methods had the same starts and links, so differences have paired errors.
        "purity_over_first": {
            "mean": less.mean(axis=0).round(4).tolist(),
            "standard_error": (_deviation(less) / np.sqrt(len(less))).round(4).tolist(),
        },
    }


def _deviation(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def _spread(found: np.ndarray) -> dict[str, Any]:
    """Return the mean and the standard deviation over trials of each measure."""
    return {
        name: {
            "mean": found[..., i].mean(axis=0).round(4).tolist(),
            "standard_deviation": _deviation(found[..., i]).round(4).tolist(),
        }
        for i, name in enumerate(ex.MEASURES)
    }


def measure_toy(runner: Runner, plan: Plan) -> dict[str, Any]:
    """Return how often the intended split is found on the toy."""
    n_trials = plan.n_trials
    runs = runner.trials(" 3 toy", ex.toy_trial, [(seed,) for seed in range(n_trials)])
    found = np.mean(runs, axis=0)
    names = ("gm_pr", "gm_pr_default", "gmm_ec", "gmm_ec_default", "meant_is_likelier")
    rows = {
        amount.label: dict(zip(names, shares.round(4).tolist(), strict=True))
        for amount, shares in zip(ex.TOY_LINKS, found, strict=True)
    }
    return {"n_trials": n_trials, "n_samples": ex.N_TOY, "found_from_purity": ex.RECOVERED, "shares": rows}


def measure_moons(runner: Runner, plan: Plan) -> dict[str, Any]:
    """Return the share of rows in the wrong moon."""
    n_trials = plan.n_trials
    found = np.stack(runner.trials(" 8 moons", ex.moons_trial, [(seed,) for seed in range(n_trials)]))
    wrong: dict[str, Any] = {}
    for t, amount in enumerate(ex.MOON_LINKS):
        wrong[amount.label] = {
            f"gm_pr{'_2' * m}{'_default' * s}": {
                "mean": round(float(found[:, t, m, s].mean()), 4),
                "standard_deviation": round(float(_deviation(found[:, t, m, s])), 4),
            }
            for m in range(2)
            for s in range(len(ex.STARTS))
        }
    return {"n_trials": n_trials, "n_samples": ex.N_TOY, "share_wrong": wrong}


# ---------------------------------------------------------------------- showing


def table(results: dict[str, Any]) -> Table:
    """Return the purity of every method without links and with the most links of each figure."""
    out = Table(title="purity, mean ± standard deviation over trials")
    for heading in ("figure", "data", "method", "no links", "most links"):
        out.add_column(heading, no_wrap=True)
    for number, figure in results["figures"].items():
        for name, found in figure.get("data", {}).items():
            for method, curve in found["curves"].items():
                means, spreads = curve["purity"]["mean"], curve["purity"]["standard_deviation"]
                cells = [f"{means[at]:.3f} ±{spreads[at]:.3f}" for at in (0, -1)]
                out.add_row(number, name, method, cells[0], f"{cells[1]} at {found['links'][-1]}")
    return out


def write(results: dict[str, Any], folder: Path, figures: Path, file: str) -> None:
    """Write the JSON file and the figures."""
    figures.mkdir(parents=True, exist_ok=True)
    write_json(results, folder / file)
    for number, found in results["figures"].items():
        path = figures / f"figure{number}.png"
        if int(number) in TOYS:
            (pictures.draw_toy if number == "3" else pictures.draw_moons)(path)
        else:
            pictures.draw_sweep(int(number), found, path)
            if number == "4":
                pictures.draw_digits(figures / "figure5.png", tuple(found["data"]))


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(__doc__, HERE, "the toys and digits 1, 2, 3; 2 trials: less than a minute")
    parser.add_argument(
        "--figures", nargs="+", type=int, choices=FIGURES, metavar="N", help=f"any of {str(FIGURES)[1:-1]}"
    )
    parser.add_argument("--trials", type=positive, help="number of trials (default 20; the paper made 100)")
    given = parser.parse_args(args)
    plan = QUICK if given.quick else Plan()
    chosen = {
        "figures": given.figures and tuple(given.figures),
        "n_trials": count_runs(given, given.trials),
        "jobs": given.jobs,
    }
    plan = replace(plan, **{name: value for name, value in chosen.items() if value})
    console = Console()
    results = measure(plan, console)
    if not results["figures"]:
        console.print("No data set is available; nothing was written.")
        return 1
    console.print(table(results))
    write(results, given.out, given.out, "results.json")
    console.print(
        f"Wrote results.json and {len(results['figures'])} figure(s) to {given.out}", highlight=False
    )
    if given.record:
        write(results, HERE, HERE / "figures", "expected.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
