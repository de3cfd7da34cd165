"""Measure the speed of discriminative clustering: a default fit and its parts.

`python benchmarks/discriminative.py` fits 4998 segments of bird song with 1,500 triplets (the largest data
of Pei et al. 2016, who report "less than 2 minutes" for one start in Matlab), or clouds of the same size if
that data set is not available. CPU seconds on one thread, the best of a few fits. A gradient is compared with
the two matrix products that it needs at least, measured in the same run.
"""

import argparse
import cProfile
import json
import pstats
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from likewise import DiscriminativeClustering
from likewise.datasets import load
from likewise.evaluation import pairwise_f
from likewise.exceptions import DatasetNotFoundError
from likewise.supervision import sample_links, sample_triplets

HERE = Path(__file__).parent
# The functions whose time is reported, by file and name, including the functions that they call.
PARTS = {
    "starts: k-means": ("_kmeans.py", "fit"),
    "starts: all": ("_starts.py", "weights"),
    "E: mean field": ("_hints.py", "expect"),
    "M: L-BFGS": ("_em.py", "_iterate"),
    "gradients (also of starts)": ("_softmax.py", "value_and_gradient"),
}


def birdsong():
    try:
        data = load("hja_birdsong")
        return "hja_birdsong", np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    except DatasetNotFoundError:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 13, 4998)
        return "clouds", rng.normal(size=(4998, 38)) + rng.normal(size=(13, 38))[y], y


def seconds_of(fit):
    started = time.process_time()
    fit()
    return time.process_time() - started


def profile(X, hints, k):
    """Return the seconds and the number of calls of each part of one fit."""
    recorder = cProfile.Profile(time.process_time)  # excludes the time of other processes
    recorder.runcall(DiscriminativeClustering(k, random_state=0).fit, X, supervision=hints)
    found = {}
    for (path, _, function), (_, calls, _, seconds, _) in pstats.Stats(recorder).stats.items():
        for name, (file, wanted) in PARTS.items():
            if function == wanted and path.endswith(file):
                old = found.get(name, {"seconds": 0.0, "calls": 0})
                found[name] = {"seconds": old["seconds"] + seconds, "calls": old["calls"] + calls}
    if "E: mean field" in found:  # an iteration includes both steps
        found["M: L-BFGS"]["seconds"] -= found["E: mean field"]["seconds"]
    return found


def products(X, k, repeats=200):
    """Return the milliseconds of the two matrix products of a gradient."""
    W = np.random.default_rng(0).normal(size=(k, X.shape[1] + 1))
    rows = np.column_stack([X, np.ones(len(X))])
    out = np.empty((k, len(X)))

    def both():
        for _ in range(repeats):
            np.matmul(W, rows.T, out=out)
            out @ rows

    return min(seconds_of(both) for _ in range(3)) / repeats * 1e3


def default_fit(repeats):
    name, X, y = birdsong()
    k = len(np.unique(y))
    hints = sample_triplets(y, 1500, random_state=0)
    make = DiscriminativeClustering(k, random_state=0)
    make.fit(X[:500], supervision=hints[:500])  # compile
    seconds, single = [], []
    for _ in range(repeats):  # take turns
        seconds.append(seconds_of(lambda: make.fit(X, supervision=hints)))
        one = DiscriminativeClustering(k, n_init=1, random_state=0)
        single.append(seconds_of(lambda one=one: one.fit(X, supervision=hints)))
    return {
        "data": f"{name} {X.shape[0]} x {X.shape[1]}, k = {k}, 1,500 triplets",
        "fit_s": min(seconds),
        "one_start_s": min(single),
        "pairwise_f": pairwise_f(y, make.labels_),
        "iterations": make.n_iter_,
        "products_ms": products(X, k),
        "parts": profile(X, hints, k),
    }


def growth(quick):
    """Return the CPU seconds of one start with 20 iterations, for growing numbers of rows and of links."""
    out = []
    for n, n_links in [(1000, 300), (10_000, 300), (1000, 100_000), *([] if quick else [(100_000, 300)])]:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 5, n)
        X = rng.normal(size=(n, 16)) + 0.5 * rng.normal(size=(5, 16))[y]
        hints = sample_links(y, n_links, random_state=0)
        model = DiscriminativeClustering(5, n_init=1, max_iter=20, tol=0, random_state=0)
        out.append(
            {
                "rows": n,
                "links": n_links,
                "s": seconds_of(lambda m=model, a=X, h=hints: m.fit(a, supervision=h)),
            }
        )
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one fit, and no 10^5 rows")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        fit, grown = default_fit(1 if quick else 3), growth(quick)
    console = Console()
    table = Table("part", "CPU s", "calls", title=fit["data"])
    table.add_row("default fit", f"{fit['fit_s']:.2f}", "")
    table.add_row("one start (n_init=1)", f"{fit['one_start_s']:.2f}", "")
    for name, part in fit["parts"].items():
        table.add_row(f"  {name}, under the profiler", f"{part['seconds']:.2f}", str(part["calls"]))
    console.print(table)
    gradient = fit["parts"]["gradients (also of starts)"]
    each = gradient["seconds"] / gradient["calls"] * 1e3
    console.print(f"a gradient {each:.2f} ms, its two matrix products {fit['products_ms']:.2f} ms")
    console.print(f"pairwise F {fit['pairwise_f']:.3f} after {fit['iterations']} iterations")
    for row in grown:
        console.print(f"{row['rows']} rows, {row['links']} links, 20 iterations: {row['s']:.2f} s")
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "discriminative.json").write_text(json.dumps({"fit": fit, "growth": grown}, indent=1))


if __name__ == "__main__":
    main()
