"""Measure the speed of the mixture family next to scikit-learn's GaussianMixture (the floor), in one run.

Run with `make bench`, or `python benchmarks/mixture.py --quick` for a short version. Read the ratios:
everything that is compared is measured in the same run, taking turns, as CPU seconds on one thread. The time
of an iteration is the difference between a long and a short fit from the same start.
"""

import argparse
import json
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import likewise
from likewise import (
    EquivalenceGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.supervision import sample_links

HERE = Path(__file__).parent
PARTS = ("iteration", "links", "wrong")
SHAPES = ("full", "tied", "diag", "spherical")
K, D = 10, 16
FLOOR = "GaussianMixture"
console = Console(stderr=True)


def rows_and_links(n, n_links, k=K, d=D, apart=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + apart * rng.normal(size=(k, d))[y]
    return X, sample_links(y, n_links, random_state=seed)


def makers(shape, start):
    ours = {"covariance_type": shape, "init": start, "tol": 0.0, "n_jobs": 1}
    k = len(start)
    return {
        FLOOR: lambda it: GaussianMixture(
            k, covariance_type=shape, means_init=start, init_params="random_from_data",
            tol=0.0, max_iter=it, random_state=0,
        ),
        "GM-PR pairs": lambda it: PairwiseGaussianMixture(k, relations="pairs", max_iter=it, **ours),
        "GM-PR components": lambda it: PairwiseGaussianMixture(
            k, relations="components", max_iter=it, **ours
        ),
        "GMM-EC": lambda it: EquivalenceGaussianMixture(k, max_iter=it, **ours),
        "EM-PC": lambda it: PosteriorConstrainedGaussianMixture(k, max_iter=it, **ours),
    }  # fmt: skip


def fit_seconds(model, X, hints):
    extra = {} if isinstance(model, GaussianMixture) else {"supervision": hints}
    started = time.process_time()
    model.fit(X, **extra)
    return time.process_time() - started, model.n_iter_


def iteration_times(n, n_links, repeats, few=2, many=12):
    """Return milliseconds per iteration for each covariance type and estimator, and ratios to the floor."""
    X, hints = rows_and_links(n, n_links)
    rows = []
    for shape in SHAPES:
        models = makers(shape, X[:K].copy())
        for make in models.values():
            fit_seconds(make(2), X[:1000], hints[:1000])  # compile, warm up
        best = {}
        for _ in range(repeats):
            for name, make in models.items():  # take turns, so that load on the machine affects all equally
                for iterations in (few, many):
                    key = (name, iterations)
                    best[key] = min(best.get(key, (np.inf, 0)), fit_seconds(make(iterations), X, hints))
        for name in models:
            (short, a), (long, b) = best[name, few], best[name, many]
            rows.append({"shape": shape, "method": name, "ms": (long - short) / (b - a) * 1e3})
    for row in rows:
        floor = next(r["ms"] for r in rows if r["shape"] == row["shape"] and r["method"] == FLOOR)
        row["ratio"] = row["ms"] / floor
    return rows


def growth_in_links(quick):
    """Time whole fits with ten starts for growing numbers of links on 1,000 rows; also cannot-links only."""
    rows = []
    for n_links in (100, 1000, 10_000) if quick else (100, 1000, 10_000, 100_000):
        X, hints = rows_and_links(1000, n_links, k=3, d=4, apart=1.5)
        for used, kinds in ((hints, "both"), (Supervision.from_links(1000, cannot=hints.cannot), "cannot")):
            for name, model in {
                "GM-PR pairs": PairwiseGaussianMixture(3, relations="pairs", random_state=0, n_jobs=1),
                "GM-PR components": PairwiseGaussianMixture(
                    3, relations="components", random_state=0, n_jobs=1
                ),
                "GMM-EC": EquivalenceGaussianMixture(3, random_state=0, n_jobs=1),
                "EM-PC": PosteriorConstrainedGaussianMixture(3, random_state=0, n_jobs=1),
            }.items():
                seconds, iterations = fit_seconds(model, X, used)
                rows.append(
                    {
                        "method": name,
                        "links": n_links,
                        "kinds": kinds,
                        "cpu": seconds,
                        "iterations": iterations,
                    }
                )
    return rows


def wrong_links(quick):
    """Compare the estimators with partly wrong links: mean ARI of `predict` over all rows."""
    rows = []
    for name, (X, y), shape in (
        ("iris", load_iris(return_X_y=True), "full"),
        ("wine", load_wine(return_X_y=True), "tied"),
    ):
        X = scale(X)
        for n_links, noise in ((0, 0.0), (50, 0.0), (50, 0.1), (200, 0.0), (200, 0.1)):
            row = {"data": f"{name}, {shape}", "links": n_links, "wrong": noise}
            for method, model in {
                "GM-PR pairs": PairwiseGaussianMixture(3, relations="pairs"),
                "GM-PR components": PairwiseGaussianMixture(3, relations="components"),
                "GM-PR": PairwiseGaussianMixture(3),
                "GMM-EC": EquivalenceGaussianMixture(3),
                "EM-PC": PosteriorConstrainedGaussianMixture(3),
            }.items():
                scores = []
                for seed in range(3 if quick else 10):
                    hints = sample_links(y, n_links, noise=noise, random_state=seed) if n_links else None
                    model.set_params(covariance_type=shape, random_state=seed)
                    scores.append(adjusted_rand_score(y, model.fit(X, supervision=hints).predict(X)))
                row[method] = float(np.mean(scores))
            rows.append(row)
    return rows


def show(title, rows, columns):
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(
            column, justify="left" if column in ("method", "shape", "kinds", "data") else "right"
        )
    for row in rows:
        values = (row[column] for column in columns)
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values))
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="20,000 rows, two repeats, fewer links")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "mixture.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = args.only or PARTS
    result = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": likewise.__version__,
    }
    with threadpool_limits(1):
        if "iteration" in wanted:
            n, repeats = (20_000, 2) if args.quick else (100_000, 3)
            result["iteration"] = iteration_times(n, 1000, repeats)
            show(
                f"One iteration at {n:,} x {D}, k={K}, 1,000 links, one thread",
                result["iteration"],
                ("shape", "method", "ms", "ratio"),
            )
        if "links" in wanted:
            result["links"] = growth_in_links(args.quick)
            show(
                "Whole fits (ten starts) at 1,000 x 4, k=3, one thread",
                result["links"],
                ("method", "links", "kinds", "cpu", "iterations"),
            )
        if "wrong" in wanted:
            result["wrong"] = wrong_links(args.quick)
            show("Links of which a share is wrong: mean ARI", result["wrong"], tuple(result["wrong"][0]))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1))
    console.print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
