"""Every public estimator at 10^3, 10^4 and 10^5 rows of 16 columns, next to its floor.

Run `python benchmarks/growth.py`, with `--only PCKMeans SpectralLearning` for some methods. A floor is the
estimator of scikit-learn that does the same work without hints:

- `KMeans`, `MiniBatchKMeans`, `GaussianMixture` or `SpectralClustering` for clusterers of the same family;
  `SpectralClustering` also for `GroupClustering`, which searches the neighbours of all rows as well;
- `LogisticRegression` with all labels for clusterers that fit such a model;
- `LinearDiscriminantAnalysis` with all labels for metric learners: the linear map that classes determine;
- `OneVsRestClassifier` of `LogisticRegression` for multi-label classifiers, with the same labels.

Rows are ten overlapping Gaussian groups; hints are 200 links, half of them must-links, 200 triplets or 200
labelled rows. Multi-label classifiers get rows from a random tree of eight labels; 30 % of their labels are
missing. All settings are defaults, except that methods have as many starts as their floor. Spectral methods
are measured twice: on the rows, and on a given graph, which is the one that `SpectralLearning` builds.

Each cell is one process with one thread, in which a small fit compiles first: CPU time, as the mean of fits
that take at least a second together, and the memory that the first of them adds. A cell that exceeds
`--limit` CPU seconds is stopped, and the larger sizes of its method are left out.

`--first` measures the first fit of a new process instead, imports included: without compiled code in the
cache (cold) and with it (warm), next to the floor in the same turn.
"""

import argparse
import contextlib
import importlib
import inspect
import json
import multiprocessing
import os
import pkgutil
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
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, f1_score
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

import likewise
from _results import find_commit, read_results, save_part
from likewise import Supervision
from likewise.datasets import make_label_tree
from likewise.supervision import sample_links, sample_triplets

