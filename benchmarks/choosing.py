"""Measure how often held-out hints find the number of clusters: ``python benchmarks/choosing.py``.

For each data set, number of links, share of wrong answers, seed and method, every number of clusters is
scored by 5-fold cross-validation over the links. Prints how often the best score is at the true number, and
how much lower the adjusted Rand index is at the chosen number than at its maximum ("lost").

``--part methods`` measures the joint choice of method and number of clusters on shared data sets: the
adjusted Rand index of the choice with and without mixtures, by the highest score and by the default rule, by
accuracy and by agreement, among the true number of clusters and its neighbours.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from likewise import (
    DiscriminativeClustering,
    MPCKMeans,
    PairwiseGaussianMixture,
    PCKMeans,
    PosteriorConstrainedGaussianMixture,
)
from likewise.datasets import load
from likewise.evaluation import HintSearchCV, cross_validate_hints
from likewise.supervision import sample_links

SCORINGS = ("agreement", "accuracy", "balanced_accuracy", "log_score")


def data_sets():
    iris, wine, digits = (load(return_X_y=True) for load in (load_iris, load_wine, load_digits))
    some = np.random.RandomState(0).permutation(len(digits[0]))[:500]
    return {
        "iris": (*iris, range(2, 9)),
        "wine": (StandardScaler().fit_transform(wine[0]), wine[1], range(2, 9)),
        "4 blobs": (*make_blobs(300, 2, centers=4, cluster_std=2.5, random_state=8), range(2, 10)),
        "5 blobs": (*make_blobs(300, 4, centers=5, cluster_std=2.0, random_state=3), range(2, 10)),
        "digits": (digits[0][some], digits[1][some], range(6, 15)),
    }


def predict_by_labels(cls):
    """Return a subclass that predicts its ``labels_``, so hints affect the score of each row."""

    class Labels(cls):
        @property
        def predict(self):
            raise AttributeError("predict")

    return Labels


def case(X, y, numbers, hints, cls, seed):
    """Return the scores and the adjusted Rand index of each number of clusters."""
    scores, index = defaultdict(list), []
    for k in numbers:
        for word, how in (("predict", cls), ("labels_", predict_by_labels(cls))):
            kept = []
            cross_validate_hints(
                how(k, n_init=3, random_state=0), X, hints, random_state=seed,
                scoring=lambda held, kept=kept: kept.append(held) or 0.0,
            )  # fmt: skip
            for name in SCORINGS:
                scores[name, word].append(kept[0].score(name))  # the first entry pools all folds
        labels = cls(k, n_init=3, random_state=0).fit(X, supervision=hints).labels_
        scores["silhouette", "no hold-out"].append(silhouette_score(X, labels))
        index.append(adjusted_rand_score(y, labels))
    return scores, np.array(index)


FEW_METHODS = ("pck", "mpck", "discriminative")
METHODS = {
    "pck": PCKMeans,
    "mpck": MPCKMeans,
    "discriminative": DiscriminativeClustering,
    "gm-pr": PairwiseGaussianMixture,
    "em-pc": PosteriorConstrainedGaussianMixture,
}


def choice_among_methods(name, n_links, seed):
    """Return the adjusted Rand index and the chosen methods of each selection rule, for one draw of links."""
    data = load(name)
    X, y = StandardScaler().fit_transform(data.X), data.y
    k = len(np.unique(y))
    hints = sample_links(y, n_links, random_state=seed)
    numbers = [number for number in (k - 1, k, k + 1) if number > 1]
    methods = [
        (method, cls(n_init=3, random_state=0), {"n_clusters": numbers}) for method, cls in METHODS.items()
    ]
    found, index = {}, {}
    for scoring in ("accuracy", "agreement"):
        search = HintSearchCV(methods, cv=3, scoring=scoring, random_state=seed, refit=False)
        results = search.fit(X, supervision=hints).cv_results_
        few = np.where(np.isin(results["method"], FEW_METHODS), results["mean_test_score"], -np.inf)
        ways = {"few, best": np.argmax(few), "all, best": np.nanargmax(results["mean_test_score"])}
        for way, place in {**ways, "all, simplest": search.best_index_}.items():
            best = results["method"][place], results["n_clusters"][place]
            if best not in index:
                model = METHODS[best[0]](best[1], n_init=3, random_state=0)
                index[best] = adjusted_rand_score(y, model.fit(X, supervision=hints).labels_)
            found[f"{way}, {scoring}"] = index[best]
    share = len(hints.must) / n_links
    return found | {"together": share, "chosen": [f"{method} {number}" for method, number in index]}


def compare_methods(args):
    """Print the adjusted Rand index of each selection rule."""
    rows = []
    for name in args.data:
        for n_links in args.links:
            for seed in range(args.seeds):
                rows.append({"data": name, "links": n_links} | choice_among_methods(name, n_links, seed))
        print_ways(name, [row for row in rows if row["data"] == name])
    print_ways("all", rows)
    return rows


def print_ways(name, rows):
    ways = [key for key in rows[0] if "," in key]
    print(f"{name:<12}", *(f"{way}: {np.mean([r[way] for r in rows]):.3f}  " for way in ways), end="")
    print(f"together: {np.mean([r['together'] for r in rows]):.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("numbers", "methods"), default="numbers")
    parser.add_argument("--data", nargs="+", default=["wine", "ecoli", "ionosphere", "vowel", "wdbc"])
    parser.add_argument("--links", nargs="+", type=int, default=[100, 300])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.part == "methods":
        rows = compare_methods(args)
        if args.out:
            with open(args.out, "w") as file:
                json.dump(rows, file)
        return
    rows = []
    for data, (X, y, numbers) in data_sets().items():
        for n_links in (50, 100, 300):
            for noise in (0.0, 0.1):
                for seed in range(args.seeds):
                    hints = sample_links(y, n_links, noise=noise, random_state=seed)
                    for cls in (PCKMeans, MPCKMeans):
                        scores, index = case(X, y, numbers, hints, cls, seed)
                        scores["any number", "mean"] = None
                        for (score, word), values in scores.items():
                            lost = index.max() - (
                                index.mean() if values is None else index[np.argmax(values)]
                            )
                            k = None if values is None else numbers[int(np.argmax(values))]
                            rows.append((data, n_links, noise, score, word, k == len(set(y)), float(lost)))
        print(data, "done", file=sys.stderr, flush=True)
    if args.out:
        with open(args.out, "w") as file:
            json.dump(rows, file)
    tell(rows)


def tell(rows):
    def line(name, use):
        n = len(use)
        print(
            f"  {name:<32} right {sum(r[5] for r in use) / n:5.0%}  "
            f"lost {sum(r[6] for r in use) / n:.3f}  ({n})"
        )

    parts = {"all": lambda r: True}
    parts |= {f"{n} links": lambda r, n=n: r[1] == n for n in (50, 100, 300)}
    parts |= {f"noise {e}": lambda r, e=e: r[2] == e for e in (0.0, 0.1)}
    parts |= {data: lambda r, d=data: r[0] == d for data in dict.fromkeys(r[0] for r in rows)}
    for title, holds in parts.items():
        print(title)
        for score, word in dict.fromkeys((r[3], r[4]) for r in rows):
            line(f"{score}, {word}", [r for r in rows if holds(r) and (r[3], r[4]) == (score, word)])


if __name__ == "__main__":
    main()
