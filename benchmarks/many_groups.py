"""Measure interviews about many groups: questions about groups, pairs, labels of random rows, and peers.

Run ``python benchmarks/many_groups.py --embeddings FOLDER``; ``--sets market20 mfeat`` for some of the sets,
``--k given`` or ``--k unknown``, ``--errors 0.1`` for wrong answers, ``--methods groups pairs``. Runs are
kept in results/many_groups.json, where new runs replace earlier ones of the same method, set, K and errors.
Then ``python benchmarks/tables.py`` writes the tables of docs/many-groups.md.

FOLDER has ``banking77_minilm.npz``, ``clinc150_minilm.npz``, ``stackoverflow_minilm.npz`` and
``market20.npz`` with the arrays X and y; mfeat and letter come from the catalogue, and identities are
generated. Each run is about another
random 90 % of the rows, because the strategy has no seed. Seconds are assumed, not measured: 2.5 for a pair,
5 for a placement, 4 for members of a group and for two groups, 6 for a label.

The peers COBRAS (cobras-ts 0.1.3) and A3S (Deng et al., ICML 2024; the authors' program at commit b6d23e8)
ask about pairs, get true answers and are not told K; each has an environment of its own, which the first run
creates. They are also scored at twice the numbers of answers, since a pair takes half as long as a placement.
A3S runs with ``--tau 0.5 --T 4``, the better of the settings in its README on Banking77, and a regression
that its own function fits with the true K and 80 neighbours. It stops by itself. On Stack Overflow and letter
it gets 1,500 rows: on all rows it has no clusters after 200 CPU seconds.

Settings of the strategy were chosen on Banking77, Stack Overflow and market20. CLINC150 was looked at while
wrong answers were dealt with, mfeat and letter only at the end.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from _results import find_commit, read_results, save_part
from active import PEERS, Peer, peer_python
from likewise import Supervision
from likewise.active import Interview
from likewise.datasets import load
from likewise.kmeans import SeededKMeans
from likewise.oracles import LabelOracle, make_oracle

EMBEDDED = {
    "banking77": "banking77_minilm",
    "clinc150": "clinc150_minilm",
    "stackoverflow": "stackoverflow_minilm",
    "market20": "market20",
}
SETS = (*EMBEDDED, "identities", "mfeat", "letter")
BUDGETS = {
    "market20": (20, 40, 70, 100),
    "stackoverflow": (100, 200, 400),
    "identities": (100, 200, 400),
    "mfeat": (50, 100, 200),
    "letter": (100, 200, 400),
}
SECONDS = {"pair": 2.5, "placement": 5.0, "members": 4.0, "groups": 4.0, "label": 6.0}
OTHERS = {"COBRAS": PEERS["COBRAS"], "A3S": Peer(".venv-a3s", (("scikit-learn", "joblib", "tqdm"),), {})}
METHODS = ("groups", "pairs", "random labels", *OTHERS)
A3S, A3S_COMMIT = "https://github.com/xiangtanshi/A3S", "b6d23e8"
MOST_ROWS = 6000
FEWER_ROWS = {("A3S", "stackoverflow"): 1500, ("A3S", "letter"): 1500}
HERE = Path(__file__).parent


def make_identities(n_groups=100, n_rows=1650, n_features=128):
    """Return unit rows of 100 identities and the identity of each row; k-means has an NMI of .87 to .88.

    Centers are Gaussian and belong to 20 families of similar ones. Rows differ from their center by isotropic
    noise and by 8 directions that all share, as with cameras; how much differs between rows (log-normal).
    Identities have 4 rows and a share of the others that is drawn from a gamma distribution.
    """
    rng = np.random.default_rng(0)
    shares = rng.gamma(4.0, size=n_groups)
    sizes = 4 + rng.multinomial(n_rows - 4 * n_groups, shares / shares.sum())
    y = np.repeat(np.arange(n_groups), sizes)
    families = rng.normal(size=(20, n_features))[rng.integers(0, 20, n_groups)]
    centers = families + rng.normal(size=(n_groups, n_features))
    views = rng.normal(size=(8, n_features)) / 2
    noise = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(n_rows, 8)) @ views
    X = centers[y] + 0.8 * np.exp(0.5 * rng.normal(size=(n_rows, 1))) * noise
    order = rng.permutation(n_rows)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)[order], y[order]


def read_set(name, folder):
    """Return rows and classes; at most 6,000 rows of the catalogue."""
    if name == "identities":
        return make_identities()
    if name in EMBEDDED:
        arrays = np.load(Path(folder) / f"{EMBEDDED[name]}.npz", allow_pickle=True)
        X, y = arrays["X"].astype(np.float32), arrays["y"]
    else:
        data = load(name)
        X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
        X, y = X[rows], y[rows]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, np.unique(y, return_inverse=True)[1]


def compute_accuracy(y, labels):
    """Return the proportion of rows in the group that is matched with their class, each group once."""
    found = np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((y.max() + 1, found.max() + 1))
    np.add.at(counts, (y, found), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(y)


def score(y, labels, touched, start):
    """Return the scores of a clustering, also over rows that no answer touched."""
    free = np.setdiff1d(np.arange(len(y)), list(touched))
    return {
        "accuracy": compute_accuracy(y, labels),
        "nmi": normalized_mutual_info_score(y, labels),
        "ari": adjusted_rand_score(y, labels),
        "ari_untouched": adjusted_rand_score(y[free], labels[free]),
        "ari_untouched_start": adjusted_rand_score(y[free], start[free]),
        "groups": len(set(labels.tolist())),
    }


def run_interview(method, X, y, budgets, knows_k, errors, seed):
    """Run one interview; return its scores at the budgets."""
    k = int(y.max()) + 1 if knows_k else None
    if method == "groups":
        interview = Interview(X, strategy="groups", n_clusters=k, random_state=seed)
    else:
        # Without a strategy, an interview with more than 30 clusters asks about groups.
        interview = Interview(X, strategy="regions", n_clusters=k, discover=not knows_k, random_state=seed)
    oracle = make_oracle("uniform", y, rate=errors, random_state=seed) if errors else LabelOracle(y)
    found, touched, seconds, spent = [], set(), 0.0, 0.0
    start = interview.labels_
    for n in range(max(budgets) + 1):
        if n in (0, *budgets):
            scores = score(y, interview.labels_, touched, start)
            found.append({"answers": n, "seconds": seconds, "ms": 1e3 * spent / max(n, 1), **scores})
        if n == max(budgets):
            break
        began = time.process_time()
        question = interview.ask()
        spent += time.process_time() - began
        if question is None:
            break
        answer = oracle.answer(question)
        began = time.process_time()
        interview.tell(question, answer)
        spent += time.process_time() - began
        seconds += SECONDS[question.kind]
        rows = question.rows[:1] if question.kind == "placement" else question.rows
        touched.update(rows)
    return found


def run_random_labels(X, y, budgets, errors, seed):
    """Label random rows, in 6 seconds each, and run seeded k-means on unit rows; the classes are known."""
    rng = np.random.default_rng(seed)
    Z, k = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12), int(y.max()) + 1
    order = rng.permutation(len(y))
    given = np.where(rng.random(len(y)) < errors, rng.integers(0, k, len(y)), y)
    found, start = [], None
    for n in (0, *budgets):
        rows = order[:n]
        labels = [int(given[row]) if row in set(rows.tolist()) else None for row in range(len(y))]
        hints = Supervision.from_labels(labels) if n else Supervision.empty(len(y))
        began = time.process_time()
        predicted = SeededKMeans(k, random_state=seed).fit(Z, supervision=hints).labels_
        spent = 1e3 * (time.process_time() - began) / max(n, 1)
        start = predicted if start is None else start
        scores = score(y, predicted, set(rows.tolist()), start)
        found.append({"answers": n, "seconds": SECONDS["label"] * n, "ms": spent, **scores})
    return found


def run_peer(peer, X, y, budgets, seed, limit, program):
    """Run a peer in its environment; return its scores at the budgets and at twice as many answers."""
    answers = sorted({0, *budgets, *(2 * n for n in budgets)})
    task = {"peer": peer, "seed": seed, "answers": answers, "seconds": limit}
    python = peer_python(OTHERS[peer])
    if peer == "A3S":
        program = program or HERE / OTHERS[peer].folder / "A3S"
        if not program.exists():
            subprocess.run(["git", "clone", "--quiet", A3S, program], check=True)
            subprocess.run(["git", "-C", program, "checkout", "--quiet", A3S_COMMIT], check=True)
        task |= {"program": str(program.resolve()), "tau": 0.5, "rounds": 4, "neighbors": 80}
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npz"
        np.savez(given, X=X, y=y)
        command = [python, "-W", "ignore", HERE / "_peer_groups.py", given, found, json.dumps(task)]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            raise SystemExit(f"{peer} failed: {done.stderr.strip()[-500:]}")
        with np.load(found) as arrays:
            states = {name: arrays[name] for name in arrays.files}
    if states["note"]:
        print(f"{peer}: {states['note']}", file=sys.stderr)
    start = states["labels"][0]
    return [
        {
            "answers": int(n),
            "seconds": SECONDS["pair"] * int(n),
            "ms": 1e3 * float(spent) / max(int(n), 1),
            **score(states["y"], labels, np.flatnonzero(touched), start),
        }
        for n, labels, touched, spent in zip(
            *(states[name] for name in ("answers", "labels", "touched", "seconds")), strict=True
        )
    ]


def is_measured(method, knows_k, errors):
    """Return False for what is not measured: labels need K; peers do not use it and get true answers."""
    if method in OTHERS:
        return not knows_k and not errors
    return knows_k or method != "random labels"


def save_runs(run):
    """Store the runs of a method on a set; they replace earlier ones."""
    keys = ("set", "method", "k", "errors")
    rows = read_results("many_groups").get("runs", {"rows": []})["rows"]
    rows = [row for row in rows if any(row[key] != run[key] for key in keys)]
    made = {"date": datetime.date.today().isoformat(), "commit": find_commit()}
    save_part("many_groups", "runs", [*rows, run | made], "python benchmarks/many_groups.py")


def print_table(name, method, knows_k, errors, runs):
    """Print the mean scores of the runs of one method, and the range of the accuracy."""
    known = "K given" if knows_k else "K unknown"
    for at in zip(*runs, strict=False):
        mean = {key: float(np.mean([one[key] for one in at])) for key in at[0]}
        accuracy = [one["accuracy"] for one in at]
        cells = (
            name,
            f"{known}, {errors:.0%} wrong",
            method,
            f"{mean['answers']:.0f}",
            f"{mean['seconds']:,.0f}",
            f"{mean['accuracy']:.3f} ({min(accuracy):.3f} to {max(accuracy):.3f})",
            f"{mean['nmi']:.3f}",
            f"{mean['ari_untouched']:.3f} ({mean['ari_untouched_start']:.3f})",
            f"{mean['groups']:.1f}",
            f"{mean['ms']:.1f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embeddings", default="embeddings", help="folder with the .npz files")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--k", nargs="+", default=("given", "unknown"), choices=("given", "unknown"))
    parser.add_argument("--errors", nargs="+", type=float, default=(0.0, 0.1))
    parser.add_argument("--subsets", type=int, default=5, help="number of random 90 %% of the rows")
    parser.add_argument("--budgets", nargs="+", type=int, help="numbers of answers at which to score")
    parser.add_argument("--a3s", type=Path, help="folder with the program of A3S; by default it is cloned")
    parser.add_argument("--limit", type=float, default=600, help="CPU seconds for a run of a peer")
    asked = parser.parse_args()
    print(
        "| data | | method | answers | seconds | accuracy | NMI | ARI untouched (start) | groups | CPU ms |"
    )
    print("|" + " --- |" * 10)
    for name in asked.sets:
        X, y = read_set(name, asked.embeddings)
        budgets = tuple(asked.budgets or BUDGETS.get(name, (200, 400, 1000)))
        for knows_k in (k == "given" for k in asked.k):
            for errors in asked.errors:
                for method in asked.methods:
                    if not is_measured(method, knows_k, errors):
                        continue
                    runs = []
                    for seed in range(asked.subsets):
                        n_rows = min(int(0.9 * len(y)), FEWER_ROWS.get((method, name), len(y)))
                        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:n_rows])
                        part = X[rows], np.unique(y[rows], return_inverse=True)[1]
                        if method == "random labels":
                            runs.append(run_random_labels(*part, budgets, errors, seed))
                        elif method in OTHERS:
                            runs.append(run_peer(method, *part, budgets, seed, asked.limit, asked.a3s))
                        else:
                            runs.append(run_interview(method, *part, budgets, knows_k, errors, seed))
                    print_table(name, method, knows_k, errors, runs)
                    save_runs(
                        {"set": name, "method": method, "k": knows_k, "errors": errors, "budgets": budgets}
                        | {"classes": int(y.max()) + 1, "rows": n_rows, "runs": runs}
                    )


if __name__ == "__main__":
    main()