D, K, N_HINTS, N_LABELS = 16, 10, 200, 8
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
    "LinearDiscriminantAnalysis": lambda: LinearDiscriminantAnalysis(),
    "OneVsRestClassifier": lambda: OneVsRestClassifier(LogisticRegression()),
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
    "GroupClustering": ("SpectralClustering", {}),
    "SSSVaD": ("KMeans", ONE_START),
    "ITML": ("LinearDiscriminantAnalysis", {}),
    "MMC": ("LinearDiscriminantAnalysis", {}),
    "RCA": ("LinearDiscriminantAnalysis", {"cannot": "drop"}),
    "LSML": ("LinearDiscriminantAnalysis", {}),
    "RelativeSVM": ("LinearDiscriminantAnalysis", {}),
    "SparseLP": ("LinearDiscriminantAnalysis", {}),
    "BinaryRelevance": ("OneVsRestClassifier", {}),
    "ChowLiuTree": ("OneVsRestClassifier", {}),
    "CliqueLabelGraph": ("OneVsRestClassifier", {}),
    "FastTag": ("OneVsRestClassifier", {}),
    "LatentHierarchyClassifier": ("OneVsRestClassifier", {}),
}
LEFT_OUT = {
    "HintedClusterer": "a base class",
    "KMeansFamily": "a base class",
    "HintSearchCV": "fits other estimators",
    "ImageFeatures": "takes files; see features.py",
    "SoundFeatures": "takes files; see features.py",
    "TextFeatures": "takes texts; see features.py",
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


def find_estimators():
    """Return every public class with a method `fit`, by name."""
    found = {}
    for module in pkgutil.iter_modules(likewise.__path__):
        if module.name.startswith("_") or module.name in ("cli", "studio"):
            continue
        public = importlib.import_module(f"likewise.{module.name}")
        for name, cls in inspect.getmembers(public, inspect.isclass):
            if hasattr(cls, "fit") and cls.__module__.startswith("likewise."):
                found[name] = cls
    return found


ESTIMATORS = find_estimators()


def draw_rows(n):
    """Return ten groups, whose centres are about 4.5 standard deviations apart, and their classes."""
    rng = np.random.default_rng(0)
    centers = 0.8 * rng.normal(size=(K, D))
    y = rng.integers(0, K, n)
    return centers[y] + rng.normal(size=(n, D)), y


def is_multilabel(name):
    return "OneVsRestClassifier" in (name, METHODS.get(name, [None])[0])


def draw_problem(name, n, n_hints=N_HINTS):
    """Return rows, the other arguments of `fit`, and the true classes or labels."""
    if is_multilabel(name):
        tree = make_label_tree(n, N_LABELS, n_features=D, random_state=0)
        return tree.X, (tree.Z,), {}, tree.Y
    X, y = draw_rows(n)
    if name in FLOORS:
        return X, (y,) if name in ("LogisticRegression", "LinearDiscriminantAnalysis") else (), {}, y
    kinds = ESTIMATORS[name.removesuffix(GRAPH)].supported_hints
    if "links" in kinds:
        hints = sample_links(y, n_hints, balance=0.5, random_state=0)
    elif "triplets" in kinds:
        hints = sample_triplets(y, n_hints, neither=False, random_state=0)
    else:
        known = np.random.default_rng(0).permutation(n)[:n_hints]
        labels = np.full(n, -1)
        labels[known] = y[known]
        hints = Supervision.from_labels(labels)
    return X, (), {"supervision": hints}, y


def make_model(name):
    if name in FLOORS:
        return FLOORS[name]()
    cls = ESTIMATORS[name.removesuffix(GRAPH)]
    common = {"n_clusters": K, "random_state": 0}
    taken = {key: value for key, value in common.items() if key in inspect.signature(cls).parameters}
    return cls(**taken, **METHODS[name][1])


def compute_score(name, model, X, truth):
    """Return the adjusted Rand index of a clusterer, or the F1 of a multi-label classifier."""
    if is_multilabel(name):
        return {"f1": float(f1_score(truth, model.predict(X), average="macro", zero_division=0))}
    if not hasattr(model, "labels_") and not hasattr(model, "predict"):
        return {}  # a metric learner
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    return {"ari": float(adjusted_rand_score(truth, labels))}


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


def fit(name, X, labels, hints):
    model = make_model(name).fit(X, *labels, **hints)
    getattr(model, "labels_", None)  # GroupClustering computes them when they are first read
    return model


def measure_cell(name, n, limit, folder):
    """Fit one method at one size; write CPU seconds, MiB besides the rows, and the score."""
    few, few_labels, few_hints, _ = draw_problem(name, SMALL, 5 * N_HINTS)
    X, labels, hints, truth = draw_problem(name, n)
    if name.endswith(GRAPH):
        few, X = read_graph(folder, SMALL), read_graph(folder, n)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        fit(name, few, few_labels, few_hints)
        with open(folder / "warnings", "w") as file:
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: print(message, file=file, flush=True)
            n_fits, added = 0, None
            stop = int(time.process_time() + limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (stop, stop + 5))
            reset_peak()
            before, start, spent = read_memory("VmRSS"), time.process_time(), 0.0
            while spent < 1.0 and n_fits < 100:
                model = fit(name, X, labels, hints)
                spent, n_fits = time.process_time() - start, n_fits + 1
                if added is None:
                    added = max(read_memory("VmHWM") - before, 0.0)
    found = {"cpu": spent / n_fits, "MiB": added, **compute_score(name, model, X, truth)}
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
    """Refuse to run if a public estimator is missing in METHODS."""
    missing = set(ESTIMATORS) - set(METHODS) - set(LEFT_OUT)
    if missing:
        raise SystemExit(
            f"METHODS has no entry for {', '.join(sorted(missing))}: add their floors, or say in LEFT_OUT "
            "why they are not measured."
        )


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
    kept = [r for r in kept if r["method"] in names and (r["method"], r["rows"]) not in done]
    command = f"python benchmarks/growth.py --limit {args.limit:g}"
    cells = sorted(kept + records, key=lambda r: (r["rows"], names.index(r["method"])))
    save_part("growth", "cells", cells, command, limit=args.limit)


if __name__ == "__main__":
    main()
