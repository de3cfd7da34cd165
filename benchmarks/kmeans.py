"""Measure the speed of the k-means family next to scikit-learn's KMeans (the floor) and a peer, in one run.

Run with `make bench`, or `python benchmarks/kmeans.py --quick` for a short version. Read the ratios:
everything that is compared is measured in the same run, taking turns. The peer,
active-semi-supervised-clustering 0.0.1, has a separate environment under benchmarks/.peer, which the first
run creates, and is stopped after 120 seconds.
"""

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import likewise
from likewise import MPCKMeans, PCKMeans, Supervision
from likewise.supervision import sample_links

HERE = Path(__file__).parent
PEER = HERE / ".peer"
PEER_SECONDS = 120
PARTS = ("iteration", "memory", "digits", "growth")
K, D = 10, 16
console = Console(stderr=True)


def rows_and_links(n, n_links, seed=0):
    """Return overlapping clouds and links; no method converges early, so every fit runs all iterations."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, D)) + 0.3 * rng.normal(size=(K, D))[y]
    return X, y, sample_links(y, n_links, random_state=seed)


def makers(start):
    return {
        "KMeans": lambda it: KMeans(K, init=start, n_init=1, max_iter=it, tol=0, algorithm="lloyd"),
        "PCKMeans": lambda it: PCKMeans(K, init=start, max_iter=it, tol=0),
        "MPCKMeans diagonal": lambda it: MPCKMeans(K, metric="diagonal", init=start, max_iter=it, tol=0),
        "MPCKMeans full": lambda it: MPCKMeans(K, metric="full", init=start, max_iter=it, tol=0),
        "MPCKMeans diagonal, per cluster": lambda it: MPCKMeans(
            K, metric="diagonal", per_cluster=True, init=start, max_iter=it, tol=0
        ),
    }


def fit_seconds(model, X, hints, clock):
    kwargs = {} if isinstance(model, KMeans) else {"supervision": hints}
    started = clock()
    model.fit(X, **kwargs)
    return clock() - started, model.n_iter_


def iteration_times(n, n_links, threads, repeats, few=3, many=23):
    """Return milliseconds per iteration: the best of several long fits minus the best of short ones."""
    X, _, hints = rows_and_links(n, n_links)
    models = makers(X[:K].copy())
    clock = time.process_time if threads == 1 else time.perf_counter
    best = {}
    with threadpool_limits(threads):
        for make in models.values():
            fit_seconds(make(2), X[:1000], None, clock)  # compile, warm up
        for _ in range(repeats):
            for name, make in models.items():  # take turns, so that load on the machine affects all equally
                for iterations in (few, many):
                    seconds, done = fit_seconds(make(iterations), X, hints, clock)
                    key = (name, iterations)
                    best[key] = min(best.get(key, (np.inf, 0)), (seconds, done))
    out = {}
    for name in models:
        (short, a), (long, b) = best[name, few], best[name, many]
        out[name] = {"ms": (long - short) / (b - a) * 1e3, "fit_s": long, "iterations": b}
    for row in out.values():
        row["ratio"] = row["ms"] / out["KMeans"]["ms"]
    return out


def memory(what):
    """Return VmRSS (current) or VmHWM (peak) of this process in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


def memory_of(method, n):
    """Return the peak memory (MiB) of a fit besides X, in a separate process that only loads X."""
    code = (
        "import pickle, sys\nsys.path.insert(0, sys.argv[1])\nimport kmeans as b\n"
        "make = b.makers(b.np.load(sys.argv[2] + '/start.npy'))[sys.argv[3]]\n"
        "few = b.np.random.default_rng(0).normal(size=(100, b.D))\n"
        "b.fit_seconds(make(2), few, None, b.time.perf_counter)\n"
        "X = b.np.load(sys.argv[2] + '/X.npy')\n"
        "hints = pickle.load(open(sys.argv[2] + '/hints', 'rb'))\n"
        "before = b.memory('VmRSS')\n"
        "b.fit_seconds(make(5), X, hints, b.time.perf_counter)\n"
        "print(b.memory('VmHWM') - before)\n"
    )
    X, _, hints = rows_and_links(n, 1000)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/start.npy", X[:K])
        Path(folder, "hints").write_bytes(pickle.dumps(hints))
        command = [sys.executable, "-W", "ignore", "-c", code, str(HERE), folder, method]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1024


def peer_python():
    python = PEER / "bin" / "python"
    if not python.exists():
        console.print("creating the peer's environment …")
        venv.create(PEER, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "active-semi-supervised-clustering==0.0.1"],
            check=True,
        )
    return python


