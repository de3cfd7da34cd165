"""Compare the same fit in memory, out of core, and on one and two Dask workers.

`python benchmarks/scale.py` writes clouds of 10^6 and 10^7 rows of 16 float32 columns to a scratch folder,
and fits them with 200 links. Each variant has a separate process, so that its memory can be measured. The
time is that of the fit, the better of two, after the rows are in place (in memory, in a file, or on the
workers). All variants are measured in one run, as ratios to the fit in memory with the same number of
threads. Their labels are compared row by row. At the end, the time for 10^9 rows on 100 workers is
extrapolated.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
D, K, N_LINKS = 16, 10, 200
MODELS = {
    "PCKMeans": {},
    "MPCKMeans": {},
    "PairwiseGaussianMixture": {"covariance_type": "diag", "n_init": 2, "max_iter": 20},
    "DiscriminativeClustering": {"n_init": 2, "max_iter": 5},
}
CHUNK = 2**20  # 64 MB; fewer rows get smaller chunks, so that every worker has some


def write_rows(path, n):
    """Write clouds with centres about three standard deviations apart, block by block."""
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.normal(size=(K, D)).astype(np.float32)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, D))
    for at in range(0, n, 2**20):
        y = classes(slice(at, min(at + 2**20, n)))
        X[at : at + len(y)] = centres[y] + rng.standard_normal((len(y), D), dtype=np.float32)
    X.flush()


def classes(rows):
    return (np.arange(rows.start, rows.stop) * 7919) % K


def write_parquet(path, source):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = np.load(source, mmap_mode="r")
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(D)])
    with pq.ParquetWriter(path, schema, compression="NONE") as file:
        for at in range(0, len(X), CHUNK):
            file.write_table(pa.table({f"x{j}": np.array(X[at : at + CHUNK, j]) for j in range(D)}, schema))


def hints_for(n):
    from likewise import Supervision

    rng = np.random.default_rng(1)
    pairs = rng.integers(0, n, size=(4 * N_LINKS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = (pairs[:, 0] * 7919) % K == (pairs[:, 1] * 7919) % K
    half = N_LINKS // 2
    return Supervision.from_links(n, must=pairs[same][:half], cannot=pairs[~same][:half])


def chunk_of(path, block_info=None):
    (first, last), _ = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[first:last])


def on_cluster(path, n_workers, chunk):
    """Return the rows on a cluster of local workers, each with one thread, loaded by the workers."""
    import dask.array as da

    from distributed import Client, LocalCluster, wait

    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    n = len(np.load(path, mmap_mode="r"))
    chunks = (tuple(min(chunk, n - at) for at in range(0, n, chunk)), (D,))
    X = da.map_blocks(chunk_of, str(path), chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    X = client.persist(X)
    wait(X)
    return X, client


def warm_up(estimator, n_workers):
    """Let every worker import and compile."""
    import dask.array as da
    from sklearn.base import clone

    n = 20_000 * n_workers
    X = da.random.default_rng(0).normal(size=(n, D), chunks=(5_000, D)).astype(np.float32)
    clone(estimator).set_params(max_iter=3).fit(X, supervision=hints_for(n))


def anonymous():
    """Return the bytes of anonymous memory of this process, without mapped files, which can be dropped."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Watch(threading.Thread):
    """A thread that records the peak of anonymous memory of the process."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            self.most = max(self.most, anonymous())


def rows_of_file(way, path):
    from likewise.datasets import MemmapRows, ParquetRows

    if way == "memmap":
        return MemmapRows(path)
    return ParquetRows(path.with_suffix(".parquet"), scratch=path.parent)


def wait_for(client, labels):
    from distributed import wait

    wait(client.persist(labels))


def one_way(way, path, model, chunk, repeat):
    """Fit one variant, and print time and memory."""
    import likewise

    estimator = getattr(likewise, model)(n_clusters=K, random_state=0, **MODELS[model])
    small = np.random.default_rng(0).normal(size=(2000, D)).astype(np.float32)
    estimator.fit(small, supervision=hints_for(2000))  # imports and compiles
    client = None
    started = time.perf_counter()
    if way.startswith("dask"):
        X, client = on_cluster(path, int(way[-1]), chunk)
        warm_up(estimator, int(way[-1]))
    elif way == "memory":
        X = np.load(path)
    else:
        X = rows_of_file(way, path)
    loading = time.perf_counter() - started
    hints = hints_for(X.shape[0])
    before = anonymous()
    watch = Watch()
    watch.start()
    seconds = np.inf
    for _ in range(repeat):
        if way == "parquet":
            X = rows_of_file(way, path)  # opened again, so that decoding counts
        started = time.perf_counter()
        estimator.fit(X, supervision=hints)
        if client is not None:
            wait_for(client, estimator.labels_)
        seconds = min(seconds, time.perf_counter() - started)
    watch.over.set()
    watch.join()
    found = {
        "model": model, "way": way, "rows": int(X.shape[0]), "seconds": seconds, "loading": loading,
        "memory_before": before, "memory_most": max(watch.most, anonymous()),
        "n_iter": int(estimator.n_iter_),
        "objective": float(getattr(estimator, "objective_", getattr(estimator, "lower_bound_", np.nan))),
    }  # fmt: skip
    if client is not None:
        found["workers"] = sorted(
            client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024).values()
        )
        found["tasks"] = -(-int(X.shape[0]) // chunk)
    np.save(path.parent / f"labels-{way}.npy", np.asarray(estimator.labels_, dtype=np.int8))
    print(json.dumps(found))
    if client is not None:
        client.shutdown()


def measure(way, path, model, chunk, threads, repeat):
    env = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads)}
    env["OPENBLAS_NUM_THREADS"] = str(threads)
    env.pop("NUMBA_NUM_THREADS", None)
    args = [
        sys.executable,
        __file__,
        "--one",
        way,
        "--path",
        str(path),
        "--models",
        model,
        "--chunk",
        str(chunk),
        "--repeat",
        str(repeat),
    ]
    done = subprocess.run(args, capture_output=True, text=True, env=env)
    if done.returncode:
        raise RuntimeError(f"{way} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def estimate(found, console):
    """Print the extrapolated time for 10^9 rows on 100 workers, from two sizes on two workers."""
    here = {f["rows"]: f for f in found if f["way"] == "dask-2" and f["model"] == "PCKMeans"}
    if len(here) < 2:
        return None
    small, large = here[min(here)], here[max(here)]
    per_row = (large["seconds"] - small["seconds"]) / (large["rows"] - small["rows"])  # two workers
    fixed = max(small["seconds"] - per_row * small["rows"], 0.0)
    rows, workers, chunk = 10**9, 100, 2**20
    seconds = fixed + per_row * 2 / workers * rows
    memory = rows / workers * (D * 4 + 8)
    console.print(
        f"\n10^9 x {D} on {workers} workers, chunks of 2^20 rows, PCKMeans: {fixed:.1f} s independent of the "
        f"number of rows, plus {per_row * 2 * 1e9:.0f} ns per row and worker: {seconds:.0f} s for the fit; "
        f"{memory / 1e9:.1f} GB on each worker; {rows // chunk} tasks per pass."
    )
    return {
        "fixed": fixed,
        "ns_a_row_and_worker": per_row * 2e9,
        "seconds": seconds,
        "bytes_a_worker": memory,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--models", nargs="+", default=["PCKMeans", "MPCKMeans"], choices=list(MODELS))
    parser.add_argument("--ways", nargs="+", default=["memory", "memmap", "parquet", "dask-1", "dask-2"])
    parser.add_argument("--chunk", type=int, default=None, help="rows of a Dask chunk")
    parser.add_argument("--repeat", type=int, default=2, help="fits per process; the best one is used")
    parser.add_argument("--folder", type=Path, default=None, help="for the rows; a scratch folder by default")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return one_way(args.one, args.path, args.models[0], args.chunk, args.repeat)
    console = Console(width=120)
    found = []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for n in map(int, args.rows):
            path = Path(folder) / "rows.npy"
            write_rows(path, n)
            if "parquet" in args.ways:
                write_parquet(path.with_suffix(".parquet"), path)
            for model in args.models:
                found += compare(path, model, args, console)
    Path(HERE / "results").mkdir(exist_ok=True)
    results = {"fits": found, "estimate": estimate(found, console)}
    (HERE / "results" / "scale.json").write_text(json.dumps(results, indent=1) + "\n")


def compare(path, model, args, console):
    """Fit one model in all variants; print the table and return the measurements."""
    runs = []
    n = len(np.load(path, mmap_mode="r"))
    chunk = args.chunk or min(CHUNK, 2 ** int(np.log2(max(n / 8, 2**15))))
    for way in args.ways:
        # Compare with a fit in memory that has the same number of threads.
        threads = 1 if way.startswith("dask") else 2
        runs.append(measure(way, path, model, chunk, threads, args.repeat))
    single = None
    if "dask-1" in args.ways:
        single = measure("memory", path, model, chunk, 1, args.repeat)
    labels = {way: np.load(path.parent / f"labels-{way}.npy") for way in args.ways}
    first = args.ways[0]
    table = Table(title=f"{model}, {runs[0]['rows']:,} x {D} float32, {K} clusters, {N_LINKS} links")
    for column in (
        "way",
        "seconds",
        "ratio",
        "iterations",
        "own memory of the client, MB",
        "a worker, MB",
        "labels equal",
    ):
        table.add_column(column, justify="left" if column == "way" else "right")
    for run in runs:
        base = single["seconds"] if run["way"] == "dask-1" else runs[0]["seconds"]
        run["ratio"] = run["seconds"] / base
        run["equal"] = float((labels[run["way"]] == labels[first]).mean())
        workers = " ".join(f"{w / 1e6:.0f}" for w in run.get("workers", []))
        more = f"{run['memory_before'] / 1e6:.0f} + {(run['memory_most'] - run['memory_before']) / 1e6:.0f}"
        table.add_row(
            run["way"],
            f"{run['seconds']:.2f}",
            f"{run['ratio']:.2f}",
            str(run["n_iter"]),
            more,
            workers,
            f"{run['equal']:.6f}",
        )
    console.print(table)
    if single is not None:
        console.print(f"in memory with one thread (the reference for one worker): {single['seconds']:.2f} s")
        runs.append({**single, "way": "memory, one thread"})
    return runs


if __name__ == "__main__":
    main()
