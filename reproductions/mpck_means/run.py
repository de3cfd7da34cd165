"""Reproduce the ablations of Bilenko, Basu & Mooney (2004): pairwise F by the number of links.

Run with ``python reproductions/mpck_means/run.py``; ``--quick`` takes seconds, and
``--help`` lists all options.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.model_selection import KFold

import likewise
from _runner import Runner, count_runs, parser_of, positive, progress_of, write_json
from likewise import MKMeans, MPCKMeans, PCKMeans
from likewise.datasets import load
from likewise.evaluation import pairwise_f
from likewise.exceptions import DatasetNotFoundError
from likewise.metric import RCA
from likewise.supervision import Supervision, sample_links

HERE = Path(__file__).parent
DATA = ("iris", "wine", "protein", "ionosphere", "digits389", "letters_ijl")
LINKS = (0, 25, 50, 100, 200, 300, 400, 500)
N_FOLDS = 5
STARTS = PCKMeans().n_init  # the same number for K-Means
SHOWN = 200  # the number of links of the table


@dataclass(frozen=True)
class Plan:
    """The experiments to run."""

    data: tuple[str, ...] = DATA
    links: tuple[int, ...] = LINKS
    n_seeds: int = 10
    n_folds: int = N_FOLDS  # number of the five folds that are held out in turn
    jobs: int = 1
    methods: tuple[str, ...] = ()  # empty for all


QUICK = Plan(data=("iris", "wine"), links=(0, 50, 200), n_seeds=2, n_folds=2)


@dataclass(frozen=True)
class Method:
    """A curve: its label, its look, and the estimator for k clusters and a seed."""

    label: str
    make: Callable[[int, int], Any]
    color: str  # from the colour-blind safe palette of Okabe and Ito
    marker: str
    line: Any = "-"


class RCAKMeans:
    """K-means in the space that RCA learns from the must-links."""

    def __init__(self, n_clusters: int, seed: int) -> None:
        self.kmeans = KMeans(n_clusters, n_init=STARTS, random_state=seed)

    def fit(self, X: np.ndarray, supervision: Any = None) -> RCAKMeans:
        """Learn the metric from the must-links, and cluster the rows with it."""
        if supervision is not None and len(supervision.must):
            hints = Supervision.from_links(len(X), must=supervision.must)
            X = RCA(shrinkage=0).fit(X, supervision=hints).transform(X)
        self.labels_ = self.kmeans.fit(X).labels_
        return self


METHODS = {
    "kmeans": Method("K-Means", lambda k, s: KMeans(k, n_init=STARTS, random_state=s), "#000000", "x", ":"),
    "pck": Method("PCK-Means: links only", lambda k, s: PCKMeans(k, random_state=s), "#E69F00", "s", "--"),
    "mk": Method(
        "MK-Means: metric only, diagonal",
        lambda k, s: MKMeans(k, metric="diagonal", random_state=s),
        "#56B4E9",
        "^",
        "--",
    ),
    "mpck_diagonal": Method(
        "MPCK-Means: both, diagonal",
        lambda k, s: MPCKMeans(k, metric="diagonal", init="hints", random_state=s),
        "#0072B2",
        "o",
    ),
    "mpck_full": Method(
        "MPCK-Means: both, full, one per cluster",
        lambda k, s: MPCKMeans(k, metric="full", per_cluster=True, init="hints", random_state=s),
        "#D55E00",
        "D",
    ),
    "mpck_shared": Method(
        "MPCK-Means: both, full, shared (our default)",
        lambda k, s: MPCKMeans(k, init="hints", random_state=s),
        "#009E73",
        "v",
        "-.",
    ),
    "rca": Method("RCA, then K-Means", RCAKMeans, "#CC79A7", "P", ":"),
}

# ---------------------------------------------------------------------- measuring


def link_counts(y: np.ndarray, wanted: tuple[int, ...]) -> list[int]:
    """Return the numbers of links to draw, capped at the number of pairs of training rows."""
    n = len(y) - -(-len(y) // N_FOLDS)
    return sorted({min(count, n * (n - 1) // 2) for count in wanted})


def run_seed(
    X: np.ndarray, y: np.ndarray, seed: int, counts: list[int], n_folds: int, names: tuple[str, ...] = ()
) -> np.ndarray:
    """Return pairwise F on the held-out rows for each method, number of links and fold.

    All rows are clustered. The links of a fold are drawn among the other 80 % of the rows. K-Means, and any
    method without links, does not depend on the fold and is fitted once.
    """
    k = len(np.unique(y))
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=seed).split(X))[:n_folds]
    methods = {name: METHODS[name] for name in names or METHODS}
    found = np.empty((len(methods), len(counts), len(folds)))
    for m, (name, method) in enumerate(methods.items()):
        bare = method.make(k, seed).fit(X).labels_
        for c, count in enumerate(counts):
            for f, (train, held_out) in enumerate(folds):
                labels = bare
                if count and name != "kmeans":
                    drawn = np.random.SeedSequence([seed, f, count]).generate_state(1)[0]
                    hints = sample_links(y, count, rows=train, random_state=int(drawn))
                    labels = method.make(k, seed).fit(X, supervision=hints).labels_
                found[m, c, f] = pairwise_f(y[held_out], labels[held_out])
    return found


def summary(found: list[np.ndarray], names: tuple[str, ...] = ()) -> dict[str, dict[str, list[float]]]:
    """Return means and standard errors by method, over seeds, after averaging the folds of each seed."""
    by_seed = np.stack(found).mean(axis=3)
    means = by_seed.mean(axis=0)
    errors = by_seed.std(axis=0, ddof=1) / np.sqrt(len(by_seed)) if len(by_seed) > 1 else np.zeros_like(means)
    return {
        name: {"mean": means[m].round(4).tolist(), "standard_error": errors[m].round(4).tolist()}
        for m, name in enumerate(names or METHODS)
    }


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    """Run every data set and return the results in the form of the JSON file."""
    data: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    with progress_of("seeds", console, 12) as progress:
        runner = Runner(plan.jobs, console, progress)
        for name in plan.data:
            try:
                loaded = load(name)
            except DatasetNotFoundError as error:
                runner.tell_skipped(name, error, skipped)
                continue
            X, y = loaded.X, np.unique(loaded.y, return_inverse=True)[1]
            counts = link_counts(y, plan.links)
            began = time.perf_counter()
            calls = [(X, y, seed, counts, plan.n_folds, plan.methods) for seed in range(plan.n_seeds)]
            found = runner.trials(name, run_seed, calls)
            data[name] = {
                "n_samples": len(X),
                "n_features": X.shape[1],
                "n_clusters": len(np.unique(y)),
                "seconds": round(time.perf_counter() - began, 1),
                "links": counts,
                "curves": summary(found, plan.methods),
            }
    return {
        "paper": "Bilenko, Basu & Mooney (2004), Integrating constraints and metric learning in "
        "semi-supervised clustering, ICML",
        "measure": "pairwise F on held-out rows; links among the other rows; all rows clustered; raw columns",
        "version": likewise.__version__,
        "date": datetime.date.today().isoformat(),
        "n_seeds": plan.n_seeds,
        "n_folds": plan.n_folds,
        "methods": {name: METHODS[name].label for name in plan.methods or METHODS},
        "data": data,
        "skipped": skipped,
    }


def join_results(before: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded results with newly measured curves, on the same number of seeds."""
    if (before["n_seeds"], before["n_folds"]) != (new["n_seeds"], new["n_folds"]):
        raise SystemExit(f"expected.json has {before['n_seeds']} seeds of {before['n_folds']} folds.")
    for name, found in new["data"].items():
        curves = {**before["data"][name]["curves"], **found["curves"]}
        before["data"][name]["curves"] = {key: curves[key] for key in METHODS if key in curves}
    labels = before["methods"] | new["methods"]
    methods = {key: labels[key] for key in METHODS if key in labels}
    return {**before, "methods": methods, "date": new["date"], "version": new["version"]}


