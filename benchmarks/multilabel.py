"""Measure the speed of learning with label hierarchies: the best tree, exact inference, full fits and growth.

`python benchmarks/multilabel.py` (`--only tree`, `inference`, `fits` or `growth` for a part, `--quick`
without networkx at 300 labels and with fewer repeats). CPU seconds on one thread, the best of a few runs. The
tree is compared with networkx, in the same run with the same weights, stopped after 120 seconds of wall time;
inference with one `expit` of all logits; fits with BinaryRelevance, one logistic regression per label.
"""

import argparse
import json
import multiprocessing
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import likewise
from likewise.datasets import make_label_tree
from likewise.evaluation import robinson_foulds
from likewise.hierarchy import LabelHierarchy
from likewise.kernels.arborescence import edge_margins, maximum_arborescence
from likewise.kernels.label_tree import pair_sums, posterior
from likewise.multilabel import BinaryRelevance, LatentHierarchyClassifier

HERE = Path(__file__).parent
PEER_SECONDS = 120
console = Console()


def seconds_of(call, repeats=1):
    """Return the lowest CPU seconds of a few calls."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


# The best tree


def draw_weights(n_labels):
    """Return weights that favour edges between near labels over edges from the root, so that cycles nest."""
    rng = np.random.default_rng(0)
    place = rng.normal(size=(n_labels + 1, 3))
    weights = -np.linalg.norm(place[:, None] - place, axis=2) + 0.1 * rng.normal(size=(n_labels + 1,) * 2)
    weights[0] -= 100
    return weights


def of_networkx(weights):
    """Return the seconds and the total weight of networkx, without the time to build its graph."""
    import networkx as nx

    nodes = range(len(weights))
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((p, c, weights[p, c]) for p in nodes for c in nodes if c not in (0, p))
    found = []
    seconds = seconds_of(lambda: found.append(nx.maximum_spanning_arborescence(graph)))
    return seconds, sum(weights[p, c] for p, c in found[0].edges)


def of_peer(weights):
    """Run `of_networkx` in a process that can be stopped; return its result, or two None if stopped."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(of_networkx, (weights,)).get(PEER_SECONDS)
        except multiprocessing.TimeoutError:
            return None, None


def trees(quick):
    rows = []
    for n_labels in (100, 300, 1000):
        weights = draw_weights(n_labels)
        parents = maximum_arborescence(weights)
        edge_margins(weights[:5, :5].copy(), maximum_arborescence(weights[:5, :5].copy()))  # compile
        row = {
            "labels": n_labels,
            "s": seconds_of(lambda w=weights: maximum_arborescence(w), 5),
            "margins_s": seconds_of(lambda w=weights, p=parents: edge_margins(w, p)),
        }
        if n_labels <= (100 if quick else 300):
            row["networkx_s"], theirs = of_peer(weights)
            if theirs is not None:
                ours = weights[parents[1:], np.arange(1, n_labels + 1)].sum()
                row["difference"] = float(abs(theirs - ours))
        rows.append(row)
    table = Table("labels", "best tree, ms", "networkx, s", "times faster", "difference", "margins, s")
    for row in rows:
        cells = [""] * 3
        if "difference" in row:
            peer = row["networkx_s"]
            cells = [f"{peer:.1f}", f"{peer / row['s']:,.0f}", f"{row['difference']:.1e}"]
        elif "networkx_s" in row:
            cells = ["stopped", "", ""]  # after wall time, so there is no ratio of CPU seconds
        table.add_row(str(row["labels"]), f"{1e3 * row['s']:.2f}", *cells, f"{row['margins_s']:.3f}")
    console.print(table)
    return rows


# Inference


def draw_rows(n, n_labels):
    """Return a random tree, probabilities and recorded labels, in the form that kernels expect."""
    rng = np.random.default_rng(0)
    parents = np.array([rng.integers(-1, c) if c else -1 for c in range(n_labels)])
    z = (rng.uniform(size=(n, n_labels)) < 0.2).astype(np.uint8)
    chances = np.full(n_labels, 0.01), z, np.full(n_labels, 0.8)
    return parents, np.arange(n_labels), rng.normal(size=(n, n_labels)), *chances


