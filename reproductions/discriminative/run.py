"""Reproduce the experiments of chapter 3 of Pei (2017): clustering from pairs and from triplets.

Run with ``python reproductions/discriminative/run.py``; ``--quick`` takes less than a minute, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
from dc_curves import CURVES, KMEANS_STARTS, SHARES, SMALL, fingerprint
from dc_report import draw_curves, draw_information, half_width, tables
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

import likewise
from _runner import Runner, count_runs, parser_of, positive, progress_of, write_json
from likewise.datasets import load
from likewise.evaluation import compare_hints, pairwise_f
from likewise.exceptions import DatasetNotFoundError
from likewise.supervision import Supervision, sample_links, sample_triplets

HERE = Path(__file__).parent
CACHE = Path(tempfile.gettempdir()) / "likewise-reproductions" / "discriminative"
DATA = ("ionosphere", "pima", "balance_scale", "digits389", "letters_ijlt", "msrcv2", "hja_birdsong")
MSRC_CLASSES = 6  # the six largest classes have 1046 rows, as in table 3.5; no other six of 23 do


@dataclass(frozen=True)
class Plan:
    """The experiments to run. A level is a multiple of the smallest numbers of hints in the thesis."""

    data: tuple[str, ...] = DATA
    levels: tuple[int, ...] = (1, 3, 6)
    n_runs: int = 5
    n_runs_small: int = 10  # on the three small sets
    curves: tuple[str, ...] = tuple(name for name, curve in CURVES.items() if not curve.selected)
    jobs: int = 1
    cache: Path = CACHE
    fresh: bool = False  # True to ignore cached fits

    def runs(self, name: str) -> int:
        """Return the number of runs of a data set."""
        return self.n_runs_small if name in SMALL else self.n_runs


QUICK = Plan(
    data=("balance_scale", "ionosphere"),
    levels=(3,),
    n_runs_small=2,
)


@dataclass(frozen=True)
class Task:
    """One fit: the data, the curve, the number of hints and the seed."""

    data: str
    curve: str
    level: int
    run: int


# ---------------------------------------------------------------------- measuring


def prepare(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised rows and the class numbers of a data set."""
    loaded = load(name)
    X, y = loaded.X, np.unique(loaded.y, return_inverse=True)[1]
    if name == "msrcv2":
        keep = np.isin(y, np.argsort(-np.bincount(y), kind="stable")[:MSRC_CLASSES])
        X, y = X[keep], np.unique(y[keep], return_inverse=True)[1]
    return StandardScaler().fit_transform(X), y


def draw_hints(y: np.ndarray, kind: str, level: int, run: int) -> Supervision:
    """Draw the hints of a run; curves of one kind get the same hints."""
    count = round(level * SHARES[kind] * len(y))
    seed = int(np.random.SeedSequence([run, level, list(SHARES).index(kind)]).generate_state(1)[0])
    sample = sample_triplets if kind == "triplets" else sample_links
    return sample(y, count, random_state=seed)


