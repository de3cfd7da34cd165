"""Every public clusterer at 10^3, 10^4 and 10^5 rows of 16 columns, next to its floor.

Run `python benchmarks/growth.py`, with `--only PCKMeans SpectralLearning` for some methods. A floor is the
estimator of scikit-learn that does the same work without hints: `KMeans`, `MiniBatchKMeans`,
`GaussianMixture`, `SpectralClustering` or `LogisticRegression` with all labels. Rows are ten overlapping
Gaussian groups; hints are 200 links, half of them must-links, or 200 labelled rows. All settings are
defaults, except that methods have as many starts as their floor. Spectral methods are measured twice: on the
rows, and on a given graph, which is the one that `SpectralLearning` builds.

Each cell is one process with one thread, in which a small fit compiles first: CPU time, as the mean of fits
that take at least a second together, and the memory that the first of them adds. A cell that exceeds
`--limit` CPU seconds is stopped, and the larger sizes of its method are left out.

`--first` measures the first fit of a new process instead, imports included: without compiled code in the
cache (cold) and with it (warm), next to the floor in the same turn.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans, SpectralClustering
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import likewise
from _results import find_commit, read_results, save_part
from likewise import Supervision
from likewise.supervision import sample_links

D, K, N_HINTS = 16, 10, 200
SMALL = 2_000  # rows of the fit that compiles; small problems are solved without compiled code
GRAPH = ", graph"  # end of the name of a method that gets a graph instead of rows
FLOORS = {
    "KMeans": lambda: KMeans(K, n_init=1, random_state=0),
    "MiniBatchKMeans": lambda: MiniBatchKMeans(K, n_init=1, random_state=0),
    "GaussianMixture": lambda: GaussianMixture(K, random_state=0),
    "LogisticRegression": lambda: LogisticRegression(),
    "SpectralClustering": lambda: SpectralClustering(
        K, affinity="nearest_neighbors", eigen_solver="lobpcg", random_state=0
    ),
    "SpectralClustering" + GRAPH: lambda: SpectralClustering(
        K, affinity="precomputed", eigen_solver="lobpcg", random_state=0
    ),
}
ONE_START = {"n_init": 1}
METHODS = {  # name: floor, parameters
    "SeededKMeans": ("KMeans", ONE_START),
    "ConstrainedKMeans": ("KMeans", ONE_START),
    "COPKMeans": ("KMeans", ONE_START),
    "PCKMeans": ("KMeans", ONE_START),
    "MKMeans": ("KMeans", ONE_START),
    "MPCKMeans": ("KMeans", ONE_START),
    "MiniBatchPCKMeans": ("MiniBatchKMeans", ONE_START),
    "MiniBatchMPCKMeans": ("MiniBatchKMeans", ONE_START),
    "PairwiseGaussianMixture": ("GaussianMixture", ONE_START),
    "EquivalenceGaussianMixture": ("GaussianMixture", ONE_START),
    "PosteriorConstrainedGaussianMixture": ("GaussianMixture", ONE_START),
    "MiniBatchPairwiseGaussianMixture": ("GaussianMixture", ONE_START),
    "DiscriminativeClustering": ("LogisticRegression", ONE_START),
    "MiniBatchDiscriminativeClustering": ("LogisticRegression", ONE_START),
    "BayesianClustering": ("LogisticRegression", ONE_START),
    "PropagationClustering": ("SpectralClustering", {}),
    "SpectralLearning": ("SpectralClustering", {}),
    "RegularizedSpectralClustering": ("SpectralClustering", {"cannot": "drop"}),
    "BagSpectralClustering": ("SpectralClustering", {}),
    "ConstrainedKernelKMeans": ("SpectralClustering", {}),
    "FlexibleSpectralClustering": ("SpectralClustering", {}),
}
GIVEN_GRAPH = [
    "SpectralLearning",
    "RegularizedSpectralClustering",
    "BagSpectralClustering",
    "ConstrainedKernelKMeans",
    "FlexibleSpectralClustering",
]
for _name in GIVEN_GRAPH:
    METHODS[_name + GRAPH] = (
        "SpectralClustering" + GRAPH,
        {**METHODS[_name][1], "affinity": "precomputed"},
    )


def draw_rows(n):
    """Return ten groups, whose centres are about 4.5 standard deviations apart, and their classes."""
    rng = np.random.default_rng(0)
    centers = 0.8 * rng.normal(size=(K, D))
    y = rng.integers(0, K, n)
    return centers[y] + rng.normal(size=(n, D)), y


def make_model(name):
    if name in FLOORS:
        return FLOORS[name]()
    parameters = METHODS[name][1]
    return getattr(likewise, name.removesuffix(GRAPH))(K, random_state=0, **parameters)


def make_arguments(name, y, n_hints=N_HINTS):
    """Return the arguments of `fit` besides the rows."""
    if name in FLOORS:
        return {"y": y} if name == "LogisticRegression" else {}
    if "links" in getattr(likewise, name.removesuffix(GRAPH)).supported_hints:
        return {"supervision": sample_links(y, n_hints, balance=0.5, random_state=0)}
    known = np.random.default_rng(0).permutation(len(y))[:n_hints]
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    return {"supervision": Supervision.from_labels(labels)}


def save_graph(n, folder):
    """Write the neighbour graph that SpectralLearning builds."""
    with threadpool_limits(1):
        model = likewise.SpectralLearning(K, n_init=1, tol=0.1, random_state=0).fit(draw_rows(n)[0])
    sparse.save_npz(folder / f"graph-{n}.npz", sparse.csr_matrix(model.affinity_matrix_))


def read_graph(folder, n):
    graph = sparse.load_npz(folder / f"graph-{n}.npz")
    # scikit-learn takes 32-bit indices only
    return sparse.csr_matrix((graph.data, graph.indices.astype(np.int32), graph.indptr.astype(np.int32)))


def read_memory(field):
    """Return VmRSS (current) or VmHWM (peak) of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def reset_peak():
    with contextlib.suppress(OSError):  # the peak then includes imports and the small fit
        Path("/proc/self/clear_refs").write_text("5")