def measure(n, n_labels, repeats):
    problem = draw_rows(n, n_labels)
    one, both = np.empty((n, n_labels)), np.empty((n, n_labels))
    sums = np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
    return {
        "rows": n,
        "labels": n_labels,
        "expit_s": seconds_of(lambda: expit(problem[2], out=one), repeats),
        "posterior_s": seconds_of(lambda: posterior(*problem, one, both), repeats),
        "pairs_s": seconds_of(lambda: pair_sums(*problem, problem[2], *sums), repeats),
    }


def inference(quick):
    measure(10, 3, 1)  # compile
    repeats = 2 if quick else 5
    rows = [measure(10_000, n_labels, repeats) for n_labels in (25, 27, 50, 100, 200)]
    rows += [measure(n, 100, repeats) for n in (2_500, 5_000)]
    rows.sort(key=lambda row: (row["labels"], row["rows"]))
    table = Table("rows", "labels", "expit, ms", "posterior, ms", "all pairs, ms", "ns per row and pair")
    for row in rows:
        table.add_row(
            f"{row['rows']:,}",
            str(row["labels"]),
            *(f"{1e3 * row[name]:.1f}" for name in ("expit_s", "posterior_s", "pairs_s")),
            f"{1e9 * row['pairs_s'] / row['rows'] / row['labels'] ** 2:.1f}",
        )
    console.print(table)
    return rows


# Full fits


def fit_model(n, n_features, n_labels, **how):
    """Return the data, the fitted model and its CPU seconds."""
    data = make_label_tree(n, n_labels, n_features=n_features, max_depth=4, missing_rate=0.3, random_state=0)
    model = LatentHierarchyClassifier(**how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fits are limited to a few iterations
        seconds = seconds_of(lambda: model.fit(data.X, data.Z))
    return data, model, seconds


def fits(quick):
    fit_model(50, 3, 4)  # compile
    rows = []
    for n, n_features, n_labels in ((10_000, 100, 27), (5_000, 800, 96)):
        data, model, seconds = fit_model(n, n_features, n_labels)
        floor = seconds_of(lambda X=data.X, Z=data.Z: BinaryRelevance().fit(X, Z))
        truth = LabelHierarchy.from_parents(data.parents)
        rows.append(
            {
                "rows": n, "features": n_features, "labels": n_labels, "s": seconds,
                "iterations": model.n_iter_, "binary_relevance_s": floor,
                "rf": robinson_foulds(truth, model.hierarchy_),
                "missing_rate": model.missing_rate_,
            }
        )  # fmt: skip
    table = Table(
        "rows", "features", "labels", "fit, s", "iterations", "binary relevance, s", "RF", "rate (0.3)"
    )
    for row in rows:
        cells = (f"{row['s']:.1f}", row["iterations"], f"{row['binary_relevance_s']:.1f}", row["rf"])
        table.add_row(
            f"{row['rows']:,}", str(row["features"]), str(row["labels"]), *map(str, cells),
            f"{row['missing_rate']:.3f}",
        )  # fmt: skip
    console.print(table)
    return rows


def growth(quick):
    """Measure the CPU seconds of an EM iteration, with the tree kept and with the tree step of the thesis."""
    fit_model(50, 3, 4, structure_step="literal")  # compile
    rows = []
    for n, n_labels in ((10_000, 25), (10_000, 50), (10_000, 100), (10_000, 200), (5_000, 100), (2_500, 100)):
        row = {"rows": n, "labels": n_labels}
        for name, step in (("kept_s", None), ("literal_s", "literal")):
            few, many = (
                fit_model(n, 50, n_labels, structure_step=step, max_iter=m, tol=0.0)[2] for m in (1, 4)
            )
            row[name] = (many - few) / 3
        rows.append(row)
    table = Table("rows", "labels", "iteration, s", "with a tree step, s")
    for row in rows:
        table.add_row(
            f"{row['rows']:,}", str(row["labels"]), f"{row['kept_s']:.2f}", f"{row['literal_s']:.2f}"
        )
    console.print(table)
    return rows


# Each part takes `quick`, prints its table and returns rows for JSON.
PARTS = {"tree": trees, "inference": inference, "fits": fits, "growth": growth}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="no networkx at 300 labels, fewer repeats")
    parser.add_argument("--only", choices=PARTS, help="measure one part, and keep earlier results")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "multilabel.json")
    args = parser.parse_args()
    results = json.loads(args.out.read_text()) if args.only and args.out.exists() else {}
    results |= {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": likewise.__version__,
    }
    with threadpool_limits(1):
        for name in [args.only] if args.only else PARTS:
            results[name] = PARTS[name](args.quick)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
