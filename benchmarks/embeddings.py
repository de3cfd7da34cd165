"""K-means with links on rows shaped like embeddings, next to scikit-learn, FAISS and SuperKMeans, in one run.

Run `python benchmarks/embeddings.py`, with `--only fits nmi` for some parts. One thread, CPU time, n_init=1.
Read the ratios to scikit-learn's KMeans on the same rows with the same seeds.

- fits: 30,000 x 384, 100 clusters, 1,000 links, drawn at random or with half of them must-links, float32 and
  float64. Rows are Gaussian groups of unit length, and sentence embeddings that are multiplied by mixing two
  rows of one class and adding noise of 0.01. Inertia is the sum of squared distances to the centre of the own
  cluster; for FAISS and SuperKMeans, which take float32 only and no links, to the nearest centre.
- nmi: normalised mutual information (NMI) with the classes of Banking77 and CLINC150, with 1,000 links.
- sparse: TF-IDF of the texts of Banking77 as CSR, next to KMeans on the same CSR.
- cannot: a million cannot-links between 60,000 rows.
- large: 10^6 x 384, 1,000 clusters, 10^5 links, half of them must-links, on two threads; takes minutes and
  8 GB, so it runs only with `--only large`.

Embeddings are read from `--embeddings`, a folder with banking77_minilm.npz, clinc150_minilm.npz and
stackoverflow_minilm.npz (arrays X and y); the default is the folder embeddings next to LIKEWISE_DATA. Texts
are read from LIKEWISE_DATA. FAISS and SuperKMeans run in the environment of `--peer-python`
(`pip install faiss-cpu superkmeans`). What is missing is left out, with a message.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_distances_argmin_min
from threadpoolctl import threadpool_limits

from _results import save_part
from likewise import MPCKMeans, PCKMeans, Supervision
from likewise.supervision import sample_links

HERE = Path(__file__).parent
PARTS = ("fits", "nmi", "sparse", "cannot")
D, K, N_LINKS = 384, 100, 1000
METHODS = {"PCKMeans": PCKMeans, "MPCKMeans": MPCKMeans}
BALANCE = {"random": None, "half": 0.5}
PEERS = {  # name: module, iterations (0: the defaults)
    "FAISS, 25 iterations": ("faiss", 25),
    "FAISS, 100 iterations": ("faiss", 100),
    "SuperKMeans, defaults": ("superkmeans", 0),
    "SuperKMeans, all rows, 40 iterations": ("superkmeans", 40),
}
console = Console(stderr=True)


def draw_groups(n, k=K, seed=0):
    """Return Gaussian groups, scaled to unit length, and their classes."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((k, D), dtype=np.float32)
    y = rng.integers(0, k, n)
    X = 1.5 * rng.standard_normal((n, D), dtype=np.float32)
    for at in range(0, n, 2**16):
        X[at : at + 2**16] += centers[y[at : at + 2**16]]
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, y


def read_embeddings(folder, name):
    with np.load(folder / f"{name}_minilm.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float32), np.unique(file["y"], return_inverse=True)[1]


def mix_embeddings(folder, n, seed=0):
    """Return n rows of unit length, each between two embeddings of one class, and their classes."""
    parts, classes, n_classes = [], [], 0
    for name in ("banking77", "clinc150", "stackoverflow"):
        X, y = read_embeddings(folder, name)
        parts.append(X)
        classes.append(y + n_classes)
        n_classes += y.max() + 1
    X, y = np.vstack(parts), np.concatenate(classes)
    rng = np.random.default_rng(seed)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes + 1))
    first = rng.integers(0, len(X), n)
    sizes = np.diff(starts)[y[first]]
    second = order[starts[y[first]] + (rng.random(n) * sizes).astype(int)]
    share = rng.random((n, 1), dtype=np.float32)
    mixed = 0.01 * rng.standard_normal((n, D), dtype=np.float32)
    for at in range(0, n, 2**16):
        b = slice(at, at + 2**16)
        mixed[b] += share[b] * X[first[b]] + (1 - share[b]) * X[second[b]]
        mixed[b] /= np.linalg.norm(mixed[b], axis=1)[:, None]
    return mixed, y[first]


def fit(model, X, **hints):
    """Return CPU seconds of a fit."""
    start = time.process_time()
    model.fit(X, **hints)
    return time.process_time() - start


def compute_inertia(X, centers, labels):
    blocks = (slice(at, at + 4096) for at in range(0, len(X), 4096))
    return float(sum(np.square(X[b] - centers[labels[b]], dtype=np.float64).sum() for b in blocks))