def run_task(task: Task, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Fit once and return the scores, the CPU seconds and the names of warnings."""
    curve, k = CURVES[task.curve], len(np.unique(y))
    hints = draw_hints(y, curve.kind, task.level, task.run) if curve.kind else None
    model = curve.make(k, task.run)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if hints is None:
            labels = model.fit(X).labels_
        elif hasattr(model, "transform") and not hasattr(model, "n_clusters"):
            mapped = model.fit(X, supervision=hints).transform(X)
            labels = KMeans(k, n_init=KMEANS_STARTS, random_state=task.run).fit(mapped).labels_
        else:
            labels = model.fit(X, supervision=hints).labels_
    free = np.ones(len(y), dtype=bool) if hints is None else ~hints.touched
    return {
        "f": pairwise_f(y, labels),
        "ari": float(adjusted_rand_score(y, labels)),
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "f_unnamed": pairwise_f(y[free], labels[free]),
        "seconds": time.process_time() - began,
        "warnings": sorted({warning.category.__name__ for warning in caught}),
    }


def run_cached_task(task: Task, X: np.ndarray, y: np.ndarray, plan: Plan) -> dict[str, Any]:
    """Return the result of `run_task`, from the cache if possible."""
    file = plan.cache / task.data / f"{task.curve}-{task.level}-{task.run}-{fingerprint(task.curve)}.json"
    if file.exists() and not plan.fresh:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    found = run_task(task, X, y)
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_suffix(".part")
    whole.write_text(json.dumps(found), encoding="utf-8")
    whole.replace(file)  # an interrupted run leaves no partial file
    return found


def tasks_of(name: str, plan: Plan) -> list[Task]:
    """Return the fits of a data set; there is only one level without hints."""
    out = []
    for key in plan.curves:
        curve = CURVES[key]
        if curve.only and name not in curve.only:
            continue
        levels = plan.levels if curve.kind else (0,)
        wanted = [level for level in levels if not curve.levels or level in curve.levels]
        runs = min(plan.runs(name), curve.most_runs)
        out += [Task(name, key, level, run) for level in wanted for run in range(runs)]
    return out


def summary(found: dict[Task, dict[str, Any]]) -> dict[str, Any]:
    """Return the curves: means per level, and pairwise F of each run."""
    out: dict[str, Any] = {}
    for key in dict.fromkeys(task.curve for task in found):
        mine = {task: result for task, result in found.items() if task.curve == key}
        levels = sorted({task.level for task in mine})
        by_level = [[result for task, result in mine.items() if task.level == level] for level in levels]
        runs = [np.array([result["f"] for result in results]) for results in by_level]
        caught = Counter(name for result in mine.values() for name in result["warnings"])
        out[key] = {
            "levels": levels,
            "mean": [round(float(values.mean()), 4) for values in runs],
            "half_width": [round(half_width(values), 4) for values in runs],
            **{
                what: [round(float(np.mean([result[what] for result in results])), 4) for results in by_level]
                for what in ("f_unnamed", "ari", "nmi", "seconds")
            },
            "warned": dict(caught),
            "runs": [values.round(4).tolist() for values in runs],
        }
    return out


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    """Run every data set and return the results in the form of the JSON file."""
    data: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    with progress_of("fits", console, 14) as progress:
        runner = Runner(plan.jobs, console, progress)
        for name in plan.data:
            try:
                X, y = prepare(name)
            except DatasetNotFoundError as error:
                runner.tell_skipped(name, error, skipped)
                continue
            todo = tasks_of(name, plan)
            calls = [(task, X, y, plan) for task in todo]
            found = dict(zip(todo, runner.trials(name, run_cached_task, calls), strict=True))
            shares = np.sort(np.bincount(y) / len(y))[::-1]
            bits = compare_hints(shares=shares)
            data[name] = {
                "n_samples": len(X),
                "n_features": X.shape[1],
                "n_clusters": len(shares),
                "n_runs": plan.runs(name),
                "seconds": round(sum(result["seconds"] for result in found.values()), 1),
                "largest_share": round(float(shares[0]), 4),
                "pair_bits": round(bits.pair_bits, 4),
                "triplet_bits": round(bits.triplet_bits, 4),
                "curves": summary(found),
            }
    return {
        "paper": "Y. Pei, chapter 3: discriminative clustering with pairwise and relative constraints (2017)",
        "measure": "pairwise F on all rows, mean and half the width of the 95 % confidence interval",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "shares": SHARES,
        "curves": {key: curve.label for key, curve in CURVES.items() if key in plan.curves},
        "data": data,
        "skipped": skipped,
    }


def merge_curves(recorded: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded results with newly measured curves, on the sets that both have."""
    for name in recorded["data"].keys() & results["data"].keys():
        curves = recorded["data"][name]["curves"] | results["data"][name]["curves"]
        recorded["data"][name]["curves"] = {key: curves[key] for key in CURVES if key in curves}
    labels = recorded["curves"] | results["curves"]
    recorded["curves"] = {key: labels[key] for key in CURVES if key in labels}
    return {**recorded, **{key: results[key] for key in ("date", "version") if key in results}}


# ---------------------------------------------------------------------- writing


def write(results: dict[str, Any], folder: Path, figures: Path, file: str) -> None:
    """Write the JSON file and the figures."""
    figures.mkdir(parents=True, exist_ok=True)
    write_json(results, folder / file)
    draw_curves(results, figures)
    draw_information(results, figures)


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(
        __doc__,
        HERE,
        "two small sets, 2 runs, one number of hints: less than a minute",
        "search, and replace expected.json and figures/ here",
    )
    parser.add_argument("--data", nargs="+", choices=DATA, metavar="NAME", help=f"any of {', '.join(DATA)}")
    parser.add_argument(
        "--search", action="store_true", help="also choose tau and lambda by held-out hints: ten minutes more"
    )
    parser.add_argument(
        "--curves",
        nargs="+",
        choices=CURVES,
        metavar="NAME",
        help=f"measure only these and show them with the recorded others: any of {', '.join(CURVES)}",
    )
    parser.add_argument("--runs", type=positive, help="number of runs (default 10 on small sets, else 5)")
    parser.add_argument(
        "--cache",
        type=Path,
        help="folder for cached fits, to resume an interrupted run (default: a temporary folder)",
    )
    parser.add_argument("--fresh", action="store_true", help="ignore cached fits")
    given = parser.parse_args(args)
    plan = QUICK if given.quick else Plan()
    chosen = {
        "data": given.data and tuple(given.data),
        "n_runs": count_runs(given, given.runs),
        "n_runs_small": count_runs(given, given.runs),
        "curves": tuple(given.curves or CURVES) if given.curves or given.search or given.record else None,
        "jobs": given.jobs,
        "cache": given.cache,
        "fresh": given.fresh,
    }
    plan = replace(plan, **{name: value for name, value in chosen.items() if value})
    console = Console()
    results = measure(plan, console)
    if not results["data"]:
        console.print("No data set is available; nothing was written.")
        return 1
    if given.curves:
        recorded = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
        results = merge_curves(recorded, results)
    for title, lines in tables(results).items():
        console.print(f"\n[bold]{title}[/]")
        print("\n".join(lines))
    write(results, given.out, given.out, "results.json")
    console.print(f"Wrote results.json and the figures to {given.out}", highlight=False)
    if given.record:
        write(results, HERE, HERE / "figures", "expected.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