def run_peer(X, hints, k, method, seconds=PEER_SECONDS):
    """Fit the peer; return its CPU seconds and labels, or the reason for a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, X=X, must=hints.must, cannot=hints.cannot, k=k)
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [peer_python(), "-W", "ignore", HERE / "_peer.py", path, method]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=env)
        except subprocess.TimeoutExpired:
            return None, None, f"stopped after {seconds} s"
        if done.returncode:
            return None, None, done.stderr.strip().splitlines()[-1]
        answer = json.loads(done.stdout)
        return answer["cpu"], np.array(answer["labels"]), ""


def digits(quick):
    """Compare on handwritten digits: CPU seconds of one fit on one thread, and ARI over all rows."""
    X, y = load_digits(return_X_y=True)
    rows = []
    with threadpool_limits(1):
        KMeans(10, n_init=1, random_state=0).fit(X)
        floor, plain = [], []
        for seed in range(10):
            model = KMeans(10, n_init=1, random_state=seed)
            seconds, _ = fit_seconds(model, X, None, time.process_time)
            floor.append(seconds)
            plain.append(adjusted_rand_score(y, model.labels_))
        floor = float(np.median(floor))
        rows.append({"method": "KMeans n_init=1", "links": 0, "cpu": floor, "ari": float(np.mean(plain))})
        for n_links in (20, 100, 500, 1000):
            for name, model in {
                "PCKMeans": PCKMeans(10),
                "MPCKMeans": MPCKMeans(10),
                "MPCKMeans diagonal": MPCKMeans(10, metric="diagonal"),
            }.items():
                times, scores = [], []
                for seed in range(3 if quick else 10):
                    hints = sample_links(y, n_links, random_state=seed)
                    model.set_params(random_state=seed)
                    if not times:
                        model.fit(X, supervision=hints)
                    times.append(fit_seconds(model, X, hints, time.process_time)[0])
                    scores.append(adjusted_rand_score(y, model.labels_))
                rows.append(
                    {
                        "method": name,
                        "links": n_links,
                        "cpu": float(np.median(times)),
                        "ari": float(np.mean(scores)),
                    }
                )
    for n_links in (100, 1000):
        hints = sample_links(y, n_links, random_state=0)
        for method in ("PCK",) if quick else ("PCK", "MPCK"):
            seconds, labels, note = run_peer(X, hints, 10, method)
            ari = None if labels is None else adjusted_rand_score(y, labels)
            rows.append(
                {"method": f"peer {method}", "links": n_links, "cpu": seconds, "ari": ari, "note": note}
            )
    for row in rows:
        row["times_floor"] = None if row["cpu"] is None else row["cpu"] / floor
    return rows


def growth(quick):
    """Time fits of 20 iterations for growing numbers of rows (1,000 links) and of links (10^5 rows)."""
    rows = []
    sizes = (10**4, 10**5) if quick else (10**4, 10**5, 10**6)
    cases = [(n, 1000) for n in sizes] + [(10**5, m) for m in (10**3, 10**4, 10**5)]
    with threadpool_limits(1):
        for n, n_links in cases:
            X, _, hints = rows_and_links(n, n_links)
            for name in ("KMeans", "PCKMeans", "MPCKMeans diagonal"):
                model = makers(X[:K].copy())[name](20)
                fit_seconds(model, X[:1000], None, time.process_time)
                best = min(fit_seconds(model, X, hints, time.process_time)[0] for _ in range(2))
                rows.append({"rows": n, "links": n_links, "method": name, "cpu": best})
    X, _, _ = rows_and_links(10**6, 10)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 10**6, size=(10**6, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    hints = Supervision.from_links(10**6, must=pairs[:500_000])
    started = time.perf_counter()
    hints.closure()
    rows.append({"rows": 10**6, "links": 500_000, "method": "closure", "cpu": time.perf_counter() - started})
    return rows


def show(title, rows, columns):
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column != "method" else "left")
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column)
            cells.append("" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value))
        table.add_row(*cells)
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="10^5 rows, fewer repeats, no MPCK of the peer")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "kmeans.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = args.only or PARTS
    n = 10**5 if args.quick else 10**6
    result = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": likewise.__version__,
    }
    if "iteration" in wanted:
        for threads in (1, 2):
            times = iteration_times(n, 1000, threads, 2 if args.quick else 5)
            rows = [{"method": name, **row} for name, row in times.items()]
            result[f"iteration_{threads}_threads"] = rows
            show(f"One iteration at {n:,} x {D}, k={K}, 1,000 links, {threads} thread(s)", rows,
                 ("method", "ms", "ratio", "fit_s", "iterations"))  # fmt: skip
    if "memory" in wanted:
        rows = [{"method": m, "MiB": memory_of(m, n)} for m in ("KMeans", "PCKMeans", "MPCKMeans diagonal")]
        for row in rows:
            row["ratio"] = row["MiB"] / max(rows[0]["MiB"], 1.0)
        result["memory"] = rows
        show(f"Memory beyond X ({n * D * 8 / 2**20:.0f} MiB)", rows, ("method", "MiB", "ratio"))
    if "digits" in wanted:
        result["digits"] = digits(args.quick)
        show("Digits, 1797 x 64, k=10, one thread", result["digits"],
             ("method", "links", "cpu", "times_floor", "ari", "note"))  # fmt: skip
    if "growth" in wanted:
        result["growth"] = growth(args.quick)
        show("Growth, 20 iterations, one thread", result["growth"], ("method", "rows", "links", "cpu"))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1))
    console.print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