def measure_methods(X, y, k, seed, methods, head):
    """Yield one record for KMeans, and one for each method with each kind of links."""
    floor = KMeans(k, n_init=1, random_state=seed)
    seconds = fit(floor, X)
    record = {**head, "seed": seed, "cpu": seconds, "n_iter": int(floor.n_iter_)}
    yield {**record, "method": "KMeans", "inertia": float(floor.inertia_), "labels": floor.labels_}
    for name in methods:
        for links, balance in BALANCE.items():
            hints = sample_links(y, N_LINKS, balance=balance, random_state=seed)
            model = METHODS[name](k, n_init=1, random_state=seed, n_jobs=1)
            seconds = fit(model, X, supervision=hints)
            record = {**head, "seed": seed, "cpu": seconds, "n_iter": int(model.n_iter_)}
            yield {**record, "method": name, "links": links, "labels": model.labels_, "model": model}


def warm_up(X, y, k, methods):
    """Import and compile what fits of these rows use."""
    hints = sample_links(y, N_LINKS, balance=0.5, random_state=0)
    KMeans(k, n_init=1, max_iter=2, random_state=0).fit(X)
    for name in methods:
        METHODS[name](k, n_init=1, max_iter=2, random_state=0, n_jobs=1).fit(X, supervision=hints)


def save(args, part, records, **more):
    command = f"python benchmarks/embeddings.py --only {part} --seeds {args.seeds}"
    save_part("embeddings", part, records, command, **more)


# ---------------------------------------------------------------------- fits


def find_peers(python):
    """Return the versions of the peers in an environment; say which ones are missing."""
    found = {}
    for module in sorted({module for module, _ in PEERS.values()}):
        command = [python, HERE / "_peer_embeddings.py", module]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            console.print(f"{module} is left out: it is not installed in the environment of {python}")
        else:
            found[module] = done.stdout.strip()
    return found


def run_peer(python, path, X, seed, module, n_iter):
    target = path.with_name("centers.npy")
    command = [python, "-W", "ignore", HERE / "_peer_embeddings.py", module, path, K, seed, n_iter, target]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, check=True)
    nearest = pairwise_distances_argmin_min(X, np.load(target), metric="sqeuclidean")[1]
    return {**json.loads(done.stdout.splitlines()[-1]), "inertia": float(nearest.sum(dtype=np.float64))}


def run_fits(args):
    sources = {"groups": lambda: draw_groups(args.rows)}
    if args.embeddings.is_dir():
        sources["embeddings"] = lambda: mix_embeddings(args.embeddings, args.rows)
    else:
        console.print(f"embeddings are left out: there is no folder {args.embeddings}")
    peers, records = find_peers(args.peer_python), []
    with tempfile.TemporaryDirectory() as folder:
        for source, draw in sources.items():
            single, y = draw()
            path = Path(folder) / "rows.npy"
            np.save(path, single)
            for dtype in ("float32", "float64"):
                X, head = single.astype(dtype, copy=False), {"data": source, "dtype": dtype}
                warm_up(X, y, K, METHODS)
                for seed in range(args.seeds):
                    for record in measure_methods(X, y, K, seed, METHODS, head):
                        labels, model = record.pop("labels"), record.pop("model", None)
                        if model is not None:
                            record["inertia"] = compute_inertia(X, model.cluster_centers_, labels)
                        records.append(record)
                        print(json.dumps(record), flush=True)
                    for name, (module, n_iter) in PEERS.items():
                        if module in peers and dtype == "float32":
                            found = run_peer(args.peer_python, path, X, seed, module, n_iter)
                            records.append({**head, "seed": seed, "method": name, **found})
                            print(json.dumps(records[-1]), flush=True)
    save(args, "fits", records, peers=peers, shape=[args.rows, D, K])


# ---------------------------------------------------------------------- quality


def run_nmi(args):
    if not args.embeddings.is_dir():
        console.print(f"nmi is left out: there is no folder {args.embeddings}")
        return
    records = []
    for name in ("banking77", "clinc150"):
        X, y = read_embeddings(args.embeddings, name)
        warm_up(X, y, y.max() + 1, METHODS)
        for seed in range(args.seeds):
            for record in measure_methods(X, y, y.max() + 1, seed, METHODS, {"data": name}):
                record["nmi"] = float(normalized_mutual_info_score(y, record.pop("labels")))
                record.pop("model", None)
                records.append(record)
                print(json.dumps(record), flush=True)
    save(args, "nmi", records)