def measure_cell(name, n, limit, folder):
    """Fit one method at one size; write CPU seconds, MiB besides the rows, and the adjusted Rand index."""
    (few, few_y), (X, y) = draw_rows(SMALL), draw_rows(n)
    if name.endswith(GRAPH):
        few, X = read_graph(folder, SMALL), read_graph(folder, n)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        make_model(name).fit(few, **make_arguments(name, few_y, 5 * N_HINTS))
        with open(folder / "warnings", "w") as file:
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: print(message, file=file, flush=True)
            arguments, n_fits, added = make_arguments(name, y), 0, None
            stop = int(time.process_time() + limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (stop, stop + 5))
            reset_peak()
            before, start, spent = read_memory("VmRSS"), time.process_time(), 0.0
            while spent < 1.0 and n_fits < 100:
                model = make_model(name).fit(X, **arguments)
                spent, n_fits = time.process_time() - start, n_fits + 1
                if added is None:
                    added = max(read_memory("VmHWM") - before, 0.0)
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    found = {"cpu": spent / n_fits, "MiB": added, "ari": float(adjusted_rand_score(y, labels))}
    (folder / "found").write_text(json.dumps(found))


def run_apart(action, *arguments):
    """Run a function in a forked process, which has the imports already; return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=action, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def run_cell(name, n, limit, folder):
    """Return the measurements of one cell, or the reason why there are none."""
    (folder / "warnings").write_text("")
    code = run_apart(measure_cell, name, n, limit, folder)
    floor = None if name in FLOORS else METHODS[name][0]
    record = {"method": name, "floor": floor, "rows": n, "commit": find_commit()}
    warned = sorted(set((folder / "warnings").read_text().splitlines()))
    if warned:
        record["warnings"] = warned
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return {**record, "stopped": f"over {limit:g} s"}
    if code:
        return {**record, "stopped": "failed"}
    return {**record, **json.loads((folder / "found").read_text())}


FIRST_SHAPES = (
    (150, 4, 3, 20),
    (2_000, 16, 3, 200),
    (2_000, 16, 10, 2_000),
)  # rows, columns, clusters, links
FIRST_ROWS = """
import numpy as np
rng = np.random.default_rng(0)
y = rng.integers(0, {k}, {n})
X = 4 * rng.normal(size=({k}, {d}))[y] + 1.5 * rng.normal(size=({n}, {d}))
"""
FIRST_LINKS = """
from likewise import Supervision, {name}
a, b = rng.integers(0, {n}, size=(2, {links}))
is_must = y[a] == y[b]
must, cannot = (np.column_stack([a, b])[kind & (a != b)] for kind in (is_must, ~is_must))
hints = Supervision.from_links({n}, must=must, cannot=cannot)
"""
FIRST_FIT = "{name}({k}, random_state=0).fit(X, supervision=hints)"
FIRST = {  # what a new process runs, with its floor
    "KMeans": (None, "from sklearn.cluster import KMeans\nKMeans({k}, random_state=0).fit(X)"),
    "GaussianMixture": (None, "from sklearn.mixture import GaussianMixture\nGaussianMixture({k}).fit(X)"),
    "Interview": ("KMeans", "from likewise import Interview\nInterview(X, n_clusters={k}).ask()"),
    **{
        name: (floor, FIRST_LINKS + FIRST_FIT)
        for name, floor in (
            ("MPCKMeans", "KMeans"),
            ("PCKMeans", "KMeans"),
            ("COPKMeans", "KMeans"),
            ("PropagationClustering", "KMeans"),
            ("PairwiseGaussianMixture", "GaussianMixture"),
            ("PosteriorConstrainedGaussianMixture", "GaussianMixture"),
            ("DiscriminativeClustering", "KMeans"),
        )
    },
}


def measure_first(name, shape):
    """Return the CPU seconds of two new processes: with an empty cache, and with that of the first."""
    n, d, k, links = shape
    code = (FIRST_ROWS + FIRST[name][1]).format(name=name, n=n, d=d, k=k, links=links)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], env=env, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return seconds


def run_first(repeats):
    """Measure all first fits in turns, and keep the fastest of each."""
    records = []
    for shape in FIRST_SHAPES:
        times = {name: [] for name in FIRST}
        for _ in range(repeats):
            for name, found in times.items():
                found.append(measure_first(name, shape))
        for name, found in times.items():
            cold, warm = np.min(found, axis=0).tolist()
            floor = FIRST[name][0]
            records.append({"method": name, "floor": floor, "shape": shape, "cold": cold, "warm": warm})
            print(json.dumps(records[-1]), flush=True)
    save_part("growth", "first", records, f"python benchmarks/growth.py --first --repeats {repeats}")


def check_complete():
    """Refuse to run if a public clusterer is missing in METHODS."""
    public = {name for name in likewise.__all__ if hasattr(getattr(likewise, name), "fit_predict")}
    missing = public - set(METHODS) - {"HintSearchCV"}  # which fits other clusterers
    if missing:
        raise SystemExit(f"METHODS has no entry for {', '.join(sorted(missing))}: add their floors.")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*FLOORS, *METHODS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="METHOD", default=names)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a fit")
    parser.add_argument("--first", action="store_true", help="measure the first fit of a process instead")
    parser.add_argument("--repeats", type=int, default=3, help="turns of --first")
    args = parser.parse_args()
    check_complete()
    if args.first:
        run_first(args.repeats)
        return
    needed = set(args.only) | {METHODS[name][0] for name in args.only if name in METHODS}
    records, stopped = [], set()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for n in sorted({int(n) for n in args.rows}):
            if any(name.endswith(GRAPH) for name in needed):
                for size in {n, SMALL}:
                    run_apart(save_graph, size, folder)
            for name in names:
                if name not in needed or name in stopped:
                    continue
                record = run_cell(name, n, args.limit, folder)
                if "stopped" in record:
                    stopped.add(name)
                records.append(record)
                print(json.dumps(record), flush=True)
    done = {(r["method"], r["rows"]) for r in records}
    kept = read_results("growth").get("cells", {}).get("rows", []) if len(args.only) < len(names) else []
    kept = [r for r in kept if (r["method"], r["rows"]) not in done]
    command = f"python benchmarks/growth.py --limit {args.limit:g}"
    save_part("growth", "cells", kept + records, command, limit=args.limit)


if __name__ == "__main__":
    main()
