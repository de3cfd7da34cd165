"""Measure how much of the gain remains if answers are wrong: our default, other strategies, the Shannon line.

Run ``python benchmarks/active_errors.py``; ``--sets wine`` for one set, ``--kinds look-alike`` for other
errors, ``--methods default certain`` for some of the methods, ``--plot errors.png`` for a plot.

*Gain* is the adjusted Rand index at the end minus that before the first answer. *Kept* is the gain with wrong
answers divided by the gain of true answers taken as certain (``errors=0``), summed over sets and seeds. An
answer that is wrong with probability p carries 1 - H(p) bits, where H is the binary entropy. An interview
with n such answers can therefore not be expected to beat n (1 - H(p)) true answers: the Shannon line.

The method was developed on the sets in DEVELOPED. Those in LOOKED_AT helped to choose a few settings, such as
the number of passes over the links. No setting was chosen on those in REPORTED.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.preprocessing import StandardScaler

from likewise import MPCKMeans
from likewise.active import (
    Interview,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    RandomPairs,
    simulate,
)
from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError
from likewise.oracles import make_oracle

HERE = Path(__file__).parent
DEVELOPED = ("wine", "ionosphere", "sonar", "balance_scale", "ecoli", "segment", "letters_ijlt")
LOOKED_AT = ("wdbc", "iris", "wisconsin", "digits389", "cho")
REPORTED = ("protein", "vowel", "pima", "transfusion", "pendigits", "digits")
MOST_ROWS, DRAWN_ROWS = 1000, 600  # larger sets are subsampled
METHODS = {
    "default": lambda X, k, seed: Interview(X, n_clusters=k, random_state=seed),
    "certain": lambda X, k, seed: Interview(X, n_clusters=k, random_state=seed, errors=0),
    "random + MPCK": lambda X, k, seed: Interview(
        X, model=MPCKMeans(k), strategy=RandomPairs(), random_state=seed
    ),
    "min-max + MPCK": lambda X, k, seed: Interview(
        X, model=MPCKMeans(k), strategy=MinMax(), random_state=seed
    ),
    "NPU + MPCK": lambda X, k, seed: Interview(
        X, model=MPCKMeans(k), strategy=NormalizedPointUncertainty(), random_state=seed
    ),
    "node-local + MPCK": lambda X, k, seed: Interview(
        X, model=MPCKMeans(k), strategy=NodeUncertainty("local"), random_state=seed
    ),
}
console = Console(stderr=True)


def read_problem(name):
    """Return standardised rows, at most 1,000 of them, and their classes."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    if len(X) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:DRAWN_ROWS])
        X, y = X[rows], y[rows]
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    return X, np.unique(y, return_inverse=True)[1]


def count_bits(rate):
    """Return the information in bits of an answer that is wrong with this probability: 1 - H(p)."""
    if rate in (0, 1):
        return 1.0
    return 1.0 + rate * np.log2(rate) + (1 - rate) * np.log2(1 - rate)


def run(method, X, y, kind, rate, seed, budget, every):
    """Run one interview; return its curve, the estimated error rate and CPU milliseconds per question."""
    k = int(y.max()) + 1
    interview = METHODS[method](X, k, seed)
    oracle = make_oracle(kind, y, X, rate=rate, n_questions=budget, random_state=seed)
    start = time.process_time()
    trace = simulate(interview, oracle, budget, y_true=y, every=every)
    spent = time.process_time() - start
    curve = trace.get_scores_at(np.arange(0, budget + 1, every)).tolist()
    estimate = interview.error_rate
    return {
        "curve": curve,
        "area": trace.area,
        "estimate": None if estimate is None else estimate.mean,
        "ms": 1e3 * spent / max(interview.n_answers, 1),
    }