# ---------------------------------------------------------------------- sparse rows


def run_sparse(args):
    path = args.data / "banking77.csv.gz"
    if not path.exists():
        console.print(f"sparse is left out: there is no file {path}")
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    y = np.unique([row["label"] for row in rows], return_inverse=True)[1]
    k, records = y.max() + 1, []
    for n_columns, longest in ((2_500, 1), (20_000, 2)):
        words = TfidfVectorizer(max_features=n_columns, ngram_range=(1, longest), dtype=np.float64)
        full = words.fit_transform([row["text"] for row in rows])
        for dtype in ("float32", "float64"):
            X, head = full.astype(dtype), {"columns": n_columns, "dtype": dtype}
            warm_up(X, y, k, ["PCKMeans"])
            for seed in range(args.seeds):
                for record in measure_methods(X, y, k, seed, ["PCKMeans"], head):
                    labels, model = record.pop("labels"), record.pop("model", None)
                    if model is not None and seed == 0 and longest == 1:
                        hints = sample_links(y, N_LINKS, balance=BALANCE[record["links"]], random_state=seed)
                        model.fit(X.toarray(), supervision=hints)
                        record["equal_to_dense"] = float((model.labels_ == labels).mean())
                        record["dense_ari"] = float(adjusted_rand_score(labels, model.labels_))
                    records.append(record)
                    print(json.dumps(record), flush=True)
    save(args, "sparse", records, n_rows=len(rows))


# ---------------------------------------------------------------------- many links, many rows


def run_cannot(args):
    n, n_links = 60_000, 10**6
    X, y = draw_groups(n)
    warm_up(X[:10_000], y[:10_000], K, METHODS)
    pairs = sample_links(y, n_links, balance=0.0, random_state=0).cannot
    records = []
    for name, method in METHODS.items():
        start = time.process_time()
        hints = Supervision.from_links(n, cannot=pairs)
        reading = time.process_time() - start
        model = method(K, n_init=1, random_state=0, n_jobs=1)
        seconds = fit(model, X, supervision=hints)
        violated = int((model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]).sum())
        records.append(
            {"method": name, "links": n_links, "hints": reading, "cpu": seconds, "violated": violated,
             "n_iter": int(model.n_iter_), "nmi": float(normalized_mutual_info_score(y, model.labels_))}
        )  # fmt: skip
        print(json.dumps(records[-1]), flush=True)
        save(args, "cannot", records, shape=[n, D, K])


def run_large(args):
    n, k, n_links, records = args.large_rows, 1000, args.large_rows // 10, []
    sources = {"groups": lambda: draw_groups(n, k)}
    if args.embeddings.is_dir():
        sources["embeddings"] = lambda: mix_embeddings(args.embeddings, n)
    for source, draw in sources.items():
        X, y = draw()
        hints = sample_links(y, n_links, balance=0.5, random_state=0)
        warm_up(X[:20_000], y[:20_000], K, ["PCKMeans"])
        model = PCKMeans(k, n_init=1, random_state=0, n_jobs=2)
        with threadpool_limits(2):
            clock = time.perf_counter()
            seconds = fit(model, X, supervision=hints)
            clock = time.perf_counter() - clock
        records.append(
            {"data": source, "cpu": seconds, "wall": clock, "n_iter": int(model.n_iter_),
             "MiB_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
             "nmi": float(normalized_mutual_info_score(y, model.labels_))}
        )  # fmt: skip
        print(json.dumps(records[-1]), flush=True)
        save(args, "large", records, shape=[n, D, k])


RUN = {"fits": run_fits, "nmi": run_nmi, "sparse": run_sparse, "cannot": run_cannot, "large": run_large}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = Path(os.environ.get("LIKEWISE_DATA", "data"))
    parser.add_argument("--only", nargs="+", choices=list(RUN), default=PARTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=30_000, help="rows of the part fits")
    parser.add_argument("--large-rows", type=int, default=10**6, help="rows of the part large")
    parser.add_argument("--data", type=Path, default=data, help="folder with banking77.csv.gz")
    parser.add_argument("--embeddings", type=Path, default=data.parent / "embeddings")
    parser.add_argument("--peer-python", default=sys.executable, help="Python with faiss-cpu and superkmeans")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for part in args.only:
            RUN[part](args)


if __name__ == "__main__":
    main()
