"""Compare our metric learners with metric-learn 0.7.0 in one run: CPU seconds, and agreement of the metrics.

Run `python benchmarks/metric.py`, or with `--quick` for iris only. metric-learn does not work with current
versions of scikit-learn, so it has a separate environment under benchmarks/.venv-metric-learn, which the
first run creates. Each of its fits is stopped after 120 seconds.

Both solve the same problem: ITML with the same pairs in the same order, bounds, gamma, tolerance and limit of
1,000 visits; LSML with the same comparisons and weights; MMC and RCA without our regularization if the
scatter within must-links is invertible (iris), with its default otherwise (digits). No metric is shrunk.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
import venv
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import likewise
from likewise.metric import ITML, LSML, MMC, RCA
from likewise.supervision import sample_links, sample_triplets

HERE = Path(__file__).parent
PEER = HERE / ".venv-metric-learn"
PEER_SECONDS = 120
console = Console(stderr=True)


def peer_python():
    python = PEER / "bin" / "python"
    if not python.exists():
        console.print("creating the peer's environment …")
        venv.create(PEER, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "metric-learn==0.7.0", "scikit-learn<1.8"], check=True
        )
    return python


def run_peer(method, **arrays):
    """Fit the peer; return its result, or the reason for a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, **arrays)
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [peer_python(), "-W", "ignore", HERE / "_peer_metric.py", path, method]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PEER_SECONDS, env=env)
        except subprocess.TimeoutExpired:
            return {"note": f"stopped after {PEER_SECONDS} s"}
        if done.returncode:
            return {"note": done.stderr.strip().splitlines()[-1]}
        return json.loads(done.stdout)


def our_seconds(model, X, hints):
    model.fit(X, supervision=hints)  # compile, warm up
    seconds = []
    for _ in range(3):
        started = time.process_time()
        model.fit(X, supervision=hints)
        seconds.append(time.process_time() - started)
    return min(seconds)


def comparisons(hints):
    """Return quadruplets (i, j, i, k) with d(i, j) < d(i, k)."""
    order = np.array([(0, 1, 2), (0, 2, 1), (1, 2, 0)])[hints.answers]
    a, b, c = np.take_along_axis(hints.triplets, order, axis=1).T
    return np.concatenate([np.column_stack([a, b, a, c]), np.column_stack([b, a, b, c])])


def lsml_objective(X, quadruplets, M):
    near, far = (
        np.sqrt(np.einsum("ij,jk,ik->i", v, M, v))
        for v in (X[quadruplets[:, 0]] - X[quadruplets[:, 1]], X[quadruplets[:, 2]] - X[quadruplets[:, 3]])
    )
    return float(np.mean(np.maximum(near - far, 0) ** 2) + np.trace(M) - np.linalg.slogdet(M)[1])


def mmc_objective(X, hints, M):
    """Return the mean distance of cannot-linked rows, with a mean square of 1 for must-linked rows."""
    near, far = (X[pairs[:, 0]] - X[pairs[:, 1]] for pairs in (hints.must, hints.cannot))
    scale = np.einsum("ij,jk,ik->i", near, M, near).mean()
    return float(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", far, M, far), 0) / scale).mean())


def difference(A, B):
    """Return the difference of two metrics, each scaled to trace 1."""
    A, B = A / np.trace(A), B / np.trace(B)
    return float(np.linalg.norm(A - B) / np.linalg.norm(B))


def cases(X, y, n_pairs, invertible):
    """Yield each method with its hints, the peer's arguments, and the objective function if it has one."""
    links = sample_links(y, n_pairs, random_state=0)
    triplets = sample_triplets(y, n_pairs // 2, neither=False, random_state=0)
    itml = ITML(shrinkage=0, max_iter=1000)
    itml.fit(X, supervision=links[:])
    bounds = np.array(itml.bounds_)
    pairs = {"must": links.must, "cannot": links.cannot}
    yield "ITML", itml, links, {**pairs, "bounds": bounds}, None
    quadruplets = comparisons(triplets)
    # The peer's weights sum to 1 and its residuals are in the units of X.
    lsml = LSML(shrinkage=0, gamma=X.var(axis=0).mean() / len(quadruplets))
    yield (
        "LSML",
        lsml,
        triplets,
        {"quadruplets": quadruplets},
        lambda M: lsml_objective(X, quadruplets, M),
    )
    own = {"regularization": 0.0} if invertible else {}
    for diagonal in (False, True):
        name = "MMC diagonal" if diagonal else "MMC"
        mmc = MMC(diagonal=diagonal, shrinkage=0, **own)
        yield name, mmc, links, pairs, lambda M: mmc_objective(X, links, M)
    closure = links.closure()
    chunks = np.full(len(X), -1)
    for number, rows in enumerate(closure.components()):
        chunks[rows] = number
    yield "RCA", RCA(cannot="drop", shrinkage=0, **own), links, {"chunks": chunks}, None


def ari(X, y, M):
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    mapped = X @ (vectors * np.sqrt(np.maximum(values, 0)))
    labels = KMeans(len(np.unique(y)), n_init=5, random_state=0).fit_predict(mapped)
    return float(adjusted_rand_score(y, labels))


def compare(name, X, y, n_pairs, invertible):
    for method, model, hints, arguments, objective in cases(X, y, n_pairs, invertible):
        console.print(f"{name}, {n_pairs} pairs, {method} …")
        seconds = our_seconds(model, X, hints)
        M = model.metric_
        row = {
            "data": name,
            "pairs": n_pairs,
            "method": method,
            "cpu": seconds,
            "n_iter": int(getattr(model, "n_iter_", 1)),
            "ari": ari(X, y, M),
        }
        if objective is not None:
            row["objective"] = objective(M)
        answer = run_peer(method, X=X, **arguments)
        row["note"] = answer.get("note", "")
        row["peer_cpu"] = answer.get("cpu")
        row["times_faster"] = answer.get("cpu", PEER_SECONDS) / seconds
        if "metric" in answer:
            theirs = np.array(answer["metric"])
            row["peer_n_iter"] = answer["n_iter"]
            if not np.isfinite(theirs).all():
                row["note"] = "the peer's metric has NaN"
            else:
                row["difference"] = difference(M, theirs)
                row["peer_ari"] = ari(X, y, theirs)
                if objective is not None:
                    row["peer_objective"] = objective(theirs)
        yield row


def show(rows):
    columns = ("data", "pairs", "method", "cpu", "peer_cpu", "times_faster", "difference", "objective",
               "peer_objective", "ari", "peer_ari", "note")  # fmt: skip
    table = Table(title="Ours and metric-learn 0.7.0, one thread", title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in ("data", "method", "note") else "right")
    for row in rows:
        cells = (row.get(column) for column in columns)
        table.add_row(*("" if v is None else f"{v:.3g}" if isinstance(v, float) else str(v) for v in cells))
    Console(width=170).print(table)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only iris")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "metric.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        X, y = load_iris(return_X_y=True)
        for n_pairs in (100, 500, 1000):
            rows += compare("iris", X, y, n_pairs, invertible=True)
        if not args.quick:
            X, y = load_digits(return_X_y=True)
            rows += compare("digits", X, y, 1000, invertible=False)
    show(rows)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    head = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": likewise.__version__,
    }
    args.out.write_text(json.dumps({**head, "rows": rows}, indent=1))
    console.print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