def summarize(runs, sets, rates, kind, methods, seeds):
    """Print a table: kept share of the gain, runs below their start, and area with true answers."""
    reference = "certain"
    true_gain = sum(gain(runs[reference, name, kind, 0.0, seed]) for name in sets for seed in seeds)
    print(f"\n{kind} errors, {len(sets)} sets, {len(seeds)} seeds")
    head = " | ".join(f"kept at {rate:.0%} (below)" for rate in rates)
    print(f"| | {head} | area, true |\n|{' --- |' * (len(rates) + 2)}")
    for method in methods:
        cells = []
        for rate in rates:
            held = [runs[method, name, kind, rate, seed] for name in sets for seed in seeds]
            below = sum(gain(one) < -0.01 for one in held)
            cells.append(f"{sum(map(gain, held)) / true_gain:.2f} ({below})")
        area = np.mean([runs[method, name, kind, 0.0, seed]["area"] for name in sets for seed in seeds])
        print(f"| {method} | {' | '.join(cells)} | {area:.3f} |")
    if kind != "uniform":
        return  # for other kinds the rate is not the probability of a wrong answer
    line = []
    for rate in rates:
        at = count_bits(rate)
        kept = 0.0
        for name in sets:
            for seed in seeds:
                curve = runs[reference, name, kind, 0.0, seed]["curve"]
                kept += np.interp(at * (len(curve) - 1), np.arange(len(curve)), curve) - curve[0]
        line.append(f"{kept / true_gain:.2f}")
    print(f"| Shannon line | {' | '.join(line)} | |")


def gain(one):
    return one["curve"][-1] - one["curve"][0]


def draw(runs, sets, rates, kind, seeds, budget, path):
    """Plot the mean curves of the default and of certain answers at each rate."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(rates), figsize=(3.2 * len(rates), 3), sharey=True)
    for axis, rate in zip(np.atleast_1d(axes), rates, strict=True):
        for method, style in (("default", "-"), ("certain", "--")):
            curves = [runs[method, name, kind, rate, seed]["curve"] for name in sets for seed in seeds]
            mean = np.mean(curves, axis=0)
            label = "answers as evidence" if method == "default" else "answers taken as certain"
            axis.plot(np.linspace(0, budget, len(mean)), mean, style, label=label)
        axis.set_title(f"{rate:.0%} wrong")
        axis.set_xlabel("answers")
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("adjusted Rand index")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=REPORTED)
    parser.add_argument("--developed", action="store_true", help="the sets on which settings were chosen")
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=("default", "certain"))
    parser.add_argument("--kinds", nargs="+", default=("uniform",))
    parser.add_argument("--rates", nargs="+", type=float, default=(0.0, 0.05, 0.1, 0.2))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path, default=HERE / "results" / "active_errors.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds, rates = range(args.seeds), sorted({0.0, *args.rates})
    methods = list(
        dict.fromkeys([*args.methods, "default", "certain"] if args.plot else [*args.methods, "certain"])
    )
    runs, sets = {}, []
    for name in (*DEVELOPED, *LOOKED_AT) if args.developed else args.sets:
        try:
            X, y = read_problem(name)
        except DatasetNotFoundError as error:
            console.print(f"{name} is left out: {str(error).partition(';')[0]}")
            continue
        sets.append(name)
        for method in methods:
            for kind in args.kinds:
                for rate in rates:
                    for seed in seeds:
                        if rate == 0 and kind != args.kinds[0]:
                            runs[method, name, kind, rate, seed] = runs[
                                method, name, args.kinds[0], 0.0, seed
                            ]
                            continue
                        found = run(method, X, y, kind, rate, seed, args.budget, 5)
                        runs[method, name, kind, rate, seed] = found
            console.print(f"{name}, {method}: done")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps([[list(key), found] for key, found in runs.items()], indent=1))
    if not sets:
        raise SystemExit("No data set was found: set LIKEWISE_DATA to the folder of the data sets.")
    for kind in args.kinds:
        summarize(runs, sets, rates, kind, methods, seeds)
    if args.plot:
        draw(runs, sets, rates, args.kinds[0], seeds, args.budget, args.plot)


if __name__ == "__main__":
    main()
