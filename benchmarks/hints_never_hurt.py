"""Measure whether true links ever hurt: each method with links against its own fit without them.

Run ``python benchmarks/hints_never_hurt.py``.

For every data set, number of links and seed, links are drawn among a random half of the rows from the true
classes. A method is fitted with them and without them, with the same seed, standardised columns and the true
number of clusters. Both fits are scored by the adjusted Rand index on the rows without links. A loss of more
than .02 in the mean over seeds is marked.

The data sets are read from the folder in LIKEWISE_DATA; missing ones are reported and left out. Larger sets
are subsampled to 1,000 rows (`--rows`). `--data`, `--methods` and `--links` measure a part, `--json FILE`
writes every number.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import likewise
from likewise import (
    DiscriminativeClustering,
    EquivalenceGaussianMixture,
    MPCKMeans,
    PairwiseGaussianMixture,
    PCKMeans,
    PosteriorConstrainedGaussianMixture,
    PropagationClustering,
    Supervision,
)
from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError, LikewiseError
from likewise.metric import ITML, MMC, RCA
from likewise.supervision import sample_links

ALLOWED_LOSS = 0.02
LINKS = (20, 100, 500)
DATA = (
    "iris", "wine", "ecoli", "sonar", "ionosphere", "pima", "protein", "vowel", "letters_ijlt", "digits389",
    "wdbc", "wisconsin", "balance_scale", "transfusion", "fertility", "segment",
)  # fmt: skip
STARTS = 3
Fit = Callable[[np.ndarray, Supervision, int, int], np.ndarray]


def clusterer(cls: Any, **parameters: Any) -> Fit:
    """Return a function that fits a clusterer and returns its labels."""

    def fit(X: np.ndarray, hints: Supervision, k: int, seed: int) -> np.ndarray:
        model = cls(k, n_init=STARTS, random_state=seed, **parameters)
        return np.asarray(model.fit(X, supervision=hints).labels_)

    return fit


def with_k_means(make: Callable[[], Any]) -> Fit:
    """Return a function that learns a metric and returns the labels of k-means with it."""

    def fit(X: np.ndarray, hints: Supervision, k: int, seed: int) -> np.ndarray:
        mapped = make().fit(X, supervision=hints).transform(X)
        return np.asarray(KMeans(k, n_init=10, random_state=seed).fit(mapped).labels_)

    return fit


METHODS: dict[str, Fit] = {
    "PCK": clusterer(PCKMeans),
    "MPCK": clusterer(MPCKMeans),
    "MPCK diagonal": clusterer(MPCKMeans, metric="diagonal"),
    "GM-PR": clusterer(PairwiseGaussianMixture),
    "GMM-EC": clusterer(EquivalenceGaussianMixture),
    "EM-PC": clusterer(PosteriorConstrainedGaussianMixture),
    "discriminative": clusterer(DiscriminativeClustering),
    "propagation": clusterer(PropagationClustering),
    "RCA + k-means": with_k_means(lambda: RCA(cannot="drop")),
    "ITML + k-means": with_k_means(ITML),
    "MMC + k-means": with_k_means(MMC),
}


def measure(
    name: str, methods: list[str], numbers: list[int], n_seeds: int, max_rows: int
) -> list[dict[str, Any]]:
    """Return one record for each method and number of links on a data set."""
    data = load(name)
    rows = np.sort(np.random.RandomState(0).permutation(len(data.y))[:max_rows])
    X, y = StandardScaler().fit_transform(data.X[rows]), data.y[rows]
    k = len(np.unique(y))
    records = []
    for method in methods:
        fit = METHODS[method]
        plain = [fit(X, Supervision.empty(len(y)), k, seed) for seed in range(n_seeds)]
        for n_links in numbers:
            record: dict[str, Any] = {"data": name, "method": method, "links": n_links}
            record |= {"without": [], "with": []}
            begin = time.process_time()
            for seed in range(n_seeds):
                half = np.random.RandomState(seed).permutation(len(y))[: len(y) // 2]
                hints = sample_links(y, n_links, rows=half, random_state=seed)
                free = ~hints.touched
                try:
                    labels = fit(X, hints, k, seed)
                except LikewiseError as error:  # such as MMC without must-links
                    record.setdefault("refused", []).append(f"seed {seed}: {error}")
                    continue
                record["without"].append(round(adjusted_rand_score(y[free], plain[seed][free]), 4))
                record["with"].append(round(adjusted_rand_score(y[free], labels[free]), 4))
            record["seconds"] = round(time.process_time() - begin, 2)
            gains = np.subtract(record["with"], record["without"])
            record["gain"] = round(float(gains.mean()), 4) if len(gains) else None
            record["half_width"] = (
                round(1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5, 4) if len(gains) > 1 else None
            )
            records.append(record)
    return records


def show(records: list[dict[str, Any]], numbers: list[int], console: Console) -> None:
    """Print the mean gain of every method on every data set, and the losses of more than .02."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    found = {(r["data"], r["method"], r["links"]): r for r in records}
    table = Table(title=f"Gain in ARI by {', '.join(map(str, numbers))} true links, on rows without hints")
    table.add_column("data")
    for method in methods:
        table.add_column(method, justify="right")
    for data in dict.fromkeys(r["data"] for r in records):
        cells = []
        for method in methods:
            gains = [found[data, method, n]["gain"] if (data, method, n) in found else None for n in numbers]
            cells.append(" ".join(_format_gain(gain) for gain in gains))
        table.add_row(data, *cells)
    console.print(table)
    lost = [r for r in records if r["gain"] is not None and r["gain"] < -ALLOWED_LOSS]
    console.print(f"{len(lost)} of {len(records)} means lose more than {ALLOWED_LOSS}:", highlight=False)
    for r in sorted(lost, key=lambda r: r["gain"]):
        console.print(
            f"  {r['method']:<16} {r['data']:<14} {r['links']:>4} links: {np.mean(r['without']):.3f} "
            f"without, {np.mean(r['with']):.3f} with (change {r['gain']:+.3f} ± {r['half_width'] or 0:.3f})",
            highlight=False,
        )
    for r in records:
        if "refused" in r:
            console.print(
                f"  refused {len(r['refused'])} time(s): {r['method']}, {r['data']}, {r['links']} links",
                highlight=False,
            )


def _format_gain(gain: float | None) -> str:
    if gain is None:
        return "–"
    text = f"{gain:+.2f}".replace("0.", ".")
    return f"[red]{text}[/]" if gain < -ALLOWED_LOSS else text


def main() -> None:
    """Run the measurements that the command line selects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=list(DATA), metavar="NAME")
    parser.add_argument(
        "--methods", nargs="+", default=list(METHODS), choices=list(METHODS), metavar="METHOD"
    )
    parser.add_argument("--links", nargs="+", type=int, default=list(LINKS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000, help="rows drawn from a larger data set")
    parser.add_argument("--json", metavar="FILE", help="file for all numbers")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    console, progress = Console(width=200), Console(stderr=True)
    records: list[dict[str, Any]] = []
    for name in args.data:
        try:
            records += measure(name, args.methods, args.links, args.seeds, args.rows)
        except DatasetNotFoundError as error:
            progress.print(f"left out {name}: {error}", highlight=False)
            continue
        progress.print(name, "done", highlight=False)
        if args.json:  # after every data set, so that an interrupted run keeps its results
            with open(args.json, "w", encoding="utf-8") as file:
                json.dump({"version": likewise.__version__, "seeds": args.seeds, "records": records}, file)
    show(records, args.links, console)


if __name__ == "__main__":
    main()
