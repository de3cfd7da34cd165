"""Compare interviews with other packages: area under the curve of ARI by answers, and time per question.

Run ``python benchmarks/active.py``; ``--only quality`` or ``speed`` for a part, ``--sets iris`` for one set.
The peers are scikit-query 0.4.2 (which only asks; its users cluster with active-semi-supervised-clustering),
active-semi-supervised-clustering 0.0.1 ("a-s-s-c") and COBRAS (cobras-ts 0.1.3, which needs a NumPy below
1.24). Each has a separate environment, which the first run creates. Their runs are stored in
results/active_peers.json and reused; ``--again`` repeats them.

All methods get the same rows, and every answer counts. Before its first clusters COBRAS has one, with ARI 0.
A peer that has used up its CPU seconds keeps its last clusters. Fits for scores are not part of asking: they
have a limit per fit and a limit for all fits of a run, and the curve is linear between them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import venv
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from _active_tables import OURS, areas, format_speed_table, in_time, plot, quality_table, sets_table
from likewise import MPCKMeans
from likewise.active import (
    FarthestFirst,
    Interview,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    RandomPairs,
    simulate,
)
from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError
from likewise.oracles import LabelOracle

HERE = Path(__file__).parent
ANSWERS = (0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 700, 1000)
SETS = (
    "iris", "wine", "fertility", "protein", "sonar", "ionosphere", "ecoli", "cho", "wdbc", "balance_scale",
    "wisconsin", "letter_carroll", "transfusion", "pima", "vowel", "coil20", "letters_ij", "semeion",
    "msrcv2", "digits", "mfeat", "letters_ijl", "segment", "letters_ijlt", "digits389", "hja_birdsong",
    "pendigits", "letter",
)  # fmt: skip
STANDARDISED = {"wine", "pima", "transfusion", "mfeat", "wdbc", "segment", "hja_birdsong"}  # units differ
SPEED_SETS = ("iris", "digits", "blobs")
SLOW, SLOW_ROWS = ("MPCK", "COP"), 400  # of a-s-s-c; a fit takes 12 s at 700 rows, 100 s at 1,800
PAIRS_ROWS = 5000  # a-s-s-c and scikit-query, which store all pairs of rows, are not run with more
console = Console(stderr=True)


@dataclass(frozen=True)
class Peer:
    """A peer: its environment, its packages, and its strategies with their clusterers."""

    folder: str
    installs: tuple[tuple[str, ...], ...]
    strategies: dict[str, tuple[str, ...]]


PEERS = {
    "COBRAS": Peer(
        ".venv-cobras",
        # cobras-ts requires libraries for time series that COBRAS does not need here.
        (("numpy<1.24", "scipy<1.11", "scikit-learn<1.3"), ("--no-deps", "cobras-ts==0.1.3")),
        {"": ("",)},
    ),
    "a-s-s-c": Peer(
        ".peer",
        (("active-semi-supervised-clustering==0.0.1",),),
        {
            "random": ("PCK", "MPCK", "COP"),
            "E&C": ("PCK", "MPCK"),
            "MinMax": ("PCK", "MPCK"),
            "NPU": ("PCK",),
            "NPU+MPCK": ("MPCK",),
        },
    ),
    "scikit-query": Peer(
        ".venv-scikit-query",
        (("scikit-query==0.4.2",),),
        dict.fromkeys(("random", "FFQS", "MinMax", "NPU", "AIPC", "SASC"), ("PCK",)),
    ),
}


def ours(X, k, seed):
    """Return the default, and our other strategies with their strongest model, ``MPCKMeans()``.

    Wrong answers are measured in active_errors.py.
    """
    model = MPCKMeans(k)
    return {
        OURS: lambda: Interview(X, n_clusters=k, random_state=seed),
        "likewise, random + MPCK": lambda: Interview(
            X, model=model, strategy=RandomPairs(), random_state=seed
        ),
        "likewise, info + Bayesian": lambda: Interview(X, n_clusters=k, strategy="info", random_state=seed),
        "likewise, FarthestFirst + MPCK": lambda: Interview(
            X, model=model, strategy=FarthestFirst(), random_state=seed
        ),
        "likewise, MinMax + MPCK": lambda: Interview(X, model=model, strategy=MinMax(), random_state=seed),
        "likewise, NPU + MPCK": lambda: Interview(
            X, model=model, strategy=NormalizedPointUncertainty(), random_state=seed
        ),
        "likewise, node-local + MPCK": lambda: Interview(
            X, model=model, strategy=NodeUncertainty("local"), random_state=seed
        ),
    }


def problem(name):
    """Return the rows, the classes numbered from 0, and the number of classes."""
    if name == "blobs":
        X, y = make_blobs(20_000, 16, centers=10, cluster_std=6.0, random_state=0)
    else:
        data = load(name)
        X, y = np.asarray(data.X, dtype=float), np.unique(data.y, return_inverse=True)[1]
        if name in STANDARDISED:
            X = StandardScaler().fit_transform(X)
    return X, y, int(y.max()) + 1


def peer_python(peer):
    python = HERE / peer.folder / "bin" / "python"
    if not python.exists():
        console.print(f"creating {peer.folder} …")
        venv.create(HERE / peer.folder, with_pip=True)
        for packages in peer.installs:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def peer_run(name, strategy, clusterers, problem, seed, args):
    X, y, k = problem
    limits = {"ask_seconds": args.seconds, "one_fit": args.seconds, "fit_seconds": args.fit_seconds}
    strategy = strategy.partition("+")[0]
    task = {"peer": name, "strategy": strategy, "clusterers": clusterers, "seed": seed, "answers": ANSWERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, X=X, y=y, k=k)
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [
            peer_python(PEERS[name]),
            "-W",
            "ignore",
            HERE / "_peer_active.py",
            path,
            json.dumps(task | limits),
        ]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {"asked": 0, "curves": {c: [] for c in clusterers}, "notes": dict.fromkeys(clusterers, why)}
    return json.loads(done.stdout)


class OutOfTime(Exception):
    """Raised when the CPU seconds of a run are used up."""


class Hasty:
    """An oracle that answers from labels until the CPU seconds are used up."""

    def __init__(self, y, seconds):
        self.oracle, self.end = LabelOracle(y), time.process_time() + seconds

    def answer(self, question):
        if time.process_time() > self.end:
            raise OutOfTime
        return self.oracle.answer(question)


def our_run(make, y, answers, seconds):
    """Simulate one interview; return scores and CPU seconds after given numbers of answers."""
    started, cpu, curve, note = time.process_time(), {}, [], ""
    oracle = Hasty(y, seconds)
    interview = make()
    for mark in answers:
        try:
            trace = simulate(interview, oracle, mark - interview.n_answers, y_true=y, every=mark + 1)
        except OutOfTime:
            note = f"stopped after {seconds} s"
            trace = simulate(interview, oracle, 0, y_true=y)
        curve.append((int(interview.n_answers), round(float(trace.scores[-1]), 4)))
        cpu[int(interview.n_answers)] = time.process_time() - started
        if interview.n_answers < mark:
            break
    return {"curve": curve, "cpu": cpu, "asked": int(interview.n_answers), "note": note}


class Store:
    """Runs by name, written to a file after each run."""

    def __init__(self, path):
        self.path = path
        self.runs = self.kept()

    def kept(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def get(self, key, make, again=False):
        if again or key not in self.runs:
            run = make()
            self.runs = {**self.kept(), key: run}  # another process may have added runs
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(self.runs))
            part.replace(self.path)
            console.print(f"{key}: {self.runs[key].get('asked')} answers, {summary(self.runs[key])}")
        return self.runs[key]


def summary(run):
    curves = run["curves"] if "curves" in run else {"": run["curve"]}
    notes = run.get("notes", {"": run.get("note")})
    return "; ".join(f"{c} {[s for _, s in curve][-1:]} {notes[c]}".strip() for c, curve in curves.items())


def peer_runs(name, store, problem_name, problem, seed, args):
    """Yield each method of a peer with its run."""
    if name != "COBRAS" and len(problem[0]) > PAIRS_ROWS and problem_name not in SPEED_SETS:
        return
    for strategy, clusterers in PEERS[name].strategies.items():
        if args.strategies and strategy not in args.strategies:
            continue
        if len(problem[0]) > SLOW_ROWS:
            clusterers = tuple(c for c in clusterers if c not in SLOW)
        key = f"{name}|{strategy}|{problem_name}|{seed}"
        if not clusterers or (args.cached and key not in store.runs):
            continue
        run = store.get(
            key, lambda s=strategy, c=clusterers: peer_run(name, s, c, problem, seed, args), args.again
        )
        for clusterer in run["curves"]:
            method = " + ".join(filter(None, (strategy.partition("+")[0], clusterer)))
            yield f"{name}, {method}" if method else name, run, clusterer


def quality(args, peers, mine):
    """Return the curves by method and set, one per seed, and notes on the runs."""
    curves, notes = defaultdict(lambda: defaultdict(list)), defaultdict(dict)
    for name in args.sets:
        try:
            rows = problem(name)
        except DatasetNotFoundError as error:
            console.print(f"{name} is left out: {str(error).partition(';')[0]}")
            continue
        for seed in range(args.seeds):
            for peer in args.peers:
                for method, run, clusterer in peer_runs(peer, peers, name, rows, seed, args):
                    if run["curves"][clusterer]:  # empty if it failed before its first clusters
                        curves[method][name].append(run["curves"][clusterer])
                    if run["notes"][clusterer]:
                        notes[method][name] = run["notes"][clusterer]
            for method, make in ours(rows[0], rows[2], seed).items():
                if args.ours == "none" or (args.ours == "default" and method != OURS):
                    continue
                key = f"{method}|{name}|{seed}"
                if args.cached and key not in mine.runs:
                    continue
                run = mine.get(
                    key,
                    lambda make=make, y=rows[1]: our_run(make, y, ANSWERS, args.seconds),
                    not (args.reuse or args.cached),
                )
                curves[method][name].append(run["curve"])
                if run["note"]:
                    notes[method][name] = run["note"]
    return curves, notes


def measure_speed(args, peers):
    """Return CPU milliseconds per question by method, set and budget, including the clusters at the end.

    Ours, COBRAS and NPU cluster as they ask. The others need one fit at the end; the time with a fit after
    each answer is reported, too.
    """
    out = defaultdict(lambda: defaultdict(dict))
    for name in SPEED_SETS:
        rows = problem(name)
        tiny = problem("iris")
        our_run(ours(tiny[0], tiny[2], 0)[OURS], tiny[1], (5,), args.seconds)  # compile, warm up
        run = our_run(ours(rows[0], rows[2], 0)[OURS], rows[1], args.budgets, args.seconds)
        for budget in args.budgets:
            at = min(budget, run["asked"])
            out[OURS][name][budget] = (1e3 * run["cpu"][at] / at, at)
        for peer in args.peers:
            for method, theirs, clusterer in peer_runs(peer, peers, name, rows, 0, args):
                asking = {int(a): s for a, s in theirs.get("ask_seconds", {}).items()}
                fits = {int(a): s for a, s in theirs.get("fit_seconds", {}).get(clusterer, {}).items()}
                for budget in args.budgets:
                    at = max((a for a in asking if 0 < a <= budget), default=0)
                    if at:
                        fit = fits.get(at, max(fits.values(), default=0.0))
                        out[method][name][budget] = (1e3 * (asking[at] + fit) / at, at)
                        if fits:
                            each = asking[at] / at + np.mean([s for a, s in fits.items() if a <= at])
                            out[f"{method}, fitted after each answer"][name][budget] = (1e3 * each, at)
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("quality", "speed"))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument(
        "--budgets", type=lambda text: tuple(map(int, text.split(","))), default=(60, 200, 1000)
    )
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=tuple(PEERS))
    parser.add_argument("--strategies", nargs="*", help="only these strategies of the peers")
    parser.add_argument("--ours", choices=("all", "default", "none"), default="all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=300, help="CPU seconds of asking in a run; of one fit"
    )
    parser.add_argument(
        "--fit-seconds", type=float, default=60, help="CPU seconds of all fits for scores in a run"
    )
    parser.add_argument("--cached", action="store_true", help="run nothing; print the tables of stored runs")
    parser.add_argument("--again", action="store_true", help="repeat the runs of the peers")
    parser.add_argument("--reuse", action="store_true", help="reuse our own stored runs")
    parser.add_argument("--json", type=Path, default=HERE / "results" / "active.json")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = Store(HERE / "results" / "active_peers.json")
    result = {}
    if args.only != "speed":
        curves, notes = quality(args, peers, Store(HERE / "results" / "active_ours.json"))
        found = areas(curves, args.budgets)
        result |= {"curves": curves, "areas": found, "notes": notes}
        if found:
            print(quality_table(found, notes, args.budgets), in_time(found, notes, args.budgets), sep="\n\n")
            print("\n" + sets_table(found, args.budgets))
        if args.plot:
            plot(curves, ANSWERS, args.plot)
    if args.only != "quality":
        result["speed"] = measure_speed(args, peers)
        print("\n" + format_speed_table(result["speed"], SPEED_SETS, args.budgets))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
