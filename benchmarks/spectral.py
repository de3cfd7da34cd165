"""Measure speed and memory of the spectral family, scikit-learn's SpectralClustering, and the dense form.

Run with `make bench`, or `python benchmarks/spectral.py --quick` for a short version. Read the ratios:
everything that is compared is measured in the same run, taking turns, as CPU seconds on one thread. Each fit
has a separate process, so that its peak memory can be measured and a fit that takes too long can be stopped.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import likewise
from likewise import Supervision
from likewise.spectral import (
    BagSpectralClustering,
    PropagationClustering,
    RegularizedSpectralClustering,
    SpectralLearning,
)
from likewise.supervision import sample_links

HERE = Path(__file__).parent
PARTS = ("fit", "memory", "refit", "dense", "graph", "large")
K = 10
SOLVERS = ("arpack", "lobpcg", "amg")
SECONDS, GIGABYTES = 240, 8
console = Console(stderr=True)


# ---------------------------------------------------------------------- data


def rows_of(kind, n, seed=0):
    """Return rows and their classes: touching clouds in five dimensions, or a rolled-up sheet in strips."""
    rng = np.random.default_rng(seed)
    if kind == "clouds":
        y = rng.integers(0, K, n)
        return rng.normal(size=(n, 5)) + 2.5 * rng.normal(size=(K, 5))[y], y
    along = rng.random(n)
    turn = 1.5 * np.pi * (1 + 2 * along)
    return np.c_[turn * np.cos(turn), 21 * rng.random(n), turn * np.sin(turn)], (K * along).astype(int)


def save_problem(folder, kind, n):
    """Write the graph of ten neighbours and the classes to a file, and return its path."""
    path = Path(folder) / f"{kind}-{n}.npz"
    if not path.exists():
        X, y = rows_of(kind, n)
        graph = kneighbors_graph(X, 10)
        graph = sparse.csr_array(0.5 * (graph + graph.T))
        np.savez(path, data=graph.data, indices=graph.indices, indptr=graph.indptr, y=y, X=X)
    return path


def load_problem(path):
    with np.load(path) as parts:
        y = parts["y"]
        graph = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=(len(y), len(y)))
    return graph, y


def bag_hints(y, share=0.5, size=10, seed=0):
    """Return random bags of ten rows; a share of them is labelled with the classes of their rows."""
    rng = np.random.default_rng(seed)
    bags = rng.permutation(len(y)) // size
    labelled = rng.choice(bags.max() + 1, int(share * (bags.max() + 1)), replace=False)
    held = {bag: set() for bag in labelled.tolist()}
    for bag, label in zip(bags.tolist(), y.tolist(), strict=True):
        if bag in held:
            held[bag].add(label)
    return Supervision.from_bags(bags, {bag: sorted(labels) for bag, labels in held.items()})


# ---------------------------------------------------------------------- one measurement, in its own process


def time_action(action):
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make(method, **more):
    ours = {"affinity": "precomputed", "random_state": 0, **more}
    if method == "no hints":
        return BagSpectralClustering(K, row_normalize=False, **ours)
    if method == "links":
        return SpectralLearning(K, **ours)
    if method.startswith("bags"):
        return BagSpectralClustering(K, variant=method.partition(", ")[2] or "propagated", **ours)
    solver = method.removeprefix("scikit-learn ")
    return SpectralClustering(K, affinity="precomputed", eigen_solver=solver, random_state=0)


def hints_for(method, y):
    if method.startswith("bags"):
        return {"supervision": bag_hints(y)}
    return {"supervision": sample_links(y, 100, random_state=0)} if method == "links" else {}


def convert_graph(method, graph):
    if not method.startswith("scikit-learn"):
        return graph
    # scikit-learn's connectivity check and Laplacian need 32-bit indices.
    return sparse.csr_matrix((graph.data, graph.indices.astype(np.int32), graph.indptr.astype(np.int32)))


def warm_up(method):
    y = np.arange(200) % K
    X = 5.0 * np.eye(K)[y] + np.random.default_rng(0).normal(size=(200, K))
    graph = kneighbors_graph(X, 20)
    graph = sparse.csr_array(0.5 * (graph + graph.T))
    make(method).fit(convert_graph(method, graph), **hints_for(method, y))


def one_fit(path, method, folder):
    graph, y = load_problem(path)
    warm_up(method)
    hints, graph = hints_for(method, y), convert_graph(method, graph)
    before = peak()
    seconds, model = time_action(lambda: make(method).fit(graph, **hints))
    np.save(Path(folder) / "labels.npy", model.labels_)
    return {"cpu": seconds, "MB": peak() - before, "ARI": adjusted_rand_score(y, model.labels_)}


def one_refit(path, method, folder):
    """Fit, add one link and refit; then fit the same hints from scratch."""
    graph, y = load_problem(path)
    warm_up(method)
    hints = hints_for(method, y)["supervision"]
    i, j = np.flatnonzero(y == y[0])[[0, -1]]
    more = hints | Supervision.from_links(len(y), must=[(int(i), int(j))])

    def both(model, given):
        first, _ = time_action(lambda: model.fit(given, supervision=hints))
        again, _ = time_action(lambda: model.fit(given, supervision=more))
        return first, again

    model = make(method, warm_start=True)
    first, again = both(model, graph)
    cold = make(method).fit(graph, supervision=more)
    with np.load(path) as parts:
        X = parts["X"]
    rows = make(method, warm_start=True, affinity="local", n_neighbors=10, neighbor_search="exact")
    first_of_rows, again_of_rows = both(rows, X)
    return {
        "first": first,
        "again": again,
        "ratio": again / first,
        "first, rows given": first_of_rows,
        "ratio, rows given": again_of_rows / first_of_rows,
        "as from nothing": adjusted_rand_score(model.labels_, cold.labels_),
    }


def one_dense(path, method, folder):
    """Form and decompose the whole matrix W + alpha Q of the paper, or fit ours on the same W."""
    graph, y = load_problem(path)
    weights, hints = graph.toarray(), bag_hints(y, share=1.0)
    alpha, variant = 0.7, "printed"
    if method == "ours":
        model = BagSpectralClustering(K, variant=variant, alpha=alpha, affinity="precomputed", random_state=0)
        warm_up("bags, printed")
        before = peak()
        seconds, _ = time_action(lambda: model.fit(graph, supervision=hints))
        labels = model.labels_
    else:
        names = {bag: number for number, bag in enumerate(hints.bags.names)}
        labelled = np.zeros((len(names), K))
        for bag, labels in zip(hints.bags.names, hints.bags.labels, strict=True):
            labelled[names[bag], list(labels)] = 1 / len(labels)

        def by_the_book():
            B = np.eye(len(names))[hints.bags.codes]
            alike = labelled @ labelled.T
            Q = B @ (alike - alike.mean() * np.eye(len(names))) @ B.T
            scale = 1 / np.sqrt(weights.sum(axis=1))
            _, vectors = np.linalg.eigh(scale[:, None] * (weights + alpha * Q) * scale)
            rows = vectors[:, -K:]
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            return KMeans(K, n_init=10, random_state=0).fit(rows).labels_

        before = peak()
        seconds, labels = time_action(by_the_book)
    np.save(Path(folder) / "labels.npy", labels)
    return {"cpu": seconds, "MB": peak() - before, "ARI": adjusted_rand_score(y, labels)}


def one_graph(path, method, folder):
    """Time the graph, as a fit on the rows minus a fit on their graph; save its edges."""
    X = np.load(path)
    if method == "kneighbors_graph":
        seconds, graph = time_action(lambda: kneighbors_graph(X, 10))
        graph = graph + graph.T
    else:
        settings = {"random_state": 0, "n_init": 1}
        model = BagSpectralClustering(
            K, affinity="neighbors", n_neighbors=10, neighbor_search=method, **settings
        )
        model.fit(X[:2000])
        whole, _ = time_action(lambda: model.fit(X))
        graph = model.affinity_matrix_
        given = BagSpectralClustering(K, affinity="precomputed", **settings)
        seconds = whole - time_action(lambda: given.fit(graph))[0]
    graph = sparse.csr_array(graph).astype(bool)
    graph.sort_indices()
    np.savez(Path(folder) / "edges.npz", indices=graph.indices, indptr=graph.indptr)
    return {"cpu": seconds}


LARGE = {
    "PropagationClustering": PropagationClustering,
    "SpectralLearning": SpectralLearning,
    "BagSpectralClustering": BagSpectralClustering,
    "RegularizedSpectralClustering": RegularizedSpectralClustering,
}


def large_hints(method, y):
    """Return 200 random links, their must-links, or 200 bags of five rows."""
    if method == "BagSpectralClustering":
        rows = np.random.default_rng(0).permutation(len(y))[:1000]
        bags = np.full(len(y), None)
        bags[rows] = np.arange(1000) // 5
        return Supervision.from_bags(bags, {b: {*y[bags == b].tolist()} for b in range(200)})
    links = sample_links(y, 200, random_state=0)
    if method == "RegularizedSpectralClustering":
        return Supervision.from_links(len(y), must=links.must)
    return links


def one_large(path, method, folder):
    """Time a fit on many rows, the graph included, and the prediction of the same rows."""
    with np.load(path) as parts:
        X, y = parts["X"], parts["y"]
    few = min(41_000, len(y))
    LARGE[method](K, random_state=0).fit(X[:few], supervision=large_hints(method, y[:few]))  # compiles
    hints = large_hints(method, y)
    before = peak()
    seconds, model = time_action(lambda: LARGE[method](K, random_state=0).fit(X, supervision=hints))
    found = {"cpu": seconds, "MB": peak() - before, "recall": model.neighbor_recall_}
    return {**found, "ARI": adjusted_rand_score(y, model.labels_)}


ONE = {
    "fit": one_fit,
    "memory": one_fit,
    "refit": one_refit,
    "dense": one_dense,
    "graph": one_graph,
    "large": one_large,
}


def apart(part, path, method, folder):
    """Run one measurement in a separate process; return the result or the reason for a failure."""
    command = [sys.executable, __file__, "--one", part, str(path), method, str(folder)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"stopped": f"after {SECONDS} s"}
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["out of memory"]
        return {"stopped": lines[-1][:80]}
    return json.loads(ended.stdout.splitlines()[-1])


def best_of(repeats, part, path, methods, folder):
    """Measure the methods, taking turns; return the fastest run of each."""
    found = {}
    for _ in range(repeats):
        for method in methods:
            if "stopped" in found.get(method, {}):
                continue
            now = apart(part, path, method, folder)
            labels = Path(folder) / "labels.npy"
            if labels.exists():
                now["labels"] = np.load(labels)
                labels.unlink()
            time_of = "again" if part == "refit" else "cpu"
            if method not in found or now.get(time_of, np.inf) < found[method][time_of]:
                found[method] = now
    return found


# ---------------------------------------------------------------------- the parts


def compare_fits(folder, quick):
    peers = [f"scikit-learn {solver}" for solver in SOLVERS]
    rows = []
    for kind in ("clouds", "sheet"):
        for n in (10_000,) if quick else (10_000, 100_000):
            path = save_problem(folder, kind, n)
            ours = ("no hints", "bags", "bags, labelled")
            found = best_of(1 if quick else 3, "fit", path, (*ours, *peers), folder)
            floor = min((found[p]["cpu"] for p in peers if "cpu" in found[p]), default=np.nan)
            plain = found["no hints"].get("labels")
            for method, measured in found.items():
                labels = measured.pop("labels", None)
                same = np.nan if labels is None else adjusted_rand_score(plain, labels)
                ratio = measured.get("cpu", np.nan) / floor
                head = {"graph": kind, "rows": n, "method": method}
                rows.append({**head, **measured, "times the best peer": ratio, "as no hints": same})
    return rows


def memory_growth(folder, quick):
    rows = []
    for kind in ("clouds", "sheet"):
        for n in (10_000, 30_000) if quick else (10_000, 30_000, 100_000):
            measured = apart("memory", save_problem(folder, kind, n), "bags", folder)
            per_row = measured.get("MB", np.nan) * 2**20 / n
            rows.append(
                {"graph": kind, "rows": n, **measured, "bytes a row": per_row, "Q, MB": n * n * 8 / 2**20}
            )
    return rows


def compare_refits(folder, quick):
    rows = []
    for kind in ("clouds", "sheet"):
        for n in (10_000,) if quick else (10_000, 100_000):
            path = save_problem(folder, kind, n)
            methods = ("links", "bags, labelled", "bags")
            for method, measured in best_of(1 if quick else 3, "refit", path, methods, folder).items():
                rows.append({"graph": kind, "rows": n, "method": method, **measured})
    return rows


def compare_dense(folder, quick):
    rows = []
    for n in (500, 1000) if quick else (1000, 2000, 4000):
        found = best_of(1, "dense", save_problem(folder, "clouds", n), ("ours", "dense"), folder)
        same = adjusted_rand_score(found["ours"].pop("labels"), found["dense"].pop("labels"))
        for method, measured in found.items():
            ratio = found["dense"]["cpu"] / measured["cpu"]
            rows.append({"rows": n, "method": method, **measured, "times faster": ratio, "same": same})
    return rows


def compare_graphs(folder, quick):
    rows = []
    for n in (5000,) if quick else (10_000, 50_000):
        kinds = ((8, "clouds"), (64, "clouds"), (64, "one cloud"))
        for dimensions, spread in kinds[:1] if quick else kinds:
            rng = np.random.default_rng(0)
            X = rng.normal(size=(n, dimensions))
            if spread == "clouds":  # low-dimensional, embedded in many dimensions
                X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, dimensions))
                X += 5 * rng.normal(size=(K, dimensions))[rng.integers(0, K, n)]
            path = Path(folder) / "rows.npy"
            np.save(path, X)
            exact = None
            for method in ("kneighbors_graph", "exact", "approximate"):
                measured = apart("graph", path, method, folder)
                if "cpu" in measured:
                    with np.load(Path(folder) / "edges.npz") as parts:
                        pattern = np.ones(len(parts["indices"]))
                        edges = sparse.csr_array((pattern, parts["indices"], parts["indptr"]), shape=(n, n))
                    exact = edges if exact is None else exact
                    measured["recall"] = float(edges.multiply(exact).sum() / exact.sum())
                head = {"data": spread, "columns": dimensions, "rows": n, "method": method}
                rows.append({**head, **measured})
    return rows


def fit_many_rows(folder, quick):
    """Fit overlapping clouds: centres four standard deviations apart on average, in all columns."""
    rows = []
    for d in (16,) if quick else (16, 64, 384):
        n, rng = 50_000 if quick else 100_000, np.random.default_rng(0)
        centers, y = 4.0 / np.sqrt(2 * d) * rng.normal(size=(K, d)), rng.integers(0, K, n)
        path = Path(folder) / "large.npz"
        np.savez(path, X=(centers[y] + rng.normal(size=(n, d))).astype(np.float32 if d > 64 else float), y=y)
        for method in LARGE:
            rows.append({"method": method, "rows": n, "columns": d, **apart("large", path, method, folder)})
    return rows


RUN = {
    "fit": (compare_fits, "Fits on a graph of ten neighbours, K=10, one thread"),
    "memory": (memory_growth, "Peak memory of a fit with bags, besides the graph"),
    "refit": (compare_refits, "One more link, warm_start=True, against the first fit"),
    "dense": (compare_dense, "Against forming and decomposing the whole matrix"),
    "large": (fit_many_rows, "Fits on rows, the graph included; 200 links or bags, K=10, one thread"),
    "graph": (compare_graphs, "Building the graph, ten neighbours; recall against kneighbors_graph"),
}


def show(title, rows):
    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        words = any(isinstance(row.get(column), str) for row in rows)
        table.add_column(column, justify="left" if words else "right")
    for row in rows:
        values = (row.get(column, "") for column in columns)
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values))
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="10,000 rows, one repeat")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "spectral.json")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.one:
        part, path, method, folder = args.one
        resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES * 2**30,) * 2)
        with threadpool_limits(1):
            print(json.dumps(ONE[part](path, method, folder)))
        return
    result = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": likewise.__version__,
    }
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for part in args.only or PARTS:
            run, title = RUN[part]
            result[part] = run(folder, args.quick)
            show(title, result[part])
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1))
    console.print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