# ---------------------------------------------------------------------- showing


def table(results: dict[str, Any]) -> Table:
    """Return pairwise F at 200 links, or at the largest number of links below."""
    out = Table(title=f"pairwise F on held-out rows at {SHOWN} links, mean ± standard error")
    out.add_column("data", no_wrap=True)
    for heading in ("K-Means", "PCK", "MK", "MPCK diagonal", "MPCK full, own", "MPCK full, shared", "RCA"):
        out.add_column(heading)
    for name, found in results["data"].items():
        at = max(i for i, count in enumerate(found["links"]) if count <= SHOWN)
        curves = found["curves"].values()
        out.add_row(name, *(f"{c['mean'][at]:.3f} ±{c['standard_error'][at]:.3f}" for c in curves))
    return out


def draw(name: str, results: dict[str, Any], path: Path) -> None:
    """Plot the curves of one data set, with error bars of one standard error."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = results["data"][name]
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    for key, curve in found["curves"].items():
        method = METHODS[key]
        ax.errorbar(
            found["links"],
            curve["mean"],
            yerr=curve["standard_error"],
            label=method.label,
            color=method.color,
            marker=method.marker,
            linestyle=method.line,
            markersize=5,
            linewidth=1.6,
            elinewidth=1.0,
            capsize=2.5,
        )
    ax.set_title(
        f"{name}: {found['n_samples']} rows, {found['n_features']} columns, {found['n_clusters']} classes\n"
        f"mean and standard error of {results['n_seeds']} seeds, {results['n_folds']} folds each",
        fontsize=11,
    )
    ax.set_xlabel("number of links")
    ax.set_ylabel("pairwise F on held-out rows")
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


def write(results: dict[str, Any], folder: Path, figures: Path, file: str) -> None:
    """Write the JSON file and one figure per data set."""
    figures.mkdir(parents=True, exist_ok=True)
    write_json(results, folder / file)
    for name in results["data"]:
        draw(name, results, figures / f"{name}.png")


def main(args: list[str] | None = None) -> int:
    """Measure, plot and write; return 0, or 1 if no data set is available."""
    parser = parser_of(__doc__, HERE, "iris and wine, 2 seeds, 3 numbers of links: a few seconds")
    parser.add_argument("--data", nargs="+", choices=DATA, metavar="NAME", help=f"any of {', '.join(DATA)}")
    parser.add_argument("--seeds", type=positive, help="number of seeds (default 10)")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        metavar="METHOD",
        help="measure only these, and add them to the results in expected.json",
    )
    given = parser.parse_args(args)
    plan = QUICK if given.quick else Plan()
    chosen = {
        "data": given.data and tuple(given.data),
        "n_seeds": count_runs(given, given.seeds),
        "jobs": given.jobs,
        "methods": given.methods and tuple(given.methods),
    }
    plan = replace(plan, **{name: value for name, value in chosen.items() if value})
    console = Console()
    results = measure(plan, console)
    if not results["data"]:
        console.print("No data set is available; nothing was written.")
        return 1
    if given.methods:
        results = join_results(json.loads((HERE / "expected.json").read_text(encoding="utf-8")), results)
    console.print(table(results))
    write(results, given.out, given.out, "results.json")
    console.print(f"Wrote results.json and {len(results['data'])} figure(s) to {given.out}", highlight=False)
    if given.record:
        write(results, HERE, HERE / "figures", "expected.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
